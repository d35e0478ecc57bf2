/* What is done in an open environment: reading, finding databases, growing. */
#include "store/lmdb_environment.h"

#include "store/lmdb_state.h"

#include <stdlib.h>
#include <string.h>

/* --- the map's size --- */

static void begin_alone(ace_lmdb_environment *environment)
{
    ace_mutex_lock(&environment->mutex);
    while (environment->resizing) {
        ace_condition_wait(&environment->turn, &environment->mutex);
    }
    environment->resizing = true;
    while (environment->readers > 0) {
        ace_condition_wait(&environment->turn, &environment->mutex);
    }
}

static void end_alone(ace_lmdb_environment *environment)
{
    environment->resizing = false;
    ace_condition_broadcast(&environment->turn);
    ace_mutex_unlock(&environment->mutex);
}

static ace_code set_size(ace_lmdb_environment *environment, size_t size, ace_error **error)
{
    int result = mdb_env_set_mapsize(environment->env, size);
    return result == 0 ? ACE_OK : ace_lmdb_fail(environment, result, "growing the map", error);
}

static ace_code full(const ace_lmdb_environment *environment, uint64_t size, ace_error **error)
{
    ace_code code = ace_fail(error, ACE_STORE_FULL, "%s is full: its map has %llu bytes%s",
                             environment->path, (unsigned long long)size,
                             environment->adopted ? ", and whoever opened it decides on more"
                                                  : ", which is the limit");
    ace_error_field(error, "map limit", (long long)size);
    return code;
}

ace_code ace_lmdb_grow(ace_lmdb_environment *environment, ace_error **error)
{
    begin_alone(environment);
    MDB_envinfo info;
    int result = mdb_env_info(environment->env, &info);
    uint64_t size = info.me_mapsize;
    ace_code code;
    if (result != 0) {
        code = ace_lmdb_fail(environment, result, "reading the map's size", error);
    } else if (environment->adopted || size >= environment->map_limit) {
        code = full(environment, size, error);
    } else {
        bool doubles = size <= environment->map_limit / 2;
        code = set_size(environment, (size_t)(doubles ? size * 2 : environment->map_limit), error);
    }
    end_alone(environment);
    return code;
}

ace_code ace_lmdb_follow(ace_lmdb_environment *environment, ace_error **error)
{
    if (environment->adopted) {
        return ace_fail(error, ACE_STORE,
                        "%s: another process made the map larger; whoever opened it must follow",
                        environment->path);
    }
    begin_alone(environment);
    ace_code code = set_size(environment, 0, error);
    end_alone(environment);
    return code;
}

/* --- reading --- */

static int begin_reading(ace_lmdb_environment *environment, MDB_txn **transaction)
{
    int result = mdb_txn_begin(environment->env, NULL, MDB_RDONLY, transaction);
    if (result == MDB_READERS_FULL) {
        int dead = 0;
        if (mdb_reader_check(environment->env, &dead) == 0 && dead > 0) {
            result = mdb_txn_begin(environment->env, NULL, MDB_RDONLY, transaction);
        }
    }
    return result;
}

static void enter(ace_lmdb_environment *environment)
{
    ace_mutex_lock(&environment->mutex);
    while (environment->resizing) {
        ace_condition_wait(&environment->turn, &environment->mutex);
    }
    environment->readers++;
    ace_mutex_unlock(&environment->mutex);
}

static void leave(ace_lmdb_environment *environment)
{
    ace_mutex_lock(&environment->mutex);
    environment->readers--;
    if (environment->readers == 0) {
        ace_condition_broadcast(&environment->turn);
    }
    ace_mutex_unlock(&environment->mutex);
}

ace_code ace_lmdb_read_begin(ace_lmdb_environment *environment, MDB_txn **transaction,
                             ace_error **error)
{
    ace_code code = ace_lmdb_check_process(environment, error);
    while (code == ACE_OK) {
        enter(environment);
        int result = begin_reading(environment, transaction);
        if (result == 0) {
            return ACE_OK;
        }
        leave(environment);
        code = result == MDB_MAP_RESIZED
                   ? ace_lmdb_follow(environment, error)
                   : ace_lmdb_fail(environment, result, "beginning to read", error);
    }
    return code;
}

void ace_lmdb_read_end(ace_lmdb_environment *environment, MDB_txn *transaction)
{
    mdb_txn_abort(transaction);
    leave(environment);
}

/* --- databases --- */

typedef struct opening {
    ace_lmdb_operation operation;
    const char *name; /* the record's own copy follows it */
    unsigned flags;
    MDB_dbi handle;
} opening;

static int run_opening(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    opening *made = ACE_RECORD(operation, opening, operation);
    return mdb_dbi_open(transaction, made->name, made->flags, &made->handle);
}

static void destroy_opening(ace_lmdb_operation *operation)
{
    free(ACE_RECORD(operation, opening, operation));
}

static bool find_database(ace_lmdb_environment *environment, const char *name, MDB_dbi *database)
{
    bool found = false;
    ace_mutex_lock(&environment->mutex);
    for (size_t i = 0; i < ACE_LMDB_DATABASES && !found; i++) {
        const ace_lmdb_database *each = &environment->databases[i];
        if (each->name != NULL && strcmp(each->name, name) == 0) {
            *database = each->handle;
            found = true;
        }
    }
    ace_mutex_unlock(&environment->mutex);
    return found;
}

/* Without a place, or without memory, it is opened again next time, which gives the same handle. */
static void remember_database(ace_lmdb_environment *environment, const char *name, MDB_dbi database)
{
    ace_mutex_lock(&environment->mutex);
    for (size_t i = 0; i < ACE_LMDB_DATABASES; i++) {
        ace_lmdb_database *each = &environment->databases[i];
        if (each->name == NULL) {
            each->handle = database;
            each->name = strdup(name);
            break;
        }
        if (strcmp(each->name, name) == 0) {
            break;
        }
    }
    ace_mutex_unlock(&environment->mutex);
}

ace_code ace_lmdb_environment_database(ace_lmdb_environment *environment, const char *name,
                                       unsigned flags, int64_t deadline, MDB_dbi *database,
                                       ace_error **error)
{
    ace_code code = ace_lmdb_check_process(environment, error);
    if (code != ACE_OK || find_database(environment, name, database)) {
        return code;
    }
    size_t length = strlen(name) + 1;
    opening *made = calloc(1, sizeof *made + length);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    char *copy = (char *)(made + 1);
    memcpy(copy, name, length);
    made->name = copy;
    made->flags = flags;
    made->operation.run = run_opening;
    made->operation.destroy = destroy_opening;
    code = ace_lmdb_write(environment, &made->operation, deadline, error);
    if (code == ACE_OK) {
        *database = made->handle;
        remember_database(environment, name, made->handle);
    }
    ace_lmdb_operation_release(environment, &made->operation);
    return code;
}

/* --- the caller's own transactions --- */

static _Thread_local struct {
    const MDB_env *env;
    size_t id;
} noted;

void ace_lmdb_note_transaction(MDB_txn *transaction)
{
    noted.env = mdb_txn_env(transaction);
    noted.id = mdb_txn_id(transaction);
}

bool ace_lmdb_thread_writes(const ace_lmdb_environment *environment)
{
    MDB_envinfo info;
    return noted.env == environment->env && mdb_env_info(environment->env, &info) == 0 &&
           info.me_last_txnid < noted.id;
}
