/**
 * @file publisher.h
 * Publishing: confirmed, persistent and mandatory unless asked otherwise (section 11).
 *
 * A publish ends in one of five ways, and the status tells them apart: ACEMQ_OK (confirmed and
 * routed), ACEMQ_E_UNROUTABLE (the error has the broker's code and text), ACEMQ_E_NACKED,
 * ACEMQ_E_REFUSED (blocked and known to be, paused, or over the outstanding limit until the
 * timeout: nothing was sent) and ACEMQ_E_UNKNOWN_OUTCOME (the connection was lost, or no confirm
 * came within the timeout: it may or may not have arrived). Besides, before anything is sent:
 * ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_LIMIT, ACEMQ_E_RESERVED_HEADER, the message's own kept error,
 * ACEMQ_E_CLOSED, ACEMQ_E_FORKED, ACEMQ_E_OUT_OF_MEMORY. ACEMQ_E_CANCELLED when a cancel token
 * fired: then what was sent may or may not have arrived.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_PUBLISHER_H
#define ACEMQ_PUBLISHER_H

#include "connection.h"
#include "message.h"

ACEMQ_BEGIN

/** Publishes to one queue, through the default exchange, and waits for the confirm. Any thread,
 * handlers included; not from a callback of publishing (ACEMQ_E_FROM_HANDLER), like all that waits.
 * @param timeout 0: the client's */
ACEMQ_API acemq_status acemq_publish(acemq_connection *connection, const char *queue,
                                     const acemq_message *message, int64_t timeout,
                                     acemq_error **error);
/** The same to an exchange. */
ACEMQ_API acemq_status acemq_publish_to(acemq_connection *connection, const char *exchange,
                                        const char *routing_key, const acemq_message *message,
                                        int64_t timeout, acemq_error **error);

/** A publisher: where to, and with what promises. Thread-safe. Owned, freed with
 * acemq_publisher_free(). */
typedef struct acemq_publisher acemq_publisher;

/** Options of acemq_publisher_new(). */
typedef struct acemq_publisher_options {
    size_t size;
    /** NULL: the default exchange */
    const char *exchange;
    /** used where a call gives none; NULL: each call must */
    const char *routing_key;
    /** watched by this publisher's blocking calls; NULL: the client's */
    acemq_cancel *cancel;
    /** of publishes that give none; 0: the client's */
    int64_t timeout;
    /** 1: do not wait for confirms; a publish is done when it was written */
    int32_t unconfirmed;
    /** 1: not mandatory; a message that no queue takes is dropped by the broker */
    int32_t optional;
} acemq_publisher_options;

#define ACEMQ_PUBLISHER_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(acemq_publisher_options), 0, 0, 0, 0, 0, 0                                          \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_publisher_options_init(acemq_publisher_options *options, size_t size);

/** Makes one. @param options NULL: defaults. Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_LIMIT,
 * ACEMQ_E_CLOSED, ACEMQ_E_OUT_OF_MEMORY. */
ACEMQ_API acemq_status acemq_publisher_new(acemq_connection *connection,
                                           const acemq_publisher_options *options,
                                           acemq_publisher **publisher, acemq_error **error);
/** What was submitted goes on; its callbacks still run. */
ACEMQ_API void acemq_publisher_free(acemq_publisher *publisher);

/**
 * For programs that must not be held up: 1 when a publish of `bytes` bytes of body and headers,
 * begun or submitted now, would not wait for room, since there is some or since it fails at once;
 * 0 when as many are under way as the client's `outstanding` and `max_queued` allow. Any thread;
 * another one may take the room first.
 */
ACEMQ_API int acemq_publisher_has_room(const acemq_publisher *publisher, size_t bytes);

/**
 * One message, and wait. @param routing_key NULL: the publisher's. @param timeout 0: the
 * publisher's.
 * Errors: as of acemq_publish().
 */
ACEMQ_API acemq_status acemq_publisher_send(acemq_publisher *publisher, const char *routing_key,
                                            const acemq_message *message, int64_t timeout,
                                            acemq_error **error);

/** How a publish ended. From a thread of the library: must not block; may publish with
 * acemq_publisher_send_async(). `error` is NULL for ACEMQ_OK, and borrowed until the callback
 * returns. */
typedef void (*acemq_publish_callback)(acemq_status status, const acemq_error *error, void *user);

/**
 * One message, without waiting for the broker: it waits at most `timeout` for room in the window.
 * A failing return means that the callback is never called.
 * Errors: those that are known before it goes: ACEMQ_E_LIMIT, ACEMQ_E_REFUSED, ACEMQ_E_TIMEOUT,
 * ACEMQ_E_CLOSED, the message's own; the others go to the callback.
 */
ACEMQ_API acemq_status acemq_publisher_send_async(acemq_publisher *publisher,
                                                  const char *routing_key,
                                                  const acemq_message *message, int64_t timeout,
                                                  acemq_publish_callback callback, void *user,
                                                  acemq_error **error);
/** The same, ending in an event ACEMQ_EVENT_CONFIRM that carries `token`. ACEMQ_E_STATE when the
 * client keeps no such events. */
ACEMQ_API acemq_status acemq_publisher_submit(acemq_publisher *publisher, const char *routing_key,
                                              const acemq_message *message, int64_t timeout,
                                              int64_t token, acemq_error **error);

/** A publish under way. Owned, freed with acemq_receipt_free(), which does not take the publish
 * back. One thread at a time. */
typedef struct acemq_receipt acemq_receipt;

/** The same, with a receipt to wait for. Errors: as of acemq_publisher_send_async(). */
ACEMQ_API acemq_status acemq_publisher_begin(acemq_publisher *publisher, const char *routing_key,
                                             const acemq_message *message, int64_t timeout,
                                             acemq_receipt **receipt, acemq_error **error);
/** Waits for the end: the status of the publish, or ACEMQ_E_TIMEOUT when it is still under way
 * (wait again), ACEMQ_E_CANCELLED, or ACEMQ_E_FROM_HANDLER in a callback of publishing. */
ACEMQ_API acemq_status acemq_receipt_wait(acemq_receipt *receipt, int64_t timeout,
                                          acemq_error **error);
/** Ends the caller's hold; the publish goes on. NULL is fine. */
ACEMQ_API void acemq_receipt_free(acemq_receipt *receipt);

/**
 * A batch: everything goes out, as the window opens, before anything is awaited. Not atomic.
 * @param count     1 to 1 000 000
 * @param statuses  receives `count` statuses in the order of `messages`; may be NULL
 * @param errors    receives `count` errors, each owned, NULL where the status is ACEMQ_OK; may be
 * NULL
 * @return ACEMQ_OK when all were confirmed, else the status of the first that was not, with its
 * error.
 * Errors: as of acemq_publish(), of the first that failed.
 */
ACEMQ_API acemq_status acemq_publisher_send_batch(acemq_publisher *publisher,
                                                  const char *routing_key,
                                                  const acemq_message *const *messages,
                                                  size_t count, int64_t timeout,
                                                  acemq_status *statuses, acemq_error **errors,
                                                  acemq_error **error);

ACEMQ_END

#endif
