/**
 * @file delivery.h
 * A message that arrived.
 *
 * Ownership: what is read from a delivery is borrowed until it is freed; in push mode, until the
 * handler returns.
 */
#ifndef ACEMQ_DELIVERY_H
#define ACEMQ_DELIVERY_H

#include "envelope.h"

ACEMQ_BEGIN

/** The AMQP properties of a message. */
typedef enum acemq_property {
    ACEMQ_PROPERTY_CONTENT_TYPE = 1,
    ACEMQ_PROPERTY_CONTENT_ENCODING = 2,
    ACEMQ_PROPERTY_DELIVERY_MODE = 3, /**< a number */
    ACEMQ_PROPERTY_PRIORITY = 4,      /**< a number */
    ACEMQ_PROPERTY_CORRELATION_ID = 5,
    ACEMQ_PROPERTY_REPLY_TO = 6,
    ACEMQ_PROPERTY_EXPIRATION = 7,
    ACEMQ_PROPERTY_MESSAGE_ID = 8,
    ACEMQ_PROPERTY_TIMESTAMP = 9, /**< a number, seconds */
    ACEMQ_PROPERTY_TYPE = 10,
    ACEMQ_PROPERTY_USER_ID = 11,
    ACEMQ_PROPERTY_APP_ID = 12
} acemq_property;

/** What a handler says of a message (the rows of section 6). */
typedef enum acemq_outcome {
    ACEMQ_ACCEPTED = 0, /**< done: acknowledged */
    ACEMQ_FAILED = 1,   /**< tried again as the policy says, at last `.dlq` */
    ACEMQ_REJECTED = 2, /**< unprocessable: `.dlq` at once */
    ACEMQ_PARKED = 3    /**< `.parked` at once */
} acemq_outcome;

/**
 * A delivery. In push mode the library owns it and it lives until the handler returns; in pull mode
 * it is owned by the caller, settled with acemq_delivery_settle() and freed with
 * acemq_delivery_free(). All it gives is borrowed until then. One thread at a time.
 */
typedef struct acemq_delivery acemq_delivery;

/** Never NULL unless memory is gone. */
ACEMQ_API const acemq_envelope *acemq_delivery_envelope(const acemq_delivery *delivery);
/** As the consumer's codec opened it: decrypted, fetched from its store. */
ACEMQ_API acemq_bytes acemq_delivery_body(const acemq_delivery *delivery);
/** The application's headers: no `x-acemq-` ones. Never NULL unless memory is gone. */
ACEMQ_API const acemq_table *acemq_delivery_headers(const acemq_delivery *delivery);
/** Every header as it arrived, reserved ones included. */
ACEMQ_API const acemq_table *acemq_delivery_all_headers(const acemq_delivery *delivery);
/** The queue it came from. */
ACEMQ_API const char *acemq_delivery_queue(const acemq_delivery *delivery);
/** The exchange it was published to; "" is the default exchange. */
ACEMQ_API const char *acemq_delivery_exchange(const acemq_delivery *delivery);
/** The routing key it was published with. */
ACEMQ_API const char *acemq_delivery_routing_key(const acemq_delivery *delivery);
/** 1 when the broker delivered it before, to whomever. */
ACEMQ_API int acemq_delivery_redelivered(const acemq_delivery *delivery);
/** NULL when the message does not have it, and for properties that are numbers. */
ACEMQ_API const char *acemq_delivery_property(const acemq_delivery *delivery,
                                              acemq_property property);
/** 1 and the number when the message has it. */
ACEMQ_API int acemq_delivery_property_number(const acemq_delivery *delivery,
                                             acemq_property property, int64_t *number);
/**
 * Envelope, headers, properties and routing as one MessagePack map, in one call: for bindings.
 * Keys: `envelope` (the members of `acemq envelope`), `headers`, `properties`, `queue`, `exchange`,
 * `routingKey`, `redelivered`. Borrowed until the delivery is freed. Errors: ACEMQ_E_OUT_OF_MEMORY,
 * ACEMQ_E_LIMIT past 32 levels.
 */
ACEMQ_API acemq_status acemq_delivery_pack(acemq_delivery *delivery, acemq_bytes *map,
                                           acemq_error **error);

/**
 * Says why, for the outcomes that carry a reason, in push mode: call it before returning the
 * outcome. Copied; the last call counts. In pull mode acemq_delivery_settle() takes the reason.
 */
ACEMQ_API void acemq_delivery_set_reason(acemq_delivery *delivery, const char *reason);

/**
 * Settles a pulled delivery, as section 6 says; returns as soon as that is queued, and a failure of
 * the hop is repeated by the library.
 * @param reason copied; NULL reads `no reason given`
 * Errors: ACEMQ_E_SETTLED, ACEMQ_E_STALE (nothing was sent; it is delivered again), ACEMQ_E_CLOSED,
 * ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_STATE for a delivery of push mode. Any thread.
 */
ACEMQ_API acemq_status acemq_delivery_settle(acemq_delivery *delivery, acemq_outcome outcome,
                                             const char *reason, acemq_error **error);
/** Puts a pulled delivery back on its queue unchanged, without spending an attempt. Errors as
 * above. */
ACEMQ_API acemq_status acemq_delivery_put_back(acemq_delivery *delivery, acemq_error **error);
/** Frees a pulled delivery; one that was not settled is put back. */
ACEMQ_API void acemq_delivery_free(acemq_delivery *delivery);

ACEMQ_END

#endif
