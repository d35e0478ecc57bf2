/* Confirms and returns: which, in what order, and how many at a time. */
#include "support/wire_client.h"
#include "wire/content.h"

#include <check.h>
#include <stdlib.h>

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

static void publish(const char *key, bool mandatory)
{
    amqp_basic_publish_t method = {.routing_key = amqp_cstring_bytes(key), .mandatory = mandatory};

    ace_wire_publish(client, 1, &method, NULL, ace_bytes_of("x"));
}

/* Reads until `upto` is confirmed; counts returns, and requires each before its confirm. */
static size_t read_until(uint64_t upto, size_t *messages)
{
    size_t returned = 0;
    uint64_t confirmed = 0;

    *messages = 0;
    while (confirmed < upto) {
        ck_assert(ace_wire_read(client));
        (*messages)++;
        if (client->method.id == AMQP_BASIC_RETURN_METHOD) {
            const amqp_basic_return_t *back = client->method.decoded;

            ck_assert_int_eq(back->reply_code, 312);
            ck_assert_mem_eq(back->reply_text.bytes, "NO_ROUTE", 8);
            ck_assert(ace_bytes_equal_text(client->content->body, "x"));
            /* The n-th return is of publish 7 n, which must not have been confirmed yet. */
            returned++;
            ck_assert_uint_gt(returned * 7, confirmed);
        } else {
            const amqp_basic_ack_t *ack = client->method.decoded;

            ck_assert_uint_eq(client->method.id, AMQP_BASIC_ACK_METHOD);
            ck_assert_uint_gt(ack->delivery_tag, confirmed);
            ck_assert(ack->multiple || ack->delivery_tag == confirmed + 1);
            confirmed = ack->delivery_tag;
        }
    }
    ck_assert_uint_eq(confirmed, upto);
    return returned;
}

START_TEST(every_seventh_of_200_mandatory_publishes_is_returned_before_its_confirm)
{
    size_t messages;

    ace_wire_declare(client, "q", NULL);
    ace_wire_confirm_select(client);
    for (int i = 1; i <= 200; i++)
        publish(i % 7 == 0 ? "missing" : "q", true);
    ck_assert_uint_eq(read_until(200, &messages), 28);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 172);
}
END_TEST

START_TEST(one_ack_confirms_what_came_together)
{
    amqp_basic_publish_t method = {.routing_key = amqp_cstring_bytes("q")};
    static const amqp_basic_properties_t none = {0};
    ace_buffer all = ACE_BUFFER_INIT;
    size_t messages;

    ace_wire_declare(client, "q", NULL);
    ace_wire_confirm_select(client);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(ace_content_write(&all, 1, AMQP_BASIC_PUBLISH_METHOD, &method, &none,
                                           ace_bytes_of("x"), 131072, NULL),
                         ACE_OK);
    ace_wire_send_bytes(client, all.data, all.length);
    ace_buffer_free(&all);
    ck_assert_uint_eq(read_until(1000, &messages), 0);
    ck_assert_uint_lt(messages, 100);
}
END_TEST

START_TEST(without_confirm_select_nothing_is_confirmed)
{
    ace_wire_declare(client, "q", NULL);
    publish("q", false);
    publish("missing", false);
    ace_wire_wait_count(client, "q", 1);
    ace_wire_expect_quiet(client);
}
END_TEST

START_TEST(publishes_over_the_length_are_nacked_one_by_one)
{
    amqp_table_t arguments = ace_wire_table(client, "x-max-length", 'i', INT64_C(2), "x-overflow",
                                            's', "reject-publish", NULL);
    static const int expected[] = {1, 1, 0, 0, 1};
    uint64_t tag;

    ace_wire_declare(client, "q", &arguments);
    ace_wire_confirm_select(client);
    for (int i = 0; i < 5; i++) {
        if (i == 4) {
            ace_wire_get(client, "q");
            tag = ace_wire_expect_delivery(client, "x", false);
            ace_wire_ack(client, tag, false);
        }
        publish("q", true);
        if (expected[i]) {
            const amqp_basic_ack_t *ack = ace_wire_expect(client, AMQP_BASIC_ACK_METHOD);

            ck_assert_uint_eq(ack->delivery_tag, (uint64_t)i + 1);
        } else {
            const amqp_basic_nack_t *nack = ace_wire_expect(client, AMQP_BASIC_NACK_METHOD);

            ck_assert_uint_eq(nack->delivery_tag, (uint64_t)i + 1);
            ck_assert(!nack->multiple);
        }
    }
}
END_TEST

START_TEST(a_missing_exchange_closes_the_channel_after_what_was_confirmed)
{
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes("nope"),
                                   .routing_key = amqp_cstring_bytes("k")};

    ace_wire_declare(client, "q", NULL);
    ace_wire_confirm_select(client);
    publish("q", false);
    ace_wire_expect(client, AMQP_BASIC_ACK_METHOD);
    ace_wire_publish(client, 1, &method, NULL, ace_bytes_of("x"));
    publish("q", false); /* nothing counts until the close is answered */
    ace_wire_expect_channel_close(client, 404, "NOT_FOUND - no exchange 'nope' in vhost '/'");
    ace_wire_open_channel(client, 1);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
}
END_TEST

START_TEST(a_body_over_the_limit_is_406_and_the_connection_stays)
{
    ace_broker_options options;
    ace_broker *small;
    ace_wire_client *other;
    amqp_basic_publish_t method = {.routing_key = amqp_cstring_bytes("q")};
    char body[2000];

    memset(body, 'b', sizeof(body));
    ace_broker_options_init(&options);
    options.limits.message_bytes = 1999;
    ck_assert_int_eq(ace_broker_start(&options, &small, NULL), ACE_OK);
    other = ace_wire_client_login(small);
    ace_wire_declare(other, "q", NULL);
    ace_wire_publish(other, 1, &method, NULL, (ace_bytes){(uint8_t *)body, sizeof(body)});
    ace_wire_expect_channel_close(
        other, 406,
        "PRECONDITION_FAILED - message size 2000 is larger than configured max size 1999");
    ace_wire_open_channel(other, 1);
    ck_assert_uint_eq(ace_wire_count(other, "q"), 0);
    ace_wire_client_free(other);
    ace_broker_release(small);
}
END_TEST

START_TEST(what_is_stored_is_bounded_and_counted_down_again)
{
    ace_broker_options options;
    ace_broker *small;
    ace_wire_client *other;
    amqp_basic_publish_t method = {.routing_key = amqp_cstring_bytes("q")};
    char body[10000];
    ace_bytes bytes = {(uint8_t *)body, sizeof(body)};

    memset(body, 'b', sizeof(body));
    ace_broker_options_init(&options);
    options.limits.stored_bytes = 100000;
    ck_assert_int_eq(ace_broker_start(&options, &small, NULL), ACE_OK);
    other = ace_wire_client_login(small);
    ace_wire_declare(other, "q", NULL);
    for (int i = 0; i < 50; i++) {
        ace_wire_publish(other, 1, &method, NULL, bytes);
        ace_wire_wait_get(other, "q", ace_arena_text(&other->arena, body, sizeof(body)));
        ace_wire_ack(other, 0, true);
    }
    for (int i = 0; i < 20; i++)
        ace_wire_publish(other, 1, &method, NULL, bytes);
    ck_assert(ace_wire_read(other));
    ck_assert_uint_eq(other->method.id, AMQP_CONNECTION_CLOSE_METHOD);
    ck_assert_int_eq(((const amqp_connection_close_t *)other->method.decoded)->reply_code, 506);
    ace_wire_client_free(other);
    ace_broker_release(small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("confirms");
    TCase *tcase = tcase_create("confirms");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, every_seventh_of_200_mandatory_publishes_is_returned_before_its_confirm);
    tcase_add_test(tcase, one_ack_confirms_what_came_together);
    tcase_add_test(tcase, without_confirm_select_nothing_is_confirmed);
    tcase_add_test(tcase, publishes_over_the_length_are_nacked_one_by_one);
    tcase_add_test(tcase, a_missing_exchange_closes_the_channel_after_what_was_confirmed);
    tcase_add_test(tcase, a_body_over_the_limit_is_406_and_the_connection_stays);
    tcase_add_test(tcase, what_is_stored_is_bounded_and_counted_down_again);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
