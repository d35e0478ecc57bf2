#include "engine/url_text.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

size_t ace_url_position(ace_url_part text, const char *at)
{
    return (size_t)(at - text.whole) + 1;
}

ace_code ace_url_bad(ace_url_part text, const char *at, const char *what, ace_error **error)
{
    ace_code code =
        ace_fail(error, ACE_PARSE, "url, position %zu: %s", ace_url_position(text, at), what);
    ace_error_field(error, "url", 0);
    return code;
}

ace_url_part ace_url_cut(ace_url_part text, const char *start, const char *end)
{
    return (ace_url_part){text.whole, start, end};
}

const char *ace_url_find(ace_url_part text, const char *characters)
{
    for (const char *at = text.start; at < text.end; at++) {
        if (strchr(characters, *at) != NULL) {
            return at;
        }
    }
    return NULL;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static ace_code decode_into(ace_url_part text, char *out, size_t *length, ace_error **error)
{
    *length = 0;
    for (const char *at = text.start; at < text.end; at++) {
        char byte = *at;
        if (byte == '%') {
            int high = text.end - at > 2 ? hex_digit(at[1]) : -1;
            int low = high >= 0 ? hex_digit(at[2]) : -1;
            if (low < 0) {
                return ace_url_bad(text, at, "% wants two hexadecimal digits after it", error);
            }
            byte = (char)(high * 16 + low);
            if (byte == '\0') {
                return ace_url_bad(text, at, "a zero byte is allowed nowhere", error);
            }
            at += 2;
        }
        out[(*length)++] = byte;
    }
    out[*length] = '\0';
    return ACE_OK;
}

ace_code ace_url_decode(ace_url_part text, const char *field, size_t limit, char **out,
                        ace_error **error)
{
    size_t room = (size_t)(text.end - text.start);
    char *decoded = malloc(room + 1);
    if (decoded == NULL) {
        return ace_fail_memory(error);
    }
    size_t length = 0;
    ace_code code = decode_into(text, decoded, &length, error);
    if (code == ACE_OK && length > limit) {
        code = ace_fail(error, ACE_LIMIT, "url: %s has %zu bytes, the limit is %zu", field, length,
                        limit);
        ace_error_field(error, field, (long long)limit);
    } else if (code == ACE_OK && !ace_utf8_is_valid(decoded, length)) {
        code = ace_url_bad(text, text.start, "this is not UTF-8", error);
    }
    if (code != ACE_OK) {
        explicit_bzero(decoded, room + 1);
        free(decoded);
        return code;
    }
    free(*out);
    *out = decoded;
    return ACE_OK;
}

ace_code ace_url_number(ace_url_part text, int64_t least, int64_t most, int32_t *out,
                        const char *field, ace_error **error)
{
    int64_t value = 0;
    bool sound = text.end > text.start && text.end - text.start <= 10;
    for (const char *at = text.start; sound && at < text.end; at++) {
        sound = *at >= '0' && *at <= '9';
        value = value * 10 + (*at - '0');
    }
    if (!sound || value < least || value > most) {
        ace_code code =
            ace_fail(error, ACE_INVALID_ARGUMENT,
                     "url, position %zu: %s must be a whole number from %" PRId64 " to %" PRId64,
                     ace_url_position(text, text.start), field, least, most);
        ace_error_field(error, field, (long long)most);
        return code;
    }
    *out = (int32_t)value;
    return ACE_OK;
}
