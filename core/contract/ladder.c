#include "contract/ladder.h"

#include <stdlib.h>
#include <string.h>

static ace_code append_rung(ace_ladder *ladder, const ace_name *queue, int64_t wait,
                            ace_error **error)
{
    if (ladder->count == ACE_RUNGS_MAX) {
        ace_fail(error, ACE_LIMIT,
                 "the policy has more than %d waits in the broker; a larger multiplier or a lower "
                 "max delay has fewer",
                 ACE_RUNGS_MAX);
        ace_error_field(error, "rungs", ACE_RUNGS_MAX);
        return ACE_LIMIT;
    }
    size_t capacity = 4;
    while (capacity < ladder->count + 1) {
        capacity *= 2;
    }
    ace_rung *rungs = realloc(ladder->rungs, capacity * sizeof *rungs);
    if (rungs == NULL) {
        return ace_fail_memory(error);
    }
    ladder->rungs = rungs;
    rungs[ladder->count].queue = *queue;
    rungs[ladder->count].wait = wait;
    ladder->count++;
    return ACE_OK;
}

/* The first attempt after `attempt` whose rung has another name than that of `wait`. Under
 * whole-second names all waits within one second share theirs, so the rest of that second is
 * stepped over. */
static int32_t next_rung(const ace_policy *policy, int64_t wait)
{
    if (policy->whole_second_names && wait <= INT64_MAX - 1000) {
        wait += 999 - wait % 1000;
    }
    return ace_policy_first_above(policy, wait);
}

static ace_code build(const char *queue, const ace_policy *policy, ace_ladder *ladder,
                      ace_error **error)
{
    /* Waits never decrease and the longest ends the search, so only distinct ones are computed,
     * whatever the number of attempts. */
    int32_t attempt = ace_policy_first_above(policy, policy->threshold - 1);
    while (attempt > 0) {
        int64_t wait = ace_policy_wait(policy, attempt);
        ace_name name;
        ace_code code = ace_name_rung(queue, wait, policy, &name, error);
        if (code == ACE_OK) {
            code = append_rung(ladder, &name, wait, error);
        }
        if (code != ACE_OK) {
            return code;
        }
        attempt = next_rung(policy, wait);
    }
    return ACE_OK;
}

ace_code ace_ladder_build(const char *queue, const ace_policy *policy, ace_ladder *ladder,
                          ace_error **error)
{
    ace_ladder built = ACE_LADDER_INIT;
    if (policy != NULL && policy->threshold > 0) {
        ace_code code = build(queue, policy, &built, error);
        if (code != ACE_OK) {
            ace_ladder_release(&built);
            return code;
        }
    }
    *ladder = built;
    return ACE_OK;
}

void ace_ladder_release(ace_ladder *ladder)
{
    free(ladder->rungs);
    ladder->rungs = NULL;
    ladder->count = 0;
}

const ace_rung *ace_ladder_choose(const ace_ladder *ladder, int64_t wait)
{
    for (size_t i = 0; i < ladder->count; i++) {
        if (ladder->rungs[i].wait >= wait) {
            return &ladder->rungs[i];
        }
    }
    return ladder->count > 0 ? &ladder->rungs[ladder->count - 1] : NULL;
}

ace_code ace_rung_arguments(const char *queue, int64_t wait, bool durable, ace_table *arguments,
                            ace_error **error)
{
    ace_code code = ACE_OK;
    if (durable) {
        code = ace_table_set_text(arguments, "x-queue-type", "quorum", error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_int64(arguments, "x-message-ttl", wait, error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_text(arguments, "x-dead-letter-exchange", ACE_EXCHANGE_RETRY, error);
    }
    if (code == ACE_OK) {
        code = ace_table_set_text(arguments, "x-dead-letter-routing-key", queue, error);
    }
    if (code == ACE_OK && durable) {
        code = ace_table_set_text(arguments, "x-dead-letter-strategy", "at-least-once", error);
    }
    if (code == ACE_OK && durable) {
        code = ace_table_set_text(arguments, "x-overflow", "reject-publish", error);
    }
    return code;
}
