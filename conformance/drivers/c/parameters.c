/* Reading what a request asks for, and answering what went wrong. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

json_t *refuse(driver_request *request, const char *name, const char *message)
{
    json_decref(request->answer);
    request->answer = json_pack("{s:{s:s,s:s}}", "error", "name", name, "message", message);
    return NULL;
}

json_t *failed(driver_request *request, acemq_error *error)
{
    refuse(request, acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return NULL;
}

json_t *unsupported(driver_request *request, const char *why)
{
    json_decref(request->answer);
    request->answer = json_pack("{s:s}", "unsupported", why);
    return NULL;
}

const json_t *member_of(const driver_request *request, const char *name)
{
    const json_t *value = json_object_get(request->with, name);
    return json_is_null(value) ? NULL : value;
}

const char *text_of(const driver_request *request, const char *name)
{
    return json_string_value(member_of(request, name));
}

int64_t number_of(const driver_request *request, const char *name, int64_t other)
{
    const json_t *value = member_of(request, name);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : other;
}

double fraction_of(const driver_request *request, const char *name, double other)
{
    const json_t *value = member_of(request, name);
    return json_is_number(value) ? json_number_value(value) : other;
}

int flag_of(const driver_request *request, const char *name)
{
    return json_is_true(member_of(request, name));
}

int policy_of(driver_request *request, const char *name, acemq_policy **policy)
{
    const char *text = text_of(request, name);
    acemq_error *error = NULL;
    *policy = NULL;
    if (text && acemq_policy_parse(text, policy, &error) != ACEMQ_OK) {
        failed(request, error);
        return 0;
    }
    return 1;
}

acemq_table *table_of(driver_request *request, const json_t *value)
{
    acemq_table *table = NULL;
    acemq_error *error = NULL;
    if (!value || json_is_null(value)) {
        return acemq_table_new();
    }
    char *text = json_dumps(value, JSON_COMPACT);
    acemq_status status = acemq_table_parse_json(text, strlen(text), &table, &error);
    free(text);
    if (status != ACEMQ_OK) {
        failed(request, error);
        return NULL;
    }
    return table;
}

/* --- bytes --- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void *base64_of(const char *text, size_t *length)
{
    unsigned char *bytes = malloc(text ? strlen(text) + 1 : 1);
    uint32_t group = 0;
    int bits = 0;
    *length = 0;
    for (; bytes && text && *text && *text != '='; text++) {
        const char *place = strchr(alphabet, *text);
        if (!place) {
            free(bytes);
            return NULL;
        }
        group = (group << 6) | (uint32_t)(place - alphabet);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[(*length)++] = (unsigned char)(group >> bits & 0xff);
        }
    }
    return bytes;
}

void set_base64(json_t *object, const char *name, acemq_bytes bytes)
{
    const unsigned char *from = bytes.data;
    char *text = malloc(bytes.length / 3 * 4 + 5), *to = text;
    for (size_t at = 0; from && at < bytes.length; at += 3) {
        size_t left = bytes.length - at;
        uint32_t group = (uint32_t)from[at] << 16 | (left > 1 ? (uint32_t)from[at + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)from[at + 2] : 0);
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        *to++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
        *to++ = left > 2 ? alphabet[group & 63] : '=';
    }
    *to = 0;
    json_object_set_new(object, name, json_string(text));
    free(text);
}

void *body_of(const json_t *object, size_t *length)
{
    const json_t *text = json_object_get(object, "body");
    const char *encoded = json_string_value(json_object_get(object, "bodyBase64"));
    if (encoded) {
        return base64_of(encoded, length);
    }
    *length = json_string_length(text);
    char *body = malloc(*length + 1);
    if (body && *length > 0) {
        memcpy(body, json_string_value(text), *length);
    }
    return body;
}

void set_body(json_t *object, const void *data, size_t length)
{
    json_t *text = json_stringn(data ? data : "", length);
    if (text) {
        json_object_set_new(object, "body", text);
    } else {
        set_base64(object, "bodyBase64", (acemq_bytes){data, length});
    }
}
