/* The examples of the guide, run as anybody would run them, and the story that each prints. */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* They lie beside the tests: build/tests and build/bin. */
static void find_example(const char *name, char *path, size_t size)
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(length, 0);
    own[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(own, '/');
        ck_assert_ptr_nonnull(slash);
        *slash = '\0';
    }
    int written = snprintf(path, size, "%s/bin/example-%s", own, name);
    ck_assert(written > 0 && (size_t)written < size);
    ck_assert_msg(access(path, X_OK) == 0, "%s was not built", path);
}

static void run(const char *name, char *output, size_t size)
{
    char path[PATH_MAX];
    int ends[2];
    find_example(name, path, sizeof path);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(path, path, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], output + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    output[length] = '\0';
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s failed:\n%s", name, output);
}

static void tells(const char *output, const char *line)
{
    ck_assert_msg(strstr(output, line) != NULL, "no \"%s\" in:\n%s", line, output);
}

START_TEST(publish)
{
    char output[8192];
    run("publish", output, sizeof output);
    tells(output, "order 1 is in its queue, confirmed");
    tells(output, "order 3 is in its queue, confirmed");
    tells(output, "order 4 came back: ");
    tells(output, "312 NO_ROUTE");
}
END_TEST

START_TEST(consume_with_retry)
{
    char output[8192];
    run("consume-with-retry", output, sizeof output);
    tells(output, "order-1, attempt 1: charged");
    tells(output, "order-2, attempt 3: charged");
    tells(output, "order-3, attempt 3: no stock");
    ck_assert_ptr_null(strstr(output, "order-4"));
    ck_assert_ptr_null(strstr(output, "attempt 4"));
    tells(output, "2 succeeded after 4 retries, 1 among the dead letters, 1 parked");
}
END_TEST

START_TEST(replay)
{
    char output[8192];
    run("replay", output, sizeof output);
    tells(output, "after the fix: 2 went home, 1 stayed");
    tells(output, "  order-1: charged\n  order-3: charged\n");
}
END_TEST

START_TEST(idempotent_consumer)
{
    char output[8192];
    run("idempotent-consumer", output, sizeof output);
    tells(output, "order-1: charged\norder-2: charged\n");
    tells(output, "2 were charged, 1 had been before");
}
END_TEST

START_TEST(outbox)
{
    char output[8192];
    run("outbox", output, sizeof output);
    tells(output, "3 orders are written, and not published yet");
    tells(output, "the relay published 3 orders");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("examples");
    TCase *tests = tcase_create("examples");
    tcase_add_test(tests, publish);
    tcase_add_test(tests, consume_with_retry);
    tcase_add_test(tests, replay);
    tcase_add_test(tests, idempotent_consumer);
    tcase_add_test(tests, outbox);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
