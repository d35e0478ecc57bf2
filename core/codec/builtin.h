/* The codecs that the library brings; ace_codec_find() gives them out. */
#ifndef ACE_CODEC_BUILTIN_H
#define ACE_CODEC_BUILTIN_H

#include "codec/codec.h"

#define ACE_JSON_DEPTH 2048 /* arrays and objects inside one another, the outermost counted */

/* RFC 8259: any value at the top, strict UTF-8 without a byte order mark, at most ACE_JSON_DEPTH
 * levels. Keys may stand twice, numbers may have any size, a surrogate may be escaped alone, as in
 * the grammar. Allocates nothing. ACE_DECODE with the position and what was expected there. */
ace_code ace_json_check(ace_bytes body, ace_error **error);

/* Strict UTF-8; an empty body is a text. */
ace_code ace_text_check(ace_bytes body, ace_error **error);

#endif
