/*
 * Publishes, consumes, retries and replays at full rate for as long as asked, and looks at how much
 * memory the process holds. `tests/fault/soak --help` says how.
 */
#include "ledger.h"

#include <acemq/acemq.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE       "fault.soak"
#define POLICY      "fixed(3, 300ms).threshold(100ms)"
#define PUBLISHERS  2
#define LAG         5000 /* published and not handled, at most */
#define BATCH       200
#define SAMPLES_MAX 1000
#define FAIL_EVERY  200  /* one of so many fails once */
#define DROP_EVERY  1000 /* and one of so many becomes a dead letter, to be replayed */
#define ALLOWANCE   4096 /* KiB that an allocator may add in all the time */

typedef struct soak {
    acemq_connection *mq;
    atomic_bool over;
    atomic_long published, handled, replayed, failed, first_calls;
} soak;

typedef struct memory {
    int64_t second;
    long kib;
} memory;

static void check(acemq_status status, acemq_error *error, const char *what)
{
    if (status != ACEMQ_OK) {
        fprintf(stderr, "%s: %s\n", what, acemq_error_message(error));
        exit(1);
    }
}

static void *publish(void *user)
{
    soak *self = user;
    acemq_publisher *publisher = NULL;
    acemq_message *messages[BATCH];
    char body[300];
    memset(body, 'x', sizeof body);
    check(acemq_publisher_new(self->mq, NULL, &publisher, NULL), NULL, "a publisher");
    while (!atomic_load(&self->over)) {
        if (atomic_load(&self->published) - atomic_load(&self->handled) > LAG) {
            fault_nap(1);
            continue;
        }
        for (int i = 0; i < BATCH; i++) {
            messages[i] = acemq_message_new(body, 10 + (size_t)i);
            acemq_message_set_header_int64(messages[i], "number", i);
        }
        acemq_error *error = NULL;
        check(acemq_publisher_send_batch(publisher, QUEUE, (const acemq_message *const *)messages,
                                         BATCH, 60 * ACEMQ_SECOND, NULL, NULL, &error),
              error, "a batch");
        atomic_fetch_add(&self->published, BATCH);
        for (int i = 0; i < BATCH; i++) {
            acemq_message_free(messages[i]);
        }
    }
    acemq_publisher_free(publisher);
    return NULL;
}

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    soak *self = user;
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    if (acemq_envelope_attempt(envelope) == 1 && acemq_envelope_replay_count(envelope) == 0) {
        long number = atomic_fetch_add(&self->first_calls, 1);
        if (number % DROP_EVERY == 0) {
            return ACEMQ_REJECTED;
        }
        if (number % FAIL_EVERY == 1) {
            atomic_fetch_add(&self->failed, 1);
            return ACEMQ_FAILED;
        }
    }
    atomic_fetch_add(&self->handled, 1);
    return ACEMQ_ACCEPTED;
}

static void *replay(void *user)
{
    soak *self = user;
    while (!atomic_load(&self->over)) {
        acemq_replay_result result = {.size = sizeof result};
        acemq_error *error = NULL;
        check(acemq_replay(self->mq, QUEUE, NULL, &result, &error), error, "a replay");
        atomic_fetch_add(&self->replayed, (long)result.replayed);
        for (int i = 0; i < 20 && !atomic_load(&self->over); i++) {
            fault_nap(100);
        }
    }
    return NULL;
}

static long resident_kib(void)
{
    char text[64] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fgets(text, sizeof text, file) == NULL) {
        fault_die("/proc/self/statm");
    }
    (void)fclose(file);
    const char *second = strchr(text, ' ');
    return second == NULL ? 0 : strtol(second, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

static void declare(soak *self)
{
    acemq_plan *plan = NULL;
    acemq_error *error = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, QUEUE, ACEMQ_QUEUE_CLASSIC, 1, NULL, NULL);
    check(acemq_topology_apply(self->mq, topology, 30 * ACEMQ_SECOND, &plan, &error), error,
          "declaring");
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

static acemq_consumer *consume(soak *self)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    check(acemq_policy_parse(POLICY, &policy, &error), error, "the policy");
    options.retry = policy;
    options.prefetch = 300;
    check(acemq_consume(self->mq, QUEUE, &options, handle, self, NULL, &consumer, &error), error,
          "consuming");
    acemq_policy_free(policy);
    return consumer;
}

/* A tenth of the time is for warming up. From then on the most that it held in the second half may
 * be above the most in the first by what an allocator's own housekeeping takes, and no more. */
static bool is_flat(const memory *samples, int count, long *before, long *after)
{
    int warm = count / 10;
    int half = warm + (count - warm) / 2;
    *before = 0;
    *after = 0;
    for (int i = warm; i < count; i++) {
        long *most = i < half ? before : after;
        *most = samples[i].kib > *most ? samples[i].kib : *most;
    }
    return count >= 10 && *after - *before <= ALLOWANCE;
}

static int sample(soak *self, int seconds, memory *samples)
{
    int64_t begun = fault_now();
    int64_t step = (int64_t)seconds * 1000 / 120;
    int count = 0;
    step = step < 100 ? 100 : step;
    while (fault_now() - begun < (int64_t)seconds * 1000 && count < SAMPLES_MAX) {
        fault_nap(step);
        samples[count++] = (memory){(fault_now() - begun) / 1000, resident_kib()};
        if (count % 12 == 0) {
            fprintf(stderr, "%5ld s %9ld messages %7ld KiB\n", (long)samples[count - 1].second,
                    atomic_load(&self->handled), samples[count - 1].kib);
        }
    }
    return count;
}

static void print(const soak *self, const memory *samples, int count, double seconds, bool json)
{
    long before = 0;
    long after = 0;
    bool flat = is_flat(samples, count, &before, &after);
    long handled = atomic_load(&self->handled);
    double rate = (double)handled / seconds;
    if (!json) {
        printf("%ld messages in %.0f s, %.0f a second; %ld retried, %ld replayed; at most %ld KiB "
               "in the first half after warming up, %ld KiB in the second: %s\n",
               handled, seconds, rate, atomic_load(&self->failed), atomic_load(&self->replayed),
               before, after, flat ? "flat" : "it grows");
        return;
    }
    printf("{\"messages\": %ld, \"seconds\": %.1f, \"perSecond\": %.0f, \"retried\": %ld, "
           "\"replayed\": %ld, \"before\": %ld, \"after\": %ld, \"flat\": %s, \"kib\": [",
           handled, seconds, rate, atomic_load(&self->failed), atomic_load(&self->replayed), before,
           after, flat ? "true" : "false");
    for (int i = 0; i < count; i++) {
        printf("%s%ld", i == 0 ? "" : ", ", samples[i].kib);
    }
    printf("]}\n");
}

static int run(const char *url, int seconds, bool json)
{
    static memory samples[SAMPLES_MAX];
    soak self = {0};
    pthread_t threads[PUBLISHERS + 1];
    acemq_error *error = NULL;
    long before;
    long after;
    check(acemq_connect(url, NULL, &self.mq, &error), error, "connecting");
    declare(&self);
    (void)acemq_queue_purge(self.mq, QUEUE, 30 * ACEMQ_SECOND, NULL, NULL);
    acemq_consumer *consumer = consume(&self);
    int64_t begun = fault_now();
    for (int i = 0; i <= PUBLISHERS; i++) {
        if (pthread_create(&threads[i], NULL, i < PUBLISHERS ? publish : replay, &self) != 0) {
            fault_die("pthread_create");
        }
    }
    int count = sample(&self, seconds, samples);
    print(&self, samples, count, (double)(fault_now() - begun) / 1000, json);
    atomic_store(&self.over, true);
    for (int i = 0; i <= PUBLISHERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)acemq_consumer_drain(consumer, 30 * ACEMQ_SECOND, NULL, NULL);
    acemq_consumer_free(consumer);
    (void)acemq_connection_close(self.mq, 30 * ACEMQ_SECOND, NULL);
    acemq_connection_free(self.mq);
    return is_flat(samples, count, &before, &after) ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"seconds", required_argument, NULL, 's'},
        {"url", required_argument, NULL, 'u'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    int seconds = 600;
    bool json = false;
    const char *url = NULL;
    int letter;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (letter == 's') {
            seconds = fault_parse(optarg, "");
        } else if (letter == 'u') {
            url = optarg;
        } else if (letter == 'j') {
            json = true;
        } else {
            return 2;
        }
    }
    if (url == NULL || seconds < 1 || optind < argc) {
        fprintf(stderr, "wrong use; tests/fault/soak --help says how\n");
        return 2;
    }
    return run(url, seconds, json);
}
