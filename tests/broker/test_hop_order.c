/*
 * On the wire, frame by frame: no delivery is acknowledged before the broker confirmed its copy,
 * however many hops are under way at once.
 */
#include "support/trial_proxy.h"
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (30 * ACEMQ_SECOND)
#define MESSAGES 3000
#define TAGS_MAX (4 * MESSAGES)
#define LANES    16

/* Tags of one channel that were acknowledged, by whichever side. */
typedef struct tags {
    int link;
    uint16_t channel;
    bool from_client;
    uint64_t below; /* all up to this one */
    bool seen[TAGS_MAX + 1];
    uint64_t count;
} tags;

typedef struct ledger {
    tags lanes[LANES];
    size_t used;
    uint64_t confirmed, acknowledged;
    atomic_uint early; /* acknowledgements before their confirm */
    int hold_confirms; /* so many ms each */
} ledger;

static tags *lane_of(ledger *self, const trial_frame *frame)
{
    for (size_t i = 0; i < self->used; i++) {
        tags *lane = &self->lanes[i];
        if (lane->link == frame->link && lane->channel == frame->channel &&
            lane->from_client == frame->from_client) {
            return lane;
        }
    }
    ck_assert_uint_lt(self->used, LANES);
    tags *lane = &self->lanes[self->used++];
    lane->link = frame->link;
    lane->channel = frame->channel;
    lane->from_client = frame->from_client;
    return lane;
}

/* How many tags this basic.ack adds. */
static uint64_t tick(tags *lane, const trial_frame *frame)
{
    uint64_t tag = 0, added = 0;
    for (int i = 0; i < 8; i++) {
        tag = tag << 8 | frame->payload[4 + i];
    }
    ck_assert_uint_le(tag, TAGS_MAX);
    bool multiple = (frame->payload[12] & 1) != 0;
    for (uint64_t each = multiple ? lane->below + 1 : tag; each <= tag; each++) {
        added += !lane->seen[each];
        lane->seen[each] = true;
    }
    while (lane->below < TAGS_MAX && lane->seen[lane->below + 1]) {
        lane->below++;
    }
    return added;
}

static trial_pass keep_books(trial_frame *frame, void *user)
{
    ledger *self = user;
    if (frame->method != TRIAL_BASIC_ACK) {
        return TRIAL_FORWARD;
    }
    uint64_t added = tick(lane_of(self, frame), frame);
    if (!frame->from_client) {
        self->confirmed += added;
        if (self->hold_confirms > 0) {
            trial_sleep(self->hold_confirms);
        }
        return TRIAL_FORWARD;
    }
    self->acknowledged += added;
    if (self->acknowledged > self->confirmed) {
        atomic_fetch_add(&self->early, 1);
    }
    return TRIAL_FORWARD;
}

static void send_all(const trial *self, const char *queue)
{
    acemq_publisher *publisher = NULL;
    acemq_message **messages = calloc(MESSAGES, sizeof *messages);
    ck_assert_ptr_nonnull(messages);
    for (int i = 0; i < MESSAGES; i++) {
        messages[i] = acemq_message_text("fails");
    }
    trial_must(acemq_publisher_new(self->mq, NULL, &publisher, trial_error()));
    trial_must(acemq_publisher_send_batch(publisher, queue, (const acemq_message *const *)messages,
                                          MESSAGES, PATIENCE, NULL, NULL, trial_error()));
    for (int i = 0; i < MESSAGES; i++) {
        acemq_message_free(messages[i]);
    }
    free(messages);
    acemq_publisher_free(publisher);
}

static void hops_in_order(int broker, int hold_confirms, const char *policy_text)
{
    trial self;
    trial_recorder seen;
    acemq_connection *mq = NULL;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_policy *policy = trial_policy(policy_text);
    ledger *books = calloc(1, sizeof *books);
    ck_assert_ptr_nonnull(books);
    books->hold_confirms = hold_confirms;
    trial_begin_listening(&self, broker);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    send_all(&self, queue);
    trial_proxy *proxy = trial_proxy_start(trial_port(&self), keep_books, books);
    trial_must(acemq_connect(trial_proxy_url(proxy), NULL, &mq, trial_error()));
    options.prefetch = 400;
    trial_record(&seen, mq, queue, policy, &options, trial_fail, NULL);
    trial_wait_ready(&self, dead, MESSAGES, PATIENCE);
    trial_record_end(&seen);
    trial_close(mq);
    trial_proxy_stop(proxy);
    uint64_t hops = (uint64_t)acemq_policy_max_attempts(policy) * MESSAGES;
    ck_assert_uint_eq(atomic_load(&books->early), 0);
    ck_assert_uint_eq(books->confirmed, hops);
    ck_assert_uint_eq(books->acknowledged, hops);
    ck_assert_uint_eq(trial_ready(&self, queue), 0);
    acemq_policy_free(policy);
    free(books);
    trial_end(&self);
}

START_TEST(no_dead_letter_is_acknowledged_before_its_confirm)
{
    hops_in_order(_i, 0, "none");
}
END_TEST

START_TEST(nor_when_confirms_come_late)
{
    hops_in_order(_i, 3, "none");
}
END_TEST

START_TEST(no_retry_is_acknowledged_before_its_confirm)
{
    hops_in_order(_i, 0, "fixed(2, 100ms).threshold(100ms)");
}
END_TEST

START_TEST(no_wait_held_here_is_acknowledged_before_its_confirm)
{
    hops_in_order(_i, 0, "fixed(2, 20ms)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hop order");
    TCase *cases = tcase_create("on the wire");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, no_dead_letter_is_acknowledged_before_its_confirm, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, nor_when_confirms_come_late, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, no_retry_is_acknowledged_before_its_confirm, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, no_wait_held_here_is_acknowledged_before_its_confirm, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
