/*
 * What happens during a campaign: a list of faults that its seed alone decides.
 */
#ifndef ACEMQ_TESTS_FAULT_PLAN_H
#define ACEMQ_TESTS_FAULT_PLAN_H

#include <stdint.h>
#include <stdio.h>

typedef enum fault_kind {
    FAULT_CUT,        /* both ends closed, at a byte of the stream */
    FAULT_RESET,      /* the same with RST */
    FAULT_DELAY,      /* every piece comes late */
    FAULT_STALL,      /* nothing passes for a while, then all does */
    FAULT_BLACK_HOLE, /* nothing passes any more, and nobody is told */
    FAULT_HALF_CLOSE, /* one direction ends */
    FAULT_PIECES,     /* bytes come one by one */
    FAULT_TURN_AWAY,  /* new connections are closed at once, after the present ones were cut */
    FAULT_DUMB,       /* new connections are taken and never answered */
    FAULT_DELETE,     /* a failure queue or a rung that is empty is deleted */
    FAULT_SOURCE,  /* the source of consumers that have nothing to do is deleted and declared again
                    */
    FAULT_ALARM,   /* the broker is out of memory */
    FAULT_CLIENT,  /* a client is killed with SIGKILL and started again */
    FAULT_RESTART, /* the broker is stopped in good order and started */
    FAULT_KILL,    /* the broker is killed with SIGKILL and started */
    FAULT_KINDS,
} fault_kind;

typedef struct fault {
    fault_kind kind;
    int line;        /* which of the connections there are then, counted round */
    int upward;      /* from the client to the broker, or the other way */
    int64_t bytes;   /* that still pass in that direction before it happens */
    int64_t lasting; /* ms */
    int64_t pause;   /* ms before the next fault */
} fault;

uint64_t fault_mix(uint64_t number); /* splitmix64's finalizer */

/* `count` faults; `faults` has room for them. */
void fault_plan(uint64_t seed, int count, fault *faults);
const char *fault_name(fault_kind kind);
void fault_print(FILE *out, int number, const fault *one);

#endif
