/* Who gets how much, and when. */
#include "support/wire_client.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ace_broker *broker;
static ace_wire_client *client;

static void start(void)
{
    ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
}

static void stop(void)
{
    ace_wire_client_free(client);
    ace_broker_release(broker);
}

static void publish_numbers(const char *queue, int count)
{
    for (int i = 0; i < count; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        ace_wire_publish_text(client, queue, body);
    }
    ace_wire_wait_count(client, queue, (uint32_t)count);
}

START_TEST(a_consumer_has_at_most_its_prefetch)
{
    uint64_t tag;

    ace_wire_declare(client, "q", NULL);
    publish_numbers("q", 6);
    ace_wire_prefetch(client, 2, false);
    ace_wire_consume(client, "q", "c", false);
    ace_wire_expect_delivery(client, "0", false);
    tag = ace_wire_expect_delivery(client, "1", false);
    ace_wire_expect_quiet(client);
    ace_wire_ack(client, tag, false);
    ace_wire_expect_delivery(client, "2", false);
    ace_wire_expect_quiet(client);
    ace_wire_ack(client, 0, true);
    ace_wire_expect_delivery(client, "3", false);
    ace_wire_expect_delivery(client, "4", false);
    ace_wire_expect_quiet(client);
}
END_TEST

START_TEST(no_ack_knows_no_prefetch)
{
    ace_wire_declare(client, "q", NULL);
    publish_numbers("q", 4);
    ace_wire_prefetch(client, 1, false);
    ace_wire_consume(client, "q", "c", true);
    for (int i = 0; i < 4; i++) {
        char body[16];

        snprintf(body, sizeof(body), "%d", i);
        ace_wire_expect_delivery(client, body, false);
    }
}
END_TEST

START_TEST(a_global_prefetch_is_shared_by_the_channels_consumers)
{
    uint64_t tag;

    ace_wire_declare(client, "a", NULL);
    ace_wire_declare(client, "b", NULL);
    ace_wire_prefetch(client, 3, true);
    ace_wire_consume(client, "a", "a", false);
    ace_wire_consume(client, "b", "b", false);
    ace_wire_publish_text(client, "a", "a1");
    ace_wire_publish_text(client, "a", "a2");
    ace_wire_publish_text(client, "b", "b1");
    ace_wire_publish_text(client, "b", "b2");
    tag = ace_wire_expect_delivery(client, "a1", false);
    ace_wire_expect_delivery(client, "a2", false);
    ace_wire_expect_delivery(client, "b1", false);
    ace_wire_expect_quiet(client);
    /* One of the other queue's consumer makes room, too. */
    ace_wire_ack(client, tag, false);
    ace_wire_expect_delivery(client, "b2", false);
    ace_wire_publish_text(client, "a", "a3");
    ace_wire_expect_quiet(client);
    ace_wire_prefetch(client, 0, true);
    ace_wire_expect_delivery(client, "a3", false);
}
END_TEST

START_TEST(consumers_take_turns_and_full_ones_are_passed_over)
{
    static const char *const expected[] = {"a", "b", "c", "a", "b", "c", "b", "c"};

    ace_wire_declare(client, "q", NULL);
    ace_wire_prefetch(client, 2, false);
    ace_wire_consume(client, "q", "a", false);
    ace_wire_prefetch(client, 3, false);
    ace_wire_consume(client, "q", "b", false);
    ace_wire_consume(client, "q", "c", false);
    for (int i = 0; i < 9; i++)
        ace_wire_publish_text(client, "q", "x");
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const amqp_basic_deliver_t *deliver = ace_wire_expect(client, AMQP_BASIC_DELIVER_METHOD);

        ck_assert_uint_eq(deliver->consumer_tag.len, 1);
        ck_assert_int_eq(*(char *)deliver->consumer_tag.bytes, expected[i][0]);
    }
    ace_wire_expect_quiet(client);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
}
END_TEST

START_TEST(a_cancelled_consumer_gets_nothing_more_and_keeps_what_it_has)
{
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes("c")};
    uint64_t tag;

    ace_wire_declare(client, "q", NULL);
    ace_wire_consume(client, "q", "c", false);
    ace_wire_publish_text(client, "q", "1");
    tag = ace_wire_expect_delivery(client, "1", false);
    ace_wire_send(client, 1, AMQP_BASIC_CANCEL_METHOD, &cancel);
    ace_wire_expect(client, AMQP_BASIC_CANCEL_OK_METHOD);
    ace_wire_publish_text(client, "q", "2");
    ace_wire_expect_quiet(client);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
    ace_wire_ack(client, tag, false);
    ace_wire_get(client, "q");
    ace_wire_expect_delivery(client, "2", false);
}
END_TEST

/* A client that does not read costs the broker no more than its limit, and others nothing. */
START_TEST(deliveries_to_a_client_that_does_not_read_are_bounded)
{
    ace_broker_options options;
    ace_broker *small;
    ace_wire_client *slow;
    ace_wire_client *other;
    char *body = malloc(100001);

    ck_assert_ptr_nonnull(body);
    memset(body, 'b', 100000);
    body[100000] = '\0';
    ace_broker_options_init(&options);
    options.limits.outgoing_bytes = 300000;
    ck_assert_int_eq(ace_broker_start(&options, &small, NULL), ACE_OK);
    slow = ace_wire_client_login(small);
    other = ace_wire_client_login(small);
    ace_wire_declare(slow, "q", NULL);
    ace_wire_consume(slow, "q", "c", true);
    for (int i = 0; i < 100; i++)
        ace_wire_publish_text(other, "q", body);
    /* What the sockets and the limit hold is out; the rest waits in the queue. */
    ck_assert_uint_gt(ace_wire_count(other, "q"), 50);
    for (int i = 0; i < 100; i++)
        ace_wire_expect_delivery(slow, body, false);
    ck_assert_uint_eq(ace_wire_count(other, "q"), 0);
    ace_wire_client_free(slow);
    ace_wire_client_free(other);
    ace_broker_release(small);
    free(body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prefetch");
    TCase *tcase = tcase_create("prefetch");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, a_consumer_has_at_most_its_prefetch);
    tcase_add_test(tcase, no_ack_knows_no_prefetch);
    tcase_add_test(tcase, a_global_prefetch_is_shared_by_the_channels_consumers);
    tcase_add_test(tcase, consumers_take_turns_and_full_ones_are_passed_over);
    tcase_add_test(tcase, a_cancelled_consumer_gets_nothing_more_and_keeps_what_it_has);
    tcase_add_test(tcase, deliveries_to_a_client_that_does_not_read_are_bounded);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
