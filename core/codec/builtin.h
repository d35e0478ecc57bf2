/* The codecs that the library brings; ace_codec_find() gives them out. */
#ifndef ACE_CODEC_BUILTIN_H
#define ACE_CODEC_BUILTIN_H

#include "codec/codec.h"

/* Any JSON value at the top, UTF-8, at most 2048 levels deep. Of a key that stands twice the last
 * one counts. Integers may have any size, other numbers must be within a double. */
ace_code ace_json_check(ace_bytes body, ace_error **error);

/* Strict UTF-8; an empty body is a text. */
ace_code ace_text_check(ace_bytes body, ace_error **error);

#endif
