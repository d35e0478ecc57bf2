/* Policy text: what parses is valid, is written as a text of an equal policy, never waits less than
 * before, and plans a bounded ladder. */
#include "contract/plan.h"
#include "contract/policy_text.h"
#include "fuzz/fuzz.h"

/* A ladder of many rungs that lie close to each other takes a tenth of a second here. */
#define MOST_PLANNED 200

static void check_round_trip(const ace_policy *policy)
{
    ace_buffer text = ACE_BUFFER_INIT;
    ace_buffer second = ACE_BUFFER_INIT;
    ace_policy again;
    FUZZ_DEMAND(ace_policy_format(policy, &text, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_policy_parse((const char *)text.data, text.length, &again, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_policy_equal(policy, &again));
    FUZZ_DEMAND(ace_policy_format(&again, &second, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_bytes_equal((ace_bytes){text.data, text.length},
                                (ace_bytes){second.data, second.length}));
    ace_buffer_free(&text);
    ace_buffer_free(&second);
}

static void check_waits(const ace_policy *policy)
{
    static const int32_t attempts[] = {-1, 0, 1, 2, 3, 4, 13, 31, 32, 64, 1000, INT32_MAX};
    int64_t before = 0;
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        int64_t wait = ace_policy_wait(policy, attempts[i]);
        FUZZ_DEMAND(wait >= before);
        FUZZ_DEMAND(policy->max_delay == 0 || wait <= policy->max_delay);
        FUZZ_DEMAND(ace_policy_jittered(policy, wait, 0.0) >= 1);
        FUZZ_DEMAND(ace_policy_jittered(policy, wait, 0.999999) >= 1);
        before = wait;
    }
    FUZZ_DEMAND(ace_policy_verdict(policy, policy->max_attempts, 0) != ACE_RETRY);
    (void)ace_policy_longest_wait_here(policy);
    (void)ace_policy_first_above(policy, 1800000);
}

static void check_plan(const ace_policy *policy)
{
    ace_plan plan = ACE_PLAN_INIT;
    ace_error *error = NULL;
    ace_code code = ace_plan_consumer("orders", policy, &plan, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
    }
    ace_plan_release(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_policy policy;
    ace_error *error = NULL;
    ace_code code = ace_policy_parse((const char *)data, size, &policy, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return 0;
    }
    FUZZ_DEMAND(ace_policy_check(&policy, NULL) == ACE_OK);
    check_round_trip(&policy);
    check_waits(&policy);
    if (policy.max_attempts <= MOST_PLANNED || policy.multiplier >= 1.1) {
        check_plan(&policy);
    }
    return 0;
}
