#include "base/thread.h"
#include "engine/loop.h"
#include "engine/waiter.h"

#include <check.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A peer that answers what is asked of it, as a broker confirms: through a descriptor that the loop
 * watches. */
typedef struct peer {
    ace_loop *loop;
    ace_clock *clock;
    atomic_size_t in_hand;
    size_t ended_now;
    ace_deferral tally;
    ace_watch watch;
    struct question *asked; /* the loop's */
    atomic_bool silent;     /* it does not answer */
} peer;

typedef struct question {
    ace_task task;
    ace_waiter waiter;
    struct question *next;
    peer *of;
    pthread_t arrived_on;
    pthread_t ended_on;
} question;

static size_t count_in_hand(void *user)
{
    return atomic_load(&((peer *)user)->in_hand);
}

static void tell_ended(ace_deferral *deferral)
{
    peer *self = ACE_RECORD(deferral, peer, tally);
    atomic_fetch_sub(&self->in_hand, self->ended_now);
    self->ended_now = 0;
}

static void end_all(peer *self)
{
    ck_assert(ace_loop_is_current(self->loop));
    while (self->asked != NULL) {
        question *ended = self->asked;
        self->asked = ended->next;
        ended->ended_on = pthread_self();
        ace_loop_complete(self->loop, &ended->waiter);
        self->ended_now++;
        ace_loop_defer(self->loop, &self->tally);
    }
}

static void answered(ace_watch *watch, short events)
{
    uint64_t value;
    ck_assert((events & POLLIN) != 0);
    ck_assert_int_eq(read(watch->descriptor, &value, sizeof value), sizeof value);
    end_all(ACE_RECORD(watch, peer, watch));
}

static void answer(peer *self)
{
    const uint64_t one = 1;
    ck_assert_int_eq(write(self->watch.descriptor, &one, sizeof one), sizeof one);
}

static void arrive(ace_task *task)
{
    question *mine = ACE_RECORD(task, question, task);
    peer *self = mine->of;
    ck_assert(ace_loop_is_current(self->loop));
    mine->arrived_on = pthread_self();
    mine->next = self->asked;
    self->asked = mine;
    if (!atomic_load(&self->silent)) {
        answer(self);
    }
}

static void begin(void *user)
{
    peer *self = user;
    ck_assert(ace_loop_watch(self->loop, &self->watch));
    ace_loop_lend(self->loop, count_in_hand, self);
}

static void set_up(peer *self, ace_clock *clock)
{
    *self = (peer){.clock = clock, .tally.run = tell_ended};
    self->watch.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->watch.events = POLLIN;
    self->watch.ready = answered;
    ck_assert_int_ge(self->watch.descriptor, 0);
    ck_assert_int_eq(ace_loop_start("loop", clock, &self->loop, NULL), ACE_OK);
    ck_assert(ace_loop_call(self->loop, begin, self));
}

static void end(void *user)
{
    peer *self = user;
    ace_loop_lend(self->loop, NULL, NULL);
    end_all(self);
    ace_loop_unwatch(self->loop, &self->watch);
}

static void tear_down(peer *self)
{
    (void)ace_loop_call(self->loop, end, self);
    ace_loop_stop(self->loop);
    ace_loop_free(self->loop);
    close(self->watch.descriptor);
}

/* Whether the turn was lent. The question is left to the caller to destroy. */
static bool put(peer *self, question *asked)
{
    *asked = (question){.task.run = arrive, .of = self};
    ck_assert_int_eq(ace_waiter_init(&asked->waiter, NULL), ACE_OK);
    bool lent = ace_loop_borrow(self->loop, atomic_load(&self->in_hand) == 0);
    atomic_fetch_add(&self->in_hand, 1);
    ck_assert(ace_loop_post(self->loop, &asked->task));
    return lent;
}

static ace_code await_answer(peer *self, question *asked, bool lent, int64_t deadline,
                             ace_cancel *cancel)
{
    ace_code code = lent ? ace_loop_wait(self->loop, &asked->waiter, deadline, cancel)
                         : ace_waiter_wait(&asked->waiter, deadline, cancel);
    ck_assert(!ace_loop_is_any_current());
    return code;
}

/* True: it was answered within turns of this thread. */
static bool ask(peer *self)
{
    question asked;
    bool lent = put(self, &asked);
    ck_assert_int_eq(await_answer(self, &asked, lent, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    return pthread_equal(asked.arrived_on, pthread_self()) != 0 &&
           pthread_equal(asked.ended_on, pthread_self()) != 0;
}

static void pause_for(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* A turn that is lent, and a question in it that is not answered. */
static void put_lent(peer *self, question *asked)
{
    bool lent = false;
    atomic_store(&self->silent, false);
    for (int i = 0; i < 10000 && !lent; i++) {
        lent = ask(self);
    }
    ck_assert(lent);
    for (int i = 0; i < 10000; i++) {
        atomic_store(&self->silent, true);
        lent = put(self, asked);
        if (lent) {
            return;
        }
        answer(self);
        ck_assert_int_eq(await_answer(self, asked, false, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked->waiter);
    }
    ck_abort_msg("the turn was never lent");
}

START_TEST(a_thread_that_asks_one_thing_after_the_other_is_lent_the_turns)
{
    peer self;
    set_up(&self, ace_clock_system());
    int lent = 0;
    for (int i = 0; i < 2000; i++) {
        lent += ask(&self) ? 1 : 0;
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

typedef struct other {
    ace_thread thread;
    peer *self;
    ace_task task;
    ace_timer timer;
    ace_cancel *cancel;
    question *asked;
    pthread_t ran_on;
    atomic_int ran;
    long wait;
} other;

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
