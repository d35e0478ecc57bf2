/* Claims in memory: for tests, and for one process that may forget with its end. */
#include "store/idempotency.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 64

typedef struct record {
    struct record *next; /* in its bucket */
    uint32_t hash;
    ace_claim_entry entry;
    uint8_t key[];
} record;

typedef struct memory_claims {
    ace_idempotency store; /* its mutex guards what follows */
    record **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    size_t most;
    int64_t next_expiry; /* nothing expires before */
} memory_claims;

static memory_claims *self_of(ace_idempotency *store)
{
    return (memory_claims *)(void *)store;
}

/* Keyed by nothing: ids of messages are not chosen against us in a store for tests. */
static uint32_t hash_of(ace_bytes key)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < key.length; i++) {
        hash = (hash ^ key.data[i]) * 16777619u;
    }
    return hash;
}

static record **place_of(const memory_claims *self, ace_bytes key)
{
    uint32_t hash = hash_of(key);
    record **place = &self->buckets[hash & (self->bucket_count - 1)];
    while (*place != NULL &&
           ((*place)->hash != hash || !ace_bytes_equal((*place)->entry.key, key))) {
        place = &(*place)->next;
    }
    return place;
}

static uint64_t drop_expired(memory_claims *self, int64_t now)
{
    uint64_t dropped = 0;
    self->next_expiry = INT64_MAX;
    for (size_t i = 0; i < self->bucket_count; i++) {
        record **place = &self->buckets[i];
        while (*place != NULL) {
            record *each = *place;
            if (each->entry.expires_at <= now) {
                *place = each->next;
                free(each);
                dropped++;
                continue;
            }
            if (each->entry.expires_at < self->next_expiry) {
                self->next_expiry = each->entry.expires_at;
            }
            place = &each->next;
        }
    }
    self->count -= (size_t)dropped;
    return dropped;
}

static bool grow(memory_claims *self)
{
    size_t count = self->bucket_count * 2;
    record **buckets = calloc(count, sizeof *buckets);
    if (buckets == NULL) {
        return self->bucket_count > 0; /* longer chains */
    }
    for (size_t i = 0; i < self->bucket_count; i++) {
        record *next;
        for (record *each = self->buckets[i]; each != NULL; each = next) {
            next = each->next;
            record **place = &buckets[each->hash & (count - 1)];
            each->next = *place;
            *place = each;
        }
    }
    free(self->buckets);
    self->buckets = buckets;
    self->bucket_count = count;
    return true;
}

static ace_code make_room(memory_claims *self, int64_t now, ace_error **error)
{
    if (self->count >= self->most && self->next_expiry <= now) {
        (void)drop_expired(self, now);
    }
    if (self->count < self->most) {
        return self->count < self->bucket_count || grow(self) ? ACE_OK : ace_fail_memory(error);
    }
    ace_code code = ace_fail(error, ACE_STORE_FULL,
                             "the idempotency store in memory holds %zu entries, which is the "
                             "limit, and none has expired",
                             self->count);
    ace_error_field(error, "entries", (long long)self->most);
    return code;
}

static ace_code insert(memory_claims *self, const ace_claim_call *call, int64_t now,
                       record **inserted, ace_error **error)
{
    ace_code code = make_room(self, now, error);
    if (code != ACE_OK) {
        return code;
    }
    record *made = malloc(sizeof *made + call->key.length);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    memcpy(made->key, call->key.data, call->key.length);
    made->entry.key = (ace_bytes){made->key, call->key.length};
    made->hash = hash_of(call->key);
    record **place = &self->buckets[made->hash & (self->bucket_count - 1)];
    made->next = *place;
    *place = made;
    self->count++;
    *inserted = made;
    return ACE_OK;
}

static void set(memory_claims *self, record *found, ace_claim_state state, const char *token,
                int64_t expiry)
{
    found->entry.state = state;
    if (token != found->entry.token) {
        (void)memset(found->entry.token, 0, sizeof found->entry.token);
        memcpy(found->entry.token, token, strlen(token));
    }
    found->entry.expires_at = expiry;
    if (expiry < self->next_expiry) {
        self->next_expiry = expiry;
    }
}

static ace_code claim_locked(memory_claims *self, const ace_claim_call *call,
                             ace_claim_answer *answer, ace_error **error)
{
    int64_t now = ace_idempotency_now(&self->store);
    record *found = *place_of(self, call->key);
    if (found != NULL && found->entry.expires_at > now) {
        *answer =
            found->entry.state == ACE_ENTRY_CONFIRMED ? ACE_CLAIM_DUPLICATE : ACE_CLAIM_IN_PROGRESS;
        return ACE_OK;
    }
    ace_code code = found == NULL ? insert(self, call, now, &found, error) : ACE_OK;
    if (code == ACE_OK) {
        found->entry.recorded_at = now;
        set(self, found, ACE_ENTRY_CLAIMED, call->token, ace_claim_expiry(now, call->lease));
        *answer = ACE_CLAIMED;
    }
    return code;
}

static ace_code claim(ace_idempotency *store, const ace_claim_call *call, ace_claim_answer *answer,
                      ace_error **error)
{
    ace_mutex_lock(&store->mutex);
    ace_code code = claim_locked(self_of(store), call, answer, error);
    ace_mutex_unlock(&store->mutex);
    return code;
}

/* The record while the token stands in it. */
static record *find_own(const memory_claims *self, const ace_claim_call *call)
{
    record *found = *place_of(self, call->key);
    return found != NULL && strcmp(found->entry.token, call->token) == 0 ? found : NULL;
}

static ace_code confirm(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    memory_claims *self = self_of(store);
    ace_mutex_lock(&store->mutex);
    record *found = find_own(self, call);
    if (found != NULL && found->entry.state == ACE_ENTRY_CLAIMED) {
        int64_t now = ace_idempotency_now(store);
        found->entry.recorded_at = now;
        set(self, found, ACE_ENTRY_CONFIRMED, found->entry.token,
            ace_claim_expiry(now, call->lease));
    }
    ace_mutex_unlock(&store->mutex);
    return found == NULL ? ace_claim_fenced(error) : ACE_OK;
}

static ace_code change_claim(ace_idempotency *store, const ace_claim_call *call, const char *token,
                             int64_t lease, ace_error **error)
{
    memory_claims *self = self_of(store);
    ace_mutex_lock(&store->mutex);
    record *found = find_own(self, call);
    bool stands = found != NULL && found->entry.state == ACE_ENTRY_CLAIMED;
    if (stands) {
        set(self, found, ACE_ENTRY_CLAIMED, token == NULL ? found->entry.token : token,
            ace_claim_expiry(ace_idempotency_now(store), lease));
    }
    ace_mutex_unlock(&store->mutex);
    return stands ? ACE_OK : ace_claim_fenced(error);
}

static ace_code release(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change_claim(store, call, "", 0, error);
}

static ace_code renew(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change_claim(store, call, NULL, call->lease, error);
}

static ace_code purge(ace_idempotency *store, int64_t deadline, uint64_t *purged, ace_error **error)
{
    (void)deadline;
    (void)error;
    ace_mutex_lock(&store->mutex);
    *purged = drop_expired(self_of(store), ace_idempotency_now(store));
    ace_mutex_unlock(&store->mutex);
    return ACE_OK;
}

static ace_code size(ace_idempotency *store, int64_t deadline, uint64_t *count, ace_error **error)
{
    (void)deadline;
    (void)error;
    ace_mutex_lock(&store->mutex);
    *count = self_of(store)->count;
    ace_mutex_unlock(&store->mutex);
    return ACE_OK;
}

static int by_key(const void *a, const void *b)
{
    const ace_bytes *left = &((const ace_claim_entry *)a)->key;
    const ace_bytes *right = &((const ace_claim_entry *)b)->key;
    size_t shorter = left->length < right->length ? left->length : right->length;
    int order = memcmp(left->data, right->data, shorter);
    if (order != 0) {
        return order;
    }
    return left->length < right->length ? -1 : left->length > right->length ? 1 : 0;
}

/* Copies, so that the visitor may take its time, and call us. */
static ace_code copy_all(memory_claims *self, ace_claim_entry **copies, size_t *count,
                         ace_error **error)
{
    char *all = calloc(self->count + 1, sizeof **copies + ACE_CLAIM_KEY_MAX);
    if (all == NULL) {
        return ace_fail_memory(error);
    }
    *copies = (ace_claim_entry *)(void *)all;
    uint8_t *keys = (uint8_t *)(*copies + self->count);
    *count = 0;
    for (size_t i = 0; i < self->bucket_count; i++) {
        for (const record *each = self->buckets[i]; each != NULL; each = each->next) {
            ace_claim_entry *copy = &(*copies)[(*count)++];
            *copy = each->entry;
            copy->key.data = keys;
            memcpy(keys, each->key, copy->key.length);
            keys += copy->key.length;
        }
    }
    return ACE_OK;
}

static ace_code list(ace_idempotency *store, ace_bytes after, int64_t deadline,
                     ace_claim_visitor *visitor, void *user, ace_error **error)
{
    (void)deadline;
    ace_claim_entry *copies = NULL;
    size_t count = 0;
    ace_mutex_lock(&store->mutex);
    ace_code code = copy_all(self_of(store), &copies, &count, error);
    ace_mutex_unlock(&store->mutex);
    if (code != ACE_OK) {
        return code;
    }
    if (count > 0) {
        qsort(copies, count, sizeof *copies, by_key);
    }
    ace_claim_entry start = {.key = after};
    for (size_t i = 0; i < count; i++) {
        if ((after.length == 0 || by_key(&copies[i], &start) > 0) && !visitor(&copies[i], user)) {
            break;
        }
    }
    free(copies);
    return ACE_OK;
}

static void destroy(ace_idempotency *store)
{
    memory_claims *self = self_of(store);
    for (size_t i = 0; i < self->bucket_count; i++) {
        record *next;
        for (record *each = self->buckets[i]; each != NULL; each = next) {
            next = each->next;
            free(each);
        }
    }
    free(self->buckets);
    ace_idempotency_uninit(store);
    free(self);
}

static const ace_idempotency_methods methods = {
    .claim = claim,
    .confirm = confirm,
    .release = release,
    .renew = renew,
    .purge = purge,
    .size = size,
    .list = list,
    .destroy = destroy,
};

ace_code ace_claims_open_memory(const ace_idempotency_options *options, ace_idempotency **store,
                                ace_error **error)
{
    memory_claims *made = calloc(1, sizeof *made);
    record **buckets = calloc(BUCKETS_FIRST, sizeof *buckets);
    ace_code code = made == NULL || buckets == NULL
                        ? ace_fail_memory(error)
                        : ace_idempotency_init(&made->store, &methods, options, error);
    if (code != ACE_OK) {
        free(buckets);
        free(made);
        return code;
    }
    made->buckets = buckets;
    made->bucket_count = BUCKETS_FIRST;
    made->most = (size_t)options->entries;
    made->next_expiry = INT64_MAX;
    *store = &made->store;
    return ACE_OK;
}
