/* What a topology, and a consumer, declare. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"", "exchange", "queue", "binding"};

static json_t *objects_of(const acemq_plan *plan)
{
    json_t *objects = json_array();
    for (size_t index = 0; index < acemq_plan_count(plan); index++) {
        json_array_append_new(
            objects,
            json_pack("{s:s,s:s,s:s,s:o,s:s,s:s}", "kind", kinds[acemq_plan_get_kind(plan, index)],
                      "name", acemq_plan_name(plan, index), "type", acemq_plan_type(plan, index),
                      "arguments", table_json(acemq_plan_arguments(plan, index), 0), "exchange",
                      acemq_plan_exchange(plan, index), "routingKey",
                      acemq_plan_routing_key(plan, index)));
    }
    return objects;
}

static json_t *planned(driver_request *request, acemq_topology *topology)
{
    acemq_plan *plan = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_topology_plan(topology, &plan, &error);
    json_t *result = status == ACEMQ_OK ? json_pack("{s:o}", "objects", objects_of(plan))
                                        : failed(request, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return result;
}

/* NULL, and answered, when it does not read. */
static acemq_topology *topology_of(driver_request *request)
{
    acemq_topology *topology = NULL;
    acemq_error *error = NULL;
    char *text = json_dumps(json_object_get(request->with, "topology"), JSON_COMPACT);
    if (!text) {
        refuse(request, "invalid_argument", "topology is missing");
    } else if (acemq_topology_parse(text, strlen(text), &topology, &error) != ACEMQ_OK) {
        failed(request, error);
    }
    free(text);
    return topology;
}

static json_t *plan_verb(driver_request *request)
{
    acemq_topology *topology = topology_of(request);
    return topology ? planned(request, topology) : NULL;
}

static json_t *consumer_plan_verb(driver_request *request)
{
    acemq_policy *policy = NULL;
    if (!policy_of(request, "policy", &policy)) {
        return NULL;
    }
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_consumer(topology, text_of(request, "queue"), policy);
    acemq_policy_free(policy);
    return planned(request, topology);
}

static json_t *apply_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    acemq_topology *topology = mq ? topology_of(request) : NULL;
    acemq_plan *plan = NULL;
    acemq_error *error = NULL;
    if (!topology) {
        return NULL;
    }
    acemq_status status = acemq_topology_apply(mq, topology, 10 * ACEMQ_SECOND, &plan, &error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status == ACEMQ_OK ? json_object() : failed(request, error);
}

const driver_verb plan_verbs[] = {
    {"topology.plan", plan_verb, " topology "},
    {"consumer.plan", consumer_plan_verb, " queue policy "},
    {"topology", apply_verb, " topology "},
    {0},
};
