#include "base/utf8.h"
#include "contract/envelope.h"
#include "contract/limits.h"

#include <limits.h>
#include <string.h>

typedef enum header {
    ID,
    TYPE,
    CORRELATION,
    CAUSATION,
    ORIGIN,
    ERROR,
    CLAIM,
    VERSION,
    ATTEMPT,
    FIRST_SEEN,
    ROUTE,
    ROUTE_POSITION,
    ROUTE_ID,
} header;

static const struct {
    const char *text;
    size_t length;
} names[] = {
    [ID] = {ACE_HEADER_ID, sizeof ACE_HEADER_ID - 1},
    [TYPE] = {ACE_HEADER_TYPE, sizeof ACE_HEADER_TYPE - 1},
    [CORRELATION] = {ACE_HEADER_CORRELATION, sizeof ACE_HEADER_CORRELATION - 1},
    [CAUSATION] = {ACE_HEADER_CAUSATION, sizeof ACE_HEADER_CAUSATION - 1},
    [ORIGIN] = {ACE_HEADER_ORIGIN, sizeof ACE_HEADER_ORIGIN - 1},
    [ERROR] = {ACE_HEADER_ERROR, sizeof ACE_HEADER_ERROR - 1},
    [CLAIM] = {ACE_HEADER_CLAIM, sizeof ACE_HEADER_CLAIM - 1},
    [VERSION] = {ACE_HEADER_VERSION, sizeof ACE_HEADER_VERSION - 1},
    [ATTEMPT] = {ACE_HEADER_ATTEMPT, sizeof ACE_HEADER_ATTEMPT - 1},
    [FIRST_SEEN] = {ACE_HEADER_FIRST_SEEN, sizeof ACE_HEADER_FIRST_SEEN - 1},
    [ROUTE] = {ACE_HEADER_ROUTE, sizeof ACE_HEADER_ROUTE - 1},
    [ROUTE_POSITION] = {ACE_HEADER_ROUTE_POSITION, sizeof ACE_HEADER_ROUTE_POSITION - 1},
    [ROUTE_ID] = {ACE_HEADER_ROUTE_ID, sizeof ACE_HEADER_ROUTE_ID - 1},
};

#define HEADERS (sizeof names / sizeof names[0])

/* Every header that an envelope may have, in the order in which they are written. One that this
 * envelope does not have is of the kind 0, which AMQP does not know. */
static void list_text(amqp_table_entry_t *list, header which, ace_bytes value)
{
    if (value.length > 0) {
        list[which].value.kind = AMQP_FIELD_KIND_UTF8;
        list[which].value.value.bytes = ace_bytes_to_amqp(value);
    }
}

static void list_int32(amqp_table_entry_t *list, header which, int32_t value)
{
    list[which].value.kind = AMQP_FIELD_KIND_I32;
    list[which].value.value.i32 = value;
}

/* The names joined by commas, in memory of the arena. */
static ace_code join_route(const ace_envelope *envelope, ace_arena *arena, ace_bytes *joined,
                           ace_error **error)
{
    size_t length = 0;
    for (size_t i = 0; i < envelope->route_length; i++) {
        length += envelope->route[i].length + 1;
    }
    uint8_t *text = ace_arena_take(arena, length);
    if (text == NULL) {
        return ace_fail_memory(error);
    }
    uint8_t *to = text;
    for (size_t i = 0; i < envelope->route_length; i++) {
        ace_bytes name = envelope->route[i];
        if (i > 0) {
            *to++ = ',';
        }
        if (name.length > 0) {
            memcpy(to, name.data, name.length);
        }
        to += name.length;
    }
    *joined = (ace_bytes){text, (size_t)(to - text)};
    return ACE_OK;
}

static ace_code list_route(amqp_table_entry_t *list, const ace_envelope *envelope, ace_arena *arena,
                           ace_error **error)
{
    ace_bytes joined;
    ace_code code = join_route(envelope, arena, &joined, error);
    if (code == ACE_OK) {
        list_text(list, ROUTE, joined);
        list_int32(list, ROUTE_POSITION, envelope->route_position);
        list_text(list, ROUTE_ID, envelope->route_id);
    }
    return code;
}

static ace_code list_headers(amqp_table_entry_t *list, const ace_envelope *envelope, int64_t now,
                             ace_arena *arena, ace_error **error)
{
    for (size_t i = 0; i < HEADERS; i++) {
        list[i].key =
            ace_bytes_to_amqp((ace_bytes){(const uint8_t *)names[i].text, names[i].length});
        list[i].value.kind = 0;
    }
    list_text(list, ID, envelope->id);
    list_text(list, TYPE, envelope->type);
    list_text(list, CORRELATION, envelope->correlation);
    list_text(list, CAUSATION, envelope->causation);
    list_text(list, ORIGIN, envelope->origin);
    list_text(list, ERROR, envelope->error);
    list_text(list, CLAIM, envelope->claim);
    list_int32(list, VERSION, envelope->version);
    list_int32(list, ATTEMPT, envelope->attempt);
    list[FIRST_SEEN].value.kind = AMQP_FIELD_KIND_I64;
    list[FIRST_SEEN].value.value.i64 = envelope->first_seen > 0 ? envelope->first_seen : now;
    return envelope->route_length == 0 ? ACE_OK : list_route(list, envelope, arena, error);
}

static ace_code write_entry(const amqp_table_entry_t *entry, ace_table *table, ace_error **error)
{
    ace_bytes name = ace_bytes_from_amqp(entry->key);
    if (entry->value.kind == 0) {
        (void)ace_table_remove_bytes(table, name);
        return ACE_OK;
    }
    return ace_table_set(table, name, &entry->value, error);
}

ace_code ace_envelope_write(const ace_envelope *envelope, int64_t now, ace_table *table,
                            ace_error **error)
{
    amqp_table_entry_t list[HEADERS];
    bool refused = table->refuses_reserved;
    table->refuses_reserved = false;
    ace_code code = list_headers(list, envelope, now, &table->arena, error);
    for (size_t i = 0; code == ACE_OK && i < HEADERS; i++) {
        code = write_entry(&list[i], table, error);
    }
    table->refuses_reserved = refused;
    return code;
}

ace_code ace_envelope_append(const ace_envelope *envelope, int64_t now, ace_table *table,
                             ace_error **error)
{
    int count = table->table.num_entries;
    if (count > INT_MAX - (int)HEADERS) {
        return ace_fail(error, ACE_LIMIT, "a table holds no more than %d entries", INT_MAX);
    }
    ace_code code = ace_table_reserve(table, count + (int)HEADERS, error);
    if (code != ACE_OK) {
        return code;
    }
    amqp_table_entry_t *list = table->table.entries + count;
    code = list_headers(list, envelope, now, &table->arena, error);
    for (size_t i = 0; code == ACE_OK && i < HEADERS; i++) {
        if (list[i].value.kind != 0) {
            table->table.entries[table->table.num_entries++] = list[i];
        }
    }
    return code;
}

static ace_code refuse(ace_error **error, ace_code code, const char *field, long long limit,
                       const char *what)
{
    ace_fail(error, code, "%s %s", field, what);
    ace_error_field(error, field, limit);
    return code;
}

static ace_code check_texts(const ace_envelope *envelope, ace_error **error)
{
    const struct {
        const char *field;
        ace_bytes value;
    } texts[] = {
        {"type", envelope->type},           {"correlation", envelope->correlation},
        {"causation", envelope->causation}, {"origin", envelope->origin},
        {"error", envelope->error},         {"claim", envelope->claim},
        {"route id", envelope->route_id},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!ace_utf8_is_valid((const char *)texts[i].value.data, texts[i].value.length)) {
            return refuse(error, ACE_INVALID_ARGUMENT, texts[i].field, 0, "is not UTF-8");
        }
    }
    return ACE_OK;
}

static ace_code check_step(ace_bytes name, ace_error **error)
{
    if (name.length == 0 || name.data[0] == ' ' || name.data[name.length - 1] == ' ') {
        return refuse(error, ACE_INVALID_ARGUMENT, "route", 0,
                      "has a step that is blank or has spaces around it");
    }
    if (memchr(name.data, ',', name.length) != NULL) {
        return refuse(error, ACE_INVALID_ARGUMENT, "route", 0, "has a comma in a step");
    }
    if (!ace_utf8_is_valid((const char *)name.data, name.length)) {
        return refuse(error, ACE_INVALID_ARGUMENT, "route", 0, "is not UTF-8");
    }
    return ACE_OK;
}

ace_code ace_envelope_check(const ace_envelope *envelope, ace_error **error)
{
    if (envelope->version < 1) {
        return refuse(error, ACE_LIMIT, "version", 1, "is below 1");
    }
    if (envelope->attempt < 1) {
        return refuse(error, ACE_LIMIT, "attempt", 1, "is below 1");
    }
    if (envelope->route_position < 0) {
        return refuse(error, ACE_LIMIT, "route position", 0, "is below 0");
    }
    ace_code code = ace_name_check("message id", envelope->id, error);
    if (code == ACE_OK && !envelope->texts_are_known) {
        code = check_texts(envelope, error);
    }
    for (size_t i = 0; code == ACE_OK && i < envelope->route_length; i++) {
        code = check_step(envelope->route[i], error);
    }
    return code;
}
