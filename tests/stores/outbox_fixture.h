/* One outbox of each kind, for tests that run against all of them. */
#ifndef ACEMQ_TESTS_OUTBOX_FIXTURE_H
#define ACEMQ_TESTS_OUTBOX_FIXTURE_H

#include "base/buffer.h"
#include "store/outbox.h"
#include "store/postgres_schema.h"
#include "support/postgres.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY, LMDB, POSTGRES, KINDS };

#define PATIENCE INT64_C(30000)

typedef struct fixture {
    int kind;
    ace_outbox *outbox;
    char folder[64];
    char table[64];
} fixture;

static inline int64_t after(int64_t milliseconds)
{
    return ace_clock_monotonic(ace_clock_system()) + milliseconds;
}

static inline void make_table(const char *name)
{
    ace_buffer text = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_postgres_schema_append(&text, &ace_postgres_outbox, name, NULL), ACE_OK);
    char *statements = ace_buffer_take_text(&text);
    ck_assert_ptr_nonnull(statements);
    /* One statement at a time: parameters are sent apart. */
    char *second = strstr(statements, "CREATE INDEX");
    char first[2000];
    snprintf(first, sizeof first, "%.*s", (int)(second - statements), statements);
    postgres_must(first);
    postgres_must(second);
    free(statements);
}

static inline void open_with(fixture *self, int kind, ace_outbox_options options)
{
    *self = (fixture){.kind = kind};
    ace_error *error = NULL;
    ace_code code = ACE_OK;
    if (kind == MEMORY) {
        code = ace_outbox_open_memory(&options, &self->outbox, &error);
    } else if (kind == LMDB) {
        strcpy(self->folder, "/tmp/acemq-outbox-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(self->folder));
        code = ace_outbox_open_lmdb(self->folder, &options, after(PATIENCE), &self->outbox, &error);
    } else {
        snprintf(self->table, sizeof self->table, "%s", postgres_table());
        make_table(self->table);
        options.name = self->table;
        code = ace_outbox_open_postgres(postgres_url(), &options, after(PATIENCE), &self->outbox,
                                        &error);
    }
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "" : ace_error_message(error));
}

static inline void open_outbox(fixture *self, int kind)
{
    open_with(self, kind, (ace_outbox_options){.attempts = 3});
}

static inline void close_outbox(fixture *self)
{
    ace_outbox_free(self->outbox);
    if (self->folder[0] != '\0') {
        char path[100];
        snprintf(path, sizeof path, "%s/data.mdb", self->folder);
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/lock.mdb", self->folder);
        (void)unlink(path);
        (void)rmdir(self->folder);
    }
}

static inline ace_outbox_record record_of(const char *id, int64_t created)
{
    return (ace_outbox_record){.id = ace_bytes_of(id),
                               .exchange = ace_bytes_of("e"),
                               .routing_key = ace_bytes_of("k"),
                               .content_type = ace_bytes_of("text/plain"),
                               .headers = ace_bytes_of("{}"),
                               .body = ace_bytes_of(id),
                               .created = created};
}

static inline void add(fixture *self, const char *id, int64_t created)
{
    ace_error *error = NULL;
    ace_outbox_record record = record_of(id, created);
    ace_code code = ace_outbox_add(self->outbox, &record, NULL, after(PATIENCE), &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "" : ace_error_message(error));
}

/* The ids, joined by commas. */
static inline const char *ids_of(const ace_outbox_rows *rows)
{
    static char text[4000];
    text[0] = '\0';
    for (size_t i = 0; i < rows->count; i++) {
        strcat(text, i == 0 ? "" : ",");
        strncat(text, (const char *)rows->rows[i].record.id.data, 100);
    }
    return text;
}

static inline ace_outbox_rows lease(fixture *self, const char *owner, int64_t time, size_t most)
{
    ace_outbox_rows rows = ACE_OUTBOX_ROWS_INIT;
    ace_error *error = NULL;
    ace_code code =
        ace_outbox_lease(self->outbox, owner, time, most, after(PATIENCE), &rows, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "" : ace_error_message(error));
    return rows;
}

static inline void leases(fixture *self, const char *owner, const char *expected)
{
    ace_outbox_rows rows = lease(self, owner, 60000, 100);
    ck_assert_str_eq(ids_of(&rows), expected);
    ace_outbox_rows_free(&rows);
}

static inline void lists(fixture *self, ace_outbox_list which, const char *expected)
{
    ace_outbox_rows rows = ACE_OUTBOX_ROWS_INIT;
    ck_assert_int_eq(ace_outbox_list_rows(self->outbox, which, 100, after(PATIENCE), &rows, NULL),
                     ACE_OK);
    ck_assert_str_eq(ids_of(&rows), expected);
    ace_outbox_rows_free(&rows);
}

static inline void settle(fixture *self, const char *owner, const ace_outbox_rows *rows,
                          ace_outbox_result result)
{
    ace_outbox_verdict verdicts[100];
    for (size_t i = 0; i < rows->count; i++) {
        verdicts[i] = (ace_outbox_verdict){&rows->rows[i], result, "no queue took it", 0};
    }
    ck_assert_int_eq(
        ace_outbox_settle(self->outbox, owner, verdicts, rows->count, after(PATIENCE), NULL),
        ACE_OK);
}

/* Leases all there is, and says the same of each. */
static inline void lease_and_settle(fixture *self, ace_outbox_result result)
{
    ace_outbox_rows rows = lease(self, "someone", 60000, 100);
    settle(self, "someone", &rows, result);
    ace_outbox_rows_free(&rows);
}

static inline ace_outbox_counts count(fixture *self)
{
    ace_outbox_counts counts;
    ck_assert_int_eq(ace_outbox_count(self->outbox, after(PATIENCE), &counts, NULL), ACE_OK);
    return counts;
}

#endif
