/* The tables that are shared with the peers (sections 9 and 10 of the contract): the statements
 * that make them, which nobody runs but the user, and the check that a table is the one. */
#ifndef ACE_STORE_POSTGRES_SCHEMA_H
#define ACE_STORE_POSTGRES_SCHEMA_H

#include "base/buffer.h"
#include "store/postgres_connection.h"

#define ACE_IDEMPOTENCY_TABLE "acemq_idempotency"
#define ACE_OUTBOX_TABLE      "acemq_outbox"

typedef struct ace_postgres_column {
    const char *name;
    const char *type;     /* as format_type() writes it */
    const char *declared; /* as the statement writes it, with NULL, NOT NULL and DEFAULT */
    bool required;        /* NOT NULL */
} ace_postgres_column;

typedef struct ace_postgres_table {
    const ace_postgres_column *columns;
    int count;
    const char *index;    /* its name for the table's default name */
    const char *index_of; /* columns */
} ace_postgres_table;

extern const ace_postgres_table ace_postgres_idempotency; /* its key is the first column */
extern const ace_postgres_table ace_postgres_outbox;

/* Appends CREATE TABLE and CREATE INDEX, each "IF NOT EXISTS" and ended by ";\n". A table of
 * another name has an index `{name}_expiry` or `{name}_pending`, cut to 63 bytes.
 * ACE_INVALID_ARGUMENT (the name), ACE_OUT_OF_MEMORY. */
ace_code ace_postgres_schema_append(ace_buffer *text, const ace_postgres_table *table,
                                    const char *name, ace_error **error);

/* Looks at the table. ACE_NOT_FOUND: there is none, with the call that prints the statements;
 * ACE_DIFFERS: its first difference, column by column (more columns are fine as long as a row can
 * be written without them). Otherwise as ace_postgres_run(). */
ace_code ace_postgres_schema_check(ace_postgres *postgres, const ace_postgres_table *table,
                                   const char *name, int64_t deadline, ace_error **error);

#endif
