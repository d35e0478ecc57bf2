#include "base/utf8.h"
#include "contract/envelope.h"
#include "contract/limits.h"

#include <inttypes.h>
#include <string.h>

static ace_code write_text(ace_table *table, const char *name, ace_bytes value, ace_error **error)
{
    if (value.length == 0) {
        ace_table_remove(table, name);
        return ACE_OK;
    }
    return ace_table_set_longstr(table, name, value, error);
}

static ace_code write_route_names(const ace_envelope *envelope, ace_table *table, ace_error **error)
{
    ace_buffer joined = ACE_BUFFER_INIT;
    bool good = true;
    for (size_t i = 0; good && i < envelope->route_length; i++) {
        ace_bytes name = envelope->route[i];
        good = (i == 0 || ace_buffer_append(&joined, ",", 1)) &&
               ace_buffer_append(&joined, name.data, name.length);
    }
    const char *kept = NULL; /* by the table, which may borrow what it is given */
    if (good) {
        kept = ace_arena_text(&table->arena, (const char *)joined.data, joined.length);
    }
    ace_code code = kept == NULL
                        ? ace_fail_memory(error)
                        : write_text(table, ACE_HEADER_ROUTE,
                                     (ace_bytes){(const uint8_t *)kept, joined.length}, error);
    ace_buffer_free(&joined);
    return code;
}

static ace_code write_route(const ace_envelope *envelope, ace_table *table, ace_error **error)
{
    if (envelope->route_length == 0) {
        ace_table_remove(table, ACE_HEADER_ROUTE);
        ace_table_remove(table, ACE_HEADER_ROUTE_POSITION);
        ace_table_remove(table, ACE_HEADER_ROUTE_ID);
        return ACE_OK;
    }
    ace_code code = write_route_names(envelope, table, error);
    if (code == ACE_OK) {
        code =
            ace_table_set_int32(table, ACE_HEADER_ROUTE_POSITION, envelope->route_position, error);
    }
    return code == ACE_OK ? write_text(table, ACE_HEADER_ROUTE_ID, envelope->route_id, error)
                          : code;
}

static ace_code write_texts(const ace_envelope *envelope, ace_table *table, ace_error **error)
{
    const struct {
        const char *name;
        ace_bytes value;
    } texts[] = {
        {ACE_HEADER_ID, envelope->id},
        {ACE_HEADER_TYPE, envelope->type},
        {ACE_HEADER_CORRELATION, envelope->correlation},
        {ACE_HEADER_CAUSATION, envelope->causation},
        {ACE_HEADER_ORIGIN, envelope->origin},
        {ACE_HEADER_ERROR, envelope->error},
        {ACE_HEADER_CLAIM, envelope->claim},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ace_code code = write_text(table, texts[i].name, texts[i].value, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

static ace_code write_all(const ace_envelope *envelope, int64_t now, ace_table *table,
                          ace_error **error)
{
    int64_t first_seen = envelope->first_seen > 0 ? envelope->first_seen : now;
    ace_code code = write_texts(envelope, table, error);
    if (code == ACE_OK) {
        code = ace_table_set_int32(table, ACE_HEADER_VERSION, envelope->version, error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_int32(table, ACE_HEADER_ATTEMPT, envelope->attempt, error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_int64(table, ACE_HEADER_FIRST_SEEN, first_seen, error);
    }
    return code == ACE_OK ? write_route(envelope, table, error) : code;
}

ace_code ace_envelope_write(const ace_envelope *envelope, int64_t now, ace_table *table,
                            ace_error **error)
{
    bool refused = table->refuses_reserved;
    table->refuses_reserved = false;
    ace_code code = write_all(envelope, now, table, error);
    table->refuses_reserved = refused;
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
    if (code == ACE_OK) {
        code = check_texts(envelope, error);
    }
    for (size_t i = 0; code == ACE_OK && i < envelope->route_length; i++) {
        code = check_step(envelope->route[i], error);
    }
    return code;
}
