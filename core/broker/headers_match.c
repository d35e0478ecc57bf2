/* Headers exchanges. */
#include "broker/arguments.h"
#include "broker/routing.h"
#include "contract/table.h"

#include <string.h>

static bool rule_is(ace_bytes rule, const char *plain, const char *with_x)
{
    return ace_bytes_equal_text(rule, plain) || ace_bytes_equal_text(rule, with_x);
}

/* Values compare without their kinds, as terms do in RabbitMQ: 1 is 1 at any width. */
static bool value_fits(const amqp_field_value_t *wanted, const amqp_field_value_t *given)
{
    int64_t a;
    int64_t b;

    if (wanted->kind == AMQP_FIELD_KIND_VOID)
        return true;
    if (ace_broker_field_integer(wanted, &a) && ace_broker_field_integer(given, &b))
        return a == b;
    return ace_value_equal(wanted, given);
}

bool ace_broker_headers_match(const amqp_table_t *binding, const amqp_table_t *headers)
{
    const amqp_field_value_t *match = ace_table_find(binding, "x-match");
    ace_bytes rule = {NULL, 0};
    bool all_fit = true;
    bool any_fits = false;

    if (match && match->kind == AMQP_FIELD_KIND_UTF8)
        rule = ace_bytes_from_amqp(match->value.bytes);

    bool any_is_enough = rule_is(rule, "any", "any-with-x");
    bool reads_x = rule_is(rule, "all-with-x", "any-with-x");

    for (int i = 0; i < binding->num_entries; i++) {
        ace_bytes name = ace_bytes_from_amqp(binding->entries[i].key);
        const amqp_field_value_t *given;

        if (ace_bytes_equal_text(name, "x-match") ||
            (!reads_x && name.length >= 2 && memcmp(name.data, "x-", 2) == 0))
            continue;
        given = ace_table_find_bytes(headers, name);
        if (given && value_fits(&binding->entries[i].value, given))
            any_fits = true;
        else
            all_fit = false;
    }
    return any_is_enough ? any_fits : all_fit;
}
