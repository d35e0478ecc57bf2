/* One connection to PostgreSQL: making it, and one statement on it. */
#ifndef ACE_STORE_POSTGRES_EXCHANGE_H
#define ACE_STORE_POSTGRES_EXCHANGE_H

#include "store/postgres_connection.h"

typedef struct ace_postgres_statement {
    const char *text;
    const char *const *values;
    int count;
} ace_postgres_statement;

/* ACE_UNREACHABLE, ACE_CONNECTION_LOST (in the middle), ACE_LOGIN_REFUSED, ACE_NOT_FOUND,
 * ACE_TIMEOUT, ACE_OUT_OF_MEMORY. */
ace_code ace_postgres_connect(const ace_postgres_library *library, const char *url,
                              int64_t statement_timeout, int64_t deadline,
                              struct pg_conn **connection, ace_error **error);

/* `spoiled`: the connection is of no further use. */
ace_code ace_postgres_exchange(const ace_postgres_library *library, struct pg_conn *connection,
                               const ace_postgres_statement *statement, int64_t deadline,
                               ace_postgres_answer *answer, bool *spoiled, ace_error **error);

#endif
