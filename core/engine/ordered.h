/*
 * Ordered consuming (section 7 of the contract): messages with the same key are in the same
 * partition queue, {name}.{p}, and each partition is consumed one message at a time, in order. A
 * failed message is tried again here and keeps its place; what happens when its attempts are used
 * up is the caller's choice.
 *
 * With a handler, as many calls run at once as there are partitions, on threads of the library;
 * without, that many threads pull. Thread-safe, and fine from a handler where nothing else is said;
 * never from a loop's thread.
 */
#ifndef ACE_ENGINE_ORDERED_H
#define ACE_ENGINE_ORDERED_H

#include "engine/consumer.h"

#define ACE_ORDERED_MAGIC ACE_MAGIC('O', 'R', 'D', 'R')
#define ACE_GAPS_KEPT     1000 /* the newest */

typedef enum ace_order_failure {
    ACE_ORDER_STOP = 0,           /* that partition halts, the message keeps its place */
    ACE_ORDER_RETRY_IN_PLACE = 1, /* again, for ever */
    ACE_ORDER_SKIP = 2,           /* to the partition's dead letters, then the next */
} ace_order_failure;

typedef struct acemq_ordered ace_ordered;

typedef struct ace_ordered_options {
    /* Of each partition. `queue` is the name; `retry`'s waits are all spent here, and without one a
     * message has one attempt; prefetch, tag, members, reviewer and keeps_order are not used. */
    ace_consumer_options consumer;
    int32_t partitions; /* 1 to ACE_PARTITIONS_MAX */
    ace_order_failure failure;
} ace_ordered_options;

/* Subscribes to all partition queues, which must be there. Errors as of ace_consumer_open(),
 * ACE_LIMIT for the partitions. */
ace_code ace_ordered_open(ace_connection *connection, const ace_ordered_options *options,
                          int64_t deadline, ace_cancel *cancel, ace_ordered **ordered,
                          ace_error **error);

/* The next message of any partition that has none in hand. Settling it with ACE_FAILED brings it
 * again after its wait. Errors as of ace_consumer_next(). */
ace_code ace_ordered_next(ace_ordered *ordered, int64_t deadline, ace_cancel *cancel,
                          ace_delivery **delivery, ace_error **error);
void ace_ordered_wake(ace_ordered *ordered);
int ace_ordered_descriptor(const ace_ordered *ordered);

int32_t ace_ordered_partitions(const ace_ordered *ordered);
/* All partitions; what is in hand is finished. ACE_CLOSED. */
ace_code ace_ordered_pause(ace_ordered *ordered, ace_error **error);
/* One partition, or all with -1: what was paused and what was halted. ACE_INVALID_ARGUMENT,
 * ACE_CLOSED. */
ace_code ace_ordered_resume(ace_ordered *ordered, int32_t partition, ace_error **error);
bool ace_ordered_is_paused(const ace_ordered *ordered);
bool ace_ordered_is_subscribed(const ace_ordered *ordered); /* to all that are not paused */

/* Whether the partition is halted, and why: the error names the message. *why is the caller's. */
bool ace_ordered_is_halted(ace_ordered *ordered, int32_t partition, ace_error **why);

/* Places in the order that nothing was made of. */
typedef struct ace_gap {
    int32_t partition;
    bool parked; /* else it went to the dead letters */
    char *id;
    char *reason;
    int64_t time; /* wall clock, ms */
} ace_gap;

typedef struct ace_gaps {
    ace_gap *items; /* the newest, oldest first */
    size_t count;
    uint64_t all; /* since it was opened */
} ace_gaps;

/* A copy, the caller's to release. ACE_OUT_OF_MEMORY. */
ace_code ace_ordered_gaps(ace_ordered *ordered, ace_gaps *gaps, ace_error **error);
void ace_gaps_release(ace_gaps *gaps);

void ace_ordered_count(const ace_ordered *ordered, ace_consumer_counters *sum);
void ace_ordered_list_work(ace_ordered *ordered, ace_work *work);
ace_cancel *ace_ordered_cancel(const ace_ordered *ordered); /* of the options; may be NULL */

/* Takes no more work, and waits until what is in hand is settled; a message whose wait is spent
 * here goes back to its place. ACE_TIMEOUT, ACE_CANCELLED, ACE_CLOSED, ACE_FROM_HANDLER. */
ace_code ace_ordered_drain(ace_ordered *ordered, int64_t deadline, ace_cancel *cancel,
                           ace_error **error);
/* Without waiting. ACE_CLOSED the second time. */
ace_code ace_ordered_close(ace_ordered *ordered, ace_error **error);
void ace_ordered_release(ace_ordered *ordered); /* closes what was not closed; NULL is fine */

#endif
