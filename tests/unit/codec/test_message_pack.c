#include "codec/message_pack.h"

#include "codec/msgpack.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEVELS 40

static amqp_field_value_t value_of(uint8_t kind)
{
    amqp_field_value_t value;
    memset(&value, 0, sizeof value);
    value.kind = kind;
    return value;
}

static amqp_bytes_t bytes_of(const char *text, size_t length)
{
    amqp_bytes_t bytes = {length, (void *)(uintptr_t)text};
    return bytes;
}

/* A table of one entry named "k" holding the value, written alone: what follows the key is the
 * value. */
static void expect_value(amqp_field_value_t value, const char *wanted, size_t length)
{
    amqp_table_entry_t entry = {bytes_of("k", 1), value};
    amqp_table_t table = {1, &entry};
    ace_buffer out = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ace_code code = ace_message_pack_table(&out, &table, 0, &error);
    ck_assert_msg(code == ACE_OK, "%s", ace_error_message(error));
    ck_assert_uint_eq(out.length, 3 + length);
    ck_assert_mem_eq(out.data, "\x81\xa1k", 3);
    ck_assert_mem_eq(out.data + 3, wanted, length);
    ace_bytes body = {out.data, out.length};
    ck_assert_int_eq(ace_msgpack_check(body, NULL), ACE_OK);
    ace_buffer_free(&out);
}

#define EXPECT(value, bytes) expect_value(value, bytes, sizeof(bytes) - 1)

START_TEST(numbers_keep_their_width_and_sign)
{
    amqp_field_value_t value = value_of(AMQP_FIELD_KIND_I8);
    value.value.i8 = -1;
    EXPECT(value, "\xd0\xff");
    value = value_of(AMQP_FIELD_KIND_U8);
    value.value.u8 = 1;
    EXPECT(value, "\xcc\x01");
    value = value_of(AMQP_FIELD_KIND_I16);
    value.value.i16 = -2;
    EXPECT(value, "\xd1\xff\xfe");
    value = value_of(AMQP_FIELD_KIND_U16);
    value.value.u16 = 3;
    EXPECT(value, "\xcd\x00\x03");
    value = value_of(AMQP_FIELD_KIND_I32);
    value.value.i32 = 4;
    EXPECT(value, "\xd2\x00\x00\x00\x04");
    value = value_of(AMQP_FIELD_KIND_U32);
    value.value.u32 = UINT32_MAX;
    EXPECT(value, "\xce\xff\xff\xff\xff");
    value = value_of(AMQP_FIELD_KIND_I64);
    value.value.i64 = INT64_MIN;
    EXPECT(value, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00");
    value = value_of(AMQP_FIELD_KIND_U64);
    value.value.u64 = UINT64_MAX;
    EXPECT(value, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff");
    value = value_of(AMQP_FIELD_KIND_F32);
    value.value.f32 = 1.5F;
    EXPECT(value, "\xca\x3f\xc0\x00\x00");
    value = value_of(AMQP_FIELD_KIND_F64);
    value.value.f64 = 0.1;
    EXPECT(value, "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a");
}
END_TEST

START_TEST(booleans_and_void_are_themselves)
{
    amqp_field_value_t value = value_of(AMQP_FIELD_KIND_BOOLEAN);
    EXPECT(value, "\xc2");
    value.value.boolean = 1;
    EXPECT(value, "\xc3");
    EXPECT(value_of(AMQP_FIELD_KIND_VOID), "\xc0");
}
END_TEST

START_TEST(a_long_string_is_a_str_where_it_is_utf8_and_a_bin_where_not)
{
    amqp_field_value_t value = value_of(AMQP_FIELD_KIND_UTF8);
    value.value.bytes = bytes_of("z\xc3\xb6", 3);
    EXPECT(value, "\xa3z\xc3\xb6");
    value.value.bytes = bytes_of("z\xf6", 2);
    EXPECT(value, "\xc4\x02z\xf6");
    value.value.bytes = bytes_of(NULL, 0);
    EXPECT(value, "\xa0");
    value = value_of(AMQP_FIELD_KIND_BYTES);
    value.value.bytes = bytes_of("abc", 3);
    EXPECT(value, "\xc4\x03"
                  "abc");
    value.value.bytes = bytes_of(NULL, 0);
    EXPECT(value, "\xc4\x00");
}
END_TEST

START_TEST(a_timestamp_and_a_decimal_are_extensions)
{
    amqp_field_value_t value = value_of(AMQP_FIELD_KIND_TIMESTAMP);
    value.value.u64 = UINT64_C(0x0102030405060708);
    EXPECT(value, "\xd7\x01\x01\x02\x03\x04\x05\x06\x07\x08");
    value = value_of(AMQP_FIELD_KIND_DECIMAL);
    value.value.decimal.decimals = 2;
    value.value.decimal.value = 0x00010203;
    EXPECT(value, "\xc7\x05\x02\x02\x00\x01\x02\x03");
}
END_TEST

START_TEST(tables_and_arrays_nest)
{
    amqp_field_value_t items[2] = {value_of(AMQP_FIELD_KIND_VOID), value_of(AMQP_FIELD_KIND_TABLE)};
    amqp_field_value_t value = value_of(AMQP_FIELD_KIND_ARRAY);
    value.value.array.num_entries = 2;
    value.value.array.entries = items;
    EXPECT(value, "\x92\xc0\x80");
    value.value.array.num_entries = 0;
    EXPECT(value, "\x90");

    amqp_table_entry_t inner[2] = {{bytes_of("a", 1), value_of(AMQP_FIELD_KIND_VOID)},
                                   {bytes_of("\xff", 1), value_of(AMQP_FIELD_KIND_BOOLEAN)}};
    value = value_of(AMQP_FIELD_KIND_TABLE);
    value.value.table.num_entries = 2;
    value.value.table.entries = inner;
    EXPECT(value, "\x82\xa1"
                  "a\xc0\xc4\x01\xff\xc2");
}
END_TEST

START_TEST(an_empty_table_is_an_empty_map)
{
    ace_buffer out = ACE_BUFFER_INIT;
    amqp_table_t none = {0, NULL};
    ck_assert_int_eq(ace_message_pack_table(&out, &none, 0, NULL), ACE_OK);
    ck_assert_uint_eq(out.length, 1);
    ck_assert_uint_eq(out.data[0], 0x80);
    ace_buffer_free(&out);
}
END_TEST

/* `levels` containers in one another, the table included; tables and arrays alternate. */
static ace_code pack_nested(int levels, int levels_above, ace_buffer *out, ace_error **error)
{
    static amqp_field_value_t values[MOST_LEVELS + 1];
    static amqp_table_entry_t entries[MOST_LEVELS + 1];
    values[levels] = value_of(AMQP_FIELD_KIND_VOID);
    for (int level = levels - 1; level > 0; level--) {
        if (level % 2 == 0) {
            values[level] = value_of(AMQP_FIELD_KIND_ARRAY);
            values[level].value.array.num_entries = 1;
            values[level].value.array.entries = &values[level + 1];
            continue;
        }
        entries[level].key = bytes_of("k", 1);
        entries[level].value = values[level + 1];
        values[level] = value_of(AMQP_FIELD_KIND_TABLE);
        values[level].value.table.num_entries = 1;
        values[level].value.table.entries = &entries[level];
    }
    entries[0].key = bytes_of("k", 1);
    entries[0].value = values[1];
    amqp_table_t table = {1, &entries[0]};
    return ace_message_pack_table(out, &table, levels_above, error);
}

START_TEST(thirty_three_levels_are_refused_when_writing_too)
{
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert_int_eq(pack_nested(32, 0, &out, NULL), ACE_OK);
    ace_bytes body = {out.data, out.length};
    ck_assert_int_eq(ace_msgpack_check(body, NULL), ACE_OK);
    size_t before = out.length;
    ace_error *error = NULL;
    ck_assert_int_eq(pack_nested(33, 0, &out, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error),
                     "headers are nested deeper than the limit of 32 levels");
    ace_error_free(error);
    ck_assert_uint_eq(out.length, before);
    ck_assert_int_eq(pack_nested(32, 1, &out, NULL), ACE_LIMIT);
    ck_assert_uint_eq(out.length, before);
    ck_assert_int_eq(pack_nested(31, 1, &out, NULL), ACE_OK);
    ace_buffer_free(&out);
}
END_TEST

START_TEST(an_unknown_kind_of_field_is_refused_and_nothing_is_left_behind)
{
    amqp_table_entry_t entries[2] = {{bytes_of("good", 4), value_of(AMQP_FIELD_KIND_VOID)},
                                     {bytes_of("bad", 3), value_of('?')}};
    amqp_table_t table = {2, entries};
    ace_buffer out = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_message_pack_table(&out, &table, 0, &error), ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "header field of the unknown kind 0x3f");
    ck_assert_uint_eq(out.length, 0);
    ace_error_free(error);
    ace_buffer_free(&out);
}
END_TEST

START_TEST(a_message_map_is_put_together_from_its_parts)
{
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert(ace_message_pack_map(&out, 7));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("route")));
    ck_assert(ace_message_pack_array(&out, 2));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("pick")));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("ship")));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("id")));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("m-1")));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("attempt")));
    ck_assert(ace_message_pack_integer(&out, 3));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("firstSeen")));
    ck_assert(ace_message_pack_integer(&out, INT64_C(1770091506000)));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("redelivered")));
    ck_assert(ace_message_pack_boolean(&out, true));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("error")));
    ck_assert(ace_message_pack_nil(&out));
    ck_assert(ace_message_pack_text(&out, ace_bytes_of("body")));
    ck_assert(ace_message_pack_binary(&out, ace_bytes_of("{}")));
    ace_bytes body = {out.data, out.length};
    ace_buffer json = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_msgpack_to_json(body, &json, NULL), ACE_OK);
    char *text = ace_buffer_take_text(&json);
    ck_assert_str_eq(text, "{\"route\": [\"pick\", \"ship\"], \"id\": \"m-1\", \"attempt\": 3, "
                           "\"firstSeen\": 1770091506000, "
                           "\"redelivered\": true, \"error\": null, "
                           "\"body\": {\"base64\": \"e30=\"}}");
    free(text);
    ace_buffer_free(&out);
}
END_TEST

START_TEST(a_binary_longer_than_messagepack_can_say_is_refused)
{
    ace_buffer out = ACE_BUFFER_INIT;
    ace_bytes claimed = {(const uint8_t *)"x", (size_t)UINT32_MAX + 1};
    ck_assert(!ace_message_pack_binary(&out, claimed));
    ck_assert(!ace_message_pack_text(&out, claimed));
    ck_assert_uint_eq(out.length, 0);
    ace_buffer_free(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec message_pack");
    TCase *tests = tcase_create("message_pack");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, numbers_keep_their_width_and_sign);
    tcase_add_test(tests, booleans_and_void_are_themselves);
    tcase_add_test(tests, a_long_string_is_a_str_where_it_is_utf8_and_a_bin_where_not);
    tcase_add_test(tests, a_timestamp_and_a_decimal_are_extensions);
    tcase_add_test(tests, tables_and_arrays_nest);
    tcase_add_test(tests, an_empty_table_is_an_empty_map);
    tcase_add_test(tests, thirty_three_levels_are_refused_when_writing_too);
    tcase_add_test(tests, an_unknown_kind_of_field_is_refused_and_nothing_is_left_behind);
    tcase_add_test(tests, a_message_map_is_put_together_from_its_parts);
    tcase_add_test(tests, a_binary_longer_than_messagepack_can_say_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
