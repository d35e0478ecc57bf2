/* Ranges of connect options that depend on more than one number. */
#include "client.h"
#include "engine/connection.h"

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

START_TEST(a_longest_wait_below_the_first_is_refused)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.reconnect_initial = 101;
    options.reconnect_max = 100;
    refuses(&options, "reconnect_max", 101);
    options.reconnect_initial = ACEMQ_DAY;
    options.reconnect_max = ACEMQ_DAY - 1;
    refuses(&options, "reconnect_max", ACEMQ_DAY);
    options.reconnect_max = -1;
    refuses(&options, "reconnect_max", 0);
}
END_TEST

/* In ms; as a default has no mark, whoever writes it down is treated as who did not. */
static const struct {
    int64_t initial;
    int64_t most;
    int64_t first;
    int64_t longest;
} waits[] = {
    {500, 30000, 500, 30000},     /* the defaults */
    {100, 100, 100, 100},         /* both given */
    {60000, 30000, 60000, 60000}, /* only the first, over the default of the longest */
    {500, 100, 100, 100},         /* only the longest, below the default of the first */
    {100, 0, 100, 100},           {500, 0, 500, 500},
};

START_TEST(a_wait_that_has_its_default_gives_way_to_the_other)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_connection *mq = NULL;
    options.reconnect_initial = waits[_i].initial;
    options.reconnect_max = waits[_i].most;
    ck_assert_int_eq(acemq_connect("memory://connect-options", &options, &mq, NULL), ACEMQ_OK);
    ck_assert_int_eq(mq->settings.reconnect_initial, waits[_i].first);
    ck_assert_int_eq(mq->settings.reconnect_limit, waits[_i].longest);
    ck_assert(mq->settings.reconnect);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(where_nothing_comes_back_any_longest_wait_will_do)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.reconnect_initial = 0;
    options.reconnect_max = 1;
    takes(&options);
    options.reconnect_max = 0;
    takes(&options);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi connect options");
    TCase *ranges = tcase_create("ranges");
    tcase_set_timeout(ranges, 60);
    tcase_add_test(ranges, a_frame_max_is_the_brokers_or_4096_and_more);
    tcase_add_test(ranges, a_longest_wait_below_the_first_is_refused);
    tcase_add_loop_test(ranges, a_wait_that_has_its_default_gives_way_to_the_other, 0,
                        (int)(sizeof waits / sizeof waits[0]));
    tcase_add_test(ranges, where_nothing_comes_back_any_longest_wait_will_do);
    suite_add_tcase(suite, ranges);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
