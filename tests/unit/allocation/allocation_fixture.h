/* Counting through the allocations of one act: the broker is another process, so that only ours
 * fail. */
#ifndef ACE_TESTS_ALLOCATION_FIXTURE_H
#define ACE_TESTS_ALLOCATION_FIXTURE_H

#include "unit/allocation/failing_allocation.h"

#include <acemq/acemq.h>
#include <check.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define RUNS_WITHOUT_LONG 20 /* of each act; with ACEMQ_TEST_LONG every allocation fails once */
#define CALL_MS           3000
#define RUN_S             60 /* what one run may take before it counts as hanging */

typedef struct scene {
    acemq_connection *mq;
    acemq_consumer *consumer;
    acemq_publisher *publisher;
    uint64_t promised; /* messages that must still be there */
    const char *fault; /* what the act found wrong: Check allocates, so it may not assert */
} scene;

/* What is done: `act` alone meets a failing allocation. It returns the first status that is not
 * ACEMQ_OK with its error. */
typedef struct act {
    const char *name;
    void (*prepare)(scene *at);
    acemq_status (*run)(scene *at, acemq_error **error);
    void (*check)(scene *at, acemq_status status); /* may be NULL */
    bool ends_silently; /* it ends in a function that has no error to give */
} act;

static char broker_url[64];
static pid_t broker_process;
static char run_name[128]; /* "publish, allocation 17" */

#define MUST(call)                                                                                 \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status must_status = (call);                                                         \
        ck_assert_msg(must_status == ACEMQ_OK, "%s: %s: %s", run_name, #call,                      \
                      acemq_error_message(error));                                                 \
    } while (0)

/* --- the broker ----------------------------------------------------------------------------- */

static void serve(int told)
{
    acemq_broker *broker = NULL;
    int port = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (acemq_broker_start(&broker, NULL) != ACEMQ_OK ||
        acemq_broker_listen(broker, "127.0.0.1", 0, &port, NULL) != ACEMQ_OK ||
        write(told, &port, sizeof port) != sizeof port) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

static void start_broker(void)
{
    int told[2];
    int port = 0;
    ck_assert_int_eq(pipe(told), 0);
    broker_process = fork();
    if (broker_process == 0) {
        serve(told[1]);
    }
    ck_assert_int_gt(broker_process, 0);
    ck_assert_int_eq(read(told[0], &port, sizeof port), sizeof port);
    close(told[0]);
    close(told[1]);
    snprintf(broker_url, sizeof broker_url, "amqp://guest:guest@127.0.0.1:%d/", port);
}

static void stop_broker(void)
{
    kill(broker_process, SIGKILL);
}

/* --- everyday work, while nothing fails ----------------------------------------------------- */

static int64_t max_body; /* 0: the default */

static acemq_status connect_once(acemq_connection **mq, acemq_error **error)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.name = "allocation";
    options.timeout = CALL_MS;
    options.call_timeout = CALL_MS;
    options.reconnect_initial = 10;
    options.reconnect_max = 100;
    options.max_body = max_body > 0 ? max_body : options.max_body;
    return acemq_connect(broker_url, &options, mq, error);
}

static void connect_scene(scene *at)
{
    MUST(connect_once(&at->mq, &error));
}

static void publish_some(acemq_connection *mq, const char *queue, int count)
{
    acemq_message *message = acemq_message_json("{\"id\": 7}");
    for (int i = 0; i < count; i++) {
        MUST(acemq_publish(mq, queue, message, CALL_MS, &error));
    }
    acemq_message_free(message);
}

static uint64_t ready_in(acemq_connection *mq, const char *queue)
{
    uint64_t ready = 0;
    acemq_error *error = NULL;
    acemq_status status = acemq_queue_count(mq, queue, CALL_MS, &ready, NULL, &error);
    ck_assert_msg(status == ACEMQ_OK || status == ACEMQ_E_NOT_FOUND, "%s: counting %s: %s",
                  run_name, queue, acemq_error_message(error));
    acemq_error_free(error);
    return status == ACEMQ_OK ? ready : 0;
}

static uint64_t ready_anywhere(acemq_connection *mq)
{
    static const char *const queues[] = {"q", "q.dlq", "q.parked", "q.retry.20ms"};
    uint64_t ready = 0;
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        ready += ready_in(mq, queues[i]);
    }
    return ready;
}

/* An empty queue `q`, and its failure queues. */
static void declare_queues(acemq_connection *mq)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    static const char *const queues[] = {"q", "q.dlq", "q.parked", "q.retry.20ms"};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        acemq_error *error = NULL;
        (void)acemq_queue_delete(mq, queues[i], CALL_MS, NULL, &error);
        acemq_error_free(error);
    }
    acemq_topology_queue(topology, "q", ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    MUST(acemq_topology_apply(mq, topology, CALL_MS, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

/* --- one run -------------------------------------------------------------------------------- */

static void tell_hang(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDERR_FILENO, run_name, strlen(run_name));
    written = write(STDERR_FILENO, ": hangs\n", 8);
    (void)written;
    abort();
}

static void check_error(acemq_status status, acemq_error *error)
{
    if (status == ACEMQ_OK) {
        ck_assert_msg(error == NULL, "%s: success with an error", run_name);
        return;
    }
    ck_assert_msg(error != NULL, "%s: status %d without an error", run_name, (int)status);
    ck_assert_msg(acemq_error_code(error) == status, "%s: another code in the error", run_name);
    ck_assert_msg(acemq_error_message(error)[0] != '\0', "%s: no message", run_name);
    acemq_error_free(error);
}

/* Whatever happened, the client works afterwards, and nothing that was promised is lost. */
static void check_usable(scene *at)
{
    publish_some(at->mq, "q", 1);
    at->promised++;
    uint64_t ready = 0;
    for (int tries = 0; tries < 500; tries++) {
        ready = ready_anywhere(at->mq);
        if (ready >= at->promised) {
            return;
        }
        usleep(10000);
    }
    ck_abort_msg("%s: %llu messages are there, %llu were promised", run_name,
                 (unsigned long long)ready, (unsigned long long)at->promised);
}

/* ACEMQ_TEST_ACT, ACEMQ_TEST_ALLOCATION and ACEMQ_TEST_SHOW_ALLOCATION: that act, that one of its
 * allocations, and (with AddressSanitizer) where it is made. */
static bool is_wanted(const act *one)
{
    const char *only = getenv("ACEMQ_TEST_ACT");
    return only == NULL || strcmp(only, one->name) == 0;
}

/* True while there are allocations to fail. `number` FAILING_NONE only counts. */
static bool run_once(const act *one, long number, long in_a_row, long *count)
{
    scene at = {.mq = NULL};
    acemq_error *error = NULL;
    snprintf(run_name, sizeof run_name, "%s, allocation %ld, %ld in a row", one->name, number,
             in_a_row);
    alarm(RUN_S);
    one->prepare(&at);
    failing_arm(number, in_a_row);
    acemq_status status = one->run(&at, &error);
    *count = failing_disarm();
    check_error(status, error);
    bool has_failed = atomic_load(&failing_has_failed);
    ck_assert_msg(has_failed || status == ACEMQ_OK, "%s: failed though nothing was missing: %d",
                  run_name, (int)status);
    ck_assert_msg(at.fault == NULL, "%s: %s", run_name, at.fault);
    ck_assert_msg(one->ends_silently || !atomic_load(&failing_was_ours) || status != ACEMQ_OK,
                  "%s: success though an allocation of the caller's failed", run_name);
    acemq_consumer_free(at.consumer);
    acemq_publisher_free(at.publisher);
    if (one->check != NULL) {
        one->check(&at, status);
    }
    if (at.mq != NULL) {
        check_usable(&at);
    }
    acemq_connection_free(at.mq);
    alarm(0);
    return has_failed;
}

static void count_through(const act *one, long in_a_row)
{
    long count = 0;
    long runs = 0;
    long step = 1;
    if (!is_wanted(one)) {
        return;
    }
    signal(SIGALRM, tell_hang);
    start_broker();
    (void)run_once(one, FAILING_NONE, 1, &count);
    ck_assert_msg(!failing_has_leaked(), "%s: leaks when nothing fails", one->name);
    if (getenv("ACEMQ_TEST_LONG") == NULL && count > RUNS_WITHOUT_LONG) {
        step = count / RUNS_WITHOUT_LONG + 1;
    }
    const char *only = getenv("ACEMQ_TEST_ALLOCATION");
    for (long number = only == NULL ? 1 : atol(only); run_once(one, number, in_a_row, &count);
         number += step) {
        runs++;
        ck_assert_msg(!failing_has_leaked(), "%s: leaks", run_name);
        if (only != NULL) {
            break;
        }
    }
    ck_assert_int_gt(runs, 0);
    stop_broker();
}

#endif
