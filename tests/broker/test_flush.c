/* What was settled has left the process when the call that flushes returns. */
#include <acemq/acemq.h>
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 8
#define QUEUE  "acemq-test-flush"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status must_status = (call);                                                         \
        if (must_status != ACEMQ_OK) {                                                             \
            fprintf(stderr, "%s: %s\n", #call, acemq_error_message(error));                        \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

static acemq_connection *connect_now(void)
{
    acemq_connection *mq = NULL;
    MUST(acemq_connect(getenv("ACEMQ_TEST_URL"), NULL, &mq, &error));
    return mq;
}

static void declare(acemq_connection *mq)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, QUEUE, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    MUST(acemq_topology_apply(mq, topology, 10000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    MUST(acemq_queue_purge(mq, QUEUE, 10000, NULL, &error));
}

/* And then does nothing more: all of its threads stand still. */
static void settle_and_stop(int drains)
{
    acemq_connection *mq = connect_now();
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    declare(mq);
    acemq_message *message = acemq_message_text("once");
    MUST(acemq_publish(mq, QUEUE, message, 10000, &error));
    MUST(acemq_consumer_open(mq, QUEUE, NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 10000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    if (drains) {
        MUST(acemq_consumer_drain(consumer, 10000, NULL, &error));
    } else {
        MUST(acemq_consumer_close(consumer, &error));
    }
    raise(SIGSTOP);
    _exit(97);
}

/* How many came back; looked at once the broker has noticed that the client is gone. */
static void count_what_is_left(void)
{
    acemq_connection *mq = connect_now();
    uint64_t ready = 0;
    uint64_t consumers = 1;
    for (int i = 0; i < 500 && consumers > 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        MUST(acemq_queue_count(mq, QUEUE, 10000, &ready, &consumers, &error));
    }
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    MUST(acemq_queue_count(mq, QUEUE, 10000, &ready, &consumers, &error));
    _exit(consumers > 0 ? 98 : (int)ready);
}

/* The broker is given the time to read what was sent, since the end of a process throws away what
 * its peer has not read yet. */
static void await_stop_and_kill(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
}

static int status_of(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The test's own process has no thread, so that its children may have some. */
START_TEST(what_was_settled_is_sent_when_a_drain_or_a_close_returns)
{
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child = fork();
        if (child == 0) {
            settle_and_stop(_i);
        }
        await_stop_and_kill(child);
        child = fork();
        if (child == 0) {
            count_what_is_left();
        }
        ck_assert_int_eq(status_of(child), 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flush");
    TCase *tcase = tcase_create("flush");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, what_was_settled_is_sent_when_a_drain_or_a_close_returns, 0, 2);
    suite_add_tcase(suite, tcase);
    if (getenv("ACEMQ_TEST_URL") == NULL) {
        fputs("ACEMQ_TEST_URL names no broker\n", stderr);
        return 1;
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
