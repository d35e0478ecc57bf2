/**
 * @file ordered.h
 * Messages of one key in their order: partition queues, publishing into them and consuming them
 * (sections 7 and 16.6).
 *
 * The queues `{name}.0`, `{name}.1` … are declared by acemq_topology_partitioned(). All messages
 * with the same key lie in the same one, and each is consumed one message at a time. Whoever
 * publishes and whoever consumes must have the same number of partitions and the same rule.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_ORDERED_H
#define ACEMQ_ORDERED_H

#include "consumer.h"
#include "message.h"
#include "names.h"

ACEMQ_BEGIN

/* --- publishing --- */

/** Gives the key of a message: borrowed until the call that asks for it returns. Data that is NULL:
 * there is none, and the publish fails. On the thread that publishes. */
typedef acemq_bytes (*acemq_key_callback)(const acemq_message *message, void *user);

/** How keys go to partitions, where publishing. */
typedef struct acemq_partitioning {
    size_t size;
    /** where a call is given no key: the name of the header whose text is the key; NULL: none */
    const char *header;
    /** where there is no header either; NULL: none */
    acemq_key_callback key;
    /** what `key` is called with */
    void *user;
    /** 1 to 1024; default 8 */
    int64_t partitions;
    /** acemq_partition_rule; default ours */
    int64_t rule;
} acemq_partitioning;

#define ACEMQ_PARTITIONING_INIT                                                                    \
    {                                                                                              \
        sizeof(acemq_partitioning), 0, 0, 0, 8, 0                                                  \
    }

/**
 * Fills *partitioning with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that
 * of the first release.
 */
ACEMQ_API acemq_status acemq_partitioning_init(acemq_partitioning *partitioning, size_t size);

/** The rule of that name, "unsigned", "java" or "dotnet"; -1 for any other. */
ACEMQ_API int acemq_partition_rule_named(const char *name);

/**
 * Publishes to the partition queue of the key, through the default exchange, confirmed; as
 * acemq_publish() otherwise.
 * @param partitioning NULL: defaults
 * @param key          its data NULL: the message's own, by header or callback
 * @param name         of the partitioned queue: its partitions are `{name}.0` …
 * Errors besides: ACEMQ_E_INVALID_ARGUMENT when there is no key, or the header is no text.
 */
ACEMQ_API acemq_status acemq_ordered_publish(acemq_connection *connection, const char *name,
                                             const acemq_partitioning *partitioning,
                                             acemq_bytes key, const acemq_message *message,
                                             int64_t timeout, acemq_error **error);
/** Only the name of that queue: for publishing in batches, or by a publisher. `message` may be NULL
 * where a key is given. */
ACEMQ_API acemq_status acemq_ordered_queue(const char *name, const acemq_partitioning *partitioning,
                                           acemq_bytes key, const acemq_message *message,
                                           char queue[ACEMQ_NAME_SIZE], acemq_error **error);

/* --- consuming --- */

/** What happens to a message whose attempts are used up, or that was rejected. */
typedef enum acemq_order_failure {
    /** its partition halts; the message keeps its place, until acemq_ordered_resume() */
    ACEMQ_ORDER_STOP = 0,
    /** it is tried again, for ever, whatever the number of attempts */
    ACEMQ_ORDER_RETRY_IN_PLACE = 1,
    /** it goes to the dead letters of its partition queue, a gap is recorded, and the next one
       comes */
    ACEMQ_ORDER_SKIP = 2
} acemq_order_failure;

/**
 * An ordered consumer of all partitions of one name. Thread-safe. Owned, freed with
 * acemq_ordered_free().
 *
 * A message that fails is tried again here, after the policy's waits, all spent here; its attempts
 * are counted here, and its header stays. Nothing behind it in its partition is touched meanwhile.
 * A message that is parked, by the handler or because it does not decode, is a gap as well.
 */
typedef struct acemq_ordered acemq_ordered;

/** Options of acemq_ordered_consume() and acemq_ordered_open(). */
typedef struct acemq_ordered_options {
    size_t size;
    /** of each partition; NULL: defaults. Its prefetch (always 1), tag and requeue_on_failure are
     * not used, and an idempotency store is refused (ACEMQ_E_UNSUPPORTED). Without a policy a
     * message has one attempt; retried in place it then waits 1 s, doubling to 30 s */
    const acemq_consumer_options *consumer;
    /** 1 to 1024; default 8 */
    int64_t partitions;
    /** acemq_order_failure; default stop */
    int64_t failure;
} acemq_ordered_options;

#define ACEMQ_ORDERED_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(acemq_ordered_options), 0, 8, 0                                                     \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_ordered_options_init(acemq_ordered_options *options, size_t size);

/**
 * Push: one call of `handler` at a time for each partition, as many at once as there are
 * partitions. No handler runs before all partitions are subscribed to. Errors: as of
 * acemq_consume(); ACEMQ_E_NOT_FOUND when a partition queue is missing, ACEMQ_E_INVALID_ARGUMENT
 * for the number of partitions, ACEMQ_E_UNSUPPORTED for an idempotency store.
 * @param ordered owned
 * @param name    of the partitioned queue: its partitions are `{name}.0` …
 */
ACEMQ_API acemq_status acemq_ordered_consume(acemq_connection *connection, const char *name,
                                             const acemq_ordered_options *options,
                                             acemq_handler handler, void *user,
                                             acemq_destructor destructor, acemq_ordered **ordered,
                                             acemq_error **error);
/**
 * Pull: the same, but messages are taken with acemq_ordered_next(). @param ordered owned
 * @param name as above
 */
ACEMQ_API acemq_status acemq_ordered_open(acemq_connection *connection, const char *name,
                                          const acemq_ordered_options *options,
                                          acemq_ordered **ordered, acemq_error **error);

/**
 * The next message of a partition that has none in hand: one that is not settled keeps the next of
 * its partition back. Settled as failed it comes again after its wait, as a delivery of its own.
 * As many threads as there are partitions may be in here. @param delivery owned.
 * Errors: as of acemq_consumer_next().
 */
ACEMQ_API acemq_status acemq_ordered_next(acemq_ordered *ordered, int64_t timeout,
                                          acemq_delivery **delivery, acemq_error **error);
/** Makes every acemq_ordered_next() under way, or else the next one, return ACEMQ_E_CANCELLED. */
ACEMQ_API void acemq_ordered_wake(acemq_ordered *ordered);
/** Readable while acemq_ordered_next() would not wait; the library's, never to be read or closed.
 * -1 in push mode. */
ACEMQ_API int acemq_ordered_fd(const acemq_ordered *ordered);

/** Pauses all partitions: what is in hand is finished, what is being waited for goes back to its
 * place. From a handler: fine. Errors: ACEMQ_E_CLOSED. */
ACEMQ_API acemq_status acemq_ordered_pause(acemq_ordered *ordered, acemq_error **error);
/**
 * Resumes what was paused, or halted at a failure.
 * @param partition -1: all
 * Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_CLOSED.
 */
ACEMQ_API acemq_status acemq_ordered_resume(acemq_ordered *ordered, int64_t partition,
                                            acemq_error **error);
/** 1 while all partitions are paused or halted, else 0. */
ACEMQ_API int acemq_ordered_paused(const acemq_ordered *ordered);
/** 1 while every partition that is not paused is subscribed to. */
ACEMQ_API int acemq_ordered_subscribed(const acemq_ordered *ordered);
/** 1 when the partition is halted. `why`, when not NULL, receives an owned error that names the
 * message and its failure, or NULL. */
ACEMQ_API int acemq_ordered_halted(const acemq_ordered *ordered, int64_t partition,
                                   acemq_error **why);

/** The gaps in the order: messages that were passed over. The newest 1000. Owned, immutable, any
 * thread, freed with acemq_gaps_free(). */
typedef struct acemq_gaps acemq_gaps;

/** Those there are now. */
ACEMQ_API acemq_status acemq_ordered_get_gaps(const acemq_ordered *ordered, acemq_gaps **gaps,
                                              acemq_error **error);
/** How many are listed; 0 for NULL. */
ACEMQ_API size_t acemq_gaps_count(const acemq_gaps *gaps);
/** All there were since it was opened. */
ACEMQ_API uint64_t acemq_gaps_total(const acemq_gaps *gaps);
/* Of the gap `index`, oldest first; -1, 0 and "" past the end. Borrowed until they are freed. */
/** Which partition it is in. */
ACEMQ_API int64_t acemq_gaps_partition(const acemq_gaps *gaps, size_t index);
/** The id of the message that was passed over. */
ACEMQ_API const char *acemq_gaps_id(const acemq_gaps *gaps, size_t index);
/** Why it was passed over. */
ACEMQ_API const char *acemq_gaps_reason(const acemq_gaps *gaps, size_t index);
/** When, in ms since 1970. */
ACEMQ_API int64_t acemq_gaps_time(const acemq_gaps *gaps, size_t index);
/** 1 when it was parked, 0 when it went to the dead letters. */
ACEMQ_API int acemq_gaps_parked(const acemq_gaps *gaps, size_t index);
/** Frees the list, with its texts. NULL is fine. */
ACEMQ_API void acemq_gaps_free(acemq_gaps *gaps);

/**
 * As acemq_group_drain(); a message whose wait is spent here goes back to its place.
 * @param finished 1 when nothing was left; may be NULL. Errors as there.
 */
ACEMQ_API acemq_status acemq_ordered_drain(acemq_ordered *ordered, int64_t timeout, int *finished,
                                           acemq_work **left, acemq_error **error);
/** Ends it without waiting for handlers; the next consumer of a partition gets nothing of it before
 * what is in hand here is settled. From a handler: fine. Errors: ACEMQ_E_CLOSED. */
ACEMQ_API acemq_status acemq_ordered_close(acemq_ordered *ordered, acemq_error **error);
/** Ends the caller's hold; closes first. */
ACEMQ_API void acemq_ordered_free(acemq_ordered *ordered);

/** Sums over all partitions; also after it was closed. Set `counters->size` to
 * sizeof(acemq_consumer_counters). */
ACEMQ_API acemq_status acemq_ordered_get_counters(const acemq_ordered *ordered,
                                                  acemq_consumer_counters *counters,
                                                  acemq_error **error);

ACEMQ_END

#endif
