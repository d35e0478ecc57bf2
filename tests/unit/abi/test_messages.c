/* A message from its builder to its delivery: what a publish writes, what it refuses, and what the
 * receiver reads. */
#include "client.h"

#include <math.h>
#include <stdlib.h>

static acemq_connection *mq;
static acemq_consumer *consumer;

static void begin(void)
{
    mq = connect_with("memory://messages", NULL);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
}

static void end(void)
{
    acemq_consumer_free(consumer);
    acemq_connection_free(mq);
}

/* Publishes, frees the message, and takes what arrives; acknowledged, still to be read. */
static acemq_delivery *arrive(acemq_message *message)
{
    acemq_delivery *delivery = NULL;
    MUST(acemq_publish(mq, "q", message, 5000, &error));
    acemq_message_free(message);
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    return delivery;
}

static void same_text(const char *text, const char *expected)
{
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
}

static void header_is(const acemq_table *headers, const char *name, acemq_kind kind,
                      const char *text)
{
    const acemq_value *value = acemq_table_get(headers, name);
    acemq_bytes bytes;
    ck_assert_msg(value != NULL, "no header %s", name);
    ck_assert_int_eq(acemq_value_kind(value), kind);
    if (text != NULL) {
        ck_assert_int_eq(acemq_value_bytes(value, &bytes), 1);
        ck_assert_uint_eq(bytes.length, strlen(text));
        ck_assert_mem_eq(bytes.data, text, bytes.length);
    }
}

START_TEST(a_plain_message_gets_a_whole_envelope)
{
    int64_t number;
    acemq_delivery *delivery = arrive(acemq_message_json("{\"id\":7}"));
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    const acemq_table *all = acemq_delivery_all_headers(delivery);
    const char *id = acemq_envelope_id(envelope);
    ck_assert_uint_eq(strlen(id), 36);
    same_text(acemq_envelope_type(envelope), "q");
    same_text(acemq_envelope_correlation(envelope), id);
    ck_assert_ptr_null(acemq_envelope_causation(envelope));
    ck_assert_int_eq(strncmp(acemq_envelope_origin(envelope), "acemq@", 6), 0);
    ck_assert_int_eq(acemq_envelope_version(envelope), 1);
    ck_assert_int_eq(acemq_envelope_attempt(envelope), 1);
    ck_assert_int_gt(acemq_envelope_first_seen(envelope), INT64_C(1700000000000));
    ck_assert_int_eq(acemq_envelope_id_is_made_up(envelope), 0);
    header_is(all, "x-acemq-id", ACEMQ_KIND_STRING, id);
    header_is(all, "x-acemq-type", ACEMQ_KIND_STRING, "q");
    header_is(all, "x-acemq-correlation", ACEMQ_KIND_STRING, id);
    header_is(all, "x-acemq-version", ACEMQ_KIND_INT32, NULL);
    header_is(all, "x-acemq-attempt", ACEMQ_KIND_INT32, NULL);
    header_is(all, "x-acemq-first-seen", ACEMQ_KIND_INT64, NULL);
    ck_assert_ptr_null(acemq_table_get(all, "x-acemq-causation"));
    ck_assert_uint_eq(acemq_table_count(acemq_delivery_headers(delivery)), 0);
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_MESSAGE_ID), id);
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE), "application/json");
    ck_assert_int_eq(
        acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_DELIVERY_MODE, &number), 1);
    ck_assert_int_eq(number, 2);
    static const acemq_property never[] = {ACEMQ_PROPERTY_CORRELATION_ID,
                                           ACEMQ_PROPERTY_TYPE,
                                           ACEMQ_PROPERTY_APP_ID,
                                           ACEMQ_PROPERTY_CONTENT_ENCODING,
                                           ACEMQ_PROPERTY_USER_ID,
                                           ACEMQ_PROPERTY_REPLY_TO,
                                           ACEMQ_PROPERTY_EXPIRATION,
                                           ACEMQ_PROPERTY_PRIORITY,
                                           (acemq_property)0,
                                           (acemq_property)13};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        ck_assert_ptr_null(acemq_delivery_property(delivery, never[i]));
    }
    ck_assert_int_eq(acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_TIMESTAMP, &number),
                     0);
    ck_assert_int_eq(acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_PRIORITY, &number), 0);
    ck_assert_uint_eq(acemq_delivery_body(delivery).length, 8);
    ck_assert_mem_eq(acemq_delivery_body(delivery).data, "{\"id\":7}", 8);
    same_text(acemq_delivery_queue(delivery), "q");
    same_text(acemq_delivery_exchange(delivery), "");
    same_text(acemq_delivery_routing_key(delivery), "q");
    acemq_delivery_free(delivery);
}
END_TEST

START_TEST(everything_that_is_set_arrives)
{
    int64_t number;
    acemq_message *message = acemq_message_text("h\xc3\xa9llo");
    acemq_message_set_id(message, "id-1");
    acemq_message_set_type(message, "order.placed");
    acemq_message_set_version(message, 3);
    acemq_message_set_correlation(message, "corr-1");
    acemq_message_set_causation(message, "cause-1");
    acemq_message_set_origin(message, "orders@host");
    acemq_message_set_route(message, "check,charge,ship", 1, "route-1");
    acemq_message_set_header(message, "x-tenant", "acme");
    acemq_message_set_header_int64(message, "number", INT64_MIN);
    acemq_message_set_header_double(message, "real", 0.5);
    acemq_message_set_header_bool(message, "flag", 1);
    acemq_message_set_content_type(message, "text/x-order");
    acemq_message_set_reply_to(message, "answers");
    acemq_message_set_priority(message, 7);
    acemq_message_set_expiration(message, 60000);
    acemq_message_set_transient(message);
    acemq_delivery *delivery = arrive(message);
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    const acemq_table *headers = acemq_delivery_headers(delivery);
    same_text(acemq_envelope_id(envelope), "id-1");
    same_text(acemq_envelope_type(envelope), "order.placed");
    ck_assert_int_eq(acemq_envelope_version(envelope), 3);
    same_text(acemq_envelope_correlation(envelope), "corr-1");
    same_text(acemq_envelope_causation(envelope), "cause-1");
    same_text(acemq_envelope_origin(envelope), "orders@host");
    ck_assert_uint_eq(acemq_envelope_route_count(envelope), 3);
    same_text(acemq_envelope_route_step(envelope, 1), "charge");
    ck_assert_int_eq(acemq_envelope_route_position(envelope), 1);
    same_text(acemq_envelope_route_id(envelope), "route-1");
    ck_assert_uint_eq(acemq_table_count(headers), 4);
    header_is(headers, "x-tenant", ACEMQ_KIND_STRING, "acme");
    ck_assert_int_eq(acemq_value_integer(acemq_table_get(headers, "number"), &number), 1);
    ck_assert_int_eq(number, INT64_MIN);
    header_is(headers, "real", ACEMQ_KIND_DOUBLE, NULL);
    header_is(headers, "flag", ACEMQ_KIND_BOOL, NULL);
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE), "text/x-order");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_REPLY_TO), "answers");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_EXPIRATION), "60000");
    ck_assert_int_eq(acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_PRIORITY, &number), 1);
    ck_assert_int_eq(number, 7);
    ck_assert_int_eq(
        acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_DELIVERY_MODE, &number), 1);
    ck_assert_int_eq(number, 1);
    acemq_delivery_free(delivery);
}
END_TEST

/* Short ones and long ones lie in different places. */
START_TEST(a_type_is_set_again_also_to_a_part_of_itself)
{
    char long_type[200];
    memset(long_type, 'a', sizeof long_type - 1);
    memcpy(long_type + sizeof long_type - 5, "tail", 5);
    acemq_message *message = acemq_message_new("body", 4);
    for (size_t length = 1; length < sizeof long_type; length++) {
        const char *end = long_type + sizeof long_type - 1 - length;
        acemq_message_set_type(message, "order.placed");
        acemq_message_set_type(message, end);
        ck_assert_str_eq(acemq_message_type(message), end);
        acemq_message_set_type(message, acemq_message_type(message));
        ck_assert_str_eq(acemq_message_type(message), end);
        acemq_message_set_type(message, acemq_message_type(message) + length / 2);
        ck_assert_str_eq(acemq_message_type(message), end + length / 2);
        acemq_message_set_type(message, length % 2 == 0 ? NULL : "");
        ck_assert_ptr_null(acemq_message_type(message));
    }
    acemq_message_set_type(message, long_type);
    acemq_message_set_correlation(message, "correlation");
    ck_assert_int_eq(acemq_message_check(message, NULL), ACEMQ_OK);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_message_is_published_again_with_a_new_id)
{
    acemq_message *message = acemq_message_text("x");
    acemq_delivery *delivery[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        MUST(acemq_publish(mq, "q", message, 5000, &error));
        MUST(acemq_consumer_next(consumer, 5000, &delivery[i], &error));
    }
    ck_assert_str_ne(acemq_envelope_id(acemq_delivery_envelope(delivery[0])),
                     acemq_envelope_id(acemq_delivery_envelope(delivery[1])));
    acemq_delivery_free(delivery[0]);
    acemq_delivery_free(delivery[1]);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_verbatim_message_arrives_as_it_was_exported)
{
    int64_t number;
    acemq_table *headers = acemq_table_new();
    MUST(acemq_table_set_string(headers, "x-acemq-id", "old", &error));
    MUST(acemq_table_set_integer(headers, "x-acemq-attempt", ACEMQ_KIND_INT16, 4, &error));
    MUST(acemq_table_set_string(headers, "x-acemq-unknown", "kept", &error));
    MUST(acemq_table_set_timestamp(headers, "when", 1767323045, &error));
    acemq_message *message = acemq_message_verbatim("\0\1", 2, headers);
    acemq_message_set_property(message, ACEMQ_PROPERTY_CONTENT_ENCODING, "gzip");
    acemq_message_set_property(message, ACEMQ_PROPERTY_CORRELATION_ID, "c");
    acemq_message_set_property(message, ACEMQ_PROPERTY_TYPE, "t");
    acemq_message_set_property(message, ACEMQ_PROPERTY_APP_ID, "a");
    acemq_message_set_property(message, ACEMQ_PROPERTY_MESSAGE_ID, "m");
    acemq_message_set_property_number(message, ACEMQ_PROPERTY_TIMESTAMP, 1767323045678);
    acemq_message_set_property_number(message, ACEMQ_PROPERTY_PRIORITY, 3);
    acemq_message_set_property_number(message, ACEMQ_PROPERTY_DELIVERY_MODE, 1);
    acemq_table_free(headers); /* copied */
    acemq_delivery *delivery = arrive(message);
    const acemq_table *all = acemq_delivery_all_headers(delivery);
    ck_assert_uint_eq(acemq_table_count(all), 4);
    header_is(all, "x-acemq-id", ACEMQ_KIND_STRING, "old");
    header_is(all, "x-acemq-attempt", ACEMQ_KIND_INT16, NULL);
    header_is(all, "x-acemq-unknown", ACEMQ_KIND_STRING, "kept");
    header_is(all, "when", ACEMQ_KIND_TIMESTAMP, NULL);
    /* Reserved names, known or not, are not the application's. */
    ck_assert_uint_eq(acemq_table_count(acemq_delivery_headers(delivery)), 1);
    ck_assert_int_eq(acemq_envelope_attempt(acemq_delivery_envelope(delivery)), 4);
    ck_assert_ptr_null(acemq_envelope_origin(acemq_delivery_envelope(delivery)));
    ck_assert_ptr_null(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_TYPE));
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CONTENT_ENCODING), "gzip");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_CORRELATION_ID), "c");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_TYPE), "t");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_APP_ID), "a");
    same_text(acemq_delivery_property(delivery, ACEMQ_PROPERTY_MESSAGE_ID), "m");
    ck_assert_int_eq(acemq_delivery_property_number(delivery, ACEMQ_PROPERTY_TIMESTAMP, &number),
                     1);
    ck_assert_int_eq(number, 1767323045678); /* somebody's milliseconds; nothing throws */
    ck_assert_mem_eq(acemq_delivery_body(delivery).data, "\0\1", 2);
    acemq_delivery_free(delivery);
}
END_TEST

/* The kept error, at the builder and at the publish. */
static void is_refused(acemq_message *message, acemq_status expected, const char *text)
{
    acemq_error *error = NULL;
    acemq_status status = acemq_publish(mq, "q", message, 1000, &error);
    ck_assert_msg(status == expected, "%s instead of %s: %s", acemq_status_name(status),
                  acemq_status_name(expected), acemq_error_message(error));
    ck_assert_msg(strstr(acemq_error_message(error), text) != NULL, "\"%s\" does not say %s",
                  acemq_error_message(error), text);
    acemq_error_free(error);
    acemq_message_free(message);
}

START_TEST(what_cannot_be_sent_is_refused_before_a_byte_is)
{
    char long_text[300];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_header(message, "x-acemq-anything", "mine");
    is_refused(message, ACEMQ_E_RESERVED_HEADER, "x-acemq-anything");
    message = acemq_message_text("x");
    acemq_message_set_header_double(message, "h", NAN);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "h");
    message = acemq_message_text("x");
    acemq_message_set_header_double(message, "h", INFINITY);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "h");
    message = acemq_message_text("x");
    acemq_message_set_header(message, long_text, "v");
    is_refused(message, ACEMQ_E_LIMIT, "255");
    message = acemq_message_text("x");
    acemq_message_set_id(message, long_text);
    is_refused(message, ACEMQ_E_LIMIT, "255");
    message = acemq_message_text("x");
    acemq_message_set_content_type(message, long_text);
    is_refused(message, ACEMQ_E_LIMIT, "255");
    message = acemq_message_text("x");
    acemq_message_set_reply_to(message, long_text);
    is_refused(message, ACEMQ_E_LIMIT, "255");
    message = acemq_message_text("x");
    acemq_message_set_version(message, 0);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "version");
    message = acemq_message_text("x");
    acemq_message_set_priority(message, 256);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "priority");
    message = acemq_message_text("x");
    acemq_message_set_expiration(message, -1);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "expiration");
    message = acemq_message_text("x");
    acemq_message_set_route(message, "a,,b", 0, NULL);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "route");
    message = acemq_message_text("x");
    acemq_message_set_property(message, ACEMQ_PROPERTY_APP_ID, "a");
    is_refused(message, ACEMQ_E_STATE, "verbatim");
    message = acemq_message_verbatim("x", 1, NULL);
    acemq_message_set_id(message, "i");
    is_refused(message, ACEMQ_E_STATE, "verbatim");
    message = acemq_message_verbatim("x", 1, NULL);
    acemq_message_set_property(message, ACEMQ_PROPERTY_PRIORITY, "3");
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "property");
    message = acemq_message_verbatim("x", 1, NULL);
    acemq_message_set_property_number(message, ACEMQ_PROPERTY_DELIVERY_MODE, 3);
    is_refused(message, ACEMQ_E_INVALID_ARGUMENT, "delivery mode");
    is_refused(acemq_message_json("{\"id\":"), ACEMQ_E_DECODE, "body");
    is_refused(acemq_message_text("\xff"), ACEMQ_E_DECODE, "body");
    is_refused(acemq_message_msgpack("\xc1", 1), ACEMQ_E_DECODE, "body");
    /* And the client is none the worse for it. */
    acemq_delivery *delivery = arrive(acemq_message_text("still here"));
    acemq_delivery_free(delivery);
}
END_TEST

START_TEST(names_over_255_bytes_are_refused_by_bytes_and_not_by_letters)
{
    char key[260];
    memset(key, 'a', 256);
    key[255] = '\0';
    acemq_message *message = acemq_message_text("x");
    MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_publish(mq, key, message, 5000, &error));
    key[255] = 'a';
    key[256] = '\0';
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_publish(mq, key, message, 5000, &error));
    for (int i = 0; i < 128; i++) {
        memcpy(key + 2 * i, "\xc3\xa9", 2);
    }
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_publish(mq, key, message, 5000, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_publish(mq, "\xc3", message, 5000, &error));
    acemq_message_free(message);
}
END_TEST

START_TEST(headers_larger_than_a_frame_are_refused)
{
    char *value = malloc(131001);
    memset(value, 'v', 131000);
    value[131000] = '\0';
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_header(message, "big", value);
    is_refused(message, ACEMQ_E_LIMIT, "frame");
    free(value);
    acemq_connection *small = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.max_body = 1000;
    small = connect_with("memory://messages", &options);
    message = acemq_message_new(NULL, 0);
    MUST(acemq_publish(small, "q", message, 5000, &error));
    acemq_message_free(message);
    char body[1001] = {0};
    message = acemq_message_new(body, sizeof body);
    acemq_error *why = NULL;
    ck_assert_int_eq(acemq_publish(small, "q", message, 5000, &why), ACEMQ_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(why), "1000"));
    acemq_error_free(why);
    acemq_message_free(message);
    acemq_connection_free(small);
}
END_TEST

/* --- tables --- */

START_TEST(a_table_keeps_every_kind_its_order_and_its_last_value)
{
    acemq_table *table = acemq_table_new();
    acemq_table *copy = NULL;
    acemq_array *array = acemq_array_new();
    char name[256];
    int64_t number;
    MUST(acemq_table_set_int64(table, "a", 1, &error));
    MUST(acemq_table_set_string(table, "b", "two", &error));
    MUST(acemq_table_set_int64(table, "a", 3, &error));
    ck_assert_uint_eq(acemq_table_count(table), 2);
    ck_assert_str_eq(acemq_table_name(table, 0), "a");
    ck_assert_int_eq(acemq_value_integer(acemq_table_at(table, 0), &number), 1);
    ck_assert_int_eq(number, 3);
    MUST(acemq_array_append(array, acemq_table_get(table, "a"), &error));
    MUST(acemq_array_append(array, acemq_table_get(table, "b"), &error));
    MUST(acemq_table_set_array(table, "list", array, &error));
    MUST(acemq_table_set_table(table, "self", table, &error));
    MUST(acemq_table_set_value(table, "c", acemq_table_get(table, "b"), &error));
    acemq_array_free(array);
    MUST(acemq_table_copy(table, &copy, &error));
    acemq_table_free(table);
    const acemq_value *list = acemq_table_get(copy, "list");
    ck_assert_uint_eq(acemq_value_count(list), 2);
    ck_assert_int_eq(acemq_value_integer(acemq_value_at(list, 0, name), &number), 1);
    ck_assert_str_eq(name, "");
    ck_assert_ptr_null(acemq_value_at(list, 2, name));
    const acemq_value *inner = acemq_table_get(copy, "self");
    ck_assert_uint_eq(acemq_value_count(inner), 3);
    ck_assert_int_eq(acemq_value_kind(acemq_value_at(inner, 2, name)), ACEMQ_KIND_ARRAY);
    ck_assert_str_eq(name, "list");
    acemq_table_remove(copy, "list");
    acemq_table_remove(copy, "list");
    ck_assert_uint_eq(acemq_table_count(copy), 4);
    ck_assert_str_eq(acemq_table_name(copy, 2), "self");
    acemq_table_free(copy);
}
END_TEST

START_TEST(integers_read_in_their_whole_range)
{
    static const struct {
        acemq_kind kind;
        int64_t number;
    } cases[] = {{ACEMQ_KIND_INT8, -128},       {ACEMQ_KIND_UINT8, 255},
                 {ACEMQ_KIND_INT16, -32768},    {ACEMQ_KIND_UINT16, 65535},
                 {ACEMQ_KIND_INT32, INT32_MIN}, {ACEMQ_KIND_UINT32, UINT32_MAX},
                 {ACEMQ_KIND_INT64, INT64_MIN}, {ACEMQ_KIND_UINT64, INT64_MAX}};
    acemq_table *table = acemq_table_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t number = 0;
        uint64_t positive = 0;
        MUST(acemq_table_set_integer(table, "n", cases[i].kind, cases[i].number, &error));
        const acemq_value *value = acemq_table_get(table, "n");
        ck_assert_int_eq(acemq_value_kind(value), cases[i].kind);
        ck_assert_int_eq(acemq_value_integer(value, &number), 1);
        ck_assert_int_eq(number, cases[i].number);
        ck_assert_int_eq(acemq_value_unsigned(value, &positive), number >= 0);
    }
    uint64_t positive = 0;
    int64_t number = 7;
    static const char json[] = "{\"n\": {\"type\": \"uint64\", \"value\": 18446744073709551615}}";
    acemq_table *arrived = NULL;
    MUST(acemq_table_parse_json(json, sizeof json - 1, &arrived, &error));
    ck_assert_int_eq(acemq_value_integer(acemq_table_get(arrived, "n"), &number), 0);
    ck_assert_int_eq(number, 7);
    ck_assert_int_eq(acemq_value_unsigned(acemq_table_get(arrived, "n"), &positive), 1);
    ck_assert_uint_eq(positive, UINT64_MAX);
    /* It may be read, and not be sent. */
    MUST_FAIL(ACEMQ_E_LIMIT,
              acemq_table_set_value(table, "n", acemq_table_get(arrived, "n"), &error));
    acemq_table_free(arrived);
    MUST(acemq_table_set_decimal(table, "d", 2, 314, &error));
    uint8_t decimals = 0;
    uint32_t unscaled = 0;
    ck_assert_int_eq(acemq_value_decimal(acemq_table_get(table, "d"), &decimals, &unscaled), 1);
    ck_assert_uint_eq(decimals, 2);
    ck_assert_uint_eq(unscaled, 314);
    acemq_table_free(table);
}
END_TEST

/* The form that `acemq envelope` reads and writes. */
START_TEST(a_table_survives_json_with_all_its_kinds)
{
    static const char typed[] =
        "{\"b\":{\"type\":\"bool\",\"value\":true},\"s\":{\"type\":\"int16\",\"value\":-7},"
        "\"u\":{\"type\":\"uint64\",\"value\":18446744073709551615},"
        "\"d\":{\"type\":\"decimal\",\"value\":\"3.14\"},"
        "\"x\":{\"type\":\"bytes\",\"value\":\"AP8=\"},"
        "\"t\":{\"type\":\"timestamp\",\"value\":1767323045},"
        "\"v\":{\"type\":\"void\",\"value\":null},"
        "\"l\":{\"type\":\"longstr\",\"value\":\"text\"}}";
    acemq_table *table = NULL;
    acemq_table *again = NULL;
    char *json[2] = {NULL, NULL};
    MUST(acemq_table_parse_json(typed, sizeof typed - 1, &table, &error));
    ck_assert_uint_eq(acemq_table_count(table), 8);
    ck_assert_int_eq(acemq_value_kind(acemq_table_get(table, "s")), ACEMQ_KIND_INT16);
    MUST(acemq_table_format_json(table, 1, &json[0], &error));
    MUST(acemq_table_parse_json(json[0], strlen(json[0]), &again, &error));
    MUST(acemq_table_format_json(again, 1, &json[1], &error));
    ck_assert_str_eq(json[0], json[1]);
    acemq_free(json[0]);
    acemq_free(json[1]);
    MUST(acemq_table_format_json(table, 0, &json[0], &error));
    ck_assert_ptr_nonnull(strstr(json[0], "\"l\":\"text\""));
    ck_assert_ptr_nonnull(strstr(json[0], "\"int16\""));
    acemq_free(json[0]);
    acemq_table_free(table);
    acemq_table_free(again);
    MUST_FAIL(ACEMQ_E_PARSE, acemq_table_parse_json("[1]", 3, &table, &error));
    MUST_FAIL(ACEMQ_E_PARSE, acemq_table_parse_json("{\"a\":", 5, &table, &error));
}
END_TEST

/* --- codecs --- */

static int only_even(acemq_bytes body, const char *content_type, char *reason, size_t size,
                     void *user)
{
    int *calls = user;
    (*calls)++;
    ck_assert_str_eq(content_type, "application/x-even");
    if (body.length % 2 == 0) {
        return 0;
    }
    memset(reason, 'r', size); /* as much as there is room for, without its end */
    return 1;
}

static void count_end(void *user)
{
    int *calls = user;
    *calls += 1000;
}

START_TEST(a_codec_of_the_application_decides_with_the_content_type)
{
    static const acemq_bytes two = {"ab", 2};
    static const acemq_bytes three = {"abc", 3};
    int calls = 0;
    acemq_codec *codec = NULL;
    acemq_error *why = NULL;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_codec_new("not a name", only_even, &calls, count_end, &codec, &error));
    MUST(acemq_codec_new("even", only_even, &calls, count_end, &codec, &error));
    MUST(acemq_codec_check(codec, two, "application/x-even", &error));
    ck_assert_int_eq(acemq_codec_check(codec, three, "application/x-even", &why), ACEMQ_E_DECODE);
    ck_assert_int_eq(acemq_error_message(why)[0], 'r');
    acemq_error_free(why);
    ck_assert_int_eq(calls, 2);
    acemq_codec_free(codec);
    ck_assert_int_eq(calls, 1002);
    acemq_codec_free((acemq_codec *)(uintptr_t)acemq_codec_builtin("json")); /* static: fine */
    ck_assert_ptr_nonnull(acemq_codec_builtin("json"));
}
END_TEST

START_TEST(a_delivery_is_one_messagepack_map)
{
    char *json = NULL;
    acemq_bytes map;
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, "id-1");
    acemq_message_set_header_int64(message, "n", 5);
    acemq_delivery *delivery = arrive(message);
    MUST(acemq_delivery_pack(delivery, &map, &error));
    MUST(acemq_msgpack_to_json(map, &json, &error));
    static const char *const parts[] = {"\"envelope\"",    "\"headers\"",     "\"properties\"",
                                        "\"queue\"",       "\"exchange\"",    "\"routingKey\"",
                                        "\"redelivered\"", "\"id\"",          "\"id-1\"",
                                        "\"n\"",           "\"contentType\"", "text/plain"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        ck_assert_msg(strstr(json, parts[i]) != NULL, "%s has no %s", json, parts[i]);
    }
    acemq_free(json);
    acemq_delivery_free(delivery);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi messages");
    TCase *tests = tcase_create("messages");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_plain_message_gets_a_whole_envelope);
    tcase_add_test(tests, everything_that_is_set_arrives);
    tcase_add_test(tests, a_type_is_set_again_also_to_a_part_of_itself);
    tcase_add_test(tests, a_message_is_published_again_with_a_new_id);
    tcase_add_test(tests, a_verbatim_message_arrives_as_it_was_exported);
    tcase_add_test(tests, what_cannot_be_sent_is_refused_before_a_byte_is);
    tcase_add_test(tests, names_over_255_bytes_are_refused_by_bytes_and_not_by_letters);
    tcase_add_test(tests, headers_larger_than_a_frame_are_refused);
    tcase_add_test(tests, a_delivery_is_one_messagepack_map);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    TCase *pure = tcase_create("pure");
    tcase_set_timeout(pure, 60);
    tcase_add_test(pure, a_table_keeps_every_kind_its_order_and_its_last_value);
    tcase_add_test(pure, integers_read_in_their_whole_range);
    tcase_add_test(pure, a_table_survives_json_with_all_its_kinds);
    tcase_add_test(pure, a_codec_of_the_application_decides_with_the_content_type);
    suite_add_tcase(suite, pure);
    return run_suite(suite);
}
