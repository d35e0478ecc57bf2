/* Virtual hosts, exchanges and bindings: making, finding and deleting them. */
#ifndef ACE_BROKER_TOPOLOGY_H
#define ACE_BROKER_TOPOLOGY_H

#include "broker/state.h"

#define ACE_RESOURCE_TEXT_MAX 600

/* With the default exchange and the amq.* ones. NULL: no memory. */
ace_broker_vhost *ace_broker_vhost_make(ace_broker_core *core, const char *name);
ace_broker_vhost *ace_broker_vhost_find(const ace_broker_core *core, ace_bytes name);
void ace_broker_vhost_free(ace_broker_vhost *vhost); /* with all it holds; no consumer is told */

/* "queue 'q' in vhost '/'", as RabbitMQ's errors name things; returns `text`. */
const char *ace_broker_resource_text(const char *kind, ace_bytes name,
                                     const ace_broker_vhost *vhost,
                                     char text[ACE_RESOURCE_TEXT_MAX]);
const char *ace_broker_exchange_text(const ace_broker_exchange *exchange,
                                     char text[ACE_RESOURCE_TEXT_MAX]);

/* False for a kind nobody knows. */
bool ace_broker_exchange_kind_read(ace_bytes text, ace_broker_exchange_kind *kind);
const char *ace_broker_exchange_kind_name(ace_broker_exchange_kind kind);

typedef struct ace_broker_exchange_declaration {
    ace_bytes name;
    ace_broker_exchange_kind kind;
    bool durable;
    bool auto_delete;
    bool internal;
    const amqp_table_t *arguments; /* NULL: none */
} ace_broker_exchange_declaration;

ace_broker_exchange *ace_broker_exchange_find(const ace_broker_vhost *vhost, ace_bytes name);
/* NULL: refused (406 over the limit, or no memory). */
ace_broker_exchange *ace_broker_exchange_make(ace_broker_vhost *vhost,
                                              const ace_broker_exchange_declaration *declaration,
                                              ace_broker_fault *fault);
/* With its bindings, and the auto-delete exchanges that lose their last one by that. */
void ace_broker_exchange_delete(ace_broker_exchange *exchange);

typedef struct ace_broker_binding_declaration {
    ace_broker_exchange *source;
    ace_broker_queue *queue; /* one of these two */
    ace_broker_exchange *exchange;
    ace_bytes key;
    const amqp_table_t *arguments;
} ace_broker_binding_declaration;

/* 406 for an x-match that a headers exchange does not know. */
bool ace_broker_binding_valid(const ace_broker_binding_declaration *declaration,
                              ace_broker_fault *fault);
ace_broker_binding *
ace_broker_binding_find(const ace_broker_binding_declaration *declaration); /* NULL: none such */
bool ace_broker_binding_add(const ace_broker_binding_declaration *declaration,
                            ace_broker_fault *fault);
/* Also deletes the source when it is auto-delete and this was its last binding. */
void ace_broker_binding_remove(ace_broker_binding *binding);

/* A copy that the caller frees; an empty one is not NULL. False: no memory. */
bool ace_broker_name_copy(ace_bytes name, ace_bytes *copy);

#endif
