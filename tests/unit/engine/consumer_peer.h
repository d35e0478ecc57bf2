/*
 * A broker of a few lines for tests of the consumer, on the scripted peer: it answers what a client
 * asks, writes down what it publishes and settles, and delivers, refuses, returns, nacks, cancels
 * and hangs up as the test says. The client's clock is the test's.
 */
#ifndef ACEMQ_TESTS_CONSUMER_PEER_H
#define ACEMQ_TESTS_CONSUMER_PEER_H

#include "broker/consuming.h"
#include "contract/value.h"
#include "support/scripted_peer_side.h"
#include "wire/method.h"

#include <pthread.h>

enum { CONFIRM_HOPS, RETURN_HOPS, NACK_HOPS, IGNORE_HOPS, HANG_UP_ON_HOPS };
enum { DO_NOTHING, DO_CANCEL, DO_CLOSE_CHANNEL, DO_HANG_UP };

#define MOST 128

typedef struct settled_tag {
    char how; /* 'a'ck or 'n'ack with requeue, or 'x': anything a consumer never sends */
    uint64_t tag;
    bool multiple;
} settled_tag;

typedef struct published {
    int64_t at;
    char key[128];
    int32_t attempt;
    char error[128];
} published;

typedef struct consumer_peer {
    scripted_peer *peer;
    ace_clock *clock;
    ace_connection *connection;
    pthread_mutex_t lock; /* of what follows */
    /* What it does. */
    int hops;
    int command;
    const char *refused_name; /* declaring this, or "a binding", is refused */
    int refused_code;
    bool source_missing;
    bool hasty;            /* delivers before it answers basic.consume */
    bool forgets_consume;  /* does not answer it */
    bool nameless;         /* delivers without a message-id */
    bool shuts_channels;   /* once it has refused something it opens no channel any more */
    bool refuses_channels; /* as now */
    int to_deliver;
    const char *body;
    /* What it saw. */
    settled_tag settled[MOST];
    int settled_count;
    published hopped[MOST];
    int hop_count;
    int declared; /* declarations, the look for the source not counted */
    int sources;  /* looks for the source */
    int consumed;
    int cancelled;
    int channels_refused;
    int publishers_lost; /* of these, the one that comes next takes the place */
    unsigned prefetch;
    uint64_t next_tag;
    char tag[128];
    char log[16384];
} consumer_peer;

#define PEER(expression)                                                                           \
    ({                                                                                             \
        pthread_mutex_lock(&p->lock);                                                              \
        __typeof__(expression) value = (expression);                                               \
        pthread_mutex_unlock(&p->lock);                                                            \
        value;                                                                                     \
    })
#define PEER_SET(member, what)                                                                     \
    do {                                                                                           \
        pthread_mutex_lock(&p->lock);                                                              \
        p->member = (what);                                                                        \
        pthread_mutex_unlock(&p->lock);                                                            \
    } while (0)

static inline void answer_open(consumer_peer *p, peer_side *side, uint16_t channel)
{
    if (p->refuses_channels) {
        p->channels_refused++;
        peer_close_channel(side, channel, 504, "CHANNEL_ERROR - refused by the test", 0);
        return;
    }
    amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
    peer_send(side, channel, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
}

static inline bool is_named(amqp_bytes_t name, const char *text)
{
    return text != NULL && ace_bytes_equal_text(ace_bytes_from_amqp(name), text);
}

/* True when the declaration was refused, and the channel closed over it. */
static inline bool refuse(consumer_peer *p, peer_side *side, uint16_t channel, amqp_bytes_t name,
                          amqp_method_number_t over)
{
    if (!is_named(name, p->refused_name)) {
        return false;
    }
    p->refuses_channels = p->shuts_channels;
    peer_close_channel(side, channel, (uint16_t)p->refused_code, "REFUSED by the test", over);
    return true;
}

static inline void answer_queue_declare(consumer_peer *p, peer_side *side, uint16_t channel,
                                        const amqp_queue_declare_t *declare)
{
    if (declare->passive && is_named(declare->queue, "q")) {
        p->sources++;
        if (p->source_missing) {
            peer_close_channel(side, channel, 404, "NOT_FOUND - no queue 'q'",
                               AMQP_QUEUE_DECLARE_METHOD);
            return;
        }
    } else {
        p->declared++;
    }
    if (!refuse(p, side, channel, declare->queue, AMQP_QUEUE_DECLARE_METHOD)) {
        amqp_queue_declare_ok_t ok = {.queue = declare->queue};
        peer_send(side, channel, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
    }
}

static inline void answer_declaration(consumer_peer *p, peer_side *side, uint16_t channel,
                                      const amqp_method_t *method)
{
    if (method->id == AMQP_QUEUE_DECLARE_METHOD) {
        answer_queue_declare(p, side, channel, method->decoded);
    } else if (method->id == AMQP_EXCHANGE_DECLARE_METHOD) {
        const amqp_exchange_declare_t *declare = method->decoded;
        amqp_exchange_declare_ok_t ok = {0};
        p->declared++;
        if (!refuse(p, side, channel, declare->exchange, method->id)) {
            peer_send(side, channel, AMQP_EXCHANGE_DECLARE_OK_METHOD, &ok);
        }
    } else {
        amqp_queue_bind_ok_t ok = {0};
        p->declared++;
        if (!refuse(p, side, channel, amqp_cstring_bytes("a binding"), method->id)) {
            peer_send(side, channel, AMQP_QUEUE_BIND_OK_METHOD, &ok);
        }
    }
}

static inline void note_settled(consumer_peer *p, char how, uint64_t tag, bool multiple)
{
    if (p->settled_count < MOST) {
        p->settled[p->settled_count++] = (settled_tag){how, tag, multiple};
    }
}

static inline void deliver_one(consumer_peer *p, peer_side *side);

static inline void answer_consume(consumer_peer *p, peer_side *side, uint16_t channel,
                                  const amqp_basic_consume_t *consume)
{
    snprintf(p->tag, sizeof p->tag, "%.*s", (int)consume->consumer_tag.len,
             (const char *)consume->consumer_tag.bytes);
    p->consumed++;
    if (p->hasty) {
        deliver_one(p, side);
    }
    if (p->forgets_consume) {
        return;
    }
    amqp_basic_consume_ok_t ok = {.consumer_tag = consume->consumer_tag};
    peer_send(side, channel, AMQP_BASIC_CONSUME_OK_METHOD, &ok);
}

static inline void answer_consuming(consumer_peer *p, peer_side *side, uint16_t channel,
                                    const amqp_method_t *method)
{
    switch (method->id) {
    case AMQP_CHANNEL_CLOSE_METHOD: {
        amqp_channel_close_ok_t ok = {0};
        peer_send(side, channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
        break;
    }
    case AMQP_BASIC_QOS_METHOD: {
        amqp_basic_qos_ok_t ok = {0};
        p->prefetch = ((const amqp_basic_qos_t *)method->decoded)->prefetch_count;
        peer_send(side, channel, AMQP_BASIC_QOS_OK_METHOD, &ok);
        break;
    }
    case AMQP_BASIC_CONSUME_METHOD:
        answer_consume(p, side, channel, method->decoded);
        break;
    case AMQP_BASIC_CANCEL_METHOD: {
        const amqp_basic_cancel_t *cancel = method->decoded;
        amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};
        p->cancelled++;
        peer_send(side, channel, AMQP_BASIC_CANCEL_OK_METHOD, &ok);
        break;
    }
    case AMQP_BASIC_ACK_METHOD: {
        const amqp_basic_ack_t *ack = method->decoded;
        note_settled(p, 'a', ack->delivery_tag, ack->multiple);
        break;
    }
    case AMQP_BASIC_NACK_METHOD: {
        const amqp_basic_nack_t *nack = method->decoded;
        note_settled(p, nack->requeue ? 'n' : 'x', nack->delivery_tag, nack->multiple);
        break;
    }
    case AMQP_QUEUE_DECLARE_METHOD:
    case AMQP_EXCHANGE_DECLARE_METHOD:
    case AMQP_QUEUE_BIND_METHOD:
        answer_declaration(p, side, channel, method);
        break;
    case AMQP_CHANNEL_CLOSE_OK_METHOD:
        break;
    default:
        note_settled(p, 'x', method->id, false);
        break;
    }
}

static inline void note_hop(consumer_peer *p, const ace_content *content)
{
    if (p->hop_count == MOST) {
        return;
    }
    const amqp_basic_publish_t *publish = content->method.decoded;
    const amqp_table_t *headers = &content->properties->headers;
    published *hop = &p->hopped[p->hop_count++];
    int64_t attempt = 0;
    ace_bytes error = {NULL, 0};
    hop->at = ace_clock_monotonic(p->clock);
    snprintf(hop->key, sizeof hop->key, "%.*s", (int)publish->routing_key.len,
             (const char *)publish->routing_key.bytes);
    ace_value_integer(ace_table_find(headers, ACE_HEADER_ATTEMPT), 0, INT32_MAX, &attempt);
    hop->attempt = (int32_t)attempt;
    ace_value_text(ace_table_find(headers, ACE_HEADER_ERROR), &error);
    snprintf(hop->error, sizeof hop->error, "%.*s", (int)error.length, (const char *)error.data);
    if (!publish->mandatory || publish->exchange.len > 0) {
        note_settled(p, 'x', 0, false);
    }
}

static inline void answer_hop(consumer_peer *p, peer_side *side, uint16_t channel,
                              const ace_content *content, uint64_t number)
{
    note_hop(p, content);
    if (p->hops == RETURN_HOPS) {
        peer_return(side, content, 312, "NO_ROUTE");
    }
    if (p->hops == NACK_HOPS) {
        peer_nack(side, channel, number, false);
    } else if (p->hops == HANG_UP_ON_HOPS) {
        p->publishers_lost++;
        peer_hang_up(side);
    } else if (p->hops != IGNORE_HOPS) {
        peer_ack(side, channel, number, false);
    }
}

static inline void deliver_one(consumer_peer *p, peer_side *side)
{
    amqp_basic_deliver_t deliver = {.consumer_tag = amqp_cstring_bytes(p->tag),
                                    .delivery_tag = p->next_tag++,
                                    .exchange = amqp_cstring_bytes(""),
                                    .routing_key = amqp_cstring_bytes("q")};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = amqp_cstring_bytes("m")};
    if (p->nameless) {
        properties._flags = 0;
    }
    peer_send_content(side, 1, AMQP_BASIC_DELIVER_METHOD, &deliver, &properties,
                      ace_bytes_of(p->body));
    p->to_deliver--;
}

static inline void obey(consumer_peer *p, peer_side *side)
{
    while (p->to_deliver > 0) {
        deliver_one(p, side);
    }
    int command = p->command;
    p->command = DO_NOTHING;
    if (command == DO_CANCEL) {
        amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(p->tag), .nowait = 1};
        peer_send(side, 1, AMQP_BASIC_CANCEL_METHOD, &cancel);
    } else if (command == DO_CLOSE_CHANNEL) {
        p->next_tag = 1;
        peer_close_channel(side, 1, 406, "PRECONDITION_FAILED - timed out", 0);
    } else if (command == DO_HANG_UP) {
        p->next_tag = 1;
        peer_hang_up(side);
    }
}

/* One method of a channel; false at the goodbye. */
static inline bool serve_method(consumer_peer *p, peer_side *side, const ace_frame *frame)
{
    amqp_method_t method;
    recycle_amqp_pool(&side->pool);
    peer_check(side, ace_method_decode(frame->payload, &side->pool, &method, NULL) == ACE_OK,
               "a method");
    if (method.id == AMQP_CONNECTION_CLOSE_METHOD) {
        amqp_connection_close_ok_t ok = {0};
        peer_send(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok);
        return false;
    }
    if (method.id == AMQP_CHANNEL_OPEN_METHOD) {
        answer_open(p, side, frame->channel);
    } else if (method.id == AMQP_CONFIRM_SELECT_METHOD) {
        amqp_confirm_select_ok_t ok = {0};
        peer_send(side, frame->channel, AMQP_CONFIRM_SELECT_OK_METHOD, &ok);
    } else {
        answer_consuming(p, side, frame->channel, &method);
    }
    return true;
}

static inline bool serve_frame(consumer_peer *p, peer_side *side, const ace_frame *frame,
                               uint64_t *publishes)
{
    if (frame->type == ACE_FRAME_HEARTBEAT || frame->type == ACE_FRAME_NONE) {
        return true;
    }
    if (frame->type == ACE_FRAME_METHOD && !ace_method_has_content(ace_method_id(frame->payload))) {
        return serve_method(p, side, frame);
    }
    ace_content *content = NULL;
    peer_check(
        side, ace_assembly_take(&side->assemblies[frame->channel], frame, &content, NULL) == ACE_OK,
        "a content");
    if (content != NULL) {
        answer_hop(p, side, frame->channel, content, ++*publishes);
        ace_content_free(content);
    }
    return true;
}

static inline void serve(peer_side *side, int index, void *user)
{
    consumer_peer *p = user;
    uint64_t publishes = 0;
    peer_handshake(side, NULL);
    pthread_mutex_lock(&p->lock);
    bool consuming = index != 0 && p->publishers_lost == 0; /* the first that comes publishes */
    p->publishers_lost -= p->publishers_lost > 0;
    pthread_mutex_unlock(&p->lock);
    bool open = true;
    while (open) {
        ace_frame frame;
        if (!peer_next_frame(side, &frame, 2)) {
            return;
        }
        pthread_mutex_lock(&p->lock);
        open = serve_frame(p, side, &frame, &publishes);
        if (open && consuming) {
            obey(p, side);
        }
        pthread_mutex_unlock(&p->lock);
    }
}

static inline void keep_log(ace_log_level level, const char *line, void *user)
{
    consumer_peer *p = user;
    bench_log(level, line, NULL);
    pthread_mutex_lock(&p->lock);
    size_t used = strlen(p->log);
    snprintf(p->log + used, sizeof p->log - used, "%s\n", line);
    pthread_mutex_unlock(&p->lock);
}

static inline int logged(consumer_peer *p, const char *text)
{
    int count = 0;
    pthread_mutex_lock(&p->lock);
    for (const char *at = p->log; (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    pthread_mutex_unlock(&p->lock);
    return count;
}

static inline void peer_begin_with(consumer_peer *p, bool reconnect)
{
    memset(p, 0, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->next_tag = 1;
    p->body = "body";
    p->clock = ace_clock_manual(1000000, INT64_C(1700000000000));
    p->peer = peer_start(serve, p);
    ace_settings settings;
    ace_settings_init(&settings);
    settings.clock = p->clock;
    settings.heartbeat = 0;
    settings.reconnect_jitter = 0;
    settings.reconnect = reconnect;
    settings.log = (ace_log){keep_log, p, ACE_LOG_DEBUG};
    MUST(ace_connection_open(peer_url(p->peer), &settings, NULL, &p->connection, &error));
}

static inline void peer_begin(consumer_peer *p)
{
    peer_begin_with(p, true);
}

static inline void peer_end(consumer_peer *p)
{
    MUST(ace_connection_close(p->connection, PATIENCE, &error));
    ace_connection_release(p->connection);
    char *failure = peer_stop(p->peer);
    ck_assert_msg(failure == NULL, "the peer: %s", failure == NULL ? "" : failure);
    for (int i = 0; i < p->settled_count; i++) {
        ck_assert_msg(p->settled[i].how != 'x', "something no consumer sends: %llu",
                      (unsigned long long)p->settled[i].tag);
    }
    ace_clock_free(p->clock);
    pthread_mutex_destroy(&p->lock);
}

static inline ace_consumer *peer_consume(consumer_peer *p, const ace_consumer_options *options)
{
    ace_consumer *consumer = NULL;
    MUST(ace_consumer_open(p->connection, options, soon(), NULL, &consumer, &error));
    return consumer;
}

static inline ace_consumer_options peer_options(recorder *record, const ace_policy *policy)
{
    ace_consumer_options options;
    ace_consumer_options_init(&options);
    options.queue = "q";
    options.retry = policy;
    if (record != NULL) {
        options.handler = record_call;
        options.user = record;
        options.destructor = record_destruction;
    }
    return options;
}

/* Time passes, and what it sets off is over before the next step: the loops have had a turn. */
static inline void empty_turn(void *user)
{
    (void)user;
}

static inline void pass(consumer_peer *p, int64_t milliseconds)
{
    ace_clock_advance(p->clock, milliseconds);
    for (int i = 0; i < 3; i++) {
        ace_loop_call(ace_link_loop(p->connection->publishing), empty_turn, NULL);
        ace_loop_call(ace_link_loop(p->connection->consuming), empty_turn, NULL);
    }
}

static inline ace_delivery *peer_pull(ace_consumer *consumer)
{
    ace_delivery *delivery = NULL;
    MUST(ace_consumer_next(consumer, soon(), NULL, &delivery, &error));
    return delivery;
}

/* The next event of a consumer, in the order they came; NULL when none comes soon. */
static inline ace_event *consumer_event(consumer_peer *p)
{
    for (int i = 0; i < 4000; i++) {
        ace_event *event = ace_events_take(p->connection->events);
        if (event != NULL &&
            (event->kind == ACE_EVENT_CONSUMER || event->kind == ACE_EVENT_SETTLE)) {
            return event;
        }
        if (event == NULL) {
            nap(5);
        }
        ace_event_free(event);
    }
    return NULL;
}

static inline void assert_event(consumer_peer *p, ace_event_kind kind, int state)
{
    ace_event *event = consumer_event(p);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(event->kind, kind);
    ck_assert_int_eq(event->state, state);
    ck_assert_str_eq(event->text, "q");
    ace_event_free(event);
}

/* Nothing more comes: for a while that is long against a turn of a loop. */
static inline void settle_down(void)
{
    nap(60);
}

#endif
