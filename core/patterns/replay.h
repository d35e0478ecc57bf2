/*
 * Replay: dead letters and parked messages go home (section 8 of the contract). Each is published
 * to its queue through the default exchange, and acknowledged where it lay only when that was
 * confirmed and routed: at least once, never zero.
 *
 * A pass blocks the calling thread, which may be a handler's and never a loop's. Several passes
 * over one queue are fine: no message is taken by two of them.
 */
#ifndef ACE_PATTERNS_REPLAY_H
#define ACE_PATTERNS_REPLAY_H

#include "engine/connection.h"
#include "engine/delivery.h"

#include <stdbool.h>
#include <stdint.h>

/* The numbers are those of the public acemq_failure_queue. */
typedef enum ace_failure_queue {
    ACE_DEAD_LETTERS = 0,   /* {queue}.dlq */
    ACE_PARKED_LETTERS = 1, /* {queue}.parked */
} ace_failure_queue;

/* On the thread of the pass. False declines the message: it stays. */
typedef bool ace_replay_filter(const ace_delivery *delivery, void *user);
/* After each message. */
typedef void ace_replay_progress(uint64_t replayed, uint64_t declined, uint64_t total, void *user);

typedef struct ace_replay_options {
    ace_failure_queue source;
    const char *id; /* only a message with this id, and one; NULL: any */
    ace_replay_filter *filter;
    void *filter_user;
    ace_replay_progress *progress;
    void *progress_user;
    ace_cancel *cancel;
    int64_t most;                  /* moved; -1: all that are there at the beginning */
    int64_t timeout;               /* ms, of each step with the broker */
    int64_t acknowledgement_limit; /* ms the broker lets a message be held back; 0: for ever */
    bool keeping_attempts;         /* attempt and error stay */
    bool dry_run;                  /* counts and moves nothing */
} ace_replay_options;

void ace_replay_options_init(ace_replay_options *options); /* all, 30 s, 30 minutes */

typedef struct ace_replay_result {
    uint64_t replayed; /* with dry_run: would have been */
    uint64_t declined; /* by the filter or the id; headers that cannot be read count here too */
    uint64_t left;     /* in the failure queue afterwards; as far as that could be asked */
} ace_replay_result;

/* How many wait in the failure queue; 0 when it does not exist. ACE_NOT_FOUND when the queue itself
 * does not, and the errors of ace_session_call(). */
ace_code ace_replay_pending(ace_connection *connection, const char *queue, ace_failure_queue source,
                            int64_t deadline, ace_cancel *cancel, uint64_t *pending,
                            ace_error **error);

/* *result is set on failure too. ACE_INVALID_ARGUMENT: the queue is a failure queue itself.
 * ACE_NOT_FOUND: it does not exist. ACE_LIMIT: ACE_REPLAY_DECLINED_MAX messages are held back, or a
 * message does not fit a frame with its stamps. ACE_TIMEOUT: the pass had to end before the broker
 * takes back what is held. ACE_CONNECTION_LOST: the broker has put back what was not acknowledged,
 * the last ones that were published may be in both places. The errors of ace_publish and of
 * ace_session_call(); the message a pass stopped at is where it was. */
ace_code ace_replay(ace_connection *connection, const char *queue,
                    const ace_replay_options *options, ace_replay_result *result,
                    ace_error **error);

#endif
