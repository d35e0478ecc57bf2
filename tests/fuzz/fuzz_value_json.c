/* AMQP values as JSON: what reads as a table is written as JSON that reads as the same table. */
#include "contract/value_json.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static json_t *read_json(const char *text, size_t length)
{
    json_t *json = NULL;
    ace_error *error = NULL;
    ace_code code = ace_json_read(text, length, &json, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return NULL;
    }
    return json;
}

static void check_round_trip(const ace_table *table, bool typed)
{
    ace_table again = ACE_TABLE_INIT;
    json_t *written = ace_table_to_json(&table->table, typed);
    FUZZ_DEMAND(written != NULL);
    char *text = ace_json_write(written);
    FUZZ_DEMAND(text != NULL);
    json_t *read = read_json(text, strlen(text));
    FUZZ_DEMAND(read != NULL);
    FUZZ_DEMAND(ace_table_from_json_arrived(read, "", &again, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_table_equal(&table->table, &again.table));
    json_decref(read);
    json_decref(written);
    free(text);
    ace_table_release(&again);
}

/* A name with control characters is printed without them, so that it is another one afterwards. */
static bool has_plain_names(const amqp_table_t *table);

static bool has_plain_names_inside(const amqp_field_value_t *value)
{
    if (value->kind == AMQP_FIELD_KIND_TABLE) {
        return has_plain_names(&value->value.table);
    }
    bool plain = true;
    for (int i = 0; value->kind == AMQP_FIELD_KIND_ARRAY && i < value->value.array.num_entries;
         i++) {
        plain = plain && has_plain_names_inside(&value->value.array.entries[i]);
    }
    return plain;
}

static bool has_plain_names(const amqp_table_t *table)
{
    for (int i = 0; i < table->num_entries; i++) {
        const amqp_bytes_t *name = &table->entries[i].key;
        for (size_t at = 0; at < name->len; at++) {
            uint8_t byte = ((const uint8_t *)name->bytes)[at];
            if (byte < ' ' || byte >= 0x7F) {
                return false;
            }
        }
        if (!has_plain_names_inside(&table->entries[i].value)) {
            return false;
        }
    }
    return true;
}

static void check_sendable(const json_t *json)
{
    ace_table table = ACE_TABLE_INIT;
    ace_error *error = NULL;
    table.refuses_reserved = true;
    ace_code code = ace_table_from_json(json, "headers", &table, &error);
    if (code == ACE_OK) {
        FUZZ_DEMAND(ace_table_sendable("headers", &table.table, NULL) == ACE_OK);
    } else {
        fuzz_check_error(code, error);
    }
    ace_table_release(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = read_json((const char *)data, size);
    if (json == NULL) {
        return 0;
    }
    ace_table table = ACE_TABLE_INIT;
    ace_error *error = NULL;
    ace_code code = ace_table_from_json_arrived(json, "headers", &table, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
    } else if (has_plain_names(&table.table)) {
        check_round_trip(&table, false);
        check_round_trip(&table, true);
    }
    check_sendable(json);
    ace_table_release(&table);
    json_decref(json);
    return 0;
}
