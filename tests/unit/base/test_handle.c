#include "base/handle.h"

#include "base/thread.h"

#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONSUMER  ACE_MAGIC('C', 'O', 'N', 'S')
#define PUBLISHER ACE_MAGIC('P', 'U', 'B', 'L')

static void expect_check(const ace_handle *handle, uint32_t magic, ace_code wanted,
                         const char *message)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_handle_check(handle, magic, "consumer", &error), wanted);
    ck_assert_int_eq(ace_error_code(error), wanted);
    if (message != NULL) {
        ck_assert_str_eq(ace_error_message(error), message);
    }
    ace_error_free(error);
}

START_TEST(a_magic_reads_as_text_in_memory)
{
    uint32_t magic = CONSUMER;
    ck_assert_mem_eq(&magic, "CONS", 4);
}
END_TEST

START_TEST(an_open_handle_passes_and_others_say_why_not)
{
    ace_handle handle;
    ace_handle_init(&handle, CONSUMER);
    expect_check(&handle, CONSUMER, ACE_OK, "");
    expect_check(NULL, CONSUMER, ACE_INVALID_ARGUMENT, "consumer is NULL");
    expect_check(&handle, PUBLISHER, ACE_INVALID_ARGUMENT,
                 "consumer is not a consumer, or was freed");
    static const ace_handle zeroed;
    expect_check(&zeroed, CONSUMER, ACE_INVALID_ARGUMENT, NULL);
    ck_assert(!ace_handle_is_closed(&handle));
    ck_assert(ace_handle_close(&handle));
    ck_assert(!ace_handle_close(&handle));
    ck_assert(ace_handle_is_closed(&handle));
    expect_check(&handle, CONSUMER, ACE_CLOSED, "consumer is closed");
    ck_assert_int_eq(ace_handle_check_open_or_closed(&handle, CONSUMER, "consumer", NULL), ACE_OK);
}
END_TEST

START_TEST(the_last_release_says_so_and_spoils_the_magic)
{
    ace_handle handle;
    ace_handle_init(&handle, CONSUMER);
    ace_handle_retain(&handle);
    ace_handle_retain(&handle);
    ck_assert(!ace_handle_release(&handle));
    ck_assert(!ace_handle_release(&handle));
    expect_check(&handle, CONSUMER, ACE_OK, "");
    ck_assert(ace_handle_release(&handle));
    expect_check(&handle, CONSUMER, ACE_INVALID_ARGUMENT, NULL);
}
END_TEST

START_TEST(a_child_is_told_that_the_handle_is_its_parents)
{
    ace_handle handle;
    ace_handle_init(&handle, CONSUMER);
    ace_handle_close(&handle);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ace_error *error = NULL;
        bool right = ace_handle_is_foreign(&handle) &&
                     ace_handle_check(&handle, CONSUMER, "consumer", &error) == ACE_FORKED &&
                     ace_error_code(error) == ACE_FORKED && ace_handle_release(&handle);
        ace_error_free(error);
        ace_handle own;
        ace_handle_init(&own, CONSUMER);
        right = right && ace_handle_check(&own, CONSUMER, "consumer", NULL) == ACE_OK;
        _exit(right ? 0 : 1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert(!ace_handle_is_foreign(&handle));
    ck_assert(ace_handle_release(&handle));
}
END_TEST

typedef struct shared {
    ace_handle handle;
    atomic_int last;
    atomic_int closed;
} shared;

static void hold_and_let_go(void *user)
{
    shared *object = user;
    for (int i = 0; i < 10000; i++) {
        ace_handle_retain(&object->handle);
        atomic_fetch_add(&object->last, ace_handle_release(&object->handle));
    }
    atomic_fetch_add(&object->closed, ace_handle_close(&object->handle));
    atomic_fetch_add(&object->last, ace_handle_release(&object->handle));
}

START_TEST(of_many_threads_one_closes_and_one_is_last)
{
    shared object = {.last = 0};
    ace_handle_init(&object.handle, CONSUMER);
    ace_thread threads[4];
    for (int i = 0; i < 4; i++) {
        ace_handle_retain(&object.handle);
        ck_assert_int_eq(ace_thread_start(&threads[i], "holder", hold_and_let_go, &object, NULL),
                         ACE_OK);
    }
    atomic_fetch_add(&object.last, ace_handle_release(&object.handle));
    for (int i = 0; i < 4; i++) {
        ace_thread_join(&threads[i]);
    }
    ck_assert_int_eq(object.last, 1);
    ck_assert_int_eq(object.closed, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base handle");
    TCase *tests = tcase_create("handle");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_magic_reads_as_text_in_memory);
    tcase_add_test(tests, an_open_handle_passes_and_others_say_why_not);
    tcase_add_test(tests, the_last_release_says_so_and_spoils_the_magic);
    tcase_add_test(tests, a_child_is_told_that_the_handle_is_its_parents);
    tcase_add_test(tests, of_many_threads_one_closes_and_one_is_last);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
