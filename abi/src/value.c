#include "arguments.h"
#include "table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const acemq_value *ace_value_to_public(const amqp_field_value_t *value)
{
    return (const acemq_value *)value;
}

const amqp_field_value_t *ace_value_from_public(const acemq_value *value)
{
    return (const amqp_field_value_t *)value;
}

acemq_array *acemq_array_new(void)
{
    return calloc(1, sizeof(acemq_array));
}

void acemq_array_free(acemq_array *array)
{
    if (array != NULL) {
        free(array->array.entries);
        ace_arena_free(&array->arena);
        free(array);
    }
}

static bool grow(acemq_array *array)
{
    if (array->array.num_entries < array->capacity) {
        return true;
    }
    if (array->capacity > INT_MAX / 2) {
        return false;
    }
    int capacity = array->capacity == 0 ? 8 : array->capacity * 2;
    amqp_field_value_t *entries =
        realloc(array->array.entries, (size_t)capacity * sizeof *array->array.entries);
    if (entries == NULL) {
        return false;
    }
    array->array.entries = entries;
    array->capacity = capacity;
    return true;
}

acemq_status acemq_array_append(acemq_array *array, const acemq_value *value, acemq_error **error)
{
    ace_code code = ace_argument_present(array, "array", error);
    if (code == ACE_OK) {
        code = ace_argument_present(value, "value", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    amqp_field_value_t copy;
    code = ace_value_copy(&array->arena, ace_value_from_public(value), &copy, error);
    if (code == ACE_OK && !grow(array)) {
        code = ace_fail_memory(error);
    }
    if (code == ACE_OK) {
        array->array.entries[array->array.num_entries++] = copy;
    }
    return (acemq_status)code;
}

acemq_kind acemq_value_kind(const acemq_value *value)
{
    if (value == NULL) {
        return ACEMQ_KIND_VOID;
    }
    switch (ace_value_from_public(value)->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return ACEMQ_KIND_BOOL;
    case AMQP_FIELD_KIND_I8:
        return ACEMQ_KIND_INT8;
    case AMQP_FIELD_KIND_U8:
        return ACEMQ_KIND_UINT8;
    case AMQP_FIELD_KIND_I16:
        return ACEMQ_KIND_INT16;
    case AMQP_FIELD_KIND_U16:
        return ACEMQ_KIND_UINT16;
    case AMQP_FIELD_KIND_I32:
        return ACEMQ_KIND_INT32;
    case AMQP_FIELD_KIND_U32:
        return ACEMQ_KIND_UINT32;
    case AMQP_FIELD_KIND_I64:
        return ACEMQ_KIND_INT64;
    case AMQP_FIELD_KIND_U64:
        return ACEMQ_KIND_UINT64;
    case AMQP_FIELD_KIND_F32:
        return ACEMQ_KIND_FLOAT;
    case AMQP_FIELD_KIND_F64:
        return ACEMQ_KIND_DOUBLE;
    case AMQP_FIELD_KIND_DECIMAL:
        return ACEMQ_KIND_DECIMAL;
    case AMQP_FIELD_KIND_UTF8:
        return ACEMQ_KIND_STRING;
    case AMQP_FIELD_KIND_BYTES:
        return ACEMQ_KIND_BYTES;
    case AMQP_FIELD_KIND_ARRAY:
        return ACEMQ_KIND_ARRAY;
    case AMQP_FIELD_KIND_TABLE:
        return ACEMQ_KIND_TABLE;
    case AMQP_FIELD_KIND_TIMESTAMP:
        return ACEMQ_KIND_TIMESTAMP;
    default:
        return ACEMQ_KIND_VOID;
    }
}

/* False for kinds that are no integers, and for a negative number. */
static bool read_unsigned(const amqp_field_value_t *value, uint64_t *number)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_U8:
        *number = value->value.u8;
        return true;
    case AMQP_FIELD_KIND_U16:
        *number = value->value.u16;
        return true;
    case AMQP_FIELD_KIND_U32:
        *number = value->value.u32;
        return true;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        *number = value->value.u64;
        return true;
    default:
        return false;
    }
}

static bool read_signed(const amqp_field_value_t *value, int64_t *number)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        *number = value->value.boolean ? 1 : 0;
        return true;
    case AMQP_FIELD_KIND_I8:
        *number = value->value.i8;
        return true;
    case AMQP_FIELD_KIND_I16:
        *number = value->value.i16;
        return true;
    case AMQP_FIELD_KIND_I32:
        *number = value->value.i32;
        return true;
    case AMQP_FIELD_KIND_I64:
        *number = value->value.i64;
        return true;
    default:
        return false;
    }
}

int acemq_value_integer(const acemq_value *value, int64_t *number)
{
    if (value == NULL || number == NULL) {
        return 0;
    }
    uint64_t positive;
    if (read_unsigned(ace_value_from_public(value), &positive)) {
        if (positive > INT64_MAX) {
            return 0;
        }
        *number = (int64_t)positive;
        return 1;
    }
    return read_signed(ace_value_from_public(value), number);
}

int acemq_value_unsigned(const acemq_value *value, uint64_t *number)
{
    if (value == NULL || number == NULL) {
        return 0;
    }
    if (read_unsigned(ace_value_from_public(value), number)) {
        return 1;
    }
    int64_t with_sign;
    if (!read_signed(ace_value_from_public(value), &with_sign) || with_sign < 0) {
        return 0;
    }
    *number = (uint64_t)with_sign;
    return 1;
}

int acemq_value_double(const acemq_value *value, double *number)
{
    if (value == NULL || number == NULL) {
        return 0;
    }
    const amqp_field_value_t *field = ace_value_from_public(value);
    if (field->kind == AMQP_FIELD_KIND_F32) {
        *number = (double)field->value.f32;
        return 1;
    }
    if (field->kind == AMQP_FIELD_KIND_F64) {
        *number = field->value.f64;
        return 1;
    }
    return 0;
}

int acemq_value_decimal(const acemq_value *value, uint8_t *decimals, uint32_t *unscaled)
{
    if (acemq_value_kind(value) != ACEMQ_KIND_DECIMAL || decimals == NULL || unscaled == NULL) {
        return 0;
    }
    *decimals = ace_value_from_public(value)->value.decimal.decimals;
    *unscaled = ace_value_from_public(value)->value.decimal.value;
    return 1;
}

int acemq_value_bytes(const acemq_value *value, acemq_bytes *bytes)
{
    acemq_kind kind = acemq_value_kind(value);
    if ((kind != ACEMQ_KIND_STRING && kind != ACEMQ_KIND_BYTES) || bytes == NULL) {
        return 0;
    }
    const amqp_bytes_t *held = &ace_value_from_public(value)->value.bytes;
    *bytes = (acemq_bytes){held->bytes, held->len};
    return 1;
}

size_t acemq_value_count(const acemq_value *value)
{
    switch (acemq_value_kind(value)) {
    case ACEMQ_KIND_TABLE:
        return (size_t)ace_value_from_public(value)->value.table.num_entries;
    case ACEMQ_KIND_ARRAY:
        return (size_t)ace_value_from_public(value)->value.array.num_entries;
    default:
        return 0;
    }
}

const acemq_value *acemq_value_at(const acemq_value *value, size_t index, char name[256])
{
    if (name != NULL) {
        name[0] = '\0';
    }
    if (index >= acemq_value_count(value)) {
        return NULL;
    }
    const amqp_field_value_t *field = ace_value_from_public(value);
    if (field->kind == AMQP_FIELD_KIND_ARRAY) {
        return ace_value_to_public(&field->value.array.entries[index]);
    }
    const amqp_table_entry_t *entry = &field->value.table.entries[index];
    if (name != NULL) {
        size_t length = entry->key.len > 255 ? 255 : entry->key.len;
        memcpy(name, entry->key.bytes, length);
        name[length] = '\0';
    }
    return ace_value_to_public(&entry->value);
}
