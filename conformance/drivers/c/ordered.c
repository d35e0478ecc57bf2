/* Messages of one key in their order. */
#include "script.h"

#include <string.h>

static json_t *ordered_publish_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    acemq_message *message = mq ? message_of(request) : NULL;
    if (!message) {
        return NULL;
    }
    acemq_partitioning partitioning = ACEMQ_PARTITIONING_INIT;
    const char *key = text_of(request, "key"), *rule = text_of(request, "rule");
    acemq_error *error = NULL;
    partitioning.partitions = number_of(request, "partitions", 8);
    partitioning.rule = rule ? acemq_partition_rule_named(rule) : ACEMQ_PARTITION_UNSIGNED;
    acemq_status status = acemq_ordered_publish(
        mq, text_of(request, "name"), &partitioning, (acemq_bytes){key, key ? strlen(key) : 0},
        message, number_of(request, "timeout", 10 * ACEMQ_SECOND), &error);
    json_t *result = status == ACEMQ_OK ? json_pack("{s:s?}", "id", acemq_message_id(message))
                                        : failed(request, error);
    acemq_message_free(message);
    return result;
}

static int64_t failure_of(const driver_request *request)
{
    const char *failure = text_of(request, "failure");
    if (failure && strcmp(failure, "retry") == 0) {
        return ACEMQ_ORDER_RETRY_IN_PLACE;
    }
    return failure && strcmp(failure, "skip") == 0 ? ACEMQ_ORDER_SKIP : ACEMQ_ORDER_STOP;
}

static acemq_status follow(acemq_ordered *ordered, driver_script *script, acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (int64_t wait = script_wait(script); wait > 0 && status == ACEMQ_OK;
         wait = script_wait(script)) {
        acemq_delivery *delivery = NULL;
        json_t *listed;
        status = acemq_ordered_next(ordered, wait, &delivery, error);
        if (status == ACEMQ_E_TIMEOUT) {
            acemq_error_free(*error);
            *error = NULL;
            return ACEMQ_OK;
        }
        if (status == ACEMQ_OK) {
            const char *queue = acemq_delivery_queue(delivery);
            json_t *name = json_string(queue ? queue : "");
            status = script_handle(script, delivery, &listed, error);
            json_object_set_new(listed, "queue", name);
        }
        acemq_delivery_free(delivery);
    }
    return status;
}

static json_t *gaps_json(const acemq_ordered *ordered)
{
    acemq_gaps *gaps = NULL;
    json_t *list = json_array();
    acemq_ordered_get_gaps(ordered, &gaps, NULL);
    for (size_t index = 0; index < acemq_gaps_count(gaps); index++) {
        json_array_append_new(list, json_pack("{s:I,s:s,s:s,s:b}", "partition",
                                              (json_int_t)acemq_gaps_partition(gaps, index), "id",
                                              acemq_gaps_id(gaps, index), "reason",
                                              acemq_gaps_reason(gaps, index), "parked",
                                              acemq_gaps_parked(gaps, index)));
    }
    acemq_gaps_free(gaps);
    return list;
}

static json_t *halted_json(const acemq_ordered *ordered, int64_t partitions)
{
    json_t *list = json_array();
    for (int64_t partition = 0; partition < partitions; partition++) {
        if (acemq_ordered_halted(ordered, partition, NULL)) {
            json_array_append_new(list, json_integer(partition));
        }
    }
    return list;
}

static json_t *ordered_consume_verb(driver_request *request)
{
    acemq_consumer_options consumer;
    acemq_ordered_options options = ACEMQ_ORDERED_OPTIONS_INIT;
    acemq_policy *policy = NULL;
    acemq_ordered *ordered = NULL;
    acemq_error *error = NULL;
    driver_script script;
    if (!client(request) || !consumer_options_of(request, &consumer, &policy)) {
        return NULL;
    }
    options.consumer = &consumer;
    options.partitions = number_of(request, "partitions", 8);
    options.failure = failure_of(request);
    acemq_status status =
        acemq_ordered_open(client(request), text_of(request, "name"), &options, &ordered, &error);
    acemq_policy_free(policy);
    if (status != ACEMQ_OK) {
        return failed(request, error);
    }
    script_begin(&script, request);
    status = follow(ordered, &script, &error);
    acemq_ordered_drain(ordered, 10 * ACEMQ_SECOND, NULL, NULL, NULL);
    json_t *result =
        json_pack("{s:o,s:o,s:o}", "deliveries", script.deliveries, "gaps", gaps_json(ordered),
                  "halted", halted_json(ordered, options.partitions));
    acemq_ordered_free(ordered);
    json_decref(script.seen);
    if (status != ACEMQ_OK) {
        json_decref(result);
        return failed(request, error);
    }
    return result;
}

const driver_verb ordered_verbs[] = {
    {"ordered.publish", ordered_publish_verb, " name key partitions rule message timeout "},
    {"ordered.consume", ordered_consume_verb, " name partitions failure retry codec script until "},
    {0},
};
