/* Base64 as RFC 4648 section 4 has it, padded. */
#ifndef ACE_CONTRACT_BASE64_H
#define ACE_CONTRACT_BASE64_H

#include "base/buffer.h"

/* Appends the text. False: no memory. */
bool ace_base64_encode(ace_bytes bytes, ace_buffer *out);

/* Appends the bytes. False where the text is not base64, padding and unused bits included, or
 * memory is gone; `out` then holds what it held. */
bool ace_base64_decode(ace_bytes text, ace_buffer *out);

#endif
