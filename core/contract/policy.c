#include "contract/policy.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Peers multiply step by step, so that is done for every attempt anybody will ever reach; beyond it
 * one power stands for the rest, or a factor next to 1 would cost seconds a wait. */
#define EXACT_STEPS 16384

#define LEAST_TOO_LARGE 0x1p63 /* the smallest double that no int64 holds */

ace_policy ace_policy_none(void)
{
    return (ace_policy){.max_attempts = 1, .multiplier = 1.0, .threshold = ACE_THRESHOLD_DEFAULT};
}

ace_policy ace_policy_fixed(int32_t max_attempts, int64_t wait)
{
    ace_policy policy = ace_policy_none();
    policy.max_attempts = max_attempts;
    policy.initial = wait;
    return policy;
}

ace_policy ace_policy_exponential(int32_t max_attempts, int64_t initial, int64_t max_delay)
{
    ace_policy policy = ace_policy_fixed(max_attempts, initial);
    policy.multiplier = 2.0;
    policy.max_delay = max_delay;
    policy.jitter = 0.2;
    return policy;
}

static bool same_number(double a, double b)
{
    return !(a < b) && !(a > b);
}

bool ace_policy_equal(const ace_policy *a, const ace_policy *b)
{
    return a->max_attempts == b->max_attempts && a->initial == b->initial &&
           same_number(a->multiplier, b->multiplier) && a->max_delay == b->max_delay &&
           same_number(a->jitter, b->jitter) && a->max_age == b->max_age &&
           a->threshold == b->threshold && a->whole_second_names == b->whole_second_names &&
           a->durable_rungs == b->durable_rungs;
}

static ace_code out_of_range(const char *field, int64_t value, int64_t least, ace_error **error)
{
    ace_fail(error, ACE_LIMIT, "%s is %" PRId64 ", the least is %" PRId64, field, value, least);
    ace_error_field(error, field, least);
    return ACE_LIMIT;
}

static ace_code bad_factor(const char *field, double value, const char *range, ace_error **error)
{
    ace_fail(error, ACE_LIMIT, "%s is %g, it must be %s", field, value, range);
    ace_error_field(error, field, 1);
    return ACE_LIMIT;
}

ace_code ace_policy_check(const ace_policy *policy, ace_error **error)
{
    if (policy->max_attempts < 1) {
        return out_of_range("max attempts", policy->max_attempts, 1, error);
    }
    if (policy->initial < 0 || (policy->initial == 0 && policy->max_attempts > 1)) {
        return out_of_range("initial wait", policy->initial, 1, error);
    }
    if (!isfinite(policy->multiplier) || policy->multiplier < 1) {
        return bad_factor("multiplier", policy->multiplier, "a finite number from 1", error);
    }
    if (!(policy->jitter >= 0 && policy->jitter <= 1)) {
        return bad_factor("jitter", policy->jitter, "from 0 to 1", error);
    }
    if (policy->max_delay < 0) {
        return out_of_range("max delay", policy->max_delay, 0, error);
    }
    if (policy->max_delay > 0 && policy->initial == 0) {
        return out_of_range("initial wait", 0, 1, error);
    }
    if (policy->max_age < 0) {
        return out_of_range("max message age", policy->max_age, 0, error);
    }
    if (policy->threshold < 0) {
        return out_of_range("broker-wait threshold", policy->threshold, 0, error);
    }
    return ACE_OK;
}

ace_code ace_policy_broker_check(const ace_policy *policy, ace_error **error)
{
    if (policy->max_attempts < 2) {
        return ACE_OK;
    }
    int64_t longest = ace_policy_wait(policy, policy->max_attempts - 1);
    if (!ace_policy_waits_in_broker(policy, longest) || longest <= ACE_BROKER_WAIT_MAX) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT,
             "the longest wait in the broker is %" PRId64
             " milliseconds, the limit is %lld; a lower max delay keeps it within",
             longest, ACE_BROKER_WAIT_MAX);
    ace_error_field(error, "broker wait", ACE_BROKER_WAIT_MAX);
    return ACE_LIMIT;
}

static double grown(const ace_policy *policy, int32_t steps, double cap)
{
    double value = (double)policy->initial;
    if (!(policy->multiplier > 1)) {
        return value;
    }
    int32_t done = 0;
    while (done < steps && done < EXACT_STEPS && value < cap) {
        value *= policy->multiplier;
        done++;
    }
    if (done < steps && value < cap) {
        value *= pow(policy->multiplier, (double)(steps - done));
    }
    return value;
}

int64_t ace_policy_wait(const ace_policy *policy, int32_t attempt)
{
    int64_t cap = policy->max_delay > 0 ? policy->max_delay : INT64_MAX;
    int64_t first = policy->initial < cap ? policy->initial : cap;
    if (attempt <= 1) {
        return first;
    }
    double value = grown(policy, attempt - 1, (double)cap);
    if (!(value < LEAST_TOO_LARGE)) {
        return cap;
    }
    /* Above 2^53 a double is not the number it was made from, so both ends are held. */
    int64_t wait = (int64_t)value;
    if (wait < first) {
        wait = first;
    }
    return wait < cap ? wait : cap;
}

ace_verdict ace_policy_verdict(const ace_policy *policy, int32_t attempt, int64_t age)
{
    if (attempt >= policy->max_attempts) {
        return ACE_GIVE_UP_ATTEMPTS;
    }
    if (policy->max_age > 0 && age >= 0 && age >= policy->max_age) {
        return ACE_GIVE_UP_AGE;
    }
    return ACE_RETRY;
}

int64_t ace_message_age(int64_t first_seen, int64_t now)
{
    if (first_seen <= 0) {
        return ACE_AGE_UNKNOWN;
    }
    return now > first_seen ? now - first_seen : 0;
}

bool ace_policy_waits_in_broker(const ace_policy *policy, int64_t delay)
{
    return policy->threshold > 0 && delay > 0 && delay >= policy->threshold;
}

int64_t ace_policy_jittered(const ace_policy *policy, int64_t delay, double unit)
{
    if (!(policy->jitter > 0)) {
        return delay > 1 ? delay : 1;
    }
    double wait = (double)delay + (2 * unit - 1) * (double)delay * policy->jitter;
    if (!(wait < LEAST_TOO_LARGE)) {
        return INT64_MAX;
    }
    return wait < 1 ? 1 : (int64_t)wait;
}

int32_t ace_policy_first_above(const ace_policy *policy, int64_t wait)
{
    int32_t last = policy->max_attempts - 1;
    if (last < 1 || ace_policy_wait(policy, last) <= wait) {
        return 0;
    }
    int32_t low = 0; /* its wait is not above; 0 stands before the first */
    int32_t high = 1;
    while (high < last && ace_policy_wait(policy, high) <= wait) {
        low = high;
        high = high > last / 2 ? last : high * 2;
    }
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (ace_policy_wait(policy, middle) > wait) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

int64_t ace_policy_longest_wait_here(const ace_policy *policy)
{
    int32_t last = policy->max_attempts - 1;
    if (last < 1) {
        return 0;
    }
    if (policy->threshold > 0) {
        int32_t broker = ace_policy_first_above(policy, policy->threshold - 1);
        if (broker == 1) {
            return 0;
        }
        if (broker > 1) {
            last = broker - 1;
        }
    }
    return ace_policy_wait(policy, last);
}
