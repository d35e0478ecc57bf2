/*
 * Where large bodies lie while a small message travels (section 13). Any thread, several at a time,
 * and so must the callbacks.
 */
#ifndef ACE_CODEC_CLAIM_STORE_H
#define ACE_CODEC_CLAIM_STORE_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

typedef struct acemq_claim_store ace_claim_store;

/* `key` is NUL-terminated and a valid one. ACE_NOT_FOUND from `get` alone says that the object does
 * not exist, which parks the message; any other code is a failure of the store, which is retried.
 */
typedef struct ace_claim_store_calls {
    ace_code (*put)(const char *key, ace_bytes object, void *user, ace_error **error);
    ace_code (*get)(const char *key, ace_buffer *object, void *user, ace_error **error);
    ace_code (*remove)(const char *key, void *user, ace_error **error); /* absent is fine */
    void *user;
    void (*free_user)(void *user); /* may be NULL */
} ace_claim_store_calls;

/* With one reference. ACE_OUT_OF_MEMORY: `user` is still the caller's. */
ace_code ace_claim_store_new(const ace_claim_store_calls *calls, ace_claim_store **out,
                             ace_error **error);
ace_claim_store *ace_claim_store_keep(ace_claim_store *store);
void ace_claim_store_release(ace_claim_store *store); /* NULL is fine */

/* ACE_INVALID_ARGUMENT for a key that is none; else the codes of the callbacks. */
ace_code ace_claim_store_put(ace_claim_store *store, ace_bytes key, ace_bytes object,
                             ace_error **error);
ace_code ace_claim_store_get(ace_claim_store *store, ace_bytes key, ace_buffer *object,
                             ace_error **error);
ace_code ace_claim_store_remove(ace_claim_store *store, ace_bytes key, ace_error **error);

#define ACE_CLAIM_OBJECT_MAX (UINT64_C(128) * 1024 * 1024)
#define ACE_CLAIM_FILE_MODE  0600

/*
 * One file an object in a directory that exists. An object is written to a temporary file, which is
 * flushed and then renamed, so that a reader sees all of it or nothing. `mode` are the permission
 * bits of the files; `largest` bytes an object, ACE_LIMIT past it, both ways. The directory stays
 * open: one that is moved is followed, one that is deleted is ACE_SYSTEM.
 *
 * ACE_SYSTEM (with the path): no directory, no permission, no room, read-only.
 */
ace_code ace_claim_directory_open(const char *path, unsigned mode, uint64_t largest,
                                  ace_claim_store **out, ace_error **error);

#endif
