#include "json_message.h"

#include "base64.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static void write_route(cli_json *json, const acemq_envelope *envelope)
{
    size_t count = acemq_envelope_route_count(envelope);
    cli_json_name(json, "route");
    if (count == 0) {
        cli_json_null(json);
    } else {
        cli_json_array(json);
        for (size_t i = 0; i < count; i++) {
            cli_json_text(json, acemq_envelope_route_step(envelope, i));
        }
        cli_json_end_array(json);
    }
    cli_json_name(json, "routePosition");
    if (count == 0) {
        cli_json_null(json);
    } else {
        cli_json_integer(json, acemq_envelope_route_position(envelope));
    }
    cli_json_member_text(json, "routeId", acemq_envelope_route_id(envelope));
}

static void write_time(cli_json *json, const char *name, bool known, int64_t milliseconds)
{
    cli_json_name(json, name);
    if (known) {
        cli_json_integer(json, milliseconds);
    } else {
        cli_json_null(json);
    }
}

void cli_json_envelope(cli_json *json, const acemq_envelope *envelope)
{
    int64_t first_seen = acemq_envelope_first_seen(envelope);
    int64_t replayed_at = 0;
    bool replayed = acemq_envelope_replayed_at(envelope, &replayed_at) != 0;
    cli_json_object(json);
    cli_json_member_text(json, "id", acemq_envelope_id(envelope));
    cli_json_member_text(json, "type", acemq_envelope_type(envelope));
    cli_json_member_integer(json, "version", acemq_envelope_version(envelope));
    cli_json_member_text(json, "correlation", acemq_envelope_correlation(envelope));
    cli_json_member_text(json, "causation", acemq_envelope_causation(envelope));
    cli_json_member_integer(json, "attempt", acemq_envelope_attempt(envelope));
    write_time(json, "firstSeen", first_seen > 0, first_seen);
    cli_json_member_text(json, "origin", acemq_envelope_origin(envelope));
    cli_json_member_text(json, "error", acemq_envelope_error(envelope));
    cli_json_member_text(json, "claim", acemq_envelope_claim(envelope));
    write_route(json, envelope);
    cli_json_member_text(json, "replayedFrom", acemq_envelope_replayed_from(envelope));
    write_time(json, "replayedAt", replayed, replayed_at);
    cli_json_member_integer(json, "replayCount", acemq_envelope_replay_count(envelope));
    cli_json_member_text(json, "replyTo", acemq_envelope_reply_to(envelope));
    cli_json_end_object(json);
}

static const struct {
    const char *name;
    acemq_property property;
    bool is_number;
} properties[] = {
    {"messageId", ACEMQ_PROPERTY_MESSAGE_ID, false},
    {"contentType", ACEMQ_PROPERTY_CONTENT_TYPE, false},
    {"contentEncoding", ACEMQ_PROPERTY_CONTENT_ENCODING, false},
    {"deliveryMode", ACEMQ_PROPERTY_DELIVERY_MODE, true},
    {"priority", ACEMQ_PROPERTY_PRIORITY, true},
    {"replyTo", ACEMQ_PROPERTY_REPLY_TO, false},
    {"correlationId", ACEMQ_PROPERTY_CORRELATION_ID, false},
    {"type", ACEMQ_PROPERTY_TYPE, false},
    {"timestamp", ACEMQ_PROPERTY_TIMESTAMP, true},
    {"appId", ACEMQ_PROPERTY_APP_ID, false},
};

static const size_t property_count = sizeof properties / sizeof properties[0];

static void write_properties(cli_json *json, const acemq_delivery *delivery)
{
    cli_json_object(json);
    for (size_t i = 0; i < property_count; i++) {
        int64_t number;
        cli_json_name(json, properties[i].name);
        if (!properties[i].is_number) {
            cli_json_text(json, acemq_delivery_property(delivery, properties[i].property));
        } else if (acemq_delivery_property_number(delivery, properties[i].property, &number)) {
            cli_json_integer(json, number);
        } else {
            cli_json_null(json);
        }
    }
    cli_json_end_object(json);
}

static void write_body(cli_json *json, const acemq_delivery *delivery)
{
    acemq_bytes body = acemq_delivery_body(delivery);
    if (cli_utf8_is_valid(body.data, body.length)) {
        cli_json_name(json, "body");
        cli_json_bytes(json, body.data, body.length);
    } else {
        cli_json_name(json, "bodyBase64");
        cli_json_base64(json, body.data, body.length);
    }
}

void cli_json_delivery(cli_json *json, const acemq_delivery *delivery)
{
    cli_json_object(json);
    cli_json_name(json, "envelope");
    cli_json_envelope(json, acemq_delivery_envelope(delivery));
    cli_json_name(json, "headers");
    cli_json_table(json, acemq_delivery_headers(delivery), false);
    cli_json_name(json, "properties");
    write_properties(json, delivery);
    write_body(json, delivery);
    cli_json_end_object(json);
}

void cli_json_export(cli_json *json, const acemq_delivery *delivery)
{
    cli_json_object(json);
    cli_json_name(json, "properties");
    write_properties(json, delivery);
    cli_json_name(json, "headers");
    cli_json_table(json, acemq_delivery_all_headers(delivery), true);
    write_body(json, delivery);
    cli_json_end_object(json);
}

static acemq_message *of_base64(const json_t *text, const acemq_table *headers)
{
    size_t length;
    uint8_t *bytes = cli_base64_read(json_string_value(text), json_string_length(text), &length);
    acemq_message *message = bytes == NULL ? NULL : acemq_message_verbatim(bytes, length, headers);
    free(bytes);
    return message;
}

static acemq_message *make_message(acemq_bytes object, const acemq_table *headers, cli_fault *fault)
{
    acemq_message *message = NULL;
    json_t *body = cli_json_member_value(object, "body", fault);
    json_t *base64 = NULL;
    if (fault->text[0] == '\0') {
        base64 = cli_json_member_value(object, "bodyBase64", fault);
    }
    if (json_is_string(body) && base64 == NULL) {
        message =
            acemq_message_verbatim(json_string_value(body), json_string_length(body), headers);
    } else if (json_is_string(base64) && body == NULL) {
        message = of_base64(base64, headers);
    }
    json_decref(body);
    json_decref(base64);
    if (message == NULL && fault->text[0] == '\0') {
        snprintf(fault->text, sizeof fault->text,
                 "expected either a string body, or a bodyBase64 in base64");
    }
    return message;
}

/* Those that have a function of their own have it on every message. */
static void set_number(acemq_message *message, acemq_property property, int64_t number)
{
    if (property == ACEMQ_PROPERTY_PRIORITY) {
        acemq_message_set_priority(message, number < 0 || number > 255 ? 256 : (int)number);
    } else if (property != ACEMQ_PROPERTY_DELIVERY_MODE) {
        acemq_message_set_property_number(message, property, number);
    } else if (number == 1) {
        acemq_message_set_transient(message);
    }
}

static void set_text(acemq_message *message, acemq_property property, const char *text)
{
    if (property == ACEMQ_PROPERTY_CONTENT_TYPE) {
        acemq_message_set_content_type(message, text);
    } else if (property == ACEMQ_PROPERTY_REPLY_TO) {
        acemq_message_set_reply_to(message, text);
    } else {
        acemq_message_set_property(message, property, text);
    }
}

static bool set_properties(acemq_message *message, const json_t *given, cli_fault *fault)
{
    for (size_t i = 0; i < property_count; i++) {
        const json_t *value = json_object_get(given, properties[i].name);
        if (value == NULL || json_is_null(value)) {
            continue;
        }
        if (properties[i].is_number && json_is_integer(value)) {
            set_number(message, properties[i].property, json_integer_value(value));
        } else if (!properties[i].is_number && json_is_string(value)) {
            set_text(message, properties[i].property, json_string_value(value));
        } else {
            snprintf(fault->text, sizeof fault->text, "properties.%s: expected %s",
                     properties[i].name, properties[i].is_number ? "an integer" : "a string");
            return false;
        }
    }
    return true;
}

static bool is_whole(const acemq_message *message, cli_fault *fault)
{
    acemq_error *error = NULL;
    if (acemq_message_check(message, &error) == ACEMQ_OK) {
        return true;
    }
    snprintf(fault->text, sizeof fault->text, "%s", acemq_error_message(error));
    acemq_error_free(error);
    return false;
}

static bool finish(acemq_message *message, acemq_bytes object, cli_fault *fault)
{
    json_t *given = cli_json_member_value(object, "properties", fault);
    bool good = fault->text[0] == '\0' && set_properties(message, given, fault);
    json_decref(given);
    return good && is_whole(message, fault);
}

acemq_message *cli_json_import(acemq_bytes object, cli_fault *fault)
{
    acemq_table *headers = cli_json_member_table(object, "headers", fault);
    acemq_message *message = headers == NULL ? NULL : make_message(object, headers, fault);
    acemq_table_free(headers);
    if (message != NULL && !finish(message, object, fault)) {
        acemq_message_free(message);
        message = NULL;
    }
    return message;
}
