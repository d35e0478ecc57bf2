/* What kind of queue a name stands for: AMQP has no question for it, so it is found out by
 * declaring the queue as another kind, which changes nothing and is refused. */
#ifndef ACE_PATTERNS_QUEUE_KIND_H
#define ACE_PATTERNS_QUEUE_KIND_H

#include "engine/session.h"

#include <stdbool.h>

typedef enum ace_queue_kind {
    ACE_QUEUE_KIND_UNKNOWN, /* the broker did not tell: no permission, a queue of another client */
    ACE_QUEUE_KIND_CLASSIC,
    ACE_QUEUE_KIND_QUORUM,
    ACE_QUEUE_KIND_STREAM,
} ace_queue_kind;

/* The queue must exist (ace_declare_queue_passively()). Only errors of the connection are errors.
 */
ace_code ace_queue_find_kind(ace_session *session, const char *queue, int64_t deadline,
                             ace_cancel *cancel, ace_queue_kind *kind, ace_error **error);

/* Does the name look like a rung's: `{queue}.retry.{delay}`, or that and `.durable`. */
bool ace_name_is_rung(const char *queue);

#endif
