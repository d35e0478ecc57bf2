/*
 * Synchronous use of a link by another thread: declare, check, bind, purge, delete, get and settle,
 * one call at a time, each with a deadline and a cancel token. A session has a channel of its own,
 * so that an error of the broker (404, 406, 403) costs that channel and nothing else; the next call
 * opens another.
 *
 * A session is used by one thread at a time, never by a loop's thread. Deadlines are monotonic
 * milliseconds of the system's clock (ace_deadline_after()).
 */
#ifndef ACE_ENGINE_SESSION_H
#define ACE_ENGINE_SESSION_H

#include "base/error.h"
#include "engine/cancel.h"
#include "engine/link.h"
#include "wire/assembly.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ace_session ace_session;

/* What the answers carry, as plain values. */
typedef struct ace_reply {
    amqp_method_number_t id;
    uint32_t message_count;  /* queue.declare-ok, purge-ok, delete-ok */
    uint32_t consumer_count; /* queue.declare-ok */
    char name[256]; /* queue.declare-ok: the queue; basic.consume-ok and cancel-ok: the tag */
} ace_reply;

/* Sends nothing yet. ACE_OUT_OF_MEMORY, ACE_CLOSED (the link was closed). The link must outlive it.
 */
ace_code ace_session_new(ace_link *link, ace_session **session, ace_error **error);
/* Closes its channel; what it had not settled the broker puts back. NULL is fine. */
void ace_session_free(ace_session *session);

/* One synchronous method. `method` is the struct of `id`, borrowed for the call. `reply` may be
 * NULL. While the link is down it waits for it. ACE_NOT_FOUND, ACE_DIFFERS, ACE_ACCESS_REFUSED,
 * ACE_LOCKED, ACE_CHANNEL_CLOSED: the broker's answer, with its text and reply code.
 * ACE_CONNECTION_LOST: it may or may not have happened. ACE_TIMEOUT (the text says whether it was
 * sent), ACE_CANCELLED, ACE_CLOSED, and what ace_method_write() refuses (nothing was sent). */
ace_code ace_session_call(ace_session *session, amqp_method_number_t id, const void *method,
                          ace_reply *reply, int64_t deadline, ace_cancel *cancel,
                          ace_error **error);

/* basic.get without automatic acknowledgement. *content is the caller's; NULL when the queue is
 * empty (its result is ACE_OK). *opening says which opening of the channel the delivery tag belongs
 * to. A body over the settings' limit is not there (`skipped`). */
ace_code ace_session_get(ace_session *session, const char *queue, ace_content **content,
                         uint64_t *opening, int64_t deadline, ace_cancel *cancel,
                         ace_error **error);

/* Settling what was got. Returns when the method is queued for sending, which is at once.
 * ACE_STALE: the channel was lost since then and the broker has put the message back. */
ace_code ace_session_ack(ace_session *session, uint64_t opening, uint64_t tag, bool multiple,
                         ace_error **error);
ace_code ace_session_nack(ace_session *session, uint64_t opening, uint64_t tag, bool multiple,
                          bool requeue, ace_error **error);

/* A session for one call. */
ace_code ace_link_rpc(ace_link *link, amqp_method_number_t id, const void *method, ace_reply *reply,
                      int64_t deadline, ace_cancel *cancel, ace_error **error);

#endif
