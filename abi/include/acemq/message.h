/**
 * @file message.h
 * A message to publish.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: NULL when memory is gone, where a message is returned; all else is kept by the message,
 * and reported by the call that publishes it.
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
/** Frees it. What was published of it goes on. NULL is fine. */
ACEMQ_API void acemq_message_free(acemq_message *message);
/** The error that was kept, if any. Errors: that one. */
ACEMQ_API acemq_status acemq_message_check(const acemq_message *message, acemq_error **error);

/* The envelope. NULL or "" unsets a text. */
/** `id`; default: a new UUID */
ACEMQ_API void acemq_message_set_id(acemq_message *message, const char *id);
/** `type`; default: routing key */
ACEMQ_API void acemq_message_set_type(acemq_message *message, const char *type);
/** `version`, from 1; default 1 */
ACEMQ_API void acemq_message_set_version(acemq_message *message, int32_t version);
/** `correlation`; default: id */
ACEMQ_API void acemq_message_set_correlation(acemq_message *message, const char *correlation);
/** `causation`, the id of what caused it; default: none */
ACEMQ_API void acemq_message_set_causation(acemq_message *message, const char *causation);
/** `origin`; default: `acemq@` and the host's name */
ACEMQ_API void acemq_message_set_origin(acemq_message *message, const char *origin);
/** Correlation and causation from the message being handled (section 2, `causing`), and its trace
 * context (`traceparent`, `tracestate`) where this one has none of its own. */
ACEMQ_API void acemq_message_caused_by(acemq_message *message, const acemq_delivery *parent);
/** A declared route: `steps` are names joined by commas, the position counts from 0, and `route_id`
 * is its id (NULL: none). */
ACEMQ_API void acemq_message_set_route(acemq_message *message, const char *steps, int32_t position,
                                       const char *route_id);

/* Reading it again, as it was set: NULL, and 1 for the version, where nothing was. Borrowed until
 * the message is changed or freed. */
/** Its id; NULL: a new one each time it is published. */
ACEMQ_API const char *acemq_message_id(const acemq_message *message);
/** Its type; NULL: the routing key. */
ACEMQ_API const char *acemq_message_type(const acemq_message *message);
/** Its version. */
ACEMQ_API int32_t acemq_message_version(const acemq_message *message);
/** Its correlation; NULL: its id. */
ACEMQ_API const char *acemq_message_correlation(const acemq_message *message);
/** What caused it. */
ACEMQ_API const char *acemq_message_causation(const acemq_message *message);
/** Who sends it; NULL: `acemq@` and the host's name. */
ACEMQ_API const char *acemq_message_origin(const acemq_message *message);
/** The content type of its body. */
ACEMQ_API const char *acemq_message_content_type(const acemq_message *message);
/** The application's headers. */
ACEMQ_API const acemq_table *acemq_message_headers(const acemq_message *message);
/** Its body as it is sent. */
ACEMQ_API acemq_bytes acemq_message_body(const acemq_message *message);

/* The application's headers. `x-acemq-` names are refused: ACEMQ_E_RESERVED_HEADER. */
/** A header `name` that is the text `text`. */
ACEMQ_API void acemq_message_set_header(acemq_message *message, const char *name, const char *text);
/** A header `name` that is `number`, an int64. */
ACEMQ_API void acemq_message_set_header_int64(acemq_message *message, const char *name,
                                              int64_t number);
/** A header `name` that is `number`, a double. */
ACEMQ_API void acemq_message_set_header_double(acemq_message *message, const char *name,
                                               double number);
/** A header `name` that is true where `value` is not 0. */
ACEMQ_API void acemq_message_set_header_bool(acemq_message *message, const char *name, int value);
/** A header `name` with the `value` of another table, and its kind. */
ACEMQ_API void acemq_message_set_header_value(acemq_message *message, const char *name,
                                              const acemq_value *value);
/** Adds all of `headers`. */
ACEMQ_API void acemq_message_set_headers(acemq_message *message, const acemq_table *headers);

/* Properties. */
/** What the body is, `content_type`. */
ACEMQ_API void acemq_message_set_content_type(acemq_message *message, const char *content_type);
/** Where an answer is wanted, `reply_to`. */
ACEMQ_API void acemq_message_set_reply_to(acemq_message *message, const char *reply_to);
/** `priority`, 0 to 255 */
ACEMQ_API void acemq_message_set_priority(acemq_message *message, int priority);
/** Gone from its queue after so many `milliseconds`, 0 to 2^32 - 1. */
ACEMQ_API void acemq_message_set_expiration(acemq_message *message, int64_t milliseconds);
/** delivery mode 1 */
ACEMQ_API void acemq_message_set_transient(acemq_message *message);
/** Any other property, `text`; only for acemq_message_verbatim(), ACEMQ_E_STATE on others. */
ACEMQ_API void acemq_message_set_property(acemq_message *message, acemq_property property,
                                          const char *text);
/** The same for a property that is a `number`. */
ACEMQ_API void acemq_message_set_property_number(acemq_message *message, acemq_property property,
                                                 int64_t number);

ACEMQ_END

#endif
