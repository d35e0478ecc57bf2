/* AMQP values as JSON, in the form command-line.md gives `acemq envelope`. */
#ifndef ACE_CONTRACT_VALUE_JSON_H
#define ACE_CONTRACT_VALUE_JSON_H

#include "contract/table.h"

#include <jansson.h>

/* Reads a JSON text such that integers outside int64 survive for {"type": "uint64"}; jansson alone
 * refuses the whole text. ACE_PARSE with line and column. The caller owns the reference. */
ace_code ace_json_read(const char *text, size_t length, json_t **json, ace_error **error);

/* The text of what ace_table_to_json() made, in which a uint64 above int64 is a number like any
 * other. NULL: no memory. The caller frees it with free(). */
char *ace_json_write(const json_t *json);

/* A JSON object as a table: plain integers are int64, fractions double, strings long strings. An
 * object with exactly the members "type" and "value" is of that AMQP type, one with "type":
 * "longstr" and "base64" a long string that is not UTF-8. `path` names the object in errors, such
 * as "queues[0].arguments". Replaces what stands under the same names. ACE_PARSE where a value does
 * not read, else the errors of ace_table_set(). */
ace_code ace_table_from_json(const json_t *object, const char *path, ace_table *table,
                             ace_error **error);

/* The same for a table as it may arrive: uint64 up to 2^64 - 1 and reserved names are taken too. */
ace_code ace_table_from_json_arrived(const json_t *object, const char *path, ace_table *table,
                                     ace_error **error);

/* Plain JSON where it keeps the type, the object form elsewhere; `typed_top` gives every value of
 * the outermost level the object form. NULL: no memory. The caller owns the reference. */
json_t *ace_table_to_json(const amqp_table_t *table, bool typed_top);
json_t *ace_value_to_json(const amqp_field_value_t *value, bool typed);

/* The name of a kind as the JSON has it ("int32"), NULL for an unknown one. */
const char *ace_kind_name(uint8_t kind);

#endif
