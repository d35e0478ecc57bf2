/*
 * A consumer of one queue, with the whole failure behaviour of section 6 of the contract. Push runs
 * a handler on threads made on demand; pull hands deliveries out of ace_consumer_next(). Both take
 * from one queue, and both settle the same way.
 *
 * The functions are thread-safe and may be called from a handler where nothing else is said, never
 * from a loop's thread. Deadlines are monotonic milliseconds of the system's clock
 * (ace_deadline_after()).
 */
#ifndef ACE_ENGINE_CONSUMER_H
#define ACE_ENGINE_CONSUMER_H

#include "base/error.h"
#include "base/handle.h"
#include "codec/codec.h"
#include "contract/policy.h"
#include "contract/settlement.h"
#include "engine/cancel.h"
#include "engine/claims.h"
#include "engine/connection.h"
#include "engine/delivery.h"
#include "engine/work.h"

#include <amqp.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_CONSUMER_MAGIC         ACE_MAGIC('C', 'S', 'M', 'R')
#define ACE_PREFETCH_BYTES_DEFAULT (INT64_C(64) * 1024 * 1024)
#define ACE_MEMBERS_MOST           1000

typedef struct acemq_consumer ace_consumer;

/* Handles one message, one at a time for one consumer, as many as there are members of a group. The
 * delivery is borrowed for the call. A value that is no outcome counts as ACE_FAILED. */
typedef ace_outcome ace_handler(ace_delivery *delivery, void *user);

/* What becomes of a message that its handler, or the way to it, has judged. */
typedef enum ace_review {
    ACE_REVIEW_SETTLE,   /* it is settled as it was judged */
    ACE_REVIEW_AGAIN,    /* once more from the start, with the same delivery */
    ACE_REVIEW_PUT_BACK, /* back to its queue, unchanged */
} ace_review;

/* Asked on the handler's thread, before the judgement counts; may take its time, and change `what`.
 */
typedef ace_review ace_reviewer(ace_delivery *delivery, ace_happening *what, void *user);

/* The states that events of kind ACE_EVENT_CONSUMER carry. */
typedef enum ace_consumer_state {
    ACE_CONSUMER_SUBSCRIBED = 1,
    ACE_CONSUMER_AWAY = 2,  /* the subscription was lost or could not be made; it is tried again */
    ACE_CONSUMER_ENDED = 3, /* by itself: the connection is gone for good */
} ace_consumer_state;

/* The states that events of kind ACE_EVENT_ORDER carry. */
typedef enum ace_order_state {
    ACE_ORDER_HALTED = 1, /* the partition, at a message that keeps its place */
    ACE_ORDER_GAP = 2,    /* a message was parked or skipped */
} ace_order_state;

typedef struct ace_consumer_options {
    const char *queue;             /* everything here is copied */
    const ace_policy *retry;       /* NULL: one attempt, then the dead letters */
    const ace_codec *codec;        /* retained; NULL: every body decodes */
    const amqp_table_t *arguments; /* of the subscription; NULL: none */
    const char *tag;               /* NULL: made up */
    int64_t prefetch;              /* 1 to 65535 */
    /* Bodies held here, in bytes; 0: no limit. RabbitMQ has no window by bytes, and of a quorum
     * queue the window by count is fixed when subscribing. So once more is held, the subscription
     * is cancelled, and made again when half of it is gone, with as small a count as the largest
     * body asks for. What the first window holds can pass the limit: with bodies of a megabyte and
     * more give a small prefetch too. */
    int64_t prefetch_bytes;
    int64_t acknowledgement_limit; /* ms the broker lets a delivery be unacknowledged; 0: for ever.
                                      Nothing is held here for more than 5/6 of it. */
    bool verify;                   /* look whether the consumer's set exists, declare nothing */
    bool requeue_on_failure;       /* without a policy, an ordinary failure goes straight back */
    bool exclusive;                /* nobody else may consume the queue */
    int32_t members; /* 0: a plain consumer; of a group: the receivers at a time, of which each
                        brings its own prefetch, up to the largest there is */
    ace_claim_options claims; /* NULL for its store: what comes twice is handled twice */
    ace_cancel *cancel;       /* one reference is kept, for ace_consumer_cancel(); NULL: none */
    /* For prefetch 1: nobody gets the next message before this one is done. It is not cancelled but
     * its channel closed, once nothing is in hand, since that alone makes a broker put back what it
     * has sent where it was, before another consumer gets more. */
    bool keeps_order;
    ace_reviewer *reviewer; /* with a handler alone, its `user`, and no claims; NULL: none */
    ace_handler *handler;   /* NULL: pull */
    void *user;             /* of the handler */
    /* Called once, with `user`, when no handler can run any more: by the last handler's thread, or
     * in ace_consumer_drain(), ace_consumer_close(), ace_consumer_release() or
     * ace_connection_close(). Not called when opening fails. May be NULL. */
    void (*destructor)(void *user);
    /* On the loop's thread, with `user`: the copy of a message for the dead letters or the parking
     * lot is confirmed, and nothing was counted yet. NULL: nobody asks. */
    void (*set_aside)(ace_delivery *delivery, bool parked, void *user);
    /* Called last of all, once, with `user`: nothing of the consumer is left. Not called when
     * opening fails. On any thread; may be NULL. */
    void (*freed)(void *user);
} ace_consumer_options;

void ace_consumer_options_init(ace_consumer_options *options); /* prefetch 50, 64 MiB, 30 minutes */

/* Declares what the consumer needs and subscribes; waits for that until `deadline`. On success
 * *consumer is one reference. ACE_NOT_FOUND (no such queue; with `verify` what else is missing),
 * ACE_DIFFERS, ACE_ACCESS_REFUSED, ACE_LOCKED: the text says which declaration. ACE_LIMIT,
 * ACE_INVALID_ARGUMENT (before anything is sent), what ace_policy_check() answers, ACE_TIMEOUT,
 * ACE_CANCELLED, ACE_CLOSED, ACE_SYSTEM, ACE_OUT_OF_MEMORY. */
ace_code ace_consumer_open(ace_connection *connection, const ace_consumer_options *options,
                           int64_t deadline, ace_cancel *cancel, ace_consumer **consumer,
                           ace_error **error);

/* The next delivery, one reference of the caller's. ACE_TIMEOUT, ACE_CANCELLED (also by a wake),
 * ACE_CLOSED, ACE_WRONG_THREAD (another thread is in here), ACE_STATE (push), and what ended the
 * consumer when it ended by itself. ACE_FROM_HANDLER where it would block a loop's thread. */
ace_code ace_consumer_next(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                           ace_delivery **delivery, ace_error **error);
/* Makes the call under way, or else the next one, return ACE_CANCELLED. */
void ace_consumer_wake(ace_consumer *consumer);
/* Readable while ace_consumer_next() would not wait, the consumer's; -1 in push mode. */
int ace_consumer_descriptor(const ace_consumer *consumer);

/* Takes no more work and puts back what was not begun; waits held here end at once. Then waits
 * until everything in hand is settled. ACE_TIMEOUT when something was left, ACE_CANCELLED,
 * ACE_CLOSED, ACE_FROM_HANDLER. */
ace_code ace_consumer_drain(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                            ace_error **error);

/* Paused it is not subscribed: what was not begun goes back, what is in hand is finished, waits
 * held here go on. Pulls wait. Each is queued when it returns; again is fine. ACE_CLOSED. */
ace_code ace_consumer_pause(ace_consumer *consumer, ace_error **error);
ace_code ace_consumer_resume(ace_consumer *consumer, ace_error **error);
bool ace_consumer_is_paused(const ace_consumer *consumer);

/* Another prefetch, of each member of a group: it is subscribed anew for that. 1 to 65535.
 * ACE_LIMIT, ACE_CLOSED. */
ace_code ace_consumer_set_prefetch(ace_consumer *consumer, int64_t prefetch, ace_error **error);
int64_t ace_consumer_prefetch(const ace_consumer *consumer);

/* Another number of members of a group. With fewer, waits until `deadline` for those removed to
 * finish what they are at; not from one of its handlers. ACE_TIMEOUT, ACE_CANCELLED: it has the new
 * number all the same, and whoever is too many goes after the message it is at. ACE_LIMIT,
 * ACE_CLOSED, ACE_STATE (a plain consumer). */
ace_code ace_consumer_scale(ace_consumer *consumer, int64_t members, int64_t deadline,
                            ace_cancel *cancel, ace_error **error);
int64_t ace_consumer_members(const ace_consumer *consumer); /* 0: a plain consumer */

/* What its receivers are at. */
void ace_consumer_list_work(ace_consumer *consumer, ace_work *work);
/* The same without waiting. What handlers and pullers hold is settled when they say so, as long as
 * the connection is open. ACE_CLOSED the second time. */
ace_code ace_consumer_close(ace_consumer *consumer, ace_error **error);
/* Gives a reference back; the caller's last use. It closes what was not closed. NULL is fine. */
void ace_consumer_release(ace_consumer *consumer);

typedef struct ace_consumer_counters {
    uint64_t acknowledged;
    uint64_t rejected;
    uint64_t retried;
    uint64_t dead_lettered;
    uint64_t parked;
    uint64_t duplicates;
    uint64_t in_flight;      /* delivered and not yet settled, waits included */
    uint64_t waiting;        /* of these, held here until their time */
    uint64_t delivered;      /* handed to a handler or out of ace_consumer_next() */
    uint64_t in_progress;    /* put back since somebody else had a live claim */
    uint64_t store_failures; /* put back since the store failed */
    uint64_t fenced;         /* handled, and the claim was somebody else's by then */
    uint64_t unconfirmed;    /* handled and acknowledged, and the store does not know it */
    uint64_t hops_failed;
    uint64_t rungs_missing;
} ace_consumer_counters;

void ace_consumer_count(const ace_consumer *consumer, ace_consumer_counters *counters);
bool ace_consumer_is_subscribed(const ace_consumer *consumer);
const char *ace_consumer_queue(const ace_consumer *consumer);
/* The token of the options, for calls that are given no other; borrowed, may be NULL. */
ace_cancel *ace_consumer_cancel(const ace_consumer *consumer);
/* Whether the calling thread is inside this consumer's handler. */
bool ace_consumer_is_current(const ace_consumer *consumer);

#endif
