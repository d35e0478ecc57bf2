/* What tests of groups and of ordered consuming share: who handled which message, and how many at
 * once. */
#ifndef ACEMQ_TESTS_GROUP_FIXTURE_H
#define ACEMQ_TESTS_GROUP_FIXTURE_H

#include "broker/consuming.h"
#include "engine/group.h"

#include <pthread.h>

#define TALLY_MOST 1000

/* Messages whose bodies are numbers. */
typedef struct tally {
    int64_t pause;               /* ms that each call takes */
    atomic_int seen[TALLY_MOST]; /* calls by number */
    atomic_int calls;            /* that have ended */
    atomic_int begun;
    atomic_int running;
    atomic_int most_running;
    atomic_bool held; /* every call waits while it is set */
    atomic_int first; /* number of a message that waits while it is set, plus 1; 0: none */
} tally;

static inline int number_of(const ace_delivery *delivery)
{
    ace_bytes body = ace_delivery_body(delivery);
    char text[16];
    snprintf(text, sizeof text, "%.*s", (int)body.length, (const char *)body.data);
    return atoi(text);
}

static inline ace_outcome count_call(ace_delivery *delivery, void *user)
{
    tally *self = user;
    int number = number_of(delivery);
    int running = atomic_fetch_add(&self->running, 1) + 1;
    int most = atomic_load(&self->most_running);
    while (running > most && !atomic_compare_exchange_weak(&self->most_running, &most, running)) {
    }
    atomic_fetch_add(&self->begun, 1);
    atomic_fetch_add(&self->seen[number], 1);
    if (self->pause > 0) {
        nap(self->pause);
    }
    while (atomic_load(&self->held) || atomic_load(&self->first) == number + 1) {
        nap(2);
    }
    atomic_fetch_sub(&self->running, 1);
    atomic_fetch_add(&self->calls, 1);
    return ACE_ACCEPTED;
}

static inline void put_numbers(consume_bench *bench, const char *queue, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        char id[24];
        char body[16];
        ace_head head;
        snprintf(id, sizeof id, "m%d", i);
        snprintf(body, sizeof body, "%d", i);
        head_with_id(&head, id);
        put_raw(bench, queue, body, strlen(body), &head);
        ace_head_release(&head);
    }
}

static inline ace_consumer_options group_options(const char *queue, tally *self, int members)
{
    ace_consumer_options options;
    ace_consumer_options_init(&options);
    options.queue = queue;
    options.members = members;
    if (self != NULL) {
        options.handler = count_call;
        options.user = self;
    }
    return options;
}

static inline ace_group *open_group(ace_connection *connection, const ace_consumer_options *options)
{
    ace_group *group = NULL;
    MUST(ace_group_open(connection, options, ACE_DRAIN_BUDGET, soon(), NULL, &group, &error));
    return group;
}

static inline ace_consumer_counters group_counts(const ace_group *group)
{
    return counted(ace_group_consumer(group));
}

static inline ace_connection *connect_again(void)
{
    ace_settings settings;
    ace_connection *connection = NULL;
    ace_settings_init(&settings);
    settings.log = (ace_log){bench_log, NULL, ACE_LOG_DEBUG};
    MUST(ace_connection_open(bench_url(), &settings, NULL, &connection, &error));
    return connection;
}

#endif
