#include "wire/property_read.h"

#include "wire/big_endian.h"
#include "wire/property_fields.h"

#include <stdbool.h>
#include <string.h>

/* What is left of the room. */
typedef struct rest {
    uint8_t *at;
} rest;

static void *take(rest *room, size_t size)
{
    void *taken = room->at;
    room->at += (size + 7) & ~(size_t)7;
    return taken;
}

static uint8_t *read_bytes(uint8_t *from, size_t length, amqp_bytes_t *bytes)
{
    *bytes = (amqp_bytes_t){length, from};
    return from + length;
}

static uint8_t *read_short_text(uint8_t *from, amqp_bytes_t *text)
{
    return read_bytes(from + 1, *from, text);
}

/* A table or an array is left as the bytes that it is. */
static uint8_t *read_value(uint8_t *from, amqp_field_value_t *value)
{
    value->kind = *from++;
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        value->value.boolean = *from != 0;
        return from + 1;
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        value->value.u8 = *from;
        return from + 1;
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        value->value.u16 = ace_read_u16(from);
        return from + 2;
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_F32:
        value->value.u32 = ace_read_u32(from);
        return from + 4;
    case AMQP_FIELD_KIND_DECIMAL:
        value->value.decimal.decimals = *from;
        value->value.decimal.value = ace_read_u32(from + 1);
        return from + 5;
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_F64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        value->value.u64 = ace_read_u64(from);
        return from + 8;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
    case AMQP_FIELD_KIND_ARRAY:
    case AMQP_FIELD_KIND_TABLE:
        return read_bytes(from + 4, ace_read_u32(from), &value->value.bytes);
    default: /* the void, which is its kind alone */
        return from;
    }
}

static bool is_nested(const amqp_field_value_t *value)
{
    return value->kind == AMQP_FIELD_KIND_TABLE || value->kind == AMQP_FIELD_KIND_ARRAY;
}

static void read_inside(amqp_field_value_t *value, rest *room);

/* Entries lie one after the other, so what is nested in them follows when all are read. How deep it
 * goes was checked. */
static amqp_table_t read_table(amqp_bytes_t bytes, rest *room)
{
    amqp_table_entry_t *entries = (amqp_table_entry_t *)(void *)room->at;
    uint8_t *from = bytes.bytes;
    const uint8_t *end = from + bytes.len;
    bool nests = false;
    int count = 0;
    for (; from < end; count++) {
        from = read_short_text(from, &entries[count].key);
        from = read_value(from, &entries[count].value);
        nests = nests || is_nested(&entries[count].value);
    }
    (void)take(room, (size_t)count * sizeof *entries);
    for (int i = 0; nests && i < count; i++) {
        read_inside(&entries[i].value, room);
    }
    return (amqp_table_t){count, count == 0 ? NULL : entries};
}

static amqp_array_t read_array(amqp_bytes_t bytes, rest *room)
{
    amqp_field_value_t *entries = (amqp_field_value_t *)(void *)room->at;
    uint8_t *from = bytes.bytes;
    const uint8_t *end = from + bytes.len;
    bool nests = false;
    int count = 0;
    for (; from < end; count++) {
        from = read_value(from, &entries[count]);
        nests = nests || is_nested(&entries[count]);
    }
    (void)take(room, (size_t)count * sizeof *entries);
    for (int i = 0; nests && i < count; i++) {
        read_inside(&entries[i], room);
    }
    return (amqp_array_t){count, count == 0 ? NULL : entries};
}

static void read_inside(amqp_field_value_t *value, rest *room)
{
    if (value->kind == AMQP_FIELD_KIND_TABLE) {
        value->value.table = read_table(value->value.bytes, room);
    } else if (value->kind == AMQP_FIELD_KIND_ARRAY) {
        value->value.array = read_array(value->value.bytes, room);
    }
}

static uint8_t *read_header_table(uint8_t *from, amqp_table_t *headers, rest *room)
{
    amqp_bytes_t bytes;
    from = read_bytes(from + 4, ace_read_u32(from), &bytes);
    *headers = read_table(bytes, room);
    return from;
}

static uint8_t *read_field(uint8_t *from, const ace_property_field *field, void *member, rest *room)
{
    uint64_t timestamp;
    switch (field->kind) {
    case ACE_PROPERTY_TEXT:
        return read_short_text(from, member);
    case ACE_PROPERTY_TABLE:
        return read_header_table(from, member, room);
    case ACE_PROPERTY_OCTET:
        memcpy(member, from, 1);
        return from + 1;
    case ACE_PROPERTY_TIMESTAMP:
        timestamp = ace_read_u64(from);
        memcpy(member, &timestamp, sizeof timestamp);
        return from + 8;
    }
    return from;
}

amqp_basic_properties_t *ace_properties_read(uint8_t *list, void *room)
{
    rest left = {room};
    amqp_basic_properties_t *properties = take(&left, sizeof *properties);
    memset(properties, 0, sizeof *properties);
    properties->_flags = ace_read_u16(list);
    uint8_t *from = list + 2;
    amqp_flags_t flags = properties->_flags;
    while (flags != 0) {
        const ace_property_field *field = ace_property_next(&flags);
        from = read_field(from, field, (uint8_t *)properties + field->offset, &left);
    }
    return properties;
}
