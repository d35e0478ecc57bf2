/* The rows of an outbox, handed out as they were. */
#include "acemq/outbox.h"

#include "arguments.h"
#include "engine/waiter.h"
#include "store/outbox.h"

#include <stdlib.h>

#define ROW_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_outbox_row, reserved)

struct acemq_outbox_list {
    ace_outbox_rows rows;
};

static ace_code list_rows(acemq_outbox *outbox, ace_outbox_list which, int64_t max, int64_t timeout,
                          acemq_outbox_list **list, ace_error **error)
{
    ace_code code = ace_outbox_check(outbox, error);
    if (code == ACE_OK) {
        code = ace_argument_range(max, 1, INT64_MAX, "max", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(list, "list", error);
    }
    if (code != ACE_OK) {
        return code;
    }
    acemq_outbox_list *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    code = ace_outbox_list_rows(outbox, which, (size_t)max, ace_deadline_after(timeout),
                                &made->rows, error);
    if (code != ACE_OK) {
        acemq_outbox_list_free(made);
        return code;
    }
    *list = made;
    return ACE_OK;
}

acemq_status acemq_outbox_pending(acemq_outbox *outbox, int64_t max, int64_t timeout,
                                  acemq_outbox_list **list, acemq_error **error)
{
    return (acemq_status)list_rows(outbox, ACE_OUTBOX_PENDING, max, timeout, list, error);
}

acemq_status acemq_outbox_retired(acemq_outbox *outbox, int64_t max, int64_t timeout,
                                  acemq_outbox_list **list, acemq_error **error)
{
    return (acemq_status)list_rows(outbox, ACE_OUTBOX_RETIRED, max, timeout, list, error);
}

size_t acemq_outbox_list_count(const acemq_outbox_list *list)
{
    return list == NULL ? 0 : list->rows.count;
}

acemq_status acemq_outbox_list_row(const acemq_outbox_list *list, size_t index,
                                   acemq_outbox_row *row, acemq_error **error)
{
    ace_code code = ace_argument_present(list, "list", error);
    if (code == ACE_OK) {
        code = ace_argument_present(row, "row", error);
    }
    if (code == ACE_OK && index >= list->rows.count) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "index is %zu, there are %zu rows", index,
                        list->rows.count);
        ace_error_field(error, "index", (long long)list->rows.count);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    const ace_outbox_row *found = &list->rows.rows[index];
    const acemq_outbox_row view = {.size = sizeof view,
                                   .id = (const char *)found->record.id.data,
                                   .exchange = (const char *)found->record.exchange.data,
                                   .routing_key = (const char *)found->record.routing_key.data,
                                   .content_type = (const char *)found->record.content_type.data,
                                   .headers = (const char *)found->record.headers.data,
                                   .last_error = (const char *)found->last_error.data,
                                   .body = ace_bytes_to_public(found->record.body),
                                   .created_at = found->record.created / 1000,
                                   .leased_until = found->locked_until,
                                   .attempts = found->attempts};
    return (acemq_status)ace_options_fill(row, row->size, &view, sizeof view, ROW_FIRST_RELEASE,
                                          "row", error);
}

void acemq_outbox_list_free(acemq_outbox_list *list)
{
    if (list != NULL) {
        ace_outbox_rows_free(&list->rows);
        free(list);
    }
}
