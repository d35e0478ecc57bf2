/* Which queues a message goes to. */
#ifndef ACE_BROKER_ROUTING_H
#define ACE_BROKER_ROUTING_H

#include "broker/state.h"

typedef struct ace_broker_route {
    ace_broker_queue *
        *queues; /* each once; the caller frees the array with ace_broker_route_free() */
    size_t count;
    size_t capacity;
} ace_broker_route;

/* `headers` are those of the message, NULL for none. Follows exchange bindings and alternate
 * exchanges, each exchange once. False: no memory. */
bool ace_broker_route_find(ace_broker_exchange *exchange, const ace_bytes *keys, size_t key_count,
                           const amqp_table_t *headers, ace_broker_route *route);
void ace_broker_route_free(ace_broker_route *route);

/* Whether a topic exchange's pattern takes the key: words between dots, `*` for one word, `#` for
 * any number of them. The empty text has no words. */
bool ace_broker_topic_matches(ace_bytes pattern, ace_bytes key);

/* Whether the headers satisfy a headers exchange's binding. */
bool ace_broker_headers_match(const amqp_table_t *binding, const amqp_table_t *headers);

#endif
