/* The window: by count, by bytes, and past what is too large to be read. */
#include "engine/consumer_subscription.h"
#include "engine/settle.h"

/* Narrower, and the broker would have nothing to send while the loop pauses. */
#define WIDE_FROM 64

void ace_window_subscribed(ace_consumer *consumer)
{
    consumer->subscription.largest = 0;
    consumer->subscription.newly_aside = 0;
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

void ace_window_asked(ace_consumer *consumer)
{
    /* What earlier subscriptions have left comes on top. */
    consumer->subscription.allowance =
        (uint64_t)consumer->subscription.asked + atomic_load(&consumer->in_flight);
}

/* --- what may come in ---------------------------------------------------------------------- */

/* A broker that keeps to the windows never comes near. */
static uint64_t most_bytes(const ace_consumer *consumer)
{
    uint64_t body = consumer->connection->settings.body_limit;
    uint64_t twice = consumer->byte_limit > UINT64_MAX / 2 ? UINT64_MAX : consumer->byte_limit * 2;
    return body > UINT64_MAX - twice ? UINT64_MAX : twice + body;
}

static uint64_t room(const ace_consumer *consumer)
{
    if (consumer->byte_limit == 0) {
        return UINT64_MAX;
    }
    uint64_t most = most_bytes(consumer);
    uint64_t held = consumer->subscription.held_bytes;
    return held < most ? most - held : 0;
}

static void keep_bodies(ace_consumer *consumer)
{
    uint64_t limit = consumer->connection->settings.body_limit;
    uint64_t left = room(consumer);
    ace_channel_keep_bodies(consumer->subscription.channel, left < limit ? left : limit);
}

static void refuse_flood(ace_consumer *consumer)
{
    const ace_subscription *subscription = &consumer->subscription;
    ace_error *error = NULL;
    (void)ace_fail(&error, ACE_PROTOCOL,
                   "the broker delivered %llu messages of queue %s that are not settled, the limit "
                   "it was told is %llu",
                   (unsigned long long)atomic_load(&consumer->in_flight), consumer->queue,
                   (unsigned long long)subscription->allowance);
    ace_error_field(&error, "prefetch", (long long)subscription->allowance);
    ace_link_fail(consumer->consuming, error);
}

/* Held unread, so that it neither comes again at once nor blocks what is behind it. */
static void set_aside(ace_consumer *consumer, ace_delivery *delivery)
{
    ace_subscription *subscription = &consumer->subscription;
    uint64_t limit = consumer->connection->settings.body_limit;
    ace_error *error = NULL;
    (void)ace_content_whole(delivery->content, limit, &error);
    ace_consumer_log(consumer, ACE_LOG_ERROR,
                     "a message is left unread, and goes back when this consumer closes or has "
                     "held it for %lld ms: %s",
                     (long long)consumer->hold_limit, ace_error_message(error));
    ace_consumer_tell(consumer, ACE_EVENT_SETTLE, 0, delivery->tag, error);
    ace_error_free(error);
    subscription->newly_aside++;
    ace_settle_hold(delivery);
    if (subscription->stage == ACE_SUBSCRIPTION_ACTIVE &&
        2 * subscription->newly_aside >= subscription->asked) {
        ace_subscription_cancel(consumer); /* and again, without these in the window */
    }
}

bool ace_window_admits(ace_consumer *consumer, ace_delivery *delivery)
{
    const ace_content *content = delivery->content;
    size_t bytes = ace_content_memory(content);
    bool too_large = content->skipped > consumer->connection->settings.body_limit;
    bool fits = content->skipped == 0 && bytes <= room(consumer);
    consumer->subscription.held_bytes += bytes;
    if (atomic_load(&consumer->in_flight) > consumer->subscription.allowance) {
        refuse_flood(consumer);
        return false;
    }
    if (consumer->stopping || atomic_load(&consumer->paused)) {
        return true; /* which puts it back, whatever it is */
    }
    if (too_large) {
        set_aside(consumer, delivery);
    } else if (!fits) {
        ace_settle_return(delivery);
    }
    return fits;
}

void ace_window_arrived(ace_consumer *consumer, size_t bytes)
{
    ace_subscription *subscription = &consumer->subscription;
    keep_bodies(consumer);
    subscription->arrivals++;
    if (subscription->window >= WIDE_FROM) {
        ace_loop_note_arrival(consumer->loop);
    }
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
    if (subscription->channel != NULL) {
        keep_bodies(consumer);
    }
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
