#include "contract/limits.h"
#include "contract/table.h"
#include "contract/table_rules.h"

#include <math.h>
#include <string.h>

/* Strings and arrays carry their length in 32 bits. */
#define LONGEST_STRING UINT32_MAX

static ace_code refuse(ace_error **error, ace_code code, const char *field, ace_bytes name,
                       const char *what, long long limit)
{
    int shown = name.length > ACE_NAME_MAX ? ACE_NAME_MAX : (int)name.length;
    ace_fail(error, code, "%s %.*s %s", field, shown, (const char *)name.data, what);
    ace_error_field(error, field, limit);
    return code;
}

static ace_code table_rules(const char *field, const amqp_table_t *table, int depth,
                            ace_error **error)
{
    for (int i = 0; i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        if (entry->key.len > ACE_NAME_MAX) {
            ace_fail(error, ACE_LIMIT, "%s: name %d has %zu bytes, the limit is %d", field, i + 1,
                     entry->key.len, ACE_NAME_MAX);
            ace_error_field(error, field, ACE_NAME_MAX);
            return ACE_LIMIT;
        }
        ace_code code = ace_value_sendable(field, ace_bytes_from_amqp(entry->key), &entry->value,
                                           depth + 1, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

static ace_code array_rules(const char *field, ace_bytes name, const amqp_array_t *array, int depth,
                            ace_error **error)
{
    for (int i = 0; i < array->num_entries; i++) {
        ace_code code = ace_value_sendable(field, name, &array->entries[i], depth + 1, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

static bool is_nested(uint8_t kind)
{
    return kind == AMQP_FIELD_KIND_TABLE || kind == AMQP_FIELD_KIND_ARRAY;
}

ace_code ace_value_sendable(const char *field, ace_bytes name, const amqp_field_value_t *value,
                            int depth, ace_error **error)
{
    if (is_nested(value->kind) && depth > ACE_TABLE_DEPTH_MAX) {
        return refuse(error, ACE_LIMIT, field, name, "is nested deeper than 32 levels",
                      ACE_TABLE_DEPTH_MAX);
    }
    switch (value->kind) {
    case AMQP_FIELD_KIND_F32:
    case AMQP_FIELD_KIND_F64:
        if (!isfinite(value->kind == AMQP_FIELD_KIND_F32 ? (double)value->value.f32
                                                         : value->value.f64)) {
            return refuse(error, ACE_INVALID_ARGUMENT, field, name, "is not a finite number", 0);
        }
        return ACE_OK;
    case AMQP_FIELD_KIND_U64:
        if (value->value.u64 > INT64_MAX) {
            return refuse(error, ACE_LIMIT, field, name,
                          "is over 9223372036854775807, which the broker would make negative",
                          INT64_MAX);
        }
        return ACE_OK;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        if (value->value.bytes.len > LONGEST_STRING) {
            return refuse(error, ACE_LIMIT, field, name, "has more than 4294967295 bytes",
                          LONGEST_STRING);
        }
        return ACE_OK;
    case AMQP_FIELD_KIND_TABLE:
        return table_rules(field, &value->value.table, depth, error);
    case AMQP_FIELD_KIND_ARRAY:
        return array_rules(field, name, &value->value.array, depth, error);
    case AMQP_FIELD_KIND_BOOLEAN:
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_DECIMAL:
    case AMQP_FIELD_KIND_TIMESTAMP:
    case AMQP_FIELD_KIND_VOID:
        return ACE_OK;
    default:
        return refuse(error, ACE_INVALID_ARGUMENT, field, name,
                      "has a kind that AMQP 0-9-1 does not know", 0);
    }
}

ace_code ace_table_sendable(const char *field, const amqp_table_t *table, ace_error **error)
{
    return table == NULL ? ACE_OK : table_rules(field, table, 1, error);
}

static ace_code copy_value(ace_arena *arena, const amqp_field_value_t *from, amqp_field_value_t *to,
                           int depth, ace_error **error);

static ace_code copy_table(ace_arena *arena, const amqp_table_t *from, amqp_table_t *to, int depth,
                           ace_error **error)
{
    size_t count = from->num_entries > 0 ? (size_t)from->num_entries : 0;
    to->num_entries = 0;
    to->entries = ace_arena_take(arena, count * sizeof *to->entries);
    if (to->entries == NULL) {
        return ace_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        amqp_bytes_t key = from->entries[i].key;
        to->entries[i].key = (amqp_bytes_t){key.len, ace_arena_copy(arena, key.bytes, key.len)};
        if (to->entries[i].key.bytes == NULL) {
            return ace_fail_memory(error);
        }
        ace_code code =
            copy_value(arena, &from->entries[i].value, &to->entries[i].value, depth + 1, error);
        if (code != ACE_OK) {
            return code;
        }
        to->num_entries++;
    }
    return ACE_OK;
}

static ace_code copy_array(ace_arena *arena, const amqp_array_t *from, amqp_array_t *to, int depth,
                           ace_error **error)
{
    size_t count = from->num_entries > 0 ? (size_t)from->num_entries : 0;
    to->num_entries = 0;
    to->entries = ace_arena_take(arena, count * sizeof *to->entries);
    if (to->entries == NULL) {
        return ace_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        ace_code code = copy_value(arena, &from->entries[i], &to->entries[i], depth + 1, error);
        if (code != ACE_OK) {
            return code;
        }
        to->num_entries++;
    }
    return ACE_OK;
}

static ace_code copy_value(ace_arena *arena, const amqp_field_value_t *from, amqp_field_value_t *to,
                           int depth, ace_error **error)
{
    if (is_nested(from->kind) && depth > ACE_TABLE_DEPTH_MAX) {
        ace_fail(error, ACE_LIMIT, "a table is nested deeper than %d levels", ACE_TABLE_DEPTH_MAX);
        ace_error_field(error, "table", ACE_TABLE_DEPTH_MAX);
        return ACE_LIMIT;
    }
    *to = *from;
    switch (from->kind) {
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        to->value.bytes.bytes =
            ace_arena_copy(arena, from->value.bytes.bytes, from->value.bytes.len);
        return to->value.bytes.bytes == NULL ? ace_fail_memory(error) : ACE_OK;
    case AMQP_FIELD_KIND_TABLE:
        return copy_table(arena, &from->value.table, &to->value.table, depth, error);
    case AMQP_FIELD_KIND_ARRAY:
        return copy_array(arena, &from->value.array, &to->value.array, depth, error);
    default:
        return ACE_OK;
    }
}

ace_code ace_value_copy(ace_arena *arena, const amqp_field_value_t *from, amqp_field_value_t *to,
                        ace_error **error)
{
    return copy_value(arena, from, to, 2, error);
}

void ace_value_make_signed(amqp_field_value_t *value)
{
    if (value->kind == AMQP_FIELD_KIND_U64) {
        uint64_t bits = value->value.u64;
        value->kind = AMQP_FIELD_KIND_I64;
        memcpy(&value->value.i64, &bits, sizeof bits);
    } else if (value->kind == AMQP_FIELD_KIND_TABLE) {
        for (int i = 0; i < value->value.table.num_entries; i++) {
            ace_value_make_signed(&value->value.table.entries[i].value);
        }
    } else if (value->kind == AMQP_FIELD_KIND_ARRAY) {
        for (int i = 0; i < value->value.array.num_entries; i++) {
            ace_value_make_signed(&value->value.array.entries[i]);
        }
    }
}
