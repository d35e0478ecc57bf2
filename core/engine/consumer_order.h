/*
 * What is different for a consumer that keeps the order of its queue. A broker puts back what a
 * consumer declines where it likes, and hands the next message to the next consumer as soon as one
 * is cancelled, whatever that has in hand. It puts back in order, before anyone gets more, only
 * what was on a channel that is closed. So nothing is declined here and nothing cancelled: what is
 * to go back is forgotten, and the channel closed once nothing is in hand.
 */
#ifndef ACE_ENGINE_CONSUMER_ORDER_H
#define ACE_ENGINE_CONSUMER_ORDER_H

#include "engine/consumer_state.h"

/* The loop's thread. Back to the broker as if it had never come: at once, or with the channel. */
void ace_order_return(ace_delivery *delivery);
/* Closes the channel if that is due: something is to go back, or it is paused. */
void ace_order_look(ace_consumer *consumer);
void ace_order_resume(ace_consumer *consumer);

/* A handler's thread: waits until `deadline`. False, and sooner: the consumer is closed or paused,
 * or the delivery's channel is gone. */
bool ace_order_rest(ace_consumer *consumer, ace_delivery *delivery, int64_t deadline);
/* A handler's thread: until whoever holds a view of it has settled that. False: its channel went
 * first. */
bool ace_order_await_answer(ace_consumer *consumer, ace_delivery *delivery);

#endif
