/*
 * What tests of consumers need around them: a connection to the broker under test, queues of their
 * own, messages of any shape put in, and messages taken out. On the broker that ACEMQ_TEST_URL
 * names.
 */
#ifndef ACEMQ_TESTS_CONSUMING_H
#define ACEMQ_TESTS_CONSUMING_H

#include "base/arena.h"
#include "contract/names.h"
#include "contract/properties.h"
#include "engine/connection.h"
#include "engine/consumer.h"
#include "engine/session.h"
#include "engine/waiter.h"
#include "wire/arguments.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE INT64_C(20000) /* ms that anything may take before the test gives up */

typedef struct consume_bench {
    ace_connection *connection;
    ace_session *session; /* for everything that is not the consumer's own */
    char queue[80];
} consume_bench;

static inline int64_t soon(void)
{
    return ace_deadline_after(PATIENCE);
}

static inline int64_t now_ms(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

static inline void nap(int64_t milliseconds)
{
    struct timespec wait = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
    (void)nanosleep(&wait, NULL);
}

static inline void must(ace_code code, ace_error *error, const char *what)
{
    ck_assert_msg(code == ACE_OK, "%s: %s", what, error == NULL ? "?" : ace_error_message(error));
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        ace_error *error = NULL;                                                                   \
        ace_code must_code = (call);                                                               \
        must(must_code, error, #call);                                                             \
    } while (0)

/* Waits until the condition holds; fails the test with its text when it never does. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t await_end = soon();                                                                \
        while (!(condition)) {                                                                     \
            ck_assert_msg(now_ms() < await_end, "never came true: %s", #condition);                \
            nap(5);                                                                                \
        }                                                                                          \
    } while (0)

static inline void bench_log(ace_log_level level, const char *line, void *user)
{
    (void)level;
    (void)user;
    if (getenv("ACEMQ_TEST_LOG") != NULL) {
        fprintf(stderr, "%s\n", line);
    }
}

static bool on_memory;

static inline const char *bench_url(void)
{
    const char *url = on_memory ? "memory://consuming" : getenv("ACEMQ_TEST_URL");
    ck_assert_msg(url != NULL, "ACEMQ_TEST_URL names the broker to test on");
    return url;
}

/* `settings` NULL: the defaults. */
static inline void bench_open_with(consume_bench *bench, const char *name,
                                   const ace_settings *settings)
{
    ace_settings own;
    ace_settings_init(&own);
    if (settings != NULL) {
        own = *settings;
    }
    if (own.log.sink == NULL) {
        own.log = (ace_log){bench_log, NULL, ACE_LOG_DEBUG};
    }
    memset(bench, 0, sizeof *bench);
    MUST(ace_connection_open(bench_url(), &own, NULL, &bench->connection, &error));
    MUST(ace_session_new(bench->connection->consuming, &bench->session, &error));
    snprintf(bench->queue, sizeof bench->queue, "t.%s.%ld", name, (long)getpid());
}

static inline void bench_open(consume_bench *bench, const char *name)
{
    bench_open_with(bench, name, NULL);
}

/* `limit` 0: no delivery limit. Kind "quorum" or "classic". */
static inline void declare_queue(consume_bench *bench, const char *queue, const char *kind,
                                 int limit)
{
    ace_arena arena = ACE_ARENA_INIT;
    ace_arguments arguments;
    amqp_table_t table;
    ace_arguments_init(&arguments, &arena);
    ace_arguments_add_text(&arguments, "x-queue-type", kind);
    if (limit > 0) {
        ace_arguments_add_int64(&arguments, "x-delivery-limit", limit);
    }
    MUST(ace_arguments_table(&arguments, &table, &error));
    amqp_queue_declare_t declare = {
        .queue = amqp_cstring_bytes(queue), .durable = 1, .arguments = table};
    MUST(ace_session_call(bench->session, AMQP_QUEUE_DECLARE_METHOD, &declare, NULL, soon(), NULL,
                          &error));
    ace_arena_free(&arena);
}

static inline void delete_queue(consume_bench *bench, const char *queue)
{
    amqp_queue_delete_t delete = {.queue = amqp_cstring_bytes(queue)};
    MUST(ace_session_call(bench->session, AMQP_QUEUE_DELETE_METHOD, &delete, NULL, soon(), NULL,
                          &error));
}

/* Messages ready; -1: no such queue. */
static inline long count_of(consume_bench *bench, const char *queue)
{
    amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes(queue), .passive = 1};
    ace_reply reply;
    ace_error *error = NULL;
    ace_code code = ace_session_call(bench->session, AMQP_QUEUE_DECLARE_METHOD, &declare, &reply,
                                     soon(), NULL, &error);
    if (code == ACE_NOT_FOUND) {
        ace_error_free(error);
        return -1;
    }
    must(code, error, queue);
    return (long)reply.message_count;
}

/* The queue's name with a suffix, in one of a few places that are used in turn. */
static inline const char *named(const consume_bench *bench, const char *suffix)
{
    static char names[8][300];
    static int next;
    char *name = names[next++ % 8];
    snprintf(name, sizeof names[0], "%s%s", bench->queue, suffix);
    return name;
}

static inline const char *dlq(const consume_bench *bench)
{
    return named(bench, ".dlq");
}

/* Deletes the queue and all that consumers of it may have made, and closes. */
static inline void bench_close(consume_bench *bench, const char *const *rungs)
{
    delete_queue(bench, bench->queue);
    delete_queue(bench, dlq(bench));
    delete_queue(bench, named(bench, ".parked"));
    for (; rungs != NULL && *rungs != NULL; rungs++) {
        delete_queue(bench, named(bench, *rungs));
    }
    ace_session_free(bench->session);
    MUST(ace_connection_close(bench->connection, PATIENCE, &error));
    ace_connection_release(bench->connection);
}

/* Puts a message in exactly as it is: no envelope is made for it. `head` NULL: no properties. */
static inline void put_raw(consume_bench *bench, const char *queue, const void *body, size_t length,
                           const ace_head *head)
{
    static const amqp_basic_properties_t none = {0};
    ace_publish publish = {0};
    MUST(ace_publish_encode(&publish, "", queue, true, head == NULL ? &none : &head->properties,
                            (ace_bytes){body, length},
                            ace_link_frame_max(bench->connection->publishing), UINT64_MAX, &error));
    publish.deadline = ace_publisher_deadline(bench->connection->publisher, PATIENCE);
    MUST(ace_publisher_send(bench->connection->publisher, ACE_PUBLISH_HOP, &publish, NULL, &error));
    ace_publish_clear(&publish);
}

static inline void put_text(consume_bench *bench, const char *body)
{
    put_raw(bench, bench->queue, body, strlen(body), NULL);
}

/* A message of our own: with an id and what else an envelope has. */
static inline void head_with_id(ace_head *head, const char *id)
{
    *head = (ace_head)ACE_HEAD_INIT;
    MUST(ace_table_set_text(&head->headers, ACE_HEADER_ID, id, &error));
    ace_head_seal(head);
}

static inline void put_with_id(consume_bench *bench, const char *id, const char *body)
{
    ace_head head;
    head_with_id(&head, id);
    put_raw(bench, bench->queue, body, strlen(body), &head);
    ace_head_release(&head);
}

/* The head of the queue, acknowledged; waits for one. The caller frees it. */
static inline ace_delivery *take_from(consume_bench *bench, const char *queue)
{
    ace_content *content = NULL;
    uint64_t opening = 0;
    int64_t end = soon();
    while (content == NULL) {
        ck_assert_msg(now_ms() < end, "nothing came into %s", queue);
        ace_error *error = NULL;
        ace_code code =
            ace_session_get(bench->session, queue, &content, &opening, end, NULL, &error);
        if (code == ACE_NOT_FOUND || content == NULL) { /* it may still be made */
            nap(10);
            ace_error_free(error);
        } else {
            must(code, error, queue);
        }
    }
    ace_delivery *delivery;
    MUST(ace_delivery_of_content(content, queue, &delivery, &error));
    const amqp_basic_get_ok_t *got = ace_delivery_content(delivery)->method.decoded;
    MUST(ace_session_ack(bench->session, opening, got->delivery_tag, false, &error));
    return delivery;
}

static inline const amqp_field_value_t *header_of(ace_delivery *delivery, const char *name)
{
    return ace_table_find(&ace_delivery_all_headers(delivery)->table, name);
}

static inline void assert_text(ace_bytes bytes, const char *expected)
{
    ck_assert_msg(ace_bytes_equal_text(bytes, expected), "\"%.*s\" instead of \"%s\"",
                  (int)bytes.length, (const char *)bytes.data, expected);
}

static inline ace_consumer_counters counted(const ace_consumer *consumer)
{
    ace_consumer_counters counters;
    ace_consumer_count(consumer, &counters);
    return counters;
}

/* A handler that does as it is told, and remembers. */
typedef struct recorder {
    ace_outcome outcome; /* of every call, but for */
    int fail_first;      /* so many calls, which fail */
    const char *reason;
    int64_t pause;    /* ms that each call takes */
    atomic_bool held; /* calls do not return before this is over */
    atomic_int calls;
    atomic_int running;
    atomic_int most_running;
    atomic_int destroyed;
    int32_t attempts[64]; /* of the envelopes, in the order of the calls */
    int64_t times[64];
    char bodies[64][32];
} recorder;

static inline void note_running(recorder *record, int change)
{
    int running = atomic_fetch_add(&record->running, change) + change;
    int most = atomic_load(&record->most_running);
    while (running > most && !atomic_compare_exchange_weak(&record->most_running, &most, running)) {
    }
}

static inline ace_outcome record_call(ace_delivery *delivery, void *user)
{
    recorder *record = user;
    note_running(record, 1);
    int call = atomic_load(&record->calls);
    if (call < 64) {
        ace_bytes body = ace_delivery_body(delivery);
        record->attempts[call] = ace_delivery_envelope(delivery)->attempt;
        record->times[call] = now_ms();
        snprintf(record->bodies[call], sizeof record->bodies[call], "%.*s", (int)body.length,
                 (const char *)body.data);
    }
    if (record->pause > 0) {
        nap(record->pause);
    }
    while (atomic_load(&record->held)) {
        nap(1);
    }
    if (record->reason != NULL) {
        ace_delivery_set_reason(delivery, record->reason);
    }
    note_running(record, -1);
    atomic_fetch_add(&record->calls, 1);
    return call < record->fail_first ? ACE_FAILED : record->outcome;
}

static inline void record_destruction(void *user)
{
    recorder *record = user;
    atomic_fetch_add(&record->destroyed, 1);
}

static inline ace_consumer_options options_of(const consume_bench *bench, recorder *record,
                                              const ace_policy *policy)
{
    ace_consumer_options options;
    ace_consumer_options_init(&options);
    options.queue = bench->queue;
    options.retry = policy;
    if (record != NULL) {
        options.handler = record_call;
        options.user = record;
        options.destructor = record_destruction;
    }
    return options;
}

static inline ace_consumer *consume_with(consume_bench *bench, const ace_consumer_options *options)
{
    ace_consumer *consumer = NULL;
    MUST(ace_consumer_open(bench->connection, options, soon(), NULL, &consumer, &error));
    return consumer;
}

static inline ace_consumer *consume(consume_bench *bench, recorder *record,
                                    const ace_policy *policy)
{
    ace_consumer_options options = options_of(bench, record, policy);
    return consume_with(bench, &options);
}

static inline void use_memory(void)
{
    on_memory = true;
}

static inline void use_rabbitmq(void)
{
    on_memory = false;
}

/* The same tests on the memory broker, and on the RabbitMQ at ACEMQ_TEST_URL. */
static inline Suite *suite_on_both(const char *name, int timeout, void (*add_tests)(TCase *tcase))
{
    Suite *suite = suite_create(name);
    TCase *memory = tcase_create("memory broker");
    TCase *rabbitmq = tcase_create("RabbitMQ");
    tcase_add_checked_fixture(memory, use_memory, NULL);
    tcase_add_checked_fixture(rabbitmq, use_rabbitmq, NULL);
    tcase_set_timeout(memory, timeout);
    tcase_set_timeout(rabbitmq, timeout);
    add_tests(memory);
    add_tests(rabbitmq);
    suite_add_tcase(suite, memory);
    suite_add_tcase(suite, rabbitmq);
    return suite;
}

static inline int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

#endif
