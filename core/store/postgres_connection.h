/*
 * Statements on a PostgreSQL server: a few connections, made when they are needed and made again
 * after a loss, shared by any threads. Parameters are always sent apart from the statement.
 *
 * Every call ends at its deadline (monotonic, the system's clock), but for the look-up of the
 * host's name, which is libpq's. The server ends a statement by itself after the statement timeout,
 * and one that waits for a lock likewise. In a child after a fork each call answers ACE_FORKED, and
 * closing only closes the child's copies of the sockets.
 */
#ifndef ACE_STORE_POSTGRES_CONNECTION_H
#define ACE_STORE_POSTGRES_CONNECTION_H

#include "base/error.h"
#include "store/postgres_library.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_POSTGRES_CONNECTIONS       4
#define ACE_POSTGRES_CONNECTIONS_MAX   64
#define ACE_POSTGRES_STATEMENT_TIMEOUT INT64_C(10000)

typedef struct ace_postgres ace_postgres;

typedef struct ace_postgres_options {
    const char *url;           /* postgresql://… or postgres://…; copied, never shown */
    unsigned connections;      /* at most at once; 0: ACE_POSTGRES_CONNECTIONS */
    int64_t statement_timeout; /* ms, on the server; 0: ACE_POSTGRES_STATEMENT_TIMEOUT */
} ace_postgres_options;

/* Connects once, to know that it can. ACE_UNSUPPORTED (no libpq), ACE_INVALID_ARGUMENT (the URL),
 * ACE_UNREACHABLE, ACE_LOGIN_REFUSED, ACE_NOT_FOUND (no such database), ACE_TIMEOUT,
 * ACE_OUT_OF_MEMORY. */
ace_code ace_postgres_open(const ace_postgres_options *options, int64_t deadline,
                           ace_postgres **postgres, ace_error **error);
void ace_postgres_close(ace_postgres *postgres); /* when nobody is inside; NULL is fine */

/* What a statement answered, to be given back with ace_postgres_answer_free(). */
typedef struct ace_postgres_answer {
    const ace_postgres_library *library;
    struct pg_result *result;
    int rows;
    int columns;
    int64_t affected; /* rows inserted, changed or deleted */
} ace_postgres_answer;

const char *ace_postgres_value(const ace_postgres_answer *answer, int row,
                               int column); /* borrowed; NULL for SQL's NULL */
int64_t ace_postgres_number(const ace_postgres_answer *answer, int row,
                            int column); /* 0 where it does not read */
void ace_postgres_answer_free(ace_postgres_answer *answer);

/* One statement, in a transaction of its own, with `count` parameters as text (NULL: SQL's NULL).
 * `repeatable`: running it twice does no harm, so after a loss of the connection it is repeated
 * while there is time; otherwise a loss is ACE_CONNECTION_LOST, and it may or may not have
 * happened. ACE_TIMEOUT (likewise, when it was the deadline; the server's own limit undoes it),
 * ACE_UNREACHABLE (not sent), ACE_LOGIN_REFUSED, ACE_NOT_FOUND (no such table), ACE_ACCESS_REFUSED,
 * ACE_STORE_FULL, ACE_STORE (anything else the server says), ACE_FORKED, ACE_OUT_OF_MEMORY.
 * `answer` may be NULL. */
ace_code ace_postgres_run(ace_postgres *postgres, const char *statement, const char *const *values,
                          int count, bool repeatable, int64_t deadline, ace_postgres_answer *answer,
                          ace_error **error);

/* The same on a connection of the caller's own, in whatever transaction it has open there; it
 * blocks as long as the connection does. */
ace_code ace_postgres_run_on(struct pg_conn *connection, const char *statement,
                             const char *const *values, int count, ace_postgres_answer *answer,
                             ace_error **error);

/* ACE_INVALID_ARGUMENT unless it matches [A-Za-z_][A-Za-z0-9_]{0,62}. */
ace_code ace_store_table_name_check(const char *field, const char *name, ace_error **error);
bool ace_postgres_is_url(const char *text); /* starts with postgresql:// or postgres:// */

#endif
