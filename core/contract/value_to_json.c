#include "contract/value_json.h"

#include "base/utf8.h"
#include "contract/base64.h"
#include "contract/json_integer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *ace_kind_name(uint8_t kind)
{
    static const struct {
        amqp_field_value_kind_t kind;
        const char *name;
    } names[] = {
        {AMQP_FIELD_KIND_BOOLEAN, "bool"},
        {AMQP_FIELD_KIND_I8, "int8"},
        {AMQP_FIELD_KIND_U8, "uint8"},
        {AMQP_FIELD_KIND_I16, "int16"},
        {AMQP_FIELD_KIND_U16, "uint16"},
        {AMQP_FIELD_KIND_I32, "int32"},
        {AMQP_FIELD_KIND_U32, "uint32"},
        {AMQP_FIELD_KIND_I64, "int64"},
        {AMQP_FIELD_KIND_U64, "uint64"},
        {AMQP_FIELD_KIND_F32, "float"},
        {AMQP_FIELD_KIND_F64, "double"},
        {AMQP_FIELD_KIND_DECIMAL, "decimal"},
        {AMQP_FIELD_KIND_UTF8, "longstr"},
        {AMQP_FIELD_KIND_BYTES, "bytes"},
        {AMQP_FIELD_KIND_ARRAY, "array"},
        {AMQP_FIELD_KIND_TABLE, "table"},
        {AMQP_FIELD_KIND_TIMESTAMP, "timestamp"},
        {AMQP_FIELD_KIND_VOID, "void"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((uint8_t)names[i].kind == kind) {
            return names[i].name;
        }
    }
    return NULL;
}

static json_t *base64_json(amqp_bytes_t bytes)
{
    ace_buffer text = ACE_BUFFER_INIT;
    json_t *json = NULL;
    if (ace_base64_encode(ace_bytes_from_amqp(bytes), &text)) {
        json = json_stringn(text.length > 0 ? (const char *)text.data : "", text.length);
    }
    ace_buffer_free(&text);
    return json;
}

static json_t *unsigned_json(uint64_t value)
{
    if (value <= INT64_MAX) {
        return json_integer((json_int_t)value);
    }
    return ace_json_of_big_integer(value);
}

static json_t *decimal_json(amqp_decimal_t decimal)
{
    char digits[300];
    int decimals = decimal.decimals;
    int length = snprintf(digits, sizeof digits, "%0*" PRIu32, decimals + 1, decimal.value);
    if (decimals > 0 && length > decimals) {
        size_t whole = (size_t)(length - decimals);
        memmove(digits + whole + 1, digits + whole, (size_t)decimals + 1);
        digits[whole] = '.';
    }
    return json_string(digits);
}

static json_t *real_json(double value)
{
    json_t *json = json_real(value);
    return json != NULL ? json : json_null(); /* no broker passes on what is not finite */
}

static json_t *array_json(const amqp_array_t *array)
{
    json_t *json = json_array();
    for (int i = 0; json != NULL && i < array->num_entries; i++) {
        if (json_array_append_new(json, ace_value_to_json(&array->entries[i], false)) != 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}

static json_t *bare_value(const amqp_field_value_t *value)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return json_boolean(value->value.boolean);
    case AMQP_FIELD_KIND_I8:
        return json_integer(value->value.i8);
    case AMQP_FIELD_KIND_U8:
        return json_integer(value->value.u8);
    case AMQP_FIELD_KIND_I16:
        return json_integer(value->value.i16);
    case AMQP_FIELD_KIND_U16:
        return json_integer(value->value.u16);
    case AMQP_FIELD_KIND_I32:
        return json_integer(value->value.i32);
    case AMQP_FIELD_KIND_U32:
        return json_integer(value->value.u32);
    case AMQP_FIELD_KIND_I64:
        return json_integer(value->value.i64);
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return unsigned_json(value->value.u64);
    case AMQP_FIELD_KIND_F32:
        return real_json((double)value->value.f32);
    case AMQP_FIELD_KIND_F64:
        return real_json(value->value.f64);
    case AMQP_FIELD_KIND_DECIMAL:
        return decimal_json(value->value.decimal);
    case AMQP_FIELD_KIND_UTF8:
        return json_stringn(value->value.bytes.len > 0 ? value->value.bytes.bytes : "",
                            value->value.bytes.len);
    case AMQP_FIELD_KIND_BYTES:
        return base64_json(value->value.bytes);
    case AMQP_FIELD_KIND_ARRAY:
        return array_json(&value->value.array);
    case AMQP_FIELD_KIND_TABLE:
        return ace_table_to_json(&value->value.table, false);
    default:
        return json_null();
    }
}

static bool plain_keeps_the_type(uint8_t kind)
{
    return kind == AMQP_FIELD_KIND_I64 || kind == AMQP_FIELD_KIND_F64 ||
           kind == AMQP_FIELD_KIND_UTF8 || kind == AMQP_FIELD_KIND_BOOLEAN ||
           kind == AMQP_FIELD_KIND_VOID || kind == AMQP_FIELD_KIND_ARRAY;
}

/* What anybody may put into a header must not become a piece of JSON by itself. */
static bool is_plain_text(amqp_bytes_t text)
{
    return ace_utf8_is_valid(text.bytes, text.len) &&
           !ace_json_reads_as_big_integer(ace_bytes_from_amqp(text));
}

json_t *ace_value_to_json(const amqp_field_value_t *value, bool typed)
{
    bool not_text = value->kind == AMQP_FIELD_KIND_UTF8 && !is_plain_text(value->value.bytes);
    if (not_text) {
        return json_pack("{s:s, s:o}", "type", "longstr", "base64",
                         base64_json(value->value.bytes));
    }
    json_t *bare = bare_value(value);
    if (bare == NULL || (!typed && plain_keeps_the_type(value->kind))) {
        return bare;
    }
    const char *name = ace_kind_name(value->kind);
    return json_pack("{s:s, s:o}", "type", name != NULL ? name : "unknown", "value", bare);
}

/* Two headers of one name are one member of an object: the first, which is the one that is read. */
json_t *ace_table_to_json(const amqp_table_t *table, bool typed_top)
{
    json_t *json = json_object();
    for (int i = 0; json != NULL && i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        char name[256];
        size_t length = entry->key.len < sizeof name ? entry->key.len : sizeof name - 1;
        memcpy(name, entry->key.bytes, length);
        name[length] = '\0';
        ace_utf8_clean_line(name);
        if (json_object_get(json, name) != NULL) {
            continue;
        }
        if (json_object_set_new(json, name, ace_value_to_json(&entry->value, typed_top)) != 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}
