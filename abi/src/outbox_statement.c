#include "acemq/outbox.h"

#include "arguments.h"
#include "base/clock.h"
#include "outbox_record.h"
#include "store/outbox_statement.h"

#include <stdatomic.h>
#include <stdlib.h>

_Static_assert((int)ACEMQ_PLACEHOLDER_DOLLAR == (int)ACE_PLACEHOLDER_DOLLAR &&
                   (int)ACEMQ_PLACEHOLDER_QUESTION == (int)ACE_PLACEHOLDER_QUESTION &&
                   (int)ACEMQ_PLACEHOLDER_PERCENT == (int)ACE_PLACEHOLDER_PERCENT,
               "one numbering of the placeholders");

struct acemq_outbox_statement {
    ace_outbox_statement inner;
};

/* Later than every one before, so that statements run in one transaction keep their order. */
static int64_t stamp(void)
{
    static atomic_int_fast64_t last;
    int64_t now = ace_clock_wall(ace_clock_system()) * 1000;
    int64_t before = atomic_load(&last);
    int64_t next;
    do {
        next = now > before ? now : before + 1;
    } while (!atomic_compare_exchange_weak(&last, &before, next));
    return next;
}

acemq_status acemq_outbox_statement_new(const char *table, acemq_placeholder placeholder,
                                        const char *exchange, const char *routing_key,
                                        const acemq_message *message,
                                        acemq_outbox_statement **statement, acemq_error **error)
{
    ace_code code = ace_argument_optional_text(table, "table", error);
    if (code == ACE_OK) {
        code = ace_argument_range((int64_t)placeholder, ACEMQ_PLACEHOLDER_DOLLAR,
                                  ACEMQ_PLACEHOLDER_PERCENT, "placeholder", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(statement, "statement", error);
    }
    ace_message_record made = {.headers = NULL};
    if (code == ACE_OK) {
        code = ace_message_record_make(message, exchange, routing_key, stamp(), &made, error);
    }
    acemq_outbox_statement *own = NULL;
    if (code == ACE_OK) {
        own = calloc(1, sizeof *own);
        code = own == NULL ? ace_fail_memory(error)
                           : ace_outbox_statement_make(table == NULL ? ACE_OUTBOX_NAME : table,
                                                       (ace_placeholder)placeholder, false,
                                                       &made.record, &own->inner, error);
    }
    ace_message_record_clear(&made);
    if (code != ACE_OK) {
        free(own);
        return (acemq_status)code;
    }
    *statement = own;
    return ACEMQ_OK;
}

const char *acemq_outbox_statement_text(const acemq_outbox_statement *statement)
{
    return statement == NULL ? NULL : statement->inner.text;
}

size_t acemq_outbox_statement_count(const acemq_outbox_statement *statement)
{
    return statement == NULL ? 0 : ACE_OUTBOX_PARAMETERS;
}

const char *acemq_outbox_statement_value(const acemq_outbox_statement *statement, size_t index)
{
    return statement == NULL || index >= ACE_OUTBOX_PARAMETERS ? NULL
                                                               : statement->inner.values[index];
}

const char *acemq_outbox_statement_id(const acemq_outbox_statement *statement)
{
    return acemq_outbox_statement_value(statement, 0);
}

void acemq_outbox_statement_free(acemq_outbox_statement *statement)
{
    if (statement != NULL) {
        ace_outbox_statement_clear(&statement->inner);
        free(statement);
    }
}
