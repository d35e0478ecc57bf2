#include "ours.h"

#include <semaphore.h>
#include <stdlib.h>

typedef struct journey {
    int64_t arrived; /* ns */
    sem_t handled;
} journey;

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    journey *one = user;
    (void)delivery;
    one->arrived = bench_now();
    (void)sem_post(&one->handled);
    return ACEMQ_ACCEPTED;
}

static void ended(acemq_status status, const acemq_error *error, void *user)
{
    (void)user;
    if (status != ACEMQ_OK) {
        bench_fail("%s", acemq_error_message(error));
    }
}

static int64_t travel(acemq_publisher *publisher, journey *one, const unsigned char *body,
                      size_t size)
{
    acemq_error *error = NULL;
    acemq_message *message = acemq_message_new(body, size);
    int64_t left = bench_now();
    ours_check(acemq_publisher_send_async(publisher, NULL, message, 30 * ACEMQ_SECOND, ended, NULL,
                                          &error),
               &error);
    (void)sem_wait(&one->handled);
    acemq_message_free(message);
    return one->arrived - left;
}

void ours_latency(const bench_options *options)
{
    journey one = {.arrived = 0};
    acemq_connection *connection = ours_connect(options, 1000);
    acemq_publisher *publisher = ours_publisher(connection, options);
    acemq_consumer *consumer = NULL;
    acemq_error *error = NULL;
    unsigned char *body = bench_body((size_t)options->size);
    int64_t *times = calloc((size_t)options->count, sizeof *times);
    if (times == NULL || sem_init(&one.handled, 0, 0) != 0) {
        bench_fail("no memory for %ld times", options->count);
    }
    ours_check(
        acemq_consume(connection, options->queue, NULL, handle, &one, NULL, &consumer, &error),
        &error);
    for (long i = 0; i < BENCH_WARM_UP; i++) {
        (void)travel(publisher, &one, body, (size_t)options->size);
    }
    for (long i = 0; i < options->count; i++) {
        times[i] = travel(publisher, &one, body, (size_t)options->size);
    }
    bench_report_times(times, options->count);
    free(times);
    free(body);
    acemq_publisher_free(publisher);
    ours_disconnect(connection);
    acemq_consumer_free(consumer);
    (void)sem_destroy(&one.handled);
}
