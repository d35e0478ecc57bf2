/* What comes back: in which place, with which marks. */
#include "support/wire_client.h"

#include <check.h>
#include <stdio.h>
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

static void publish_letters(const char *queue, int count)
{
    for (int i = 0; i < count; i++)
        ace_wire_publish_text(client, queue, (const char[]){(char)('a' + i), '\0'});
    ace_wire_wait_count(client, queue, (uint32_t)count);
}

static uint64_t get(const char *body, bool redelivered)
{
    ace_wire_get(client, "q");
    return ace_wire_expect_delivery(client, body, redelivered);
}

START_TEST(requeued_messages_go_back_to_their_places)
{
    uint64_t tags[4];

    ace_wire_declare(client, "q", NULL);
    publish_letters("q", 6);
    for (int i = 0; i < 4; i++)
        tags[i] = get((const char[]){(char)('a' + i), '\0'}, false);
    ace_wire_nack(client, tags[2], false, true);
    ace_wire_nack(client, tags[0], false, true);
    ace_wire_nack(client, tags[3], false, true);
    ace_wire_nack(client, tags[1], false, true);
    for (int i = 0; i < 6; i++)
        get((const char[]){(char)('a' + i), '\0'}, i < 4);
}
END_TEST

START_TEST(nack_multiple_takes_all_up_to_the_tag)
{
    uint64_t tag = 0;

    ace_wire_declare(client, "q", NULL);
    publish_letters("q", 5);
    for (int i = 0; i < 4; i++) {
        uint64_t latest = get((const char[]){(char)('a' + i), '\0'}, false);

        if (i == 2)
            tag = latest;
    }
    ace_wire_nack(client, tag, true, true);
    get("a", true);
    get("b", true);
    get("c", true);
    get("e", false);
    ace_wire_get(client, "q");
    ace_wire_expect(client, AMQP_BASIC_GET_EMPTY_METHOD);
}
END_TEST

START_TEST(a_lost_connection_gives_back_what_it_had)
{
    ace_wire_client *other = ace_wire_client_login(broker);

    ace_wire_declare(client, "q", NULL);
    ace_wire_consume(other, "q", "c", false);
    publish_letters("q", 0);
    ace_wire_publish_text(client, "q", "a");
    ace_wire_publish_text(client, "q", "b");
    ace_wire_expect_delivery(other, "a", false);
    ace_wire_expect_delivery(other, "b", false);
    ace_wire_client_free(other);
    ace_wire_wait_count(client, "q", 2);
    get("a", true);
    get("b", true);
}
END_TEST

START_TEST(a_channel_that_made_a_mistake_gives_back_what_it_had)
{
    ace_wire_declare(client, "q", NULL);
    ace_wire_publish_text(client, "q", "a");
    get("a", false);
    ace_wire_ack(client, 77, false);
    ace_wire_expect_channel_close(client, 406, "PRECONDITION_FAILED - unknown delivery tag 77");
    ace_wire_open_channel(client, 1);
    get("a", true);
}
END_TEST

START_TEST(an_acknowledgement_twice_is_unknown)
{
    uint64_t tag;

    ace_wire_declare(client, "q", NULL);
    publish_letters("q", 2);
    tag = get("a", false);
    get("b", false);
    ace_wire_ack(client, tag, false);
    /* RabbitMQ wants the tag itself to be outstanding, `multiple` or not. */
    ace_wire_ack(client, tag, true);
    ace_wire_expect_channel_close(client, 406, "PRECONDITION_FAILED - unknown delivery tag 1");
}
END_TEST

START_TEST(what_was_delivered_of_a_deleted_queue_can_still_be_acknowledged)
{
    amqp_queue_delete_t delete = {.queue = amqp_cstring_bytes("q")};
    uint64_t tag;

    ace_wire_declare(client, "q", NULL);
    publish_letters("q", 2);
    tag = get("a", false);
    get("b", false);
    ace_wire_send(client, 1, AMQP_QUEUE_DELETE_METHOD, &delete);
    ace_wire_expect(client, AMQP_QUEUE_DELETE_OK_METHOD);
    ace_wire_ack(client, tag, false);
    ace_wire_nack(client, tag + 1, false, true);
    ck_assert_uint_eq(ace_wire_declare(client, "q", NULL), 0);
}
END_TEST

START_TEST(recover_requeues_everything)
{
    amqp_basic_recover_t recover = {.requeue = 1};

    ace_wire_declare(client, "q", NULL);
    publish_letters("q", 2);
    get("a", false);
    get("b", false);
    ace_wire_send(client, 1, AMQP_BASIC_RECOVER_METHOD, &recover);
    ace_wire_expect(client, AMQP_BASIC_RECOVER_OK_METHOD);
    get("a", true);
    get("b", true);
    recover.requeue = 0;
    ace_wire_send(client, 1, AMQP_BASIC_RECOVER_METHOD, &recover);
    ace_wire_expect_connection_close(client, 540, "NOT_IMPLEMENTED - requeue=false");
}
END_TEST

/* --- quorum queues --- */

static void declare_quorum(int64_t limit)
{
    amqp_table_t arguments =
        ace_wire_table(client, "x-queue-type", 's', "quorum", limit < 0 ? NULL : "x-delivery-limit",
                       'i', limit, NULL);

    ace_wire_declare(client, "q", &arguments);
}

static void expect_count(int64_t count)
{
    const amqp_field_value_t *value = ace_wire_header(client, "x-delivery-count");

    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(value->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(value->value.i64, count);
}

START_TEST(a_quorum_queues_first_delivery_counts_nothing_by_get_and_says_nothing_by_consume)
{
    declare_quorum(-1);
    ace_wire_publish_text(client, "q", "a");
    ace_wire_nack(client, get("a", false), false, true);
    expect_count(0);
    ace_wire_consume(client, "q", "c", false);
    ace_wire_expect_delivery(client, "a", true);
    expect_count(1);
    ace_wire_publish_text(client, "q", "b");
    ace_wire_expect_delivery(client, "b", false);
    ck_assert_ptr_null(ace_wire_header(client, "x-delivery-count"));
}
END_TEST

START_TEST(a_quorum_queue_without_a_limit_requeues_to_the_end)
{
    declare_quorum(-1);
    publish_letters("q", 3);
    ace_wire_nack(client, get("a", false), false, true);
    get("b", false);
    get("c", false);
    get("a", true);
}
END_TEST

START_TEST(a_quorum_queue_with_a_limit_requeues_to_the_front_and_then_drops)
{
    declare_quorum(2);
    publish_letters("q", 2);
    for (int i = 0; i < 3; i++) {
        ace_wire_nack(client, get("a", i > 0), false, true);
        expect_count(i);
    }
    get("b", false);
}
END_TEST

START_TEST(a_lost_receiver_counts_as_a_delivery_and_returns_to_the_front)
{
    ace_wire_client *other = ace_wire_client_login(broker);

    declare_quorum(-1);
    publish_letters("q", 3);
    ace_wire_get(other, "q");
    ace_wire_expect_delivery(other, "a", false);
    ace_wire_client_free(other);
    ace_wire_wait_count(client, "q", 3);
    get("a", true);
    expect_count(1);
    get("b", false);
}
END_TEST

/* Ten thousand, in and out of their order, within the test's time. */
START_TEST(requeueing_many_is_not_slow)
{
    enum { COUNT = 10000 };

    ace_wire_declare(client, "q", NULL);
    ace_wire_prefetch(client, 0, false);
    for (int i = 0; i < COUNT; i++)
        ace_wire_publish_text(client, "q", "x");
    ace_wire_wait_count(client, "q", COUNT);
    ace_wire_consume(client, "q", "c", false);
    for (int i = 0; i < COUNT; i++)
        ace_wire_expect_delivery(client, "x", false);
    for (uint64_t tag = 2; tag <= COUNT; tag += 2)
        ace_wire_nack(client, tag, false, true);
    for (int i = 0; i < COUNT / 2; i++)
        ace_wire_expect_delivery(client, "x", true);
    ace_wire_nack(client, 0, true, true);
    for (int i = 0; i < COUNT; i++)
        ace_wire_expect_delivery(client, "x", true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redelivery");
    TCase *tcase = tcase_create("redelivery");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, requeued_messages_go_back_to_their_places);
    tcase_add_test(tcase, nack_multiple_takes_all_up_to_the_tag);
    tcase_add_test(tcase, a_lost_connection_gives_back_what_it_had);
    tcase_add_test(tcase, a_channel_that_made_a_mistake_gives_back_what_it_had);
    tcase_add_test(tcase, an_acknowledgement_twice_is_unknown);
    tcase_add_test(tcase, what_was_delivered_of_a_deleted_queue_can_still_be_acknowledged);
    tcase_add_test(tcase, recover_requeues_everything);
    tcase_add_test(
        tcase, a_quorum_queues_first_delivery_counts_nothing_by_get_and_says_nothing_by_consume);
    tcase_add_test(tcase, a_quorum_queue_without_a_limit_requeues_to_the_end);
    tcase_add_test(tcase, a_quorum_queue_with_a_limit_requeues_to_the_front_and_then_drops);
    tcase_add_test(tcase, a_lost_receiver_counts_as_a_delivery_and_returns_to_the_front);
    tcase_add_test(tcase, requeueing_many_is_not_slow);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
