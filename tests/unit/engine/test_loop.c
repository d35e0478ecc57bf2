#include "engine/loop.h"

#include "base/thread.h"
#include "engine/waiter.h"

#include <check.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static ace_loop *start_loop(ace_clock *clock)
{
    ace_loop *loop = NULL;
    ck_assert_int_eq(ace_loop_start("loop", clock, &loop, NULL), ACE_OK);
    return loop;
}

static void end_loop(ace_loop *loop)
{
    ace_loop_stop(loop);
    ace_loop_free(loop);
}

typedef struct numbered {
    ace_task task;
    int number;
    int *last;
    atomic_int *count;
} numbered;

static void check_order(ace_task *task)
{
    numbered *mine = ACE_RECORD(task, numbered, task);
    ck_assert_int_eq(mine->number, *mine->last + 1);
    *mine->last = mine->number;
    atomic_fetch_add(mine->count, 1);
    free(mine);
}

#define POSTERS 4
#define POSTS   5000

typedef struct poster {
    ace_thread thread;
    ace_loop *loop;
    int last;
    atomic_int *count;
} poster;

static void post_many(void *user)
{
    poster *mine = user;
    for (int i = 1; i <= POSTS; i++) {
        numbered *task = malloc(sizeof *task);
        ck_assert_ptr_nonnull(task);
        *task = (numbered){.task.run = check_order, .number = i, .last = &mine->last};
        task->count = mine->count;
        ck_assert(ace_loop_post(mine->loop, &task->task));
    }
}

START_TEST(tasks_of_many_threads_all_run_each_threads_in_order)
{
    ace_loop *loop = start_loop(ace_clock_system());
    poster posters[POSTERS];
    atomic_int count;
    atomic_init(&count, 0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (poster){.loop = loop, .count = &count};
        ck_assert_int_eq(ace_thread_start(&posters[i].thread, "post", post_many, &posters[i], NULL),
                         ACE_OK);
    }
    for (int i = 0; i < POSTERS; i++) {
        ace_thread_join(&posters[i].thread);
    }
    end_loop(loop);
    ck_assert_int_eq(atomic_load(&count), POSTERS * POSTS);
}
END_TEST

static void nothing(ace_task *task)
{
    (void)task;
}

START_TEST(a_loop_that_has_ended_takes_no_task)
{
    ace_loop *loop = start_loop(ace_clock_system());
    ace_task task = {.run = nothing};
    ace_loop_stop(loop);
    ck_assert(!ace_loop_post(loop, &task));
    ck_assert(!ace_loop_post_soon(loop, &task));
    ace_loop_hurry(loop);
    ace_loop_free(loop);
}
END_TEST

typedef struct called {
    ace_loop *loop;
    bool inside;
    bool any;
    int depth;
} called;

static void look(void *user)
{
    called *mine = user;
    mine->inside = ace_loop_is_current(mine->loop);
    mine->any = ace_loop_is_any_current();
    if (mine->depth++ == 0) {
        ck_assert(ace_loop_call(mine->loop, look, mine)); /* from its own thread it runs at once */
        ck_assert_int_eq(mine->depth, 2);
    }
}

START_TEST(a_call_runs_on_the_loops_thread_and_is_waited_for)
{
    called mine = {.loop = start_loop(ace_clock_system())};
    ck_assert(!ace_loop_is_current(mine.loop));
    ck_assert(ace_loop_call(mine.loop, look, &mine));
    ck_assert(mine.inside && mine.any);
    ck_assert(!ace_loop_is_any_current());
    end_loop(mine.loop);
}
END_TEST

typedef struct timing {
    ace_loop *loop;
    ace_timer timers[3];
    int64_t deadlines[3];
    int fired[3];
    atomic_int count;
} timing;

static timing clockwork;

static void note_fired(ace_timer *timer)
{
    int which = (int)(timer - clockwork.timers);
    clockwork.fired[atomic_load(&clockwork.count)] = which;
    atomic_fetch_add(&clockwork.count, 1);
}

static void set_timers(void *user)
{
    (void)user;
    for (int i = 0; i < 3; i++) {
        clockwork.timers[i] = (ace_timer){.fire = note_fired};
        ck_assert(ace_loop_timer_set(clockwork.loop, &clockwork.timers[i], clockwork.deadlines[i]));
    }
}

static void await(atomic_int *count, int expected)
{
    for (int i = 0; i < 2000 && atomic_load(count) < expected; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    ck_assert_int_eq(atomic_load(count), expected);
}

typedef struct marked {
    ace_task task;
    atomic_int *count;
} marked;

static void mark(ace_task *task)
{
    atomic_fetch_add(ACE_RECORD(task, marked, task)->count, 1);
}

/* Each is the last of its run for all that the loop knows: none may be left lying until the next.
 */
START_TEST(a_task_posted_soon_runs_though_nothing_else_is_posted)
{
    ace_loop *loop = start_loop(ace_clock_system());
    atomic_int count;
    atomic_init(&count, 0);
    for (int i = 0; i < 200; i++) {
        marked tasks[3];
        for (int k = 0; k <= i % 3; k++) {
            tasks[k] = (marked){.task.run = mark, .count = &count};
            ck_assert(ace_loop_post_soon(loop, &tasks[k].task));
        }
        if (i % 5 == 0) {
            ace_loop_hurry(loop);
        }
        await(&count, i % 3 + 1);
        atomic_store(&count, 0);
    }
    end_loop(loop);
}
END_TEST

START_TEST(timers_fire_when_the_clock_says_and_not_before)
{
    ace_clock *clock = ace_clock_manual(1000, 0);
    clockwork.loop = start_loop(clock);
    clockwork.deadlines[0] = 5000000;
    clockwork.deadlines[1] = 3000;
    clockwork.deadlines[2] = 2000;
    ck_assert(ace_loop_call(clockwork.loop, set_timers, NULL));
    ace_clock_advance(clock, 999);
    struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    ck_assert_int_eq(atomic_load(&clockwork.count), 0);
    ace_clock_advance(clock, 1);
    await(&clockwork.count, 1);
    ace_clock_advance(clock, 10000000);
    await(&clockwork.count, 3);
    ck_assert_int_eq(clockwork.fired[0], 2);
    ck_assert_int_eq(clockwork.fired[1], 1);
    ck_assert_int_eq(clockwork.fired[2], 0);
    end_loop(clockwork.loop);
    ace_clock_free(clock);
}
END_TEST

typedef struct watched {
    ace_watch watch;
    ace_loop *loop;
    atomic_int count;
    struct watched *other;
} watched;

static void drain(ace_watch *watch, short events)
{
    watched *mine = ACE_RECORD(watch, watched, watch);
    uint64_t value;
    ck_assert((events & POLLIN) != 0);
    ck_assert_int_eq(read(watch->descriptor, &value, sizeof value), sizeof value);
    atomic_fetch_add(&mine->count, 1);
    if (mine->other != NULL) { /* ready in the same turn, and gone before its call */
        ace_loop_unwatch(mine->loop, &mine->other->watch);
    }
}

static void watch_one(watched *mine)
{
    mine->watch.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(mine->watch.descriptor, 0);
    mine->watch.events = POLLIN;
    mine->watch.ready = drain;
    ck_assert(ace_loop_watch(mine->loop, &mine->watch));
}

static watched pair[2];

static void wake_both_in_one_turn(void *user)
{
    const uint64_t one = 1;
    (void)user;
    for (int i = 0; i < 2; i++) {
        watch_one(&pair[i]);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(write(pair[i].watch.descriptor, &one, sizeof one), sizeof one);
    }
}

static void unwatch_both(void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++) {
        ace_loop_unwatch(pair[i].loop, &pair[i].watch);
        ace_loop_unwatch(pair[i].loop, &pair[i].watch);
        close(pair[i].watch.descriptor);
    }
}

START_TEST(a_watch_that_was_removed_in_the_same_turn_is_not_called)
{
    ace_loop *loop = start_loop(ace_clock_system());
    pair[0].loop = pair[1].loop = loop;
    pair[0].other = &pair[1];
    pair[1].other = &pair[0];
    ck_assert(ace_loop_call(loop, wake_both_in_one_turn, NULL));
    await(&pair[0].count, 1);
    ck_assert(ace_loop_call(loop, unwatch_both, NULL));
    ck_assert_int_eq(atomic_load(&pair[1].count), 0);
    end_loop(loop);
}
END_TEST

typedef struct deferring {
    ace_loop *loop;
    ace_deferral deferral;
    int tasks;
    int seen; /* how many tasks had run when the deferral did */
    atomic_int runs;
} deferring;

static deferring later;

static void run_late(ace_deferral *deferral)
{
    (void)deferral;
    later.seen = later.tasks;
    atomic_fetch_add(&later.runs, 1);
}

static void defer_it(ace_task *task)
{
    (void)task;
    later.tasks++;
    ace_loop_defer(later.loop, &later.deferral);
}

static ace_task batch[50];

static void post_batch(void *user)
{
    (void)user;
    for (int i = 0; i < 50; i++) {
        batch[i].run = defer_it;
        ck_assert(ace_loop_post(later.loop, &batch[i]));
    }
}

START_TEST(what_is_deferred_runs_once_after_all_tasks_of_the_turn)
{
    later.loop = start_loop(ace_clock_system());
    later.deferral.run = run_late;
    ck_assert(ace_loop_call(later.loop, post_batch, NULL));
    await(&later.runs, 1);
    ck_assert_int_eq(later.seen, 50);
    end_loop(later.loop);
    ck_assert_int_eq(atomic_load(&later.runs), 1);
}
END_TEST

START_TEST(an_idle_loop_uses_no_processor)
{
    ace_loop *loop = start_loop(ace_clock_system());
    struct rusage before;
    struct rusage after;
    getrusage(RUSAGE_SELF, &before);
    struct timespec pause = {.tv_nsec = 300000000};
    nanosleep(&pause, NULL);
    getrusage(RUSAGE_SELF, &after);
    long switches = after.ru_nvcsw - before.ru_nvcsw;
    ck_assert_int_lt(switches, 10);
    end_loop(loop);
}
END_TEST

typedef struct flood {
    ace_watch watch;
    ace_loop *loop;
    atomic_int turns;
    atomic_int a_turn; /* arrivals */
} flood;

static void arrive(ace_watch *watch, short events)
{
    flood *mine = ACE_RECORD(watch, flood, watch);
    (void)events;
    atomic_fetch_add(&mine->turns, 1);
    for (int i = atomic_load(&mine->a_turn); i > 0; i--) {
        ace_loop_note_arrival(mine->loop);
    }
}

static void watch_flood(void *user)
{
    flood *mine = user;
    ck_assert(ace_loop_watch(mine->loop, &mine->watch));
}

static void unwatch_flood(void *user)
{
    flood *mine = user;
    ace_loop_unwatch(mine->loop, &mine->watch);
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void await_turns(flood *mine, int more)
{
    int enough = atomic_load(&mine->turns) + more;
    while (atomic_load(&mine->turns) < enough) {
        (void)poll(NULL, 0, 1);
    }
}

/* So long that it gauges what came since the last time, and turns that have seen the outcome. */
static void pass(flood *mine, ace_clock *clock)
{
    ace_clock_advance(clock, 10);
    await_turns(mine, 3);
}

/* How many turns more than pauses fit into the time they took. */
static int turns_beyond_pauses(flood *mine)
{
    int64_t from = nanoseconds();
    int before = atomic_load(&mine->turns);
    (void)poll(NULL, 0, 100);
    int turns = atomic_load(&mine->turns) - before;
    return turns - (int)((nanoseconds() - from) / ACE_LOOP_PAUSE) - 1;
}

/* The flood is gauged by a clock that stands still in between: however slow the machine is, what
 * was a flood stays one. */
START_TEST(in_a_flood_the_loop_pauses_before_it_reads_on)
{
    ace_clock *clock = ace_clock_manual(1000, 0);
    flood mine = {.watch.ready = arrive, .watch.events = POLLIN};
    atomic_init(&mine.turns, 0);
    atomic_init(&mine.a_turn, 100);
    mine.watch.descriptor = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* always readable */
    ck_assert_int_ge(mine.watch.descriptor, 0);
    mine.loop = start_loop(clock);
    ck_assert(ace_loop_call(mine.loop, watch_flood, &mine));
    await_turns(&mine, 3);
    pass(&mine, clock);
    ck_assert_int_le(turns_beyond_pauses(&mine), 0);
    atomic_store(&mine.a_turn, 0);
    pass(&mine, clock);
    pass(&mine, clock); /* the flood is over, and with it the pauses */
    while (turns_beyond_pauses(&mine) <= 0) {
    }
    ck_assert(ace_loop_call(mine.loop, unwatch_flood, &mine));
    end_loop(mine.loop);
    ace_clock_free(clock);
    close(mine.watch.descriptor);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tcase = tcase_create("loop");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, tasks_of_many_threads_all_run_each_threads_in_order);
    tcase_add_test(tcase, a_task_posted_soon_runs_though_nothing_else_is_posted);
    tcase_add_test(tcase, a_loop_that_has_ended_takes_no_task);
    tcase_add_test(tcase, a_call_runs_on_the_loops_thread_and_is_waited_for);
    tcase_add_test(tcase, timers_fire_when_the_clock_says_and_not_before);
    tcase_add_test(tcase, a_watch_that_was_removed_in_the_same_turn_is_not_called);
    tcase_add_test(tcase, what_is_deferred_runs_once_after_all_tasks_of_the_turn);
    tcase_add_test(tcase, in_a_flood_the_loop_pauses_before_it_reads_on);
    tcase_add_test(tcase, an_idle_loop_uses_no_processor);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
