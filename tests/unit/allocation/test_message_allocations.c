/*
 * How many allocations a message takes on its way out and in, the memory broker's own threads left
 * out. A ratchet: it may go down.
 */
#include "unit/abi/client.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define MESSAGES 2000

/* The message, its body and its type; and some for what comes in batches. */
#define MOST_TO_PUBLISH 3.2
/* None but those for as many as are in hand at a time, which are used again and again. */
#define MOST_TO_CONSUME 0.3

static atomic_long counted;
static atomic_bool counting;

#ifndef __SANITIZE_ADDRESS__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool is_the_brokers(void)
{
    static _Thread_local int known; /* 1: ours, 2: the broker's */
    if (known == 0) {
        char name[16] = "";
        (void)prctl(PR_GET_NAME, name);
        known = strncmp(name, "acemq-broker", 12) == 0 ? 2 : 1;
    }
    return known == 2;
}

static void count_one(void)
{
    if (atomic_load(&counting) && !is_the_brokers()) {
        atomic_fetch_add(&counted, 1);
    }
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    count_one();
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    count_one();
    return __libc_calloc(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    count_one();
    return __libc_realloc(memory, size);
}
#endif

static void begin_counting(void)
{
    atomic_store(&counted, 0);
    atomic_store(&counting, true);
}

static double per_message(void)
{
    atomic_store(&counting, false);
    return (double)atomic_load(&counted) / MESSAGES;
}

/* Check's macros allocate too, and are not for what is counted. */
typedef struct progress {
    atomic_long left;
    atomic_bool failed;
    sem_t done;
} progress;

static void start(progress *all, long count)
{
    atomic_init(&all->left, count);
    atomic_init(&all->failed, false);
    ck_assert_int_eq(sem_init(&all->done, 0, 0), 0);
}

static void one_less(progress *all)
{
    if (atomic_fetch_sub(&all->left, 1) == 1) {
        (void)sem_post(&all->done);
    }
}

static void confirmed(acemq_status status, const acemq_error *error, void *user)
{
    progress *all = user;
    (void)error;
    if (status != ACEMQ_OK) {
        atomic_store(&all->failed, true);
    }
    one_less(all);
}

static void publish_all(acemq_publisher *publisher, progress *all)
{
    static const char body[256] = "a body";
    start(all, MESSAGES);
    for (int i = 0; i < MESSAGES; i++) {
        acemq_message *message = acemq_message_new(body, sizeof body);
        acemq_message_set_type(message, "order.placed");
        if (acemq_publisher_send_async(publisher, NULL, message, 30000, confirmed, all, NULL) !=
            ACEMQ_OK) {
            atomic_store(&all->failed, true);
            one_less(all);
        }
        acemq_message_free(message);
    }
    (void)sem_wait(&all->done);
}

static acemq_publisher *publisher_to(acemq_connection *mq, const char *queue)
{
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_publisher *publisher = NULL;
    options.routing_key = queue;
    MUST(acemq_publisher_new(mq, &options, &publisher, &error));
    return publisher;
}

static acemq_connection *connect_here(const char *queue)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.outstanding = 100; /* so that its records are used again and again */
    acemq_connection *mq = connect_with("memory://allocations", &options);
    declare_queue(mq, queue, ACEMQ_QUEUE_CLASSIC, 0);
    return mq;
}

START_TEST(a_message_is_published_with_three_allocations)
{
    acemq_connection *mq = connect_here("out");
    acemq_publisher *publisher = publisher_to(mq, "out");
    progress all;
    publish_all(publisher, &all); /* the records are made once */
    begin_counting();
    publish_all(publisher, &all);
    double each = per_message();
    ck_assert(!atomic_load(&all.failed));
    ck_assert_msg(each <= MOST_TO_PUBLISH, "%.2f allocations a message, %.1f are allowed", each,
                  MOST_TO_PUBLISH);
    acemq_publisher_free(publisher);
    acemq_connection_close(mq, 5000, NULL);
    acemq_connection_free(mq);
}
END_TEST

static acemq_outcome accept(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    one_less(user);
    return ACEMQ_ACCEPTED;
}

START_TEST(a_message_is_handled_in_the_memory_of_one_before)
{
    acemq_connection *mq = connect_here("in");
    acemq_publisher *publisher = publisher_to(mq, "in");
    progress all;
    publish_all(publisher, &all);
    start(&all, MESSAGES);
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    options.prefetch = 100;
    begin_counting();
    MUST(acemq_consume(mq, "in", &options, accept, &all, NULL, &consumer, &error));
    (void)sem_wait(&all.done);
    double each = per_message();
    ck_assert(!atomic_load(&all.failed));
    ck_assert_msg(each <= MOST_TO_CONSUME, "%.2f allocations a message, %.1f are allowed", each,
                  MOST_TO_CONSUME);
    MUST(acemq_consumer_drain(consumer, 5000, NULL, &error));
    acemq_publisher_free(publisher);
    acemq_consumer_free(consumer);
    acemq_connection_close(mq, 5000, NULL);
    acemq_connection_free(mq);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message allocations");
    TCase *tests = tcase_create("messages");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_message_is_published_with_three_allocations);
    tcase_add_test(tests, a_message_is_handled_in_the_memory_of_one_before);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
