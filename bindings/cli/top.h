/* What `acemq top` shows: queues and what hangs on each, counted one after the other. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include <acemq/connection.h>
#include <acemq/names.h>
#include <acemq/policy.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct top_rung {
    char name[ACEMQ_NAME_SIZE];
    uint64_t messages;
} top_rung;

typedef struct top_queue {
    const char *name;
    bool exists;
    bool plain; /* nothing hangs on it: no dead letters, no rungs */
    uint64_t ready;
    uint64_t consumers;
    uint64_t dead_lettered;
    uint64_t parked;
    top_rung *rungs; /* as many as the policy has */
    size_t rung_count;
    /* A second, between the reading before and this one; valid when has_rates. */
    bool has_rates;
    double ready_rate;
    double dead_rate;
} top_queue;

typedef struct top_reading {
    top_queue *queues;
    size_t count;
    int64_t taken_at; /* monotonic ms; 0: never */
    int64_t wall;     /* epoch ms */
    acemq_connection_state state;
    char trouble[512]; /* why the state is not open, or why it could not be read; "" */
} top_reading;

/* Room for the queues named, or, without a name, for the queues whose names are the same
 * everywhere. The names are borrowed. False: no memory. */
bool top_reading_init(top_reading *reading, const char *const *names, size_t count,
                      const acemq_policy *retry);
void top_reading_release(top_reading *reading);
/* A copy into one of the same shape. */
void top_reading_copy(top_reading *to, const top_reading *from);

/* Counts everything anew. What is missing counts nothing. `timeout` is for each queue. */
acemq_status top_read(top_reading *reading, acemq_connection *mq, const acemq_policy *retry,
                      int64_t timeout, acemq_error **error);

/* `open`, `blocked`, `reconnecting`, `failed`, `closed`; static. */
const char *top_state_name(acemq_connection_state state);
uint64_t top_waiting(const top_queue *queue); /* in all rungs */

void top_print_json(const top_reading *reading);
void top_print_text(const top_reading *reading);

#endif
