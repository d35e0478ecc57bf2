#include "contract/table.h"

#include "contract/limits.h"
#include "contract/names.h"
#include "contract/table_rules.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 8

ace_bytes ace_bytes_from_amqp(amqp_bytes_t bytes)
{
    return (ace_bytes){bytes.bytes, bytes.len};
}

amqp_bytes_t ace_bytes_to_amqp(ace_bytes bytes)
{
    /* rabbitmq-c has one type for what it reads and what it writes. */
    union {
        const void *read_only;
        void *plain;
    } view = {.read_only = bytes.data};
    return (amqp_bytes_t){bytes.length, view.plain};
}

ace_table *ace_table_new(void)
{
    return calloc(1, sizeof(ace_table));
}

void ace_table_delete(ace_table *table)
{
    if (table != NULL) {
        ace_table_release(table);
        free(table);
    }
}

void ace_table_lend(ace_table *table, amqp_table_entry_t *entries, int count)
{
    table->table.entries = entries;
    table->lent = entries;
    table->capacity = count;
}

void ace_table_release(ace_table *table)
{
    if (table->table.entries != table->lent) {
        free(table->table.entries);
    }
    ace_arena_free(&table->arena);
    table->table.entries = NULL;
    table->lent = NULL;
    table->table.num_entries = 0;
    table->capacity = 0;
}

void ace_table_clear(ace_table *table)
{
    table->table.num_entries = 0;
    ace_arena_clear(&table->arena);
}

static int index_of(const amqp_table_t *table, ace_bytes name, int from)
{
    for (int i = from; i < table->num_entries; i++) {
        if (ace_bytes_equal(ace_bytes_from_amqp(table->entries[i].key), name)) {
            return i;
        }
    }
    return -1;
}

const amqp_field_value_t *ace_table_find_bytes(const amqp_table_t *table, ace_bytes name)
{
    if (table == NULL) {
        return NULL;
    }
    int index = index_of(table, name, 0);
    return index < 0 ? NULL : &table->entries[index].value;
}

const amqp_field_value_t *ace_table_find(const amqp_table_t *table, const char *name)
{
    return ace_table_find_bytes(table, ace_bytes_of(name));
}

static void remove_from(ace_table *table, ace_bytes name, int from)
{
    int kept = from;
    for (int i = from; i < table->table.num_entries; i++) {
        amqp_table_entry_t entry = table->table.entries[i];
        if (!ace_bytes_equal(ace_bytes_from_amqp(entry.key), name)) {
            table->table.entries[kept++] = entry;
        }
    }
    table->table.num_entries = kept;
}

bool ace_table_remove_bytes(ace_table *table, ace_bytes name)
{
    int index = index_of(&table->table, name, 0);
    if (index < 0) {
        return false;
    }
    remove_from(table, name, index);
    return true;
}

bool ace_table_remove(ace_table *table, const char *name)
{
    return ace_table_remove_bytes(table, ace_bytes_of(name));
}

ace_code ace_table_reserve(ace_table *table, int entries, ace_error **error)
{
    if (entries <= table->capacity) {
        return ACE_OK;
    }
    int capacity = table->capacity < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : table->capacity;
    while (capacity < entries) {
        capacity = capacity > INT_MAX / 2 ? entries : capacity * 2;
    }
    amqp_table_entry_t *before = table->table.entries;
    bool is_lent = before == table->lent;
    amqp_table_entry_t *grown = realloc(is_lent ? NULL : before, (size_t)capacity * sizeof *grown);
    if (grown == NULL) {
        return ace_fail_memory(error);
    }
    if (is_lent && table->table.num_entries > 0) {
        memcpy(grown, before, (size_t)table->table.num_entries * sizeof *grown);
    }
    table->table.entries = grown;
    table->capacity = capacity;
    return ACE_OK;
}

static ace_code append(ace_table *table, ace_bytes name, const amqp_field_value_t *copied,
                       ace_error **error)
{
    if (table->table.num_entries == INT_MAX) {
        return ace_fail(error, ACE_LIMIT, "a table holds no more than %d entries", INT_MAX);
    }
    ace_code code = ace_table_reserve(table, table->table.num_entries + 1, error);
    if (code != ACE_OK) {
        return code;
    }
    amqp_bytes_t key = ace_bytes_to_amqp(name);
    if (!table->borrows) {
        key.bytes = ace_arena_text(&table->arena, (const char *)name.data, name.length);
        if (key.bytes == NULL) {
            return ace_fail_memory(error);
        }
    }
    amqp_table_entry_t *entry = &table->table.entries[table->table.num_entries++];
    entry->key = key;
    entry->value = *copied;
    return ACE_OK;
}

static ace_code check_name(const ace_table *table, ace_bytes name, ace_error **error)
{
    if (name.length == 0) {
        ace_fail(error, ACE_LIMIT, "header name is empty");
        ace_error_field(error, "header name", 1);
        return ACE_LIMIT;
    }
    ace_code code = ace_name_check("header name", name, error);
    if (code != ACE_OK || !table->refuses_reserved || !ace_header_is_reserved(name)) {
        return code;
    }
    ace_fail(error, ACE_RESERVED_HEADER,
             "header %.*s is reserved: names that begin with %s are not "
             "the application's to set",
             (int)name.length, (const char *)name.data, ACE_RESERVED_PREFIX);
    ace_error_field(error, "header name", 0);
    return ACE_RESERVED_HEADER;
}

ace_code ace_table_set(ace_table *table, ace_bytes name, const amqp_field_value_t *value,
                       ace_error **error)
{
    ace_code code = check_name(table, name, error);
    if (code == ACE_OK) {
        code = ace_value_sendable("header", name, value, 2, error);
    }
    amqp_field_value_t copied = *value;
    if (code == ACE_OK && !table->borrows) {
        code = ace_value_copy(&table->arena, value, &copied, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    int index = index_of(&table->table, name, 0);
    if (index < 0) {
        return append(table, name, &copied, error);
    }
    table->table.entries[index].value = copied;
    remove_from(table, name, index + 1);
    return ACE_OK;
}

ace_code ace_table_append_unchecked(ace_table *table, ace_bytes name,
                                    const amqp_field_value_t *value, ace_error **error)
{
    amqp_field_value_t copied;
    ace_code code = ace_value_copy(&table->arena, value, &copied, error);
    return code == ACE_OK ? append(table, name, &copied, error) : code;
}

ace_code ace_table_set_all(ace_table *table, const amqp_table_t *from, ace_error **error)
{
    for (int i = 0; from != NULL && i < from->num_entries; i++) {
        const amqp_table_entry_t *entry = &from->entries[i];
        ace_code code = ace_table_set(table, ace_bytes_from_amqp(entry->key), &entry->value, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

ace_code ace_table_copy_arrived(ace_table *table, const amqp_table_t *from, ace_error **error)
{
    ace_table_clear(table);
    for (int i = 0; from != NULL && i < from->num_entries; i++) {
        const amqp_table_entry_t *entry = &from->entries[i];
        ace_code code = ace_table_append_unchecked(table, ace_bytes_from_amqp(entry->key),
                                                   &entry->value, error);
        if (code != ACE_OK) {
            ace_table_clear(table);
            return code;
        }
        ace_value_make_signed(&table->table.entries[table->table.num_entries - 1].value);
    }
    return ACE_OK;
}
