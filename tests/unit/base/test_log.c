#include "base/log.h"

#include "base/utf8.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct written {
    int lines;
    ace_log_level level;
    char line[4096];
} written;

static void write_line(ace_log_level level, const char *line, void *user)
{
    written *to = user;
    to->lines++;
    to->level = level;
    ck_assert_uint_lt(strlen(line), sizeof to->line);
    memcpy(to->line, line, strlen(line) + 1);
}

START_TEST(a_log_line_goes_to_its_owner_up_to_the_level)
{
    written to = {0};
    ace_log log = {write_line, &to, ACE_LOG_WARNING};
    ace_log_write(&log, ACE_LOG_INFO, "not wanted");
    ck_assert_int_eq(to.lines, 0);
    ace_log_write(&log, ACE_LOG_WARNING, "queue %s\nis gone", "orders");
    ck_assert_int_eq(to.lines, 1);
    ck_assert_int_eq(to.level, ACE_LOG_WARNING);
    ck_assert_str_eq(to.line, "queue orders is gone");
    ace_log silent = {NULL, NULL, ACE_LOG_DEBUG};
    ace_log_write(&silent, ACE_LOG_ERROR, "nobody hears");
    ace_log_write(NULL, ACE_LOG_ERROR, "nobody hears");
    ck_assert_int_eq(to.lines, 1);
}
END_TEST

START_TEST(a_long_log_line_is_cut_between_code_points)
{
    written to = {0};
    ace_log log = {write_line, &to, ACE_LOG_DEBUG};
    for (size_t start = 2040; start < 2060; start++) {
        char text[3000];
        memset(text, 'a', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        memcpy(text + start, "\xf0\x9f\x90\x87", 4);
        ace_log_write(&log, ACE_LOG_DEBUG, "%s", text);
        ck_assert_uint_le(strlen(to.line), 2047);
        ck_assert_uint_ge(strlen(to.line), 2044);
        ck_assert_ptr_null(strchr(to.line, '?'));
        ck_assert(ace_utf8_is_valid(to.line, strlen(to.line)));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base log");
    TCase *tests = tcase_create("log");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_log_line_goes_to_its_owner_up_to_the_level);
    tcase_add_test(tests, a_long_log_line_is_cut_between_code_points);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
