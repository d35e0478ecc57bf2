#include "contract/envelope.h"

#include "base/utf8.h"
#include "contract/value.h"

#include <string.h>

static const char default_type[] = "message";

void ace_envelope_init(ace_envelope *envelope)
{
    *envelope = (ace_envelope){.version = 1, .attempt = 1};
}

const amqp_table_entry_t *ace_application_header_next(const amqp_table_t *headers, int *position)
{
    while (headers != NULL && *position < headers->num_entries) {
        const amqp_table_entry_t *entry = &headers->entries[(*position)++];
        if (!ace_header_is_reserved(ace_bytes_from_amqp(entry->key))) {
            return entry;
        }
    }
    return NULL;
}

static ace_bytes text_of(const amqp_table_t *headers, const char *name)
{
    ace_bytes text = {NULL, 0};
    ace_value_text(ace_table_find(headers, name), &text);
    return text;
}

static int32_t count_of(const amqp_table_t *headers, const char *name, int32_t least)
{
    int64_t value = least;
    if (!ace_value_integer(ace_table_find(headers, name), least, INT32_MAX, &value)) {
        return least;
    }
    return (int32_t)value;
}

static ace_bytes or_else(ace_bytes text, ace_bytes fallback)
{
    return text.length > 0 ? text : fallback;
}

/* Of a property that is not UTF-8 nothing is taken: it would not read as text anywhere. */
static ace_bytes readable(ace_bytes text)
{
    bool reads = ace_utf8_is_valid((const char *)text.data, text.length);
    return reads ? text : (ace_bytes){NULL, 0};
}

/* The names of a route's text, trimmed, blank ones left out. `names` NULL: only counts. */
static size_t split_route(ace_bytes text, ace_bytes *names)
{
    size_t count = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.length; i++) {
        if (i < text.length && text.data[i] != ',') {
            continue;
        }
        size_t from = start;
        size_t to = i;
        while (from < to && text.data[from] == ' ') {
            from++;
        }
        while (to > from && text.data[to - 1] == ' ') {
            to--;
        }
        if (from < to && names != NULL) {
            names[count] = (ace_bytes){text.data + from, to - from};
        }
        count += from < to ? 1 : 0;
        start = i + 1;
    }
    return count;
}

static ace_code read_route(const amqp_table_t *headers, ace_arena *arena, ace_envelope *envelope,
                           ace_error **error)
{
    ace_bytes text = text_of(headers, ACE_HEADER_ROUTE);
    size_t count = split_route(text, NULL);
    if (count == 0) {
        return ACE_OK;
    }
    ace_bytes *names = ace_arena_take(arena, count * sizeof *names);
    if (names == NULL) {
        return ace_fail_memory(error);
    }
    envelope->route = names;
    envelope->route_length = split_route(text, names);
    envelope->route_position = count_of(headers, ACE_HEADER_ROUTE_POSITION, 0);
    envelope->route_id = text_of(headers, ACE_HEADER_ROUTE_ID);
    return ACE_OK;
}

static void read_identity(const ace_arrival *arrival, ace_envelope *envelope)
{
    const amqp_table_t *headers = arrival->headers;
    ace_bytes id = or_else(text_of(headers, ACE_HEADER_ID), readable(arrival->message_id));
    envelope->id_unstable = id.length == 0;
    envelope->id = or_else(id, arrival->fallback_id);
    ace_bytes type = or_else(text_of(headers, ACE_HEADER_TYPE), readable(arrival->routing_key));
    envelope->type = or_else(type, ace_bytes_of(default_type));
    envelope->correlation = or_else(text_of(headers, ACE_HEADER_CORRELATION), envelope->id);
    envelope->causation = text_of(headers, ACE_HEADER_CAUSATION);
    envelope->origin = text_of(headers, ACE_HEADER_ORIGIN);
}

static void read_replay(const ace_arrival *arrival, ace_envelope *envelope)
{
    const amqp_table_t *headers = arrival->headers;
    envelope->replayed_from = text_of(headers, ACE_HEADER_REPLAYED_FROM);
    envelope->replayed_at_known = ace_value_replayed_at(
        ace_table_find(headers, ACE_HEADER_REPLAYED_AT), &envelope->replayed_at);
    envelope->replay_count = count_of(headers, ACE_HEADER_REPLAY_COUNT, 0);
    envelope->reply_to =
        or_else(text_of(headers, ACE_HEADER_REPLY_TO), readable(arrival->reply_to));
}

ace_code ace_envelope_read(const ace_arrival *arrival, ace_arena *arena, ace_envelope *envelope,
                           ace_error **error)
{
    const amqp_table_t *headers = arrival->headers;
    ace_envelope_init(envelope);
    read_identity(arrival, envelope);
    read_replay(arrival, envelope);
    envelope->version = count_of(headers, ACE_HEADER_VERSION, 1);
    envelope->attempt = count_of(headers, ACE_HEADER_ATTEMPT, 1);
    ace_value_integer(ace_table_find(headers, ACE_HEADER_FIRST_SEEN), 1, INT64_MAX,
                      &envelope->first_seen);
    envelope->error = text_of(headers, ACE_HEADER_ERROR);
    envelope->claim = text_of(headers, ACE_HEADER_CLAIM);
    return read_route(headers, arena, envelope, error);
}

void ace_envelope_complete(ace_envelope *envelope, ace_bytes routing_key, ace_bytes new_id,
                           ace_bytes origin, int64_t now)
{
    envelope->id = or_else(envelope->id, new_id);
    envelope->type = or_else(envelope->type, routing_key);
    envelope->type = or_else(envelope->type, ace_bytes_of(default_type));
    envelope->correlation = or_else(envelope->correlation, envelope->id);
    envelope->origin = or_else(envelope->origin, origin);
    if (envelope->first_seen <= 0) {
        envelope->first_seen = now;
    }
}

void ace_envelope_causing(const ace_envelope *parent, ace_bytes new_id, ace_envelope *child)
{
    ace_bytes correlation = or_else(parent->correlation, parent->id);
    ace_bytes causation = parent->id;
    ace_envelope_init(child);
    child->id = new_id;
    child->correlation = correlation;
    child->causation = causation;
}
