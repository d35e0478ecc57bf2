/* Replay through the ABI (section 8), on the memory broker. */
#include "client.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static acemq_connection *mq;

static void begin(void)
{
    mq = connect_with("memory://replaying", NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
}

/* Puts a message into a queue as a failed one lies there. */
static void bury(const char *queue, const char *id, int32_t attempt, int size)
{
    acemq_table *headers = acemq_table_new();
    char *body = malloc((size_t)size + 1);
    memset(body, 'b', (size_t)size);
    MUST(acemq_table_set_string(headers, "x-acemq-id", id, &error));
    MUST(acemq_table_set_string(headers, "x-acemq-type", "order.placed", &error));
    MUST(acemq_table_set_integer(headers, "x-acemq-attempt", ACEMQ_KIND_INT32, attempt, &error));
    MUST(acemq_table_set_int64(headers, "x-acemq-first-seen", 1767323045678, &error));
    MUST(acemq_table_set_string(headers, "x-acemq-error", "exhausted 3 attempts: x", &error));
    MUST(acemq_table_set_string(headers, "x-tenant", id[0] == 'a' ? "acme" : "zeta", &error));
    acemq_message *message = acemq_message_verbatim(body, (size_t)size, headers);
    acemq_message_set_content_type(message, "text/plain");
    acemq_message_set_property(message, ACEMQ_PROPERTY_MESSAGE_ID, id);
    acemq_message_set_property(message, ACEMQ_PROPERTY_APP_ID, "shop");
    MUST(acemq_publish(mq, queue, message, 5000, &error));
    acemq_message_free(message);
    acemq_table_free(headers);
    free(body);
}

static void bury_numbered(const char *queue, char prefix, int count)
{
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%c-%d", prefix, i);
        bury(queue, id, 3, 5);
    }
}

static acemq_replay_result replay(const acemq_replay_options *options)
{
    acemq_replay_result result = {.size = sizeof result};
    MUST(acemq_replay(mq, "q", options, &result, &error));
    return result;
}

static uint64_t pending(void)
{
    uint64_t count = 0;
    MUST(acemq_replay_pending(mq, "q", ACEMQ_DEAD_LETTERS, 5000, &count, &error));
    return count;
}

/* The ids of a queue, from its head, as "a b c". */
static void ids_of(const char *queue, char *out, size_t size)
{
    acemq_browser *browser = NULL;
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    const acemq_delivery *delivery = NULL;
    options.force = 1;
    out[0] = '\0';
    MUST(acemq_browser_open(mq, queue, &options, &browser, &error));
    for (;;) {
        MUST(acemq_browser_next(browser, &delivery, &error));
        if (delivery == NULL) {
            break;
        }
        size_t length = strlen(out);
        snprintf(out + length, size - length, "%s%s", length == 0 ? "" : " ",
                 acemq_envelope_id(acemq_delivery_envelope(delivery)));
    }
    acemq_browser_free(browser);
}

#define IDS(queue, expected)                                                                       \
    do {                                                                                           \
        char ids[4096];                                                                            \
        ids_of((queue), ids, sizeof ids);                                                          \
        ck_assert_str_eq(ids, (expected));                                                         \
    } while (0)

static acemq_delivery *take_from(const char *queue)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    MUST(acemq_consumer_open(mq, queue, NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    MUST(acemq_consumer_drain(consumer, 5000, NULL, &error));
    acemq_consumer_free(consumer);
    return delivery;
}

/* --- what moves --- */

START_TEST(nothing_pending_is_nothing_to_do)
{
    ck_assert_uint_eq(pending(), 0);
    acemq_replay_result result = replay(NULL);
    ck_assert_uint_eq(result.replayed, 0);
    ck_assert_uint_eq(result.left, 0);
    uint64_t count = 7;
    declare_queue(mq, "bare", ACEMQ_QUEUE_CLASSIC, 0);
    MUST(acemq_replay_pending(mq, "bare", ACEMQ_DEAD_LETTERS, 5000, &count, &error));
    ck_assert_uint_eq(count, 0); /* no failure queue at all */
    result.size = sizeof result;
    MUST(acemq_replay(mq, "bare", NULL, &result, &error));
    ck_assert_uint_eq(result.replayed, 0);
}
END_TEST

START_TEST(a_replay_stamps_and_resets_and_keeps_everything_else)
{
    bury("q.dlq", "a-1", 3, 20000);
    acemq_replay_result result = replay(NULL);
    ck_assert_uint_eq(result.replayed, 1);
    ck_assert_uint_eq(result.declined, 0);
    ck_assert_uint_eq(result.left, 0);
    ck_assert_uint_eq(pending(), 0);
    acemq_delivery *delivery = take_from("q");
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    int64_t at = 0;
    ck_assert_str_eq(acemq_envelope_id(envelope), "a-1");
    ck_assert_str_eq(acemq_envelope_type(envelope), "order.placed");
    ck_assert_int_eq(acemq_envelope_attempt(envelope), 1);
    ck_assert_ptr_null(acemq_envelope_error(envelope));
    ck_assert_int_eq(acemq_envelope_first_seen(envelope), 1767323045678);
    ck_assert_str_eq(acemq_envelope_replayed_from(envelope), "q.dlq");
    ck_assert_int_eq(acemq_envelope_replayed_at(envelope, &at), 1);
    ck_assert_int_gt(at, 1767323045678);
    ck_assert_int_eq(acemq_envelope_replay_count(envelope), 1);
    ck_assert_str_eq(acemq_delivery_exchange(delivery), "");
    ck_assert_str_eq(acemq_delivery_routing_key(delivery), "q");
    ck_assert_uint_eq(acemq_delivery_body(delivery).length, 20000);
    ck_assert_str_eq(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE), "text/plain");
    ck_assert_str_eq(acemq_delivery_property(delivery, ACEMQ_PROPERTY_APP_ID), "shop");
    acemq_bytes tenant;
    ck_assert_int_eq(
        acemq_value_bytes(acemq_table_get(acemq_delivery_headers(delivery), "x-tenant"), &tenant),
        1);
    ck_assert_mem_eq(tenant.data, "acme", 4);
    acemq_delivery_free(delivery);
}
END_TEST

START_TEST(keeping_attempts_puts_back_exactly_what_was_there)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    options.keep_attempts = 1;
    bury("q.dlq", "a-1", 3, 5);
    replay(&options);
    acemq_delivery *delivery = take_from("q");
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    ck_assert_int_eq(acemq_envelope_attempt(envelope), 3);
    ck_assert_str_eq(acemq_envelope_error(envelope), "exhausted 3 attempts: x");
    ck_assert_int_eq(acemq_envelope_replay_count(envelope), 1);
    acemq_delivery_free(delivery);
}
END_TEST

START_TEST(an_empty_body_goes_home_empty)
{
    bury("q.dlq", "a-1", 3, 0);
    ck_assert_uint_eq(replay(NULL).replayed, 1);
    acemq_delivery *delivery = take_from("q");
    ck_assert_uint_eq(acemq_delivery_body(delivery).length, 0);
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), "a-1");
    acemq_delivery_free(delivery);
}
END_TEST

START_TEST(all_go_home_in_their_order)
{
    bury_numbered("q.dlq", 'a', 500);
    acemq_replay_result result = replay(NULL);
    ck_assert_uint_eq(result.replayed, 500);
    acemq_consumer *consumer = NULL;
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    for (int i = 0; i < 500; i++) {
        acemq_delivery *delivery = NULL;
        char id[32];
        snprintf(id, sizeof id, "a-%d", i);
        MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
        ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), id);
        MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
        acemq_delivery_free(delivery);
    }
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(at_most_so_many_are_moved)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    bury_numbered("q.dlq", 'a', 5);
    options.max = 0;
    acemq_replay_result result = replay(&options);
    ck_assert_uint_eq(result.replayed, 0);
    ck_assert_uint_eq(result.left, 5);
    options.max = 2;
    result = replay(&options);
    ck_assert_uint_eq(result.replayed, 2);
    ck_assert_uint_eq(result.left, 3);
    IDS("q", "a-0 a-1");
    IDS("q.dlq", "a-2 a-3 a-4");
}
END_TEST

START_TEST(parked_messages_have_their_own_lot)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    uint64_t count = 0;
    bury("q.parked", "a-1", 1, 5);
    bury("q.dlq", "a-2", 1, 5);
    MUST(acemq_replay_pending(mq, "q", ACEMQ_PARKED_LETTERS, 5000, &count, &error));
    ck_assert_uint_eq(count, 1);
    options.source = ACEMQ_PARKED_LETTERS;
    ck_assert_uint_eq(replay(&options).replayed, 1);
    IDS("q", "a-1");
    IDS("q.dlq", "a-2");
    acemq_delivery *delivery = take_from("q");
    ck_assert_str_eq(acemq_envelope_replayed_from(acemq_delivery_envelope(delivery)), "q.parked");
    acemq_delivery_free(delivery);
}
END_TEST

/* --- what stays --- */

static int only_acme(const acemq_delivery *delivery, void *user)
{
    int *asked = user;
    acemq_bytes tenant;
    (*asked)++;
    ck_assert_int_eq(
        acemq_delivery_settle((acemq_delivery *)(uintptr_t)delivery, ACEMQ_ACCEPTED, NULL, NULL),
        ACEMQ_E_STATE);
    return acemq_value_bytes(acemq_table_get(acemq_delivery_headers(delivery), "x-tenant"),
                             &tenant) &&
           tenant.length == 4 && memcmp(tenant.data, "acme", 4) == 0;
}

START_TEST(what_a_filter_declines_stays_and_hides_nothing)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    int asked = 0;
    bury_numbered("q.dlq", 'z', 3);
    bury_numbered("q.dlq", 'a', 2);
    bury_numbered("q.dlq", 'y', 1);
    options.filter = only_acme;
    options.filter_user = &asked;
    acemq_replay_result result = replay(&options);
    ck_assert_int_eq(asked, 6);
    ck_assert_uint_eq(result.replayed, 2);
    ck_assert_uint_eq(result.declined, 4);
    ck_assert_uint_eq(result.left, 4);
    IDS("q", "a-0 a-1");
    IDS("q.dlq", "z-0 z-1 z-2 y-0");
}
END_TEST

START_TEST(one_message_is_taken_by_its_id)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    bury_numbered("q.dlq", 'a', 5);
    options.id = "a-3";
    acemq_replay_result result = replay(&options);
    ck_assert_uint_eq(result.replayed, 1);
    ck_assert_uint_eq(result.left, 4);
    IDS("q", "a-3");
    IDS("q.dlq", "a-0 a-1 a-2 a-4");
    options.id = "nobody";
    result = replay(&options);
    ck_assert_uint_eq(result.replayed, 0);
    ck_assert_uint_eq(result.declined, 4);
}
END_TEST

static void note_progress(uint64_t replayed, uint64_t declined, uint64_t total, void *user)
{
    uint64_t *last = user;
    ck_assert_uint_eq(total, 6);
    ck_assert_uint_eq(replayed + declined, last[0] + last[1] + 1);
    last[0] = replayed;
    last[1] = declined;
}

START_TEST(progress_is_told_after_each_message)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    uint64_t last[2] = {0, 0};
    int asked = 0;
    bury_numbered("q.dlq", 'a', 4);
    bury_numbered("q.dlq", 'z', 2);
    options.filter = only_acme;
    options.filter_user = &asked;
    options.progress = note_progress;
    options.progress_user = last;
    replay(&options);
    ck_assert_uint_eq(last[0], 4);
    ck_assert_uint_eq(last[1], 2);
}
END_TEST

START_TEST(a_dry_run_counts_and_moves_nothing)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    int asked = 0;
    bury_numbered("q.dlq", 'a', 4);
    bury_numbered("q.dlq", 'z', 2);
    options.dry_run = 1;
    acemq_replay_result result = replay(&options);
    ck_assert_uint_eq(result.replayed, 6);
    ck_assert_uint_eq(result.left, 6);
    options.max = 5;
    ck_assert_uint_eq(replay(&options).replayed, 5);
    options.max = -1;
    options.filter = only_acme;
    options.filter_user = &asked;
    result = replay(&options);
    ck_assert_uint_eq(result.replayed, 4);
    ck_assert_uint_eq(result.declined, 2);
    ck_assert_uint_eq(result.left, 6);
    ck_assert_uint_eq(count_ready(mq, "q"), 0);
    IDS("q.dlq", "a-0 a-1 a-2 a-3 z-0 z-1");
}
END_TEST

/* --- what fails --- */

START_TEST(a_failure_queue_has_none_of_its_own)
{
    acemq_error *hint = NULL;
    ck_assert_int_eq(acemq_replay(mq, "q.dlq", NULL, NULL, &hint), ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(hint), "q.dlq is a failure queue"));
    acemq_error_free(hint);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_replay(mq, "q.parked", NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_replay(mq, "nowhere", NULL, NULL, &error));
    uint64_t count;
    MUST_FAIL(ACEMQ_E_NOT_FOUND,
              acemq_replay_pending(mq, "nowhere", ACEMQ_DEAD_LETTERS, 5000, &count, &error));
}
END_TEST

static int delete_home_at_the_third(const acemq_delivery *delivery, void *user)
{
    (void)user;
    if (strcmp(acemq_envelope_id(acemq_delivery_envelope(delivery)), "a-2") == 0) {
        MUST(acemq_queue_delete(mq, "q", 5000, NULL, &error));
    }
    return 1;
}

START_TEST(a_message_that_cannot_go_home_stays_and_the_rest_with_it)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    bury_numbered("q.dlq", 'a', 6);
    options.filter = delete_home_at_the_third;
    MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_replay(mq, "q", &options, &result, &error));
    /* Nothing was lost: what did not go home is still there. */
    ck_assert_uint_eq(result.left, 6 - result.replayed);
    ck_assert_uint_le(result.replayed, 2);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), result.left);
}
END_TEST

static int fire_at_the_third(const acemq_delivery *delivery, void *user)
{
    if (strcmp(acemq_envelope_id(acemq_delivery_envelope(delivery)), "a-2") == 0) {
        acemq_cancel_fire(user);
    }
    return 1;
}

START_TEST(a_cancelled_pass_loses_and_doubles_nothing)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    MUST(acemq_cancel_new(&options.cancel, &error));
    bury_numbered("q.dlq", 'a', 6);
    options.filter = fire_at_the_third;
    options.filter_user = options.cancel;
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_replay(mq, "q", &options, &result, &error));
    ck_assert_uint_eq(result.replayed, 3);
    ck_assert_uint_eq(result.left, 3);
    IDS("q", "a-0 a-1 a-2");
    IDS("q.dlq", "a-3 a-4 a-5");
    acemq_cancel_free(options.cancel);
}
END_TEST

/* The broker's limit is made small, and the filter slow. */
static int decline_slowly(const acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    sleep_ms(20);
    return 0;
}

START_TEST(a_pass_ends_before_the_broker_takes_back_what_is_held)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    bury_numbered("q.dlq", 'z', 50);
    options.filter = decline_slowly;
    options.acknowledgement_limit = 240;
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_replay(mq, "q", &options, &result, &error));
    ck_assert_uint_gt(result.declined, 0);
    ck_assert_uint_lt(result.declined, 50);
    ck_assert_uint_eq(result.left, 50);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), 50);
}
END_TEST

static int decline(const acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return 0;
}

START_TEST(ten_thousand_declined_messages_are_the_most_of_one_pass)
{
    enum { COUNT = 10005 };
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    acemq_publisher *publisher = NULL;
    acemq_message *message = acemq_message_text("x");
    const acemq_message **messages = malloc(COUNT * sizeof(const acemq_message *));
    for (int i = 0; i < COUNT; i++) {
        messages[i] = message;
    }
    MUST(acemq_publisher_new(mq, NULL, &publisher, &error));
    MUST(
        acemq_publisher_send_batch(publisher, "q.dlq", messages, COUNT, 60000, NULL, NULL, &error));
    options.filter = decline;
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_replay(mq, "q", &options, &result, &error));
    ck_assert_uint_eq(result.declined, 10000);
    ck_assert_uint_eq(result.left, COUNT);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), COUNT);
    free(messages);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

/* --- what a run must not do --- */

/* A consumer that fails everything again at once. */
static acemq_outcome reject(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return ACEMQ_REJECTED;
}

START_TEST(a_message_that_fails_again_is_not_moved_twice_in_one_run)
{
    acemq_consumer *consumer = NULL;
    bury_numbered("q.dlq", 'a', 20);
    MUST(acemq_consume(mq, "q", NULL, reject, NULL, NULL, &consumer, &error));
    acemq_replay_result result = replay(NULL);
    ck_assert_uint_eq(result.replayed, 20);
    await_ready(mq, "q.dlq", 20);
    acemq_consumer_free(consumer);
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    MUST(acemq_browser_open(mq, "q.dlq", NULL, &browser, &error));
    for (int i = 0; i < 20; i++) {
        MUST(acemq_browser_next(browser, &delivery, &error));
        ck_assert_int_eq(acemq_envelope_replay_count(acemq_delivery_envelope(delivery)), 1);
    }
    acemq_browser_free(browser);
}
END_TEST

START_TEST(only_the_queue_that_failed_gets_its_message_again)
{
    acemq_plan *plan = NULL;
    acemq_consumer *consumer = NULL;
    acemq_message *message = acemq_message_text("x");
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, "orders", "topic");
    acemq_topology_queue(topology, "A", ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    acemq_topology_queue(topology, "B", ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    acemq_topology_bind(topology, "orders", "A", "order.#");
    acemq_topology_bind(topology, "orders", "B", "order.#");
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    MUST(acemq_publish_to(mq, "orders", "order.placed", message, 5000, &error));
    MUST(acemq_consume(mq, "B", NULL, reject, NULL, NULL, &consumer, &error));
    await_ready(mq, "B.dlq", 1);
    acemq_consumer_free(consumer);
    ck_assert_uint_eq(count_ready(mq, "A"), 1);
    acemq_replay_result result = {.size = sizeof result};
    MUST(acemq_replay(mq, "B", NULL, &result, &error));
    ck_assert_uint_eq(result.replayed, 1);
    ck_assert_uint_eq(count_ready(mq, "A"), 1);
    ck_assert_uint_eq(count_ready(mq, "B"), 1);
    acemq_delivery *delivery = take_from("B");
    ck_assert_str_eq(acemq_envelope_type(acemq_delivery_envelope(delivery)), "order.placed");
    acemq_delivery_free(delivery);
    acemq_message_free(message);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi replaying");
    TCase *tests = tcase_create("replaying");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, nothing_pending_is_nothing_to_do);
    tcase_add_test(tests, a_replay_stamps_and_resets_and_keeps_everything_else);
    tcase_add_test(tests, keeping_attempts_puts_back_exactly_what_was_there);
    tcase_add_test(tests, an_empty_body_goes_home_empty);
    tcase_add_test(tests, all_go_home_in_their_order);
    tcase_add_test(tests, at_most_so_many_are_moved);
    tcase_add_test(tests, parked_messages_have_their_own_lot);
    tcase_add_test(tests, what_a_filter_declines_stays_and_hides_nothing);
    tcase_add_test(tests, one_message_is_taken_by_its_id);
    tcase_add_test(tests, progress_is_told_after_each_message);
    tcase_add_test(tests, a_dry_run_counts_and_moves_nothing);
    tcase_add_test(tests, a_failure_queue_has_none_of_its_own);
    tcase_add_test(tests, a_message_that_cannot_go_home_stays_and_the_rest_with_it);
    tcase_add_test(tests, a_cancelled_pass_loses_and_doubles_nothing);
    tcase_add_test(tests, a_pass_ends_before_the_broker_takes_back_what_is_held);
    tcase_add_test(tests, ten_thousand_declined_messages_are_the_most_of_one_pass);
    tcase_add_test(tests, a_message_that_fails_again_is_not_moved_twice_in_one_run);
    tcase_add_test(tests, only_the_queue_that_failed_gets_its_message_again);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
