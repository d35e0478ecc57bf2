#include "acemq/delivery.h"

#include "arguments.h"
#include "engine/delivery.h"
#include "envelope.h"

#include <stdint.h>

#define SAME_PROPERTY(name)                                                                        \
    _Static_assert((int)ACEMQ_PROPERTY_##name == (int)ACE_PROPERTY_##name, "property " #name)
SAME_PROPERTY(CONTENT_TYPE);
SAME_PROPERTY(CONTENT_ENCODING);
SAME_PROPERTY(DELIVERY_MODE);
SAME_PROPERTY(PRIORITY);
SAME_PROPERTY(CORRELATION_ID);
SAME_PROPERTY(REPLY_TO);
SAME_PROPERTY(EXPIRATION);
SAME_PROPERTY(MESSAGE_ID);
SAME_PROPERTY(TIMESTAMP);
SAME_PROPERTY(TYPE);
SAME_PROPERTY(USER_ID);
SAME_PROPERTY(APP_ID);
_Static_assert((int)ACEMQ_ACCEPTED == (int)ACE_ACCEPTED && (int)ACEMQ_FAILED == (int)ACE_FAILED &&
                   (int)ACEMQ_REJECTED == (int)ACE_REJECTED && (int)ACEMQ_PARKED == (int)ACE_PARKED,
               "one numbering of the outcomes");

static void release_envelope(void *attachment)
{
    acemq_envelope_free(attachment);
}

const acemq_envelope *acemq_delivery_envelope(const acemq_delivery *delivery)
{
    if (delivery == NULL) {
        return NULL;
    }
    acemq_envelope *envelope;
    if (ace_delivery_attachment(delivery) == NULL &&
        ace_envelope_to_public(ace_delivery_envelope(delivery), &envelope, NULL) == ACE_OK) {
        /* Made at the first look, so that a delivery nobody looks into costs nothing; to the reader
         * it is the same delivery as before. */
        ace_delivery_attach((ace_delivery *)(uintptr_t)delivery, envelope, release_envelope);
    }
    return ace_delivery_attachment(delivery);
}

acemq_bytes acemq_delivery_body(const acemq_delivery *delivery)
{
    return delivery == NULL ? (acemq_bytes){NULL, 0}
                            : ace_bytes_to_public(ace_delivery_body(delivery));
}

const acemq_table *acemq_delivery_headers(const acemq_delivery *delivery)
{
    return delivery == NULL ? NULL : ace_delivery_headers(delivery);
}

const acemq_table *acemq_delivery_all_headers(const acemq_delivery *delivery)
{
    return delivery == NULL ? NULL : ace_delivery_all_headers(delivery);
}

const char *acemq_delivery_queue(const acemq_delivery *delivery)
{
    return delivery == NULL ? "" : ace_delivery_queue(delivery);
}

const char *acemq_delivery_exchange(const acemq_delivery *delivery)
{
    return delivery == NULL ? "" : ace_delivery_exchange(delivery);
}

const char *acemq_delivery_routing_key(const acemq_delivery *delivery)
{
    return delivery == NULL ? "" : ace_delivery_routing_key(delivery);
}

int acemq_delivery_redelivered(const acemq_delivery *delivery)
{
    return delivery != NULL && ace_delivery_redelivered(delivery);
}

static bool is_property(acemq_property property)
{
    return (int)property >= ACEMQ_PROPERTY_CONTENT_TYPE && (int)property <= ACEMQ_PROPERTY_APP_ID;
}

const char *acemq_delivery_property(const acemq_delivery *delivery, acemq_property property)
{
    return delivery == NULL || !is_property(property)
               ? NULL
               : ace_delivery_property(delivery, (ace_property)property);
}

int acemq_delivery_property_number(const acemq_delivery *delivery, acemq_property property,
                                   int64_t *number)
{
    return delivery != NULL && number != NULL && is_property(property) &&
           ace_delivery_property_number(delivery, (ace_property)property, number);
}

acemq_status acemq_delivery_pack(acemq_delivery *delivery, acemq_bytes *map, acemq_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    if (code == ACE_OK) {
        code = ace_argument_present(map, "map", error);
    }
    ace_bytes packed;
    if (code == ACE_OK) {
        code = ace_delivery_pack(delivery, &packed, error);
    }
    if (code == ACE_OK) {
        *map = ace_bytes_to_public(packed);
    }
    return (acemq_status)code;
}

void acemq_delivery_set_reason(acemq_delivery *delivery, const char *reason)
{
    if (delivery != NULL) {
        ace_delivery_set_reason(delivery, reason == NULL ? "" : reason);
    }
}

acemq_status acemq_delivery_settle(acemq_delivery *delivery, acemq_outcome outcome,
                                   const char *reason, acemq_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    if (code == ACE_OK) {
        code = ace_argument_range((int64_t)outcome, ACEMQ_ACCEPTED, ACEMQ_PARKED, "outcome", error);
    }
    if (code == ACE_OK) {
        code = ace_delivery_settle(delivery, (ace_outcome)outcome, reason, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_delivery_put_back(acemq_delivery *delivery, acemq_error **error)
{
    ace_code code = ace_argument_present(delivery, "delivery", error);
    return (acemq_status)(code == ACE_OK ? ace_delivery_put_back(delivery, error) : code);
}

void acemq_delivery_free(acemq_delivery *delivery)
{
    ace_delivery_free(delivery);
}
