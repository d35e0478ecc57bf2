#include "command.h"
#include "connect.h"
#include "input.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "signals.h"

#include <acemq/topology.h>

#include <stdlib.h>
#include <string.h>

#define LARGEST_FILE ((size_t)16 * 1024 * 1024)

static const char *const state_names[] = {
    [ACEMQ_PLAN_UNKNOWN] = "unknown",
    [ACEMQ_PLAN_CREATE] = "create",
    [ACEMQ_PLAN_PRESENT] = "present",
    [ACEMQ_PLAN_DIFFERS] = "differs",
};

static const char *const kind_names[] = {
    [ACEMQ_PLAN_EXCHANGE] = "exchange",
    [ACEMQ_PLAN_QUEUE] = "queue",
    [ACEMQ_PLAN_BINDING] = "binding",
};

static void write_difference(cli_json *json, const acemq_plan *plan, size_t index)
{
    bool differs = acemq_plan_get_state(plan, index) == ACEMQ_PLAN_DIFFERS;
    cli_json_member_text(json, "argument", differs ? acemq_plan_differing(plan, index) : NULL);
    cli_json_member_text(json, "ours", differs ? acemq_plan_ours(plan, index) : NULL);
    cli_json_member_text(json, "theirs", differs ? acemq_plan_theirs(plan, index) : NULL);
}

static void write_object(cli_json *json, const acemq_plan *plan, size_t index)
{
    acemq_plan_kind kind = acemq_plan_get_kind(plan, index);
    bool is_binding = kind == ACEMQ_PLAN_BINDING;
    cli_json_object(json);
    cli_json_member_text(json, "kind", kind_names[kind]);
    cli_json_member_text(json, "name", acemq_plan_name(plan, index));
    cli_json_member_text(json, "type", is_binding ? NULL : acemq_plan_type(plan, index));
    cli_json_member_text(json, "exchange", is_binding ? acemq_plan_exchange(plan, index) : NULL);
    cli_json_member_text(json, "key", is_binding ? acemq_plan_routing_key(plan, index) : NULL);
    cli_json_name(json, "arguments");
    cli_json_table(json, acemq_plan_arguments(plan, index), false);
    cli_json_member_text(json, "state", state_names[acemq_plan_get_state(plan, index)]);
    write_difference(json, plan, index);
    cli_json_end_object(json);
}

static void print_json(const acemq_plan *plan)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_name(&json, "objects");
    cli_json_array(&json);
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        write_object(&json, plan, i);
    }
    cli_json_end_array(&json);
    cli_json_name(&json, "drift");
    cli_json_boolean(&json, acemq_plan_has_drift(plan) != 0);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static const char *colour_of(acemq_plan_state state)
{
    switch (state) {
    case ACEMQ_PLAN_CREATE:
        return cli_yellow(stdout);
    case ACEMQ_PLAN_PRESENT:
        return cli_green(stdout);
    case ACEMQ_PLAN_DIFFERS:
        return cli_red(stdout);
    default:
        return "";
    }
}

static void print_object(const acemq_plan *plan, size_t index)
{
    acemq_plan_kind kind = acemq_plan_get_kind(plan, index);
    acemq_plan_state state = acemq_plan_get_state(plan, index);
    printf("%s%-8s%s  %-8s  %s", colour_of(state), state_names[state],
           colour_of(state)[0] == '\0' ? "" : cli_plain(stdout), kind_names[kind],
           acemq_plan_name(plan, index));
    if (kind == ACEMQ_PLAN_BINDING) {
        printf(" from %s on %s", acemq_plan_exchange(plan, index),
               acemq_plan_routing_key(plan, index));
    } else {
        printf(" (%s)", acemq_plan_type(plan, index));
    }
    if (state == ACEMQ_PLAN_DIFFERS) {
        printf(": %s: ours %s, theirs %s", acemq_plan_differing(plan, index),
               acemq_plan_ours(plan, index), acemq_plan_theirs(plan, index));
    }
    printf("\n");
}

static void print_plan(const acemq_plan *plan, bool as_json)
{
    if (as_json) {
        print_json(plan);
        return;
    }
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        print_object(plan, i);
    }
}

/* What is read is not asked of the broker: plan needs none. */
static acemq_status make_plan(const char *action, acemq_connection *mq,
                              const acemq_topology *topology, acemq_plan **plan,
                              acemq_error **error)
{
    if (strcmp(action, "plan") == 0) {
        return acemq_topology_plan(topology, plan, error);
    }
    if (strcmp(action, "apply") == 0) {
        return acemq_topology_apply(mq, topology, CLI_CALL_TIMEOUT, plan, error);
    }
    return acemq_topology_dry_run(mq, topology, CLI_CALL_TIMEOUT, plan, error);
}

static int act(const cli_call *call, const acemq_topology *topology)
{
    const char *action = call->arguments[0];
    acemq_connection *mq = NULL;
    acemq_plan *plan = NULL;
    acemq_error *error = NULL;
    if (strcmp(action, "plan") != 0 &&
        (!cli_signals_take() || cli_connect(call, &mq) != CLI_DONE)) {
        return CLI_FAILED;
    }
    acemq_status status = make_plan(action, mq, topology, &plan, &error);
    cli_disconnect(mq);
    if (plan != NULL) {
        print_plan(plan, call->json);
    }
    bool drifted = strcmp(action, "check") == 0 && plan != NULL && acemq_plan_has_drift(plan) != 0;
    acemq_plan_free(plan);
    if (status != ACEMQ_OK) {
        return cli_fail(error);
    }
    if (drifted) {
        return cli_fail_text(acemq_status_name(ACEMQ_E_DIFFERS),
                             "something of the topology is missing or differs");
    }
    return CLI_DONE;
}

static bool is_action(const char *text)
{
    static const char *const actions[] = {"plan", "dry-run", "apply", "check"};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(text, actions[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int run(const cli_call *call)
{
    cli_bytes text;
    acemq_error *error = NULL;
    acemq_topology *topology = NULL;
    if (!is_action(call->arguments[0])) {
        return cli_wrong_use(call, "expected plan, dry-run, apply or check, and not \"%s\"",
                             call->arguments[0]);
    }
    if (!cli_read_file(call->arguments[1], LARGEST_FILE, &text)) {
        return CLI_FAILED;
    }
    acemq_status status = acemq_topology_parse(text.data, text.length, &topology, &error);
    free(text.data);
    if (status == ACEMQ_OK) {
        status = acemq_topology_validate(topology, &error);
    }
    if (status != ACEMQ_OK) {
        acemq_topology_free(topology);
        (void)cli_fail_at(call->arguments[1], error);
        return CLI_WRONG_USE;
    }
    int result = act(call, topology);
    acemq_topology_free(topology);
    return result;
}

static const cli_option options[] = {{.name = NULL}};

const cli_command cli_command_topology = {
    .name = "topology",
    .usage = "plan|dry-run|apply|check FILE",
    .summary = "Plan, compare with the broker, declare and check queues and exchanges",
    .details =
        "  plan     list what FILE stands for; needs no broker\n"
        "  dry-run  compare it with the broker, and change nothing\n"
        "  apply    declare it; exit status 1 when something differs\n"
        "  check    as dry-run, but exit status 1 when something is missing or differs\n\n"
        "FILE is JSON, - is standard input: {\"exchanges\": [{\"name\", \"type\", \"durable\"}],\n"
        "\"queues\": [{\"name\", \"type\": \"quorum\", \"classic\" or \"stream\", \"deadLetter\": "
        "bool,\n"
        "\"retry\": POLICY, \"arguments\": {...}}], \"bindings\": [{\"exchange\", \"queue\", "
        "\"key\"}],\n"
        "\"partitioned\": [{\"name\", \"partitions\"}]}.\n\n"
        "With --json: {\"objects\": [{\"kind\": \"exchange\", \"queue\" or \"binding\", \"name\",\n"
        "\"type\", \"exchange\", \"key\", \"arguments\", \"state\", \"argument\", \"ours\", "
        "\"theirs\"}],\n"
        "\"drift\"}. state is create (not there; after apply: made), present, differs, or "
        "unknown:\n"
        "not asked, or a binding, which cannot be read over AMQP. type is null for a binding,\n"
        "exchange and key for all others; argument, ours and theirs are null unless it differs.\n"
        "A FILE that does not read was used wrongly: exit status 2.\n",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run,
};
