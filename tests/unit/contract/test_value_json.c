#include "random_table.h"
#include "vectors.h"

#include "contract/base64.h"
#include "contract/limits.h"

static json_t *json_of(const char *text)
{
    json_t *json = NULL;
    SUCCEEDS(ace_json_read(text, strlen(text), &json, &error));
    return json;
}

static void comes_back(const ace_table *table, bool typed_top)
{
    json_t *json = ace_table_to_json(&table->table, typed_top);
    ck_assert_ptr_nonnull(json);
    char *text = json_dumps(json, 0);
    json_t *read = json_of(text);
    ace_table again = ACE_TABLE_INIT;
    table_of(read, &again);
    same_tables(&again.table, &table->table);
    ace_table_release(&again);
    json_decref(read);
    json_decref(json);
    free(text);
}

START_TEST(any_table_comes_back_from_its_json)
{
    uint64_t state = 23;
    for (int i = 0; i < 1000; i++) {
        ace_table table = ACE_TABLE_INIT;
        random_entries(&state, 1, &table, 12);
        comes_back(&table, false);
        comes_back(&table, true);
        ace_table_release(&table);
    }
}
END_TEST

START_TEST(plain_json_is_of_the_types_the_command_line_says)
{
    json_t *json = json_of("{\"i\": 5, \"f\": 1.5, \"s\": \"x\", \"t\": true, \"n\": null, "
                           "\"a\": [1, \"b\"], \"o\": {\"k\": 1}, \"w\": 3.0}");
    ace_table table = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_from_json(json, "headers", &table, &error));
    static const struct {
        const char *name;
        amqp_field_value_kind_t kind;
    } wanted[] = {{"i", AMQP_FIELD_KIND_I64},   {"f", AMQP_FIELD_KIND_F64},
                  {"s", AMQP_FIELD_KIND_UTF8},  {"t", AMQP_FIELD_KIND_BOOLEAN},
                  {"n", AMQP_FIELD_KIND_VOID},  {"a", AMQP_FIELD_KIND_ARRAY},
                  {"o", AMQP_FIELD_KIND_TABLE}, {"w", AMQP_FIELD_KIND_F64}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        ck_assert_int_eq(ace_table_find(&table.table, wanted[i].name)->kind, wanted[i].kind);
    }
    ace_table_release(&table);
    json_decref(json);
}
END_TEST

START_TEST(printed_json_says_the_type_where_plain_json_would_lose_it)
{
    json_t *json = json_of(
        "{\"i\": {\"type\": \"int64\", \"value\": 5}, \"n\": {\"type\": \"int32\", \"value\": 5}, "
        "\"d\": {\"type\": \"decimal\", \"value\": \"0.05\"}, \"b\": {\"type\": \"bytes\", "
        "\"value\": \"AP8=\"}, \"o\": {\"k\": {\"type\": \"float\", \"value\": 0.5}}, \"s\": "
        "{\"type\": \"longstr\", \"base64\": \"/w==\"}}");
    ace_table table = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_from_json(json, "headers", &table, &error));
    json_t *printed = ace_table_to_json(&table.table, false);
    char *text = json_dumps(printed, JSON_SORT_KEYS);
    ck_assert_str_eq(
        text, "{\"b\": {\"type\": \"bytes\", \"value\": \"AP8=\"}, \"d\": {\"type\": \"decimal\", "
              "\"value\": \"0.05\"}, \"i\": 5, \"n\": {\"type\": \"int32\", \"value\": 5}, \"o\": "
              "{\"type\": \"table\", \"value\": {\"k\": {\"type\": \"float\", \"value\": 0.5}}}, "
              "\"s\": {\"base64\": \"/w==\", \"type\": \"longstr\"}}");
    free(text);
    json_decref(printed);
    ace_table_release(&table);
    json_decref(json);
}
END_TEST

START_TEST(uint64_beyond_int64_reads_where_it_may_arrive)
{
    json_t *json = json_of("{\"u\": {\"type\": \"uint64\", \"value\": 18446744073709551615}, "
                           "\"t\": {\"type\": \"timestamp\", \"value\": 9223372036854775808}}");
    ace_table table = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_from_json_arrived(json, "headers", &table, &error));
    ck_assert_uint_eq(ace_table_find(&table.table, "u")->value.u64, UINT64_MAX);
    ck_assert_uint_eq(ace_table_find(&table.table, "t")->value.u64, (uint64_t)INT64_MAX + 1);
    comes_back(&table, true);
    ace_table_clear(&table);
    FAILS_WITH(ace_table_from_json(json, "headers", &table, &error), ACE_LIMIT, "u is over");
    ace_table_release(&table);
    json_decref(json);
}
END_TEST

START_TEST(what_does_not_read_is_named)
{
    static const struct {
        const char *text;
        const char *part;
    } rows[] = {
        {"[]", "headers: expected an object"},
        {"{\"a\": 9223372036854775808}", "headers.a: expected an integer that int64 holds"},
        {"{\"a\": [-9223372036854775809]}", "headers.a.0: expected an integer that int64 holds"},
        {"{\"a\": {\"type\": \"int8\", \"value\": 128}}", "headers.a: expected an integer within"},
        {"{\"a\": {\"type\": \"uint8\", \"value\": -1}}", "headers.a: expected an integer within"},
        {"{\"a\": {\"type\": \"uint32\", \"value\": 4294967296}}",
         "headers.a: expected an integer"},
        {"{\"a\": {\"type\": \"uint64\", \"value\": 18446744073709551616}}", "headers.a: expected"},
        {"{\"a\": {\"type\": \"int32\", \"value\": 1.5}}", "headers.a: expected an integer"},
        {"{\"a\": {\"type\": \"int32\", \"value\": \"1\"}}", "headers.a: expected an integer"},
        {"{\"a\": {\"type\": \"int24\", \"value\": 1}}", "headers.a: expected a type"},
        {"{\"a\": {\"type\": \"bool\", \"value\": 1}}", "headers.a: expected true or false"},
        {"{\"a\": {\"type\": \"void\", \"value\": 1}}", "headers.a: expected null"},
        {"{\"a\": {\"type\": \"bytes\", \"value\": \"a\"}}", "headers.a: expected base64"},
        {"{\"a\": {\"type\": \"decimal\", \"value\": \"1.\"}}", "headers.a: expected a decimal"},
        {"{\"a\": {\"type\": \"decimal\", \"value\": \"-1\"}}", "headers.a: expected a decimal"},
        {"{\"a\": {\"type\": \"decimal\", \"value\": \"4294967296\"}}", "expected a decimal"},
        {"{\"a\": {\"type\": \"double\", \"value\": \"1\"}}", "headers.a: expected a number"},
        {"{\"a\": {\"type\": \"float\", \"value\": 3.5e38}}",
         "headers.a: expected a number that a"},
        {"{\"a\": {\"type\": \"float\", \"value\": -1e300}}",
         "headers.a: expected a number that a"},
        {"{\"a\": {\"type\": \"longstr\", \"value\": 1}}", "headers.a: expected a string"},
        {"{\"a\": {\"type\": \"array\", \"value\": 1}}", "headers.a: expected an array"},
        {"{\"a\": {\"b\": {\"type\": \"table\", \"value\": 1}}}",
         "headers.a.b: expected an object"},
        {"{\"\": 1}", "header name is empty"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = json_of(rows[i].text);
        ace_table table = ACE_TABLE_INIT;
        ace_error *error = NULL;
        ace_code code = ace_table_from_json(json, "headers", &table, &error);
        ck_assert_msg(code != ACE_OK, "%s was taken", rows[i].text);
        ck_assert_msg(strstr(ace_error_message(error), rows[i].part) != NULL, "%s: %s",
                      rows[i].text, ace_error_message(error));
        ace_error_free(error);
        ace_table_release(&table);
        json_decref(json);
    }
}
END_TEST

START_TEST(json_that_does_not_read_has_its_place)
{
    json_t *json = NULL;
    FAILS_WITH(ace_json_read("{\n  \"a\" 1}", 10, &json, &error), ACE_PARSE, "line 2, column");
    FAILS_WITH(ace_json_read("", 0, &json, &error), ACE_PARSE, "line");
    FAILS_WITH(ace_json_read("{\"a\": 1, \"a\": 2}", 16, &json, &error), ACE_PARSE, "duplicate");
    FAILS_WITH(ace_json_read("{\"a\": 0123456789012345678901234}", 32, &json, &error), ACE_PARSE,
               "line 1");
    FAILS_WITH(ace_json_read("[\"abc\\", 6, &json, &error), ACE_PARSE, "line 1");
}
END_TEST

START_TEST(integers_inside_strings_are_left_alone)
{
    json_t *json = json_of("{\"a \\\" 99999999999999999999\": \"99999999999999999999\", "
                           "\"n\": -9223372036854775808, \"r\": 99999999999999999999.5}");
    ck_assert_str_eq(text_of(json, "a \" 99999999999999999999"), "99999999999999999999");
    ck_assert_int_eq(number_of(json, "n"), INT64_MIN);
    ck_assert(json_is_real(member(json, "r")));
    json_decref(json);
}
END_TEST

/* A table with so many arrays inside one another, and a value in the deepest. */
static json_t *nested(int arrays)
{
    char text[200] = "{\"a\": ";
    for (int i = 0; i < arrays; i++) {
        strcat(text, "[");
    }
    strcat(text, "1");
    for (int i = 0; i < arrays; i++) {
        strcat(text, "]");
    }
    strcat(text, "}");
    return json_of(text);
}

START_TEST(nesting_as_deep_as_a_table_may_be_reads)
{
    json_t *json = nested(ACE_TABLE_DEPTH_MAX - 1);
    ace_table table = ACE_TABLE_INIT;
    ck_assert_int_eq(ace_table_from_json(json, "headers", &table, NULL), ACE_OK);
    json_t *again = ace_table_to_json(&table.table, false);
    ck_assert(json_equal(json, again));
    ace_table_release(&table);
    json_decref(again);
    json_decref(json);
}
END_TEST

/* In between, a large integer is a string of our own; a header may hold the very same. */
START_TEST(no_text_of_a_header_becomes_json_by_itself)
{
    static const char text[] = "\0integer:1, \"injected\": 2";
    ace_table table = ACE_TABLE_INIT;
    ace_table again = ACE_TABLE_INIT;
    ace_bytes value = {(const uint8_t *)text, sizeof text - 1};
    ck_assert_int_eq(ace_table_set_longstr(&table, "a", value, NULL), ACE_OK);
    json_t *json = ace_table_to_json(&table.table, true);
    char *written = ace_json_write(json);
    json_t *read = json_of(written);
    ck_assert_uint_eq(json_object_size(read), 1);
    ck_assert_int_eq(ace_table_from_json(read, "headers", &again, NULL), ACE_OK);
    ck_assert(ace_table_equal(&table.table, &again.table));
    json_decref(read);
    free(written);
    json_decref(json);
    ace_table_release(&again);
    ace_table_release(&table);
}
END_TEST

START_TEST(a_name_inside_a_table_has_255_bytes_at_most)
{
    char text[300] = "{\"a\": {\"";
    memset(text + strlen(text), 'n', 256);
    strcat(text, "\": 1}}");
    json_t *json = json_of(text);
    ace_table table = ACE_TABLE_INIT;
    FAILS_WITH(ace_table_from_json_arrived(json, "headers", &table, &error), ACE_LIMIT,
               "header name has 256 bytes");
    ace_table_release(&table);
    json_decref(json);
}
END_TEST

START_TEST(nesting_deeper_than_a_table_may_be_is_refused)
{
    json_t *json = nested(ACE_TABLE_DEPTH_MAX);
    ace_table table = ACE_TABLE_INIT;
    FAILS_WITH(ace_table_from_json(json, "headers", &table, &error), ACE_LIMIT, "nested deeper");
    ace_table_release(&table);
    json_decref(json);
}
END_TEST

START_TEST(base64_is_strict_and_comes_back)
{
    static const char *const bad[] = {"a",    "ab",    "abc",  "ab=c", "====",     "a===",
                                      "YR==", "YWI5=", "YWJ=", "YW I", "YQ==YQ==", "YQ=\n"};
    ace_buffer out = ACE_BUFFER_INIT;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!ace_base64_decode(ace_bytes_of(bad[i]), &out), "%s", bad[i]);
        ck_assert_uint_eq(out.length, 0);
    }
    uint64_t state = 31;
    for (int i = 0; i < 500; i++) {
        uint8_t bytes[64];
        size_t length = random_bytes(&state, bytes);
        ace_buffer text = ACE_BUFFER_INIT;
        ck_assert(ace_base64_encode((ace_bytes){bytes, length}, &text));
        ck_assert_uint_eq(text.length, (length + 2) / 3 * 4);
        ace_buffer_clear(&out);
        ck_assert(ace_base64_decode((ace_bytes){text.data, text.length}, &out));
        ck_assert(ace_bytes_equal((ace_bytes){out.data, out.length}, (ace_bytes){bytes, length}));
        ace_buffer_free(&text);
    }
    ace_buffer_free(&out);
    ace_buffer known = ACE_BUFFER_INIT;
    ck_assert(ace_base64_encode(ace_bytes_of("foobar!"), &known));
    is_text((ace_bytes){known.data, known.length}, "Zm9vYmFyIQ==");
    ace_buffer_free(&known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("value json");
    TCase *tests = case_of(suite, "value json");
    tcase_add_test(tests, any_table_comes_back_from_its_json);
    tcase_add_test(tests, plain_json_is_of_the_types_the_command_line_says);
    tcase_add_test(tests, printed_json_says_the_type_where_plain_json_would_lose_it);
    tcase_add_test(tests, uint64_beyond_int64_reads_where_it_may_arrive);
    tcase_add_test(tests, what_does_not_read_is_named);
    tcase_add_test(tests, json_that_does_not_read_has_its_place);
    tcase_add_test(tests, integers_inside_strings_are_left_alone);
    tcase_add_test(tests, nesting_as_deep_as_a_table_may_be_reads);
    tcase_add_test(tests, no_text_of_a_header_becomes_json_by_itself);
    tcase_add_test(tests, a_name_inside_a_table_has_255_bytes_at_most);
    tcase_add_test(tests, nesting_deeper_than_a_table_may_be_is_refused);
    tcase_add_test(tests, base64_is_strict_and_comes_back);
    return run_suite(suite);
}
