#include "engine/events.h"

#include "base/clock.h"
#include "base/thread.h"
#include "engine/waiter.h"

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_readable(ace_events *events)
{
    struct pollfd polled = {.fd = ace_events_descriptor(events), .events = POLLIN};
    return poll(&polled, 1, 0) == 1;
}

static void put(ace_events *events, ace_event_kind kind, uint64_t number, const char *text)
{
    ace_event event = {
        .kind = kind, .number = number, .source = "", .text = (char *)(uintptr_t)text};
    ace_events_put(events, &event);
}

static ace_event *take(ace_events *events, ace_event_kind kind, uint64_t number, uint64_t lost)
{
    ace_event *event = ace_events_take(events);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(event->kind, kind);
    ck_assert_uint_eq(event->number, number);
    ck_assert_uint_eq(event->lost, lost);
    return event;
}

START_TEST(events_come_in_order_with_copies_of_their_own)
{
    ace_events *events = NULL;
    ace_error *error = NULL;
    char text[] = "low on memory";
    ck_assert_int_eq(ace_events_new(10, &events, NULL), ACE_OK);
    ck_assert_ptr_null(ace_events_take(events));
    ck_assert(!is_readable(events));
    ace_fail(&error, ACE_CONNECTION_LOST, "gone");
    ace_event event = {
        .kind = ACE_EVENT_STATE, .number = 7, .source = "publishing", .error = error};
    ace_events_put(events, &event);
    ace_error_free(error);
    put(events, ACE_EVENT_BLOCKED, 8, text);
    text[0] = 'X';
    ck_assert(is_readable(events));
    ace_event *first = take(events, ACE_EVENT_STATE, 7, 0);
    ck_assert_str_eq(ace_error_message(first->error), "gone");
    ck_assert_str_eq(first->source, "publishing");
    ck_assert(is_readable(events));
    ace_event *second = take(events, ACE_EVENT_BLOCKED, 8, 0);
    ck_assert_str_eq(second->text, "low on memory");
    ck_assert(!is_readable(events));
    ace_event_free(first);
    ace_event_free(second);
    ace_event_free(NULL);
    ace_events_free(events);
}
END_TEST

START_TEST(of_each_kind_the_newest_are_kept_and_the_next_one_says_how_many_were_lost)
{
    ace_events *events = NULL;
    ck_assert_int_eq(ace_events_new(2, &events, NULL), ACE_OK);
    put(events, ACE_EVENT_STATE, 1, NULL);
    put(events, ACE_EVENT_LOG, 2, "a");
    put(events, ACE_EVENT_LOG, 3, "b");
    put(events, ACE_EVENT_LOG, 4, "c"); /* drops 2 */
    put(events, ACE_EVENT_LOG, 5, "d"); /* drops 3 */
    put(events, ACE_EVENT_STATE, 6, NULL);
    ace_event_free(take(events, ACE_EVENT_STATE, 1, 0));
    ace_event_free(take(events, ACE_EVENT_LOG, 4, 1));
    ace_event_free(take(events, ACE_EVENT_LOG, 5, 1));
    ace_event_free(take(events, ACE_EVENT_STATE, 6, 0));
    ck_assert_ptr_null(ace_events_take(events));
    ck_assert(!is_readable(events));
    ace_events_free(events);
    ace_events_put(NULL, &(ace_event){.kind = ACE_EVENT_LOG});
}
END_TEST

START_TEST(what_somebody_waits_for_is_never_dropped)
{
    ace_events *events = NULL;
    ck_assert_int_eq(ace_events_new(1, &events, NULL), ACE_OK);
    for (uint64_t i = 0; i < 5; i++) {
        put(events, ACE_EVENT_CONFIRM, i, NULL);
    }
    for (uint64_t i = 0; i < 5; i++) {
        ace_event_free(take(events, ACE_EVENT_CONFIRM, i, 0));
    }
    ace_events_free(events);
}
END_TEST

static bool keep_even_ones(ace_event *event, void *user)
{
    (void)user;
    return event->number % 2 == 0;
}

START_TEST(a_judge_decides_about_those_that_wait_and_those_to_come)
{
    ace_events *events = NULL;
    ck_assert_int_eq(ace_events_new(10, &events, NULL), ACE_OK);
    put(events, ACE_EVENT_STATE, 1, NULL);
    put(events, ACE_EVENT_LOG, 2, "a");
    put(events, ACE_EVENT_STATE, 4, NULL);
    ace_events_judge_by(events, keep_even_ones, NULL);
    put(events, ACE_EVENT_STATE, 5, NULL);
    put(events, ACE_EVENT_STATE, 6, NULL);
    ace_event_free(take(events, ACE_EVENT_LOG, 2, 0));
    ace_event_free(take(events, ACE_EVENT_STATE, 4, 0));
    ace_event_free(take(events, ACE_EVENT_STATE, 6, 0));
    ck_assert(!is_readable(events));
    ace_events_free(events);
}
END_TEST

static void end_soon(void *user)
{
    struct timespec pause = {.tv_nsec = 30000000};
    nanosleep(&pause, NULL);
    ace_events_end(user);
}

START_TEST(waiting_ends_with_an_event_the_deadline_a_token_or_the_end)
{
    ace_events *events = NULL;
    ace_event *event = NULL;
    ace_thread thread;
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_int_eq(ace_events_new(10, &events, NULL), ACE_OK);
    ck_assert_int_eq(ace_events_next(events, ace_deadline_after(20), NULL, &event, NULL),
                     ACE_TIMEOUT);
    ace_cancel_fire(cancel);
    ck_assert_int_eq(ace_events_next(events, ACE_NEVER, cancel, &event, NULL), ACE_CANCELLED);
    put(events, ACE_EVENT_STATE, 1, NULL);
    ck_assert_int_eq(ace_events_next(events, ACE_NEVER, cancel, &event, NULL), ACE_OK);
    ace_event_free(event);
    ck_assert_int_eq(ace_thread_start(&thread, "end", end_soon, events, NULL), ACE_OK);
    ck_assert_int_eq(ace_events_next(events, ACE_NEVER, NULL, &event, NULL), ACE_CLOSED);
    ck_assert(is_readable(events));
    ace_thread_join(&thread);
    ace_events_free(events);
    ace_cancel_release(cancel);
}
END_TEST

#define PUTTERS 4
#define EACH    2000

static void put_many(void *user)
{
    for (uint64_t i = 0; i < EACH; i++) {
        put(user, ACE_EVENT_SETTLE, i, "text");
    }
}

START_TEST(many_threads_put_and_one_takes_without_a_loss)
{
    ace_events *events = NULL;
    ace_thread threads[PUTTERS];
    int taken = 0;
    ck_assert_int_eq(ace_events_new(PUTTERS * EACH, &events, NULL), ACE_OK);
    for (int i = 0; i < PUTTERS; i++) {
        ck_assert_int_eq(ace_thread_start(&threads[i], "put", put_many, events, NULL), ACE_OK);
    }
    while (taken < PUTTERS * EACH) {
        struct pollfd polled = {.fd = ace_events_descriptor(events), .events = POLLIN};
        ck_assert_int_eq(poll(&polled, 1, 5000), 1);
        ace_event *event = ace_events_take(events);
        if (event != NULL) {
            ck_assert_uint_eq(event->lost, 0);
            ace_event_free(event);
            taken++;
        }
    }
    for (int i = 0; i < PUTTERS; i++) {
        ace_thread_join(&threads[i]);
    }
    ck_assert_ptr_null(ace_events_take(events));
    ace_events_free(events);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *tcase = tcase_create("events");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, events_come_in_order_with_copies_of_their_own);
    tcase_add_test(tcase,
                   of_each_kind_the_newest_are_kept_and_the_next_one_says_how_many_were_lost);
    tcase_add_test(tcase, what_somebody_waits_for_is_never_dropped);
    tcase_add_test(tcase, a_judge_decides_about_those_that_wait_and_those_to_come);
    tcase_add_test(tcase, waiting_ends_with_an_event_the_deadline_a_token_or_the_end);
    tcase_add_test(tcase, many_threads_put_and_one_takes_without_a_loss);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
