#include "store/idempotency.h"

#include "base/utf8.h"
#include "store/postgres_connection.h"
#include "store/postgres_schema.h"

#include <stdlib.h>
#include <string.h>

/* --- opening --- */

static ace_code check_range(const char *field, int64_t value, int64_t least, int64_t most,
                            ace_error **error)
{
    if (value >= least && value <= most) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "%s is %lld, it must be %lld to %lld",
                             field, (long long)value, (long long)least, (long long)most);
    ace_error_field(error, field, (long long)(value < least ? least : most));
    return code;
}

static ace_code read_options(const ace_idempotency_options *given, ace_idempotency_options *read,
                             ace_error **error)
{
    *read = given == NULL ? (ace_idempotency_options){0} : *given;
    read->name = read->name == NULL ? ACE_IDEMPOTENCY_TABLE : read->name;
    read->retention = read->retention == 0 ? ACE_CLAIM_RETENTION : read->retention;
    read->timeout = read->timeout == 0 ? ACE_CLAIM_TIMEOUT_DEFAULT : read->timeout;
    read->entries = read->entries == 0 ? ACE_CLAIM_MEMORY_ENTRIES : read->entries;
    read->clock = read->clock == NULL ? ace_clock_system() : read->clock;
    read->random = read->random == NULL ? ace_random_system() : read->random;
    ace_code code = ace_store_table_name_check("name of the store", read->name, error);
    if (code == ACE_OK) {
        code = check_range("retention", read->retention, 1, ACE_CLAIM_LEASE_MAX, error);
    }
    if (code == ACE_OK) {
        code = check_range("timeout of the store", read->timeout, 1, INT64_MAX, error);
    }
    return code == ACE_OK
               ? check_range("statement timeout", read->statement_timeout, 0, INT32_MAX, error)
               : code;
}

static ace_code open_lmdb(const char *path, const ace_idempotency_options *options,
                          int64_t deadline, ace_idempotency **store, ace_error **error)
{
    ace_lmdb_options given = {
        .path = path, .map_limit = options->map_limit, .durability = options->durability};
    ace_lmdb_environment *environment = NULL;
    ace_code code = ace_lmdb_environment_open(&given, &environment, error);
    if (code == ACE_OK) {
        code = ace_claims_open_lmdb(environment, options, deadline, store, error);
        ace_lmdb_environment_release(environment); /* the store has its own reference */
    }
    return code;
}

ace_code ace_idempotency_open(const char *where, const ace_idempotency_options *options,
                              int64_t deadline, ace_idempotency **store, ace_error **error)
{
    ace_idempotency_options read;
    ace_code code = read_options(options, &read, error);
    if (code != ACE_OK) {
        return code;
    }
    if (strcmp(where, "memory:") == 0) {
        return ace_claims_open_memory(&read, store, error);
    }
    if (strncmp(where, "lmdb:", 5) == 0) {
        return open_lmdb(where + 5, &read, deadline, store, error);
    }
    if (ace_postgres_is_url(where)) {
        return ace_claims_open_postgres(where, &read, deadline, store, error);
    }
    /* Not quoted: it may be a URL with a password in it. */
    code = ace_fail(error, ACE_INVALID_ARGUMENT,
                    "a store is memory:, lmdb:PATH or a postgresql:// URL");
    ace_error_field(error, "store", 0);
    return code;
}

ace_code ace_idempotency_open_in(ace_lmdb_environment *environment,
                                 const ace_idempotency_options *options, int64_t deadline,
                                 ace_idempotency **store, ace_error **error)
{
    ace_idempotency_options read;
    ace_code code = read_options(options, &read, error);
    return code == ACE_OK ? ace_claims_open_lmdb(environment, &read, deadline, store, error) : code;
}

ace_idempotency *ace_idempotency_keep(ace_idempotency *store)
{
    ace_handle_retain(&store->handle);
    return store;
}

void ace_idempotency_release(ace_idempotency *store)
{
    if (store != NULL && !ace_handle_is_foreign(&store->handle) &&
        ace_handle_release(&store->handle)) {
        store->methods->destroy(store);
    }
}

ace_code ace_idempotency_init(ace_idempotency *store, const ace_idempotency_methods *methods,
                              const ace_idempotency_options *options, ace_error **error)
{
    ace_code code = ace_mutex_init(&store->mutex, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_handle_init(&store->handle, ACE_IDEMPOTENCY_MAGIC);
    store->methods = methods;
    store->clock = options->clock;
    store->random = options->random;
    store->retention = options->retention;
    store->timeout = options->timeout;
    store->queue = NULL;
    return ACE_OK;
}

void ace_idempotency_uninit(ace_idempotency *store)
{
    free(store->queue);
    ace_mutex_destroy(&store->mutex);
}

ace_code ace_idempotency_attach(ace_idempotency *store, const char *queue, ace_error **error)
{
    ace_mutex_lock(&store->mutex);
    ace_code code = ACE_OK;
    if (store->queue == NULL) {
        store->queue = strdup(queue);
        code = store->queue == NULL ? ace_fail_memory(error) : ACE_OK;
    } else if (strcmp(store->queue, queue) != 0) {
        code = ace_fail(error, ACE_STATE,
                        "the idempotency store serves queue %s: for queue %s open another, or give "
                        "a key that tells them apart",
                        store->queue, queue);
    }
    ace_mutex_unlock(&store->mutex);
    return code;
}

/* --- calls --- */

int64_t ace_idempotency_now(const ace_idempotency *store)
{
    return ace_clock_wall(store->clock);
}

int64_t ace_claim_expiry(int64_t now, int64_t lease)
{
    return lease > INT64_MAX - now ? INT64_MAX : now + lease;
}

ace_code ace_claim_fenced(ace_error **error)
{
    return ace_fail(error, ACE_FENCED,
                    "the claim is not this token's any more: it was taken over, released or "
                    "confirmed");
}

static ace_code check_store(const ace_idempotency *store, ace_error **error)
{
    if (!ace_handle_is_foreign(&store->handle)) {
        return ACE_OK;
    }
    return ace_fail(error, ACE_FORKED, "the idempotency store belongs to the parent process");
}

/* The same for all stores, also where one of them could do more. */
ace_code ace_claim_key_check(ace_bytes key, ace_error **error)
{
    ace_code code = ACE_OK;
    if (key.length == 0) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "idempotency key is empty");
    } else if (key.length > ACE_CLAIM_KEY_MAX) {
        code = ace_fail(error, ACE_LIMIT, "idempotency key has %zu bytes, the limit is %d",
                        key.length, ACE_CLAIM_KEY_MAX);
    } else if (memchr(key.data, 0, key.length) != NULL ||
               !ace_utf8_is_valid((const char *)key.data, key.length)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT,
                        "idempotency key is not UTF-8, or has a NUL byte in it");
    }
    ace_error_field(code == ACE_OK ? NULL : error, "idempotency key", ACE_CLAIM_KEY_MAX);
    return code;
}

static ace_code check_call(const ace_idempotency *store, const ace_claim_call *call,
                           ace_error **error)
{
    ace_code code = check_store(store, error);
    if (code == ACE_OK) {
        code = ace_claim_key_check(call->key, error);
    }
    if (code == ACE_OK && call->token != NULL &&
        (call->token[0] == '\0' || strlen(call->token) > ACE_CLAIM_TOKEN_MAX)) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "token has %zu bytes, it must be 1 to %d",
                        strlen(call->token), ACE_CLAIM_TOKEN_MAX);
    }
    return code == ACE_OK ? check_range("lease", call->lease, 1, ACE_CLAIM_LEASE_MAX, error) : code;
}

ace_code ace_idempotency_claim(ace_idempotency *store, ace_bytes key, int64_t lease,
                               int64_t deadline, char token[ACE_CLAIM_TOKEN_MAX + 1],
                               ace_claim_answer *answer, ace_error **error)
{
    ace_claim_call call = {.key = key, .lease = lease, .deadline = deadline};
    ace_code code = check_call(store, &call, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_uuid_v4(store->random, token);
    call.token = token;
    return store->methods->claim(store, &call, answer, error);
}

ace_code ace_idempotency_confirm(ace_idempotency *store, ace_bytes key, const char *token,
                                 int64_t deadline, ace_error **error)
{
    ace_claim_call call = {key, token, store->retention, deadline};
    ace_code code = check_call(store, &call, error);
    return code == ACE_OK ? store->methods->confirm(store, &call, error) : code;
}

ace_code ace_idempotency_unclaim(ace_idempotency *store, ace_bytes key, const char *token,
                                 int64_t deadline, ace_error **error)
{
    ace_claim_call call = {key, token, 1, deadline};
    ace_code code = check_call(store, &call, error);
    return code == ACE_OK ? store->methods->release(store, &call, error) : code;
}

ace_code ace_idempotency_renew(ace_idempotency *store, ace_bytes key, const char *token,
                               int64_t lease, int64_t deadline, ace_error **error)
{
    ace_claim_call call = {key, token, lease, deadline};
    ace_code code = check_call(store, &call, error);
    return code == ACE_OK ? store->methods->renew(store, &call, error) : code;
}

ace_code ace_idempotency_purge(ace_idempotency *store, int64_t deadline, uint64_t *purged,
                               ace_error **error)
{
    *purged = 0;
    ace_code code = check_store(store, error);
    return code == ACE_OK ? store->methods->purge(store, deadline, purged, error) : code;
}

ace_code ace_idempotency_size(ace_idempotency *store, int64_t deadline, uint64_t *size,
                              ace_error **error)
{
    ace_code code = check_store(store, error);
    return code == ACE_OK ? store->methods->size(store, deadline, size, error) : code;
}

ace_code ace_idempotency_list(ace_idempotency *store, ace_bytes after, int64_t deadline,
                              ace_claim_visitor *visitor, void *user, ace_error **error)
{
    ace_code code = check_store(store, error);
    return code == ACE_OK ? store->methods->list(store, after, deadline, visitor, user, error)
                          : code;
}
