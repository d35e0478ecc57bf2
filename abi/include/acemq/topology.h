/**
 * @file topology.h
 * Queues, exchanges and bindings: planned, compared with the broker, and declared (section 4).
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_TOPOLOGY_H
#define ACEMQ_TOPOLOGY_H

#include "connection.h"
#include "policy.h"

ACEMQ_BEGIN

/** A topology being built; its first error is kept and reported by the call that uses it.
 * Everything is copied. Not thread-safe while it is changed. Owned, freed with
 * acemq_topology_free(). */
typedef struct acemq_topology acemq_topology;

/** What a queue keeps its messages in. */
typedef enum acemq_queue_type {
    ACEMQ_QUEUE_QUORUM = 0,
    ACEMQ_QUEUE_CLASSIC = 1,
    ACEMQ_QUEUE_STREAM = 2
} acemq_queue_type;

/** NULL when memory is gone. */
ACEMQ_API acemq_topology *acemq_topology_new(void);
/** Reads `json`, as `acemq topology` has it. Errors: ACEMQ_E_PARSE with the position or the path of
 * the member. */
ACEMQ_API acemq_status acemq_topology_parse(const char *json, size_t length,
                                            acemq_topology **topology, acemq_error **error);
/** Frees it; NULL is fine. */
ACEMQ_API void acemq_topology_free(acemq_topology *topology);

/**
 * An exchange.
 * @param type "direct", "topic", "fanout" or "headers". Durable.
 * @param name of the exchange
 */
ACEMQ_API void acemq_topology_exchange(acemq_topology *topology, const char *name,
                                       const char *type);
/**
 * A durable queue.
 * @param dead_letter 1: the broker dead-letters to `{name}.dlq`, which is declared with it
 * @param retry       the rungs of this policy are declared with it; NULL: none
 * @param arguments   further arguments; NULL: none
 */
ACEMQ_API void acemq_topology_queue(acemq_topology *topology, const char *name,
                                    acemq_queue_type type, int dead_letter,
                                    const acemq_policy *retry, const acemq_table *arguments);
/** A binding: what is published to `exchange` with a `routing_key` that fits goes to `queue`. */
ACEMQ_API void acemq_topology_bind(acemq_topology *topology, const char *exchange,
                                   const char *queue, const char *routing_key);
/**
 * The partition queues of ordered consuming: `{name}.0` …
 * @param partitions 1 to 1024
 */
ACEMQ_API void acemq_topology_partitioned(acemq_topology *topology, const char *name,
                                          int64_t partitions);
/**
 * The same without `x-single-active-consumer`, as the peers declare them: whoever shares the
 * queues with others then sees to it that one process consumes at a time.
 * @param name       as above
 * @param partitions as above
 */
ACEMQ_API void acemq_topology_partitioned_shared(acemq_topology *topology, const char *name,
                                                 int64_t partitions);
/** What a consumer of `queue` declares: failure queues, and the ladder of `retry` (NULL: none). */
ACEMQ_API void acemq_topology_consumer(acemq_topology *topology, const char *queue,
                                       const acemq_policy *retry);

/** Without a broker. Errors: the kept one, or what is wrong by name. */
ACEMQ_API acemq_status acemq_topology_validate(const acemq_topology *topology, acemq_error **error);

/** The objects of a topology in the order in which they are declared. Immutable, any thread. Owned,
 * freed with acemq_plan_free(). */
typedef struct acemq_plan acemq_plan;

/** What an object of a plan is. */
typedef enum acemq_plan_kind {
    ACEMQ_PLAN_EXCHANGE = 1,
    ACEMQ_PLAN_QUEUE = 2,
    ACEMQ_PLAN_BINDING = 3
} acemq_plan_kind;

/** How an object of a plan stands to the broker. */
typedef enum acemq_plan_state {
    ACEMQ_PLAN_UNKNOWN = 0, /**< not asked; or a binding, which cannot be read over AMQP */
    ACEMQ_PLAN_CREATE = 1,  /**< not there */
    ACEMQ_PLAN_PRESENT = 2,
    ACEMQ_PLAN_DIFFERS = 3
} acemq_plan_state;

/** Only the list. */
ACEMQ_API acemq_status acemq_topology_plan(const acemq_topology *topology, acemq_plan **plan,
                                           acemq_error **error);
/** Compares with the broker and changes nothing. Errors of the broker's: ACEMQ_E_ACCESS_REFUSED and
 * those of the connection. */
ACEMQ_API acemq_status acemq_topology_dry_run(acemq_connection *connection,
                                              const acemq_topology *topology, int64_t timeout,
                                              acemq_plan **plan, acemq_error **error);
/** Declares. The plan says what was made, what was there, and what differs. ACEMQ_E_DIFFERS when
 * something does, with the first queue, argument, ours and theirs in the message; *plan is set then
 * too, and the rest was declared all the same. It is not atomic: what was made before another error
 * stands. */
ACEMQ_API acemq_status acemq_topology_apply(acemq_connection *connection,
                                            const acemq_topology *topology, int64_t timeout,
                                            acemq_plan **plan, acemq_error **error);

/** How many objects there are; 0 for NULL. */
ACEMQ_API size_t acemq_plan_count(const acemq_plan *plan);
/** 1 when an object is missing or differs. */
ACEMQ_API int acemq_plan_has_drift(const acemq_plan *plan);
/* Of the object at `index`; borrowed until the plan is freed. NULL or 0 past the end. */
/** What the object is. */
ACEMQ_API acemq_plan_kind acemq_plan_get_kind(const acemq_plan *plan, size_t index);
/** How it stands to the broker. */
ACEMQ_API acemq_plan_state acemq_plan_get_state(const acemq_plan *plan, size_t index);
/** The queue or exchange; for a binding the queue. */
ACEMQ_API const char *acemq_plan_name(const acemq_plan *plan, size_t index);
/** The exchange's type; "quorum", "classic" or "stream" for a queue; "" for a binding. */
ACEMQ_API const char *acemq_plan_type(const acemq_plan *plan, size_t index);
/** For a binding; else "". */
ACEMQ_API const char *acemq_plan_exchange(const acemq_plan *plan, size_t index);
/** The routing key of a binding; else "". */
ACEMQ_API const char *acemq_plan_routing_key(const acemq_plan *plan, size_t index);
/** The arguments it is declared with. */
ACEMQ_API const acemq_table *acemq_plan_arguments(const acemq_plan *plan, size_t index);
/** Where it differs, as far as the broker tells; else "". */
ACEMQ_API const char *acemq_plan_differing(const acemq_plan *plan, size_t index);
/** What the topology says where it differs; else "". */
ACEMQ_API const char *acemq_plan_ours(const acemq_plan *plan, size_t index);
/** What the broker has there; else "". */
ACEMQ_API const char *acemq_plan_theirs(const acemq_plan *plan, size_t index);
/** Frees it, with its texts. NULL is fine. */
ACEMQ_API void acemq_plan_free(acemq_plan *plan);

ACEMQ_END

#endif
