/*
 * LMDB environments of this process: one a folder, whoever asks for it, since opening a folder
 * twice in one process breaks its locks. The claims and the outbox share it, and with it the thread
 * that writes (lmdb_writer.h).
 *
 * The folder is made when it is missing; its parent must exist. Reader slots of dead processes are
 * cleared when it is opened. The map grows when it is full, up to the limit, and follows when
 * another process grew it.
 *
 * The functions are thread-safe. In a child after a fork every one of them answers ACE_FORKED, and
 * nothing is ever closed there: the child opens the folder again, which is another environment.
 */
#ifndef ACE_STORE_LMDB_ENVIRONMENT_H
#define ACE_STORE_LMDB_ENVIRONMENT_H

#include "base/error.h"

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_LMDB_MAP_FIRST (UINT64_C(16) * 1024 * 1024)
#define ACE_LMDB_MAP_LIMIT (UINT64_C(16) * 1024 * 1024 * 1024)
#define ACE_LMDB_MAP_LEAST (UINT64_C(64) * 1024)
#define ACE_LMDB_DATABASES 32
#define ACE_LMDB_READERS   510
#define ACE_LMDB_KEY_MAX   511 /* bytes of an LMDB key */

typedef struct ace_lmdb_environment ace_lmdb_environment;

/* What a commit has reached when its caller goes on. */
typedef enum ace_lmdb_durability {
    ACE_LMDB_DURABLE = 0, /* the disk: survives the machine */
    /* The kernel: survives the process, not the machine. After a crash of the machine the last
     * commits may be missing, and the file may be damaged and have to be deleted. */
    ACE_LMDB_NOSYNC = 1,
} ace_lmdb_durability;

typedef struct ace_lmdb_options {
    const char *path;   /* of the folder; copied */
    uint64_t map_limit; /* bytes the map may grow to; 0: ACE_LMDB_MAP_LIMIT */
    ace_lmdb_durability durability;
} ace_lmdb_options;

/* One reference to the environment of that folder, opened when nobody in this process has it.
 * ACE_SYSTEM (no such parent, no permission, a read-only folder; the text names the path),
 * ACE_STORE (no LMDB file, or a damaged one), ACE_DIFFERS (it is open here with another
 * durability), ACE_INVALID_ARGUMENT, ACE_OUT_OF_MEMORY. A larger map limit than that of who opened
 * it counts. */
ace_code ace_lmdb_environment_open(const ace_lmdb_options *options,
                                   ace_lmdb_environment **environment, ace_error **error);

/* One reference to the environment that is the caller's own: it is never grown, never closed, and
 * must outlive the last reference. The same MDB_env gives the same object. */
ace_code ace_lmdb_environment_adopt(MDB_env *env, ace_lmdb_environment **environment,
                                    ace_error **error);

ace_lmdb_environment *ace_lmdb_environment_keep(ace_lmdb_environment *environment);
/* Closes it with the last reference, its writing thread ended first; not from that thread. NULL is
 * fine. */
void ace_lmdb_environment_release(ace_lmdb_environment *environment);

MDB_env *ace_lmdb_environment_handle(const ace_lmdb_environment *environment);
const char *ace_lmdb_environment_path(const ace_lmdb_environment *environment);
bool ace_lmdb_environment_is_foreign(const ace_lmdb_environment *environment); /* a child's */

/* The database of that name, kept open with the environment. `flags` are MDB_CREATE, MDB_DUPSORT
 * and such. With MDB_CREATE it goes through the writing thread and waits until `deadline`
 * (monotonic, the system's clock). ACE_NOT_FOUND without MDB_CREATE, ACE_LIMIT (too many
 * databases), ACE_TIMEOUT and what writing answers. */
ace_code ace_lmdb_environment_database(ace_lmdb_environment *environment, const char *name,
                                       unsigned flags, int64_t deadline, MDB_dbi *database,
                                       ace_error **error);

/* A transaction that reads, to be ended soon by the same thread: while one is open the map cannot
 * grow. Never begin a second one inside, and never submit to the writer inside. */
ace_code ace_lmdb_read_begin(ace_lmdb_environment *environment, MDB_txn **transaction,
                             ace_error **error);
void ace_lmdb_read_end(ace_lmdb_environment *environment, MDB_txn *transaction);

/* Of the error of an LMDB call: ACE_STORE_FULL for MDB_MAP_FULL and for a full disk, ACE_SYSTEM for
 * other errno values, ACE_STORE for the rest. The text is "<path>: <what>: <LMDB's text>". */
ace_code ace_lmdb_fail(const ace_lmdb_environment *environment, int result, const char *what,
                       ace_error **error);

/* The calling thread used this write transaction of the environment, which is its own; remembered
 * for ace_lmdb_thread_writes(). */
void ace_lmdb_note_transaction(MDB_txn *transaction);
/* Whether the calling thread has a write transaction of its own open there, as far as can be seen:
 * a transaction noted before that was not committed. It may have been aborted: true then only
 * explains why the writer cannot begin. */
bool ace_lmdb_thread_writes(const ace_lmdb_environment *environment);

#endif
