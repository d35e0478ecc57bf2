#include "contract/settlement.h"

#include "base/utf8.h"
#include "contract/duration.h"

#include <inttypes.h>
#include <stdlib.h>

int64_t ace_back_off(uint32_t repeats, int64_t first, int64_t limit)
{
    int64_t wait = first;
    for (uint32_t i = 0; i < repeats && wait < limit; i++) {
        wait = wait > limit / 2 ? limit : wait * 2;
    }
    return wait < limit ? wait : limit;
}

void ace_settlement_release(ace_settlement *settlement)
{
    free(settlement->error);
    settlement->error = NULL;
}

/* The reason goes into a header of text and into a NUL-terminated string; a handler may give any
 * bytes. */
static bool append_reason(ace_buffer *text, ace_bytes reason)
{
    if (reason.length == 0) {
        return ace_buffer_append_text(text, "no reason given");
    }
    const char *bytes = (const char *)reason.data;
    size_t position = 0;
    bool good = true;
    while (good && position < reason.length) {
        size_t width = ace_utf8_width(bytes + position, reason.length - position);
        bool readable = width > 0 && bytes[position] != '\0';
        width = width > 0 ? width : 1;
        good = ace_buffer_append(text, readable ? bytes + position : "?", readable ? width : 1);
        position += width;
    }
    return good;
}

static ace_code explain(ace_buffer *text, bool good, ace_bytes reason, ace_settlement *settlement,
                        ace_error **error)
{
    if (good && ace_buffer_append_text(text, ": ") && append_reason(text, reason)) {
        settlement->error = ace_buffer_take_text(text);
    }
    ace_buffer_free(text);
    return settlement->error == NULL ? ace_fail_memory(error) : ACE_OK;
}

static ace_code dead_letter_or_park(const ace_settlement_case *happened, const char *why,
                                    ace_settlement *settlement, ace_error **error)
{
    ace_buffer text = ACE_BUFFER_INIT;
    bool good = ace_buffer_append_text(&text, why);
    return explain(&text, good, happened->reason, settlement, error);
}

static ace_code give_up(const ace_settlement_case *happened, const ace_policy *policy,
                        ace_verdict verdict, ace_settlement *settlement, ace_error **error)
{
    settlement->action = ACE_SETTLE_DEAD_LETTER;
    settlement->outcome = "dead_lettered";
    settlement->counters = ACE_COUNT_REJECTED | ACE_COUNT_DEAD_LETTERED;
    ace_buffer text = ACE_BUFFER_INIT;
    bool good;
    if (verdict == ACE_GIVE_UP_AGE) {
        char age[ACE_DURATION_LENGTH];
        ace_duration_format(policy->max_age, age);
        good = ace_buffer_format(&text, "exceeded the maximum message age of %s", age);
    } else {
        good = ace_buffer_format(&text, "exhausted %" PRId32 " attempts", policy->max_attempts);
    }
    return explain(&text, good, happened->reason, settlement, error);
}

static void retry(const ace_settlement_case *happened, ace_settlement *settlement)
{
    const ace_policy *policy = happened->policy;
    int64_t wait = ace_policy_wait(policy, happened->attempt);
    settlement->attempt = happened->attempt < INT32_MAX ? happened->attempt + 1 : INT32_MAX;
    settlement->outcome = "retried";
    settlement->counters = ACE_COUNT_REJECTED | ACE_COUNT_RETRIED;
    if (happened->ladder != NULL && ace_policy_waits_in_broker(policy, wait)) {
        settlement->rung = ace_ladder_choose(happened->ladder, wait);
    }
    if (settlement->rung != NULL) {
        settlement->action = ACE_SETTLE_RUNG;
        settlement->delay = wait;
        settlement->where = "broker";
        return;
    }
    settlement->action = ACE_SETTLE_WAIT_HERE;
    settlement->delay = ace_policy_jittered(policy, wait, happened->unit);
    settlement->where = "consumer";
}

static void requeue(ace_settlement *settlement, int64_t delay)
{
    settlement->action = ACE_SETTLE_REQUEUE;
    settlement->delay = delay;
    settlement->outcome = "rejected";
    settlement->where = "requeued";
    settlement->counters = ACE_COUNT_REJECTED;
}

static ace_code failed(const ace_settlement_case *happened, ace_settlement *settlement,
                       ace_error **error)
{
    if (happened->policy == NULL && happened->requeue_on_failure) {
        requeue(settlement, ace_back_off(happened->repeats, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX));
        return ACE_OK;
    }
    ace_policy one_attempt = ace_policy_none();
    const ace_policy *policy = happened->policy != NULL ? happened->policy : &one_attempt;
    ace_verdict verdict = ace_policy_verdict(policy, happened->attempt, happened->age);
    if (verdict != ACE_RETRY) {
        return give_up(happened, policy, verdict, settlement, error);
    }
    retry(happened, settlement);
    return ACE_OK;
}

static ace_code set_aside(const ace_settlement_case *happened, ace_settlement *settlement,
                          ace_error **error)
{
    if (happened->what == ACE_HAPPENED_FATAL) {
        settlement->action = ACE_SETTLE_DEAD_LETTER;
        settlement->outcome = "rejected";
        settlement->counters = ACE_COUNT_REJECTED | ACE_COUNT_DEAD_LETTERED;
        return dead_letter_or_park(happened, "the handler reported an unprocessable message",
                                   settlement, error);
    }
    settlement->action = ACE_SETTLE_PARK;
    settlement->outcome = "parked";
    settlement->counters = ACE_COUNT_REJECTED | ACE_COUNT_PARKED;
    bool by_handler = happened->what == ACE_HAPPENED_PARKED;
    return dead_letter_or_park(
        happened, by_handler ? "the handler parked it" : "could not be decoded", settlement, error);
}

static int64_t wait_for_claim(const ace_settlement_case *happened)
{
    if (happened->what == ACE_HAPPENED_STORE_FAILED) {
        return ace_back_off(happened->repeats, ACE_IN_PROGRESS_WAIT, ACE_STORE_WAIT_MAX);
    }
    return happened->put_back_wait == 0 ? ACE_IN_PROGRESS_WAIT : happened->put_back_wait;
}

ace_code ace_settlement_decide(const ace_settlement_case *happened, ace_settlement *settlement,
                               ace_error **error)
{
    *settlement = (ace_settlement){.action = ACE_SETTLE_ACK, .attempt = happened->attempt};
    switch (happened->what) {
    case ACE_HAPPENED_ACCEPTED:
        settlement->outcome = "acked";
        settlement->counters = ACE_COUNT_ACKNOWLEDGED;
        return ACE_OK;
    case ACE_HAPPENED_DUPLICATE:
        settlement->outcome = "acked";
        settlement->counters = ACE_COUNT_DUPLICATES;
        return ACE_OK;
    case ACE_HAPPENED_FAILED:
        return failed(happened, settlement, error);
    case ACE_HAPPENED_FATAL:
    case ACE_HAPPENED_PARKED:
    case ACE_HAPPENED_UNDECODABLE:
        return set_aside(happened, settlement, error);
    case ACE_HAPPENED_IN_PROGRESS:
    case ACE_HAPPENED_STORE_FAILED:
        settlement->action = ACE_SETTLE_WAIT_HERE;
        settlement->outcome = "in_progress";
        settlement->delay = wait_for_claim(happened);
        return ACE_OK;
    case ACE_HAPPENED_PUT_BACK:
    default:
        requeue(settlement, 0);
        return ACE_OK;
    }
}
