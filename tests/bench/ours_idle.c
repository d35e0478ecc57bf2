/* What stands still: messages that wait, consumers without messages. */
#include "ours.h"

#include <stdlib.h>
#include <unistd.h>

#define MOST_PREFETCHED 65535
#define LONGEST_IDLE    5 /* s; a handler thread without work ends before */

static acemq_outcome fail(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return ACEMQ_FAILED;
}

static acemq_consumer *open_one(acemq_connection *connection, const char *queue,
                                const acemq_consumer_options *how)
{
    acemq_consumer *consumer = NULL;
    acemq_error *error = NULL;
    ours_check(acemq_consume(connection, queue, how, fail, NULL, NULL, &consumer, &error), &error);
    return consumer;
}

static long waiting(acemq_consumer *const *consumers, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        acemq_consumer_counters counters = {.size = sizeof counters};
        acemq_error *error = NULL;
        ours_check(acemq_consumer_get_counters(consumers[i], &counters, &error), &error);
        sum += (long)counters.waiting;
    }
    return sum;
}

static acemq_consumer **room_for(long count)
{
    acemq_consumer **consumers = calloc((size_t)count, sizeof(acemq_consumer *));
    if (consumers == NULL) {
        bench_fail("no memory for %ld consumers", count);
    }
    return consumers;
}

static void let_go(acemq_consumer **consumers, long count, acemq_connection *connection)
{
    ours_disconnect(connection);
    for (long i = 0; i < count; i++) {
        acemq_consumer_free(consumers[i]);
    }
    free(consumers);
}

/* For 0 seconds only the memory counts. */
static void watch(const bench_footprint *before, const bench_options *options)
{
    (void)sleep(options->seconds == 0 ? 0 : LONGEST_IDLE);
    bench_footprint watched = bench_footprint_now();
    (void)sleep((unsigned)options->seconds);
    bench_report_footprint(before, &watched, options->count);
}

void ours_waiting(const bench_options *options)
{
    long count = (options->count + MOST_PREFETCHED - 1) / MOST_PREFETCHED;
    acemq_policy *policy = acemq_policy_fixed(3, ACEMQ_HOUR);
    acemq_policy_threshold(policy, 0); /* no wait is the broker's */
    acemq_consumer_options how = ACEMQ_CONSUMER_OPTIONS_INIT;
    how.retry = policy;
    how.prefetch = options->count < MOST_PREFETCHED ? (int32_t)options->count : MOST_PREFETCHED;
    how.prefetch_bytes = 0;
    how.acknowledgement_limit = 0;
    acemq_connection *connection = ours_connect(options, 1000);
    acemq_consumer **consumers = room_for(count);
    bench_footprint before = bench_footprint_now();
    for (long i = 0; i < count; i++) {
        consumers[i] = open_one(connection, options->queue, &how);
    }
    while (waiting(consumers, count) < options->count) {
        (void)usleep(10000);
    }
    watch(&before, options);
    let_go(consumers, count, connection);
    acemq_policy_free(policy);
}

void ours_consumers(const bench_options *options)
{
    acemq_consumer_options how = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_connection *connection = ours_connect(options, 1000);
    acemq_consumer **consumers = room_for(options->count);
    bench_footprint before = bench_footprint_now();
    for (long i = 0; i < options->count; i++) {
        consumers[i] = open_one(connection, options->queue, &how);
    }
    watch(&before, options);
    let_go(consumers, options->count, connection);
}
