/*
 * The relay of an outbox: publishes what was written there, and marks it afterwards (section 10 of
 * the contract). A crash in between publishes a row again, with the same id and body.
 *
 * Rows that failed before are published after the others and one by one, since one that makes the
 * broker close the channel takes with it whatever is under way there.
 */
#ifndef ACE_PATTERNS_RELAY_H
#define ACE_PATTERNS_RELAY_H

#include "engine/connection.h"
#include "store/outbox.h"

#define ACE_RELAY_MAGIC ACE_MAGIC('R', 'E', 'L', 'A')

#define ACE_RELAY_BATCH     100
#define ACE_RELAY_BATCH_MAX 1000
#define ACE_RELAY_EVERY     INT64_C(1000)
#define ACE_RELAY_LEASE     INT64_C(60000)
#define ACE_RELAY_LEASE_MIN INT64_C(1000)

typedef struct acemq_relay ace_relay;

typedef struct ace_relay_options {
    size_t batch;  /* 1 to ACE_RELAY_BATCH_MAX */
    int64_t every; /* ms between two looks at an outbox that was empty */
    int64_t lease; /* ms, from ACE_RELAY_LEASE_MIN */
} ace_relay_options;

void ace_relay_options_init(ace_relay_options *options);

typedef struct ace_relay_counts {
    uint64_t published;
    uint64_t failed;  /* attempts, by the rows' own fault */
    uint64_t retired; /* of these, the last that a row had */
    uint64_t passes;
} ace_relay_counts;

/* Starts the thread. The connection and the outbox are referenced; closing the connection ends the
 * relay. ACE_INVALID_ARGUMENT names the option. */
ace_code ace_relay_start(ace_connection *connection, ace_outbox *outbox,
                         const ace_relay_options *options, ace_relay **relay, ace_error **error);

/* A relay of this process. ACE_INVALID_ARGUMENT, ACE_FORKED. */
ace_code ace_relay_check(const ace_relay *relay, ace_error **error);
ace_connection *ace_relay_connection(const ace_relay *relay); /* borrowed */
/* Looks at once, for instance after the caller's transaction was committed. Any thread. */
void ace_relay_wake(ace_relay *relay);
/* Waits until nothing is pending any more, rows that another relay leases included. ACE_TIMEOUT at
 * the deadline (monotonic, the system's clock), ACE_CANCELLED, ACE_CLOSED (it was stopped). */
ace_code ace_relay_drain(ace_relay *relay, int64_t deadline, ace_cancel *cancel, ace_error **error);
/* Takes nothing more, waits for what was published to be marked, until `deadline`: what is under
 * way then is cut off, and published again when its lease ends. True: nothing was. Again is fine.
 */
bool ace_relay_stop(ace_relay *relay, int64_t deadline);
void ace_relay_count(ace_relay *relay, ace_relay_counts *counts);
/* Stops first, within ACE_DRAIN_BUDGET. NULL is fine. */
void ace_relay_free(ace_relay *relay);

#endif
