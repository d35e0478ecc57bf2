/* A publish that interceptors look at: the copy of its message that they may change, and what they
 * are told when it ends. */
#ifndef ACE_DOOR_OUTGOING_H
#define ACE_DOOR_OUTGOING_H

#include "engine/interceptor.h"
#include "message.h"

typedef struct ace_outgoing {
    acemq_message *message; /* what goes out */
    char *exchange;
    char *routing_key;
    ace_passage passage;
    ace_code code; /* the result, once it is known */
    ace_error *error;
} ace_outgoing;

/* Runs the `before` hooks. *outgoing stays NULL where nobody intercepts. When one refuses, those
 * that had it are told, and nothing is left. ACE_REFUSED, ACE_OUT_OF_MEMORY. */
ace_code ace_outgoing_begin(ace_connection *connection, const char *exchange,
                            const char *routing_key, const acemq_message *message,
                            ace_outgoing **outgoing, ace_error **error);
/* Runs the hooks that come after, and frees it. `error` is copied before; NULL is fine for all. */
void ace_outgoing_end(ace_outgoing *outgoing, ace_code code, const ace_error *error);
/* The same in two steps, for whom a later thread runs them. */
void ace_outgoing_ended(ace_outgoing *outgoing, ace_code code, const ace_error *error);
void ace_outgoing_tell(void *outgoing);

/* ACE_FROM_HANDLER inside a hook of publishing. */
ace_code ace_outgoing_check(ace_error **error);

#endif
