/* Hops that fail because something is missing, and many messages at once. */
#include "broker/consuming.h"

static void open_with_queue(consume_bench *bench, const char *name, int limit)
{
    bench_open(bench, name);
    declare_queue(bench, bench->queue, "quorum", limit);
}

START_TEST(a_missing_dead_letter_queue_is_declared_again_and_all_arrive_within_the_delivery_limit)
{
    enum { COUNT = 40 };
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    open_with_queue(&bench, "limit", 3);
    ace_consumer *consumer = consume(&bench, &record, NULL);
    for (int i = 0; i < COUNT; i++) {
        if (i == 5 || i == 20) {
            delete_queue(&bench, dlq(&bench));
        }
        put_text(&bench, "x");
    }
    AWAIT(counted(consumer).dead_lettered == COUNT);
    ck_assert_int_eq(atomic_load(&record.calls), COUNT);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_int_gt(count_of(&bench, dlq(&bench)), 0);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

START_TEST(a_hop_whose_target_may_not_be_declared_is_repeated_while_the_message_is_held)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    open_with_queue(&bench, "held", 3);
    ace_consumer_options options = options_of(&bench, &record, NULL);
    ace_consumer_release(consume_with(&bench, &options));
    options.verify = true; /* declares nothing, as if it might not */
    ace_consumer *consumer = consume_with(&bench, &options);
    delete_queue(&bench, dlq(&bench));
    put_text(&bench, "x");
    double before = processor_seconds();
    AWAIT(counted(consumer).hops_failed == 3);              /* at once, after 1 s, after 2 s more */
    ck_assert_double_lt(processor_seconds() - before, 0.5); /* of three seconds and more */
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    AWAIT(counted(consumer).in_flight == 1);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    /* The channel works on: others are settled meanwhile. */
    declare_queue(&bench, dlq(&bench), "classic", 0);
    AWAIT(counted(consumer).dead_lettered == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    AWAIT(counted(consumer).rejected == 1);
    ck_assert_int_eq(count_of(&bench, dlq(&bench)), 1);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(what_is_held_when_the_consumer_closes_is_put_back)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    open_with_queue(&bench, "put_back", 0);
    ace_consumer_options options = options_of(&bench, &record, NULL);
    ace_consumer_release(consume_with(&bench, &options));
    options.verify = true;
    ace_consumer *consumer = consume_with(&bench, &options);
    delete_queue(&bench, dlq(&bench));
    put_with_id(&bench, "held", "x");
    AWAIT(counted(consumer).hops_failed == 1);
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    AWAIT(counted(consumer).rejected == 1);
    ck_assert_uint_eq(counted(consumer).dead_lettered, 0);
    ace_delivery *back = take_from(&bench, bench.queue);
    assert_text(ace_delivery_envelope(back)->id, "held");
    ck_assert(ace_delivery_redelivered(back));
    ck_assert_int_eq(ace_delivery_envelope(back)->attempt, 1);
    ace_delivery_free(back);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_message_whose_copy_would_not_fit_a_frame_keeps_no_other_waiting)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    ace_settings settings;
    ace_head head;
    char large[3961];
    ace_settings_init(&settings);
    settings.frame_max = 4096;
    bench_open_with(&bench, "frame", &settings);
    declare_queue(&bench, bench.queue, "quorum", 0);
    ace_consumer *consumer = consume(&bench, &record, NULL);
    memset(large, 'h', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    head_with_id(&head, "large");
    MUST(ace_table_set_text(&head.headers, "large", large, &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "x", 1, &head);
    ace_head_release(&head);
    AWAIT(counted(consumer).hops_failed == 1);
    put_with_id(&bench, "small", "x");
    ace_delivery *dead = take_from(&bench, dlq(&bench));
    assert_text(ace_delivery_envelope(dead)->id, "small");
    ace_delivery_free(dead);
    AWAIT(counted(consumer).hops_failed == 2); /* tried again, and held */
    AWAIT(counted(consumer).in_flight == 1);
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    dead = take_from(&bench, bench.queue);
    assert_text(ace_delivery_envelope(dead)->id, "large");
    ace_delivery_free(dead);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_missing_rung_is_declared_again)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 1000);
    policy.threshold = 1000;
    open_with_queue(&bench, "rung", 0);
    ace_consumer *consumer = consume(&bench, &record, &policy);
    delete_queue(&bench, named(&bench, ".retry.1s"));
    put_text(&bench, "x");
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ck_assert_int_ge(record.times[1] - record.times[0], 990);
    AWAIT(counted(consumer).rungs_missing == 1);
    ck_assert_uint_eq(counted(consumer).hops_failed, 0);
    AWAIT(counted(consumer).retried == 1);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.1s", NULL});
}
END_TEST

START_TEST(a_rung_that_may_not_be_declared_is_waited_out_here)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 1000);
    policy.threshold = 1000;
    open_with_queue(&bench, "refused", 0);
    ace_consumer_options options = options_of(&bench, &record, &policy);
    ace_consumer_release(consume_with(&bench, &options));
    options.verify = true;
    ace_consumer *consumer = consume_with(&bench, &options);
    delete_queue(&bench, named(&bench, ".retry.1s"));
    put_text(&bench, "x");
    AWAIT(counted(consumer).waiting == 1);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(record.attempts[1], 2);
    ck_assert_int_ge(record.times[1] - record.times[0], 990);
    ck_assert_int_eq(count_of(&bench, named(&bench, ".retry.1s")), -1);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_deleted_source_is_waited_for_and_consumed_again)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 1500);
    open_with_queue(&bench, "deleted", 0);
    ace_consumer *consumer = consume(&bench, &record, &policy);
    put_with_id(&bench, "waits", "first");
    AWAIT(counted(consumer).waiting == 1);
    delete_queue(&bench, bench.queue);
    AWAIT(!ace_consumer_is_subscribed(consumer));
    AWAIT(counted(consumer).waiting == 0); /* returned, and held instead of repeated */
    nap(300);
    ck_assert_uint_le(counted(consumer).hops_failed, 1);
    declare_queue(&bench, bench.queue, "quorum", 0);
    AWAIT(ace_consumer_is_subscribed(consumer));
    put_text(&bench, "second");
    AWAIT(atomic_load(&record.calls) == 3);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- many --- */

typedef struct crowd {
    atomic_int calls;
    atomic_int wrong_attempts;
} crowd;

static ace_outcome fail_always(ace_delivery *delivery, void *user)
{
    crowd *all = user;
    int32_t attempt = ace_delivery_envelope(delivery)->attempt;
    atomic_fetch_add(&all->calls, 1);
    if (attempt < 1 || attempt > 3) {
        atomic_fetch_add(&all->wrong_attempts, 1);
    }
    return ACE_FAILED;
}

START_TEST(a_thousand_failing_messages_are_three_thousand_calls_and_a_thousand_dead_letters)
{
    enum { MESSAGES = 1000, CONSUMERS = 16 };
    consume_bench bench;
    crowd all = {0};
    ace_consumer *consumers[CONSUMERS];
    ace_policy policy = ace_policy_fixed(3, 50);
    open_with_queue(&bench, "crowd", 0);
    ace_consumer_options options = options_of(&bench, NULL, &policy);
    options.handler = fail_always;
    options.user = &all;
    for (int i = 0; i < CONSUMERS; i++) {
        consumers[i] = consume_with(&bench, &options);
    }
    for (int i = 0; i < MESSAGES; i++) {
        put_text(&bench, "x");
    }
    uint64_t dead = 0;
    for (int64_t end = now_ms() + 60000; dead < MESSAGES && now_ms() < end; nap(20)) {
        dead = 0;
        for (int i = 0; i < CONSUMERS; i++) {
            dead += counted(consumers[i]).dead_lettered;
        }
    }
    ck_assert_uint_eq(dead, MESSAGES);
    ck_assert_int_eq(atomic_load(&all.calls), 3 * MESSAGES);
    ck_assert_int_eq(atomic_load(&all.wrong_attempts), 0);
    for (int i = 0; i < CONSUMERS; i++) {
        ace_consumer_release(consumers[i]);
    }
    ck_assert_int_eq(count_of(&bench, bench.queue), 0);
    ck_assert_int_eq(count_of(&bench, dlq(&bench)), MESSAGES);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(waits_and_idle_consumers_cost_no_processor_time)
{
    enum { CONSUMERS = 20 };
    consume_bench bench;
    crowd all = {0};
    ace_policy policy = ace_policy_fixed(2, 25000);
    ace_consumer *consumers[CONSUMERS];
    open_with_queue(&bench, "idle", 0);
    ace_consumer_options options = options_of(&bench, NULL, &policy);
    options.handler = fail_always;
    options.user = &all;
    for (int i = 0; i < CONSUMERS; i++) {
        consumers[i] = consume_with(&bench, &options);
    }
    for (int i = 0; i < 200; i++) {
        put_text(&bench, "x");
    }
    uint64_t waiting = 0;
    for (int64_t end = soon(); waiting < 200 && now_ms() < end; nap(20)) {
        waiting = 0;
        for (int i = 0; i < CONSUMERS; i++) {
            waiting += counted(consumers[i]).waiting;
        }
    }
    ck_assert_uint_eq(waiting, 200);
    nap(500);
    double before = processor_seconds();
    nap(2000);
    ck_assert_double_lt(processor_seconds() - before, 0.5); /* a tenth; polling would take more */
    for (int i = 0; i < CONSUMERS; i++) {
        ace_consumer_release(consumers[i]);
    }
    /* Those that went back before the last one was cancelled had their second attempt. */
    AWAIT(count_of(&bench, bench.queue) + count_of(&bench, dlq(&bench)) == 200);
    bench_close(&bench, NULL);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(
        tcase,
        a_missing_dead_letter_queue_is_declared_again_and_all_arrive_within_the_delivery_limit);
    tcase_add_test(tcase,
                   a_hop_whose_target_may_not_be_declared_is_repeated_while_the_message_is_held);
    tcase_add_test(tcase, what_is_held_when_the_consumer_closes_is_put_back);
    tcase_add_test(tcase, a_message_whose_copy_would_not_fit_a_frame_keeps_no_other_waiting);
    tcase_add_test(tcase, a_missing_rung_is_declared_again);
    tcase_add_test(tcase, a_rung_that_may_not_be_declared_is_waited_out_here);
    tcase_add_test(tcase, a_deleted_source_is_waited_for_and_consumed_again);
    tcase_add_test(
        tcase, a_thousand_failing_messages_are_three_thousand_calls_and_a_thousand_dead_letters);
    tcase_add_test(tcase, waits_and_idle_consumers_cost_no_processor_time);
}

int main(void)
{
    return run_suite(suite_on_both("consume_hops", 90, add_tests));
}
