/* What an application may give one message as headers: below, at and above each limit. */
#include "contract/limits.h"
#include "contract/table.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const ace_header_limits wide = {.bytes = UINT32_MAX, .entries = 65000, .depth = 32};

static void is_refused(const ace_table *table, const ace_header_limits *limits, const char *text)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_headers_check(&table->table, limits, &error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_message(error), text);
    ace_error_free(error);
}

static void passes(const ace_table *table, const ace_header_limits *limits)
{
    ck_assert_int_eq(ace_headers_check(&table->table, limits, NULL), ACE_OK);
}

static void fill(ace_table *table, int entries)
{
    char name[8] = "h";
    for (int i = 0; i < entries; i++) {
        name[1] = (char)('a' + i);
        ck_assert_int_eq(ace_table_set_int32(table, name, i, NULL), ACE_OK);
    }
}

START_TEST(headers_are_counted_up_to_their_limit)
{
    ace_header_limits limits = wide;
    limits.entries = 4;
    for (int count = 3; count <= 5; count++) {
        ace_table *table = ace_table_new();
        fill(table, count);
        if (count <= 4) {
            passes(table, &limits);
        } else {
            is_refused(table, &limits, "headers have 5 entries, the limit is 4");
        }
        ace_table_delete(table);
    }
    ck_assert_int_eq(ace_headers_check(NULL, &limits, NULL), ACE_OK);
}
END_TEST

START_TEST(entries_inside_tables_count_too)
{
    ace_header_limits limits = wide;
    ace_table *inner = ace_table_new();
    ace_table *outer = ace_table_new();
    fill(inner, 3);
    ck_assert_int_eq(ace_table_set_table(outer, "inner", &inner->table, NULL), ACE_OK);
    limits.entries = 4;
    passes(outer, &limits);
    limits.entries = 3;
    is_refused(outer, &limits, "headers have 4 entries, the limit is 3");
    ace_table_delete(inner);
    ace_table_delete(outer);
}
END_TEST

START_TEST(headers_are_measured_as_they_are_encoded)
{
    ace_header_limits limits = wide;
    ace_table *table = ace_table_new();
    fill(table, 2); /* four bytes of length, and each: length, two of name, kind, four of value */
    limits.bytes = 21;
    passes(table, &limits);
    limits.bytes = 20;
    passes(table, &limits);
    limits.bytes = 19;
    is_refused(table, &limits, "headers have 20 bytes, the limit is 19");
    ace_table_delete(table);
}
END_TEST

/* Tables inside one another, this one counted as the first. */
static ace_table *nested(int depth)
{
    ace_table *table = ace_table_new();
    fill(table, 1);
    for (int i = 1; i < depth; i++) {
        ace_table *around = ace_table_new();
        ck_assert_int_eq(ace_table_set_table(around, "t", &table->table, NULL), ACE_OK);
        ace_table_delete(table);
        table = around;
    }
    return table;
}

START_TEST(nesting_is_refused_over_its_limit)
{
    ace_header_limits limits = wide;
    limits.depth = 3;
    for (int depth = 2; depth <= 4; depth++) {
        ace_table *table = nested(depth);
        if (depth <= 3) {
            passes(table, &limits);
        } else {
            is_refused(table, &limits, "headers are nested 4 deep, the limit is 3");
        }
        ace_table_delete(table);
    }
    ace_table *deepest = nested(32);
    passes(deepest, &wide);
    ace_table_delete(deepest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("limits");
    TCase *tests = tcase_create("headers");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, headers_are_counted_up_to_their_limit);
    tcase_add_test(tests, entries_inside_tables_count_too);
    tcase_add_test(tests, headers_are_measured_as_they_are_encoded);
    tcase_add_test(tests, nesting_is_refused_over_its_limit);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
