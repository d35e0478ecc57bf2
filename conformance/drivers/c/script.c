#include "script.h"

#include <string.h>
#include <time.h>

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int64_t limit_of(const json_t *until, const char *name, int64_t other)
{
    const json_t *value = json_object_get(until, name);
    return json_is_integer(value) ? json_integer_value(value) : other;
}

void script_begin(driver_script *script, const driver_request *request)
{
    const json_t *until = member_of(request, "until");
    script->entries = member_of(request, "script");
    script->seen = json_object();
    script->deliveries = json_array();
    script->most = limit_of(until, "deliveries", INT64_MAX);
    script->idle = limit_of(until, "idle", INT64_MAX);
    script->ends = now() + limit_of(until, "timeout", 10 * ACEMQ_SECOND);
}

int64_t script_wait(const driver_script *script)
{
    int64_t left = script->ends - now();
    if ((int64_t)json_array_size(script->deliveries) >= script->most) {
        return 0;
    }
    return left < script->idle ? left : script->idle;
}

/* The entry for this delivery of `id`. */
static const char *entry_for(driver_script *script, const char *id)
{
    const json_t *entries = json_object_get(script->entries, id);
    json_int_t seen = json_integer_value(json_object_get(script->seen, id));
    json_object_set_new(script->seen, id, json_integer(seen + 1));
    entries = entries ? entries : json_object_get(script->entries, "*");
    size_t count = json_array_size(entries), index = (size_t)seen;
    const char *entry =
        count > 0 ? json_string_value(json_array_get(entries, index < count ? index : count - 1))
                  : NULL;
    return entry ? entry : "accept";
}

static acemq_outcome outcome_of(const char *entry)
{
    switch (entry[0]) {
    case 'a':
        return ACEMQ_ACCEPTED;
    case 'r':
        return ACEMQ_REJECTED;
    case 'p':
        return ACEMQ_PARKED;
    default:
        return ACEMQ_FAILED;
    }
}

acemq_status script_handle(driver_script *script, acemq_delivery *delivery, json_t **listed,
                           acemq_error **error)
{
    const char *entry = entry_for(script, acemq_envelope_id(acemq_delivery_envelope(delivery)));
    const char *reason = strstr(entry, ": ");
    *listed = delivery_json(delivery);
    json_object_set_new(*listed, "outcome", json_string(entry));
    json_object_set_new(*listed, "routingKey", json_string(acemq_delivery_routing_key(delivery)));
    json_object_set_new(*listed, "redelivered", json_boolean(acemq_delivery_redelivered(delivery)));
    json_array_append_new(script->deliveries, *listed);
    return acemq_delivery_settle(delivery, outcome_of(entry), reason ? reason + 2 : NULL, error);
}

json_t *counters_json(const acemq_consumer_counters *counters)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "acknowledged",
                     (json_int_t)counters->acknowledged, "rejected", (json_int_t)counters->rejected,
                     "retried", (json_int_t)counters->retried, "deadLettered",
                     (json_int_t)counters->dead_lettered, "parked", (json_int_t)counters->parked,
                     "duplicates", (json_int_t)counters->duplicates);
}

int consumer_options_of(driver_request *request, acemq_consumer_options *options,
                        acemq_policy **policy)
{
    const char *codec = text_of(request, "codec"), *declare = text_of(request, "declare");
    const json_t *claims = member_of(request, "idempotency");
    acemq_consumer_options_init(options, sizeof *options);
    if (!policy_of(request, "retry", policy)) {
        return 0;
    }
    options->retry = *policy;
    options->prefetch = (int32_t)number_of(request, "prefetch", options->prefetch);
    options->requeue_on_failure = flag_of(request, "requeueOnFailure");
    options->declare = declare && strcmp(declare, "verify") == 0;
    options->codec = acemq_codec_builtin(codec ? codec : "bytes");
    if (!options->codec) {
        unsupported(request, "no such codec");
    }
    if (claims) {
        options->idempotency =
            claims_of(request, json_string_value(json_object_get(claims, "store")));
        options->lease = limit_of(claims, "lease", options->lease);
        options->put_back_wait = limit_of(claims, "putBackWait", options->put_back_wait);
    }
    if (request->answer) {
        acemq_policy_free(*policy);
    }
    return !request->answer;
}
