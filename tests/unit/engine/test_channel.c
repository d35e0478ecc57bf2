#include "engine_fixture.h"

#include <stdatomic.h>
#include <stdio.h>

/* A channel under test, and what it was told. All of it on the loop's thread but for the counters.
 */
typedef struct subject {
    fixture f;
    ace_channel *channel;
    ace_call calls[3];
    ace_code results[3];
    uint32_t counts[3];
    atomic_int answered;
    atomic_int opened;
    atomic_int lost;
    atomic_int contents;
    atomic_int methods;
    ace_code lost_code;
    bool comes_back;
    uint64_t openings;
    amqp_method_number_t last_method;
    char last_body[64];
    size_t last_length;
    bool closes_when_opened;
    bool closes_when_lost;
    bool closes_on_content;
    void (*when_opened)(struct subject *self);
} subject;

static void await(atomic_int *count, int expected)
{
    for (int i = 0; i < 1000 && atomic_load(count) < expected; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(atomic_load(count), expected);
}

static void when_opened(ace_channel *channel, void *user)
{
    subject *self = user;
    self->openings = ace_channel_opening(channel);
    if (self->when_opened != NULL) {
        self->when_opened(self);
    }
    if (self->closes_when_opened) {
        ace_channel_close(channel);
        ace_channel_close(channel); /* again is fine while it is still told about */
    }
    atomic_fetch_add(&self->opened, 1);
}

static void when_lost(ace_channel *channel, const ace_error *error, bool comes_back, void *user)
{
    subject *self = user;
    self->lost_code = ace_error_code(error);
    self->comes_back = comes_back;
    if (self->closes_when_lost) {
        ace_channel_close(channel);
    }
    atomic_fetch_add(&self->lost, 1);
}

static void when_content(ace_channel *channel, ace_content *content, void *user)
{
    subject *self = user;
    size_t length = content->body.length;
    self->last_length = length;
    if (length > 0 && length < sizeof self->last_body) {
        memcpy(self->last_body, content->body.data, length);
        self->last_body[length] = '\0';
    }
    ace_content_free(content);
    if (self->closes_on_content) {
        ace_channel_close(channel);
    }
    atomic_fetch_add(&self->contents, 1);
}

static void when_method(ace_channel *channel, const amqp_method_t *method, void *user)
{
    subject *self = user;
    (void)channel;
    self->last_method = method->id;
    atomic_fetch_add(&self->methods, 1);
}

static void make_channel(void *user)
{
    static const ace_channel_handler handler = {
        .opened = when_opened, .lost = when_lost, .content = when_content, .method = when_method};
    subject *self = user;
    self->channel = ace_channel_new(self->f.link, &handler, self, NULL);
    ck_assert_ptr_nonnull(self->channel);
}

static void on_loop(subject *self, void (*run)(void *user))
{
    ck_assert(ace_loop_call(ace_link_loop(self->f.link), run, self));
}

static void begin(subject *self, peer_script *script)
{
    *self = (subject){0};
    fixture_begin(&self->f, script, NULL);
    fixture_make_link(&self->f);
    on_loop(self, make_channel);
    fixture_must_connect(&self->f);
}

static void end(subject *self)
{
    ace_link_close(self->f.link, ace_deadline_after(20));
    fixture_end(&self->f);
}

static subject *current; /* of the calls below, which know no user */

static void keep_answer(ace_call *call, const amqp_method_t *reply, ace_content *content,
                        const ace_error *error)
{
    size_t which = (size_t)(call - current->calls);
    current->results[which] = error == NULL ? ACE_OK : ace_error_code(error);
    if (reply != NULL) {
        current->counts[which] = ((const amqp_queue_declare_ok_t *)reply->decoded)->message_count;
    }
    ace_content_free(content);
    atomic_fetch_add(&current->answered, 1);
}

static void declare_three(void *user)
{
    subject *self = user;
    current = self;
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        amqp_queue_declare_t method = {.queue = peer_text(name)};
        self->calls[i] = (ace_call){.done = keep_answer};
        ck_assert_int_eq(ace_channel_call(self->channel, &self->calls[i], AMQP_QUEUE_DECLARE_METHOD,
                                          &method, NULL),
                         ACE_OK);
    }
}

static void reopen(void *user)
{
    subject *self = user;
    ace_channel_reopen(self->channel);
    ace_channel_reopen(self->channel);
}

static void script_pipeline(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    for (int i = 0; i < 3; i++) {
        (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    }
    amqp_queue_declare_ok_t ok = {.queue = peer_text("a"), .message_count = 11};
    peer_send(side, 1, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
    peer_close_channel(side, 1, 404, "NOT_FOUND - b", AMQP_QUEUE_DECLARE_METHOD);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
    peer_open_channel(side, 1);
    peer_wait_stop(side);
}

START_TEST(a_close_answers_the_oldest_call_and_the_others_are_collateral)
{
    subject self;
    begin(&self, script_pipeline);
    await(&self.opened, 1);
    on_loop(&self, declare_three);
    await(&self.answered, 3);
    ck_assert_int_eq(self.results[0], ACE_OK);
    ck_assert_uint_eq(self.counts[0], 11);
    ck_assert_int_eq(self.results[1], ACE_NOT_FOUND);
    ck_assert_int_eq(self.results[2], ACE_CHANNEL_CLOSED);
    await(&self.lost, 1);
    ck_assert_int_eq(self.lost_code, ACE_NOT_FOUND);
    ck_assert(!self.comes_back);
    on_loop(&self, reopen);
    await(&self.opened, 2);
    ck_assert_uint_eq(self.openings, 2);
    end(&self);
}
END_TEST

static void script_other_fault(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    for (int i = 0; i < 3; i++) {
        (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    }
    peer_close_channel(side, 1, 404, "NOT_FOUND - no exchange 'x'", AMQP_BASIC_PUBLISH_METHOD);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
    peer_wait_stop(side);
}

START_TEST(a_close_over_a_publish_is_no_answer_to_a_declaration)
{
    subject self;
    begin(&self, script_other_fault);
    await(&self.opened, 1);
    on_loop(&self, declare_three);
    await(&self.answered, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(self.results[i], ACE_CHANNEL_CLOSED);
    }
    await(&self.lost, 1);
    ck_assert_int_eq(self.lost_code, ACE_NOT_FOUND);
    end(&self);
}
END_TEST

static void declare_impatiently(void *user)
{
    subject *self = user;
    amqp_queue_declare_t method = {.queue = peer_text("slow")};
    current = self;
    self->calls[0] = (ace_call){.done = keep_answer, .wait = 50};
    ck_assert_int_eq(
        ace_channel_call(self->channel, &self->calls[0], AMQP_QUEUE_DECLARE_METHOD, &method, NULL),
        ACE_OK);
}

static void script_no_answer(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_METHOD);
    peer_open_channel(side, 2); /* the first number is not free yet */
    peer_wait_stop(side);
}

START_TEST(no_answer_in_time_closes_the_channel)
{
    subject self;
    begin(&self, script_no_answer);
    await(&self.opened, 1);
    on_loop(&self, declare_impatiently);
    await(&self.lost, 1);
    ck_assert_int_eq(self.results[0], ACE_TIMEOUT);
    ck_assert_int_eq(self.lost_code, ACE_TIMEOUT);
    ck_assert(!self.comes_back);
    on_loop(&self, reopen);
    await(&self.opened, 2);
    end(&self);
}
END_TEST

static void script_lost(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    if (index == 0) {
        (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
        peer_hang_up(side);
        return;
    }
    peer_wait_stop(side);
}

START_TEST(a_lost_connection_answers_the_calls_and_the_channel_comes_back)
{
    subject self;
    begin(&self, script_lost);
    await(&self.opened, 1);
    on_loop(&self, declare_three);
    await(&self.opened, 2);
    ck_assert_int_eq(atomic_load(&self.lost), 1);
    ck_assert_int_eq(atomic_load(&self.answered), 3);
    ck_assert_int_eq(self.results[0], ACE_CONNECTION_LOST);
    ck_assert_int_eq(self.results[2], ACE_CONNECTION_LOST);
    ck_assert(self.comes_back);
    ck_assert_uint_eq(self.openings, 2);
    ck_assert_uint_eq(ace_link_epoch(self.f.link), 2);
    end(&self);
    ck_assert_int_eq(atomic_load(&self.lost), 2);
    ck_assert_int_eq(self.lost_code, ACE_CLOSED);
    ck_assert(!self.comes_back);
}
END_TEST

static void send_deliver(peer_side *side, const char *body)
{
    amqp_basic_deliver_t deliver = {.consumer_tag = peer_text("tag"),
                                    .delivery_tag = 1,
                                    .exchange = peer_text(""),
                                    .routing_key = peer_text("orders")};
    amqp_basic_properties_t properties = {._flags = 0};
    peer_send_content(side, 1, AMQP_BASIC_DELIVER_METHOD, &deliver, &properties,
                      ace_bytes_of(body));
}

static void script_unasked(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    amqp_channel_flow_t flow = {.active = 0};
    peer_send(side, 1, AMQP_CHANNEL_FLOW_METHOD, &flow);
    const amqp_channel_flow_ok_t *flow_ok = peer_expect(side, 1, AMQP_CHANNEL_FLOW_OK_METHOD);
    peer_check(side, !flow_ok->active, "flow-ok");
    peer_set_pieces(side, PEER_BYTE_BY_BYTE);
    send_deliver(side, "hello");
    peer_set_pieces(side, PEER_AS_IT_COMES);
    amqp_basic_cancel_t cancel = {.consumer_tag = peer_text("tag"), .nowait = 0};
    peer_send(side, 1, AMQP_BASIC_CANCEL_METHOD, &cancel);
    (void)peer_expect(side, 1, AMQP_BASIC_CANCEL_OK_METHOD);
    cancel.nowait = 1;
    peer_send(side, 1, AMQP_BASIC_CANCEL_METHOD, &cancel);
    peer_expect_silence(side, 30);
    peer_wait_stop(side);
}

START_TEST(deliveries_and_the_brokers_cancel_reach_the_handler_and_flow_is_answered)
{
    subject self;
    begin(&self, script_unasked);
    await(&self.contents, 1);
    ck_assert_str_eq(self.last_body, "hello");
    await(&self.methods, 2);
    ck_assert_uint_eq(self.last_method, AMQP_BASIC_CANCEL_METHOD);
    struct timespec pause = {.tv_nsec = 80000000};
    nanosleep(&pause, NULL); /* the peer listens for an answer that may not come */
    end(&self);
}
END_TEST

static void script_deliver(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    send_deliver(side, "first");
    send_deliver(side, "second"); /* which may come after the goodbye */
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_METHOD);
    send_deliver(side, "third");
    amqp_channel_close_ok_t ok = {0};
    peer_send(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    peer_wait_stop(side);
}

static subject closing;

static void close_on_content(subject *self)
{
    self->closes_on_content = true;
}

START_TEST(a_channel_closed_in_the_middle_of_a_delivery_hears_nothing_more)
{
    closing.when_opened = close_on_content;
    fixture_begin(&closing.f, script_deliver, NULL);
    fixture_make_link(&closing.f);
    on_loop(&closing, make_channel);
    fixture_must_connect(&closing.f);
    await(&closing.contents, 1);
    ck_assert_str_eq(closing.last_body, "first");
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    ck_assert_int_eq(ace_link_is_open(closing.f.link), 1);
    end(&closing);
    ck_assert_int_eq(atomic_load(&closing.contents), 1);
    ck_assert_int_eq(atomic_load(&closing.lost), 0);
}
END_TEST

static void script_close_twice(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    (void)peer_expect(side, 1, AMQP_CHANNEL_OPEN_METHOD);
    amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
    peer_send(side, 1, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_METHOD);
    /* Both sides close at once: ours is answered, and so is theirs. */
    peer_close_channel(side, 1, 406, "PRECONDITION_FAILED - x", AMQP_BASIC_ACK_METHOD);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
    amqp_channel_close_ok_t closed = {0};
    peer_send(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &closed);
    peer_wait_stop(side);
}

static void close_at_once(subject *self)
{
    self->closes_when_opened = true;
}

START_TEST(both_sides_may_close_a_channel_at_once)
{
    closing.when_opened = close_at_once;
    fixture_begin(&closing.f, script_close_twice, NULL);
    fixture_make_link(&closing.f);
    on_loop(&closing, make_channel);
    fixture_must_connect(&closing.f);
    await(&closing.opened, 1);
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    ck_assert(ace_link_is_open(closing.f.link));
    end(&closing);
    ck_assert_int_eq(atomic_load(&closing.lost), 0);
}
END_TEST

static void script_hang_up(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    if (index > 0) {
        peer_expect_silence(side, 50); /* nothing is opened any more */
        peer_wait_stop(side);
    }
    peer_open_channel(side, 1);
    peer_hang_up(side);
}

START_TEST(a_channel_may_be_closed_while_it_is_told_that_it_is_lost)
{
    closing.closes_when_lost = true;
    fixture_begin(&closing.f, script_hang_up, NULL);
    fixture_make_link(&closing.f);
    on_loop(&closing, make_channel);
    fixture_must_connect(&closing.f);
    await(&closing.lost, 1);
    fixture_await_state(&closing.f, ACE_LINK_OPEN, 2);
    struct timespec pause = {.tv_nsec = 80000000};
    nanosleep(&pause, NULL);
    end(&closing);
    ck_assert_int_eq(atomic_load(&closing.lost), 1);
    ck_assert_int_eq(atomic_load(&closing.opened), 1);
}
END_TEST

typedef struct fault {
    const char *what;
    const char *bytes;
    size_t length;
} fault;

#define FAULT(what, text)                                                                          \
    {                                                                                              \
        what, text, sizeof(text) - 1                                                               \
    }

/* clang-format off */
static const fault faults[] = {
    FAULT("a header that nothing announced",
          "\x02\x00\x01\x00\x00\x00\x0e\x00\x3c\x00\x00\0\0\0\0\0\0\0\x01\x00\x00\xce"),
    FAULT("a body that nothing announced", "\x03\x00\x01\x00\x00\x00\x01x\xce"),
    FAULT("an unknown method", "\x01\x00\x01\x00\x00\x00\x04\xff\xff\xff\xff\xce"),
    FAULT("basic.deliver cut short", "\x01\x00\x01\x00\x00\x00\x04\x00\x3c\x00\x3c\xce"),
    FAULT("a channel that is not open", "\x01\x00\x05\x00\x00\x00\x04\x00\x14\x00\x0b\xce"),
    FAULT("a wrong end octet", "\x01\x00\x01\x00\x00\x00\x04\x00\x14\x00\x0b\xcd"),
    FAULT("a frame of two gigabytes", "\x01\x00\x01\x7f\xff\xff\xff"),
    FAULT("an unknown frame", "\x09\x00\x01\x00\x00\x00\x00\xce"),
};
/* clang-format on */

static int fault_number;

static void script_fault(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    if (index == 0) {
        peer_send_raw(side, faults[fault_number].bytes, faults[fault_number].length);
        peer_expect_end(side);
        return;
    }
    peer_wait_stop(side);
}

START_TEST(garbage_ends_the_connection_and_not_the_process)
{
    subject self;
    fault_number = _i;
    begin(&self, script_fault);
    await(&self.opened, 2);
    ck_assert_int_eq(atomic_load(&self.lost), 1);
    ck_assert_msg(self.lost_code == ACE_PROTOCOL, "%s: %s", faults[_i].what,
                  ace_code_name(self.lost_code));
    end(&self);
}
END_TEST

static void script_interleaved(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    peer_open_channel(side, 2);
    /* The parts of two contents and a heartbeat, one among the other. */
    static const uint8_t parts[][33] = {
        "\x01\x00\x01\x00\x00\x00\x12\x00\x3c\x00\x3c\x01t\0\0\0\0\0\0\0\x01\x00\x00\x01k\xce",
        "\x01\x00\x02\x00\x00\x00\x12\x00\x3c\x00\x3c\x01t\0\0\0\0\0\0\0\x01\x00\x00\x01k\xce",
        "\x02\x00\x02\x00\x00\x00\x0e\x00\x3c\x00\x00\0\0\0\0\0\0\0\x04\x00\x00\xce",
        "\x02\x00\x01\x00\x00\x00\x0e\x00\x3c\x00\x00\0\0\0\0\0\0\0\x04\x00\x00\xce",
        "\x03\x00\x01\x00\x00\x00\x02wh\xce",
        "\x03\x00\x02\x00\x00\x00\x04"
        "blue\xce",
        "\x08\x00\x00\x00\x00\x00\x00\xce",
        "\x03\x00\x01\x00\x00\x00\x02om\xce",
    };
    static const size_t lengths[] = {26, 26, 22, 22, 10, 12, 8, 10};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        peer_send_raw(side, parts[i], lengths[i]);
    }
    peer_wait_stop(side);
}

START_TEST(contents_of_two_channels_may_come_interleaved)
{
    subject self;
    subject other = {0};
    self = (subject){0};
    fixture_begin(&self.f, script_interleaved, NULL);
    fixture_make_link(&self.f);
    other.f.link = self.f.link;
    on_loop(&self, make_channel);
    on_loop(&other, make_channel);
    fixture_must_connect(&self.f);
    await(&self.contents, 1);
    await(&other.contents, 1);
    ck_assert_str_eq(self.last_body, "whom");
    ck_assert_str_eq(other.last_body, "blue");
    end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, 60);
    tcase_add_test(calls, a_close_answers_the_oldest_call_and_the_others_are_collateral);
    tcase_add_test(calls, a_close_over_a_publish_is_no_answer_to_a_declaration);
    tcase_add_test(calls, no_answer_in_time_closes_the_channel);
    tcase_add_test(calls, a_lost_connection_answers_the_calls_and_the_channel_comes_back);
    suite_add_tcase(suite, calls);
    TCase *frames = tcase_create("frames");
    tcase_set_timeout(frames, 60);
    tcase_add_test(frames,
                   deliveries_and_the_brokers_cancel_reach_the_handler_and_flow_is_answered);
    tcase_add_test(frames, contents_of_two_channels_may_come_interleaved);
    tcase_add_loop_test(frames, garbage_ends_the_connection_and_not_the_process, 0,
                        (int)(sizeof faults / sizeof faults[0]));
    suite_add_tcase(suite, frames);
    TCase *ends = tcase_create("ends");
    tcase_set_timeout(ends, 60);
    tcase_add_test(ends, a_channel_closed_in_the_middle_of_a_delivery_hears_nothing_more);
    tcase_add_test(ends, both_sides_may_close_a_channel_at_once);
    tcase_add_test(ends, a_channel_may_be_closed_while_it_is_told_that_it_is_lost);
    suite_add_tcase(suite, ends);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
