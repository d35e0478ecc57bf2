#include "policy.h"

#include "arguments.h"
#include "contract/ladder.h"
#include "contract/policy_text.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(ACE_NAME_MAX + 1 == 256, "room for a name and its NUL");

static acemq_policy *make(ace_policy value)
{
    acemq_policy *policy = calloc(1, sizeof *policy);
    if (policy != NULL) {
        policy->policy = value;
    }
    return policy;
}

static void keep(acemq_policy *policy, ace_error *error)
{
    if (policy->error == NULL) {
        policy->error = error;
    } else {
        ace_error_free(error);
    }
}

/* The core counts attempts in 32 bits; what does not fit is refused as it was given. */
static void set_attempts(acemq_policy *policy, int64_t attempts)
{
    ace_error *error = NULL;
    if (attempts < 1 || attempts > INT32_MAX) {
        ace_fail(&error, ACE_LIMIT, "max attempts is %lld, 1 to %d are allowed",
                 (long long)attempts, INT32_MAX);
        ace_error_field(&error, "max attempts", attempts < 1 ? 1 : INT32_MAX);
        keep(policy, error);
        return;
    }
    policy->policy.max_attempts = (int32_t)attempts;
}

acemq_policy *acemq_policy_none(void)
{
    return make(ace_policy_none());
}

acemq_policy *acemq_policy_fixed(int64_t attempts, int64_t wait)
{
    acemq_policy *policy = make(ace_policy_fixed(1, wait));
    if (policy != NULL) {
        set_attempts(policy, attempts);
    }
    return policy;
}

acemq_policy *acemq_policy_exponential(int64_t attempts, int64_t initial, int64_t max)
{
    acemq_policy *policy = make(ace_policy_exponential(1, initial, max));
    if (policy != NULL) {
        set_attempts(policy, attempts);
    }
    return policy;
}

acemq_status acemq_policy_parse(const char *text, acemq_policy **policy, acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code == ACE_OK) {
        code = ace_argument_present(policy, "policy", error);
    }
    ace_policy value;
    if (code == ACE_OK) {
        code = ace_policy_parse(text, strlen(text), &value, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_policy *made = make(value);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    *policy = made;
    return ACEMQ_OK;
}

void acemq_policy_free(acemq_policy *policy)
{
    if (policy != NULL) {
        ace_error_free(policy->error);
        free(policy);
    }
}

void acemq_policy_give_up_after(acemq_policy *policy, int64_t age)
{
    if (policy != NULL) {
        policy->policy.max_age = age;
    }
}

void acemq_policy_threshold(acemq_policy *policy, int64_t threshold)
{
    if (policy != NULL) {
        policy->policy.threshold = threshold;
    }
}

void acemq_policy_jitter(acemq_policy *policy, double factor)
{
    if (policy != NULL) {
        policy->policy.jitter = factor;
    }
}

void acemq_policy_multiplier(acemq_policy *policy, double multiplier)
{
    if (policy != NULL) {
        policy->policy.multiplier = multiplier;
    }
}

void acemq_policy_whole_second_names(acemq_policy *policy)
{
    if (policy != NULL) {
        policy->policy.whole_second_names = true;
    }
}

void acemq_policy_durable_rungs(acemq_policy *policy)
{
    if (policy != NULL) {
        policy->policy.durable_rungs = true;
    }
}

static bool is_valid(const acemq_policy *policy)
{
    return policy != NULL && policy->error == NULL &&
           ace_policy_check(&policy->policy, NULL) == ACE_OK;
}

acemq_status acemq_policy_check(const acemq_policy *policy, acemq_error **error)
{
    ace_code code = ace_argument_present(policy, "policy", error);
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    if (policy->error != NULL) {
        return (acemq_status)ace_error_move(error, ace_error_copy(policy->error));
    }
    return (acemq_status)ace_policy_check(&policy->policy, error);
}

ace_code ace_policy_from_public(const acemq_policy *policy, ace_policy *out, ace_error **error)
{
    if (policy == NULL) {
        return ACE_OK;
    }
    ace_code code = (ace_code)acemq_policy_check(policy, error);
    if (code == ACE_OK) {
        *out = policy->policy;
    }
    return code;
}

acemq_status acemq_policy_format(const acemq_policy *policy, char **text, acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code == ACE_OK) {
        code = (ace_code)acemq_policy_check(policy, error);
    }
    ace_buffer buffer = ACE_BUFFER_INIT;
    if (code == ACE_OK) {
        code = ace_policy_format(&policy->policy, &buffer, error);
    }
    if (code == ACE_OK) {
        char *taken = ace_buffer_take_text(&buffer);
        if (taken == NULL) {
            code = ace_fail_memory(error);
        } else {
            *text = taken;
        }
    }
    ace_buffer_free(&buffer);
    return (acemq_status)code;
}

int64_t acemq_policy_max_attempts(const acemq_policy *policy)
{
    return policy == NULL ? 0 : policy->policy.max_attempts;
}

int64_t acemq_policy_max_age(const acemq_policy *policy)
{
    return policy == NULL ? 0 : policy->policy.max_age;
}

double acemq_policy_jitter_factor(const acemq_policy *policy)
{
    return policy == NULL ? 0 : policy->policy.jitter;
}

int64_t acemq_policy_broker_threshold(const acemq_policy *policy)
{
    return policy == NULL ? 0 : policy->policy.threshold;
}

int64_t acemq_policy_wait(const acemq_policy *policy, int64_t attempt)
{
    if (!is_valid(policy) || attempt < 1 || attempt >= policy->policy.max_attempts) {
        return 0;
    }
    return ace_policy_wait(&policy->policy, (int32_t)attempt);
}

int acemq_policy_waits_in_broker(const acemq_policy *policy, int64_t delay)
{
    return is_valid(policy) && ace_policy_waits_in_broker(&policy->policy, delay);
}

int64_t acemq_policy_jittered(const acemq_policy *policy, int64_t delay, double unit)
{
    if (!is_valid(policy)) {
        return 0;
    }
    /* Also where it is not a number. */
    double draw = unit >= -1.0 && unit <= 1.0 ? unit : 0.0;
    return ace_policy_jittered(&policy->policy, delay, (draw + 1.0) / 2.0);
}

int acemq_policy_retries(const acemq_policy *policy, int64_t attempt, int64_t age)
{
    if (!is_valid(policy)) {
        return 0;
    }
    int32_t counted = attempt > INT32_MAX ? INT32_MAX : attempt < 1 ? 1 : (int32_t)attempt;
    return ace_policy_verdict(&policy->policy, counted, age < 0 ? ACE_AGE_UNKNOWN : age) ==
           ACE_RETRY;
}

/* The waits of a ladder do not depend on the queue; its shortest name leaves room for any rung. */
static bool build_ladder(const acemq_policy *policy, ace_ladder *ladder)
{
    return is_valid(policy) && ace_ladder_build("q", &policy->policy, ladder, NULL) == ACE_OK;
}

size_t acemq_policy_rung_count(const acemq_policy *policy)
{
    ace_ladder ladder = ACE_LADDER_INIT;
    if (!build_ladder(policy, &ladder)) {
        return 0;
    }
    size_t count = ladder.count;
    ace_ladder_release(&ladder);
    return count;
}

int64_t acemq_policy_rung_delay(const acemq_policy *policy, size_t index)
{
    ace_ladder ladder = ACE_LADDER_INIT;
    if (!build_ladder(policy, &ladder)) {
        return 0;
    }
    int64_t delay = index < ladder.count ? ladder.rungs[index].wait : 0;
    ace_ladder_release(&ladder);
    return delay;
}

int64_t acemq_policy_choose_rung(const acemq_policy *policy, int64_t delay)
{
    ace_ladder ladder = ACE_LADDER_INIT;
    if (!build_ladder(policy, &ladder)) {
        return 0;
    }
    const ace_rung *rung = ace_ladder_choose(&ladder, delay);
    int64_t wait = rung == NULL ? 0 : rung->wait;
    ace_ladder_release(&ladder);
    return wait;
}

static ace_code check_rung(const acemq_policy *policy, const char *queue, int64_t delay,
                           ace_error **error)
{
    ace_code code = (ace_code)acemq_policy_check(policy, error);
    if (code == ACE_OK) {
        code = ace_argument_text(queue, "queue", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(delay, 1, INT64_MAX, "delay", error);
    }
    return code;
}

acemq_status acemq_policy_rung_name(const acemq_policy *policy, const char *queue, int64_t delay,
                                    char name[256], acemq_error **error)
{
    ace_code code = check_rung(policy, queue, delay, error);
    if (code == ACE_OK) {
        code = ace_argument_present(name, "name", error);
    }
    ace_name built;
    if (code == ACE_OK) {
        code = ace_name_rung(queue, delay, &policy->policy, &built, error);
    }
    if (code == ACE_OK) {
        memcpy(name, built.text, sizeof built.text);
    }
    return (acemq_status)code;
}

acemq_status acemq_policy_rung_arguments(const acemq_policy *policy, const char *queue,
                                         int64_t delay, acemq_table **arguments,
                                         acemq_error **error)
{
    ace_code code = check_rung(policy, queue, delay, error);
    if (code == ACE_OK) {
        code = ace_argument_present(arguments, "arguments", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_table *table = ace_table_new();
    if (table == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    code = ace_rung_arguments(queue, delay, policy->policy.durable_rungs, table, error);
    if (code != ACE_OK) {
        ace_table_delete(table);
        return (acemq_status)code;
    }
    *arguments = table;
    return ACEMQ_OK;
}
