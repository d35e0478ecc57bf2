/*
 * What the broker offers is obeyed. A proxy lowers the broker's offer on its way to the client and
 * looks at what the client then does; the broker learns of it from the client's answer.
 */
#include "support/trial_proxy.h"
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

typedef struct offer {
    uint16_t channel_max;
    uint32_t frame_max;
    uint16_t heartbeat;
    atomic_uint answered_channel_max, answered_frame_max, answered_heartbeat;
    atomic_uint largest_frame, highest_channel;
    atomic_int heartbeats, tune_oks;
} offer;

static uint32_t read_number(const uint8_t *bytes, int count)
{
    uint32_t number = 0;
    for (int i = 0; i < count; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

static void write_number(uint8_t *bytes, int count, uint32_t number)
{
    for (int i = count; i-- > 0; number >>= 8) {
        bytes[i] = (uint8_t)number;
    }
}

/* After the method's number: channel-max, frame-max, heartbeat, in tune and in tune-ok. */
static trial_pass lower(trial_frame *frame, void *user)
{
    offer *self = user;
    uint8_t *fields = frame->payload + 4;
    if (frame->method == TRIAL_CONNECTION_TUNE) {
        write_number(fields, 2, self->channel_max);
        write_number(fields + 2, 4, self->frame_max);
        write_number(fields + 6, 2, self->heartbeat);
    } else if (frame->method == TRIAL_CONNECTION_TUNE_OK) {
        atomic_store(&self->answered_channel_max, read_number(fields, 2));
        atomic_store(&self->answered_frame_max, read_number(fields + 2, 4));
        atomic_store(&self->answered_heartbeat, read_number(fields + 6, 2));
        atomic_fetch_add(&self->tune_oks, 1);
    } else if (frame->from_client) {
        uint32_t size = frame->length + 8;
        if (size > atomic_load(&self->largest_frame)) {
            atomic_store(&self->largest_frame, size);
        }
        if (frame->channel > atomic_load(&self->highest_channel)) {
            atomic_store(&self->highest_channel, frame->channel);
        }
        atomic_fetch_add(&self->heartbeats, frame->type == 8);
    }
    return TRIAL_FORWARD;
}

static void offered(trial *self, offer *made, trial_proxy **proxy, acemq_connection **mq)
{
    *proxy = trial_proxy_start(trial_port(self), lower, made);
    trial_must(acemq_connect(trial_proxy_url(*proxy), NULL, mq, trial_error()));
}

START_TEST(a_frame_max_of_4096_is_obeyed)
{
    trial self;
    trial_recorder seen;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    offer made = {.channel_max = 2047, .frame_max = 4096, .heartbeat = 60};
    static unsigned char body[100001];
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    offered(&self, &made, &proxy, &mq);
    trial_record(&seen, mq, queue, NULL, NULL, trial_accept, NULL);
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (unsigned char)(i * 13);
    }
    acemq_message *message = acemq_message_new(body, sizeof body);
    trial_must(acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    trial_wait_seen(&seen, 1, PATIENCE);
    trial_sight_has_body(trial_sight_at(&seen, 0), body, sizeof body);
    ck_assert_uint_eq(atomic_load(&made.answered_frame_max), 4096);
    ck_assert_uint_le(atomic_load(&made.largest_frame), 4096);
    ck_assert_uint_ge(atomic_load(&made.largest_frame), 4000);
    char *text = calloc(1, 5001);
    memset(text, 'h', 5000);
    acemq_message_set_header(message, "large", text);
    trial_must_fail(ACEMQ_E_LIMIT, acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    free(text);
    trial_record_end(&seen);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

/* What does not fit is refused with an error, and what is open goes on working. */
START_TEST(a_channel_max_of_4_is_obeyed)
{
    enum { TRIED = 8 };
    trial self;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    acemq_consumer *consumers[TRIED] = {NULL};
    int opened = 0;
    offer made = {.channel_max = 4, .frame_max = 131072, .heartbeat = 60};
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    offered(&self, &made, &proxy, &mq);
    for (int i = 0; i < TRIED; i++) {
        acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
        options.timeout = 3000;
        int64_t before = trial_now();
        acemq_status status =
            acemq_consumer_open(mq, queue, &options, &consumers[opened], trial_error());
        ck_assert_int_lt(trial_now() - before, 15000);
        if (status == ACEMQ_OK) {
            opened++;
        } else {
            ck_assert_int_eq(status, ACEMQ_E_LIMIT);
            trial_error_says("channel");
        }
    }
    ck_assert_int_ge(opened, 1);
    ck_assert_int_le(opened, 4);
    ck_assert_uint_eq(atomic_load(&made.answered_channel_max), 4);
    ck_assert_uint_le(atomic_load(&made.highest_channel), 4);
    acemq_message *message = acemq_message_text("still here");
    trial_must(acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    acemq_delivery *delivery = NULL;
    for (int i = 0; i < opened; i++) {
        if (delivery == NULL &&
            acemq_consumer_next(consumers[i], 1000, &delivery, NULL) == ACEMQ_OK) {
            trial_must(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, trial_error()));
        }
    }
    ck_assert_ptr_nonnull(delivery);
    acemq_delivery_free(delivery);
    for (int i = 0; i < opened; i++) {
        acemq_consumer_free(consumers[i]);
    }
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

static acemq_outcome be_busy(const trial_sight *sight, void *user)
{
    (void)sight;
    trial_sleep(*(int *)user);
    return ACEMQ_ACCEPTED;
}

/* A handler that is busy for many of them does not keep the connection from showing life. */
START_TEST(a_heartbeat_of_1_s_is_obeyed_while_a_handler_is_busy)
{
    trial self;
    trial_recorder seen;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    int busy = trial_is_long() ? 20000 : 5000;
    offer made = {.channel_max = 2047, .frame_max = 131072, .heartbeat = 1};
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    offered(&self, &made, &proxy, &mq);
    trial_record(&seen, mq, queue, NULL, NULL, be_busy, &busy);
    trial_publish_text(&self, queue, "slow");
    trial_wait_seen(&seen, 1, busy + PATIENCE);
    ck_assert_uint_eq(atomic_load(&made.answered_heartbeat), 1);
    ck_assert_int_ge(atomic_load(&made.heartbeats), busy / 1000);
    ck_assert_int_eq(trial_proxy_links(proxy), 2);
    ck_assert_uint_eq(trial_seen(&seen), 1);
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(&self, queue), 0);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

/* The line stays open and nothing passes: two intervals of silence are a dead peer. */
START_TEST(a_peer_that_falls_silent_is_dead_after_two_heartbeats)
{
    trial self;
    trial_recorder seen;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    offer made = {.channel_max = 2047, .frame_max = 131072, .heartbeat = 1};
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    offered(&self, &made, &proxy, &mq);
    trial_record(&seen, mq, queue, NULL, NULL, trial_accept, NULL);
    trial_sleep(500);
    trial_proxy_stall(proxy, true);
    int64_t stalled = trial_now();
    while (acemq_consumer_subscribed(seen.consumer) == 1) {
        ck_assert_int_lt(trial_now() - stalled, 20000);
        trial_sleep(10);
    }
    ck_assert_int_ge(trial_now() - stalled, 900);
    trial_proxy_stall(proxy, false);
    trial_publish_text(&self, queue, "afterwards");
    trial_wait_seen(&seen, 1, PATIENCE);
    trial_record_end(&seen);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

/* The lower of both sides counts. */
START_TEST(what_the_client_asks_for_is_lowered_and_never_raised)
{
    trial self;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    offer made = {.channel_max = 100, .frame_max = 8192, .heartbeat = 30};
    trial_begin_listening(&self, _i);
    proxy = trial_proxy_start(trial_port(&self), lower, &made);
    options.channel_max = 50;
    options.frame_max = 131072;
    options.heartbeat = 10000;
    trial_must(acemq_connect(trial_proxy_url(proxy), &options, &mq, trial_error()));
    ck_assert_uint_eq(atomic_load(&made.answered_channel_max), 50);
    ck_assert_uint_eq(atomic_load(&made.answered_frame_max), 8192);
    ck_assert_uint_eq(atomic_load(&made.answered_heartbeat), 10);
    ck_assert_int_eq(atomic_load(&made.tune_oks), 2);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

/* In seconds on the wire, where 0 is off: what is asked for in milliseconds is never rounded to
 * that. */
START_TEST(heartbeats_are_off_only_for_who_says_so)
{
    static const struct {
        int64_t asked;
        unsigned answered;
    } rows[] = {{-1, 30}, {0, 0}, {1, 1}, {1000, 1}, {1001, 2}, {31 * ACEMQ_SECOND, 30}};
    trial self;
    trial_proxy *proxy = NULL;
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    offer made = {.channel_max = 100, .frame_max = 8192, .heartbeat = 30};
    trial_begin_listening(&self, _i);
    proxy = trial_proxy_start(trial_port(&self), lower, &made);
    ck_assert_int_eq(options.heartbeat, -1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        options.heartbeat = rows[i].asked;
        trial_must(acemq_connect(trial_proxy_url(proxy), &options, &mq, trial_error()));
        ck_assert_uint_eq(atomic_load(&made.answered_heartbeat), rows[i].answered);
        trial_close(mq);
    }
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("negotiation");
    TCase *cases = tcase_create("negotiation");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, a_frame_max_of_4096_is_obeyed, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_channel_max_of_4_is_obeyed, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_heartbeat_of_1_s_is_obeyed_while_a_handler_is_busy, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_peer_that_falls_silent_is_dead_after_two_heartbeats, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, what_the_client_asks_for_is_lowered_and_never_raised, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, heartbeats_are_off_only_for_who_says_so, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
