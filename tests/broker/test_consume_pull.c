/* Consuming by pull: what comes, and how the waiting for it ends. */
#include "broker/consuming.h"

#include <poll.h>
#include <pthread.h>

static void open_with_queue(consume_bench *bench, const char *name)
{
    bench_open(bench, name);
    declare_queue(bench, bench->queue, "quorum", 0);
}

static ace_delivery *pull(ace_consumer *consumer)
{
    ace_delivery *delivery = NULL;
    MUST(ace_consumer_next(consumer, soon(), NULL, &delivery, &error));
    return delivery;
}

static bool is_readable(const ace_consumer *consumer)
{
    struct pollfd polled = {.fd = ace_consumer_descriptor(consumer), .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
}

START_TEST(pulling_holds_several_unsettled_and_settles_each_once)
{
    consume_bench bench;
    open_with_queue(&bench, "pull");
    ace_consumer *consumer = consume(&bench, NULL, NULL);
    ck_assert(!is_readable(consumer));
    put_with_id(&bench, "a", "A");
    put_with_id(&bench, "b", "B");
    ace_delivery *first = pull(consumer);
    ace_delivery *second = pull(consumer);
    assert_text(ace_delivery_envelope(first)->id, "a");
    assert_text(ace_delivery_envelope(second)->id, "b");
    ck_assert_str_eq(ace_delivery_queue(first), bench.queue);
    ck_assert_str_eq(ace_delivery_exchange(first), "");
    ck_assert_str_eq(ace_delivery_routing_key(first), bench.queue);
    ck_assert(!ace_delivery_redelivered(first));
    AWAIT(counted(consumer).in_flight == 2);
    MUST(ace_delivery_settle(second, ACE_ACCEPTED, NULL, &error));
    ck_assert_int_eq(ace_delivery_settle(second, ACE_FAILED, NULL, NULL), ACE_SETTLED);
    ck_assert_int_eq(ace_delivery_put_back(second, NULL), ACE_SETTLED);
    MUST(ace_delivery_settle(first, ACE_REJECTED, "of no use", &error));
    assert_text(ace_delivery_body(first), "A"); /* still there for its reader */
    ace_delivery_free(first);
    ace_delivery_free(second);
    ace_delivery *dead = take_from(&bench, dlq(&bench));
    assert_text(ace_delivery_envelope(dead)->error,
                "the handler reported an unprocessable message: of no use");
    ck_assert_int_eq(ace_delivery_settle(dead, ACE_ACCEPTED, NULL, NULL), ACE_STATE);
    ace_delivery_free(dead);
    AWAIT(counted(consumer).in_flight == 0);
    AWAIT(counted(consumer).acknowledged == 1);
    AWAIT(counted(consumer).dead_lettered == 1);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(the_descriptor_is_readable_while_next_would_not_wait)
{
    consume_bench bench;
    ace_delivery *delivery = NULL;
    open_with_queue(&bench, "fd");
    ace_consumer *consumer = consume(&bench, NULL, NULL);
    ck_assert_int_eq(ace_consumer_next(consumer, now_ms(), NULL, &delivery, NULL), ACE_TIMEOUT);
    put_text(&bench, "x");
    AWAIT(is_readable(consumer));
    delivery = pull(consumer);
    ck_assert(!is_readable(consumer));
    ace_delivery_free(delivery); /* unsettled: put back, and comes again */
    AWAIT(is_readable(consumer));
    delivery = pull(consumer);
    ck_assert(ace_delivery_redelivered(delivery));
    ck_assert_int_eq(ace_delivery_envelope(delivery)->attempt, 1);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    ace_consumer_wake(consumer);
    ck_assert(is_readable(consumer));
    ck_assert_int_eq(ace_consumer_next(consumer, soon(), NULL, &delivery, NULL), ACE_CANCELLED);
    ck_assert(!is_readable(consumer));
    MUST(ace_consumer_close(consumer, &error));
    ck_assert(is_readable(consumer));
    ck_assert_int_eq(ace_consumer_next(consumer, soon(), NULL, &delivery, NULL), ACE_CLOSED);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

typedef struct puller {
    ace_consumer *consumer;
    ace_cancel *cancel;
    ace_code code;
} puller;

static void *pull_on_a_thread(void *user)
{
    puller *job = user;
    ace_delivery *delivery = NULL;
    do { /* the other one may be inside for a moment */
        job->code = ace_consumer_next(job->consumer, soon(), job->cancel, &delivery, NULL);
    } while (job->code == ACE_WRONG_THREAD);
    return NULL;
}

START_TEST(a_waiting_pull_ends_by_wake_by_cancel_and_by_close_and_is_alone)
{
    consume_bench bench;
    pthread_t thread;
    open_with_queue(&bench, "wake");
    puller job = {.consumer = consume(&bench, NULL, NULL)};
    for (int way = 0; way < 3; way++) {
        job.cancel = ace_cancel_new(NULL);
        ck_assert_int_eq(pthread_create(&thread, NULL, pull_on_a_thread, &job), 0);
        ace_delivery *delivery = NULL;
        ace_code second = ACE_OK;
        AWAIT((second = ace_consumer_next(job.consumer, now_ms(), NULL, &delivery, NULL)) ==
              ACE_WRONG_THREAD);
        if (way == 0) {
            ace_consumer_wake(job.consumer);
        } else if (way == 1) {
            ace_cancel_fire(job.cancel);
        } else {
            MUST(ace_consumer_close(job.consumer, &error));
        }
        pthread_join(thread, NULL);
        ck_assert_int_eq(job.code, way == 2 ? ACE_CLOSED : ACE_CANCELLED);
        ace_cancel_release(job.cancel);
    }
    ace_consumer_release(job.consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(closing_the_connection_finishes_what_was_judged_and_drops_what_comes_late)
{
    consume_bench bench;
    open_with_queue(&bench, "late");
    consume_bench other = bench; /* its own connection, to look at what is left */
    MUST(ace_connection_open(bench_url(), NULL, NULL, &other.connection, &error));
    MUST(ace_session_new(other.connection->consuming, &other.session, &error));
    ace_consumer *consumer = consume(&bench, NULL, NULL);
    put_with_id(&bench, "judged", "x");
    put_with_id(&bench, "late", "x");
    ace_delivery *judged = pull(consumer);
    ace_delivery *late = pull(consumer);
    MUST(ace_delivery_settle(judged, ACE_REJECTED, NULL, &error));
    ace_session_free(bench.session);
    MUST(ace_connection_close(bench.connection, 5000, &error));
    ck_assert_int_eq(ace_delivery_settle(late, ACE_ACCEPTED, NULL, NULL), ACE_STALE);
    ck_assert_int_eq(ace_delivery_settle(late, ACE_ACCEPTED, NULL, NULL), ACE_SETTLED);
    ace_delivery *next = NULL;
    ck_assert_int_eq(ace_consumer_next(consumer, soon(), NULL, &next, NULL), ACE_CLOSED);
    ace_connection_release(bench.connection);
    ace_consumer_release(consumer);
    ace_delivery_free(late); /* in any order */
    ace_delivery_free(judged);
    ace_delivery *dead = take_from(&other, dlq(&other));
    assert_text(ace_delivery_envelope(dead)->id, "judged");
    ace_delivery_free(dead);
    ace_delivery *again = take_from(&other, other.queue);
    assert_text(ace_delivery_envelope(again)->id, "late");
    ace_delivery_free(again);
    ck_assert_int_eq(count_of(&other, other.queue), 0);
    bench_close(&other, NULL);
}
END_TEST

START_TEST(the_window_by_bytes_holds_the_broker_off_and_loses_nothing)
{
    enum { SIZE = 100000, COUNT = 60 };
    consume_bench bench;
    ace_delivery *held[COUNT];
    static char body[SIZE];
    open_with_queue(&bench, "bytes");
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    options.prefetch = 10;
    options.prefetch_bytes = 350000;
    ace_consumer *consumer = consume_with(&bench, &options);
    for (int i = 0; i < COUNT; i++) {
        put_raw(&bench, bench.queue, body, sizeof body, NULL);
    }
    uint64_t most = 0;
    for (int i = 0; i < COUNT; i++) {
        held[i] = pull(consumer);
        uint64_t in_flight = counted(consumer).in_flight;
        if (i >= 20) { /* the first window is the broker's to fill */
            most = in_flight > most ? in_flight : most;
        }
        MUST(ace_delivery_settle(held[i], ACE_ACCEPTED, NULL, &error));
        ace_delivery_free(held[i]);
        nap(5);
    }
    ck_assert_uint_le(most, 5); /* 3 of a window that fits, and what an earlier one has left */
    AWAIT(counted(consumer).acknowledged == COUNT);
    AWAIT(counted(consumer).delivered == COUNT);
    ace_consumer_release(consumer);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    bench_close(&bench, NULL);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, pulling_holds_several_unsettled_and_settles_each_once);
    tcase_add_test(tcase, the_descriptor_is_readable_while_next_would_not_wait);
    tcase_add_test(tcase, a_waiting_pull_ends_by_wake_by_cancel_and_by_close_and_is_alone);
    tcase_add_test(tcase,
                   closing_the_connection_finishes_what_was_judged_and_drops_what_comes_late);
    tcase_add_test(tcase, the_window_by_bytes_holds_the_broker_off_and_loses_nothing);
}

int main(void)
{
    return run_suite(suite_on_both("consume_pull", 60, add_tests));
}
