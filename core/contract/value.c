#include "contract/value.h"

#include "base/time.h"
#include "base/utf8.h"
#include "contract/table.h"

#include <math.h>

#define LEAST_TOO_LARGE 0x1p63 /* the smallest double that no int64 holds */

static bool whole_number(double number, int64_t *out)
{
    if (!isfinite(number) || number < -LEAST_TOO_LARGE || number >= LEAST_TOO_LARGE) {
        return false;
    }
    double whole = trunc(number);
    if (whole < number || whole > number) {
        return false;
    }
    *out = (int64_t)whole;
    return true;
}

static bool decimal_digits(ace_bytes text, bool negative, int64_t *out)
{
    int64_t value = 0; /* kept negative, since there is one negative number more */
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        int digit = text.data[i] - '0';
        if (value < (INT64_MIN + digit) / 10) {
            return false;
        }
        value = value * 10 - digit;
    }
    if (text.length == 0 || (!negative && value == INT64_MIN)) {
        return false;
    }
    *out = negative ? value : -value;
    return true;
}

static bool decimal_text(ace_bytes text, int64_t *out)
{
    while (text.length > 0 && text.data[0] == ' ') {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && text.data[text.length - 1] == ' ') {
        text.length--;
    }
    bool negative = text.length > 0 && text.data[0] == '-';
    if (negative || (text.length > 0 && text.data[0] == '+')) {
        text.data++;
        text.length--;
    }
    return decimal_digits(text, negative, out);
}

static bool any_integer(const amqp_field_value_t *value, int64_t *out)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_I8:
        *out = value->value.i8;
        return true;
    case AMQP_FIELD_KIND_U8:
        *out = value->value.u8;
        return true;
    case AMQP_FIELD_KIND_I16:
        *out = value->value.i16;
        return true;
    case AMQP_FIELD_KIND_U16:
        *out = value->value.u16;
        return true;
    case AMQP_FIELD_KIND_I32:
        *out = value->value.i32;
        return true;
    case AMQP_FIELD_KIND_U32:
        *out = value->value.u32;
        return true;
    case AMQP_FIELD_KIND_I64:
        *out = value->value.i64;
        return true;
    case AMQP_FIELD_KIND_U64:
        *out = (int64_t)(value->value.u64 & INT64_MAX);
        return value->value.u64 <= INT64_MAX;
    case AMQP_FIELD_KIND_F32:
        return whole_number((double)value->value.f32, out);
    case AMQP_FIELD_KIND_F64:
        return whole_number(value->value.f64, out);
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        return decimal_text(ace_bytes_from_amqp(value->value.bytes), out);
    default:
        return false;
    }
}

bool ace_value_integer(const amqp_field_value_t *value, int64_t minimum, int64_t maximum,
                       int64_t *out)
{
    int64_t read = 0;
    if (value == NULL || !any_integer(value, &read) || read < minimum || read > maximum) {
        return false;
    }
    *out = read;
    return true;
}

bool ace_value_text(const amqp_field_value_t *value, ace_bytes *out)
{
    if (value == NULL ||
        (value->kind != AMQP_FIELD_KIND_UTF8 && value->kind != AMQP_FIELD_KIND_BYTES)) {
        return false;
    }
    ace_bytes text = ace_bytes_from_amqp(value->value.bytes);
    if (text.length == 0 || !ace_utf8_is_valid((const char *)text.data, text.length)) {
        return false;
    }
    *out = text;
    return true;
}

bool ace_value_replayed_at(const amqp_field_value_t *value, int64_t *epoch_milliseconds)
{
    if (ace_value_integer(value, INT64_MIN, INT64_MAX, epoch_milliseconds)) {
        return true;
    }
    ace_bytes text;
    ace_instant instant;
    if (!ace_value_text(value, &text) ||
        ace_time_parse((const char *)text.data, text.length, &instant, NULL) != ACE_OK) {
        return false;
    }
    *epoch_milliseconds = instant.seconds * 1000 + instant.nanoseconds / 1000000;
    return true;
}
