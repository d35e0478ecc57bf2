#include "fuzz/frames.h"

#include "wire/assembly.h"
#include "wire/big_endian.h"
#include "wire/method.h"
#include "wire/method_fields.h"
#include "wire/property_fields.h"

#include <string.h>

#define CHANNELS 4 /* few, so that frames meet each other */

static void append(ace_buffer *out, const void *data, size_t length)
{
    FUZZ_DEMAND(length == 0 || ace_buffer_append(out, data, length));
}

static void append_byte(ace_buffer *out, uint8_t byte)
{
    append(out, &byte, 1);
}

static void append_short(ace_buffer *out, uint16_t value)
{
    uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};
    append(out, bytes, sizeof bytes);
}

static void append_word(ace_buffer *out, uint32_t value)
{
    append_short(out, (uint16_t)(value >> 16));
    append_short(out, (uint16_t)value);
}

void fuzz_append_counted(ace_bytes bytes, ace_buffer *out)
{
    append_word(out, (uint32_t)bytes.length);
    append(out, bytes.data, bytes.length);
}

static void append_frame(ace_buffer *wire, ace_frame_type type, uint16_t channel,
                         const ace_buffer *payload)
{
    append_byte(wire, (uint8_t)type);
    append_short(wire, channel);
    append_word(wire, (uint32_t)payload->length);
    append(wire, payload->data, payload->length);
    append_byte(wire, ACE_FRAME_END);
}

static void append_field(fuzz_input *input, ace_method_field_kind kind, ace_buffer *payload)
{
    static const size_t widths[] = {[ACE_FIELD_OCTET] = 1,
                                    [ACE_FIELD_SHORT] = 2,
                                    [ACE_FIELD_LONG] = 4,
                                    [ACE_FIELD_LONG_LONG] = 8,
                                    [ACE_FIELD_BIT] = 1};
    ace_bytes text;
    switch (kind) {
    case ACE_FIELD_SHORT_TEXT:
        text = fuzz_take_counted(input);
        append_byte(payload, (uint8_t)text.length);
        append(payload, text.data, text.length);
        return;
    case ACE_FIELD_LONG_TEXT:
    case ACE_FIELD_TABLE:
        fuzz_append_counted(fuzz_take_counted(input), payload);
        return;
    default:
        /* Numbers are mostly small: one byte says them, where it is not 255. */
        for (size_t i = 1; i < widths[kind]; i++) {
            append_byte(payload, input->left > 0 && input->data[0] == 255 ? 255 : 0);
        }
        append_byte(payload, fuzz_take_byte(input));
        return;
    }
}

void fuzz_append_method(fuzz_input *input, uint16_t channel, amqp_method_number_t id,
                        ace_buffer *wire)
{
    const ace_method_layout *layout = ace_method_layout_of(id);
    ace_buffer payload = ACE_BUFFER_INIT;
    append_word(&payload, id);
    for (int i = 0; layout != NULL && i < layout->count; i++) {
        bool shared = layout->fields[i].kind == ACE_FIELD_BIT && i > 0 &&
                      layout->fields[i - 1].kind == ACE_FIELD_BIT;
        if (!shared) {
            append_field(input, layout->fields[i].kind, &payload);
        }
    }
    append_frame(wire, ACE_FRAME_METHOD, channel, &payload);
    ace_buffer_free(&payload);
}

void fuzz_append_properties(fuzz_input *input, ace_buffer *list)
{
    uint16_t flags = (uint16_t)(fuzz_take_short(input) & ACE_PROPERTY_FLAGS);
    append_short(list, flags);
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        if ((flags & ace_property_fields[i].flag) == 0) {
            continue;
        }
        switch (ace_property_fields[i].kind) {
        case ACE_PROPERTY_TEXT:
            append_field(input, ACE_FIELD_SHORT_TEXT, list);
            break;
        case ACE_PROPERTY_TABLE:
            fuzz_append_counted(fuzz_take_bytes(input, fuzz_take_short(input)), list);
            break;
        case ACE_PROPERTY_OCTET:
            append_field(input, ACE_FIELD_OCTET, list);
            break;
        case ACE_PROPERTY_TIMESTAMP:
            append_field(input, ACE_FIELD_LONG_LONG, list);
            break;
        }
    }
}

static void append_header(fuzz_input *input, uint16_t channel, uint64_t body_size, bool any_bytes,
                          ace_buffer *wire)
{
    static const uint8_t head[4] = {0, 60, 0, 0};
    ace_buffer payload = ACE_BUFFER_INIT;
    append(&payload, head, sizeof head);
    append_word(&payload, (uint32_t)(body_size >> 32));
    append_word(&payload, (uint32_t)body_size);
    if (any_bytes) {
        ace_bytes list = fuzz_take_bytes(input, fuzz_take_short(input));
        append(&payload, list.data, list.length);
    } else {
        fuzz_append_properties(input, &payload);
    }
    append_frame(wire, ACE_FRAME_HEADER, channel, &payload);
    ace_buffer_free(&payload);
}

static void append_piece(ace_frame_type type, uint16_t channel, ace_bytes piece, ace_buffer *wire)
{
    ace_buffer payload = ACE_BUFFER_INIT;
    append(&payload, piece.data, piece.length);
    append_frame(wire, type, channel, &payload);
    ace_buffer_free(&payload);
}

/* Its class and number, a byte each; any other two bytes mean one of those there are. */
static amqp_method_number_t take_method_id(fuzz_input *input)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    amqp_method_number_t class_id = fuzz_take_byte(input);
    amqp_method_number_t number = fuzz_take_byte(input);
    amqp_method_number_t id = class_id << 16 | number;
    return ace_method_layout_of(id) != NULL ? id : layouts[number % count].id;
}

static void append_content(fuzz_input *input, uint16_t channel, ace_buffer *wire)
{
    static const amqp_method_number_t announcing[] = {
        AMQP_BASIC_DELIVER_METHOD, AMQP_BASIC_RETURN_METHOD, AMQP_BASIC_GET_OK_METHOD,
        AMQP_BASIC_PUBLISH_METHOD};
    fuzz_append_method(input, channel, announcing[fuzz_take_byte(input) % 4], wire);
    ace_bytes body = fuzz_take_bytes(input, fuzz_take_short(input));
    append_header(input, channel, body.length, false, wire);
    if (body.length > 0) {
        append_piece(ACE_FRAME_BODY, channel, body, wire);
    }
}

static void append_method_bytes(fuzz_input *input, uint16_t channel, ace_buffer *wire)
{
    ace_buffer payload = ACE_BUFFER_INIT;
    append_word(&payload, take_method_id(input));
    ace_bytes fields = fuzz_take_counted(input);
    append(&payload, fields.data, fields.length);
    append_frame(wire, ACE_FRAME_METHOD, channel, &payload);
    ace_buffer_free(&payload);
}

void fuzz_append_frames(fuzz_input *input, ace_buffer *wire)
{
    uint8_t first = fuzz_take_byte(input);
    uint16_t channel = (uint16_t)(first / FUZZ_KINDS % CHANNELS);
    ace_bytes raw;
    switch ((fuzz_frame_kind)(first % FUZZ_KINDS)) {
    case FUZZ_METHOD:
        fuzz_append_method(input, channel, take_method_id(input), wire);
        break;
    case FUZZ_METHOD_BYTES:
        append_method_bytes(input, channel, wire);
        break;
    case FUZZ_HEADER:
        append_header(input, channel, fuzz_take_long(input), false, wire);
        break;
    case FUZZ_HEADER_BYTES:
        append_header(input, channel, fuzz_take_short(input), true, wire);
        break;
    case FUZZ_BODY:
        append_piece(ACE_FRAME_BODY, channel, fuzz_take_bytes(input, fuzz_take_short(input)), wire);
        break;
    case FUZZ_HEARTBEAT:
        append_piece(ACE_FRAME_HEARTBEAT, channel, fuzz_take_counted(input), wire);
        break;
    case FUZZ_CONTENT:
        append_content(input, channel, wire);
        break;
    default:
        raw = fuzz_take_bytes(input, fuzz_take_short(input));
        append(wire, raw.data, raw.length);
        break;
    }
}

/* --- what comes out ------------------------------------------------------------------------- */

static void check_method(const ace_frame *frame)
{
    amqp_pool_t pool;
    amqp_method_t method;
    init_amqp_pool(&pool, 4096);
    FUZZ_DEMAND(ace_method_decode(frame->payload, &pool, &method, NULL) == ACE_OK);
    empty_amqp_pool(&pool);
}

size_t fuzz_check_output(ace_bytes wire, ace_frame_side side, uint32_t frame_max)
{
    ace_frame_reader reader;
    ace_frame frame;
    size_t count = 0;
    /* How a server refuses another version, or what is no AMQP at all. */
    static const ace_bytes refusal = {(const uint8_t *)"AMQP\0\0\x09\x01", 8};
    if (side == ACE_FRAME_CLIENT && ace_bytes_equal(wire, refusal)) {
        return 0;
    }
    ace_frame_reader_init(&reader, side);
    ace_frame_reader_set_max(&reader, frame_max);
    FUZZ_DEMAND(ace_frame_reader_append(&reader, wire.data, wire.length, NULL) == ACE_OK);
    while (ace_frame_next(&reader, &frame, NULL) == ACE_OK && frame.type != ACE_FRAME_NONE) {
        if (frame.type == ACE_FRAME_METHOD) {
            check_method(&frame);
        }
        count++;
    }
    FUZZ_DEMAND(reader.failure == NULL);
    ace_frame_reader_free(&reader);
    return count;
}
