/* Frames of a channel become contents that own their bytes. */
#include "samples.h"
#include "wire/assembly.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/method.h"
#include "wire/table_check.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static amqp_pool_t pool;
static ace_assembly assembly;

static void setup(void)
{
    init_amqp_pool(&pool, 4096);
    ace_assembly_init(&assembly, ACE_BODY_MAX_DEFAULT);
}

static void teardown(void)
{
    ace_assembly_reset(&assembly);
    empty_amqp_pool(&pool);
}

static uint8_t *body_of(size_t length)
{
    uint8_t *body = malloc(length + 1);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < length; i++) {
        body[i] = (uint8_t)(i * 7 + i / 255);
    }
    return body;
}

static void write_delivery(ace_buffer *bytes, uint16_t channel, uint64_t tag,
                           const amqp_basic_properties_t *properties, ace_bytes body,
                           uint32_t frame_max)
{
    amqp_basic_deliver_t deliver = {.consumer_tag = amqp_cstring_bytes("tag"),
                                    .delivery_tag = tag,
                                    .redelivered = 1,
                                    .exchange = amqp_cstring_bytes("exchange"),
                                    .routing_key = amqp_cstring_bytes("key")};
    ace_error *error = NULL;
    check_ok(ace_content_write(bytes, channel, AMQP_BASIC_DELIVER_METHOD, &deliver, properties,
                               body, frame_max, &error),
             error);
}

/* Feeds the bytes in pieces and returns the one content they hold. */
static ace_content *assemble(const ace_buffer *bytes, size_t piece)
{
    ace_frame_reader reader;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    ace_content *whole = NULL;
    ace_error *error = NULL;
    for (size_t offset = 0; offset < bytes->length; offset += piece) {
        size_t left = bytes->length - offset;
        check_ok(ace_frame_reader_append(&reader, bytes->data + offset, left < piece ? left : piece,
                                         &error),
                 error);
        ace_frame frame;
        check_ok(ace_frame_next(&reader, &frame, &error), error);
        for (; frame.type != ACE_FRAME_NONE;
             check_ok(ace_frame_next(&reader, &frame, &error), error)) {
            ace_content *done;
            check_ok(ace_assembly_take(&assembly, &frame, &done, &error), error);
            ck_assert(done == NULL || whole == NULL);
            whole = done != NULL ? done : whole;
        }
    }
    ck_assert(ace_assembly_is_empty(&assembly));
    ace_frame_reader_free(&reader);
    return whole;
}

static void check_delivery(const ace_content *content, uint64_t tag, ace_bytes body,
                           const amqp_basic_properties_t *properties)
{
    ck_assert_ptr_nonnull(content);
    ck_assert_ptr_null(content->fault);
    ck_assert_uint_eq(content->method.id, AMQP_BASIC_DELIVER_METHOD);
    const amqp_basic_deliver_t *deliver = content->method.decoded;
    ck_assert_uint_eq(deliver->delivery_tag, tag);
    ck_assert_int_eq(deliver->redelivered, 1);
    ck_assert(sample_same_bytes(deliver->routing_key, amqp_cstring_bytes("key")));
    ck_assert_ptr_nonnull(content->body.data);
    ck_assert(ace_bytes_equal(content->body, body));
    ck_assert(sample_same_properties(content->properties, properties));
}

START_TEST(a_content_owns_its_method_properties_and_body)
{
    uint64_t state = 3;
    for (int round = 0; round < 300; round++) {
        amqp_basic_properties_t properties;
        sample_properties(&state, &pool, &properties);
        size_t length = sample_below(&state, 20000);
        uint8_t *body = body_of(length);
        ace_buffer bytes = ACE_BUFFER_INIT;
        write_delivery(&bytes, 4, 77, &properties, (ace_bytes){body, length}, 65536);
        ace_content *content = assemble(&bytes, 1 + sample_below(&state, 5000));
        memset(bytes.data, 0xAA, bytes.length);
        ace_buffer_free(&bytes);
        check_delivery(content, 77, (ace_bytes){body, length}, &properties);
        ck_assert_uint_eq(content->channel, 4);
        ace_content_free(content);
        free(body);
        recycle_amqp_pool(&pool);
    }
}
END_TEST

START_TEST(bodies_around_whole_frames_arrive_whole)
{
    static const amqp_basic_properties_t none;
    static const size_t lengths[] = {0,      1,      4087,    4088,          4089,           8175,
                                     8176,   8177,   4096,    4097,          300000,         262143,
                                     262144, 262145, 1 << 20, (1 << 20) + 1, 8 * 1024 * 1024};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t *body = body_of(lengths[i]);
        ace_buffer bytes = ACE_BUFFER_INIT;
        write_delivery(&bytes, 1, i, &none, (ace_bytes){body, lengths[i]}, 4096);
        ace_content *content = assemble(&bytes, 65536);
        check_delivery(content, i, (ace_bytes){body, lengths[i]}, &none);
        ck_assert_uint_lt(ace_content_memory(content), lengths[i] + 1024);
        ace_content_free(content);
        ace_buffer_free(&bytes);
        free(body);
    }
}
END_TEST

START_TEST(a_content_fed_byte_by_byte_is_the_same)
{
    uint64_t state = 8;
    amqp_basic_properties_t properties;
    sample_properties(&state, &pool, &properties);
    uint8_t *body = body_of(9000);
    ace_buffer bytes = ACE_BUFFER_INIT;
    write_delivery(&bytes, 1, 5, &properties, (ace_bytes){body, 9000}, 8192);
    ace_content *content = assemble(&bytes, 1);
    check_delivery(content, 5, (ace_bytes){body, 9000}, &properties);
    ace_content_free(content);
    ace_buffer_free(&bytes);
    free(body);
}
END_TEST

static amqp_table_entry_t text_header(const char *name, const char *text)
{
    amqp_table_entry_t entry = {
        .key = amqp_cstring_bytes(name),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes(text)}};
    return entry;
}

START_TEST(a_typical_message_costs_about_a_kibibyte_beyond_its_body)
{
    amqp_table_entry_t headers[8] = {
        text_header("x-acemq-id", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        text_header("x-acemq-type", "order.placed"),
        text_header("x-acemq-version", "1"),
        text_header("x-acemq-correlation", "0f8fad5b-d9cb-469f-a165-70867728950e"),
        text_header("x-acemq-attempt", "1"),
        text_header("x-acemq-first-seen", "1"),
        text_header("x-acemq-origin", "acemq@a-host-of-usual-name"),
        text_header("tenant", "north"),
    };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .headers = {8, headers},
        .delivery_mode = 2,
        .message_id = amqp_cstring_bytes("0f8fad5b-d9cb-469f-a165-70867728950e")};
    ace_buffer bytes = ACE_BUFFER_INIT;
    uint8_t *body = body_of(300);
    write_delivery(&bytes, 1, 1, &properties, (ace_bytes){body, 300}, 4096);
    ace_content *content = assemble(&bytes, 65536);
    check_delivery(content, 1, (ace_bytes){body, 300}, &properties);
    ck_assert_uint_lt(ace_content_memory(content), 300 + 1080);
    ace_content_free(content);
    ace_buffer_free(&bytes);
    free(body);
}
END_TEST

/* Takes one frame of `type` and returns the answer. */
static ace_code take(ace_frame_type type, uint16_t channel, const void *data, size_t length,
                     ace_content **done, ace_error **error)
{
    ace_frame frame = {type, channel, {data, length}};
    return ace_assembly_take(&assembly, &frame, done, error);
}

static const uint8_t get_ok[] = {0, 60, 0, 71,  0, 0,   0, 0, 0, 0, 0,
                                 9, 0,  1, 'e', 1, 'k', 0, 0, 0, 3};

static void announce(uint64_t body_size)
{
    uint8_t header[14] = {0, 60};
    ace_write_u64(header + 4, body_size);
    ace_content *done;
    ace_error *error = NULL;
    check_ok(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, &error), error);
    ck_assert_ptr_null(done);
    check_ok(take(ACE_FRAME_HEADER, 1, header, sizeof header, &done, &error), error);
    ck_assert_ptr_null(done);
}

static void check_refused(ace_frame_type type, const void *data, size_t length, ace_code code,
                          const char *message)
{
    ace_content *done;
    ace_error *error = NULL;
    ck_assert_int_eq(take(type, 1, data, length, &done, &error), code);
    ck_assert_str_eq(ace_error_message(error), message);
    ck_assert_ptr_null(done);
    ck_assert(ace_assembly_is_empty(&assembly));
    ace_error_free(error);
}

START_TEST(frames_out_of_order_are_refused_and_the_next_content_is_read)
{
    static const uint8_t header[14] = {0, 60};
    static const uint8_t ack[] = {0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 1, 0};
    check_refused(ACE_FRAME_HEADER, header, sizeof header, ACE_PROTOCOL,
                  "a header frame on channel 1 that no method announced");
    check_refused(ACE_FRAME_BODY, "x", 1, ACE_PROTOCOL,
                  "a body frame on channel 1 that no header announced");
    announce(10);
    check_refused(ACE_FRAME_METHOD, ack, sizeof ack, ACE_PROTOCOL,
                  "basic.ack on channel 1 inside a content");
    announce(10);
    check_refused(ACE_FRAME_METHOD, get_ok, sizeof get_ok, ACE_PROTOCOL,
                  "basic.get-ok on channel 1 inside a content");
    announce(10);
    check_refused(ACE_FRAME_HEADER, header, sizeof header, ACE_PROTOCOL,
                  "a header frame on channel 1 inside a body");
    ace_content *done;
    ck_assert_int_eq(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, NULL), ACE_OK);
    check_refused(ACE_FRAME_BODY, "x", 1, ACE_PROTOCOL,
                  "a body frame on channel 1 that no header announced");
    ck_assert_int_eq(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, NULL), ACE_OK);
    check_refused(ACE_FRAME_METHOD, ack, sizeof ack, ACE_PROTOCOL,
                  "basic.ack on channel 1 inside a content");
    announce(4);
    ck_assert_int_eq(take(ACE_FRAME_BODY, 1, "abcd", 4, &done, NULL), ACE_OK);
    ck_assert_ptr_nonnull(done);
    ck_assert_uint_eq(((amqp_basic_get_ok_t *)done->method.decoded)->message_count, 3);
    ace_content_free(done);
}
END_TEST

START_TEST(more_body_than_announced_is_refused)
{
    ace_content *done;
    announce(10);
    ck_assert_int_eq(take(ACE_FRAME_BODY, 1, "12345678", 8, &done, NULL), ACE_OK);
    check_refused(ACE_FRAME_BODY, "123", 3, ACE_PROTOCOL,
                  "a body on channel 1 has at least 11 bytes, its header says 10");
    announce(1);
    ck_assert_int_eq(take(ACE_FRAME_BODY, 1, "1", 1, &done, NULL), ACE_OK);
    ace_content_free(done);
    check_refused(ACE_FRAME_BODY, "2", 1, ACE_PROTOCOL,
                  "a body frame on channel 1 that no header announced");
}
END_TEST

START_TEST(a_method_without_content_passes_untouched)
{
    static const uint8_t ack[] = {0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 1, 0};
    ace_content *done;
    ck_assert_int_eq(take(ACE_FRAME_METHOD, 1, ack, sizeof ack, &done, NULL), ACE_OK);
    ck_assert_ptr_null(done);
    ck_assert(ace_assembly_is_empty(&assembly));
}
END_TEST

START_TEST(a_malformed_announcement_is_refused)
{
    check_refused(ACE_FRAME_METHOD, get_ok, sizeof get_ok - 1, ACE_PROTOCOL,
                  "basic.get-ok: the payload of 20 bytes ends inside message count");
    ace_content *done;
    static const uint8_t header[14] = {0, 50};
    ck_assert_int_eq(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, NULL), ACE_OK);
    check_refused(ACE_FRAME_HEADER, header, sizeof header, ACE_PROTOCOL,
                  "a header frame of class 50, only 60 has contents");
}
END_TEST

static void check_claim(uint64_t claim, const char *message)
{
    uint8_t header[14] = {0, 60};
    ace_write_u64(header + 4, claim);
    ace_content *done;
    ck_assert_int_eq(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, NULL), ACE_OK);
    check_refused(ACE_FRAME_HEADER, header, sizeof header, ACE_LIMIT, message);
}

START_TEST(a_claimed_body_over_the_limit_is_refused_before_anything_is_allocated)
{
    check_claim(UINT64_C(1) << 63,
                "a body on channel 1 claims 9223372036854775808 bytes, the limit is 536870912");
    check_claim(UINT64_MAX,
                "a body on channel 1 claims 18446744073709551615 bytes, the limit is 536870912");
    check_claim(ACE_BODY_MAX_DEFAULT + 1,
                "a body on channel 1 claims 536870913 bytes, the limit is 536870912");
    ace_assembly_init(&assembly, 9);
    check_claim(10, "a body on channel 1 claims 10 bytes, the limit is 9");
    announce(9);
}
END_TEST

START_TEST(memory_for_a_body_grows_with_what_arrives_and_not_with_the_claim)
{
    ace_content *done;
    announce(ACE_BODY_MAX_DEFAULT);
    ck_assert_uint_lt(ace_content_memory(assembly.open), 2048);
    uint8_t *part = body_of(100000);
    for (size_t sum = 100000; sum <= 5000000; sum += 100000) {
        ck_assert_int_eq(take(ACE_FRAME_BODY, 1, part, 100000, &done, NULL), ACE_OK);
        ck_assert_uint_le(ace_content_memory(assembly.open), 2 * sum + 300000);
    }
    free(part);
}
END_TEST

static void check_kept(size_t size, uint64_t limit)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    uint8_t *body = body_of(size);
    static const amqp_basic_properties_t none = {0};
    write_delivery(&bytes, 1, 7, &none, (ace_bytes){body, size}, 4096);
    ace_assembly_keep(&assembly, limit);
    ace_content *content = assemble(&bytes, 1000);
    ace_error *error = NULL;
    if (size <= limit) {
        ck_assert_uint_eq(content->skipped, 0);
        ck_assert_uint_eq(content->body.length, size);
        ck_assert_int_eq(memcmp(content->body.data, body, size), 0);
        ck_assert_int_eq(ace_content_whole(content, limit, &error), ACE_OK);
    } else {
        ck_assert_uint_eq(content->skipped, size);
        ck_assert_uint_eq(content->body.length, 0);
        ck_assert_uint_lt(ace_content_memory(content), 2048);
        ck_assert_int_eq(ace_content_whole(content, limit, &error), ACE_LIMIT);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "the limit is"));
        ace_error_free(error);
    }
    ace_content_free(content);
    ace_buffer_free(&bytes);
    free(body);
}

START_TEST(a_body_over_what_is_kept_is_read_and_passed_over)
{
    for (size_t limit = 0; limit <= 20000; limit += 5000) {
        for (size_t size = limit == 0 ? 0 : limit - 1; size <= limit + 1; size++) {
            check_kept(size, limit);
        }
    }
    check_kept(1000000, 10);
    ck_assert(ace_assembly_is_empty(&assembly));
}
END_TEST

START_TEST(what_is_kept_stays_so_after_a_reset)
{
    ace_assembly_keep(&assembly, 10);
    ace_assembly_reset(&assembly);
    ck_assert_uint_eq(assembly.body_kept, 10);
    check_kept(11, 10);
}
END_TEST

/* A delivery with this raw list of properties, and a body of three bytes. */
static ace_content *deliver_raw(const uint8_t *list, size_t length)
{
    ace_buffer header = ACE_BUFFER_INIT;
    static const uint8_t head[12] = {0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    ck_assert(ace_buffer_append(&header, head, sizeof head));
    ck_assert(ace_buffer_append(&header, list, length));
    ace_content *done;
    ace_error *error = NULL;
    check_ok(take(ACE_FRAME_METHOD, 1, get_ok, sizeof get_ok, &done, &error), error);
    check_ok(take(ACE_FRAME_HEADER, 1, header.data, header.length, &done, &error), error);
    check_ok(take(ACE_FRAME_BODY, 1, "abc", 3, &done, &error), error);
    ck_assert_ptr_nonnull(done);
    ck_assert(ace_bytes_equal_text(done->body, "abc"));
    ck_assert_uint_eq(done->properties_raw.length, length);
    ace_buffer_free(&header);
    return done;
}

/* Flags for content type, headers and message id; then those three, the table nested. */
static void nest_headers(ace_buffer *list, uint32_t levels)
{
    ck_assert(ace_buffer_append(list, "\xA0\x80\1t", 4));
    for (uint32_t level = 1; level <= levels; level++) {
        uint8_t number[4];
        ace_write_u32(number, 7 * (levels - level));
        if (!ace_buffer_append(list, number, 4) ||
            (level < levels && !ace_buffer_append(list, "\1kF", 3))) {
            ck_abort_msg("no memory");
        }
    }
    ck_assert(ace_buffer_append(list, "\2id", 3));
}

START_TEST(headers_nested_too_deep_cost_the_headers_and_not_the_content)
{
    static const uint32_t levels[] = {33, 1000, 18000};
    for (size_t i = 0; i < 3; i++) {
        ace_buffer list = ACE_BUFFER_INIT;
        nest_headers(&list, levels[i]);
        ace_content *content = deliver_raw(list.data, list.length);
        ck_assert_ptr_nonnull(content->fault);
        ck_assert_int_eq(ace_error_code(content->fault), ACE_LIMIT);
        ck_assert_str_eq(ace_error_message(content->fault),
                         "headers: the entry \"k\" is nested deeper than 32 levels");
        ck_assert_uint_eq(content->properties->_flags,
                          AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG);
        ck_assert(sample_same_bytes(content->properties->message_id, amqp_cstring_bytes("id")));
        ck_assert_int_eq(content->properties->headers.num_entries, 0);
        ck_assert_mem_eq(content->properties_raw.data, list.data, list.length);
        ace_content_free(content);
        ace_buffer_free(&list);
    }
    ace_buffer list = ACE_BUFFER_INIT;
    nest_headers(&list, 32);
    ace_content *content = deliver_raw(list.data, list.length);
    ck_assert_ptr_null(content->fault);
    ck_assert_int_eq(content->properties->headers.num_entries, 1);
    ace_content_free(content);
    ace_buffer_free(&list);
}
END_TEST

START_TEST(properties_that_cannot_be_read_cost_the_properties_and_not_the_content)
{
    static const struct {
        const char *list;
        size_t length;
        const char *message;
    } cases[] = {
        {"\x20\0\0\0\0\3\1kZ", 9, "headers: the entry \"k\" has the unknown kind 0x5a"},
        {"\x20\0\0\0\0\3\1kS", 9, "headers: the entry \"k\" passes the table's end"},
        {"\x20\0\0\0\0\x09\1kV", 9, "headers: the table claims 9 bytes, 3 are there"},
        {"\x80\0\5ab", 5, "the properties end inside content type"},
        {"\0\1\0\0", 4, "unknown property flags 0x0001"},
        {"\0\0zz", 4, "2 bytes are left after the properties"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ace_content *content = deliver_raw((const uint8_t *)cases[i].list, cases[i].length);
        ck_assert_ptr_nonnull(content->fault);
        ck_assert_int_eq(ace_error_code(content->fault), ACE_PROTOCOL);
        ck_assert_str_eq(ace_error_message(content->fault), cases[i].message);
        ck_assert_uint_eq(content->properties->_flags, 0);
        ace_content_free(content);
    }
}
END_TEST

START_TEST(the_int16_kind_of_other_clients_arrives_as_an_int16)
{
    ace_content *content = deliver_raw((const uint8_t *)"\x20\0\0\0\0\5\1aU\1\2", 11);
    ck_assert_ptr_null(content->fault);
    const amqp_table_entry_t *entry = &content->properties->headers.entries[0];
    ck_assert_int_eq(entry->value.kind, AMQP_FIELD_KIND_I16);
    ck_assert_int_eq(entry->value.value.i16, 0x0102);
    ace_content_free(content);
}
END_TEST

START_TEST(unfinished_contents_are_dropped_by_a_reset)
{
    ace_content *done;
    announce(1000000);
    uint8_t *part = body_of(300000);
    ck_assert_int_eq(take(ACE_FRAME_BODY, 1, part, 300000, &done, NULL), ACE_OK);
    ck_assert(!ace_assembly_is_empty(&assembly));
    ace_assembly_reset(&assembly);
    ck_assert(ace_assembly_is_empty(&assembly));
    announce(2);
    ck_assert_int_eq(take(ACE_FRAME_BODY, 1, "ok", 2, &done, NULL), ACE_OK);
    ck_assert(ace_bytes_equal_text(done->body, "ok"));
    ace_content_free(done);
    ace_content_free(NULL);
    free(part);
}
END_TEST

static Suite *assembly_suite(void)
{
    Suite *suite = suite_create("assembly");
    TCase *contents = tcase_create("assembly");
    tcase_set_timeout(contents, 60);
    tcase_add_checked_fixture(contents, setup, teardown);
    tcase_add_test(contents, a_content_owns_its_method_properties_and_body);
    tcase_add_test(contents, bodies_around_whole_frames_arrive_whole);
    tcase_add_test(contents, a_content_fed_byte_by_byte_is_the_same);
    tcase_add_test(contents, a_typical_message_costs_about_a_kibibyte_beyond_its_body);
    tcase_add_test(contents, frames_out_of_order_are_refused_and_the_next_content_is_read);
    tcase_add_test(contents, more_body_than_announced_is_refused);
    tcase_add_test(contents, a_method_without_content_passes_untouched);
    tcase_add_test(contents, a_malformed_announcement_is_refused);
    tcase_add_test(contents, a_body_over_what_is_kept_is_read_and_passed_over);
    tcase_add_test(contents, what_is_kept_stays_so_after_a_reset);
    tcase_add_test(contents, a_claimed_body_over_the_limit_is_refused_before_anything_is_allocated);
    tcase_add_test(contents, memory_for_a_body_grows_with_what_arrives_and_not_with_the_claim);
    tcase_add_test(contents, headers_nested_too_deep_cost_the_headers_and_not_the_content);
    tcase_add_test(contents,
                   properties_that_cannot_be_read_cost_the_properties_and_not_the_content);
    tcase_add_test(contents, the_int16_kind_of_other_clients_arrives_as_an_int16);
    tcase_add_test(contents, unfinished_contents_are_dropped_by_a_reset);
    suite_add_tcase(suite, contents);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(assembly_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
