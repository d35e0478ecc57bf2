#include "arguments.h"
#include "client.h"
#include "engine/waiter.h"
#include "topology.h"

#include <stdlib.h>

_Static_assert((int)ACEMQ_PLAN_UNKNOWN == (int)ACE_FINDING_UNKNOWN &&
                   (int)ACEMQ_PLAN_CREATE == (int)ACE_FINDING_CREATE &&
                   (int)ACEMQ_PLAN_PRESENT == (int)ACE_FINDING_PRESENT &&
                   (int)ACEMQ_PLAN_DIFFERS == (int)ACE_FINDING_DIFFERS,
               "one numbering of the states");

static ace_code view_arguments(acemq_plan *plan, ace_error **error)
{
    size_t count = plan->plan.count;
    plan->arguments = calloc(count == 0 ? 1 : count, sizeof *plan->arguments);
    if (plan->arguments == NULL) {
        return ace_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        plan->arguments[i].table = plan->plan.items[i].arguments;
    }
    return ACE_OK;
}

static ace_code make(const acemq_topology *topology, acemq_plan **out, ace_error **error)
{
    acemq_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_topology_make_plan(topology, &plan->plan, error);
    if (code == ACE_OK) {
        code = view_arguments(plan, error);
    }
    if (code == ACE_OK) {
        code = ace_findings_init(&plan->findings, plan->plan.count, error);
    }
    if (code != ACE_OK) {
        acemq_plan_free(plan);
        return code;
    }
    *out = plan;
    return ACE_OK;
}

void acemq_plan_free(acemq_plan *plan)
{
    if (plan != NULL) {
        free(plan->arguments);
        ace_findings_release(&plan->findings);
        ace_plan_release(&plan->plan);
        free(plan);
    }
}

acemq_status acemq_topology_plan(const acemq_topology *topology, acemq_plan **plan,
                                 acemq_error **error)
{
    ace_code code = ace_argument_present(plan, "plan", error);
    return (acemq_status)(code == ACE_OK ? make(topology, plan, error) : code);
}

typedef ace_code visit_broker(ace_connection *connection, const ace_plan *plan, int64_t deadline,
                              ace_cancel *cancel, ace_findings *findings, ace_error **error);

static acemq_status visit(visit_broker *how, acemq_connection *connection,
                          const acemq_topology *topology, int64_t timeout, acemq_plan **plan,
                          acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(plan, "plan", error);
    }
    acemq_plan *made = NULL;
    if (code == ACE_OK) {
        code = make(topology, &made, error);
    }
    if (code == ACE_OK) {
        code = how(connection, &made->plan, ace_deadline_after(timeout),
                   ace_client_cancel(connection, NULL), &made->findings, error);
    }
    if (code == ACE_OK || code == ACE_DIFFERS) {
        *plan = made;
    } else {
        acemq_plan_free(made);
    }
    return (acemq_status)code;
}

acemq_status acemq_topology_dry_run(acemq_connection *connection, const acemq_topology *topology,
                                    int64_t timeout, acemq_plan **plan, acemq_error **error)
{
    return visit(ace_topology_compare, connection, topology, timeout, plan, error);
}

acemq_status acemq_topology_apply(acemq_connection *connection, const acemq_topology *topology,
                                  int64_t timeout, acemq_plan **plan, acemq_error **error)
{
    return visit(ace_topology_apply, connection, topology, timeout, plan, error);
}

size_t acemq_plan_count(const acemq_plan *plan)
{
    return plan == NULL ? 0 : plan->plan.count;
}

int acemq_plan_has_drift(const acemq_plan *plan)
{
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        ace_finding_state state = plan->findings.items[i].state;
        if (state == ACE_FINDING_CREATE || state == ACE_FINDING_DIFFERS) {
            return 1;
        }
    }
    return 0;
}

static const ace_declaration *item_at(const acemq_plan *plan, size_t index)
{
    return index < acemq_plan_count(plan) ? &plan->plan.items[index] : NULL;
}

acemq_plan_kind acemq_plan_get_kind(const acemq_plan *plan, size_t index)
{
    const ace_declaration *item = item_at(plan, index);
    if (item == NULL) {
        return (acemq_plan_kind)0;
    }
    switch (item->kind) {
    case ACE_DECLARE_EXCHANGE:
        return ACEMQ_PLAN_EXCHANGE;
    case ACE_DECLARE_QUEUE:
        return ACEMQ_PLAN_QUEUE;
    case ACE_DECLARE_BINDING:
    default:
        return ACEMQ_PLAN_BINDING;
    }
}

acemq_plan_state acemq_plan_get_state(const acemq_plan *plan, size_t index)
{
    return item_at(plan, index) == NULL ? ACEMQ_PLAN_UNKNOWN
                                        : (acemq_plan_state)plan->findings.items[index].state;
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

const char *acemq_plan_name(const acemq_plan *plan, size_t index)
{
    const ace_declaration *item = item_at(plan, index);
    return item == NULL ? NULL : or_empty(item->name);
}

const char *acemq_plan_type(const acemq_plan *plan, size_t index)
{
    const ace_declaration *item = item_at(plan, index);
    return item == NULL ? NULL : or_empty(item->type);
}

const char *acemq_plan_exchange(const acemq_plan *plan, size_t index)
{
    const ace_declaration *item = item_at(plan, index);
    return item == NULL ? NULL : or_empty(item->exchange);
}

const char *acemq_plan_routing_key(const acemq_plan *plan, size_t index)
{
    const ace_declaration *item = item_at(plan, index);
    return item == NULL ? NULL : or_empty(item->key);
}

const acemq_table *acemq_plan_arguments(const acemq_plan *plan, size_t index)
{
    return item_at(plan, index) == NULL ? NULL : &plan->arguments[index];
}

const char *acemq_plan_differing(const acemq_plan *plan, size_t index)
{
    return item_at(plan, index) == NULL ? NULL : or_empty(plan->findings.items[index].argument);
}

const char *acemq_plan_ours(const acemq_plan *plan, size_t index)
{
    return item_at(plan, index) == NULL ? NULL : or_empty(plan->findings.items[index].ours);
}

const char *acemq_plan_theirs(const acemq_plan *plan, size_t index)
{
    return item_at(plan, index) == NULL ? NULL : or_empty(plan->findings.items[index].theirs);
}
