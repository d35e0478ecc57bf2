#include "message.h"

#include "arguments.h"
#include "base/utf8.h"
#include "codec/builtin.h"
#include "codec/codec.h"
#include "codec/msgpack.h"
#include "engine/delivery.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

ace_body *ace_body_keep(ace_body *body)
{
    atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    return body;
}

void ace_body_release(ace_body *body)
{
    if (body != NULL &&
        atomic_fetch_sub_explicit(&body->references, 1, memory_order_acq_rel) == 1) {
        free(body->block);
    }
}

void ace_message_keep(acemq_message *message, ace_error *error)
{
    if (message->error == NULL) {
        message->error = error;
    } else {
        ace_error_free(error);
    }
}

void ace_message_fail(acemq_message *message, ace_code code, const char *field, const char *why)
{
    ace_error *error = NULL;
    ace_fail(&error, code, "%s %s", field, why);
    ace_error_field(&error, field, 0);
    ace_message_keep(message, error);
}

static acemq_message *make(const void *data, size_t length, const char *content_type)
{
    size_t held = data == NULL ? 0 : length;
    size_t head = sizeof(acemq_message) + sizeof(ace_body);
    acemq_message *message = held > SIZE_MAX - head ? NULL : malloc(head + held);
    if (message == NULL) {
        return NULL;
    }
    ace_body *body = (ace_body *)(message + 1);
    *message = (acemq_message){.body = body,
                               .headers.refuses_reserved = true,
                               .usual_type = content_type,
                               .version = 1,
                               .priority = -1,
                               .expiration = -1,
                               .timestamp = -1};
    atomic_init(&body->references, 1);
    body->block = message;
    body->length = held;
    if (held > 0) {
        memcpy(body->data, data, held);
    }
    if (data == NULL && length > 0) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "body", "is NULL and has a length");
    }
    return message;
}

static acemq_message *make_checked(const void *data, size_t length, const char *content_type,
                                   ace_code (*check)(ace_bytes body, ace_error **error))
{
    acemq_message *message = make(data, length, content_type);
    if (message == NULL || message->error != NULL) {
        return message;
    }
    if (data == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "body", "is NULL");
        return message;
    }
    ace_error *error = NULL;
    if (check((ace_bytes){message->body->data, message->body->length}, &error) != ACE_OK) {
        ace_error_prefix(&error, "body");
        ace_message_keep(message, error);
    }
    return message;
}

acemq_message *acemq_message_new(const void *body, size_t length)
{
    return make(body, length, "application/octet-stream");
}

acemq_message *acemq_message_json(const char *json)
{
    return make_checked(json, json == NULL ? 0 : strlen(json), "application/json", ace_json_check);
}

acemq_message *acemq_message_text(const char *text)
{
    return make_checked(text, text == NULL ? 0 : strlen(text), "text/plain; charset=utf-8",
                        ace_text_check);
}

acemq_message *acemq_message_msgpack(const void *body, size_t length)
{
    return make_checked(body, length, "application/msgpack", ace_msgpack_check);
}

acemq_message *acemq_message_encoded(const acemq_codec *codec, const void *payload, size_t length)
{
    ace_buffer body = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ace_code code = ace_argument_present(codec, "codec", &error);
    if (code == ACE_OK) {
        code = ace_argument_bytes((acemq_bytes){payload, length}, "payload", &error);
    }
    if (code == ACE_OK) {
        code = ace_codec_encode(codec, (ace_bytes){payload, length}, &body, &error);
    }
    acemq_message *message = make(body.data, body.length, NULL);
    ace_buffer_free(&body);
    if (message != NULL && codec != NULL) { /* which the message may outlive */
        ace_message_set_text(message, ACE_TEXT_CONTENT_TYPE, "content type",
                             ace_codec_content_type(codec));
    }
    if (message == NULL) {
        ace_error_free(error);
    } else if (code != ACE_OK) {
        ace_message_keep(message, error);
    }
    return message;
}

acemq_message *acemq_message_verbatim(const void *body, size_t length, const acemq_table *headers)
{
    acemq_message *message = make(body, length, NULL);
    if (message == NULL) {
        return NULL;
    }
    message->verbatim = true;
    message->headers.refuses_reserved = false;
    ace_error *error = NULL;
    if (headers != NULL &&
        ace_table_set_all(&message->headers, &headers->table, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
    return message;
}

static void free_text(acemq_message *message, char *text)
{
    if (text != message->short_type) {
        free(text);
    }
}

void acemq_message_free(acemq_message *message)
{
    if (message == NULL) {
        return;
    }
    for (size_t i = 0; message->owns_texts && i < ACE_TEXT_COUNT; i++) {
        free_text(message, message->texts[i]);
    }
    free(message->route);
    ace_table_release(&message->headers);
    ace_error_free(message->error);
    ace_body *body = message->body;
    if (body->block != message) {
        free(message);
    }
    ace_body_release(body);
}

acemq_status acemq_message_check(const acemq_message *message, acemq_error **error)
{
    ace_code code = ace_argument_present(message, "message", error);
    if (code == ACE_OK && message->error != NULL) {
        code = ace_error_move(error, ace_error_copy(message->error));
    }
    return (acemq_status)code;
}

/* `text` may be the present one. NULL: no memory. */
static char *copy_text(acemq_message *message, ace_message_text which, ace_bytes text)
{
    if (which == ACE_TEXT_TYPE && text.length < sizeof message->short_type) {
        memmove(message->short_type, text.data, text.length);
        message->short_type[text.length] = '\0';
        return message->short_type;
    }
    message->owns_texts = true;
    return ace_bytes_to_text(text);
}

bool ace_message_set_text(acemq_message *message, ace_message_text which, const char *field,
                          const char *text)
{
    char *copy = NULL;
    ace_bytes given = ace_bytes_of(text);
    if (given.length > 0) {
        if (!ace_utf8_is_plain(text, given.length) && !ace_utf8_is_valid(text, given.length)) {
            ace_message_fail(message, ACE_INVALID_ARGUMENT, field, "is not UTF-8");
            return false;
        }
        copy = copy_text(message, which, given);
        if (copy == NULL) {
            ace_message_fail(message, ACE_OUT_OF_MEMORY, field, "found no memory");
            return false;
        }
    }
    if (message->texts[which] != copy) {
        free_text(message, message->texts[which]);
    }
    message->texts[which] = copy;
    if (which == ACE_TEXT_CONTENT_TYPE) {
        message->usual_type = NULL;
    }
    return true;
}

/* A verbatim message has no envelope but what stands in its headers. */
static bool has_envelope(acemq_message *message, const char *field)
{
    if (message == NULL) {
        return false;
    }
    if (message->verbatim) {
        ace_message_fail(message, ACE_STATE, field, "is a header of a verbatim message");
        return false;
    }
    return true;
}

static void set_envelope_text(acemq_message *message, ace_message_text which, const char *field,
                              const char *text)
{
    if (has_envelope(message, field)) {
        ace_message_set_text(message, which, field, text);
    }
}

void acemq_message_set_id(acemq_message *message, const char *id)
{
    set_envelope_text(message, ACE_TEXT_ID, "id", id);
}

void acemq_message_set_type(acemq_message *message, const char *type)
{
    set_envelope_text(message, ACE_TEXT_TYPE, "type", type);
}

void acemq_message_set_version(acemq_message *message, int32_t version)
{
    if (!has_envelope(message, "version")) {
        return;
    }
    ace_error *error = NULL;
    if (ace_argument_range(version, 1, INT32_MAX, "version", &error) != ACE_OK) {
        ace_message_keep(message, error);
        return;
    }
    message->version = version;
}

void acemq_message_set_correlation(acemq_message *message, const char *correlation)
{
    set_envelope_text(message, ACE_TEXT_CORRELATION, "correlation", correlation);
}

void acemq_message_set_causation(acemq_message *message, const char *causation)
{
    set_envelope_text(message, ACE_TEXT_CAUSATION, "causation", causation);
}

void acemq_message_set_origin(acemq_message *message, const char *origin)
{
    set_envelope_text(message, ACE_TEXT_ORIGIN, "origin", origin);
}

/* A span of its own, set before or after, takes the place of the parent's. */
static void carry_trace(acemq_message *message, const acemq_delivery *parent)
{
    static const char *const names[] = {"traceparent", "tracestate"};
    if (acemq_table_get(&message->headers, names[0]) != NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const acemq_value *value = acemq_table_get(acemq_delivery_headers(parent), names[i]);
        if (value != NULL) {
            acemq_message_set_header_value(message, names[i], value);
        }
    }
}

void acemq_message_caused_by(acemq_message *message, const acemq_delivery *parent)
{
    if (!has_envelope(message, "causation")) {
        return;
    }
    if (parent == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "parent", "is NULL");
        return;
    }
    ace_envelope child;
    ace_envelope_causing(ace_delivery_envelope(parent), (ace_bytes){NULL, 0}, &child);
    char *correlation = ace_bytes_to_text(child.correlation);
    char *causation = ace_bytes_to_text(child.causation);
    if (correlation == NULL || causation == NULL) {
        ace_message_fail(message, ACE_OUT_OF_MEMORY, "causation", "found no memory");
    } else {
        ace_message_set_text(message, ACE_TEXT_CORRELATION, "correlation", correlation);
        ace_message_set_text(message, ACE_TEXT_CAUSATION, "causation", causation);
    }
    free(correlation);
    free(causation);
    carry_trace(message, parent);
}

static size_t count_steps(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++) {
        count += *text == ',';
    }
    return count;
}

/* The views are checked with the rest of the envelope when the message is encoded. */
static void split_route(acemq_message *message)
{
    free(message->route);
    message->route = NULL;
    message->route_length = 0;
    const char *text = message->texts[ACE_TEXT_ROUTE];
    if (text == NULL) {
        return;
    }
    size_t count = count_steps(text);
    message->route = malloc(count * sizeof *message->route);
    if (message->route == NULL) {
        ace_message_fail(message, ACE_OUT_OF_MEMORY, "route", "found no memory");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(text, ",");
        message->route[i] = (ace_bytes){(const uint8_t *)text, length};
        text += length + 1;
    }
    message->route_length = count;
}

void acemq_message_set_route(acemq_message *message, const char *steps, int32_t position,
                             const char *route_id)
{
    if (!has_envelope(message, "route")) {
        return;
    }
    ace_error *error = NULL;
    if (ace_argument_range(position, 0, INT32_MAX, "position", &error) != ACE_OK) {
        ace_message_keep(message, error);
        return;
    }
    if (ace_message_set_text(message, ACE_TEXT_ROUTE, "route", steps) &&
        ace_message_set_text(message, ACE_TEXT_ROUTE_ID, "route id", route_id)) {
        message->route_position = position;
        split_route(message);
    }
}

/* What every header setter does around the core's. */
static bool header_name_given(acemq_message *message, const char *name)
{
    if (message == NULL) {
        return false;
    }
    if (name == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "header name", "is NULL");
        return false;
    }
    return true;
}

void acemq_message_set_header(acemq_message *message, const char *name, const char *text)
{
    if (!header_name_given(message, name)) {
        return;
    }
    ace_error *error = NULL;
    if (text == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "header value", "is NULL");
    } else if (ace_table_set_text(&message->headers, name, text, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}

void acemq_message_set_header_int64(acemq_message *message, const char *name, int64_t number)
{
    ace_error *error = NULL;
    if (header_name_given(message, name) &&
        ace_table_set_int64(&message->headers, name, number, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}

void acemq_message_set_header_double(acemq_message *message, const char *name, double number)
{
    ace_error *error = NULL;
    if (header_name_given(message, name) &&
        ace_table_set_double(&message->headers, name, number, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}

void acemq_message_set_header_bool(acemq_message *message, const char *name, int value)
{
    ace_error *error = NULL;
    if (header_name_given(message, name) &&
        ace_table_set_bool(&message->headers, name, value != 0, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}

void acemq_message_set_header_value(acemq_message *message, const char *name,
                                    const acemq_value *value)
{
    if (!header_name_given(message, name)) {
        return;
    }
    ace_error *error = NULL;
    if (value == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "header value", "is NULL");
    } else if (ace_table_set(&message->headers, ace_bytes_of(name), ace_value_from_public(value),
                             &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}

void acemq_message_set_headers(acemq_message *message, const acemq_table *headers)
{
    ace_error *error = NULL;
    if (message != NULL && headers != NULL &&
        ace_table_set_all(&message->headers, &headers->table, &error) != ACE_OK) {
        ace_message_keep(message, error);
    }
}
