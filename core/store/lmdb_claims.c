/* Claims in LMDB: one machine, several processes. */
#include "store/claim_record.h"
#include "store/idempotency.h"
#include "store/lmdb_writer.h"

#include <stdlib.h>
#include <string.h>

#define PURGED_AT_ONCE 512 /* entries a transaction takes away, since others wait for it */

typedef struct lmdb_claims {
    ace_idempotency store;
    ace_lmdb_environment *environment; /* a reference */
    MDB_dbi database;
} lmdb_claims;

static lmdb_claims *self_of(ace_idempotency *store)
{
    return (lmdb_claims *)(void *)store;
}

typedef enum action {
    ACTION_CLAIM,
    ACTION_CONFIRM,
    ACTION_RELEASE,
    ACTION_RENEW,
} action;

/* One of these four, on its way to the writing thread. It may outlive its caller's wait, so it
 * holds copies; not the store, whose last reference may be the caller's. */
typedef struct change {
    ace_lmdb_operation operation;
    MDB_dbi database;
    ace_clock *clock;
    action action;
    ace_claim_answer answer; /* of a claim; the others: ACE_CLAIMED when the token stood */
    bool damaged;
    int64_t lease;
    size_t key_length;
    uint8_t key[ACE_CLAIM_KEY_MAX];
    char token[ACE_CLAIM_TOKEN_MAX + 1];
} change;

static change *change_of(ace_lmdb_operation *operation)
{
    return ACE_RECORD(operation, change, operation);
}

/* 0, MDB_NOTFOUND or a failure of LMDB; `damaged` when what is there is no record. */
static int read_entry(MDB_txn *transaction, MDB_dbi database, ace_bytes key, ace_claim_entry *entry,
                      bool *damaged)
{
    MDB_val name = {key.length, (void *)(uintptr_t)key.data};
    MDB_val value;
    int result = mdb_get(transaction, database, &name, &value);
    *damaged =
        result == 0 && !ace_claim_record_read((ace_bytes){value.mv_data, value.mv_size}, entry);
    return result;
}

static int write_entry(MDB_txn *transaction, MDB_dbi database, ace_bytes key,
                       const ace_claim_entry *entry)
{
    uint8_t record[ACE_CLAIM_RECORD_MAX];
    MDB_val name = {key.length, (void *)(uintptr_t)key.data};
    MDB_val value = {ace_claim_record_write(entry, record), record};
    return mdb_put(transaction, database, &name, &value, 0);
}

static ace_claim_answer answer_of(const ace_claim_entry *entry)
{
    return entry->state == ACE_ENTRY_CONFIRMED ? ACE_CLAIM_DUPLICATE : ACE_CLAIM_IN_PROGRESS;
}

static int write_claim(change *self, MDB_txn *transaction, bool found, ace_claim_entry *entry,
                       int64_t now)
{
    if (found && entry->expires_at > now) {
        self->answer = answer_of(entry);
        return 0;
    }
    self->answer = ACE_CLAIMED;
    *entry = (ace_claim_entry){.state = ACE_ENTRY_CLAIMED,
                               .recorded_at = now,
                               .expires_at = ace_claim_expiry(now, self->lease)};
    memcpy(entry->token, self->token, sizeof entry->token);
    return write_entry(transaction, self->database, (ace_bytes){self->key, self->key_length},
                       entry);
}

/* Confirming again is fine, and writes nothing. */
static int write_own(change *self, MDB_txn *transaction, ace_claim_entry *entry, int64_t now)
{
    bool confirmed = entry->state == ACE_ENTRY_CONFIRMED;
    if (confirmed && self->action == ACTION_CONFIRM) {
        self->answer = ACE_CLAIMED;
        return 0;
    }
    if (confirmed) {
        return 0;
    }
    self->answer = ACE_CLAIMED;
    entry->expires_at = ace_claim_expiry(now, self->action == ACTION_RELEASE ? 0 : self->lease);
    if (self->action == ACTION_CONFIRM) {
        entry->state = ACE_ENTRY_CONFIRMED;
        entry->recorded_at = now;
    } else if (self->action == ACTION_RELEASE) {
        entry->token[0] = '\0';
    }
    return write_entry(transaction, self->database, (ace_bytes){self->key, self->key_length},
                       entry);
}

static int run_action(change *self, MDB_txn *transaction, action what)
{
    ace_claim_entry entry;
    self->answer = ACE_CLAIM_IN_PROGRESS;
    int result = read_entry(transaction, self->database, (ace_bytes){self->key, self->key_length},
                            &entry, &self->damaged);
    if (self->damaged || (result != 0 && result != MDB_NOTFOUND)) {
        return self->damaged ? 0 : result;
    }
    int64_t now = ace_clock_wall(self->clock);
    if (what == ACTION_CLAIM) {
        return write_claim(self, transaction, result == 0, &entry, now);
    }
    if (result == MDB_NOTFOUND || strcmp(entry.token, self->token) != 0) {
        return 0;
    }
    return write_own(self, transaction, &entry, now);
}

static int run_change(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    change *self = change_of(operation);
    return run_action(self, transaction, self->action);
}

/* A claim whose caller did not wait for it is nobody's. */
static int run_late(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    change *self = change_of(operation);
    if (self->answer != ACE_CLAIMED) {
        return 0;
    }
    self->action = ACTION_RELEASE;
    return run_action(self, transaction, ACTION_RELEASE);
}

static void destroy_change(ace_lmdb_operation *operation)
{
    free(change_of(operation));
}

static ace_code fail_damaged(const lmdb_claims *self, ace_error **error)
{
    return ace_fail(error, ACE_STORE, "%s: an entry is damaged, or of a later version",
                    ace_lmdb_environment_path(self->environment));
}

static ace_code submit(lmdb_claims *self, action what, const ace_claim_call *call,
                       ace_claim_answer *answer, ace_error **error)
{
    change *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    made->operation.run = run_change;
    made->operation.late = what == ACTION_CLAIM ? run_late : NULL;
    made->operation.destroy = destroy_change;
    made->database = self->database;
    made->clock = self->store.clock;
    made->action = what;
    made->lease = call->lease;
    made->key_length = call->key.length;
    memcpy(made->key, call->key.data, call->key.length);
    memcpy(made->token, call->token, strlen(call->token));
    ace_code code = ace_lmdb_write(self->environment, &made->operation, call->deadline, error);
    if (code == ACE_OK && made->damaged) {
        code = fail_damaged(self, error);
    }
    if (code == ACE_OK) {
        *answer = made->answer;
    }
    ace_lmdb_operation_release(self->environment, &made->operation);
    return code;
}

/* A duplicate need not wait for those that write. */
static ace_code look(lmdb_claims *self, ace_bytes key, ace_claim_answer *answer, ace_error **error)
{
    MDB_txn *transaction;
    ace_code code = ace_lmdb_read_begin(self->environment, &transaction, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_claim_entry entry;
    bool damaged;
    int result = read_entry(transaction, self->database, key, &entry, &damaged);
    ace_lmdb_read_end(self->environment, transaction);
    if (damaged) {
        return fail_damaged(self, error);
    }
    if (result != 0 && result != MDB_NOTFOUND) {
        return ace_lmdb_fail(self->environment, result, "reading an entry", error);
    }
    bool live = result == 0 && entry.expires_at > ace_idempotency_now(&self->store);
    *answer = live ? answer_of(&entry) : ACE_CLAIMED;
    return ACE_OK;
}

static ace_code claim(ace_idempotency *store, const ace_claim_call *call, ace_claim_answer *answer,
                      ace_error **error)
{
    lmdb_claims *self = self_of(store);
    ace_code code = look(self, call->key, answer, error);
    if (code != ACE_OK || *answer != ACE_CLAIMED) {
        return code;
    }
    return submit(self, ACTION_CLAIM, call, answer, error);
}

static ace_code change_own(ace_idempotency *store, action what, const ace_claim_call *call,
                           ace_error **error)
{
    ace_claim_answer answer;
    ace_code code = submit(self_of(store), what, call, &answer, error);
    return code == ACE_OK && answer != ACE_CLAIMED ? ace_claim_fenced(error) : code;
}

static ace_code confirm(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change_own(store, ACTION_CONFIRM, call, error);
}

static ace_code release(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change_own(store, ACTION_RELEASE, call, error);
}

static ace_code renew(ace_idempotency *store, const ace_claim_call *call, ace_error **error)
{
    return change_own(store, ACTION_RENEW, call, error);
}

/* --- all of them --- */

static ace_code size(ace_idempotency *store, int64_t deadline, uint64_t *count, ace_error **error)
{
    (void)deadline;
    lmdb_claims *self = self_of(store);
    MDB_txn *transaction;
    ace_code code = ace_lmdb_read_begin(self->environment, &transaction, error);
    if (code != ACE_OK) {
        return code;
    }
    MDB_stat stat;
    int result = mdb_stat(transaction, self->database, &stat);
    ace_lmdb_read_end(self->environment, transaction);
    if (result != 0) {
        return ace_lmdb_fail(self->environment, result, "counting entries", error);
    }
    *count = stat.ms_entries;
    return ACE_OK;
}

typedef struct purge_pass {
    ace_lmdb_operation operation;
    MDB_dbi database;
    int64_t now;
    size_t start_length; /* of the key where it goes on; 0: the first */
    uint8_t start[ACE_LMDB_KEY_MAX];
    size_t next_length; /* and where the next pass does; 0: it has seen all */
    uint8_t next[ACE_LMDB_KEY_MAX];
    uint64_t purged;
} purge_pass;

/* What is damaged stays: nobody knows until when it counts. */
static int purge_at(purge_pass *self, MDB_cursor *cursor, MDB_val *value)
{
    ace_claim_entry entry;
    bool expired = ace_claim_record_read((ace_bytes){value->mv_data, value->mv_size}, &entry) &&
                   entry.expires_at <= self->now;
    if (!expired) {
        return 0;
    }
    self->purged++;
    return mdb_cursor_del(cursor, 0);
}

static int run_purge(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    purge_pass *self = ACE_RECORD(operation, purge_pass, operation);
    self->purged = 0;
    self->next_length = 0;
    MDB_cursor *cursor;
    int result = mdb_cursor_open(transaction, self->database, &cursor);
    if (result != 0) {
        return result;
    }
    MDB_val key = {self->start_length, self->start};
    MDB_val value;
    result =
        mdb_cursor_get(cursor, &key, &value, self->start_length > 0 ? MDB_SET_RANGE : MDB_FIRST);
    for (int seen = 0; result == 0; seen++) {
        if (seen == 8 * PURGED_AT_ONCE || self->purged == PURGED_AT_ONCE) {
            self->next_length = key.mv_size;
            memcpy(self->next, key.mv_data, key.mv_size);
            break;
        }
        result = purge_at(self, cursor, &value);
        if (result == 0) {
            result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

static void destroy_purge(ace_lmdb_operation *operation)
{
    free(ACE_RECORD(operation, purge_pass, operation));
}

static ace_code purge(ace_idempotency *store, int64_t deadline, uint64_t *purged, ace_error **error)
{
    lmdb_claims *self = self_of(store);
    size_t length = 0;
    uint8_t start[ACE_LMDB_KEY_MAX];
    ace_code code;
    do {
        purge_pass *pass = calloc(1, sizeof *pass);
        if (pass == NULL) {
            return ace_fail_memory(error);
        }
        pass->operation.run = run_purge;
        pass->operation.destroy = destroy_purge;
        pass->database = self->database;
        pass->now = ace_idempotency_now(store);
        pass->start_length = length;
        memcpy(pass->start, start, length);
        code = ace_lmdb_write(self->environment, &pass->operation, deadline, error);
        length = 0;
        if (code == ACE_OK) {
            *purged += pass->purged;
            length = pass->next_length;
            memcpy(start, pass->next, length);
        }
        ace_lmdb_operation_release(self->environment, &pass->operation);
    } while (length > 0);
    return code;
}

#define LISTED_AT_ONCE 256 /* entries a reading transaction copies, since the map waits for it */

typedef struct page {
    size_t count;
    int result;
    ace_claim_entry entries[LISTED_AT_ONCE];
    uint8_t keys[LISTED_AT_ONCE][ACE_CLAIM_KEY_MAX];
} page;

static int first_after(MDB_cursor *cursor, ace_bytes after, MDB_val *key, MDB_val *value)
{
    if (after.length == 0) {
        return mdb_cursor_get(cursor, key, value, MDB_FIRST);
    }
    *key = (MDB_val){after.length, (void *)(uintptr_t)after.data};
    int result = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    bool same = result == 0 && key->mv_size == after.length &&
                memcmp(key->mv_data, after.data, after.length) == 0;
    return same ? mdb_cursor_get(cursor, key, value, MDB_NEXT) : result;
}

static void read_page(MDB_cursor *cursor, ace_bytes after, page *read)
{
    MDB_val key;
    MDB_val value;
    read->result = first_after(cursor, after, &key, &value);
    while (read->result == 0 && read->count < LISTED_AT_ONCE) {
        ace_claim_entry *entry = &read->entries[read->count];
        if (key.mv_size <= ACE_CLAIM_KEY_MAX &&
            ace_claim_record_read((ace_bytes){value.mv_data, value.mv_size}, entry)) {
            uint8_t *copy = read->keys[read->count++];
            memcpy(copy, key.mv_data, key.mv_size);
            entry->key = (ace_bytes){copy, key.mv_size};
        }
        read->result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
}

static ace_code load_page(lmdb_claims *self, ace_bytes after, page *read, ace_error **error)
{
    MDB_txn *transaction;
    ace_code code = ace_lmdb_read_begin(self->environment, &transaction, error);
    if (code != ACE_OK) {
        return code;
    }
    MDB_cursor *cursor;
    read->count = 0;
    read->result = mdb_cursor_open(transaction, self->database, &cursor);
    if (read->result == 0) {
        read_page(cursor, after, read);
        mdb_cursor_close(cursor);
    }
    ace_lmdb_read_end(self->environment, transaction);
    return read->result == 0 || read->result == MDB_NOTFOUND
               ? ACE_OK
               : ace_lmdb_fail(self->environment, read->result, "listing entries", error);
}

static ace_code list(ace_idempotency *store, ace_bytes after, int64_t deadline,
                     ace_claim_visitor *visitor, void *user, ace_error **error)
{
    (void)deadline;
    page *read = malloc(sizeof *read);
    if (read == NULL) {
        return ace_fail_memory(error);
    }
    uint8_t start[ACE_CLAIM_KEY_MAX];
    bool goes_on = true;
    ace_code code = ACE_OK;
    while (goes_on && (code = load_page(self_of(store), after, read, error)) == ACE_OK) {
        goes_on = read->result == 0 && read->count > 0;
        for (size_t i = 0; i < read->count; i++) {
            if (!visitor(&read->entries[i], user)) {
                goes_on = false;
                break;
            }
        }
        if (goes_on) {
            ace_bytes last = read->entries[read->count - 1].key;
            memcpy(start, last.data, last.length);
            after = (ace_bytes){start, last.length};
        }
    }
    free(read);
    return code;
}

static void destroy(ace_idempotency *store)
{
    lmdb_claims *self = self_of(store);
    ace_lmdb_environment_release(self->environment);
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

ace_code ace_claims_open_lmdb(ace_lmdb_environment *environment,
                              const ace_idempotency_options *options, int64_t deadline,
                              ace_idempotency **store, ace_error **error)
{
    lmdb_claims *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_idempotency_init(&made->store, &methods, options, error);
    if (code != ACE_OK) {
        free(made);
        return code;
    }
    made->environment = ace_lmdb_environment_keep(environment);
    code = ace_lmdb_environment_database(environment, options->name, MDB_CREATE, deadline,
                                         &made->database, error);
    if (code != ACE_OK) {
        destroy(&made->store);
        return code;
    }
    *store = &made->store;
    return ACE_OK;
}
