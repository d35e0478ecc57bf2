/*
 * A message that arrived, and what its receiver says of it.
 *
 * A delivery is held by references: the consumer's until it is settled, and its receiver's. What it
 * hands out is borrowed until the receiver's reference goes. One thread at a time reads it;
 * settling is fine from any thread.
 */
#ifndef ACE_ENGINE_DELIVERY_H
#define ACE_ENGINE_DELIVERY_H

#include "base/buffer.h"
#include "base/error.h"
#include "contract/envelope.h"
#include "wire/assembly.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct acemq_delivery ace_delivery;

/* What a receiver says of a message; the numbers are those of the public acemq_outcome. */
typedef enum ace_outcome {
    ACE_ACCEPTED = 0, /* done: acknowledged */
    ACE_FAILED = 1,   /* again as the policy says, at last the dead letters */
    ACE_REJECTED = 2, /* unprocessable: the dead letters at once */
    ACE_PARKED = 3,   /* the parking lot at once */
} ace_outcome;

/* What an interceptor is told of one that was put back unchanged. */
enum { ACE_OUTCOME_PUT_BACK = -1 };

/* The properties that are texts; the numbers are those of the public acemq_property. */
typedef enum ace_property {
    ACE_PROPERTY_CONTENT_TYPE = 1,
    ACE_PROPERTY_CONTENT_ENCODING = 2,
    ACE_PROPERTY_DELIVERY_MODE = 3, /* a number */
    ACE_PROPERTY_PRIORITY = 4,      /* a number */
    ACE_PROPERTY_CORRELATION_ID = 5,
    ACE_PROPERTY_REPLY_TO = 6,
    ACE_PROPERTY_EXPIRATION = 7,
    ACE_PROPERTY_MESSAGE_ID = 8,
    ACE_PROPERTY_TIMESTAMP = 9, /* a number, seconds */
    ACE_PROPERTY_TYPE = 10,
    ACE_PROPERTY_USER_ID = 11,
    ACE_PROPERTY_APP_ID = 12,
} ace_property;

/* Settling. Returns as soon as it is queued. `reason` is copied; NULL: none. ACE_SETTLED: it was
 * settled before. ACE_STALE: its channel or its connection is gone, the broker delivers it again;
 * nothing was sent. ACE_STATE: a delivery that no consumer gave out, or one of a handler, whose
 * return settles it. ACE_INVALID_ARGUMENT (the outcome), ACE_OUT_OF_MEMORY (not settled). */
ace_code ace_delivery_settle(ace_delivery *delivery, ace_outcome outcome, const char *reason,
                             ace_error **error);
/* Back to its queue unchanged, without spending an attempt. Errors as above. */
ace_code ace_delivery_put_back(ace_delivery *delivery, ace_error **error);
/* The receiver's reference. A pulled delivery that was not settled is put back. NULL is fine. Any
 * thread but a loop's. */
void ace_delivery_free(ace_delivery *delivery);

/* Why, for the outcome a handler is about to return; copied, the last call counts. */
void ace_delivery_set_reason(ace_delivery *delivery, const char *reason);

const ace_envelope *ace_delivery_envelope(const ace_delivery *delivery);
/* As the consumer's codec opened it; hops send the content's own. */
ace_bytes ace_delivery_body(const ace_delivery *delivery);
/* NUL-terminated; "" where there is none. */
const char *ace_delivery_queue(const ace_delivery *delivery);
const char *ace_delivery_exchange(const ace_delivery *delivery);
const char *ace_delivery_routing_key(const ace_delivery *delivery);
bool ace_delivery_redelivered(const ace_delivery *delivery);
const amqp_basic_properties_t *ace_delivery_properties(const ace_delivery *delivery);
/* NUL-terminated; NULL when the message does not have it, and for numbers. */
const char *ace_delivery_property(const ace_delivery *delivery, ace_property property);
/* False when the message does not have it, and for texts. */
bool ace_delivery_property_number(const ace_delivery *delivery, ace_property property,
                                  int64_t *number);
/* Every header as it arrived, and those of the application alone. Made at the first call; NULL:
 * no memory. */
const ace_table *ace_delivery_all_headers(const ace_delivery *delivery);
const ace_table *ace_delivery_headers(const ace_delivery *delivery);

/* Envelope, application headers, properties and routing as one MessagePack map, with the keys
 * `envelope`, `headers`, `properties`, `queue`, `exchange`, `routingKey`, `redelivered`. Made at
 * the first call. ACE_OUT_OF_MEMORY, ACE_LIMIT (headers nested past 32 levels). */
ace_code ace_delivery_pack(ace_delivery *delivery, ace_bytes *map, ace_error **error);

/* One thing that somebody above wants to keep with the delivery; `release` is called when it is
 * freed. The caller before takes no part: the first attachment stays. Without memory none does, and
 * `release` is called at once. */
void *ace_delivery_attachment(const ace_delivery *delivery);
void ace_delivery_attach(ace_delivery *delivery, void *attachment,
                         void (*release)(void *attachment));

/* What an interceptor's `before` hook may change of the envelope; it travels on every hop. What was
 * made of the envelope before is freed by it. NULL or "": absent. ACE_STATE outside such a hook,
 * ACE_INVALID_ARGUMENT, ACE_OUT_OF_MEMORY. */
typedef enum ace_envelope_text {
    ACE_ENVELOPE_TYPE = 0, /* never absent, like the next */
    ACE_ENVELOPE_CORRELATION = 1,
    ACE_ENVELOPE_CAUSATION = 2,
    ACE_ENVELOPE_ORIGIN = 3,
} ace_envelope_text;

ace_code ace_delivery_change_text(ace_delivery *delivery, ace_envelope_text which, const char *text,
                                  ace_error **error);
ace_code ace_delivery_change_version(ace_delivery *delivery, int32_t version, ace_error **error);

/* A delivery that no consumer settles: what basic.get brought, looked at by a browser or a replay.
 * Takes the content over, on failure too. `queue` is copied. ACE_OUT_OF_MEMORY. */
ace_code ace_delivery_of_content(ace_content *content, const char *queue, ace_delivery **delivery,
                                 ace_error **error);
/* The content inside, still the delivery's; for building what a replay publishes. */
const ace_content *ace_delivery_content(const ace_delivery *delivery);

#endif
