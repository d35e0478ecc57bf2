/* The window by bytes. */
#include "engine/consumer_subscription.h"

void ace_window_subscribed(ace_consumer *consumer)
{
    consumer->subscription.largest = 0;
    consumer->subscription.arrivals = 0;
}

/* As many contents of that size as fit the limit. */
static uint16_t window_for(const ace_consumer *consumer, uint64_t limit, uint64_t size)
{
    uint64_t fit = size == 0 ? consumer->most : limit / size;
    if (fit < 1) {
        fit = 1;
    }
    return fit < consumer->most ? (uint16_t)fit : consumer->most;
}

/* What an earlier subscription has left, half of the limit at most, comes on top of a window that
 * fits: narrowing that one further would cancel for ever. */
static bool is_too_wide(const ace_consumer *consumer)
{
    const ace_subscription *subscription = &consumer->subscription;
    return subscription->held_bytes > consumer->byte_limit &&
           window_for(consumer, consumer->byte_limit, subscription->largest) < subscription->window;
}

/* Narrow since larger messages came once, and for two full windows none did. */
static bool is_too_narrow(const ace_consumer *consumer)
{
    const ace_subscription *subscription = &consumer->subscription;
    return subscription->window < consumer->most &&
           subscription->arrivals >= 2 * (uint64_t)consumer->most &&
           window_for(consumer, consumer->byte_limit / 2, subscription->largest) >
               subscription->window;
}

void ace_window_arrived(ace_consumer *consumer, size_t bytes)
{
    ace_subscription *subscription = &consumer->subscription;
    subscription->held_bytes += bytes;
    subscription->arrivals++;
    if (bytes > subscription->largest) {
        subscription->largest = bytes;
    }
    if (consumer->byte_limit == 0 || subscription->stage != ACE_SUBSCRIPTION_ACTIVE) {
        return;
    }
    if (is_too_wide(consumer)) {
        subscription->window = window_for(consumer, consumer->byte_limit, subscription->largest);
        ace_consumer_log(consumer, ACE_LOG_INFO,
                         "%llu bytes are held, the limit is %llu: held off until half of it is "
                         "gone, and then with a window of %u",
                         (unsigned long long)subscription->held_bytes,
                         (unsigned long long)consumer->byte_limit, (unsigned)subscription->window);
        ace_subscription_cancel(consumer);
    } else if (is_too_narrow(consumer)) {
        subscription->window =
            window_for(consumer, consumer->byte_limit / 2, subscription->largest);
        ace_subscription_cancel(consumer);
    }
}

void ace_window_released(ace_consumer *consumer, size_t bytes)
{
    ace_subscription *subscription = &consumer->subscription;
    subscription->held_bytes -= bytes;
    bool holds_little =
        consumer->byte_limit == 0 || subscription->held_bytes <= consumer->byte_limit / 2;
    if (subscription->stage == ACE_SUBSCRIPTION_HELD_OFF && holds_little &&
        !atomic_load(&consumer->paused)) {
        ace_subscription_begin(consumer);
    }
}

void ace_window_set_most(ace_consumer *consumer, uint16_t most)
{
    ace_subscription *subscription = &consumer->subscription;
    consumer->most = most;
    /* Of what larger bodies asked for nothing is forgotten: the next ones say so again. */
    subscription->window = consumer->byte_limit == 0
                               ? most
                               : window_for(consumer, consumer->byte_limit, subscription->largest);
    ace_subscription_adjust(consumer);
}
