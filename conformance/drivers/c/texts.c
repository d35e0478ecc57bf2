/* Durations, times and partitions. */
#include "protocol.h"

#include <stdlib.h>

static json_t *read_duration(driver_request *request)
{
    int64_t milliseconds = 0;
    acemq_error *error = NULL;
    return acemq_duration_parse(text_of(request, "text"), &milliseconds, &error) == ACEMQ_OK
               ? json_pack("{s:I}", "milliseconds", (json_int_t)milliseconds)
               : failed(request, error);
}

static json_t *write_duration(driver_request *request)
{
    char text[24];
    acemq_error *error = NULL;
    return acemq_duration_format(number_of(request, "milliseconds", 0), text, &error) == ACEMQ_OK
               ? json_pack("{s:s}", "text", text)
               : failed(request, error);
}

static json_t *read_time(driver_request *request)
{
    int64_t seconds = 0;
    int32_t nanoseconds = 0;
    acemq_error *error = NULL;
    return acemq_time_parse(text_of(request, "text"), &seconds, &nanoseconds, &error) == ACEMQ_OK
               ? json_pack("{s:I,s:i}", "seconds", (json_int_t)seconds, "nanoseconds",
                           (int)nanoseconds)
               : failed(request, error);
}

static json_t *write_time(driver_request *request)
{
    char text[ACEMQ_TIME_SIZE];
    acemq_error *error = NULL;
    return acemq_time_format(number_of(request, "milliseconds", 0), text, &error) == ACEMQ_OK
               ? json_pack("{s:s}", "text", text)
               : failed(request, error);
}

/* The key's bytes, owned; NULL, and answered, when they do not read. */
static void *key_of(driver_request *request, acemq_bytes *key)
{
    json_t *body = json_object();
    size_t length = 0;
    json_object_set(body, "body", json_object_get(request->with, "key"));
    json_object_set(body, "bodyBase64", json_object_get(request->with, "keyBase64"));
    void *bytes = body_of(body, &length);
    json_decref(body);
    *key = (acemq_bytes){bytes, length};
    if (!bytes) {
        refuse(request, "parse", "keyBase64 is no base64");
    }
    return bytes;
}

static int rule_of(const driver_request *request)
{
    const char *rule = text_of(request, "rule");
    return rule ? acemq_partition_rule_named(rule) : ACEMQ_PARTITION_UNSIGNED;
}

static json_t *partition_verb(driver_request *request)
{
    acemq_bytes key;
    int rule = rule_of(request);
    void *bytes = rule < 0 ? NULL : key_of(request, &key);
    if (!bytes) {
        return request->answer ? NULL : unsupported(request, "no such rule");
    }
    int64_t partition =
        acemq_partition(key, number_of(request, "partitions", 8), (acemq_partition_rule)rule);
    free(bytes);
    return partition < 0 ? refuse(request, "invalid_argument", "partitions is out of range")
                         : json_pack("{s:I}", "partition", (json_int_t)partition);
}

static json_t *ordered_queue_verb(driver_request *request)
{
    acemq_partitioning partitioning = ACEMQ_PARTITIONING_INIT;
    char queue[ACEMQ_NAME_SIZE];
    acemq_error *error = NULL;
    acemq_bytes key;
    partitioning.partitions = number_of(request, "partitions", 8);
    partitioning.rule = rule_of(request);
    void *bytes = key_of(request, &key);
    if (!bytes) {
        return NULL;
    }
    acemq_status status =
        acemq_ordered_queue(text_of(request, "name"), &partitioning, key, NULL, queue, &error);
    free(bytes);
    return status == ACEMQ_OK ? json_pack("{s:s}", "queue", queue) : failed(request, error);
}

const driver_verb text_verbs[] = {
    {"duration.parse", read_duration, " text "},
    {"duration.format", write_duration, " milliseconds "},
    {"time.parse", read_time, " text "},
    {"time.format", write_time, " milliseconds "},
    {"partition", partition_verb, " key keyBase64 partitions rule "},
    {"ordered.queue", ordered_queue_verb, " name key partitions rule "},
    {0},
};
