/* One partition: a message, its attempts, and what becomes of it when they are used up. */
#include "engine/consumer_order.h"
#include "engine/ordered_state.h"
#include "engine/settle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- handling --- */

typedef struct begin_wait {
    const ace_ordered *ordered;
    const ace_consumer *consumer;
} begin_wait;

static bool is_begun_or_closed(void *user)
{
    const begin_wait *wait = user;
    return atomic_load(&wait->ordered->ready) || wait->consumer->inbox.closed;
}

/* All partitions open, or none: until then a failure to open one leaves nothing handled. */
static bool await_begin(ace_partition *partition, ace_delivery *delivery)
{
    const ace_ordered *ordered = partition->ordered;
    begin_wait wait = {ordered, delivery->consumer};
    if (!atomic_load(&ordered->ready)) {
        (void)ace_inbox_await(&delivery->consumer->inbox, is_begun_or_closed, &wait, ACE_NEVER,
                              NULL);
    }
    return atomic_load(&ordered->ready);
}

static ace_outcome outcome_of(ace_happening what)
{
    switch (what) {
    case ACE_HAPPENED_ACCEPTED:
        return ACE_ACCEPTED;
    case ACE_HAPPENED_FATAL:
        return ACE_REJECTED;
    case ACE_HAPPENED_PARKED:
        return ACE_PARKED;
    default:
        return ACE_FAILED;
    }
}

/* Whoever pulls gets a view of it, since what he keeps may not be the one that is tried again. */
static ace_outcome lend(ace_partition *partition, ace_delivery *delivery)
{
    ace_ordered *ordered = partition->ordered;
    ace_delivery *view = ace_delivery_view(delivery);
    if (view == NULL) {
        ace_delivery_set_reason(delivery, "out of memory");
        return ACE_FAILED;
    }
    delivery->answered = false;
    if (ace_inbox_put(&ordered->handouts, view, NULL) == ACE_CLOSED) {
        partition->handed_back = true;
    } else if (!ace_order_await_answer(delivery->consumer, delivery)) {
        partition->handed_back = true; /* in vain: its channel is gone */
        if (ace_inbox_take_back(&ordered->handouts, view)) {
            ace_delivery_unref(view); /* the inbox's */
        }
    } else {
        partition->handed_back = delivery->verdict.put_back_unchanged;
    }
    ace_delivery_unref(view);
    return partition->handed_back ? ACE_FAILED : outcome_of(delivery->verdict.what);
}

ace_outcome ace_partition_handle(ace_delivery *delivery, void *user)
{
    ace_partition *partition = user;
    partition->handed_back = !await_begin(partition, delivery);
    if (partition->handed_back) {
        return ACE_FAILED;
    }
    return partition->ordered->handler != NULL
               ? partition->ordered->handler(delivery, partition->ordered->user)
               : lend(partition, delivery);
}

/* --- what becomes of it --- */

static void forget(ace_partition *partition)
{
    free(partition->id);
    partition->id = NULL;
    partition->attempts = 0;
}

/* A message that comes again after a lost channel goes on with its count. */
static int32_t count_attempt(ace_partition *partition, const ace_delivery *delivery)
{
    ace_bytes id = delivery->envelope.id;
    if (partition->id == NULL || !ace_bytes_equal_text(id, partition->id)) {
        forget(partition);
        partition->id = ace_bytes_to_text(id); /* without memory it counts anew next time */
    }
    if (partition->attempts < INT32_MAX) {
        partition->attempts++;
    }
    return partition->attempts;
}

static const char *reason_of(const ace_delivery *delivery)
{
    return delivery->reason == NULL || delivery->reason[0] == '\0' ? "no reason given"
                                                                   : delivery->reason;
}

static int64_t wall_now(const ace_delivery *delivery)
{
    return ace_clock_wall(ace_loop_clock(delivery->consumer->loop));
}

void ace_partition_set_aside(ace_delivery *delivery, bool parked, void *user)
{
    const ace_partition *partition = user;
    ace_ordered *ordered = partition->ordered;
    ace_gap gap = {.partition = partition->index,
                   .parked = parked,
                   .id = ace_bytes_to_text(delivery->envelope.id),
                   .reason = strdup(reason_of(delivery)),
                   .time = wall_now(delivery)};
    ace_mutex_lock(&ordered->mutex);
    ace_gaps *gaps = &ordered->gaps;
    gaps->all++;
    if (gaps->count == ACE_GAPS_KEPT) {
        free(gaps->items[0].id);
        free(gaps->items[0].reason);
        memmove(gaps->items, gaps->items + 1, (gaps->count - 1) * sizeof *gaps->items);
        gaps->count--;
    }
    ace_gap *grown = realloc(gaps->items, (gaps->count + 1) * sizeof *grown);
    if (grown != NULL) {
        gaps->items = grown;
    }
    bool kept = grown != NULL && gap.id != NULL && gap.reason != NULL;
    if (kept) {
        gaps->items[gaps->count++] = gap;
    }
    ace_mutex_unlock(&ordered->mutex);
    ace_error *error = NULL;
    (void)ace_fail(&error, parked ? ACE_DECODE : ACE_STATE,
                   "a gap in the order of %s: message %.*s %s: %s", delivery->queue_name,
                   (int)delivery->envelope.id.length, (const char *)delivery->envelope.id.data,
                   parked ? "was parked" : "went to the dead letters", reason_of(delivery));
    ace_consumer_log(delivery->consumer, ACE_LOG_WARNING, "%s", ace_error_message(error));
    ace_consumer_tell(delivery->consumer, ACE_EVENT_ORDER, ACE_ORDER_GAP,
                      (uint64_t)partition->index, error);
    ace_error_free(error);
    if (!kept) {
        free(gap.id);
        free(gap.reason);
    }
}

static ace_review settle(ace_partition *partition)
{
    forget(partition);
    return ACE_REVIEW_SETTLE;
}

static ace_review halt(ace_partition *partition, const ace_delivery *delivery)
{
    ace_ordered *ordered = partition->ordered;
    ace_consumer *consumer = delivery->consumer;
    ace_error *why = NULL;
    (void)ace_fail(&why, ACE_STATE, "%s halted at message %.*s after %" PRId32 " attempts: %s",
                   delivery->queue_name, (int)delivery->envelope.id.length,
                   (const char *)delivery->envelope.id.data, partition->attempts,
                   reason_of(delivery));
    forget(partition);
    /* First: whoever learns of it may resume it at once. Closed, it goes back all the same. */
    (void)ace_consumer_pause(consumer, NULL);
    ace_mutex_lock(&ordered->mutex);
    ace_error_free(partition->why);
    partition->why = ace_error_copy(why);
    partition->halted = true;
    ace_mutex_unlock(&ordered->mutex);
    ace_consumer_log(consumer, ACE_LOG_ERROR, "%s", ace_error_message(why));
    ace_consumer_tell(consumer, ACE_EVENT_ORDER, ACE_ORDER_HALTED, (uint64_t)partition->index, why);
    ace_error_free(why);
    return ACE_REVIEW_PUT_BACK;
}

static int64_t wait_after(const ace_partition *partition, const ace_delivery *delivery)
{
    const ace_ordered *ordered = partition->ordered;
    int64_t wait = ordered->has_policy ? ace_policy_wait(&ordered->policy, partition->attempts) : 0;
    if (wait > 0) {
        double unit = ace_random_unit(delivery->consumer->connection->settings.random);
        return ace_policy_jittered(&ordered->policy, wait, unit);
    }
    uint32_t repeats = (uint32_t)partition->attempts - 1;
    return ace_back_off(repeats, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX);
}

/* Longer than the broker lets it be held nothing waits here: it goes back to its place, comes again
 * and goes on with its count. */
static ace_review again(ace_partition *partition, ace_delivery *delivery)
{
    int64_t wait = wait_after(partition, delivery);
    int64_t left = ace_settle_hold_end(delivery) -
                   ace_clock_monotonic(ace_loop_clock(delivery->consumer->loop));
    if (left <= wait) {
        wait = left;
    }
    bool undisturbed = ace_order_rest(delivery->consumer, delivery, ace_deadline_after(wait));
    return undisturbed && left > wait ? ACE_REVIEW_AGAIN : ACE_REVIEW_PUT_BACK;
}

static ace_review review_failure(ace_partition *partition, ace_delivery *delivery,
                                 ace_happening what)
{
    const ace_ordered *ordered = partition->ordered;
    int32_t attempts = count_attempt(partition, delivery);
    if (ordered->failure == ACE_ORDER_RETRY_IN_PLACE) {
        return again(partition, delivery);
    }
    ace_policy one = ace_policy_none();
    int64_t age = ace_message_age(delivery->envelope.first_seen, wall_now(delivery));
    ace_verdict verdict =
        ace_policy_verdict(ordered->has_policy ? &ordered->policy : &one, attempts, age);
    if (what == ACE_HAPPENED_FAILED && verdict == ACE_RETRY) {
        return again(partition, delivery);
    }
    if (ordered->failure == ACE_ORDER_STOP) {
        return halt(partition, delivery);
    }
    delivery->exhausted = verdict == ACE_GIVE_UP_ATTEMPTS;
    return settle(partition);
}

ace_review ace_partition_review(ace_delivery *delivery, ace_happening *what, void *user)
{
    ace_partition *partition = user;
    if (partition->handed_back) {
        partition->handed_back = false;
        return ACE_REVIEW_PUT_BACK;
    }
    switch (*what) {
    case ACE_HAPPENED_FAILED:
    case ACE_HAPPENED_FATAL:
        return review_failure(partition, delivery, *what);
    default:
        return settle(partition);
    }
}
