/* What a handler does with each message, and until when: the script of docs/conformance.md. */
#ifndef CONFORMANCE_SCRIPT_H
#define CONFORMANCE_SCRIPT_H

#include "protocol.h"

typedef struct driver_script {
    const json_t *entries;
    /* how often each id was delivered */
    json_t *seen;
    json_t *deliveries;
    int64_t most;
    int64_t idle;
    int64_t ends;
} driver_script;

void script_begin(driver_script *script, const driver_request *request);
/* How long to wait for the next delivery; 0 or less: it is over. */
int64_t script_wait(const driver_script *script);
/* Settles a delivery as its entry says, and lists it; the listed object is borrowed. */
acemq_status script_handle(driver_script *script, acemq_delivery *delivery, json_t **listed,
                           acemq_error **error);

json_t *counters_json(const acemq_consumer_counters *counters);

/* Owned by the caller: the policy, also inside *options. False, and answered, when one is wrong. */
int consumer_options_of(driver_request *request, acemq_consumer_options *options,
                        acemq_policy **policy);

#endif
