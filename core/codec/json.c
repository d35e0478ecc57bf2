/*
 * A check that reads each byte once and keeps nothing. A parser that builds the document first
 * would answer the same question with the body's size many times over in memory: 8 MiB of "{},"
 * cost jansson 620 MB. It would also refuse what is JSON and only too large for its types.
 */
#include "base/utf8.h"
#include "codec/builtin.h"

#include <string.h>

typedef struct reader {
    ace_bytes body;
    size_t position;
    size_t depth;
    uint8_t is_object[ACE_JSON_DEPTH / 8]; /* one bit for each open level */
    ace_error **error;
} reader;

typedef enum step {
    STEP_VALUE,       /* a value must come */
    STEP_FIRST_ITEM,  /* a value, or the end of the array */
    STEP_FIRST_KEY,   /* a key, or the end of the object */
    STEP_AFTER_VALUE, /* a comma, or the end of what is open */
} step;

static ace_code expected(const reader *from, const char *what)
{
    if (from->position >= from->body.length) {
        return ace_fail(from->error, ACE_DECODE,
                        "not JSON: the body ends after %zu bytes, expected %s", from->body.length,
                        what);
    }
    return ace_fail(from->error, ACE_DECODE, "not JSON: byte %zu: expected %s", from->position + 1,
                    what);
}

static bool next_is(const reader *from, char wanted)
{
    return from->position < from->body.length && from->body.data[from->position] == (uint8_t)wanted;
}

static bool skip(reader *from, char wanted)
{
    if (!next_is(from, wanted)) {
        return false;
    }
    from->position++;
    return true;
}

static void skip_space(reader *from)
{
    while (next_is(from, ' ') || next_is(from, '\n') || next_is(from, '\r') ||
           next_is(from, '\t')) {
        from->position++;
    }
}

static bool next_is_digit(const reader *from)
{
    return from->position < from->body.length && from->body.data[from->position] >= '0' &&
           from->body.data[from->position] <= '9';
}

static ace_code read_digits(reader *from)
{
    if (!next_is_digit(from)) {
        return expected(from, "a digit");
    }
    while (next_is_digit(from)) {
        from->position++;
    }
    return ACE_OK;
}

static ace_code read_number(reader *from)
{
    (void)skip(from, '-');
    ace_code code = ACE_OK;
    if (!skip(from, '0')) { /* after a leading zero no digit may come */
        code = read_digits(from);
    }
    if (code == ACE_OK && skip(from, '.')) {
        code = read_digits(from);
    }
    if (code == ACE_OK && (skip(from, 'e') || skip(from, 'E'))) {
        if (!skip(from, '+')) {
            (void)skip(from, '-');
        }
        code = read_digits(from);
    }
    return code;
}

static bool next_is_hexadecimal(const reader *from)
{
    if (next_is_digit(from)) {
        return true;
    }
    if (from->position >= from->body.length) {
        return false;
    }
    uint8_t lower = from->body.data[from->position] | 0x20;
    return lower >= 'a' && lower <= 'f';
}

static ace_code read_escape(reader *from)
{
    static const char simple[] = "\"\\/bfnrt";
    if (from->position < from->body.length &&
        memchr(simple, from->body.data[from->position], sizeof simple - 1) != NULL) {
        from->position++;
        return ACE_OK;
    }
    if (!skip(from, 'u')) {
        return expected(from, "one of \" \\ / b f n r t u after a backslash");
    }
    for (int digit = 0; digit < 4; digit++) {
        if (!next_is_hexadecimal(from)) {
            return expected(from, "a hexadecimal digit");
        }
        from->position++;
    }
    return ACE_OK;
}

static ace_code read_string(reader *from)
{
    from->position++; /* the quotation mark that was seen */
    while (!skip(from, '"')) {
        if (from->position >= from->body.length) {
            return expected(from, "the end of a string");
        }
        if (skip(from, '\\')) {
            ace_code code = read_escape(from);
            if (code != ACE_OK) {
                return code;
            }
            continue;
        }
        if (from->body.data[from->position] < 0x20) {
            return expected(from, "no control character in a string");
        }
        size_t width = ace_utf8_width((const char *)from->body.data + from->position,
                                      from->body.length - from->position);
        if (width == 0) {
            return expected(from, "UTF-8");
        }
        from->position += width;
    }
    return ACE_OK;
}

static bool skip_word(reader *from, const char *word)
{
    size_t length = strlen(word);
    if (from->body.length - from->position < length ||
        memcmp(from->body.data + from->position, word, length) != 0) {
        return false;
    }
    from->position += length;
    return true;
}

static ace_code read_scalar(reader *from)
{
    if (next_is(from, '"')) {
        return read_string(from);
    }
    if (next_is(from, '-') || next_is_digit(from)) {
        return read_number(from);
    }
    if (skip_word(from, "true") || skip_word(from, "false") || skip_word(from, "null")) {
        return ACE_OK;
    }
    return expected(from, "a value");
}

static ace_code open_level(reader *from, bool is_object)
{
    if (from->depth == ACE_JSON_DEPTH) {
        return ace_fail(from->error, ACE_DECODE,
                        "not JSON we read: byte %zu: more than %d levels of nesting",
                        from->position, ACE_JSON_DEPTH);
    }
    uint8_t bit = (uint8_t)(1u << (from->depth % 8));
    uint8_t *levels = &from->is_object[from->depth / 8];
    *levels = (uint8_t)(is_object ? *levels | bit : *levels & ~bit);
    from->depth++;
    return ACE_OK;
}

static bool is_in_object(const reader *from)
{
    size_t level = from->depth - 1;
    return (from->is_object[level / 8] >> (level % 8) & 1) != 0;
}

static ace_code read_value(reader *from, step *next)
{
    bool is_object = next_is(from, '{');
    if (!is_object && !next_is(from, '[')) {
        *next = STEP_AFTER_VALUE;
        return read_scalar(from);
    }
    from->position++;
    *next = is_object ? STEP_FIRST_KEY : STEP_FIRST_ITEM;
    return open_level(from, is_object);
}

static ace_code read_key(reader *from, step *next)
{
    if (!next_is(from, '"')) {
        return expected(from, "a key in quotation marks");
    }
    ace_code code = read_string(from);
    if (code != ACE_OK) {
        return code;
    }
    skip_space(from);
    *next = STEP_VALUE;
    return skip(from, ':') ? ACE_OK : expected(from, "a colon");
}

static ace_code read_after_value(reader *from, step *next)
{
    bool in_object = is_in_object(from);
    if (skip(from, in_object ? '}' : ']')) {
        from->depth--;
        *next = STEP_AFTER_VALUE;
        return ACE_OK;
    }
    if (!skip(from, ',')) {
        return expected(from, in_object ? "a comma or }" : "a comma or ]");
    }
    *next = STEP_VALUE;
    if (!in_object) {
        return ACE_OK;
    }
    skip_space(from);
    return read_key(from, next);
}

static ace_code read_step(reader *from, step *next)
{
    switch (*next) {
    case STEP_FIRST_ITEM:
        return next_is(from, ']') ? read_after_value(from, next) : read_value(from, next);
    case STEP_FIRST_KEY:
        return next_is(from, '}') ? read_after_value(from, next) : read_key(from, next);
    case STEP_AFTER_VALUE:
        return read_after_value(from, next);
    default:
        return read_value(from, next);
    }
}

ace_code ace_json_check(ace_bytes body, ace_error **error)
{
    reader from = {.body = body, .error = error};
    step next = STEP_VALUE;
    do {
        skip_space(&from);
        ace_code code = read_step(&from, &next);
        if (code != ACE_OK) {
            return code;
        }
    } while (from.depth > 0 || next != STEP_AFTER_VALUE);
    skip_space(&from);
    return from.position == body.length ? ACE_OK : expected(&from, "the end");
}
