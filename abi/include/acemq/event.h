/**
 * @file event.h
 * What happens outside any call, for programs that pull instead of being called back.
 */
#ifndef ACEMQ_EVENT_H
#define ACEMQ_EVENT_H

#include "error.h"

#include "metrics.h"
#include "settlement.h"

ACEMQ_BEGIN

/** What happened, and what its number and text are. */
typedef enum acemq_event_kind {
    ACEMQ_EVENT_CONNECTION = 1,         /**< the state changed; number: acemq_connection_state */
    ACEMQ_EVENT_CREDENTIALS_WANTED = 2, /**< answer with acemq_connection_give_credentials() */
    ACEMQ_EVENT_CONFIRM = 3, /**< a publish of acemq_publisher_submit() ended; number: its token */
    ACEMQ_EVENT_SETTLE_FAILED = 4,  /**< a queued settlement was not carried out; text: the queue */
    ACEMQ_EVENT_CONSUMER_ENDED = 5, /**< a consumer ended by itself; text: the queue */
    ACEMQ_EVENT_LOG = 6,            /**< a line of the log; number: acemq_log_level */
    /** an interceptor failed where that changes nothing; text: which, and why */
    ACEMQ_EVENT_INTERCEPTOR_FAILED = 7,
    ACEMQ_EVENT_SETTLED = 8, /**< what became of a delivery; acemq_event_settlement() */
    ACEMQ_EVENT_METRIC = 9,  /**< something was counted or timed; acemq_event_observation() */
    /** ordered consuming halted at a message; text: the queue; number: the partition; error: why */
    ACEMQ_EVENT_PARTITION_HALTED = 10,
    /** ordered consuming went on without a message; likewise */
    ACEMQ_EVENT_ORDER_GAP = 11
} acemq_event_kind;

/** An event: owned, immutable, any thread, freed with acemq_event_free(). Of each kind the newest
 * 10,000 are kept; confirms and credentials are never dropped. */
typedef struct acemq_event acemq_event;

/** What happened. */
ACEMQ_API acemq_event_kind acemq_event_get_kind(const acemq_event *event);
/** The number that its kind has, see acemq_event_kind; else 0. */
ACEMQ_API int64_t acemq_event_number(const acemq_event *event);
/** "" where there is none; borrowed until the event is freed. */
ACEMQ_API const char *acemq_event_text(const acemq_event *event);
/** Why; NULL where nothing failed. Borrowed until the event is freed. */
ACEMQ_API const acemq_error *acemq_event_error(const acemq_event *event);
/** For ACEMQ_EVENT_CONNECTION while reconnecting: ms until the next try; else -1. */
ACEMQ_API int64_t acemq_event_next_try(const acemq_event *event);
/** Of ACEMQ_EVENT_SETTLED, else NULL; borrowed until the event is freed. */
ACEMQ_API const acemq_settlement *acemq_event_settlement(const acemq_event *event);
/** Of ACEMQ_EVENT_METRIC, else NULL; borrowed until the event is freed. */
ACEMQ_API const acemq_observation *acemq_event_observation(const acemq_event *event);
/** Frees it, with all that was read from it. NULL is fine. */
ACEMQ_API void acemq_event_free(acemq_event *event);

ACEMQ_END

#endif
