#include "table.h"

#include "arguments.h"
#include "contract/envelope.h"
#include "contract/table_rules.h"

static ace_code check_target(const acemq_table *table, const char *name, ace_error **error)
{
    ace_code code = ace_argument_present(table, "table", error);
    return code == ACE_OK ? ace_argument_text(name, "name", error) : code;
}

acemq_table *acemq_table_new(void)
{
    return ace_table_new();
}

void acemq_table_free(acemq_table *table)
{
    ace_table_delete(table);
}

ace_code ace_table_duplicate(const amqp_table_t *from, bool application_only, ace_table **copy,
                             ace_error **error)
{
    ace_table *made = ace_table_new();
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ACE_OK;
    for (int i = 0; from != NULL && i < from->num_entries && code == ACE_OK; i++) {
        ace_bytes name = ace_bytes_from_amqp(from->entries[i].key);
        if (!application_only || !ace_header_is_reserved(name)) {
            code = ace_table_append_unchecked(made, name, &from->entries[i].value, error);
        }
    }
    if (code != ACE_OK) {
        ace_table_delete(made);
        return code;
    }
    *copy = made;
    return ACE_OK;
}

acemq_status acemq_table_copy(const acemq_table *table, acemq_table **copy, acemq_error **error)
{
    ace_code code = ace_argument_present(table, "table", error);
    if (code == ACE_OK) {
        code = ace_argument_present(copy, "copy", error);
    }
    if (code == ACE_OK) {
        code = ace_table_duplicate(&table->table, false, copy, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_string(acemq_table *table, const char *name, const char *text,
                                    acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_present(text, "text", error);
    }
    return (acemq_status)(code == ACE_OK ? ace_table_set_text(table, name, text, error) : code);
}

acemq_status acemq_table_set_string_bytes(acemq_table *table, const char *name, acemq_bytes text,
                                          acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_bytes(text, "text", error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_longstr(table, name, ace_bytes_from_public(text), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_bytes(acemq_table *table, const char *name, acemq_bytes bytes,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_bytes(bytes, "bytes", error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_bytes(table, name, ace_bytes_from_public(bytes), error);
    }
    return (acemq_status)code;
}

static ace_code set_integer(ace_table *table, const char *name, acemq_kind kind, int64_t number,
                            ace_error **error)
{
    switch (kind) {
    case ACEMQ_KIND_INT8:
        return ace_table_set_int8(table, name, (int8_t)number, error);
    case ACEMQ_KIND_UINT8:
        return ace_table_set_uint8(table, name, (uint8_t)number, error);
    case ACEMQ_KIND_INT16:
        return ace_table_set_int16(table, name, (int16_t)number, error);
    case ACEMQ_KIND_UINT16:
        return ace_table_set_uint16(table, name, (uint16_t)number, error);
    case ACEMQ_KIND_INT32:
        return ace_table_set_int32(table, name, (int32_t)number, error);
    case ACEMQ_KIND_UINT32:
        return ace_table_set_uint32(table, name, (uint32_t)number, error);
    case ACEMQ_KIND_UINT64:
        return ace_table_set_uint64(table, name, (uint64_t)number, error);
    default:
        return ace_table_set_int64(table, name, number, error);
    }
}

acemq_status acemq_table_set_integer(acemq_table *table, const char *name, acemq_kind kind,
                                     int64_t number, acemq_error **error)
{
    static const struct {
        int64_t least;
        int64_t most;
    } ranges[] = {
        [ACEMQ_KIND_INT8] = {INT8_MIN, INT8_MAX},    [ACEMQ_KIND_UINT8] = {0, UINT8_MAX},
        [ACEMQ_KIND_INT16] = {INT16_MIN, INT16_MAX}, [ACEMQ_KIND_UINT16] = {0, UINT16_MAX},
        [ACEMQ_KIND_INT32] = {INT32_MIN, INT32_MAX}, [ACEMQ_KIND_UINT32] = {0, UINT32_MAX},
        [ACEMQ_KIND_INT64] = {INT64_MIN, INT64_MAX}, [ACEMQ_KIND_UINT64] = {0, INT64_MAX},
    };
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_range((int64_t)kind, ACEMQ_KIND_INT8, ACEMQ_KIND_UINT64, "kind", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(number, ranges[kind].least, ranges[kind].most, "number", error);
    }
    return (acemq_status)(code == ACE_OK ? set_integer(table, name, kind, number, error) : code);
}

acemq_status acemq_table_set_int64(acemq_table *table, const char *name, int64_t number,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    return (acemq_status)(code == ACE_OK ? ace_table_set_int64(table, name, number, error) : code);
}

acemq_status acemq_table_set_bool(acemq_table *table, const char *name, int value,
                                  acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    return (acemq_status)(code == ACE_OK ? ace_table_set_bool(table, name, value != 0, error)
                                         : code);
}

acemq_status acemq_table_set_double(acemq_table *table, const char *name, double number,
                                    acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    return (acemq_status)(code == ACE_OK ? ace_table_set_double(table, name, number, error) : code);
}

acemq_status acemq_table_set_float(acemq_table *table, const char *name, float number,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    return (acemq_status)(code == ACE_OK ? ace_table_set_float(table, name, number, error) : code);
}

acemq_status acemq_table_set_decimal(acemq_table *table, const char *name, uint8_t decimals,
                                     uint32_t unscaled, acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_table_set_decimal(table, name, decimals, unscaled, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_timestamp(acemq_table *table, const char *name, int64_t seconds,
                                       acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_range(seconds, 0, INT64_MAX, "seconds", error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_timestamp(table, name, (uint64_t)seconds, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_void(acemq_table *table, const char *name, acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    return (acemq_status)(code == ACE_OK ? ace_table_set_void(table, name, error) : code);
}

static ace_code set_copied(ace_table *table, const char *name, const amqp_field_value_t *value,
                           ace_error **error)
{
    /* The value may stand in this very table, whose entries move while it is set. */
    amqp_field_value_t held = *value;
    return ace_table_set(table, ace_bytes_of(name), &held, error);
}

acemq_status acemq_table_set_table(acemq_table *table, const char *name, const acemq_table *inner,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_present(inner, "inner", error);
    }
    if (code == ACE_OK) {
        amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = inner->table};
        code = set_copied(table, name, &value, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_array(acemq_table *table, const char *name, const acemq_array *inner,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_present(inner, "inner", error);
    }
    if (code == ACE_OK) {
        amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_ARRAY, .value.array = inner->array};
        code = set_copied(table, name, &value, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_table_set_value(acemq_table *table, const char *name, const acemq_value *value,
                                   acemq_error **error)
{
    ace_code code = check_target(table, name, error);
    if (code == ACE_OK) {
        code = ace_argument_present(value, "value", error);
    }
    if (code == ACE_OK) {
        code = set_copied(table, name, ace_value_from_public(value), error);
    }
    return (acemq_status)code;
}

void acemq_table_remove(acemq_table *table, const char *name)
{
    if (table != NULL && name != NULL) {
        ace_table_remove(table, name);
    }
}

size_t acemq_table_count(const acemq_table *table)
{
    return table == NULL ? 0 : (size_t)table->table.num_entries;
}

const char *acemq_table_name(const acemq_table *table, size_t index)
{
    return index < acemq_table_count(table) ? table->table.entries[index].key.bytes : NULL;
}

const acemq_value *acemq_table_at(const acemq_table *table, size_t index)
{
    return index < acemq_table_count(table)
               ? ace_value_to_public(&table->table.entries[index].value)
               : NULL;
}

const acemq_value *acemq_table_get(const acemq_table *table, const char *name)
{
    if (table == NULL || name == NULL) {
        return NULL;
    }
    return ace_value_to_public(ace_table_find(&table->table, name));
}
