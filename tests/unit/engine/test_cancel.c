#include "engine/cancel.h"

#include "base/clock.h"
#include "base/thread.h"
#include "engine/waiter.h"

#include <check.h>
#include <stdlib.h>
#include <time.h>

static int64_t now(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

static void pause_for(long milliseconds)
{
    struct timespec pause = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

START_TEST(a_wait_ends_with_the_completion)
{
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    ace_waiter_complete(&waiter);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ace_deadline_after(0), NULL), ACE_OK);
    ace_waiter_destroy(&waiter);
}
END_TEST

START_TEST(a_wait_ends_at_its_deadline)
{
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    int64_t before = now();
    ck_assert_int_eq(ace_waiter_wait(&waiter, ace_deadline_after(50), NULL), ACE_TIMEOUT);
    ck_assert_int_ge(now() - before, 50);
    ck_assert_int_lt(now() - before, 20000);
    ace_waiter_destroy(&waiter);
}
END_TEST

START_TEST(deadlines_neither_overflow_nor_go_back)
{
    ck_assert_int_eq(ace_deadline_after(INT64_MAX), ACE_NEVER);
    ck_assert_int_le(ace_deadline_after(-5), now());
    ck_assert_int_ge(ace_deadline_after(1000), now() + 900);
}
END_TEST

static void fire_soon(void *user)
{
    pause_for(30);
    ace_cancel_fire(user);
}

#define WAITERS 5

typedef struct waiting {
    ace_thread thread;
    ace_cancel *cancel;
    ace_code code;
} waiting;

static void wait_long(void *user)
{
    waiting *mine = user;
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    mine->code = ace_waiter_wait(&waiter, ACE_NEVER, mine->cancel);
    ace_waiter_destroy(&waiter);
}

START_TEST(firing_ends_every_wait_and_those_that_start_later_until_it_is_reset)
{
    ace_cancel *cancel = ace_cancel_new(NULL);
    waiting all[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        all[i] = (waiting){.cancel = cancel, .code = ACE_OK};
        ck_assert_int_eq(ace_thread_start(&all[i].thread, "wait", wait_long, &all[i], NULL),
                         ACE_OK);
    }
    ace_thread thread;
    ck_assert_int_eq(ace_thread_start(&thread, "fire", fire_soon, cancel, NULL), ACE_OK);
    ace_thread_join(&thread);
    for (int i = 0; i < WAITERS; i++) {
        ace_thread_join(&all[i].thread);
        ck_assert_int_eq(all[i].code, ACE_CANCELLED);
    }
    ck_assert(ace_cancel_fired(cancel));
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, cancel), ACE_CANCELLED);
    ace_cancel_reset(cancel);
    ck_assert(!ace_cancel_fired(cancel));
    ck_assert_int_eq(ace_waiter_wait(&waiter, ace_deadline_after(10), cancel), ACE_TIMEOUT);
    ace_waiter_complete(&waiter);
    ace_cancel_fire(cancel);
    /* A completion wins. */
    ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, cancel), ACE_OK);
    ace_waiter_destroy(&waiter);
    ace_cancel_release(cancel);
}
END_TEST

START_TEST(a_token_lives_as_long_as_somebody_holds_it)
{
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_ptr_eq(ace_cancel_keep(cancel), cancel);
    ace_cancel_release(cancel);
    ace_cancel_fire(cancel);
    ck_assert(ace_cancel_fired(cancel));
    ace_cancel_release(cancel);
    ace_cancel_release(NULL);
    ck_assert_ptr_null(ace_cancel_keep(NULL));
    ck_assert(!ace_cancel_fired(NULL));
}
END_TEST

typedef struct racing {
    ace_cancel *cancel;
    int rounds;
} racing;

static void fire_and_reset(void *user)
{
    racing *race = user;
    for (int i = 0; i < race->rounds; i++) {
        ace_cancel_fire(race->cancel);
        ace_cancel_reset(race->cancel);
    }
}

START_TEST(a_watch_that_was_removed_is_never_told)
{
    racing race = {ace_cancel_new(NULL), 20000};
    ace_thread thread;
    ck_assert_int_eq(ace_thread_start(&thread, "fire", fire_and_reset, &race, NULL), ACE_OK);
    /* Waiters on this stack come and go while the token fires: under the sanitizers a late call
     * shows. */
    for (int i = 0; i < 2000; i++) {
        ace_waiter waiter;
        ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
        ace_code code = ace_waiter_wait(&waiter, ace_deadline_after(0), race.cancel);
        ck_assert(code == ACE_TIMEOUT || code == ACE_CANCELLED);
        ace_waiter_destroy(&waiter);
    }
    ace_thread_join(&thread);
    ace_cancel_release(race.cancel);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cancel");
    TCase *tcase = tcase_create("cancel");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_wait_ends_with_the_completion);
    tcase_add_test(tcase, a_wait_ends_at_its_deadline);
    tcase_add_test(tcase, deadlines_neither_overflow_nor_go_back);
    tcase_add_test(tcase, firing_ends_every_wait_and_those_that_start_later_until_it_is_reset);
    tcase_add_test(tcase, a_token_lives_as_long_as_somebody_holds_it);
    tcase_add_test(tcase, a_watch_that_was_removed_is_never_told);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
