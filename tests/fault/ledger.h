/*
 * Where every process of a campaign writes down what it did with each message, in memory that they
 * share and that no SIGKILL takes away. Messages are numbered from 0.
 */
#ifndef ACEMQ_TESTS_FAULT_LEDGER_H
#define ACEMQ_TESTS_FAULT_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LEDGER_CALLS 48

typedef struct ledger_entry {
    atomic_uchar sent;
    atomic_uchar confirmed;
    atomic_uchar set_aside; /* its handler gave it up, or saw that it came from a failure queue */
    atomic_uchar attempt;   /* of its last call */
    atomic_uint calls;      /* of a handler */
    atomic_uint accepted;
    atomic_llong last; /* ms of the monotonic clock, of its last call */
} ledger_entry;

typedef enum ledger_stage {
    LEDGER_WORKING,
    LEDGER_ENDING, /* processes close and end */
} ledger_stage;

/* A call of the library under way, and until when it has to be back. */
typedef struct ledger_call {
    atomic_llong limit; /* 0: none is under way */
    atomic_int process;
    char name[32];
} ledger_call;

typedef struct fault_ledger {
    uint64_t seed;
    int messages;
    atomic_int allowed; /* numbers below may be published */
    atomic_int stage;
    atomic_int ready; /* processes that have their consumers */
    atomic_int confirmed;
    atomic_int handled;   /* messages accepted at least once */
    atomic_int alien;     /* calls for an id that nobody sent, or with another message's body */
    atomic_uint progress; /* counts everything that happens */
    atomic_uint replayed;
    atomic_uint unknown;
    atomic_uint refused;
    atomic_uint unexpected;  /* publishes that ended in a way they should not */
    atomic_int hold_replays; /* set by who wants the failure queues to himself */
    atomic_int replaying;
    atomic_int probe; /* the latest that came through the queue that is deleted and made again */
    ledger_call calls[LEDGER_CALLS];
    ledger_entry entries[];
} fault_ledger;

/* In a file without a name, whose descriptor is inherited. Ends the process when it cannot. */
fault_ledger *ledger_make(int messages, uint64_t seed, int *descriptor);
fault_ledger *ledger_open(int descriptor);

/* Brackets a call of the library that has to return within `limit` ms. `slot` is the thread's own.
 */
void ledger_begin(fault_ledger *ledger, int slot, const char *what, int64_t limit);
void ledger_end(fault_ledger *ledger, int slot);
/* A slot that is free; given back by the process's end. */
int ledger_slot(fault_ledger *ledger, int process);
void ledger_forget(fault_ledger *ledger, int process);
/* How many calls are over their limit, each told and counted once. */
int ledger_overdue(fault_ledger *ledger);

void ledger_confirmed(fault_ledger *ledger, int number);
void ledger_handled(fault_ledger *ledger, int number, int attempt, bool accepted, bool set_aside);

/* The decimal number after `prefix`, which `text` has to begin with; -1: there is none. */
int fault_parse(const char *text, const char *prefix);
int64_t fault_now(void); /* monotonic ms */
void fault_nap(int64_t milliseconds);
_Noreturn void fault_die(const char *what);

#endif
