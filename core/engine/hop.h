/*
 * Hops: the copy of a delivery to a rung, its own queue, the dead letters or the parking lot,
 * through the publisher's lane of hops. What fails is held and repeated, with a back-off a target.
 * Belongs to the loop's thread of the consuming link; only the publisher's answer comes from
 * elsewhere and is posted over.
 */
#ifndef ACE_ENGINE_HOP_H
#define ACE_ENGINE_HOP_H

#include "base/list.h"
#include "base/timer.h"
#include "contract/hop.h"
#include "contract/ladder.h"
#include "engine/consumer.h"
#include "engine/declare.h"
#include "engine/delivery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ace_target_state {
    ACE_TARGET_OPEN,      /* hops go out at once */
    ACE_TARGET_BACK_OFF,  /* those held wait for the timer */
    ACE_TARGET_WANTED,    /* for the declarer, which is busy with others */
    ACE_TARGET_DECLARING, /* for the declarer's answer */
} ace_target_state;

typedef struct ace_hop_target {
    ace_consumer *consumer;
    ace_hop_kind kind;
    const char *queue;
    ace_target_state state;
    bool gone;         /* the last hop was returned */
    bool waited;       /* the back-off is over: what comes next is another try */
    bool refused;      /* a rung that may not be declared: waits are spent here meanwhile */
    uint32_t failures; /* rounds in a row; a success resets it */
    uint32_t refusals; /* of declaring it, in a row */
    uint64_t round;    /* counts the times that hops were let out again */
    ace_timer timer;
    ace_list held; /* deliveries */
} ace_hop_target;

typedef struct ace_hops {
    ace_hop_target own;
    ace_hop_target dead_letter;
    ace_hop_target parked;
    ace_hop_target *rungs; /* as many, and in the order, of the ladder */
    ace_name dead_letter_name;
    ace_name parked_name;
    ace_declarer declarer;
} ace_hops;

ace_code ace_hops_init(ace_consumer *consumer, ace_error **error);
void ace_hops_free(ace_consumer *consumer);
void ace_hops_detach(ace_consumer *consumer); /* stops timers and the declarer */

ace_hop_target *ace_hops_target(ace_consumer *consumer, ace_hop_kind kind, const ace_rung *rung);

/* Sends the copy that the delivery's settlement asks for, or holds it with the others. */
void ace_hop_send(ace_delivery *delivery, ace_hop_target *target);
/* Off the list of its target, if it is on one. */
void ace_hop_forget(ace_delivery *delivery);
/* The consumer is subscribed again: its own queue is there, and those that missed it may hop. */
void ace_hops_own_queue_is_back(ace_consumer *consumer);

#endif
