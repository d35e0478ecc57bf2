#include "base/utf8.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t encode(uint32_t point, char out[4])
{
    unsigned char *bytes = (unsigned char *)out;
    if (point < 0x80) {
        bytes[0] = (unsigned char)point;
        return 1;
    }
    if (point < 0x800) {
        bytes[0] = (unsigned char)(0xc0 | point >> 6);
        bytes[1] = (unsigned char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        bytes[0] = (unsigned char)(0xe0 | point >> 12);
        bytes[1] = (unsigned char)(0x80 | (point >> 6 & 0x3f));
        bytes[2] = (unsigned char)(0x80 | (point & 0x3f));
        return 3;
    }
    bytes[0] = (unsigned char)(0xf0 | point >> 18);
    bytes[1] = (unsigned char)(0x80 | (point >> 12 & 0x3f));
    bytes[2] = (unsigned char)(0x80 | (point >> 6 & 0x3f));
    bytes[3] = (unsigned char)(0x80 | (point & 0x3f));
    return 4;
}

START_TEST(every_code_point_but_surrogates_reads)
{
    for (uint32_t point = 0; point < 0x140000; point++) {
        char text[4];
        size_t width = encode(point, text);
        bool wanted = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
        if (ace_utf8_is_valid(text, width) != wanted) {
            ck_abort_msg("U+%04X", point);
        }
        if (wanted && ace_utf8_width(text, width) != width) {
            ck_abort_msg("width of U+%04X", point);
        }
    }
}
END_TEST

/* Counting tells: of all texts of one, two and three bytes exactly the code points' encodings and
 * their sequences may pass. */
START_TEST(every_other_text_of_up_to_three_bytes_is_refused)
{
    const size_t one = 128, two = 1920, three = 0x10000 - 0x800 - 0x800;
    size_t valid = 0;
    char text[3];
    for (int first = 0; first < 256; first++) {
        text[0] = (char)first;
        valid += ace_utf8_is_valid(text, 1);
    }
    ck_assert_uint_eq(valid, one);
    valid = 0;
    for (int all = 0; all < 65536; all++) {
        text[0] = (char)(all >> 8);
        text[1] = (char)all;
        valid += ace_utf8_is_valid(text, 2);
    }
    ck_assert_uint_eq(valid, one * one + two);
    valid = 0;
    for (int all = 0; all < 1 << 24; all++) {
        text[0] = (char)(all >> 16);
        text[1] = (char)(all >> 8);
        text[2] = (char)all;
        valid += ace_utf8_is_valid(text, 3);
    }
    ck_assert_uint_eq(valid, one * one * one + 2 * one * two + three);
}
END_TEST

START_TEST(the_overlong_the_truncated_and_the_too_high_are_refused)
{
    static const char *const refused[] = {
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xe2\x82",
        "\xf0\x9f\x90",
        "\x80",
        "\xbf",
        "\xfe",
        "\xff",
        "a\xc3",
        "\xc3(",
        "\xe2(\xa1",
        "\xf0\x9f(\x87",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ck_assert_msg(!ace_utf8_is_valid(refused[i], strlen(refused[i])), "row %zu", i);
    }
    ck_assert(ace_utf8_is_valid("", 0));
    ck_assert(ace_utf8_is_valid(NULL, 0));
    ck_assert(ace_utf8_is_valid("a\0b", 3));
    ck_assert_uint_eq(ace_utf8_width("", 0), 0);
    ck_assert_uint_eq(ace_utf8_valid_prefix("ab\xff"
                                            "cd",
                                            5),
                      2);
}
END_TEST

START_TEST(a_cut_never_splits_a_code_point)
{
    const char *text = "a\xc3\xa9"
                       "b\xe2\x82\xac\xf0\x9f\x90\x87z";
    size_t length = strlen(text);
    for (size_t limit = 0; limit <= length + 2; limit++) {
        size_t cut = ace_utf8_cut(text, length, limit);
        ck_assert_uint_le(cut, limit);
        ck_assert_uint_le(cut, length);
        ck_assert(ace_utf8_is_valid(text, cut));
        /* Not a byte less than needed: the next code point would not fit any more. */
        if (cut < length) {
            ck_assert_uint_gt(cut + ace_utf8_width(text + cut, length - cut), limit);
        }
    }
    ck_assert_uint_eq(ace_utf8_cut("\x80\x80\x80\x80\x80", 5, 4), 4);
    ck_assert_uint_eq(ace_utf8_cut("abc\xc3(", 5, 4), 4);
}
END_TEST

START_TEST(a_cleaned_line_is_printable)
{
    for (int byte = 1; byte < 256; byte++) {
        char text[4] = {'<', (char)byte, '>', '\0'};
        ace_utf8_clean_line(text);
        char wanted = (char)byte;
        if (byte < 0x20 || byte == 0x7f) {
            wanted = ' ';
        } else if (byte > 0x7f) {
            wanted = '?';
        }
        ck_assert_int_eq(text[1], wanted);
        ck_assert_int_eq(text[2], '>');
    }
    for (int point = 0x80; point < 0x100; point++) {
        char text[5] = {0};
        encode((uint32_t)point, text);
        ace_utf8_clean_line(text);
        ck_assert_int_eq(strcmp(text, "  ") == 0, point < 0xa0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base utf8");
    TCase *tests = tcase_create("utf8");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_code_point_but_surrogates_reads);
    tcase_add_test(tests, every_other_text_of_up_to_three_bytes_is_refused);
    tcase_add_test(tests, the_overlong_the_truncated_and_the_too_high_are_refused);
    tcase_add_test(tests, a_cut_never_splits_a_code_point);
    tcase_add_test(tests, a_cleaned_line_is_printable);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
