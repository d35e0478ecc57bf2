/*
 * Writing to an LMDB environment: one thread takes all that is queued, does it in one transaction
 * and commits once, so that callers share the flush to the disk. It never waits for more to come.
 *
 * Beginning a transaction may block for as long as another process, or another transaction of this
 * one, writes: nothing can cut that short, so callers leave at their deadline, and what was not
 * begun by then never happens. What lands after its caller left is undone by the operation's own
 * `late`.
 */
#ifndef ACE_STORE_LMDB_WRITER_H
#define ACE_STORE_LMDB_WRITER_H

#include "base/list.h"
#include "store/lmdb_environment.h"

typedef struct ace_lmdb_operation ace_lmdb_operation;

/* Embedded at the start of the caller's own record, which is allocated: the writer may hold it
 * longer than its caller waits. */
struct ace_lmdb_operation {
    /* Writes, on the writing thread. Called again, from the start, when the transaction had to be
     * repeated. 0, or an LMDB result: MDB_MAP_FULL makes the map grow, any other spoils the
     * transaction of all. An answer that is no failure of LMDB is the record's own business. */
    int (*run)(ace_lmdb_operation *operation, MDB_txn *transaction);
    /* It was committed after its caller had left; writes what undoes it, in a transaction of its
     * own. NULL: nothing to undo. */
    int (*late)(ace_lmdb_operation *operation, MDB_txn *transaction);
    void (*destroy)(ace_lmdb_operation *operation); /* frees the record */

    /* The writer's. */
    ace_link_node node;
    unsigned references;
    int stage;
    bool abandoned;
    ace_code code;
    ace_error *error;
    void *wait;
};

/* Does it, and waits until it is committed, or `deadline` (monotonic, the system's clock). Takes
 * the record over: call ace_lmdb_operation_release() when its answer was read. ACE_TIMEOUT: not
 * done, or being undone. ACE_STATE: the calling thread holds a write transaction of its own on this
 * environment, which would have to end first. ACE_STORE_FULL, ACE_STORE, ACE_SYSTEM,
 * ACE_OUT_OF_MEMORY, ACE_FORKED. */
ace_code ace_lmdb_write(ace_lmdb_environment *environment, ace_lmdb_operation *operation,
                        int64_t deadline, ace_error **error);
void ace_lmdb_operation_release(ace_lmdb_environment *environment, ace_lmdb_operation *operation);

/* Since the environment was opened here: transactions committed, and operations in them. */
void ace_lmdb_writer_count(const ace_lmdb_environment *environment, uint64_t *commits,
                           uint64_t *operations);

#endif
