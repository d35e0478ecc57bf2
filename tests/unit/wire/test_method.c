/* Every method in both directions, and what is refused before a byte is written. */
#include "samples.h"
#include "wire/big_endian.h"
#include "wire/frame.h"
#include "wire/method.h"
#include "wire/table_check.h"

#include <check.h>
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

static amqp_bytes_t long_name(size_t length)
{
    amqp_bytes_t name = {length, sample_memory(&pool, length)};
    memset(name.bytes, 'a', length);
    return name;
}

/* The payload of the one frame in `bytes`. */
static ace_bytes payload_of(const ace_buffer *bytes, uint16_t channel)
{
    ck_assert_uint_ge(bytes->length, 12);
    ck_assert_uint_eq(bytes->data[0], ACE_FRAME_METHOD);
    ck_assert_uint_eq(ace_read_u16(bytes->data + 1), channel);
    size_t length = ace_read_u32(bytes->data + 3);
    ck_assert_uint_eq(bytes->length, length + 8);
    ck_assert_uint_eq(bytes->data[bytes->length - 1], 0xCE);
    return (ace_bytes){bytes->data + 7, length};
}

START_TEST(every_method_survives_writing_and_reading)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    ck_assert_uint_eq(count, 62);
    uint64_t state = 99;
    ace_error *error = NULL;
    for (size_t i = 0; i < count * 50; i++) {
        const ace_method_layout *layout = &layouts[i % count];
        void *sent = sample_method(&state, &pool, layout);
        ace_buffer bytes = ACE_BUFFER_INIT;
        check_ok(ace_method_write(&bytes, 7, layout->id, sent, 131072, &error), error);
        ace_bytes payload = payload_of(&bytes, 7);
        size_t measured;
        check_ok(ace_method_measure(layout->id, sent, 131072, &measured, &error), error);
        ck_assert_uint_eq(measured, payload.length);
        amqp_method_t got;
        check_ok(ace_method_decode(payload, &pool, &got, &error), error);
        /* What was decoded does not live in the frame. */
        memset(bytes.data, 0xAA, bytes.length);
        ck_assert_uint_eq(got.id, layout->id);
        ck_assert_msg(sample_same_method(layout, sent, got.decoded), "%s", layout->name);
        ace_buffer_free(&bytes);
        recycle_amqp_pool(&pool);
    }
}
END_TEST

/* With not a byte of room more than it takes; and cut anywhere, or with a byte more, it is refused.
 */
static void check_announcing(uint64_t *state, const ace_method_layout *layout)
{
    void *sent = sample_method(state, &pool, layout);
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    check_ok(ace_method_write(&bytes, 7, layout->id, sent, 131072, &error), error);
    size_t length = bytes.length - 8;
    size_t decoded = 0;
    for (size_t other = 4; other <= length + 1; other++) {
        uint8_t *payload = calloc(1, other);
        memcpy(payload, bytes.data + 7, other < length ? other : length);
        ace_code code = ace_method_check(payload, other, &decoded, NULL);
        if (code != (other == length ? ACE_OK : ACE_PROTOCOL)) {
            ck_abort_msg("%s of %zu bytes, %zu are whole: %d", layout->name, other, length, code);
        }
        if (other == length) {
            amqp_method_t got;
            void *room = malloc(decoded);
            ace_method_read(payload, room, &got);
            ck_assert_uint_eq(got.id, layout->id);
            ck_assert_msg(sample_same_method(layout, sent, got.decoded), "%s", layout->name);
            free(room);
        }
        free(payload);
    }
    ace_buffer_free(&bytes);
}

START_TEST(what_announces_a_content_is_read_into_the_room_it_takes)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    uint64_t state = 100;
    for (size_t i = 0; i < count * 20; i++) {
        if (ace_method_has_content(layouts[i % count].id)) {
            check_announcing(&state, &layouts[i % count]);
            recycle_amqp_pool(&pool);
        }
    }
}
END_TEST

START_TEST(methods_have_the_bytes_of_the_specification)
{
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    amqp_queue_declare_t declare = {
        .queue = amqp_cstring_bytes("q"), .durable = 1, .auto_delete = 1};
    check_ok(ace_method_write(&bytes, 1, AMQP_QUEUE_DECLARE_METHOD, &declare, 4096, &error), error);
    static const uint8_t expected[] = {1, 0, 1, 0,   0,    0, 13, 0, 50, 0,   10,
                                       0, 0, 1, 'q', 0x0A, 0, 0,  0, 0,  0xCE};
    ck_assert_uint_eq(bytes.length, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    ace_buffer_clear(&bytes);
    amqp_basic_nack_t nack = {.delivery_tag = 0x0102030405060708, .multiple = 0, .requeue = 1};
    check_ok(ace_method_write(&bytes, 2, AMQP_BASIC_NACK_METHOD, &nack, 4096, &error), error);
    static const uint8_t expected_nack[] = {1, 0, 2, 0, 0, 0, 13, 0, 60, 0,   120,
                                            1, 2, 3, 4, 5, 6, 7,  8, 2,  0xCE};
    ck_assert_uint_eq(bytes.length, sizeof expected_nack);
    ck_assert_mem_eq(bytes.data, expected_nack, sizeof expected_nack);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(a_method_without_fields_needs_no_struct)
{
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    check_ok(ace_method_write(&bytes, 0, AMQP_CONNECTION_CLOSE_OK_METHOD, NULL, 4096, &error),
             error);
    ck_assert_uint_eq(bytes.length, 12);
    ck_assert_int_eq(ace_method_write(&bytes, 0, AMQP_BASIC_ACK_METHOD, NULL, 4096, &error),
                     ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "basic.ack needs its fields");
    ck_assert_uint_eq(bytes.length, 12);
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

/* Each short string of each method: 255 bytes go, 256 do not, and nothing was written then. */
static void check_name_limit(const ace_method_layout *layout, const ace_method_field *field)
{
    uint8_t *method = sample_memory(&pool, layout->size);
    amqp_bytes_t name = long_name(256);
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert(ace_buffer_append_text(&bytes, "before"));
    memcpy(method + field->offset, &name, sizeof name);
    ck_assert_int_eq(ace_method_write(&bytes, 1, layout->id, method, 131072, &error), ACE_LIMIT);
    ck_assert_uint_eq(bytes.length, 6);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "has 256 bytes, the limit is 255"));
    ck_assert_str_eq(ace_error_field_name(error), field->label);
    ck_assert_int_eq(ace_error_limit(error), 255);
    ace_error_free(error);
    error = NULL;
    name.len = 255;
    memcpy(method + field->offset, &name, sizeof name);
    check_ok(ace_method_write(&bytes, 1, layout->id, method, 131072, &error), error);
    name = (amqp_bytes_t){3, NULL};
    memcpy(method + field->offset, &name, sizeof name);
    ck_assert_int_eq(ace_method_write(&bytes, 1, layout->id, method, 131072, NULL),
                     ACE_INVALID_ARGUMENT);
    ace_buffer_free(&bytes);
}

START_TEST(every_name_in_every_method_has_a_limit_of_255_bytes)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    int names = 0;
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < layouts[i].count; k++) {
            if (layouts[i].fields[k].kind == ACE_FIELD_SHORT_TEXT) {
                check_name_limit(&layouts[i], &layouts[i].fields[k]);
                names++;
            }
        }
    }
    ck_assert_int_eq(names, 45);
}
END_TEST

START_TEST(a_routing_key_is_measured_in_bytes_and_named)
{
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    amqp_basic_publish_t publish = {.routing_key = long_name(255)};
    check_ok(ace_method_write(&bytes, 1, AMQP_BASIC_PUBLISH_METHOD, &publish, 4096, &error), error);
    char accents[257];
    for (int i = 0; i < 128; i++) {
        memcpy(accents + 2 * i, "\xC3\xA9", 2);
    }
    publish.routing_key = (amqp_bytes_t){256, accents};
    ck_assert_int_eq(ace_method_write(&bytes, 1, AMQP_BASIC_PUBLISH_METHOD, &publish, 4096, &error),
                     ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error), "routing key has 256 bytes, the limit is 255");
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(an_argument_name_of_256_bytes_is_refused_though_rabbitmq_c_encodes_it)
{
    amqp_table_entry_t entry = {.key = long_name(256), .value = {.kind = AMQP_FIELD_KIND_VOID}};
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes("q"), .arguments = {1, &entry}};
    uint8_t raw[600];
    /* The fact this guards against: rabbitmq-c says it is fine, with a length byte of 0. */
    ck_assert_int_gt(
        amqp_encode_method(AMQP_QUEUE_DECLARE_METHOD, &declare, (amqp_bytes_t){sizeof raw, raw}),
        0);
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert_int_eq(
        ace_method_write(&bytes, 1, AMQP_QUEUE_DECLARE_METHOD, &declare, 131072, &error),
        ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "arguments: the name of entry 1 has 256 bytes, the limit is 255");
    ck_assert_uint_eq(bytes.length, 0);
    ace_error_free(error);
    error = NULL;
    entry.key.len = 255;
    check_ok(ace_method_write(&bytes, 1, AMQP_QUEUE_DECLARE_METHOD, &declare, 131072, &error),
             error);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(a_method_over_one_frame_is_refused)
{
    amqp_table_entry_t entry = {.key = long_name(3), .value = {.kind = AMQP_FIELD_KIND_UTF8}};
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes("q"), .arguments = {1, &entry}};
    ace_error *error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    /* 13 bytes around the table's entries, 4 of the name, 5 of kind and length. */
    entry.value.value.bytes = long_name(4088 - 13 - 4 - 5);
    check_ok(ace_method_write(&bytes, 1, AMQP_QUEUE_DECLARE_METHOD, &declare, 4096, &error), error);
    ck_assert_uint_eq(bytes.length, 4096);
    entry.value.value.bytes = long_name(4088 - 13 - 4 - 4);
    ck_assert_int_eq(ace_method_write(&bytes, 1, AMQP_QUEUE_DECLARE_METHOD, &declare, 4096, &error),
                     ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "queue.declare takes 4089 bytes, one frame holds 4088");
    ck_assert_uint_eq(bytes.length, 4096);
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

START_TEST(a_payload_must_hold_its_fields_exactly)
{
    size_t count;
    const ace_method_layout *layouts = ace_method_layouts(&count);
    uint64_t state = 5;
    for (size_t i = 0; i < count; i++) {
        ace_error *error = NULL;
        ace_buffer bytes = ACE_BUFFER_INIT;
        void *sent = sample_method(&state, &pool, &layouts[i]);
        check_ok(ace_method_write(&bytes, 1, layouts[i].id, sent, 131072, &error), error);
        ace_bytes payload = payload_of(&bytes, 1);
        amqp_method_t got;
        for (size_t length = 0; length < payload.length; length++) {
            uint8_t *exact = malloc(length + 1); /* so that a byte too far is seen */
            memcpy(exact, payload.data, length);
            ace_code code = ace_method_decode((ace_bytes){exact, length}, &pool, &got, NULL);
            free(exact);
            if (code != ACE_PROTOCOL) {
                ck_abort_msg("%s cut to %zu bytes decodes", layouts[i].name, length);
            }
        }
        /* One byte more: here the frame's end octet. */
        payload.length++;
        ck_assert_int_eq(ace_method_decode(payload, &pool, &got, &error), ACE_PROTOCOL);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "1 bytes are left after its"));
        ace_error_free(error);
        ace_buffer_free(&bytes);
    }
}
END_TEST

START_TEST(unknown_methods_are_refused_both_ways)
{
    static const uint8_t unknown[] = {0, 60, 0, 99, 1, 2, 3};
    amqp_method_t got;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_method_decode((ace_bytes){unknown, sizeof unknown}, &pool, &got, &error),
                     ACE_PROTOCOL);
    ck_assert_str_eq(ace_error_message(error), "unknown method 99 of class 60");
    ace_error_free(error);
    error = NULL;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_method_write(&bytes, 1, 0x003C0063, NULL, 4096, &error),
                     ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "unknown method 99 of class 60");
    ace_error_free(error);
    ck_assert_str_eq(ace_method_name(0x003C0063), "unknown method");
    ck_assert_str_eq(ace_method_name_of(60, 60), "basic.deliver");
    ck_assert_str_eq(ace_method_name(AMQP_EXCHANGE_UNBIND_OK_METHOD), "exchange.unbind-ok");
    ck_assert(ace_method_has_content(AMQP_BASIC_GET_OK_METHOD));
    ck_assert(!ace_method_has_content(AMQP_BASIC_GET_EMPTY_METHOD));
}
END_TEST

START_TEST(arguments_nested_20000_deep_are_refused_without_recursion)
{
    enum { levels = 20000 };
    ace_buffer bytes = ACE_BUFFER_INIT;
    static const uint8_t head[] = {0, 50, 0, 10, 0, 0, 1, 'q', 0};
    ck_assert(ace_buffer_append(&bytes, head, sizeof head));
    /* A table of one entry, an array, in an array, in an array. */
    size_t inner = 5 * levels;
    uint8_t number[4];
    ace_write_u32(number, (uint32_t)inner + 2);
    ck_assert(ace_buffer_append(&bytes, number, 4));
    ck_assert(ace_buffer_append(&bytes, "\1k", 2));
    for (size_t i = 0; i < levels; i++) {
        inner -= 5;
        ace_write_u32(number, (uint32_t)inner);
        if (!ace_buffer_append(&bytes, "A", 1) || !ace_buffer_append(&bytes, number, 4)) {
            ck_abort_msg("no memory");
        }
    }
    amqp_method_t got;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_method_decode((ace_bytes){bytes.data, bytes.length}, &pool, &got, &error),
                     ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "queue.declare: arguments: the entry \"k\" is nested deeper than 32 levels");
    ace_error_free(error);
    ace_buffer_free(&bytes);
}
END_TEST

static Suite *method_suite(void)
{
    Suite *suite = suite_create("method");
    TCase *both = tcase_create("method");
    tcase_set_timeout(both, 60);
    tcase_add_checked_fixture(both, setup, teardown);
    tcase_add_test(both, every_method_survives_writing_and_reading);
    tcase_add_test(both, what_announces_a_content_is_read_into_the_room_it_takes);
    tcase_add_test(both, methods_have_the_bytes_of_the_specification);
    tcase_add_test(both, a_method_without_fields_needs_no_struct);
    tcase_add_test(both, every_name_in_every_method_has_a_limit_of_255_bytes);
    tcase_add_test(both, a_routing_key_is_measured_in_bytes_and_named);
    tcase_add_test(both, an_argument_name_of_256_bytes_is_refused_though_rabbitmq_c_encodes_it);
    tcase_add_test(both, a_method_over_one_frame_is_refused);
    tcase_add_test(both, a_payload_must_hold_its_fields_exactly);
    tcase_add_test(both, unknown_methods_are_refused_both_ways);
    tcase_add_test(both, arguments_nested_20000_deep_are_refused_without_recursion);
    suite_add_tcase(suite, both);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(method_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
