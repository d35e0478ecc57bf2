/**
 * @file health.h
 * Whether a client works, for a probe that must be answered at once.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_HEALTH_H
#define ACEMQ_HEALTH_H

#include "connection.h"

ACEMQ_BEGIN

/** Whether all is well. */
typedef enum acemq_health {
    /** Publishing and consuming work. Also while the broker is blocked: that is the broker's
     * trouble, which a restart of this program does not end. */
    ACEMQ_HEALTH_UP = 1,
    /** Something works and something does not: one of the two connections is on its way back, a
     * consumer is not subscribed and tries again, or hops to a queue fail and are repeated. */
    ACEMQ_HEALTH_DEGRADED = 2,
    /** Both connections are away, or it is closed or lost for good. */
    ACEMQ_HEALTH_DOWN = 3
} acemq_health;

/**
 * Answers at once, whatever the client is at: it asks the broker nothing and waits for no handler.
 * A closed client is down. Any thread.
 * @param json what is behind it, for the answer of a probe: owned, freed with acemq_free(); may be
 *             NULL. `{"status": "up"|"degraded"|"down", "reason": text or null, "blocked": text or
 *             null, "publishing": STATE, "consuming": STATE, "consumers": [{"queue", "subscribed",
 *             "inFlight", "waiting", "failingHop": text or null}]}`, STATE one of `open`,
 *             `connecting`, `waiting`, `closed`.
 * @param health receives the answer; may not be NULL
 * Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_FORKED, ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_health_check(const acemq_connection *connection, acemq_health *health,
                                          char **json, acemq_error **error);
/** `up`, `degraded`, `down`; static. */
ACEMQ_API const char *acemq_health_name(acemq_health health);

ACEMQ_END

#endif
