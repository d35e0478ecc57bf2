/* A message of the ABI on its way into the engine. */
#ifndef ACE_DOOR_MESSAGE_H
#define ACE_DOOR_MESSAGE_H

#include "acemq/message.h"
#include "contract/envelope.h"
#include "contract/table.h"
#include "engine/connection.h"
#include "engine/publisher.h"

#include <stdatomic.h>

/* A body that a message and the publishes made of it share: asynchronous ones outlive the message
 * without a copy of its bytes. */
typedef struct ace_body {
    atomic_uint references;
    void *block; /* what it lies in, freed with the last reference: the message it was made with */
    size_t length;
    uint8_t data[];
} ace_body;

ace_body *ace_body_keep(ace_body *body);
void ace_body_release(ace_body *body); /* NULL is fine */

/* The texts of a message, each malloc'd but for a short type; NULL: not set. */
typedef enum ace_message_text {
    ACE_TEXT_ID,
    ACE_TEXT_TYPE,
    ACE_TEXT_CORRELATION,
    ACE_TEXT_CAUSATION,
    ACE_TEXT_ORIGIN,
    ACE_TEXT_ROUTE,
    ACE_TEXT_ROUTE_ID,
    ACE_TEXT_CONTENT_TYPE,
    ACE_TEXT_REPLY_TO,
    /* Of a verbatim message alone. */
    ACE_TEXT_CONTENT_ENCODING,
    ACE_TEXT_CORRELATION_ID,
    ACE_TEXT_EXPIRATION,
    ACE_TEXT_MESSAGE_ID,
    ACE_TEXT_TYPE_PROPERTY,
    ACE_TEXT_USER_ID,
    ACE_TEXT_APP_ID,
    ACE_TEXT_COUNT
} ace_message_text;

#define ACE_SHORT_TYPE 48 /* with its NUL: most are, and nearly every message has one */

struct acemq_message {
    ace_error *error; /* the first; NULL */
    ace_body *body;
    bool verbatim;
    ace_table headers;
    char *texts[ACE_TEXT_COUNT];
    char short_type[ACE_SHORT_TYPE]; /* where the type lies that fits */
    bool owns_texts;                 /* there may be others to free */
    const char *usual_type; /* the content type it was made with, not owned; NULL: another */
    ace_bytes *route;       /* into the route's text */
    size_t route_length;
    int32_t route_position;
    int32_t version;
    int priority;       /* -1: none */
    int64_t expiration; /* ms; -1: none */
    bool transient;
    int64_t timestamp; /* of a verbatim message, seconds; -1: none */
};

/* NULL: no memory. The body is shared. */
acemq_message *ace_message_copy(const acemq_message *message);

/* What a builder keeps: the first error, which is taken over, or one made here that names the
 * field. */
void ace_message_keep(acemq_message *message, ace_error *error);
void ace_message_fail(acemq_message *message, ace_code code, const char *field, const char *why);
/* NULL and "" unset it. False: not set, and why is kept. */
bool ace_message_set_text(acemq_message *message, ace_message_text which, const char *field,
                          const char *text);

/* The envelope that a publish of the message writes. `new_id` is room for one, drawn from `random`
 * where the message has none; it must outlive the envelope, like the message. */
void ace_message_envelope(const acemq_message *message, const char *routing_key, ace_random *random,
                          int64_t now, char new_id[ACE_UUID_LENGTH + 1], ace_envelope *envelope);

/* Encodes and measures the message, without changing it, for this connection and target. The
 * publish borrows the body; the caller keeps it alive. */
ace_code ace_message_encode(const acemq_message *message, const ace_connection *connection,
                            const char *exchange, const char *routing_key, bool mandatory,
                            ace_publish *publish, ace_error **error);

#endif
