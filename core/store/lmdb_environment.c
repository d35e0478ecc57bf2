/* Opening, sharing and closing environments. */
#include "store/lmdb_environment.h"

#include "base/clock.h"
#include "store/lmdb_state.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CLOSING_WAIT INT64_C(10000) /* ms for an environment that is being closed to be gone */

/* One a process: what a child inherits is its parent's, whose lock may be held by a thread that the
 * child does not have. */
typedef struct registry {
    ace_handle handle;
    ace_mutex mutex;
    ace_condition gone; /* an environment was closed */
    ace_list environments;
    struct registry *parents; /* kept reachable, never touched */
} registry;

static _Atomic(registry *) current;

static registry *new_registry(registry *parents)
{
    registry *made = calloc(1, sizeof *made);
    if (made == NULL || ace_mutex_init(&made->mutex, NULL) != ACE_OK) {
        free(made);
        return NULL;
    }
    if (ace_condition_init(&made->gone, NULL) != ACE_OK) {
        ace_mutex_destroy(&made->mutex);
        free(made);
        return NULL;
    }
    ace_handle_init(&made->handle, ACE_MAGIC('L', 'M', 'D', 'B'));
    ace_list_init(&made->environments);
    made->parents = parents;
    return made;
}

static registry *find_registry(void) /* NULL: no memory */
{
    registry *found = atomic_load(&current);
    if (found != NULL && !ace_handle_is_foreign(&found->handle)) {
        return found;
    }
    registry *made = new_registry(found);
    if (made != NULL && !atomic_compare_exchange_strong(&current, &found, made)) {
        ace_condition_destroy(&made->gone);
        ace_mutex_destroy(&made->mutex);
        free(made);
        return found;
    }
    return made;
}

ace_code ace_lmdb_check_process(const ace_lmdb_environment *environment, ace_error **error)
{
    if (!ace_handle_is_foreign(&environment->handle)) {
        return ACE_OK;
    }
    return ace_fail(error, ACE_FORKED, "%s was opened by the parent of this process",
                    environment->path);
}

bool ace_lmdb_environment_is_foreign(const ace_lmdb_environment *environment)
{
    return ace_handle_is_foreign(&environment->handle);
}

static ace_code fail(const char *path, int result, const char *what, ace_error **error)
{
    ace_code code = ACE_STORE;
    if (result == MDB_MAP_FULL || result == ENOSPC || result == EDQUOT || result == EFBIG) {
        code = ACE_STORE_FULL;
    } else if (result > 0) {
        code = ace_fail_system(error, result, what);
        ace_error_prefix(error, "%s", path);
        return code;
    }
    return ace_fail(error, code, "%s: %s: %s", path, what, mdb_strerror(result));
}

ace_code ace_lmdb_fail(const ace_lmdb_environment *environment, int result, const char *what,
                       ace_error **error)
{
    return fail(environment->path, result, what, error);
}

/* --- making and closing --- */

static ace_lmdb_environment *find_open(registry *all, const struct stat *folder, const MDB_env *env)
{
    for (ace_link_node *node = ace_list_first(&all->environments); node != NULL;
         node = ace_list_next(&all->environments, node)) {
        ace_lmdb_environment *each = ACE_RECORD(node, ace_lmdb_environment, node);
        if (each->adopted ? each->env == env
                          : folder != NULL && each->device == folder->st_dev &&
                                each->inode == folder->st_ino) {
            return each;
        }
    }
    return NULL;
}

static ace_lmdb_environment *new_environment(const char *path, ace_error **error)
{
    ace_lmdb_environment *made = calloc(1, sizeof *made);
    if (made == NULL || (made->path = strdup(path)) == NULL) {
        free(made);
        (void)ace_fail_memory(error);
        return NULL;
    }
    if (ace_mutex_init(&made->mutex, error) != ACE_OK) {
        goto no_mutex;
    }
    if (ace_condition_init(&made->turn, error) != ACE_OK) {
        goto no_turn;
    }
    if (ace_lmdb_writer_init(made, error) != ACE_OK) {
        goto no_writer;
    }
    ace_handle_init(&made->handle, ACE_MAGIC('L', 'E', 'N', 'V'));
    return made;
no_writer:
    ace_condition_destroy(&made->turn);
no_turn:
    ace_mutex_destroy(&made->mutex);
no_mutex:
    free(made->path);
    free(made);
    return NULL;
}

static void free_environment(ace_lmdb_environment *environment)
{
    if (environment->env != NULL && !environment->adopted) {
        mdb_env_close(environment->env);
    }
    for (size_t i = 0; i < ACE_LMDB_DATABASES; i++) {
        free(environment->databases[i].name);
    }
    ace_lmdb_writer_destroy(environment);
    ace_condition_destroy(&environment->turn);
    ace_mutex_destroy(&environment->mutex);
    free(environment->path);
    free(environment);
}

static size_t first_size(uint64_t limit)
{
    return (size_t)(limit < ACE_LMDB_MAP_FIRST ? limit : ACE_LMDB_MAP_FIRST);
}

/* A killed process leaves its reader slot, and with it every page of what it was reading. */
static int open_env(ace_lmdb_environment *made, const char **what)
{
    int result = mdb_env_create(&made->env);
    *what = "making an environment";
    if (result != 0) {
        made->env = NULL;
        return result;
    }
    unsigned flags = MDB_NOTLS | (made->durability == ACE_LMDB_NOSYNC ? MDB_NOSYNC : 0);
    *what = "setting an environment up";
    if ((result = mdb_env_set_mapsize(made->env, first_size(made->map_limit))) != 0 ||
        (result = mdb_env_set_maxdbs(made->env, ACE_LMDB_DATABASES)) != 0 ||
        (result = mdb_env_set_maxreaders(made->env, ACE_LMDB_READERS)) != 0) {
        return result;
    }
    *what = "opening";
    if ((result = mdb_env_open(made->env, made->path, flags, 0666)) != 0) {
        return result;
    }
    int dead = 0;
    *what = "clearing the slots of dead readers";
    return mdb_reader_check(made->env, &dead);
}

static ace_code open_new(const ace_lmdb_options *options, const struct stat *folder,
                         ace_lmdb_environment **environment, ace_error **error)
{
    ace_lmdb_environment *made = new_environment(options->path, error);
    if (made == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    made->device = folder->st_dev;
    made->inode = folder->st_ino;
    made->durability = options->durability;
    made->map_limit = options->map_limit == 0 ? ACE_LMDB_MAP_LIMIT : options->map_limit;
    const char *what;
    int result = open_env(made, &what);
    if (result != 0) {
        ace_code code = fail(made->path, result, what, error);
        free_environment(made);
        return code;
    }
    *environment = made;
    return ACE_OK;
}

static ace_code share(ace_lmdb_environment *found, const ace_lmdb_options *options,
                      ace_error **error)
{
    if (found->durability != options->durability) {
        return ace_fail(error, ACE_DIFFERS,
                        "%s is open in this process with the durability \"%s\" already",
                        found->path, found->durability == ACE_LMDB_NOSYNC ? "nosync" : "durable");
    }
    ace_mutex_lock(&found->mutex);
    uint64_t limit = options->map_limit == 0 ? ACE_LMDB_MAP_LIMIT : options->map_limit;
    found->map_limit = limit > found->map_limit ? limit : found->map_limit;
    ace_mutex_unlock(&found->mutex);
    ace_handle_retain(&found->handle);
    return ACE_OK;
}

/* The one that is open and stays so; waits for one that is being closed. With the lock. */
static ace_code find_settled(registry *all, const struct stat *folder, const MDB_env *env,
                             ace_lmdb_environment **found, ace_error **error)
{
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + CLOSING_WAIT;
    while ((*found = find_open(all, folder, env)) != NULL && (*found)->closing) {
        if (!ace_condition_wait_until(&all->gone, &all->mutex, deadline)) {
            return ace_fail(error, ACE_TIMEOUT,
                            "%s is still being closed: a transaction of another process holds it",
                            (*found)->path);
        }
    }
    return ACE_OK;
}

static ace_code make_folder(const char *path, struct stat *folder, ace_error **error)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return fail(path, errno, "making the folder", error);
    }
    if (stat(path, folder) != 0) {
        return fail(path, errno, "looking at the folder", error);
    }
    return S_ISDIR(folder->st_mode) ? ACE_OK : fail(path, ENOTDIR, "opening", error);
}

static ace_code check_options(const ace_lmdb_options *options, ace_error **error)
{
    if (options->path == NULL || options->path[0] == '\0') {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the path of the LMDB folder is empty");
    }
    if (options->map_limit != 0 && options->map_limit < ACE_LMDB_MAP_LEAST) {
        ace_code code = ace_fail(
            error, ACE_INVALID_ARGUMENT, "map limit is %llu bytes, the least is %llu",
            (unsigned long long)options->map_limit, (unsigned long long)ACE_LMDB_MAP_LEAST);
        ace_error_field(error, "map limit", (long long)ACE_LMDB_MAP_LEAST);
        return code;
    }
    return ACE_OK;
}

ace_code ace_lmdb_environment_open(const ace_lmdb_options *options,
                                   ace_lmdb_environment **environment, ace_error **error)
{
    struct stat folder;
    registry *all = find_registry();
    if (all == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = check_options(options, error);
    if (code != ACE_OK || (code = make_folder(options->path, &folder, error)) != ACE_OK) {
        return code;
    }
    ace_lmdb_environment *found = NULL;
    ace_mutex_lock(&all->mutex);
    code = find_settled(all, &folder, NULL, &found, error);
    if (code == ACE_OK && found != NULL) {
        code = share(found, options, error);
    } else if (code == ACE_OK && (code = open_new(options, &folder, &found, error)) == ACE_OK) {
        ace_list_append(&all->environments, &found->node);
    }
    ace_mutex_unlock(&all->mutex);
    if (code == ACE_OK) {
        *environment = found;
    }
    return code;
}

ace_code ace_lmdb_environment_adopt(MDB_env *env, ace_lmdb_environment **environment,
                                    ace_error **error)
{
    registry *all = find_registry();
    if (all == NULL) {
        return ace_fail_memory(error);
    }
    const char *path = NULL;
    int result = mdb_env_get_path(env, &path);
    if (result != 0 || path == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the LMDB environment is not open");
    }
    ace_lmdb_environment *found = NULL;
    ace_mutex_lock(&all->mutex);
    ace_code code = find_settled(all, NULL, env, &found, error);
    if (code == ACE_OK && found != NULL) {
        ace_handle_retain(&found->handle);
    } else if (code == ACE_OK && (found = new_environment(path, error)) != NULL) {
        found->adopted = true;
        found->env = env;
        ace_list_append(&all->environments, &found->node);
    }
    ace_mutex_unlock(&all->mutex);
    if (code != ACE_OK || found == NULL) {
        return code == ACE_OK ? ACE_OUT_OF_MEMORY : code;
    }
    *environment = found;
    return ACE_OK;
}

ace_lmdb_environment *ace_lmdb_environment_keep(ace_lmdb_environment *environment)
{
    ace_handle_retain(&environment->handle);
    return environment;
}

void ace_lmdb_environment_close(ace_lmdb_environment *environment)
{
    registry *all = find_registry(); /* it exists, since the environment is in it */
    ace_mutex_lock(&all->mutex);
    ace_list_remove(&all->environments, &environment->node);
    free_environment(environment);
    ace_condition_broadcast(&all->gone);
    ace_mutex_unlock(&all->mutex);
}

void ace_lmdb_environment_release(ace_lmdb_environment *environment)
{
    if (environment == NULL || ace_lmdb_environment_is_foreign(environment)) {
        return;
    }
    registry *all = find_registry();
    ace_mutex_lock(&all->mutex);
    bool last = ace_handle_release(&environment->handle);
    environment->closing = last;
    ace_mutex_unlock(&all->mutex);
    if (last && ace_lmdb_writer_stop(environment)) {
        ace_lmdb_environment_close(environment);
    }
}

MDB_env *ace_lmdb_environment_handle(const ace_lmdb_environment *environment)
{
    return environment->env;
}

const char *ace_lmdb_environment_path(const ace_lmdb_environment *environment)
{
    return environment->path;
}
