/**
 * @file claim_check.h
 * Large bodies lie in a store, and only their keys travel (section 13).
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_CLAIM_CHECK_H
#define ACEMQ_CLAIM_CHECK_H

#include "codec.h"

ACEMQ_BEGIN

/** Where large bodies lie. Any thread. Owned, freed with acemq_claim_store_free(); codecs keep it
 * alive. Nothing is ever deleted unasked: other consumers of the same message, and a replay, still
 * need the object. */
typedef struct acemq_claim_store acemq_claim_store;

/** Options of acemq_claim_store_directory(). */
typedef struct acemq_claim_directory_options {
    size_t size;
    /** bytes an object, 1 to INT64_MAX; default 128 MiB. ACEMQ_E_LIMIT past it, both ways */
    int64_t largest;
    /** permission bits of the files, 0400 to 0777; default 0600 */
    int32_t mode;
    /** 0 */
    int32_t reserved;
} acemq_claim_directory_options;

#define ACEMQ_CLAIM_DIRECTORY_OPTIONS_INIT                                                         \
    {                                                                                              \
        sizeof(acemq_claim_directory_options), 134217728, 0600, 0                                  \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_claim_directory_options_init(acemq_claim_directory_options *options,
                                                          size_t size);

/**
 * One file an object in a directory that exists; several processes, and machines that mount it, may
 * share it. A file is written under a temporary name, flushed, and renamed. A process that dies
 * meanwhile leaves a `.….partial` file, which may be deleted once it is old.
 * @param options NULL: defaults
 * @param store   owned
 * Errors: ACEMQ_E_SYSTEM with the path and the system's reason.
 */
ACEMQ_API acemq_status acemq_claim_store_directory(const char *path,
                                                   const acemq_claim_directory_options *options,
                                                   acemq_claim_store **store, acemq_error **error);

/** Takes what a `get` has read; borrowed for its call. One thread at a time. */
typedef struct acemq_claim_object acemq_claim_object;
/**
 * Appends bytes to it. Errors: ACEMQ_E_OUT_OF_MEMORY. Only inside `get`.
 * @param data copied
 */
ACEMQ_API acemq_status acemq_claim_object_append(acemq_claim_object *object, const void *data,
                                                 size_t length, acemq_error **error);

/**
 * A store of the application's. Each callback runs on the thread that encodes or decodes, several
 * at a time; `key` is NUL-terminated, `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`. Each returns 0 when it is
 * done; `get` may return 1 for an object that does not exist, which parks the message. Anything
 * else is a failure: encoding fails, and a delivery is tried again. `reason` is room for a
 * NUL-terminated text that says why.
 */
typedef struct acemq_claim_callbacks {
    /** sizeof(acemq_claim_callbacks) */
    size_t size;
    /** keeps the object under the key */
    int (*put)(const char *key, acemq_bytes object, char *reason, size_t reason_size, void *user);
    /** hands the object over with acemq_claim_object_append() */
    int (*get)(const char *key, acemq_claim_object *object, char *reason, size_t reason_size,
               void *user);
    /** an object that does not exist is no failure; NULL: ACEMQ_E_UNSUPPORTED */
    int (*remove)(const char *key, char *reason, size_t reason_size, void *user);
    void *user;
    /** called with `user` when nothing uses the store any more; may be NULL */
    acemq_destructor destructor;
} acemq_claim_callbacks;

/** A store that calls them; they are copied. @param store owned. Errors: ACEMQ_E_INVALID_ARGUMENT
 * (put or get is NULL), ACEMQ_E_OUT_OF_MEMORY; the destructor is not called then. */
ACEMQ_API acemq_status acemq_claim_store_new(const acemq_claim_callbacks *callbacks,
                                             acemq_claim_store **store, acemq_error **error);
/** Ends the caller's hold; codecs that use it keep it alive. NULL is fine. */
ACEMQ_API void acemq_claim_store_free(acemq_claim_store *store);
/** Deletes an object, when the application knows that nobody needs it; one that does not exist is
 * fine. acemq_claim_frame_read() gives the key of a body. Errors: ACEMQ_E_INVALID_ARGUMENT for a
 * malformed key, ACEMQ_E_SYSTEM, ACEMQ_E_UNSUPPORTED. */
ACEMQ_API acemq_status acemq_claim_store_remove(acemq_claim_store *store, const char *key,
                                                acemq_error **error);

/** The encoded bytes from which on a body is stored. */
#define ACEMQ_CLAIM_THRESHOLD INT64_C(65536)

/**
 * A codec that stores what `inner` writes when that has `threshold` bytes or more, and else lets it
 * travel in a frame of three bytes. Content type and what it reads are those of `inner`; a body
 * without the frame is read by `inner` as it is. A body whose object is missing, or whose key is
 * malformed, does not decode: it is parked. A store that fails is a failure, and tried again.
 *
 * Around an encrypting codec it stores ciphertext; inside one, plain bytes. The first is what one
 * wants unless the store is trusted more than the broker.
 * @param inner        kept alive by the codec
 * @param store        likewise
 * @param threshold    from 0 (everything is stored); ACEMQ_CLAIM_THRESHOLD
 * @param codec        owned, freed with acemq_codec_free()
 */
ACEMQ_API acemq_status acemq_codec_claim_check(const acemq_codec *inner, acemq_claim_store *store,
                                               int64_t threshold, acemq_codec **codec,
                                               acemq_error **error);

ACEMQ_END

#endif
