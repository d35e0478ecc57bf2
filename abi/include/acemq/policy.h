/**
 * @file policy.h
 * Retry policies: how often, how long between, and where the waiting happens (section 5).
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: NULL when memory is gone, where a policy is returned; a function that lists none answers
 * those that common.h lists for all.
 */
#ifndef ACEMQ_POLICY_H
#define ACEMQ_POLICY_H

#include "table.h"

ACEMQ_BEGIN

/**
 * A retry policy. A builder: its first error is kept, and the call that uses the policy reports it.
 * Not thread-safe while it is changed. Owned, freed with acemq_policy_free(); whoever takes one
 * copies it.
 */
typedef struct acemq_policy acemq_policy;

/** One attempt, no waits. NULL when memory is gone, like the two below. */
ACEMQ_API acemq_policy *acemq_policy_none(void);
/** `attempts` in all, with `attempts` - 1 waits of `wait`, no jitter. */
ACEMQ_API acemq_policy *acemq_policy_fixed(int64_t attempts, int64_t wait);
/**
 * Doubling waits from `initial`, at most `max` (0: no cap), jitter 0.2.
 * @param attempts in all
 */
ACEMQ_API acemq_policy *acemq_policy_exponential(int64_t attempts, int64_t initial, int64_t max);
/** Reads the policy text of section 5, such as `exponential(5, 10s, 5m).giveUpAfter(2h)`. Errors:
 *  ACEMQ_E_PARSE with the position and what was expected, ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_LIMIT.
 */
ACEMQ_API acemq_status acemq_policy_parse(const char *text, acemq_policy **policy,
                                          acemq_error **error);
/** Frees it; whoever took it has a copy. NULL is fine. */
ACEMQ_API void acemq_policy_free(acemq_policy *policy);

/** The age at which a message is given up; 0: none. */
ACEMQ_API void acemq_policy_give_up_after(acemq_policy *policy, int64_t age);
/**
 * Waits of at least this go to the broker; 0: none does. Default 30 s.
 * @param threshold in ms
 */
ACEMQ_API void acemq_policy_threshold(acemq_policy *policy, int64_t threshold);
/**
 * 0 to 1: how far a wait held in the consumer may stray to either side.
 * @param factor 0 for none
 */
ACEMQ_API void acemq_policy_jitter(acemq_policy *policy, double factor);
/**
 * At least 1.
 * @param multiplier of one wait, for the next
 */
ACEMQ_API void acemq_policy_multiplier(acemq_policy *policy, double multiplier);
/** Names rungs below a second as Go, Python and Ruby do (section 16.1). */
ACEMQ_API void acemq_policy_whole_second_names(acemq_policy *policy);
/** Quorum rungs that survive a broker's crash (section 4). */
ACEMQ_API void acemq_policy_durable_rungs(acemq_policy *policy);

/** The error that was kept, or the first value out of range: ACEMQ_E_LIMIT with the field and the
 * limit. */
ACEMQ_API acemq_status acemq_policy_check(const acemq_policy *policy, acemq_error **error);
/** The text of section 5; owned, freed with acemq_free(). */
ACEMQ_API acemq_status acemq_policy_format(const acemq_policy *policy, char **text,
                                           acemq_error **error);

/** How many attempts there are in all. */
ACEMQ_API int64_t acemq_policy_max_attempts(const acemq_policy *policy);
/** The age at which a message is given up, in ms; 0: none. */
ACEMQ_API int64_t acemq_policy_max_age(const acemq_policy *policy);
/** 0 to 1: how far a wait held in the consumer may stray to either side. */
ACEMQ_API double acemq_policy_jitter_factor(const acemq_policy *policy);
/** Waits of at least this go to the broker, in ms; 0: none does. */
ACEMQ_API int64_t acemq_policy_broker_threshold(const acemq_policy *policy);
/** The unjittered wait after attempt `attempt` (from 1), in ms; 0 where there is none. */
ACEMQ_API int64_t acemq_policy_wait(const acemq_policy *policy, int64_t attempt);
/** 1 when a wait of `delay` is the broker's. */
ACEMQ_API int acemq_policy_waits_in_broker(const acemq_policy *policy, int64_t delay);
/**
 * A wait held in the consumer, given a draw `unit` in [-1, 1). At least 1 ms.
 * @param delay in ms, unjittered
 */
ACEMQ_API int64_t acemq_policy_jittered(const acemq_policy *policy, int64_t delay, double unit);
/** 1 when a message that failed its attempt `attempt` at `age` ms is tried again; a negative age is
 * unknown. */
ACEMQ_API int acemq_policy_retries(const acemq_policy *policy, int64_t attempt, int64_t age);

/** The rungs, in the order in which the waits reach them. */
ACEMQ_API size_t acemq_policy_rung_count(const acemq_policy *policy);
/** How long the rung at `index` holds a message, in ms; 0 past the end. */
ACEMQ_API int64_t acemq_policy_rung_delay(const acemq_policy *policy, size_t index);
/** The rung a broker wait of `delay` goes to, by its delay: the smallest that is long enough, else
 * the longest; 0 without rungs. */
ACEMQ_API int64_t acemq_policy_choose_rung(const acemq_policy *policy, int64_t delay);
/** The rung queue's whole name. Room for 256 bytes. A delay over 315360000000 has a name too, but
 * the broker takes no such rung: a topology or a consumer with it is refused. Errors:
 * ACEMQ_E_LIMIT, ACEMQ_E_INVALID_ARGUMENT. */
ACEMQ_API acemq_status acemq_policy_rung_name(const acemq_policy *policy, const char *queue,
                                              int64_t delay, char name[256], acemq_error **error);
/**
 * The arguments the rung is declared with; owned.
 * @param delay of the rung, in ms
 */
ACEMQ_API acemq_status acemq_policy_rung_arguments(const acemq_policy *policy, const char *queue,
                                                   int64_t delay, acemq_table **arguments,
                                                   acemq_error **error);

ACEMQ_END

#endif
