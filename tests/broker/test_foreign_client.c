/* pika, which knows nothing of us, finds the same on RabbitMQ and on the memory broker. */
#include "broker/broker.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PYTHON "/usr/bin/python3" /* Debian's, which has Debian's pika */
#define SCRIPT ACEMQ_SOURCE_DIR "/tests/broker/foreign_client_pika.py"

static void run_pika(const char *url)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        /* Check reads no TAP of others. */
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl(PYTHON, PYTHON, SCRIPT, url, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "pika on %s: the lines above say what failed", url);
}

START_TEST(pika_finds_what_it_expects_on_rabbitmq)
{
    const char *url = getenv("ACEMQ_TEST_URL");

    ck_assert_msg(url != NULL, "ACEMQ_TEST_URL must name a broker");
    run_pika(url);
}
END_TEST

START_TEST(pika_finds_the_same_on_the_memory_broker)
{
    ace_broker *broker;
    uint16_t port = 0;
    char url[64];

    ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_listen(broker, "127.0.0.1", 0, &port, NULL), ACE_OK);
    snprintf(url, sizeof(url), "amqp://guest:guest@127.0.0.1:%u/", port);
    run_pika(url);
    ace_broker_release(broker);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("foreign client");
    TCase *tcase = tcase_create("pika");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, pika_finds_what_it_expects_on_rabbitmq);
    tcase_add_test(tcase, pika_finds_the_same_on_the_memory_broker);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
