/* Consuming by push: what comes, in what order, and what may be done meanwhile. */
#include "broker/consuming.h"

static void open_with_queue(consume_bench *bench, const char *name)
{
    bench_open(bench, name);
    declare_queue(bench, bench->queue, "quorum", 0);
}

START_TEST(an_accepted_message_is_acknowledged_and_gone)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED};
    open_with_queue(&bench, "accepted");
    ace_consumer *consumer = consume(&bench, &record, NULL);
    ck_assert(ace_consumer_is_subscribed(consumer));
    put_text(&bench, "hello");
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    ck_assert_str_eq(record.bodies[0], "hello");
    AWAIT(counted(consumer).in_flight == 0);
    AWAIT(counted(consumer).delivered == 1);
    MUST(ace_consumer_close(consumer, &error));
    ck_assert_int_eq(ace_consumer_close(consumer, NULL), ACE_CLOSED);
    ace_consumer_release(consumer);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    AWAIT(atomic_load(&record.destroyed) == 1);
    bench_close(&bench, NULL);
    ck_assert_int_eq(atomic_load(&record.destroyed), 1);
}
END_TEST

static void destroyed_slowly(void *user)
{
    nap(2); /* long enough for who does not wait to be gone */
    record_destruction(user);
}

/* What the handler uses may be freed then, also where its thread was just about to end. */
START_TEST(the_destructor_was_called_when_closing_returns)
{
    consume_bench bench;
    open_with_queue(&bench, "destroyed");
    for (int round = 0; round < 100; round++) {
        recorder record = {.outcome = ACE_ACCEPTED};
        ace_consumer_options options = options_of(&bench, &record, NULL);
        options.destructor = destroyed_slowly;
        ace_consumer *consumer = consume_with(&bench, &options);
        put_text(&bench, "one");
        AWAIT(counted(consumer).acknowledged == 1);
        if (round % 2 == 0) {
            MUST(ace_consumer_close(consumer, &error));
        } else {
            MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
        }
        ck_assert_int_eq(atomic_load(&record.destroyed), 1);
        ace_consumer_release(consumer);
    }
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(messages_are_handled_one_at_a_time_in_their_order)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .pause = 3};
    open_with_queue(&bench, "order");
    for (int i = 0; i < 30; i++) {
        char body[16];
        snprintf(body, sizeof body, "%d", i);
        put_text(&bench, body);
    }
    ace_consumer *consumer = consume(&bench, &record, NULL);
    AWAIT(counted(consumer).acknowledged == 30);
    for (int i = 0; i < 30; i++) {
        ck_assert_int_eq(atoi(record.bodies[i]), i);
    }
    ck_assert_int_eq(atomic_load(&record.most_running), 1);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(an_empty_body_is_a_message_of_length_zero)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 10);
    open_with_queue(&bench, "empty");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    put_text(&bench, "");
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ck_assert_str_eq(record.bodies[1], "");
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- opening --- */

static ace_code try_open(consume_bench *bench, const ace_consumer_options *options,
                         ace_error **error)
{
    ace_consumer *consumer = NULL;
    return ace_consumer_open(bench->connection, options, soon(), NULL, &consumer, error);
}

START_TEST(a_missing_source_is_named_and_not_made)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED};
    ace_error *error = NULL;
    bench_open(&bench, "missing");
    ace_consumer_options options = options_of(&bench, &record, NULL);
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), bench.queue));
    ck_assert_int_eq(ace_error_reply(error), 404);
    ace_error_free(error);
    ck_assert_int_eq(count_of(&bench, bench.queue), -1);
    ck_assert_int_eq(count_of(&bench, dlq(&bench)), -1);
    ck_assert_int_eq(atomic_load(&record.destroyed), 0);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_failure_queue_that_differs_stops_the_consumer_and_is_named)
{
    consume_bench bench;
    ace_error *error = NULL;
    open_with_queue(&bench, "differs");
    declare_queue(&bench, dlq(&bench), "quorum", 0);
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_DIFFERS);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), dlq(&bench)));
    ace_error_free(error);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_prefetch_that_would_be_sent_as_unlimited_is_refused)
{
    consume_bench bench;
    ace_error *error = NULL;
    open_with_queue(&bench, "prefetch");
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    const int64_t bad[] = {0, -1, 65536, INT64_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.prefetch = bad[i];
        ck_assert_int_eq(try_open(&bench, &options, &error), ACE_LIMIT);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "prefetch"));
        ace_error_free(error);
        error = NULL;
    }
    options.prefetch = 65535;
    ace_consumer *consumer = consume_with(&bench, &options);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_name_whose_derived_names_are_too_long_is_refused_at_once)
{
    consume_bench bench;
    ace_error *error = NULL;
    char name[260];
    bench_open(&bench, "long");
    memset(name, 'q', sizeof name);
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    options.queue = name;
    name[249] = '\0'; /* with ".parked" 256 bytes */
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "255"));
    ace_error_free(error);
    error = NULL;
    name[248] = '\0'; /* fits, and does not exist */
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_NOT_FOUND);
    ace_error_free(error);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(verify_declares_nothing_and_names_all_that_is_missing)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 60000);
    ace_error *error = NULL;
    open_with_queue(&bench, "verify");
    ace_consumer_options options = options_of(&bench, &record, &policy);
    options.verify = true;
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), dlq(&bench)));
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), named(&bench, ".parked")));
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), named(&bench, ".retry.1m")));
    ace_error_free(error);
    ck_assert_int_eq(count_of(&bench, dlq(&bench)), -1);
    options.verify = false;
    ace_consumer_release(consume_with(&bench, &options));
    options.verify = true;
    ace_consumer_release(consume_with(&bench, &options));
    bench_close(&bench, (const char *const[]){".retry.1m", NULL});
}
END_TEST

START_TEST(a_second_consumer_of_an_exclusive_one_is_refused)
{
    consume_bench bench;
    ace_error *error = NULL;
    bench_open(&bench, "exclusive");
    declare_queue(&bench, bench.queue, "classic", 0); /* of quorum queues it is not kept */
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    options.exclusive = true;
    ace_consumer *consumer = consume_with(&bench, &options);
    ck_assert_int_eq(try_open(&bench, &options, &error), ACE_ACCESS_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), bench.queue));
    ace_error_free(error);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_pushed_delivery_is_settled_by_its_handler_alone)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED};
    ace_delivery *delivery = NULL;
    open_with_queue(&bench, "pushed");
    ace_consumer *consumer = consume(&bench, &record, NULL);
    ck_assert_int_eq(ace_consumer_descriptor(consumer), -1);
    ck_assert_int_eq(ace_consumer_next(consumer, soon(), NULL, &delivery, NULL), ACE_STATE);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- from inside a handler --- */

typedef struct inside {
    consume_bench *bench;
    _Atomic(ace_consumer *) consumer;
    ace_code settled;
    ace_code published;
    ace_code drained;
    ace_code closed_connection;
    ace_code closed;
    atomic_int calls;
    atomic_int destroyed;
} inside;

static ace_outcome try_everything(ace_delivery *delivery, void *user)
{
    inside *in = user;
    while (atomic_load(&in->consumer) == NULL) {
        nap(1);
    }
    ace_consumer *consumer = atomic_load(&in->consumer);
    in->settled = ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, NULL);
    put_raw(in->bench, dlq(in->bench), "sent", 4, NULL);
    in->drained = ace_consumer_drain(consumer, soon(), NULL, NULL);
    in->closed_connection = ace_connection_close(in->bench->connection, 1000, NULL);
    in->closed = ace_consumer_close(consumer, NULL);
    ace_consumer_release(consumer);
    atomic_fetch_add(&in->calls, 1);
    return ACE_ACCEPTED;
}

static void inside_destroyed(void *user)
{
    inside *in = user;
    ck_assert_int_eq(atomic_load(&in->calls), 1); /* after the last handler */
    atomic_fetch_add(&in->destroyed, 1);
}

START_TEST(publishing_and_closing_from_a_handler_work_and_the_rest_says_no_at_once)
{
    consume_bench bench;
    open_with_queue(&bench, "inside");
    inside in = {.bench = &bench};
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    options.handler = try_everything;
    options.user = &in;
    options.destructor = inside_destroyed;
    atomic_store(&in.consumer, consume_with(&bench, &options));
    put_text(&bench, "go");
    put_text(&bench, "not begun");
    AWAIT(atomic_load(&in.destroyed) == 1);
    ck_assert_int_eq(in.settled, ACE_STATE);
    ck_assert_int_eq(in.drained, ACE_FROM_HANDLER);
    ck_assert_int_eq(in.closed_connection, ACE_FROM_HANDLER);
    ck_assert_int_eq(in.closed, ACE_OK);
    ace_delivery *sent = take_from(&bench, dlq(&bench));
    assert_text(ace_delivery_body(sent), "sent");
    ace_delivery_free(sent);
    /* The first was acknowledged after the close, the second was put back by it. */
    ace_delivery *left = take_from(&bench, bench.queue);
    assert_text(ace_delivery_body(left), "not begun");
    ace_delivery_free(left);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    bench_close(&bench, NULL);
}
END_TEST

/* Longer than the two heartbeats after which a peer counts as dead; with ACEMQ_TEST_LONG 20 s. */
static void set_beat(ace_settings *settings, int64_t *busy)
{
    bool is_long = getenv("ACEMQ_TEST_LONG") != NULL;
    ace_settings_init(settings);
    settings->heartbeat = is_long ? 2 : 1;
    *busy = is_long ? 20000 : 4000;
}

static void assert_never_lost(const consume_bench *bench)
{
    ace_connection_status status;
    ace_connection_describe(bench->connection, &status);
    ck_assert_uint_eq(status.consuming.epoch, 1);
    ck_assert_uint_eq(status.publishing.epoch, 1);
    ace_error_free(status.consuming.error);
    ace_error_free(status.publishing.error);
}

START_TEST(a_handler_busy_for_many_heartbeats_does_not_cost_the_connection_and_gets_one_delivery)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED};
    ace_settings settings;
    set_beat(&settings, &record.pause);
    bench_open_with(&bench, "busy", &settings);
    declare_queue(&bench, bench.queue, "quorum", 0);
    ace_consumer *consumer = consume(&bench, &record, NULL);
    put_text(&bench, "work");
    nap(record.pause);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    assert_never_lost(&bench);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* What a binding does: it has the message, and is not inside the library while it works on it. */
START_TEST(who_pulls_and_is_away_for_many_heartbeats_keeps_the_connection_and_the_one_delivery)
{
    consume_bench bench;
    ace_settings settings;
    int64_t busy;
    set_beat(&settings, &busy);
    bench_open_with(&bench, "away", &settings);
    declare_queue(&bench, bench.queue, "quorum", 0);
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    ace_consumer *consumer = consume_with(&bench, &options);
    put_text(&bench, "work");
    ace_delivery *delivery = NULL;
    MUST(ace_consumer_next(consumer, soon(), NULL, &delivery, &error));
    ck_assert(!ace_delivery_redelivered(delivery));
    nap(busy);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(ace_consumer_next(consumer, ace_deadline_after(100), NULL, &delivery, NULL),
                     ACE_TIMEOUT);
    assert_never_lost(&bench);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- ending --- */

START_TEST(draining_waits_for_the_handler_and_puts_back_the_rest)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .held = true};
    open_with_queue(&bench, "drain");
    ace_consumer *consumer = consume(&bench, &record, NULL);
    for (int i = 0; i < 5; i++) {
        put_text(&bench, "x");
    }
    AWAIT(atomic_load(&record.running) == 1);
    ck_assert_int_eq(ace_consumer_drain(consumer, now_ms() + 5, NULL, NULL), ACE_TIMEOUT);
    atomic_store(&record.held, false);
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    AWAIT(counted(consumer).acknowledged == 1);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert(!ace_consumer_is_subscribed(consumer));
    AWAIT(count_of(&bench, bench.queue) == 4);
    ace_consumer_release(consumer);
    AWAIT(atomic_load(&record.destroyed) == 1);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_handler_that_fails_during_a_drain_does_not_wait_either)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED, .held = true};
    ace_policy policy = ace_policy_fixed(3, 15000);
    open_with_queue(&bench, "drain_fails");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    put_text(&bench, "x");
    AWAIT(atomic_load(&record.running) == 1);
    ck_assert_int_eq(ace_consumer_drain(consumer, now_ms() + 5, NULL, NULL), ACE_TIMEOUT);
    atomic_store(&record.held, false);
    int64_t begun = now_ms();
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    ck_assert_int_lt(now_ms() - begun, 10000);
    ace_delivery *back = take_from(&bench, bench.queue);
    ck_assert_int_eq(ace_delivery_envelope(back)->attempt, 2);
    ace_delivery_free(back);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_wait_ends_early_at_shutdown_with_its_attempt_advanced)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(3, 20000);
    open_with_queue(&bench, "early");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    put_with_id(&bench, "w", "x");
    AWAIT(counted(consumer).waiting == 1);
    int64_t begun = now_ms();
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    ck_assert_int_lt(now_ms() - begun, 10000);
    AWAIT(counted(consumer).retried == 1);
    ck_assert_uint_eq(counted(consumer).waiting, 0);
    ace_delivery *back = take_from(&bench, bench.queue);
    ck_assert_int_eq(ace_delivery_envelope(back)->attempt, 2);
    ck_assert(!ace_delivery_redelivered(back));
    ace_delivery_free(back);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, an_accepted_message_is_acknowledged_and_gone);
    tcase_add_test(tcase, the_destructor_was_called_when_closing_returns);
    tcase_add_test(tcase, messages_are_handled_one_at_a_time_in_their_order);
    tcase_add_test(tcase, an_empty_body_is_a_message_of_length_zero);
    tcase_add_test(tcase, a_missing_source_is_named_and_not_made);
    tcase_add_test(tcase, a_failure_queue_that_differs_stops_the_consumer_and_is_named);
    tcase_add_test(tcase, a_prefetch_that_would_be_sent_as_unlimited_is_refused);
    tcase_add_test(tcase, a_name_whose_derived_names_are_too_long_is_refused_at_once);
    tcase_add_test(tcase, verify_declares_nothing_and_names_all_that_is_missing);
    tcase_add_test(tcase, a_second_consumer_of_an_exclusive_one_is_refused);
    tcase_add_test(tcase, a_pushed_delivery_is_settled_by_its_handler_alone);
    tcase_add_test(tcase, publishing_and_closing_from_a_handler_work_and_the_rest_says_no_at_once);
    tcase_add_test(
        tcase,
        a_handler_busy_for_many_heartbeats_does_not_cost_the_connection_and_gets_one_delivery);
    tcase_add_test(
        tcase, who_pulls_and_is_away_for_many_heartbeats_keeps_the_connection_and_the_one_delivery);
    tcase_add_test(tcase, draining_waits_for_the_handler_and_puts_back_the_rest);
    tcase_add_test(tcase, a_handler_that_fails_during_a_drain_does_not_wait_either);
    tcase_add_test(tcase, a_wait_ends_early_at_shutdown_with_its_attempt_advanced);
}

int main(void)
{
    return run_suite(suite_on_both("consume", 60, add_tests));
}
