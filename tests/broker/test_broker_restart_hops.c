/*
 * RabbitMQ killed with SIGKILL while messages climb their ladder: each of them ends in the dead
 * letters, whether it waited at the broker or here. A copy too many is allowed, one too few is not.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)
#define MESSAGES 2000

static acemq_outcome fail_and_count(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    atomic_fetch_add((atomic_int *)user, 1);
    return ACEMQ_FAILED;
}

static void send_all(const trial *self, const char *queue)
{
    acemq_publisher *publisher = NULL;
    acemq_message **messages = calloc(MESSAGES, sizeof *messages);
    ck_assert_ptr_nonnull(messages);
    for (int i = 0; i < MESSAGES; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        messages[i] = acemq_message_text(id);
        acemq_message_set_id(messages[i], id);
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

/* A broker that is away answers nothing: then nothing has arrived. */
static uint64_t ready_or_all(const trial *self, const char *queue)
{
    uint64_t ready = MESSAGES;
    acemq_queue_count(self->mq, queue, 1000, &ready, NULL, NULL);
    return ready;
}

/* Until nothing is on its way any more: copies too many may come after the last one needed. */
static void wait_for_the_end(const trial *self, acemq_consumer *consumer,
                             const char *const queues[2], int64_t timeout)
{
    int64_t deadline = trial_now() + timeout;
    for (int quiet = 0; quiet < 20;) {
        acemq_consumer_counters counters = {.size = sizeof counters};
        uint64_t left = ready_or_all(self, queues[0]) + ready_or_all(self, queues[1]);
        trial_must(acemq_consumer_get_counters(consumer, &counters, trial_error()));
        quiet = left + counters.in_flight == 0 ? quiet + 1 : 0;
        ck_assert_msg(trial_now() < deadline, "after %ld ms %lu messages still climb, %lu are here",
                      (long)timeout, (unsigned long)left, (unsigned long)counters.in_flight);
        trial_sleep(100);
    }
}

static void expect_every_letter(const trial *self, const char *dead)
{
    size_t held;
    size_t missing = trial_missing(self, dead, MESSAGES, 3, &held);
    printf("  %zu dead letters of %d messages\n", held, MESSAGES);
    ck_assert_msg(missing == 0, "%zu messages were lost", missing);
}

static void crash_in_the_ladder(const char *policy_text, acemq_queue_type type,
                                const char *rung_suffix)
{
    trial self;
    atomic_int calls = 0;
    acemq_consumer *consumer = NULL;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_policy *policy = trial_policy(policy_text);
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "orders", type);
    const char *dead = trial_derived(&self, queue, ".dlq");
    const char *climbing[2] = {queue, trial_derived(&self, queue, rung_suffix)};
    options.retry = policy;
    options.prefetch = 500;
    trial_must(acemq_consume(self.mq, queue, &options, fail_and_count, &calls, NULL, &consumer,
                             trial_error()));
    broker_control_keep_declared();
    /* A quorum queue that is younger than this may lose confirmed messages all the same. */
    trial_sleep(2500);
    send_all(&self, queue);
    int64_t deadline = trial_now() + PATIENCE;
    while (atomic_load(&calls) < MESSAGES * 3 / 2) {
        ck_assert_int_lt(trial_now(), deadline);
        trial_sleep(1);
    }
    free(broker_control("kill", NULL));
    free(broker_control("start", NULL));
    wait_for_the_end(&self, consumer, climbing, 90000);
    acemq_consumer_free(consumer);
    expect_every_letter(&self, dead);
    acemq_policy_free(policy);
    trial_end(&self);
}

/* Classic rungs are not tried so: in a crash the broker itself loses some on their way out. */
START_TEST(waiting_in_durable_rungs_nothing_is_lost)
{
    crash_in_the_ladder("fixed(3, 500ms).threshold(100ms).durableRungs()", ACEMQ_QUEUE_QUORUM,
                        ".retry.500ms.durable");
}
END_TEST

START_TEST(waiting_here_nothing_is_lost)
{
    crash_in_the_ladder("fixed(3, 200ms)", ACEMQ_QUEUE_CLASSIC, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker restart in the ladder");
    TCase *cases = tcase_create("killed and started again");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, waiting_in_durable_rungs_nothing_is_lost);
    tcase_add_test(cases, waiting_here_nothing_is_lost);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
