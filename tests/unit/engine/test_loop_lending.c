#include "lending_fixture.h"

#include <stdlib.h>

/* On a machine that is loaded this thread may be away for longer than the loop's thread waits for
 * it, but not each time. */
START_TEST(a_thread_that_asks_one_thing_after_the_other_is_lent_the_turns)
{
    peer self;
    set_up(&self, ace_clock_system());
    int lent = 0;
    for (int try = 0; try < 10 && lent <= 1000; try++) {
        lent = 0;
        for (int i = 0; i < 2000; i++) {
            lent += ask(&self) ? 1 : 0;
        }
    }
    ck_assert_int_gt(lent, 1000);
    tear_down(&self);
}
END_TEST

START_TEST(nothing_is_lent_where_the_loop_was_not_told_what_is_in_hand)
{
    peer self;
    set_up(&self, ace_clock_system());
    ace_loop_lend(self.loop, NULL, NULL); /* nothing is under way */
    for (int i = 0; i < 200; i++) {
        ck_assert(!ask(&self));
    }
    tear_down(&self);
}
END_TEST

static void note_thread(ace_task *task)
{
    other *mine = ACE_RECORD(task, other, task);
    mine->ran_on = pthread_self();
    ck_assert(ace_loop_is_current(mine->self->loop));
    answer(mine->self);
    atomic_fetch_add(&mine->ran, 1);
}

static void post_one(void *user)
{
    other *mine = user;
    pause_for(mine->wait);
    mine->task.run = note_thread;
    ck_assert(ace_loop_post(mine->self->loop, &mine->task));
}

START_TEST(a_task_of_another_thread_runs_in_the_turn_that_is_lent)
{
    for (long wait = 0; wait < 20; wait += 10) { /* long: the loop's thread sleeps for good then */
        peer self;
        question asked;
        set_up(&self, ace_clock_system());
        other mine = {.self = &self, .wait = wait};
        put_lent(&self, &asked);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "post", post_one, &mine, NULL), ACE_OK);
        ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked.waiter);
        ace_thread_join(&mine.thread);
        ck_assert_int_eq(atomic_load(&mine.ran), 1);
        ck_assert(pthread_equal(mine.ran_on, pthread_self()) != 0);
        tear_down(&self);
    }
}
END_TEST

static void timer_answers(ace_timer *timer)
{
    other *mine = ACE_RECORD(timer, other, timer);
    atomic_fetch_add(&mine->ran, 1);
    end_all(mine->self);
}

static void set_timer(void *user)
{
    other *mine = user;
    mine->timer.fire = timer_answers;
    ck_assert(ace_loop_timer_set(mine->self->loop, &mine->timer,
                                 ace_clock_monotonic(mine->self->clock) + 10));
}

static void cancel_timer(void *user)
{
    other *mine = user;
    ace_loop_timer_cancel(mine->self->loop, &mine->timer);
}

static void set_timer_from_aside(void *user)
{
    other *mine = user;
    ck_assert(ace_loop_call(mine->self->loop, set_timer, mine));
}

START_TEST(timers_fire_while_the_turn_is_lent)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    other mine = {.self = &self};
    put_lent(&self, &asked);
    ck_assert_int_eq(ace_thread_start(&mine.thread, "set", set_timer_from_aside, &mine, NULL),
                     ACE_OK);
    ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    ace_thread_join(&mine.thread);
    ck_assert_int_eq(atomic_load(&mine.ran), 1);
    tear_down(&self);
}
END_TEST

START_TEST(timers_fire_after_the_turn_was_given_back)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    for (int i = 0; i < 5; i++) {
        other mine = {.self = &self};
        put_lent(&self, &asked);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "set", set_timer_from_aside, &mine, NULL),
                         ACE_OK);
        answer(&self);
        ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked.waiter);
        ace_thread_join(&mine.thread);
        for (int k = 0; k < 5000 && atomic_load(&mine.ran) == 0; k++) {
            pause_for(1);
        }
        ck_assert_int_eq(atomic_load(&mine.ran), 1);
        ck_assert(ace_loop_call(self.loop, cancel_timer, &mine));
    }
    tear_down(&self);
}
END_TEST

static void advance_slowly(void *user)
{
    other *mine = user;
    for (int i = 0; i < 5000 && atomic_load(&mine->ran) == 0; i++) {
        ace_clock_advance(mine->self->clock, 1);
        pause_for(1);
    }
}

START_TEST(a_clock_that_is_advanced_wakes_who_was_lent_the_turn)
{
    ace_clock *clock = ace_clock_manual(1000, 0);
    peer self;
    question asked;
    set_up(&self, clock);
    other mine = {.self = &self};
    ck_assert(ace_loop_call(self.loop, set_timer, &mine));
    put_lent(&self, &asked);
    ck_assert_int_eq(ace_thread_start(&mine.thread, "clock", advance_slowly, &mine, NULL), ACE_OK);
    ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    ace_thread_join(&mine.thread);
    ck_assert_int_eq(atomic_load(&mine.ran), 1);
    tear_down(&self);
    ace_clock_free(clock);
}
END_TEST

/* As after a cancellation: what completes it is told, and it is waited for to the end. */
static void end_early(peer *self, question *asked)
{
    answer(self);
    ace_waiter_finish(&asked->waiter);
    ace_waiter_destroy(&asked->waiter);
}

START_TEST(a_deadline_ends_a_wait_with_the_turn_and_the_answer_still_comes)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    for (int i = 0; i < 5; i++) {
        put_lent(&self, &asked);
        int64_t deadline = ace_deadline_after(20);
        ck_assert_int_eq(await_answer(&self, &asked, true, deadline, NULL), ACE_TIMEOUT);
        ck_assert_int_ge(ace_deadline_after(0), deadline);
        end_early(&self, &asked);
    }
    tear_down(&self);
}
END_TEST

static void fire_soon(void *user)
{
    other *mine = user;
    pause_for(mine->wait);
    ace_cancel_fire(mine->cancel);
}

START_TEST(a_cancellation_ends_a_wait_with_the_turn)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    for (long wait = 0; wait < 20; wait += 5) {
        other mine = {.cancel = ace_cancel_new(NULL), .wait = wait};
        ck_assert_ptr_nonnull(mine.cancel);
        put_lent(&self, &asked);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "fire", fire_soon, &mine, NULL), ACE_OK);
        ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, mine.cancel), ACE_CANCELLED);
        end_early(&self, &asked);
        ace_thread_join(&mine.thread);
        ace_cancel_release(mine.cancel);
    }
    tear_down(&self);
}
END_TEST

START_TEST(a_cancellation_from_before_ends_it_at_once)
{
    peer self;
    question asked;
    set_up(&self, ace_clock_system());
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_ptr_nonnull(cancel);
    ace_cancel_fire(cancel);
    put_lent(&self, &asked);
    ck_assert_int_eq(await_answer(&self, &asked, true, ACE_NEVER, cancel), ACE_CANCELLED);
    end_early(&self, &asked);
    ace_cancel_release(cancel);
    tear_down(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop_lending");
    TCase *tcase = tcase_create("loop_lending");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_thread_that_asks_one_thing_after_the_other_is_lent_the_turns);
    tcase_add_test(tcase, nothing_is_lent_where_the_loop_was_not_told_what_is_in_hand);
    tcase_add_test(tcase, a_task_of_another_thread_runs_in_the_turn_that_is_lent);
    tcase_add_test(tcase, timers_fire_while_the_turn_is_lent);
    tcase_add_test(tcase, timers_fire_after_the_turn_was_given_back);
    tcase_add_test(tcase, a_clock_that_is_advanced_wakes_who_was_lent_the_turn);
    tcase_add_test(tcase, a_deadline_ends_a_wait_with_the_turn_and_the_answer_still_comes);
    tcase_add_test(tcase, a_cancellation_ends_a_wait_with_the_turn);
    tcase_add_test(tcase, a_cancellation_from_before_ends_it_at_once);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
