/*
 * A codec that encrypts what another one writes (section 13). Its content type is
 * application/vnd.acemq.encrypted; the inner type is that of the codec inside.
 */
#ifndef ACE_CODEC_ENCRYPTED_H
#define ACE_CODEC_ENCRYPTED_H

#include "codec/codec.h"

/* Keys by id: one that writes, any number that read. Not thread-safe while keys are added. */
typedef struct acemq_keyring ace_keyring;

ace_keyring *ace_keyring_new(void);                     /* NULL: no memory */
void ace_keyring_free(ace_keyring *ring);               /* wipes every key; NULL is fine */
ace_keyring *ace_keyring_copy(const ace_keyring *ring); /* NULL: no memory */

/*
 * Copies id and key. The first one added writes, until ace_keyring_write_with() names another.
 * ACE_LIMIT: an id that is empty or over 255 bytes, or more than ACE_KEYRING_MAX keys.
 * ACE_INVALID_ARGUMENT: an id that is no UTF-8 or stands in the ring already, a key that has not
 * 16, 24 or 32 bytes. No message has a byte of a key.
 */
#define ACE_KEYRING_MAX 1024
ace_code ace_keyring_add(ace_keyring *ring, ace_bytes id, ace_bytes key, ace_error **error);
/* ACE_NOT_FOUND: no key of that id. */
ace_code ace_keyring_write_with(ace_keyring *ring, ace_bytes id, ace_error **error);

/*
 * Where nonces come from: fills 12 bytes that never come twice under one key; false when it cannot.
 * Any thread, several at a time.
 */
typedef bool ace_nonce_source(uint8_t nonce[12], void *user);

/*
 * Wraps `inner`, which is referenced; the ring is copied. `source` NULL: the random bytes of the
 * cipher library, fit for keys. ACE_STATE: the ring has no key.
 *
 * After 2^32 bodies under one writing key the next is ACE_LIMIT: random nonces are not safe beyond.
 */
ace_code ace_codec_encrypted(const ace_keyring *ring, const ace_codec *inner,
                             ace_nonce_source *source, void *source_user, ace_codec **out,
                             ace_error **error);

#endif
