#include "engine/hop.h"

#include "engine/consumer_state.h"
#include "engine/consumer_watch.h"
#include "engine/hop_flight.h"
#include "engine/settle.h"

#include <stdlib.h>
#include <string.h>

/* --- the targets --- */

static void back_off_over(ace_timer *timer);
static void declared(ace_declarer *declarer);

static void init_target(ace_consumer *consumer, ace_hop_target *target, ace_hop_kind kind,
                        const char *queue)
{
    target->consumer = consumer;
    target->kind = kind;
    target->queue = queue;
    target->timer.fire = back_off_over;
    ace_list_init(&target->held);
}

ace_code ace_hops_init(ace_consumer *consumer, ace_error **error)
{
    ace_hops *hops = &consumer->hops;
    ace_code code = ace_name_dead_letter(consumer->queue, &hops->dead_letter_name, error);
    if (code == ACE_OK) {
        code = ace_name_parked(consumer->queue, &hops->parked_name, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    init_target(consumer, &hops->own, ACE_HOP_OWN_QUEUE, consumer->queue);
    init_target(consumer, &hops->dead_letter, ACE_HOP_DEAD_LETTER, hops->dead_letter_name.text);
    init_target(consumer, &hops->parked, ACE_HOP_PARK, hops->parked_name.text);
    if (consumer->ladder.count > 0) {
        hops->rungs = calloc(consumer->ladder.count, sizeof *hops->rungs);
        if (hops->rungs == NULL) {
            return ace_fail_memory(error);
        }
    }
    for (size_t i = 0; i < consumer->ladder.count; i++) {
        init_target(consumer, &hops->rungs[i], ACE_HOP_RUNG, consumer->ladder.rungs[i].queue.text);
    }
    hops->declarer.link = consumer->consuming;
    hops->declarer.plan = &consumer->plan;
    hops->declarer.go_on = true;
    hops->declarer.done = declared;
    return ACE_OK;
}

void ace_hops_free(ace_consumer *consumer)
{
    free(consumer->hops.rungs);
    consumer->hops.rungs = NULL;
}

/* The targets one after the other: NULL after the last. */
static ace_hop_target *target_at(ace_consumer *consumer, size_t index)
{
    ace_hops *hops = &consumer->hops;
    ace_hop_target *const fixed[] = {&hops->own, &hops->dead_letter, &hops->parked};
    const size_t count = sizeof fixed / sizeof *fixed;
    if (index < count) {
        return fixed[index];
    }
    return index - count < consumer->ladder.count ? &hops->rungs[index - count] : NULL;
}

/* Any thread may ask whether one of them fails. */
static void set_state(ace_hop_target *target, ace_target_state state)
{
    ace_consumer *consumer = target->consumer;
    bool failed = target->state != ACE_TARGET_OPEN;
    bool fails = state != ACE_TARGET_OPEN;
    target->state = state;
    if (fails && !failed) {
        atomic_store(&consumer->failing_hop, target->queue);
        atomic_fetch_add(&consumer->failing_targets, 1);
    } else if (failed && !fails) {
        atomic_fetch_sub(&consumer->failing_targets, 1);
    }
}

ace_hop_target *ace_hops_target(ace_consumer *consumer, ace_hop_kind kind, const ace_rung *rung)
{
    switch (kind) {
    case ACE_HOP_RUNG:
        return &consumer->hops.rungs[rung - consumer->ladder.rungs];
    case ACE_HOP_OWN_QUEUE:
        return &consumer->hops.own;
    case ACE_HOP_DEAD_LETTER:
        return &consumer->hops.dead_letter;
    case ACE_HOP_PARK:
        break;
    }
    return &consumer->hops.parked;
}

void ace_hops_detach(ace_consumer *consumer)
{
    ace_declarer_reset(&consumer->hops.declarer);
    ace_hop_target *target;
    for (size_t i = 0; (target = target_at(consumer, i)) != NULL; i++) {
        ace_loop_timer_cancel(consumer->loop, &target->timer);
        set_state(target, ACE_TARGET_OPEN);
        target->refused = false;
    }
}

void ace_hop_forget(ace_delivery *delivery)
{
    if (delivery->stage == ACE_DELIVERY_HELD) {
        ace_list_remove(&delivery->target->held, &delivery->queue);
    }
}

void ace_hops_own_queue_is_back(ace_consumer *consumer)
{
    ace_link_node *next = ace_list_first(&consumer->deliveries);
    while (next != NULL) {
        ace_delivery *delivery = ACE_RECORD(next, ace_delivery, node);
        next = ace_list_next(&consumer->deliveries, next);
        if (delivery->stage == ACE_DELIVERY_ORPHAN) {
            ace_loop_timer_cancel(consumer->loop, &delivery->timer);
            ace_hop_send(delivery, &consumer->hops.own);
        }
    }
}

/* --- failures --- */

static void bound_hold(ace_delivery *delivery)
{
    ace_consumer *consumer = delivery->consumer;
    int64_t end = ace_settle_hold_end(delivery);
    if (end != ACE_NEVER) {
        ace_consumer_timer(consumer, &delivery->timer, end - ace_consumer_now(consumer));
    }
}

static void hold(ace_delivery *delivery, ace_hop_target *target)
{
    delivery->stage = ACE_DELIVERY_HELD;
    ace_list_append(&target->held, &delivery->queue);
    bound_hold(delivery);
}

static void let_out(ace_hop_target *target)
{
    ace_list batch;
    ace_list_init(&batch);
    ace_list_splice(&batch, &target->held);
    ace_loop_timer_cancel(target->consumer->loop, &target->timer);
    set_state(target, ACE_TARGET_OPEN);
    target->round++;
    ace_link_node *node;
    while ((node = ace_list_take_first(&batch)) != NULL) {
        ace_delivery *delivery = ACE_RECORD(node, ace_delivery, queue);
        ace_loop_timer_cancel(target->consumer->loop, &delivery->timer);
        delivery->stage = ACE_DELIVERY_HOPPING;
        ace_hop_send(delivery, target);
    }
}

/* The rung may not be declared: its waits are spent here, until the back-off gives it another try.
 */
static void wait_here_instead(ace_hop_target *target)
{
    ace_list batch;
    ace_list_init(&batch);
    ace_list_splice(&batch, &target->held);
    ace_link_node *node;
    while ((node = ace_list_take_first(&batch)) != NULL) {
        ace_delivery *delivery = ACE_RECORD(node, ace_delivery, queue);
        int64_t wait = delivery->settlement.delay;
        ace_settle_wait_here(delivery, wait < ACE_HOLD_MAX ? wait : ACE_HOLD_MAX);
    }
}

static void back_off(ace_hop_target *target, int64_t delay)
{
    set_state(target, ACE_TARGET_BACK_OFF);
    ace_consumer_timer(target->consumer, &target->timer, delay);
}

static int64_t present_delay(const ace_hop_target *target)
{
    uint32_t repeats = target->failures > 0 ? target->failures - 1 : 0;
    return ace_back_off(repeats, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX);
}

static void refused(ace_hop_target *target, const char *why)
{
    ace_consumer *consumer = target->consumer;
    if (target->kind == ACE_HOP_RUNG) {
        ace_consumer_log(consumer, ACE_LOG_ERROR,
                         "rung %s is missing and cannot be declared: %s; its waits are spent here",
                         target->queue, why);
        target->refused = true;
        wait_here_instead(target);
        back_off(target, ace_back_off(target->refusals++, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX));
        return;
    }
    ace_consumer_log(consumer, ACE_LOG_ERROR, "%s is missing and cannot be declared: %s",
                     target->queue, why);
    if (target->waited) {
        let_out(target); /* somebody else may have made it */
    } else {
        back_off(target, present_delay(target));
    }
}

static void declare(ace_hop_target *target)
{
    ace_consumer *consumer = target->consumer;
    if (consumer->verify) {
        refused(target, "declare is verify");
        return;
    }
    set_state(target, ACE_TARGET_WANTED);
    if (consumer->hops.declarer.running) {
        return;
    }
    set_state(target, ACE_TARGET_DECLARING);
    if (ace_declarer_start(&consumer->hops.declarer, NULL) != ACE_OK) {
        back_off(target, present_delay(target));
    }
}

/* What has to be there for a hop to the target to be of any use. */
static bool concerns(const ace_declaration *item, const ace_hop_target *target)
{
    if (target->kind != ACE_HOP_RUNG) {
        return item->kind == ACE_DECLARE_QUEUE && strcmp(item->name, target->queue) == 0;
    }
    switch (item->kind) {
    case ACE_DECLARE_EXCHANGE:
        return strcmp(item->name, ACE_EXCHANGE_RETRY) == 0;
    case ACE_DECLARE_QUEUE:
        return strcmp(item->name, target->queue) == 0;
    case ACE_DECLARE_BINDING:
        break;
    }
    return strcmp(item->exchange, ACE_EXCHANGE_RETRY) == 0;
}

static bool was_refused(const ace_declarer *declarer, const ace_hop_target *target)
{
    for (size_t i = 0; i < declarer->plan->count; i++) {
        if (declarer->refused[i] && concerns(&declarer->plan->items[i], target)) {
            return true;
        }
    }
    return false;
}

static void declared(ace_declarer *declarer)
{
    ace_hops *hops = ACE_RECORD(declarer, ace_hops, declarer);
    ace_consumer *consumer = ACE_RECORD(hops, ace_consumer, hops);
    ace_hop_target *target;
    for (size_t i = 0; (target = target_at(consumer, i)) != NULL; i++) {
        if (target->state != ACE_TARGET_DECLARING) {
            continue;
        }
        if (was_refused(declarer, target)) {
            refused(target, ace_error_message(declarer->error));
        } else if (declarer->interrupted) {
            back_off(target, present_delay(target));
        } else {
            let_out(target);
        }
    }
    for (size_t i = 0; (target = target_at(consumer, i)) != NULL; i++) {
        if (target->state == ACE_TARGET_WANTED) {
            declare(target);
        }
    }
}

static void back_off_over(ace_timer *timer)
{
    ace_hop_target *target = ACE_RECORD(timer, ace_hop_target, timer);
    target->waited = true;
    if (target->refused) {
        target->refused = false;
        target->failures = 0;
        set_state(target, ACE_TARGET_OPEN);
    } else if (ace_list_empty(&target->held)) {
        set_state(target, ACE_TARGET_OPEN);
    } else if (target->gone) {
        declare(target);
    } else {
        let_out(target);
    }
}

static void succeeded(ace_hop_target *target)
{
    target->failures = 0;
    target->refusals = 0;
    target->gone = false;
    target->refused = false;
    if (target->state == ACE_TARGET_BACK_OFF) {
        let_out(target);
    }
}

static void orphaned(ace_delivery *delivery, const ace_error *error)
{
    ace_consumer *consumer = delivery->consumer;
    ace_consumer_log(consumer, ACE_LOG_ERROR,
                     "its queue is gone: message %.*s, which was on its way back, is held until "
                     "the broker says so",
                     (int)delivery->envelope.id.length, (const char *)delivery->envelope.id.data);
    ace_consumer_tell(consumer, ACE_EVENT_SETTLE, 0, delivery->tag, error);
    delivery->stage = ACE_DELIVERY_ORPHAN;
    bound_hold(delivery);
}

/* The message itself cannot be sent so: others to the same target are not kept waiting for it. */
static void repeat_alone(ace_delivery *delivery, const ace_hop_target *target,
                         const ace_error *error)
{
    ace_consumer *consumer = delivery->consumer;
    int64_t delay = ace_back_off(delivery->faults++, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX);
    int64_t left = ace_settle_hold_end(delivery) - ace_consumer_now(consumer);
    ace_consumer_log(consumer, ACE_LOG_WARNING,
                     "message %.*s cannot go to %s: %s; again in %lld ms",
                     (int)delivery->envelope.id.length, (const char *)delivery->envelope.id.data,
                     target->queue, ace_error_message(error), (long long)delay);
    delivery->stage = ACE_DELIVERY_ALONE;
    ace_consumer_timer(consumer, &delivery->timer, delay < left ? delay : left);
}

static void begin_back_off(ace_hop_target *target, bool returned, int64_t elapsed,
                           const ace_error *error)
{
    bool first = target->failures == 0;
    target->failures++;
    target->gone = returned;
    target->waited = false;
    int64_t delay = present_delay(target);
    ace_consumer_log(target->consumer, ACE_LOG_WARNING, "a hop to %s failed: %s; %s", target->queue,
                     ace_error_message(error),
                     returned && first ? "its set is declared again" : "it is repeated");
    if (returned && first) {
        declare(target);
        return;
    }
    /* What was refused after waiting for the broker has done its waiting. */
    back_off(target, delay > elapsed ? delay - elapsed : 0);
}

static bool is_own_fault(ace_code code)
{
    return code == ACE_LIMIT || code == ACE_INVALID_ARGUMENT || code == ACE_RESERVED_HEADER;
}

static void put_back_for(ace_delivery *delivery, const ace_hop_target *target,
                         const ace_error *error)
{
    ace_consumer *consumer = delivery->consumer;
    ace_consumer_log(consumer, ACE_LOG_WARNING,
                     "message %.*s is put back, its hop to %s failed: %s",
                     (int)delivery->envelope.id.length, (const char *)delivery->envelope.id.data,
                     target->queue, ace_error_message(error));
    ace_consumer_tell(consumer, ACE_EVENT_SETTLE, 0, delivery->tag, error);
    ace_settle_put_back(delivery);
}

static void failed(ace_delivery *delivery, ace_hop_target *target, const ace_hop_result *result)
{
    ace_consumer *consumer = target->consumer;
    int64_t now = ace_consumer_now(consumer);
    bool returned = result->code == ACE_UNROUTABLE;
    bool rung_missing = returned && target->kind == ACE_HOP_RUNG;
    atomic_fetch_add(rung_missing ? &consumer->rungs_missing : &consumer->hops_failed, 1);
    ace_watch_hop_failed(target, rung_missing);
    if (consumer->stopping || now >= ace_settle_hold_end(delivery)) {
        put_back_for(delivery, target, result->error);
        return;
    }
    if (is_own_fault(result->code)) {
        repeat_alone(delivery, target, result->error);
        return;
    }
    if (returned && target->kind == ACE_HOP_OWN_QUEUE) {
        orphaned(delivery, result->error);
        return;
    }
    hold(delivery, target);
    if (target->state == ACE_TARGET_OPEN && result->round == target->round) {
        int64_t elapsed = result->code == ACE_REFUSED ? now - result->submitted : 0;
        begin_back_off(target, returned, elapsed, result->error);
    } else if (target->state == ACE_TARGET_OPEN) {
        let_out(target); /* it comes late, others were let out meanwhile */
    }
}

void ace_hop_landed(ace_delivery *delivery, ace_hop_target *target, const ace_hop_result *result)
{
    if (result->code != ACE_OK) {
        failed(delivery, target, result);
        return;
    }
    /* The target first: others may be waiting for the news. */
    succeeded(target);
    ace_settle_hopped(delivery);
}

void ace_hop_send(ace_delivery *delivery, ace_hop_target *target)
{
    delivery->target = target;
    delivery->stage = ACE_DELIVERY_HOPPING;
    if (target->state != ACE_TARGET_OPEN && !delivery->consumer->stopping) {
        hold(delivery, target);
        if (target->refused) {
            wait_here_instead(target);
        }
        return;
    }
    ace_error *error = NULL;
    ace_code code = ace_hop_launch(delivery, target, &error);
    if (code != ACE_OK) {
        ace_hop_result result = {code, error, target->round, ace_consumer_now(delivery->consumer)};
        failed(delivery, target, &result);
    }
    ace_error_free(error);
}
