/* The orders of `acemq demo`: what is sent, what the handler saw, and what is told of it. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <acemq/consumer.h>
#include <acemq/names.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define CLI_DEMO_ORDERS 4
#define CLI_DEMO_CALLS  64

/* A call of the handler. */
typedef struct cli_demo_call {
    int order; /* from 1; 0: none of ours */
    int32_t attempt;
    int32_t replay_count;
    bool body_is_unchanged;
    acemq_outcome outcome;
    int64_t at; /* monotonic ms */
} cli_demo_call;

typedef struct cli_demo {
    acemq_connection *mq;
    acemq_consumer *consumer;
    acemq_policy *policy;
    bool json;
    /* The queues. */
    char queue[ACEMQ_NAME_SIZE];
    char dead_letters[ACEMQ_NAME_SIZE];
    char parked[ACEMQ_NAME_SIZE];
    char rung[ACEMQ_NAME_SIZE];
    int64_t rung_delay;
    /* What the handler knows, and what it saw. */
    pthread_mutex_t mutex;
    pthread_cond_t called;
    char ids[CLI_DEMO_ORDERS][ACEMQ_ID_SIZE];
    bool is_fixed;
    cli_demo_call calls[CLI_DEMO_CALLS];
    size_t call_count;
    bool too_many_calls;
} cli_demo;

/* The body of an order, from 1. The fourth is cut off and does not decode. */
const char *cli_demo_body(int order);

/* The handler: an acemq_handler. */
acemq_outcome cli_demo_handle(acemq_delivery *delivery, void *demo);

/* Waits for the call of the handler with this order, attempt and outcome, the `nth` of them from 1.
 * False when it does not come, or the user wants an end. */
bool cli_demo_await(cli_demo *demo, int order, int32_t attempt, acemq_outcome outcome, int nth,
                    cli_demo_call *call);
/* How often the handler had this order. */
int cli_demo_count(cli_demo *demo, int order);

/* Tells the story from the first order to the last. False when something was not as it goes. */
bool cli_demo_tell(cli_demo *demo);

#endif
