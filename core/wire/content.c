#include "wire/content.h"

#include "wire/big_endian.h"
#include "wire/frame.h"
#include "wire/method.h"
#include "wire/pool.h"
#include "wire/property_fields.h"
#include "wire/property_read.h"
#include "wire/property_write.h"
#include "wire/table_measure.h"

#include <string.h>

static ace_code measure_text(const amqp_basic_properties_t *properties,
                             const ace_property_field *field, size_t *size, ace_error **error)
{
    amqp_bytes_t text;
    memcpy(&text, (const uint8_t *)properties + field->offset, sizeof text);
    if (text.bytes == NULL && text.len > 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s claims %zu bytes and points to none",
                        field->label, text.len);
    }
    if (text.len > ACE_NAME_MAX) {
        ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %d", field->label, text.len,
                 ACE_NAME_MAX);
        ace_error_field(error, field->label, ACE_NAME_MAX);
        return ACE_LIMIT;
    }
    *size += 1 + text.len;
    return ACE_OK;
}

static ace_code measure_field(const amqp_basic_properties_t *properties,
                              const ace_property_field *field, size_t *size, size_t *headers,
                              ace_error **error)
{
    switch (field->kind) {
    case ACE_PROPERTY_TEXT:
        return measure_text(properties, field, size, error);
    case ACE_PROPERTY_TABLE: {
        ace_code code = ace_table_measure(&properties->headers, field->label, headers, error);
        *size += *headers;
        return code;
    }
    case ACE_PROPERTY_OCTET:
        *size += 1;
        return ACE_OK;
    case ACE_PROPERTY_TIMESTAMP:
        *size += 8;
        return ACE_OK;
    }
    return ACE_INVALID_ARGUMENT;
}

/* The headers are named when they are what is too much, since all else together stays under 3 KiB.
 */
static ace_code check_frame(size_t size, size_t headers, uint32_t frame_max, ace_error **error)
{
    size_t largest = ace_frame_payload_max(frame_max);
    if (size <= largest) {
        return ACE_OK;
    }
    if (headers > 0) {
        ace_fail(error, ACE_LIMIT, "headers take %zu bytes, one frame holds %zu%s", headers,
                 largest, headers > largest ? "" : " with the other properties");
        ace_error_field(error, "headers", (long long)largest);
    } else {
        ace_fail(error, ACE_LIMIT, "properties take %zu bytes, one frame holds %zu", size, largest);
        ace_error_field(error, "properties", (long long)largest);
    }
    return ACE_LIMIT;
}

ace_code ace_content_measure(const amqp_basic_properties_t *properties, uint32_t frame_max,
                             size_t *size, ace_error **error)
{
    amqp_flags_t unknown = properties->_flags & ~ACE_PROPERTY_FLAGS;
    if (unknown != 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "unknown property flags 0x%x", unknown);
    }
    size_t sum = ACE_CONTENT_HEAD_SIZE + 2;
    size_t headers = 0;
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        if ((properties->_flags & field->flag) == 0) {
            continue;
        }
        ace_code code = measure_field(properties, field, &sum, &headers, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    ace_code code = check_frame(sum, headers, frame_max, error);
    if (code == ACE_OK) {
        *size = sum;
    }
    return code;
}

static ace_code encode_header(ace_buffer *buffer, uint16_t channel,
                              const amqp_basic_properties_t *properties, uint64_t body_size,
                              size_t size, ace_error **error)
{
    uint8_t *to = ace_frame_begin(buffer, ACE_FRAME_HEADER, channel, size);
    if (to == NULL) {
        return ace_fail_memory(error);
    }
    ace_write_u16(to, AMQP_BASIC_CLASS);
    ace_write_u16(to + 2, 0);
    ace_write_u64(to + 4, body_size);
    (void)ace_properties_write(to + ACE_CONTENT_HEAD_SIZE, properties);
    return ACE_OK;
}

ace_code ace_content_write_header(ace_buffer *buffer, uint16_t channel,
                                  const amqp_basic_properties_t *properties, uint64_t body_size,
                                  uint32_t frame_max, ace_error **error)
{
    size_t size = 0;
    ace_code code = ace_content_measure(properties, frame_max, &size, error);
    if (code == ACE_OK) {
        code = encode_header(buffer, channel, properties, body_size, size, error);
    }
    return code;
}

ace_code ace_content_write(ace_buffer *buffer, uint16_t channel, amqp_method_number_t id,
                           const void *method, const amqp_basic_properties_t *properties,
                           ace_bytes body, uint32_t frame_max, ace_error **error)
{
    if (!ace_method_has_content(id)) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s carries no content", ace_method_name(id));
    }
    if (body.data == NULL && body.length > 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "body claims %zu bytes and points to none",
                        body.length);
    }
    size_t before = buffer->length;
    ace_code code = ace_method_write(buffer, channel, id, method, frame_max, error);
    if (code == ACE_OK) {
        code = ace_content_write_header(buffer, channel, properties, body.length, frame_max, error);
    }
    if (code == ACE_OK) {
        code = ace_frame_write_body(buffer, channel, body, frame_max, error);
    }
    if (code != ACE_OK) {
        buffer->length = before;
    }
    return code;
}

ace_code ace_content_decode_header(ace_bytes payload, amqp_pool_t *pool, uint64_t *body_size,
                                   amqp_basic_properties_t **properties, ace_error **error)
{
    ace_code code = ace_content_check_head(payload.data, payload.length, body_size, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t length = payload.length - ACE_CONTENT_HEAD_SIZE;
    uint8_t *list = amqp_pool_alloc(pool, length + 1); /* which has no piece of no bytes */
    if (list == NULL) {
        ace_pool_drop_lost_page(pool);
        return ace_fail_memory(error);
    }
    memcpy(list, payload.data + ACE_CONTENT_HEAD_SIZE, length);
    ace_property_shape shape;
    code = ace_properties_check(list, length, &shape, error);
    if (code != ACE_OK) {
        return code;
    }
    void *room = amqp_pool_alloc(pool, shape.decoded);
    if (room == NULL) {
        ace_pool_drop_lost_page(pool);
        return ace_fail_memory(error);
    }
    *properties = ace_properties_read(list, room);
    return ACE_OK;
}
