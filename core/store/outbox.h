/*
 * The outbox (section 10 of the contract): messages written in the caller's own transaction, which
 * a relay publishes afterwards. One behaviour, several stores: memory for tests, LMDB for one
 * machine, PostgreSQL for several.
 *
 * All functions are thread-safe. `deadline` is monotonic, of the system's clock. A store that
 * cannot be reached answers ACE_TIMEOUT, ACE_UNREACHABLE, ACE_CONNECTION_LOST, ACE_STORE,
 * ACE_STORE_FULL, ACE_SYSTEM or ACE_OUT_OF_MEMORY from any of them.
 */
#ifndef ACE_STORE_OUTBOX_H
#define ACE_STORE_OUTBOX_H

#include "base/clock.h"
#include "base/handle.h"
#include "base/list.h"
#include "contract/outbox_record.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_OUTBOX_MAGIC    ACE_MAGIC('O', 'U', 'T', 'B')
#define ACE_OUTBOX_NAME     "acemq_outbox"
#define ACE_OUTBOX_ATTEMPTS 10   /* then a row is retired: kept, listed, releasable */
#define ACE_OUTBOX_ERROR    1000 /* bytes of the last error that are kept */

struct MDB_env;
struct MDB_txn;
struct pg_conn;

typedef struct acemq_outbox ace_outbox;

typedef struct ace_outbox_row {
    ace_outbox_record record; /* each text is followed by a NUL */
    int64_t published;        /* microseconds since 1970; 0: not yet */
    int64_t locked_until;     /* ms since 1970; 0: no lease */
    ace_bytes locked_by;
    ace_bytes last_error;
    int32_t attempts;
    const char *fault; /* static: what of the row does not read; NULL: it can be published */
    void *block;       /* what all the bytes point into */
} ace_outbox_row;

typedef struct ace_outbox_rows {
    ace_outbox_row *rows;
    size_t count;
    size_t capacity;
} ace_outbox_rows;

#define ACE_OUTBOX_ROWS_INIT                                                                       \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

bool ace_outbox_rows_add(ace_outbox_rows *rows, const ace_outbox_row *row); /* a deep copy */
void ace_outbox_rows_free(ace_outbox_rows *rows); /* leaves an empty one */

/* What became of a leased row. */
typedef enum ace_outbox_result {
    ACE_OUTBOX_PUBLISHED,  /* marked, whoever has the lease by now */
    ACE_OUTBOX_FAILED,     /* by its own fault: one attempt more, and nobody's for a while */
    ACE_OUTBOX_GIVEN_BACK, /* not its fault */
} ace_outbox_result;

typedef struct ace_outbox_verdict { /* borrowed */
    const ace_outbox_row *row;
    ace_outbox_result result;
    const char *reason; /* of a failure */
    int64_t rest;       /* ms after a failure in which nobody leases it; 0: it is given back */
} ace_outbox_verdict;

typedef enum ace_outbox_list { ACE_OUTBOX_PENDING, ACE_OUTBOX_RETIRED } ace_outbox_list;

typedef struct ace_outbox_counts {
    uint64_t pending; /* leased ones included */
    uint64_t retired;
    uint64_t published; /* and not purged */
    int64_t oldest_age; /* ms that the oldest pending row has waited; 0: none */
} ace_outbox_counts;

typedef struct ace_outbox_calls {
    ace_code (*add)(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                    int64_t deadline, ace_error **error);
    ace_code (*lease)(ace_outbox *outbox, const char *owner, int64_t lease, size_t most,
                      int64_t deadline, ace_outbox_rows *rows, ace_error **error);
    ace_code (*settle)(ace_outbox *outbox, const char *owner, const ace_outbox_verdict *verdicts,
                       size_t count, int64_t deadline, ace_error **error);
    ace_code (*list)(ace_outbox *outbox, ace_outbox_list which, size_t most, int64_t deadline,
                     ace_outbox_rows *rows, ace_error **error);
    ace_code (*count)(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                      ace_error **error);
    ace_code (*release)(ace_outbox *outbox, const char *id, int64_t deadline, uint64_t *released,
                        ace_error **error);
    ace_code (*purge)(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                      ace_error **error);
    void (*destroy)(ace_outbox *outbox);
} ace_outbox_calls;

typedef struct ace_outbox_options {
    const char *name; /* of the table or database, [A-Za-z_][A-Za-z0-9_]{0,62}; NULL: the default */
    int32_t attempts; /* 0: ACE_OUTBOX_ATTEMPTS */
    ace_clock *clock; /* NULL: the system's; PostgreSQL goes by the server's */
} ace_outbox_options;

/* One reference each. */
ace_code ace_outbox_open_memory(const ace_outbox_options *options, ace_outbox **outbox,
                                ace_error **error);
/* The folder is made when it is missing. As ace_lmdb_environment_open(). */
ace_code ace_outbox_open_lmdb(const char *path, const ace_outbox_options *options, int64_t deadline,
                              ace_outbox **outbox, ace_error **error);
/* Three databases in the caller's environment, which has room for them (mdb_env_set_maxdbs()), is
 * never grown, and outlives the outbox. */
ace_code ace_outbox_open_lmdb_env(struct MDB_env *env, const ace_outbox_options *options,
                                  int64_t deadline, ace_outbox **outbox, ace_error **error);
/* The table exists. ACE_NOT_FOUND where it does not, ACE_DIFFERS with its first difference. */
ace_code ace_outbox_open_postgres(const char *url, const ace_outbox_options *options,
                                  int64_t deadline, ace_outbox **outbox, ace_error **error);
/* "memory:" (or without the colon), "lmdb:PATH", "postgresql://…". ACE_INVALID_ARGUMENT for
 * anything else. */
ace_code ace_outbox_open(const char *store, const ace_outbox_options *options, int64_t deadline,
                         ace_outbox **outbox, ace_error **error);
/* An outbox of this process. ACE_INVALID_ARGUMENT, ACE_FORKED. */
ace_code ace_outbox_check(const ace_outbox *outbox, ace_error **error);
ace_outbox *ace_outbox_keep(ace_outbox *outbox);
void ace_outbox_free(ace_outbox *outbox); /* gives a reference back; NULL is fine */

/* Microseconds since 1970 for a record: later than every one handed out before by this outbox. */
int64_t ace_outbox_stamp(ace_outbox *outbox);

/* Writes a record: with `transaction` NULL in one of its own, which is committed when this returns;
 * else in the caller's, an MDB_txn or a PGconn. ACE_INVALID_ARGUMENT: the id is there already, or
 * the transaction is of another environment. After ACE_STORE_FULL the caller's transaction can only
 * be aborted. */
ace_code ace_outbox_add(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                        int64_t deadline, ace_error **error);
ace_code ace_outbox_add_lmdb(ace_outbox *outbox, struct MDB_txn *transaction,
                             const ace_outbox_record *record, ace_error **error);
ace_code ace_outbox_add_postgres(ace_outbox *outbox, struct pg_conn *connection,
                                 const ace_outbox_record *record, ace_error **error);

/* Up to `most` pending rows, in order, that nobody else may publish for `lease` ms. Leased again by
 * the same owner, they come again. */
ace_code ace_outbox_lease(ace_outbox *outbox, const char *owner, int64_t lease, size_t most,
                          int64_t deadline, ace_outbox_rows *rows, ace_error **error);
/* All in one transaction; repeating it does no harm. */
ace_code ace_outbox_settle(ace_outbox *outbox, const char *owner,
                           const ace_outbox_verdict *verdicts, size_t count, int64_t deadline,
                           ace_error **error);
ace_code ace_outbox_list_rows(ace_outbox *outbox, ace_outbox_list which, size_t most,
                              int64_t deadline, ace_outbox_rows *rows, ace_error **error);
ace_code ace_outbox_count(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                          ace_error **error);
/* A retired row (id NULL: all) is pending again, with no attempt used. */
ace_code ace_outbox_release(ace_outbox *outbox, const char *id, int64_t deadline,
                            uint64_t *released, ace_error **error);
/* Deletes rows published at least `age` ms ago. */
ace_code ace_outbox_purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                          ace_error **error);

/* Whether one more failure retires it. */
bool ace_outbox_is_last_attempt(const ace_outbox *outbox, const ace_outbox_row *row);

/* Called after a record was added in this process, on the thread that added it, until unwatched. It
 * may be before the caller's transaction commits. Must not call the outbox. */
typedef struct ace_outbox_watcher {
    ace_link_node node;
    void (*added)(void *user);
    void *user;
} ace_outbox_watcher;

void ace_outbox_watch(ace_outbox *outbox, ace_outbox_watcher *watcher);
void ace_outbox_unwatch(ace_outbox *outbox, ace_outbox_watcher *watcher);

#endif
