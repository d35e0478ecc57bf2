#include "contract/plan.h"

#include "contract/ladder.h"
#include "contract/names.h"

#include <stdlib.h>
#include <string.h>

void ace_plan_release(ace_plan *plan)
{
    free(plan->items);
    ace_arena_free(&plan->arena);
    *plan = (ace_plan)ACE_PLAN_INIT;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_object(const ace_declaration *a, const ace_declaration *b)
{
    if (a->kind != b->kind || !same_text(a->name, b->name)) {
        return false;
    }
    return a->kind != ACE_DECLARE_BINDING ||
           (same_text(a->exchange, b->exchange) && same_text(a->key, b->key) &&
            ace_table_equal(&a->arguments, &b->arguments));
}

static bool same_declaration(const ace_declaration *a, const ace_declaration *b)
{
    return same_text(a->type, b->type) && a->durable == b->durable &&
           a->exclusive == b->exclusive && a->auto_delete == b->auto_delete &&
           a->internal == b->internal && ace_table_equal(&a->arguments, &b->arguments);
}

static ace_code declared_twice(const ace_declaration *declaration, ace_error **error)
{
    ace_buffer title = ACE_BUFFER_INIT;
    if (!ace_declaration_title(declaration, &title)) {
        ace_buffer_free(&title);
        return ace_fail_memory(error);
    }
    ace_fail(error, ACE_INVALID_ARGUMENT, "%.*s is declared twice, and differently",
             (int)title.length, (const char *)title.data);
    ace_error_field(error, "name", 0);
    ace_buffer_free(&title);
    return ACE_INVALID_ARGUMENT;
}

static bool keep_text(ace_plan *plan, const char **text)
{
    if (*text == NULL) {
        return true;
    }
    *text = ace_arena_text(&plan->arena, *text, strlen(*text));
    return *text != NULL;
}

static ace_code append(ace_plan *plan, const ace_declaration *declaration, ace_error **error)
{
    if (plan->count == plan->capacity) {
        size_t capacity = plan->capacity == 0 ? 16 : plan->capacity * 2;
        ace_declaration *items = realloc(plan->items, capacity * sizeof *items);
        if (items == NULL) {
            return ace_fail_memory(error);
        }
        plan->items = items;
        plan->capacity = capacity;
    }
    ace_declaration kept = *declaration;
    if (!keep_text(plan, &kept.name) || !keep_text(plan, &kept.type) ||
        !keep_text(plan, &kept.exchange) || !keep_text(plan, &kept.key)) {
        return ace_fail_memory(error);
    }
    amqp_field_value_t arguments = {.kind = AMQP_FIELD_KIND_TABLE,
                                    .value = {.table = declaration->arguments}};
    amqp_field_value_t copy;
    ace_code code = ace_value_copy(&plan->arena, &arguments, &copy, error);
    if (code == ACE_OK) {
        kept.arguments = copy.value.table;
        plan->items[plan->count++] = kept;
    }
    return code;
}

/* What stands already, equal, is not repeated: several queues share our exchanges. */
static ace_code add(ace_plan *plan, const ace_declaration *declaration, ace_error **error)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (!same_object(&plan->items[i], declaration)) {
            continue;
        }
        if (!same_declaration(&plan->items[i], declaration)) {
            return declared_twice(declaration, error);
        }
        return ACE_OK;
    }
    return append(plan, declaration, error);
}

ace_code ace_plan_append(ace_plan *plan, const ace_plan *more, ace_error **error)
{
    ace_code code = ACE_OK;
    for (size_t i = 0; code == ACE_OK && i < more->count; i++) {
        code = add(plan, &more->items[i], error);
    }
    return code;
}

static ace_code add_direct_exchange(ace_plan *plan, const char *name, ace_error **error)
{
    ace_declaration exchange = {
        .kind = ACE_DECLARE_EXCHANGE, .name = name, .type = "direct", .durable = true};
    return add(plan, &exchange, error);
}

static ace_code add_classic_queue(ace_plan *plan, const char *name, ace_error **error)
{
    ace_declaration queue = {
        .kind = ACE_DECLARE_QUEUE, .name = name, .type = "classic", .durable = true};
    return add(plan, &queue, error);
}

static ace_code add_binding(ace_plan *plan, const char *exchange, const char *queue,
                            const char *key, const amqp_table_t *arguments, ace_error **error)
{
    ace_declaration binding = {
        .kind = ACE_DECLARE_BINDING, .name = queue, .exchange = exchange, .key = key};
    if (arguments != NULL) {
        binding.arguments = *arguments;
    }
    return add(plan, &binding, error);
}

/* What failing messages of one queue need: of these three steps each plan takes the first for every
 * queue, then the second, then the third, so that nothing is bound before it is there. */
static ace_code add_failure_exchanges(ace_plan *plan, const ace_ladder *ladder, ace_error **error)
{
    ace_code code = add_direct_exchange(plan, ACE_EXCHANGE_DEAD_LETTER, error);
    if (code == ACE_OK && ladder->count > 0) {
        code = add_direct_exchange(plan, ACE_EXCHANGE_RETRY, error);
    }
    return code;
}

static ace_code add_rung(ace_plan *plan, const char *queue, const ace_policy *policy,
                         const ace_rung *rung, ace_error **error)
{
    ace_table arguments = ACE_TABLE_INIT;
    ace_code code = ace_rung_arguments(queue, rung->wait, policy->durable_rungs, &arguments, error);
    if (code == ACE_OK) {
        ace_declaration declaration = {.kind = ACE_DECLARE_QUEUE,
                                       .name = rung->queue.text,
                                       .type = policy->durable_rungs ? "quorum" : "classic",
                                       .durable = true,
                                       .rung = true,
                                       .arguments = arguments.table};
        code = add(plan, &declaration, error);
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code add_failure_queues(ace_plan *plan, const char *queue, const ace_policy *policy,
                                   const ace_ladder *ladder, ace_error **error)
{
    ace_name name;
    ace_code code = ace_name_dead_letter(queue, &name, error);
    if (code == ACE_OK) {
        code = add_classic_queue(plan, name.text, error);
    }
    if (code == ACE_OK) {
        code = ace_name_parked(queue, &name, error);
    }
    if (code == ACE_OK) {
        code = add_classic_queue(plan, name.text, error);
    }
    for (size_t i = 0; code == ACE_OK && i < ladder->count; i++) {
        code = add_rung(plan, queue, policy, &ladder->rungs[i], error);
    }
    return code;
}

static ace_code add_failure_bindings(ace_plan *plan, const char *queue, const ace_ladder *ladder,
                                     ace_error **error)
{
    ace_name name;
    ace_code code = ace_name_dead_letter(queue, &name, error);
    if (code == ACE_OK) {
        code = add_binding(plan, ACE_EXCHANGE_DEAD_LETTER, name.text, name.text, NULL, error);
    }
    if (code == ACE_OK) {
        code = ace_name_parked(queue, &name, error);
    }
    if (code == ACE_OK) {
        code = add_binding(plan, ACE_EXCHANGE_DEAD_LETTER, name.text, name.text, NULL, error);
    }
    if (code == ACE_OK && ladder->count > 0) {
        code = add_binding(plan, ACE_EXCHANGE_RETRY, queue, queue, NULL, error);
    }
    return code;
}

static ace_code plan_consumer(const char *queue, const ace_policy *policy, ace_plan *plan,
                              ace_error **error)
{
    ace_code code = ace_base_name_check(queue, policy, error);
    if (code == ACE_OK && policy != NULL) {
        code = ace_policy_broker_check(policy, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_ladder ladder = ACE_LADDER_INIT;
    code = ace_ladder_build(queue, policy, &ladder, error);
    if (code == ACE_OK) {
        code = add_failure_exchanges(plan, &ladder, error);
    }
    if (code == ACE_OK) {
        code = add_failure_queues(plan, queue, policy, &ladder, error);
    }
    if (code == ACE_OK) {
        code = add_failure_bindings(plan, queue, &ladder, error);
    }
    ace_ladder_release(&ladder);
    return code;
}

ace_code ace_plan_consumer(const char *queue, const ace_policy *policy, ace_plan *plan,
                           ace_error **error)
{
    ace_plan made = ACE_PLAN_INIT;
    ace_code code = plan_consumer(queue, policy, &made, error);
    if (code != ACE_OK) {
        ace_plan_release(&made);
        return code;
    }
    *plan = made;
    return ACE_OK;
}

/* The same three steps for the queue of a topology, which may want none of them. */
enum step {
    EXCHANGES,
    QUEUES,
    BINDINGS,
};

static ace_code add_failure_step(ace_plan *plan, const ace_queue_spec *queue, enum step step,
                                 ace_error **error)
{
    if (!queue->dead_letter && queue->retry == NULL) {
        return ACE_OK;
    }
    ace_ladder ladder = ACE_LADDER_INIT;
    ace_code code = ace_ladder_build(queue->name, queue->retry, &ladder, error);
    if (code != ACE_OK) {
        return code;
    }
    if (step == EXCHANGES) {
        code = add_failure_exchanges(plan, &ladder, error);
    } else if (step == QUEUES) {
        code = add_failure_queues(plan, queue->name, queue->retry, &ladder, error);
    } else {
        code = add_failure_bindings(plan, queue->name, &ladder, error);
    }
    ace_ladder_release(&ladder);
    return code;
}

static const char *type_name(const ace_queue_spec *queue)
{
    switch (queue->type) {
    case ACE_QUEUE_CLASSIC:
        return "classic";
    case ACE_QUEUE_STREAM:
        return "stream";
    case ACE_QUEUE_QUORUM:
        return "quorum";
    case ACE_QUEUE_DEFAULT:
    default:
        return queue->transient || queue->exclusive || queue->auto_delete ? "classic" : "quorum";
    }
}

static ace_code queue_arguments(const ace_queue_spec *queue, const char *type, ace_table *arguments,
                                ace_error **error)
{
    ace_code code = ACE_OK;
    if (strcmp(type, "classic") != 0) {
        code = ace_table_set_text(arguments, "x-queue-type", type, error);
    }
    ace_name dead_letters;
    if (code == ACE_OK && queue->dead_letter) {
        code = ace_table_set_text(arguments, "x-dead-letter-exchange", ACE_EXCHANGE_DEAD_LETTER,
                                  error);
    }
    if (code == ACE_OK && queue->dead_letter) {
        code = ace_name_dead_letter(queue->name, &dead_letters, error);
    }
    if (code == ACE_OK && queue->dead_letter) {
        code = ace_table_set_text(arguments, "x-dead-letter-routing-key", dead_letters.text, error);
    }
    return code == ACE_OK ? ace_table_set_all(arguments, queue->arguments, error) : code;
}

static ace_code add_queue(ace_plan *plan, const ace_queue_spec *queue, ace_error **error)
{
    const char *type = type_name(queue);
    ace_table arguments = ACE_TABLE_INIT;
    ace_code code = queue_arguments(queue, type, &arguments, error);
    if (code == ACE_OK) {
        ace_declaration declaration = {.kind = ACE_DECLARE_QUEUE,
                                       .name = queue->name,
                                       .type = type,
                                       .durable = !queue->transient,
                                       .exclusive = queue->exclusive,
                                       .auto_delete = queue->auto_delete,
                                       .arguments = arguments.table};
        code = add(plan, &declaration, error);
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code add_partitions(ace_plan *plan, const ace_partitioned_spec *partitioned,
                               ace_error **error)
{
    ace_table arguments = ACE_TABLE_INIT;
    ace_code code = ace_table_set_text(&arguments, "x-queue-type", "quorum", error);
    if (code == ACE_OK && !partitioned->shared_consumers) {
        code = ace_table_set_bool(&arguments, "x-single-active-consumer", true, error);
    }
    for (int32_t i = 0; code == ACE_OK && i < partitioned->partitions; i++) {
        ace_name name;
        code = ace_name_partition(partitioned->name, i, &name, error);
        if (code != ACE_OK) {
            break;
        }
        ace_declaration declaration = {.kind = ACE_DECLARE_QUEUE,
                                       .name = name.text,
                                       .type = "quorum",
                                       .durable = true,
                                       .arguments = arguments.table};
        code = add(plan, &declaration, error);
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code add_exchange(ace_plan *plan, const ace_exchange_spec *exchange, ace_error **error)
{
    ace_declaration declaration = {.kind = ACE_DECLARE_EXCHANGE,
                                   .name = exchange->name,
                                   .type = exchange->type,
                                   .durable = !exchange->transient,
                                   .auto_delete = exchange->auto_delete,
                                   .internal = exchange->internal};
    if (exchange->arguments != NULL) {
        declaration.arguments = *exchange->arguments;
    }
    return add(plan, &declaration, error);
}

static ace_code plan_exchanges(const ace_topology *topology, ace_plan *plan, ace_error **error)
{
    ace_code code = ACE_OK;
    for (size_t i = 0; code == ACE_OK && i < topology->exchange_count; i++) {
        code = add_exchange(plan, &topology->exchanges[i], error);
    }
    for (size_t i = 0; code == ACE_OK && i < topology->queue_count; i++) {
        code = add_failure_step(plan, &topology->queues[i], EXCHANGES, error);
    }
    return code;
}

static ace_code plan_queues(const ace_topology *topology, ace_plan *plan, ace_error **error)
{
    ace_code code = ACE_OK;
    for (size_t i = 0; code == ACE_OK && i < topology->queue_count; i++) {
        code = add_queue(plan, &topology->queues[i], error);
        if (code == ACE_OK) {
            code = add_failure_step(plan, &topology->queues[i], QUEUES, error);
        }
    }
    for (size_t i = 0; code == ACE_OK && i < topology->partitioned_count; i++) {
        code = add_partitions(plan, &topology->partitioned[i], error);
    }
    return code;
}

static ace_code plan_bindings(const ace_topology *topology, ace_plan *plan, ace_error **error)
{
    ace_code code = ACE_OK;
    for (size_t i = 0; code == ACE_OK && i < topology->queue_count; i++) {
        code = add_failure_step(plan, &topology->queues[i], BINDINGS, error);
    }
    for (size_t i = 0; code == ACE_OK && i < topology->binding_count; i++) {
        const ace_binding_spec *binding = &topology->bindings[i];
        code = add_binding(plan, binding->exchange, binding->queue, binding->key,
                           binding->arguments, error);
    }
    return code;
}

ace_code ace_plan_topology(const ace_topology *topology, ace_plan *plan, ace_error **error)
{
    ace_plan made = ACE_PLAN_INIT;
    ace_code code = plan_exchanges(topology, &made, error);
    if (code == ACE_OK) {
        code = plan_queues(topology, &made, error);
    }
    if (code == ACE_OK) {
        code = plan_bindings(topology, &made, error);
    }
    if (code != ACE_OK) {
        ace_plan_release(&made);
        return code;
    }
    *plan = made;
    return ACE_OK;
}

/* Each part was checked when it was added; what is left shows where they come together. */
ace_code ace_topology_check(const ace_topology *topology, ace_error **error)
{
    ace_plan plan = ACE_PLAN_INIT;
    ace_code code = ace_plan_topology(topology, &plan, error);
    ace_plan_release(&plan);
    return code;
}
