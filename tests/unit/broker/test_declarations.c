/* Declarations: what is the same, what differs and in which words, what is not allowed, and the
 * limits. The words are held to RabbitMQ's by tests/broker/foreign_client_pika.py. */
#include "support/wire_client.h"

#include "broker/routing.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ace_broker *broker;
static ace_wire_client *client;

static void start(void)
{
    ace_broker_options options;

    ace_broker_options_init(&options);
    options.limits.queues = 3;
    options.limits.exchanges = 2;
    options.limits.bindings = 2;
    ck_assert_int_eq(ace_broker_start(&options, &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
}

static void stop(void)
{
    ace_wire_client_free(client);
    ace_broker_release(broker);
}

static void refuse_declare(const char *queue, const amqp_table_t *arguments, const char *text)
{
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes(queue), .durable = 1};

    if (arguments)
        declare.arguments = *arguments;
    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    ace_wire_expect_channel_close(client, 406, text);
    ace_wire_open_channel(client, 1);
}

START_TEST(the_same_is_the_same_in_any_integer_width)
{
    amqp_table_t wide = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(5), NULL);
    amqp_table_t narrow = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(5), "x-queue-type",
                                         's', "classic", "unknown", 's', "whatever", NULL);

    narrow.entries[0].value.kind = AMQP_FIELD_KIND_U8;
    narrow.entries[0].value.value.u8 = 5;
    ace_wire_declare(client, "q", &wide);
    ace_wire_declare(client, "q", &narrow);
}
END_TEST

START_TEST(a_difference_is_told_with_both_values)
{
    amqp_table_t five = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(5), NULL);
    amqp_table_t six = ace_wire_table(client, "x-message-ttl", 'i', INT64_C(6), NULL);
    amqp_table_t text = ace_wire_table(client, "x-dead-letter-exchange", 's', "x", NULL);

    ace_wire_declare(client, "q", &five);
    refuse_declare(
        "q", &six,
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': "
        "received '6' but current is '5'");
    refuse_declare(
        "q", NULL,
        "PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': "
        "received none but current is the value '5' of type 'long'");
    ace_wire_declare(client, "plain", NULL);
    refuse_declare(
        "plain", &text,
        "PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue 'plain' in "
        "vhost '/': received the value 'x' of type 'longstr' but current is none");
}
END_TEST

START_TEST(streams_are_not_served)
{
    amqp_table_t arguments = ace_wire_table(client, "x-queue-type", 's', "stream", NULL);
    amqp_queue_declare_t declare = {
        .queue = amqp_cstring_bytes("s"), .durable = 1, .arguments = arguments};

    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    ace_wire_expect_connection_close(
        client, 540,
        "NOT_IMPLEMENTED - queue 's' in vhost '/': streams are not served "
        "by the memory broker");
}
END_TEST

START_TEST(a_long_text_ends_in_dots_at_255_bytes)
{
    char name[256];
    char text[300];
    amqp_queue_declare_t declare = {.passive = 1};

    memset(name, 'n', 255);
    name[255] = '\0';
    declare.queue = amqp_cstring_bytes(name);
    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    snprintf(text, sizeof(text), "NOT_FOUND - no queue '%s", name);
    memcpy(text + 252, "...", 4);
    ace_wire_expect_channel_close(client, 404, text);
}
END_TEST

START_TEST(a_name_that_is_no_utf8_is_501)
{
    amqp_queue_declare_t declare = {.queue = {3, (void *)"a\xff\xfe"}};

    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    ace_wire_expect_connection_close(client, 501, "FRAME_ERROR - Malformed UTF-8 in shortstr");
}
END_TEST

START_TEST(limits_are_told_and_given_back)
{
    amqp_queue_delete_t delete = {.queue = amqp_cstring_bytes("2")};
    amqp_queue_bind_t bind = {.queue = amqp_cstring_bytes("0"),
                              .exchange = amqp_cstring_bytes("amq.topic")};
    char key[2] = "a";

    for (int i = 0; i < 3; i++)
        ace_wire_declare(client, (const char[]){(char)('0' + i), '\0'}, NULL);
    refuse_declare(
        "3", NULL,
        "PRECONDITION_FAILED - cannot declare queue '3': queue limit in vhost '/' (3) is "
        "reached");
    ace_wire_declare(client, "2", NULL);
    ace_wire_send(client, 1, AMQP_QUEUE_DELETE_METHOD, &delete);
    ace_wire_expect(client, AMQP_QUEUE_DELETE_OK_METHOD);
    ace_wire_declare(client, "3", NULL);
    for (int i = 0; i < 3; i++, key[0]++) {
        bind.routing_key = amqp_cstring_bytes(key);
        ace_wire_send(client, 1, AMQP_QUEUE_BIND_METHOD, &bind);
        if (i < 2)
            ace_wire_expect(client, AMQP_QUEUE_BIND_OK_METHOD);
    }
    ace_wire_expect_channel_close(client, 406,
                                  "PRECONDITION_FAILED - binding limit (2) is reached");
}
END_TEST

START_TEST(exchanges_are_limited_too)
{
    amqp_exchange_declare_t declare = {.type = amqp_cstring_bytes("direct")};
    char name[2] = "a";

    for (int i = 0; i < 3; i++, name[0]++) {
        declare.exchange = amqp_cstring_bytes(name);
        ace_wire_send(client, 1, AMQP_EXCHANGE_DECLARE_METHOD, &declare);
        if (i < 2)
            ace_wire_expect(client, AMQP_EXCHANGE_DECLARE_OK_METHOD);
    }
    ace_wire_expect_channel_close(
        client, 406,
        "PRECONDITION_FAILED - cannot declare exchange 'c': exchange limit (2) "
        "is reached");
}
END_TEST

START_TEST(the_same_binding_twice_is_one)
{
    amqp_queue_bind_t bind = {.queue = amqp_cstring_bytes("q"),
                              .exchange = amqp_cstring_bytes("amq.fanout")};
    amqp_basic_publish_t publish = {.exchange = amqp_cstring_bytes("amq.fanout")};

    ace_wire_declare(client, "q", NULL);
    for (int i = 0; i < 5; i++) {
        ace_wire_send(client, 1, AMQP_QUEUE_BIND_METHOD, &bind);
        ace_wire_expect(client, AMQP_QUEUE_BIND_OK_METHOD);
    }
    ace_wire_publish(client, 1, &publish, NULL, ace_bytes_of("x"));
    ace_wire_wait_count(client, "q", 1);
}
END_TEST

START_TEST(a_deleted_queue_cancels_consumers_of_those_who_asked)
{
    ace_wire_client *other = ace_wire_client_login(broker);
    amqp_queue_delete_t delete = {.queue = amqp_cstring_bytes("q")};
    const amqp_basic_cancel_t *cancel;

    ace_wire_declare(client, "q", NULL);
    ace_wire_consume(other, "q", "theirs", false);
    ace_wire_send(client, 1, AMQP_QUEUE_DELETE_METHOD, &delete);
    ace_wire_expect(client, AMQP_QUEUE_DELETE_OK_METHOD);
    cancel = ace_wire_expect(other, AMQP_BASIC_CANCEL_METHOD);
    ck_assert_mem_eq(cancel->consumer_tag.bytes, "theirs", 6);
    ck_assert(cancel->nowait);
    ace_wire_client_free(other);
}
END_TEST

START_TEST(an_exclusive_queue_is_its_connections_alone_and_goes_with_it)
{
    ace_wire_client *other = ace_wire_client_login(broker);
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes("own"), .exclusive = 1};
    amqp_queue_declare_t passive = {.queue = amqp_cstring_bytes("own"), .passive = 1};
    const amqp_channel_close_t *close;
    amqp_channel_close_ok_t ok = {0};

    ace_wire_send(other, 1, AMQP_QUEUE_DECLARE_METHOD, &declare);
    ace_wire_expect(other, AMQP_QUEUE_DECLARE_OK_METHOD);
    ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &passive);
    close = ace_wire_expect(client, AMQP_CHANNEL_CLOSE_METHOD);
    ck_assert_int_eq(close->reply_code, 405);
    ace_wire_send(client, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    ace_wire_open_channel(client, 1);
    ace_wire_client_free(other);
    do {
        ace_wire_send(client, 1, AMQP_QUEUE_DECLARE_METHOD, &passive);
        close = ace_wire_expect(client, AMQP_CHANNEL_CLOSE_METHOD);
        ace_wire_send(client, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
        ace_wire_open_channel(client, 1);
    } while (close->reply_code == 405); /* until the broker has noticed */
    ck_assert_int_eq(close->reply_code, 404);
}
END_TEST

/* --- headers exchanges --- */

static bool matches(const char *rule, int64_t one, const char *two, bool with_x)
{
    amqp_table_t binding = ace_wire_table(client, "one", 'i', INT64_C(1), "two", 's', "2",
                                          "x-other", 'i', INT64_C(7), "x-match", 's', rule, NULL);
    amqp_table_t headers =
        ace_wire_table(client, "zero", 'i', INT64_C(0), "one", 'i', one, two ? "two" : NULL, 's',
                       two, with_x ? "x-other" : NULL, 'i', INT64_C(7), NULL);

    return ace_broker_headers_match(&binding, &headers);
}

START_TEST(headers_match_all_or_any_with_and_without_x)
{
    amqp_table_t present = ace_wire_table(client, "one", 'i', INT64_C(1), NULL);
    amqp_table_t headers = ace_wire_table(client, "one", 's', "anything", NULL);
    amqp_table_t empty = {0, NULL};

    ck_assert(matches("all", 1, "2", false));
    ck_assert(!matches("all", 1, NULL, false));
    ck_assert(!matches("all", 2, "2", false));
    ck_assert(!matches("all-with-x", 1, "2", false));
    ck_assert(matches("all-with-x", 1, "2", true));
    ck_assert(matches("any", 1, NULL, false));
    ck_assert(matches("any", 2, "2", false));
    ck_assert(!matches("any", 2, "3", true));
    ck_assert(matches("any-with-x", 2, "3", true));
    present.entries[0].value.kind = AMQP_FIELD_KIND_VOID;
    ck_assert(ace_broker_headers_match(&present, &headers));
    ck_assert(!ace_broker_headers_match(&present, &empty));
    ck_assert(ace_broker_headers_match(&empty, &headers));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("declarations");
    TCase *tcase = tcase_create("declarations");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, the_same_is_the_same_in_any_integer_width);
    tcase_add_test(tcase, a_difference_is_told_with_both_values);
    tcase_add_test(tcase, streams_are_not_served);
    tcase_add_test(tcase, a_long_text_ends_in_dots_at_255_bytes);
    tcase_add_test(tcase, a_name_that_is_no_utf8_is_501);
    tcase_add_test(tcase, limits_are_told_and_given_back);
    tcase_add_test(tcase, exchanges_are_limited_too);
    tcase_add_test(tcase, the_same_binding_twice_is_one);
    tcase_add_test(tcase, a_deleted_queue_cancels_consumers_of_those_who_asked);
    tcase_add_test(tcase, an_exclusive_queue_is_its_connections_alone_and_goes_with_it);
    tcase_add_test(tcase, headers_match_all_or_any_with_and_without_x);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
