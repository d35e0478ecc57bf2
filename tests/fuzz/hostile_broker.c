#include "fuzz/hostile_broker.h"

#include "base/arena.h"
#include "fuzz/frames.h"
#include "fuzz/simulated_time.h"
#include "wire/arguments.h"
#include "wire/method.h"

#include <string.h>

#define TRUST_FOREVER 200

/* --- what the client writes ----------------------------------------------------------------- */

static void copy_name(amqp_bytes_t from, char to[256])
{
    FUZZ_DEMAND(from.len < 256);
    memcpy(to, from.bytes, from.len);
    to[from.len] = '\0';
}

static void note_request(hostile_connection *at, uint16_t channel, const amqp_method_t *method)
{
    if (at->request_count == HOSTILE_REQUESTS) {
        return;
    }
    hostile_request *request = &at->requests[at->request_count++];
    *request = (hostile_request){.channel = channel, .id = method->id};
    if (method->id == AMQP_QUEUE_DECLARE_METHOD) {
        copy_name(((const amqp_queue_declare_t *)method->decoded)->queue, request->name);
    } else if (method->id == AMQP_BASIC_CONSUME_METHOD) {
        copy_name(((const amqp_basic_consume_t *)method->decoded)->consumer_tag, request->name);
        at->consuming = channel;
        memcpy(at->tag, request->name, sizeof at->tag);
    }
}

static void take_frame(hostile_connection *at, const ace_frame *frame)
{
    amqp_method_t method = {0};
    amqp_pool_t pool;
    if (frame->type == ACE_FRAME_PROTOCOL_HEADER) {
        note_request(at, 0, &method);
    }
    if (frame->type != ACE_FRAME_METHOD) {
        return;
    }
    init_amqp_pool(&pool, 4096);
    FUZZ_DEMAND(ace_method_decode(frame->payload, &pool, &method, NULL) == ACE_OK);
    note_request(at, frame->channel, &method);
    empty_amqp_pool(&pool);
}

static void read_client(hostile_connection *at)
{
    ace_buffer *wire = &at->stream->from_library;
    ace_frame frame;
    FUZZ_DEMAND(wire->length == 0 ||
                ace_frame_reader_append(&at->reader, wire->data, wire->length, NULL) == ACE_OK);
    ace_buffer_clear(wire);
    do {
        FUZZ_DEMAND(ace_frame_next(&at->reader, &frame, NULL) == ACE_OK);
        take_frame(at, &frame);
    } while (frame.type != ACE_FRAME_NONE);
}

/* --- proper answers ------------------------------------------------------------------------- */

static void send(hostile_connection *at, uint16_t channel, amqp_method_number_t id,
                 const void *method)
{
    ace_buffer wire = ACE_BUFFER_INIT;
    FUZZ_DEMAND(ace_method_write(&wire, channel, id, method, 0, NULL) == ACE_OK);
    memory_stream_feed(at->stream, (ace_bytes){wire.data, wire.length});
    ace_buffer_free(&wire);
}

static void send_start(hostile_connection *at)
{
    static const char *const capabilities[] = {"publisher_confirms", "consumer_cancel_notify",
                                               "connection.blocked", "basic.nack"};
    ace_arena arena = ACE_ARENA_INIT;
    ace_arguments inner;
    ace_arguments outer;
    amqp_table_t table;
    amqp_connection_start_t start = {.version_minor = 9,
                                     .mechanisms = amqp_cstring_bytes("PLAIN AMQPLAIN"),
                                     .locales = amqp_cstring_bytes("en_US")};
    ace_arguments_init(&inner, &arena);
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        ace_arguments_add_bool(&inner, capabilities[i], true);
    }
    FUZZ_DEMAND(ace_arguments_table(&inner, &table, NULL) == ACE_OK);
    ace_arguments_init(&outer, &arena);
    ace_arguments_add_table(&outer, "capabilities", &table);
    FUZZ_DEMAND(ace_arguments_table(&outer, &start.server_properties, NULL) == ACE_OK);
    send(at, 0, AMQP_CONNECTION_START_METHOD, &start);
    ace_arena_free(&arena);
}

static void append_body(hostile_connection *at, uint16_t channel, ace_bytes list, ace_bytes body)
{
    ace_buffer payload = ACE_BUFFER_INIT;
    ace_buffer wire = ACE_BUFFER_INIT;
    uint8_t head[12] = {0, 60};
    head[10] = (uint8_t)(body.length >> 8);
    head[11] = (uint8_t)body.length;
    FUZZ_DEMAND(ace_buffer_append(&payload, head, sizeof head) &&
                ace_buffer_append(&payload, list.data, list.length));
    FUZZ_DEMAND(ace_frame_write(&wire, ACE_FRAME_HEADER, channel,
                                (ace_bytes){payload.data, payload.length}, 0, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_frame_write_body(&wire, channel, body, 131072, NULL) == ACE_OK);
    memory_stream_feed(at->stream, (ace_bytes){wire.data, wire.length});
    ace_buffer_free(&payload);
    ace_buffer_free(&wire);
}

/* A message of the input's, where it has more to say. */
static void answer_get(hostile_connection *at, uint16_t channel, fuzz_input *input)
{
    amqp_basic_get_empty_t empty = {.cluster_id = amqp_empty_bytes};
    if (fuzz_take_byte(input) % 2 == 0) {
        send(at, channel, AMQP_BASIC_GET_EMPTY_METHOD, &empty);
        return;
    }
    amqp_basic_get_ok_t method = {.delivery_tag = ++at->delivered,
                                  .exchange = amqp_empty_bytes,
                                  .routing_key = amqp_cstring_bytes("orders.dlq"),
                                  .message_count = fuzz_take_byte(input)};
    ace_buffer list = ACE_BUFFER_INIT;
    ace_bytes text = fuzz_take_counted(input);
    fuzz_append_properties(input, &list);
    send(at, channel, AMQP_BASIC_GET_OK_METHOD, &method);
    append_body(at, channel, (ace_bytes){list.data, list.length}, text);
    ace_buffer_free(&list);
}

static void answer_publish(hostile_connection *at, uint16_t channel)
{
    amqp_basic_ack_t ack = {.delivery_tag = ++at->published};
    send(at, channel, AMQP_BASIC_ACK_METHOD, &ack);
}

static void answer_named(hostile_connection *at, const hostile_request *request)
{
    amqp_queue_declare_ok_t declared = {.queue = amqp_cstring_bytes(request->name),
                                        .message_count = 2};
    amqp_basic_consume_ok_t consuming = {.consumer_tag = amqp_cstring_bytes(request->name)};
    if (request->id == AMQP_QUEUE_DECLARE_METHOD) {
        send(at, request->channel, AMQP_QUEUE_DECLARE_OK_METHOD, &declared);
    } else {
        send(at, request->channel, AMQP_BASIC_CONSUME_OK_METHOD, &consuming);
    }
}

/* Most answers are the method with the next number and no field that matters. */
static void answer(hostile_connection *at, const hostile_request *request, fuzz_input *input)
{
    static const amqp_connection_tune_t tune = {
        .channel_max = 2047, .frame_max = 131072, .heartbeat = 10};
    static const union {
        amqp_queue_delete_ok_t deleted;
        uint8_t bytes[128];
    } nothing = {.bytes = {0}};
    switch (request->id) {
    case 0:
        send_start(at);
        break;
    case AMQP_CONNECTION_START_OK_METHOD:
        send(at, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
        break;
    case AMQP_CONNECTION_TUNE_OK_METHOD:
    case AMQP_BASIC_ACK_METHOD:
    case AMQP_BASIC_NACK_METHOD:
    case AMQP_BASIC_REJECT_METHOD:
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
    case AMQP_CHANNEL_CLOSE_OK_METHOD:
    case AMQP_CHANNEL_FLOW_OK_METHOD:
    case AMQP_BASIC_CANCEL_OK_METHOD:
        break;
    case AMQP_BASIC_PUBLISH_METHOD:
        answer_publish(at, request->channel);
        break;
    case AMQP_QUEUE_DECLARE_METHOD:
    case AMQP_BASIC_CONSUME_METHOD:
        answer_named(at, request);
        break;
    case AMQP_BASIC_GET_METHOD:
        answer_get(at, request->channel, input);
        break;
    default:
        send(at, request->channel, request->id + 1, &nothing);
        break;
    }
}

static bool answer_next(hostile_connection *at, fuzz_input *input)
{
    if (at->request_count == 0) {
        return false;
    }
    hostile_request request = at->requests[0];
    at->request_count--;
    memmove(at->requests, at->requests + 1, at->request_count * sizeof *at->requests);
    answer(at, &request, input);
    return true;
}

/* --- what the input says -------------------------------------------------------------------- */

/* A delivery as the client expects it, but for properties and body. */
static void deliver(hostile_connection *at, fuzz_input *input)
{
    amqp_basic_deliver_t method = {.consumer_tag = amqp_cstring_bytes(at->tag),
                                   .delivery_tag = ++at->delivered,
                                   .redelivered = fuzz_take_byte(input) & 1,
                                   .exchange = amqp_empty_bytes,
                                   .routing_key = amqp_cstring_bytes("orders")};
    ace_buffer list = ACE_BUFFER_INIT;
    ace_bytes body = fuzz_take_counted(input);
    fuzz_append_properties(input, &list);
    if (at->consuming != 0) {
        send(at, at->consuming, AMQP_BASIC_DELIVER_METHOD, &method);
        append_body(at, at->consuming, (ace_bytes){list.data, list.length}, body);
    }
    ace_buffer_free(&list);
}

static void hang_up(hostile_connection *at, bool broken)
{
    at->hung_up = true;
    at->stream->ended = true;
    at->stream->broken = broken;
    at->stream->room = SIZE_MAX;
}

static void take_step(hostile_broker *broker)
{
    fuzz_input *input = broker->input;
    uint8_t step = fuzz_take_byte(input);
    hostile_connection *at = &broker->connections[step / 8 % broker->count];
    ace_buffer wire = ACE_BUFFER_INIT;
    switch (step % 8) {
    case 3:
        (void)answer_next(at, input);
        break;
    case 4:
        while (answer_next(at, input)) {
        }
        break;
    case 5:
        simulated_time_advance(fuzz_take_short(input));
        break;
    case 6:
        at->stream->room = step % 16 < 8 ? SIZE_MAX : fuzz_take_byte(input);
        if (step >= 248) {
            hang_up(at, step % 2 == 0);
        }
        break;
    case 7:
        deliver(at, input);
        break;
    default:
        for (int left = step % 8; left >= 0; left--) {
            fuzz_append_frames(input, &wire);
        }
        memory_stream_feed(at->stream, (ace_bytes){wire.data, wire.length});
        ace_buffer_free(&wire);
        break;
    }
}

static bool hang_up_all(hostile_broker *broker)
{
    bool any = false;
    for (size_t i = 0; i < broker->count; i++) {
        hostile_connection *at = &broker->connections[i];
        if (!at->hung_up && !at->stream->closed) {
            hang_up(at, false);
            any = true;
        }
    }
    return any;
}

bool hostile_broker_turn(void *user)
{
    hostile_broker *broker = user;
    bool any = false;
    for (size_t i = 0; i < broker->count; i++) {
        hostile_connection *at = &broker->connections[i];
        read_client(at);
        while (at->trust > 0 && answer_next(at, broker->input)) {
            at->trust -= at->trust < TRUST_FOREVER ? 1 : 0;
            any = true;
        }
    }
    if (any) {
        return true;
    }
    if (broker->input->left > 0 && broker->count > 0) {
        take_step(broker);
        return true;
    }
    return hang_up_all(broker);
}

memory_stream *hostile_broker_accept(void *user)
{
    hostile_broker *broker = user;
    if (broker->count == HOSTILE_CONNECTIONS || (broker->input->left == 0 && broker->count >= 2)) {
        return NULL;
    }
    hostile_connection *at = &broker->connections[broker->count];
    at->stream = memory_stream_new();
    at->trust = broker->trust[broker->count == 0 ? 0 : 1];
    ace_frame_reader_init(&at->reader, ACE_FRAME_SERVER);
    broker->count++;
    return at->stream;
}

void hostile_broker_free(hostile_broker *broker)
{
    for (size_t i = 0; i < broker->count; i++) {
        read_client(&broker->connections[i]);
        ace_frame_reader_free(&broker->connections[i].reader);
        memory_stream_free(broker->connections[i].stream);
    }
}
