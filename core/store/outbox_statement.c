#include "store/outbox_statement.h"

#include "base/time.h"
#include "contract/base64.h"
#include "store/postgres_connection.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the parameters. The time is a text that any driver sends as it is. */
static const char columns[] = "id, exchange_name, routing_key, content_type, body, body_encoding, "
                              "headers, created_at";

enum { ID, EXCHANGE, ROUTING_KEY, CONTENT_TYPE, BODY, ENCODING, HEADERS, CREATED };

static bool append_placeholder(ace_buffer *text, ace_placeholder placeholder, int number)
{
    switch (placeholder) {
    case ACE_PLACEHOLDER_QUESTION:
        return ace_buffer_append_text(text, "?");
    case ACE_PLACEHOLDER_PERCENT:
        return ace_buffer_append_text(text, "%s");
    case ACE_PLACEHOLDER_DOLLAR:
        break;
    }
    return ace_buffer_format(text, "$%d", number);
}

static char *make_text(const char *table, ace_placeholder placeholder, bool or_nothing)
{
    ace_buffer text = ACE_BUFFER_INIT;
    bool good = ace_buffer_format(&text, "INSERT INTO %s (%s, attempts) VALUES (", table, columns);
    for (int i = 0; good && i < ACE_OUTBOX_PARAMETERS; i++) {
        good = (i == 0 || ace_buffer_append_text(&text, ", ")) &&
               (i != CREATED || ace_buffer_append_text(&text, "CAST(")) &&
               append_placeholder(&text, placeholder, i + 1) &&
               (i != CREATED || ace_buffer_append_text(&text, " AS TIMESTAMP WITH TIME ZONE)"));
    }
    good = good && ace_buffer_append_text(&text, ", 0)");
    if (good && or_nothing) {
        good = ace_buffer_append_text(&text, " ON CONFLICT (id) DO NOTHING");
    }
    char *made = good ? ace_buffer_take_text(&text) : NULL;
    ace_buffer_free(&text);
    return made;
}

static char *make_body(ace_bytes body, bool is_text)
{
    ace_buffer text = ACE_BUFFER_INIT;
    bool good =
        is_text ? ace_buffer_append(&text, body.data, body.length) : ace_base64_encode(body, &text);
    char *made = good ? ace_buffer_take_text(&text) : NULL;
    ace_buffer_free(&text);
    return made;
}

/* "2026-02-03T04:05:06.123456Z" */
static char *make_time(int64_t microseconds)
{
    ace_buffer text = ACE_BUFFER_INIT;
    char whole[ACE_TIME_LENGTH + 1];
    char *made = NULL;
    if (ace_time_format(microseconds / 1000, whole) != 0) {
        whole[ACE_TIME_LENGTH - 1] = '\0'; /* its Z */
        if (ace_buffer_format(&text, "%s.%06" PRId64 "Z", whole, microseconds % 1000000)) {
            made = ace_buffer_take_text(&text);
        }
    }
    ace_buffer_free(&text);
    return made;
}

ace_code ace_outbox_statement_make(const char *table, ace_placeholder placeholder, bool or_nothing,
                                   const ace_outbox_record *record, ace_outbox_statement *statement,
                                   ace_error **error)
{
    *statement = (ace_outbox_statement){.text = NULL};
    ace_code code = ace_store_table_name_check("table", table, error);
    if (code != ACE_OK) {
        return code;
    }
    bool is_text = ace_outbox_body_is_text(record->body);
    statement->text = make_text(table, placeholder, or_nothing);
    statement->values[ID] = ace_bytes_to_text(record->id);
    statement->values[EXCHANGE] = ace_bytes_to_text(record->exchange);
    statement->values[ROUTING_KEY] = ace_bytes_to_text(record->routing_key);
    statement->values[CONTENT_TYPE] = ace_bytes_to_text(record->content_type);
    statement->values[BODY] = make_body(record->body, is_text);
    statement->values[ENCODING] = strdup(is_text ? "utf-8" : "base64");
    statement->values[HEADERS] = ace_bytes_to_text(record->headers);
    statement->values[CREATED] = make_time(record->created);
    bool good = statement->text != NULL;
    for (int i = 0; i < ACE_OUTBOX_PARAMETERS; i++) {
        good = good && statement->values[i] != NULL;
    }
    if (!good) {
        ace_outbox_statement_clear(statement);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

void ace_outbox_statement_clear(ace_outbox_statement *statement)
{
    free(statement->text);
    for (int i = 0; i < ACE_OUTBOX_PARAMETERS; i++) {
        free(statement->values[i]);
    }
    *statement = (ace_outbox_statement){.text = NULL};
}
