#include "contract/topology_file.h"

#include "contract/limits.h"
#include "contract/policy_text.h"
#include "contract/value_json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One object of the file, and where it stands: "queues[1]". */
typedef struct entry {
    const json_t *json;
    char path[64];
    ace_error **error;
} entry;

/* A member that is null is one that is not there. */
static const json_t *member_of(const entry *at, const char *name)
{
    const json_t *json = json_object_get(at->json, name);
    return json_is_null(json) ? NULL : json;
}

static ace_code fault(const entry *at, const char *member, const char *what)
{
    return ace_fail(at->error, ACE_PARSE, "%s.%s: %s", at->path, member, what);
}

/* Typing errors in a member's name would otherwise be silent. */
static ace_code only_members(const entry *at, const char *const *allowed, size_t count)
{
    const char *name;
    json_t *member;
    json_t *object = (json_t *)(uintptr_t)at->json; /* jansson iterates over what it may change */
    json_object_foreach(object, name, member)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known = known || strcmp(name, allowed[i]) == 0;
        }
        if (!known) {
            return fault(at, name, "there is no such member");
        }
    }
    return ACE_OK;
}

#define ONLY_MEMBERS(at, ...)                                                                      \
    only_members(at, (const char *const[]){__VA_ARGS__},                                           \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* NULL stays what it was when the member is missing. */
static ace_code read_text(const entry *at, const char *member, bool required, const char **text)
{
    const json_t *json = member_of(at, member);
    if (json == NULL) {
        return required ? fault(at, member, "it is missing") : ACE_OK;
    }
    if (!json_is_string(json)) {
        return fault(at, member, "expected a string");
    }
    if (strlen(json_string_value(json)) != json_string_length(json)) {
        return fault(at, member, "has a NUL in it");
    }
    *text = json_string_value(json);
    return ACE_OK;
}

static ace_code read_bool(const entry *at, const char *member, bool *value)
{
    const json_t *json = member_of(at, member);
    if (json == NULL) {
        return ACE_OK;
    }
    if (!json_is_boolean(json)) {
        return fault(at, member, "expected true or false");
    }
    *value = json_is_true(json);
    return ACE_OK;
}

static ace_code read_arguments(const entry *at, ace_table *arguments)
{
    const json_t *json = member_of(at, "arguments");
    if (json == NULL) {
        return ACE_OK;
    }
    char path[sizeof at->path + sizeof ".arguments"];
    snprintf(path, sizeof path, "%s.arguments", at->path);
    ace_code code = ace_table_from_json(json, path, arguments, at->error);
    return code;
}

static ace_code placed(const entry *at, ace_code code)
{
    if (code != ACE_OK) {
        ace_error_prefix(at->error, "%s", at->path);
    }
    return code;
}

static ace_code read_exchange(ace_topology *topology, const entry *at)
{
    ace_exchange_spec spec = {0};
    ace_table arguments = ACE_TABLE_INIT;
    bool durable = true;
    ace_code code = ONLY_MEMBERS(at, "name", "type", "durable", "arguments");
    if (code == ACE_OK) {
        code = read_text(at, "name", true, &spec.name);
    }
    if (code == ACE_OK) {
        code = read_text(at, "type", true, &spec.type);
    }
    if (code == ACE_OK) {
        code = read_bool(at, "durable", &durable);
    }
    if (code == ACE_OK) {
        code = read_arguments(at, &arguments);
    }
    spec.transient = !durable;
    spec.arguments = &arguments.table;
    if (code == ACE_OK) {
        code = placed(at, ace_topology_add_exchange(topology, &spec, at->error));
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code read_queue_type(const entry *at, ace_queue_type *type)
{
    static const struct {
        const char *name;
        ace_queue_type type;
    } types[] = {
        {"quorum", ACE_QUEUE_QUORUM}, {"classic", ACE_QUEUE_CLASSIC}, {"stream", ACE_QUEUE_STREAM}};
    const char *name = NULL;
    ace_code code = read_text(at, "type", false, &name);
    if (code != ACE_OK || name == NULL) {
        return code;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(name, types[i].name) == 0) {
            *type = types[i].type;
            return ACE_OK;
        }
    }
    return fault(at, "type", "expected quorum, classic or stream");
}

static ace_code read_retry(const entry *at, ace_policy *policy, const ace_policy **retry)
{
    const char *text = NULL;
    ace_code code = read_text(at, "retry", false, &text);
    if (code != ACE_OK || text == NULL) {
        return code;
    }
    code = ace_policy_parse(text, strlen(text), policy, at->error);
    if (code != ACE_OK) {
        ace_error_prefix(at->error, "%s.retry", at->path);
        return code;
    }
    *retry = policy;
    return ACE_OK;
}

static ace_code read_queue(ace_topology *topology, const entry *at)
{
    ace_queue_spec spec = {0};
    ace_policy policy;
    ace_table arguments = ACE_TABLE_INIT;
    bool durable = true;
    ace_code code = ONLY_MEMBERS(at, "name", "type", "deadLetter", "retry", "durable", "arguments");
    if (code == ACE_OK) {
        code = read_text(at, "name", true, &spec.name);
    }
    if (code == ACE_OK) {
        code = read_queue_type(at, &spec.type);
    }
    if (code == ACE_OK) {
        code = read_bool(at, "deadLetter", &spec.dead_letter);
    }
    if (code == ACE_OK) {
        code = read_retry(at, &policy, &spec.retry);
    }
    if (code == ACE_OK) {
        code = read_bool(at, "durable", &durable);
    }
    if (code == ACE_OK) {
        code = read_arguments(at, &arguments);
    }
    spec.transient = !durable;
    spec.arguments = &arguments.table;
    if (code == ACE_OK) {
        code = placed(at, ace_topology_add_queue(topology, &spec, at->error));
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code read_binding(ace_topology *topology, const entry *at)
{
    ace_binding_spec spec = {0};
    ace_table arguments = ACE_TABLE_INIT;
    ace_code code = ONLY_MEMBERS(at, "exchange", "queue", "key", "arguments");
    if (code == ACE_OK) {
        code = read_text(at, "exchange", true, &spec.exchange);
    }
    if (code == ACE_OK) {
        code = read_text(at, "queue", true, &spec.queue);
    }
    if (code == ACE_OK) {
        code = read_text(at, "key", false, &spec.key);
    }
    if (code == ACE_OK) {
        code = read_arguments(at, &arguments);
    }
    spec.arguments = &arguments.table;
    if (code == ACE_OK) {
        code = placed(at, ace_topology_add_binding(topology, &spec, at->error));
    }
    ace_table_release(&arguments);
    return code;
}

static ace_code read_partitioned(ace_topology *topology, const entry *at)
{
    ace_partitioned_spec spec = {.partitions = ACE_PARTITIONS_DEFAULT};
    ace_code code = ONLY_MEMBERS(at, "name", "partitions");
    if (code == ACE_OK) {
        code = read_text(at, "name", true, &spec.name);
    }
    const json_t *partitions = member_of(at, "partitions");
    if (code == ACE_OK && partitions != NULL) {
        int64_t value = json_integer_value(partitions);
        if (!json_is_integer(partitions) || value < 1 || value > ACE_PARTITIONS_MAX) {
            return fault(at, "partitions", "expected an integer from 1 to 1024");
        }
        spec.partitions = (int32_t)value;
    }
    return code == ACE_OK ? placed(at, ace_topology_add_partitioned(topology, &spec, at->error))
                          : code;
}

typedef ace_code entry_reader(ace_topology *topology, const entry *at);

static ace_code read_list(const json_t *root, const char *member, entry_reader *read,
                          ace_topology *topology, ace_error **error)
{
    const json_t *list = json_object_get(root, member);
    if (list == NULL) {
        return ACE_OK;
    }
    if (!json_is_array(list)) {
        return ace_fail(error, ACE_PARSE, "%s: expected an array", member);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        entry at = {.json = json_array_get(list, i), .error = error};
        snprintf(at.path, sizeof at.path, "%s[%zu]", member, i);
        if (!json_is_object(at.json)) {
            return ace_fail(error, ACE_PARSE, "%s: expected an object", at.path);
        }
        ace_code code = read(topology, &at);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

static ace_code read_root(const json_t *root, ace_topology *topology, ace_error **error)
{
    if (!json_is_object(root)) {
        return ace_fail(error, ACE_PARSE, "topology: expected an object");
    }
    entry top = {.json = root, .path = "topology", .error = error};
    ace_code code = ONLY_MEMBERS(&top, "exchanges", "queues", "bindings", "partitioned");
    if (code == ACE_OK) {
        code = read_list(root, "exchanges", read_exchange, topology, error);
    }
    if (code == ACE_OK) {
        code = read_list(root, "queues", read_queue, topology, error);
    }
    if (code == ACE_OK) {
        code = read_list(root, "bindings", read_binding, topology, error);
    }
    if (code == ACE_OK) {
        code = read_list(root, "partitioned", read_partitioned, topology, error);
    }
    return code == ACE_OK ? ace_topology_check(topology, error) : code;
}

ace_code ace_topology_read(const char *text, size_t length, ace_topology *topology,
                           ace_error **error)
{
    json_t *root = NULL;
    ace_code code = ace_json_read(text, length, &root, error);
    if (code != ACE_OK) {
        return code;
    }
    code = read_root(root, topology, error);
    json_decref(root);
    if (code != ACE_OK) {
        ace_topology_release(topology);
    }
    return code;
}
