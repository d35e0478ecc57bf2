/**
 * @file settlement.h
 * What became of a delivery, told when it is over: where a span of tracing ends.
 *
 * Ownership: what is read from a settlement is borrowed as it is.
 */
#ifndef ACEMQ_SETTLEMENT_H
#define ACEMQ_SETTLEMENT_H

#include "error.h"

ACEMQ_BEGIN

struct acemq_connection;

/** What became of one delivery that a handler or acemq_consumer_next() had; immutable, any thread.
 * Its texts are borrowed as it is, and "" where there is none. */
typedef struct acemq_settlement acemq_settlement;

/** The queue it came from. */
ACEMQ_API const char *acemq_settlement_queue(const acemq_settlement *settlement);
/** The exchange it was published to. */
ACEMQ_API const char *acemq_settlement_exchange(const acemq_settlement *settlement);
/** The routing key it was published with. */
ACEMQ_API const char *acemq_settlement_routing_key(const acemq_settlement *settlement);
/** The id in its envelope. */
ACEMQ_API const char *acemq_settlement_id(const acemq_settlement *settlement);
/** The type in its envelope. */
ACEMQ_API const char *acemq_settlement_type(const acemq_settlement *settlement);
/** The correlation in its envelope. */
ACEMQ_API const char *acemq_settlement_correlation(const acemq_settlement *settlement);
/** `acked`, `retried`, `dead_lettered`, `rejected`, `parked`, `in_progress` (section 6); `put_back`
 * when it went back unchanged; `lost` when the connection went first and the broker delivers it
 * again. Static. */
ACEMQ_API const char *acemq_settlement_outcome(const acemq_settlement *settlement);
/** Which attempt it was, from 1. */
ACEMQ_API int32_t acemq_settlement_attempt(const acemq_settlement *settlement);
/** The W3C trace context the message came with. */
ACEMQ_API const char *acemq_settlement_traceparent(const acemq_settlement *settlement);
/** What goes with that trace context. */
ACEMQ_API const char *acemq_settlement_tracestate(const acemq_settlement *settlement);
/** How long its receiver had it; waits and hops do not count. */
ACEMQ_API int64_t acemq_settlement_microseconds(const acemq_settlement *settlement);

/** Called once a delivery is off the consumer's hands: acknowledged, its hop confirmed, or put
 * back. On a thread of the library that must not be held up; for `lost` also on the one that
 * settles. Borrowed for the call; it may call nothing that waits. */
typedef void (*acemq_settlement_callback)(const acemq_settlement *settlement, void *user);

/**
 * Tells of every settlement on this client from now on. The same comes as ACEMQ_EVENT_SETTLED to
 * those who pull.
 * @param destructor called with `user` when the client ends; NULL: none
 * @param callback called for each
 * Errors: ACEMQ_E_STATE when there is one already, ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_CLOSED,
 * ACEMQ_E_OUT_OF_MEMORY; the destructor is not called then.
 */
ACEMQ_API acemq_status acemq_connection_on_settled(struct acemq_connection *connection,
                                                   acemq_settlement_callback callback, void *user,
                                                   acemq_destructor destructor,
                                                   acemq_error **error);

ACEMQ_END

#endif
