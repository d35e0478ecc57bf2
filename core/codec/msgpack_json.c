#include "base/time.h"
#include "base/utf8.h"
#include "codec/msgpack.h"

#include <inttypes.h>
#include <math.h>
#include <msgpack.h>
#include <stdlib.h>

#define TIMESTAMP_TYPE (-1)

/* Every writer returns false when memory is gone, which is all that can go wrong after the check.
 * The recursion ends at ACE_MSGPACK_DEPTH. */
static bool write_value(ace_buffer *out, const msgpack_object *value, bool in_key);

static bool write_escape(ace_buffer *out, unsigned char byte)
{
    switch (byte) {
    case '"':
        return ace_buffer_append_text(out, "\\\"");
    case '\\':
        return ace_buffer_append_text(out, "\\\\");
    case '\n':
        return ace_buffer_append_text(out, "\\n");
    case '\r':
        return ace_buffer_append_text(out, "\\r");
    case '\t':
        return ace_buffer_append_text(out, "\\t");
    default:
        return ace_buffer_format(out, "\\u%04x", byte);
    }
}

/* U+007F to U+009F are legal in JSON, but this goes to a terminal, which obeys some of them. */
static bool needs_escape(const char *text, size_t width)
{
    unsigned char first = (unsigned char)text[0];
    if (width == 1) {
        return first < 0x20 || first == '"' || first == '\\' || first == 0x7f;
    }
    return width == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

static bool write_code_point(ace_buffer *out, const char *text, size_t width)
{
    if (width == 0) {
        return ace_buffer_append_text(out, "\xef\xbf\xbd");
    }
    if (needs_escape(text, width)) {
        return write_escape(out, (unsigned char)text[width - 1]);
    }
    return ace_buffer_append(out, text, width);
}

static bool write_string(ace_buffer *out, const char *text, size_t length)
{
    if (!ace_buffer_append_text(out, "\"")) {
        return false;
    }
    size_t position = 0;
    while (position < length) {
        size_t width = ace_utf8_width(text + position, length - position);
        if (!write_code_point(out, text + position, width)) {
            return false;
        }
        position += width == 0 ? 1 : width;
    }
    return ace_buffer_append_text(out, "\"");
}

static bool write_base64(ace_buffer *out, const char *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)data;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= count > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= count > 2 ? (uint32_t)bytes[i + 2] : 0;
        char text[4];
        for (size_t digit = 0; digit < 4; digit++) {
            text[digit] = digit > count ? '=' : digits[group >> (18 - 6 * digit) & 0x3f];
        }
        if (!ace_buffer_append(out, text, sizeof text)) {
            return false;
        }
    }
    return true;
}

static bool write_binary(ace_buffer *out, const char *data, size_t length)
{
    return ace_buffer_append_text(out, "{\"base64\": \"") && write_base64(out, data, length) &&
           ace_buffer_append_text(out, "\"}");
}

static uint64_t big_endian(const char *data, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value = value << 8 | (unsigned char)data[i];
    }
    return value;
}

static bool write_timestamp(ace_buffer *out, const msgpack_object_ext *value)
{
    int64_t seconds;
    uint64_t nanoseconds = 0;
    if (value->size == 12) {
        nanoseconds = big_endian(value->ptr, 4);
        seconds = (int64_t)big_endian(value->ptr + 4, 8);
    } else if (value->size == 8) {
        uint64_t both = big_endian(value->ptr, 8);
        nanoseconds = both >> 34;
        seconds = (int64_t)(both & ((UINT64_C(1) << 34) - 1));
    } else {
        seconds = (int64_t)big_endian(value->ptr, 4);
    }
    char text[ACE_TIME_LENGTH + 1];
    bool has_text = seconds >= INT64_MIN / 1000 && seconds <= INT64_MAX / 1000 &&
                    ace_time_format(seconds * 1000, text);
    if (!has_text) {
        /* Outside the years that RFC 3339 can write. */
        return ace_buffer_format(out, "{\"seconds\": %" PRId64 ", \"nanoseconds\": %" PRIu64 "}",
                                 seconds, nanoseconds);
    }
    text[ACE_TIME_LENGTH - 1] = '\0';
    if (nanoseconds == 0) {
        return ace_buffer_format(out, "\"%sZ\"", text);
    }
    return ace_buffer_format(out, "\"%s.%09" PRIu64 "Z\"", text, nanoseconds);
}

static bool write_extension(ace_buffer *out, const msgpack_object_ext *value)
{
    if (value->type == TIMESTAMP_TYPE) {
        return write_timestamp(out, value);
    }
    return ace_buffer_format(out, "{\"ext\": %d, \"base64\": \"", value->type) &&
           write_base64(out, value->ptr, value->size) && ace_buffer_append_text(out, "\"}");
}

static bool write_double(ace_buffer *out, double value, int digits)
{
    if (!isfinite(value)) {
        return ace_buffer_append_text(out, "null");
    }
    char text[40];
    int length = snprintf(text, sizeof text, "%.*g", digits, value);
    if (length < 0) {
        return false;
    }
    for (char *at = text; *at != '\0'; at++) {
        /* A locale of the application's may have a comma here. */
        if (*at == ',') {
            *at = '.';
        }
    }
    return ace_buffer_append_text(out, text);
}

static bool write_array(ace_buffer *out, const msgpack_object_array *value, bool in_key)
{
    if (!ace_buffer_append_text(out, "[")) {
        return false;
    }
    for (uint32_t i = 0; i < value->size; i++) {
        if ((i > 0 && !ace_buffer_append_text(out, ", ")) ||
            !write_value(out, &value->ptr[i], in_key)) {
            return false;
        }
    }
    return ace_buffer_append_text(out, "]");
}

/* Every key inside a key would double the backslashes of what is in it: a hundred bytes could
 * become gigabytes. */
static bool write_key(ace_buffer *out, const msgpack_object *key, bool in_key)
{
    if (key->type == MSGPACK_OBJECT_STR) {
        return write_string(out, key->via.str.ptr, key->via.str.size);
    }
    if (in_key && (key->type == MSGPACK_OBJECT_MAP || key->type == MSGPACK_OBJECT_ARRAY)) {
        return ace_buffer_append_text(out, "\"...\"");
    }
    ace_buffer text = ACE_BUFFER_INIT;
    bool written =
        write_value(&text, key, true) && write_string(out, (const char *)text.data, text.length);
    ace_buffer_free(&text);
    return written;
}

static bool write_map(ace_buffer *out, const msgpack_object_map *value, bool in_key)
{
    if (!ace_buffer_append_text(out, "{")) {
        return false;
    }
    for (uint32_t i = 0; i < value->size; i++) {
        if ((i > 0 && !ace_buffer_append_text(out, ", ")) ||
            !write_key(out, &value->ptr[i].key, in_key) || !ace_buffer_append_text(out, ": ") ||
            !write_value(out, &value->ptr[i].val, in_key)) {
            return false;
        }
    }
    return ace_buffer_append_text(out, "}");
}

static bool write_value(ace_buffer *out, const msgpack_object *value, bool in_key)
{
    switch (value->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        return ace_buffer_append_text(out, value->via.boolean ? "true" : "false");
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return ace_buffer_format(out, "%" PRIu64, value->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return ace_buffer_format(out, "%" PRId64, value->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
        return write_double(out, value->via.f64, 9);
    case MSGPACK_OBJECT_FLOAT64:
        return write_double(out, value->via.f64, 17);
    case MSGPACK_OBJECT_STR:
        return write_string(out, value->via.str.ptr, value->via.str.size);
    case MSGPACK_OBJECT_BIN:
        return write_binary(out, value->via.bin.ptr, value->via.bin.size);
    case MSGPACK_OBJECT_EXT:
        return write_extension(out, &value->via.ext);
    case MSGPACK_OBJECT_ARRAY:
        return write_array(out, &value->via.array, in_key);
    case MSGPACK_OBJECT_MAP:
        return write_map(out, &value->via.map, in_key);
    default:
        return ace_buffer_append_text(out, "null");
    }
}

static ace_code write_unpacked(ace_bytes body, ace_buffer *buffer, ace_error **error)
{
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t offset = 0;
    msgpack_unpack_return result =
        msgpack_unpack_next(&unpacked, (const char *)body.data, body.length, &offset);
    ace_code code = ACE_OK;
    if (result == MSGPACK_UNPACK_NOMEM_ERROR) {
        code = ace_fail_memory(error);
    } else if (result != MSGPACK_UNPACK_SUCCESS && result != MSGPACK_UNPACK_EXTRA_BYTES) {
        code = ace_fail(error, ACE_DECODE, "not MessagePack: refused by msgpack-c");
    } else if (!write_value(buffer, &unpacked.data, false)) {
        code = ace_fail_memory(error);
    }
    msgpack_unpacked_destroy(&unpacked);
    return code;
}

ace_code ace_msgpack_to_json(ace_bytes body, ace_buffer *buffer, ace_error **error)
{
    ace_code code = ace_msgpack_check(body, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t before = buffer->length;
    code = write_unpacked(body, buffer, error);
    if (code != ACE_OK) {
        buffer->length = before;
    }
    return code;
}
