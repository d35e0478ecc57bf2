/**
 * @file consumer.h
 * Consuming one queue, with the whole failure behaviour of section 6.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_CONSUMER_H
#define ACEMQ_CONSUMER_H

#include "codec.h"
#include "connection.h"
#include "delivery.h"
#include "idempotency.h"
#include "policy.h"
#include "work.h"

ACEMQ_BEGIN

/** A consumer. Thread-safe, but one thread at a time in acemq_consumer_next(): a second gets
 * ACEMQ_E_WRONG_THREAD. Owned, freed with acemq_consumer_free(). */
typedef struct acemq_consumer acemq_consumer;

/** How the consumer's queues come to be (section 4). */
typedef enum acemq_declare {
    /** the consumer declares its set before every subscription */
    ACEMQ_DECLARE_YES = 0,
    /** it only checks passively, and refuses to start when something is missing */
    ACEMQ_DECLARE_VERIFY = 1
} acemq_declare;

/**
 * Derives a message's key for its idempotency store, on the thread that is to handle it, or that is
 * in acemq_consumer_next(). It writes at most `size` bytes, with a NUL, and returns the length of
 * the whole key, as snprintf() does; one that is longer than 255 bytes, empty or not UTF-8 makes
 * the message unprocessable. A negative value fails the message: it is retried as the policy says.
 */
typedef int (*acemq_claim_key)(acemq_delivery *delivery, char *key, size_t size, void *user);

/** Options of acemq_consume() and acemq_consumer_open(). */
typedef struct acemq_consumer_options {
    size_t size;
    /** copied; NULL: one attempt, then `.dlq` */
    const acemq_policy *retry;
    /** NULL: bytes */
    const acemq_codec *codec;
    /** of the subscription; copied */
    const acemq_table *arguments;
    /** NULL: made up. Copied */
    const char *tag;
    /** watched by this consumer's blocking calls; NULL: the client's */
    acemq_cancel *cancel;
    /** for opening, in ms; default 30 s */
    int64_t timeout;
    /** bytes of bodies held here before the broker is held off; default 64 MiB, 0: no limit. What
     * it still sends beyond twice that and one body goes back to the queue unread. */
    int64_t prefetch_bytes;
    /** how long the broker lets a delivery be unacknowledged; default 30 minutes, 0: for ever */
    int64_t acknowledgement_limit;
    /** 1 to 65535; default 50 */
    int32_t prefetch;
    /** acemq_declare; default ACEMQ_DECLARE_YES */
    int32_t declare;
    /** 1: without a policy, a failed message goes back to its queue, after 1 s doubling to 30 s;
     * default 0 */
    int32_t requeue_on_failure;
    /** 1: nobody else may consume the queue; default 0 */
    int32_t exclusive;
    /** claims before a message is handled, so that what comes twice is handled once (section 9);
     * the consumer keeps a reference. It serves one queue: attaching it to a second one without a
     * key is refused. NULL: none */
    acemq_idempotency *idempotency;
    /** of a claim, in ms; default 5 minutes */
    int64_t lease;
    /** how long a message waits here, before it goes back to its queue unchanged, when somebody
     * else has a live claim; default 5 s */
    int64_t put_back_wait;
    /** derives the key; NULL: the id of the envelope */
    acemq_claim_key claim_key;
    /** what `claim_key` is called with; outlives the consumer */
    void *claim_key_user;
    /** 1: a claim is renewed at each third of its lease, until the message is settled; default 0 */
    int32_t renew;
    /** 0 */
    int32_t reserved_claims;
} acemq_consumer_options;

#define ACEMQ_CONSUMER_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(acemq_consumer_options), 0, 0, 0, 0, 0, 30000, 67108864, 1800000, 50, 0, 0, 0, 0,   \
            300000, 5000, 0, 0, 0, 0                                                               \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_consumer_options_init(acemq_consumer_options *options, size_t size);

/**
 * Handles one message, on a thread of the library, one at a time for one consumer. It may publish,
 * settle nothing, and take its time: the connection lives without it. What it returns is carried
 * out (section 6); a value that is none of the four counts as ACEMQ_FAILED. The delivery is
 * borrowed until it returns.
 */
typedef acemq_outcome (*acemq_handler)(acemq_delivery *delivery, void *user);

/**
 * A message whose body is over the connection's max_body meets no handler: it is not read, an error
 * is logged (and told as ACEMQ_EVENT_SETTLE_FAILED), and it is held beside the prefetch until the
 * consumer closes or five sixths of acknowledgement_limit are over, and then put back.
 *
 * Push: declares what the consumer needs, subscribes, and runs `handler` for each message until
 * closed. It comes back by itself after a loss.
 * @param options    NULL: defaults
 * @param destructor called once with `user` when no handler can run any more; not when this call
 *                   fails; may be NULL
 * @param consumer   owned
 * Errors: ACEMQ_E_NOT_FOUND (no such queue), ACEMQ_E_DIFFERS, ACEMQ_E_ACCESS_REFUSED (the message
 * says which declaration), ACEMQ_E_LIMIT, ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_LOCKED,
 * ACEMQ_E_TIMEOUT, ACEMQ_E_CANCELLED, ACEMQ_E_CLOSED, the policy's own.
 */
ACEMQ_API acemq_status acemq_consume(acemq_connection *connection, const char *queue,
                                     const acemq_consumer_options *options, acemq_handler handler,
                                     void *user, acemq_destructor destructor,
                                     acemq_consumer **consumer, acemq_error **error);

/** Pull: the same, but messages are taken with acemq_consumer_next(). */
ACEMQ_API acemq_status acemq_consumer_open(acemq_connection *connection, const char *queue,
                                           const acemq_consumer_options *options,
                                           acemq_consumer **consumer, acemq_error **error);

/**
 * The next delivery; several may be unsettled at once. @param delivery owned.
 * Errors: ACEMQ_E_TIMEOUT (none came), ACEMQ_E_CANCELLED (woken or cancelled), ACEMQ_E_CLOSED,
 * ACEMQ_E_WRONG_THREAD, ACEMQ_E_STATE in push mode, ACEMQ_E_FROM_HANDLER in a callback of
 * publishing; what ended the consumer, when it ended by itself.
 */
ACEMQ_API acemq_status acemq_consumer_next(acemq_consumer *consumer, int64_t timeout,
                                           acemq_delivery **delivery, acemq_error **error);
/** Makes the acemq_consumer_next() under way, or else the next one, return ACEMQ_E_CANCELLED. Any
 * thread. */
ACEMQ_API void acemq_consumer_wake(acemq_consumer *consumer);
/** Readable while acemq_consumer_next() would not wait; the library's, never to be read or closed.
 * -1 in push mode. */
ACEMQ_API int acemq_consumer_fd(const acemq_consumer *consumer);

/**
 * Takes no more work, puts back what was not begun, and waits until all in hand is settled, waits
 * held here ended early (section 6).
 * @param finished 1 when nothing was left; may be NULL
 * Errors: ACEMQ_E_TIMEOUT when something was left (it is delivered again once the consumer is
 * closed), ACEMQ_E_CANCELLED, ACEMQ_E_CLOSED, ACEMQ_E_FROM_HANDLER.
 */
ACEMQ_API acemq_status acemq_consumer_drain(acemq_consumer *consumer, int64_t timeout,
                                            int *finished, acemq_error **error);
/** Cancels the subscription without waiting for handlers; what they hold is settled when they
 * return, if the client is still open. From a handler: fine. */
ACEMQ_API acemq_status acemq_consumer_close(acemq_consumer *consumer, acemq_error **error);
/** Ends the caller's hold; closes first. */
ACEMQ_API void acemq_consumer_free(acemq_consumer *consumer);

/**
 * Paused, a consumer is not subscribed: what was not begun goes back to the queue, for others to
 * have; what is in hand is finished and settled; waits held here go on. acemq_consumer_next()
 * waits. Again is fine. From a handler: fine. Errors: ACEMQ_E_CLOSED.
 */
ACEMQ_API acemq_status acemq_consumer_pause(acemq_consumer *consumer, acemq_error **error);
/** Subscribes again. Again is fine. From a handler: fine. Errors: ACEMQ_E_CLOSED. */
ACEMQ_API acemq_status acemq_consumer_resume(acemq_consumer *consumer, acemq_error **error);
/** 1 while paused. */
ACEMQ_API int acemq_consumer_paused(const acemq_consumer *consumer);
/**
 * Another prefetch, 1 to 65535, while it runs: it subscribes anew, since a quorum queue fixes its
 * window when subscribing; what was delivered stays in hand. From a handler: fine. Errors:
 * ACEMQ_E_LIMIT, ACEMQ_E_CLOSED.
 */
ACEMQ_API acemq_status acemq_consumer_set_prefetch(acemq_consumer *consumer, int64_t prefetch,
                                                   acemq_error **error);
/** As it is now; 0 for a handle that is none. */
ACEMQ_API int64_t acemq_consumer_prefetch(const acemq_consumer *consumer);
/** What its handler, or the threads that pulled, have in hand now; owned, freed with
 * acemq_work_free(). */
ACEMQ_API acemq_status acemq_consumer_get_work(const acemq_consumer *consumer, acemq_work **work,
                                               acemq_error **error);

/** Counted since the consumer was made. Set size to sizeof(acemq_consumer_counters). */
typedef struct acemq_consumer_counters {
    size_t size;
    /** handled well */
    uint64_t acknowledged;
    /** dead-lettered at once, as unprocessable */
    uint64_t rejected;
    /** tried again later, each time counted */
    uint64_t retried;
    /** set aside, their attempts used up */
    uint64_t dead_lettered;
    /** set aside unread, or since a handler said so */
    uint64_t parked;
    /** acknowledged unhandled, since they were handled before */
    uint64_t duplicates;
    /** delivered and not yet settled, waits included */
    uint64_t in_flight;
    /** of these, held here until their time */
    uint64_t waiting;
    /** handed to a handler or to acemq_consumer_next() */
    uint64_t delivered;
    /** hops that had to be repeated */
    uint64_t hops_failed;
    /** hops returned because the rung was gone */
    uint64_t rungs_missing;
    /** put back since somebody else had a live claim */
    uint64_t in_progress;
    /** put back since the idempotency store failed */
    uint64_t store_failures;
    /** handled, and by then the claim was somebody else's: perhaps handled twice */
    uint64_t fenced;
    /** handled and acknowledged, but the idempotency store could not be told */
    uint64_t unconfirmed;
} acemq_consumer_counters;
/**
 * What it has done so far; also after it was closed.
 * @param counters its size set
 */
ACEMQ_API acemq_status acemq_consumer_get_counters(const acemq_consumer *consumer,
                                                   acemq_consumer_counters *counters,
                                                   acemq_error **error);
/** 1 while subscribed, 0 while the connection is away or the consumer ended. */
ACEMQ_API int acemq_consumer_subscribed(const acemq_consumer *consumer);

ACEMQ_END

#endif
