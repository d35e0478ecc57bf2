#include "broker/x_death.h"

#include "broker/arguments.h"
#include "broker/message.h"

#include <string.h>

#define DEATH_FIELDS 7

static amqp_field_value_t text_value(ace_bytes text)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_UTF8};

    value.value.bytes = ace_bytes_to_amqp(text);
    return value;
}

static ace_bytes text_under(const amqp_table_t *table, const char *name)
{
    const amqp_field_value_t *value = ace_table_find(table, name);

    if (!value || value->kind != AMQP_FIELD_KIND_UTF8)
        return (ace_bytes){NULL, 0};
    return ace_bytes_from_amqp(value->value.bytes);
}

static bool same_death(const amqp_table_t *a, ace_bytes queue, ace_bytes reason)
{
    return ace_bytes_equal(text_under(a, "queue"), queue) &&
           ace_bytes_equal(text_under(a, "reason"), reason);
}

static void add_field(amqp_table_t *table, const char *name, amqp_field_value_t value)
{
    amqp_table_entry_t *entry = &table->entries[table->num_entries++];

    entry->key = amqp_cstring_bytes(name);
    entry->value = value;
}

/* By name: only the first death of a message is left in the order it is written in below. */
static int compare_fields(const amqp_table_entry_t *a, const amqp_table_entry_t *b)
{
    size_t shorter = a->key.len < b->key.len ? a->key.len : b->key.len;
    int order = memcmp(a->key.bytes, b->key.bytes, shorter);

    return order != 0 ? order : (a->key.len > b->key.len) - (a->key.len < b->key.len);
}

static void sort_fields(amqp_table_t *table)
{
    for (int i = 1; i < table->num_entries; i++) {
        amqp_table_entry_t moved = table->entries[i];
        int at = i;

        for (; at > 0 && compare_fields(&table->entries[at - 1], &moved) > 0; at--)
            table->entries[at] = table->entries[at - 1];
        table->entries[at] = moved;
    }
}

static bool build_death(const ace_broker_death *death, ace_arena *arena, amqp_table_t *table)
{
    amqp_field_value_t count = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 1};
    amqp_field_value_t time = {.kind = AMQP_FIELD_KIND_TIMESTAMP, .value.u64 = death->seconds};
    amqp_field_value_t keys = {.kind = AMQP_FIELD_KIND_ARRAY};

    table->num_entries = 0;
    table->entries = ace_arena_take(arena, DEATH_FIELDS * sizeof(*table->entries));
    keys.value.array.num_entries = (int)death->key_count;
    keys.value.array.entries =
        ace_arena_take(arena, death->key_count * sizeof(*keys.value.array.entries));
    if (!table->entries || !keys.value.array.entries)
        return false;
    for (size_t i = 0; i < death->key_count; i++)
        keys.value.array.entries[i] = text_value(death->keys[i]);
    add_field(table, "count", count);
    add_field(table, "reason", text_value(ace_bytes_of(death->reason)));
    add_field(table, "queue", text_value(death->queue));
    add_field(table, "time", time);
    add_field(table, "exchange", text_value(death->exchange));
    add_field(table, "routing-keys", keys);
    if (death->original_expiration.data)
        add_field(table, "original-expiration", text_value(death->original_expiration));
    return true;
}

/* One more on an entry that is there; its time stays that of the first. */
static bool count_again(amqp_table_t *table, ace_arena *arena)
{
    int64_t integer;

    for (int i = 0; i < table->num_entries; i++) {
        amqp_field_value_t *value = &table->entries[i].value;

        if (!ace_bytes_equal_text(ace_bytes_from_amqp(table->entries[i].key), "count"))
            continue;
        if (ace_broker_field_integer(value, &integer)) {
            value->kind = AMQP_FIELD_KIND_I64;
            value->value.i64 = integer + 1;
        }
        return true;
    }

    amqp_table_entry_t *wider =
        ace_arena_take(arena, (size_t)(table->num_entries + 1) * sizeof(*wider));
    amqp_field_value_t count = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = 1};

    if (!wider)
        return false;
    if (table->num_entries > 0)
        memcpy(wider, table->entries, (size_t)table->num_entries * sizeof(*wider));
    table->entries = wider;
    add_field(table, "count", count);
    return true;
}

/* The earlier deaths, of each queue and reason the first one. RabbitMQ's way of doing that turns
 * the order of two or more round every time, and what comes of it is visible; so it is done here.
 */
static int group_earlier(const amqp_array_t *earlier, amqp_field_value_t *grouped)
{
    int count = 0;

    for (int i = 0; i < earlier->num_entries; i++) {
        const amqp_field_value_t *death = &earlier->entries[i];
        bool seen = false;

        if (death->kind != AMQP_FIELD_KIND_TABLE)
            continue;
        for (int j = 0; j < count && !seen; j++)
            seen = same_death(&grouped[j].value.table, text_under(&death->value.table, "queue"),
                              text_under(&death->value.table, "reason"));
        if (!seen)
            grouped[count++] = *death;
    }
    for (int i = 0; i < count / 2; i++) {
        amqp_field_value_t swapped = grouped[i];

        grouped[i] = grouped[count - 1 - i];
        grouped[count - 1 - i] = swapped;
    }
    return count;
}

static ace_code record_again(ace_table *headers, const amqp_array_t *earlier,
                             const ace_broker_death *death, ace_arena *arena, ace_error **error)
{
    size_t room = (size_t)earlier->num_entries + 1;
    amqp_field_value_t *grouped = ace_arena_take(arena, room * sizeof(*grouped));
    amqp_field_value_t *all = ace_arena_take(arena, room * sizeof(*all));
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_ARRAY};
    amqp_field_value_t front = {.kind = AMQP_FIELD_KIND_TABLE};
    bool known = false;
    int count = 1;

    if (!grouped || !all)
        return ace_fail_memory(error);

    int others = group_earlier(earlier, grouped);

    for (int i = 0; i < others; i++) {
        if (same_death(&grouped[i].value.table, death->queue, ace_bytes_of(death->reason))) {
            front = grouped[i];
            known = true;
        } else {
            all[count++] = grouped[i];
        }
    }
    if (!(known ? count_again(&front.value.table, arena)
                : build_death(death, arena, &front.value.table)))
        return ace_fail_memory(error);
    sort_fields(&front.value.table);
    all[0] = front;
    value.value.array.num_entries = count;
    value.value.array.entries = all;
    return ace_broker_headers_set(headers, "x-death", &value, error);
}

static ace_code record_first(ace_table *headers, const ace_broker_death *death, bool marks,
                             ace_arena *arena, ace_error **error)
{
    amqp_field_value_t front = {.kind = AMQP_FIELD_KIND_TABLE};
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_ARRAY};
    const struct {
        const char *name;
        ace_bytes text;
    } first[] = {{"x-first-death-reason", ace_bytes_of(death->reason)},
                 {"x-first-death-queue", death->queue},
                 {"x-first-death-exchange", death->exchange}};
    ace_code code = ACE_OK;

    if (!build_death(death, arena, &front.value.table))
        return ace_fail_memory(error);
    for (size_t i = 0; marks && code == ACE_OK && i < sizeof(first) / sizeof(first[0]); i++) {
        amqp_field_value_t text = text_value(first[i].text);

        code = ace_broker_headers_set(headers, first[i].name, &text, error);
    }
    value.value.array.num_entries = 1;
    value.value.array.entries = &front;
    return code == ACE_OK ? ace_broker_headers_set(headers, "x-death", &value, error) : code;
}

ace_code ace_broker_x_death_record(ace_table *headers, const ace_broker_death *death,
                                   ace_error **error)
{
    ace_arena arena = ACE_ARENA_INIT;
    const amqp_field_value_t *earlier = ace_table_find(&headers->table, "x-death");
    ace_code code;

    if (!earlier)
        code = record_first(headers, death, true, &arena, error);
    else if (earlier->kind == AMQP_FIELD_KIND_ARRAY)
        code = record_again(headers, &earlier->value.array, death, &arena, error);
    else /* a client made something else of it, which RabbitMQ replaces */
        code = record_first(headers, death, false, &arena, error);
    ace_arena_free(&arena);
    return code;
}

bool ace_broker_x_death_is_cycle(const amqp_table_t *headers, ace_bytes queue)
{
    const amqp_field_value_t *deaths = ace_table_find(headers, "x-death");

    if (!deaths || deaths->kind != AMQP_FIELD_KIND_ARRAY)
        return false;
    for (int i = 0; i < deaths->value.array.num_entries; i++) {
        const amqp_field_value_t *death = &deaths->value.array.entries[i];

        /* What is no table a client has put there, so the way was not automatic. */
        if (death->kind != AMQP_FIELD_KIND_TABLE ||
            ace_bytes_equal_text(text_under(&death->value.table, "reason"), "rejected"))
            return false;
        if (ace_bytes_equal(text_under(&death->value.table, "queue"), queue))
            return true;
    }
    return false;
}
