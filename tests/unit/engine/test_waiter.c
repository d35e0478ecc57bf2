#include "engine/waiter.h"

#include "base/clock.h"

#include <check.h>
#include <semaphore.h>
#include <stdlib.h>

#define ROUNDS 3000

START_TEST(one_that_was_completed_before_does_not_wait_and_may_be_asked_again)
{
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    ace_waiter_complete(&waiter);
    ck_assert_int_eq(ace_waiter_wait(&waiter, 0, NULL), ACE_OK);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&waiter);
}
END_TEST

START_TEST(a_deadline_that_has_passed_ends_the_wait_and_a_later_one_finds_the_completion)
{
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    ck_assert_int_eq(ace_waiter_wait(&waiter, 0, NULL), ACE_TIMEOUT);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ace_deadline_after(5), NULL), ACE_TIMEOUT);
    ace_waiter_complete(&waiter);
    ace_waiter_finish(&waiter);
    ace_waiter_destroy(&waiter);
}
END_TEST

/* Each cancellation leaves a wake behind, and none of them may be taken for the completion's. */
START_TEST(any_number_of_cancellations_comes_before_one_completion)
{
    ace_waiter waiter;
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    ace_cancel_fire(cancel);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, cancel), ACE_CANCELLED);
        ck_assert_int_eq(ace_waiter_wait(&waiter, ace_deadline_after(1), NULL), ACE_TIMEOUT);
    }
    ace_waiter_complete(&waiter);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, cancel), ACE_OK);
    ck_assert_int_eq(ace_waiter_wait(&waiter, ACE_NEVER, cancel), ACE_OK);
    ace_waiter_destroy(&waiter);
    ace_cancel_release(cancel);
}
END_TEST

typedef struct completer {
    sem_t given;
    ace_waiter *waiter; /* NULL: no more come */
} completer;

static void complete_each(void *user)
{
    completer *self = user;
    for (;;) {
        ck_assert_int_eq(sem_wait(&self->given), 0);
        ace_waiter *waiter = self->waiter;
        if (waiter == NULL) {
            return;
        }
        ace_waiter_complete(waiter);
    }
}

static void give(completer *to, ace_waiter *waiter)
{
    to->waiter = waiter;
    ck_assert_int_eq(sem_post(&to->given), 0);
}

static void complete_one(completer *by, ace_cancel *cancel)
{
    ace_waiter waiter;
    ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
    give(by, &waiter);
    if (ace_waiter_wait(&waiter, ace_deadline_after(0), cancel) != ACE_OK) {
        ace_waiter_finish(&waiter);
    }
    ace_waiter_destroy(&waiter);
}

/* Its memory is used for the next at once. */
START_TEST(a_waiter_on_the_stack_is_gone_as_soon_as_its_wait_has_ended)
{
    completer other = {.waiter = NULL};
    ace_thread thread;
    ck_assert_int_eq(sem_init(&other.given, 0, 0), 0);
    ck_assert_int_eq(ace_thread_start(&thread, "completer", complete_each, &other, NULL), ACE_OK);
    ace_cancel *cancel = ace_cancel_new(NULL);
    for (int i = 0; i < ROUNDS; i++) {
        complete_one(&other, i % 3 == 0 ? cancel : NULL);
        if (i == ROUNDS / 2) {
            ace_cancel_fire(cancel);
        }
    }
    give(&other, NULL);
    ace_thread_join(&thread);
    ace_cancel_release(cancel);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine waiter");
    TCase *tests = tcase_create("waiter");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, one_that_was_completed_before_does_not_wait_and_may_be_asked_again);
    tcase_add_test(tests,
                   a_deadline_that_has_passed_ends_the_wait_and_a_later_one_finds_the_completion);
    tcase_add_test(tests, any_number_of_cancellations_comes_before_one_completion);
    tcase_add_test(tests, a_waiter_on_the_stack_is_gone_as_soon_as_its_wait_has_ended);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
