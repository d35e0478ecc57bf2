/**
 * @file metrics.h
 * Counting and timing, under the names that all AceMQ libraries share (section 15).
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Ownership: what is read from an observation is borrowed as it is.
 */
#ifndef ACEMQ_METRICS_H
#define ACEMQ_METRICS_H

#include "error.h"

ACEMQ_BEGIN

struct acemq_connection;

/**
 * A registry: it counts and times what happens on the clients it watches, for Prometheus, for an
 * observer, or both. A client that no registry watches spends nothing on it. Thread-safe. Owned,
 * freed with acemq_metrics_free(); the clients hold references of their own.
 *
 * Labels are names of exchanges, queues, routing keys and rungs, and outcomes: never ids or
 * reasons. Of each metric there are at most `series_limit` combinations; what would be one more
 * counts with `_other` in the place of each name, so that a routing key a message does not fill the
 * memory.
 */
typedef struct acemq_metrics acemq_metrics;

/** How a metric is to be read. */
typedef enum acemq_metric_kind {
    ACEMQ_METRIC_COUNTER = 1,     /**< value: what it grew by */
    ACEMQ_METRIC_GAUGE = 2,       /**< value: what it is now */
    ACEMQ_METRIC_DURATION = 3,    /**< value: seconds */
    ACEMQ_METRIC_DISTRIBUTION = 4 /**< value: a number without a unit */
} acemq_metric_kind;

/** One thing that was counted or timed; immutable, any thread. Borrowed from an event until that is
 * freed, or for the call of an observer. */
typedef struct acemq_observation acemq_observation;

/** As section 15 has it, with dots: `acemq.consume.total`; static. */
ACEMQ_API const char *acemq_observation_name(const acemq_observation *observation);
/** How its value is to be read. */
ACEMQ_API acemq_metric_kind acemq_observation_kind(const acemq_observation *observation);
/** What was counted or timed, as its kind says. */
ACEMQ_API double acemq_observation_value(const acemq_observation *observation);
/** How many labels it has. */
ACEMQ_API size_t acemq_observation_label_count(const acemq_observation *observation);
/** As section 15 has it, with dots: `routing.key`. NULL past the end. */
ACEMQ_API const char *acemq_observation_label(const acemq_observation *observation, size_t index);
/** Borrowed as the observation is. NULL past the end. */
ACEMQ_API const char *acemq_observation_label_value(const acemq_observation *observation,
                                                    size_t index);

/** Called for each observation, on a thread of the library that must not be held up, or on the one
 * that publishes or settles. The observation is borrowed for the call. It may read and free
 * handles, and call nothing that waits. */
typedef void (*acemq_metrics_observer)(const acemq_observation *observation, void *user);

/** Options of acemq_metrics_watch(). */
typedef struct acemq_metrics_options {
    size_t size;
    /** for each metric; default 1000, 1 to 1 000 000 */
    int64_t series_limit;
    /** NULL: none */
    acemq_metrics_observer observer;
    void *user;
    /** with `user`, when the last reference is gone, on that thread; NULL: none */
    acemq_destructor destructor;
} acemq_metrics_options;

#define ACEMQ_METRICS_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(acemq_metrics_options), 1000, 0, 0, 0                                               \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_metrics_options_init(acemq_metrics_options *options, size_t size);

/** A registry that watches nothing yet. `options` NULL: defaults. Errors: ACEMQ_E_INVALID_ARGUMENT,
 * ACEMQ_E_SYSTEM, ACEMQ_E_OUT_OF_MEMORY; the destructor is not called then. @param metrics owned */
ACEMQ_API acemq_status acemq_metrics_new(const acemq_metrics_options *options,
                                         acemq_metrics **metrics, acemq_error **error);
/** Ends the caller's hold; an observer is still told of clients that are watched. */
ACEMQ_API void acemq_metrics_free(acemq_metrics *metrics);

/** Counts and times what happens on this client from now on: call it right after acemq_connect().
 * One registry may watch many clients and sums them up; a client is watched by one. Errors:
 * ACEMQ_E_STATE when it is watched already, or was opened with ACEMQ_EVENT_METRIC; ACEMQ_E_CLOSED.
 */
ACEMQ_API acemq_status acemq_metrics_watch(acemq_metrics *metrics,
                                           struct acemq_connection *connection,
                                           acemq_error **error);

/**
 * Everything in Prometheus' text format 0.0.4, for the answer to a scrape: `text` is owned, freed
 * with acemq_free(). Dots become underscores, counters end in `_total`, durations are histograms in
 * seconds (`_bucket`, `_sum`, `_count`):
 *
 *     acemq_publish_total, acemq_publish_duration_seconds    {exchange, routing_key, outcome}
 *     acemq_consume_total, acemq_consume_duration_seconds    {queue, outcome}
 *     acemq_consume_attempts, acemq_consume_in_flight        {queue}
 *     acemq_messages_retried_total                           {queue, where}
 *     acemq_messages_dead_lettered_total                     {queue, outcome}
 *     acemq_messages_set_aside_failed_total                  {queue, target}
 *     acemq_retry_rung_missing_total                         {queue, rung}
 *     acemq_outbox_total {outcome}, acemq_outbox_lag_seconds
 *     acemq_request_total, acemq_request_duration_seconds    {exchange, routing_key, outcome};
 *                                                            reserved, nothing makes requests yet
 *
 * Errors: ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_metrics_prometheus(acemq_metrics *metrics, char **text,
                                                acemq_error **error);

ACEMQ_END

#endif
