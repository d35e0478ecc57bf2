/* Consuming through the ABI: push and pull, what a delivery tells, and how outcomes are carried
 * out. */
#include "client.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static acemq_connection *mq;

static void begin(void)
{
    mq = connect_with("memory://consuming", NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static const char *error_of(const acemq_delivery *delivery)
{
    return acemq_envelope_error(acemq_delivery_envelope(delivery));
}

/* The one message of a queue, looked at. */
static void look(const char *queue, void (*check)(const acemq_delivery *delivery))
{
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    await_ready(mq, queue, 1);
    MUST(acemq_browser_open(mq, queue, NULL, &browser, &error));
    MUST(acemq_browser_next(browser, &delivery, &error));
    ck_assert_ptr_nonnull(delivery);
    check(delivery);
    MUST(acemq_browser_next(browser, &delivery, &error));
    ck_assert_ptr_null(delivery);
    acemq_browser_free(browser);
}

/* --- push --- */

typedef struct handling {
    atomic_int calls;
    atomic_int destroyed;
    acemq_outcome outcome;
    const char *reason;
    int attempts[8];
} handling;

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    handling *handled = user;
    int call = atomic_load(&handled->calls);
    if (call < 8) {
        handled->attempts[call] = acemq_envelope_attempt(acemq_delivery_envelope(delivery));
    }
    acemq_delivery_set_reason(delivery, "overwritten");
    acemq_delivery_set_reason(delivery, handled->reason);
    /* The handler says it by what it returns. */
    ck_assert_int_eq(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, NULL), ACEMQ_E_STATE);
    atomic_fetch_add(&handled->calls, 1);
    return handled->outcome;
}

static void destroy(void *user)
{
    handling *handled = user;
    atomic_fetch_add(&handled->destroyed, 1);
}

static void await_calls(handling *handled, int calls)
{
    for (int i = 0; i < 2000 && atomic_load(&handled->calls) < calls; i++) {
        sleep_ms(5);
    }
    ck_assert_int_eq(atomic_load(&handled->calls), calls);
}

START_TEST(a_handler_is_called_and_its_user_destroyed_once)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    MUST(acemq_consume(mq, "q", NULL, handle, &handled, destroy, &consumer, &error));
    ck_assert_int_eq(acemq_consumer_subscribed(consumer), 1);
    ck_assert_int_eq(acemq_consumer_fd(consumer), -1);
    MUST_FAIL(ACEMQ_E_STATE, acemq_consumer_next(consumer, 0, &delivery, &error));
    for (int i = 0; i < 20; i++) {
        publish_text(mq, "q", NULL, "x");
    }
    await_calls(&handled, 20);
    int finished = 0;
    MUST(acemq_consumer_drain(consumer, 5000, &finished, &error));
    ck_assert_int_eq(finished, 1);
    acemq_consumer_free(consumer);
    for (int i = 0; i < 1000 && atomic_load(&handled.destroyed) == 0; i++) {
        sleep_ms(5);
    }
    ck_assert_int_eq(atomic_load(&handled.destroyed), 1);
    ck_assert_uint_eq(count_ready(mq, "q"), 0);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), 0);
}
END_TEST

START_TEST(a_consumer_that_does_not_open_leaves_its_user_alone)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    acemq_consumer *consumer = NULL;
    MUST_FAIL(ACEMQ_E_NOT_FOUND,
              acemq_consume(mq, "nowhere", NULL, handle, &handled, destroy, &consumer, &error));
    acemq_policy *policy = acemq_policy_fixed(0, 1);
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = policy;
    MUST_FAIL(ACEMQ_E_LIMIT,
              acemq_consume(mq, "q", &options, handle, &handled, destroy, &consumer, &error));
    acemq_policy_free(policy);
    ck_assert_int_eq(atomic_load(&handled.destroyed), 0);
    ck_assert_ptr_null(consumer);
}
END_TEST

static void was_exhausted(const acemq_delivery *delivery)
{
    ck_assert_str_eq(error_of(delivery), "exhausted 3 attempts: no stock");
    ck_assert_int_eq(acemq_envelope_attempt(acemq_delivery_envelope(delivery)), 3);
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), "order-1");
}

START_TEST(three_attempts_are_exactly_three_calls)
{
    handling handled = {.outcome = ACEMQ_FAILED, .reason = "no stock"};
    acemq_consumer *consumer = NULL;
    acemq_policy *policy = acemq_policy_fixed(3, 20);
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = policy;
    MUST(acemq_consume(mq, "q", &options, handle, &handled, NULL, &consumer, &error));
    acemq_policy_free(policy); /* copied */
    publish_text(mq, "q", "order-1", "x");
    await_ready(mq, "q.dlq", 1);
    sleep_ms(100);
    ck_assert_int_eq(atomic_load(&handled.calls), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(handled.attempts[i], i + 1);
    }
    acemq_consumer_counters counters = {.size = sizeof counters};
    MUST(acemq_consumer_get_counters(consumer, &counters, &error));
    ck_assert_uint_eq(counters.delivered, 3);
    ck_assert_uint_eq(counters.retried, 2);
    ck_assert_uint_eq(counters.rejected, 3);
    ck_assert_uint_eq(counters.dead_lettered, 1);
    ck_assert_uint_eq(counters.acknowledged, 0);
    acemq_consumer_free(consumer);
    look("q.dlq", was_exhausted);
}
END_TEST

static void was_rejected(const acemq_delivery *delivery)
{
    ck_assert_str_eq(error_of(delivery),
                     "the handler reported an unprocessable message: no reason given");
}

static void was_parked(const acemq_delivery *delivery)
{
    ck_assert_str_eq(error_of(delivery), "the handler parked it: later");
}

START_TEST(rejected_and_parked_go_at_once)
{
    handling rejecting = {.outcome = ACEMQ_REJECTED};
    acemq_consumer *consumer = NULL;
    acemq_policy *policy = acemq_policy_fixed(3, 20);
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = policy;
    publish_text(mq, "q", NULL, "x");
    MUST(acemq_consume(mq, "q", &options, handle, &rejecting, NULL, &consumer, &error));
    look("q.dlq", was_rejected);
    acemq_consumer_free(consumer);
    handling parking = {.outcome = ACEMQ_PARKED, .reason = "later"};
    publish_text(mq, "q", NULL, "x");
    MUST(acemq_consume(mq, "q", &options, handle, &parking, NULL, &consumer, &error));
    look("q.parked", was_parked);
    acemq_consumer_free(consumer);
    acemq_policy_free(policy);
}
END_TEST

static acemq_outcome answer_nonsense(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return (acemq_outcome)17;
}

static void failed_once(const acemq_delivery *delivery)
{
    ck_assert_str_eq(error_of(delivery), "exhausted 1 attempts: no reason given");
}

START_TEST(an_outcome_that_is_none_counts_as_failed)
{
    acemq_consumer *consumer = NULL;
    publish_text(mq, "q", NULL, "x");
    MUST(acemq_consume(mq, "q", NULL, answer_nonsense, NULL, NULL, &consumer, &error));
    look("q.dlq", failed_once);
    acemq_consumer_free(consumer);
}
END_TEST

/* --- from inside a handler --- */

typedef struct inside {
    atomic_int done;
    acemq_status published;
    acemq_status counted;
    acemq_status drained;
    acemq_status closed_client;
    acemq_status closed;
    _Atomic(acemq_consumer *) consumer;
} inside;

static acemq_outcome act(acemq_delivery *delivery, void *user)
{
    inside *acted = user;
    acemq_message *message = acemq_message_text("caused");
    acemq_message_caused_by(message, delivery);
    acemq_consumer *consumer;
    while ((consumer = atomic_load(&acted->consumer)) == NULL) {
        sleep_ms(1);
    }
    acted->published = acemq_publish(mq, "other", message, 5000, NULL);
    acted->counted = acemq_queue_count(mq, "other", 5000, NULL, NULL, NULL);
    acted->drained = acemq_consumer_drain(consumer, 1000, NULL, NULL);
    acted->closed_client = acemq_connection_close(mq, 1000, NULL);
    acted->closed = acemq_consumer_close(consumer, NULL);
    acemq_message_free(message);
    atomic_store(&acted->done, 1);
    return ACEMQ_ACCEPTED;
}

static void was_caused(const acemq_delivery *delivery)
{
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    ck_assert_str_eq(acemq_envelope_causation(envelope), "parent-1");
    ck_assert_str_eq(acemq_envelope_correlation(envelope), "parent-1");
    ck_assert_str_ne(acemq_envelope_id(envelope), "parent-1");
}

START_TEST(inside_a_handler_each_call_works_or_says_so)
{
    inside acted = {.done = 0};
    acemq_consumer *consumer = NULL;
    declare_queue(mq, "other", ACEMQ_QUEUE_CLASSIC, 0);
    publish_text(mq, "q", "parent-1", "x");
    MUST(acemq_consume(mq, "q", NULL, act, &acted, NULL, &consumer, &error));
    atomic_store(&acted.consumer, consumer);
    for (int i = 0; i < 1000 && atomic_load(&acted.done) == 0; i++) {
        sleep_ms(5);
    }
    ck_assert_int_eq(atomic_load(&acted.done), 1);
    ck_assert_int_eq(acted.published, ACEMQ_OK);
    ck_assert_int_eq(acted.counted, ACEMQ_OK);
    ck_assert_int_eq(acted.drained, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(acted.closed_client, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(acted.closed, ACEMQ_OK);
    acemq_consumer_free(consumer);
    look("other", was_caused);
    await_ready(mq, "q", 0);
}
END_TEST

/* --- pull --- */

static acemq_consumer *open_pulling(const acemq_consumer_options *options)
{
    acemq_consumer *consumer = NULL;
    MUST(acemq_consumer_open(mq, "q", options, &consumer, &error));
    return consumer;
}

static acemq_delivery *next(acemq_consumer *consumer)
{
    acemq_delivery *delivery = NULL;
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    return delivery;
}

START_TEST(several_deliveries_are_settled_in_any_order)
{
    acemq_consumer *consumer = open_pulling(NULL);
    acemq_delivery *held[5];
    static const char *const ids[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        publish_text(mq, "q", ids[i], "x");
    }
    for (int i = 0; i < 5; i++) {
        held[i] = next(consumer);
        ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(held[i])), ids[i]);
    }
    MUST(acemq_delivery_settle(held[4], ACEMQ_ACCEPTED, NULL, &error));
    MUST(acemq_delivery_settle(held[0], ACEMQ_REJECTED, "bad", &error));
    MUST(acemq_delivery_settle(held[2], ACEMQ_PARKED, NULL, &error));
    MUST(acemq_delivery_put_back(held[1], &error));
    MUST_FAIL(ACEMQ_E_SETTLED, acemq_delivery_settle(held[1], ACEMQ_ACCEPTED, NULL, &error));
    for (int i = 0; i < 5; i++) {
        acemq_delivery_free(held[i]); /* the fourth is put back by that */
    }
    MUST(acemq_consumer_drain(consumer, 5000, NULL, &error));
    acemq_consumer_free(consumer);
    await_ready(mq, "q.dlq", 1);
    await_ready(mq, "q.parked", 1);
    await_ready(mq, "q", 2);
}
END_TEST

START_TEST(an_outcome_or_a_reason_that_is_none_leaves_the_delivery_unsettled)
{
    acemq_consumer *consumer = open_pulling(NULL);
    publish_text(mq, "q", NULL, "x");
    acemq_delivery *delivery = next(consumer);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_delivery_settle(delivery, (acemq_outcome)4, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_delivery_settle(delivery, ACEMQ_FAILED, "\xff", &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(the_descriptor_is_readable_while_next_would_not_wait)
{
    acemq_consumer *consumer = open_pulling(NULL);
    acemq_delivery *delivery = NULL;
    struct pollfd readable = {acemq_consumer_fd(consumer), POLLIN, 0};
    ck_assert_int_ge(readable.fd, 0);
    ck_assert_int_eq(poll(&readable, 1, 0), 0);
    publish_text(mq, "q", NULL, "x");
    ck_assert_int_eq(poll(&readable, 1, 5000), 1);
    MUST(acemq_consumer_next(consumer, 0, &delivery, &error));
    ck_assert_int_eq(poll(&readable, 1, 0), 0);
    acemq_consumer_wake(consumer);
    ck_assert_int_eq(poll(&readable, 1, 1000), 1);
    acemq_delivery *none = NULL;
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_consumer_next(consumer, 5000, &none, &error));
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_consumer_next(consumer, 0, &none, &error));
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
}
END_TEST

static void *wake_later(void *consumer)
{
    sleep_ms(100);
    acemq_consumer_wake(consumer);
    return NULL;
}

static void *fire_later(void *cancel)
{
    sleep_ms(100);
    acemq_cancel_fire(cancel);
    return NULL;
}

START_TEST(a_wake_or_a_token_ends_the_waiting)
{
    acemq_cancel *cancel = NULL;
    acemq_delivery *none = NULL;
    pthread_t thread;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    MUST(acemq_cancel_new(&cancel, &error));
    options.cancel = cancel;
    acemq_consumer *consumer = open_pulling(&options);
    ck_assert_int_eq(pthread_create(&thread, NULL, wake_later, consumer), 0);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_consumer_next(consumer, ACEMQ_FOREVER, &none, &error));
    pthread_join(thread, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, fire_later, cancel), 0);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_consumer_next(consumer, ACEMQ_FOREVER, &none, &error));
    pthread_join(thread, NULL);
    publish_text(mq, "q", NULL, "x"); /* a token that stands fired goes before what has come */
    await_ready(mq, "q", 0);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_consumer_next(consumer, ACEMQ_FOREVER, &none, &error));
    acemq_cancel_reset(cancel);
    MUST(acemq_consumer_next(consumer, 5000, &none, &error));
    acemq_delivery_free(none);
    acemq_cancel_free(cancel);
    acemq_consumer_free(consumer);
}
END_TEST

typedef struct second_thread {
    acemq_consumer *consumer;
    acemq_status status;
} second_thread;

static void *pull_too(void *user)
{
    second_thread *second = user;
    acemq_delivery *none = NULL;
    for (int i = 0; i < 200 && second->status != ACEMQ_E_WRONG_THREAD; i++) {
        sleep_ms(10);
        second->status = acemq_consumer_next(second->consumer, 0, &none, NULL);
    }
    acemq_consumer_wake(second->consumer);
    return NULL;
}

START_TEST(a_second_thread_in_next_is_told_so)
{
    acemq_delivery *none = NULL;
    pthread_t thread;
    acemq_consumer *consumer = open_pulling(NULL);
    second_thread second = {.consumer = consumer};
    ck_assert_int_eq(pthread_create(&thread, NULL, pull_too, &second), 0);
    acemq_status status = acemq_consumer_next(consumer, 20000, &none, NULL);
    pthread_join(thread, NULL);
    ck_assert_int_eq(second.status, ACEMQ_E_WRONG_THREAD);
    ck_assert_int_eq(status, ACEMQ_E_CANCELLED);
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(a_drain_that_leaves_something_says_so)
{
    acemq_consumer *consumer = open_pulling(NULL);
    int finished = 1;
    publish_text(mq, "q", NULL, "x");
    acemq_delivery *delivery = next(consumer);
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_consumer_drain(consumer, 50, &finished, &error));
    ck_assert_int_eq(finished, 0);
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    MUST(acemq_consumer_drain(consumer, 5000, &finished, &error));
    ck_assert_int_eq(finished, 1);
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(what_nobody_settled_comes_again)
{
    acemq_consumer *consumer = open_pulling(NULL);
    publish_text(mq, "q", "again", "x");
    acemq_delivery *delivery = next(consumer);
    ck_assert_int_eq(acemq_delivery_redelivered(delivery), 0);
    acemq_consumer_free(consumer);
    acemq_delivery_free(delivery);
    consumer = open_pulling(NULL);
    delivery = next(consumer);
    ck_assert_int_eq(acemq_delivery_redelivered(delivery), 1);
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), "again");
    ck_assert_int_eq(acemq_envelope_attempt(acemq_delivery_envelope(delivery)), 1);
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi consuming");
    TCase *push = tcase_create("push");
    tcase_add_checked_fixture(push, begin, end);
    tcase_add_test(push, a_handler_is_called_and_its_user_destroyed_once);
    tcase_add_test(push, a_consumer_that_does_not_open_leaves_its_user_alone);
    tcase_add_test(push, three_attempts_are_exactly_three_calls);
    tcase_add_test(push, rejected_and_parked_go_at_once);
    tcase_add_test(push, an_outcome_that_is_none_counts_as_failed);
    tcase_add_test(push, inside_a_handler_each_call_works_or_says_so);
    tcase_set_timeout(push, 60);
    suite_add_tcase(suite, push);
    TCase *pull = tcase_create("pull");
    tcase_add_checked_fixture(pull, begin, end);
    tcase_add_test(pull, several_deliveries_are_settled_in_any_order);
    tcase_add_test(pull, an_outcome_or_a_reason_that_is_none_leaves_the_delivery_unsettled);
    tcase_add_test(pull, the_descriptor_is_readable_while_next_would_not_wait);
    tcase_add_test(pull, a_wake_or_a_token_ends_the_waiting);
    tcase_add_test(pull, a_second_thread_in_next_is_told_so);
    tcase_add_test(pull, a_drain_that_leaves_something_says_so);
    tcase_add_test(pull, what_nobody_settled_comes_again);
    tcase_set_timeout(pull, 60);
    suite_add_tcase(suite, pull);
    return run_suite(suite);
}
