/* The declarations of a plan, sent one by one: what applying a topology and looking at queues are
 * made of. */
#ifndef ACE_PATTERNS_DECLARE_H
#define ACE_PATTERNS_DECLARE_H

#include "contract/plan.h"
#include "engine/session.h"

#include <stdint.h>

/* The errors are those of ace_session_call(). */

/* The queue as it is: ACE_NOT_FOUND when it does not exist. Both counts may be NULL. */
ace_code ace_declare_queue_passively(ace_session *session, const char *queue, uint64_t *ready,
                                     uint64_t *consumers, int64_t deadline, ace_cancel *cancel,
                                     ace_error **error);

/* Gives back all that the session has got and not settled, to the places where it lay, and frees
 * the session. Returns when `expected` messages are ready in the queue again, at the deadline and
 * after five seconds at the latest, or when their number does not grow for half a second. It closes
 * the channel, which RabbitMQ does for ten thousand messages in a moment: a nack of them all takes
 * it half a minute. */
void ace_declare_give_back(ace_session *session, ace_link *link, const char *queue,
                           uint64_t expected, int64_t deadline);

/* Is the exchange or the queue there; ACE_NOT_FOUND when not. Never for a binding. */
ace_code ace_declare_passively(ace_session *session, const ace_declaration *declaration,
                               int64_t deadline, ace_cancel *cancel, ace_error **error);

/* Declares it, or binds. ACE_DIFFERS when it is there otherwise; nothing changed then. */
ace_code ace_declare(ace_session *session, const ace_declaration *declaration, int64_t deadline,
                     ace_cancel *cancel, ace_error **error);

#endif
