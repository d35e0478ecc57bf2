/**
 * @file group.h
 * Several consumers of one queue that change in number while they run (section 7).
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_GROUP_H
#define ACEMQ_GROUP_H

#include "consumer.h"

ACEMQ_BEGIN

/**
 * A group: as many handlers run at once as it has members. They share what is delivered, so none
 * waits for one while another is free; messages are handled in no particular order. Thread-safe.
 * Owned, freed with acemq_group_free().
 */
typedef struct acemq_group acemq_group;

/** Options of acemq_group_consume() and acemq_group_open(). */
typedef struct acemq_group_options {
    size_t size;
    /** of each member; NULL: defaults. Its prefetch is each member's, and the group holds that many
     * times the members, 65535 at most */
    const acemq_consumer_options *consumer;
    /** how long closing, and scaling down, wait for handlers, in ms; default 20 s */
    int64_t drain_budget;
    /** 1 to 1000; default 2 */
    int64_t members;
} acemq_group_options;

#define ACEMQ_GROUP_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(acemq_group_options), 0, 20000, 2                                                   \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_group_options_init(acemq_group_options *options, size_t size);

/**
 * Push: as acemq_consume(), with up to `members` calls of `handler` at once, each on a thread of
 * the library. Errors: as of acemq_consume(); ACEMQ_E_LIMIT for the number of members.
 * @param group owned
 */
ACEMQ_API acemq_status acemq_group_consume(acemq_connection *connection, const char *queue,
                                           const acemq_group_options *options,
                                           acemq_handler handler, void *user,
                                           acemq_destructor destructor, acemq_group **group,
                                           acemq_error **error);
/** Pull: the same, but messages are taken with acemq_group_next(), by up to `members` threads at
 * once. @param group owned */
ACEMQ_API acemq_status acemq_group_open(acemq_connection *connection, const char *queue,
                                        const acemq_group_options *options, acemq_group **group,
                                        acemq_error **error);

/**
 * The next delivery, as acemq_consumer_next(). @param delivery owned.
 * Errors besides: ACEMQ_E_WRONG_THREAD when as many threads as there are members wait in here,
 * ACEMQ_E_CANCELLED when this one is too many since the group was scaled down.
 */
ACEMQ_API acemq_status acemq_group_next(acemq_group *group, int64_t timeout,
                                        acemq_delivery **delivery, acemq_error **error);
/** Makes every acemq_group_next() under way, or else the next one, return ACEMQ_E_CANCELLED. */
ACEMQ_API void acemq_group_wake(acemq_group *group);
/** Readable while acemq_group_next() would not wait; the library's, never to be read or closed. -1
 * in push mode. */
ACEMQ_API int acemq_group_fd(const acemq_group *group);

/**
 * Another number of members, 1 to 1000, while it runs. What is delivered stays and is shared anew:
 * nothing is lost, nothing comes twice. With fewer members it waits up to the drain budget until
 * those removed have finished what they are at; from a handler it does not wait, and they go after
 * the message they are at.
 * Errors: ACEMQ_E_LIMIT, ACEMQ_E_CLOSED; ACEMQ_E_TIMEOUT and ACEMQ_E_CANCELLED when some are still
 * at it: the group has the new number all the same.
 */
ACEMQ_API acemq_status acemq_group_scale(acemq_group *group, int64_t members, acemq_error **error);
/** 0 for a handle that is none. */
ACEMQ_API int64_t acemq_group_members(const acemq_group *group);
/** Another prefetch of each member, 1 to 65535, while it runs. Errors:
 * ACEMQ_E_LIMIT, ACEMQ_E_CLOSED. */
ACEMQ_API acemq_status acemq_group_set_prefetch(acemq_group *group, int64_t prefetch,
                                                acemq_error **error);
/** That of each member; 0 for a handle that is none. */
ACEMQ_API int64_t acemq_group_prefetch(const acemq_group *group);

/** As acemq_consumer_pause(), acemq_consumer_resume() and acemq_consumer_paused(). */
ACEMQ_API acemq_status acemq_group_pause(acemq_group *group, acemq_error **error);
/** As acemq_consumer_resume(), for all members. */
ACEMQ_API acemq_status acemq_group_resume(acemq_group *group, acemq_error **error);
/** 1 while paused. */
ACEMQ_API int acemq_group_paused(const acemq_group *group);

/**
 * Takes no more work, puts back what was not begun, and waits until all in hand is settled.
 * @param finished 1 when nothing was left; may be NULL
 * @param left     what was in hand when time was up, owned, freed with acemq_work_free(); NULL when
 *                 there is none; may be NULL
 * Errors: ACEMQ_E_TIMEOUT when something was left, ACEMQ_E_CANCELLED, ACEMQ_E_CLOSED,
 * ACEMQ_E_FROM_HANDLER.
 */
ACEMQ_API acemq_status acemq_group_drain(acemq_group *group, int64_t timeout, int *finished,
                                         acemq_work **left, acemq_error **error);
/** What its members have in hand now; owned, freed with acemq_work_free(). */
ACEMQ_API acemq_status acemq_group_get_work(const acemq_group *group, acemq_work **work,
                                            acemq_error **error);

/** Drains within the budget, and closes. From a handler it closes without waiting. Errors:
 * ACEMQ_E_TIMEOUT when something was left (it is closed all the same, and what handlers hold is
 * settled when they return, while the client is open), ACEMQ_E_CANCELLED likewise, ACEMQ_E_CLOSED.
 */
ACEMQ_API acemq_status acemq_group_close(acemq_group *group, acemq_error **error);
/** Ends the caller's hold; closes first, without waiting, when that was not done. */
ACEMQ_API void acemq_group_free(acemq_group *group);

/** Sums over all members there ever were; also after it was closed. Set `counters->size` to
 * sizeof(acemq_consumer_counters). */
ACEMQ_API acemq_status acemq_group_get_counters(const acemq_group *group,
                                                acemq_consumer_counters *counters,
                                                acemq_error **error);
/** As acemq_consumer_subscribed(). */
ACEMQ_API int acemq_group_subscribed(const acemq_group *group);

ACEMQ_END

#endif
