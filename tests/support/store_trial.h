/*
 * A store of claims for a test, of one of the three kinds. A test is written once and run for each,
 * as a loop test from STORE_MEMORY to STORES. Its clock stands still until the test moves it; the
 * time of PostgreSQL is the server's, whose entries are moved instead.
 */
#ifndef ACEMQ_TESTS_STORE_TRIAL_H
#define ACEMQ_TESTS_STORE_TRIAL_H

#include "store/idempotency.h"

enum { STORE_MEMORY = 0, STORE_LMDB = 1, STORE_POSTGRES = 2, STORES = 3 };

typedef struct store_trial {
    int kind;
    ace_idempotency *store;
    ace_clock *clock;
    const char *where; /* what others open it with */
    const char *name;  /* of the table; NULL */
} store_trial;

void store_trial_begin(store_trial *self, int kind);
/* The same with the machine's clock, for what runs in several processes. */
void store_trial_begin_shared(store_trial *self, int kind);
void store_trial_end(store_trial *self);
/* A further handle; the machine's clock. */
ace_idempotency *store_trial_open(const store_trial *self);
/* Time passes. */
void store_trial_pass(const store_trial *self, int64_t milliseconds);

int64_t store_deadline(void); /* far enough */

#endif
