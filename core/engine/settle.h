/* Carrying out what section 6 of the contract decides, on the loop's thread. */
#ifndef ACE_ENGINE_SETTLE_H
#define ACE_ENGINE_SETTLE_H

#include "engine/consumer_state.h"

void ace_settle_init(ace_consumer *consumer);

/* The task of a delivery: its receiver has judged it. */
void ace_settle_judged(ace_task *task);
/* The timer of a delivery: its wait, its delay or its hold is over. */
void ace_settle_due(ace_timer *timer);

/* The copy is confirmed and routed: acknowledges the original. */
void ace_settle_hopped(ace_delivery *delivery);
/* Waits here for `delay`, at most as long as it may be held, then hops to its own queue. */
void ace_settle_wait_here(ace_delivery *delivery, int64_t delay);
/* Held as long as it may be, then back to the broker; no receiver sees it. */
void ace_settle_hold(ace_delivery *delivery);
/* Back to the broker because its hop is not possible; counts as rejected. */
void ace_settle_put_back(ace_delivery *delivery);
/* Back to the broker as if it had never come; counts nothing. */
void ace_settle_return(ace_delivery *delivery);
/* The same for one that never became a delivery. */
void ace_settle_requeue(ace_consumer *consumer, uint64_t tag);
/* The channel took it along: forgotten without a word. */
void ace_settle_drop(ace_delivery *delivery);

/* When it has to be off our hands; ACE_NEVER. */
int64_t ace_settle_hold_end(const ace_delivery *delivery);

/* Ends the waits of all deliveries because the consumer is stopping. */
void ace_settle_end_waits(ace_consumer *consumer);
void ace_settle_flush(ace_consumer *consumer); /* acknowledgements that are pending */

#endif
