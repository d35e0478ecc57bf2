/* The only receiver of a connection reads from it itself: what else must hold beside that. */
#include "client.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGES 300

static acemq_connection *mq;

static void begin(void)
{
    mq = connect_with("memory://receiving", NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
    declare_queue(mq, "other", ACEMQ_QUEUE_QUORUM, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static uint64_t acknowledged(const acemq_consumer *consumer)
{
    acemq_consumer_counters counters = {.size = sizeof counters};
    MUST(acemq_consumer_get_counters(consumer, &counters, &error));
    return counters.acknowledged;
}

static void await_acknowledged(const acemq_consumer *consumer, uint64_t count)
{
    for (int i = 0; i < 5000 && acknowledged(consumer) < count; i++) {
        sleep_ms(2);
    }
    ck_assert_uint_eq(acknowledged(consumer), count);
}

/* --- a thread that pulls --- */

typedef struct puller {
    pthread_t thread;
    acemq_consumer *consumer;
    atomic_int taken;
    int most; /* after which it asks no more; 0: until it is told */
    acemq_status last;
    sem_t goes_on;
} puller;

static void *pull(void *user)
{
    puller *self = user;
    acemq_delivery *delivery = NULL;
    while ((self->last = acemq_consumer_next(self->consumer, 60000, &delivery, NULL)) == ACEMQ_OK) {
        ck_assert_int_eq(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, NULL), ACEMQ_OK);
        acemq_delivery_free(delivery);
        if (atomic_fetch_add(&self->taken, 1) + 1 == self->most) {
            (void)sem_wait(&self->goes_on);
            self->most = 0;
        }
    }
    return NULL;
}

static void start_pulling(puller *self, int most)
{
    *self = (puller){.most = most};
    ck_assert_int_eq(sem_init(&self->goes_on, 0, 0), 0);
    MUST(acemq_consumer_open(mq, "q", NULL, &self->consumer, &error));
    ck_assert_int_eq(pthread_create(&self->thread, NULL, pull, self), 0);
}

static void await_taken(puller *self, int count)
{
    for (int i = 0; i < 5000 && atomic_load(&self->taken) < count; i++) {
        sleep_ms(2);
    }
    ck_assert_int_eq(atomic_load(&self->taken), count);
}

static void end_pulling(puller *self, acemq_status expected)
{
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
    ck_assert_int_eq(self->last, expected);
    acemq_consumer_free(self->consumer);
    (void)sem_destroy(&self->goes_on);
}

START_TEST(each_message_is_pulled_and_acknowledged_once_whatever_the_pauses)
{
    puller self;
    start_pulling(&self, 0);
    for (int i = 0; i < MESSAGES; i++) {
        publish_text(mq, "q", NULL, "x");
        if (i % 20 == 0) {
            sleep_ms(i % 7 * 3); /* the loop's thread is back, or not */
        }
    }
    await_taken(&self, MESSAGES);
    await_acknowledged(self.consumer, MESSAGES);
    acemq_consumer_wake(self.consumer);
    end_pulling(&self, ACEMQ_E_CANCELLED);
}
END_TEST

START_TEST(what_a_puller_settled_is_acknowledged_although_it_asks_no_more)
{
    puller self;
    start_pulling(&self, 30);
    for (int i = 0; i < 30; i++) {
        publish_text(mq, "q", NULL, "x");
    }
    await_taken(&self, 30);
    await_acknowledged(self.consumer, 30);
    ck_assert_int_eq(sem_post(&self.goes_on), 0);
    acemq_consumer_wake(self.consumer);
    end_pulling(&self, ACEMQ_E_CANCELLED);
}
END_TEST

START_TEST(a_wait_that_has_the_turn_ends_when_it_is_woken_closed_or_over)
{
    for (int round = 0; round < 20; round++) {
        puller self;
        start_pulling(&self, 0);
        publish_text(mq, "q", NULL, "x");
        await_taken(&self, 1);
        await_acknowledged(self.consumer, 1);
        sleep_ms(round % 5 * 4);
        if (round % 2 == 0) {
            acemq_consumer_wake(self.consumer);
            end_pulling(&self, ACEMQ_E_CANCELLED);
        } else {
            MUST(acemq_consumer_close(self.consumer, &error));
            end_pulling(&self, ACEMQ_E_CLOSED);
        }
    }
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    publish_text(mq, "q", NULL, "x");
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    for (int i = 0; i < 5; i++) {
        MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_consumer_next(consumer, 15, &delivery, &error));
    }
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(a_connection_is_closed_under_a_wait_that_has_the_turn)
{
    for (int round = 0; round < 10; round++) {
        puller self;
        start_pulling(&self, 0);
        for (int i = 0; i < round; i++) {
            publish_text(mq, "q", NULL, "x");
        }
        await_taken(&self, round);
        MUST(acemq_connection_close(mq, 5000, &error));
        end_pulling(&self, ACEMQ_E_CLOSED);
        end();
        begin();
    }
}
END_TEST

START_TEST(a_child_of_fork_lets_go_while_a_thread_of_the_parent_has_the_turn)
{
    puller self;
    int status = 0;
    start_pulling(&self, 0);
    publish_text(mq, "q", NULL, "x");
    await_taken(&self, 1);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        acemq_status closed = acemq_consumer_close(self.consumer, NULL);
        acemq_consumer_free(self.consumer);
        acemq_connection_free(mq);
        _exit(closed == ACEMQ_E_FORKED ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    publish_text(mq, "q", NULL, "x");
    await_taken(&self, 2);
    acemq_consumer_wake(self.consumer);
    end_pulling(&self, ACEMQ_E_CANCELLED);
}
END_TEST

/* --- a handler --- */

typedef struct handling {
    atomic_int calls;
    int stops_at; /* of the calls; waits there */
    sem_t goes_on;
} handling;

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    handling *self = user;
    (void)delivery;
    if (atomic_fetch_add(&self->calls, 1) + 1 == self->stops_at) {
        (void)sem_wait(&self->goes_on);
    }
    return ACEMQ_ACCEPTED;
}

static acemq_consumer *start_handling(handling *self, const char *queue, int stops_at)
{
    acemq_consumer *consumer = NULL;
    *self = (handling){.stops_at = stops_at};
    ck_assert_int_eq(sem_init(&self->goes_on, 0, 0), 0);
    MUST(acemq_consume(mq, queue, NULL, handle, self, NULL, &consumer, &error));
    return consumer;
}

static void await_calls(handling *self, int calls)
{
    for (int i = 0; i < 5000 && atomic_load(&self->calls) < calls; i++) {
        sleep_ms(2);
    }
    ck_assert_int_eq(atomic_load(&self->calls), calls);
}

static void end_handling(handling *self, acemq_consumer *consumer)
{
    int finished = 0;
    MUST(acemq_consumer_drain(consumer, 10000, &finished, &error));
    ck_assert_int_eq(finished, 1);
    acemq_consumer_free(consumer);
    (void)sem_destroy(&self->goes_on);
}

START_TEST(what_was_handled_is_acknowledged_while_the_next_message_keeps_its_handler)
{
    handling self;
    acemq_consumer *consumer = start_handling(&self, "q", 20);
    for (int i = 0; i < 40; i++) {
        publish_text(mq, "q", NULL, "x");
    }
    await_calls(&self, 20);
    await_acknowledged(consumer, 19);
    ck_assert_int_eq(sem_post(&self.goes_on), 0);
    await_calls(&self, 40);
    await_acknowledged(consumer, 40);
    end_handling(&self, consumer);
}
END_TEST

START_TEST(a_second_consumer_has_its_messages_while_the_first_ones_handler_is_kept)
{
    handling first;
    handling second;
    acemq_consumer *one = start_handling(&first, "q", 10);
    for (int i = 0; i < 10; i++) {
        publish_text(mq, "q", NULL, "x");
    }
    await_calls(&first, 10);
    acemq_consumer *two = start_handling(&second, "other", 0);
    for (int i = 0; i < 50; i++) {
        publish_text(mq, "other", NULL, "x");
    }
    await_calls(&second, 50);
    await_acknowledged(two, 50);
    ck_assert_int_eq(sem_post(&first.goes_on), 0);
    end_handling(&second, two);
    publish_text(mq, "q", NULL, "x");
    await_calls(&first, 11);
    end_handling(&first, one);
}
END_TEST

static acemq_outcome pass_on(acemq_delivery *delivery, void *user)
{
    handling *self = user;
    (void)delivery;
    publish_text(mq, "other", NULL, "x");
    return atomic_fetch_add(&self->calls, 1) % 5 == 4 ? ACEMQ_REJECTED : ACEMQ_ACCEPTED;
}

START_TEST(a_handler_publishes_and_rejects_between_what_it_reads)
{
    handling self = {.stops_at = 0};
    acemq_consumer *consumer = NULL;
    int finished = 0;
    MUST(acemq_consume(mq, "q", NULL, pass_on, &self, NULL, &consumer, &error));
    for (int i = 0; i < MESSAGES; i++) {
        publish_text(mq, "q", NULL, "x");
    }
    await_calls(&self, MESSAGES);
    MUST(acemq_consumer_drain(consumer, 10000, &finished, &error));
    ck_assert_int_eq(finished, 1);
    acemq_consumer_free(consumer);
    await_ready(mq, "other", MESSAGES);
    await_ready(mq, "q.dlq", MESSAGES / 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("receiving");
    TCase *tcase = tcase_create("receiving");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, each_message_is_pulled_and_acknowledged_once_whatever_the_pauses);
    tcase_add_test(tcase, what_a_puller_settled_is_acknowledged_although_it_asks_no_more);
    tcase_add_test(tcase, a_wait_that_has_the_turn_ends_when_it_is_woken_closed_or_over);
    tcase_add_test(tcase, a_connection_is_closed_under_a_wait_that_has_the_turn);
    tcase_add_test(tcase, a_child_of_fork_lets_go_while_a_thread_of_the_parent_has_the_turn);
    tcase_add_test(tcase,
                   what_was_handled_is_acknowledged_while_the_next_message_keeps_its_handler);
    tcase_add_test(tcase, a_second_consumer_has_its_messages_while_the_first_ones_handler_is_kept);
    tcase_add_test(tcase, a_handler_publishes_and_rejects_between_what_it_reads);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
