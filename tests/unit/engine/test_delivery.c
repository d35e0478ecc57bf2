/* What a delivery tells, and its one-call map. */
#include "broker/consuming.h"
#include "codec/msgpack.h"
#include "engine/delivery_state.h"

static amqp_bytes_t text(const char *value)
{
    return amqp_cstring_bytes(value);
}

/* A message through the memory broker, as basic.get brings it. */
static ace_delivery *through_the_broker(consume_bench *bench, const ace_head *head)
{
    use_memory();
    bench_open(bench, "delivery");
    declare_queue(bench, bench->queue, "classic", 0);
    put_raw(bench, bench->queue, "body", 4, head);
    return take_from(bench, bench->queue);
}

static void fill(ace_head *head)
{
    head_with_id(head, "id-1");
    MUST(ace_table_set_text(&head->headers, "x-acemq-type", "order.placed", &error));
    MUST(ace_table_set_int32(&head->headers, "x-acemq-attempt", 2, &error));
    MUST(ace_table_set_int64(&head->headers, "x-acemq-first-seen", 1700000000000, &error));
    MUST(ace_table_set_text(&head->headers, "x-acemq-route", "one, two", &error));
    MUST(ace_table_set_int32(&head->headers, "x-acemq-route-position", 1, &error));
    MUST(ace_table_set_text(&head->headers, "color", "blue", &error));
    MUST(ace_table_set_int64(&head->headers, "acemq-replay-count", 3, &error));
    ace_head_seal(head);
    amqp_basic_properties_t *properties = &head->properties;
    properties->_flags |= AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_PRIORITY_FLAG |
                          AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                          AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_REPLY_TO_FLAG;
    properties->content_type = text("text/plain");
    properties->priority = 9;
    properties->timestamp = 1700000000;
    properties->delivery_mode = 2;
    properties->app_id = text("shop");
    properties->reply_to = text("answers");
}

START_TEST(a_delivery_tells_all_it_came_with)
{
    consume_bench bench;
    ace_head head;
    int64_t number = 0;
    fill(&head);
    ace_delivery *delivery = through_the_broker(&bench, &head);
    const ace_envelope *envelope = ace_delivery_envelope(delivery);
    assert_text(envelope->id, "id-1");
    assert_text(envelope->type, "order.placed");
    ck_assert_int_eq(envelope->attempt, 2);
    ck_assert(!envelope->id_unstable);
    ck_assert_str_eq(ace_delivery_queue(delivery), bench.queue);
    ck_assert_str_eq(ace_delivery_exchange(delivery), "");
    ck_assert_str_eq(ace_delivery_routing_key(delivery), bench.queue);
    ck_assert_str_eq(ace_delivery_property(delivery, ACE_PROPERTY_CONTENT_TYPE), "text/plain");
    ck_assert_ptr_eq(ace_delivery_property(delivery, ACE_PROPERTY_CONTENT_TYPE),
                     ace_delivery_property(delivery, ACE_PROPERTY_CONTENT_TYPE));
    ck_assert_str_eq(ace_delivery_property(delivery, ACE_PROPERTY_APP_ID), "shop");
    ck_assert_ptr_null(ace_delivery_property(delivery, ACE_PROPERTY_USER_ID));
    ck_assert_ptr_null(ace_delivery_property(delivery, ACE_PROPERTY_PRIORITY));
    ck_assert_ptr_null(ace_delivery_property(delivery, (ace_property)99));
    ck_assert(ace_delivery_property_number(delivery, ACE_PROPERTY_PRIORITY, &number));
    ck_assert_int_eq(number, 9);
    ck_assert(ace_delivery_property_number(delivery, ACE_PROPERTY_TIMESTAMP, &number));
    ck_assert_int_eq(number, 1700000000);
    ck_assert(!ace_delivery_property_number(delivery, ACE_PROPERTY_CONTENT_TYPE, &number));
    ck_assert_int_eq(ace_delivery_all_headers(delivery)->table.num_entries, 8);
    ck_assert_int_eq(ace_delivery_headers(delivery)->table.num_entries, 2);
    ck_assert_ptr_nonnull(ace_table_find(&ace_delivery_headers(delivery)->table, "color"));
    ace_delivery_free(delivery);
    ace_head_release(&head);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_message_with_nothing_has_an_envelope_of_its_own)
{
    consume_bench bench;
    int64_t number = 0;
    ace_delivery *delivery = through_the_broker(&bench, NULL);
    const ace_envelope *envelope = ace_delivery_envelope(delivery);
    ck_assert(envelope->id_unstable);
    ck_assert_uint_eq(envelope->id.length, ACE_UUID_LENGTH);
    ck_assert_int_eq(envelope->id.data[14], '4'); /* a version 4 uuid, not the room for one */
    ck_assert_ptr_eq(envelope->id.data, envelope->correlation.data);
    assert_text(envelope->type, bench.queue);
    ck_assert_int_eq(ace_delivery_all_headers(delivery)->table.num_entries, 0);
    ck_assert(!ace_delivery_property_number(delivery, ACE_PROPERTY_PRIORITY, &number));
    ace_delivery_free(delivery);
    bench_close(&bench, NULL);
}
END_TEST

static void assert_packed(ace_delivery *delivery, const char *expected)
{
    ace_bytes map = {NULL, 0};
    ace_bytes again = {NULL, 0};
    ace_buffer json = ACE_BUFFER_INIT;
    MUST(ace_delivery_pack(delivery, &map, &error));
    MUST(ace_delivery_pack(delivery, &again, &error));
    ck_assert_ptr_eq(map.data, again.data);
    MUST(ace_msgpack_to_json(map, &json, &error));
    assert_text((ace_bytes){json.data, json.length}, expected);
    ace_buffer_free(&json);
}

START_TEST(the_map_holds_envelope_headers_properties_and_routing)
{
    consume_bench bench;
    ace_head head;
    char expected[2048];
    fill(&head);
    ace_delivery *delivery = through_the_broker(&bench, &head);
    snprintf(
        expected, sizeof expected,
        "{\"envelope\": {\"id\": \"id-1\", \"type\": \"order.placed\", \"version\": 1, "
        "\"correlation\": \"id-1\", \"causation\": null, \"attempt\": 2, \"firstSeen\": "
        "1700000000000, "
        "\"origin\": null, \"error\": null, \"claim\": null, \"route\": [\"one\", \"two\"], "
        "\"routePosition\": 1, \"routeId\": null, \"replayedFrom\": null, \"replayedAt\": null, "
        "\"replayCount\": 3, \"replyTo\": \"answers\"}, "
        "\"headers\": {\"color\": \"blue\", \"acemq-replay-count\": 3}, "
        "\"properties\": {\"messageId\": null, \"contentType\": \"text/plain\", "
        "\"contentEncoding\": null, \"deliveryMode\": 2, \"priority\": 9, \"replyTo\": "
        "\"answers\", "
        "\"correlationId\": null, \"type\": null, \"timestamp\": 1700000000, \"appId\": \"shop\", "
        "\"expiration\": null, \"userId\": null}, "
        "\"queue\": \"%s\", \"exchange\": \"\", \"routingKey\": \"%s\", \"redelivered\": false}",
        bench.queue, bench.queue);
    assert_packed(delivery, expected);
    ace_delivery_free(delivery);
    ace_head_release(&head);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(headers_nested_past_what_a_map_holds_are_an_error_and_the_delivery_stays_usable)
{
    consume_bench bench;
    ace_head head;
    ace_bytes map;
    enum { LEVELS = ACE_TABLE_DEPTH_MAX - 1 }; /* below the headers themselves */
    ace_table tables[LEVELS];
    head_with_id(&head, "deep");
    tables[0] = (ace_table)ACE_TABLE_INIT;
    for (int i = 1; i < LEVELS; i++) {
        tables[i] = (ace_table)ACE_TABLE_INIT;
        MUST(ace_table_set_table(&tables[i], "t", &tables[i - 1].table, &error));
    }
    MUST(ace_table_set_table(&head.headers, "deep", &tables[LEVELS - 1].table, &error));
    ace_head_seal(&head);
    ace_delivery *delivery = through_the_broker(&bench, &head);
    ck_assert_int_eq(ace_delivery_pack(delivery, &map, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_delivery_pack(delivery, &map, NULL), ACE_LIMIT);
    assert_text(ace_delivery_envelope(delivery)->id, "deep");
    ace_delivery_free(delivery);
    for (int i = 0; i < LEVELS; i++) {
        ace_table_release(&tables[i]);
    }
    ace_head_release(&head);
    bench_close(&bench, NULL);
}
END_TEST

static void count_release(void *attachment)
{
    ++*(int *)attachment;
}

START_TEST(the_first_attachment_stays_and_is_released_with_the_delivery)
{
    consume_bench bench;
    int first = 0;
    int second = 0;
    ace_delivery *delivery = through_the_broker(&bench, NULL);
    ace_delivery_attach(delivery, &first, count_release);
    ace_delivery_attach(delivery, &second, count_release);
    ck_assert_ptr_eq(ace_delivery_attachment(delivery), &first);
    ck_assert_int_eq(second, 1);
    ck_assert_int_eq(first, 0);
    ace_delivery_free(delivery);
    ck_assert_int_eq(first, 1);
    bench_close(&bench, NULL);
}
END_TEST

/* Ten thousand of them may wait at a time, and none of them is looked at. */
START_TEST(a_delivery_holds_what_its_receiver_looked_at_no_longer_than_the_receiver)
{
    consume_bench bench;
    ck_assert_uint_le(sizeof(struct acemq_delivery), 640);
    ace_delivery *delivery = through_the_broker(&bench, NULL);
    ck_assert_ptr_null(delivery->views);
    ck_assert_ptr_nonnull(ace_delivery_headers(delivery));
    ck_assert_ptr_nonnull(delivery->views);
    ace_delivery_drop_views(delivery);
    ck_assert_ptr_null(delivery->views);
    ck_assert_ptr_nonnull(ace_delivery_all_headers(delivery));
    ace_delivery_free(delivery);
    bench_close(&bench, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("delivery");
    TCase *tcase = tcase_create("delivery");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_delivery_tells_all_it_came_with);
    tcase_add_test(tcase, a_message_with_nothing_has_an_envelope_of_its_own);
    tcase_add_test(tcase, the_map_holds_envelope_headers_properties_and_routing);
    tcase_add_test(tcase,
                   headers_nested_past_what_a_map_holds_are_an_error_and_the_delivery_stays_usable);
    tcase_add_test(tcase, the_first_attachment_stays_and_is_released_with_the_delivery);
    tcase_add_test(tcase, a_delivery_holds_what_its_receiver_looked_at_no_longer_than_the_receiver);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
