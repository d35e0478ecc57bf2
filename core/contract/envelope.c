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

/* The headers that are read, by the lengths of their names. */
typedef enum known_header {
    KNOWN_ID,
    KNOWN_TYPE,
    KNOWN_ERROR,
    KNOWN_CLAIM,
    KNOWN_ROUTE,
    KNOWN_ORIGIN,
    KNOWN_REPLY_TO,
    KNOWN_ATTEMPT,
    KNOWN_VERSION,
    KNOWN_ROUTE_ID,
    KNOWN_CAUSATION,
    KNOWN_REPLAYED_AT,
    KNOWN_FIRST_SEEN,
    KNOWN_REPLAY_COUNT,
    KNOWN_CORRELATION,
    KNOWN_REPLAYED_FROM,
    KNOWN_ROUTE_POSITION,
    KNOWN_COUNT, /* none of them */
} known_header;

typedef const amqp_field_value_t *known_values[KNOWN_COUNT]; /* NULL: absent */

static known_header known_header_of(amqp_bytes_t name)
{
    static const struct {
        size_t length;
        const char *text;
    } known[KNOWN_COUNT] = {
        [KNOWN_ID] = {sizeof ACE_HEADER_ID - 1, ACE_HEADER_ID},
        [KNOWN_TYPE] = {sizeof ACE_HEADER_TYPE - 1, ACE_HEADER_TYPE},
        [KNOWN_ERROR] = {sizeof ACE_HEADER_ERROR - 1, ACE_HEADER_ERROR},
        [KNOWN_CLAIM] = {sizeof ACE_HEADER_CLAIM - 1, ACE_HEADER_CLAIM},
        [KNOWN_ROUTE] = {sizeof ACE_HEADER_ROUTE - 1, ACE_HEADER_ROUTE},
        [KNOWN_ORIGIN] = {sizeof ACE_HEADER_ORIGIN - 1, ACE_HEADER_ORIGIN},
        [KNOWN_REPLY_TO] = {sizeof ACE_HEADER_REPLY_TO - 1, ACE_HEADER_REPLY_TO},
        [KNOWN_ATTEMPT] = {sizeof ACE_HEADER_ATTEMPT - 1, ACE_HEADER_ATTEMPT},
        [KNOWN_VERSION] = {sizeof ACE_HEADER_VERSION - 1, ACE_HEADER_VERSION},
        [KNOWN_ROUTE_ID] = {sizeof ACE_HEADER_ROUTE_ID - 1, ACE_HEADER_ROUTE_ID},
        [KNOWN_CAUSATION] = {sizeof ACE_HEADER_CAUSATION - 1, ACE_HEADER_CAUSATION},
        [KNOWN_REPLAYED_AT] = {sizeof ACE_HEADER_REPLAYED_AT - 1, ACE_HEADER_REPLAYED_AT},
        [KNOWN_FIRST_SEEN] = {sizeof ACE_HEADER_FIRST_SEEN - 1, ACE_HEADER_FIRST_SEEN},
        [KNOWN_REPLAY_COUNT] = {sizeof ACE_HEADER_REPLAY_COUNT - 1, ACE_HEADER_REPLAY_COUNT},
        [KNOWN_CORRELATION] = {sizeof ACE_HEADER_CORRELATION - 1, ACE_HEADER_CORRELATION},
        [KNOWN_REPLAYED_FROM] = {sizeof ACE_HEADER_REPLAYED_FROM - 1, ACE_HEADER_REPLAYED_FROM},
        [KNOWN_ROUTE_POSITION] = {sizeof ACE_HEADER_ROUTE_POSITION - 1, ACE_HEADER_ROUTE_POSITION},
    };
    /* The first of that length; for a length that none has, one that does not have it either. */
    static const uint8_t first[sizeof ACE_HEADER_ROUTE_POSITION] = {
        [sizeof ACE_HEADER_TYPE - 1] = KNOWN_TYPE,
        [sizeof ACE_HEADER_ERROR - 1] = KNOWN_ERROR,
        [sizeof ACE_HEADER_ORIGIN - 1] = KNOWN_ORIGIN,
        [sizeof ACE_HEADER_ATTEMPT - 1] = KNOWN_ATTEMPT,
        [sizeof ACE_HEADER_ROUTE_ID - 1] = KNOWN_ROUTE_ID,
        [sizeof ACE_HEADER_CAUSATION - 1] = KNOWN_CAUSATION,
        [sizeof ACE_HEADER_FIRST_SEEN - 1] = KNOWN_FIRST_SEEN,
        [sizeof ACE_HEADER_CORRELATION - 1] = KNOWN_CORRELATION,
        [sizeof ACE_HEADER_ROUTE_POSITION - 1] = KNOWN_ROUTE_POSITION,
    };
    if (name.len >= sizeof first) {
        return KNOWN_COUNT;
    }
    for (int i = first[name.len]; i < KNOWN_COUNT && known[i].length == name.len; i++) {
        if (memcmp(known[i].text, name.bytes, name.len) == 0) {
            return (known_header)i;
        }
    }
    return KNOWN_COUNT;
}

/* Of two headers of one name the first counts. */
static void find_known(const amqp_table_t *headers, known_values values)
{
    for (int i = 0; headers != NULL && i < headers->num_entries; i++) {
        const amqp_table_entry_t *entry = &headers->entries[i];
        known_header header = known_header_of(entry->key);
        if (header != KNOWN_COUNT && values[header] == NULL) {
            values[header] = &entry->value;
        }
    }
}

static ace_bytes text_of(const amqp_field_value_t *value)
{
    ace_bytes text = {NULL, 0};
    if (value != NULL) { /* asked here, since most are absent */
        ace_value_text(value, &text);
    }
    return text;
}

static int32_t count_of(const amqp_field_value_t *value, int32_t least)
{
    int64_t count = least;
    bool reads = value != NULL && ace_value_integer(value, least, INT32_MAX, &count);
    return reads ? (int32_t)count : least;
}

static ace_bytes or_else(ace_bytes text, ace_bytes fallback)
{
    return text.length > 0 ? text : fallback;
}

/* Of a property that is not UTF-8 nothing is taken: it would not read as text anywhere. */
static ace_bytes readable(ace_bytes text)
{
    bool reads = text.length > 0 && ace_utf8_is_valid((const char *)text.data, text.length);
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

static ace_code read_route(const known_values values, ace_arena *arena, ace_envelope *envelope,
                           ace_error **error)
{
    ace_bytes text = text_of(values[KNOWN_ROUTE]);
    size_t count = text.length == 0 ? 0 : split_route(text, NULL);
    if (count == 0) {
        return ACE_OK;
    }
    ace_bytes *names = ace_arena_take(arena, count * sizeof *names);
    if (names == NULL) {
        return ace_fail_memory(error);
    }
    envelope->route = names;
    envelope->route_length = split_route(text, names);
    envelope->route_position = count_of(values[KNOWN_ROUTE_POSITION], 0);
    envelope->route_id = text_of(values[KNOWN_ROUTE_ID]);
    return ACE_OK;
}

/* What other headers and properties stand in for is looked at only when it is missing. */
static void read_identity(const ace_arrival *arrival, const known_values values,
                          ace_envelope *envelope)
{
    ace_bytes id = text_of(values[KNOWN_ID]);
    if (id.length == 0) {
        id = readable(arrival->message_id);
    }
    envelope->id_unstable = id.length == 0;
    envelope->id = or_else(id, arrival->fallback_id);
    ace_bytes type = text_of(values[KNOWN_TYPE]);
    if (type.length == 0) {
        type = or_else(readable(arrival->routing_key), ace_bytes_of(default_type));
    }
    envelope->type = type;
    envelope->correlation = or_else(text_of(values[KNOWN_CORRELATION]), envelope->id);
    envelope->causation = text_of(values[KNOWN_CAUSATION]);
    envelope->origin = text_of(values[KNOWN_ORIGIN]);
}

static void read_replay(const ace_arrival *arrival, const known_values values,
                        ace_envelope *envelope)
{
    envelope->replayed_from = text_of(values[KNOWN_REPLAYED_FROM]);
    envelope->replayed_at_known =
        values[KNOWN_REPLAYED_AT] != NULL &&
        ace_value_replayed_at(values[KNOWN_REPLAYED_AT], &envelope->replayed_at);
    envelope->replay_count = count_of(values[KNOWN_REPLAY_COUNT], 0);
    envelope->reply_to = or_else(text_of(values[KNOWN_REPLY_TO]), readable(arrival->reply_to));
}

ace_code ace_envelope_read(const ace_arrival *arrival, ace_arena *arena, ace_envelope *envelope,
                           ace_error **error)
{
    known_values values = {NULL};
    find_known(arrival->headers, values);
    ace_envelope_init(envelope);
    read_identity(arrival, values, envelope);
    read_replay(arrival, values, envelope);
    envelope->version = count_of(values[KNOWN_VERSION], 1);
    envelope->attempt = count_of(values[KNOWN_ATTEMPT], 1);
    ace_value_integer(values[KNOWN_FIRST_SEEN], 1, INT64_MAX, &envelope->first_seen);
    envelope->error = text_of(values[KNOWN_ERROR]);
    envelope->claim = text_of(values[KNOWN_CLAIM]);
    return read_route(values, arena, envelope, error);
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
