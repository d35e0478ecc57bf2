/* Looking through queues, counting, purging and deleting them, through the ABI. */
#include "client.h"

#include <stdio.h>

static acemq_connection *mq;

static void begin(void)
{
    mq = connect_with("memory://browsing", NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static void fill(const char *queue, int count)
{
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "m-%d", i);
        publish_text(mq, queue, id, "x");
    }
}

static acemq_browser *open_browser(const char *queue, int64_t max, int force)
{
    acemq_browser *browser = NULL;
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    options.max = max;
    options.force = force;
    MUST(acemq_browser_open(mq, queue, &options, &browser, &error));
    return browser;
}

static const acemq_delivery *look(acemq_browser *browser)
{
    const acemq_delivery *delivery = NULL;
    MUST(acemq_browser_next(browser, &delivery, &error));
    return delivery;
}

START_TEST(messages_are_seen_in_their_order_and_put_back_in_it)
{
    fill("q", 5);
    for (int pass = 0; pass < 3; pass++) {
        acemq_browser *browser = open_browser("q", 10, 0);
        const acemq_delivery *first = NULL;
        for (int i = 0; i < 5; i++) {
            char id[16];
            snprintf(id, sizeof id, "m-%d", i);
            const acemq_delivery *delivery = look(browser);
            ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), id);
            ck_assert_int_eq(acemq_delivery_redelivered(delivery), pass > 0);
            ck_assert_int_eq(acemq_envelope_attempt(acemq_delivery_envelope(delivery)), 1);
            first = i == 0 ? delivery : first;
        }
        ck_assert_ptr_null(look(browser));
        ck_assert_uint_eq(count_ready(mq, "q"), 0);
        /* What was seen first is still there to be read. */
        ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(first)), "m-0");
        ck_assert_int_eq(
            acemq_delivery_settle((acemq_delivery *)(uintptr_t)first, ACEMQ_ACCEPTED, NULL, NULL),
            ACEMQ_E_STATE);
        acemq_browser_free(browser);
        ck_assert_uint_eq(count_ready(mq, "q"), 5);
    }
}
END_TEST

START_TEST(what_is_removed_stays_away)
{
    fill("q", 5);
    acemq_browser *browser = open_browser("q", 10, 0);
    MUST_FAIL(ACEMQ_E_STATE, acemq_browser_remove(browser, &error));
    for (int i = 0; i < 5; i++) {
        look(browser);
        if (i % 2 == 0) {
            MUST(acemq_browser_remove(browser, &error));
            MUST_FAIL(ACEMQ_E_STATE, acemq_browser_remove(browser, &error));
        }
    }
    ck_assert_ptr_null(look(browser));
    MUST_FAIL(ACEMQ_E_STATE, acemq_browser_remove(browser, &error));
    acemq_browser_free(browser);
    browser = open_browser("q", 10, 0);
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(look(browser))), "m-1");
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(look(browser))), "m-3");
    ck_assert_ptr_null(look(browser));
    acemq_browser_free(browser);
}
END_TEST

START_TEST(a_browser_holds_no_more_than_it_was_told)
{
    const acemq_delivery *delivery = NULL;
    fill("q", 3);
    acemq_browser *browser = open_browser("q", 2, 0);
    look(browser);
    look(browser);
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_browser_next(browser, &delivery, &error));
    ck_assert_ptr_null(delivery);
    acemq_browser_free(browser);
    ck_assert_uint_eq(count_ready(mq, "q"), 3);
}
END_TEST

START_TEST(rungs_and_quorum_queues_are_refused)
{
    acemq_browser *browser = NULL;
    acemq_plan *plan = NULL;
    acemq_policy *policy = acemq_policy_fixed(2, 40000);
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, "orders", ACEMQ_QUEUE_QUORUM, 1, policy, NULL);
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    MUST_FAIL(ACEMQ_E_STATE, acemq_browser_open(mq, "orders", NULL, &browser, &error));
    MUST_FAIL(ACEMQ_E_STATE, acemq_browser_open(mq, "orders.retry.40s", NULL, &browser, &error));
    acemq_browser_options forced = ACEMQ_BROWSER_OPTIONS_INIT;
    forced.force = 1;
    MUST_FAIL(ACEMQ_E_STATE, acemq_browser_open(mq, "orders.retry.40s", &forced, &browser, &error));
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_browser_open(mq, "nowhere", NULL, &browser, &error));
    publish_text(mq, "orders", "m-0", "x");
    browser = open_browser("orders", 10, 1);
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(look(browser))), "m-0");
    acemq_browser_free(browser);
    ck_assert_uint_eq(count_ready(mq, "orders"), 1);
    /* Asking what kind of queue it is has changed nothing. */
    acemq_plan_free(plan);
    MUST(acemq_topology_dry_run(mq, topology, 5000, &plan, &error));
    ck_assert_int_eq(acemq_plan_has_drift(plan), 0);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_policy_free(policy);
}
END_TEST

START_TEST(counting_purging_and_deleting)
{
    uint64_t ready = 9;
    uint64_t consumers = 9;
    uint64_t messages = 9;
    acemq_consumer *consumer = NULL;
    fill("q", 4);
    MUST(acemq_queue_count(mq, "q", 5000, &ready, &consumers, &error));
    ck_assert_uint_eq(ready, 4);
    ck_assert_uint_eq(consumers, 0);
    MUST(acemq_queue_purge(mq, "q", 5000, &messages, &error));
    ck_assert_uint_eq(messages, 4);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_queue_count(mq, "q", 5000, NULL, &consumers, &error));
    ck_assert_uint_eq(consumers, 1);
    acemq_consumer_free(consumer);
    fill("q", 2);
    MUST(acemq_queue_delete(mq, "q", 5000, &messages, &error));
    ck_assert_uint_eq(messages, 2);
    MUST(acemq_queue_delete(mq, "q", 5000, &messages, &error));
    ck_assert_uint_eq(messages, 0);
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_queue_purge(mq, "q", 5000, NULL, &error));
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_queue_count(mq, "q", 5000, NULL, NULL, &error));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi browsing");
    TCase *tests = tcase_create("browsing");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, messages_are_seen_in_their_order_and_put_back_in_it);
    tcase_add_test(tests, what_is_removed_stays_away);
    tcase_add_test(tests, a_browser_holds_no_more_than_it_was_told);
    tcase_add_test(tests, rungs_and_quorum_queues_are_refused);
    tcase_add_test(tests, counting_purging_and_deleting);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
