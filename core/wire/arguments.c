#include "wire/arguments.h"

#include <limits.h>
#include <string.h>

#define FIRST_CAPACITY 8

void ace_arguments_init(ace_arguments *arguments, ace_arena *arena)
{
    memset(arguments, 0, sizeof *arguments);
    arguments->arena = arena;
}

/* The arena frees nothing before its end, so what was outgrown stays there until then. */
static bool grow(ace_arguments *arguments)
{
    if (arguments->capacity > INT_MAX / 2) {
        return false;
    }
    int capacity = arguments->capacity == 0 ? FIRST_CAPACITY : 2 * arguments->capacity;
    amqp_table_entry_t *entries =
        ace_arena_take(arguments->arena, (size_t)capacity * sizeof *entries);
    if (entries == NULL) {
        return false;
    }
    if (arguments->table.num_entries > 0) {
        memcpy(entries, arguments->table.entries,
               (size_t)arguments->table.num_entries * sizeof *entries);
    }
    arguments->table.entries = entries;
    arguments->capacity = capacity;
    return true;
}

static bool copy_bytes(ace_arguments *arguments, ace_bytes from, amqp_bytes_t *to)
{
    to->len = from.length;
    to->bytes = NULL;
    if (from.length > 0) {
        to->bytes = ace_arena_copy(arguments->arena, from.data, from.length);
    }
    return from.length == 0 || to->bytes != NULL;
}

static void add(ace_arguments *arguments, const char *name, const amqp_field_value_t *value)
{
    if (arguments->failed) {
        return;
    }
    amqp_table_t *table = &arguments->table;
    amqp_bytes_t key;
    if ((table->num_entries == arguments->capacity && !grow(arguments)) ||
        !copy_bytes(arguments, ace_bytes_of(name), &key)) {
        arguments->failed = true;
        return;
    }
    table->entries[table->num_entries++] = (amqp_table_entry_t){key, *value};
}

void ace_arguments_add_bytes(ace_arguments *arguments, const char *name, ace_bytes text)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_UTF8};
    if (!arguments->failed && !copy_bytes(arguments, text, &value.value.bytes)) {
        arguments->failed = true;
    }
    add(arguments, name, &value);
}

void ace_arguments_add_text(ace_arguments *arguments, const char *name, const char *text)
{
    ace_arguments_add_bytes(arguments, name, ace_bytes_of(text));
}

void ace_arguments_add_bool(ace_arguments *arguments, const char *name, bool flag)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value.boolean = flag};
    add(arguments, name, &value);
}

void ace_arguments_add_int32(ace_arguments *arguments, const char *name, int32_t number)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_I32, .value.i32 = number};
    add(arguments, name, &value);
}

void ace_arguments_add_int64(ace_arguments *arguments, const char *name, int64_t number)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = number};
    add(arguments, name, &value);
}

void ace_arguments_add_table(ace_arguments *arguments, const char *name, const amqp_table_t *table)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = *table};
    add(arguments, name, &value);
}

ace_code ace_arguments_table(const ace_arguments *arguments, amqp_table_t *table, ace_error **error)
{
    if (arguments->failed) {
        return ace_fail_memory(error);
    }
    *table = arguments->table;
    return ACE_OK;
}

const amqp_field_value_t *ace_arguments_find(const amqp_table_t *table, const char *name)
{
    for (int i = 0; i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        if (ace_bytes_equal_text((ace_bytes){entry->key.bytes, entry->key.len}, name)) {
            return &entry->value;
        }
    }
    return NULL;
}

ace_bytes ace_arguments_text(const amqp_table_t *table, const char *name)
{
    const amqp_field_value_t *value = ace_arguments_find(table, name);
    if (value == NULL ||
        (value->kind != AMQP_FIELD_KIND_UTF8 && value->kind != AMQP_FIELD_KIND_BYTES)) {
        return (ace_bytes){NULL, 0};
    }
    return (ace_bytes){value->value.bytes.bytes, value->value.bytes.len};
}

static ace_code capabilities(ace_arena *arena, amqp_table_t *table, ace_error **error)
{
    static const char *const names[] = {
        "publisher_confirms", "consumer_cancel_notify",     "connection.blocked",
        "basic.nack",         "exchange_exchange_bindings", "authentication_failure_close",
    };
    ace_arguments arguments;
    ace_arguments_init(&arguments, arena);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ace_arguments_add_bool(&arguments, names[i], true);
    }
    return ace_arguments_table(&arguments, table, error);
}

ace_code ace_client_properties(ace_arena *arena, const char *product, const char *version,
                               const char *connection_name, amqp_table_t *table, ace_error **error)
{
    amqp_table_t able;
    ace_code code = capabilities(arena, &able, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_arguments arguments;
    ace_arguments_init(&arguments, arena);
    ace_arguments_add_text(&arguments, "product", product);
    ace_arguments_add_text(&arguments, "version", version);
    ace_arguments_add_text(&arguments, "platform", "C");
    ace_arguments_add_table(&arguments, "capabilities", &able);
    if (connection_name != NULL) {
        ace_arguments_add_text(&arguments, "connection_name", connection_name);
    }
    return ace_arguments_table(&arguments, table, error);
}

bool ace_properties_have_capability(const amqp_table_t *properties, const char *name)
{
    const amqp_field_value_t *able = ace_arguments_find(properties, "capabilities");
    if (able == NULL || able->kind != AMQP_FIELD_KIND_TABLE) {
        return false;
    }
    const amqp_field_value_t *value = ace_arguments_find(&able->value.table, name);
    return value != NULL && value->kind == AMQP_FIELD_KIND_BOOLEAN && value->value.boolean;
}
