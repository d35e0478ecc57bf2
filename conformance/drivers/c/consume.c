/* A consumer, or a group, that does what a script says. */
#include "script.h"

/* One consumer or one group. */
typedef struct driver_taker {
    acemq_consumer *consumer;
    acemq_group *group;
} driver_taker;

static acemq_status open_taker(driver_request *request, const acemq_consumer_options *options,
                               driver_taker *taker, acemq_error **error)
{
    const char *queue = text_of(request, "queue");
    int64_t members = number_of(request, "members", 1);
    if (members == 1) {
        return acemq_consumer_open(client(request), queue, options, &taker->consumer, error);
    }
    acemq_group_options group = ACEMQ_GROUP_OPTIONS_INIT;
    group.consumer = options;
    group.members = members;
    return acemq_group_open(client(request), queue, &group, &taker->group, error);
}

static acemq_status next_delivery(driver_taker *taker, int64_t wait, acemq_delivery **delivery,
                                  acemq_error **error)
{
    return taker->consumer ? acemq_consumer_next(taker->consumer, wait, delivery, error)
                           : acemq_group_next(taker->group, wait, delivery, error);
}

static acemq_status follow(driver_taker *taker, driver_script *script, acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (int64_t wait = script_wait(script); wait > 0 && status == ACEMQ_OK;
         wait = script_wait(script)) {
        acemq_delivery *delivery = NULL;
        json_t *listed;
        status = next_delivery(taker, wait, &delivery, error);
        if (status == ACEMQ_E_TIMEOUT) {
            acemq_error_free(*error);
            *error = NULL;
            return ACEMQ_OK;
        }
        if (status == ACEMQ_OK) {
            status = script_handle(script, delivery, &listed, error);
        }
        acemq_delivery_free(delivery);
    }
    return status;
}

/* What is in hand is settled; what it still waits for is said by the counters. */
static void end(driver_taker *taker, acemq_consumer_counters *counters)
{
    counters->size = sizeof *counters;
    if (taker->consumer) {
        acemq_consumer_drain(taker->consumer, 10 * ACEMQ_SECOND, NULL, NULL);
        acemq_consumer_get_counters(taker->consumer, counters, NULL);
    } else {
        acemq_group_drain(taker->group, 10 * ACEMQ_SECOND, NULL, NULL, NULL);
        acemq_group_get_counters(taker->group, counters, NULL);
    }
    acemq_consumer_free(taker->consumer);
    acemq_group_free(taker->group);
}

static json_t *consume_verb(driver_request *request)
{
    acemq_consumer_options options;
    acemq_consumer_counters counters;
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    driver_script script;
    driver_taker taker = {0};
    if (!client(request) || !consumer_options_of(request, &options, &policy)) {
        return NULL;
    }
    acemq_status status = open_taker(request, &options, &taker, &error);
    acemq_policy_free(policy);
    if (status != ACEMQ_OK) {
        return failed(request, error);
    }
    script_begin(&script, request);
    status = follow(&taker, &script, &error);
    end(&taker, &counters);
    json_decref(script.seen);
    if (status != ACEMQ_OK) {
        json_decref(script.deliveries);
        return failed(request, error);
    }
    return json_pack("{s:o,s:o}", "deliveries", script.deliveries, "counters",
                     counters_json(&counters));
}

const driver_verb consume_verbs[] = {
    {"consume", consume_verb,
     " queue retry codec script until members prefetch declare requeueOnFailure idempotency "},
    {0},
};
