#include "lending_fixture.h"

#include <stdlib.h>
#include <sys/resource.h>

static void ask_beside(void *user)
{
    other *mine = user;
    pause_for(mine->wait);
    atomic_store(&mine->self->silent, false);
    question asked;
    bool lent = put(mine->self, &asked);
    ck_assert_int_eq(await_answer(mine->self, &asked, lent, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    mine->ran_on = asked.arrived_on;
}

START_TEST(what_another_thread_has_in_hand_is_never_run_by_the_borrower)
{
    for (long wait = 0; wait < 20; wait += 5) {
        peer self;
        question asked;
        set_up(&self, ace_clock_system());
        other mine = {.self = &self, .wait = wait};
        put_lent(&self, &asked);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "ask", ask_beside, &mine, NULL), ACE_OK);
        ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked.waiter);
        ace_thread_join(&mine.thread);
        ck_assert(pthread_equal(mine.ran_on, pthread_self()) == 0);
        tear_down(&self);
    }
}
END_TEST

#define THREADS 8
#define ASKED   2000

static void ask_many(void *user)
{
    other *mine = user;
    for (int i = 0; i < ASKED; i++) {
        (void)ask(mine->self);
        if (i % 500 == mine->wait) { /* so that now and then one is alone */
            pause_for(mine->wait % 7);
        }
    }
}

START_TEST(eight_threads_that_ask_at_once_all_have_their_answers)
{
    peer self;
    other asking[THREADS];
    set_up(&self, ace_clock_system());
    for (int i = 0; i < THREADS; i++) {
        asking[i] = (other){.self = &self, .wait = i * 31};
        ck_assert_int_eq(ace_thread_start(&asking[i].thread, "ask", ask_many, &asking[i], NULL),
                         ACE_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        ace_thread_join(&asking[i].thread);
    }
    ck_assert_uint_eq(atomic_load(&self.in_hand), 0);
    tear_down(&self);
}
END_TEST

static void do_nothing(void *user)
{
    (void)user;
}

static void post_often(void *user)
{
    other *mine = user;
    while (atomic_load(&mine->ran) == 0) {
        ck_assert(ace_loop_call(mine->self->loop, do_nothing, NULL));
        pause_for(mine->wait);
    }
}

START_TEST(turns_are_lent_again_and_again_beside_calls_of_other_threads)
{
    peer self;
    set_up(&self, ace_clock_system());
    other calling = {.self = &self, .wait = 2};
    ck_assert_int_eq(ace_thread_start(&calling.thread, "call", post_often, &calling, NULL), ACE_OK);
    int lent = 0;
    for (int i = 0; i < 20000; i++) {
        lent += ask(&self) ? 1 : 0;
        if (i % 4000 == 0) {
            pause_for(7); /* the loop's thread is back */
        }
    }
    ck_assert_int_gt(lent, 100);
    atomic_store(&calling.ran, 1);
    ace_thread_join(&calling.thread);
    tear_down(&self);
}
END_TEST

static void stop_beside(void *user)
{
    other *mine = user;
    pause_for(mine->wait);
    ck_assert(ace_loop_call(mine->self->loop, end, mine->self));
    ace_loop_stop(mine->self->loop);
    atomic_store(&mine->ran, 1);
}

START_TEST(a_loop_is_stopped_while_its_turn_is_lent)
{
    for (long wait = 0; wait < 20; wait += 5) {
        peer self;
        question asked;
        set_up(&self, ace_clock_system());
        other mine = {.self = &self, .wait = wait};
        put_lent(&self, &asked);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "stop", stop_beside, &mine, NULL), ACE_OK);
        ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked.waiter);
        ace_thread_join(&mine.thread);
        ck_assert(!ace_loop_borrow(self.loop, true));
        ck_assert(!ace_loop_post(self.loop, &mine.task));
        ace_loop_free(self.loop);
        close(self.watch.descriptor);
    }
}
END_TEST

/* At any point of its way from one to the other. */
START_TEST(a_loop_is_stopped_soon_after_its_turn_was_given_back)
{
    for (int i = 0; i < 50; i++) {
        peer self;
        set_up(&self, ace_clock_system());
        for (int k = 0; k < 20 + i; k++) {
            (void)ask(&self);
        }
        pause_for(i % 5);
        tear_down(&self);
    }
}
END_TEST

static long switches_while_nothing_happens(void)
{
    struct rusage before;
    struct rusage after;
    pause_for(50);
    getrusage(RUSAGE_SELF, &before);
    pause_for(300);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_nvcsw - before.ru_nvcsw;
}

START_TEST(nobody_looks_about_while_the_turn_is_not_used)
{
    peer self;
    set_up(&self, ace_clock_system());
    for (int i = 0; i < 100; i++) {
        (void)ask(&self);
    }
    ck_assert_int_lt(switches_while_nothing_happens(), 10);
    tear_down(&self);
}
END_TEST

static void answer_late(void *user)
{
    other *mine = user;
    mine->wait = switches_while_nothing_happens();
    answer(mine->self);
}

START_TEST(nobody_looks_about_while_the_answer_takes_long)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    other mine = {.self = &self};
    put_lent(&self, &asked);
    ck_assert_int_eq(ace_thread_start(&mine.thread, "late", answer_late, &mine, NULL), ACE_OK);
    ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    ace_thread_join(&mine.thread);
    ck_assert_int_lt(mine.wait, 10);
    tear_down(&self);
}
END_TEST

/* Nobody asks any more, and the loop has something to read. */
START_TEST(what_comes_unasked_after_a_lent_turn_is_read)
{
    peer self;
    set_up(&self, ace_clock_system());
    for (int i = 0; i < 100; i++) {
        (void)ask(&self);
    }
    answer(&self);
    struct pollfd unread = {self.watch.descriptor, POLLIN, 0};
    for (int i = 0; i < 5000 && poll(&unread, 1, 0) != 0; i++) {
        pause_for(1);
    }
    ck_assert_int_eq(poll(&unread, 1, 0), 0);
    tear_down(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop_sharing");
    TCase *tcase = tcase_create("loop_sharing");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, what_another_thread_has_in_hand_is_never_run_by_the_borrower);
    tcase_add_test(tcase, eight_threads_that_ask_at_once_all_have_their_answers);
    tcase_add_test(tcase, turns_are_lent_again_and_again_beside_calls_of_other_threads);
    tcase_add_test(tcase, a_loop_is_stopped_while_its_turn_is_lent);
    tcase_add_test(tcase, a_loop_is_stopped_soon_after_its_turn_was_given_back);
    tcase_add_test(tcase, nobody_looks_about_while_the_turn_is_not_used);
    tcase_add_test(tcase, nobody_looks_about_while_the_answer_takes_long);
    tcase_add_test(tcase, what_comes_unasked_after_a_lent_turn_is_read);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
