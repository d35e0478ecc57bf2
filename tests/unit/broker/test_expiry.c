/* TTLs and queues that go unused, on a clock that stands still between steps. */
#include "support/wire_client.h"

#include <check.h>
#include <stdlib.h>

static ace_clock *manual;
static ace_broker *broker;
static ace_wire_client *client;

static void start(void)
{
    ace_broker_options options;

    manual = ace_clock_manual(1000000, INT64_C(1700000000000));
    ck_assert_ptr_nonnull(manual);
    ace_broker_options_init(&options);
    options.clock = manual;
    ck_assert_int_eq(ace_broker_start(&options, &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
}

static void stop(void)
{
    ace_wire_client_free(client);
    ace_broker_release(broker);
    ace_clock_free(manual);
}

static void publish_expiring(const char *queue, const char *body, const char *expiration)
{
    amqp_basic_publish_t method = {.routing_key = amqp_cstring_bytes(queue)};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_EXPIRATION_FLAG,
                                          .expiration = amqp_cstring_bytes(expiration)};

    ace_wire_publish(client, 1, &method, &properties, ace_bytes_of(body));
}

/* The broker reads the clock once a turn: what is asked after an answer is asked in a later turn.
 */
static void end_the_turn(void)
{
    amqp_exchange_declare_t declare = {.exchange = amqp_cstring_bytes("amq.direct"),
                                       .type = amqp_cstring_bytes("direct"),
                                       .passive = 1};

    ace_wire_send(client, 1, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
    ace_wire_expect(client, AMQP_EXCHANGE_DECLARE_OK_METHOD);
}

static bool exists(const char *queue)
{
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes(queue), .passive = 1};
    amqp_channel_close_ok_t ok = {0};

    end_the_turn();
    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    ck_assert(ace_wire_read(client));
    if (client->method.id == AMQP_QUEUE_DECLARE_OK_METHOD)
        return true;
    ace_wire_send(client, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    ace_wire_open_channel(client, 1);
    return false;
}

START_TEST(a_queues_ttl_is_exact)
{
    amqp_table_t arguments = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(1000), NULL);

    ace_wire_declare(client, "q", &arguments);
    ace_wire_publish_text(client, "q", "x");
    ace_wire_wait_count(client, "q", 1);
    ace_clock_advance(manual, 999);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
    ace_clock_advance(manual, 1);
    ace_wire_wait_count(client, "q", 0);
}
END_TEST

START_TEST(the_shorter_of_ttl_and_expiration_counts)
{
    amqp_table_t arguments = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(1000), NULL);

    ace_wire_declare(client, "q", &arguments);
    publish_expiring("q", "short", "10");
    publish_expiring("q", "long", "100000");
    ace_wire_wait_count(client, "q", 2);
    ace_clock_advance(manual, 10);
    ace_wire_wait_count(client, "q", 1);
    ace_clock_advance(manual, 989);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
    ace_clock_advance(manual, 1);
    ace_wire_wait_count(client, "q", 0);
}
END_TEST

START_TEST(an_expiration_counts_only_at_the_head)
{
    ace_wire_declare(client, "q", NULL);
    publish_expiring("q", "slow", "1000");
    publish_expiring("q", "quick", "1");
    ace_wire_wait_count(client, "q", 2);
    ace_clock_advance(manual, 500);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 2);
    ace_clock_advance(manual, 500);
    ace_wire_wait_count(client, "q", 0);
}
END_TEST

START_TEST(a_ttl_of_zero_reaches_a_waiting_consumer_only)
{
    amqp_table_t arguments = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(0), NULL);

    ace_wire_declare(client, "q", &arguments);
    ace_wire_publish_text(client, "q", "lost");
    ck_assert_uint_eq(ace_wire_count(client, "q"), 0);
    ace_wire_consume(client, "q", "c", true);
    ace_wire_publish_text(client, "q", "taken");
    ace_wire_expect_delivery(client, "taken", false);
}
END_TEST

START_TEST(what_is_requeued_after_its_time_is_gone)
{
    amqp_table_t arguments = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(100), NULL);
    uint64_t tag;

    ace_wire_declare(client, "q", &arguments);
    ace_wire_publish_text(client, "q", "x");
    tag = ace_wire_wait_get(client, "q", "x");
    ace_clock_advance(manual, 100);
    ace_wire_nack(client, tag, false, true);
    ace_wire_get(client, "q");
    ace_wire_expect(client, AMQP_BASIC_GET_EMPTY_METHOD);
}
END_TEST

START_TEST(a_get_never_finds_what_has_expired)
{
    amqp_table_t arguments = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(50), NULL);

    ace_wire_declare(client, "q", &arguments);
    for (int i = 0; i < 100; i++) {
        ace_wire_publish_text(client, "q", "x");
        ace_wire_wait_count(client, "q", 1);
        ace_clock_advance(manual, 50);
        ace_wire_get(client, "q");
        ace_wire_expect(client, AMQP_BASIC_GET_EMPTY_METHOD);
    }
}
END_TEST

START_TEST(an_unused_queue_is_deleted)
{
    amqp_table_t arguments = ace_wire_table(client, "x-expires", 'i', INT64_C(1000), NULL);

    ace_wire_declare(client, "q", &arguments);
    ace_clock_advance(manual, 600);
    ck_assert(exists("q")); /* which is a use */
    ace_clock_advance(manual, 600);
    ace_wire_get(client, "q"); /* and so is this */
    ace_wire_expect(client, AMQP_BASIC_GET_EMPTY_METHOD);
    ace_clock_advance(manual, 999);
    ace_wire_publish_text(client, "q", "x"); /* but not this */
    ace_clock_advance(manual, 1);
    ck_assert(!exists("q"));
}
END_TEST

START_TEST(a_queue_with_a_consumer_is_in_use)
{
    amqp_table_t arguments = ace_wire_table(client, "x-expires", 'i', INT64_C(1000), NULL);
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes("c")};

    ace_wire_declare(client, "q", &arguments);
    ace_wire_consume(client, "q", "c", false);
    ace_clock_advance(manual, 5000);
    ace_wire_publish_text(client, "q", "x");
    ace_wire_expect_delivery(client, "x", false);
    ace_wire_send(client, 1, AMQP_BASIC_CANCEL_METHOD, &cancel);
    ace_wire_expect(client, AMQP_BASIC_CANCEL_OK_METHOD);
    ace_clock_advance(manual, 1000);
    ck_assert(!exists("q"));
}
END_TEST

START_TEST(a_delivery_that_is_not_acknowledged_for_half_an_hour_closes_its_channel)
{
    uint64_t first;

    ace_wire_declare(client, "q", NULL);
    ace_wire_consume(client, "q", "c", false);
    ace_wire_publish_text(client, "q", "1");
    first = ace_wire_expect_delivery(client, "1", false);
    ace_clock_advance(manual, 1000000);
    ace_wire_publish_text(client, "q", "2");
    ace_wire_expect_delivery(client, "2", false);
    ace_wire_ack(client, first, false);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 0);
    ace_clock_advance(manual, 1799999);
    ace_wire_expect_quiet(client);
    ace_clock_advance(manual, 1);
    ace_wire_expect_channel_close(
        client, 406,
        "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value "
        "used: "
        "1800000 ms. This timeout value can be configured, see consumers doc guide to learn more");
    ace_wire_open_channel(client, 1);
    ace_wire_get(client, "q");
    ace_wire_expect_delivery(client, "2", true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expiry");
    TCase *tcase = tcase_create("expiry");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, a_queues_ttl_is_exact);
    tcase_add_test(tcase, the_shorter_of_ttl_and_expiration_counts);
    tcase_add_test(tcase, an_expiration_counts_only_at_the_head);
    tcase_add_test(tcase, a_ttl_of_zero_reaches_a_waiting_consumer_only);
    tcase_add_test(tcase, what_is_requeued_after_its_time_is_gone);
    tcase_add_test(tcase, a_get_never_finds_what_has_expired);
    tcase_add_test(tcase, an_unused_queue_is_deleted);
    tcase_add_test(tcase, a_queue_with_a_consumer_is_in_use);
    tcase_add_test(tcase, a_delivery_that_is_not_acknowledged_for_half_an_hour_closes_its_channel);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
