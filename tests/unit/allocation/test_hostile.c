/* A broker that sends anything, in another process, and bodies that claim anything: no call crashes
 * or hangs, and the client never holds more memory than its limits allow, whatever is claimed and
 * however long it goes on. */
#include "unit/allocation/counted_allocation.h"

#include "support/scripted_peer_side.h"
#include "wire/big_endian.h"
#include "wire/method.h"

#include <acemq/acemq.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define MIB         (1024L * 1024)
#define MOST_BODY   MIB
#define MOST_BYTES  (2 * MIB) /* of prefetched bodies */
#define MOST_OUTPUT (MIB / 2)
#define MOST_FRAME  131072
#define PREFETCH    200
#define ATTACK_MS   150 /* that each goes on, as often as the client comes back */
#define HANGS_AFTER 60  /* s */
/* Twice the bodies and one more, twice over while one buffer grows into another; what is to be
 * sent, on two connections; frames, and headers that decode to twenty times their size. */
#define MOST_HELD (2 * (2 * MOST_BYTES + MOST_BODY) + 8 * MOST_OUTPUT + 64L * MOST_FRAME)

#define MOST_OWED (6 * MOST_OUTPUT)

/* What the broker does once the client is at `when`; it answers properly before. */
typedef enum moment {
    AT_TUNE,
    AT_CHANNEL, /* opening one */
    AT_CONSUME,
    AT_PUBLISH,
} moment;

typedef struct attack {
    const char *name;
    moment when;
    void (*run)(peer_side *side, uint16_t channel); /* again and again, until the client is gone */
    long most;                                      /* bytes held; 0: MOST_HELD */
} attack;

/* --- the broker ----------------------------------------------------------------------------- */

static uint64_t next_tag;

static void add_frame(ace_buffer *bytes, ace_frame_type type, uint16_t channel, const void *payload,
                      size_t length)
{
    if (ace_frame_write(bytes, type, channel, (ace_bytes){payload, length}, 0, NULL) != ACE_OK) {
        abort();
    }
}

static void send_frame(peer_side *side, ace_frame_type type, uint16_t channel, const void *payload,
                       size_t length)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    add_frame(&bytes, type, channel, payload, length);
    peer_send_raw(side, bytes.data, bytes.length);
    ace_buffer_free(&bytes);
}

static void announce(peer_side *side, uint16_t channel)
{
    amqp_basic_deliver_t deliver = {.consumer_tag = amqp_cstring_bytes("tag"),
                                    .delivery_tag = ++next_tag,
                                    .exchange = amqp_cstring_bytes(""),
                                    .routing_key = amqp_cstring_bytes("q")};
    peer_send(side, channel, AMQP_BASIC_DELIVER_METHOD, &deliver);
}

static void claim(peer_side *side, uint16_t channel, uint64_t size)
{
    uint8_t header[14] = {0, 60};
    ace_write_u64(header + 4, size);
    announce(side, channel);
    send_frame(side, ACE_FRAME_HEADER, channel, header, sizeof header);
}

static uint8_t *piece(void)
{
    static uint8_t bytes[MOST_FRAME - 8];
    return bytes;
}

static void send_body(peer_side *side, uint16_t channel, uint64_t size)
{
    while (size > 0) {
        size_t length = size < MOST_FRAME - 8 ? (size_t)size : MOST_FRAME - 8;
        send_frame(side, ACE_FRAME_BODY, channel, piece(), length);
        size -= length;
    }
}

static void claims_two_to_the_63(peer_side *side, uint16_t channel)
{
    claim(side, channel, UINT64_C(1) << 63);
    send_body(side, channel, 4 * MIB);
}

static void sends_half_a_gibibyte(peer_side *side, uint16_t channel)
{
    claim(side, channel, 512 * MIB);
    send_body(side, channel, 512 * MIB);
}

static void sends_bodies_over_the_limit(peer_side *side, uint16_t channel)
{
    claim(side, channel, MOST_BODY + 1);
    send_body(side, channel, MOST_BODY + 1);
}

/* Beyond the prefetch by count and by bytes; the client's cancel is not heard. */
static void delivers_for_ever(peer_side *side, uint16_t channel)
{
    claim(side, channel, MOST_BODY);
    send_body(side, channel, MOST_BODY);
}

static void delivers_small_for_ever(peer_side *side, uint16_t channel)
{
    for (int i = 0; i < 1000; i++) {
        claim(side, channel, 0);
    }
}

/* As many header entries as a frame holds: each of two bytes, and of forty when decoded. */
static void delivers_headers(peer_side *side, uint16_t channel)
{
    static uint8_t header[MOST_FRAME - 8] = {0, 60};
    ace_write_u16(header + 12, AMQP_BASIC_HEADERS_FLAG);
    ace_write_u32(header + 14, sizeof header - 18);
    for (size_t at = 18; at + 1 < sizeof header; at += 2) {
        header[at] = 0;
        header[at + 1] = 'V';
    }
    announce(side, channel);
    send_frame(side, ACE_FRAME_HEADER, channel, header, sizeof header);
}

/* An array that says it has four gigabytes, and tables inside tables inside tables. */
static void delivers_lying_headers(peer_side *side, uint16_t channel)
{
    uint8_t header[30] = {0, 60};
    ace_write_u16(header + 12, AMQP_BASIC_HEADERS_FLAG);
    ace_write_u32(header + 14, 12);
    header[18] = 1;
    header[19] = 'a';
    header[20] = 'A';
    ace_write_u32(header + 21, UINT32_MAX);
    announce(side, channel);
    send_frame(side, ACE_FRAME_HEADER, channel, header, sizeof header);
}

static void delivers_nested_headers(peer_side *side, uint16_t channel)
{
    static uint8_t header[MOST_FRAME - 8] = {0, 60};
    size_t at = 14;
    ace_write_u16(header + 12, AMQP_BASIC_HEADERS_FLAG);
    while (at + 6 <= sizeof header) {
        ace_write_u32(header + at, (uint32_t)(sizeof header - at - 4));
        header[at + 4] = 0;
        header[at + 5] = 'F';
        at += 6;
    }
    announce(side, channel);
    send_frame(side, ACE_FRAME_HEADER, channel, header, sizeof header);
}

static void asks_to_flow(peer_side *side, uint16_t channel)
{
    static const uint8_t flow[] = {0, 20, 0, 20, 1};
    ace_buffer bytes = ACE_BUFFER_INIT;
    for (int i = 0; i < 4000; i++) {
        add_frame(&bytes, ACE_FRAME_METHOD, channel, flow, sizeof flow);
    }
    peer_send_raw(side, bytes.data, bytes.length);
    ace_buffer_free(&bytes);
}

static void cancels(peer_side *side, uint16_t channel)
{
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes("tag")};
    for (int i = 0; i < 1000; i++) {
        peer_send(side, channel, AMQP_BASIC_CANCEL_METHOD, &cancel);
    }
}

static void closes_channels(peer_side *side, uint16_t channel)
{
    for (uint16_t i = 1; i < 60; i++) {
        peer_close_channel(side, (uint16_t)(channel + i % 3), 406, "NO - really not", 0);
    }
}

static void returns_for_ever(peer_side *side, uint16_t channel)
{
    amqp_basic_return_t back = {.reply_code = 312,
                                .reply_text = amqp_cstring_bytes("NO_ROUTE"),
                                .exchange = amqp_cstring_bytes(""),
                                .routing_key = amqp_cstring_bytes("q")};
    amqp_basic_properties_t properties = {._flags = 0};
    peer_send_content(side, channel, AMQP_BASIC_RETURN_METHOD, &back, &properties,
                      (ace_bytes){piece(), 10000});
}

static void confirms_what_was_not_sent(peer_side *side, uint16_t channel)
{
    for (uint64_t tag = 2; tag < 1000; tag++) {
        peer_ack(side, channel, tag * tag * tag, tag % 2 == 0);
        peer_nack(side, channel, UINT64_MAX - tag, tag % 2 == 0);
    }
}

static void tunes_to_nothing(peer_side *side, uint16_t channel)
{
    static const peer_tune tunes[] = {{0, 0, 65535},    {0, UINT32_MAX, 0}, {1, 1, 1},
                                      {65535, 4095, 0}, {0, INT32_MAX, 0},  {1, 4096, 65535}};
    static int turn;
    (void)channel;
    peer_send_tune(side, &tunes[turn++ % 6]);
}

/* Of what a frame claims nothing is allocated before it came; more than a frame may have is refused
 * at once. */
static void sends_half_frames(peer_side *side, uint16_t channel)
{
    uint8_t head[7] = {ACE_FRAME_BODY, (uint8_t)(channel >> 8), (uint8_t)channel};
    ace_write_u32(head + 3, UINT32_MAX);
    peer_send_raw(side, head, sizeof head);
    peer_send_raw(side, piece(), MOST_FRAME - 8);
}

static void offers_large_frames(peer_side *side, uint16_t channel)
{
    uint8_t head[7] = {ACE_FRAME_METHOD};
    static bool told;
    (void)channel;
    if (!told) {
        peer_send_tune(side, &(peer_tune){0, UINT32_MAX, 0});
        ace_write_u32(head + 3, 1000 * MIB);
        peer_send_raw(side, head, sizeof head);
    }
    told = true;
    peer_send_raw(side, piece(), MOST_FRAME - 8);
}

static void uses_unknown_channels(peer_side *side, uint16_t channel)
{
    static uint16_t number = 1000;
    (void)channel;
    claim(side, number++, 100);
    claim(side, 65535, 100);
}

static void answers_what_nobody_asked(peer_side *side, uint16_t channel)
{
    amqp_queue_declare_ok_t ok = {.queue = amqp_cstring_bytes("q")};
    peer_send(side, channel, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
}

static void blocks_and_unblocks(peer_side *side, uint16_t channel)
{
    amqp_connection_blocked_t blocked = {.reason = amqp_cstring_bytes("low on disk")};
    amqp_connection_unblocked_t unblocked = {0};
    (void)channel;
    for (int i = 0; i < 1000; i++) {
        peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
        peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    }
}

static void talks_garbage(peer_side *side, uint16_t channel)
{
    uint8_t bytes[512];
    static uint32_t state = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
    bytes[0] = ACE_FRAME_METHOD;
    ace_write_u16(bytes + 1, channel);
    ace_write_u32(bytes + 3, sizeof bytes - 8);
    bytes[sizeof bytes - 1] = ACE_FRAME_END;
    peer_send_raw(side, bytes, sizeof bytes);
}

static const attack attacks[] = {
    {"a body of 2^63 bytes", AT_CONSUME, claims_two_to_the_63, 0},
    {"a body of half a gibibyte", AT_CONSUME, sends_half_a_gibibyte, 0},
    {"bodies over the limit", AT_CONSUME, sends_bodies_over_the_limit, 0},
    {"endless deliveries", AT_CONSUME, delivers_for_ever, 0},
    {"endless empty deliveries", AT_CONSUME, delivers_small_for_ever, 0},
    {"headers of many entries", AT_CONSUME, delivers_headers, 0},
    {"headers that lie", AT_CONSUME, delivers_lying_headers, 0},
    {"headers nested deep", AT_CONSUME, delivers_nested_headers, 0},
    {"endless flow", AT_CONSUME, asks_to_flow, MOST_OWED},
    {"endless flow to who publishes", AT_PUBLISH, asks_to_flow, MOST_OWED},
    {"endless cancels", AT_CONSUME, cancels, 0},
    {"channels closed again and again", AT_CONSUME, closes_channels, 0},
    {"endless returns", AT_PUBLISH, returns_for_ever, 0},
    {"confirms of nothing", AT_PUBLISH, confirms_what_was_not_sent, 0},
    {"an absurd tune", AT_TUNE, tunes_to_nothing, 0},
    {"half frames", AT_CHANNEL, sends_half_frames, 0},
    {"large frames", AT_TUNE, offers_large_frames, 0},
    {"unknown channels", AT_CHANNEL, uses_unknown_channels, 0},
    {"answers to nothing", AT_PUBLISH, answers_what_nobody_asked, 0},
    {"blocked and unblocked", AT_CHANNEL, blocks_and_unblocks, 0},
    {"garbage in frames", AT_PUBLISH, talks_garbage, 0},
};

static void attack_for_ever(const attack *how, peer_side *side, uint16_t channel)
{
    peer_set_patience(side, HANGS_AFTER * 1000);
    for (;;) {
        how->run(side, channel); /* ends with the connection */
    }
}

static void answer_named(peer_side *side, uint16_t channel, const amqp_method_t *method)
{
    if (method->id == AMQP_QUEUE_DECLARE_METHOD) {
        amqp_queue_declare_ok_t ok = {.queue = ((amqp_queue_declare_t *)method->decoded)->queue};
        peer_send(side, channel, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
    } else {
        amqp_basic_consume_ok_t ok = {.consumer_tag =
                                          ((amqp_basic_consume_t *)method->decoded)->consumer_tag};
        peer_send(side, channel, AMQP_BASIC_CONSUME_OK_METHOD, &ok);
    }
}

static void answer(peer_side *side, uint16_t channel, const amqp_method_t *method)
{
    static const union {
        amqp_queue_delete_ok_t deleted;
        uint8_t bytes[128];
    } nothing = {.bytes = {0}};
    switch (method->id) {
    case AMQP_QUEUE_DECLARE_METHOD:
    case AMQP_BASIC_CONSUME_METHOD:
        answer_named(side, channel, method);
        break;
    case AMQP_BASIC_ACK_METHOD:
    case AMQP_BASIC_NACK_METHOD:
    case AMQP_CHANNEL_CLOSE_OK_METHOD:
        break;
    case AMQP_CONNECTION_CLOSE_METHOD:
        peer_send(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &nothing);
        break;
    default: /* the answer has the next number, and no field that matters */
        peer_send(side, channel, method->id + 1, &nothing);
        break;
    }
}

static void serve_method(const attack *how, peer_side *side, const ace_frame *frame)
{
    amqp_method_number_t id = ace_method_id(frame->payload);
    amqp_method_t method;
    recycle_amqp_pool(&side->pool);
    if (ace_method_decode(frame->payload, &side->pool, &method, NULL) != ACE_OK) {
        return;
    }
    if (id == AMQP_BASIC_PUBLISH_METHOD) {
        if (how->when == AT_PUBLISH) {
            attack_for_ever(how, side, frame->channel);
        }
        return;
    }
    answer(side, frame->channel, &method);
    if ((how->when == AT_CONSUME && id == AMQP_BASIC_CONSUME_METHOD) ||
        (how->when == AT_CHANNEL && id == AMQP_CHANNEL_OPEN_METHOD)) {
        attack_for_ever(how, side, frame->channel);
    }
}

static void script(peer_side *side, int index, void *user)
{
    const attack *how = user;
    (void)index;
    if (how->when == AT_TUNE) {
        peer_expect_header(side);
        peer_send_start(side, "PLAIN", true);
        (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
        attack_for_ever(how, side, 0);
    }
    peer_handshake(side, NULL);
    for (;;) {
        ace_frame frame;
        if (!peer_next_frame(side, &frame, HANGS_AFTER * 1000)) {
            return;
        }
        if (frame.type == ACE_FRAME_METHOD) {
            serve_method(how, side, &frame);
        }
    }
}

static pid_t start_broker(const attack *how, char url[64])
{
    int told[2];
    uint16_t port = 0;
    ck_assert_int_eq(pipe(told), 0);
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        scripted_peer *peer = peer_start(script, (void *)(uintptr_t)how);
        port = peer_port(peer);
        if (write(told[1], &port, sizeof port) != sizeof port) {
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    ck_assert_int_gt(process, 0);
    ck_assert_int_eq(read(told[0], &port, sizeof port), sizeof port);
    close(told[0]);
    close(told[1]);
    snprintf(url, 64, "amqp://guest:guest@127.0.0.1:%d/", port);
    return process;
}

/* --- the client ----------------------------------------------------------------------------- */

/* With a result or with an error. */
#define MUST_END(call)                                                                             \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status must_status = (call);                                                         \
        ck_assert((must_status == ACEMQ_OK) == (error == NULL));                                   \
        acemq_error_free(error);                                                                   \
    } while (0)

static int64_t now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static acemq_connection *connect_to(const char *url)
{
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.timeout = 2000;
    options.call_timeout = 500;
    options.publish_timeout = 100;
    options.reconnect_initial = 5;
    options.reconnect_max = 20;
    options.max_body = MOST_BODY;
    options.max_output = MOST_OUTPUT;
    options.max_queued = MIB;
    options.log_level = ACEMQ_LOG_NONE;
    options.events = UINT64_C(1) << ACEMQ_EVENT_CONNECTION | UINT64_C(1)
                                                                 << ACEMQ_EVENT_SETTLE_FAILED;
    MUST_END(acemq_connect(url, &options, &mq, &error));
    return mq;
}

static acemq_consumer *consume_from(acemq_connection *mq)
{
    acemq_consumer *consumer = NULL;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.prefetch = PREFETCH;
    options.prefetch_bytes = MOST_BYTES;
    options.tag = "tag";
    options.timeout = 200;
    MUST_END(acemq_consumer_open(mq, "q", &options, &consumer, &error));
    return consumer;
}

static void work(acemq_connection *mq, acemq_consumer *consumer)
{
    acemq_message *message = acemq_message_text("hello");
    int64_t end = now() + (getenv("ACEMQ_TEST_LONG") == NULL ? 1 : 20) * ATTACK_MS;
    while (now() < end) {
        acemq_delivery *delivery = NULL;
        MUST_END(acemq_publish(mq, "q", message, 20, &error));
        if (consumer != NULL) {
            MUST_END(acemq_consumer_next(consumer, 5, &delivery, &error));
            acemq_delivery_free(delivery);
        }
    }
    acemq_message_free(message);
}

START_TEST(no_broker_makes_the_client_crash_hang_or_take_more_than_its_limits)
{
    const attack *how = &attacks[_i];
    char url[64];
    pid_t broker = start_broker(how, url);
    long before = counted_held();
    counted_begin();
    alarm(HANGS_AFTER);
    acemq_connection *mq = NULL;
    for (int tries = 0; tries < 6 && mq == NULL; tries++) { /* each meets another tune */
        mq = connect_to(url);
    }
    acemq_consumer *consumer = NULL;
    if (mq != NULL) {
        consumer = consume_from(mq);
        work(mq, consumer);
    }
    acemq_consumer_free(consumer);
    if (mq != NULL) {
        MUST_END(acemq_connection_close(mq, 20, &error));
    }
    acemq_connection_free(mq);
    alarm(0);
    kill(broker, SIGKILL);
    long most = counted_most() - before;
    if (getenv("ACEMQ_TEST_SHOW_ALLOCATION") != NULL) {
        fprintf(stderr, "%s: %ld bytes at most\n", how->name, most);
    }
    long limit = how->most > 0 ? how->most : MOST_HELD;
    ck_assert_msg(most <= limit, "%s: %ld bytes were held, the limits add up to %ld", how->name,
                  most, limit);
    ck_assert_msg(!COUNTED_IS_COUNTING || most > 0, "nothing was counted");
}
END_TEST

static void is_refused_cheaply(const char *name, acemq_bytes body)
{
    const acemq_codec *codec = acemq_codec_builtin(name);
    acemq_error *error = NULL;
    char *json = NULL;
    long before = counted_held();
    counted_begin();
    ck_assert_int_eq(acemq_codec_check(codec, body, NULL, &error), ACEMQ_E_DECODE);
    if (strcmp(name, "msgpack") == 0) {
        ck_assert_int_eq(acemq_msgpack_to_json(body, &json, NULL), ACEMQ_E_DECODE);
    }
    ck_assert_int_le(counted_most() - before, 4096); /* the error */
    acemq_error_free(error);
}

START_TEST(five_bytes_that_claim_eight_gigabytes_allocate_nothing)
{
    static const struct {
        const char *text;
        size_t length;
    } bodies[] = {
        {"\xdd\x0f\xff\xff\xff", 5},
        {"\xdf\xff\xff\xff\xff", 5},
        {"\xdb\xff\xff\xff\xff", 5},
        {"\xc6\xff\xff\xff\xff", 5},
        {"\xc9\xff\xff\xff\xff\x01", 6},
        {"\x91\xdd\x0f\xff\xff\xff", 6},
        {"\xdd\xff\xff\xff\xff\xdd\xff\xff\xff\xff", 10},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        is_refused_cheaply("msgpack",
                           (acemq_bytes){(const uint8_t *)bodies[i].text, bodies[i].length});
    }
}
END_TEST

START_TEST(json_nested_without_end_allocates_nothing_for_it)
{
    static uint8_t open[100000];
    memset(open, '[', sizeof open);
    is_refused_cheaply("json", (acemq_bytes){open, sizeof open});
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostile");
    TCase *tests = tcase_create("attacks");
    SRunner *runner = srunner_create(suite);
    tcase_set_timeout(tests, HANGS_AFTER);
    tcase_add_loop_test(tests, no_broker_makes_the_client_crash_hang_or_take_more_than_its_limits,
                        0, (int)(sizeof attacks / sizeof attacks[0]));
    tcase_add_test(tests, five_bytes_that_claim_eight_gigabytes_allocate_nothing);
    tcase_add_test(tests, json_nested_without_end_allocates_nothing_for_it);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
