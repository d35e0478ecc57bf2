#include "codec/claim_store.h"

#include "contract/framing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct acemq_claim_store {
    atomic_uint references;
    ace_claim_store_calls calls;
};

ace_code ace_claim_store_new(const ace_claim_store_calls *calls, ace_claim_store **out,
                             ace_error **error)
{
    ace_claim_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return ace_fail_memory(error);
    }
    atomic_init(&store->references, 1);
    store->calls = *calls;
    *out = store;
    return ACE_OK;
}

ace_claim_store *ace_claim_store_keep(ace_claim_store *store)
{
    atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
    return store;
}

void ace_claim_store_release(ace_claim_store *store)
{
    if (store == NULL ||
        atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (store->calls.free_user != NULL) {
        store->calls.free_user(store->calls.user);
    }
    free(store);
}

static ace_code copy_key(ace_bytes key, char copy[ACE_CLAIM_CHECK_KEY_MAX + 1], ace_error **error)
{
    if (!ace_claim_key_valid(key)) {
        ace_fail(error, ACE_INVALID_ARGUMENT,
                 "key is not one: 1 to %d letters, digits and . _ -, the first a letter or a digit",
                 ACE_CLAIM_CHECK_KEY_MAX);
        ace_error_field(error, "key", ACE_CLAIM_CHECK_KEY_MAX);
        return ACE_INVALID_ARGUMENT;
    }
    memcpy(copy, key.data, key.length);
    copy[key.length] = '\0';
    return ACE_OK;
}

/* Callbacks of applications may fail without a word. */
static ace_code pass_on(const char *call, ace_code code, ace_error *reason, ace_error **error)
{
    if (code == ACE_OK) {
        ace_error_free(reason);
        return ACE_OK;
    }
    if (reason == NULL) {
        return ace_fail(error, code, "the claim store's %s gave no reason", call);
    }
    ace_error_move(error, reason);
    return code;
}

ace_code ace_claim_store_put(ace_claim_store *store, ace_bytes key, ace_bytes object,
                             ace_error **error)
{
    char copy[ACE_CLAIM_CHECK_KEY_MAX + 1];
    ace_code code = copy_key(key, copy, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_error *reason = NULL;
    code = store->calls.put(copy, object, store->calls.user, &reason);
    return pass_on("put", code, reason, error);
}

ace_code ace_claim_store_get(ace_claim_store *store, ace_bytes key, ace_buffer *object,
                             ace_error **error)
{
    char copy[ACE_CLAIM_CHECK_KEY_MAX + 1];
    ace_code code = copy_key(key, copy, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t before = object->length;
    ace_error *reason = NULL;
    code = store->calls.get(copy, object, store->calls.user, &reason);
    if (code != ACE_OK) {
        object->length = before;
    }
    return pass_on("get", code, reason, error);
}

ace_code ace_claim_store_remove(ace_claim_store *store, ace_bytes key, ace_error **error)
{
    char copy[ACE_CLAIM_CHECK_KEY_MAX + 1];
    ace_code code = copy_key(key, copy, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_error *reason = NULL;
    code = store->calls.remove(copy, store->calls.user, &reason);
    return pass_on("remove", code, reason, error);
}
