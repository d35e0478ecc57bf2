#include "engine/consumer_subscription.h"

#include <inttypes.h>
#include <stdio.h>

static ace_consumer *consumer_of(ace_declarer *declarer)
{
    ace_subscription *subscription = ACE_RECORD(declarer, ace_subscription, declarer);
    return ACE_RECORD(subscription, ace_consumer, subscription);
}

static void answer_opener(ace_consumer *consumer, const ace_error *error)
{
    ace_opening *opening = consumer->waiting_opener;
    if (opening == NULL) {
        return;
    }
    consumer->waiting_opener = NULL;
    if (error == NULL) {
        opening->subscribed = true;
        ace_consumer_begin(consumer);
    } else {
        opening->error = ace_error_copy(error);
        consumer->subscription.given_up = true;
    }
    ace_waiter_complete(&opening->waiter);
}

static void answer_closed(ace_consumer *consumer)
{
    ace_error *error = NULL;
    (void)ace_fail(&error, ACE_CLOSED, "the consumer was closed");
    answer_opener(consumer, error);
    ace_error_free(error);
}

static void try_again_later(ace_consumer *consumer, const ace_error *error)
{
    ace_subscription *subscription = &consumer->subscription;
    int64_t wait = ace_back_off(subscription->failures, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX);
    subscription->failures++;
    ace_consumer_log(consumer, ACE_LOG_WARNING, "not subscribed: %s; again in %lld ms",
                     ace_error_message(error), (long long)wait);
    ace_consumer_tell(consumer, ACE_EVENT_CONSUMER, ACE_CONSUMER_AWAY, 0, error);
    ace_consumer_timer(consumer, &subscription->retry, wait);
}

/* Declaring or subscribing did not work. */
static void failed(ace_consumer *consumer, const ace_error *error)
{
    ace_subscription *subscription = &consumer->subscription;
    subscription->stage = ACE_SUBSCRIPTION_NONE;
    if (consumer->stopping) {
        ace_consumer_wind_up(consumer);
        return;
    }
    if (ace_error_code(error) == ACE_CONNECTION_LOST) {
        return; /* the channel comes back with it, and begins again */
    }
    if (consumer->waiting_opener != NULL) {
        answer_opener(consumer, error);
        return;
    }
    if (!subscription->given_up) {
        try_again_later(consumer, error);
    }
}

static void subscribed(ace_call *call, const amqp_method_t *reply, ace_content *content,
                       const ace_error *error)
{
    ace_subscription *subscription = ACE_RECORD(call, ace_subscription, consume);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    (void)reply;
    (void)content;
    if (subscription->channel == NULL) {
        return;
    }
    if (error != NULL) {
        ace_error *named = ace_error_copy(error);
        ace_error_prefix(&named, "consuming queue %s", consumer->queue);
        failed(consumer, named);
        ace_error_free(named);
        return;
    }
    subscription->stage = ACE_SUBSCRIPTION_ACTIVE;
    subscription->failures = 0;
    ace_window_subscribed(consumer);
    if (consumer->keeps_order && consumer->stopping) {
        ace_consumer_finish(consumer);
        return;
    }
    if (consumer->stopping || atomic_load(&consumer->paused)) {
        ace_subscription_cancel(consumer);
        return;
    }
    atomic_store(&consumer->subscribed, true);
    ace_consumer_log(consumer, ACE_LOG_DEBUG, "subscribed with a window of %u",
                     (unsigned)subscription->window);
    ace_consumer_tell(consumer, ACE_EVENT_CONSUMER, ACE_CONSUMER_SUBSCRIBED, 0, NULL);
    answer_opener(consumer, NULL);
    ace_hops_own_queue_is_back(consumer);
    ace_subscription_adjust(consumer);
}

/* A tag that has deliveries unsettled must not come again on the same channel: a quorum queue takes
 * the new subscription for the old one and sends them all a second time. */
static void name_subscription(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    if (subscription->made++ == 0) {
        snprintf(subscription->tag, sizeof subscription->tag, "%s", consumer->tag);
    } else {
        snprintf(subscription->tag, sizeof subscription->tag, "%.*s~%" PRIu32, ACE_NAME_MAX - 11,
                 consumer->tag, subscription->made);
    }
}

static ace_code send_consume(ace_consumer *consumer, ace_error **error)
{
    ace_subscription *subscription = &consumer->subscription;
    name_subscription(consumer);
    amqp_basic_consume_t consume = {
        .queue = amqp_cstring_bytes(consumer->queue),
        .consumer_tag = amqp_cstring_bytes(subscription->tag),
        .exclusive = consumer->exclusive,
        .arguments = consumer->arguments.table,
    };
    subscription->consume.done = subscribed;
    return ace_channel_call(subscription->channel, &subscription->consume,
                            AMQP_BASIC_CONSUME_METHOD, &consume, error);
}

static void limited(ace_call *call, const amqp_method_t *reply, ace_content *content,
                    const ace_error *error)
{
    ace_subscription *subscription = ACE_RECORD(call, ace_subscription, qos);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    (void)reply;
    (void)content;
    if (subscription->channel == NULL) {
        return;
    }
    ace_error *own = NULL;
    if (error == NULL && send_consume(consumer, &own) == ACE_OK) {
        return;
    }
    failed(consumer, error != NULL ? error : own);
    ace_error_free(own);
}

static void subscribe(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    if (!ace_channel_is_open(subscription->channel)) {
        subscription->stage = ACE_SUBSCRIPTION_NONE;
        return;
    }
    subscription->stage = ACE_SUBSCRIPTION_MAKING;
    subscription->qos.done = limited;
    subscription->asked = subscription->window;
    ace_window_asked(consumer);
    amqp_basic_qos_t qos = {.prefetch_count = subscription->window};
    ace_error *error = NULL;
    if (ace_channel_call(subscription->channel, &subscription->qos, AMQP_BASIC_QOS_METHOD, &qos,
                         &error) != ACE_OK) {
        failed(consumer, error);
        ace_error_free(error);
    }
}

static void declared(ace_declarer *declarer)
{
    ace_consumer *consumer = consumer_of(declarer);
    if (declarer->error != NULL) {
        failed(consumer, declarer->error);
    } else {
        subscribe(consumer);
    }
}

void ace_subscription_begin(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    ace_loop_timer_cancel(consumer->loop, &subscription->retry);
    if (consumer->stopping || atomic_load(&consumer->paused) || subscription->given_up ||
        subscription->channel == NULL || !ace_channel_is_open(subscription->channel)) {
        subscription->stage = ACE_SUBSCRIPTION_NONE;
        return;
    }
    subscription->stage = ACE_SUBSCRIPTION_DECLARING;
    ace_error *error = NULL;
    if (ace_declarer_start(&subscription->declarer, &error) != ACE_OK) {
        failed(consumer, error);
        ace_error_free(error);
    }
}

static bool link_is_closed(const ace_consumer *consumer)
{
    ace_link_status status;
    ace_link_status_of(consumer->consuming, &status);
    return status.state == ACE_LINK_CLOSING || status.state == ACE_LINK_CLOSED;
}

static void end(ace_consumer *consumer, const ace_error *why)
{
    answer_opener(consumer, why);
    ace_consumer_end(consumer, why);
}

/* --- what the channel tells --- */

static void opened(ace_channel *channel, void *user)
{
    ace_consumer *consumer = user;
    atomic_store(&consumer->opening, ace_channel_opening(channel));
    consumer->subscription.made = 0;
    ace_subscription_begin(consumer);
}

static void lost(ace_channel *channel, const ace_error *error, bool comes_back, void *user)
{
    ace_consumer *consumer = user;
    ace_subscription *subscription = &consumer->subscription;
    (void)channel;
    bool was_subscribed = atomic_exchange(&consumer->subscribed, false);
    atomic_store(&consumer->opening, 0);
    ace_consumer_forget_deliveries(consumer);
    subscription->allowance = 0;
    ace_declarer_reset(&subscription->declarer);
    subscription->stage = ACE_SUBSCRIPTION_NONE;
    if (consumer->stopping) {
        ace_consumer_finish(consumer);
        return;
    }
    if (comes_back) {
        ace_loop_timer_cancel(consumer->loop, &subscription->retry);
        if (was_subscribed) {
            ace_consumer_tell(consumer, ACE_EVENT_CONSUMER, ACE_CONSUMER_AWAY, 0, error);
        }
        return;
    }
    if (link_is_closed(consumer)) {
        end(consumer, error);
        return;
    }
    if (consumer->waiting_opener != NULL) {
        answer_opener(consumer, error);
    } else if (!subscription->given_up && !ace_timer_is_set(&subscription->retry)) {
        try_again_later(consumer, error);
    }
}

static void content_came(ace_channel *channel, ace_content *content, void *user)
{
    (void)channel;
    if (content->method.id == AMQP_BASIC_DELIVER_METHOD) {
        ace_consumer_arrival(user, content);
    } else {
        ace_content_free(content);
    }
}

static void method_came(ace_channel *channel, const amqp_method_t *method, void *user)
{
    ace_consumer *consumer = user;
    (void)channel;
    if (method->id != AMQP_BASIC_CANCEL_METHOD ||
        consumer->subscription.stage != ACE_SUBSCRIPTION_ACTIVE) {
        return; /* of a cancel of ours that it crossed, the answer comes all the same */
    }
    atomic_store(&consumer->subscribed, false);
    ace_error *error = NULL;
    (void)ace_fail(&error, ACE_NOT_FOUND, "the broker cancelled the subscription to queue %s",
                   consumer->queue);
    ace_consumer_log(consumer, ACE_LOG_WARNING, "%s: the queue was deleted, or its node left",
                     ace_error_message(error));
    ace_consumer_tell(consumer, ACE_EVENT_CONSUMER, ACE_CONSUMER_AWAY, 0, error);
    ace_error_free(error);
    ace_subscription_begin(consumer);
}

static void retry_due(ace_timer *timer)
{
    ace_subscription *subscription = ACE_RECORD(timer, ace_subscription, retry);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    if (subscription->channel == NULL) {
        ace_subscription_open(consumer);
    } else if (ace_channel_is_open(subscription->channel)) {
        ace_subscription_begin(consumer);
    } else {
        ace_channel_reopen(subscription->channel);
    }
}

/* A link that does not come back tells its channels, and those that it had lost before tell nobody.
 */
static void link_changed(ace_link_listener *listener, const ace_link_status *status)
{
    ace_subscription *subscription = ACE_RECORD(listener, ace_subscription, listener);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    if (status->state != ACE_LINK_CLOSED || consumer->stopping ||
        ace_timer_is_set(&consumer->subscription.ending)) {
        return;
    }
    /* Listeners may not leave while they are told. */
    ace_consumer_timer(consumer, &consumer->subscription.ending, 0);
}

static void ending_due(ace_timer *timer)
{
    ace_subscription *subscription = ACE_RECORD(timer, ace_subscription, ending);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    ace_link_status status;
    ace_link_status_of(consumer->consuming, &status);
    ace_error *error = ace_error_copy(status.error);
    if (error == NULL) {
        (void)ace_fail(&error, ACE_CLOSED, "the connection is closed");
    }
    end(consumer, error);
    ace_error_free(error);
}

static ace_code open_channel(ace_consumer *consumer, ace_error **error)
{
    static const ace_channel_handler handler = {
        .opened = opened, .lost = lost, .content = content_came, .method = method_came};
    ace_subscription *subscription = &consumer->subscription;
    subscription->channel = ace_channel_new(consumer->consuming, &handler, consumer, error);
    if (subscription->channel == NULL) {
        return ACE_OUT_OF_MEMORY;
    }
    ace_channel_leave_room(subscription->channel, sizeof(ace_delivery));
    return ACE_OK;
}

void ace_subscription_open(ace_consumer *consumer)
{
    ace_error *error = NULL;
    if (open_channel(consumer, &error) != ACE_OK) {
        try_again_later(consumer, error);
        ace_error_free(error);
    }
}

void ace_subscription_shut(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    ace_loop_timer_cancel(consumer->loop, &subscription->retry);
    ace_declarer_reset(&subscription->declarer);
    ace_channel *channel = subscription->channel;
    subscription->channel = NULL; /* closing answers its calls, which are not looked at any more */
    subscription->stage = ACE_SUBSCRIPTION_NONE;
    atomic_store(&consumer->subscribed, false);
    atomic_store(&consumer->opening, 0);
    consumer->acks.count = 0; /* what did not leave for lack of memory: the next channel's tags are
                                 of other messages */
    ace_loop_timer_cancel(consumer->loop, &consumer->acks.timer);
    ace_channel_close(channel);
}

void ace_subscription_start(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    ace_handle_retain(&consumer->handle);
    consumer->started = true;
    subscription->window = consumer->most;
    subscription->retry.fire = retry_due;
    subscription->ending.fire = ending_due;
    subscription->declarer.link = consumer->consuming;
    subscription->declarer.plan = &consumer->plan;
    subscription->declarer.source = consumer->queue;
    subscription->declarer.verify = consumer->verify;
    subscription->declarer.done = declared;
    subscription->listener.changed = link_changed;
    ace_link_listen(consumer->consuming, &subscription->listener);
    if (consumer->verify) {
        ace_consumer_log(consumer, ACE_LOG_INFO,
                         "declare is verify: the bindings of its retry and failure queues cannot "
                         "be looked at, only the queues and exchanges");
    }
    ace_error *error = NULL;
    if (open_channel(consumer, &error) != ACE_OK) {
        answer_opener(consumer, error);
        ace_error_free(error);
    }
}

/* --- ending it --- */

static void cancelled(ace_call *call, const amqp_method_t *reply, ace_content *content,
                      const ace_error *error)
{
    ace_subscription *subscription = ACE_RECORD(call, ace_subscription, cancel);
    ace_consumer *consumer = ACE_RECORD(subscription, ace_consumer, subscription);
    (void)reply;
    (void)content;
    if (error != NULL) {
        return; /* the channel goes with it */
    }
    subscription->stage = ACE_SUBSCRIPTION_HELD_OFF;
    if (consumer->stopping) {
        ace_consumer_wind_up(consumer);
    } else {
        ace_window_released(consumer, 0);
    }
}

void ace_subscription_cancel(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(subscription->tag)};
    subscription->cancel.done = cancelled;
    if (ace_channel_call(subscription->channel, &subscription->cancel, AMQP_BASIC_CANCEL_METHOD,
                         &cancel, NULL) == ACE_OK) {
        subscription->stage = ACE_SUBSCRIPTION_CANCELLING;
        atomic_store(&consumer->subscribed, false);
    } else if (consumer->stopping) {
        ace_consumer_wind_up(consumer); /* without memory: closing the channel ends it */
    }
}

void ace_subscription_stop(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    ace_loop_timer_cancel(consumer->loop, &subscription->retry);
    if (subscription->stage == ACE_SUBSCRIPTION_ACTIVE && !consumer->keeps_order) {
        ace_subscription_cancel(consumer);
    } else if (subscription->stage == ACE_SUBSCRIPTION_DECLARING) {
        ace_declarer_reset(&subscription->declarer);
        subscription->stage = ACE_SUBSCRIPTION_NONE;
    }
    answer_closed(consumer);
}

void ace_subscription_pause(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    /* A retry that waits for its time may come: it finds it paused. */
    if (subscription->stage == ACE_SUBSCRIPTION_ACTIVE) {
        ace_subscription_cancel(consumer);
    } else if (subscription->stage == ACE_SUBSCRIPTION_DECLARING) {
        ace_declarer_reset(&subscription->declarer);
        subscription->stage = ACE_SUBSCRIPTION_NONE;
    }
}

void ace_subscription_adjust(ace_consumer *consumer)
{
    const ace_subscription *subscription = &consumer->subscription;
    if (subscription->stage == ACE_SUBSCRIPTION_ACTIVE &&
        subscription->window != subscription->asked) {
        ace_subscription_cancel(consumer); /* and begun again, since nothing keeps it */
    }
}

bool ace_subscription_is_quiet(const ace_consumer *consumer)
{
    ace_subscription_stage stage = consumer->subscription.stage;
    return stage != ACE_SUBSCRIPTION_MAKING && stage != ACE_SUBSCRIPTION_CANCELLING;
}

void ace_subscription_detach(ace_consumer *consumer)
{
    ace_subscription *subscription = &consumer->subscription;
    ace_loop_timer_cancel(consumer->loop, &subscription->ending);
    ace_subscription_shut(consumer);
    ace_link_unlisten(consumer->consuming, &subscription->listener);
    answer_closed(consumer);
}
