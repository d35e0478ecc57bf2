#include "store/outbox.h"

#include "base/utf8.h"
#include "store/outbox_state.h"
#include "store/postgres_connection.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static uint8_t *copy_bytes(uint8_t *at, ace_bytes *bytes)
{
    if (bytes->length > 0) {
        memcpy(at, bytes->data, bytes->length);
    }
    at[bytes->length] = '\0';
    bytes->data = at;
    return at + bytes->length + 1;
}

bool ace_outbox_rows_add(ace_outbox_rows *rows, const ace_outbox_row *row)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? 16 : rows->capacity * 2;
        ace_outbox_row *grown = realloc(rows->rows, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        rows->rows = grown;
        rows->capacity = capacity;
    }
    ace_outbox_row copy = *row;
    ace_bytes *fields[] = {&copy.record.id,          &copy.record.exchange,
                           &copy.record.routing_key, &copy.record.content_type,
                           &copy.record.headers,     &copy.record.body,
                           &copy.locked_by,          &copy.last_error};
    size_t total = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        total += fields[i]->length + 1;
    }
    uint8_t *at = malloc(total);
    if (at == NULL) {
        return false;
    }
    copy.block = at;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        at = copy_bytes(at, fields[i]);
    }
    rows->rows[rows->count++] = copy;
    return true;
}

void ace_outbox_rows_free(ace_outbox_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].block);
    }
    free(rows->rows);
    *rows = (ace_outbox_rows)ACE_OUTBOX_ROWS_INIT;
}

/* --- the handle --- */

ace_code ace_outbox_init(ace_outbox *outbox, ace_outbox_kind kind, const ace_outbox_calls *calls,
                         const ace_outbox_options *options, ace_error **error)
{
    const char *name = options->name == NULL ? ACE_OUTBOX_NAME : options->name;
    ace_code code = ace_store_table_name_check("table", name, error);
    if (code == ACE_OK && options->attempts < 0) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "attempts is %d, the least is 1",
                        (int)options->attempts);
        ace_error_field(error, "attempts", 1);
    }
    if (code == ACE_OK) {
        code = ace_mutex_init(&outbox->mutex, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_handle_init(&outbox->handle, ACE_OUTBOX_MAGIC);
    atomic_init(&outbox->last_stamp, 0);
    outbox->kind = kind;
    outbox->calls = calls;
    outbox->attempts = options->attempts == 0 ? ACE_OUTBOX_ATTEMPTS : options->attempts;
    outbox->clock = options->clock == NULL ? ace_clock_system() : options->clock;
    memcpy(outbox->name, name, strlen(name) + 1);
    ace_list_init(&outbox->watchers);
    return ACE_OK;
}

void ace_outbox_deinit(ace_outbox *outbox)
{
    ace_mutex_destroy(&outbox->mutex);
}

ace_outbox *ace_outbox_keep(ace_outbox *outbox)
{
    ace_handle_retain(&outbox->handle);
    return outbox;
}

void ace_outbox_free(ace_outbox *outbox)
{
    if (outbox != NULL && ace_handle_release(&outbox->handle)) {
        outbox->calls->destroy(outbox);
    }
}

ace_code ace_outbox_check(const ace_outbox *outbox, ace_error **error)
{
    return ace_handle_check(outbox == NULL ? NULL : &outbox->handle, ACE_OUTBOX_MAGIC, "outbox",
                            error);
}

ace_code ace_outbox_open(const char *store, const ace_outbox_options *options, int64_t deadline,
                         ace_outbox **outbox, ace_error **error)
{
    static const char lmdb[] = "lmdb:";
    if (strcmp(store, "memory") == 0 || strcmp(store, "memory:") == 0) {
        return ace_outbox_open_memory(options, outbox, error);
    }
    if (strncmp(store, lmdb, strlen(lmdb)) == 0 && store[strlen(lmdb)] != '\0') {
        return ace_outbox_open_lmdb(store + strlen(lmdb), options, deadline, outbox, error);
    }
    if (ace_postgres_is_url(store)) {
        return ace_outbox_open_postgres(store, options, deadline, outbox, error);
    }
    /* The text may hold a password: it is not repeated. */
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT,
                             "store is none of memory:, lmdb:PATH, postgresql://…");
    ace_error_field(error, "store", 0);
    return code;
}

int64_t ace_outbox_stamp(ace_outbox *outbox)
{
    int64_t now = ace_clock_wall(outbox->clock) * 1000;
    int64_t last = atomic_load(&outbox->last_stamp);
    int64_t next;
    do {
        next = now > last ? now : last + 1;
    } while (!atomic_compare_exchange_weak(&outbox->last_stamp, &last, next));
    return next;
}

ace_code ace_outbox_fail_known(const ace_outbox_record *record, ace_error **error)
{
    char *id = ace_bytes_to_text(record->id);
    ace_fail(error, ACE_INVALID_ARGUMENT, "id %s is in the outbox already", id == NULL ? "?" : id);
    ace_error_field(error, "id", 0);
    free(id);
    return ACE_INVALID_ARGUMENT;
}

ace_bytes ace_outbox_cut_reason(const char *reason)
{
    ace_bytes text = ace_bytes_of(reason);
    if (text.length > ACE_OUTBOX_ERROR) {
        text.length = ace_utf8_valid_prefix(reason, ACE_OUTBOX_ERROR);
    }
    return text;
}

/* --- adding --- */

static void tell_watchers(ace_outbox *outbox)
{
    ace_mutex_lock(&outbox->mutex);
    for (ace_link_node *node = ace_list_first(&outbox->watchers); node != NULL;
         node = ace_list_next(&outbox->watchers, node)) {
        ace_outbox_watcher *watcher = ACE_RECORD(node, ace_outbox_watcher, node);
        watcher->added(watcher->user);
    }
    ace_mutex_unlock(&outbox->mutex);
}

ace_code ace_outbox_add(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                        int64_t deadline, ace_error **error)
{
    ace_code code = outbox->calls->add(outbox, record, transaction, deadline, error);
    if (code == ACE_OK) {
        tell_watchers(outbox);
    }
    return code;
}

static ace_code add_in(ace_outbox *outbox, ace_outbox_kind kind, const char *what,
                       void *transaction, const ace_outbox_record *record, ace_error **error)
{
    if (outbox->kind != kind) {
        return ace_fail(error, ACE_STATE, "the outbox does not write in %s", what);
    }
    return ace_outbox_add(outbox, record, transaction, ACE_NEVER, error);
}

ace_code ace_outbox_add_lmdb(ace_outbox *outbox, struct MDB_txn *transaction,
                             const ace_outbox_record *record, ace_error **error)
{
    return add_in(outbox, ACE_OUTBOX_LMDB, "LMDB transactions", transaction, record, error);
}

ace_code ace_outbox_add_postgres(ace_outbox *outbox, struct pg_conn *connection,
                                 const ace_outbox_record *record, ace_error **error)
{
    return add_in(outbox, ACE_OUTBOX_POSTGRES, "PostgreSQL connections", connection, record, error);
}

void ace_outbox_watch(ace_outbox *outbox, ace_outbox_watcher *watcher)
{
    ace_mutex_lock(&outbox->mutex);
    ace_list_append(&outbox->watchers, &watcher->node);
    ace_mutex_unlock(&outbox->mutex);
}

void ace_outbox_unwatch(ace_outbox *outbox, ace_outbox_watcher *watcher)
{
    ace_mutex_lock(&outbox->mutex);
    ace_list_remove(&outbox->watchers, &watcher->node);
    ace_mutex_unlock(&outbox->mutex);
}

bool ace_outbox_is_last_attempt(const ace_outbox *outbox, const ace_outbox_row *row)
{
    return row->attempts + 1 >= outbox->attempts;
}

/* --- the rest is the kind's --- */

ace_code ace_outbox_lease(ace_outbox *outbox, const char *owner, int64_t lease, size_t most,
                          int64_t deadline, ace_outbox_rows *rows, ace_error **error)
{
    return outbox->calls->lease(outbox, owner, lease, most, deadline, rows, error);
}

ace_code ace_outbox_settle(ace_outbox *outbox, const char *owner,
                           const ace_outbox_verdict *verdicts, size_t count, int64_t deadline,
                           ace_error **error)
{
    return count == 0 ? ACE_OK
                      : outbox->calls->settle(outbox, owner, verdicts, count, deadline, error);
}

ace_code ace_outbox_list_rows(ace_outbox *outbox, ace_outbox_list which, size_t most,
                              int64_t deadline, ace_outbox_rows *rows, ace_error **error)
{
    return outbox->calls->list(outbox, which, most, deadline, rows, error);
}

ace_code ace_outbox_count(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                          ace_error **error)
{
    *counts = (ace_outbox_counts){0, 0, 0, 0};
    return outbox->calls->count(outbox, deadline, counts, error);
}

ace_code ace_outbox_release(ace_outbox *outbox, const char *id, int64_t deadline,
                            uint64_t *released, ace_error **error)
{
    *released = 0;
    ace_code code = outbox->calls->release(outbox, id, deadline, released, error);
    if (code == ACE_OK && *released > 0) {
        tell_watchers(outbox);
    }
    return code;
}

ace_code ace_outbox_purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                          ace_error **error)
{
    *purged = 0;
    return outbox->calls->purge(outbox, age, deadline, purged, error);
}
