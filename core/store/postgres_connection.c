#include "store/postgres_connection.h"

#include "base/clock.h"
#include "base/handle.h"
#include "base/thread.h"
#include "store/postgres_exchange.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACK_OFF_FIRST INT64_C(100)
#define BACK_OFF_MAX   INT64_C(5000)

typedef struct slot {
    struct pg_conn *connection; /* NULL: none */
    bool busy;
} slot;

struct ace_postgres {
    ace_handle handle;
    const ace_postgres_library *library;
    char *url;
    int64_t statement_timeout;
    ace_mutex mutex; /* guards what follows */
    ace_condition free;
    unsigned count;
    slot slots[ACE_POSTGRES_CONNECTIONS_MAX];
    unsigned failures; /* attempts to connect, in a row */
    int64_t next_try;
};

static int64_t now(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

bool ace_postgres_is_url(const char *text)
{
    return strncmp(text, "postgresql://", 13) == 0 || strncmp(text, "postgres://", 11) == 0;
}

ace_code ace_store_table_name_check(const char *field, const char *name, ace_error **error)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length = strlen(name);
    if (length >= 1 && length <= 63 && strspn(name, letters) >= 1 && strspn(name, all) == length) {
        return ACE_OK;
    }
    ace_code code =
        ace_fail(error, ACE_INVALID_ARGUMENT,
                 "%s must be 1 to 63 of A-Z, a-z, 0-9 and _, and not start with a digit", field);
    ace_error_field(error, field, 63);
    return code;
}

/* --- connections --- */

static void discard(ace_postgres *postgres, slot *taken)
{
    if (taken->connection != NULL) {
        postgres->library->finish(taken->connection);
        taken->connection = NULL;
    }
}

/* A server that went away while nobody used the connection has closed it, which can be seen. */
static bool is_usable(const ace_postgres *postgres, const slot *taken)
{
    if (taken->connection == NULL) {
        return false;
    }
    struct pollfd watched = {.fd = postgres->library->socket(taken->connection), .events = POLLIN};
    if (watched.fd < 0) {
        return false;
    }
    if (poll(&watched, 1, 0) > 0 && postgres->library->consume_input(taken->connection) == 0) {
        return false;
    }
    return postgres->library->status(taken->connection) == ACE_PG_CONNECTION_OK &&
           postgres->library->transaction_status(taken->connection) == ACE_PG_IDLE;
}

static slot *find_free(ace_postgres *postgres)
{
    slot *unconnected = NULL;
    for (unsigned i = 0; i < postgres->count; i++) {
        slot *each = &postgres->slots[i];
        if (!each->busy && each->connection != NULL) {
            return each;
        }
        if (!each->busy && unconnected == NULL) {
            unconnected = each;
        }
    }
    return unconnected;
}

/* NULL: none became free by the deadline. */
static slot *take_slot(ace_postgres *postgres, int64_t deadline)
{
    ace_mutex_lock(&postgres->mutex);
    slot *taken;
    bool in_time = true;
    while ((taken = find_free(postgres)) == NULL && in_time) {
        in_time = ace_condition_wait_until(&postgres->free, &postgres->mutex, deadline);
    }
    if (taken != NULL) {
        taken->busy = true;
    }
    ace_mutex_unlock(&postgres->mutex);
    return taken;
}

static void give_slot(ace_postgres *postgres, slot *taken)
{
    ace_mutex_lock(&postgres->mutex);
    taken->busy = false;
    ace_condition_signal(&postgres->free);
    ace_mutex_unlock(&postgres->mutex);
}

/* After failures the server is left alone for a while. False: not before the deadline. */
static bool await_turn(ace_postgres *postgres, int64_t deadline)
{
    ace_mutex_lock(&postgres->mutex);
    int64_t turn = postgres->next_try;
    bool in_time = turn <= deadline;
    while (in_time && now() < turn) {
        (void)ace_condition_wait_until(&postgres->free, &postgres->mutex, turn);
    }
    ace_mutex_unlock(&postgres->mutex);
    return in_time;
}

static void note_attempt(ace_postgres *postgres, bool good)
{
    ace_mutex_lock(&postgres->mutex);
    if (good) {
        postgres->failures = 0;
        postgres->next_try = 0;
    } else {
        int64_t wait = BACK_OFF_FIRST;
        for (unsigned i = 0; i < postgres->failures && wait < BACK_OFF_MAX; i++) {
            wait *= 2;
        }
        postgres->failures++;
        postgres->next_try = now() + (wait < BACK_OFF_MAX ? wait : BACK_OFF_MAX);
    }
    ace_mutex_unlock(&postgres->mutex);
}

/* Once more and once more until the deadline, while it is only that the server is away. */
static ace_code connect_slot(ace_postgres *postgres, slot *taken, int64_t deadline,
                             ace_error **error)
{
    ace_error *last = NULL;
    for (;;) {
        if (!await_turn(postgres, deadline)) {
            return last != NULL ? ace_error_move(error, last)
                                : ace_fail(error, ACE_UNREACHABLE,
                                           "the PostgreSQL server was away a moment ago");
        }
        ace_error_free(last);
        last = NULL;
        ace_code code =
            ace_postgres_connect(postgres->library, postgres->url, postgres->statement_timeout,
                                 deadline, &taken->connection, &last);
        note_attempt(postgres, code == ACE_OK);
        if (code != ACE_UNREACHABLE && code != ACE_CONNECTION_LOST) {
            return code == ACE_OK ? ACE_OK : ace_error_move(error, last);
        }
    }
}

/* --- opening and closing --- */

static void free_postgres(ace_postgres *postgres)
{
    if (postgres->url != NULL) {
        explicit_bzero(postgres->url, strlen(postgres->url));
    }
    free(postgres->url);
    free(postgres);
}

static ace_code check_options(const ace_postgres_options *options,
                              const ace_postgres_library *library, ace_error **error)
{
    if (options->url == NULL || !ace_postgres_is_url(options->url)) {
        return ace_fail(error, ACE_INVALID_ARGUMENT,
                        "a PostgreSQL URL starts with postgresql:// or postgres://");
    }
    if (options->connections > ACE_POSTGRES_CONNECTIONS_MAX) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "connections is %u, the limit is %d",
                        options->connections, ACE_POSTGRES_CONNECTIONS_MAX);
    }
    /* What libpq says of a text that does not read may quote the password in it. */
    char *message = NULL;
    struct _PQconninfoOption *parsed = library->parse(options->url, &message);
    library->free_memory(message);
    if (parsed == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the PostgreSQL URL does not read");
    }
    library->parse_free(parsed);
    return ACE_OK;
}

static ace_code make(const ace_postgres_options *options, const ace_postgres_library *library,
                     ace_postgres **postgres, ace_error **error)
{
    ace_postgres *made = calloc(1, sizeof *made);
    if (made == NULL || (made->url = strdup(options->url)) == NULL) {
        free(made);
        return ace_fail_memory(error);
    }
    made->library = library;
    made->count = options->connections == 0 ? ACE_POSTGRES_CONNECTIONS : options->connections;
    made->statement_timeout = options->statement_timeout == 0 ? ACE_POSTGRES_STATEMENT_TIMEOUT
                                                              : options->statement_timeout;
    ace_handle_init(&made->handle, ACE_MAGIC('P', 'G', 'S', 'Q'));
    ace_code code = ace_mutex_init(&made->mutex, error);
    if (code != ACE_OK) {
        free_postgres(made);
        return code;
    }
    code = ace_condition_init(&made->free, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&made->mutex);
        free_postgres(made);
        return code;
    }
    *postgres = made;
    return ACE_OK;
}

ace_code ace_postgres_open(const ace_postgres_options *options, int64_t deadline,
                           ace_postgres **postgres, ace_error **error)
{
    const ace_postgres_library *library = ace_postgres_library_get(error);
    if (library == NULL) {
        return ACE_UNSUPPORTED;
    }
    ace_postgres *made = NULL;
    ace_code code = check_options(options, library, error);
    if (code == ACE_OK) {
        code = make(options, library, &made, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    code = connect_slot(made, &made->slots[0], deadline, error);
    if (code != ACE_OK) {
        ace_postgres_close(made);
        return code;
    }
    *postgres = made;
    return ACE_OK;
}

void ace_postgres_close(ace_postgres *postgres)
{
    if (postgres == NULL) {
        return;
    }
    bool foreign = ace_handle_is_foreign(&postgres->handle);
    for (unsigned i = 0; i < postgres->count; i++) {
        slot *each = &postgres->slots[i];
        if (foreign && each->connection != NULL) {
            /* A goodbye would end the parent's session. */
            int descriptor = postgres->library->socket(each->connection);
            if (descriptor >= 0) {
                (void)close(descriptor);
            }
        } else {
            discard(postgres, each);
        }
    }
    if (!foreign) {
        ace_condition_destroy(&postgres->free);
        ace_mutex_destroy(&postgres->mutex);
        free_postgres(postgres);
    }
}

/* --- statements --- */

static ace_code run_once(ace_postgres *postgres, const ace_postgres_statement *statement,
                         int64_t deadline, ace_postgres_answer *answer, ace_error **error)
{
    slot *taken = take_slot(postgres, deadline);
    if (taken == NULL) {
        return ace_fail(error, ACE_TIMEOUT, "all %u connections to PostgreSQL are in use",
                        postgres->count);
    }
    ace_code code = ACE_OK;
    if (!is_usable(postgres, taken)) {
        discard(postgres, taken);
        code = connect_slot(postgres, taken, deadline, error);
    }
    if (code == ACE_OK) {
        bool spoiled = false;
        code = ace_postgres_exchange(postgres->library, taken->connection, statement, deadline,
                                     answer, &spoiled, error);
        if (spoiled) {
            discard(postgres, taken);
        }
    }
    give_slot(postgres, taken);
    return code;
}

ace_code ace_postgres_run(ace_postgres *postgres, const char *statement, const char *const *values,
                          int count, bool repeatable, int64_t deadline, ace_postgres_answer *answer,
                          ace_error **error)
{
    if (ace_handle_is_foreign(&postgres->handle)) {
        return ace_fail(error, ACE_FORKED,
                        "the connection to PostgreSQL belongs to the parent process");
    }
    ace_postgres_statement given = {statement, values, count};
    for (;;) {
        ace_error *failed = NULL;
        ace_code code = run_once(postgres, &given, deadline, answer, &failed);
        if (code != ACE_CONNECTION_LOST || !repeatable || now() >= deadline) {
            return code == ACE_OK ? ACE_OK : ace_error_move(error, failed);
        }
        ace_error_free(failed);
    }
}
