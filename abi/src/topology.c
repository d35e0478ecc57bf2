#include "topology.h"

#include "arguments.h"
#include "contract/names.h"
#include "contract/topology_file.h"
#include "policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

ace_topology_builder *ace_topology_from_public(acemq_topology *topology)
{
    return (ace_topology_builder *)(void *)topology;
}

const ace_topology_builder *ace_topology_read_public(const acemq_topology *topology)
{
    return (const ace_topology_builder *)(const void *)topology;
}

acemq_topology *acemq_topology_new(void)
{
    ace_topology_builder *builder = calloc(1, sizeof *builder);
    return builder == NULL ? NULL : &builder->topology;
}

void acemq_topology_free(acemq_topology *topology)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    for (size_t i = 0; i < builder->consumer_count; i++) {
        free(builder->consumers[i].queue);
    }
    free(builder->consumers);
    ace_error_free(builder->error);
    ace_topology_release(&builder->topology);
    free(builder);
}

acemq_status acemq_topology_parse(const char *json, size_t length, acemq_topology **topology,
                                  acemq_error **error)
{
    ace_code code = ace_argument_present(json, "json", error);
    if (code == ACE_OK) {
        code = ace_argument_present(topology, "topology", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_topology *made = acemq_topology_new();
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = ace_topology_read(json, length, made, error);
    if (code != ACE_OK) {
        acemq_topology_free(made);
        return (acemq_status)code;
    }
    *topology = made;
    return ACEMQ_OK;
}

static void keep(ace_topology_builder *builder, ace_error *error)
{
    if (builder->error == NULL) {
        builder->error = error;
    } else {
        ace_error_free(error);
    }
}

/* NULL names go to the kept error here, since the core takes none. */
static bool names_given(ace_topology_builder *builder, const char *first, const char *first_name,
                        const char *second, const char *second_name)
{
    ace_error *error = NULL;
    ace_code code = ace_argument_text(first, first_name, &error);
    if (code == ACE_OK) {
        code = ace_argument_text(second, second_name, &error);
    }
    if (code != ACE_OK) {
        keep(builder, error);
    }
    return code == ACE_OK;
}

void acemq_topology_exchange(acemq_topology *topology, const char *name, const char *type)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    ace_error *error = NULL;
    ace_exchange_spec spec = {.name = name, .type = type};
    if (names_given(builder, name, "name", type, "type") &&
        ace_topology_add_exchange(topology, &spec, &error) != ACE_OK) {
        keep(builder, error);
    }
}

static ace_code queue_type_of(acemq_queue_type type, ace_queue_type *out, ace_error **error)
{
    switch (type) {
    case ACEMQ_QUEUE_QUORUM:
        *out = ACE_QUEUE_QUORUM;
        return ACE_OK;
    case ACEMQ_QUEUE_CLASSIC:
        *out = ACE_QUEUE_CLASSIC;
        return ACE_OK;
    case ACEMQ_QUEUE_STREAM:
        *out = ACE_QUEUE_STREAM;
        return ACE_OK;
    default:
        return ace_argument_range((int64_t)type, ACEMQ_QUEUE_QUORUM, ACEMQ_QUEUE_STREAM,
                                  "queue type", error);
    }
}

void acemq_topology_queue(acemq_topology *topology, const char *name, acemq_queue_type type,
                          int dead_letter, const acemq_policy *retry, const acemq_table *arguments)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    if (!names_given(builder, name, "name", "", "name")) {
        return;
    }
    ace_error *error = NULL;
    ace_policy policy;
    ace_queue_spec spec = {.name = name,
                           .dead_letter = dead_letter != 0,
                           .retry = retry == NULL ? NULL : &policy,
                           .arguments = arguments == NULL ? NULL : &arguments->table};
    ace_code code = queue_type_of(type, &spec.type, &error);
    if (code == ACE_OK) {
        code = ace_policy_from_public(retry, &policy, &error);
    }
    if (code == ACE_OK) {
        code = ace_topology_add_queue(topology, &spec, &error);
    }
    if (code != ACE_OK) {
        keep(builder, error);
    }
}

void acemq_topology_bind(acemq_topology *topology, const char *exchange, const char *queue,
                         const char *routing_key)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    ace_error *error = NULL;
    ace_binding_spec spec = {.exchange = exchange, .queue = queue, .key = routing_key};
    if (names_given(builder, exchange, "exchange", queue, "queue") &&
        names_given(builder, routing_key, "routing_key", "", "routing_key") &&
        ace_topology_add_binding(topology, &spec, &error) != ACE_OK) {
        keep(builder, error);
    }
}

static void add_partitioned(acemq_topology *topology, const char *name, int64_t partitions,
                            bool shared)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    if (!names_given(builder, name, "name", "", "name")) {
        return;
    }
    ace_error *error = NULL;
    ace_code code = ace_argument_range(partitions, 1, ACE_PARTITIONS_MAX, "partitions", &error);
    if (code == ACE_OK) {
        ace_partitioned_spec spec = {
            .name = name, .partitions = (int32_t)partitions, .shared_consumers = shared};
        code = ace_topology_add_partitioned(topology, &spec, &error);
    }
    if (code != ACE_OK) {
        keep(builder, error);
    }
}

void acemq_topology_partitioned(acemq_topology *topology, const char *name, int64_t partitions)
{
    add_partitioned(topology, name, partitions, false);
}

void acemq_topology_partitioned_shared(acemq_topology *topology, const char *name,
                                       int64_t partitions)
{
    add_partitioned(topology, name, partitions, true);
}

static ace_code add_consumer(ace_topology_builder *builder, const char *queue,
                             const acemq_policy *retry, ace_error **error)
{
    ace_consumer_set set = {.has_policy = retry != NULL};
    ace_code code = ace_policy_from_public(retry, &set.policy, error);
    if (code == ACE_OK) {
        code = ace_base_name_check(queue, set.has_policy ? &set.policy : NULL, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_consumer_set *grown =
        realloc(builder->consumers, (builder->consumer_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return ace_fail_memory(error);
    }
    builder->consumers = grown;
    set.queue = strdup(queue);
    if (set.queue == NULL) {
        return ace_fail_memory(error);
    }
    builder->consumers[builder->consumer_count++] = set;
    return ACE_OK;
}

void acemq_topology_consumer(acemq_topology *topology, const char *queue, const acemq_policy *retry)
{
    if (topology == NULL) {
        return;
    }
    ace_topology_builder *builder = ace_topology_from_public(topology);
    ace_error *error = NULL;
    if (names_given(builder, queue, "queue", "", "queue") &&
        add_consumer(builder, queue, retry, &error) != ACE_OK) {
        keep(builder, error);
    }
}

static ace_code append_consumer(ace_plan *plan, const ace_consumer_set *consumer, ace_error **error)
{
    ace_plan more = ACE_PLAN_INIT;
    ace_code code = ace_plan_consumer(
        consumer->queue, consumer->has_policy ? &consumer->policy : NULL, &more, error);
    if (code == ACE_OK) {
        code = ace_plan_append(plan, &more, error);
    }
    ace_plan_release(&more);
    return code;
}

ace_code ace_topology_make_plan(const acemq_topology *topology, ace_plan *plan, ace_error **error)
{
    ace_code code = ace_argument_present(topology, "topology", error);
    if (code != ACE_OK) {
        return code;
    }
    const ace_topology_builder *builder = ace_topology_read_public(topology);
    if (builder->error != NULL) {
        return ace_error_move(error, ace_error_copy(builder->error));
    }
    code = ace_plan_topology(&builder->topology, plan, error);
    for (size_t i = 0; code == ACE_OK && i < builder->consumer_count; i++) {
        code = append_consumer(plan, &builder->consumers[i], error);
    }
    if (code != ACE_OK) {
        ace_plan_release(plan);
    }
    return code;
}

acemq_status acemq_topology_validate(const acemq_topology *topology, acemq_error **error)
{
    ace_plan plan = ACE_PLAN_INIT;
    ace_code code = ace_topology_make_plan(topology, &plan, error);
    ace_plan_release(&plan);
    return (acemq_status)code;
}
