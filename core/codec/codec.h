/*
 * Bodies: what a codec writes and reads, and whether a body decodes.
 *
 * The library hands bodies to handlers as bytes; a codec tells beforehand whether those bytes are
 * what their content type promises, so that what is not parks and meets no handler (section 6 of
 * the contract), and which content type a publish writes (section 13). An application's own codec
 * may also make an object of a body.
 *
 * A codec is constant once it is made: any thread may use it, several at a time, and so must the
 * callbacks of an application's codec.
 */
#ifndef ACE_CODEC_CODEC_H
#define ACE_CODEC_CODEC_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

typedef struct acemq_codec ace_codec;

/* Called with the content type as it arrived, parameters included; empty for none. */
typedef bool ace_codec_reader(ace_bytes content_type, void *user);

/*
 * ACE_OK when the body decodes. ACE_DECODE when it never will: the message is parked with "could
 * not be decoded: {message of the error}". Any other code, for example of a store that cannot be
 * reached, is a failure of the delivery and is retried. `*decoded` is NULL before the call; what is
 * put there goes to the handler and then to ace_codec_dropper. `content_type` (as for the reader)
 * and `body` are borrowed for the call.
 */
typedef ace_code ace_codec_decoder(ace_bytes content_type, ace_bytes body, void **decoded,
                                   void *user, ace_error **error);
typedef void ace_codec_dropper(void *decoded, void *user);

/*
 * For a codec that wraps another: the body is not what the handler sees, but made from it. The
 * encoder appends to `body`, and leaves it as it was on failure. The opener has `*payload` point
 * into the body or into `room`, which is empty before; its codes are those of the decoder.
 */
typedef ace_code ace_codec_encoder(ace_bytes payload, ace_buffer *body, void *user,
                                   ace_error **error);
typedef ace_code ace_codec_opener(ace_bytes content_type, ace_bytes body, ace_buffer *room,
                                  ace_bytes *payload, void *user, ace_error **error);

typedef struct ace_codec_settings {
    /* 1 to 63 ASCII letters, digits and - . _; copied. */
    const char *name;
    /* What it writes, 1 to 255 bytes without control characters; copied. NULL:
     * application/octet-stream, and where `reads` is NULL too, it reads everything. */
    const char *content_type;
    ace_codec_reader *reads;       /* NULL: the media type of `content_type` and no other */
    ace_codec_decoder *decode;     /* NULL: every body decodes */
    ace_codec_dropper *drop;       /* NULL: nothing is left to free */
    ace_codec_encoder *encode;     /* NULL: the body is the payload; else with `open` */
    ace_codec_opener *open;        /* in the place of `decode` */
    void *user;                    /* for the callbacks */
    void (*free_user)(void *user); /* after the last use, from any thread; may be NULL */
} ace_codec_settings;

/* Makes an application's codec with one reference. ACE_INVALID_ARGUMENT and ACE_LIMIT name the
 * field; `user` is then still the caller's. */
ace_code ace_codec_new(const ace_codec_settings *settings, ace_codec **out, ace_error **error);
/* Both are fine, and do nothing, with the codecs of ace_codec_find() and with NULL. */
void ace_codec_retain(const ace_codec *codec);
void ace_codec_release(const ace_codec *codec);

/* "json", "text", "msgpack" or "bytes"; static. NULL for any other name. */
const ace_codec *ace_codec_find(const char *name);

const char *ace_codec_name(const ace_codec *codec);
const char *ace_codec_content_type(const ace_codec *codec);
bool ace_codec_reads(const ace_codec *codec, ace_bytes content_type);

/* A consumer's whole question: does the codec read the content type, and the body decode: the codes
 * of ace_codec_decoder, ACE_DECODE for a content type it does not read. What the codec made of the
 * body is dropped. */
ace_code ace_codec_check(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                         ace_error **error);
/* The same, and hands over what the codec made of it: NULL with the built-in ones. */
ace_code ace_codec_decode(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                          void **decoded, ace_error **error);
void ace_codec_drop(const ace_codec *codec, void *decoded); /* NULL is fine */

/* What a publish writes: appends the body for this payload. ACE_DECODE: the payload is not what the
 * innermost codec writes. Else the codes of the wrapping codecs. The buffer is unchanged on
 * failure. */
ace_code ace_codec_encode(const ace_codec *codec, ace_bytes payload, ace_buffer *body,
                          ace_error **error);
/* What a handler sees: *payload points into the body, or into `room`, which is empty before and
 * which the caller frees. The codes of ace_codec_check(). */
ace_code ace_codec_open(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                        ace_buffer *room, ace_bytes *payload, ace_error **error);
/* The same for a wrapping codec's opener, which has its own room: what of the two the payload
 * points into becomes `room`, the other one is emptied. */
ace_code ace_codec_open_within(const ace_codec *inner, ace_bytes content_type, ace_buffer *own,
                               ace_buffer *room, ace_bytes *payload, ace_error **error);

#endif
