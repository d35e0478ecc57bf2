/**
 * @file encryption.h
 * Bodies that only the holders of a key can read (section 13): AES-GCM, authenticated together with
 * the id of the key.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_ENCRYPTION_H
#define ACEMQ_ENCRYPTION_H

#include "codec.h"

ACEMQ_BEGIN

/** Keys by their ids: one that writes, up to 1024 that read. Owned, freed with
 * acemq_keyring_free(). Not thread-safe. */
typedef struct acemq_keyring acemq_keyring;

/** A ring without keys. @param keyring owned. Errors: ACEMQ_E_OUT_OF_MEMORY. */
ACEMQ_API acemq_status acemq_keyring_new(acemq_keyring **keyring, acemq_error **error);
/**
 * Adds a key. The first one writes, until acemq_keyring_write_with() names another.
 * @param id  1 to 255 bytes; travels in the clear with every message. Copied.
 * @param key 16, 24 or 32 bytes, for AES-128, AES-192 or AES-256. Copied; the copies are wiped when
 * they are freed.
 * Errors, none of which has a byte of the key: ACEMQ_E_LIMIT for the id's length and the number of
 * keys, ACEMQ_E_INVALID_ARGUMENT for a key of another length and an id that is there already.
 */
ACEMQ_API acemq_status acemq_keyring_add(acemq_keyring *keyring, const char *id, acemq_bytes key,
                                         acemq_error **error);
/**
 * Which key is written with by codecs that are made from here on. Errors: ACEMQ_E_NOT_FOUND.
 * @param id of a key that was added
 */
ACEMQ_API acemq_status acemq_keyring_write_with(acemq_keyring *keyring, const char *id,
                                                acemq_error **error);
/** Wipes the keys. */
ACEMQ_API void acemq_keyring_free(acemq_keyring *keyring);

/**
 * A codec that encrypts what `inner` writes, with a random nonce for each body. Its content type is
 * `application/vnd.acemq.encrypted`, and it reads that alone; what comes out is for `inner`, whose
 * own content type does not travel. A body of an unknown key, or one of which any byte was changed,
 * does not decode: it is parked, and the reason names the key's id.
 *
 * Which key a body needs is read without one by acemq_encrypted_frame_read().
 * @param keyring copied: keys added later do not count
 * @param inner   kept alive by the codec
 * @param codec   owned, freed with acemq_codec_free()
 * Errors: ACEMQ_E_STATE for a ring without a key. Encoding is ACEMQ_E_LIMIT after 2^32 bodies with
 * one codec, beyond which random nonces are not safe: make one with a new key.
 */
ACEMQ_API acemq_status acemq_codec_encrypted(const acemq_keyring *keyring, const acemq_codec *inner,
                                             acemq_codec **codec, acemq_error **error);

ACEMQ_END

#endif
