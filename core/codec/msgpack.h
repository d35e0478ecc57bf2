/* MessagePack bodies. */
#ifndef ACE_CODEC_MSGPACK_H
#define ACE_CODEC_MSGPACK_H

#include "base/buffer.h"
#include "base/error.h"

#define ACE_MSGPACK_DEPTH 32 /* arrays and maps inside one another, the outermost counted */

/*
 * Is the body exactly one MessagePack value? Allocates nothing and looks at each byte once: a
 * claimed count or length is held against the bytes that are left before anybody makes room for it,
 * nesting against ACE_MSGPACK_DEPTH, timestamps against their three forms and 10^9 nanoseconds, and
 * nothing may follow. ACE_DECODE, with the position, where it is not.
 */
ace_code ace_msgpack_check(ace_bytes body, ace_error **error);

/*
 * Appends the value as JSON on one line, for people: binary as {"base64": ...}, an extension as
 * {"ext": type, "base64": ...}, a timestamp as RFC 3339 text, a key that is not a string as its own
 * JSON in a string (and a map or an array that is a key inside such a key as "..."), NaN and
 * infinities as null, bytes of a string that are not UTF-8 as U+FFFD. Checks first, with the errors
 * of ace_msgpack_check(). The buffer is unchanged on failure.
 */
ace_code ace_msgpack_to_json(ace_bytes body, ace_buffer *buffer, ace_error **error);

#endif
