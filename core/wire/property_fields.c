#include "wire/property_fields.h"

#include "wire/big_endian.h"
#include "wire/table_check.h"

#include <string.h>

#define AT(member) offsetof(amqp_basic_properties_t, member)

const ace_property_field ace_property_fields[ACE_PROPERTY_COUNT] = {
    {ACE_PROPERTY_TEXT, AMQP_BASIC_CONTENT_TYPE_FLAG, AT(content_type), "content type"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_CONTENT_ENCODING_FLAG, AT(content_encoding), "content encoding"},
    {ACE_PROPERTY_TABLE, AMQP_BASIC_HEADERS_FLAG, AT(headers), "headers"},
    {ACE_PROPERTY_OCTET, AMQP_BASIC_DELIVERY_MODE_FLAG, AT(delivery_mode), "delivery mode"},
    {ACE_PROPERTY_OCTET, AMQP_BASIC_PRIORITY_FLAG, AT(priority), "priority"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_CORRELATION_ID_FLAG, AT(correlation_id), "correlation id"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_REPLY_TO_FLAG, AT(reply_to), "reply-to"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_EXPIRATION_FLAG, AT(expiration), "expiration"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_MESSAGE_ID_FLAG, AT(message_id), "message id"},
    {ACE_PROPERTY_TIMESTAMP, AMQP_BASIC_TIMESTAMP_FLAG, AT(timestamp), "timestamp"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_TYPE_FLAG, AT(type), "type"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_USER_ID_FLAG, AT(user_id), "user id"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_APP_ID_FLAG, AT(app_id), "app id"},
    {ACE_PROPERTY_TEXT, AMQP_BASIC_CLUSTER_ID_FLAG, AT(cluster_id), "cluster id"},
};

typedef struct walk {
    uint8_t *data;
    size_t length;
    size_t offset;
    ace_property_shape *shape;
    ace_code table_code; /* of the header table, kept while the rest is checked */
    ace_error *table_error;
} walk;

static ace_code skip(walk *at, const ace_property_field *field, size_t size, ace_error **error)
{
    if (size > at->length - at->offset) {
        return ace_fail(error, ACE_PROTOCOL, "the properties end inside %s", field->label);
    }
    at->offset += size;
    return ACE_OK;
}

static ace_code skip_table(walk *at, const ace_property_field *field, ace_error **error)
{
    ace_table_shape table;
    at->table_code = ace_table_check(at->data + at->offset, at->length - at->offset, field->label,
                                     &table, &at->table_error);
    if (table.bytes == 0) {
        ace_code code = at->table_code;
        at->table_code = ACE_OK;
        ace_error *problem = at->table_error;
        at->table_error = NULL;
        ace_error_move(error, problem);
        return code;
    }
    at->shape->table_offset = at->offset;
    at->shape->table_size = table.bytes;
    at->shape->decoded += table.decoded;
    at->offset += table.bytes;
    return ACE_OK;
}

static ace_code skip_field(walk *at, const ace_property_field *field, ace_error **error)
{
    switch (field->kind) {
    case ACE_PROPERTY_TEXT: {
        const uint8_t *length = at->data + at->offset;
        ace_code code = skip(at, field, 1, error);
        return code == ACE_OK ? skip(at, field, *length, error) : code;
    }
    case ACE_PROPERTY_TABLE:
        return skip_table(at, field, error);
    case ACE_PROPERTY_OCTET:
        return skip(at, field, 1, error);
    case ACE_PROPERTY_TIMESTAMP:
        return skip(at, field, 8, error);
    }
    return ACE_PROTOCOL;
}

static ace_code skip_list(walk *at, amqp_flags_t flags, ace_error **error)
{
    ace_code code = ACE_OK;
    while (code == ACE_OK && flags != 0) {
        code = skip_field(at, ace_property_next(&flags), error);
    }
    if (code == ACE_OK && at->offset != at->length) {
        code = ace_fail(error, ACE_PROTOCOL, "%zu bytes are left after the properties",
                        at->length - at->offset);
    }
    return code;
}

ace_code ace_properties_check(uint8_t *data, size_t length, ace_property_shape *shape,
                              ace_error **error)
{
    memset(shape, 0, sizeof *shape);
    shape->decoded = (sizeof(amqp_basic_properties_t) + 7) & ~(size_t)7;
    if (length < 2) {
        return ace_fail(error, ACE_PROTOCOL, "the property flags are cut off");
    }
    amqp_flags_t flags = ace_read_u16(data);
    if (flags & ~ACE_PROPERTY_FLAGS) {
        return ace_fail(error, ACE_PROTOCOL, "unknown property flags 0x%04x",
                        flags & ~ACE_PROPERTY_FLAGS);
    }
    walk at = {.data = data, .length = length, .offset = 2, .shape = shape};
    ace_code code = skip_list(&at, flags, error);
    if (code != ACE_OK) {
        shape->table_offset = 0;
        shape->table_size = 0;
        ace_error_free(at.table_error);
        return code;
    }
    if (at.table_code != ACE_OK) {
        ace_error_move(error, at.table_error);
    }
    return at.table_code;
}

size_t ace_properties_strip_table(uint8_t *data, size_t length, const ace_property_shape *shape)
{
    size_t after = shape->table_offset + shape->table_size;
    memmove(data + shape->table_offset, data + after, length - after);
    amqp_flags_t flags = ace_read_u16(data);
    ace_write_u16(data, (uint16_t)(flags & ~(amqp_flags_t)AMQP_BASIC_HEADERS_FLAG));
    return length - shape->table_size;
}

ace_code ace_content_check_head(const uint8_t *payload, size_t length, uint64_t *body_size,
                                ace_error **error)
{
    if (length < ACE_CONTENT_HEAD_SIZE + 2) {
        return ace_fail(error, ACE_PROTOCOL, "a header frame of %zu bytes, at least 14 are needed",
                        length);
    }
    unsigned class_id = ace_read_u16(payload);
    if (class_id != AMQP_BASIC_CLASS) {
        return ace_fail(error, ACE_PROTOCOL, "a header frame of class %u, only 60 has contents",
                        class_id);
    }
    unsigned weight = ace_read_u16(payload + 2);
    if (weight != 0) {
        return ace_fail(error, ACE_PROTOCOL, "a header frame of weight %u instead of 0", weight);
    }
    *body_size = ace_read_u64(payload + 4);
    return ACE_OK;
}
