#include "ours.h"

#include <semaphore.h>
#include <stdio.h>

typedef struct progress {
    bench_span span; /* since the first message */
    long seen;
    long wanted;
    sem_t all_seen;
} progress;

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    progress *so_far = user;
    (void)delivery;
    if (so_far->seen == 0) {
        so_far->span = bench_begin();
    }
    if (++so_far->seen == so_far->wanted) {
        (void)sem_post(&so_far->all_seen);
    }
    return ACEMQ_ACCEPTED;
}

/* The clock stops when the broker has answered the goodbye, which comes after the last
 * acknowledgement. */
void ours_consume(const bench_options *options)
{
    progress so_far = {.wanted = options->count};
    acemq_connection *connection = ours_connect(options, 1000);
    acemq_consumer_options how = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    acemq_error *error = NULL;
    how.prefetch = (int32_t)options->prefetch;
    if (sem_init(&so_far.all_seen, 0, 0) != 0) {
        bench_fail("sem_init failed");
    }
    ours_check(
        acemq_consume(connection, options->queue, &how, handle, &so_far, NULL, &consumer, &error),
        &error);
    (void)sem_wait(&so_far.all_seen);
    ours_check(acemq_consumer_drain(consumer, 30 * ACEMQ_SECOND, NULL, &error), &error);
    ours_check(acemq_connection_close(connection, 10 * ACEMQ_SECOND, &error), &error);
    bench_report_span(&so_far.span, options->count);
    acemq_consumer_free(consumer);
    acemq_connection_free(connection);
    (void)sem_destroy(&so_far.all_seen);
}
