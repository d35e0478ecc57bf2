/* Contents on the wire: measured before the first byte, whole or not at all. */
#include "samples.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/frame.h"
#include "wire/method.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static amqp_pool_t pool;

static void setup(void)
{
    init_amqp_pool(&pool, 4096);
}

static void teardown(void)
{
    empty_amqp_pool(&pool);
}

static amqp_bytes_t filled(size_t length)
{
    amqp_bytes_t bytes = {length, sample_memory(&pool, length)};
    memset(bytes.bytes, 'v', length);
    return bytes;
}

static ace_code write_message(ace_buffer *bytes, const amqp_basic_properties_t *properties,
                              size_t body_length, ace_error **error)
{
    static uint8_t body[300000];
    amqp_basic_publish_t publish = {.exchange = amqp_cstring_bytes("e"),
                                    .routing_key = amqp_cstring_bytes("k")};
    return ace_content_write(bytes, 5, AMQP_BASIC_PUBLISH_METHOD, &publish, properties,
                             (ace_bytes){body, body_length}, 131072, error);
}

START_TEST(properties_survive_writing_and_reading)
{
    uint64_t state = 11;
    ace_error *error = NULL;
    for (int round = 0; round < 3000; round++) {
        amqp_basic_properties_t sent;
        sample_properties(&state, &pool, &sent);
        ace_buffer bytes = ACE_BUFFER_INIT;
        check_ok(ace_content_write_header(&bytes, 3, &sent, 1000 + (uint64_t)round, 131072, &error),
                 error);
        size_t measured;
        check_ok(ace_content_measure(&sent, 131072, &measured, &error), error);
        ck_assert_uint_eq(bytes.length, measured + 8);
        uint64_t size;
        amqp_basic_properties_t *got;
        check_ok(ace_content_decode_header((ace_bytes){bytes.data + 7, bytes.length - 8}, &pool,
                                           &size, &got, &error),
                 error);
        memset(bytes.data, 0xAA, bytes.length);
        ck_assert_uint_eq(size, 1000 + (uint64_t)round);
        ck_assert(sample_same_properties(&sent, got));
        ace_buffer_free(&bytes);
        /* A recycled pool is full of the last round, which must not show in absent properties. */
        recycle_amqp_pool(&pool);
    }
}
END_TEST

START_TEST(a_header_frame_has_the_bytes_of_the_specification)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_CONTENT_TYPE_FLAG |
                                                    AMQP_BASIC_DELIVERY_MODE_FLAG |
                                                    AMQP_BASIC_TIMESTAMP_FLAG,
                                          .content_type = amqp_cstring_bytes("t/x"),
                                          .delivery_mode = 2,
                                          .timestamp = 0x0102};
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_content_write_header(&bytes, 1, &properties, 0x10203, 4096, &error), error);
    static const uint8_t expected[] = {2,   0, 1, 0, 0, 0, 27, 0,    60,   0, 0,   0,
                                       0,   0, 0, 0, 1, 2, 3,  0x90, 0x40, 3, 't', '/',
                                       'x', 2, 0, 0, 0, 0, 0,  0,    1,    2, 0xCE};
    ck_assert_uint_eq(bytes.length, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(a_content_is_a_method_a_header_and_the_body_split)
{
    amqp_basic_properties_t properties = {0};
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(write_message(&bytes, &properties, 131065, &error), error);
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    check_ok(ace_frame_reader_append(&reader, bytes.data, bytes.length, &error), error);
    static const struct {
        ace_frame_type type;
        size_t length;
    } expected[] = {{ACE_FRAME_METHOD, 11},
                    {ACE_FRAME_HEADER, 14},
                    {ACE_FRAME_BODY, 131064},
                    {ACE_FRAME_BODY, 1},
                    {ACE_FRAME_NONE, 0}};
    for (size_t i = 0; i < 5; i++) {
        ace_frame frame;
        check_ok(ace_frame_next(&reader, &frame, &error), error);
        ck_assert_int_eq(frame.type, expected[i].type);
        ck_assert_uint_eq(frame.payload.length, expected[i].length);
        ck_assert_uint_eq(frame.channel, i < 4 ? 5 : 0);
    }
    ace_frame_reader_free(&reader);
    ace_buffer_free(&bytes);
}
END_TEST

/* Writes behind a heartbeat and expects that only the heartbeat is there afterwards. */
static void check_refused(const amqp_basic_properties_t *properties, ace_code code,
                          const char *message, const char *field, long long limit)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_frame_write_heartbeat(&bytes, &error), error);
    ck_assert_int_eq(write_message(&bytes, properties, 10, &error), code);
    ck_assert_str_eq(ace_error_message(error), message);
    ck_assert_str_eq(ace_error_field_name(error), field);
    ck_assert_int_eq(ace_error_limit(error), limit);
    ck_assert_uint_eq(bytes.length, 8);
    ace_error_free(error);
    ace_buffer_free(&bytes);
}

START_TEST(a_256_byte_message_id_is_refused_before_the_method_frame_is_written)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = filled(256)};
    check_refused(&properties, ACE_LIMIT, "message id has 256 bytes, the limit is 255",
                  "message id", 255);
    properties.message_id.len = 255;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert_int_eq(write_message(&bytes, &properties, 10, NULL), ACE_OK);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(every_text_property_has_a_limit_of_255_bytes)
{
    int texts = 0;
    for (int i = 0; i < ACE_PROPERTY_COUNT; i++) {
        const ace_property_field *field = &ace_property_fields[i];
        if (field->kind != ACE_PROPERTY_TEXT) {
            continue;
        }
        amqp_basic_properties_t properties = {._flags = field->flag};
        amqp_bytes_t text = filled(256);
        memcpy((uint8_t *)&properties + field->offset, &text, sizeof text);
        char message[100];
        snprintf(message, sizeof message, "%s has 256 bytes, the limit is 255", field->label);
        check_refused(&properties, ACE_LIMIT, message, field->label, 255);
        text = (amqp_bytes_t){2, NULL};
        memcpy((uint8_t *)&properties + field->offset, &text, sizeof text);
        snprintf(message, sizeof message, "%s claims 2 bytes and points to none", field->label);
        check_refused(&properties, ACE_INVALID_ARGUMENT, message, "", 0);
        texts++;
    }
    ck_assert_int_eq(texts, 10);
}
END_TEST

START_TEST(headers_larger_than_a_frame_are_refused_with_both_sizes)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("blob"),
                                .value = {.kind = AMQP_FIELD_KIND_UTF8}};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {1, &entry}};
    /* Around the value: 4 for the table, 5 for the name, 5 for kind and length. */
    entry.value.value.bytes = filled(140000 - 14);
    check_refused(&properties, ACE_LIMIT, "headers take 140000 bytes, one frame holds 131064",
                  "headers", 131064);
    /* They would fit alone. */
    entry.value.value.bytes.len = 131060 - 14;
    check_refused(&properties, ACE_LIMIT,
                  "headers take 131060 bytes, one frame holds 131064 with the other properties",
                  "headers", 131064);
    /* 14 bytes go before the table; a frame that is full to the last byte goes through. */
    entry.value.value.bytes.len = 131064 - 14 - 14;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert_int_eq(write_message(&bytes, &properties, 0, NULL), ACE_OK);
    ck_assert_uint_eq(bytes.length, 11 + 8 + 131072);
    ace_buffer_free(&bytes);
    entry.value.value.bytes.len++;
    check_refused(&properties, ACE_LIMIT,
                  "headers take 131051 bytes, one frame holds 131064 with the other properties",
                  "headers", 131064);
}
END_TEST

START_TEST(header_values_that_would_cost_the_connection_are_refused)
{
    char name[256];
    memset(name, 'n', sizeof name);
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("rate")};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {1, &entry}};
    entry.value = (amqp_field_value_t){.kind = AMQP_FIELD_KIND_F64, .value.f64 = (double)NAN};
    check_refused(&properties, ACE_INVALID_ARGUMENT,
                  "headers: the entry \"rate\" is a float that is not a finite number", "", 0);
    entry.value = (amqp_field_value_t){.kind = '?'};
    check_refused(&properties, ACE_INVALID_ARGUMENT,
                  "headers: the entry \"rate\" has a kind that AMQP does not know", "", 0);
    entry.value = (amqp_field_value_t){.kind = AMQP_FIELD_KIND_U64, .value.u64 = UINT64_MAX};
    check_refused(&properties, ACE_LIMIT,
                  "headers: the entry \"rate\" is over 9223372036854775807, the largest integer a "
                  "broker keeps",
                  "headers", INT64_MAX);
    entry.value = (amqp_field_value_t){.kind = AMQP_FIELD_KIND_VOID};
    entry.key = (amqp_bytes_t){256, name};
    check_refused(&properties, ACE_LIMIT,
                  "headers: the name of entry 1 has 256 bytes, the limit is 255", "headers", 255);
    properties = (amqp_basic_properties_t){._flags = 1u << 16};
    check_refused(&properties, ACE_INVALID_ARGUMENT, "unknown property flags 0x10000", "", 0);
    properties = (amqp_basic_properties_t){._flags = 2};
    check_refused(&properties, ACE_INVALID_ARGUMENT, "unknown property flags 0x2", "", 0);
}
END_TEST

START_TEST(a_name_in_the_method_is_refused_with_the_whole_content)
{
    amqp_basic_publish_t publish = {.routing_key = filled(300)};
    amqp_basic_properties_t properties = {0};
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ace_bytes body = ace_bytes_of("body");
    ck_assert_int_eq(ace_content_write(&bytes, 1, AMQP_BASIC_PUBLISH_METHOD, &publish, &properties,
                                       body, 4096, &error),
                     ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error), "routing key has 300 bytes, the limit is 255");
    ace_error_free(error);
    error = NULL;
    amqp_basic_ack_t ack = {.delivery_tag = 1};
    ck_assert_int_eq(
        ace_content_write(&bytes, 1, AMQP_BASIC_ACK_METHOD, &ack, &properties, body, 4096, &error),
        ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "basic.ack carries no content");
    ck_assert_uint_eq(bytes.length, 0);
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

static void check_undecodable(const void *payload, size_t length, ace_code code,
                              const char *message)
{
    uint8_t *exact = malloc(length + 1);
    memcpy(exact, payload, length);
    uint64_t size;
    amqp_basic_properties_t *properties;
    ace_error *error = NULL;
    ck_assert_int_eq(
        ace_content_decode_header((ace_bytes){exact, length}, &pool, &size, &properties, &error),
        code);
    ck_assert_str_eq(ace_error_message(error), message);
    ace_error_free(error);
    free(exact);
}

#define HEAD "\0\x3C\0\0\0\0\0\0\0\0\0\5"
#define CHECK_UNDECODABLE(bytes, message)                                                          \
    check_undecodable(bytes, sizeof(bytes) - 1, ACE_PROTOCOL, message)

START_TEST(malformed_header_frames_are_refused)
{
    CHECK_UNDECODABLE(HEAD "\0", "a header frame of 13 bytes, at least 14 are needed");
    CHECK_UNDECODABLE("\0\x32\0\0\0\0\0\0\0\0\0\5\0\0",
                      "a header frame of class 50, only 60 has contents");
    CHECK_UNDECODABLE("\0\x3C\0\1\0\0\0\0\0\0\0\5\0\0", "a header frame of weight 1 instead of 0");
    /* The continuation bit: rabbitmq-c would shift further and further. */
    CHECK_UNDECODABLE(HEAD "\0\1\0\1\0\1\0\0", "unknown property flags 0x0001");
    CHECK_UNDECODABLE(HEAD "\0\2", "unknown property flags 0x0002");
    CHECK_UNDECODABLE(HEAD "\x80\0", "the properties end inside content type");
    CHECK_UNDECODABLE(HEAD "\x80\0\3ab", "the properties end inside content type");
    CHECK_UNDECODABLE(HEAD "\0\x40\0\0\0\0\0\0\0", "the properties end inside timestamp");
    CHECK_UNDECODABLE(HEAD "\0\0x", "1 bytes are left after the properties");
    CHECK_UNDECODABLE(HEAD "\x20\0\0\0\0\x09", "headers: the table claims 9 bytes, 0 are there");
    CHECK_UNDECODABLE(HEAD "\x30\0\0\0\0\3\1kZ\2",
                      "headers: the entry \"k\" has the unknown kind 0x5a");
}
END_TEST

static Suite *content_suite(void)
{
    Suite *suite = suite_create("content");
    TCase *contents = tcase_create("content");
    tcase_set_timeout(contents, 60);
    tcase_add_checked_fixture(contents, setup, teardown);
    tcase_add_test(contents, properties_survive_writing_and_reading);
    tcase_add_test(contents, a_header_frame_has_the_bytes_of_the_specification);
    tcase_add_test(contents, a_content_is_a_method_a_header_and_the_body_split);
    tcase_add_test(contents, a_256_byte_message_id_is_refused_before_the_method_frame_is_written);
    tcase_add_test(contents, every_text_property_has_a_limit_of_255_bytes);
    tcase_add_test(contents, headers_larger_than_a_frame_are_refused_with_both_sizes);
    tcase_add_test(contents, header_values_that_would_cost_the_connection_are_refused);
    tcase_add_test(contents, a_name_in_the_method_is_refused_with_the_whole_content);
    tcase_add_test(contents, malformed_header_frames_are_refused);
    suite_add_tcase(suite, contents);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(content_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
