/**
 * @file queue.h
 * Looking at queues: counts, and messages as they lie there.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_QUEUE_H
#define ACEMQ_QUEUE_H

#include "connection.h"
#include "delivery.h"

ACEMQ_BEGIN

/** Messages ready and consumers of a queue; either pointer may be NULL. Errors: ACEMQ_E_NOT_FOUND,
 * ACEMQ_E_ACCESS_REFUSED, those of the connection. */
ACEMQ_API acemq_status acemq_queue_count(acemq_connection *connection, const char *queue,
                                         int64_t timeout, uint64_t *ready, uint64_t *consumers,
                                         acemq_error **error);

/**
 * Throws the ready messages of a queue away; deliveries that are unacknowledged stay.
 * @param messages how many there were; may be NULL
 * Errors: ACEMQ_E_NOT_FOUND, ACEMQ_E_ACCESS_REFUSED, those of the connection.
 */
ACEMQ_API acemq_status acemq_queue_purge(acemq_connection *connection, const char *queue,
                                         int64_t timeout, uint64_t *messages, acemq_error **error);

/**
 * Deletes a queue with all that lies in it; its consumers are cancelled. A queue that does not
 * exist is as good as deleted: ACEMQ_OK and 0 messages.
 * @param messages how many lay in it; may be NULL
 * Errors: ACEMQ_E_ACCESS_REFUSED, ACEMQ_E_LOCKED (another client's own), those of the connection.
 */
ACEMQ_API acemq_status acemq_queue_delete(acemq_connection *connection, const char *queue,
                                          int64_t timeout, uint64_t *messages, acemq_error **error);

/**
 * Looks through a queue from its head. What it has read is held, and put back in its order when the
 * browser is freed; the broker marks it redelivered. One thread at a time. Owned, freed with
 * acemq_browser_free().
 */
typedef struct acemq_browser acemq_browser;

/** Options of acemq_browser_open(). */
typedef struct acemq_browser_options {
    size_t size;
    /** NULL: the client's */
    acemq_cancel *cancel;
    /** messages held at most; default 10 000 */
    int64_t max;
    /** for each step; default 30 s */
    int64_t timeout;
    /** 1: browse a quorum queue too, though each look counts as a delivery towards its limit. */
    int32_t force;
    /** 0 */
    int32_t reserved;
} acemq_browser_options;

#define ACEMQ_BROWSER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(acemq_browser_options), 0, 10000, 30000, 0, 0                                       \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_browser_options_init(acemq_browser_options *options, size_t size);

/** Opens one. Errors: ACEMQ_E_NOT_FOUND; ACEMQ_E_STATE for a rung (putting back would start its
 * wait anew) and, without `force`, for a quorum queue. */
ACEMQ_API acemq_status acemq_browser_open(acemq_connection *connection, const char *queue,
                                          const acemq_browser_options *options,
                                          acemq_browser **browser, acemq_error **error);
/** The next message, or NULL in *delivery at the queue's end; borrowed until the browser is freed.
 * Errors: ACEMQ_E_LIMIT past `max`, and for a message whose body is over the connection's max_body,
 * which the next call passes over; those of the connection. */
ACEMQ_API acemq_status acemq_browser_next(acemq_browser *browser, const acemq_delivery **delivery,
                                          acemq_error **error);
/** Takes the message that was read last off the queue for good. */
ACEMQ_API acemq_status acemq_browser_remove(acemq_browser *browser, acemq_error **error);
/** Puts back what was not removed. */
ACEMQ_API void acemq_browser_free(acemq_browser *browser);

ACEMQ_END

#endif
