#include "contract/value_json.h"

#include "contract/json_integer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* jansson refuses a text in which one integer is outside int64. Such an integer goes through it as
 * a string that no other program writes. */
#define BIG_INTEGER_MARK "\\u0000integer:"

static bool fits_int64(const char *digits, size_t length, bool negative)
{
    const char *limit = negative ? "9223372036854775808" : "9223372036854775807";
    size_t width = strlen(limit);
    return length < width || (length == width && memcmp(digits, limit, width) <= 0);
}

static size_t digits_from(const char *text, size_t length, size_t position)
{
    size_t at = position;
    while (at < length && text[at] >= '0' && text[at] <= '9') {
        at++;
    }
    return at - position;
}

/* The end of the number that starts at `position` if it is an integer outside int64, else 0. */
static size_t big_integer_end(const char *text, size_t length, size_t position)
{
    bool negative = text[position] == '-';
    size_t start = position + (negative ? 1 : 0);
    size_t digits = digits_from(text, length, start);
    size_t end = start + digits;
    bool fraction = end < length && (text[end] == '.' || text[end] == 'e' || text[end] == 'E');
    if (digits == 0 || text[start] == '0' || fraction ||
        fits_int64(text + start, digits, negative)) {
        return 0;
    }
    return end;
}

static size_t string_end(const char *text, size_t length, size_t position)
{
    size_t at = position + 1;
    while (at < length && text[at] != '"') {
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < length ? at + 1 : length;
}

static size_t number_end(const char *text, size_t length, size_t position)
{
    size_t at = position + 1;
    while (at < length && strchr("0123456789+-.eE", text[at]) != NULL && text[at] != '\0') {
        at++;
    }
    return at;
}

/* Copies the text with its big integers marked. */
static bool mark_big_integers(const char *text, size_t length, ace_buffer *out)
{
    size_t at = 0;
    while (at < length) {
        size_t end = at + 1;
        size_t big = 0;
        if (text[at] == '"') {
            end = string_end(text, length, at);
        } else if (text[at] == '-' || (text[at] >= '0' && text[at] <= '9')) {
            big = big_integer_end(text, length, at);
            end = big > 0 ? big : number_end(text, length, at);
        }
        bool good = (big == 0 || ace_buffer_append_text(out, "\"" BIG_INTEGER_MARK)) &&
                    ace_buffer_append(out, text + at, end - at) &&
                    (big == 0 || ace_buffer_append_text(out, "\""));
        if (!good) {
            return false;
        }
        at = end;
    }
    return true;
}

ace_code ace_json_read(const char *text, size_t length, json_t **json, ace_error **error)
{
    ace_buffer marked = ACE_BUFFER_INIT;
    if (!mark_big_integers(text, length, &marked)) {
        ace_buffer_free(&marked);
        return ace_fail_memory(error);
    }
    json_error_t fault;
    const char *data = marked.length > 0 ? (const char *)marked.data : "";
    *json = json_loadb(data, marked.length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    ace_buffer_free(&marked);
    if (*json == NULL && json_error_code(&fault) == json_error_out_of_memory) {
        return ace_fail_memory(error);
    }
    if (*json == NULL) {
        return ace_fail(error, ACE_PARSE, "line %d, column %d: %s", fault.line, fault.column,
                        fault.text);
    }
    return ACE_OK;
}

static const char value_mark[] = "\0integer:";

bool ace_json_reads_as_big_integer(ace_bytes text)
{
    const size_t width = sizeof value_mark - 1;
    return text.length >= width && memcmp(text.data, value_mark, width) == 0;
}

bool ace_json_big_integer(const json_t *json, ace_bytes *digits)
{
    const size_t width = sizeof value_mark - 1;
    ace_bytes text = {(const uint8_t *)json_string_value(json), json_string_length(json)};
    if (!json_is_string(json) || text.length == width || !ace_json_reads_as_big_integer(text)) {
        return false;
    }
    *digits = (ace_bytes){text.data + width, text.length - width};
    return true;
}

json_t *ace_json_of_big_integer(uint64_t value)
{
    char text[40] = "\0integer:";
    const size_t width = sizeof "\0integer:" - 1;
    int digits = snprintf(text + width, sizeof text - width, "%" PRIu64, value);
    return json_stringn(text, width + (size_t)digits);
}

/* In place, since what is left is shorter. */
static void unmark_big_integers(char *text)
{
    static const char mark[] = "\"" BIG_INTEGER_MARK;
    const size_t length = strlen(text);
    size_t out = 0;
    size_t at = 0;
    while (at < length) {
        bool is_string = text[at] == '"';
        size_t end = is_string ? string_end(text, length, at) : at + 1;
        size_t start = at;
        if (is_string && strncmp(text + at, mark, sizeof mark - 1) == 0) {
            start += sizeof mark - 1;
        }
        size_t width = end - start - (start > at ? 1 : 0);
        memmove(text + out, text + start, width);
        out += width;
        at = end;
    }
    text[out] = '\0';
}

char *ace_json_write(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    if (text != NULL) {
        unmark_big_integers(text);
    }
    return text;
}
