/* Writes one JSON document to a stream, piece by piece, with nothing kept in memory. Text that is
 * not UTF-8 has U+FFFD in the place of its bad bytes. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <acemq/table.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *out;
    bool comma; /* a value stands before the next one */
} cli_json;

/* A writer to standard output. */
cli_json cli_json_stdout(void);

void cli_json_object(cli_json *json);
void cli_json_end_object(cli_json *json);
void cli_json_array(cli_json *json);
void cli_json_end_array(cli_json *json);
void cli_json_name(cli_json *json, const char *name); /* of the member that is written next */

void cli_json_text(cli_json *json, const char *text); /* NULL is null */
void cli_json_bytes(cli_json *json, const void *text, size_t length);
void cli_json_base64(cli_json *json, const void *bytes, size_t length);
void cli_json_integer(cli_json *json, int64_t number);
void cli_json_unsigned(cli_json *json, uint64_t number);
void cli_json_boolean(cli_json *json, bool value);
void cli_json_null(cli_json *json);
/* The values in plain JSON where that keeps their types, as {"type", "value"} elsewhere; with
 * `typed` each has the second form. NULL is an empty table. null when memory is gone. */
void cli_json_table(cli_json *json, const acemq_table *table, bool typed);

/* A member in one call. */
void cli_json_member_text(cli_json *json, const char *name, const char *text);
void cli_json_member_integer(cli_json *json, const char *name, int64_t number);
void cli_json_member_unsigned(cli_json *json, const char *name, uint64_t number);

/* The document's last line break. */
void cli_json_end(cli_json *json);

#endif
