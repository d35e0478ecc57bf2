#include "base/arena.h"
#include "support/scripted_peer_side.h"
#include "wire/arguments.h"
#include "wire/content.h"
#include "wire/method.h"

#include <string.h>

amqp_bytes_t peer_text(const char *text)
{
    return (amqp_bytes_t){strlen(text), (void *)(uintptr_t)text};
}

void peer_send(peer_side *side, uint16_t channel, amqp_method_number_t id, const void *method)
{
    if (ace_method_write(&side->output, channel, id, method, side->frame_max, NULL) != ACE_OK) {
        peer_fail(side, "%s cannot be encoded", ace_method_name(id));
    }
    peer_flush(side);
}

void peer_send_content(peer_side *side, uint16_t channel, amqp_method_number_t id,
                       const void *method, const amqp_basic_properties_t *properties,
                       ace_bytes body)
{
    if (ace_content_write(&side->output, channel, id, method, properties, body, side->frame_max,
                          NULL) != ACE_OK) {
        peer_fail(side, "the content cannot be encoded");
    }
    peer_flush(side);
}

void peer_send_raw(peer_side *side, const void *bytes, size_t length)
{
    if (!ace_buffer_append(&side->output, bytes, length)) {
        peer_fail(side, "no memory");
    }
    peer_flush(side);
}

void peer_send_heartbeat(peer_side *side)
{
    if (ace_frame_write_heartbeat(&side->output, NULL) != ACE_OK) {
        peer_fail(side, "no memory");
    }
    peer_flush(side);
}

void peer_expect_header(peer_side *side)
{
    ace_frame frame;
    if (!peer_next_frame(side, &frame, -1) || frame.type != ACE_FRAME_PROTOCOL_HEADER) {
        peer_fail(side, "expected the protocol header");
    }
}

static const void *decode(peer_side *side, const ace_frame *frame, amqp_method_number_t id)
{
    amqp_method_t method;
    recycle_amqp_pool(&side->pool);
    if (ace_method_decode(frame->payload, &side->pool, &method, NULL) != ACE_OK) {
        peer_fail(side, "%s cannot be decoded", ace_method_name(id));
    }
    return method.decoded;
}

static void next_but_heartbeat(peer_side *side, ace_frame *frame, const char *expected)
{
    do {
        if (!peer_next_frame(side, frame, -1)) {
            peer_fail(side, "the client hung up, expected %s", expected);
        }
    } while (frame->type == ACE_FRAME_HEARTBEAT);
}

const void *peer_expect(peer_side *side, uint16_t channel, amqp_method_number_t id)
{
    ace_frame frame;
    next_but_heartbeat(side, &frame, ace_method_name(id));
    amqp_method_number_t got = frame.type == ACE_FRAME_METHOD ? ace_method_id(frame.payload) : 0;
    if (got != id || frame.channel != channel) {
        peer_fail(side, "got %s (frame type %d) on channel %u, expected %s on channel %u",
                  ace_method_name(got), (int)frame.type, frame.channel, ace_method_name(id),
                  channel);
    }
    return decode(side, &frame, id);
}

ace_content *peer_expect_content(peer_side *side, uint16_t channel, amqp_method_number_t id)
{
    ace_content *content = NULL;
    while (content == NULL) {
        ace_frame frame;
        next_but_heartbeat(side, &frame, ace_method_name(id));
        if (frame.channel != channel || channel >= PEER_CHANNELS) {
            peer_fail(side, "got a frame on channel %u, expected %s on channel %u", frame.channel,
                      ace_method_name(id), channel);
        }
        amqp_method_number_t got =
            frame.type == ACE_FRAME_METHOD ? ace_method_id(frame.payload) : id;
        if (got != id) {
            peer_fail(side, "got %s, expected %s", ace_method_name(got), ace_method_name(id));
        }
        if (ace_assembly_take(&side->assemblies[channel], &frame, &content, NULL) != ACE_OK) {
            peer_fail(side, "%s does not hold together", ace_method_name(id));
        }
    }
    return content;
}

void peer_expect_heartbeat(peer_side *side)
{
    ace_frame frame;
    if (!peer_next_frame(side, &frame, -1) || frame.type != ACE_FRAME_HEARTBEAT) {
        peer_fail(side, "expected a heartbeat");
    }
}

void peer_expect_silence(peer_side *side, int milliseconds)
{
    ace_frame frame;
    do {
        if (!peer_next_frame(side, &frame, milliseconds)) {
            peer_fail(side, "the client hung up, expected silence");
        }
    } while (frame.type == ACE_FRAME_HEARTBEAT);
    if (frame.type != ACE_FRAME_NONE) {
        peer_fail(side, "expected silence, got a frame of type %d on channel %u, %s",
                  (int)frame.type, frame.channel,
                  frame.type == ACE_FRAME_METHOD ? ace_method_name(ace_method_id(frame.payload))
                                                 : "");
    }
}

void peer_expect_end(peer_side *side)
{
    ace_frame frame;
    while (peer_next_frame(side, &frame, -1)) {
    }
}

void peer_expect_goodbye(peer_side *side)
{
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_METHOD);
    amqp_connection_close_ok_t ok = {0};
    peer_send(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
}

void peer_send_start(peer_side *side, const char *mechanisms, bool capable)
{
    ace_arena arena = ACE_ARENA_INIT;
    amqp_connection_start_t start = {.version_major = 0,
                                     .version_minor = 9,
                                     .mechanisms = peer_text(mechanisms),
                                     .locales = peer_text("en_US")};
    if (capable && ace_client_properties(&arena, "scripted peer", "1", NULL,
                                         &start.server_properties, NULL) != ACE_OK) {
        peer_fail(side, "no memory");
    }
    peer_send(side, 0, AMQP_CONNECTION_START_METHOD, &start);
    ace_arena_free(&arena);
}

void peer_send_tune(peer_side *side, const peer_tune *tune)
{
    amqp_connection_tune_t method = {.channel_max = tune->channel_max,
                                     .frame_max = tune->frame_max,
                                     .heartbeat = tune->heartbeat};
    peer_send(side, 0, AMQP_CONNECTION_TUNE_METHOD, &method);
    side->tuned =
        *(const amqp_connection_tune_ok_t *)peer_expect(side, 0, AMQP_CONNECTION_TUNE_OK_METHOD);
    side->frame_max = side->tuned.frame_max;
    ace_frame_reader_set_max(&side->reader, side->frame_max);
}

const amqp_connection_tune_ok_t *peer_tuned(const peer_side *side)
{
    return &side->tuned;
}

void peer_handshake(peer_side *side, const peer_tune *tune)
{
    const peer_tune usual = {2047, 131072, 0};
    peer_expect_header(side);
    peer_send_start(side, "PLAIN AMQPLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_send_tune(side, tune == NULL ? &usual : tune);
    (void)peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
    amqp_connection_open_ok_t ok = {.known_hosts = {0, NULL}};
    peer_send(side, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &ok);
}

void peer_open_channel(peer_side *side, uint16_t channel)
{
    (void)peer_expect(side, channel, AMQP_CHANNEL_OPEN_METHOD);
    amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
    peer_send(side, channel, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
}

void peer_open_confirm_channel(peer_side *side, uint16_t channel)
{
    peer_open_channel(side, channel);
    (void)peer_expect(side, channel, AMQP_CONFIRM_SELECT_METHOD);
    amqp_confirm_select_ok_t ok = {0};
    peer_send(side, channel, AMQP_CONFIRM_SELECT_OK_METHOD, &ok);
}

void peer_ack(peer_side *side, uint16_t channel, uint64_t tag, bool multiple)
{
    amqp_basic_ack_t ack = {.delivery_tag = tag, .multiple = multiple};
    peer_send(side, channel, AMQP_BASIC_ACK_METHOD, &ack);
}

void peer_nack(peer_side *side, uint16_t channel, uint64_t tag, bool multiple)
{
    amqp_basic_nack_t nack = {.delivery_tag = tag, .multiple = multiple};
    peer_send(side, channel, AMQP_BASIC_NACK_METHOD, &nack);
}

void peer_return(peer_side *side, const ace_content *publish, uint16_t code, const char *text)
{
    const amqp_basic_publish_t *published = publish->method.decoded;
    amqp_basic_return_t method = {.reply_code = code,
                                  .reply_text = peer_text(text),
                                  .exchange = published->exchange,
                                  .routing_key = published->routing_key};
    peer_send_content(side, publish->channel, AMQP_BASIC_RETURN_METHOD, &method,
                      publish->properties, publish->body);
}

void peer_close_channel(peer_side *side, uint16_t channel, uint16_t code, const char *text,
                        amqp_method_number_t over)
{
    amqp_channel_close_t close = {.reply_code = code,
                                  .reply_text = peer_text(text),
                                  .class_id = ACE_METHOD_CLASS(over),
                                  .method_id = ACE_METHOD_NUMBER(over)};
    peer_send(side, channel, AMQP_CHANNEL_CLOSE_METHOD, &close);
}

void peer_close_connection(peer_side *side, uint16_t code, const char *text)
{
    amqp_connection_close_t close = {.reply_code = code, .reply_text = peer_text(text)};
    peer_send(side, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
}
