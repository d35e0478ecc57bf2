#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The range of the second byte is where overlong forms, surrogates and values past the end show. */
static bool second_byte_fits(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0 && second <= 0xbf;
    case 0xed:
        return second >= 0x80 && second <= 0x9f;
    case 0xf0:
        return second >= 0x90 && second <= 0xbf;
    case 0xf4:
        return second >= 0x80 && second <= 0x8f;
    default:
        return is_continuation(second);
    }
}

static size_t width_of_first_byte(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2) {
        return 0;
    }
    if (first < 0xe0) {
        return 2;
    }
    if (first < 0xf0) {
        return 3;
    }
    return first <= 0xf4 ? 4 : 0;
}

size_t ace_utf8_width(const char *text, size_t length)
{
    if (length == 0) {
        return 0;
    }
    const uint8_t *bytes = (const uint8_t *)text;
    size_t width = width_of_first_byte(bytes[0]);
    if (width == 0 || width > length) {
        return 0;
    }
    if (width > 1 && !second_byte_fits(bytes[0], bytes[1])) {
        return 0;
    }
    for (size_t i = 2; i < width; i++) {
        if (!is_continuation(bytes[i])) {
            return 0;
        }
    }
    return width;
}

/* Nearly all text is ASCII, and of that eight bytes are looked at in one step. */
static size_t ascii_prefix(const char *text, size_t length)
{
    size_t position = 0;
    uint64_t eight;
    while (length - position >= sizeof eight) {
        memcpy(&eight, text + position, sizeof eight);
        if ((eight & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
        position += sizeof eight;
    }
    if (position > 0 && length - position < sizeof eight) {
        memcpy(&eight, text + length - sizeof eight, sizeof eight); /* some of them again */
        if ((eight & UINT64_C(0x8080808080808080)) == 0) {
            return length;
        }
    }
    while (position < length && (uint8_t)text[position] < 0x80) {
        position++;
    }
    return position;
}

size_t ace_utf8_valid_prefix(const char *text, size_t length)
{
    size_t position = 0;
    while (position < length) { /* the text may be NULL where it has no bytes */
        position += ascii_prefix(text + position, length - position);
        if (position == length) {
            break;
        }
        size_t width = ace_utf8_width(text + position, length - position);
        if (width == 0) {
            break;
        }
        position += width;
    }
    return position;
}

bool ace_utf8_is_valid(const char *text, size_t length)
{
    return ace_utf8_valid_prefix(text, length) == length;
}

size_t ace_utf8_cut(const char *text, size_t length, size_t limit)
{
    if (length <= limit) {
        return length;
    }
    /* Only a code point that starts before the limit and ends after it is dropped. */
    for (size_t back = 1; back <= 3 && back <= limit; back++) {
        size_t start = limit - back;
        if (is_continuation((uint8_t)text[start])) {
            continue;
        }
        size_t width = ace_utf8_width(text + start, length - start);
        return width > back ? start : limit;
    }
    return limit;
}

void ace_utf8_clean_line(char *text)
{
    size_t length = strlen(text);
    size_t position = 0;
    while (position < length) {
        size_t width = ace_utf8_width(text + position, length - position);
        uint8_t first = (uint8_t)text[position];
        if (width == 0) {
            text[position] = '?';
            width = 1;
        } else if (first < 0x20 || first == 0x7f) {
            text[position] = ' ';
        } else if (width == 2 && first == 0xc2 && (uint8_t)text[position + 1] < 0xa0) {
            /* The control characters U+0080 to U+009F, among them one that starts a sequence. */
            memset(text + position, ' ', 2);
        }
        position += width;
    }
}
