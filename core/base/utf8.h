/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef ACE_BASE_UTF8_H
#define ACE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the code point at the start of `text`, 1 to 4; 0 when none starts there whole. */
size_t ace_utf8_width(const char *text, size_t length);

/* How many bytes from the start read as UTF-8; `length` when all do. NUL bytes are code points. */
size_t ace_utf8_valid_prefix(const char *text, size_t length);
bool ace_utf8_is_valid(const char *text, size_t length);

/* The length of `text` when cut to `limit` bytes at most without splitting a code point. Of a text
 * that is not UTF-8 no byte is dropped for that: continuation bytes that belong to nothing count as
 * whole. */
size_t ace_utf8_cut(const char *text, size_t length, size_t limit);

/* Makes one printable line of a text, in place: control characters become spaces, bytes that are
 * not UTF-8 question marks. */
void ace_utf8_clean_line(char *text);

#endif
