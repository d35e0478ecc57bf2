/* Tables, envelopes and messages as JSON. */
#include "protocol.h"

#include <stdlib.h>

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

json_t *table_json(const acemq_table *table, int typed)
{
    char *text = NULL;
    if (acemq_table_format_json(table, typed, &text, NULL) != ACEMQ_OK) {
        return json_null();
    }
    json_t *object = json_loads(text, JSON_ALLOW_NUL, NULL);
    acemq_free(text);
    return object ? object : json_null();
}

static void set_route(json_t *object, const acemq_envelope *envelope)
{
    size_t steps = acemq_envelope_route_count(envelope);
    json_t *route = steps > 0 ? json_array() : json_null();
    for (size_t step = 0; step < steps; step++) {
        json_array_append_new(route, json_string(acemq_envelope_route_step(envelope, step)));
    }
    json_object_set_new(object, "route", route);
    json_object_set_new(object, "routePosition",
                        steps > 0 ? json_integer(acemq_envelope_route_position(envelope))
                                  : json_null());
    json_object_set_new(object, "routeId", text_or_null(acemq_envelope_route_id(envelope)));
}

static json_t *time_or_null(int known, int64_t milliseconds)
{
    return known ? json_integer(milliseconds) : json_null();
}

json_t *envelope_json(const acemq_envelope *envelope)
{
    int64_t replayed = 0, seen = acemq_envelope_first_seen(envelope);
    int was_replayed = acemq_envelope_replayed_at(envelope, &replayed);
    json_t *object = json_pack(
        "{s:s,s:s,s:i,s:s,s:o,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:i,s:o}", "id",
        acemq_envelope_id(envelope), "type", acemq_envelope_type(envelope), "version",
        (int)acemq_envelope_version(envelope), "correlation", acemq_envelope_correlation(envelope),
        "causation", text_or_null(acemq_envelope_causation(envelope)), "attempt",
        (int)acemq_envelope_attempt(envelope), "firstSeen", time_or_null(seen > 0, seen), "origin",
        text_or_null(acemq_envelope_origin(envelope)), "error",
        text_or_null(acemq_envelope_error(envelope)), "claim",
        text_or_null(acemq_envelope_claim(envelope)), "replayedFrom",
        text_or_null(acemq_envelope_replayed_from(envelope)), "replayedAt",
        time_or_null(was_replayed, replayed), "replayCount",
        (int)acemq_envelope_replay_count(envelope), "replyTo",
        text_or_null(acemq_envelope_reply_to(envelope)));
    set_route(object, envelope);
    return object;
}

static json_t *properties_json(const acemq_delivery *delivery)
{
    static const struct {
        const char *name;
        acemq_property property;
        int number;
    } all[] = {
        {"messageId", ACEMQ_PROPERTY_MESSAGE_ID, 0},
        {"contentType", ACEMQ_PROPERTY_CONTENT_TYPE, 0},
        {"contentEncoding", ACEMQ_PROPERTY_CONTENT_ENCODING, 0},
        {"deliveryMode", ACEMQ_PROPERTY_DELIVERY_MODE, 1},
        {"priority", ACEMQ_PROPERTY_PRIORITY, 1},
        {"replyTo", ACEMQ_PROPERTY_REPLY_TO, 0},
        {"correlationId", ACEMQ_PROPERTY_CORRELATION_ID, 0},
        {"type", ACEMQ_PROPERTY_TYPE, 0},
        {"timestamp", ACEMQ_PROPERTY_TIMESTAMP, 1},
        {"appId", ACEMQ_PROPERTY_APP_ID, 0},
    };
    json_t *properties = json_object();
    for (size_t index = 0; index < sizeof all / sizeof all[0]; index++) {
        int64_t number = 0;
        int known = acemq_delivery_property_number(delivery, all[index].property, &number);
        json_t *value = all[index].number
                            ? time_or_null(known, number)
                            : text_or_null(acemq_delivery_property(delivery, all[index].property));
        json_object_set_new(properties, all[index].name, value);
    }
    return properties;
}

json_t *delivery_json(const acemq_delivery *delivery)
{
    acemq_bytes body = acemq_delivery_body(delivery);
    json_t *message = json_pack(
        "{s:o,s:o,s:o}", "envelope", envelope_json(acemq_delivery_envelope(delivery)), "headers",
        table_json(acemq_delivery_headers(delivery), 0), "properties", properties_json(delivery));
    set_body(message, body.data, body.length);
    return message;
}
