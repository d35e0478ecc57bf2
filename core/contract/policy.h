/* The retry policy: how often, after which waits, and where the waiting happens. A plain value. */
#ifndef ACE_CONTRACT_POLICY_H
#define ACE_CONTRACT_POLICY_H

#include "base/error.h"
#include "contract/limits.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_policy {
    int32_t max_attempts;    /* counts the first delivery; from 1 */
    int64_t initial;         /* the first wait, above 0; 0 only with one attempt */
    double multiplier;       /* from 1, finite */
    int64_t max_delay;       /* the cap of every wait; 0: none */
    double jitter;           /* 0 to 1: the part of a wait here that is drawn */
    int64_t max_age;         /* 0: none */
    int64_t threshold;       /* waits from here on are the broker's; 0: never */
    bool whole_second_names; /* rungs named as Go, Python and Ruby name them (16.1) */
    bool durable_rungs;      /* quorum rungs that lose nothing when the broker crashes */
} ace_policy;

#define ACE_AGE_UNKNOWN (-1LL)

ace_policy ace_policy_none(void);
ace_policy ace_policy_fixed(int32_t max_attempts, int64_t wait);
ace_policy ace_policy_exponential(int32_t max_attempts, int64_t initial, int64_t max_delay);
bool ace_policy_equal(const ace_policy *a, const ace_policy *b);

/* Every field against its range; the error names the field and the limit. The functions below
 * expect a policy that passed. */
ace_code ace_policy_check(const ace_policy *policy, ace_error **error);

/* Is every wait meant for the broker within ACE_BROKER_WAIT_MAX; asked where a consumer or a
 * topology is made. */
ace_code ace_policy_broker_check(const ace_policy *policy, ace_error **error);

/* The unjittered wait after attempt `attempt` (from 1; below reads as 1) failed, as if there were
 * no last attempt. 0 for a policy without waits. Never decreasing; saturates at 2^63 - 1. */
int64_t ace_policy_wait(const ace_policy *policy, int32_t attempt);

typedef enum ace_verdict {
    ACE_RETRY,
    ACE_GIVE_UP_ATTEMPTS, /* also when both limits are reached */
    ACE_GIVE_UP_AGE,
} ace_verdict;

/* `age` in milliseconds, or ACE_AGE_UNKNOWN, which counts as young. */
ace_verdict ace_policy_verdict(const ace_policy *policy, int32_t attempt, int64_t age);

/* Age of a message at `now`: never negative; ACE_AGE_UNKNOWN when first_seen is 0 or less. */
int64_t ace_message_age(int64_t first_seen, int64_t now);

/* Does an unjittered wait of `delay` happen in the broker. */
bool ace_policy_waits_in_broker(const ace_policy *policy, int64_t delay);

/* The wait to spend here: `delay` moved by up to jitter in both directions, at least 1 ms. `unit`
 * is a random draw in [0, 1); 0.5 leaves the delay as it is. */
int64_t ace_policy_jittered(const ace_policy *policy, int64_t delay, double unit);

/* The longest unjittered wait this policy spends in the consumer; 0 when there is none. */
int64_t ace_policy_longest_wait_here(const ace_policy *policy);

/* The number of the first attempt, at most max_attempts - 1, whose wait is above `wait`; 0: none.
 */
int32_t ace_policy_first_above(const ace_policy *policy, int64_t wait);

#endif
