/* The bytes around a body that was stored elsewhere or encrypted (section 13). No I/O, no
 * cryptography. */
#ifndef ACE_CONTRACT_FRAMING_H
#define ACE_CONTRACT_FRAMING_H

#include "base/buffer.h"
#include "base/error.h"

#define ACE_CLAIM_FRAME_LENGTH  3
#define ACE_CLAIM_CHECK_KEY_MAX 128

typedef enum ace_claim_kind {
    ACE_CLAIM_UNFRAMED, /* the whole body is the delegate's; an unknown kind byte too */
    ACE_CLAIM_INLINE,   /* the payload follows */
    ACE_CLAIM_STORED,   /* a well-formed key follows */
    ACE_CLAIM_BAD_KEY,  /* what follows is no key: the message is parked */
} ace_claim_kind;

/* *content is borrowed from the body: the payload, the key, or the whole body when unframed. */
ace_claim_kind ace_claim_frame_read(ace_bytes body, ace_bytes *content);
/* Appends the frame and the content. False: no memory. */
bool ace_claim_frame_inline(ace_buffer *out, ace_bytes payload);
bool ace_claim_frame_stored(ace_buffer *out, ace_bytes key);
bool ace_claim_key_valid(ace_bytes key); /* [A-Za-z0-9][A-Za-z0-9._-]{0,127} */

#define ACE_SEAL_NONCE_LENGTH 12
#define ACE_SEAL_TAG_LENGTH   16

typedef struct ace_seal { /* borrowed from the body */
    ace_bytes associated; /* everything before the nonce: AE 01 len keyid */
    ace_bytes key_id;
    ace_bytes nonce;
    ace_bytes ciphertext;
    ace_bytes tag;
} ace_seal;

/* ACE_DECODE where the body is not so framed. */
ace_code ace_seal_read(ace_bytes body, ace_seal *seal, ace_error **error);
/* Appends AE 01 len keyid. ACE_LIMIT for a key id that is empty or over 255 bytes. */
ace_code ace_seal_header(ace_bytes key_id, ace_buffer *out, ace_error **error);

#endif
