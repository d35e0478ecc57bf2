#include "scenes.h"

#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX   100000
#define BODY_LEAST 32 /* the number and the length stand at its start */

const scene fault_scenes[SCENES] = {
    {"fault.classic", ACEMQ_QUEUE_CLASSIC, "fixed(3, 300ms).threshold(100ms).durableRungs()", false,
     "fault.classic.retry.300ms.durable"},
    {"fault.quorum", ACEMQ_QUEUE_QUORUM, "fixed(3, 300ms).threshold(100ms).durableRungs()", false,
     "fault.quorum.retry.300ms.durable"},
    {"fault.here", ACEMQ_QUEUE_QUORUM, "fixed(3, 300ms)", false, NULL},
    {"fault.rungs", ACEMQ_QUEUE_QUORUM, "fixed(3, 300ms).threshold(100ms)", true,
     "fault.rungs.retry.300ms"},
    {"fault.old", ACEMQ_QUEUE_CLASSIC, "fixed(3, 300ms).threshold(100ms)", true,
     "fault.old.retry.300ms"},
};

static uint64_t draw(const fault_ledger *ledger, int number, uint64_t purpose)
{
    return fault_mix(ledger->seed ^ fault_mix((uint64_t)number * 8 + purpose));
}

fault_fate fault_fate_of(const fault_ledger *ledger, int number)
{
    static const struct {
        fault_fate fate;
        int share; /* of a hundred */
    } fates[] = {
        {FATE_ACCEPT, 72}, {FATE_FAIL_ONCE, 12}, {FATE_FAIL_TWICE, 6},
        {FATE_EXHAUST, 5}, {FATE_REJECT, 3},     {FATE_PARK, 2},
    };
    int drawn = (int)(draw(ledger, number, 0) % 100);
    size_t at = 0;
    while (drawn >= fates[at].share) {
        drawn -= fates[at++].share;
    }
    return fates[at].fate;
}

const scene *fault_scene_of(int number)
{
    return &fault_scenes[number / (SCENE_RUN * LANES) % SCENES];
}

/* Mostly small; one in fifty is of many frames. */
static size_t length_of(const fault_ledger *ledger, int number)
{
    uint64_t drawn = draw(ledger, number, 1);
    return drawn % 50 == 0 ? drawn / 50 % BODY_MAX : drawn / 50 % 700;
}

static char filling(int number)
{
    return (char)('a' + number % 26);
}

acemq_message *fault_message(const fault_ledger *ledger, int number)
{
    char id[32];
    size_t length = BODY_LEAST + length_of(ledger, number);
    char *body = malloc(length);
    if (body == NULL) {
        return NULL;
    }
    memset(body, filling(number), length);
    (void)snprintf(body, BODY_LEAST, "%d %zu", number, length);
    (void)snprintf(id, sizeof id, "m-%d", number);
    acemq_message *message = acemq_message_new(body, length);
    free(body);
    if (message != NULL) {
        acemq_message_set_id(message, id);
        acemq_message_set_header_int64(message, "number", number);
    }
    return message;
}

int fault_number_of(const fault_ledger *ledger, acemq_delivery *delivery)
{
    char start[BODY_LEAST];
    acemq_bytes body = acemq_delivery_body(delivery);
    int number = fault_parse(acemq_envelope_id(acemq_delivery_envelope(delivery)), "m-");
    if (body.length < sizeof start || number < 0 || number >= ledger->messages ||
        atomic_load(&ledger->entries[number].sent) == 0) {
        return -1;
    }
    memcpy(start, body.data, sizeof start);
    start[sizeof start - 1] = '\0';
    const char *length = strchr(start, ' ');
    char last = ((const char *)body.data)[body.length - 1];
    bool whole = fault_parse(start, "") == number && length != NULL &&
                 fault_parse(length, " ") == (int)body.length &&
                 (body.length == sizeof start || last == filling(number));
    return whole ? number : -1;
}

static acemq_outcome judge(fault_fate fate, int32_t attempt, bool replayed)
{
    switch (fate) {
    case FATE_FAIL_ONCE:
        return attempt <= 1 ? ACEMQ_FAILED : ACEMQ_ACCEPTED;
    case FATE_FAIL_TWICE:
        return attempt <= 2 ? ACEMQ_FAILED : ACEMQ_ACCEPTED;
    case FATE_EXHAUST:
        return replayed ? ACEMQ_ACCEPTED : ACEMQ_FAILED;
    case FATE_REJECT:
        return replayed ? ACEMQ_ACCEPTED : ACEMQ_REJECTED;
    case FATE_PARK:
        return replayed ? ACEMQ_ACCEPTED : ACEMQ_PARKED;
    case FATE_ACCEPT:
        break;
    }
    return ACEMQ_ACCEPTED;
}

acemq_outcome fault_handle(fault_ledger *ledger, acemq_delivery *delivery)
{
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    int number = fault_number_of(ledger, delivery);
    if (number < 0) {
        fprintf(stderr, "alien: %s\n", acemq_envelope_id(envelope));
        atomic_fetch_add(&ledger->alien, 1);
        return ACEMQ_ACCEPTED;
    }
    int32_t attempt = acemq_envelope_attempt(envelope);
    bool replayed = acemq_envelope_replay_count(envelope) > 0;
    acemq_outcome outcome = judge(fault_fate_of(ledger, number), attempt, replayed);
    bool given_up = outcome == ACEMQ_REJECTED || outcome == ACEMQ_PARKED ||
                    (outcome == ACEMQ_FAILED && attempt >= SCENE_ATTEMPTS);
    ledger_handled(ledger, number, attempt, outcome == ACEMQ_ACCEPTED, given_up || replayed);
    return outcome;
}

acemq_status fault_scene_declare(acemq_connection *mq, const scene *one, acemq_error **error)
{
    acemq_policy *policy = NULL;
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_status status = acemq_policy_parse(one->policy, &policy, error);
    if (status == ACEMQ_OK) {
        acemq_topology_queue(topology, one->queue, one->type, 1, policy, NULL);
        acemq_topology_consumer(topology, one->queue, policy);
        status = acemq_topology_apply(mq, topology, 10 * ACEMQ_SECOND, &plan, error);
    }
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_policy_free(policy);
    return status;
}
