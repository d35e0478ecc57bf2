/* Random but repeatable tables, properties and methods, and whether two are the same. Memory comes
 * from a pool that the test empties. */
#ifndef ACE_TESTS_UNIT_WIRE_SAMPLES_H
#define ACE_TESTS_UNIT_WIRE_SAMPLES_H

#include "base/buffer.h"
#include "wire/method_fields.h"
#include "wire/property_fields.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SAMPLE __attribute__((unused)) static

SAMPLE uint64_t sample_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

SAMPLE uint32_t sample_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((sample_next(state) >> 16) % bound);
}

/* Not ck_assert() each time: that notes every call in a file, and these are called a million times.
 */
SAMPLE void check_ok(ace_code code, ace_error *error)
{
    if (code != ACE_OK) {
        ck_abort_msg("%s", error == NULL ? "no error" : ace_error_message(error));
    }
}

SAMPLE void *sample_memory(amqp_pool_t *pool, size_t size)
{
    void *memory = amqp_pool_alloc(pool, size == 0 ? 1 : size);
    if (memory == NULL) {
        ck_abort_msg("no memory");
    }
    memset(memory, 0, size == 0 ? 1 : size);
    return memory;
}

SAMPLE amqp_bytes_t sample_bytes(uint64_t *state, amqp_pool_t *pool, uint32_t longest)
{
    amqp_bytes_t bytes = {sample_below(state, longest + 1), NULL};
    uint8_t *to = sample_memory(pool, bytes.len);
    for (size_t i = 0; i < bytes.len; i++) {
        to[i] = (uint8_t)sample_next(state);
    }
    bytes.bytes = to;
    return bytes;
}

SAMPLE amqp_table_t sample_table(uint64_t *state, amqp_pool_t *pool, int depth);

SAMPLE amqp_field_value_t sample_value(uint64_t *state, amqp_pool_t *pool, int depth)
{
    static const char kinds[] = "tbBsuIilfdDTVSxAF";
    amqp_field_value_t value;
    memset(&value, 0, sizeof value);
    value.kind = (uint8_t)kinds[sample_below(state, depth > 0 ? 17 : 15)];
    switch (value.kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        value.value.boolean = (int)sample_below(state, 2);
        break;
    case AMQP_FIELD_KIND_F32:
        value.value.f32 = (float)(int32_t)sample_next(state) / 3.0f;
        break;
    case AMQP_FIELD_KIND_F64:
        value.value.f64 = (double)(int64_t)sample_next(state) / 7.0;
        break;
    case AMQP_FIELD_KIND_DECIMAL:
        value.value.decimal.decimals = (uint8_t)sample_next(state);
        value.value.decimal.value = (uint32_t)sample_next(state);
        break;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        value.value.bytes = sample_bytes(state, pool, 40);
        break;
    case AMQP_FIELD_KIND_TABLE:
        value.value.table = sample_table(state, pool, depth - 1);
        break;
    case AMQP_FIELD_KIND_ARRAY:
        value.value.array.num_entries = (int)sample_below(state, 5);
        value.value.array.entries =
            sample_memory(pool, sizeof value * (size_t)value.value.array.num_entries);
        for (int i = 0; i < value.value.array.num_entries; i++) {
            value.value.array.entries[i] = sample_value(state, pool, depth - 1);
        }
        break;
    case AMQP_FIELD_KIND_VOID:
        break;
    default:
        value.value.u64 = sample_next(state);
        break;
    }
    return value;
}

SAMPLE amqp_table_t sample_table(uint64_t *state, amqp_pool_t *pool, int depth)
{
    amqp_table_t table = {(int)sample_below(state, 7), NULL};
    table.entries = sample_memory(pool, sizeof *table.entries * (size_t)table.num_entries);
    for (int i = 0; i < table.num_entries; i++) {
        table.entries[i].key = sample_bytes(state, pool, 30);
        table.entries[i].value = sample_value(state, pool, depth);
    }
    return table;
}

SAMPLE void sample_properties(uint64_t *state, amqp_pool_t *pool,
                              amqp_basic_properties_t *properties)
{
    memset(properties, 0, sizeof *properties);
    properties->_flags = (amqp_flags_t)sample_next(state) & ACE_PROPERTY_FLAGS;
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        uint8_t *to = (uint8_t *)properties + field->offset;
        if ((properties->_flags & field->flag) == 0) {
            continue;
        }
        if (field->kind == ACE_PROPERTY_TEXT) {
            amqp_bytes_t text = sample_bytes(state, pool, 255);
            memcpy(to, &text, sizeof text);
        } else if (field->kind == ACE_PROPERTY_TABLE) {
            properties->headers = sample_table(state, pool, 3);
        } else if (field->kind == ACE_PROPERTY_OCTET) {
            *to = (uint8_t)sample_next(state);
        } else {
            properties->timestamp = sample_next(state);
        }
    }
}

SAMPLE void sample_field(uint64_t *state, amqp_pool_t *pool, const ace_method_field *field,
                         uint8_t *to)
{
    static const size_t sizes[] = {1, 2, 4, 8};
    uint64_t number = sample_next(state);
    if (field->kind == ACE_FIELD_BIT) {
        amqp_boolean_t bit = (amqp_boolean_t)(number >> 20 & 1);
        memcpy(to, &bit, sizeof bit);
    } else if (field->kind == ACE_FIELD_TABLE) {
        amqp_table_t table = sample_table(state, pool, 2);
        memcpy(to, &table, sizeof table);
    } else if (field->kind == ACE_FIELD_SHORT_TEXT || field->kind == ACE_FIELD_LONG_TEXT) {
        amqp_bytes_t text =
            sample_bytes(state, pool, field->kind == ACE_FIELD_SHORT_TEXT ? 255 : 600);
        memcpy(to, &text, sizeof text);
    } else {
        memcpy(to, &number, sizes[field->kind]);
    }
}

/* A struct of `layout` with random fields. */
SAMPLE void *sample_method(uint64_t *state, amqp_pool_t *pool, const ace_method_layout *layout)
{
    uint8_t *method = sample_memory(pool, layout->size);
    for (int i = 0; i < layout->count; i++) {
        sample_field(state, pool, &layout->fields[i], method + layout->fields[i].offset);
    }
    return method;
}

SAMPLE bool sample_same_bytes(amqp_bytes_t a, amqp_bytes_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.bytes, b.bytes, a.len) == 0);
}

SAMPLE bool sample_same_table(const amqp_table_t *a, const amqp_table_t *b);

SAMPLE bool sample_same_value(const amqp_field_value_t *a, const amqp_field_value_t *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case AMQP_FIELD_KIND_VOID:
        return true;
    case AMQP_FIELD_KIND_BOOLEAN:
        return !a->value.boolean == !b->value.boolean;
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        return a->value.u8 == b->value.u8;
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        return a->value.u16 == b->value.u16;
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_F32:
        return a->value.u32 == b->value.u32;
    case AMQP_FIELD_KIND_DECIMAL:
        return a->value.decimal.decimals == b->value.decimal.decimals &&
               a->value.decimal.value == b->value.decimal.value;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        return sample_same_bytes(a->value.bytes, b->value.bytes);
    case AMQP_FIELD_KIND_TABLE:
        return sample_same_table(&a->value.table, &b->value.table);
    case AMQP_FIELD_KIND_ARRAY:
        if (a->value.array.num_entries != b->value.array.num_entries) {
            return false;
        }
        for (int i = 0; i < a->value.array.num_entries; i++) {
            if (!sample_same_value(&a->value.array.entries[i], &b->value.array.entries[i])) {
                return false;
            }
        }
        return true;
    default:
        return a->value.u64 == b->value.u64;
    }
}

SAMPLE bool sample_same_table(const amqp_table_t *a, const amqp_table_t *b)
{
    if (a->num_entries != b->num_entries) {
        return false;
    }
    for (int i = 0; i < a->num_entries; i++) {
        if (!sample_same_bytes(a->entries[i].key, b->entries[i].key) ||
            !sample_same_value(&a->entries[i].value, &b->entries[i].value)) {
            return false;
        }
    }
    return true;
}

SAMPLE bool sample_same_properties(const amqp_basic_properties_t *a,
                                   const amqp_basic_properties_t *b)
{
    if (a->_flags != b->_flags || a->delivery_mode != b->delivery_mode ||
        a->priority != b->priority || a->timestamp != b->timestamp ||
        !sample_same_table(&a->headers, &b->headers)) {
        return false;
    }
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        amqp_bytes_t left;
        amqp_bytes_t right;
        if (field->kind == ACE_PROPERTY_TEXT) {
            memcpy(&left, (const uint8_t *)a + field->offset, sizeof left);
            memcpy(&right, (const uint8_t *)b + field->offset, sizeof right);
            if (!sample_same_bytes(left, right)) {
                return false;
            }
        }
    }
    return true;
}

SAMPLE bool sample_same_field(const ace_method_field *field, const uint8_t *a, const uint8_t *b)
{
    static const size_t sizes[] = {1, 2, 4, 8, sizeof(amqp_boolean_t)};
    if (field->kind == ACE_FIELD_TABLE) {
        amqp_table_t left;
        amqp_table_t right;
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        return sample_same_table(&left, &right);
    }
    if (field->kind == ACE_FIELD_SHORT_TEXT || field->kind == ACE_FIELD_LONG_TEXT) {
        amqp_bytes_t left;
        amqp_bytes_t right;
        memcpy(&left, a, sizeof left);
        memcpy(&right, b, sizeof right);
        return sample_same_bytes(left, right);
    }
    return memcmp(a, b, sizes[field->kind]) == 0;
}

SAMPLE bool sample_same_method(const ace_method_layout *layout, const void *a, const void *b)
{
    for (int i = 0; i < layout->count; i++) {
        const ace_method_field *field = &layout->fields[i];
        if (!sample_same_field(field, (const uint8_t *)a + field->offset,
                               (const uint8_t *)b + field->offset)) {
            return false;
        }
    }
    return true;
}

#endif
