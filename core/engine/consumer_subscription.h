/*
 * A consumer's subscription: the declarations before it, basic.qos and basic.consume, and its way
 * back after a loss, after the broker's cancel, and after too many bytes were held. On the loop's
 * thread.
 */
#ifndef ACE_ENGINE_CONSUMER_SUBSCRIPTION_H
#define ACE_ENGINE_CONSUMER_SUBSCRIPTION_H

#include "engine/consumer_state.h"

void ace_subscription_start(ace_consumer *consumer);
/* Another channel after ace_subscription_shut(), on which it subscribes when it opens. */
void ace_subscription_open(ace_consumer *consumer);
/* Closes the channel, and with it all that came on it and is not settled. */
void ace_subscription_shut(ace_consumer *consumer);
/* Declares and subscribes, unless the channel is away, which begins again by itself. */
void ace_subscription_begin(ace_consumer *consumer);
/* Cancels: nothing is delivered after the answer. Afterwards held off, or finished when the
 * consumer is stopping. */
void ace_subscription_cancel(ace_consumer *consumer);
void ace_subscription_stop(ace_consumer *consumer);
/* Not subscribed any more, until ace_subscription_begin(). */
void ace_subscription_pause(ace_consumer *consumer);
/* Subscribed anew when the window is not the one it is subscribed with. */
void ace_subscription_adjust(ace_consumer *consumer);
bool ace_subscription_is_quiet(const ace_consumer *consumer); /* no answer is awaited */
void ace_subscription_detach(ace_consumer *consumer);

/* The window by bytes. RabbitMQ fixes the count of a quorum queue's consumer when it subscribes, so
 * the only way to narrow it is to cancel and to subscribe again. */
/* A subscription begins with the window that is asked for. */
void ace_window_asked(ace_consumer *consumer);
/* Looks at what came, and says whether it goes to its receiver. False: it was put back, set aside,
 * or with all others on the connection that is given up. */
bool ace_window_admits(ace_consumer *consumer, ace_delivery *delivery);
void ace_window_subscribed(ace_consumer *consumer);
void ace_window_arrived(ace_consumer *consumer, size_t bytes);
void ace_window_released(ace_consumer *consumer, size_t bytes);
/* The number of contents that may be held has changed. */
void ace_window_set_most(ace_consumer *consumer, uint16_t most);

/* basic.deliver. Takes the content over. */
void ace_consumer_arrival(ace_consumer *consumer, ace_content *content);

#endif
