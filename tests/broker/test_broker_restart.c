/*
 * RabbitMQ killed with SIGKILL and started again under load: what was confirmed is handled, nobody
 * waits for ever, and everything comes back by itself.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)
#define MESSAGES 20000
#define THREADS  4
#define BATCH    50
#define LETTERS  20

typedef struct storm {
    trial self;
    const char *queue;
    atomic_bool confirmed[MESSAGES];
    atomic_int handled[MESSAGES];
    atomic_int confirmed_count, unknown, refused, unexpected, publishers_left;
    int share; /* so many are confirmed before the next crash */
} storm;

/* --- publishing: again, under the same id, until it is confirmed --- */

typedef struct lane {
    storm *all;
    int first, count;
    pthread_t thread;
} lane;

static acemq_message *order(int number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    acemq_message *message = acemq_message_text(text);
    acemq_message_set_id(message, text);
    return message;
}

static void count(storm *all, int number, acemq_status status)
{
    switch (status) {
    case ACEMQ_OK:
        atomic_store(&all->confirmed[number], true);
        atomic_fetch_add(&all->confirmed_count, 1);
        break;
    case ACEMQ_E_UNKNOWN_OUTCOME:
        atomic_fetch_add(&all->unknown, 1);
        break;
    case ACEMQ_E_REFUSED:
        atomic_fetch_add(&all->refused, 1);
        break;
    default:
        fprintf(stderr, "a publish answered %s\n", acemq_status_name(status));
        atomic_fetch_add(&all->unexpected, 1);
    }
}

/* Sends what is not confirmed of these numbers; answers whether all are. */
static bool send_once(lane *self, acemq_publisher *publisher, int first, int end)
{
    acemq_message *messages[BATCH];
    acemq_status statuses[BATCH];
    int numbers[BATCH], sent = 0;
    for (int number = first; number < end; number++) {
        if (!atomic_load(&self->all->confirmed[number])) {
            numbers[sent] = number;
            messages[sent++] = order(number);
        }
    }
    if (sent == 0) {
        return true;
    }
    acemq_publisher_send_batch(publisher, self->all->queue, (const acemq_message *const *)messages,
                               (size_t)sent, PATIENCE, statuses, NULL, NULL);
    for (int i = 0; i < sent; i++) {
        count(self->all, numbers[i], statuses[i]);
        acemq_message_free(messages[i]);
    }
    return false;
}

static void *publish_lane(void *user)
{
    lane *self = user;
    acemq_publisher *publisher = NULL;
    trial_must(acemq_publisher_new(self->all->self.mq, NULL, &publisher, trial_error()));
    for (int first = self->first; first < self->first + self->count; first += BATCH) {
        while (!send_once(self, publisher, first, first + BATCH)) {
            trial_sleep(1);
        }
    }
    acemq_publisher_free(publisher);
    atomic_fetch_sub(&self->all->publishers_left, 1);
    return NULL;
}

static void start_lanes(storm *all, lane lanes[THREADS])
{
    atomic_store(&all->publishers_left, THREADS);
    for (int i = 0; i < THREADS; i++) {
        lanes[i] = (lane){.all = all, .first = i * MESSAGES / THREADS, .count = MESSAGES / THREADS};
        ck_assert_int_eq(pthread_create(&lanes[i].thread, NULL, publish_lane, &lanes[i]), 0);
    }
}

/* --- consuming --- */

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    storm *all = user;
    int number = atoi(acemq_envelope_id(acemq_delivery_envelope(delivery)));
    ck_assert_int_ge(number, 0);
    ck_assert_int_lt(number, MESSAGES);
    atomic_fetch_add(&all->handled[number], 1);
    return ACEMQ_ACCEPTED;
}

static void wait_until(const char *what, int64_t timeout, bool (*holds)(storm *), storm *all)
{
    int64_t deadline = trial_now() + timeout;
    while (!holds(all)) {
        ck_assert_msg(trial_now() < deadline, "after %ld ms still not: %s (%d confirmed)",
                      (long)timeout, what, atomic_load(&all->confirmed_count));
        trial_sleep(5);
    }
}

static bool share_confirmed(storm *all)
{
    return atomic_load(&all->confirmed_count) >= all->share;
}

static bool all_published(storm *all)
{
    return atomic_load(&all->publishers_left) == 0;
}

static int unhandled(storm *all)
{
    int missing = 0;
    for (int i = 0; i < MESSAGES; i++) {
        missing += atomic_load(&all->confirmed[i]) && atomic_load(&all->handled[i]) == 0;
    }
    return missing;
}

static bool all_handled(storm *all)
{
    return unhandled(all) == 0;
}

static int handled_twice(storm *all)
{
    int extra = 0;
    for (int i = 0; i < MESSAGES; i++) {
        extra += atomic_load(&all->handled[i]) > 1;
    }
    return extra;
}

/* Answers how many were confirmed when the last crash came. */
static int crash(storm *all, int times)
{
    int confirmed = 0;
    for (int i = 1; i <= times; i++) {
        all->share = MESSAGES / (times + 2) * i;
        wait_until("the next share is confirmed", 60000, share_confirmed, all);
        free(broker_control("kill", NULL));
        confirmed = atomic_load(&all->confirmed_count);
        free(broker_control("start", NULL));
    }
    return confirmed;
}

static void weather_a_crash(acemq_queue_type type)
{
    storm *all = calloc(1, sizeof *all);
    lane lanes[THREADS];
    acemq_consumer *consumer = NULL;
    ck_assert_ptr_nonnull(all);
    trial_begin(&all->self, TRIAL_RABBITMQ);
    all->queue = trial_queue(&all->self, "orders", type);
    trial_must(
        acemq_consume(all->self.mq, all->queue, NULL, handle, all, NULL, &consumer, trial_error()));
    /* A quorum queue that is younger than this may lose confirmed messages in a crash. */
    trial_sleep(type == ACEMQ_QUEUE_QUORUM ? 2500 : 0);
    start_lanes(all, lanes);
    int at_crash = crash(all, trial_is_long() ? 20 : 1);
    wait_until("all publishers are done", 90000, all_published, all);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(lanes[i].thread, NULL);
    }
    ck_assert_int_lt(at_crash, MESSAGES);
    ck_assert_int_eq(atomic_load(&all->confirmed_count), MESSAGES);
    ck_assert_int_eq(atomic_load(&all->unexpected), 0);
    wait_until("all that was confirmed is handled", 60000, all_handled, all);
    ck_assert_int_eq(acemq_consumer_subscribed(consumer), 1);
    ck_assert_int_eq(acemq_connection_get_state(all->self.mq, NULL), ACEMQ_CONNECTION_OPEN);
    printf(
        "  %d confirmed before the last crash, %d unknown, %d refused, %d handled more than once\n",
        at_crash, atomic_load(&all->unknown), atomic_load(&all->refused), handled_twice(all));
    acemq_consumer_free(consumer);
    trial_end(&all->self);
    free(all);
}

START_TEST(what_was_confirmed_is_handled_from_a_classic_queue)
{
    weather_a_crash(ACEMQ_QUEUE_CLASSIC);
}
END_TEST

START_TEST(what_was_confirmed_is_handled_from_a_quorum_queue)
{
    weather_a_crash(ACEMQ_QUEUE_QUORUM);
}
END_TEST

/* --- waiters while it is away, and messages that were in the midst of their ladder --- */

typedef struct waiting {
    acemq_connection *mq;
    acemq_status status;
    pthread_t thread;
} waiting;

static void *publish_into_the_void(void *user)
{
    waiting *self = user;
    acemq_message *message = order(1);
    self->status = acemq_publish(self->mq, "nowhere", message, 2000, NULL);
    acemq_message_free(message);
    return NULL;
}

/* What was handled before the crash and not acknowledged by then comes again, and dies twice. */
static void wait_for_letters(const trial *self, const char *dead)
{
    int64_t deadline = trial_now() + 60000;
    size_t missing, held;
    while ((missing = trial_missing(self, dead, LETTERS, 2, &held)) > 0) {
        if (trial_now() > deadline) {
            ck_abort_msg("%zu messages are not among the dead after 60 s: %s", missing,
                         broker_control_ctl("list_queues", "name", "messages_ready",
                                            "messages_unacknowledged", NULL));
        }
        trial_sleep(100);
    }
}

START_TEST(nobody_waits_longer_than_he_asked_to_and_the_ladder_survives)
{
    trial self;
    trial_recorder seen;
    waiting waiters[THREADS];
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    /* No wait runs out near the kill, however slow the machine is: what a classic rung has just let
     * go may be in no file yet. */
    acemq_policy *policy = trial_policy("fixed(2, 10s).threshold(1s)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail, NULL);
    broker_control_keep_declared(); /* else RabbitMQ drops what a rung lets go before we are back */
    for (int i = 0; i < LETTERS; i++) {
        acemq_message *message = order(i);
        trial_must(acemq_publish(self.mq, queue, message, PATIENCE, trial_error()));
        acemq_message_free(message);
    }
    trial_wait_seen(&seen, LETTERS, PATIENCE);
    trial_wait_ready(&self, trial_derived(&self, queue, ".retry.10s"), LETTERS, PATIENCE);
    free(broker_control("kill", NULL));
    int64_t before = trial_now();
    for (int i = 0; i < THREADS; i++) {
        waiters[i] = (waiting){.mq = self.mq, .status = ACEMQ_OK};
        ck_assert_int_eq(
            pthread_create(&waiters[i].thread, NULL, publish_into_the_void, &waiters[i]), 0);
    }
    trial_must_fail(ACEMQ_E_TIMEOUT,
                    acemq_queue_count(self.mq, queue, 1000, NULL, NULL, trial_error()));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(waiters[i].thread, NULL);
        ck_assert_int_ne(waiters[i].status, ACEMQ_OK);
    }
    ck_assert_int_lt(trial_now() - before, 15000);
    free(broker_control("start", NULL));
    wait_for_letters(&self, dead);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker restart");
    TCase *cases = tcase_create("killed and started again");
    tcase_set_timeout(cases, trial_is_long() ? 1200 : 240);
    tcase_add_test(cases, what_was_confirmed_is_handled_from_a_classic_queue);
    tcase_add_test(cases, what_was_confirmed_is_handled_from_a_quorum_queue);
    tcase_add_test(cases, nobody_waits_longer_than_he_asked_to_and_the_ladder_survives);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
