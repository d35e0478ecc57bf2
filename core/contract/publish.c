#include "contract/publish.h"

#include "contract/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static ace_code check_names(const ace_publication *publication, ace_error **error)
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

static ace_code set_string(ace_head *head, amqp_flags_t flag, amqp_bytes_t *string, ace_bytes value,
                           ace_error **error)
{
    if (value.length == 0) {
        return ACE_OK;
    }
    void *copy = ace_arena_copy(&head->headers.arena, value.data, value.length);
    if (copy == NULL) {
        return ace_fail_memory(error);
    }
    *string = (amqp_bytes_t){value.length, copy};
    head->properties._flags |= flag;
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
    char expiration[24] = "";
    if (publication->expiration >= 0) {
        snprintf(expiration, sizeof expiration, "%" PRId64, publication->expiration);
    }
    const struct {
        amqp_flags_t flag;
        amqp_bytes_t *string;
        ace_bytes value;
    } strings[] = {
        {AMQP_BASIC_MESSAGE_ID_FLAG, &properties->message_id, publication->envelope->id},
        {AMQP_BASIC_CONTENT_TYPE_FLAG, &properties->content_type, publication->content_type},
        {AMQP_BASIC_REPLY_TO_FLAG, &properties->reply_to, publication->reply_to},
        {AMQP_BASIC_EXPIRATION_FLAG, &properties->expiration, ace_bytes_of(expiration)},
    };
    ace_code code = ACE_OK;
    for (size_t i = 0; code == ACE_OK && i < sizeof strings / sizeof strings[0]; i++) {
        code = set_string(head, strings[i].flag, strings[i].string, strings[i].value, error);
    }
    return code;
}

static ace_code build(const ace_publication *publication, ace_head *head, ace_error **error)
{
    ace_code code = check_names(publication, error);
    head->headers.refuses_reserved = true;
    if (code == ACE_OK) {
        code = ace_table_set_all(&head->headers, publication->headers, error);
    }
    head->headers.refuses_reserved = false;
    if (code == ACE_OK) {
        code = ace_envelope_write(publication->envelope, publication->now, &head->headers, error);
    }
    if (code == ACE_OK) {
        code = set_properties(publication, head, error);
    }
    if (code == ACE_OK) {
        ace_head_seal(head);
        code = ace_properties_sendable(&head->properties, publication->frame_max, error);
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
