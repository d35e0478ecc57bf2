/*
 * libpq, loaded when a PostgreSQL store is first used: whoever uses none needs none. Its types are
 * only named here, and its numbers are those of its own header, which have not changed since 8.4.
 */
#ifndef ACE_STORE_POSTGRES_LIBRARY_H
#define ACE_STORE_POSTGRES_LIBRARY_H

#include "base/error.h"

#include <stdbool.h>

struct pg_conn;           /* PGconn */
struct pg_result;         /* PGresult */
struct _PQconninfoOption; /* PQconninfoOption */

enum { /* ConnStatusType */
       ACE_PG_CONNECTION_OK = 0,
       ACE_PG_CONNECTION_BAD = 1,
};
enum { /* PostgresPollingStatusType */
       ACE_PG_POLLING_FAILED = 0,
       ACE_PG_POLLING_READING = 1,
       ACE_PG_POLLING_WRITING = 2,
       ACE_PG_POLLING_OK = 3,
};
enum { /* ExecStatusType */
       ACE_PG_COMMAND_OK = 1,
       ACE_PG_TUPLES_OK = 2,
};
enum { /* PGTransactionStatusType */
       ACE_PG_IDLE = 0,
       ACE_PG_ACTIVE = 1,
       ACE_PG_IN_TRANSACTION = 2,
       ACE_PG_IN_ERROR = 3,
};
enum { /* fields of an error, for result_error_field() */
       ACE_PG_DIAG_SQLSTATE = 'C',
       ACE_PG_DIAG_MESSAGE = 'M',
};

/* PQ…, by the same names in our spelling. */
typedef struct ace_postgres_library {
    struct pg_conn *(*connect_start)(const char *const *keywords, const char *const *values,
                                     int expand_dbname);
    int (*connect_poll)(struct pg_conn *connection);
    int (*status)(const struct pg_conn *connection);
    int (*transaction_status)(const struct pg_conn *connection);
    const char *(*parameter_status)(const struct pg_conn *connection, const char *name);
    char *(*error_message)(const struct pg_conn *connection);
    int (*socket)(const struct pg_conn *connection);
    void (*finish)(struct pg_conn *connection);
    int (*set_nonblocking)(struct pg_conn *connection, int on);
    int (*send_query)(struct pg_conn *connection, const char *statement, int count,
                      const unsigned *types, const char *const *values, const int *lengths,
                      const int *formats, int result_format);
    struct pg_result *(*query)(struct pg_conn *connection, const char *statement, int count,
                               const unsigned *types, const char *const *values, const int *lengths,
                               const int *formats, int result_format);
    int (*flush)(struct pg_conn *connection);
    int (*consume_input)(struct pg_conn *connection);
    int (*is_busy)(struct pg_conn *connection);
    struct pg_result *(*get_result)(struct pg_conn *connection);
    int (*result_status)(const struct pg_result *result);
    char *(*result_error_field)(const struct pg_result *result, int field);
    char *(*affected)(struct pg_result *result);
    int (*rows)(const struct pg_result *result);
    int (*columns)(const struct pg_result *result);
    char *(*value)(const struct pg_result *result, int row, int column);
    int (*value_is_null)(const struct pg_result *result, int row, int column);
    void (*clear)(struct pg_result *result);
    struct _PQconninfoOption *(*parse)(const char *text, char **message);
    void (*parse_free)(struct _PQconninfoOption *options);
    void (*free_memory)(void *memory);
    void *(*set_notice_processor)(struct pg_conn *connection,
                                  void (*processor)(void *user, const char *message), void *user);
} ace_postgres_library;

/* The library, loaded at the first call; static. NULL: there is none on this machine, or a part is
 * missing; ACE_UNSUPPORTED says which. Any thread. */
const ace_postgres_library *ace_postgres_library_get(ace_error **error);
bool ace_postgres_library_present(void);

#endif
