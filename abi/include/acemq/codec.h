/**
 * @file codec.h
 * What a consumer checks before its handler runs: that the body decodes (section 13). What does not
 * is parked.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_CODEC_H
#define ACEMQ_CODEC_H

#include "error.h"

ACEMQ_BEGIN

/** A codec. Immutable, any thread. Built-in ones are static; one of acemq_codec_new() is owned, and
 * consumers keep it alive. */
typedef struct acemq_codec acemq_codec;

/** "json", "text", "msgpack" or "bytes"; NULL for another name. Static: freeing one is fine and
 * does nothing. */
ACEMQ_API const acemq_codec *acemq_codec_builtin(const char *name);

/**
 * Says whether a body decodes.
 * @param body         borrowed for the call
 * @param content_type as it arrived
 * @param reason       room for why not, as NUL-terminated UTF-8
 * @param size         of that room
 * @param user         as acemq_codec_new() got it
 * @return 0 when it does. Called on the thread that is about to run the handler, or is in
 * acemq_consumer_next().
 */
typedef int (*acemq_decode_callback)(acemq_bytes body, const char *content_type, char *reason,
                                     size_t size, void *user);
/**
 * A codec of the application's, owned.
 * @param name   what it is called in errors; copied
 * @param decode asked for each body
 * @param destructor called with `user` when nothing uses the codec any more; may be NULL.
 * Errors: ACEMQ_E_INVALID_ARGUMENT (name or decode is NULL), ACEMQ_E_OUT_OF_MEMORY; the destructor
 * is not called then.
 */
ACEMQ_API acemq_status acemq_codec_new(const char *name, acemq_decode_callback decode, void *user,
                                       acemq_destructor destructor, acemq_codec **codec,
                                       acemq_error **error);
/** Ends the caller's hold; consumers that use it keep it alive. NULL is fine. */
ACEMQ_API void acemq_codec_free(acemq_codec *codec);

/**
 * What a consumer asks: does the codec read this content type (NULL or "": none), and does the
 * body decode. Errors: ACEMQ_E_DECODE with the reason.
 * @param content_type as it arrived
 */
ACEMQ_API acemq_status acemq_codec_check(const acemq_codec *codec, acemq_bytes body,
                                         const char *content_type, acemq_error **error);

/** What a publish with this codec writes as its content type; borrowed from the codec. NULL for a
 * NULL codec. */
ACEMQ_API const char *acemq_codec_content_type(const acemq_codec *codec);
/**
 * The body for a payload. Only the codecs that wrap another (encryption.h, claim_check.h) change
 * anything; the others check that the payload is what they stand for.
 * @param body owned, freed with acemq_free(); its *length bytes are followed by a NUL
 * Errors: ACEMQ_E_DECODE when the payload is not what the codec writes, ACEMQ_E_OUT_OF_MEMORY, and
 * those of encrypting and storing.
 */
ACEMQ_API acemq_status acemq_codec_encode(const acemq_codec *codec, acemq_bytes payload,
                                          void **body, size_t *length, acemq_error **error);
/**
 * The payload of a body, as a consumer with this codec hands it to its handler.
 * @param content_type as it arrived; NULL or "": none
 * @param payload      owned, freed with acemq_free(); its *length bytes are followed by a NUL
 * Errors: ACEMQ_E_DECODE when the body never will decode: a consumer parks it. Any other, such as
 * ACEMQ_E_SYSTEM of a store: a consumer tries again.
 */
ACEMQ_API acemq_status acemq_codec_decode(const acemq_codec *codec, acemq_bytes body,
                                          const char *content_type, void **payload, size_t *length,
                                          acemq_error **error);

/**
 * A MessagePack document as JSON text, for a terminal: bytes become base64 text. Owned, freed with
 * acemq_free(). Errors: ACEMQ_E_DECODE.
 * @param body the document
 * @param json owned
 */
ACEMQ_API acemq_status acemq_msgpack_to_json(acemq_bytes body, char **json, acemq_error **error);

ACEMQ_END

#endif
