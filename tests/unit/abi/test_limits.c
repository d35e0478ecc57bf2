/* The limits of a connection's options, below, at and above each, through the public functions. */
#include "client.h"

#include <stdbool.h>
#include <stdlib.h>

#define URL   "memory://limits"
#define LIMIT 100

static acemq_connection *mq; /* with no limit in the way */

static void begin(void)
{
    mq = connect_with(URL, NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static acemq_message *message_of(size_t size)
{
    char *body = calloc(1, size + 1);
    ck_assert_ptr_nonnull(body);
    acemq_message *message = acemq_message_new(body, size);
    free(body);
    return message;
}

static void put(acemq_connection *with, const char *queue, size_t size)
{
    acemq_message *message = message_of(size);
    MUST(acemq_publish(with, queue, message, 5000, &error));
    acemq_message_free(message);
}

/* Publishes it; where it may not be, the error says so. Frees the message. */
static void try_to_publish(acemq_connection *with, acemq_message *message, bool may,
                           const char *text)
{
    acemq_error *error = NULL;
    acemq_status status = acemq_publish(with, "q", message, 5000, &error);
    acemq_message_free(message);
    ck_assert_int_eq(status, may ? ACEMQ_OK : ACEMQ_E_LIMIT);
    ck_assert_msg(may || strstr(acemq_error_message(error), text) != NULL, "\"%s\" is not \"%s\"",
                  acemq_error_message(error), text);
    acemq_error_free(error);
}

static acemq_connection *narrow(void)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.max_body = LIMIT;
    options.max_headers = LIMIT;
    options.max_header_entries = 5;
    options.max_nesting = 2;
    options.max_queued = 2000;
    options.channel_max = 3;
    options.call_timeout = 2000;
    return connect_with(URL, &options);
}

START_TEST(a_body_is_published_up_to_its_limit)
{
    acemq_connection *small = narrow();
    for (size_t size = LIMIT - 1; size <= LIMIT + 1; size++) {
        try_to_publish(small, message_of(size), size <= LIMIT,
                       "body has 101 bytes, the limit is 100");
    }
    acemq_connection_free(small);
    ck_assert_uint_eq(count_ready(mq, "q"), 2);
}
END_TEST

START_TEST(headers_are_published_up_to_their_limits)
{
    acemq_connection *small = narrow();
    for (int count = 4; count <= 6; count++) {
        acemq_message *message = message_of(1);
        for (int i = 0; i < count; i++) {
            char name[2] = {(char)('a' + i), '\0'};
            acemq_message_set_header_int64(message, name, i);
        }
        try_to_publish(small, message, count <= 5, "headers have 6 entries, the limit is 5");
    }
    char text[LIMIT + 2];
    for (size_t length = LIMIT - 12; length <= LIMIT - 10; length++) { /* 11 bytes around it */
        memset(text, 't', sizeof text);
        text[length] = '\0';
        acemq_message *message = message_of(1);
        acemq_message_set_header(message, "h", text);
        try_to_publish(small, message, length <= LIMIT - 11,
                       "headers have 101 bytes, the limit is 100");
    }
    acemq_connection_free(small);
}
END_TEST

/* A table in a table, and so on: the headers themselves are the first. */
static acemq_message *nested(int depth)
{
    acemq_table *headers = acemq_table_new();
    for (int i = 1; i < depth; i++) {
        acemq_table *outer = acemq_table_new();
        MUST(acemq_table_set_table(outer, "t", headers, &error));
        acemq_table_free(headers);
        headers = outer;
    }
    MUST(acemq_table_set_string(headers, "s", "flat", &error));
    acemq_message *message = message_of(1);
    acemq_message_set_headers(message, headers);
    acemq_table_free(headers);
    return message;
}

START_TEST(headers_are_nested_up_to_their_limit)
{
    acemq_connection *small = narrow();
    for (int depth = 1; depth <= 3; depth++) {
        try_to_publish(small, nested(depth), depth <= 2,
                       "headers are nested 3 deep, the limit is 2");
    }
    try_to_publish(mq, nested(32), true, "");
    acemq_connection_free(small);
}
END_TEST

static void ignore(acemq_status status, const acemq_error *error, void *user)
{
    (void)status;
    (void)error;
    (void)user;
}

START_TEST(what_waits_to_be_published_is_limited_by_its_bytes)
{
    acemq_connection *small = narrow();
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.routing_key = "q";
    MUST(acemq_publisher_new(small, &options, &publisher, &error));
    MUST(acemq_connection_pause_publishing(small, &error));
    acemq_message *message = message_of(LIMIT);
    acemq_status status = ACEMQ_OK;
    acemq_error *error = NULL;
    int taken = 0;
    while (status == ACEMQ_OK && taken < 100) {
        status = acemq_publisher_send_async(publisher, NULL, message, 300, ignore, NULL, &error);
        taken += status == ACEMQ_OK ? 1 : 0;
    }
    ck_assert_int_eq(status, ACEMQ_E_REFUSED);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "the limit is 2000"));
    ck_assert_int_ge(taken, 2);
    ck_assert_int_lt(taken, 2000 / LIMIT); /* headers count too */
    acemq_error_free(error);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
    acemq_connection_free(small);
}
END_TEST

START_TEST(channels_are_opened_up_to_their_limit_and_again_once_one_is_free)
{
    acemq_connection *small = narrow();
    acemq_consumer *consumers[5] = {NULL};
    acemq_error *why = NULL;
    int opened = 0;
    while (opened < 4 &&
           acemq_consumer_open(small, "q", NULL, &consumers[opened], &why) == ACEMQ_OK) {
        opened++;
    }
    ck_assert_int_ge(opened, 1); /* some serve the declarations */
    ck_assert_int_le(opened, 3);
    ck_assert_int_eq(acemq_error_code(why), ACEMQ_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(why), "all 3 channels"));
    acemq_error_free(why);
    acemq_consumer_free(consumers[0]);
    consumers[0] = NULL;
    acemq_status status = ACEMQ_E_LIMIT;
    for (int i = 0; i < 1000 && status == ACEMQ_E_LIMIT; i++) { /* its goodbye is on its way */
        status = acemq_consumer_open(small, "q", NULL, &consumers[0], NULL);
        sleep_ms(status == ACEMQ_OK ? 0 : 10);
    }
    ck_assert_int_eq(status, ACEMQ_OK);
    for (int i = 0; i < 5; i++) {
        acemq_consumer_free(consumers[i]);
    }
    acemq_connection_free(small);
}
END_TEST

/* --- what arrives --- */

START_TEST(a_consumer_gets_bodies_up_to_the_limit_and_leaves_larger_ones_in_the_queue)
{
    acemq_connection *small = narrow();
    acemq_consumer *consumer = NULL;
    put(mq, "q", LIMIT + 1);
    for (size_t size = LIMIT - 1; size <= LIMIT + 1; size++) {
        put(mq, "q", size);
    }
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.prefetch = 1; /* the first would be in the way of all others */
    MUST(acemq_consumer_open(small, "q", &options, &consumer, &error));
    for (size_t size = LIMIT - 1; size <= LIMIT; size++) {
        acemq_delivery *delivery = NULL;
        MUST(acemq_consumer_next(consumer, 10000, &delivery, &error));
        ck_assert_uint_eq(acemq_delivery_body(delivery).length, size);
        MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
        acemq_delivery_free(delivery);
    }
    MUST(acemq_consumer_drain(consumer, 10000, NULL, &error));
    acemq_consumer_free(consumer);
    acemq_connection_free(small);
    for (int i = 0; i < 1000 && count_ready(mq, "q") < 2; i++) {
        sleep_ms(10);
    }
    ck_assert_uint_eq(count_ready(mq, "q"), 2);
    ck_assert_uint_eq(count_ready(mq, "q.dlq"), 0);
}
END_TEST

START_TEST(replay_leaves_what_is_too_large_and_moves_the_rest)
{
    acemq_connection *small = narrow();
    acemq_replay_result result = {.size = sizeof result};
    put(mq, "q.dlq", LIMIT);
    put(mq, "q.dlq", LIMIT + 1);
    put(mq, "q.dlq", LIMIT - 1);
    MUST(acemq_replay(small, "q", NULL, &result, &error));
    ck_assert_uint_eq(result.replayed, 2);
    ck_assert_uint_eq(result.declined, 1);
    acemq_connection_free(small);
    ck_assert_uint_eq(count_ready(mq, "q"), 2);
    for (int i = 0; i < 1000 && count_ready(mq, "q.dlq") < 1; i++) {
        sleep_ms(10);
    }
    MUST(acemq_replay(mq, "q", NULL, &result, &error)); /* whole, by who takes it */
    ck_assert_uint_eq(result.replayed, 1);
}
END_TEST

START_TEST(a_browser_says_what_is_too_large_and_goes_on)
{
    acemq_connection *small = narrow();
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    put(mq, "q", LIMIT + 1);
    put(mq, "q", LIMIT);
    MUST(acemq_browser_open(small, "q", NULL, &browser, &error));
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_browser_next(browser, &delivery, &error));
    MUST(acemq_browser_next(browser, &delivery, &error));
    ck_assert_uint_eq(acemq_delivery_body(delivery).length, LIMIT);
    acemq_browser_free(browser);
    acemq_connection_free(small);
    for (int i = 0; i < 1000 && count_ready(mq, "q") < 2; i++) {
        sleep_ms(10);
    }
    ck_assert_uint_eq(count_ready(mq, "q"), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi limits");
    TCase *tests = tcase_create("limits");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_body_is_published_up_to_its_limit);
    tcase_add_test(tests, headers_are_published_up_to_their_limits);
    tcase_add_test(tests, headers_are_nested_up_to_their_limit);
    tcase_add_test(tests, what_waits_to_be_published_is_limited_by_its_bytes);
    tcase_add_test(tests, channels_are_opened_up_to_their_limit_and_again_once_one_is_free);
    tcase_add_test(tests,
                   a_consumer_gets_bodies_up_to_the_limit_and_leaves_larger_ones_in_the_queue);
    tcase_add_test(tests, replay_leaves_what_is_too_large_and_moves_the_rest);
    tcase_add_test(tests, a_browser_says_what_is_too_large_and_goes_on);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
