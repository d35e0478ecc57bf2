#include "engine/consumer.h"

#include "engine/consumer_order.h"
#include "engine/consumer_state.h"
#include "engine/consumer_subscription.h"
#include "engine/consumer_watch.h"
#include "engine/settle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- for its receivers --- */

static ace_code take_one(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                         ace_delivery **delivery, ace_error **error)
{
    for (;;) {
        ace_delivery *taken;
        ace_code code = ace_inbox_take(&consumer->inbox, deadline, cancel, &taken, error);
        if (code != ACE_OK) {
            return code;
        }
        if (!ace_consumer_is_stale(consumer, taken) && ace_consumer_prepare(consumer, taken) &&
            ace_claims_take(taken) && ace_consumer_intercept(consumer, taken)) {
            atomic_fetch_add(&consumer->delivered, 1);
            ace_watch_begun(taken);
            *delivery = taken;
            return ACE_OK;
        }
        ace_inbox_let_go(&consumer->inbox, taken);
        ace_delivery_unref(taken);
    }
}

ace_code ace_consumer_next(ace_consumer *consumer, int64_t deadline, ace_cancel *cancel,
                           ace_delivery **delivery, ace_error **error)
{
    if (consumer->handler != NULL) {
        return ace_fail(error, ACE_STATE, "the consumer's handler takes the messages");
    }
    if (ace_loop_is_any_current() && deadline > ace_deadline_after(0)) {
        return ace_fail(error, ACE_FROM_HANDLER,
                        "waiting for a message would block a thread that may not wait");
    }
    ace_handle_retain(&consumer->handle);
    ace_code code = take_one(consumer, deadline, cancel, delivery, error);
    ace_consumer_unref(consumer);
    return code;
}

void ace_consumer_wake(ace_consumer *consumer)
{
    ace_inbox_wake(&consumer->inbox);
}

int ace_consumer_descriptor(const ace_consumer *consumer)
{
    return consumer->inbox.descriptor;
}

void ace_consumer_count(const ace_consumer *consumer, ace_consumer_counters *counters)
{
    *counters = (ace_consumer_counters){
        .acknowledged = atomic_load(&consumer->acknowledged),
        .rejected = atomic_load(&consumer->rejected),
        .retried = atomic_load(&consumer->retried),
        .dead_lettered = atomic_load(&consumer->dead_lettered),
        .parked = atomic_load(&consumer->parked),
        .duplicates = atomic_load(&consumer->duplicates),
        .in_flight = atomic_load(&consumer->in_flight),
        .waiting = atomic_load(&consumer->waiting),
        .delivered = atomic_load(&consumer->delivered),
        .in_progress = atomic_load(&consumer->in_progress),
        .store_failures = atomic_load(&consumer->store_failed),
        .fenced = atomic_load(&consumer->claims.fenced),
        .unconfirmed = atomic_load(&consumer->claims.unconfirmed),
        .hops_failed = atomic_load(&consumer->hops_failed),
        .rungs_missing = atomic_load(&consumer->rungs_missing),
    };
}

void ace_consumer_health_of(const ace_consumer *consumer, ace_consumer_health *health)
{
    bool subscribed = atomic_load(&consumer->subscribed);
    *health = (ace_consumer_health){
        .queue = consumer->queue,
        .subscribed = subscribed,
        .away = !subscribed && atomic_load(&consumer->away),
        .in_flight = atomic_load(&consumer->in_flight),
        .waiting = atomic_load(&consumer->waiting),
        .failing_hop = atomic_load(&consumer->failing_targets) > 0
                           ? atomic_load(&consumer->failing_hop)
                           : NULL,
    };
}

bool ace_consumer_is_subscribed(const ace_consumer *consumer)
{
    return atomic_load(&consumer->subscribed);
}

const char *ace_consumer_queue(const ace_consumer *consumer)
{
    return consumer->queue;
}

ace_cancel *ace_consumer_cancel(const ace_consumer *consumer)
{
    return consumer->cancel;
}

bool ace_consumer_is_stale(const ace_consumer *consumer, const ace_delivery *delivery)
{
    return atomic_load(&consumer->opening) != delivery->opening;
}

/* --- on the loop --- */

void ace_consumer_log(ace_consumer *consumer, ace_log_level level, const char *format, ...)
{
    const ace_log *log = &consumer->connection->settings.log;
    if (log->sink == NULL || level > log->level) {
        return;
    }
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ace_log_write(log, level, "consumer of %s: %s", consumer->queue, line);
}

void ace_consumer_tell(ace_consumer *consumer, ace_event_kind kind, int state, uint64_t number,
                       const ace_error *error)
{
    if (kind == ACE_EVENT_CONSUMER) {
        atomic_store(&consumer->away, state == (int)ACE_CONSUMER_AWAY);
    }
    ace_event event = {
        .kind = kind,
        .state = state,
        .number = number,
        .wait = -1,
        .source = "consuming",
        .text = consumer->queue,
        .error = (ace_error *)error, /* both are copied */
    };
    ace_events_put(consumer->connection->events, &event);
}

int64_t ace_consumer_now(const ace_consumer *consumer)
{
    return ace_loop_now(consumer->loop);
}

void ace_consumer_timer(ace_consumer *consumer, ace_timer *timer, int64_t delay)
{
    int64_t now = ace_consumer_now(consumer);
    int64_t deadline = delay > ACE_NEVER - now ? ACE_NEVER : now + delay;
    if (!ace_loop_timer_set(consumer->loop, timer, deadline)) {
        /* Without memory for the heap nothing here would ever go on. The broker has everything, and
         * gives it again on a new connection. */
        ace_error *error = NULL;
        (void)ace_fail_memory(&error);
        ace_link_fail(consumer->consuming, error);
    }
}

void ace_consumer_staff(ace_consumer *consumer, ace_code code, ace_error *error)
{
    if (code != ACE_OK) {
        ace_consumer_log(consumer, ACE_LOG_ERROR, "no thread for its handler: %s; again in %lld ms",
                         ace_error_message(error), (long long)ACE_BACK_OFF_FIRST);
        ace_consumer_timer(consumer, &consumer->staffing, ACE_BACK_OFF_FIRST);
    }
    ace_error_free(error);
}

void ace_consumer_staffing_due(ace_timer *timer)
{
    ace_consumer *consumer = ACE_RECORD(timer, ace_consumer, staffing);
    ace_error *error = NULL;
    ace_code code = ace_inbox_staff(&consumer->inbox, &error);
    ace_consumer_staff(consumer, code, error);
}

static bool receiver_waits(ace_receiver *receiver)
{
    ace_consumer *consumer = ACE_RECORD(receiver, ace_consumer, inbox.receiver);
    bool waits = ace_inbox_has_waiting(&consumer->inbox);
    if (waits) {
        ace_handle_retain(&consumer->handle);
    }
    return waits;
}

static void wake_receiver(ace_receiver *receiver)
{
    ace_consumer *consumer = ACE_RECORD(receiver, ace_consumer, inbox.receiver);
    ace_inbox_tell(&consumer->inbox);
    ace_consumer_unref(consumer);
}

void ace_consumer_begin(ace_consumer *consumer)
{
    consumer->inbox.receiver = (ace_receiver){.waits = receiver_waits, .wake = wake_receiver};
    if (consumer->loop != ace_link_loop(consumer->publishing)) { /* a sender may have its turns */
        ace_inbox_attach(&consumer->inbox, consumer->loop);
    }
    ace_error *error = NULL;
    ace_code code = ace_inbox_begin(&consumer->inbox, &error);
    ace_consumer_staff(consumer, code, error);
}

static void note_oddities(ace_consumer *consumer, const ace_delivery *delivery)
{
    if (delivery->content->fault != NULL && !consumer->told_unreadable) {
        consumer->told_unreadable = true;
        ace_consumer_log(consumer, ACE_LOG_WARNING,
                         "a message's headers cannot be read and will not travel on: %s",
                         ace_error_message(delivery->content->fault));
    }
    if (delivery->envelope.id_unstable && !consumer->told_unstable) {
        consumer->told_unstable = true;
        ace_consumer_log(consumer, ACE_LOG_WARNING,
                         "a message has neither x-acemq-id nor message-id: until its first hop it "
                         "gets a new id with each delivery, so idempotency cannot protect it");
    }
}

void ace_consumer_arrival(ace_consumer *consumer, ace_content *content)
{
    uint64_t tag = ((const amqp_basic_deliver_t *)content->method.decoded)->delivery_tag;
    ace_delivery *delivery =
        ace_delivery_new(content, consumer->queue, consumer, consumer->connection->settings.random);
    if (delivery == NULL) {
        ace_settle_requeue(consumer, tag);
        return;
    }
    delivery->opening = atomic_load(&consumer->opening);
    delivery->arrived = ace_consumer_now(consumer);
    delivery->pushed = consumer->handler != NULL;
    delivery->task.run = ace_settle_judged;
    delivery->timer.fire = ace_settle_due;
    ace_list_append(&consumer->deliveries, &delivery->node);
    ace_consumer_add(&consumer->in_flight, 1);
    ace_watch_arrived(delivery);
    note_oddities(consumer, delivery);
    if (!ace_window_admits(consumer, delivery)) {
        return;
    }
    if (consumer->stopping || atomic_load(&consumer->paused)) {
        ace_order_return(delivery);
        return;
    }
    ace_error *error = NULL;
    ace_code code = ace_inbox_put(&consumer->inbox, delivery, &error);
    ace_consumer_staff(consumer, code, error);
    ace_window_arrived(consumer, ace_content_memory(content));
}

/* Nobody has seen these: `settle` gives them back, or drops them. */
static void settle_unseen(ace_list *left, void (*settle)(ace_delivery *delivery))
{
    ace_link_node *node;
    while ((node = ace_list_take_first(left)) != NULL) {
        ace_delivery *delivery = ACE_RECORD(node, ace_delivery, queue);
        settle(delivery);
        ace_delivery_unref(delivery); /* the inbox's */
    }
}

void ace_consumer_return_unseen(ace_list *left)
{
    settle_unseen(left, ace_order_return);
}

void ace_consumer_forget_deliveries(ace_consumer *consumer)
{
    ace_list left;
    ace_list_init(&left);
    ace_inbox_empty(&consumer->inbox, &left);
    settle_unseen(&left, ace_settle_drop);
    ace_link_node *node;
    while ((node = ace_list_first(&consumer->deliveries)) != NULL) {
        ace_delivery *delivery = ACE_RECORD(node, ace_delivery, node);
        if (delivery->stage == ACE_DELIVERY_READY) {
            /* Its receiver has it, and what that will say of it comes too late. */
            ace_delivery_untake(delivery);
        }
        ace_settle_drop(delivery);
    }
    consumer->acks.count = 0;
    ace_loop_timer_cancel(consumer->loop, &consumer->acks.timer);
    ace_inbox_stir(&consumer->inbox);
}

void ace_consumer_stop(ace_consumer *consumer)
{
    if (consumer->stopping) {
        return;
    }
    consumer->stopping = true;
    ace_list left;
    ace_list_init(&left);
    ace_inbox_close(&consumer->inbox, NULL, &left);
    ace_claims_stir(&consumer->claims);
    /* The cancel goes first, so that the broker does not send back at once what it gets. */
    ace_subscription_stop(consumer);
    settle_unseen(&left, ace_order_return);
    ace_settle_flush(consumer);
    if (ace_subscription_is_quiet(consumer)) {
        ace_consumer_wind_up(consumer);
    }
}

void ace_consumer_wind_up(ace_consumer *consumer)
{
    ace_settle_end_waits(consumer);
    ace_consumer_finish(consumer);
}

void ace_consumer_end(ace_consumer *consumer, const ace_error *why)
{
    ace_list left;
    ace_list_init(&left);
    ace_inbox_close(&consumer->inbox, ace_error_copy(why), &left);
    settle_unseen(&left, ace_settle_drop);
    ace_consumer_log(consumer, ACE_LOG_ERROR, "ended: %s", ace_error_message(why));
    ace_consumer_tell(consumer, ACE_EVENT_CONSUMER, ACE_CONSUMER_ENDED, 0, why);
    ace_consumer_detach(consumer);
}

void ace_consumer_finish(ace_consumer *consumer)
{
    ace_order_look(consumer);
    if (consumer->stopping && ace_list_empty(&consumer->deliveries) &&
        ace_subscription_is_quiet(consumer)) {
        ace_consumer_detach(consumer);
    }
}

void ace_consumer_detach(ace_consumer *consumer)
{
    if (consumer->detached) {
        return;
    }
    consumer->stopping = true;
    consumer->detached = true;
    ace_list left;
    ace_list_init(&left);
    ace_inbox_close(&consumer->inbox, NULL, &left);
    ace_inbox_detach(&consumer->inbox);
    settle_unseen(&left, ace_settle_drop);
    ace_settle_flush(consumer);
    atomic_store(&consumer->opening, 0);
    ace_consumer_forget_deliveries(consumer);
    ace_loop_undefer(consumer->loop, &consumer->acks.deferral);
    ace_loop_timer_cancel(consumer->loop, &consumer->staffing);
    ace_hops_detach(consumer);
    if (consumer->started) {
        ace_subscription_detach(consumer);
        ace_consumer_unref(consumer); /* the loop's */
    }
}
