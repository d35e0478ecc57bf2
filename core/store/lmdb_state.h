/* Inside an LMDB environment. */
#ifndef ACE_STORE_LMDB_STATE_H
#define ACE_STORE_LMDB_STATE_H

#include "base/handle.h"
#include "base/list.h"
#include "base/thread.h"
#include "store/lmdb_environment.h"
#include "store/lmdb_writer.h"

#include <sys/types.h>

typedef struct ace_lmdb_database {
    char *name; /* NULL: free */
    MDB_dbi handle;
} ace_lmdb_database;

typedef struct ace_lmdb_writer {
    ace_thread thread; /* started by the first write */
    ace_condition work;
    ace_condition ended;
    ace_list queue;
    bool stopping;
    bool has_ended;
    bool closes; /* nobody waits for its end: it closes the environment itself */
    uint64_t commits;
    uint64_t operations;
} ace_lmdb_writer;

struct ace_lmdb_environment {
    ace_handle
        handle; /* tells a child; its references count the users, under the registry's lock */
    ace_link_node node; /* in the registry */
    bool adopted;       /* the caller's own */
    bool closing;       /* no user is left */
    dev_t device;
    ino_t inode;
    MDB_env *env;
    char *path;
    ace_lmdb_durability durability;

    ace_mutex mutex; /* guards what follows */
    uint64_t map_limit;
    unsigned readers;
    bool resizing;
    ace_condition turn; /* a reader left, or the map has its size */
    ace_lmdb_database databases[ACE_LMDB_DATABASES];
    ace_lmdb_writer writer;
};

ace_code ace_lmdb_writer_init(ace_lmdb_environment *environment, ace_error **error);
void ace_lmdb_writer_destroy(ace_lmdb_environment *environment);
/* Ends the thread. False: it is held up, and will call ace_lmdb_environment_close() itself. */
bool ace_lmdb_writer_stop(ace_lmdb_environment *environment);
/* Takes it out of the registry, closes and frees it. */
void ace_lmdb_environment_close(ace_lmdb_environment *environment);

/* ACE_FORKED in a child. */
ace_code ace_lmdb_check_process(const ace_lmdb_environment *environment, ace_error **error);
/* Makes the map larger, or takes over what another process made of it: no reader of ours is inside
 * meanwhile. ACE_STORE_FULL at the limit; ACE_STORE where the environment is the caller's. */
ace_code ace_lmdb_grow(ace_lmdb_environment *environment, ace_error **error);
ace_code ace_lmdb_follow(ace_lmdb_environment *environment, ace_error **error);

#endif
