#include "engine/publisher.h"

#include "contract/limits.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/frame.h"
#include "wire/plain_header.h"

#include <inttypes.h>
#include <string.h>

#define FRAME_HEAD    7   /* type, channel, size */
#define METHOD_HEAD   4   /* class and method */
#define CONTENT_HEAD  12  /* class, weight, body size */
#define USUAL_SIZE    512 /* of both frames, taken at once */
#define USUAL_HEADERS 20  /* the envelope's, and some of the application's */

static ace_code check_body(ace_bytes body, uint64_t body_limit, ace_error **error)
{
    if (body.length <= body_limit) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT, "body has %zu bytes, the limit is %" PRIu64, body.length,
             body_limit);
    ace_error_field(error, "body", (long long)body_limit);
    return ACE_LIMIT;
}

static ace_code check_arguments(const char *exchange, const char *routing_key,
                                const amqp_basic_properties_t *properties, ace_error **error)
{
    if (exchange == NULL || routing_key == NULL || properties == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is NULL",
                        exchange == NULL      ? "exchange"
                        : routing_key == NULL ? "routing key"
                                              : "properties");
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

/* Where the parts that tell one publish from another lie in the encoded frames: `id_length` bytes
 * of a message id, and so many behind it. */
static void locate_parts(ace_publish *publish, bool mandatory, size_t id_length, size_t after_id)
{
    ace_outstanding *outstanding = &publish->outstanding;
    const uint8_t *method = publish->frames.data + FRAME_HEAD + METHOD_HEAD + 2; /* the ticket */
    const uint8_t *header = publish->frames.data + publish->header + FRAME_HEAD + CONTENT_HEAD;
    const uint8_t *end = publish->frames.data + publish->frames.length - 1;
    *outstanding = (ace_outstanding){.mandatory = mandatory, .body_size = publish->body.length};
    outstanding->exchange = short_string(method);
    outstanding->routing_key = short_string(method + 1 + outstanding->exchange.length);
    outstanding->properties = (ace_bytes){header, (size_t)(end - header)};
    if (id_length > 0) {
        outstanding->message_id = (ace_bytes){end - after_id - id_length, id_length};
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

static ace_code begin_frames(ace_publish *publish, const char *exchange, const char *routing_key,
                             bool mandatory, size_t room, ace_error **error)
{
    ace_buffer_clear(&publish->frames);
    if (!ace_buffer_reserve(&publish->frames, room)) {
        return ace_fail_memory(error);
    }
    ace_code code = write_method(&publish->frames, exchange, routing_key, mandatory, error);
    publish->header = publish->frames.length;
    return code;
}

static void end_frames(ace_publish *publish, ace_bytes body)
{
    publish->heads = publish->frames.length;
    publish->body = body;
}

ace_code ace_publish_encode(ace_publish *publish, const char *exchange, const char *routing_key,
                            bool mandatory, const amqp_basic_properties_t *properties,
                            ace_bytes body, uint32_t frame_max, uint64_t body_limit,
                            ace_error **error)
{
    ace_code code = check_arguments(exchange, routing_key, properties, error);
    if (code == ACE_OK) {
        code = check_body(body, body_limit, error);
    }
    if (code == ACE_OK) {
        code = begin_frames(publish, exchange, routing_key, mandatory, USUAL_SIZE, error);
    }
    if (code == ACE_OK) {
        code = ace_content_write_header(&publish->frames, 0, properties, body.length, frame_max,
                                        error);
    }
    if (code != ACE_OK) {
        return code;
    }
    end_frames(publish, body);
    bool has_id = (properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0;
    locate_parts(publish, mandatory, has_id ? properties->message_id.len : 0,
                 length_after_id(properties));
    return ACE_OK;
}

static ace_code encode_built(ace_publish *publish, const ace_publication *publication,
                             bool mandatory, ace_bytes body, uint32_t frame_max,
                             uint64_t body_limit, ace_error **error)
{
    ace_head head = ACE_HEAD_INIT;
    amqp_table_entry_t room[USUAL_HEADERS];
    ace_table_lend(&head.headers, room, USUAL_HEADERS);
    ace_code code = ace_publication_build(publication, &head, error);
    if (code == ACE_OK) {
        code = ace_publish_encode(publish, publication->exchange, publication->routing_key,
                                  mandatory, &head.properties, body, frame_max, body_limit, error);
    }
    ace_head_release(&head);
    return code;
}

ace_code ace_publish_encode_publication(ace_publish *publish, const ace_publication *publication,
                                        bool mandatory, ace_bytes body, uint32_t frame_max,
                                        uint64_t body_limit, ace_error **error)
{
    size_t size = ace_publication_is_plain(publication) ? ace_plain_header_size(publication) : 0;
    if (size == 0 || size > ace_frame_payload_max(frame_max)) {
        return encode_built(publish, publication, mandatory, body, frame_max, body_limit, error);
    }
    ace_code code = ace_publication_check(publication, error);
    if (code == ACE_OK) {
        code = check_body(body, body_limit, error);
    }
    if (code == ACE_OK) {
        code = begin_frames(publish, publication->exchange, publication->routing_key, mandatory,
                            USUAL_SIZE + size, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    uint8_t *to = ace_frame_begin(&publish->frames, ACE_FRAME_HEADER, 0, size);
    if (to == NULL) {
        return ace_fail_memory(error);
    }
    (void)ace_plain_header_write(to, publication, body.length);
    end_frames(publish, body);
    locate_parts(publish, mandatory, publication->envelope->id.length, 0);
    return ACE_OK;
}

/* Makes room for so many bytes more, with which the frames may move. */
static bool make_room(ace_publish *publish, size_t extra)
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
    if (!ace_buffer_reserve(&publish->frames, extra)) {
        return false;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]->data != NULL) {
            parts[i]->data = publish->frames.data + offsets[i];
        }
    }
    return true;
}

bool ace_publish_keep_body(ace_publish *publish)
{
    ace_buffer *frames = &publish->frames;
    size_t length = publish->body.length;
    if (length > frames->capacity - frames->length && !make_room(publish, length)) {
        return false;
    }
    (void)ace_buffer_append(frames, publish->body.data, length); /* cannot fail: there is room */
    publish->body.data = frames->data + publish->heads;
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
