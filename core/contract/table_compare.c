#include "contract/table.h"

#include <string.h>

static size_t add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

size_t ace_value_encoded_size(const amqp_field_value_t *value)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        return 2;
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        return 3;
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_F32:
        return 5;
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_F64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return 9;
    case AMQP_FIELD_KIND_DECIMAL:
        return 6;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        return add(5, value->value.bytes.len);
    case AMQP_FIELD_KIND_TABLE:
        return add(1, ace_table_encoded_size(&value->value.table));
    case AMQP_FIELD_KIND_ARRAY: {
        size_t size = 5;
        for (int i = 0; i < value->value.array.num_entries; i++) {
            size = add(size, ace_value_encoded_size(&value->value.array.entries[i]));
        }
        return size;
    }
    case AMQP_FIELD_KIND_VOID:
        return 1;
    default:
        return SIZE_MAX;
    }
}

size_t ace_table_encoded_size(const amqp_table_t *table)
{
    size_t size = 4;
    for (int i = 0; i < table->num_entries; i++) {
        size = add(size, add(1, table->entries[i].key.len));
        size = add(size, ace_value_encoded_size(&table->entries[i].value));
    }
    return size;
}

static bool same_bytes(amqp_bytes_t a, amqp_bytes_t b)
{
    return ace_bytes_equal(ace_bytes_from_amqp(a), ace_bytes_from_amqp(b));
}

static bool same_array(const amqp_array_t *a, const amqp_array_t *b)
{
    if (a->num_entries != b->num_entries) {
        return false;
    }
    for (int i = 0; i < a->num_entries; i++) {
        if (!ace_value_equal(&a->entries[i], &b->entries[i])) {
            return false;
        }
    }
    return true;
}

bool ace_value_equal(const amqp_field_value_t *a, const amqp_field_value_t *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return !a->value.boolean == !b->value.boolean;
    case AMQP_FIELD_KIND_I8:
    case AMQP_FIELD_KIND_U8:
        return a->value.u8 == b->value.u8;
    case AMQP_FIELD_KIND_I16:
    case AMQP_FIELD_KIND_U16:
        return a->value.u16 == b->value.u16;
    case AMQP_FIELD_KIND_I32:
    case AMQP_FIELD_KIND_U32:
    case AMQP_FIELD_KIND_F32:
        return a->value.u32 == b->value.u32;
    case AMQP_FIELD_KIND_I64:
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_F64:
    case AMQP_FIELD_KIND_TIMESTAMP:
        return a->value.u64 == b->value.u64;
    case AMQP_FIELD_KIND_DECIMAL:
        return a->value.decimal.decimals == b->value.decimal.decimals &&
               a->value.decimal.value == b->value.decimal.value;
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
        return same_bytes(a->value.bytes, b->value.bytes);
    case AMQP_FIELD_KIND_TABLE:
        return ace_table_equal(&a->value.table, &b->value.table);
    case AMQP_FIELD_KIND_ARRAY:
        return same_array(&a->value.array, &b->value.array);
    default:
        return true;
    }
}

/* How many entries before `index` have its name. */
static int rank_of(const amqp_table_t *table, int index)
{
    int rank = 0;
    for (int i = 0; i < index; i++) {
        rank += same_bytes(table->entries[i].key, table->entries[index].key) ? 1 : 0;
    }
    return rank;
}

static const amqp_field_value_t *find_ranked(const amqp_table_t *table, amqp_bytes_t name, int rank)
{
    for (int i = 0; i < table->num_entries; i++) {
        if (same_bytes(table->entries[i].key, name) && rank-- == 0) {
            return &table->entries[i].value;
        }
    }
    return NULL;
}

/* Every pair is compared once: nested tables would else be compared 2^depth times. */
bool ace_table_equal(const amqp_table_t *a, const amqp_table_t *b)
{
    if (a->num_entries != b->num_entries) {
        return false;
    }
    for (int i = 0; i < a->num_entries; i++) {
        const amqp_field_value_t *other = find_ranked(b, a->entries[i].key, rank_of(a, i));
        if (other == NULL || !ace_value_equal(&a->entries[i].value, other)) {
            return false;
        }
    }
    return true;
}
