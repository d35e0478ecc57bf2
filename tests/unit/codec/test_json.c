#include "codec/builtin.h"

#include "base/random.h"
#include "support/rounds.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const taken[] = {
    "{}",
    "[]",
    "{\"id\":7,\"lines\":[1,2.5,-3e10,true,false,null],\"n\":{\"a\":\"b\"}}",
    "0",
    "-0",
    "\"text\"",
    "null",
    "true",
    " \t\r\n 1 \n",
    "{\"a\":1,\"a\":2}",
    "18446744073709551615",
    "-9223372036854775809",
    "123456789012345678901234567890",
    "1e308",
    "1e400",
    "-1E+400",
    "0.5e-7",
    "\"\\ud800\"",
    "{\"\\u0000\":1}",
    "[[],{},[{}],{\"a\":[]}]",
    "1e-400",
    "\"\\u0000\"",
    "\"\\ud83d\\udc07\"",
    "\"\xf0\x9f\x90\x87 zw\xc3\xb6lf\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
    "{\"\":1}",
};

START_TEST(any_json_value_decodes)
{
    ace_error *error = NULL;
    ace_code code = ace_json_check(ace_bytes_of(taken[_i]), &error);
    ck_assert_msg(code == ACE_OK, "%s: %s", taken[_i], ace_error_message(error));
}
END_TEST

static const char *const refused[] = {
    "",
    " ",
    "{",
    "}",
    "[1,]",
    "{\"a\":}",
    "{\"a\":1,}",
    "{a:1}",
    "{1:2}",
    "[1 2]",
    "1 2",
    "{} {}",
    "nul",
    "NaN",
    "Infinity",
    "+1",
    ".5",
    "1.",
    "01",
    "0x10",
    "'a'",
    "\"a",
    "\"\\x\"",
    "\"\\u12\"",
    "\"a\nb\"",

    "\"\xff\"",
    "\"\xc0\x80\"",
    "\"\xed\xa0\x80\"",
    "[1]x",
    "-",
    "-a",
    "1e",
    "1e+",
    "1.e1",
    "-01",
    "00",
    "[1}",
    "{\"a\":1]",
    "[",
    "[,1]",
    "{,}",
    "tru",
    "truefalse",
    "[\"a\" \"b\"]",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\",1}",
    "\"\\",
    "\"\\u00g0\"",
    "// c\n1",
    "\xef\xbb\xbf"
    "1",
    "undefined",
};

START_TEST(what_is_not_json_is_refused_with_its_place)
{
    ace_error *error = NULL;
    ck_assert_msg(ace_json_check(ace_bytes_of(refused[_i]), &error) == ACE_DECODE, "%s was taken",
                  refused[_i]);
    ck_assert_ptr_eq(strstr(ace_error_message(error), "not JSON: "), ace_error_message(error));
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "expected "));
    ace_error_free(error);
}
END_TEST

START_TEST(a_nul_byte_ends_nothing_and_is_not_json)
{
    static const char after[] = "1\0", before[] = "\0{}", between[] = "{}\0{}",
                      inside[] = "\"a\0b\"";
    const ace_bytes bodies[] = {{(const uint8_t *)after, sizeof after - 1},
                                {(const uint8_t *)before, sizeof before - 1},
                                {(const uint8_t *)between, sizeof between - 1},
                                {(const uint8_t *)inside, sizeof inside - 1}};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        ck_assert_int_eq(ace_json_check(bodies[i], NULL), ACE_DECODE);
    }
    ace_bytes whole = {(const uint8_t *)"12x", 2};
    ck_assert_int_eq(ace_json_check(whole, NULL), ACE_OK);
}
END_TEST

static ace_code check_nested(size_t levels)
{
    ace_buffer text = ACE_BUFFER_INIT;
    memset(ace_buffer_extend(&text, levels), '[', levels);
    memset(ace_buffer_extend(&text, levels), ']', levels);
    ace_bytes body = {text.data, text.length};
    ace_code code = ace_json_check(body, NULL);
    ace_buffer_free(&text);
    return code;
}

START_TEST(nesting_is_limited)
{
    ck_assert_int_eq(check_nested(1), ACE_OK);
    ck_assert_int_eq(check_nested(2048), ACE_OK);
    ck_assert_int_eq(check_nested(2049), ACE_DECODE);
    ck_assert_int_eq(check_nested(1000000), ACE_DECODE);
}
END_TEST

typedef struct place {
    const char *body;
    const char *message;
} place;

static const place places[] = {
    {"", "not JSON: the body ends after 0 bytes, expected a value"},
    {"{\"id\":7", "not JSON: the body ends after 7 bytes, expected a comma or }"},
    {"{\"id\":x}", "not JSON: byte 7: expected a value"},
    {"[1, 2,]", "not JSON: byte 7: expected a value"},
    {"{\"a\":1,}", "not JSON: byte 8: expected a key in quotation marks"},
    {"{\"a\" 1}", "not JSON: byte 6: expected a colon"},
    {"[1}", "not JSON: byte 3: expected a comma or ]"},
    {"01", "not JSON: byte 2: expected the end"},
    {"\"a\nb\"", "not JSON: byte 3: expected no control character in a string"},
    {"\"\xff\"", "not JSON: byte 2: expected UTF-8"},
    {"\"\\u12\"", "not JSON: byte 6: expected a hexadecimal digit"},
};

START_TEST(the_message_says_where_and_what)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_json_check(ace_bytes_of(places[_i].body), &error), ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error), places[_i].message);
    ace_error_free(error);
}
END_TEST

/* Random texts of pieces that occur in JSON. Where jansson and we differ, it must be in what we
 * know it to refuse: numbers beyond a double, lone surrogates, NUL in a key. None of these is in
 * here. */
START_TEST(jansson_agrees_on_random_texts)
{
    static const char *const pieces[] = {
        "{",  "}",   "[",      "]",       ",",        ":",        "\"a\"",
        "1",  "-",   "0",      ".5",      "e3",       "true",     "null",
        " ",  "\n",  "\"",     "\\n",     "\\u00e9",  "\xc3\xb6", "\xff",
        "{}", "[1]", "\"b\":", "{\"c\":", ",\"d\":2", "x",        "\x01"};
    ace_random *random = ace_random_seeded((uint64_t)_i);
    size_t agreed = 0;
    for (int round = 0, last = rounds(150000); round < last; round++) {
        char text[64] = "";
        size_t length = 0;
        for (uint64_t left = 1 + ace_random_next(random) % 8; left > 0; left--) {
            const char *piece = pieces[ace_random_next(random) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + length, piece, strlen(piece) + 1);
            length += strlen(piece);
        }
        json_t *read = json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
        bool is_json = ace_json_check(ace_bytes_of(text), NULL) == ACE_OK;
        ck_assert_msg((read != NULL) == is_json, "%s", text);
        agreed += is_json ? 1 : 0;
        json_decref(read);
    }
    ck_assert_uint_gt(agreed, (size_t)rounds(1000));
    ace_random_free(random);
}
END_TEST

START_TEST(levels_may_close_and_open_again)
{
    ace_buffer text = ACE_BUFFER_INIT;
    ck_assert(ace_buffer_append_text(&text, "[0"));
    for (int i = 0; i < 5000; i++) {
        ck_assert(ace_buffer_append_text(&text, i % 2 == 0 ? ",[{\"a\":[]}]" : ",{\"b\":[{}]}"));
    }
    ck_assert(ace_buffer_append_text(&text, "]"));
    ace_bytes body = {text.data, text.length};
    ck_assert_int_eq(ace_json_check(body, NULL), ACE_OK);
    body.length--;
    ck_assert_int_eq(ace_json_check(body, NULL), ACE_DECODE);
    ace_buffer_free(&text);
}
END_TEST

START_TEST(every_prefix_of_an_object_is_refused)
{
    static const char text[] = "{\"id\":[1,\"\\u00e9\",{\"x\":null}],\"y\":-1.5e3}";
    for (size_t length = 0; length < sizeof text - 1; length++) {
        ace_bytes body = {(const uint8_t *)text, length};
        ck_assert_int_eq(ace_json_check(body, NULL), ACE_DECODE);
    }
    ck_assert_int_eq(ace_json_check(ace_bytes_of(text), NULL), ACE_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec json");
    TCase *tests = tcase_create("json");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, any_json_value_decodes, 0, (int)(sizeof taken / sizeof taken[0]));
    tcase_add_loop_test(tests, what_is_not_json_is_refused_with_its_place, 0,
                        (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(tests, a_nul_byte_ends_nothing_and_is_not_json);
    tcase_add_loop_test(tests, the_message_says_where_and_what, 0,
                        (int)(sizeof places / sizeof places[0]));
    tcase_add_loop_test(tests, jansson_agrees_on_random_texts, 0, 3);
    tcase_add_test(tests, levels_may_close_and_open_again);
    tcase_add_test(tests, nesting_is_limited);
    tcase_add_test(tests, every_prefix_of_an_object_is_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
