/* What a relay and an operator write into an LMDB outbox. Each is one operation of the writing
 * thread, which may run it again from the start, and may outlive the caller: so each has copies of
 * all it needs, and begins by forgetting what it had answered. */
#include "store/outbox_lmdb.h"

#include "store/lmdb_writer.h"
#include "store/outbox_stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OWNER_SIZE 64

typedef struct writing {
    ace_lmdb_operation operation;
    const ace_outbox_lmdb *self;
    int (*body)(struct writing *own, MDB_txn *transaction);
    char owner[OWNER_SIZE];
    int64_t now; /* ms */
    int64_t time;
    size_t most;
    char *id;                   /* NULL: all */
    ace_outbox_rows rows;       /* the answer of a lease, or the rows to settle */
    ace_outbox_result *results; /* of those */
    uint64_t changed;
} writing;

static int run(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    writing *own = ACE_RECORD(operation, writing, operation);
    own->changed = 0;
    return own->body(own, transaction);
}

static void destroy(ace_lmdb_operation *operation)
{
    writing *own = ACE_RECORD(operation, writing, operation);
    ace_outbox_rows_free(&own->rows);
    free(own->results);
    free(own->id);
    free(own);
}

static writing *begin(ace_outbox *outbox, const char *owner,
                      int (*body)(writing *own, MDB_txn *transaction))
{
    writing *own = calloc(1, sizeof *own);
    if (own != NULL) {
        own->self = ace_outbox_lmdb_of(outbox);
        own->body = body;
        own->now = ace_clock_wall(outbox->clock);
        size_t length = strlen(owner);
        memcpy(own->owner, owner, length < OWNER_SIZE ? length : OWNER_SIZE - 1);
        own->operation.run = run;
        own->operation.destroy = destroy;
    }
    return own;
}

static ace_code write_it(writing *own, int64_t deadline, ace_error **error)
{
    return ace_lmdb_write(own->self->environment, &own->operation, deadline, error);
}

static void end(writing *own)
{
    ace_lmdb_operation_release(own->self->environment, &own->operation);
}

static int put_state(MDB_cursor *cursor, MDB_val order, const ace_outbox_row *row)
{
    ace_buffer state = ACE_BUFFER_INIT;
    if (!ace_outbox_state_write(row, &state)) {
        ace_buffer_free(&state);
        return ENOMEM;
    }
    MDB_val value = {state.length, state.data};
    int result = mdb_cursor_put(cursor, &order, &value, 0);
    ace_buffer_free(&state);
    return result;
}

/* --- leasing --- */

/* The row's texts lie in the file, which the put below may move: it is copied first. */
static int lease_row(writing *own, MDB_cursor *cursor, MDB_val order, ace_outbox_row *row)
{
    row->locked_by = ace_bytes_of(own->owner);
    row->locked_until = own->now + own->time;
    if (!ace_outbox_rows_add(&own->rows, row)) {
        return ENOMEM;
    }
    const ace_outbox_row *copy = &own->rows.rows[own->rows.count - 1];
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    MDB_val same = {order.mv_size, key};
    memcpy(key, order.mv_data, order.mv_size);
    return put_state(cursor, same, copy);
}

/* What does not read any more is set aside, and never published. */
static int retire_damaged(writing *own, MDB_cursor *cursor, MDB_val order, MDB_val state)
{
    ace_outbox_row row = {.attempts = own->self->outbox.attempts,
                          .last_error = ace_bytes_of("the stored record is damaged")};
    ace_outbox_row before = {.attempts = 0};
    if (order.mv_size > ACE_OUTBOX_KEY_MAX ||
        (ace_outbox_state_read((ace_bytes){state.mv_data, state.mv_size}, &before) &&
         before.attempts >= row.attempts)) {
        return 0;
    }
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    MDB_val same = {order.mv_size, key};
    memcpy(key, order.mv_data, order.mv_size);
    return put_state(cursor, same, &row);
}

static int lease_body(writing *own, MDB_txn *transaction)
{
    MDB_cursor *cursor = NULL;
    ace_outbox_rows_free(&own->rows);
    int result = mdb_cursor_open(transaction, own->self->pending, &cursor);
    if (result != 0) {
        return result;
    }
    MDB_val order;
    MDB_val state;
    while (own->rows.count < own->most &&
           (result = mdb_cursor_get(cursor, &order, &state, MDB_NEXT)) == 0) {
        ace_outbox_row row;
        if (!ace_outbox_lmdb_read(own->self, transaction, order, state, &row)) {
            result = retire_damaged(own, cursor, order, state);
        } else if (row.attempts < own->self->outbox.attempts &&
                   (row.locked_until <= own->now ||
                    ace_bytes_equal_text(row.locked_by, own->owner))) {
            result = lease_row(own, cursor, order, &row);
        }
        if (result != 0) {
            break;
        }
    }
    mdb_cursor_close(cursor);
    return result == MDB_NOTFOUND ? 0 : result;
}

ace_code ace_outbox_lmdb_lease(ace_outbox *outbox, const char *owner, int64_t lease, size_t most,
                               int64_t deadline, ace_outbox_rows *rows, ace_error **error)
{
    writing *own = begin(outbox, owner, lease_body);
    if (own == NULL) {
        return ace_fail_memory(error);
    }
    own->time = lease;
    own->most = most;
    ace_code code = write_it(own, deadline, error);
    if (code == ACE_OK) {
        *rows = own->rows;
        own->rows = (ace_outbox_rows)ACE_OUTBOX_ROWS_INIT;
    }
    end(own);
    return code;
}

/* --- settling --- */

static int mark_published(const writing *own, MDB_txn *transaction, MDB_val order,
                          const ace_outbox_row *row)
{
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    uint8_t nothing = 0;
    MDB_val done = {ace_outbox_key_write(own->now * 1000, row->record.id, key), key};
    MDB_val value = {1, &nothing};
    int result = mdb_del(transaction, own->self->pending, &order, NULL);
    return result == 0 ? mdb_put(transaction, own->self->done, &done, &value, 0) : result;
}

/* `settled` has the reason of a failure as its last error, and in its lease how long it rests. */
static int change_lease(const writing *own, MDB_cursor *cursor, MDB_val order, MDB_val state,
                        ace_outbox_result result, const ace_outbox_row *settled)
{
    ace_outbox_row row = {.attempts = 0};
    if (!ace_outbox_state_read((ace_bytes){state.mv_data, state.mv_size}, &row) ||
        !ace_bytes_equal_text(row.locked_by, own->owner)) {
        return 0; /* another relay's by now */
    }
    row.locked_by = (ace_bytes){NULL, 0};
    row.locked_until = 0;
    if (result == ACE_OUTBOX_FAILED) {
        row.attempts++;
        row.last_error = settled->last_error;
        row.locked_until = settled->locked_until > 0 ? own->now + settled->locked_until : 0;
    }
    return put_state(cursor, order, &row);
}

static int settle_row(writing *own, MDB_txn *transaction, MDB_cursor *cursor, size_t at)
{
    const ace_outbox_row *row = &own->rows.rows[at];
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    MDB_val order = {ace_outbox_key_write(row->record.created, row->record.id, key), key};
    MDB_val state;
    int result = mdb_cursor_get(cursor, &order, &state, MDB_SET);
    if (result != 0) {
        return result == MDB_NOTFOUND ? 0 : result; /* marked by another */
    }
    order = (MDB_val){8 + row->record.id.length, key};
    return own->results[at] == ACE_OUTBOX_PUBLISHED
               ? mark_published(own, transaction, order, row)
               : change_lease(own, cursor, order, state, own->results[at], row);
}

static int settle_body(writing *own, MDB_txn *transaction)
{
    MDB_cursor *cursor = NULL;
    int result = mdb_cursor_open(transaction, own->self->pending, &cursor);
    for (size_t i = 0; result == 0 && i < own->rows.count; i++) {
        result = settle_row(own, transaction, cursor, i);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result;
}

/* Copies of what is needed: id and time, and what change_lease() wants to know of a failure. */
static bool copy_verdicts(writing *own, const ace_outbox_verdict *verdicts, size_t count)
{
    own->results = calloc(count, sizeof *own->results);
    for (size_t i = 0; own->results != NULL && i < count; i++) {
        ace_outbox_row row = {.record = {.id = verdicts[i].row->record.id,
                                         .created = verdicts[i].row->record.created}};
        if (verdicts[i].result == ACE_OUTBOX_FAILED) {
            row.last_error = ace_outbox_cut_reason(verdicts[i].reason);
            row.locked_until = verdicts[i].rest;
        }
        if (!ace_outbox_rows_add(&own->rows, &row)) {
            return false;
        }
        own->results[i] = verdicts[i].result;
    }
    return own->results != NULL;
}

ace_code ace_outbox_lmdb_settle(ace_outbox *outbox, const char *owner,
                                const ace_outbox_verdict *verdicts, size_t count, int64_t deadline,
                                ace_error **error)
{
    writing *own = begin(outbox, owner, settle_body);
    if (own == NULL || !copy_verdicts(own, verdicts, count)) {
        if (own != NULL) {
            destroy(&own->operation);
        }
        return ace_fail_memory(error);
    }
    ace_code code = write_it(own, deadline, error);
    end(own);
    return code;
}

/* --- operators --- */

static int release_body(writing *own, MDB_txn *transaction)
{
    MDB_cursor *cursor = NULL;
    int result = mdb_cursor_open(transaction, own->self->pending, &cursor);
    MDB_val order;
    MDB_val state;
    while (result == 0 && (result = mdb_cursor_get(cursor, &order, &state, MDB_NEXT)) == 0) {
        ace_outbox_row row;
        bool wanted = ace_outbox_lmdb_read(own->self, transaction, order, state, &row) &&
                      row.attempts >= own->self->outbox.attempts &&
                      (own->id == NULL || ace_bytes_equal_text(row.record.id, own->id));
        if (wanted) {
            uint8_t key[ACE_OUTBOX_KEY_MAX];
            MDB_val same = {order.mv_size, key};
            memcpy(key, order.mv_data, order.mv_size);
            row.attempts = 0;
            row.locked_until = 0;
            result = put_state(cursor, same, &row);
            own->changed++;
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result == MDB_NOTFOUND ? 0 : result;
}

ace_code ace_outbox_lmdb_release(ace_outbox *outbox, const char *id, int64_t deadline,
                                 uint64_t *released, ace_error **error)
{
    writing *own = begin(outbox, "", release_body);
    if (own != NULL && id != NULL) {
        own->id = strdup(id);
    }
    if (own == NULL || (id != NULL && own->id == NULL)) {
        free(own);
        return ace_fail_memory(error);
    }
    ace_code code = write_it(own, deadline, error);
    if (code == ACE_OK) {
        *released = own->changed;
    }
    end(own);
    return code;
}

static int purge_body(writing *own, MDB_txn *transaction)
{
    MDB_cursor *cursor = NULL;
    int result = mdb_cursor_open(transaction, own->self->done, &cursor);
    MDB_val done;
    MDB_val nothing;
    while (result == 0 && (result = mdb_cursor_get(cursor, &done, &nothing, MDB_FIRST)) == 0) {
        int64_t published;
        ace_bytes id;
        if (!ace_outbox_key_read((ace_bytes){done.mv_data, done.mv_size}, &published, &id)) {
            result = MDB_CORRUPTED;
            break;
        }
        if (own->now - published / 1000 < own->time) {
            break;
        }
        MDB_val key = {id.length, done.mv_data};
        uint8_t copy[ACE_OUTBOX_KEY_MAX];
        memcpy(copy, id.data, id.length);
        key.mv_data = copy;
        result = mdb_del(transaction, own->self->records, &key, NULL);
        if (result == 0 || result == MDB_NOTFOUND) {
            result = mdb_cursor_del(cursor, 0);
            own->changed++;
        }
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    return result == MDB_NOTFOUND ? 0 : result;
}

ace_code ace_outbox_lmdb_purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                               ace_error **error)
{
    writing *own = begin(outbox, "", purge_body);
    if (own == NULL) {
        return ace_fail_memory(error);
    }
    own->time = age;
    ace_code code = write_it(own, deadline, error);
    if (code == ACE_OK) {
        *purged = own->changed;
    }
    end(own);
    return code;
}
