/**
 * @file message.h
 * A message to publish.
 */
#ifndef ACEMQ_MESSAGE_H
#define ACEMQ_MESSAGE_H

#include "codec.h"
#include "delivery.h"
#include "table.h"

ACEMQ_BEGIN

/**
 * A message being built. Its first error is kept, and the call that publishes it reports it, so
 * that setters need no check. Everything given is copied. Not thread-safe while it is changed.
 * Publishing does not change or consume it: it can be published again, with a new id each time
 * unless one was set. Owned, freed with acemq_message_free().
 */
typedef struct acemq_message acemq_message;

/**
 * Any bytes, `application/octet-stream`. NULL when memory is gone, like those below.
 * @param body copied
 */
ACEMQ_API acemq_message *acemq_message_new(const void *body, size_t length);
/** JSON text, `application/json`; text that is not JSON is the message's error, ACEMQ_E_DECODE. */
ACEMQ_API acemq_message *acemq_message_json(const char *json);
/** UTF-8 text, `text/plain; charset=utf-8`. */
ACEMQ_API acemq_message *acemq_message_text(const char *text);
/**
 * A MessagePack document, `application/msgpack`; bytes that are not one are the message's error.
 * @param body copied
 */
ACEMQ_API acemq_message *acemq_message_msgpack(const void *body, size_t length);
/** A payload as the codec writes it, with the codec's content type: encrypted, or stored elsewhere.
 * Storing happens here; what fails is the message's error. */
ACEMQ_API acemq_message *acemq_message_encoded(const acemq_codec *codec, const void *payload,
                                               size_t length);
/**
 * A message as it lay in a queue: `headers` are sent exactly as they are, reserved ones included,
 * and no envelope is written. For putting back what was exported; an application publishes with
 * the
 * others.
 * @param body copied
 */
ACEMQ_API acemq_message *acemq_message_verbatim(const void *body, size_t length,
                                                const acemq_table *headers);
ACEMQ_API void acemq_message_free(acemq_message *message);
/** The error that was kept, if any. Errors: that one. */
ACEMQ_API acemq_status acemq_message_check(const acemq_message *message, acemq_error **error);

/* The envelope. NULL or "" unsets a text. */
/** default: a new UUID */
ACEMQ_API void acemq_message_set_id(acemq_message *message, const char *id);
/** default: routing key */
ACEMQ_API void acemq_message_set_type(acemq_message *message, const char *type);
/** from 1; default 1 */
ACEMQ_API void acemq_message_set_version(acemq_message *message, int32_t version);
/** default: id */
ACEMQ_API void acemq_message_set_correlation(acemq_message *message, const char *correlation);
ACEMQ_API void acemq_message_set_causation(acemq_message *message, const char *causation);
/** default: `acemq@` and the host's name */
ACEMQ_API void acemq_message_set_origin(acemq_message *message, const char *origin);
/** Correlation and causation from the message being handled (section 2, `causing`), and its trace
 * context (`traceparent`, `tracestate`) where this one has none of its own. */
ACEMQ_API void acemq_message_caused_by(acemq_message *message, const acemq_delivery *parent);
/** A declared route: names joined by commas, the position from 0, and the route's id (NULL: none).
 */
ACEMQ_API void acemq_message_set_route(acemq_message *message, const char *steps, int32_t position,
                                       const char *route_id);

/* Reading it again, as it was set: NULL, and 1 for the version, where nothing was. Borrowed until
 * the message is changed or freed. */
ACEMQ_API const char *acemq_message_id(const acemq_message *message);
ACEMQ_API const char *acemq_message_type(const acemq_message *message);
ACEMQ_API int32_t acemq_message_version(const acemq_message *message);
ACEMQ_API const char *acemq_message_correlation(const acemq_message *message);
ACEMQ_API const char *acemq_message_causation(const acemq_message *message);
ACEMQ_API const char *acemq_message_origin(const acemq_message *message);
ACEMQ_API const char *acemq_message_content_type(const acemq_message *message);
ACEMQ_API const acemq_table *acemq_message_headers(const acemq_message *message);
ACEMQ_API acemq_bytes acemq_message_body(const acemq_message *message);

/* The application's headers. `x-acemq-` names are refused: ACEMQ_E_RESERVED_HEADER. */
ACEMQ_API void acemq_message_set_header(acemq_message *message, const char *name, const char *text);
ACEMQ_API void acemq_message_set_header_int64(acemq_message *message, const char *name,
                                              int64_t number);
ACEMQ_API void acemq_message_set_header_double(acemq_message *message, const char *name,
                                               double number);
ACEMQ_API void acemq_message_set_header_bool(acemq_message *message, const char *name, int value);
ACEMQ_API void acemq_message_set_header_value(acemq_message *message, const char *name,
                                              const acemq_value *value);
/** Adds all of `headers`. */
ACEMQ_API void acemq_message_set_headers(acemq_message *message, const acemq_table *headers);

/* Properties. */
ACEMQ_API void acemq_message_set_content_type(acemq_message *message, const char *content_type);
ACEMQ_API void acemq_message_set_reply_to(acemq_message *message, const char *reply_to);
/** 0 to 255 */
ACEMQ_API void acemq_message_set_priority(acemq_message *message, int priority);
/** Gone from its queue after this many ms, 0 to 2^32 - 1. */
ACEMQ_API void acemq_message_set_expiration(acemq_message *message, int64_t milliseconds);
/** delivery mode 1 */
ACEMQ_API void acemq_message_set_transient(acemq_message *message);
/** Any other property; only for acemq_message_verbatim(), ACEMQ_E_STATE on others. */
ACEMQ_API void acemq_message_set_property(acemq_message *message, acemq_property property,
                                          const char *text);
ACEMQ_API void acemq_message_set_property_number(acemq_message *message, acemq_property property,
                                                 int64_t number);

ACEMQ_END

#endif
