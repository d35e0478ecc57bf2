/* The registry's own text. */
#include "engine/metrics.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Attempts come from headers, which are anybody's. */
START_TEST(a_sum_of_any_size_is_written_as_a_number)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{9e12, "9000000000000"}, {1e13, "10000000000000"}, {-1e13, "-10000000000000"}};
    ace_metrics *metrics = NULL;
    ace_buffer text = ACE_BUFFER_INIT;
    char expected[100];
    ck_assert_int_eq(ace_metrics_new(10, NULL, NULL, NULL, &metrics, NULL), ACE_OK);
    ace_metrics_count(metrics, ACE_METRIC_CONSUME_ATTEMPTS, "q", NULL, rows[_i].value);
    ck_assert_int_eq(ace_metrics_prometheus(metrics, &text, NULL), ACE_OK);
    ck_assert(ace_buffer_append(&text, "", 1));
    snprintf(expected, sizeof expected, "acemq_consume_attempts_sum{queue=\"q\"} %s\n",
             rows[_i].text);
    ck_assert_msg(strstr((char *)text.data, expected) != NULL, "%s", text.data);
    ace_buffer_free(&text);
    ace_metrics_release(metrics);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, a_sum_of_any_size_is_written_as_a_number, 0, 3);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
