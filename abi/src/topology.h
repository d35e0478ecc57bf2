/* Topologies and plans of the ABI. */
#ifndef ACE_DOOR_TOPOLOGY_H
#define ACE_DOOR_TOPOLOGY_H

#include "acemq/topology.h"
#include "contract/plan.h"
#include "contract/topology.h"
#include "patterns/topology_apply.h"

/* What a consumer of a queue declares, as part of a topology. */
typedef struct ace_consumer_set {
    char *queue;
    ace_policy policy;
    bool has_policy;
} ace_consumer_set;

/* An acemq_topology points to the first member. */
typedef struct ace_topology_builder {
    ace_topology topology;
    ace_consumer_set *consumers;
    size_t consumer_count;
    ace_error *error; /* the first; NULL */
} ace_topology_builder;

ace_topology_builder *ace_topology_from_public(acemq_topology *topology);
const ace_topology_builder *ace_topology_read_public(const acemq_topology *topology);

/* The kept error, or the whole plan, which the caller releases. */
ace_code ace_topology_make_plan(const acemq_topology *topology, ace_plan *plan, ace_error **error);

struct acemq_plan {
    ace_plan plan;
    ace_findings findings;
    ace_table *arguments; /* views, one an item */
};

#endif
