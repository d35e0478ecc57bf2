/* The record that RabbitMQ 3.10 keeps in a dead letter's headers. */
#ifndef ACE_BROKER_X_DEATH_H
#define ACE_BROKER_X_DEATH_H

#include "base/buffer.h"
#include "base/error.h"
#include "contract/table.h"

#include <amqp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ace_broker_death {
    const char *reason; /* "rejected", "expired", "maxlen" or "delivery_limit" */
    ace_bytes queue;
    ace_bytes exchange;    /* the message was published to */
    const ace_bytes *keys; /* the routing key and those of CC */
    size_t key_count;
    uint64_t seconds;              /* since 1970 */
    ace_bytes original_expiration; /* data NULL: the message had none */
} ace_broker_death;

/* Adds the death to x-death (the same queue and reason again is counted and moved to the front),
 * sets x-first-death-* on the first one, and sorts the headers by name. */
ace_code ace_broker_x_death_record(ace_table *headers, const ace_broker_death *death,
                                   ace_error **error);

/* Whether the message came to `queue` before and every death since was the broker's own doing: such
 * a message would go round for ever, and is dropped. */
bool ace_broker_x_death_is_cycle(const amqp_table_t *headers, ace_bytes queue);

#endif
