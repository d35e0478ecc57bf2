/*
 * A hop: a message that leaves a delivery for a rung, its own queue, the dead letters or the
 * parking lot. This says what the copy carries (section 2); the engine publishes it through the
 * default exchange, mandatory, and acknowledges the original once it is confirmed and routed.
 */
#ifndef ACE_CONTRACT_HOP_H
#define ACE_CONTRACT_HOP_H

#include "contract/envelope.h"
#include "contract/properties.h"

typedef enum ace_hop_kind {
    ACE_HOP_RUNG,        /* to a rung; also drops the traces of earlier dead-letterings */
    ACE_HOP_OWN_QUEUE,   /* after a wait here: a retry with its attempt advanced, or a put-back */
    ACE_HOP_DEAD_LETTER, /* to {queue}.dlq */
    ACE_HOP_PARK,        /* to {queue}.parked */
} ace_hop_kind;

typedef struct ace_hop {
    ace_hop_kind kind;
    const amqp_basic_properties_t *properties; /* as they arrived, headers included */
    /* As read on arrival, with what interceptors changed; id and first-seen must be the arrival's.
     */
    const ace_envelope *envelope;
    int32_t attempt;  /* to write */
    ace_bytes error;  /* to write; empty: what the envelope has */
    int64_t now;      /* written as first-seen where that is unknown */
    size_t frame_max; /* of the connection that publishes; 0: no limit */
} ace_hop;

/* Fills `head`. An error text that does not fit the frame is cut, or left out. ACE_LIMIT when the
 * rest alone does not fit, ACE_INVALID_ARGUMENT for a header no broker would have delivered; `head`
 * is then empty and the hop counts as failed. */
ace_code ace_hop_build(const ace_hop *hop, ace_head *head, ace_error **error);

/* What no hop and no replay carries, because it belongs to the broker: CC, BCC, x-delivery-count;
 * with `deaths` also x-death, x-first-death-* and x-last-death-*. */
void ace_head_drop_broker_headers(ace_head *head, bool deaths);

/* Drops expiration, user_id and cluster_id; makes the delivery mode 2. */
void ace_head_drop_broker_properties(ace_head *head);

#endif
