/*
 * What happened, for those who ask instead of being called: a queue with a descriptor that is
 * readable while there is something in it. Thread-safe. Of each kind the newest are kept, up to a
 * limit: the oldest of that kind goes when it is passed, and the next one put says how many were
 * lost. Confirms and wanted credentials somebody waits for: they are never dropped.
 */
#ifndef ACE_ENGINE_EVENTS_H
#define ACE_ENGINE_EVENTS_H

#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "engine/cancel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ace_event_kind {
    ACE_EVENT_STATE = 1,   /* `state` of the connection `source`, with its error if any */
    ACE_EVENT_BLOCKED = 2, /* the broker stopped taking publishes: `text` is its reason */
    ACE_EVENT_UNBLOCKED = 3,
    ACE_EVENT_CONFIRM =
        4, /* an asynchronous publish ended: `number` is the publisher's own, `error` why */
    ACE_EVENT_SETTLE = 5,   /* a settlement failed after it was queued */
    ACE_EVENT_CONSUMER = 6, /* a consumer's state changed: `text` names its queue */
    ACE_EVENT_LOG = 7,
    ACE_EVENT_RETURNED = 8, /* a message came back that no publish waits for: `error` says which */
    ACE_EVENT_CREDENTIALS = 9,  /* a connect waits for them; put by whoever was asked */
    ACE_EVENT_INTERCEPTOR = 10, /* an interceptor failed where that changes nothing: `text` */
    ACE_EVENT_SETTLED = 11,     /* a delivery was settled: `attachment` is an ace_settled */
    ACE_EVENT_METRIC = 12,      /* `attachment` is an observation, as whoever put it has it */
    ACE_EVENT_ORDER = 13,       /* ordered consuming: `text` is the queue, `number` the partition,
                                   `error` says why */
} ace_event_kind;

#define ACE_EVENT_KINDS 14 /* all numbers are below */

typedef struct ace_event {
    ace_link_node node; /* this and the next are the queue's own */
    uint64_t order;
    ace_event_kind kind;
    int state;       /* of kind STATE: an ace_link_state; of CONSUMER: its own states */
    uint64_t number; /* STATE: the epoch; CONFIRM: the publish; SETTLE: the delivery */
    int64_t wait;    /* STATE: milliseconds until the next try, -1 where there is none */
    ace_log_level level;
    const char *source; /* static: "publishing", "consuming", or "" */
    char *text;         /* owned; may be NULL */
    ace_error *error;   /* owned; may be NULL */
    uint64_t lost;      /* events dropped before this one because the queue was full */
    void *attachment;   /* taken over by ace_events_put(); may be NULL */
    void (*attachment_release)(void *attachment); /* on the thread that frees the event */
} ace_event;

typedef struct ace_events ace_events;

/* `limit` is for each kind. */
ace_code ace_events_new(size_t limit, ace_events **events, ace_error **error);
void ace_events_free(ace_events *events);
void ace_events_abandon(
    ace_events *events); /* in a child of fork: closes the descriptor, takes no lock */

/* `text` and `error` are copied, `attachment` is taken over. Where memory is gone the event counts
 * as lost. `events` may be NULL. */
void ace_events_put(ace_events *events, const ace_event *event);

/* Whether an event is kept, asked before it is; it may be changed. On the thread that puts, with
 * the queue locked: it may not use the queue. */
typedef bool ace_event_judge(ace_event *event, void *user);

/* From now on. Those that wait in the queue are judged at once, in their order. NULL: all are kept,
 * as at first. */
void ace_events_judge_by(ace_events *events, ace_event_judge *judge, void *user);

/* The oldest, owned by the caller; NULL when there is none. Never waits. */
ace_event *ace_events_take(ace_events *events);
/* The same, waiting for one. ACE_TIMEOUT, ACE_CANCELLED; ACE_CLOSED when the queue has ended and
 * none is left. `deadline` is monotonic of the system's clock. */
ace_code ace_events_next(ace_events *events, int64_t deadline, ace_cancel *cancel,
                         ace_event **event, ace_error **error);
/* Nothing more will come: ends the waiting in ace_events_next(), and makes the descriptor
 * readable for good. */
void ace_events_end(ace_events *events);
void ace_event_free(ace_event *event);

int ace_events_descriptor(
    const ace_events *events); /* readable while there is one; owned by the queue */

#endif
