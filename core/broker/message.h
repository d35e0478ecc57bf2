/* A message as the queues share it, and its header written anew where the broker changes one. */
#ifndef ACE_BROKER_MESSAGE_H
#define ACE_BROKER_MESSAGE_H

#include "base/buffer.h"
#include "broker/fault.h"
#include "contract/table.h"
#include "wire/assembly.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ace_broker_message ace_broker_message;

struct ace_broker_message {
    size_t references;
    size_t *stored; /* the broker's count of bytes, which this is a part of */
    size_t bytes;
    ace_content *content;        /* as published; NULL when the header was written anew */
    ace_broker_message *body_of; /* holds the body then */
    ace_bytes header;            /* the payload of the header frame, as it goes out */
    ace_bytes body;
    ace_bytes exchange;
    ace_bytes *keys; /* the routing key, then those of CC and BCC; at least one */
    size_t key_count;
    int64_t expiration; /* milliseconds; ACE_UNSET */
    uint8_t priority;
};

/* Takes a published content over (also when it fails). The checks of a message alone: the
 * expiration (406), the delivery mode, CC and BCC ("invalid message: ..."), 541 for a header table
 * that RabbitMQ would not read. BCC is taken out. `stored` is counted up until the last reference
 * goes. NULL: refused. */
ace_broker_message *ace_broker_message_accept(ace_content *content, ace_bytes exchange,
                                              ace_bytes routing_key, size_t *stored,
                                              ace_broker_fault *fault);

ace_broker_message *ace_broker_message_keep(ace_broker_message *message);
void ace_broker_message_release(ace_broker_message *message); /* NULL is fine */

/* The properties, decoded into the pool. False: no memory. */
bool ace_broker_message_decode(const ace_broker_message *message, amqp_pool_t *pool,
                               amqp_basic_properties_t **properties);

/* The same body under other properties, exchange and keys. NULL: no memory. */
ace_broker_message *ace_broker_message_rewrite(ace_broker_message *original,
                                               const amqp_basic_properties_t *properties,
                                               ace_bytes exchange, const ace_bytes *keys,
                                               size_t key_count);

/* The header frame's payload with one more integer header, which replaces one of that name. False:
 * no memory. */
bool ace_broker_message_header_with(const ace_broker_message *message, const char *name,
                                    int64_t value, ace_buffer *payload);

/* Sets the value under a name and sorts all by name, as RabbitMQ leaves a table that it changed. */
ace_code ace_broker_headers_set(ace_table *headers, const char *name,
                                const amqp_field_value_t *value, ace_error **error);

/* The texts of the array under `name`; *count 0 where there is none. False, with the fault: another
 * kind. */
bool ace_broker_headers_routes(const amqp_table_t *headers, const char *name, ace_bytes *routes,
                               size_t limit, size_t *count, ace_broker_fault *fault);

#endif
