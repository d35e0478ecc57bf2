/* UTF-8 as the command line needs it: what comes from a message need not be any. */
#ifndef CLI_UTF8_H
#define CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character that begins at `text`, 0 when none does. `length` is what is left. */
size_t cli_utf8_character(const void *text, size_t length);
bool cli_utf8_is_valid(const void *text, size_t length);
/* The largest length up to `most` that does not part a character. */
size_t cli_utf8_cut(const void *text, size_t length, size_t most);

#endif
