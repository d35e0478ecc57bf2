/* The arguments of queue.declare and basic.consume: what they may be, what they mean, and whether a
 * second declaration says the same. Orders and words are RabbitMQ 3.10's. */
#ifndef ACE_BROKER_ARGUMENTS_H
#define ACE_BROKER_ARGUMENTS_H

#include "base/buffer.h"
#include "broker/fault.h"

#include <amqp.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum ace_broker_queue_kind {
    ACE_QUEUE_CLASSIC,
    ACE_QUEUE_QUORUM,
} ace_broker_queue_kind;

typedef enum ace_broker_overflow {
    ACE_OVERFLOW_DROP_HEAD,
    ACE_OVERFLOW_REJECT,
    ACE_OVERFLOW_REJECT_DEAD_LETTER,
} ace_broker_overflow;

#define ACE_UNSET (-1)

typedef struct ace_broker_queue_settings { /* ACE_UNSET and NULL data where there is no argument */
    ace_broker_queue_kind kind;
    int64_t message_ttl; /* milliseconds */
    int64_t expires;     /* milliseconds */
    int64_t max_length;
    int64_t max_bytes;
    int64_t max_priority; /* 0 to 255 */
    int64_t delivery_limit;
    ace_broker_overflow overflow;
    bool single_active;
    bool at_least_once;      /* dead letters wait until they can be routed */
    ace_bytes dead_exchange; /* these two are borrowed from the table */
    ace_bytes dead_routing_key;
} ace_broker_queue_settings;

/* `resource` names the queue in errors: "queue 'q' in vhost '/'". */
bool ace_broker_queue_arguments_read(const amqp_table_t *arguments, const char *resource,
                                     ace_broker_queue_settings *settings, ace_broker_fault *fault);
/* The arguments that mean something to this kind of queue, in RabbitMQ's order; ends with NULL. */
const char *const *ace_broker_queue_argument_names(ace_broker_queue_kind kind);

/* 406 naming the first argument that differs, in the order of the existing queue's kind. */
bool ace_broker_queue_arguments_match(const amqp_table_t *current, const amqp_table_t *received,
                                      ace_broker_queue_kind kind, const char *resource,
                                      ace_broker_fault *fault);
/* One argument of a declaration, compared as above. */
bool ace_broker_argument_match(const amqp_table_t *current, const amqp_table_t *received,
                               const char *name, const char *resource, ace_broker_fault *fault);
/* A flag or a type: "inequivalent arg 'durable' for ...: received 'true' but current is 'false'".
 */
bool ace_broker_declared_flag_match(bool current, bool received, const char *name,
                                    const char *resource, ace_broker_fault *fault);
bool ace_broker_declared_text_match(const char *current, const char *received, const char *name,
                                    const char *resource, ace_broker_fault *fault);

/* *priority receives x-priority, or 0. */
bool ace_broker_consume_arguments_read(const amqp_table_t *arguments, const char *resource,
                                       ace_broker_queue_kind kind, int64_t *priority,
                                       ace_broker_fault *fault);

/* RabbitMQ's name of a field kind: "longstr", "signedint"; "unknown". */
const char *ace_broker_field_kind_name(uint8_t kind);
/* False for what is not an integer; uint64 is read as RabbitMQ does, as int64. */
bool ace_broker_field_integer(const amqp_field_value_t *value, int64_t *integer);

/* "invalid expiration '5x': {leftover_string,"x"}" */
bool ace_broker_expiration_read(ace_bytes text, int64_t *milliseconds, ace_broker_fault *fault);

#endif
