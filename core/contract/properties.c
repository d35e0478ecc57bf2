#include "contract/properties.h"

#include "contract/limits.h"

#include <string.h>

/* Class, weight and body size stand before the flags in a content-header frame. */
#define CONTENT_HEADER_START 12
#define FRAME_OVERHEAD       8

struct short_string {
    amqp_flags_t flag;
    const char *field;
    size_t offset;
};

static const struct short_string short_strings[] = {
    {AMQP_BASIC_CONTENT_TYPE_FLAG, "content type", offsetof(amqp_basic_properties_t, content_type)},
    {AMQP_BASIC_CONTENT_ENCODING_FLAG, "content encoding",
     offsetof(amqp_basic_properties_t, content_encoding)},
    {AMQP_BASIC_CORRELATION_ID_FLAG, "correlation id",
     offsetof(amqp_basic_properties_t, correlation_id)},
    {AMQP_BASIC_REPLY_TO_FLAG, "reply to", offsetof(amqp_basic_properties_t, reply_to)},
    {AMQP_BASIC_EXPIRATION_FLAG, "expiration", offsetof(amqp_basic_properties_t, expiration)},
    {AMQP_BASIC_MESSAGE_ID_FLAG, "message id", offsetof(amqp_basic_properties_t, message_id)},
    {AMQP_BASIC_TYPE_FLAG, "type property", offsetof(amqp_basic_properties_t, type)},
    {AMQP_BASIC_USER_ID_FLAG, "user id", offsetof(amqp_basic_properties_t, user_id)},
    {AMQP_BASIC_APP_ID_FLAG, "app id", offsetof(amqp_basic_properties_t, app_id)},
    {AMQP_BASIC_CLUSTER_ID_FLAG, "cluster id", offsetof(amqp_basic_properties_t, cluster_id)},
};

#define SHORT_STRINGS (sizeof short_strings / sizeof short_strings[0])

static const amqp_bytes_t *string_at(const amqp_basic_properties_t *properties, size_t index)
{
    return (const amqp_bytes_t *)(const void *)((const char *)properties +
                                                short_strings[index].offset);
}

void ace_head_release(ace_head *head)
{
    ace_table_release(&head->headers);
    head->properties = (amqp_basic_properties_t){0};
}

void ace_head_seal(ace_head *head)
{
    head->properties.headers = head->headers.table;
    head->properties._flags |= AMQP_BASIC_HEADERS_FLAG;
}

static ace_code copy_string(ace_head *head, size_t index, ace_error **error)
{
    amqp_bytes_t *string =
        (amqp_bytes_t *)(void *)((char *)&head->properties + short_strings[index].offset);
    if ((head->properties._flags & short_strings[index].flag) == 0) {
        *string = (amqp_bytes_t){0, NULL};
        return ACE_OK;
    }
    string->bytes = ace_arena_copy(&head->headers.arena, string->bytes, string->len);
    return string->bytes == NULL ? ace_fail_memory(error) : ACE_OK;
}

ace_code ace_head_copy(ace_head *head, const amqp_basic_properties_t *from, ace_error **error)
{
    bool has_headers = (from->_flags & AMQP_BASIC_HEADERS_FLAG) != 0;
    ace_code code =
        ace_table_copy_arrived(&head->headers, has_headers ? &from->headers : NULL, error);
    head->properties = *from;
    for (size_t i = 0; code == ACE_OK && i < SHORT_STRINGS; i++) {
        code = copy_string(head, i, error);
    }
    if (code != ACE_OK) {
        ace_head_release(head);
        return code;
    }
    head->properties.headers = head->headers.table;
    return ACE_OK;
}

size_t ace_properties_encoded_size(const amqp_basic_properties_t *properties)
{
    amqp_flags_t flags = properties->_flags;
    size_t size = 2; /* the flags; class basic has no second word of them */
    for (size_t i = 0; i < SHORT_STRINGS; i++) {
        if ((flags & short_strings[i].flag) != 0) {
            size += 1 + string_at(properties, i)->len;
        }
    }
    size += (flags & AMQP_BASIC_DELIVERY_MODE_FLAG) != 0 ? 1 : 0;
    size += (flags & AMQP_BASIC_PRIORITY_FLAG) != 0 ? 1 : 0;
    size += (flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0 ? 8 : 0;
    if ((flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
        size_t headers = ace_table_encoded_size(&properties->headers);
        size = headers > SIZE_MAX - size ? SIZE_MAX : size + headers;
    }
    return size;
}

size_t ace_content_header_room(size_t frame_max)
{
    if (frame_max == 0) {
        return SIZE_MAX;
    }
    size_t overhead = FRAME_OVERHEAD + CONTENT_HEADER_START;
    return frame_max > overhead ? frame_max - overhead : 0;
}

ace_code ace_properties_sendable(const amqp_basic_properties_t *properties, size_t frame_max,
                                 ace_error **error)
{
    for (size_t i = 0; i < SHORT_STRINGS; i++) {
        size_t length = string_at(properties, i)->len;
        if ((properties->_flags & short_strings[i].flag) == 0 || length <= ACE_NAME_MAX) {
            continue;
        }
        ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %d", short_strings[i].field,
                 length, ACE_NAME_MAX);
        ace_error_field(error, short_strings[i].field, ACE_NAME_MAX);
        return ACE_LIMIT;
    }
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
        ace_code code = ace_table_sendable("header", &properties->headers, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ace_properties_fit(properties, frame_max, error);
}

ace_code ace_properties_fit(const amqp_basic_properties_t *properties, size_t frame_max,
                            ace_error **error)
{
    if (frame_max == 0) {
        return ACE_OK;
    }
    size_t size = ace_properties_encoded_size(properties);
    size_t room = ace_content_header_room(frame_max);
    if (size > room) {
        ace_fail(error, ACE_LIMIT, "headers and properties take %zu bytes, one frame holds %zu",
                 size, room);
        ace_error_field(error, "headers", (long long)room);
        return ACE_LIMIT;
    }
    return ACE_OK;
}
