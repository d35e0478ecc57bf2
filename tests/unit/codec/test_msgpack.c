#include "codec/msgpack.h"

#include "base/random.h"
#include "support/rounds.h"

#include <check.h>
#include <jansson.h>
#include <msgpack.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BODY(text)                                                                                 \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }

typedef struct printed_row {
    ace_bytes body;
    const char *json;
} printed_row;

static const printed_row printed_rows[] = {
    {BODY("\xc0"), "null"},
    {BODY("\xc2"), "false"},
    {BODY("\xc3"), "true"},
    {BODY("\x00"), "0"},
    {BODY("\x7f"), "127"},
    {BODY("\xe0"), "-32"},
    {BODY("\xff"), "-1"},
    {BODY("\xcc\xff"), "255"},
    {BODY("\xcd\xff\xff"), "65535"},
    {BODY("\xce\xff\xff\xff\xff"), "4294967295"},
    {BODY("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615"},
    {BODY("\xd0\x80"), "-128"},
    {BODY("\xd1\x80\x00"), "-32768"},
    {BODY("\xd2\x80\x00\x00\x00"), "-2147483648"},
    {BODY("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), "-9223372036854775808"},
    {BODY("\xca\x3f\xc0\x00\x00"), "1.5"},
    {BODY("\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.10000000000000001"},
    {BODY("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"), "null"},
    {BODY("\xca\xff\x80\x00\x00"), "null"},
    {BODY("\xa0"), "\"\""},
    {BODY("\xa3"
          "a\"\\"),
     "\"a\\\"\\\\\""},
    {BODY("\xa6\n\r\t\x1b\x7f\x00"), "\"\\n\\r\\t\\u001b\\u007f\\u0000\""},
    {BODY("\xa5z\xc3\xb6\xff."), "\"z\xc3\xb6\xef\xbf\xbd.\""},
    {BODY("\xa2\xc2\x9b"), "\"\\u009b\""},
    {BODY("\xd9\x01x"), "\"x\""},
    {BODY("\xda\x00\x01x"), "\"x\""},
    {BODY("\xdb\x00\x00\x00\x01x"), "\"x\""},
    {BODY("\xc4\x00"), "{\"base64\": \"\"}"},
    {BODY("\xc4\x01"
          "f"),
     "{\"base64\": \"Zg==\"}"},
    {BODY("\xc5\x00\x02"
          "fo"),
     "{\"base64\": \"Zm8=\"}"},
    {BODY("\xc6\x00\x00\x00\x03"
          "\xfb\xff\xfe"),
     "{\"base64\": \"+//+\"}"},
    {BODY("\x90"), "[]"},
    {BODY("\x93\x01\xa1"
          "a\xc0"),
     "[1, \"a\", null]"},
    {BODY("\xdc\x00\x01\x90"), "[[]]"},
    {BODY("\xdd\x00\x00\x00\x00"), "[]"},
    {BODY("\x80"), "{}"},
    {BODY("\x82\xa2id\x07\x93\x01\x02\x03\x80"), "{\"id\": 7, \"[1, 2, 3]\": {}}"},
    {BODY("\x81\xc0\xc3"), "{\"null\": true}"},
    {BODY("\xde\x00\x01\x01\x02"), "{\"1\": 2}"},
    {BODY("\xdf\x00\x00\x00\x01\x01\x02"), "{\"1\": 2}"},
    {BODY("\xd4\x05\x00"), "{\"ext\": 5, \"base64\": \"AA==\"}"},
    {BODY("\xc7\x00\x80"), "{\"ext\": -128, \"base64\": \"\"}"},
    {BODY("\xd6\xff\x69\x81\x73\x72"), "\"2026-02-03T04:02:58Z\""},
    {BODY("\xd6\xff\xff\xff\xff\xff"), "\"2106-02-07T06:28:15Z\""},
    {BODY("\xd7\xff\x00\x00\x00\x04\x00\x00\x00\x00"), "\"1970-01-01T00:00:00.000000001Z\""},
    {BODY("\xd7\xff\xee\x6b\x27\xfc\x00\x00\x00\x00"), "\"1970-01-01T00:00:00.999999999Z\""},
    {BODY("\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"),
     "\"1969-12-31T23:59:59Z\""},
    {BODY("\xc7\x0c\xff\x00\x00\x00\x01\x80\x00\x00\x00\x00\x00\x00\x00"),
     "{\"seconds\": -9223372036854775808, \"nanoseconds\": 1}"},
};

START_TEST(a_value_prints_as_json_on_one_line)
{
    const printed_row *row = &printed_rows[_i];
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert(ace_buffer_append_text(&out, "> "));
    ace_error *error = NULL;
    ace_code code = ace_msgpack_to_json(row->body, &out, &error);
    ck_assert_msg(code == ACE_OK, "row %d: %s", _i, ace_error_message(error));
    char *text = ace_buffer_take_text(&out);
    ck_assert_int_eq(strncmp(text, "> ", 2), 0);
    ck_assert_str_eq(text + 2, row->json);
    json_t *read =
        json_loads(text + 2, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    ck_assert_msg(read != NULL, "not JSON: %s", text);
    json_decref(read);
    free(text);
}
END_TEST

typedef struct refused_row {
    ace_bytes body;
    const char *reason;
} refused_row;

static const refused_row refused_rows[] = {
    {BODY(""), "not MessagePack: the body is empty"},
    {BODY("\xc1"), "not MessagePack: byte 1 is 0xc1, which starts no value"},
    {BODY("\x91\xc1"), "not MessagePack: byte 2 is 0xc1, which starts no value"},
    {BODY("\xdd\x0f\xff\xff\xff"),
     "not MessagePack: 268435455 values are claimed where 0 bytes are left"},
    {BODY("\xdd\xff\xff\xff\xff\x00"),
     "not MessagePack: 4294967295 values are claimed where 1 bytes are left"},
    {BODY("\xdf\xff\xff\xff\xff\x00"),
     "not MessagePack: 8589934590 values are claimed where 1 bytes are left"},
    {BODY("\xdc\x00\x03\x00\x00"), "not MessagePack: 3 values are claimed where 2 bytes are left"},
    {BODY("\xde\x00\x01\x00"), "not MessagePack: 2 values are claimed where 1 bytes are left"},
    {BODY("\x92\x91\x00"), "not MessagePack: the body ends inside a value, after 3 bytes"},
    {BODY("\xdb\xff\xff\xff\xff"
          "abc"),
     "not MessagePack: a value of 4294967295 bytes is claimed where 3 are left"},
    {BODY("\xc6\x7f\xff\xff\xff"),
     "not MessagePack: a value of 2147483647 bytes is claimed where 0 are left"},
    {BODY("\xc9\xff\xff\xff\xff\x01\x00"),
     "not MessagePack: a value of 4294967295 bytes is claimed where 1 are left"},
    {BODY("\xa3"
          "ab"),
     "not MessagePack: a value of 3 bytes is claimed where 2 are left"},
    {BODY("\xcd\x00"), "not MessagePack: a value of 2 bytes is claimed where 1 are left"},
    {BODY("\xda\x00"), "not MessagePack: the body ends inside a value, after 2 bytes"},
    {BODY("\xd4"), "not MessagePack: the body ends inside a value, after 1 bytes"},
    {BODY("\x01\x02"), "not MessagePack: 1 bytes follow the value"},
    {BODY("\x90\x90\x90"), "not MessagePack: 2 bytes follow the value"},
    {BODY("{\"id\":7}"), "not MessagePack: 7 bytes follow the value"},
    {BODY("\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00"),
     "not MessagePack: a timestamp with 1000000000 nanoseconds"},
    {BODY("\xd7\xff\xff\xff\xff\xfc\x00\x00\x00\x00"),
     "not MessagePack: a timestamp with 1073741823 nanoseconds"},
    {BODY("\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
     "not MessagePack: a timestamp with 1000000000 nanoseconds"},
    {BODY("\xd4\xff\x00"), "not MessagePack: a timestamp of 1 bytes, it may have 4, 8 or 12"},
    {BODY("\x91\xc7\x00\xff"), "not MessagePack: a timestamp of 0 bytes, it may have 4, 8 or 12"},
};

START_TEST(what_is_not_one_whole_value_is_refused_with_its_reason)
{
    const refused_row *row = &refused_rows[_i];
    ace_error *error = NULL;
    ck_assert_int_eq(ace_msgpack_check(row->body, &error), ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error), row->reason);
    ace_error_free(error);
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert(ace_buffer_append_text(&out, "kept"));
    ck_assert_int_eq(ace_msgpack_to_json(row->body, &out, NULL), ACE_DECODE);
    ck_assert_uint_eq(out.length, 4);
    ace_buffer_free(&out);
}
END_TEST

START_TEST(a_claimed_count_allocates_nothing_before_it_is_refused)
{
    /* 32 nested claims of 2^32 - 1 elements, each of which would be 100 GB. */
    ace_buffer bomb = ACE_BUFFER_INIT;
    for (int i = 0; i < 32; i++) {
        ck_assert(ace_buffer_append(&bomb, "\xdd\xff\xff\xff\xff", 5));
    }
    ace_bytes body = {bomb.data, bomb.length};
    ck_assert_int_eq(ace_msgpack_check(body, NULL), ACE_DECODE);
    ck_assert_int_eq(ace_msgpack_to_json(body, &bomb, NULL), ACE_DECODE);
    ace_buffer_free(&bomb);
}
END_TEST

static ace_code check_nested(char open, bool is_map, size_t levels)
{
    ace_buffer text = ACE_BUFFER_INIT;
    for (size_t i = 0; i < levels; i++) {
        ck_assert(ace_buffer_append(&text, &open, 1));
        ck_assert(!is_map || ace_buffer_append(&text, "\x01", 1));
    }
    ck_assert(ace_buffer_append(&text, "\xc0", 1));
    ace_bytes body = {text.data, text.length};
    ace_code code = ace_msgpack_check(body, NULL);
    ace_buffer printed = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_msgpack_to_json(body, &printed, NULL), code);
    ace_buffer_free(&printed);
    ace_buffer_free(&text);
    return code;
}

START_TEST(thirty_two_levels_are_read_and_thirty_three_are_not)
{
    ck_assert_int_eq(check_nested('\x91', false, 32), ACE_OK);
    ck_assert_int_eq(check_nested('\x91', false, 33), ACE_DECODE);
    ck_assert_int_eq(check_nested('\x81', true, 32), ACE_OK);
    ck_assert_int_eq(check_nested('\x81', true, 33), ACE_DECODE);
    ck_assert_int_eq(check_nested('\x91', false, (size_t)rounds(1000000)), ACE_DECODE);
}
END_TEST

START_TEST(closing_a_level_makes_room_for_another)
{
    /* A hundred arrays side by side, 31 levels down. */
    ace_buffer text = ACE_BUFFER_INIT;
    for (int i = 0; i < 30; i++) {
        ck_assert(ace_buffer_append(&text, "\x91", 1));
    }
    ck_assert(ace_buffer_append(&text, "\xdc\x00\x64", 3));
    for (int i = 0; i < 100; i++) {
        ck_assert(ace_buffer_append(&text, i % 2 ? "\x91\x01" : "\x80", i % 2 ? 2 : 1));
    }
    ace_bytes body = {text.data, text.length};
    ck_assert_int_eq(ace_msgpack_check(body, NULL), ACE_OK);
    ck_assert(ace_buffer_append(&text, "\x01", 1));
    ace_bytes longer = {text.data, text.length};
    ck_assert_int_eq(ace_msgpack_check(longer, NULL), ACE_DECODE);
    ace_buffer_free(&text);
}
END_TEST

static bool msgpack_c_takes_all(ace_bytes body)
{
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    size_t offset = 0;
    msgpack_unpack_return result =
        msgpack_unpack_next(&unpacked, (const char *)body.data, body.length, &offset);
    msgpack_unpacked_destroy(&unpacked);
    return (result == MSGPACK_UNPACK_SUCCESS || result == MSGPACK_UNPACK_EXTRA_BYTES) &&
           offset == body.length;
}

static void check_one_body(ace_bytes body)
{
    ace_code code = ace_msgpack_check(body, NULL);
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_msgpack_to_json(body, &out, NULL), code);
    if (code != ACE_OK) {
        ck_assert_uint_eq(out.length, 0);
        return;
    }
    ck_assert(msgpack_c_takes_all(body));
    /* Keys may come twice, and need not be strings with code points only. */
    json_t *read = json_loadb((const char *)out.data, out.length,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    if (read == NULL) {
        ck_assert_ptr_nonnull(memmem(out.data, out.length, "\\u0000", 6));
    }
    json_decref(read);
    ace_buffer_free(&out);
}

/* What our check takes, msgpack-c takes and the printer prints. Small counts are preferred, so that
 * many of the random bodies are whole. */
START_TEST(every_body_that_passes_is_one_for_msgpack_c)
{
    static const uint8_t heads[] = {0x00, 0x80, 0x81, 0x82, 0x90, 0x91, 0x92, 0xa0, 0xa1, 0xa2,
                                    0xc0, 0xc2, 0xc4, 0xc7, 0xca, 0xcb, 0xcc, 0xd0, 0xd4, 0xd6,
                                    0xd7, 0xd9, 0xdc, 0xde, 0xdd, 0xdf, 0xff, 0x01, 0x02, 0x03};
    ace_random *random = ace_random_seeded((uint64_t)_i);
    size_t passed = 0;
    for (int round = 0, last = rounds(20000); round < last; round++) {
        uint8_t bytes[24];
        size_t length = 1 + ace_random_next(random) % sizeof bytes;
        for (size_t i = 0; i < length; i++) {
            uint64_t next = ace_random_next(random);
            bytes[i] = next % 4 == 0 ? (uint8_t)(next >> 8) : heads[(next >> 8) % sizeof heads];
        }
        /* All prefixes: most random bodies that are whole have something after them. */
        for (size_t end = 1; end <= length; end++) {
            ace_bytes body = {bytes, end};
            if (ace_msgpack_check(body, NULL) == ACE_OK) {
                check_one_body(body);
                passed++;
                break;
            }
        }
        ace_bytes whole = {bytes, length};
        check_one_body(whole);
    }
    ck_assert_uint_gt(passed, (size_t)rounds(3000));
    ace_random_free(random);
}
END_TEST

START_TEST(maps_that_are_keys_of_maps_do_not_grow_without_bound)
{
    enum { MAPS = 30 };
    uint8_t bytes[2 * MAPS + 1];
    memset(bytes, 0x81, MAPS);
    bytes[MAPS] = 0x01;
    memset(bytes + MAPS + 1, 0xc0, MAPS);
    ace_buffer out = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_msgpack_to_json((ace_bytes){bytes, sizeof bytes}, &out, NULL), ACE_OK);
    char *text = ace_buffer_take_text(&out);
    ck_assert_str_eq(text, "{\"{\\\"...\\\": null}\": null}");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codec msgpack");
    TCase *tests = tcase_create("msgpack");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_value_prints_as_json_on_one_line, 0,
                        (int)(sizeof printed_rows / sizeof printed_rows[0]));
    tcase_add_loop_test(tests, what_is_not_one_whole_value_is_refused_with_its_reason, 0,
                        (int)(sizeof refused_rows / sizeof refused_rows[0]));
    tcase_add_test(tests, a_claimed_count_allocates_nothing_before_it_is_refused);
    tcase_add_test(tests, thirty_two_levels_are_read_and_thirty_three_are_not);
    tcase_add_test(tests, closing_a_level_makes_room_for_another);
    tcase_add_test(tests, maps_that_are_keys_of_maps_do_not_grow_without_bound);
    tcase_add_loop_test(tests, every_body_that_passes_is_one_for_msgpack_c, 0, 3);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
