#include "store/postgres_exchange.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what went wrong --- */

static bool is_class(const char *state, const char *start)
{
    return strncmp(state, start, strlen(start)) == 0;
}

/* Of an SQLSTATE; ACE_STORE for what has no code of its own. */
static ace_code code_of(const char *state)
{
    static const struct {
        const char *start;
        ace_code code;
    } classes[] = {
        {"08", ACE_CONNECTION_LOST}, {"57P", ACE_CONNECTION_LOST}, /* the server is stopping */
        {"57014", ACE_TIMEOUT},                                    /* the statement timeout */
        {"55P03", ACE_TIMEOUT},                                    /* the lock timeout */
        {"531", ACE_STORE_FULL},     {"28", ACE_LOGIN_REFUSED},     {"3D", ACE_NOT_FOUND},
        {"42P01", ACE_NOT_FOUND},    {"42501", ACE_ACCESS_REFUSED},
    };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (is_class(state, classes[i].start)) {
            return classes[i].code;
        }
    }
    return ACE_STORE;
}

static ace_code fail_result(const ace_postgres_library *library, const struct pg_result *result,
                            ace_error **error)
{
    const char *state = library->result_error_field(result, ACE_PG_DIAG_SQLSTATE);
    const char *text = library->result_error_field(result, ACE_PG_DIAG_MESSAGE);
    if (state == NULL) { /* libpq's own: the connection ended */
        return ace_fail(error, ACE_CONNECTION_LOST, "the connection to PostgreSQL was lost");
    }
    return ace_fail(error, code_of(state), "PostgreSQL: %s (%s)", text == NULL ? "" : text, state);
}

/* libpq's texts of a connection name host, port and user, and end in a newline. */
static ace_code fail_connection(const ace_postgres_library *library,
                                const struct pg_conn *connection, ace_code code, ace_error **error)
{
    const char *text = library->error_message(connection);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    return ace_fail(error, code, "PostgreSQL: %.*s", (int)length, text);
}

/* The server refuses with a FATAL whose state libpq does not hand out: only its text tells. */
static ace_code fail_connecting(const ace_postgres_library *library,
                                const struct pg_conn *connection, ace_error **error)
{
    const char *text = library->error_message(connection);
    ace_code code = ACE_UNREACHABLE;
    if (strstr(text, "authentication failed") != NULL || strstr(text, "no password") != NULL ||
        strstr(text, "pg_hba.conf") != NULL ||
        (strstr(text, "role \"") != NULL && strstr(text, "does not exist") != NULL)) {
        code = ACE_LOGIN_REFUSED;
    } else if (strstr(text, "database \"") != NULL && strstr(text, "does not exist") != NULL) {
        code = ACE_NOT_FOUND;
    }
    return fail_connection(library, connection, code, error);
}

static ace_code too_late(ace_error **error)
{
    return ace_fail(error, ACE_TIMEOUT, "PostgreSQL did not answer in time");
}

/* --- waiting --- */

/* ACE_TIMEOUT at the deadline. */
static ace_code await(const ace_postgres_library *library, const struct pg_conn *connection,
                      short events, int64_t deadline, ace_error **error)
{
    struct pollfd watched = {.fd = library->socket(connection), .events = events};
    for (;;) {
        int ready = poll(&watched, 1, ace_clock_poll_timeout(ace_clock_system(), deadline));
        if (ready > 0) {
            return ACE_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return ace_fail_system(error, errno, "poll");
        }
        if (ace_clock_monotonic(ace_clock_system()) >= deadline) {
            return too_late(error);
        }
    }
}

/* --- connecting --- */

static void ignore_notice(void *user, const char *message)
{
    (void)user;
    (void)message; /* libpq would print it */
}

static ace_code poll_connecting(const ace_postgres_library *library, struct pg_conn *connection,
                                int64_t deadline, ace_error **error)
{
    int waits_for = ACE_PG_POLLING_WRITING;
    for (;;) {
        short events = waits_for == ACE_PG_POLLING_READING ? POLLIN : POLLOUT;
        ace_code code = await(library, connection, events, deadline, error);
        if (code != ACE_OK) {
            return code;
        }
        waits_for = library->connect_poll(connection);
        if (waits_for == ACE_PG_POLLING_OK) {
            return ACE_OK;
        }
        if (waits_for == ACE_PG_POLLING_FAILED) {
            return fail_connecting(library, connection, error);
        }
    }
}

static ace_code set_up(const ace_postgres_library *library, struct pg_conn *connection,
                       int64_t statement_timeout, int64_t deadline, ace_error **error)
{
    if (library->set_nonblocking(connection, 1) != 0) {
        return fail_connection(library, connection, ACE_UNREACHABLE, error);
    }
    char timeout[32];
    (void)snprintf(timeout, sizeof timeout, "%lld", (long long)statement_timeout);
    const char *values[] = {timeout};
    ace_postgres_statement statement = {
        "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $1, false), "
        "set_config('default_transaction_isolation', 'read committed', false)",
        values, 1};
    bool spoiled;
    return ace_postgres_exchange(library, connection, &statement, deadline, NULL, &spoiled, error);
}

ace_code ace_postgres_connect(const ace_postgres_library *library, const char *url,
                              int64_t statement_timeout, int64_t deadline,
                              struct pg_conn **connection, ace_error **error)
{
    static const char *const keywords[] = {"dbname", "client_encoding", "fallback_application_name",
                                           NULL};
    const char *values[] = {url, "UTF8", "acemq", NULL};
    struct pg_conn *made = library->connect_start(keywords, values, 1);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    (void)library->set_notice_processor(made, ignore_notice, NULL);
    ace_code code = library->status(made) == ACE_PG_CONNECTION_BAD
                        ? fail_connecting(library, made, error)
                        : poll_connecting(library, made, deadline, error);
    if (code == ACE_OK) {
        code = set_up(library, made, statement_timeout, deadline, error);
    }
    if (code != ACE_OK) {
        library->finish(made);
        return code;
    }
    *connection = made;
    return ACE_OK;
}

/* --- a statement --- */

static ace_code send_all(const ace_postgres_library *library, struct pg_conn *connection,
                         int64_t deadline, ace_error **error)
{
    int left;
    while ((left = library->flush(connection)) == 1) {
        ace_code code = await(library, connection, POLLIN | POLLOUT, deadline, error);
        if (code != ACE_OK) {
            return code;
        }
        if (library->consume_input(connection) == 0) {
            return fail_connection(library, connection, ACE_CONNECTION_LOST, error);
        }
    }
    return left == 0 ? ACE_OK : fail_connection(library, connection, ACE_CONNECTION_LOST, error);
}

static ace_code receive(const ace_postgres_library *library, struct pg_conn *connection,
                        int64_t deadline, struct pg_result **result, ace_error **error)
{
    *result = NULL;
    for (;;) {
        while (library->is_busy(connection) != 0) {
            ace_code code = await(library, connection, POLLIN, deadline, error);
            if (code != ACE_OK) {
                return code;
            }
            if (library->consume_input(connection) == 0) {
                return fail_connection(library, connection, ACE_CONNECTION_LOST, error);
            }
        }
        struct pg_result *next = library->get_result(connection);
        if (next == NULL) {
            return ACE_OK;
        }
        if (*result != NULL) {
            library->clear(*result);
        }
        *result = next; /* the last one counts */
    }
}

/* Takes the result over. */
static ace_code read_result(const ace_postgres_library *library, struct pg_result *result,
                            ace_postgres_answer *answer, ace_error **error)
{
    int status = library->result_status(result);
    if (status != ACE_PG_COMMAND_OK && status != ACE_PG_TUPLES_OK) {
        ace_code code = fail_result(library, result, error);
        library->clear(result);
        return code;
    }
    if (answer == NULL) {
        library->clear(result);
        return ACE_OK;
    }
    *answer = (ace_postgres_answer){
        .library = library,
        .result = result,
        .rows = library->rows(result),
        .columns = library->columns(result),
        .affected = strtoll(library->affected(result), NULL, 10),
    };
    return ACE_OK;
}

ace_code ace_postgres_exchange(const ace_postgres_library *library, struct pg_conn *connection,
                               const ace_postgres_statement *statement, int64_t deadline,
                               ace_postgres_answer *answer, bool *spoiled, ace_error **error)
{
    *spoiled = true;
    if (library->send_query(connection, statement->text, statement->count, NULL, statement->values,
                            NULL, NULL, 0) == 0) {
        return fail_connection(library, connection, ACE_CONNECTION_LOST, error);
    }
    struct pg_result *result = NULL;
    ace_code code = send_all(library, connection, deadline, error);
    if (code == ACE_OK) {
        code = receive(library, connection, deadline, &result, error);
    }
    if (code != ACE_OK || result == NULL) {
        if (result != NULL) {
            library->clear(result);
        }
        return code != ACE_OK ? code
                              : ace_fail(error, ACE_CONNECTION_LOST,
                                         "PostgreSQL answered nothing to a statement");
    }
    code = read_result(library, result, answer, error);
    *spoiled = code == ACE_CONNECTION_LOST || library->status(connection) != ACE_PG_CONNECTION_OK;
    return code;
}

ace_code ace_postgres_run_on(struct pg_conn *connection, const char *statement,
                             const char *const *values, int count, ace_postgres_answer *answer,
                             ace_error **error)
{
    const ace_postgres_library *library = ace_postgres_library_get(error);
    if (library == NULL) {
        return ACE_UNSUPPORTED;
    }
    struct pg_result *result =
        library->query(connection, statement, count, NULL, values, NULL, NULL, 0);
    if (result == NULL) {
        return fail_connection(library, connection, ACE_CONNECTION_LOST, error);
    }
    return read_result(library, result, answer, error);
}

/* --- an answer --- */

const char *ace_postgres_value(const ace_postgres_answer *answer, int row, int column)
{
    return answer->library->value_is_null(answer->result, row, column) != 0
               ? NULL
               : answer->library->value(answer->result, row, column);
}

int64_t ace_postgres_number(const ace_postgres_answer *answer, int row, int column)
{
    const char *text = ace_postgres_value(answer, row, column);
    return text == NULL ? 0 : strtoll(text, NULL, 10);
}

void ace_postgres_answer_free(ace_postgres_answer *answer)
{
    if (answer->result != NULL) {
        answer->library->clear(answer->result);
        answer->result = NULL;
    }
}
