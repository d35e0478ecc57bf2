/*
 * The outbox in LMDB. Three databases: `{name}` has the records by id, which never change;
 * `{name}.pending` has what is not published yet by (created, id), with attempts and lease;
 * `{name}.done` has what is, by (published, id). So a relay never walks over what is done.
 */
#include "store/outbox_lmdb.h"

#include "store/lmdb_writer.h"
#include "store/outbox_stored.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MDB_val val_of(ace_bytes bytes)
{
    union {
        const void *read_only;
        void *plain;
    } view = {.read_only = bytes.data};
    return (MDB_val){bytes.length, view.plain};
}

static ace_bytes bytes_of(MDB_val val)
{
    return (ace_bytes){val.mv_data, val.mv_size};
}

/* --- adding --- */

int ace_outbox_lmdb_put(const ace_outbox_lmdb *self, MDB_txn *transaction,
                        const ace_outbox_record *record)
{
    ace_buffer stored = ACE_BUFFER_INIT;
    ace_buffer state = ACE_BUFFER_INIT;
    const ace_outbox_row fresh = {.attempts = 0};
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    int result = ENOMEM;
    if (ace_outbox_stored_write(record, &stored) && ace_outbox_state_write(&fresh, &state)) {
        MDB_val id = val_of(record->id);
        MDB_val value = {stored.length, stored.data};
        result = mdb_put(transaction, self->records, &id, &value, MDB_NOOVERWRITE);
    }
    if (result == 0) {
        MDB_val order = {ace_outbox_key_write(record->created, record->id, key), key};
        MDB_val value = {state.length, state.data};
        result = mdb_put(transaction, self->pending, &order, &value, 0);
    }
    ace_buffer_free(&stored);
    ace_buffer_free(&state);
    return result;
}

typedef struct adding {
    ace_lmdb_operation operation;
    const ace_outbox_lmdb *self;
    ace_outbox_rows row; /* one: a copy of the record */
    bool known;
} adding;

static int run_adding(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    adding *own = ACE_RECORD(operation, adding, operation);
    int result = ace_outbox_lmdb_put(own->self, transaction, &own->row.rows[0].record);
    own->known = result == MDB_KEYEXIST;
    return own->known ? 0 : result;
}

static int undo_adding(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    adding *own = ACE_RECORD(operation, adding, operation);
    return own->known ? 0
                      : ace_outbox_lmdb_forget(own->self, transaction, &own->row.rows[0].record);
}

static void destroy_adding(ace_lmdb_operation *operation)
{
    adding *own = ACE_RECORD(operation, adding, operation);
    ace_outbox_rows_free(&own->row);
    free(own);
}

int ace_outbox_lmdb_forget(const ace_outbox_lmdb *self, MDB_txn *transaction,
                           const ace_outbox_record *record)
{
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    MDB_val order = {ace_outbox_key_write(record->created, record->id, key), key};
    MDB_val id = val_of(record->id);
    int result = mdb_del(transaction, self->pending, &order, NULL);
    if (result == 0 || result == MDB_NOTFOUND) {
        result = mdb_del(transaction, self->records, &id, NULL);
    }
    return result == MDB_NOTFOUND ? 0 : result;
}

static ace_code add_alone(ace_outbox_lmdb *self, const ace_outbox_record *record, int64_t deadline,
                          ace_error **error)
{
    adding *own = calloc(1, sizeof *own);
    ace_outbox_row row = {.record = *record};
    if (own == NULL || !ace_outbox_rows_add(&own->row, &row)) {
        if (own != NULL) {
            ace_outbox_rows_free(&own->row);
        }
        free(own);
        return ace_fail_memory(error);
    }
    own->self = self;
    own->operation.run = run_adding;
    own->operation.late = undo_adding;
    own->operation.destroy = destroy_adding;
    ace_code code = ace_lmdb_write(self->environment, &own->operation, deadline, error);
    if (code == ACE_OK && own->known) {
        code = ace_outbox_fail_known(record, error);
    }
    ace_lmdb_operation_release(self->environment, &own->operation);
    return code;
}

static ace_code add_within(ace_outbox_lmdb *self, const ace_outbox_record *record,
                           MDB_txn *transaction, ace_error **error)
{
    if (ace_lmdb_environment_is_foreign(self->environment)) {
        return ace_fail(error, ACE_FORKED, "the outbox belongs to the parent process");
    }
    if (mdb_txn_env(transaction) != ace_lmdb_environment_handle(self->environment)) {
        ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT,
                                 "the transaction is of another environment than the outbox");
        ace_error_field(error, "transaction", 0);
        return code;
    }
    ace_lmdb_note_transaction(transaction);
    int result = ace_outbox_lmdb_put(self, transaction, record);
    if (result == MDB_KEYEXIST) {
        return ace_outbox_fail_known(record, error);
    }
    return result == 0 ? ACE_OK
                       : ace_lmdb_fail(self->environment, result, "adding to the outbox", error);
}

static ace_code add(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                    int64_t deadline, ace_error **error)
{
    ace_outbox_lmdb *self = ace_outbox_lmdb_of(outbox);
    return transaction == NULL ? add_alone(self, record, deadline, error)
                               : add_within(self, record, transaction, error);
}

/* --- reading --- */

bool ace_outbox_lmdb_read(const ace_outbox_lmdb *self, MDB_txn *transaction, MDB_val order,
                          MDB_val state, ace_outbox_row *row)
{
    *row = (ace_outbox_row){.attempts = 0};
    if (!ace_outbox_key_read(bytes_of(order), &row->record.created, &row->record.id)) {
        return false;
    }
    MDB_val id = val_of(row->record.id);
    MDB_val stored;
    return mdb_get(transaction, self->records, &id, &stored) == 0 &&
           ace_outbox_stored_read(bytes_of(stored), &row->record) &&
           ace_outbox_state_read(bytes_of(state), row);
}

typedef ace_code lmdb_visitor(const ace_outbox_lmdb *self, const ace_outbox_row *row, void *user,
                              ace_error **error);

/* All that is pending or retired, in order; ACE_CANCELLED of the visitor ends it well. */
static ace_code visit(ace_outbox_lmdb *self, lmdb_visitor *visitor, void *user, ace_error **error)
{
    MDB_txn *transaction = NULL;
    MDB_cursor *cursor = NULL;
    ace_code code = ace_lmdb_read_begin(self->environment, &transaction, error);
    if (code != ACE_OK) {
        return code;
    }
    int result = mdb_cursor_open(transaction, self->pending, &cursor);
    MDB_val order;
    MDB_val state;
    while (code == ACE_OK && result == 0) {
        result = mdb_cursor_get(cursor, &order, &state, MDB_NEXT);
        ace_outbox_row row;
        if (result == 0 && ace_outbox_lmdb_read(self, transaction, order, state, &row)) {
            code = visitor(self, &row, user, error);
        }
    }
    if (code == ACE_OK && result != MDB_NOTFOUND) {
        code = ace_lmdb_fail(self->environment, result, "reading the outbox", error);
    }
    if (cursor != NULL) {
        mdb_cursor_close(cursor);
    }
    ace_lmdb_read_end(self->environment, transaction);
    return code == ACE_CANCELLED ? ACE_OK : code;
}

typedef struct listing {
    ace_outbox_list which;
    size_t most;
    ace_outbox_rows *rows;
} listing;

static ace_code list_row(const ace_outbox_lmdb *self, const ace_outbox_row *row, void *user,
                         ace_error **error)
{
    const listing *own = user;
    bool is_pending = row->attempts < self->outbox.attempts;
    if (own->rows->count == own->most) {
        return ACE_CANCELLED;
    }
    if (is_pending == (own->which == ACE_OUTBOX_PENDING) && !ace_outbox_rows_add(own->rows, row)) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

static ace_code list(ace_outbox *outbox, ace_outbox_list which, size_t most, int64_t deadline,
                     ace_outbox_rows *rows, ace_error **error)
{
    (void)deadline;
    listing own = {which, most, rows};
    return visit(ace_outbox_lmdb_of(outbox), list_row, &own, error);
}

static ace_code count_row(const ace_outbox_lmdb *self, const ace_outbox_row *row, void *user,
                          ace_error **error)
{
    (void)error;
    ace_outbox_counts *counts = user;
    if (row->attempts >= self->outbox.attempts) {
        counts->retired++;
    } else if (counts->pending++ == 0) {
        int64_t age = ace_clock_wall(self->outbox.clock) - row->record.created / 1000;
        counts->oldest_age = age > 0 ? age : 0;
    }
    return ACE_OK;
}

static ace_code count_rows(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                           ace_error **error)
{
    (void)deadline;
    ace_outbox_lmdb *self = ace_outbox_lmdb_of(outbox);
    ace_code code = visit(self, count_row, counts, error);
    MDB_txn *transaction = NULL;
    if (code == ACE_OK) {
        code = ace_lmdb_read_begin(self->environment, &transaction, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    MDB_stat stat;
    int result = mdb_stat(transaction, self->done, &stat);
    if (result == 0) {
        counts->published = stat.ms_entries;
    } else {
        code = ace_lmdb_fail(self->environment, result, "counting the outbox", error);
    }
    ace_lmdb_read_end(self->environment, transaction);
    return code;
}

/* --- opening --- */

static void destroy(ace_outbox *outbox)
{
    ace_outbox_lmdb *self = ace_outbox_lmdb_of(outbox);
    ace_lmdb_environment_release(self->environment);
    ace_outbox_deinit(outbox);
    free(self);
}

static const ace_outbox_calls calls = {
    .add = add,
    .lease = ace_outbox_lmdb_lease,
    .settle = ace_outbox_lmdb_settle,
    .list = list,
    .count = count_rows,
    .release = ace_outbox_lmdb_release,
    .purge = ace_outbox_lmdb_purge,
    .destroy = destroy,
};

static ace_code open_databases(ace_outbox_lmdb *self, int64_t deadline, ace_error **error)
{
    const struct {
        const char *suffix;
        MDB_dbi *database;
    } databases[] = {{"", &self->records}, {".pending", &self->pending}, {".done", &self->done}};
    ace_code code = ACE_OK;
    for (size_t i = 0; i < 3 && code == ACE_OK; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s%s", self->outbox.name, databases[i].suffix);
        code = ace_lmdb_environment_database(self->environment, name, MDB_CREATE, deadline,
                                             databases[i].database, error);
    }
    return code;
}

/* Takes the environment's reference over. */
static ace_code open_in(ace_lmdb_environment *environment, const ace_outbox_options *options,
                        int64_t deadline, ace_outbox **outbox, ace_error **error)
{
    ace_outbox_lmdb *self = calloc(1, sizeof *self);
    if (self == NULL) {
        ace_lmdb_environment_release(environment);
        return ace_fail_memory(error);
    }
    ace_code code = ace_outbox_init(&self->outbox, ACE_OUTBOX_LMDB, &calls, options, error);
    if (code != ACE_OK) {
        free(self);
        ace_lmdb_environment_release(environment);
        return code;
    }
    self->environment = environment;
    code = open_databases(self, deadline, error);
    if (code != ACE_OK) {
        destroy(&self->outbox);
        return code;
    }
    *outbox = &self->outbox;
    return ACE_OK;
}

ace_code ace_outbox_open_lmdb(const char *path, const ace_outbox_options *options, int64_t deadline,
                              ace_outbox **outbox, ace_error **error)
{
    ace_lmdb_environment *environment = NULL;
    ace_lmdb_options opened = {.path = path, .durability = ACE_LMDB_DURABLE};
    ace_code code = ace_lmdb_environment_open(&opened, &environment, error);
    return code == ACE_OK ? open_in(environment, options, deadline, outbox, error) : code;
}

ace_code ace_outbox_open_lmdb_env(struct MDB_env *env, const ace_outbox_options *options,
                                  int64_t deadline, ace_outbox **outbox, ace_error **error)
{
    ace_lmdb_environment *environment = NULL;
    ace_code code = ace_lmdb_environment_adopt(env, &environment, error);
    return code == ACE_OK ? open_in(environment, options, deadline, outbox, error) : code;
}
