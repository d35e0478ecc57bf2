#include "base/thread.h"

#include "base/clock.h"

#include <check.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct probe {
    ace_thread thread;
    char name[32];
    sigset_t blocked;
    bool knows_itself;
} probe;

static void look_around(void *user)
{
    probe *self = user;
    pthread_getname_np(pthread_self(), self->name, sizeof self->name);
    pthread_sigmask(SIG_BLOCK, NULL, &self->blocked);
    self->knows_itself = ace_thread_is_current(&self->thread);
}

START_TEST(a_thread_blocks_all_signals_but_its_own_faults_and_has_a_name_of_15_bytes)
{
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    probe self = {0};
    ck_assert(!ace_thread_is_current(&self.thread));
    ck_assert_int_eq(
        ace_thread_start(&self.thread, "acemq-a-name-too-long", look_around, &self, NULL), ACE_OK);
    ck_assert(!ace_thread_is_current(&self.thread));
    ace_thread_join(&self.thread);
    ace_thread_join(&self.thread);
    ck_assert_str_eq(self.name, "acemq-a-name-to");
    ck_assert(self.knows_itself);
    static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGPIPE, SIGCHLD,
                                  SIGALRM, SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        ck_assert_int_eq(sigismember(&self.blocked, signals[i]), 1);
    }
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        ck_assert_int_eq(sigismember(&self.blocked, faults[i]), 0);
    }
    sigset_t after;
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    for (int number = 1; number < SIGRTMIN; number++) {
        ck_assert_int_eq(sigismember(&before, number), sigismember(&after, number));
    }
}
END_TEST

START_TEST(joining_what_was_not_started_is_fine)
{
    ace_thread thread = {0};
    ace_thread_join(&thread);
    ck_assert(!ace_thread_is_current(&thread));
}
END_TEST

typedef struct counter {
    ace_mutex lock;
    ace_condition changed;
    long value;
} counter;

static void count_up(void *user)
{
    counter *shared = user;
    for (int i = 0; i < 5000; i++) {
        ace_mutex_lock(&shared->lock);
        shared->value++;
        ace_mutex_unlock(&shared->lock);
    }
    ace_mutex_lock(&shared->lock);
    ace_condition_broadcast(&shared->changed);
    ace_mutex_unlock(&shared->lock);
}

START_TEST(a_mutex_excludes_and_a_condition_wakes)
{
    counter shared = {.value = 0};
    ck_assert_int_eq(ace_mutex_init(&shared.lock, NULL), ACE_OK);
    ck_assert_int_eq(ace_condition_init(&shared.changed, NULL), ACE_OK);
    ace_thread threads[4];
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(ace_thread_start(&threads[i], "counter", count_up, &shared, NULL), ACE_OK);
    }
    ace_mutex_lock(&shared.lock);
    while (shared.value < 20000) {
        ck_assert(ace_condition_wait_until(&shared.changed, &shared.lock, ACE_NEVER));
    }
    ace_mutex_unlock(&shared.lock);
    for (int i = 0; i < 4; i++) {
        ace_thread_join(&threads[i]);
    }
    ck_assert_int_eq(shared.value, 20000);
    ace_condition_destroy(&shared.changed);
    ace_mutex_destroy(&shared.lock);
}
END_TEST

START_TEST(a_wait_ends_at_its_monotonic_deadline)
{
    counter shared = {.value = 0};
    ck_assert_int_eq(ace_mutex_init(&shared.lock, NULL), ACE_OK);
    ck_assert_int_eq(ace_condition_init(&shared.changed, NULL), ACE_OK);
    ace_mutex_lock(&shared.lock);
    int64_t start = ace_clock_monotonic(ace_clock_system());
    while (ace_condition_wait_until(&shared.changed, &shared.lock, start + 50)) {
    }
    int64_t end = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_ge(end, start + 50);
    ck_assert_int_lt(end, start + 5000);
    ck_assert(!ace_condition_wait_until(&shared.changed, &shared.lock, start));
    ck_assert(!ace_condition_wait_until(&shared.changed, &shared.lock, -5));
    ace_mutex_unlock(&shared.lock);
    ace_condition_destroy(&shared.changed);
    ace_mutex_destroy(&shared.lock);
}
END_TEST

START_TEST(locking_twice_aborts)
{
    ace_mutex lock;
    ck_assert_int_eq(ace_mutex_init(&lock, NULL), ACE_OK);
    ace_mutex_lock(&lock);
    ace_mutex_lock(&lock);
}
END_TEST

START_TEST(unlocking_what_is_not_locked_aborts)
{
    ace_mutex lock;
    ck_assert_int_eq(ace_mutex_init(&lock, NULL), ACE_OK);
    ace_mutex_unlock(&lock);
}
END_TEST

START_TEST(destroying_a_lock_that_is_held_goes_on)
{
    ace_mutex lock;
    ck_assert_int_eq(ace_mutex_init(&lock, NULL), ACE_OK);
    ace_mutex_lock(&lock);
    ace_mutex_destroy(&lock);
    ace_mutex_unlock(&lock);
    ace_mutex_destroy(&lock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base thread");
    TCase *tests = tcase_create("thread");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests,
                   a_thread_blocks_all_signals_but_its_own_faults_and_has_a_name_of_15_bytes);
    tcase_add_test(tests, joining_what_was_not_started_is_fine);
    tcase_add_test(tests, a_mutex_excludes_and_a_condition_wakes);
    tcase_add_test(tests, a_wait_ends_at_its_monotonic_deadline);
    suite_add_tcase(suite, tests);
    TCase *misuse = tcase_create("misuse");
    tcase_set_timeout(misuse, 60);
    /* The thread sanitizer reports the very misuse that these three are about. */
#ifndef __SANITIZE_THREAD__
    tcase_add_test_raise_signal(misuse, locking_twice_aborts, SIGABRT);
    tcase_add_test_raise_signal(misuse, unlocking_what_is_not_locked_aborts, SIGABRT);
    tcase_add_test(misuse, destroying_a_lock_that_is_held_goes_on);
#else
    (void)locking_twice_aborts;
    (void)unlocking_what_is_not_locked_aborts;
    (void)destroying_a_lock_that_is_held_goes_on;
#endif
    suite_add_tcase(suite, misuse);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
