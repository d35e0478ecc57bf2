#include "store/lmdb_writer.h"

#include "base/clock.h"
#include "store/lmdb_state.h"

#define STOP_WAIT INT64_C(5000) /* ms for a transaction that is held up elsewhere */
#define OWN_LOCK_WAIT                                                                              \
    INT64_C(200) /* ms until a writer that cannot begin is held up by its caller */

enum stage {
    STAGE_NEW,
    STAGE_QUEUED,
    STAGE_RUNNING, /* in a transaction that was begun */
    STAGE_DONE,
};

ace_code ace_lmdb_writer_init(ace_lmdb_environment *environment, ace_error **error)
{
    ace_lmdb_writer *writer = &environment->writer;
    ace_list_init(&writer->queue);
    ace_code code = ace_condition_init(&writer->work, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_condition_init(&writer->ended, error);
    if (code != ACE_OK) {
        ace_condition_destroy(&writer->work);
    }
    return code;
}

void ace_lmdb_writer_destroy(ace_lmdb_environment *environment)
{
    ace_condition_destroy(&environment->writer.ended);
    ace_condition_destroy(&environment->writer.work);
}

/* --- operations --- */

static ace_lmdb_operation *operation_of(ace_link_node *node)
{
    return ACE_RECORD(node, ace_lmdb_operation, node);
}

/* With the lock. */
static bool unreference(ace_lmdb_operation *operation)
{
    operation->references--;
    return operation->references == 0;
}

static void destroy(ace_lmdb_operation *operation)
{
    ace_error_free(operation->error);
    operation->destroy(operation);
}

void ace_lmdb_operation_release(ace_lmdb_environment *environment, ace_lmdb_operation *operation)
{
    if (operation->stage == STAGE_NEW || ace_lmdb_environment_is_foreign(environment)) {
        destroy(operation);
        return;
    }
    ace_mutex_lock(&environment->mutex);
    bool last = unreference(operation);
    ace_mutex_unlock(&environment->mutex);
    if (last) {
        destroy(operation);
    }
}

/* Tells the callers of all of them; those that left leave their record to us. */
static void complete(ace_lmdb_environment *environment, ace_list *batch, ace_code code,
                     const ace_error *error, ace_list *late)
{
    ace_list left;
    ace_list_init(&left);
    ace_mutex_lock(&environment->mutex);
    ace_link_node *node;
    while ((node = ace_list_take_first(batch)) != NULL) {
        ace_lmdb_operation *operation = operation_of(node);
        operation->stage = STAGE_DONE;
        operation->code = code;
        operation->error = ace_error_copy(error);
        if (operation->wait != NULL) {
            ace_condition_signal(operation->wait);
        }
        if (operation->abandoned && code == ACE_OK && operation->late != NULL && late != NULL) {
            ace_list_append(late, node);
        } else if (unreference(operation)) {
            ace_list_append(&left, node);
        }
    }
    ace_mutex_unlock(&environment->mutex);
    while ((node = ace_list_take_first(&left)) != NULL) {
        destroy(operation_of(node));
    }
}

/* --- the transaction --- */

static ace_code begin(ace_lmdb_environment *environment, MDB_txn **transaction, ace_error **error)
{
    for (;;) {
        int result = mdb_txn_begin(environment->env, NULL, 0, transaction);
        if (result == 0) {
            return ACE_OK;
        }
        if (result != MDB_MAP_RESIZED) {
            return ace_lmdb_fail(environment, result, "beginning to write", error);
        }
        ace_code code = ace_lmdb_follow(environment, error);
        if (code != ACE_OK) {
            return code;
        }
    }
}

/* All of the batch in the transaction, which has ended afterwards. */
static int run_all(ace_lmdb_environment *environment, ace_list *batch, MDB_txn *transaction,
                   bool undoing)
{
    int result = 0;
    for (ace_link_node *node = ace_list_first(batch); node != NULL && result == 0;
         node = ace_list_next(batch, node)) {
        ace_lmdb_operation *operation = operation_of(node);
        result = undoing ? operation->late(operation, transaction)
                         : operation->run(operation, transaction);
    }
    if (result != 0) {
        mdb_txn_abort(transaction);
        return result;
    }
    result = mdb_txn_commit(transaction);
    if (result == 0) {
        ace_mutex_lock(&environment->mutex);
        environment->writer.commits++;
        environment->writer.operations += undoing ? 0 : batch->count;
        ace_mutex_unlock(&environment->mutex);
    }
    return result;
}

/* Repeats the batch while the map can grow. `transaction` may be NULL: then it begins one. */
static ace_code commit(ace_lmdb_environment *environment, ace_list *batch, MDB_txn *transaction,
                       bool undoing, ace_error **error)
{
    for (;;) {
        ace_code code = transaction == NULL ? begin(environment, &transaction, error) : ACE_OK;
        if (code != ACE_OK) {
            return code;
        }
        int result = run_all(environment, batch, transaction, undoing);
        transaction = NULL;
        if (result == 0) {
            return ACE_OK;
        }
        if (result != MDB_MAP_FULL) {
            return ace_lmdb_fail(environment, result, "writing", error);
        }
        code = ace_lmdb_grow(environment, error);
        if (code != ACE_OK) {
            return code;
        }
    }
}

static void undo(ace_lmdb_environment *environment, ace_list *late)
{
    if (ace_list_empty(late)) {
        return;
    }
    /* What cannot be undone ends with its lease. */
    (void)commit(environment, late, NULL, true, NULL);
    complete(environment, late, ACE_OK, NULL, NULL);
}

/* Where all of them do not fit, some may: those that only change what is there, or take away. */
static void commit_one_by_one(ace_lmdb_environment *environment, ace_list *batch, ace_list *late)
{
    ace_link_node *node;
    while ((node = ace_list_take_first(batch)) != NULL) {
        ace_list one;
        ace_list_init(&one);
        ace_list_append(&one, node);
        ace_error *error = NULL;
        ace_code code = commit(environment, &one, NULL, false, &error);
        complete(environment, &one, code, error, late);
        ace_error_free(error);
    }
}

/* Begins first and takes then: what came while it waited for its turn goes along, and whose caller
 * left meanwhile never happens. */
static void write_queue(ace_lmdb_environment *environment)
{
    ace_list batch;
    ace_list late;
    ace_list_init(&batch);
    ace_list_init(&late);
    MDB_txn *transaction = NULL;
    ace_error *error = NULL;
    ace_code code = begin(environment, &transaction, &error);
    ace_mutex_lock(&environment->mutex);
    ace_list_splice(&batch, &environment->writer.queue);
    for (ace_link_node *node = ace_list_first(&batch); node != NULL;
         node = ace_list_next(&batch, node)) {
        operation_of(node)->stage = STAGE_RUNNING;
    }
    ace_mutex_unlock(&environment->mutex);
    if (code == ACE_OK && ace_list_empty(&batch)) {
        mdb_txn_abort(transaction);
        return;
    }
    if (code == ACE_OK) {
        code = commit(environment, &batch, transaction, false, &error);
    }
    if (code == ACE_STORE_FULL && batch.count > 1) {
        commit_one_by_one(environment, &batch, &late);
    } else {
        complete(environment, &batch, code, error, &late);
    }
    ace_error_free(error);
    undo(environment, &late);
}

static bool await_work(ace_lmdb_environment *environment)
{
    ace_lmdb_writer *writer = &environment->writer;
    ace_mutex_lock(&environment->mutex);
    while (ace_list_empty(&writer->queue) && !writer->stopping) {
        ace_condition_wait(&writer->work, &environment->mutex);
    }
    bool goes_on = !ace_list_empty(&writer->queue);
    ace_mutex_unlock(&environment->mutex);
    return goes_on;
}

static void write_until_stopped(void *user)
{
    ace_lmdb_environment *environment = user;
    while (await_work(environment)) {
        write_queue(environment);
    }
    ace_mutex_lock(&environment->mutex);
    environment->writer.has_ended = true;
    bool closes = environment->writer.closes;
    ace_condition_broadcast(&environment->writer.ended);
    ace_mutex_unlock(&environment->mutex);
    if (closes) {
        ace_lmdb_environment_close(environment);
    }
}

bool ace_lmdb_writer_stop(ace_lmdb_environment *environment)
{
    ace_lmdb_writer *writer = &environment->writer;
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + STOP_WAIT;
    ace_mutex_lock(&environment->mutex);
    bool runs = writer->thread.started;
    writer->stopping = true;
    ace_condition_broadcast(&writer->work);
    while (runs && !writer->has_ended &&
           ace_condition_wait_until(&writer->ended, &environment->mutex, deadline)) {
    }
    writer->closes = runs && !writer->has_ended;
    bool closes = writer->closes;
    if (closes) {
        (void)pthread_detach(writer->thread.id);
    }
    ace_mutex_unlock(&environment->mutex);
    if (runs && !closes) {
        ace_thread_join(&writer->thread);
    }
    return !closes;
}

/* --- its callers --- */

static ace_code enqueue(ace_lmdb_environment *environment, ace_lmdb_operation *operation,
                        ace_error **error)
{
    ace_lmdb_writer *writer = &environment->writer;
    if (!writer->thread.started) {
        ace_code code = ace_thread_start(&writer->thread, "acemq-lmdb", write_until_stopped,
                                         environment, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    operation->references = 2;
    operation->stage = STAGE_QUEUED;
    ace_list_append(&writer->queue, &operation->node);
    if (writer->queue.count == 1) {
        ace_condition_signal(&writer->work);
    }
    return ACE_OK;
}

/* The caller goes without an answer. */
static ace_code leave(ace_lmdb_environment *environment, ace_lmdb_operation *operation, bool own,
                      ace_error **error)
{
    operation->wait = NULL;
    if (operation->stage == STAGE_QUEUED) {
        ace_list_remove(&environment->writer.queue, &operation->node);
        operation->references--;
    } else {
        operation->abandoned = true;
    }
    if (own) {
        return ace_fail(error, ACE_STATE,
                        "%s: this thread has a write transaction open there, which would wait for "
                        "itself: end it first",
                        environment->path);
    }
    return ace_fail(error, ACE_TIMEOUT, "%s: writing took too long: another transaction %s",
                    environment->path, operation->abandoned ? "is being committed" : "holds it");
}

static ace_code await(ace_lmdb_environment *environment, ace_lmdb_operation *operation,
                      int64_t deadline, ace_condition *done, ace_error **error)
{
    bool suspect = ace_lmdb_thread_writes(environment);
    int64_t soon = ace_clock_monotonic(ace_clock_system()) + OWN_LOCK_WAIT;
    while (operation->stage != STAGE_DONE) {
        bool early = suspect && operation->stage == STAGE_QUEUED && soon < deadline;
        if (ace_condition_wait_until(done, &environment->mutex, early ? soon : deadline) ||
            operation->stage == STAGE_DONE) {
            continue;
        }
        if (!early || operation->stage == STAGE_QUEUED) {
            return leave(environment, operation, early, error);
        }
    }
    operation->wait = NULL;
    ace_error *copy = ace_error_copy(operation->error);
    return operation->code == ACE_OK ? ACE_OK : ace_error_move(error, copy);
}

ace_code ace_lmdb_write(ace_lmdb_environment *environment, ace_lmdb_operation *operation,
                        int64_t deadline, ace_error **error)
{
    operation->stage = STAGE_NEW;
    ace_code code = ace_lmdb_check_process(environment, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_condition done;
    code = ace_condition_init(&done, error);
    if (code != ACE_OK) {
        return code;
    }
    operation->wait = &done;
    ace_mutex_lock(&environment->mutex);
    code = enqueue(environment, operation, error);
    if (code == ACE_OK) {
        code = await(environment, operation, deadline, &done, error);
    }
    ace_mutex_unlock(&environment->mutex);
    ace_condition_destroy(&done);
    return code;
}

void ace_lmdb_writer_count(const ace_lmdb_environment *environment, uint64_t *commits,
                           uint64_t *operations)
{
    ace_lmdb_environment *locked = (ace_lmdb_environment *)environment;
    ace_mutex_lock(&locked->mutex);
    *commits = environment->writer.commits;
    *operations = environment->writer.operations;
    ace_mutex_unlock(&locked->mutex);
}
