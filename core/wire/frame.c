#include "wire/frame.h"

#include "wire/big_endian.h"

#include <string.h>

#define HEAD_SIZE            7u
#define PROTOCOL_HEADER_SIZE 8u
#define FIRST_ROOM           16384u
/* An idle reader gives memory back that only a large frame needed. */
#define KEPT_CAPACITY (4u * ACE_FRAME_MAX_DEFAULT)

static const uint8_t protocol_header[PROTOCOL_HEADER_SIZE] = {'A', 'M', 'Q', 'P', 0, 0, 9, 1};

void ace_frame_reader_init(ace_frame_reader *reader, ace_frame_side side)
{
    memset(reader, 0, sizeof *reader);
    reader->frame_max = ACE_FRAME_MAX_DEFAULT;
    reader->side = side;
}

void ace_frame_reader_free(ace_frame_reader *reader)
{
    ace_buffer_free(&reader->bytes);
    ace_error_free(reader->failure);
    reader->failure = NULL;
    reader->start = 0;
}

static uint32_t bounded_frame_max(uint32_t frame_max)
{
    if (frame_max == 0 || frame_max > INT32_MAX) {
        return INT32_MAX;
    }
    return frame_max < ACE_FRAME_MAX_LEAST ? ACE_FRAME_MAX_LEAST : frame_max;
}

void ace_frame_reader_set_max(ace_frame_reader *reader, uint32_t frame_max)
{
    reader->frame_max = bounded_frame_max(frame_max);
}

size_t ace_frame_reader_pending(const ace_frame_reader *reader)
{
    return reader->bytes.length - reader->start;
}

/* Moving the rest to the front only when it is no longer than what was read before it keeps the
 * moving linear in the bytes received. */
static void compact(ace_frame_reader *reader)
{
    size_t rest = ace_frame_reader_pending(reader);
    if (rest == 0) {
        ace_buffer_clear(&reader->bytes);
        reader->start = 0;
        if (reader->bytes.capacity > KEPT_CAPACITY) {
            ace_buffer_free(&reader->bytes);
        }
    } else if (reader->start >= rest) {
        ace_buffer_consume(&reader->bytes, reader->start);
        reader->start = 0;
    }
}

static bool reserve(ace_frame_reader *reader, size_t length)
{
    if (reader->start > 0) {
        compact(reader);
    }
    return ace_buffer_reserve(&reader->bytes, length);
}

uint8_t *ace_frame_reader_room(ace_frame_reader *reader, size_t least, size_t *size)
{
    size_t wanted = least == 0 ? 1 : least;
    if (reader->bytes.capacity == 0 && wanted < FIRST_ROOM) {
        wanted = FIRST_ROOM;
    }
    if (!reserve(reader, wanted)) {
        return NULL;
    }
    *size = reader->bytes.capacity - reader->bytes.length;
    return reader->bytes.data + reader->bytes.length;
}

void ace_frame_reader_received(ace_frame_reader *reader, size_t length)
{
    reader->bytes.length += length;
}

ace_code ace_frame_reader_append(ace_frame_reader *reader, const void *data, size_t length,
                                 ace_error **error)
{
    if (!reserve(reader, length) || !ace_buffer_append(&reader->bytes, data, length)) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

static ace_code read_protocol_header(ace_frame_reader *reader, const uint8_t *data, size_t length,
                                     ace_frame *frame, ace_error **error)
{
    size_t seen = length < PROTOCOL_HEADER_SIZE ? length : PROTOCOL_HEADER_SIZE;
    size_t name = seen < 4 ? seen : 4;
    if (memcmp(data, protocol_header, name) != 0) {
        return ace_fail(error, ACE_PROTOCOL,
                        "the client does not speak AMQP: its first byte is 0x%02x", data[0]);
    }
    if (length < PROTOCOL_HEADER_SIZE) {
        return ACE_OK;
    }
    if (memcmp(data, protocol_header, PROTOCOL_HEADER_SIZE) != 0) {
        return ace_fail(error, ACE_PROTOCOL, "the client asks for AMQP %u.%u.%u.%u, not 0.0.9.1",
                        data[4], data[5], data[6], data[7]);
    }
    frame->type = ACE_FRAME_PROTOCOL_HEADER;
    frame->payload = (ace_bytes){data, PROTOCOL_HEADER_SIZE};
    reader->start += PROTOCOL_HEADER_SIZE;
    reader->opened = true;
    return ACE_OK;
}

/* A broker that does not take our version answers with a header of its own and closes. */
static ace_code read_refusal(const uint8_t *data, size_t length, ace_error **error)
{
    size_t seen = length < 4 ? length : 4;
    if (memcmp(data, protocol_header, seen) != 0) {
        return ace_fail(error, ACE_PROTOCOL,
                        "the peer does not speak AMQP 0-9-1: its first byte is 0x%02x", data[0]);
    }
    if (length < PROTOCOL_HEADER_SIZE) {
        return ACE_OK;
    }
    return ace_fail(error, ACE_PROTOCOL,
                    "the broker refuses AMQP 0-9-1; it offers %u.%u.%u.%u instead", data[4],
                    data[5], data[6], data[7]);
}

static bool is_type(uint8_t type)
{
    return type == ACE_FRAME_METHOD || type == ACE_FRAME_HEADER || type == ACE_FRAME_BODY ||
           type == ACE_FRAME_HEARTBEAT;
}

static ace_code check_content_channel(const ace_frame *frame, ace_error **error)
{
    if (frame->channel == 0) {
        return ace_fail(error, ACE_PROTOCOL, "a %s frame on channel 0",
                        frame->type == ACE_FRAME_HEADER ? "header" : "body");
    }
    return ACE_OK;
}

static ace_code check_method_channel(const ace_frame *frame, ace_error **error)
{
    if (frame->payload.length < 4) {
        return ace_fail(error, ACE_PROTOCOL, "a method frame of %zu bytes, at least 4 are needed",
                        frame->payload.length);
    }
    unsigned class_id = ace_read_u16(frame->payload.data);
    bool of_connection = class_id == 10;
    if (of_connection != (frame->channel == 0)) {
        return ace_fail(error, ACE_PROTOCOL, "a method of class %u on channel %u", class_id,
                        frame->channel);
    }
    return ACE_OK;
}

static ace_code check_heartbeat(const ace_frame *frame, ace_error **error)
{
    if (frame->channel != 0 || frame->payload.length != 0) {
        return ace_fail(error, ACE_PROTOCOL,
                        "a heartbeat on channel %u with %zu bytes, not empty on channel 0",
                        frame->channel, frame->payload.length);
    }
    return ACE_OK;
}

static ace_code check_frame(const ace_frame *frame, ace_error **error)
{
    if (frame->type == ACE_FRAME_METHOD) {
        return check_method_channel(frame, error);
    }
    if (frame->type == ACE_FRAME_HEARTBEAT) {
        return check_heartbeat(frame, error);
    }
    return check_content_channel(frame, error);
}

static ace_code read_frame(ace_frame_reader *reader, const uint8_t *data, size_t length,
                           ace_frame *frame, ace_error **error)
{
    if (!is_type(data[0])) {
        return ace_fail(error, ACE_PROTOCOL, "unknown frame type %u", data[0]);
    }
    if (length < HEAD_SIZE) {
        return ACE_OK;
    }
    uint16_t channel = ace_read_u16(data + 1);
    uint32_t size = ace_read_u32(data + 3);
    if (size > reader->frame_max - ACE_FRAME_OVERHEAD) {
        return ace_fail(error, ACE_PROTOCOL,
                        "a frame on channel %u claims %u bytes of payload, the limit is %u",
                        channel, size, reader->frame_max - ACE_FRAME_OVERHEAD);
    }
    if (length < (size_t)size + ACE_FRAME_OVERHEAD) {
        return ACE_OK;
    }
    if (data[HEAD_SIZE + size] != ACE_FRAME_END) {
        return ace_fail(error, ACE_PROTOCOL,
                        "a frame on channel %u ends with 0x%02x instead of 0xce", channel,
                        data[HEAD_SIZE + size]);
    }
    ace_frame whole = {(ace_frame_type)data[0], channel, {data + HEAD_SIZE, size}};
    ace_code code = check_frame(&whole, error);
    if (code == ACE_OK) {
        *frame = whole;
        reader->start += (size_t)size + ACE_FRAME_OVERHEAD;
        reader->opened = true;
    }
    return code;
}

static ace_code read_next(ace_frame_reader *reader, ace_frame *frame, ace_error **error)
{
    size_t length = ace_frame_reader_pending(reader);
    if (length == 0) {
        return ACE_OK;
    }
    const uint8_t *data = reader->bytes.data + reader->start;
    if (!reader->opened && reader->side == ACE_FRAME_SERVER) {
        return read_protocol_header(reader, data, length, frame, error);
    }
    if (!reader->opened && data[0] != ACE_FRAME_METHOD) {
        return read_refusal(data, length, error);
    }
    return read_frame(reader, data, length, frame, error);
}

ace_code ace_frame_next(ace_frame_reader *reader, ace_frame *frame, ace_error **error)
{
    *frame = (ace_frame){ACE_FRAME_NONE, 0, {NULL, 0}};
    if (reader->failure == NULL && read_next(reader, frame, &reader->failure) == ACE_OK) {
        return ACE_OK;
    }
    ace_code code = ace_error_code(reader->failure);
    if (error != NULL) {
        *error = ace_error_copy(reader->failure);
    }
    return code;
}

/* --- writing -------------------------------------------------------------------------------- */

size_t ace_frame_payload_max(uint32_t frame_max)
{
    return bounded_frame_max(frame_max) - ACE_FRAME_OVERHEAD;
}

uint64_t ace_frame_body_size(uint64_t body, uint32_t frame_max)
{
    uint64_t largest = ace_frame_payload_max(frame_max);
    if (body <= largest) { /* as nearly always, and without a division */
        return body == 0 ? 0 : body + ACE_FRAME_OVERHEAD;
    }
    uint64_t frames = body / largest + (body % largest != 0);
    return body + frames * ACE_FRAME_OVERHEAD;
}

ace_code ace_frame_write_protocol_header(ace_buffer *buffer, ace_error **error)
{
    if (!ace_buffer_append(buffer, protocol_header, sizeof protocol_header)) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

ace_code ace_frame_write_heartbeat(ace_buffer *buffer, ace_error **error)
{
    return ace_frame_write(buffer, ACE_FRAME_HEARTBEAT, 0, (ace_bytes){NULL, 0}, 0, error);
}

uint8_t *ace_frame_begin(ace_buffer *buffer, ace_frame_type type, uint16_t channel, size_t length)
{
    uint8_t *to = ace_buffer_extend(buffer, length + ACE_FRAME_OVERHEAD);
    if (to == NULL) {
        return NULL;
    }
    to[0] = (uint8_t)type;
    ace_write_u16(to + 1, channel);
    ace_write_u32(to + 3, (uint32_t)length);
    to[HEAD_SIZE + length] = ACE_FRAME_END;
    return to + HEAD_SIZE;
}

ace_code ace_frame_write(ace_buffer *buffer, ace_frame_type type, uint16_t channel,
                         ace_bytes payload, uint32_t frame_max, ace_error **error)
{
    size_t largest = ace_frame_payload_max(frame_max);
    if (payload.length > largest) {
        ace_fail(error, ACE_LIMIT, "the payload has %zu bytes, one frame holds %zu", payload.length,
                 largest);
        ace_error_field(error, "payload", (long long)largest);
        return ACE_LIMIT;
    }
    uint8_t *to = ace_frame_begin(buffer, type, channel, payload.length);
    if (to == NULL) {
        return ace_fail_memory(error);
    }
    if (payload.length > 0) {
        memcpy(to, payload.data, payload.length);
    }
    return ACE_OK;
}

ace_code ace_frame_write_body(ace_buffer *buffer, uint16_t channel, ace_bytes body,
                              uint32_t frame_max, ace_error **error)
{
    size_t largest = ace_frame_payload_max(frame_max);
    uint64_t size = ace_frame_body_size(body.length, frame_max);
    if (size > SIZE_MAX || !ace_buffer_reserve(buffer, (size_t)size)) {
        return ace_fail_memory(error);
    }
    for (size_t offset = 0; offset < body.length; offset += largest) {
        size_t left = body.length - offset;
        size_t length = left < largest ? left : largest;
        /* Cannot fail: the room is reserved. */
        memcpy(ace_frame_begin(buffer, ACE_FRAME_BODY, channel, length), body.data + offset,
               length);
    }
    return ACE_OK;
}
