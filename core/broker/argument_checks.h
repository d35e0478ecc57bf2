/* What the value of one argument may be, in RabbitMQ's words. */
#ifndef ACE_BROKER_ARGUMENT_CHECKS_H
#define ACE_BROKER_ARGUMENT_CHECKS_H

#include "broker/fault.h"

#include <amqp.h>
#include <stdbool.h>
#include <stddef.h>

/* False, with what is wrong as RabbitMQ prints it: "{value_negative,-5}". */
typedef bool ace_broker_argument_check(const amqp_field_value_t *value,
                                       const amqp_table_t *arguments, char *why, size_t size);

typedef struct ace_broker_argument_rule {
    const char *name;
    ace_broker_argument_check *check;
} ace_broker_argument_rule;

extern const ace_broker_argument_rule
    ace_broker_queue_kind_rule; /* x-queue-type, before all others */
extern const ace_broker_argument_rule
    ace_broker_queue_rules[]; /* in RabbitMQ's order; ends with NULL */
extern const ace_broker_argument_rule ace_broker_consumer_priority_rule; /* x-priority */
extern const ace_broker_argument_rule
    ace_broker_consumer_failover_rule; /* x-cancel-on-ha-failover */

/* True where the argument is missing. "invalid arg 'x-expires' for queue 'q' in vhost '/':
 * {value_zero,0}" */
bool ace_broker_argument_rule_apply(const ace_broker_argument_rule *rule,
                                    const amqp_table_t *arguments, const char *resource,
                                    ace_broker_fault *fault);

#endif
