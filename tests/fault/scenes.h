/*
 * The queues of a campaign, and what is to become of each message.
 */
#ifndef ACEMQ_TESTS_FAULT_SCENES_H
#define ACEMQ_TESTS_FAULT_SCENES_H

#include "ledger.h"

#include <acemq/acemq.h>

#define SCENES         5
#define SCENE_ATTEMPTS 3
#define SCENE_WAIT     300 /* ms between two attempts */
#define SCENE_RUN      25  /* so many messages in a row of a lane go to one scene */
#define LANES          6   /* publishing threads of all processes */

typedef struct scene {
    const char *queue;
    acemq_queue_type type;
    const char *policy;
    bool classic_rung; /* the broker may lose what it holds when it is killed */
    const char *rung;  /* its whole name; NULL: waits are held by the consumer */
} scene;

extern const scene fault_scenes[SCENES];

#define PROBE_QUEUE "fault.probe" /* deleted and made again under its consumers */

typedef enum fault_fate {
    FATE_ACCEPT,
    FATE_FAIL_ONCE,
    FATE_FAIL_TWICE,
    FATE_EXHAUST, /* fails until it is a dead letter; accepted once it was replayed */
    FATE_REJECT,  /* likewise, at its first call */
    FATE_PARK,
} fault_fate;

fault_fate fault_fate_of(const fault_ledger *ledger, int number);
const scene *fault_scene_of(int number);

/* Owned. Its id, and the start of its body, tell the number. NULL: no memory. */
acemq_message *fault_message(const fault_ledger *ledger, int number);
/* -1: it is none of ours, or not whole. */
int fault_number_of(const fault_ledger *ledger, acemq_delivery *delivery);
/* The handler's answer; everything is written down. */
acemq_outcome fault_handle(fault_ledger *ledger, acemq_delivery *delivery);

/* Declares all that a scene needs. */
acemq_status fault_scene_declare(acemq_connection *mq, const scene *one, acemq_error **error);

#endif
