/* What a delivery meets besides its receiver: the interceptors of its connection, and those who
 * measure and who want to know how it ended. */
#ifndef ACE_ENGINE_CONSUMER_WATCH_H
#define ACE_ENGINE_CONSUMER_WATCH_H

#include "engine/consumer_state.h"

/* The receiver's thread. Between decoding, its claim, and the receiver: runs the `before` hooks.
 * False: one of them failed it, and it was settled so. */
bool ace_consumer_intercept(ace_consumer *consumer, ace_delivery *delivery);
/* Its receiver has it from here on. */
void ace_watch_begun(ace_delivery *delivery);
/* It was judged: runs the `after` hooks of those that had it, before anything else is done. */
void ace_watch_judged(ace_delivery *delivery, const ace_receiver_verdict *verdict);

/* The loop's thread. */
void ace_watch_arrived(ace_delivery *delivery);
void ace_watch_hop_failed(const ace_hop_target *target, bool rung_missing);
/* Off the consumer's hands by its settlement; by a put-back because its hop was not possible;
 * without anything that counts. */
void ace_watch_settled(ace_delivery *delivery);
void ace_watch_put_back(ace_delivery *delivery, unsigned counters);
void ace_watch_gone(ace_delivery *delivery, const char *outcome);
/* Whatever way it went: it is not in flight any more. */
void ace_watch_left(ace_delivery *delivery);

#endif
