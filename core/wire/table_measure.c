#include "wire/table_measure.h"

#include "wire/table_check.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define SHOWN_NAME 60

_Static_assert(ACE_TABLE_DEPTH_MAX == 32 && ACE_TABLE_ENTRIES_MAX == 65536, "the texts say so");

typedef struct measure {
    const char *what;
    const char *name; /* of the outermost entry under way */
    int shown;
    size_t entries;
    size_t size;
} measure;

static ace_code measure_table(measure *to, const amqp_table_t *table, int depth, ace_error **error);

static ace_code refuse(const measure *to, ace_code code, const char *problem, ace_error **error)
{
    if (to->name == NULL) {
        return ace_fail(error, code, "%s: %s", to->what, problem);
    }
    return ace_fail(error, code, "%s: the entry \"%.*s\" %s", to->what, to->shown, to->name,
                    problem);
}

static ace_code refuse_limit(const measure *to, const char *problem, long long limit,
                             ace_error **error)
{
    refuse(to, ACE_LIMIT, problem, error);
    ace_error_field(error, to->what, limit);
    return ACE_LIMIT;
}

static ace_code add(measure *to, size_t size, ace_error **error)
{
    if (size > INT32_MAX - to->size) {
        return refuse_limit(to, "does not fit, a table holds 2147483647 bytes", INT32_MAX, error);
    }
    to->size += size;
    return ACE_OK;
}

static ace_code add_bytes(measure *to, amqp_bytes_t bytes, ace_error **error)
{
    if (bytes.bytes == NULL && bytes.len > 0) {
        return refuse(to, ACE_INVALID_ARGUMENT, "claims bytes and points to none", error);
    }
    ace_code code = add(to, 4, error);
    return code == ACE_OK ? add(to, bytes.len, error) : code;
}

static ace_code add_float(measure *to, double value, size_t size, ace_error **error)
{
    if (!isfinite(value)) {
        return refuse(to, ACE_INVALID_ARGUMENT, "is a float that is not a finite number", error);
    }
    return add(to, size, error);
}

static ace_code add_unsigned(measure *to, uint64_t value, ace_error **error)
{
    if (value > INT64_MAX) {
        return refuse_limit(to, "is over 9223372036854775807, the largest integer a broker keeps",
                            INT64_MAX, error);
    }
    return add(to, 8, error);
}

static ace_code enter(measure *to, int depth, ace_error **error)
{
    if (depth >= ACE_TABLE_DEPTH_MAX) {
        return refuse_limit(to, "is nested deeper than 32 levels", ACE_TABLE_DEPTH_MAX, error);
    }
    return add(to, 4, error);
}

static ace_code count_entries(measure *to, int count, const void *entries, ace_error **error)
{
    if (count < 0 || (count > 0 && entries == NULL)) {
        return refuse(to, ACE_INVALID_ARGUMENT, "counts entries that are not there", error);
    }
    to->entries += (size_t)count;
    if (to->entries > ACE_TABLE_ENTRIES_MAX) {
        return refuse_limit(to, "is one of more than 65536 entries", ACE_TABLE_ENTRIES_MAX, error);
    }
    return ACE_OK;
}

static ace_code measure_value(measure *to, const amqp_field_value_t *value, int depth,
                              ace_error **error);

static ace_code measure_array(measure *to, const amqp_array_t *array, int depth, ace_error **error)
{
    ace_code code = enter(to, depth, error);
    if (code == ACE_OK) {
        code = count_entries(to, array->num_entries, array->entries, error);
    }
    for (int i = 0; code == ACE_OK && i < array->num_entries; i++) {
        code = measure_value(to, &array->entries[i], depth + 1, error);
    }
    return code;
}

static ace_code measure_payload(measure *to, const amqp_field_value_t *value, int depth,
                                ace_error **error)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_VOID:
        return ACE_OK;
    case AMQP_FIELD_KIND_BOOLEAN:
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        return add(to, 1, error);
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        return add(to, 2, error);
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
        return add(to, 4, error);
    case AMQP_FIELD_KIND_DECIMAL:
        return add(to, 5, error);
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return add(to, 8, error);
    case AMQP_FIELD_KIND_U64:
        return add_unsigned(to, value->value.u64, error);
    case AMQP_FIELD_KIND_F32:
        return add_float(to, (double)value->value.f32, 4, error);
    case AMQP_FIELD_KIND_F64:
        return add_float(to, value->value.f64, 8, error);
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        return add_bytes(to, value->value.bytes, error);
    case AMQP_FIELD_KIND_ARRAY:
        return measure_array(to, &value->value.array, depth, error);
    case AMQP_FIELD_KIND_TABLE:
        return measure_table(to, &value->value.table, depth, error);
    default:
        return refuse(to, ACE_INVALID_ARGUMENT, "has a kind that AMQP does not know", error);
    }
}

static ace_code measure_value(measure *to, const amqp_field_value_t *value, int depth,
                              ace_error **error)
{
    ace_code code = add(to, 1, error);
    return code == ACE_OK ? measure_payload(to, value, depth, error) : code;
}

static ace_code measure_name(measure *to, const amqp_bytes_t *name, int index, ace_error **error)
{
    if (name->bytes == NULL && name->len > 0) {
        return refuse(to, ACE_INVALID_ARGUMENT, "has a name that claims bytes and has none", error);
    }
    if (name->len > ACE_NAME_MAX) {
        ace_fail(error, ACE_LIMIT, "%s: the name of entry %d has %zu bytes, the limit is %d",
                 to->what, index + 1, name->len, ACE_NAME_MAX);
        ace_error_field(error, to->what, ACE_NAME_MAX);
        return ACE_LIMIT;
    }
    return add(to, 1 + name->len, error);
}

static ace_code measure_table(measure *to, const amqp_table_t *table, int depth, ace_error **error)
{
    ace_code code = enter(to, depth, error);
    if (code == ACE_OK) {
        code = count_entries(to, table->num_entries, table->entries, error);
    }
    for (int i = 0; code == ACE_OK && i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        code = measure_name(to, &entry->key, i, error);
        if (code != ACE_OK) {
            return code;
        }
        if (depth == 0) {
            to->name = entry->key.bytes == NULL ? "" : entry->key.bytes;
            to->shown = entry->key.len > SHOWN_NAME ? SHOWN_NAME : (int)entry->key.len;
        }
        code = measure_value(to, &entry->value, depth + 1, error);
    }
    return code;
}

ace_code ace_table_measure(const amqp_table_t *table, const char *what, size_t *size,
                           ace_error **error)
{
    measure to = {.what = what};
    ace_code code = measure_table(&to, table, 0, error);
    if (code == ACE_OK) {
        *size = to.size;
    }
    return code;
}

ace_code ace_table_measure_value(const amqp_field_value_t *value, const char *what, int depth,
                                 size_t *size, ace_error **error)
{
    measure to = {.what = what};
    ace_code code = measure_value(&to, value, depth, error);
    if (code == ACE_OK) {
        *size = to.size;
    }
    return code;
}
