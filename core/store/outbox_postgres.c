/* The outbox in PostgreSQL, in the table that the peers know. Leases go by the server's time. */
#include "store/outbox_state.h"
#include "store/outbox_statement.h"
#include "store/postgres_connection.h"
#include "store/postgres_schema.h"

#include "contract/base64.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 24

typedef struct postgres_outbox {
    ace_outbox outbox;
    ace_postgres *postgres;
} postgres_outbox;

typedef char number_text[NUMBER_SIZE];

/* Read back in this order. A table may hold times that are infinite, or beyond what a number of
 * microseconds reaches. */
#define ROW                                                                                        \
    "id, exchange_name, routing_key, content_type, body, body_encoding, headers, "                 \
    "(extract(epoch FROM CASE WHEN created_at > '-infinity' AND created_at < '10000-01-01 "        \
    "00:00:00Z' THEN created_at ELSE now() END) * 1000000)::bigint, attempts, "                    \
    "coalesce(last_error, ''), coalesce(locked_by, ''), CASE WHEN "                                \
    "isfinite(locked_until) THEN (extract(epoch FROM locked_until) * 1000)::bigint WHEN "          \
    "locked_until > now() THEN 9223372036854775807 ELSE 0 END"
#define ORDERED " ORDER BY created_at, id COLLATE \"C\""

static postgres_outbox *of(ace_outbox *outbox)
{
    return ACE_RECORD(outbox, postgres_outbox, outbox);
}

static const char *number(number_text text, int64_t value)
{
    (void)snprintf(text, NUMBER_SIZE, "%" PRId64, value);
    return text;
}

/* The name was checked when the outbox was opened. */
static ace_code run(ace_outbox *outbox, const char *format, const char *const *values, int count,
                    int64_t deadline, ace_postgres_answer *answer, ace_error **error)
{
    ace_buffer statement = ACE_BUFFER_INIT;
    const char *place = strstr(format, "{table}");
    bool good = true;
    while (good && place != NULL) {
        good = ace_buffer_append(&statement, format, (size_t)(place - format)) &&
               ace_buffer_append_text(&statement, outbox->name);
        format = place + strlen("{table}");
        place = strstr(format, "{table}");
    }
    good = good && ace_buffer_append_text(&statement, format);
    char *text = good ? ace_buffer_take_text(&statement) : NULL;
    ace_buffer_free(&statement);
    if (text == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code =
        ace_postgres_run(of(outbox)->postgres, text, values, count, true, deadline, answer, error);
    free(text);
    return code;
}

/* --- adding --- */

/* What leaves the caller's connection is ours: text in UTF-8, which its server would take for that
 * of another encoding and turn into something else. */
static ace_code check_encoding(const struct pg_conn *connection, ace_error **error)
{
    const ace_postgres_library *library = ace_postgres_library_get(error);
    if (library == NULL) {
        return ACE_UNSUPPORTED;
    }
    const char *encoding = library->parameter_status(connection, "client_encoding");
    if (encoding == NULL || strcmp(encoding, "UTF8") == 0 || strcmp(encoding, "SQL_ASCII") == 0) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT,
                             "the connection's client_encoding is %s, it must be UTF8", encoding);
    ace_error_field(error, "connection", 0);
    return code;
}

static ace_code add_on(struct pg_conn *connection, const char *statement, const char *const *values,
                       ace_postgres_answer *answer, ace_error **error)
{
    ace_code code = check_encoding(connection, error);
    return code == ACE_OK ? ace_postgres_run_on(connection, statement, values,
                                                ACE_OUTBOX_PARAMETERS, answer, error)
                          : code;
}

static ace_code add(ace_outbox *outbox, const ace_outbox_record *record, void *transaction,
                    int64_t deadline, ace_error **error)
{
    ace_outbox_statement statement;
    ace_code code = ace_outbox_statement_make(outbox->name, ACE_PLACEHOLDER_DOLLAR, true, record,
                                              &statement, error);
    if (code != ACE_OK) {
        return code;
    }
    const char *values[ACE_OUTBOX_PARAMETERS];
    for (int i = 0; i < ACE_OUTBOX_PARAMETERS; i++) {
        values[i] = statement.values[i];
    }
    ace_postgres_answer answer = {0};
    code = transaction == NULL
               ? ace_postgres_run(of(outbox)->postgres, statement.text, values,
                                  ACE_OUTBOX_PARAMETERS, false, deadline, &answer, error)
               : add_on(transaction, statement.text, values, &answer, error);
    if (code == ACE_OK && answer.affected == 0) {
        code = ace_outbox_fail_known(record, error);
    }
    if (code == ACE_OK || answer.result != NULL) {
        ace_postgres_answer_free(&answer);
    }
    ace_outbox_statement_clear(&statement);
    return code;
}

/* --- reading --- */

static ace_bytes value(const ace_postgres_answer *answer, int row, int column)
{
    return ace_bytes_of(ace_postgres_value(answer, row, column));
}

/* What does not read stays as it stands, and is the row's fault. */
static ace_code read_body(ace_outbox_row *row, ace_bytes encoding, ace_buffer *decoded,
                          ace_error **error)
{
    if (ace_bytes_equal_text(encoding, "utf-8")) {
        return ACE_OK;
    }
    if (!ace_bytes_equal_text(encoding, "base64")) {
        row->fault = "body_encoding is neither utf-8 nor base64";
        return ACE_OK;
    }
    if (!ace_buffer_reserve(decoded, row->record.body.length)) {
        return ace_fail_memory(error);
    }
    if (ace_base64_decode(row->record.body, decoded)) {
        row->record.body = (ace_bytes){decoded->data, decoded->length};
    } else {
        row->fault = "body is not the base64 that body_encoding says it is";
    }
    return ACE_OK;
}

static ace_code read_row(const ace_postgres_answer *answer, int at, ace_outbox_rows *rows,
                         ace_error **error)
{
    ace_buffer decoded = ACE_BUFFER_INIT;
    ace_outbox_row row = {.record = {.id = value(answer, at, 0),
                                     .exchange = value(answer, at, 1),
                                     .routing_key = value(answer, at, 2),
                                     .content_type = value(answer, at, 3),
                                     .body = value(answer, at, 4),
                                     .headers = value(answer, at, 6),
                                     .created = ace_postgres_number(answer, at, 7)},
                          .attempts = (int32_t)ace_postgres_number(answer, at, 8),
                          .last_error = value(answer, at, 9),
                          .locked_by = value(answer, at, 10),
                          .locked_until = ace_postgres_number(answer, at, 11)};
    ace_code code = read_body(&row, value(answer, at, 5), &decoded, error);
    if (code == ACE_OK && !ace_outbox_rows_add(rows, &row)) {
        code = ace_fail_memory(error);
    }
    ace_buffer_free(&decoded);
    return code;
}

static ace_code read_rows(ace_postgres_answer *answer, ace_outbox_rows *rows, ace_error **error)
{
    ace_code code = ACE_OK;
    for (int i = 0; i < answer->rows && code == ACE_OK; i++) {
        code = read_row(answer, i, rows, error);
    }
    ace_postgres_answer_free(answer);
    return code;
}

static ace_code lease(ace_outbox *outbox, const char *owner, int64_t time, size_t most,
                      int64_t deadline, ace_outbox_rows *rows, ace_error **error)
{
    number_text attempts;
    number_text milliseconds;
    number_text limit;
    const char *values[] = {owner, number(attempts, outbox->attempts), number(milliseconds, time),
                            number(limit, (int64_t)most)};
    ace_postgres_answer answer = {0};
    ace_code code = run(outbox,
                        "WITH chosen AS (SELECT id FROM {table} WHERE published_at IS NULL AND "
                        "attempts < $2::int AND (locked_until IS NULL OR locked_until <= now() OR "
                        "locked_by = $1)" ORDERED " LIMIT $4::bigint FOR UPDATE SKIP LOCKED), "
                        "leased AS (UPDATE {table} o SET locked_by = $1, locked_until = now() + "
                        "$3::bigint * interval '1 millisecond' FROM chosen WHERE o.id = chosen.id "
                        "RETURNING o.*) SELECT " ROW " FROM leased" ORDERED,
                        values, 4, deadline, &answer, error);
    return code == ACE_OK ? read_rows(&answer, rows, error) : code;
}

static ace_code list(ace_outbox *outbox, ace_outbox_list which, size_t most, int64_t deadline,
                     ace_outbox_rows *rows, ace_error **error)
{
    number_text attempts;
    number_text limit;
    const char *values[] = {number(attempts, outbox->attempts),
                            number(limit, most > INT32_MAX ? INT32_MAX : (int64_t)most)};
    ace_postgres_answer answer = {0};
    ace_code code = run(outbox,
                        which == ACE_OUTBOX_PENDING
                            ? "SELECT " ROW " FROM {table} WHERE published_at IS NULL AND attempts "
                              "< $1::int" ORDERED " LIMIT $2::bigint"
                            : "SELECT " ROW " FROM {table} WHERE published_at IS NULL AND attempts "
                              ">= $1::int" ORDERED " LIMIT $2::bigint",
                        values, 2, deadline, &answer, error);
    return code == ACE_OK ? read_rows(&answer, rows, error) : code;
}

static ace_code count_rows(ace_outbox *outbox, int64_t deadline, ace_outbox_counts *counts,
                           ace_error **error)
{
    number_text attempts;
    const char *values[] = {number(attempts, outbox->attempts)};
    ace_postgres_answer answer = {0};
    ace_code code =
        run(outbox,
            "SELECT count(*) FILTER (WHERE published_at IS NULL AND attempts < $1::int), count(*) "
            "FILTER (WHERE published_at IS NULL AND attempts >= $1::int), count(published_at), "
            "coalesce(greatest(0, extract(epoch FROM now() - min(created_at) FILTER (WHERE "
            "published_at IS NULL AND attempts < $1::int AND isfinite(created_at))) * "
            "1000)::bigint, 0) FROM {table}",
            values, 1, deadline, &answer, error);
    if (code == ACE_OK) {
        counts->pending = (uint64_t)ace_postgres_number(&answer, 0, 0);
        counts->retired = (uint64_t)ace_postgres_number(&answer, 0, 1);
        counts->published = (uint64_t)ace_postgres_number(&answer, 0, 2);
        counts->oldest_age = ace_postgres_number(&answer, 0, 3);
        ace_postgres_answer_free(&answer);
    }
    return code;
}

/* --- changing --- */

static ace_code change(ace_outbox *outbox, const char *statement, const char *const *values,
                       int count, int64_t deadline, uint64_t *changed, ace_error **error)
{
    ace_postgres_answer answer = {0};
    ace_code code = run(outbox, statement, values, count, deadline, &answer, error);
    if (code == ACE_OK) {
        *changed = (uint64_t)answer.affected;
        ace_postgres_answer_free(&answer);
    }
    return code;
}

/* Appends an element to an array's text: {"a","b"}. */
static bool append_element(ace_buffer *array, ace_bytes text)
{
    bool good = ace_buffer_append_text(array, array->length == 0 ? "{\"" : ",\"");
    for (size_t i = 0; good && i < text.length; i++) {
        bool quoted = text.data[i] == '"' || text.data[i] == '\\';
        good = (!quoted || ace_buffer_append(array, "\\", 1)) &&
               ace_buffer_append(array, text.data + i, 1);
    }
    return good && ace_buffer_append(array, "\"", 1);
}

/* The parameters of the statement below. */
enum { PUBLISHED_IDS, GIVEN_BACK_IDS, OWNER, FAILED_IDS, REASONS, RESTS, SETTLE_PARAMETERS };

static bool append_verdict(ace_buffer arrays[SETTLE_PARAMETERS], const ace_outbox_verdict *verdict)
{
    ace_bytes id = verdict->row->record.id;
    number_text rest;
    switch (verdict->result) {
    case ACE_OUTBOX_PUBLISHED:
        return append_element(&arrays[PUBLISHED_IDS], id);
    case ACE_OUTBOX_GIVEN_BACK:
        return append_element(&arrays[GIVEN_BACK_IDS], id);
    case ACE_OUTBOX_FAILED:
        break;
    }
    return append_element(&arrays[FAILED_IDS], id) &&
           append_element(&arrays[REASONS], ace_outbox_cut_reason(verdict->reason)) &&
           append_element(&arrays[RESTS], ace_bytes_of(number(rest, verdict->rest)));
}

/* One statement, and so one transaction. No row is in two of its three parts. */
static const char settling[] =
    "WITH published AS (UPDATE {table} SET published_at = now(), locked_by = NULL, locked_until = "
    "NULL WHERE id = ANY($1::text[]) AND published_at IS NULL), "
    "given_back AS (UPDATE {table} SET locked_by = NULL, locked_until = NULL WHERE id = "
    "ANY($2::text[]) AND published_at IS NULL AND locked_by = $3) "
    "UPDATE {table} o SET attempts = o.attempts + 1, last_error = failed.reason, locked_by = NULL, "
    "locked_until = CASE WHEN failed.rest > 0 THEN now() + failed.rest * interval '1 millisecond' "
    "END FROM unnest($4::text[], $5::text[], $6::bigint[]) AS failed(id, reason, rest) WHERE o.id "
    "= failed.id AND o.published_at IS NULL AND o.locked_by = $3";

static ace_code settle(ace_outbox *outbox, const char *owner, const ace_outbox_verdict *verdicts,
                       size_t count, int64_t deadline, ace_error **error)
{
    ace_buffer arrays[SETTLE_PARAMETERS] = {ACE_BUFFER_INIT};
    const char *values[SETTLE_PARAMETERS] = {NULL};
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = append_verdict(arrays, &verdicts[i]);
    }
    for (int i = 0; good && i < SETTLE_PARAMETERS; i++) {
        good = ace_buffer_append(&arrays[i], arrays[i].length == 0 ? "{}" : "}",
                                 arrays[i].length == 0 ? 3 : 2); /* and the NUL */
        values[i] = (const char *)arrays[i].data;
    }
    values[OWNER] = owner;
    uint64_t changed;
    ace_code code =
        good ? change(outbox, settling, values, SETTLE_PARAMETERS, deadline, &changed, error)
             : ace_fail_memory(error);
    for (int i = 0; i < SETTLE_PARAMETERS; i++) {
        ace_buffer_free(&arrays[i]);
    }
    return code;
}

static ace_code release(ace_outbox *outbox, const char *id, int64_t deadline, uint64_t *released,
                        ace_error **error)
{
    number_text attempts;
    const char *values[] = {number(attempts, outbox->attempts), id};
    return change(outbox,
                  "UPDATE {table} SET attempts = 0, locked_by = NULL, locked_until = NULL WHERE "
                  "published_at IS NULL AND attempts >= $1::int AND ($2::text IS NULL OR id = "
                  "$2::text)",
                  values, 2, deadline, released, error);
}

static ace_code purge(ace_outbox *outbox, int64_t age, int64_t deadline, uint64_t *purged,
                      ace_error **error)
{
    number_text milliseconds;
    const char *values[] = {number(milliseconds, age)};
    return change(outbox,
                  "DELETE FROM {table} WHERE published_at <= now() - $1::bigint * interval '1 "
                  "millisecond'",
                  values, 1, deadline, purged, error);
}

static void destroy(ace_outbox *outbox)
{
    ace_postgres_close(of(outbox)->postgres);
    ace_outbox_deinit(outbox);
    free(of(outbox));
}

static const ace_outbox_calls calls = {
    .add = add,
    .lease = lease,
    .settle = settle,
    .list = list,
    .count = count_rows,
    .release = release,
    .purge = purge,
    .destroy = destroy,
};

ace_code ace_outbox_open_postgres(const char *url, const ace_outbox_options *options,
                                  int64_t deadline, ace_outbox **outbox, ace_error **error)
{
    postgres_outbox *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_outbox_init(&self->outbox, ACE_OUTBOX_POSTGRES, &calls, options, error);
    if (code != ACE_OK) {
        free(self);
        return code;
    }
    ace_postgres_options connecting = {.url = url};
    code = ace_postgres_open(&connecting, deadline, &self->postgres, error);
    if (code == ACE_OK) {
        code = ace_postgres_schema_check(self->postgres, &ace_postgres_outbox, self->outbox.name,
                                         deadline, error);
    }
    if (code != ACE_OK) {
        destroy(&self->outbox);
        return code;
    }
    *outbox = &self->outbox;
    return ACE_OK;
}
