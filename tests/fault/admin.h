/*
 * What an operator does to the broker during a campaign, over a client that no proxy disturbs.
 */
#ifndef ACEMQ_TESTS_FAULT_ADMIN_H
#define ACEMQ_TESTS_FAULT_ADMIN_H

#include "ledger.h"
#include "plan.h"

typedef struct fault_admin fault_admin;

/* Times between which the broker itself, or who deleted a queue, may have lost a message. */
typedef struct fault_blame {
    int64_t from, to;
    int scene; /* -1: all */
} fault_blame;

fault_admin *admin_open(const char *url, fault_ledger *ledger);
/* Deletes what is there of an earlier campaign and declares everything. */
void admin_set_up(fault_admin *admin);
/* FAULT_DELETE to FAULT_ALARM, FAULT_RESTART and FAULT_KILL. */
void admin_fault(fault_admin *admin, const fault *one);
/* Whether the queue that was deleted under its consumers brings them messages again. */
bool admin_probe(fault_admin *admin, int64_t wait);
/* Whether the loss of this message is nobody's of ours: it waited in a classic rung when the broker
 * was killed, or was on its way into a queue that was deleted. */
bool admin_excuses(const fault_admin *admin, int number);
/* How many messages are anywhere in the queues of a scene. */
uint64_t admin_left(fault_admin *admin, int scene);
void admin_close(fault_admin *admin);

#endif
