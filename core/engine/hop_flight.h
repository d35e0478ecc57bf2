/* One hop on its way through the publisher, and the answer posted back to the consuming loop. */
#ifndef ACE_ENGINE_HOP_FLIGHT_H
#define ACE_ENGINE_HOP_FLIGHT_H

#include "engine/hop.h"

typedef struct ace_hop_result {
    ace_code code;          /* as ace_publish tells it */
    const ace_error *error; /* borrowed for the call; NULL when code is ACE_OK */
    uint64_t round;         /* of the target, when it was sent */
    int64_t submitted;      /* monotonic */
} ace_hop_result;

/* Builds the copy and submits it. The delivery's stage is ACE_DELIVERY_HOPPING. On failure nothing
 * was submitted: what ace_hop_build(), ace_publish_encode() and ace_publisher_submit() answer. */
ace_code ace_hop_launch(ace_delivery *delivery, ace_hop_target *target, ace_error **error);

/* Called by the flight, on the consuming loop, unless the delivery was dropped meanwhile. */
void ace_hop_landed(ace_delivery *delivery, ace_hop_target *target, const ace_hop_result *result);

#endif
