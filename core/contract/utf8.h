/* UTF-8, strictly: no surrogates, no overlong forms, nothing above U+10FFFF. NUL is a character. */
#ifndef ACE_CONTRACT_UTF8_H
#define ACE_CONTRACT_UTF8_H

#include "base/buffer.h"

bool ace_utf8_valid(ace_bytes text);

/* The length, at most `limit`, at which a valid text can be cut between two characters. */
size_t ace_utf8_cut(ace_bytes text, size_t limit);

/* Appends `text` with every byte that is not part of a character replaced by '?'. False: no memory.
 */
bool ace_utf8_append_clean(ace_buffer *buffer, ace_bytes text);

#endif
