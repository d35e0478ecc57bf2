#include "contract/value_json.h"

#include "contract/base64.h"
#include "contract/json_integer.h"
#include "contract/limits.h"
#include "contract/table_rules.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

typedef struct place {
    char path[256];
    int depth;
    ace_arena *arena;
    ace_error **error;
} place;

static ace_code read_value(const json_t *json, place at, amqp_field_value_t *out);

static ace_code expected(const place *at, const char *what)
{
    return ace_fail(at->error, ACE_PARSE, "%s: expected %s", at->path, what);
}

static place inside(place at, const char *member)
{
    place in = at;
    in.depth++;
    int length = snprintf(in.path, sizeof in.path, "%.180s%s%.60s", at.path,
                          at.path[0] == '\0' ? "" : ".", member);
    if (length < 0) {
        in.path[0] = '\0';
    }
    return in;
}

static ace_code read_signed(const json_t *json, const place *at, int64_t minimum, int64_t maximum,
                            int64_t *out)
{
    if (!json_is_integer(json) || json_integer_value(json) < minimum ||
        json_integer_value(json) > maximum) {
        return expected(at, "an integer within the range of its type");
    }
    *out = json_integer_value(json);
    return ACE_OK;
}

static bool unsigned_digits(ace_bytes digits, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') {
            return false;
        }
        unsigned digit = (unsigned)digits.data[i] - '0';
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    return digits.length > 0;
}

static ace_bytes bytes_of(const json_t *json)
{
    return (ace_bytes){(const uint8_t *)json_string_value(json), json_string_length(json)};
}

/* Above int64 the number comes as digits, from the reader or, as we print it, in a string. */
static ace_code read_unsigned(const json_t *json, const place *at, uint64_t maximum, uint64_t *out)
{
    uint64_t value = 0;
    ace_bytes digits;
    if (json_is_integer(json) && json_integer_value(json) >= 0) {
        value = (uint64_t)json_integer_value(json);
    } else if (!ace_json_big_integer(json, &digits) || !unsigned_digits(digits, &value)) {
        if (!json_is_string(json) || !unsigned_digits(bytes_of(json), &value)) {
            return expected(at, "an integer within the range of its type");
        }
    }
    if (value > maximum) {
        return expected(at, "an integer within the range of its type");
    }
    *out = value;
    return ACE_OK;
}

static ace_code keep_bytes(const place *at, ace_bytes bytes, amqp_bytes_t *out)
{
    void *copy = ace_arena_copy(at->arena, bytes.data, bytes.length);
    if (copy == NULL) {
        return ace_fail_memory(at->error);
    }
    *out = (amqp_bytes_t){bytes.length, copy};
    return ACE_OK;
}

static ace_code read_base64(const json_t *json, const place *at, amqp_bytes_t *out)
{
    ace_buffer decoded = ACE_BUFFER_INIT;
    if (!json_is_string(json) || !ace_base64_decode(bytes_of(json), &decoded)) {
        ace_buffer_free(&decoded);
        return expected(at, "base64");
    }
    ace_code code = keep_bytes(at, (ace_bytes){decoded.data, decoded.length}, out);
    ace_buffer_free(&decoded);
    return code;
}

static ace_code read_text(const json_t *json, const place *at, amqp_bytes_t *out)
{
    if (!json_is_string(json)) {
        return expected(at, "a string");
    }
    ace_bytes digits;
    if (ace_json_big_integer(json, &digits)) {
        return expected(at, "an integer that int64 holds");
    }
    return keep_bytes(at, bytes_of(json), out);
}

/* Digits with at most one point: "12.34" is 1234 with 2 decimals. */
static ace_code read_decimal(const json_t *json, const place *at, amqp_decimal_t *out)
{
    ace_bytes text = json_is_string(json) ? bytes_of(json) : (ace_bytes){NULL, 0};
    uint64_t value = 0;
    size_t digits = 0;
    size_t decimals = 0;
    bool point = false;
    bool good = true;
    for (size_t i = 0; good && i < text.length; i++) {
        if (text.data[i] == '.' && !point && digits > 0) {
            point = true;
            continue;
        }
        good = text.data[i] >= '0' && text.data[i] <= '9' && value <= UINT32_MAX;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
        digits++;
        decimals += point ? 1 : 0;
    }
    if (!good || digits == 0 || value > UINT32_MAX || decimals > UINT8_MAX ||
        (point && decimals == 0)) {
        return expected(at, "a decimal in a string, such as \"12.34\"");
    }
    out->decimals = (uint8_t)decimals;
    out->value = (uint32_t)value;
    return ACE_OK;
}

/* Tables and arrays count, the values in the deepest of them do not. */
static ace_code check_depth(const place *at)
{
    if (at->depth > ACE_TABLE_DEPTH_MAX) {
        return ace_fail(at->error, ACE_LIMIT, "%s: nested deeper than %d levels", at->path,
                        ACE_TABLE_DEPTH_MAX);
    }
    return ACE_OK;
}

static ace_code read_table(const json_t *json, const place *at, amqp_table_t *out)
{
    if (!json_is_object(json)) {
        return expected(at, "an object");
    }
    ace_code depth = check_depth(at);
    if (depth != ACE_OK) {
        return depth;
    }
    size_t count = json_object_size(json);
    out->entries = ace_arena_take(at->arena, count * sizeof *out->entries);
    if (out->entries == NULL) {
        return ace_fail_memory(at->error);
    }
    const char *name;
    json_t *member;
    json_t *object = (json_t *)(uintptr_t)json; /* jansson iterates over what it may change */
    json_object_foreach(object, name, member)
    {
        amqp_table_entry_t *entry = &out->entries[out->num_entries];
        ace_code code = ace_name_check("header name", ace_bytes_of(name), at->error);
        if (code == ACE_OK) {
            code = keep_bytes(at, ace_bytes_of(name), &entry->key);
        }
        if (code == ACE_OK) {
            code = read_value(member, inside(*at, name), &entry->value);
        }
        if (code != ACE_OK) {
            return code;
        }
        out->num_entries++;
    }
    return ACE_OK;
}

static ace_code read_array(const json_t *json, const place *at, amqp_array_t *out)
{
    if (!json_is_array(json)) {
        return expected(at, "an array");
    }
    ace_code depth = check_depth(at);
    if (depth != ACE_OK) {
        return depth;
    }
    size_t count = json_array_size(json);
    out->entries = ace_arena_take(at->arena, count * sizeof *out->entries);
    if (out->entries == NULL) {
        return ace_fail_memory(at->error);
    }
    for (size_t i = 0; i < count; i++) {
        char index[32];
        snprintf(index, sizeof index, "%zu", i);
        ace_code code = read_value(json_array_get(json, i), inside(*at, index), &out->entries[i]);
        if (code != ACE_OK) {
            return code;
        }
        out->num_entries++;
    }
    return ACE_OK;
}

struct integer_kind {
    const char *name;
    amqp_field_value_kind_t kind;
    int64_t minimum;
    uint64_t maximum;
};

static const struct integer_kind integer_kinds[] = {
    {"int8", AMQP_FIELD_KIND_I8, INT8_MIN, INT8_MAX},
    {"int16", AMQP_FIELD_KIND_I16, INT16_MIN, INT16_MAX},
    {"int32", AMQP_FIELD_KIND_I32, INT32_MIN, INT32_MAX},
    {"int64", AMQP_FIELD_KIND_I64, INT64_MIN, INT64_MAX},
    {"uint8", AMQP_FIELD_KIND_U8, 0, UINT8_MAX},
    {"uint16", AMQP_FIELD_KIND_U16, 0, UINT16_MAX},
    {"uint32", AMQP_FIELD_KIND_U32, 0, UINT32_MAX},
    {"uint64", AMQP_FIELD_KIND_U64, 0, UINT64_MAX},
    {"timestamp", AMQP_FIELD_KIND_TIMESTAMP, 0, UINT64_MAX},
};

static void store_integer(amqp_field_value_t *out, int64_t signed_value, uint64_t unsigned_value)
{
    switch (out->kind) {
    case AMQP_FIELD_KIND_I8:
        out->value.i8 = (int8_t)signed_value;
        break;
    case AMQP_FIELD_KIND_I16:
        out->value.i16 = (int16_t)signed_value;
        break;
    case AMQP_FIELD_KIND_I32:
        out->value.i32 = (int32_t)signed_value;
        break;
    case AMQP_FIELD_KIND_I64:
        out->value.i64 = signed_value;
        break;
    case AMQP_FIELD_KIND_U8:
        out->value.u8 = (uint8_t)unsigned_value;
        break;
    case AMQP_FIELD_KIND_U16:
        out->value.u16 = (uint16_t)unsigned_value;
        break;
    case AMQP_FIELD_KIND_U32:
        out->value.u32 = (uint32_t)unsigned_value;
        break;
    default:
        out->value.u64 = unsigned_value;
        break;
    }
}

static ace_code read_integer_kind(const struct integer_kind *kind, const json_t *json,
                                  const place *at, amqp_field_value_t *out)
{
    int64_t signed_value = 0;
    uint64_t unsigned_value = 0;
    ace_code code = kind->minimum < 0 ? read_signed(json, at, kind->minimum, (int64_t)kind->maximum,
                                                    &signed_value)
                                      : read_unsigned(json, at, kind->maximum, &unsigned_value);
    out->kind = (uint8_t)kind->kind;
    store_integer(out, signed_value, unsigned_value);
    return code;
}

static ace_code read_number_kind(bool single, const json_t *json, const place *at,
                                 amqp_field_value_t *out)
{
    if (!json_is_number(json)) {
        return expected(at, "a number");
    }
    double number = json_number_value(json);
    if (!single) {
        out->kind = AMQP_FIELD_KIND_F64;
        out->value.f64 = number;
        return ACE_OK;
    }
    if (number < -(double)FLT_MAX || number > (double)FLT_MAX) {
        return expected(at, "a number that a float holds, below 3.4e38");
    }
    out->kind = AMQP_FIELD_KIND_F32;
    out->value.f32 = (float)number;
    return ACE_OK;
}

static ace_code read_bool_kind(const json_t *json, const place *at, amqp_field_value_t *out)
{
    out->kind = AMQP_FIELD_KIND_BOOLEAN;
    out->value.boolean = json_is_true(json);
    return json_is_boolean(json) ? ACE_OK : expected(at, "true or false");
}

static ace_code read_typed(const char *type, const json_t *json, const place *at,
                           amqp_field_value_t *out)
{
    for (size_t i = 0; i < sizeof integer_kinds / sizeof integer_kinds[0]; i++) {
        if (strcmp(type, integer_kinds[i].name) == 0) {
            return read_integer_kind(&integer_kinds[i], json, at, out);
        }
    }
    if (strcmp(type, "bool") == 0) {
        return read_bool_kind(json, at, out);
    }
    if (strcmp(type, "float") == 0 || strcmp(type, "double") == 0) {
        return read_number_kind(type[0] == 'f', json, at, out);
    }
    if (strcmp(type, "decimal") == 0) {
        out->kind = AMQP_FIELD_KIND_DECIMAL;
        return read_decimal(json, at, &out->value.decimal);
    }
    if (strcmp(type, "longstr") == 0) {
        out->kind = AMQP_FIELD_KIND_UTF8;
        return read_text(json, at, &out->value.bytes);
    }
    if (strcmp(type, "bytes") == 0) {
        out->kind = AMQP_FIELD_KIND_BYTES;
        return read_base64(json, at, &out->value.bytes);
    }
    if (strcmp(type, "array") == 0) {
        out->kind = AMQP_FIELD_KIND_ARRAY;
        return read_array(json, at, &out->value.array);
    }
    if (strcmp(type, "table") == 0) {
        out->kind = AMQP_FIELD_KIND_TABLE;
        return read_table(json, at, &out->value.table);
    }
    if (strcmp(type, "void") == 0) {
        out->kind = AMQP_FIELD_KIND_VOID;
        return json_is_null(json) ? ACE_OK : expected(at, "null");
    }
    return expected(at, "a type: bool, int8 to int64, uint8 to uint64, float, double, decimal, "
                        "longstr, bytes, array, table, timestamp or void");
}

static ace_code read_object(const json_t *json, const place *at, amqp_field_value_t *out)
{
    const json_t *type = json_object_get(json, "type");
    const json_t *value = json_object_get(json, "value");
    const json_t *base64 = json_object_get(json, "base64");
    if (json_object_size(json) == 2 && json_is_string(type) && value != NULL) {
        return read_typed(json_string_value(type), value, at, out);
    }
    if (json_object_size(json) == 2 && json_is_string(type) && base64 != NULL &&
        strcmp(json_string_value(type), "longstr") == 0) {
        out->kind = AMQP_FIELD_KIND_UTF8;
        return read_base64(base64, at, &out->value.bytes);
    }
    out->kind = AMQP_FIELD_KIND_TABLE;
    return read_table(json, at, &out->value.table);
}

static ace_code read_value(const json_t *json, place at, amqp_field_value_t *out)
{
    *out = (amqp_field_value_t){.kind = AMQP_FIELD_KIND_VOID};
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return read_object(json, &at, out);
    case JSON_ARRAY:
        return read_typed("array", json, &at, out);
    case JSON_STRING:
        return read_typed("longstr", json, &at, out);
    case JSON_INTEGER:
        return read_typed("int64", json, &at, out);
    case JSON_REAL:
        return read_typed("double", json, &at, out);
    case JSON_TRUE:
    case JSON_FALSE:
        return read_typed("bool", json, &at, out);
    case JSON_NULL:
    default:
        return ACE_OK;
    }
}

static ace_code from_json(const json_t *object, const char *path, bool arrived, ace_table *table,
                          ace_error **error)
{
    ace_arena arena = ACE_ARENA_INIT;
    place at = {.depth = 1, .arena = &arena, .error = error};
    snprintf(at.path, sizeof at.path, "%s", path);
    amqp_table_t read = {0, NULL};
    ace_code code = read_table(object, &at, &read);
    for (int i = 0; code == ACE_OK && i < read.num_entries; i++) {
        ace_bytes name = ace_bytes_from_amqp(read.entries[i].key);
        if (arrived) {
            ace_table_remove_bytes(table, name);
            code = ace_table_append_unchecked(table, name, &read.entries[i].value, error);
        } else {
            code = ace_table_set(table, name, &read.entries[i].value, error);
        }
    }
    ace_arena_free(&arena);
    return code;
}

ace_code ace_table_from_json(const json_t *object, const char *path, ace_table *table,
                             ace_error **error)
{
    return from_json(object, path, false, table, error);
}

ace_code ace_table_from_json_arrived(const json_t *object, const char *path, ace_table *table,
                                     ace_error **error)
{
    return from_json(object, path, true, table, error);
}
