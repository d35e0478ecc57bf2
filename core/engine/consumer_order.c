#include "engine/consumer_order.h"

#include "engine/consumer_subscription.h"
#include "engine/consumer_watch.h"
#include "engine/settle.h"

void ace_order_return(ace_delivery *delivery)
{
    if (!delivery->consumer->keeps_order) {
        ace_settle_return(delivery);
        return;
    }
    ace_watch_gone(delivery, "put_back");
    ace_settle_drop(delivery);
}

void ace_order_look(ace_consumer *consumer)
{
    bool paused = atomic_load(&consumer->paused);
    if (!consumer->keeps_order || consumer->stopping || !(paused || consumer->renews) ||
        consumer->subscription.channel == NULL || !ace_list_empty(&consumer->deliveries)) {
        return;
    }
    consumer->renews = false;
    ace_settle_flush(consumer);
    ace_subscription_shut(consumer);
    if (!paused) {
        ace_subscription_open(consumer);
    }
}

void ace_order_resume(ace_consumer *consumer)
{
    if (consumer->subscription.channel == NULL) {
        ace_subscription_open(consumer);
    } else if (consumer->subscription.stage == ACE_SUBSCRIPTION_NONE) {
        ace_subscription_begin(consumer);
    } /* else something was in hand all the time, and nothing else can have come */
}

typedef struct order_wait {
    ace_consumer *consumer;
    const ace_delivery *delivery;
} order_wait;

static bool is_disturbed(void *user)
{
    const order_wait *wait = user;
    return wait->consumer->inbox.closed || atomic_load(&wait->consumer->paused) ||
           ace_consumer_is_stale(wait->consumer, wait->delivery);
}

bool ace_order_rest(ace_consumer *consumer, ace_delivery *delivery, int64_t deadline)
{
    order_wait wait = {consumer, delivery};
    return ace_inbox_await(&consumer->inbox, is_disturbed, &wait, deadline, NULL) == ACE_TIMEOUT;
}

static bool is_answered_or_stale(void *user)
{
    const order_wait *wait = user;
    return wait->delivery->answered || ace_consumer_is_stale(wait->consumer, wait->delivery);
}

bool ace_order_await_answer(ace_consumer *consumer, ace_delivery *delivery)
{
    order_wait wait = {consumer, delivery};
    (void)ace_inbox_await(&consumer->inbox, is_answered_or_stale, &wait, ACE_NEVER, NULL);
    ace_mutex_lock(&consumer->inbox.mutex);
    bool answered = delivery->answered;
    delivery->abandoned = !answered;
    ace_mutex_unlock(&consumer->inbox.mutex);
    return answered;
}
