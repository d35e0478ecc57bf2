#include "engine/publisher.h"

#include "contract/limits.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/frame.h"

#include <inttypes.h>
#include <string.h>

#define FRAME_HEAD   7   /* type, channel, size */
#define METHOD_HEAD  4   /* class and method */
#define CONTENT_HEAD 12  /* class, weight, body size */
#define USUAL_SIZE   512 /* of both frames, taken at once */

static ace_code check_arguments(const char *exchange, const char *routing_key,
                                const amqp_basic_properties_t *properties, ace_bytes body,
                                uint64_t body_limit, ace_error **error)
{
    if (exchange == NULL || routing_key == NULL || properties == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is NULL",
                        exchange == NULL      ? "exchange"
                        : routing_key == NULL ? "routing key"
                                              : "properties");
    }
    if (body.length > body_limit) {
        ace_code code = ace_fail(error, ACE_LIMIT, "body has %zu bytes, the limit is %" PRIu64,
                                 body.length, body_limit);
        ace_error_field(error, "body", (long long)body_limit);
        return code;
    }
    return ACE_OK;
}

static ace_bytes short_string(const uint8_t *at)
{
    return (ace_bytes){at + 1, at[0]};
}

static size_t text_length(const amqp_basic_properties_t *properties, amqp_flags_t flag,
                          amqp_bytes_t text)
{
    return (properties->_flags & flag) == 0 ? 0 : 1 + text.len;
}

/* The properties that follow the message id, in the order of their flags. */
static size_t length_after_id(const amqp_basic_properties_t *properties)
{
    size_t timestamp = (properties->_flags & AMQP_BASIC_TIMESTAMP_FLAG) == 0 ? 0 : 8;
    return timestamp + text_length(properties, AMQP_BASIC_TYPE_FLAG, properties->type) +
           text_length(properties, AMQP_BASIC_USER_ID_FLAG, properties->user_id) +
           text_length(properties, AMQP_BASIC_APP_ID_FLAG, properties->app_id) +
           text_length(properties, AMQP_BASIC_CLUSTER_ID_FLAG, properties->cluster_id);
}

/* Where the parts that tell one publish from another lie in the encoded frames. */
static void locate_parts(ace_publish *publish, bool mandatory,
                         const amqp_basic_properties_t *properties)
{
    ace_outstanding *outstanding = &publish->outstanding;
    const uint8_t *method = publish->frames.data + FRAME_HEAD + METHOD_HEAD + 2; /* the ticket */
    const uint8_t *header = publish->frames.data + publish->header + FRAME_HEAD + CONTENT_HEAD;
    const uint8_t *end = publish->frames.data + publish->frames.length - 1;
    *outstanding = (ace_outstanding){.mandatory = mandatory, .body_size = publish->body.length};
    outstanding->exchange = short_string(method);
    outstanding->routing_key = short_string(method + 1 + outstanding->exchange.length);
    outstanding->properties = (ace_bytes){header, (size_t)(end - header)};
    if ((properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0 && properties->message_id.len > 0) {
        const uint8_t *id = end - length_after_id(properties) - properties->message_id.len;
        outstanding->message_id = (ace_bytes){id, properties->message_id.len};
    }
}

static ace_code check_length(const char *field, size_t length, ace_error **error)
{
    if (length <= ACE_NAME_MAX) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %d", field, length, ACE_NAME_MAX);
    ace_error_field(error, field, ACE_NAME_MAX);
    return ACE_LIMIT;
}

static uint8_t *write_short_string(uint8_t *to, const char *text, size_t length)
{
    *to = (uint8_t)length;
    memcpy(to + 1, text, length);
    return to + 1 + length;
}

/* basic.publish by hand: of all methods this one is written a million times. It fits any frame. */
static ace_code write_method(ace_buffer *frames, const char *exchange, const char *routing_key,
                             bool mandatory, ace_error **error)
{
    size_t exchange_length = strlen(exchange);
    size_t key_length = strlen(routing_key);
    ace_code code = check_length("exchange", exchange_length, error);
    if (code == ACE_OK) {
        code = check_length("routing key", key_length, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    size_t size = METHOD_HEAD + 2 + 1 + exchange_length + 1 + key_length + 1;
    uint8_t *to = ace_frame_begin(frames, ACE_FRAME_METHOD, 0, size);
    if (to == NULL) {
        return ace_fail_memory(error);
    }
    ace_write_u32(to, AMQP_BASIC_PUBLISH_METHOD);
    ace_write_u16(to + METHOD_HEAD, 0); /* the ticket of old versions */
    to = write_short_string(to + METHOD_HEAD + 2, exchange, exchange_length);
    to = write_short_string(to, routing_key, key_length);
    *to = mandatory ? 1 : 0;
    return ACE_OK;
}

ace_code ace_publish_encode(ace_publish *publish, const char *exchange, const char *routing_key,
                            bool mandatory, const amqp_basic_properties_t *properties,
                            ace_bytes body, uint32_t frame_max, uint64_t body_limit,
                            ace_error **error)
{
    ace_code code = check_arguments(exchange, routing_key, properties, body, body_limit, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_buffer_clear(&publish->frames);
    if (!ace_buffer_reserve(&publish->frames, USUAL_SIZE)) {
        return ace_fail_memory(error);
    }
    code = write_method(&publish->frames, exchange, routing_key, mandatory, error);
    if (code != ACE_OK) {
        return code;
    }
    publish->header = publish->frames.length;
    code = ace_content_write_header(&publish->frames, 0, properties, body.length, frame_max, error);
    if (code != ACE_OK) {
        return code;
    }
    publish->heads = publish->frames.length;
    publish->body = body;
    locate_parts(publish, mandatory, properties);
    return ACE_OK;
}

bool ace_publish_keep_body(ace_publish *publish)
{
    ace_outstanding *outstanding = &publish->outstanding;
    ace_bytes *parts[] = {&outstanding->exchange, &outstanding->routing_key,
                          &outstanding->message_id, &outstanding->properties};
    size_t offsets[sizeof parts / sizeof parts[0]] = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]->data != NULL) {
            offsets[i] = (size_t)(parts[i]->data - publish->frames.data);
        }
    }
    if (!ace_buffer_append(&publish->frames, publish->body.data, publish->body.length)) {
        return false;
    }
    /* The buffer may have moved. */
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]->data != NULL) {
            parts[i]->data = publish->frames.data + offsets[i];
        }
    }
    publish->body.data = publish->frames.data + publish->heads;
    return true;
}

size_t ace_publish_bytes(const ace_publish *publish)
{
    return publish->heads + publish->body.length;
}

void ace_publish_clear(ace_publish *publish)
{
    ace_buffer_free(&publish->frames);
    ace_error_free(publish->error);
    *publish = (ace_publish){0};
}
