/* The ordered list of declarations that a topology, or a consumer, makes: exchanges, queues,
 * bindings. */
#ifndef ACE_CONTRACT_PLAN_H
#define ACE_CONTRACT_PLAN_H

#include "base/buffer.h"
#include "contract/topology.h"

typedef enum ace_declaration_kind {
    ACE_DECLARE_EXCHANGE,
    ACE_DECLARE_QUEUE,
    ACE_DECLARE_BINDING,
} ace_declaration_kind;

typedef struct ace_declaration {
    ace_declaration_kind kind;
    const char *name; /* of the exchange or queue; of a binding its queue */
    const char *type; /* exchange: its type; queue: "quorum", "classic", "stream"; binding: NULL */
    const char *exchange; /* binding alone */
    const char *key;      /* binding alone */
    bool durable;
    bool exclusive;
    bool auto_delete;
    bool internal;
    bool rung;              /* a queue that is a rung */
    amqp_table_t arguments; /* the full table to send, x-queue-type included */
} ace_declaration;

typedef struct ace_plan {
    ace_declaration *items;
    size_t count;
    size_t capacity;
    ace_arena arena; /* owns all texts and tables above */
} ace_plan;

#define ACE_PLAN_INIT                                                                              \
    {                                                                                              \
        NULL, 0, 0, ACE_ARENA_INIT                                                                 \
    }

/* Checks the topology first. What several queues need (acemq.dlx, acemq.retry) stands once. */
ace_code ace_plan_topology(const ace_topology *topology, ace_plan *plan, ace_error **error);

/* What a consumer of `queue` declares before every subscription; `policy` NULL: none. Never the
 * source queue itself. */
ace_code ace_plan_consumer(const char *queue, const ace_policy *policy, ace_plan *plan,
                           ace_error **error);

/* Copies the declarations of `more` behind those of `plan`; what stands in both stands once.
 * ACE_INVALID_ARGUMENT for something declared in two ways; `plan` holds a part of `more` then. */
ace_code ace_plan_append(ace_plan *plan, const ace_plan *more, ace_error **error);

void ace_plan_release(ace_plan *plan); /* leaves an empty one */

/* One printable line without its end: "queue orders.dlq (classic, durable)". False: no memory. */
bool ace_declaration_format(const ace_declaration *declaration, ace_buffer *out);

/* How errors name it: "queue orders.dlq", "binding of orders.dlq to acemq.dlx on orders.dlq". */
bool ace_declaration_title(const ace_declaration *declaration, ace_buffer *out);

#endif
