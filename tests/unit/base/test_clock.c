#include "base/clock.h"

#include "base/thread.h"

#include <check.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

START_TEST(the_system_clock_moves_and_never_back)
{
    ace_clock *clock = ace_clock_system();
    int64_t before = ace_clock_monotonic(clock);
    struct timespec nap = {.tv_nsec = 20000000};
    nanosleep(&nap, NULL);
    int64_t passed = ace_clock_monotonic(clock) - before;
    ck_assert_int_ge(passed, 19);
    ck_assert_int_lt(passed, 10000);
    ck_assert_int_le(llabs((long long)time(NULL) * 1000 - ace_clock_wall(clock)), 2000);
    ace_clock_advance(clock, 1000000);
    ck_assert_int_lt(ace_clock_monotonic(clock) - before, 20000);
    ace_clock_free(clock);
    ace_clock_free(NULL);
}
END_TEST

START_TEST(the_poll_timeout_reaches_the_deadline_and_fits_an_int)
{
    ace_clock *clock = ace_clock_system();
    int64_t now = ace_clock_monotonic(clock);
    ck_assert_int_eq(ace_clock_poll_timeout(clock, ACE_NEVER), -1);
    ck_assert_int_eq(ace_clock_poll_timeout(clock, now), 0);
    ck_assert_int_eq(ace_clock_poll_timeout(clock, INT64_MIN), 0);
    int timeout = ace_clock_poll_timeout(clock, now + 60000);
    ck_assert_int_gt(timeout, 50000);
    ck_assert_int_le(timeout, 60000);
    ck_assert_int_eq(ace_clock_poll_timeout(clock, ACE_NEVER - 1), INT_MAX);

    ace_clock *manual = ace_clock_manual(100, 5);
    ck_assert_int_eq(ace_clock_poll_timeout(manual, 100), 0);
    ck_assert_int_eq(ace_clock_poll_timeout(manual, 101), -1);
    ck_assert_int_eq(ace_clock_poll_timeout(manual, ACE_NEVER), -1);
    ace_clock_free(manual);
}
END_TEST

static void count_wake(void *user)
{
    atomic_int *count = user;
    atomic_fetch_add(count, 1);
}

START_TEST(a_manual_clock_stands_until_it_is_advanced)
{
    ace_clock *clock = ace_clock_manual(1000, 1770091506000);
    ck_assert_int_eq(ace_clock_monotonic(clock), 1000);
    ck_assert_int_eq(ace_clock_wall(clock), 1770091506000);
    atomic_int first = 0;
    atomic_int second = 0;
    ck_assert_int_eq(ace_clock_watch(clock, count_wake, &first), 0);
    ck_assert_int_eq(ace_clock_watch(clock, count_wake, &second), 0);
    ace_clock_advance(clock, 250);
    ck_assert_int_eq(ace_clock_monotonic(clock), 1250);
    ck_assert_int_eq(ace_clock_wall(clock), 1770091506250);
    ace_clock_unwatch(clock, count_wake, &first);
    ace_clock_unwatch(clock, count_wake, &first);
    ace_clock_advance(clock, 0);
    ck_assert_int_eq(first, 1);
    ck_assert_int_eq(second, 2);
    ace_clock_free(clock);
}
END_TEST

typedef struct sleeper {
    ace_clock *clock;
    ace_mutex lock;
    ace_condition changed;
    int64_t wanted;
    int64_t woken_at;
    ace_thread thread;
} sleeper;

static void wake_sleeper(void *user)
{
    sleeper *self = user;
    ace_mutex_lock(&self->lock);
    ace_condition_signal(&self->changed);
    ace_mutex_unlock(&self->lock);
}

static void sleep_on_clock(void *user)
{
    sleeper *self = user;
    ck_assert_int_eq(ace_clock_watch(self->clock, wake_sleeper, self), 0);
    ace_mutex_lock(&self->lock);
    while (ace_clock_monotonic(self->clock) < self->wanted) {
        ace_condition_wait(&self->changed, &self->lock);
    }
    self->woken_at = ace_clock_monotonic(self->clock);
    ace_mutex_unlock(&self->lock);
    ace_clock_unwatch(self->clock, wake_sleeper, self);
}

static void advance_often(void *user)
{
    for (int i = 0; i < 2000; i++) {
        ace_clock_advance(user, 1);
    }
}

START_TEST(watchers_on_two_threads_wake_while_two_others_advance)
{
    ace_clock *clock = ace_clock_manual(0, 0);
    sleeper sleepers[2];
    for (int i = 0; i < 2; i++) {
        sleepers[i].clock = clock;
        sleepers[i].wanted = 3000 + i * 1000;
        ck_assert_int_eq(ace_mutex_init(&sleepers[i].lock, NULL), ACE_OK);
        ck_assert_int_eq(ace_condition_init(&sleepers[i].changed, NULL), ACE_OK);
        ck_assert_int_eq(
            ace_thread_start(&sleepers[i].thread, "sleeper", sleep_on_clock, &sleepers[i], NULL),
            ACE_OK);
    }
    ace_thread advancers[2];
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(ace_thread_start(&advancers[i], "advancer", advance_often, clock, NULL),
                         ACE_OK);
    }
    for (int i = 0; i < 2; i++) {
        ace_thread_join(&advancers[i]);
    }
    ck_assert_int_eq(ace_clock_monotonic(clock), 4000);
    ck_assert_int_eq(ace_clock_wall(clock), 4000);
    for (int i = 0; i < 2; i++) {
        ace_thread_join(&sleepers[i].thread);
        ck_assert_int_ge(sleepers[i].woken_at, sleepers[i].wanted);
        ace_condition_destroy(&sleepers[i].changed);
        ace_mutex_destroy(&sleepers[i].lock);
    }
    ace_clock_free(clock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base clock");
    TCase *tests = tcase_create("clock");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_system_clock_moves_and_never_back);
    tcase_add_test(tests, the_poll_timeout_reaches_the_deadline_and_fits_an_int);
    tcase_add_test(tests, a_manual_clock_stands_until_it_is_advanced);
    tcase_add_test(tests, watchers_on_two_threads_wake_while_two_others_advance);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
