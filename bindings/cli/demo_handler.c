#include "demo.h"

#include "progress.h"
#include "signals.h"

#include <string.h>
#include <time.h>

#define PATIENCE   15000 /* ms beyond the story's own waits, for a slow broker */
#define LOOK_EVERY 100

static const char *const bodies[CLI_DEMO_ORDERS] = {
    "{\"order\": 1, \"article\": \"teapot\", \"price\": 29.90}",
    "{\"order\": 2, \"article\": \"kettle\", \"price\": 45.00}",
    "{\"order\": 3, \"article\": \"caf\xc3\xa9 filter\"}",
    "{\"order\": 4, \"article\": \"to",
};

const char *cli_demo_body(int order)
{
    return bodies[order - 1];
}

static int order_of(const cli_demo *demo, const char *id)
{
    for (int i = 0; i < CLI_DEMO_ORDERS; i++) {
        if (strcmp(demo->ids[i], id) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* The second order meets a payment service that is down for a while, the third a bug. */
static acemq_outcome judge(const cli_demo *demo, int order, int32_t attempt, const char **reason)
{
    if (order == 2 && attempt < 3) {
        *reason = "the payment service does not answer";
        return ACEMQ_FAILED;
    }
    if (order == 3 && !demo->is_fixed) {
        *reason = "the order has no price";
        return ACEMQ_FAILED;
    }
    return ACEMQ_ACCEPTED;
}

acemq_outcome cli_demo_handle(acemq_delivery *delivery, void *user)
{
    cli_demo *demo = user;
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    acemq_bytes body = acemq_delivery_body(delivery);
    const char *reason = NULL;
    cli_demo_call call = {.attempt = acemq_envelope_attempt(envelope),
                          .replay_count = acemq_envelope_replay_count(envelope),
                          .at = cli_now()};
    pthread_mutex_lock(&demo->mutex);
    call.order = order_of(demo, acemq_envelope_id(envelope));
    call.outcome = judge(demo, call.order, call.attempt, &reason);
    if (call.order > 0) {
        const char *sent = bodies[call.order - 1];
        call.body_is_unchanged =
            body.length == strlen(sent) && memcmp(body.data, sent, body.length) == 0;
    }
    demo->too_many_calls = demo->call_count == CLI_DEMO_CALLS;
    if (!demo->too_many_calls) {
        demo->calls[demo->call_count++] = call;
    }
    pthread_cond_broadcast(&demo->called);
    pthread_mutex_unlock(&demo->mutex);
    acemq_delivery_set_reason(delivery, reason);
    return call.outcome;
}

static bool find(const cli_demo *demo, int order, int32_t attempt, acemq_outcome outcome, int nth,
                 cli_demo_call *call)
{
    int found = 0;
    for (size_t i = 0; i < demo->call_count && found < nth; i++) {
        const cli_demo_call *candidate = &demo->calls[i];
        if (candidate->order == order && candidate->attempt == attempt &&
            candidate->outcome == outcome) {
            found++;
            *call = *candidate;
        }
    }
    return found == nth;
}

static void wait_a_moment(cli_demo *demo)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_EVERY * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&demo->called, &demo->mutex, &until);
}

bool cli_demo_await(cli_demo *demo, int order, int32_t attempt, acemq_outcome outcome, int nth,
                    cli_demo_call *call)
{
    int64_t deadline = cli_now() + demo->rung_delay + PATIENCE;
    pthread_mutex_lock(&demo->mutex);
    bool found = find(demo, order, attempt, outcome, nth, call);
    while (!found && cli_now() < deadline && !cli_interrupted()) {
        wait_a_moment(demo);
        found = find(demo, order, attempt, outcome, nth, call);
    }
    pthread_mutex_unlock(&demo->mutex);
    return found;
}

int cli_demo_count(cli_demo *demo, int order)
{
    int count = 0;
    pthread_mutex_lock(&demo->mutex);
    for (size_t i = 0; i < demo->call_count; i++) {
        count += demo->calls[i].order == order ? 1 : 0;
    }
    pthread_mutex_unlock(&demo->mutex);
    return count;
}
