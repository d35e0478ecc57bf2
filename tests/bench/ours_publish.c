#include "ours.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Publishes of which nobody waits for one by itself. */
typedef struct batch {
    atomic_long left;
    sem_t all_confirmed;
} batch;

static acemq_message *make_message(const unsigned char *body, const bench_options *options)
{
    acemq_message *message = acemq_message_new(body, (size_t)options->size);
    acemq_message_set_type(message, "bench.message");
    return message;
}

static void ended(acemq_status status, const acemq_error *error, void *user)
{
    batch *mine = user;
    if (status != ACEMQ_OK) {
        bench_fail("%s", acemq_error_message(error));
    }
    if (atomic_fetch_sub(&mine->left, 1) == 1) {
        (void)sem_post(&mine->all_confirmed);
    }
}

static void send_waiting(acemq_publisher *publisher, const unsigned char *body,
                         const bench_options *options, long count)
{
    for (long i = 0; i < count; i++) {
        acemq_error *error = NULL;
        acemq_message *message = make_message(body, options);
        ours_check(acemq_publisher_send(publisher, NULL, message, 30 * ACEMQ_SECOND, &error),
                   &error);
        acemq_message_free(message);
    }
}

/* The connection's limit of outstanding publishes is the window. */
static void send_windowed(acemq_publisher *publisher, const unsigned char *body,
                          const bench_options *options, long count)
{
    batch mine;
    atomic_init(&mine.left, count);
    if (sem_init(&mine.all_confirmed, 0, count == 0 ? 1 : 0) != 0) {
        bench_fail("sem_init failed");
    }
    for (long i = 0; i < count; i++) {
        acemq_error *error = NULL;
        acemq_message *message = make_message(body, options);
        ours_check(acemq_publisher_send_async(publisher, NULL, message, 30 * ACEMQ_SECOND, ended,
                                              &mine, &error),
                   &error);
        acemq_message_free(message);
    }
    (void)sem_wait(&mine.all_confirmed);
    (void)sem_destroy(&mine.all_confirmed);
}

typedef void sender(acemq_publisher *publisher, const unsigned char *body,
                    const bench_options *options, long count);

void ours_publish(const bench_options *options)
{
    sender *send = options->window == 1 ? send_waiting : send_windowed;
    acemq_connection *connection = ours_connect(options, options->window);
    acemq_publisher *publisher = ours_publisher(connection, options);
    unsigned char *body = bench_body((size_t)options->size);
    send(publisher, body, options, BENCH_WARM_UP);
    bench_span span = bench_begin();
    send(publisher, body, options, options->count);
    bench_report_span(&span, options->count);
    free(body);
    acemq_publisher_free(publisher);
    ours_disconnect(connection);
}

static void declare_empty(acemq_connection *connection, const bench_options *options)
{
    acemq_error *error = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_queue(topology, options->queue, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    ours_check(acemq_topology_apply(connection, topology, 30 * ACEMQ_SECOND, &plan, &error),
               &error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    ours_check(acemq_queue_purge(connection, options->queue, 30 * ACEMQ_SECOND, NULL, &error),
               &error);
}

void ours_fill(const bench_options *options)
{
    acemq_connection *connection = ours_connect(options, 1000);
    declare_empty(connection, options);
    acemq_publisher *publisher = ours_publisher(connection, options);
    unsigned char *body = bench_body((size_t)options->size);
    bench_span span = bench_begin();
    send_windowed(publisher, body, options, options->count);
    bench_report_span(&span, options->count);
    free(body);
    acemq_publisher_free(publisher);
    ours_disconnect(connection);
}
