/*
 * The messages of a replay that were published and are not confirmed yet. Their order is kept, and
 * so many are under way at once that a pass is not one confirm a message slow.
 */
#ifndef ACE_PATTERNS_REPLAY_FLIGHT_H
#define ACE_PATTERNS_REPLAY_FLIGHT_H

#include "engine/cancel.h"
#include "engine/delivery.h"
#include "engine/publisher.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_flight ace_flight;

/* One message on its way; owned by whoever took it off. */
typedef struct ace_flown {
    uint64_t tag;
    ace_code code; /* how its publish ended */
    ace_error *error;
} ace_flown;

ace_code ace_flight_new(ace_publisher *publisher, ace_flight **flight, ace_error **error);
/* What is still under way ends by itself and is then forgotten. NULL is fine. */
void ace_flight_free(ace_flight *flight);

size_t ace_flight_count(ace_flight *flight);

/* Submits the publish, encoded, whose body is the delivery's. Takes both over, on failure too. */
ace_code ace_flight_launch(ace_flight *flight, ace_publish *publish, ace_delivery *delivery,
                           uint64_t tag, ace_error **error);

/* The oldest one, taken off, once it has ended: waits for that until `deadline` (monotonic, of the
 * system's clock) or until `cancel`, which may be NULL, fires. False: it is still under way, or
 * there is none. The error is the caller's. */
bool ace_flight_land(ace_flight *flight, int64_t deadline, ace_cancel *cancel, ace_flown *flown);

#endif
