/* Envelopes, policies and names: what needs no broker. */
#include "protocol.h"

#include <stdlib.h>

static json_t *read_and_written(driver_request *request, const acemq_table *headers,
                                const acemq_envelope *envelope)
{
    acemq_table *application = NULL, *written = NULL;
    acemq_error *error = NULL;
    json_t *result = NULL;
    if (acemq_envelope_application_headers(headers, &application, &error) != ACEMQ_OK ||
        acemq_table_copy(headers, &written, &error) != ACEMQ_OK ||
        acemq_envelope_write(envelope, written, &error) != ACEMQ_OK) {
        failed(request, error);
    } else {
        result = json_pack("{s:o,s:o,s:o}", "envelope", envelope_json(envelope), "headers",
                           table_json(application, 0), "written", table_json(written, 1));
    }
    acemq_table_free(application);
    acemq_table_free(written);
    return result;
}

static json_t *envelope_verb(driver_request *request)
{
    acemq_table *headers = table_of(request, member_of(request, "headers"));
    acemq_envelope *envelope = NULL;
    acemq_error *error = NULL;
    json_t *result = NULL;
    if (headers &&
        acemq_envelope_read(headers, text_of(request, "routingKey"), text_of(request, "messageId"),
                            &envelope, &error) != ACEMQ_OK) {
        failed(request, error);
    } else if (headers) {
        result = read_and_written(request, headers, envelope);
    }
    acemq_envelope_free(envelope);
    acemq_table_free(headers);
    return result;
}

static json_t *policy_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    char *text = NULL;
    json_t *result = NULL;
    if (!policy_of(request, "text", &policy)) {
        return NULL;
    }
    if (acemq_policy_format(policy, &text, &error) != ACEMQ_OK) {
        failed(request, error);
    } else {
        result = json_pack("{s:s,s:I,s:I,s:I,s:f}", "text", text, "maxAttempts",
                           (json_int_t)acemq_policy_max_attempts(policy), "maxAge",
                           (json_int_t)acemq_policy_max_age(policy), "threshold",
                           (json_int_t)acemq_policy_broker_threshold(policy), "jitter",
                           acemq_policy_jitter_factor(policy));
    }
    acemq_free(text);
    acemq_policy_free(policy);
    return result;
}

/* Sets "where" and "rung" for a wait; the error, when there is one, is owned by the caller. */
static acemq_status set_place(json_t *place, const acemq_policy *policy, const char *queue,
                              int64_t delay, acemq_error **error)
{
    char name[ACEMQ_NAME_SIZE] = "";
    int broker = acemq_policy_waits_in_broker(policy, delay);
    acemq_status status = ACEMQ_OK;
    if (broker) {
        status = acemq_policy_rung_name(policy, queue, acemq_policy_choose_rung(policy, delay),
                                        name, error);
    }
    json_object_set_new(place, "where", json_string(broker ? "broker" : "consumer"));
    json_object_set_new(place, "rung", broker ? json_string(name) : json_null());
    return status;
}

static acemq_status list_waits(json_t *waits, const acemq_policy *policy, const char *queue,
                               acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (int64_t after = 1; after < acemq_policy_max_attempts(policy) && status == ACEMQ_OK;
         after++) {
        int64_t delay = acemq_policy_wait(policy, after);
        json_t *wait =
            json_pack("{s:I,s:I}", "afterAttempt", (json_int_t)after, "delayMs", (json_int_t)delay);
        status = set_place(wait, policy, queue, delay, error);
        json_array_append_new(waits, wait);
    }
    return status;
}

static acemq_status list_rungs(json_t *rungs, const acemq_policy *policy, const char *queue,
                               acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (size_t index = 0; index < acemq_policy_rung_count(policy) && status == ACEMQ_OK; index++) {
        char name[ACEMQ_NAME_SIZE] = "";
        acemq_table *arguments = NULL;
        int64_t delay = acemq_policy_rung_delay(policy, index);
        status = acemq_policy_rung_name(policy, queue, delay, name, error);
        if (status == ACEMQ_OK) {
            status = acemq_policy_rung_arguments(policy, queue, delay, &arguments, error);
        }
        json_array_append_new(
            rungs, json_pack("{s:s,s:o}", "queue", name, "arguments", table_json(arguments, 0)));
        acemq_table_free(arguments);
    }
    return status;
}

static json_t *schedule_verb(driver_request *request)
{
    const char *queue = text_of(request, "queue");
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    json_t *waits = json_array(), *rungs = json_array(), *result = NULL;
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    if (list_waits(waits, policy, queue ? queue : "orders", &error) != ACEMQ_OK ||
        list_rungs(rungs, policy, queue ? queue : "orders", &error) != ACEMQ_OK) {
        failed(request, error);
    } else {
        result = json_pack("{s:O,s:O}", "waits", waits, "rungs", rungs);
    }
    json_decref(waits);
    json_decref(rungs);
    acemq_policy_free(policy);
    return result;
}

static json_t *waits_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    json_t *waits = json_array(), *attempt;
    size_t index;
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    json_array_foreach((json_t *)member_of(request, "attempts"), index, attempt)
    {
        json_array_append_new(waits,
                              json_integer(acemq_policy_wait(policy, json_integer_value(attempt))));
    }
    acemq_policy_free(policy);
    return json_pack("{s:o}", "waits", waits);
}

static json_t *decide_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    int retries = acemq_policy_retries(policy, number_of(request, "attempt", 1),
                                       number_of(request, "age", -1));
    acemq_policy_free(policy);
    return json_pack("{s:b}", "retries", retries);
}

static json_t *place_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    json_t *place = json_object();
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    acemq_status status =
        set_place(place, policy, text_of(request, "queue"), number_of(request, "delay", 0), &error);
    acemq_policy_free(policy);
    return status == ACEMQ_OK ? place : failed(request, error);
}

static json_t *jitter_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    int64_t delay = acemq_policy_jittered(policy, number_of(request, "delay", 0),
                                          fraction_of(request, "unit", 0));
    acemq_policy_free(policy);
    return json_pack("{s:I}", "delay", (json_int_t)delay);
}

static json_t *names_verb(driver_request *request)
{
    char dead[ACEMQ_NAME_SIZE], parked[ACEMQ_NAME_SIZE];
    const char *queue = text_of(request, "queue");
    acemq_error *error = NULL;
    if (acemq_dead_letter_queue(queue, dead, &error) != ACEMQ_OK ||
        acemq_parked_queue(queue, parked, &error) != ACEMQ_OK) {
        return failed(request, error);
    }
    return json_pack("{s:s,s:s}", "deadLetter", dead, "parked", parked);
}

const driver_verb rule_verbs[] = {
    {"envelope", envelope_verb, " headers routingKey messageId "},
    {"policy", policy_verb, " text "},
    {"schedule", schedule_verb, " policy queue "},
    {"waits", waits_verb, " policy attempts "},
    {"decide", decide_verb, " policy attempt age "},
    {"place", place_verb, " policy queue delay "},
    {"jitter", jitter_verb, " policy delay unit "},
    {"names", names_verb, " queue "},
    {0},
};
