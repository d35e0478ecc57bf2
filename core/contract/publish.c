#include "contract/publish.h"

#include "contract/limits.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define ENVELOPE_HEADERS 12 /* that a publish may write */

ace_code ace_publication_check(const ace_publication *publication, ace_error **error)
{
    ace_code code = ace_name_check("exchange name", ace_bytes_of(publication->exchange), error);
    if (code == ACE_OK) {
        code = ace_name_check("routing key", ace_bytes_of(publication->routing_key), error);
    }
    if (code == ACE_OK) {
        code = ace_name_check("content type", publication->content_type, error);
    }
    if (code == ACE_OK) {
        code = ace_name_check("reply to", publication->reply_to, error);
    }
    if (code == ACE_OK && publication->priority > UINT8_MAX) {
        ace_fail(error, ACE_LIMIT, "priority is %d, the limit is %d", publication->priority,
                 UINT8_MAX);
        ace_error_field(error, "priority", UINT8_MAX);
        code = ACE_LIMIT;
    }
    return code == ACE_OK ? ace_envelope_check(publication->envelope, error) : code;
}

static void set_string(ace_head *head, amqp_flags_t flag, amqp_bytes_t *string, ace_bytes value)
{
    if (value.length > 0) {
        *string = ace_bytes_to_amqp(value);
        head->properties._flags |= flag;
    }
}

static ace_code set_expiration(int64_t milliseconds, ace_head *head, ace_error **error)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%" PRId64, milliseconds);
    char *kept = ace_arena_text(&head->headers.arena, text, (size_t)length);
    if (kept == NULL) {
        return ace_fail_memory(error);
    }
    set_string(head, AMQP_BASIC_EXPIRATION_FLAG, &head->properties.expiration, ace_bytes_of(kept));
    return ACE_OK;
}

static ace_code set_properties(const ace_publication *publication, ace_head *head,
                               ace_error **error)
{
    amqp_basic_properties_t *properties = &head->properties;
    properties->_flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties->delivery_mode = publication->transient ? 1 : 2;
    if (publication->priority >= 0) {
        properties->_flags |= AMQP_BASIC_PRIORITY_FLAG;
        properties->priority = (uint8_t)publication->priority;
    }
    set_string(head, AMQP_BASIC_MESSAGE_ID_FLAG, &properties->message_id,
               publication->envelope->id);
    set_string(head, AMQP_BASIC_CONTENT_TYPE_FLAG, &properties->content_type,
               publication->content_type);
    set_string(head, AMQP_BASIC_REPLY_TO_FLAG, &properties->reply_to, publication->reply_to);
    return publication->expiration < 0 ? ACE_OK
                                       : set_expiration(publication->expiration, head, error);
}

/* Each entry is checked as it is set, here and where the application set it. */
static ace_code set_headers(const ace_publication *publication, ace_head *head, ace_error **error)
{
    const amqp_table_t *application = publication->headers;
    int count = application == NULL ? 0 : application->num_entries;
    ace_table *table = &head->headers;
    ace_code code = ACE_OK;
    if (count < INT_MAX - ENVELOPE_HEADERS) {
        code = ace_table_reserve(table, count + ENVELOPE_HEADERS, error);
    }
    table->borrows = true;
    table->refuses_reserved = true;
    if (code == ACE_OK) {
        code = ace_table_set_all(table, application, error);
    }
    table->refuses_reserved = false;
    if (code == ACE_OK) {
        code = ace_envelope_append(publication->envelope, publication->now, table, error);
    }
    table->borrows = false;
    return code;
}

static ace_code build(const ace_publication *publication, ace_head *head, ace_error **error)
{
    ace_code code = ace_publication_check(publication, error);
    if (code == ACE_OK) {
        code = set_headers(publication, head, error);
    }
    if (code == ACE_OK) {
        code = set_properties(publication, head, error);
    }
    if (code == ACE_OK) {
        ace_head_seal(head);
        code = ace_properties_fit(&head->properties, publication->frame_max, error);
    }
    return code;
}

ace_code ace_publication_build(const ace_publication *publication, ace_head *head,
                               ace_error **error)
{
    ace_table_clear(&head->headers);
    head->properties = (amqp_basic_properties_t){0};
    ace_code code = build(publication, head, error);
    if (code != ACE_OK) {
        ace_head_release(head);
    }
    return code;
}
