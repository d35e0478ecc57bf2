#include "engine/settle.h"

#include "engine/consumer_order.h"
#include "engine/consumer_subscription.h"
#include "engine/consumer_watch.h"

#include <string.h>

/* --- the last step: an answer to the broker --- */

static void count(ace_consumer *consumer, unsigned counters)
{
    if (counters == ACE_COUNT_ACKNOWLEDGED) { /* nearly always */
        ace_consumer_add(&consumer->acknowledged, 1);
        return;
    }
    const struct {
        unsigned flag;
        atomic_uint_least64_t *counter;
    } all[] = {
        {ACE_COUNT_ACKNOWLEDGED, &consumer->acknowledged},
        {ACE_COUNT_REJECTED, &consumer->rejected},
        {ACE_COUNT_RETRIED, &consumer->retried},
        {ACE_COUNT_DEAD_LETTERED, &consumer->dead_lettered},
        {ACE_COUNT_PARKED, &consumer->parked},
        {ACE_COUNT_DUPLICATES, &consumer->duplicates},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((counters & all[i].flag) != 0) {
            ace_consumer_add(all[i].counter, 1);
        }
    }
}

static bool is_waiting(const ace_delivery *delivery)
{
    return delivery->stage == ACE_DELIVERY_WAITING || delivery->stage == ACE_DELIVERY_DELAYED;
}

static void leave_wait(ace_delivery *delivery)
{
    if (is_waiting(delivery)) {
        atomic_fetch_sub(&delivery->consumer->waiting, 1);
    }
}

/* Off the consumer's hands; the delivery may be gone afterwards. */
static void complete(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    ace_loop_timer_cancel(consumer->loop, &delivery->timer);
    ace_hop_forget(delivery);
    leave_wait(delivery);
    ace_watch_left(delivery);
    delivery->stage = ACE_DELIVERY_FINISHED;
    ace_list_remove(&consumer->deliveries, &delivery->node);
    ace_window_released(consumer, ace_content_memory(delivery->content));
    ace_consumer_add(&consumer->in_flight, -1);
    if (consumer->stopping) {
        ace_inbox_stir(&consumer->inbox);
    }
    ace_delivery_let_go(delivery);
}

static uint64_t lowest_unsettled(const ace_consumer *consumer)
{
    const ace_link_node *first = ace_list_first(&consumer->deliveries);
    return first == NULL ? UINT64_MAX : ACE_RECORD(first, ace_delivery, node)->tag;
}

void ace_settle_flush(ace_consumer *consumer)
{
    if (consumer->acks.count == 0) {
        return;
    }
    consumer->acks.flushed = ace_consumer_now(consumer);
    if (ace_acks_flush(&consumer->acks, consumer->subscription.channel,
                       lowest_unsettled(consumer))) {
        ace_loop_timer_cancel(consumer->loop, &consumer->acks.timer);
    } else {
        ace_consumer_timer(consumer, &consumer->acks.timer, ACE_BACK_OFF_FIRST);
    }
}

static void flush_deferred(ace_deferral *deferral)
{
    ace_acks *acks = ACE_RECORD(deferral, ace_acks, deferral);
    ace_settle_flush(ACE_RECORD(acks, ace_consumer, acks));
}

static void flush_due(ace_timer *timer)
{
    ace_acks *acks = ACE_RECORD(timer, ace_acks, timer);
    ace_settle_flush(ACE_RECORD(acks, ace_consumer, acks));
}

void ace_settle_init(ace_consumer *consumer)
{
    consumer->acks.deferral.run = flush_deferred;
    consumer->acks.timer.fire = flush_due;
}

/* Others follow closely: here already, or as they did a moment ago. */
static bool has_company(const ace_consumer *consumer)
{
    return !ace_list_empty(&consumer->deliveries) ||
           ace_consumer_now(consumer) - consumer->acks.flushed < ACE_ACKS_DELAY;
}

/* Held back only while the broker may send more without it. */
static bool can_wait(const ace_consumer *consumer)
{
    return !consumer->stopping && has_company(consumer) &&
           consumer->acks.count * 4 < consumer->subscription.window;
}

static void acknowledge(ace_consumer *consumer, uint64_t tag)
{
    ace_acks *acks = &consumer->acks;
    if (acks->count == ACE_ACKS_MOST) {
        return; /* memory is gone: this one the broker gives again */
    }
    /* Before any flush: what is neither unsettled nor pending is taken for acknowledged. */
    acks->tags[acks->count++] = tag;
    if (acks->count == ACE_ACKS_MOST) {
        ace_settle_flush(consumer);
    } else if (!can_wait(consumer)) {
        ace_loop_defer(consumer->loop, &acks->deferral);
    } else if (!ace_timer_is_set(&acks->timer)) {
        ace_consumer_timer(consumer, &acks->timer, ACE_ACKS_DELAY);
    }
}

void ace_settle_requeue(ace_consumer *consumer, uint64_t tag)
{
    amqp_basic_nack_t nack = {.delivery_tag = tag, .requeue = 1};
    ace_error *error = NULL;
    if (ace_channel_send(consumer->subscription.channel, AMQP_BASIC_NACK_METHOD, &nack, &error) ==
        ACE_OUT_OF_MEMORY) {
        /* Kept, it would be nobody's until the broker's own limit, or until an acknowledgement of
         * several covers it. */
        ace_link_fail(consumer->consuming, error);
        return;
    }
    ace_error_free(error);
}

static void finish_acknowledged(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    uint64_t tag = delivery->tag;
    count(consumer, delivery->settlement.counters);
    ace_watch_settled(delivery);
    complete(delivery);
    acknowledge(consumer, tag);
}

static void finish_requeued(ace_delivery *delivery, unsigned counters)
{
    ace_consumer *consumer = delivery->consumer;
    uint64_t tag = delivery->tag;
    count(consumer, counters);
    complete(delivery);
    ace_settle_requeue(consumer, tag);
}

void ace_settle_hopped(ace_delivery *delivery)
{
    const ace_consumer *consumer = delivery->consumer;
    ace_settle_action action = delivery->settlement.action;
    bool aside = action == ACE_SETTLE_DEAD_LETTER || action == ACE_SETTLE_PARK;
    if (aside && consumer->set_aside != NULL) {
        consumer->set_aside(delivery, action == ACE_SETTLE_PARK, consumer->user);
    }
    finish_acknowledged(delivery);
}

void ace_settle_return(ace_delivery *delivery)
{
    ace_watch_gone(delivery, "put_back");
    finish_requeued(delivery, 0);
}

void ace_settle_drop(ace_delivery *delivery)
{
    if (delivery->stage != ACE_DELIVERY_READY) { /* else its receiver may have it, and tells */
        ace_watch_gone(delivery, "lost");
    }
    atomic_store(&delivery->dropped, true);
    complete(delivery);
}

/* --- the table --- */

/* All that the table may want to know of what was not simply done. */
static ace_settlement_case case_of(ace_delivery *delivery, ace_happening what)
{
    ace_consumer *consumer = delivery->consumer;
    bool may_wait = what == ACE_HAPPENED_FAILED; /* only then it matters for how long */
    return (ace_settlement_case){
        .what = what,
        .policy = consumer->has_policy ? &consumer->policy : NULL,
        .ladder = &consumer->ladder,
        .requeue_on_failure = consumer->requeue_on_failure,
        .attempt = delivery->exhausted ? INT32_MAX : delivery->envelope.attempt,
        .age = ace_message_age(delivery->envelope.first_seen, delivery->verdict.wall),
        .reason = delivery->reason == NULL ? (ace_bytes){NULL, 0} : ace_bytes_of(delivery->reason),
        .repeats =
            what == ACE_HAPPENED_STORE_FAILED ? consumer->store_failures : consumer->requeues,
        .put_back_wait = consumer->claims.options.put_back_wait,
        .unit = may_wait ? ace_random_unit(consumer->connection->settings.random) : 0,
    };
}

static ace_code decide(ace_delivery *delivery, ace_happening what, ace_settlement *settlement)
{
    ace_settlement_case happened = {.what = what};
    if (what != ACE_HAPPENED_ACCEPTED) {
        happened = case_of(delivery, what);
    }
    ace_code code = ace_settlement_decide(&happened, settlement, NULL);
    if (delivery->exhausted) {
        settlement->attempt = delivery->envelope.attempt; /* what was counted here stays here */
    }
    return code;
}

void ace_settle_put_back(ace_delivery *delivery)
{
    ace_settlement settlement;
    unsigned counters = ACE_COUNT_REJECTED;
    if (decide(delivery, ACE_HAPPENED_PUT_BACK, &settlement) == ACE_OK) {
        counters = settlement.counters;
        ace_settlement_release(&settlement);
    }
    ace_watch_put_back(delivery, counters);
    finish_requeued(delivery, counters);
}

int64_t ace_settle_hold_end(const ace_delivery *delivery)
{
    int64_t limit = delivery->consumer->hold_limit;
    return limit > ACE_NEVER - delivery->arrived ? ACE_NEVER : delivery->arrived + limit;
}

/* How long of `delay` it may still be held; nothing of it when the consumer is stopping. */
static int64_t bounded(const ace_delivery *delivery, int64_t delay)
{
    const ace_consumer *consumer = delivery->consumer;
    int64_t left = ace_settle_hold_end(delivery) - ace_consumer_now(consumer);
    if (consumer->stopping || left < 0) {
        return 0;
    }
    return delay < left ? delay : left;
}

static void wait_then(ace_delivery *delivery, ace_delivery_stage stage, int64_t delay)
{
    delivery->stage = stage;
    atomic_fetch_add(&delivery->consumer->waiting, 1);
    ace_consumer_timer(delivery->consumer, &delivery->timer, bounded(delivery, delay));
}

void ace_settle_hold(ace_delivery *delivery)
{
    wait_then(delivery, ACE_DELIVERY_DELAYED, ACE_NEVER);
}

void ace_settle_wait_here(ace_delivery *delivery, int64_t delay)
{
    wait_then(delivery, ACE_DELIVERY_WAITING, delay);
}

static void carry_out(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    const ace_settlement *settlement = &delivery->settlement;
    switch (settlement->action) {
    case ACE_SETTLE_ACK:
        finish_acknowledged(delivery);
        return;
    case ACE_SETTLE_RUNG:
        ace_hop_send(delivery, ace_hops_target(consumer, ACE_HOP_RUNG, settlement->rung));
        return;
    case ACE_SETTLE_WAIT_HERE:
        wait_then(delivery, ACE_DELIVERY_WAITING, settlement->delay);
        return;
    case ACE_SETTLE_DEAD_LETTER:
        ace_hop_send(delivery, ace_hops_target(consumer, ACE_HOP_DEAD_LETTER, NULL));
        return;
    case ACE_SETTLE_PARK:
        ace_hop_send(delivery, ace_hops_target(consumer, ACE_HOP_PARK, NULL));
        return;
    case ACE_SETTLE_REQUEUE:
        consumer->requeues++;
        wait_then(delivery, ACE_DELIVERY_DELAYED, settlement->delay);
        return;
    }
}

/* What never got as far as the store says nothing of it. */
static void note_store(ace_consumer *consumer, ace_happening what)
{
    if (what == ACE_HAPPENED_STORE_FAILED) {
        consumer->store_failures++;
        atomic_fetch_add(&consumer->store_failed, 1);
    } else if (what != ACE_HAPPENED_UNDECODABLE) {
        consumer->store_failures = 0;
    }
    if (what == ACE_HAPPENED_IN_PROGRESS) {
        atomic_fetch_add(&consumer->in_progress, 1);
    }
}

static void judge(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    ace_delivery_untake(delivery);
    if (delivery->verdict.put_back_unchanged ||
        decide(delivery, delivery->verdict.what, &delivery->settlement) != ACE_OK) {
        consumer->renews = consumer->keeps_order;
        ace_order_return(delivery);
        return;
    }
    if (delivery->verdict.what == ACE_HAPPENED_ACCEPTED) {
        consumer->requeues = 0;
    }
    note_store(consumer, delivery->verdict.what);
    carry_out(delivery);
}

void ace_settle_judged(ace_task *task)
{
    ace_delivery *delivery = ACE_RECORD(task, ace_delivery, task);
    if (delivery->stage == ACE_DELIVERY_READY) { /* else its channel is gone, and it with it */
        judge(delivery);
        ace_consumer_finish(delivery->consumer);
    } else {
        ace_watch_gone(delivery, "lost");
    }
    ace_delivery_let_go(delivery); /* the task's */
}

/* --- time --- */

static void wait_over(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    switch (delivery->stage) {
    case ACE_DELIVERY_WAITING:
        leave_wait(delivery);
        ace_hop_send(delivery, ace_hops_target(consumer, ACE_HOP_OWN_QUEUE, NULL));
        return;
    case ACE_DELIVERY_DELAYED:
        if (delivery->settlement.outcome == NULL) { /* held unread: nobody judged it */
            ace_settle_return(delivery);
            return;
        }
        ace_watch_settled(delivery);
        finish_requeued(delivery, delivery->settlement.counters);
        return;
    case ACE_DELIVERY_ALONE:
        if (!consumer->stopping && ace_consumer_now(consumer) < ace_settle_hold_end(delivery)) {
            ace_hop_send(delivery, delivery->target);
            return;
        }
        ace_settle_put_back(delivery);
        return;
    case ACE_DELIVERY_HELD:
    case ACE_DELIVERY_ORPHAN:
        ace_settle_put_back(delivery);
        return;
    case ACE_DELIVERY_READY:
    case ACE_DELIVERY_HOPPING:
    case ACE_DELIVERY_FINISHED:
        return;
    }
}

void ace_settle_due(ace_timer *timer)
{
    ace_delivery *delivery = ace_delivery_keep(ACE_RECORD(timer, ace_delivery, timer));
    wait_over(delivery);
    ace_consumer_finish(delivery->consumer);
    ace_delivery_unref(delivery);
}

void ace_settle_end_waits(ace_consumer *consumer)
{
    ace_link_node *next = ace_list_first(&consumer->deliveries);
    while (next != NULL) {
        ace_delivery *delivery = ACE_RECORD(next, ace_delivery, node);
        next = ace_list_next(&consumer->deliveries, next);
        ace_loop_timer_cancel(consumer->loop, &delivery->timer);
        wait_over(delivery);
    }
}
