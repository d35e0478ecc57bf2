#include "base/timer.h"

#include "base/clock.h"
#include "base/random.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define TIMERS 200

typedef struct wait {
    ace_timer timer; /* first, so that the callback finds the record */
    int number;
    bool is_set; /* what the naive model believes */
    int64_t deadline;
    uint64_t order;
} wait;

typedef struct firing {
    int numbers[4 * TIMERS];
    size_t count;
} firing;

static firing fired;
static ace_timer_heap heap;

static void record_firing(ace_timer *timer)
{
    wait *self = (wait *)timer;
    ck_assert(!ace_timer_is_set(timer));
    fired.numbers[fired.count++] = self->number;
}

static void expect_fired(const int *numbers, size_t count)
{
    ck_assert_uint_eq(fired.count, count);
    ck_assert(count == 0 || memcmp(fired.numbers, numbers, count * sizeof numbers[0]) == 0);
    fired.count = 0;
}

static void prepare(wait *waits, int count)
{
    memset(waits, 0, (size_t)count * sizeof waits[0]);
    for (int i = 0; i < count; i++) {
        waits[i].number = i;
        waits[i].timer.fire = record_firing;
    }
    heap = (ace_timer_heap)ACE_TIMER_HEAP_INIT;
    fired.count = 0;
}

/* The model's answer: the earliest one set, of equals the one set first. */
static wait *earliest(wait *waits)
{
    wait *found = NULL;
    for (int i = 0; i < TIMERS; i++) {
        wait *each = &waits[i];
        if (each->is_set && (found == NULL || each->deadline < found->deadline ||
                             (each->deadline == found->deadline && each->order < found->order))) {
            found = each;
        }
    }
    return found;
}

static void run_both(wait *waits, int64_t now)
{
    fired.count = 0;
    size_t count = ace_timer_run(&heap, now);
    ck_assert_uint_eq(count, fired.count);
    for (size_t i = 0; i < count; i++) {
        wait *wanted = earliest(waits);
        ck_assert_ptr_nonnull(wanted);
        ck_assert_int_le(wanted->deadline, now);
        ck_assert_int_eq(fired.numbers[i], wanted->number);
        wanted->is_set = false;
    }
}

START_TEST(the_heap_does_what_a_naive_model_does)
{
    wait waits[TIMERS];
    prepare(waits, TIMERS);
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);
    int64_t now = 0;
    uint64_t order = 0;
    for (int step = 0; step < 20000; step++) {
        wait *chosen = &waits[ace_random_next(random) % TIMERS];
        uint64_t what = ace_random_next(random) % 10;
        if (what < 6) {
            chosen->deadline = now - 5 + (int64_t)(ace_random_next(random) % 60);
            chosen->order = order++;
            chosen->is_set = true;
            ck_assert(ace_timer_set(&heap, &chosen->timer, chosen->deadline));
        } else if (what < 8) {
            ace_timer_cancel(&heap, &chosen->timer);
            chosen->is_set = false;
        } else {
            now += (int64_t)(ace_random_next(random) % 5);
            run_both(waits, now);
        }
        ck_assert_int_eq(ace_timer_is_set(&chosen->timer), chosen->is_set);
        const wait *next = earliest(waits);
        ck_assert_int_eq(ace_timer_next(&heap), next == NULL ? ACE_NEVER : next->deadline);
    }
    run_both(waits, ACE_NEVER);
    ck_assert_ptr_null(earliest(waits));
    ck_assert_uint_eq(heap.count, 0);
    ace_random_free(random);
    ace_timer_heap_free(&heap);
}
END_TEST

START_TEST(a_timer_fires_at_its_deadline_and_not_before)
{
    wait waits[2];
    prepare(waits, 2);
    ck_assert_int_eq(ace_timer_next(&heap), ACE_NEVER);
    ck_assert(ace_timer_set(&heap, &waits[0].timer, 100));
    ck_assert_uint_eq(ace_timer_run(&heap, 99), 0);
    ck_assert_int_eq(ace_timer_next(&heap), 100);
    ck_assert_uint_eq(ace_timer_run(&heap, 100), 1);
    ck_assert_uint_eq(ace_timer_run(&heap, 1000), 0);
    ace_timer_cancel(&heap, &waits[0].timer);
    ace_timer_heap_free(&heap);
}
END_TEST

static wait chain[4];

static void set_itself_again_in_the_past(ace_timer *timer)
{
    record_firing(timer);
    ck_assert(ace_timer_set(&heap, timer, -1000));
}

static void cancel_the_next_and_move_the_last(ace_timer *timer)
{
    record_firing(timer);
    ck_assert(ace_timer_is_set(&chain[1].timer));
    ace_timer_cancel(&heap, &chain[1].timer);
    ck_assert(!ace_timer_is_set(&chain[1].timer));
    ck_assert(ace_timer_set(&heap, &chain[2].timer, 500));
    ck_assert_int_eq(ace_timer_next(&heap), 3);
}

START_TEST(a_timer_that_sets_itself_for_the_past_fires_in_the_next_run)
{
    prepare(chain, 4);
    chain[0].timer.fire = set_itself_again_in_the_past;
    for (int i = 0; i < 3; i++) {
        ck_assert(ace_timer_set(&heap, &chain[i].timer, i));
    }
    ck_assert_uint_eq(ace_timer_run(&heap, 10), 3);
    expect_fired((const int[]){0, 1, 2}, 3);
    ck_assert_int_eq(ace_timer_next(&heap), -1000);
    ck_assert_uint_eq(ace_timer_run(&heap, 10), 1);
    ace_timer_heap_free(&heap);
    ck_assert(!ace_timer_is_set(&chain[0].timer));
}
END_TEST

START_TEST(what_fires_may_cancel_and_move_those_about_to_fire)
{
    prepare(chain, 4);
    chain[0].timer.fire = cancel_the_next_and_move_the_last;
    for (int i = 0; i < 4; i++) {
        ck_assert(ace_timer_set(&heap, &chain[i].timer, i));
    }
    ck_assert_uint_eq(ace_timer_run(&heap, 10), 2);
    expect_fired((const int[]){0, 3}, 2);
    ck_assert_int_eq(ace_timer_next(&heap), 500);
    ck_assert_uint_eq(ace_timer_run(&heap, 500), 1);
    expect_fired((const int[]){2}, 1);
    ace_timer_heap_free(&heap);
}
END_TEST

static void free_own_record(ace_timer *timer)
{
    fired.count++;
    free(timer);
}

START_TEST(ten_thousand_waits_free_themselves)
{
    heap = (ace_timer_heap)ACE_TIMER_HEAP_INIT;
    fired.count = 0;
    for (int i = 0; i < 10000; i++) {
        ace_timer *timer = calloc(1, sizeof *timer);
        ck_assert_ptr_nonnull(timer);
        timer->fire = free_own_record;
        ck_assert(ace_timer_set(&heap, timer, (i * 7919) % 10007));
    }
    ck_assert_uint_eq(ace_timer_run(&heap, 20000), 10000);
    ck_assert_uint_eq(fired.count, 10000);
    ace_timer_heap_free(&heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base timer");
    TCase *tests = tcase_create("timer");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, the_heap_does_what_a_naive_model_does, 0, 5);
    tcase_add_test(tests, a_timer_fires_at_its_deadline_and_not_before);
    tcase_add_test(tests, a_timer_that_sets_itself_for_the_past_fires_in_the_next_run);
    tcase_add_test(tests, what_fires_may_cancel_and_move_those_about_to_fire);
    tcase_add_test(tests, ten_thousand_waits_free_themselves);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
