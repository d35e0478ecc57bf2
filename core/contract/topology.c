#include "contract/topology.h"

#include "contract/limits.h"
#include "contract/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ace_topology_release(ace_topology *topology)
{
    free(topology->exchanges);
    free(topology->queues);
    free(topology->bindings);
    free(topology->partitioned);
    ace_arena_free(&topology->arena);
    *topology = (ace_topology)ACE_TOPOLOGY_INIT;
}

static ace_code refuse(ace_error **error, ace_code code, const char *field, const char *what,
                       const char *name)
{
    ace_fail(error, code, "%s %s: %s", field, name, what);
    ace_error_field(error, field, 0);
    return code;
}

static ace_code check_own_name(const char *field, const char *name, ace_error **error)
{
    if (name == NULL || name[0] == '\0') {
        ace_fail(error, ACE_INVALID_ARGUMENT, "%s is empty", field);
        ace_error_field(error, field, 1);
        return ACE_INVALID_ARGUMENT;
    }
    ace_code code = ace_name_check(field, ace_bytes_of(name), error);
    if (code == ACE_OK && strncmp(name, "amq.", 4) == 0) {
        return refuse(error, ACE_INVALID_ARGUMENT, field,
                      "names that begin with amq. are the broker's own", name);
    }
    return code;
}

static bool takes_argument(const amqp_table_t *arguments, const char *name)
{
    return ace_table_find(arguments, name) != NULL;
}

static ace_code check_arguments(const char *name, const amqp_table_t *arguments, ace_error **error)
{
    ace_code code = ace_table_sendable("argument", arguments, error);
    if (code != ACE_OK) {
        ace_error_prefix(error, "%s", name);
    }
    return code;
}

static char *keep_text(ace_topology *topology, const char *text)
{
    return ace_arena_text(&topology->arena, text, strlen(text));
}

/* NULL for NULL, and for a table without entries. */
static ace_code keep_table(ace_topology *topology, const amqp_table_t *from,
                           const amqp_table_t **kept, ace_error **error)
{
    *kept = NULL;
    if (from == NULL || from->num_entries == 0) {
        return ACE_OK;
    }
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_TABLE, .value = {.table = *from}};
    amqp_field_value_t *copy = ace_arena_take(&topology->arena, sizeof *copy);
    if (copy == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_value_copy(&topology->arena, &value, copy, error);
    if (code == ACE_OK) {
        *kept = &copy->value.table;
    }
    return code;
}

/* Room for one more; the arrays are small and grow seldom. */
static void *grow(void *array, size_t count, size_t size, ace_error **error)
{
    void *grown = count < SIZE_MAX / size ? realloc(array, (count + 1) * size) : NULL;
    if (grown == NULL) {
        ace_fail_memory(error);
    }
    return grown;
}

static ace_code check_exchange(const ace_exchange_spec *spec, ace_error **error)
{
    ace_code code = check_own_name("exchange name", spec->name, error);
    if (code != ACE_OK) {
        return code;
    }
    if (spec->type == NULL || spec->type[0] == '\0') {
        return refuse(error, ACE_INVALID_ARGUMENT, "exchange", "its type is missing", spec->name);
    }
    code = ace_name_check("exchange type", ace_bytes_of(spec->type), error);
    if (code == ACE_OK) {
        code = check_arguments(spec->name, spec->arguments, error);
    }
    bool ours = strcmp(spec->name, ACE_EXCHANGE_RETRY) == 0 ||
                strcmp(spec->name, ACE_EXCHANGE_DEAD_LETTER) == 0;
    bool plain = strcmp(spec->type, "direct") == 0 && !spec->transient && !spec->auto_delete &&
                 !spec->internal && (spec->arguments == NULL || spec->arguments->num_entries == 0);
    if (code == ACE_OK && ours && !plain) {
        return refuse(error, ACE_INVALID_ARGUMENT, "exchange",
                      "it is AceMQ's, and always direct, durable and without arguments",
                      spec->name);
    }
    return code;
}

ace_code ace_topology_add_exchange(ace_topology *topology, const ace_exchange_spec *spec,
                                   ace_error **error)
{
    ace_code code = check_exchange(spec, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_exchange_spec kept = *spec;
    kept.name = keep_text(topology, spec->name);
    kept.type = keep_text(topology, spec->type);
    if (kept.name == NULL || kept.type == NULL) {
        return ace_fail_memory(error);
    }
    code = keep_table(topology, spec->arguments, &kept.arguments, error);
    if (code != ACE_OK) {
        return code;
    }
    void *grown = grow(topology->exchanges, topology->exchange_count, sizeof kept, error);
    if (grown == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    topology->exchanges = grown;
    topology->exchanges[topology->exchange_count++] = kept;
    return ACE_OK;
}

static ace_code check_queue_arguments(const ace_queue_spec *spec, ace_error **error)
{
    if (takes_argument(spec->arguments, "x-queue-type")) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue",
                      "its type says what the argument x-queue-type would", spec->name);
    }
    if (spec->dead_letter && takes_argument(spec->arguments, "x-dead-letter-exchange")) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue",
                      "the argument x-dead-letter-exchange stands beside the dead-letter option",
                      spec->name);
    }
    if (spec->dead_letter && takes_argument(spec->arguments, "x-dead-letter-routing-key")) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue",
                      "the argument x-dead-letter-routing-key stands beside the dead-letter option",
                      spec->name);
    }
    return check_arguments(spec->name, spec->arguments, error);
}

static ace_code check_queue_type(const ace_queue_spec *spec, ace_error **error)
{
    bool replicated = spec->type == ACE_QUEUE_QUORUM || spec->type == ACE_QUEUE_STREAM;
    if (replicated && (spec->transient || spec->exclusive || spec->auto_delete)) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue",
                      "an exclusive, auto-delete or transient queue can only be classic",
                      spec->name);
    }
    if (spec->type == ACE_QUEUE_STREAM && (spec->dead_letter || spec->retry != NULL)) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue",
                      "a stream has no dead letters and no retries", spec->name);
    }
    if ((unsigned)spec->type > ACE_QUEUE_STREAM) {
        return refuse(error, ACE_INVALID_ARGUMENT, "queue", "its type is unknown", spec->name);
    }
    return ACE_OK;
}

static ace_code check_queue(const ace_queue_spec *spec, ace_error **error)
{
    ace_code code = check_own_name("queue name", spec->name, error);
    if (code == ACE_OK) {
        code = check_queue_type(spec, error);
    }
    if (code == ACE_OK && spec->retry != NULL) {
        code = ace_policy_check(spec->retry, error);
    }
    if (code == ACE_OK && spec->retry != NULL) {
        code = ace_policy_broker_check(spec->retry, error);
    }
    if (code == ACE_OK && (spec->dead_letter || spec->retry != NULL)) {
        code = ace_base_name_check(spec->name, spec->retry, error);
    }
    return code == ACE_OK ? check_queue_arguments(spec, error) : code;
}

ace_code ace_topology_add_queue(ace_topology *topology, const ace_queue_spec *spec,
                                ace_error **error)
{
    ace_code code = check_queue(spec, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_queue_spec kept = *spec;
    kept.name = keep_text(topology, spec->name);
    if (spec->retry != NULL) {
        kept.retry = ace_arena_copy(&topology->arena, spec->retry, sizeof *spec->retry);
    }
    if (kept.name == NULL || (spec->retry != NULL && kept.retry == NULL)) {
        return ace_fail_memory(error);
    }
    code = keep_table(topology, spec->arguments, &kept.arguments, error);
    if (code != ACE_OK) {
        return code;
    }
    void *grown = grow(topology->queues, topology->queue_count, sizeof kept, error);
    if (grown == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    topology->queues = grown;
    topology->queues[topology->queue_count++] = kept;
    return ACE_OK;
}

ace_code ace_topology_add_binding(ace_topology *topology, const ace_binding_spec *spec,
                                  ace_error **error)
{
    if (spec->exchange == NULL || spec->exchange[0] == '\0') {
        return ace_fail(error, ACE_INVALID_ARGUMENT,
                        "exchange of a binding is empty; the default exchange has its bindings");
    }
    if (spec->queue == NULL || spec->queue[0] == '\0') {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "queue of a binding is empty");
    }
    const char *key = spec->key != NULL ? spec->key : "";
    ace_code code = ace_name_check("exchange name", ace_bytes_of(spec->exchange), error);
    if (code == ACE_OK) {
        code = ace_name_check("queue name", ace_bytes_of(spec->queue), error);
    }
    if (code == ACE_OK) {
        code = ace_name_check("binding key", ace_bytes_of(key), error);
    }
    if (code == ACE_OK) {
        code = check_arguments("binding", spec->arguments, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_binding_spec kept = {keep_text(topology, spec->exchange), keep_text(topology, spec->queue),
                             keep_text(topology, key), NULL};
    if (kept.exchange == NULL || kept.queue == NULL || kept.key == NULL) {
        return ace_fail_memory(error);
    }
    code = keep_table(topology, spec->arguments, &kept.arguments, error);
    if (code != ACE_OK) {
        return code;
    }
    void *grown = grow(topology->bindings, topology->binding_count, sizeof kept, error);
    if (grown == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    topology->bindings = grown;
    topology->bindings[topology->binding_count++] = kept;
    return ACE_OK;
}

ace_code ace_topology_add_partitioned(ace_topology *topology, const ace_partitioned_spec *spec,
                                      ace_error **error)
{
    ace_code code = check_own_name("queue name", spec->name, error);
    if (code != ACE_OK) {
        return code;
    }
    if (spec->partitions < 1 || spec->partitions > ACE_PARTITIONS_MAX) {
        ace_fail(error, ACE_LIMIT, "partitions of %s are %" PRId32 ", the limits are 1 and %d",
                 spec->name, spec->partitions, ACE_PARTITIONS_MAX);
        ace_error_field(error, "partitions", ACE_PARTITIONS_MAX);
        return ACE_LIMIT;
    }
    ace_name last;
    code = ace_name_partition(spec->name, spec->partitions - 1, &last, error);
    if (code == ACE_OK) {
        code = ace_base_name_check(last.text, NULL, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_partitioned_spec kept = *spec;
    kept.name = keep_text(topology, spec->name);
    if (kept.name == NULL) {
        return ace_fail_memory(error);
    }
    void *grown = grow(topology->partitioned, topology->partitioned_count, sizeof kept, error);
    if (grown == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    topology->partitioned = grown;
    topology->partitioned[topology->partitioned_count++] = kept;
    return ACE_OK;
}
