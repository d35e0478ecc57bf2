/* Raw tables before they are decoded, and decoded ones before they are written. */
#include "samples.h"
#include "wire/big_endian.h"
#include "wire/table_check.h"
#include "wire/table_measure.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static amqp_pool_t pool;

static void setup(void)
{
    init_amqp_pool(&pool, 65536);
}

static void teardown(void)
{
    empty_amqp_pool(&pool);
}

/* The raw table of these bytes after the length. */
static uint8_t *raw_table(const void *entries, size_t length)
{
    uint8_t *raw = malloc(length + 4);
    ck_assert_ptr_nonnull(raw);
    ace_write_u32(raw, (uint32_t)length);
    memcpy(raw + 4, entries, length);
    return raw;
}

static void check_refused(const void *entries, size_t length, ace_code code, const char *message)
{
    uint8_t *raw = raw_table(entries, length);
    ace_table_shape shape;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_table_check(raw, length + 4, "headers", &shape, &error), code);
    ck_assert_str_eq(ace_error_message(error), message);
    ck_assert_uint_eq(shape.bytes, length + 4);
    ace_error_free(error);
    free(raw);
}

#define CHECK_REFUSED(text, message)                                                               \
    check_refused(text, sizeof(text) - 1, ACE_PROTOCOL, "headers: the entry " message)

START_TEST(lengths_that_do_not_add_up_are_refused)
{
    CHECK_REFUSED("\1k", "\"k\" has no value");
    CHECK_REFUSED("\2k", "\"\" is followed by a name that passes the table's end");
    CHECK_REFUSED("\1kI\1\2\3", "\"k\" passes the table's end");
    CHECK_REFUSED("\1kS\0\0\0", "\"k\" passes the table's end");
    CHECK_REFUSED("\1kS\0\0\0\3ab", "\"k\" claims more bytes than its table has");
    CHECK_REFUSED("\1kF\0\0\0\3\1x", "\"k\" claims more bytes than its table has");
    CHECK_REFUSED("\1kF\0\0\0\2\1xV", "\"k\" has no value");
    CHECK_REFUSED("\1kA\0\0\0\2I\0", "\"k\" passes the table's end");
    CHECK_REFUSED("\1aV\1kS\xFF\xFF\xFF\xFF", "\"k\" claims more bytes than its table has");
    CHECK_REFUSED("\1kV\3ab", "\"k\" is followed by a name that passes the table's end");
}
END_TEST

START_TEST(an_outermost_length_that_does_not_fit_leaves_nothing_to_step_over)
{
    uint8_t raw[8] = {0, 0, 0, 5};
    ace_table_shape shape;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_table_check(raw, sizeof raw, "headers", &shape, &error), ACE_PROTOCOL);
    ck_assert_str_eq(ace_error_message(error), "headers: the table claims 5 bytes, 4 are there");
    ck_assert_uint_eq(shape.bytes, 0);
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(ace_table_check(raw, 3, "headers", &shape, &error), ACE_PROTOCOL);
    ck_assert_uint_eq(shape.bytes, 0);
    ace_error_free(error);
}
END_TEST

START_TEST(unknown_kinds_are_refused_by_name)
{
    CHECK_REFUSED("\2okV\3badZ", "\"bad\" has the unknown kind 0x5a");
    static const char known[] = "tbBsuIilLfdDTVSxAFU";
    for (int kind = 0; kind < 256; kind++) {
        uint8_t raw[16] = {0, 0, 0, 12, 1, 'k', (uint8_t)kind};
        /* Strings, arrays and tables read their length of 0 here, the rest of the bytes is an
         * entry. */
        ace_table_shape shape;
        ace_error *error = NULL;
        ace_code code = ace_table_check(raw, sizeof raw, "headers", &shape, &error);
        bool is_known = kind != 0 && strchr(known, kind) != NULL;
        bool says_unknown =
            code != ACE_OK && strstr(ace_error_message(error), "\"k\" has the unknown") != NULL;
        ck_assert_msg(is_known != says_unknown, "kind 0x%02x", kind);
        ace_error_free(error);
    }
}
END_TEST

START_TEST(the_int16_kind_of_other_clients_reads_as_an_int16)
{
    static const char entries[] = "\1aU\xFF\xFE\1bF\0\0\0\5\1cU\0\7\1dA\0\0\0\3U\1";
    size_t length = sizeof entries + 4; /* the string's end is the last byte */
    uint8_t *raw = raw_table(entries, sizeof entries);
    ace_table_shape shape;
    ace_error *error = NULL;
    check_ok(ace_table_check(raw, length, "headers", &shape, &error), error);
    amqp_table_t table;
    size_t offset = 0;
    ck_assert_int_eq(amqp_decode_table((amqp_bytes_t){length, raw}, &pool, &table, &offset), 0);
    ck_assert_int_eq(table.entries[0].value.kind, AMQP_FIELD_KIND_I16);
    ck_assert_int_eq(table.entries[0].value.value.i16, -2);
    ck_assert_int_eq(table.entries[1].value.value.table.entries[0].value.value.i16, 7);
    ck_assert_int_eq(table.entries[2].value.value.array.entries[0].value.i16, 256);
    free(raw);
}
END_TEST

START_TEST(a_received_uint64_reads_as_rabbitmq_reads_it)
{
    uint8_t *raw = raw_table("\1aL\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFD", 11);
    ace_table_shape shape;
    ace_error *error = NULL;
    check_ok(ace_table_check(raw, 15, "headers", &shape, &error), error);
    amqp_table_t table;
    size_t offset = 0;
    ck_assert_int_eq(amqp_decode_table((amqp_bytes_t){15, raw}, &pool, &table, &offset), 0);
    ck_assert_int_eq(table.entries[0].value.kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(table.entries[0].value.value.i64, -3);
    free(raw);
}
END_TEST

START_TEST(floats_that_are_no_numbers_are_refused_on_the_wire)
{
    CHECK_REFUSED("\1kd\x7F\xF0\0\0\0\0\0\0", "\"k\" is a float that is not a finite number");
    CHECK_REFUSED("\1kd\xFF\xF8\0\0\0\0\0\1", "\"k\" is a float that is not a finite number");
    CHECK_REFUSED("\1kf\x7F\x80\0\0", "\"k\" is a float that is not a finite number");
    CHECK_REFUSED("\1kf\xFF\xC0\0\0", "\"k\" is a float that is not a finite number");
    uint8_t *raw = raw_table("\1kd\x7F\xEF\xFF\xFF\xFF\xFF\xFF\xFF\1kf\x7F\x7F\xFF\xFF", 18);
    ace_table_shape shape;
    ck_assert_int_eq(ace_table_check(raw, 22, "headers", &shape, NULL), ACE_OK);
    free(raw);
}
END_TEST

/* Tables inside one another, the outermost counted. */
static uint8_t *nested(size_t levels, size_t *length)
{
    *length = 4 + 7 * (levels - 1);
    uint8_t *raw = malloc(*length);
    ck_assert_ptr_nonnull(raw);
    uint8_t *to = raw;
    for (size_t level = 1; level <= levels; level++) {
        size_t inner = 7 * (levels - level);
        ace_write_u32(to, (uint32_t)inner);
        to += 4;
        if (inner > 0) {
            memcpy(to, "\1kF", 3);
            to += 3;
        }
    }
    return raw;
}

START_TEST(tables_nest_32_levels_and_no_more)
{
    size_t length;
    ace_table_shape shape;
    ace_error *error = NULL;
    uint8_t *raw = nested(ACE_TABLE_DEPTH_MAX, &length);
    check_ok(ace_table_check(raw, length, "headers", &shape, &error), error);
    ck_assert_int_eq(shape.depth, 32);
    amqp_table_t table;
    size_t offset = 0;
    ck_assert_int_eq(amqp_decode_table((amqp_bytes_t){length, raw}, &pool, &table, &offset), 0);
    size_t measured;
    check_ok(ace_table_measure(&table, "headers", &measured, &error), error);
    ck_assert_uint_eq(measured, length);
    /* One level more around it. */
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("outer"),
                                .value = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = table}};
    amqp_table_t outer = {1, &entry};
    ck_assert_int_eq(ace_table_measure(&outer, "headers", &measured, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "headers: the entry \"outer\" is nested deeper than 32 levels");
    ck_assert_int_eq(ace_error_limit(error), 32);
    ace_error_free(error);
    error = NULL;
    free(raw);
    raw = nested(ACE_TABLE_DEPTH_MAX + 1, &length);
    ck_assert_int_eq(ace_table_check(raw, length, "headers", &shape, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "headers: the entry \"k\" is nested deeper than 32 levels");
    ck_assert_uint_eq(shape.bytes, length);
    ace_error_free(error);
    free(raw);
}
END_TEST

START_TEST(tables_20000_deep_are_refused)
{
    size_t length;
    ace_table_shape shape;
    uint8_t *raw = nested(20000, &length);
    ck_assert_int_eq(ace_table_check(raw, length, "headers", &shape, NULL), ACE_LIMIT);
    free(raw);
}
END_TEST

START_TEST(entries_are_counted_on_all_levels)
{
    /* 65,000 void values in an array, then as many entries of the table as there is room for. */
    size_t length = 7 + 65000 + 2 * 600;
    uint8_t *entries = malloc(length);
    memcpy(entries, "\1kA", 3);
    ace_write_u32(entries + 3, 65000);
    memset(entries + 7, 'V', 65000);
    for (size_t at = 7 + 65000; at < length; at += 2) {
        memcpy(entries + at, "\0V", 2);
    }
    check_refused(entries, length, ACE_LIMIT, "headers: more than 65536 entries");
    uint8_t *raw = raw_table(entries, length - 2 * 65);
    ace_table_shape shape;
    ck_assert_int_eq(ace_table_check(raw, length - 2 * 65 + 4, "headers", &shape, NULL), ACE_OK);
    ck_assert_uint_eq(shape.entries, 65536);
    free(raw);
    free(entries);
}
END_TEST

/* Random tables: the measure is what the encoder writes, the check passes it and foresees the pool.
 */
START_TEST(checking_and_measuring_agree_with_rabbitmq_c)
{
    uint64_t state = 2024;
    uint8_t *raw = malloc(262144);
    for (int round = 0; round < 3000; round++) {
        amqp_pool_t made;
        init_amqp_pool(&made, 65536);
        amqp_table_t sent = sample_table(&state, &made, 4);
        size_t measured = 0;
        ace_error *error = NULL;
        check_ok(ace_table_measure(&sent, "headers", &measured, &error), error);
        size_t written = 0;
        ck_assert_int_eq(amqp_encode_table((amqp_bytes_t){262144, raw}, &sent, &written), 0);
        ck_assert_uint_eq(measured, written);
        ace_table_shape shape;
        check_ok(ace_table_check(raw, written, "headers", &shape, &error), error);
        ck_assert_uint_eq(shape.bytes, written);
        amqp_pool_t exact;
        init_amqp_pool(&exact, shape.decoded + 8);
        amqp_table_t got;
        size_t offset = 0;
        ck_assert_int_eq(amqp_decode_table((amqp_bytes_t){written, raw}, &exact, &got, &offset), 0);
        ck_assert_uint_eq(offset, written);
        ck_assert(sample_same_table(&sent, &got));
        ck_assert_uint_eq(exact.alloc_used, shape.decoded);
        ck_assert_int_le(exact.pages.num_blocks, 1);
        ck_assert_int_eq(exact.large_blocks.num_blocks, 0);
        empty_amqp_pool(&exact);
        empty_amqp_pool(&made);
    }
    free(raw);
}
END_TEST

static void check_value_refused(amqp_field_value_t value, ace_code code, const char *message)
{
    amqp_table_entry_t entry = {.key = amqp_cstring_bytes("price"), .value = value};
    amqp_table_t table = {1, &entry};
    size_t size;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_table_measure(&table, "headers", &size, &error), code);
    ck_assert_str_eq(ace_error_message(error), message);
    ace_error_free(error);
    /* The same inside an array, where RabbitMQ would stumble as well. */
    amqp_field_value_t array = {.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {1, &value}};
    entry.value = array;
    ck_assert_int_eq(ace_table_measure(&table, "headers", &size, NULL), code);
    ck_assert_int_eq(ace_table_measure_value(&array, "headers", 1, &size, NULL), code);
}

START_TEST(values_over_which_a_broker_closes_the_connection_are_refused)
{
    const char *no_number = "headers: the entry \"price\" is a float that is not a finite number";
    check_value_refused((amqp_field_value_t){.kind = AMQP_FIELD_KIND_F64, .value.f64 = (double)NAN},
                        ACE_INVALID_ARGUMENT, no_number);
    check_value_refused(
        (amqp_field_value_t){.kind = AMQP_FIELD_KIND_F64, .value.f64 = (double)-INFINITY},
        ACE_INVALID_ARGUMENT, no_number);
    check_value_refused((amqp_field_value_t){.kind = AMQP_FIELD_KIND_F32, .value.f32 = NAN},
                        ACE_INVALID_ARGUMENT, no_number);
    check_value_refused((amqp_field_value_t){.kind = 'Z'}, ACE_INVALID_ARGUMENT,
                        "headers: the entry \"price\" has a kind that AMQP does not know");
    check_value_refused((amqp_field_value_t){.kind = 'U'}, ACE_INVALID_ARGUMENT,
                        "headers: the entry \"price\" has a kind that AMQP does not know");
    check_value_refused(
        (amqp_field_value_t){.kind = AMQP_FIELD_KIND_U64, .value.u64 = UINT64_C(1) << 63},
        ACE_LIMIT,
        "headers: the entry \"price\" is over 9223372036854775807, the largest integer a broker "
        "keeps");
    check_value_refused(
        (amqp_field_value_t){.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {3, NULL}},
        ACE_INVALID_ARGUMENT, "headers: the entry \"price\" claims bytes and points to none");
    check_value_refused(
        (amqp_field_value_t){.kind = AMQP_FIELD_KIND_TABLE, .value.table = {-1, NULL}},
        ACE_INVALID_ARGUMENT, "headers: the entry \"price\" counts entries that are not there");
    amqp_field_value_t largest = {.kind = AMQP_FIELD_KIND_U64, .value.u64 = INT64_MAX};
    size_t size;
    ck_assert_int_eq(ace_table_measure_value(&largest, "headers", 1, &size, NULL), ACE_OK);
    ck_assert_uint_eq(size, 9);
}
END_TEST

START_TEST(a_header_name_of_256_bytes_is_refused_though_rabbitmq_c_encodes_it)
{
    char name[256];
    memset(name, 'n', sizeof name);
    amqp_table_entry_t entry = {.key = {256, name}, .value = {.kind = AMQP_FIELD_KIND_VOID}};
    amqp_table_t table = {1, &entry};
    uint8_t raw[300];
    size_t offset = 0;
    ck_assert_int_eq(amqp_encode_table((amqp_bytes_t){sizeof raw, raw}, &table, &offset), 0);
    size_t size;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_table_measure(&table, "headers", &size, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "headers: the name of entry 1 has 256 bytes, the limit is 255");
    ck_assert_str_eq(ace_error_field_name(error), "headers");
    ck_assert_int_eq(ace_error_limit(error), 255);
    ace_error_free(error);
    entry.key.len = 255;
    ck_assert_int_eq(ace_table_measure(&table, "headers", &size, NULL), ACE_OK);
    ck_assert_uint_eq(size, 4 + 1 + 255 + 1);
}
END_TEST

static Suite *table_suite(void)
{
    Suite *suite = suite_create("table");
    TCase *tables = tcase_create("table");
    tcase_set_timeout(tables, 60);
    tcase_add_checked_fixture(tables, setup, teardown);
    tcase_add_test(tables, lengths_that_do_not_add_up_are_refused);
    tcase_add_test(tables, an_outermost_length_that_does_not_fit_leaves_nothing_to_step_over);
    tcase_add_test(tables, unknown_kinds_are_refused_by_name);
    tcase_add_test(tables, the_int16_kind_of_other_clients_reads_as_an_int16);
    tcase_add_test(tables, a_received_uint64_reads_as_rabbitmq_reads_it);
    tcase_add_test(tables, floats_that_are_no_numbers_are_refused_on_the_wire);
    tcase_add_test(tables, tables_nest_32_levels_and_no_more);
    tcase_add_test(tables, tables_20000_deep_are_refused);
    tcase_add_test(tables, entries_are_counted_on_all_levels);
    tcase_add_test(tables, checking_and_measuring_agree_with_rabbitmq_c);
    tcase_add_test(tables, values_over_which_a_broker_closes_the_connection_are_refused);
    tcase_add_test(tables, a_header_name_of_256_bytes_is_refused_though_rabbitmq_c_encodes_it);
    suite_add_tcase(suite, tables);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(table_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
