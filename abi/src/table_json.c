#include "acemq/table.h"

#include "arguments.h"
#include "contract/value_json.h"
#include "table.h"

static ace_code read_object(const char *json, size_t length, ace_table *table, ace_error **error)
{
    json_t *object = NULL;
    ace_code code = ace_json_read(json, length, &object, error);
    if (code != ACE_OK) {
        return code;
    }
    code = json_is_object(object)
               ? ace_table_from_json_arrived(object, "", table, error)
               : ace_fail(error, ACE_PARSE, "a table is a JSON object, this is none");
    json_decref(object);
    return code;
}

acemq_status acemq_table_parse_json(const char *json, size_t length, acemq_table **table,
                                    acemq_error **error)
{
    ace_code code = ace_argument_present(json, "json", error);
    if (code == ACE_OK) {
        code = ace_argument_present(table, "table", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_table *made = ace_table_new();
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = read_object(json, length, made, error);
    if (code != ACE_OK) {
        ace_table_delete(made);
        return (acemq_status)code;
    }
    *table = made;
    return ACEMQ_OK;
}

acemq_status acemq_table_format_json(const acemq_table *table, int typed, char **json,
                                     acemq_error **error)
{
    ace_code code = ace_argument_present(table, "table", error);
    if (code == ACE_OK) {
        code = ace_argument_range(typed, 0, 1, "typed", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(json, "json", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    json_t *object = ace_table_to_json(&table->table, typed != 0);
    char *text = object == NULL ? NULL : ace_json_write(object);
    json_decref(object);
    if (text == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    *json = text;
    return ACEMQ_OK;
}
