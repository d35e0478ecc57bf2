/*
 * A process that publishes, consumes and replays in a campaign, as a service would.
 */
#ifndef ACEMQ_TESTS_FAULT_WORKER_H
#define ACEMQ_TESTS_FAULT_WORKER_H

#include "ledger.h"

/* Works on these lanes until the ledger says that it ends. 0; 3: it left a thread behind. */
int fault_work(fault_ledger *ledger, const char *url, int first_lane, int lanes, int replays);

#endif
