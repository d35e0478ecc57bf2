/* Inside the outbox in LMDB. */
#ifndef ACE_STORE_OUTBOX_LMDB_H
#define ACE_STORE_OUTBOX_LMDB_H

#include "store/lmdb_environment.h"
#include "store/outbox_state.h"

typedef struct ace_outbox_lmdb {
    ace_outbox outbox;
    ace_lmdb_environment *environment;
    MDB_dbi records;
    MDB_dbi pending;
    MDB_dbi done;
} ace_outbox_lmdb;

static inline ace_outbox_lmdb *ace_outbox_lmdb_of(ace_outbox *outbox)
{
    return ACE_RECORD(outbox, ace_outbox_lmdb, outbox);
}

/* LMDB's results; MDB_KEYEXIST: the id is known. */
int ace_outbox_lmdb_put(const ace_outbox_lmdb *self, MDB_txn *transaction,
                        const ace_outbox_record *record);
int ace_outbox_lmdb_forget(const ace_outbox_lmdb *self, MDB_txn *transaction,
                           const ace_outbox_record *record);

/* A row from an entry of the pending database; borrowed from the transaction. False: damaged. */
bool ace_outbox_lmdb_read(const ace_outbox_lmdb *self, MDB_txn *transaction, MDB_val order,
                          MDB_val state, ace_outbox_row *row);

/* What a relay and an operator write. */
ace_code ace_outbox_lmdb_lease(ace_outbox *outbox, const char *owner, int64_t lease, size_t most,
                               int64_t deadline, ace_outbox_rows *rows, ace_error **error);
ace_code ace_outbox_lmdb_settle(ace_outbox *outbox, const char *owner,
                                const ace_outbox_verdict *verdicts, size_t count, int64_t deadline,
                                ace_error **error);
ace_code ace_outbox_lmdb_release(ace_outbox *outbox, const char *id, int64_t deadline,
                                 uint64_t *released, ace_error **error);
ace_code ace_outbox_lmdb_purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                               ace_error **error);

#endif
