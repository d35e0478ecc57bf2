/* Ranges of connect options that depend on more than one number. */
#include "acemq/acemq.h"

#include <check.h>
#include <stdlib.h>

static void takes(const acemq_connect_options *options)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_connect("memory://connect-options", options, &mq, &error);
    ck_assert_msg(status == ACEMQ_OK, "%s", acemq_error_message(error));
    acemq_connection_free(mq);
}

/* Whoever reads the field looks for the option of that name. */
static void refuses(const acemq_connect_options *options, const char *field, int64_t limit)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    ck_assert_int_eq(acemq_connect("memory://connect-options", options, &mq, &error),
                     ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_str_eq(acemq_error_field(error), field);
    ck_assert_int_eq(acemq_error_limit(error), limit);
    ck_assert_ptr_null(mq);
    acemq_error_free(error);
}

START_TEST(a_frame_max_is_the_brokers_or_4096_and_more)
{
    const int32_t refused[] = {-1, 1, 4095};
    const int32_t taken[] = {0, 4096, INT32_MAX};
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        options.frame_max = refused[i];
        refuses(&options, "frame_max", 4096);
    }
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        options.frame_max = taken[i];
        takes(&options);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi connect options");
    TCase *ranges = tcase_create("ranges");
    tcase_set_timeout(ranges, 60);
    tcase_add_test(ranges, a_frame_max_is_the_brokers_or_4096_and_more);
    suite_add_tcase(suite, ranges);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
