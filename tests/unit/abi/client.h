/* A client on a memory broker of its own, for the tests of the ABI. */
#ifndef ACEMQ_TESTS_ABI_CLIENT_H
#define ACEMQ_TESTS_ABI_CLIENT_H

#include <acemq/acemq.h>
#include <check.h>
#include <string.h>
#include <time.h>

/* Fails the test with the error's text. */
static inline void must(acemq_status status, acemq_error *error, const char *call, int line)
{
    ck_assert_msg(status == ACEMQ_OK, "line %d: %s: %s: %s", line, call, acemq_error_name(error),
                  acemq_error_message(error));
}

/* MUST(acemq_publish(mq, "q", message, 5000, &error)) */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status must_status = (call);                                                         \
        must(must_status, error, #call, __LINE__);                                                 \
    } while (0)

/* The same for a failure that is expected. */
static inline void must_fail(acemq_status status, acemq_status expected, acemq_error *error,
                             const char *call, int line)
{
    ck_assert_msg(status == expected, "line %d: %s: %s instead of %s: %s", line, call,
                  acemq_status_name(status), acemq_status_name(expected),
                  acemq_error_message(error));
    ck_assert_msg(error != NULL && acemq_error_code(error) == expected,
                  "line %d: %s: the error object says %s", line, call, acemq_error_name(error));
    acemq_error_free(error);
}

#define MUST_FAIL(expected, call)                                                                  \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status must_status = (call);                                                         \
        must_fail(must_status, (expected), error, #call, __LINE__);                                \
    } while (0)

static inline acemq_connection *connect_with(const char *url, const acemq_connect_options *options)
{
    acemq_connection *mq = NULL;
    MUST(acemq_connect(url, options, &mq, &error));
    return mq;
}

static inline void declare_queue(acemq_connection *mq, const char *queue, acemq_queue_type type,
                                 int dead_letter)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, queue, type, dead_letter, NULL, NULL);
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

static inline void publish_text(acemq_connection *mq, const char *queue, const char *id,
                                const char *text)
{
    acemq_message *message = acemq_message_text(text);
    acemq_message_set_id(message, id);
    MUST(acemq_publish(mq, queue, message, 5000, &error));
    acemq_message_free(message);
}

static inline uint64_t count_ready(acemq_connection *mq, const char *queue)
{
    uint64_t ready = 0;
    MUST(acemq_queue_count(mq, queue, 5000, &ready, NULL, &error));
    return ready;
}

static inline void sleep_ms(long milliseconds)
{
    struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

/* Until the queue holds so many; fails the test after ten seconds. */
static inline void await_ready(acemq_connection *mq, const char *queue, uint64_t count)
{
    for (int i = 0; i < 1000 && count_ready(mq, queue) != count; i++) {
        sleep_ms(10);
    }
    ck_assert_uint_eq(count_ready(mq, queue), count);
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
