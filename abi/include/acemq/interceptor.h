/**
 * @file interceptor.h
 * Hooks around every publish and every delivery of a client (section 12).
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Ownership: what is read from a call of a hook is borrowed for that call.
 */
#ifndef ACEMQ_INTERCEPTOR_H
#define ACEMQ_INTERCEPTOR_H

#include "connection.h"
#include "consumer.h"
#include "message.h"

ACEMQ_BEGIN

/**
 * An interceptor that was registered. Owned; acemq_interceptor_remove() takes it off and frees it.
 * It holds a reference on its client.
 *
 * Interceptors apply to every message of their client, publishers and consumers that were made
 * before included. Lower `order` first, ties in the order of registration; the hooks that come
 * after run in reverse. Registering and removing are fine at any time and from any thread, hooks
 * included: a message that is on its way meets those that were there when it came, and `destructor`
 * is called once the last of them has passed, on the thread that it passed on.
 *
 * Not met by: hops (retries, dead letters, put-backs), replays, verbatim messages; a delivery whose
 * body does not decode, a duplicate, and one whose claim somebody else holds.
 *
 * What a hook may call: everything on the message or delivery it is handed but settling that;
 * acemq_intercept_*(), acemq_interceptor_remove(). Inside hooks of consuming also everything that a
 * handler may, publishing included. Publishing from inside a hook of publishing is
 * ACEMQ_E_FROM_HANDLER, since it would meet itself; so is what waits, on the library's threads.
 */
typedef struct acemq_interceptor acemq_interceptor;

/** One call of one hook; borrowed for the call. One thread at a time. */
typedef struct acemq_interception acemq_interception;

/** Where the message goes, or came through: "" is the default exchange. */
ACEMQ_API const char *acemq_interception_exchange(const acemq_interception *call);
/** The routing key of the message. */
ACEMQ_API const char *acemq_interception_routing_key(const acemq_interception *call);
/**
 * Says why, before the hook answers that it failed; copied, the last one counts.
 * @param reason of one line
 */
ACEMQ_API void acemq_interception_fail(acemq_interception *call, const char *reason);
/**
 * Keeps something of the interceptor's own with this message, from `before` to the later hooks.
 * @param value the interceptor's own, never freed by the library
 */
ACEMQ_API void acemq_interception_keep(acemq_interception *call, void *value);
/** What was kept, the interceptor's own; NULL when nothing was. */
ACEMQ_API void *acemq_interception_kept(const acemq_interception *call);

/**
 * Hooks of publishing; any may be NULL. Start from ACEMQ_PUBLISH_INTERCEPTOR_INIT or
 * acemq_publish_interceptor_init(). They are called once each, and `confirmed` or `failed` exactly
 * once for a message whose `before` succeeded.
 *
 * Threads: `before` on the publishing thread. The others: of acemq_publish*(),
 * acemq_publisher_send() and send_batch() on the thread that publishes, before the call returns; of
 * acemq_publisher_submit() on the one that takes the event in acemq_connection_next_event(); of a
 * receipt on the one that learns the result from it; else (send_async(), a receipt that was freed
 * before its result) on a thread of the library that must not be held up.
 */
typedef struct acemq_publish_interceptor {
    size_t size;
    /** for messages; copied; NULL: unnamed */
    const char *name;
    /** default 0 */
    int64_t order;
    /** `message` is a copy of what is published: its setters change what goes out, the
     * application's own stays as it was. It has its id by now. Anything but 0 refuses: nothing is
     * sent, and the publish ends as ACEMQ_E_REFUSED with the reason given. */
    int (*before)(acemq_interception *call, acemq_message *message, void *user);
    /** Confirmed and routed (with confirms off: written). Anything but 0 is logged. */
    int (*confirmed)(acemq_interception *call, const acemq_message *message, void *user);
    /** Anything else became of it; `error` is borrowed. Anything but 0 is logged. */
    int (*failed)(acemq_interception *call, const acemq_message *message, const acemq_error *error,
                  void *user);
    void *user;
    /** NULL: none */
    acemq_destructor destructor;
} acemq_publish_interceptor;

#define ACEMQ_PUBLISH_INTERCEPTOR_INIT                                                             \
    {                                                                                              \
        sizeof(acemq_publish_interceptor), 0, 0, 0, 0, 0, 0, 0                                     \
    }

/**
 * Fills *interceptor with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of
 * the first release.
 */
ACEMQ_API acemq_status acemq_publish_interceptor_init(acemq_publish_interceptor *interceptor,
                                                      size_t size);

/** What `after` is told of a delivery that was put back unchanged. */
#define ACEMQ_OUTCOME_PUT_BACK (-1)

/**
 * Hooks of consuming; any may be NULL. Start from ACEMQ_CONSUME_INTERCEPTOR_INIT or
 * acemq_consume_interceptor_init().
 *
 * Threads: in push mode the handler's; in pull mode `before` on the one in acemq_consumer_next(),
 * the others on the one that settles.
 */
typedef struct acemq_consume_interceptor {
    size_t size;
    /** for messages; copied; NULL: unnamed */
    const char *name;
    /** default 0 */
    int64_t order;
    /** Before the handler. ACEMQ_ACCEPTED goes on; ACEMQ_REJECTED sends the message to `.dlq` at
     * once; ACEMQ_FAILED and anything else fails it: it is tried again as the policy says. The
     * handler does not run then. acemq_delivery_change_*() are allowed in here. */
    acemq_outcome (*before)(acemq_interception *call, acemq_delivery *delivery, void *user);
    /** After the handler, whatever it said, where `before` succeeded. `outcome` is an acemq_outcome
     * or ACEMQ_OUTCOME_PUT_BACK. Anything but 0 is logged and changes nothing. */
    int (*after)(acemq_interception *call, const acemq_delivery *delivery, int outcome, void *user);
    /** In front of `after`, when the handler or a later interceptor failed or rejected it. `reason`
     * may be NULL. Anything but 0 is logged. */
    int (*failed)(acemq_interception *call, const acemq_delivery *delivery, int outcome,
                  const char *reason, void *user);
    void *user;
    /** NULL: none */
    acemq_destructor destructor;
} acemq_consume_interceptor;

#define ACEMQ_CONSUME_INTERCEPTOR_INIT                                                             \
    {                                                                                              \
        sizeof(acemq_consume_interceptor), 0, 0, 0, 0, 0, 0, 0                                     \
    }

/**
 * Fills *interceptor with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of
 * the first release.
 */
ACEMQ_API acemq_status acemq_consume_interceptor_init(acemq_consume_interceptor *interceptor,
                                                      size_t size);

/**
 * Registers one.
 * @param interceptor owned; NULL: it stays until the client ends
 * Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_CLOSED, ACEMQ_E_FORKED, ACEMQ_E_OUT_OF_MEMORY; the
 * destructor is not called then.
 */
ACEMQ_API acemq_status acemq_intercept_publishing(acemq_connection *connection,
                                                  const acemq_publish_interceptor *hooks,
                                                  acemq_interceptor **interceptor,
                                                  acemq_error **error);
/** The same for deliveries: registers hooks of consuming. */
ACEMQ_API acemq_status acemq_intercept_consuming(acemq_connection *connection,
                                                 const acemq_consume_interceptor *hooks,
                                                 acemq_interceptor **interceptor,
                                                 acemq_error **error);
/** Takes it off and frees it: messages that come from here on do not meet it. */
ACEMQ_API void acemq_interceptor_remove(acemq_interceptor *interceptor);

/**
 * Changes the envelope of a delivery, only from inside its `before` hook: the handler sees it, and
 * it travels on every hop. Id, attempt and first-seen cannot be changed. Copied; NULL or "" unsets
 * causation and origin. What acemq_delivery_envelope() and acemq_delivery_pack() gave before is
 * freed by it. @param type what it is instead.
 * Errors: ACEMQ_E_STATE elsewhere, ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_delivery_change_type(acemq_delivery *delivery, const char *type,
                                                  acemq_error **error);
/** The version instead, from 1; where and how as acemq_delivery_change_type(). */
ACEMQ_API acemq_status acemq_delivery_change_version(acemq_delivery *delivery, int32_t version,
                                                     acemq_error **error);
/** The `correlation` instead; where and how as acemq_delivery_change_type(). */
ACEMQ_API acemq_status acemq_delivery_change_correlation(acemq_delivery *delivery,
                                                         const char *correlation,
                                                         acemq_error **error);
/** The `causation` instead, NULL or "" for none; where and how as acemq_delivery_change_type(). */
ACEMQ_API acemq_status acemq_delivery_change_causation(acemq_delivery *delivery,
                                                       const char *causation, acemq_error **error);
/** The `origin` instead, NULL or "" for none; where and how as acemq_delivery_change_type(). */
ACEMQ_API acemq_status acemq_delivery_change_origin(acemq_delivery *delivery, const char *origin,
                                                    acemq_error **error);

ACEMQ_END

#endif
