/* Interceptors of consuming: around the handler, before it instead of it, and while messages pass.
 */
#include "interceptors.h"

START_TEST(they_stand_around_the_handler_and_come_back_in_reverse)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    acemq_consumer *consumer = consume(&handled, NULL);
    spy outer = {.name = "outer"};
    spy inner = {.name = "inner"};
    acemq_interceptor *all[] = {consuming(&inner, 2), consuming(&outer, 1)};
    forget_calls();
    publish_text(mq, "q", "one", "x");
    await_calls("outer:before inner:before handler:runs inner:after 0 outer:after 0");
    ck_assert_int_ne(pthread_equal(outer.thread, outer.later_thread), 0);
    acemq_consumer_free(consumer);
    take_off(all[0], &inner);
    take_off(all[1], &outer);
}
END_TEST

START_TEST(a_failed_handler_is_told_before_after_and_the_hop_meets_nobody)
{
    handling handled = {.outcome = ACEMQ_FAILED};
    acemq_consumer *consumer = consume(&handled, NULL);
    spy self = {.name = "a"};
    spy published = {.name = "p"};
    acemq_interceptor *interceptor = consuming(&self, 0);
    publish_text(mq, "q", "one", "x");
    await_ready(mq, "q.dlq", 1);
    acemq_interceptor *none = publishing(&published, 0);
    forget_calls();
    handled.outcome = ACEMQ_REJECTED;
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    MUST(acemq_replay(mq, "q", &options, NULL, &error)); /* nor does a replay */
    await_ready(mq, "q.dlq", 1);
    await_calls("a:before handler:runs a:bad luck a:after 2");
    acemq_consumer_free(consumer);
    take_off(interceptor, &self);
    take_off(none, &published);
}
END_TEST

START_TEST(an_error_before_the_handler_fails_the_delivery_as_often_as_the_policy_says)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    spy outer = {.name = "outer"};
    spy guard = {.name = "guard", .answer = ACEMQ_FAILED, .reason = "no key"};
    spy inner = {.name = "inner"};
    acemq_interceptor *all[] = {consuming(&outer, 1), consuming(&guard, 2), consuming(&inner, 3)};
    acemq_consumer *consumer = consume(&handled, "fixed(2, 1ms)");
    acemq_browser *browser = NULL;
    const acemq_delivery *dead = NULL;
    forget_calls();
    publish_text(mq, "q", "one", "x");
    await_ready(mq, "q.dlq", 1);
    const char *once = "outer:before guard:before outer:interceptor guard: no key outer:after 1";
    char twice[256];
    snprintf(twice, sizeof twice, "%s %s", once, once);
    await_calls(twice);
    ck_assert_int_eq(atomic_load(&handled.calls), 0);
    MUST(acemq_browser_open(mq, "q.dlq", NULL, &browser, &error));
    MUST(acemq_browser_next(browser, &dead, &error));
    ck_assert_str_eq(acemq_envelope_error(acemq_delivery_envelope(dead)),
                     "exhausted 2 attempts: interceptor guard: no key");
    acemq_browser_free(browser);
    acemq_consumer_free(consumer);
    take_off(all[0], &outer);
    take_off(all[1], &guard);
    take_off(all[2], &inner);
}
END_TEST

START_TEST(a_fatal_error_before_the_handler_takes_the_fatal_row)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    spy guard = {.name = "guard", .answer = ACEMQ_REJECTED};
    acemq_interceptor *interceptor = consuming(&guard, 0);
    acemq_consumer *consumer = consume(&handled, "fixed(5, 1h)");
    publish_text(mq, "q", "one", "x");
    await_ready(mq, "q.dlq", 1);
    ck_assert_int_eq(atomic_load(&handled.calls), 0);
    acemq_consumer_free(consumer);
    take_off(interceptor, &guard);
}
END_TEST

START_TEST(what_does_not_decode_meets_none)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    acemq_consumer *consumer = NULL;
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = consuming(&self, 0);
    options.codec = acemq_codec_builtin("json");
    MUST(acemq_consume(mq, "q", &options, handle, &handled, NULL, &consumer, &error));
    acemq_message *broken = acemq_message_text("{");
    acemq_message_set_content_type(broken, "application/json");
    forget_calls();
    MUST(acemq_publish(mq, "q", broken, 5000, &error));
    await_ready(mq, "q.parked", 1);
    ck_assert_str_eq(calls, "");
    acemq_message_free(broken);
    acemq_consumer_free(consumer);
    take_off(interceptor, &self);
}
END_TEST

START_TEST(a_duplicate_meets_none)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer_counters counters = {.size = sizeof counters};
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    acemq_consumer *consumer = NULL;
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = consuming(&self, 0);
    MUST(acemq_idempotency_open("memory:", NULL, &options.idempotency, &error));
    MUST(acemq_consume(mq, "q", &options, handle, &handled, NULL, &consumer, &error));
    forget_calls();
    publish_text(mq, "q", "one", "x");
    await_calls("a:before handler:runs a:after 0");
    for (int i = 0; i < 1000 && counters.acknowledged == 0; i++) {
        sleep_ms(10);
        MUST(acemq_consumer_get_counters(consumer, &counters, &error));
    }
    publish_text(mq, "q", "one", "x");
    for (int i = 0; i < 1000 && counters.duplicates == 0; i++) {
        sleep_ms(10);
        MUST(acemq_consumer_get_counters(consumer, &counters, &error));
    }
    ck_assert_uint_eq(counters.duplicates, 1);
    ck_assert_str_eq(calls, "a:before handler:runs a:after 0");
    acemq_consumer_free(consumer);
    acemq_idempotency_free(options.idempotency);
    take_off(interceptor, &self);
}
END_TEST

START_TEST(an_error_after_the_handler_changes_nothing_and_is_not_lost)
{
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    spy self = {.name = "a", .later = 5};
    acemq_interceptor *interceptor = consuming(&self, 0);
    acemq_consumer *consumer = consume(&handled, NULL);
    acemq_consumer_counters counters = {.size = sizeof counters};
    acemq_event *event = NULL;
    publish_text(mq, "q", "one", "x");
    MUST(acemq_connection_next_event(mq, 5000, &event, &error));
    ck_assert_str_eq(acemq_event_text(event),
                     "interceptor a: its after hook failed: no reason given");
    acemq_event_free(event);
    for (int i = 0; i < 1000 && counters.acknowledged == 0; i++) {
        sleep_ms(10);
        MUST(acemq_consumer_get_counters(consumer, &counters, &error));
    }
    ck_assert_uint_eq(counters.acknowledged, 1);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), 0);
    acemq_consumer_free(consumer);
    take_off(interceptor, &self);
}
END_TEST

static acemq_outcome change_envelope(acemq_interception *call, acemq_delivery *delivery, void *user)
{
    (void)call;
    (void)user;
    ck_assert_str_eq(acemq_envelope_type(acemq_delivery_envelope(delivery)), "q");
    MUST(acemq_delivery_change_type(delivery, "better.type", &error));
    MUST(acemq_delivery_change_version(delivery, 4, &error));
    MUST(acemq_delivery_change_correlation(delivery, "story", &error));
    MUST(acemq_delivery_change_causation(delivery, "cause", &error));
    MUST(acemq_delivery_change_origin(delivery, "", &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_delivery_change_type(delivery, "", &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_delivery_change_version(delivery, 0, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_delivery_change_origin(delivery, "\xff", &error));
    ck_assert_str_eq(acemq_envelope_type(acemq_delivery_envelope(delivery)), "better.type");
    return ACEMQ_ACCEPTED;
}

static acemq_outcome fail_changed(acemq_delivery *delivery, void *user)
{
    (void)user;
    ck_assert_str_eq(acemq_envelope_type(acemq_delivery_envelope(delivery)), "better.type");
    MUST_FAIL(ACEMQ_E_STATE, acemq_delivery_change_type(delivery, "late", &error));
    return ACEMQ_FAILED;
}

START_TEST(changes_of_the_envelope_travel_on_the_hop_and_the_id_stays)
{
    acemq_consume_interceptor hooks = ACEMQ_CONSUME_INTERCEPTOR_INIT;
    acemq_interceptor *interceptor = NULL;
    acemq_consumer *consumer = NULL;
    acemq_browser *browser = NULL;
    const acemq_delivery *dead = NULL;
    hooks.before = change_envelope;
    MUST(acemq_intercept_consuming(mq, &hooks, &interceptor, &error));
    MUST(acemq_consume(mq, "q", NULL, fail_changed, NULL, NULL, &consumer, &error));
    publish_text(mq, "q", "one", "x");
    await_ready(mq, "q.dlq", 1);
    MUST(acemq_browser_open(mq, "q.dlq", NULL, &browser, &error));
    MUST(acemq_browser_next(browser, &dead, &error));
    const acemq_envelope *envelope = acemq_delivery_envelope(dead);
    ck_assert_str_eq(acemq_envelope_id(envelope), "one");
    ck_assert_str_eq(acemq_envelope_type(envelope), "better.type");
    ck_assert_int_eq(acemq_envelope_version(envelope), 4);
    ck_assert_str_eq(acemq_envelope_correlation(envelope), "story");
    ck_assert_str_eq(acemq_envelope_causation(envelope), "cause");
    ck_assert_ptr_null(acemq_envelope_origin(envelope));
    acemq_browser_free(browser);
    acemq_consumer_free(consumer);
    acemq_interceptor_remove(interceptor);
}
END_TEST

START_TEST(in_pull_mode_they_run_on_the_thread_that_pulls_and_settles)
{
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = consuming(&self, 0);
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    publish_text(mq, "q", "one", "x");
    publish_text(mq, "q", "two", "x");
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    forget_calls();
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_PARKED, NULL, &error));
    ck_assert_int_eq(acemq_delivery_settle(delivery, ACEMQ_PARKED, NULL, NULL), ACEMQ_E_SETTLED);
    acemq_delivery_free(delivery);
    ck_assert_str_eq(calls, "a:before a:after 3");
    ck_assert_int_ne(pthread_equal(self.thread, pthread_self()), 0);
    ck_assert_int_ne(pthread_equal(self.later_thread, pthread_self()), 0);
    forget_calls();
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    acemq_delivery_free(delivery); /* and so put back */
    ck_assert_str_eq(calls, "a:before a:put back");
    acemq_consumer_free(consumer);
    take_off(interceptor, &self);
}
END_TEST

/* --- registering while messages pass --- */

static atomic_bool stop_registering;

static void *register_and_remove(void *user)
{
    spy *self = user;
    while (!atomic_load(&stop_registering)) {
        acemq_interceptor *one = publishing(self, 0);
        acemq_interceptor *two = consuming(self, 0);
        acemq_interceptor_remove(one);
        acemq_interceptor_remove(two);
    }
    return NULL;
}

START_TEST(registering_and_removing_while_messages_pass_loses_none)
{
    enum { MESSAGES = 300 };
    spy self = {.name = "a"};
    handling handled = {.outcome = ACEMQ_ACCEPTED};
    pthread_t thread;
    acemq_consumer *consumer = consume(&handled, NULL);
    atomic_store(&stop_registering, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, register_and_remove, &self), 0);
    for (int i = 0; i < MESSAGES; i++) {
        char id[32];
        snprintf(id, sizeof id, "m%d", i);
        publish_text(mq, "q", id, "x");
    }
    for (int i = 0; i < 1000 && atomic_load(&handled.calls) < MESSAGES; i++) {
        sleep_ms(10);
    }
    atomic_store(&stop_registering, true);
    pthread_join(thread, NULL);
    await_destroyed(&self);
    ck_assert_int_eq(atomic_load(&handled.calls), MESSAGES);
    acemq_consumer_free(consumer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi intercepting deliveries");
    TCase *test = tcase_create("interceptors");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, they_stand_around_the_handler_and_come_back_in_reverse);
    tcase_add_test(test, a_failed_handler_is_told_before_after_and_the_hop_meets_nobody);
    tcase_add_test(test,
                   an_error_before_the_handler_fails_the_delivery_as_often_as_the_policy_says);
    tcase_add_test(test, a_fatal_error_before_the_handler_takes_the_fatal_row);
    tcase_add_test(test, what_does_not_decode_meets_none);
    tcase_add_test(test, a_duplicate_meets_none);
    tcase_add_test(test, an_error_after_the_handler_changes_nothing_and_is_not_lost);
    tcase_add_test(test, changes_of_the_envelope_travel_on_the_hop_and_the_id_stays);
    tcase_add_test(test, in_pull_mode_they_run_on_the_thread_that_pulls_and_settles);
    tcase_add_test(test, registering_and_removing_while_messages_pass_loses_none);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
