/* Streams inside the process. */
#include "transport/pair.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static ace_stream *near;
static ace_stream *far;

static void setup(void)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_pair_open("memory://orders", &near, &far, &error), ACE_OK);
}

static void teardown(void)
{
    ace_stream_close(near);
    ace_stream_close(far);
}

static ace_stream_state write_text(ace_stream *stream, const char *text, size_t *moved,
                                   ace_error **error)
{
    struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
    return ace_stream_write(stream, &part, 1, moved, error);
}

START_TEST(bytes_cross_in_both_directions)
{
    size_t moved;
    char got[16];
    ck_assert_int_eq(ace_stream_establish(near, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(write_text(near, "ping", &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 4);
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 4);
    ck_assert_mem_eq(got, "ping", 4);
    struct iovec parts[3] = {{"p", 1}, {"", 0}, {"ong", 3}};
    ck_assert_int_eq(ace_stream_write(far, parts, 3, &moved, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_read(near, got, 2, &moved, NULL), ACE_STREAM_READY);
    ck_assert_mem_eq(got, "po", 2);
    ck_assert_int_eq(ace_stream_read(near, got, sizeof got, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 2);
    ck_assert_str_eq(ace_stream_peer(near), "memory://orders");
}
END_TEST

START_TEST(nothing_to_read_and_no_room_to_write_are_blocked)
{
    char got[65536];
    size_t moved = 99;
    ck_assert_int_eq(ace_stream_read(near, got, sizeof got, &moved, NULL), ACE_STREAM_BLOCKED);
    ck_assert_uint_eq(moved, 0);
    static char block[65536];
    struct iovec part = {block, sizeof block};
    size_t sum = 0;
    ace_stream_state state = ACE_STREAM_READY;
    for (int i = 0; i < 1000 && state == ACE_STREAM_READY; i++) {
        state = ace_stream_write(near, &part, 1, &moved, NULL);
        sum += moved;
    }
    ck_assert_int_eq(state, ACE_STREAM_BLOCKED);
    ck_assert_uint_eq(moved, 0);
    struct pollfd wait = {ace_stream_descriptor(near), ace_stream_events(near, true, true), 0};
    ck_assert_int_eq(wait.events, POLLIN | POLLOUT);
    ck_assert_int_eq(poll(&wait, 1, 0), 0);
    size_t read = 0;
    while (ace_stream_read(far, got, sizeof got, &moved, NULL) == ACE_STREAM_READY) {
        read += moved;
    }
    ck_assert_uint_eq(read, sum);
    ck_assert_int_eq(poll(&wait, 1, 0), 1);
    ck_assert_int_eq(wait.revents, POLLOUT);
}
END_TEST

START_TEST(nothing_to_write_is_done)
{
    size_t moved = 99;
    ck_assert_int_eq(ace_stream_write(near, NULL, 0, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 0);
    struct iovec empty = {NULL, 0};
    ck_assert_int_eq(ace_stream_write(near, &empty, 1, &moved, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_events(near, false, false), 0);
}
END_TEST

START_TEST(more_parts_than_the_kernel_takes_are_cut)
{
    enum { count = 3000 };
    struct iovec *parts = calloc(count, sizeof *parts);
    for (int i = 0; i < count; i++) {
        parts[i] = (struct iovec){"x", 1};
    }
    size_t moved;
    ck_assert_int_eq(ace_stream_write(near, parts, count, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_gt(moved, 0);
    ck_assert_uint_lt(moved, count);
    free(parts);
}
END_TEST

START_TEST(a_finished_stream_still_reads)
{
    size_t moved;
    char got[8];
    ck_assert_int_eq(write_text(near, "last", &moved, NULL), ACE_STREAM_READY);
    ace_stream_finish(near);
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 4);
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_END);
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_END);
    ck_assert_int_eq(write_text(far, "yes", &moved, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_read(near, got, sizeof got, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 3);
}
END_TEST

START_TEST(a_peer_that_closed_is_an_end_and_then_an_error_without_a_signal)
{
    size_t moved;
    char got[8];
    ace_stream_close(far);
    far = NULL;
    ck_assert_int_eq(ace_stream_read(near, got, sizeof got, &moved, NULL), ACE_STREAM_END);
    ace_error *error = NULL;
    ck_assert_int_eq(write_text(near, "late", &moved, &error), ACE_STREAM_FAILED);
    ck_assert_uint_eq(moved, 0);
    ck_assert_int_eq(ace_error_code(error), ACE_CONNECTION_LOST);
    ck_assert_str_eq(ace_error_message(error), "writing to memory://orders: Broken pipe");
    ace_error_free(error);
}
END_TEST

START_TEST(descriptors_are_closed_on_exec_and_never_block)
{
    ace_stream *both[2] = {near, far};
    for (int i = 0; i < 2; i++) {
        int descriptor = ace_stream_descriptor(both[i]);
        ck_assert_int_eq(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        ck_assert_int_eq(fcntl(descriptor, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    }
}
END_TEST

static int child_exit(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(abandoning_in_a_child_leaves_the_parents_stream_alone)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ace_stream_abandon(near);
        ace_stream_abandon(far);
        _exit(0);
    }
    ck_assert_int_eq(child_exit(child), 0);
    size_t moved;
    char got[8];
    ck_assert_int_eq(write_text(near, "here", &moved, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(moved, 4);
}
END_TEST

START_TEST(closing_ends_the_stream_though_a_child_holds_a_copy)
{
    int hold[2];
    ck_assert_int_eq(pipe(hold), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char end;
        close(hold[1]);
        ssize_t got = read(hold[0], &end, 1); /* until the parent is done */
        _exit(got == 0 ? 0 : 1);
    }
    close(hold[0]);
    ace_stream_close(near);
    near = NULL;
    size_t moved;
    char got[8];
    ck_assert_int_eq(ace_stream_read(far, got, sizeof got, &moved, NULL), ACE_STREAM_END);
    close(hold[1]);
    ck_assert_int_eq(child_exit(child), 0);
}
END_TEST

START_TEST(closing_nothing_is_fine)
{
    ace_stream_close(NULL);
    ace_stream_abandon(NULL);
}
END_TEST

static Suite *pair_suite(void)
{
    Suite *suite = suite_create("pair");
    TCase *pairs = tcase_create("pair");
    tcase_set_timeout(pairs, 60);
    tcase_add_checked_fixture(pairs, setup, teardown);
    tcase_add_test(pairs, bytes_cross_in_both_directions);
    tcase_add_test(pairs, nothing_to_read_and_no_room_to_write_are_blocked);
    tcase_add_test(pairs, nothing_to_write_is_done);
    tcase_add_test(pairs, more_parts_than_the_kernel_takes_are_cut);
    tcase_add_test(pairs, a_finished_stream_still_reads);
    tcase_add_test(pairs, a_peer_that_closed_is_an_end_and_then_an_error_without_a_signal);
    tcase_add_test(pairs, descriptors_are_closed_on_exec_and_never_block);
    tcase_add_test(pairs, abandoning_in_a_child_leaves_the_parents_stream_alone);
    tcase_add_test(pairs, closing_ends_the_stream_though_a_child_holds_a_copy);
    tcase_add_test(pairs, closing_nothing_is_fine);
    suite_add_tcase(suite, pairs);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(pair_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
