#include "wire/property_write.h"

#include "wire/big_endian.h"
#include "wire/property_fields.h"

#include <string.h>

static uint8_t *write_bytes(uint8_t *to, amqp_bytes_t bytes)
{
    if (bytes.len > 0) {
        memcpy(to, bytes.bytes, bytes.len);
    }
    return to + bytes.len;
}

static uint8_t *write_short_text(uint8_t *to, amqp_bytes_t text)
{
    *to = (uint8_t)text.len;
    return write_bytes(to + 1, text);
}

static uint8_t *write_u64(uint8_t *to, uint64_t value)
{
    ace_write_u64(to, value);
    return to + 8;
}

static uint8_t *write_table(uint8_t *to, const amqp_table_t *table);
static uint8_t *write_array(uint8_t *to, const amqp_array_t *array);

static uint8_t *write_value(uint8_t *to, const amqp_field_value_t *value)
{
    *to++ = value->kind;
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        *to = value->value.boolean ? 1 : 0;
        return to + 1;
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        *to = value->value.u8;
        return to + 1;
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        ace_write_u16(to, value->value.u16);
        return to + 2;
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_F32:
        ace_write_u32(to, value->value.u32);
        return to + 4;
    case AMQP_FIELD_KIND_DECIMAL:
        *to = value->value.decimal.decimals;
        ace_write_u32(to + 1, value->value.decimal.value);
        return to + 5;
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_F64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return write_u64(to, value->value.u64);
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        ace_write_u32(to, (uint32_t)value->value.bytes.len);
        return write_bytes(to + 4, value->value.bytes);
    case AMQP_FIELD_KIND_ARRAY:
        return write_array(to, &value->value.array);
    case AMQP_FIELD_KIND_TABLE:
        return write_table(to, &value->value.table);
    default: /* the void, which is its kind alone */
        return to;
    }
}

/* The length stands before what it counts. */
static uint8_t *close_counted(uint8_t *start, uint8_t *end)
{
    ace_write_u32(start, (uint32_t)(end - start - 4));
    return end;
}

static uint8_t *write_table(uint8_t *to, const amqp_table_t *table)
{
    uint8_t *at = to + 4;
    for (int i = 0; i < table->num_entries; i++) {
        at = write_short_text(at, table->entries[i].key);
        at = write_value(at, &table->entries[i].value);
    }
    return close_counted(to, at);
}

static uint8_t *write_array(uint8_t *to, const amqp_array_t *array)
{
    uint8_t *at = to + 4;
    for (int i = 0; i < array->num_entries; i++) {
        at = write_value(at, &array->entries[i]);
    }
    return close_counted(to, at);
}

static uint8_t *write_field(uint8_t *to, const ace_property_field *field, const void *member)
{
    amqp_bytes_t text;
    uint64_t timestamp;
    switch (field->kind) {
    case ACE_PROPERTY_TEXT:
        memcpy(&text, member, sizeof text);
        return write_short_text(to, text);
    case ACE_PROPERTY_TABLE:
        return write_table(to, member);
    case ACE_PROPERTY_OCTET:
        memcpy(to, member, 1);
        return to + 1;
    case ACE_PROPERTY_TIMESTAMP:
        memcpy(&timestamp, member, sizeof timestamp);
        return write_u64(to, timestamp);
    }
    return to;
}

uint8_t *ace_properties_write(uint8_t *to, const amqp_basic_properties_t *properties)
{
    ace_write_u16(to, (uint16_t)properties->_flags);
    to += 2;
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        if ((properties->_flags & field->flag) != 0) {
            to = write_field(to, field, (const uint8_t *)properties + field->offset);
        }
    }
    return to;
}
