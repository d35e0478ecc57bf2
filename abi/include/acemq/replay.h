/**
 * @file replay.h
 * Bringing dead letters and parked messages home (section 8).
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_REPLAY_H
#define ACEMQ_REPLAY_H

#include "connection.h"
#include "delivery.h"

ACEMQ_BEGIN

/** Where what failed lies. */
typedef enum acemq_failure_queue {
    ACEMQ_DEAD_LETTERS = 0,  /**< `{queue}.dlq` */
    ACEMQ_PARKED_LETTERS = 1 /**< `{queue}.parked` */
} acemq_failure_queue;

/** 1 to take the message, 0 to decline it: it stays. On the thread that called acemq_replay(). The
 * delivery is borrowed; its settle calls answer ACEMQ_E_STATE. */
typedef int (*acemq_replay_filter)(const acemq_delivery *delivery, void *user);
/** After each message: how many were replayed and declined, of `total`. On the thread that called
 * acemq_replay(). */
typedef void (*acemq_replay_progress)(uint64_t replayed, uint64_t declined, uint64_t total,
                                      void *user);

/** Options of acemq_replay(). */
typedef struct acemq_replay_options {
    size_t size;
    /** only the message with this id; NULL: any */
    const char *id;
    /** NULL: every message */
    acemq_replay_filter filter;
    void *filter_user;
    /** told after each message; NULL: nobody */
    acemq_replay_progress progress;
    void *progress_user;
    /** NULL: the client's */
    acemq_cancel *cancel;
    /** at most so many are moved; -1 (default): all that are there when it begins */
    int64_t max;
    /** for each step with the broker; default 30 s */
    int64_t timeout;
    /** a pass ends before the broker takes what it holds back; default 30 minutes, 0: no limit */
    int64_t acknowledgement_limit;
    /** acemq_failure_queue */
    int32_t source;
    /** 1: attempt and error stay as they are */
    int32_t keep_attempts;
    /** 1: counts what would be moved and moves nothing */
    int32_t dry_run;
    /** 0 */
    int32_t reserved;
} acemq_replay_options;

#define ACEMQ_REPLAY_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(acemq_replay_options), 0, 0, 0, 0, 0, 0, -1, 30000, 1800000, 0, 0, 0, 0             \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_replay_options_init(acemq_replay_options *options, size_t size);

/** How far it got. Set size to sizeof(acemq_replay_result). */
typedef struct acemq_replay_result {
    size_t size;
    /** back in their queue */
    uint64_t replayed;
    /** left where they were, by the filter */
    uint64_t declined;
    /** in the failure queue afterwards, the declined ones included */
    uint64_t left;
    uint64_t reserved;
} acemq_replay_result;

/**
 * How many wait; 0 when the failure queue does not exist. Errors: ACEMQ_E_NOT_FOUND when `queue`
 * itself does not exist, and those of the connection.
 * @param pending receives how many
 */
ACEMQ_API acemq_status acemq_replay_pending(acemq_connection *connection, const char *queue,
                                            acemq_failure_queue source, int64_t timeout,
                                            uint64_t *pending, acemq_error **error);

/**
 * Moves messages back to `queue`: published, confirmed and routed, and only then acknowledged where
 * they were. A message past its policy's age limit dead-letters again at its first failure, since
 * first-seen stays.
 * @param options NULL: defaults
 * @param result  how far it got, set on failure too; may be NULL
 * Errors: ACEMQ_E_INVALID_ARGUMENT when `queue` is itself a failure queue, ACEMQ_E_NOT_FOUND when
 * it does not exist, those of publishing and of the connection; the message it stopped at is still
 * where it was. ACEMQ_E_LIMIT when 10 000 declined messages were held, ACEMQ_E_TIMEOUT when the
 * pass had to end before the broker's limit: run it again. A message whose body is over the
 * connection's max_body counts as declined, and is logged.
 */
ACEMQ_API acemq_status acemq_replay(acemq_connection *connection, const char *queue,
                                    const acemq_replay_options *options,
                                    acemq_replay_result *result, acemq_error **error);

ACEMQ_END

#endif
