/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef ACE_BASE_UTF8_H
#define ACE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes of the code point at the start of `text`, 1 to 4; 0 when none starts there whole. */
size_t ace_utf8_width(const char *text, size_t length);

/* How many bytes from the start read as UTF-8; `length` when all do. NUL bytes are code points. */
size_t ace_utf8_valid_prefix(const char *text, size_t length);
bool ace_utf8_is_valid(const char *text, size_t length);

/* ASCII without a NUL byte, as nearly all text is: then it needs no further look. Where it is not,
 * nothing is known. Eight bytes a step. */
static inline bool ace_utf8_is_plain(const char *text, size_t length)
{
    uint64_t beyond = 0;
    if (length < sizeof beyond) {
        for (size_t i = 0; i < length; i++) {
            beyond |= ((uint8_t)text[i] - UINT64_C(1)) | (uint8_t)text[i];
        }
        return (beyond & 0x80) == 0;
    }
    uint64_t eight;
    for (size_t at = 0; at < length; at += sizeof eight) {
        size_t last = length - sizeof eight; /* some of them again */
        memcpy(&eight, text + (at < last ? at : last), sizeof eight);
        beyond |= (eight - UINT64_C(0x0101010101010101)) | eight;
    }
    return (beyond & UINT64_C(0x8080808080808080)) == 0;
}

/* The length of `text` when cut to `limit` bytes at most without splitting a code point. Of a text
 * that is not UTF-8 no byte is dropped for that: continuation bytes that belong to nothing count as
 * whole. */
size_t ace_utf8_cut(const char *text, size_t length, size_t limit);

/* Makes one printable line of a text, in place: control characters become spaces, bytes that are
 * not UTF-8 question marks. */
void ace_utf8_clean_line(char *text);

#endif
