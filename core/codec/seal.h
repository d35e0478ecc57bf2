/*
 * One body encrypted by AES-GCM, in the frame of section 13: everything before the nonce is
 * authenticated with it. Any thread.
 */
#ifndef ACE_CODEC_SEAL_H
#define ACE_CODEC_SEAL_H

#include "base/buffer.h"
#include "base/error.h"
#include "contract/framing.h"

#include <stdbool.h>

#define ACE_SEAL_KEY_MAX 32

typedef struct ace_seal_key {
    uint8_t data[ACE_SEAL_KEY_MAX];
    size_t length; /* 16, 24 or 32: AES-128, AES-192 or AES-256 */
} ace_seal_key;

/* ACE_INVALID_ARGUMENT for a key of another length; the message has no byte of it. */
ace_code ace_seal_key_set(ace_seal_key *key, ace_bytes bytes, ace_error **error);
void ace_seal_key_wipe(ace_seal_key *key);

/* Appends the frame. A nonce must never serve twice under one key. On failure the buffer is
 * unchanged. ACE_LIMIT (key id), ACE_OUT_OF_MEMORY, ACE_SYSTEM (the cipher refuses to work). */
ace_code ace_seal_write(const ace_seal_key *key, ace_bytes key_id,
                        const uint8_t nonce[ACE_SEAL_NONCE_LENGTH], ace_bytes payload,
                        ace_buffer *out, ace_error **error);

/* Appends the payload of a frame that ace_seal_read() took apart. ACE_DECODE when a byte of it is
 * not what was written under this key; nothing is appended then. */
ace_code ace_seal_open(const ace_seal_key *key, const ace_seal *seal, ace_buffer *out,
                       ace_error **error);

#endif
