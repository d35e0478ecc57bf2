#include "utf8.h"

#include <stdint.h>

static size_t width_of(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Overlong forms, surrogates and what lies past U+10FFFF show in the second byte. */
static bool second_is_good(uint8_t first, uint8_t second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second <= 0x9f;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second <= 0x8f;
    default:
        return true;
    }
}

size_t cli_utf8_character(const void *text, size_t length)
{
    const uint8_t *bytes = text;
    size_t width = length == 0 ? 0 : width_of(bytes[0]);
    if (width == 0 || width > length) {
        return 0;
    }
    for (size_t i = 1; i < width; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return width == 1 || second_is_good(bytes[0], bytes[1]) ? width : 0;
}

bool cli_utf8_is_valid(const void *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        size_t width = cli_utf8_character((const char *)text + at, length - at);
        if (width == 0) {
            return false;
        }
        at += width;
    }
    return true;
}

size_t cli_utf8_cut(const void *text, size_t length, size_t most)
{
    const uint8_t *bytes = text;
    if (length <= most) {
        return length;
    }
    size_t cut = most;
    while (cut > 0 && (bytes[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return cut;
}
