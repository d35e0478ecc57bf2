#include "store/postgres_schema.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 64

static const ace_postgres_column idempotency_columns[] = {
    {"message_id", "character varying(255)", "VARCHAR(255) PRIMARY KEY", true},
    {"state", "character varying(16)", "VARCHAR(16) NOT NULL", true},
    {"claimed_by", "character varying(64)", "VARCHAR(64)", false},
    {"recorded_at", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE NOT NULL", true},
    {"expires_at", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE NOT NULL", true},
};

static const ace_postgres_column outbox_columns[] = {
    {"id", "character varying(64)", "VARCHAR(64) PRIMARY KEY", true},
    {"exchange_name", "character varying(255)", "VARCHAR(255) NOT NULL", true},
    {"routing_key", "character varying(255)", "VARCHAR(255) NOT NULL", true},
    {"content_type", "character varying(255)", "VARCHAR(255) NOT NULL", true},
    {"body", "text", "TEXT NOT NULL", true},
    {"body_encoding", "character varying(16)", "VARCHAR(16) NOT NULL", true},
    {"headers", "text", "TEXT NOT NULL", true},
    {"created_at", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE NOT NULL", true},
    {"published_at", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE", false},
    {"attempts", "integer", "INTEGER NOT NULL DEFAULT 0", true},
    {"last_error", "character varying(1000)", "VARCHAR(1000)", false},
    {"locked_by", "character varying(64)", "VARCHAR(64)", false},
    {"locked_until", "timestamp with time zone", "TIMESTAMP WITH TIME ZONE", false},
};

const ace_postgres_table ace_postgres_idempotency = {
    idempotency_columns, sizeof idempotency_columns / sizeof idempotency_columns[0], "expiry",
    "expires_at"};
const ace_postgres_table ace_postgres_outbox = {outbox_columns,
                                                sizeof outbox_columns / sizeof outbox_columns[0],
                                                "pending", "published_at, created_at"};

ace_code ace_postgres_schema_append(ace_buffer *text, const ace_postgres_table *table,
                                    const char *name, ace_error **error)
{
    ace_code code = ace_store_table_name_check("table", name, error);
    if (code != ACE_OK) {
        return code;
    }
    bool good = ace_buffer_format(text, "CREATE TABLE IF NOT EXISTS %s (\n", name);
    for (int i = 0; good && i < table->count; i++) {
        good = ace_buffer_format(text, "    %s %s%s\n", table->columns[i].name,
                                 table->columns[i].declared, i + 1 < table->count ? "," : "");
    }
    char index[2 * NAME_SIZE];
    int kept = (int)(NAME_SIZE - 2 - strlen(table->index));
    (void)snprintf(index, sizeof index, "%.*s_%s", kept, name, table->index);
    good = good && ace_buffer_format(text, ");\nCREATE INDEX IF NOT EXISTS %s ON %s (%s);\n", index,
                                     name, table->index_of);
    return good ? ACE_OK : ace_fail_memory(error);
}

/* --- what is there --- */

static ace_code differs(const char *table, const char *column, const char *ours, const char *theirs,
                        ace_error **error)
{
    ace_code code = ace_fail(error, ACE_DIFFERS, "table %s: column %s is %s, it must be %s", table,
                             column, theirs, ours);
    ace_error_field(error, column, 0);
    return code;
}

enum { NAME, TYPE, REQUIRED, HAS_DEFAULT, IS_KEY };

static int find_row(const ace_postgres_answer *found, const char *column)
{
    for (int row = 0; row < found->rows; row++) {
        if (strcmp(ace_postgres_value(found, row, NAME), column) == 0) {
            return row;
        }
    }
    return -1;
}

static bool is_true(const ace_postgres_answer *found, int row, int column)
{
    const char *value = ace_postgres_value(found, row, column);
    return value != NULL && value[0] == 't';
}

static bool is_ours(const ace_postgres_table *table, const char *column)
{
    for (int i = 0; i < table->count; i++) {
        if (strcmp(table->columns[i].name, column) == 0) {
            return true;
        }
    }
    return false;
}

static ace_code compare_column(const ace_postgres_answer *found, const ace_postgres_column *column,
                               bool is_key, const char *name, ace_error **error)
{
    int row = find_row(found, column->name);
    if (row < 0) {
        return differs(name, column->name, column->type, "missing", error);
    }
    const char *type = ace_postgres_value(found, row, TYPE);
    if (strcmp(type, column->type) != 0) {
        return differs(name, column->name, column->type, type, error);
    }
    bool required = is_true(found, row, REQUIRED);
    if (required && !column->required && !is_true(found, row, HAS_DEFAULT)) {
        return differs(name, column->name, "NULL", "NOT NULL", error);
    }
    if (is_key && !is_true(found, row, IS_KEY)) {
        return differs(name, column->name, "the primary key", "not the primary key", error);
    }
    return ACE_OK;
}

static ace_code compare(const ace_postgres_answer *found, const ace_postgres_table *table,
                        const char *name, ace_error **error)
{
    ace_code code = ACE_OK;
    for (int i = 0; code == ACE_OK && i < table->count; i++) {
        code = compare_column(found, &table->columns[i], i == 0, name, error);
    }
    for (int row = 0; code == ACE_OK && row < found->rows; row++) {
        const char *column = ace_postgres_value(found, row, NAME);
        if (!is_ours(table, column) && is_true(found, row, REQUIRED) &&
            !is_true(found, row, HAS_DEFAULT)) {
            code = differs(name, column, "absent, or have a default", "NOT NULL", error);
        }
    }
    return code;
}

/* Unquoted names fold to lower case, which to_regclass() does as well. */
ace_code ace_postgres_schema_check(ace_postgres *postgres, const ace_postgres_table *table,
                                   const char *name, int64_t deadline, ace_error **error)
{
    ace_code code = ace_store_table_name_check("table", name, error);
    if (code != ACE_OK) {
        return code;
    }
    const char *values[] = {name};
    ace_postgres_answer found = {0};
    code = ace_postgres_run(
        postgres,
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef OR "
        "a.attidentity <> '', EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND "
        "i.indisunique AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum) "
        "FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT "
        "a.attisdropped ORDER BY a.attnum",
        values, 1, true, deadline, &found, error);
    if (code != ACE_OK) {
        return code;
    }
    if (found.rows == 0) {
        code = ace_fail(error, ACE_NOT_FOUND,
                        "table %s does not exist; `acemq schema postgres` prints the statements "
                        "that make it",
                        name);
        ace_error_field(error, "table", 0);
    } else {
        code = compare(&found, table, name, error);
    }
    ace_postgres_answer_free(&found);
    return code;
}
