/**
 * @file envelope.h
 * The envelope: what AceMQ says about a message in its headers (section 2).
 *
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_ENVELOPE_H
#define ACEMQ_ENVELOPE_H

#include "table.h"

ACEMQ_BEGIN

/** An envelope: an immutable value, any thread may read it. One from a delivery is borrowed until
 * the delivery is freed; one from acemq_envelope_read() is owned. */
typedef struct acemq_envelope acemq_envelope;

/**
 * Reads an envelope out of a message's headers, with every tolerance of section 2: nothing
 * malformed is an error.
 * @param headers      may be NULL
 * @param routing_key  the delivery's; may be NULL
 * @param message_id   the AMQP message-id property; may be NULL
 * @param envelope     owned, freed with acemq_envelope_free()
 * Errors: ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_envelope_read(const acemq_table *headers, const char *routing_key,
                                           const char *message_id, acemq_envelope **envelope,
                                           acemq_error **error);
/** Frees one of acemq_envelope_read(); not one that a delivery lent. NULL is fine. */
ACEMQ_API void acemq_envelope_free(acemq_envelope *envelope);

/**
 * Writes the envelope's headers into `headers`, in the types of section 2, beside what is there.
 * An absent value is an absent header. Errors: ACEMQ_E_LIMIT, ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_envelope_write(const acemq_envelope *envelope, acemq_table *headers,
                                            acemq_error **error);
/** The headers that are the application's: all that do not start with `x-acemq-`. Owned. */
ACEMQ_API acemq_status acemq_envelope_application_headers(const acemq_table *headers,
                                                          acemq_table **application,
                                                          acemq_error **error);

/* Texts are NULL where absent, and borrowed as the envelope is. */
ACEMQ_API const char *acemq_envelope_id(const acemq_envelope *envelope);          /**< never NULL */
ACEMQ_API const char *acemq_envelope_type(const acemq_envelope *envelope);        /**< never NULL */
ACEMQ_API const char *acemq_envelope_correlation(const acemq_envelope *envelope); /**< never NULL */
/** The id of the message that caused this one. */
ACEMQ_API const char *acemq_envelope_causation(const acemq_envelope *envelope);
/** Who sent it. */
ACEMQ_API const char *acemq_envelope_origin(const acemq_envelope *envelope);
/** Why it failed last. */
ACEMQ_API const char *acemq_envelope_error(const acemq_envelope *envelope);
/** The claim, as whoever wrote the header meant it. */
ACEMQ_API const char *acemq_envelope_claim(const acemq_envelope *envelope);
/** The queue it was replayed from. */
ACEMQ_API const char *acemq_envelope_replayed_from(const acemq_envelope *envelope);
/** Where an answer is wanted. */
ACEMQ_API const char *acemq_envelope_reply_to(const acemq_envelope *envelope);
/** The id of its declared route. */
ACEMQ_API const char *acemq_envelope_route_id(const acemq_envelope *envelope);
ACEMQ_API int32_t acemq_envelope_version(const acemq_envelope *envelope);      /**< from 1 */
ACEMQ_API int32_t acemq_envelope_attempt(const acemq_envelope *envelope);      /**< from 1 */
ACEMQ_API int32_t acemq_envelope_replay_count(const acemq_envelope *envelope); /**< from 0 */
/** Epoch ms; 0: unknown. */
ACEMQ_API int64_t acemq_envelope_first_seen(const acemq_envelope *envelope);
/**
 * 1 and epoch ms when there is one, else 0.
 * @param epoch_milliseconds left alone for 0
 */
ACEMQ_API int acemq_envelope_replayed_at(const acemq_envelope *envelope,
                                         int64_t *epoch_milliseconds);
/** The steps of a declared route; 0 without one. */
ACEMQ_API size_t acemq_envelope_route_count(const acemq_envelope *envelope);
/** The step at `index` of its declared route; NULL past the end. */
ACEMQ_API const char *acemq_envelope_route_step(const acemq_envelope *envelope, size_t index);
/** Which step it is at, from 0. */
ACEMQ_API int32_t acemq_envelope_route_position(const acemq_envelope *envelope);
/** 1 when the id is new with each delivery, since the message has none of its own: idempotency
 * cannot protect it. */
ACEMQ_API int acemq_envelope_id_is_made_up(const acemq_envelope *envelope);

ACEMQ_END

#endif
