/* A topology as the application describes it: plain data, no broker (section 4). Not thread-safe.
 */
#ifndef ACE_CONTRACT_TOPOLOGY_H
#define ACE_CONTRACT_TOPOLOGY_H

#include "base/arena.h"
#include "contract/policy.h"
#include "contract/table.h"

typedef enum ace_queue_type {
    ACE_QUEUE_DEFAULT = 0, /* quorum; classic where it is exclusive, auto-delete or transient */
    ACE_QUEUE_QUORUM = 1,
    ACE_QUEUE_CLASSIC = 2,
    ACE_QUEUE_STREAM = 3,
} ace_queue_type;

typedef struct ace_exchange_spec {
    const char *name;
    const char *type; /* "direct", "topic", "fanout", "headers" or one of a plug-in */
    bool transient;
    bool auto_delete;
    bool internal;
    const amqp_table_t *arguments; /* NULL: none */
} ace_exchange_spec;

typedef struct ace_queue_spec {
    const char *name;
    ace_queue_type type;
    bool dead_letter; /* the broker's own dead-lettering to {queue}.dlq, and the failure queues */
    const ace_policy
        *retry; /* NULL: none; else its rungs and the failure queues are declared too */
    bool transient;
    bool exclusive;
    bool auto_delete;
    const amqp_table_t *arguments; /* NULL: none */
} ace_queue_spec;

typedef struct ace_binding_spec {
    const char *exchange;
    const char *queue;
    const char *key;
    const amqp_table_t *arguments; /* NULL: none */
} ace_binding_spec;

typedef struct ace_partitioned_spec {
    const char *name;
    int32_t partitions;
    bool shared_consumers; /* without x-single-active-consumer, as the peers declare them */
} ace_partitioned_spec;

typedef struct acemq_topology ace_topology;

struct acemq_topology {
    ace_exchange_spec *exchanges;
    size_t exchange_count;
    ace_queue_spec *queues;
    size_t queue_count;
    ace_binding_spec *bindings;
    size_t binding_count;
    ace_partitioned_spec *partitioned;
    size_t partitioned_count;
    ace_arena arena; /* owns all the texts, tables and policies above */
};

#define ACE_TOPOLOGY_INIT                                                                          \
    {                                                                                              \
        NULL, 0, NULL, 0, NULL, 0, NULL, 0, ACE_ARENA_INIT                                         \
    }

void ace_topology_release(ace_topology *topology); /* leaves an empty one */

/* Each copies the whole spec and checks it alone: names, limits, policy, arguments. On failure the
 * topology is as it was. */
ace_code ace_topology_add_exchange(ace_topology *topology, const ace_exchange_spec *spec,
                                   ace_error **error);
ace_code ace_topology_add_queue(ace_topology *topology, const ace_queue_spec *spec,
                                ace_error **error);
ace_code ace_topology_add_binding(ace_topology *topology, const ace_binding_spec *spec,
                                  ace_error **error);
ace_code ace_topology_add_partitioned(ace_topology *topology, const ace_partitioned_spec *spec,
                                      ace_error **error);

/* Checks the whole: nothing declared twice in two ways, our exchanges not described otherwise.
 * Bindings may name objects that exist outside the topology. */
ace_code ace_topology_check(const ace_topology *topology, ace_error **error);

#endif
