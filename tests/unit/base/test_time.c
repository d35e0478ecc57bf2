#include "base/time.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const char *text;
    int64_t seconds;
    int32_t nanoseconds;
} reading;

static const reading readings[] = {
    {"1996-12-19T16:39:57-08:00", 851042397, 0},
    {"2022-06-15T12:00:00-00:30", 1655296200, 0},
    {"1937-01-01T12:00:27.87+00:20", -1041337173, 870000000},
    {"9999-12-31T23:59:59Z", INT64_C(253402300799), 0},
    {"1970-01-01T00:00:00Z", 0, 0},
    {"1970-01-01T00:00:00-00:00", 0, 0},
    {"1970-01-01T00:00:00+00:00", 0, 0},
    {"1970-01-01T00:00:00+23:59", -86340, 0},
    {"1970-01-01T00:00:00-23:59", 86340, 0},
    {"1969-12-31T23:59:59Z", -1, 0},
    {"1969-12-31T23:59:59.5Z", -1, 500000000},
    {"0001-01-01T00:00:00Z", INT64_C(-62135596800), 0},
    {"0001-01-01T00:00:00+00:01", INT64_C(-62135596860), 0},
    {"9999-12-31T23:59:59.999999999-23:59", INT64_C(253402387139), 999999999},
    {"2026-02-03T04:05:06Z", 1770091506, 0},
    {"2026-02-03T04:05:06.789Z", 1770091506, 789000000},
    {"2026-02-03T04:05:06.1234567+00:00", 1770091506, 123456700},
    {"2026-02-03T04:05:06.1Z", 1770091506, 100000000},
    {"2026-02-03T04:05:06.000000001Z", 1770091506, 1},
    {"2026-02-03T04:05:06.9999999999Z", 1770091506, 999999999},
    {"2026-02-03T04:05:06.00000000099999999999999999999999999999Z", 1770091506, 0},
    {"2024-02-29T00:00:00Z", 1709164800, 0},
    {"2000-02-29T00:00:00Z", 951782400, 0},
    {"2038-01-19T03:14:08Z", INT64_C(2147483648), 0},
};

START_TEST(a_timestamp_reads_as_its_second)
{
    const reading *row = &readings[_i];
    ace_instant instant = {-7, -7};
    ace_error *error = NULL;
    ace_code code = ace_time_parse(row->text, strlen(row->text), &instant, &error);
    ck_assert_msg(code == ACE_OK, "%s: %s", row->text, ace_error_message(error));
    ck_assert_ptr_null(error);
    ck_assert_msg(instant.seconds == row->seconds, "%s: %" PRId64, row->text, instant.seconds);
    ck_assert_int_eq(instant.nanoseconds, row->nanoseconds);
}
END_TEST

typedef struct refusal {
    const char *text;
    size_t position; /* counted from 1 */
} refusal;

static const refusal refusals[] = {
    {"", 1},
    {" 2026-02-03T04:05:06Z", 1},
    {"2026-02-03T04:05:06Z ", 21},
    {"2026-02-03T04:05:06Z\n", 21},
    {"2026-02-03T04:05:06ZZ", 21},
    {"2026-02-03T04:05:06+01:00Z", 26},
    {"2026-02-03T04:05:06", 20},
    {"2026-02-03T04:05", 17},
    {"2026-02-03", 11},
    {"2026-02-03 04:05:06Z", 11},
    {"2026-02-03t04:05:06Z", 11},
    {"2026-02-03T04:05:06z", 20},
    {"2026-02-03T04:05:06,5Z", 20},
    {"2026-02-03T04:05:06.Z", 21},
    {"2026-02-03T04:05:06.", 21},
    {"2026-02-03T04:05:06.-5Z", 21},
    {"2026-02-03T04:05:60Z", 18},
    {"2026-02-03T04:60:06Z", 15},
    {"2026-02-03T24:00:00Z", 12},
    {"2016-12-31T23:59:60Z", 18},
    {"2026-02-29T00:00:00Z", 9},
    {"2100-02-29T00:00:00Z", 9},
    {"1900-02-29T00:00:00Z", 9},
    {"2024-02-30T00:00:00Z", 9},
    {"2026-04-31T00:00:00Z", 9},
    {"2026-01-32T00:00:00Z", 9},
    {"2026-01-00T00:00:00Z", 9},
    {"2026-00-01T00:00:00Z", 6},
    {"2026-13-01T00:00:00Z", 6},
    {"0000-01-01T00:00:00Z", 1},
    {"10000-01-01T00:00:00Z", 5},
    {"-001-01-01T00:00:00Z", 1},
    {"+2026-01-01T00:00:00Z", 1},
    {"202-01-01T00:00:00Z", 4},
    {"2026-1-01T00:00:00Z", 7},
    {"2026-01-1T00:00:00Z", 10},
    {"2026-01-01T0:00:00Z", 13},
    {"2026-01-01T00:0:00Z", 16},
    {"2026-01-01T00:00:0Z", 19},
    {"2026/01/01T00:00:00Z", 5},
    {"20260101T000000Z", 5},
    {"2026-01-01T00.00.00Z", 14},
    {"2026-01-01T00:00:00+24:00", 21},
    {"2026-01-01T00:00:00+23:60", 24},
    {"2026-01-01T00:00:00-24:00", 21},
    {"2026-01-01T00:00:00+1:00", 22},
    {"2026-01-01T00:00:00+01:0", 25},
    {"2026-01-01T00:00:00+0100", 23},
    {"2026-01-01T00:00:00+01", 23},
    {"2026-01-01T00:00:00+", 21},
    {"2026-01-01T00:00:00 +01:00", 20},
    {"2026-01-01T00:00:00UTC", 20},
    {"2026-01-01T00:00:00\xe2\x88\x92"
     "01:00",
     20},
    {"\xd9\xa2"
     "026-01-01T00:00:00Z",
     1},
};

START_TEST(what_is_not_exactly_rfc_3339_is_refused_with_its_position)
{
    const refusal *row = &refusals[_i];
    ace_instant instant = {-7, -7};
    ace_error *error = NULL;
    ck_assert_msg(ace_time_parse(row->text, strlen(row->text), &instant, &error) == ACE_PARSE,
                  "%s was taken", row->text);
    char start[64];
    snprintf(start, sizeof start, "position %zu: expected ", row->position);
    ck_assert_msg(strncmp(ace_error_message(error), start, strlen(start)) == 0, "%s: %s", row->text,
                  ace_error_message(error));
    ck_assert_int_eq(instant.seconds, -7);
    ck_assert_int_eq(instant.nanoseconds, -7);
    ace_error_free(error);
}
END_TEST

START_TEST(a_nul_inside_is_refused_and_the_length_is_obeyed)
{
    ace_instant instant;
    ck_assert_int_eq(ace_time_parse("2026-02-03T04:05:06Z\0", 21, &instant, NULL), ACE_PARSE);
    ck_assert_int_eq(ace_time_parse("2026-02-03T04:05:06Zxyz", 20, &instant, NULL), ACE_OK);
    ck_assert_int_eq(ace_time_parse(NULL, 0, &instant, NULL), ACE_PARSE);
}
END_TEST

/* Every prefix of a good text is refused, and so is it with any one byte changed to one that cannot
 * stand there. */
START_TEST(every_prefix_and_every_foreign_byte_is_refused)
{
    static const char text[] = "2026-02-03T04:05:06.25+01:30";
    const size_t length = sizeof text - 1;
    ace_instant instant;
    ck_assert_int_eq(ace_time_parse(text, length, &instant, NULL), ACE_OK);
    for (size_t cut = 0; cut < length; cut++) {
        ck_assert_int_eq(ace_time_parse(text, cut, &instant, NULL), ACE_PARSE);
    }
    for (size_t at = 0; at < length; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char changed[sizeof text];
            memcpy(changed, text, sizeof text);
            changed[at] = (char)byte;
            if ((byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == text[at]) {
                continue;
            }
            /* Z ends the text early, which leaves bytes after it; a point may not follow a point.
             */
            ck_assert_int_eq(ace_time_parse(changed, length, &instant, NULL), ACE_PARSE);
        }
    }
}
END_TEST

static int days_in_month_of(int year, int month)
{
    if (month == 2) {
        return year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) ? 29 : 28;
    }
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* A calendar that only ever counts one day further. */
START_TEST(every_day_of_the_calendar_formats_and_reads_back)
{
    int64_t day_start = INT64_C(-62135596800);
    size_t days = 0;
    for (int year = 1; year <= 9999; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= days_in_month_of(year, month); day++) {
                int64_t of_day = (int64_t)(days * 7919 % 86400);
                char wanted[40];
                snprintf(wanted, sizeof wanted, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day,
                         (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60));
                char text[ACE_TIME_LENGTH + 1];
                int64_t milliseconds = (day_start + of_day) * 1000 + (int64_t)(days % 1000);
                ace_instant instant;
                if (!ace_time_format(milliseconds, text) || strcmp(text, wanted) != 0) {
                    ck_abort_msg("%s wanted, %s written", wanted, text);
                }
                if (ace_time_parse(text, ACE_TIME_LENGTH, &instant, NULL) != ACE_OK ||
                    instant.seconds != day_start + of_day || instant.nanoseconds != 0) {
                    ck_abort_msg("%s did not read back", text);
                }
                day_start += 86400;
                days++;
            }
        }
    }
    ck_assert_uint_eq(days, 3652059);
}
END_TEST

START_TEST(a_stamp_is_truncated_towards_the_past)
{
    char text[ACE_TIME_LENGTH + 1];
    ck_assert(ace_time_format(1770091506999, text));
    ck_assert_str_eq(text, "2026-02-03T04:05:06Z");
    ck_assert(ace_time_format(-1, text));
    ck_assert_str_eq(text, "1969-12-31T23:59:59Z");
    ck_assert(ace_time_format(-1000, text));
    ck_assert_str_eq(text, "1969-12-31T23:59:59Z");
    ck_assert(ace_time_format(0, text));
    ck_assert_str_eq(text, "1970-01-01T00:00:00Z");
}
END_TEST

START_TEST(only_the_years_1_to_9999_are_written)
{
    char text[ACE_TIME_LENGTH + 1];
    ck_assert(ace_time_format(INT64_C(253402300799999), text));
    ck_assert_str_eq(text, "9999-12-31T23:59:59Z");
    ck_assert(!ace_time_format(INT64_C(253402300800000), text));
    ck_assert(ace_time_format(INT64_C(-62135596800000), text));
    ck_assert_str_eq(text, "0001-01-01T00:00:00Z");
    ck_assert(!ace_time_format(INT64_C(-62135596800001), text));
    ck_assert(!ace_time_format(INT64_MAX, text));
    ck_assert(!ace_time_format(INT64_MIN, text));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base time");
    TCase *tests = tcase_create("time");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, a_timestamp_reads_as_its_second, 0,
                        (int)(sizeof readings / sizeof readings[0]));
    tcase_add_loop_test(tests, what_is_not_exactly_rfc_3339_is_refused_with_its_position, 0,
                        (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tests, a_nul_inside_is_refused_and_the_length_is_obeyed);
    tcase_add_test(tests, every_prefix_and_every_foreign_byte_is_refused);
    tcase_add_test(tests, every_day_of_the_calendar_formats_and_reads_back);
    tcase_add_test(tests, a_stamp_is_truncated_towards_the_past);
    tcase_add_test(tests, only_the_years_1_to_9999_are_written);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
