/*
 * Inside a consumer. Everything below "the loop's thread" belongs to the consuming link's loop;
 * handlers and pullers meet it only by the inbox, by posted verdicts, and by the atomics.
 */
#ifndef ACE_ENGINE_CONSUMER_STATE_H
#define ACE_ENGINE_CONSUMER_STATE_H

#include "base/log.h"
#include "contract/ladder.h"
#include "contract/plan.h"
#include "engine/channel.h"
#include "engine/consumer.h"
#include "engine/consumer_inbox.h"
#include "engine/declare.h"
#include "engine/delivery_state.h"
#include "engine/health.h"
#include "engine/hop.h"
#include "engine/settle_acks.h"
#include "engine/waiter.h"

#include <stdatomic.h>

typedef enum ace_subscription_stage {
    ACE_SUBSCRIPTION_NONE,      /* the channel is away, or a retry waits for its time */
    ACE_SUBSCRIPTION_DECLARING, /* the consumer's set */
    ACE_SUBSCRIPTION_MAKING,    /* basic.qos and basic.consume are on their way */
    ACE_SUBSCRIPTION_ACTIVE,
    ACE_SUBSCRIPTION_CANCELLING, /* basic.cancel of ours is on its way */
    ACE_SUBSCRIPTION_HELD_OFF,   /* not subscribed: too many bytes are held, or it is paused */
} ace_subscription_stage;

typedef struct ace_subscription {
    ace_channel *channel;
    ace_subscription_stage stage;
    ace_call qos;
    ace_call consume;
    ace_call cancel;
    ace_declarer declarer;
    ace_timer retry;
    ace_timer ending;           /* the link is closed for good, which is looked at next turn */
    uint32_t failures;          /* in a row */
    uint32_t made;              /* subscriptions on this opening of the channel */
    char tag[ACE_NAME_MAX + 1]; /* of the present one */
    bool given_up; /* the first subscription failed: its opener will close the consumer */
    ace_link_listener listener;

    /* The window (consumer_window.h). */
    uint16_t window;      /* the count to subscribe with, at most what may be held */
    uint16_t asked;       /* the one it is or will be subscribed with */
    uint64_t allowance;   /* deliveries that may be unsettled, or the broker ignores the window */
    uint32_t newly_aside; /* deliveries held unread since it was subscribed */
    uint64_t held_bytes;  /* of contents not settled */
    uint64_t largest;     /* content since it was subscribed */
    uint64_t arrivals;    /* since then */
} ace_subscription;

/* Somebody waits for the first subscription. On the waiting thread's stack. */
typedef struct ace_opening {
    ace_consumer *consumer;
    ace_waiter waiter;
    bool subscribed;
    ace_error *error; /* or this; neither: no answer yet */
} ace_opening;

struct acemq_consumer {
    ace_handle handle; /* referenced by its user, its deliveries, its threads and its loop */
    ace_connection *connection; /* referenced */
    ace_member member;
    ace_loop *loop;      /* of the consuming link */
    ace_link *consuming; /* both the connection's */
    ace_link *publishing;

    /* Constant. */
    char *queue;
    char *tag;
    ace_policy policy;
    bool has_policy;
    ace_ladder ladder;
    ace_plan plan;
    const ace_codec *codec; /* retained; NULL: every body decodes */
    ace_table arguments;
    uint64_t byte_limit; /* 0: none */
    int64_t hold_limit;  /* ms a delivery may be held; ACE_NEVER */
    bool verify;
    bool requeue_on_failure;
    bool exclusive;
    bool keeps_order;
    ace_reviewer *reviewer;
    ace_handler *handler; /* NULL: pull */
    void *user;
    void (*destructor)(void *user);
    void (*set_aside)(ace_delivery *delivery, bool parked, void *user);
    void (*freed)(void *user); /* NULL until it is open */
    ace_cancel *cancel;        /* a reference; NULL */

    ace_inbox inbox;
    ace_claims claims;
    atomic_uint prefetch; /* of one, or of each member */
    atomic_uint members;  /* 0: a plain consumer */
    atomic_bool paused;   /* written on the loop's thread */

    /* Written on the loop's thread, read by any. */
    atomic_uint_least64_t opening; /* of the channel that deliveries may be settled on; 0: none */
    atomic_bool subscribed;
    atomic_bool away;                  /* told so, and not subscribed since */
    atomic_uint failing_targets;       /* that hops are held for */
    _Atomic(const char *) failing_hop; /* the last of them; its plan's or its own text */
    atomic_uint_least64_t acknowledged;
    atomic_uint_least64_t rejected;
    atomic_uint_least64_t retried;
    atomic_uint_least64_t dead_lettered;
    atomic_uint_least64_t parked;
    atomic_uint_least64_t duplicates;
    atomic_uint_least64_t in_flight;
    atomic_uint_least64_t waiting;
    atomic_uint_least64_t delivered; /* by the receivers */
    atomic_uint_least64_t in_progress;
    atomic_uint_least64_t store_failed;
    atomic_uint_least64_t hops_failed;
    atomic_uint_least64_t rungs_missing;

    /* The loop's thread. */
    ace_subscription subscription;
    ace_opening *waiting_opener; /* NULL: nobody waits */
    ace_list deliveries;         /* not settled, in the order of their tags */
    ace_acks acks;
    ace_hops hops;
    ace_timer staffing;      /* no handler thread could be made; again then */
    uint32_t requeues;       /* in a row */
    uint32_t store_failures; /* in a row */
    bool started;            /* the loop has a reference */
    bool stopping;           /* takes no more work */
    bool renews;             /* keeping order, it has put something back: with its channel */
    uint16_t most;           /* contents to hold: the prefetch, of all members */
    bool detached;           /* nothing of it is on the loop any more */
    bool told_unstable;      /* that a message has no id */
    bool told_unreadable;    /* that a message's headers could not be read */
};

/* Adds to one of the counters that the loop's thread writes, and no other. */
static inline void ace_consumer_add(atomic_uint_least64_t *counter, int64_t difference)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + (uint64_t)difference, memory_order_release);
}

/* Any thread. */
void ace_consumer_health_of(const ace_consumer *consumer, ace_consumer_health *health);
void ace_consumer_unref(ace_consumer *consumer);
bool ace_consumer_is_stale(const ace_consumer *consumer, const ace_delivery *delivery);
/* What a handler thread does with one delivery. */
void ace_consumer_handle(ace_consumer *consumer, ace_delivery *delivery);
/* Before a receiver sees it: whether the body decodes. False: it was settled instead. */
bool ace_consumer_prepare(ace_consumer *consumer, ace_delivery *delivery);

/* Settles it so, for handlers, interceptors and what does not decode. */
void ace_consumer_judge(ace_delivery *delivery, ace_happening what, const char *reason);

/* The loop's thread, like all that follows. The line is prefixed by the queue's name. */
void ace_consumer_log(ace_consumer *consumer, ace_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void ace_consumer_tell(ace_consumer *consumer, ace_event_kind kind, int state, uint64_t number,
                       const ace_error *error);
int64_t ace_consumer_now(const ace_consumer *consumer); /* monotonic */
void ace_consumer_timer(ace_consumer *consumer, ace_timer *timer, int64_t delay);

void ace_consumer_staffing_due(ace_timer *timer);
/* Its opener has it from here on: messages that came before that reach their receiver now. */
void ace_consumer_begin(ace_consumer *consumer);

/* Nobody has seen these, since no receiver took them. */
void ace_consumer_return_unseen(ace_list *left);
void ace_consumer_staff(ace_consumer *consumer, ace_code code, ace_error *error);
/* Takes no more work: cancels, and puts back what is not begun. */
void ace_consumer_stop(ace_consumer *consumer);
/* Stopping, and the broker delivers no more: what waits here goes back to the queue now, where this
 * consumer cannot get it again. */
void ace_consumer_wind_up(ace_consumer *consumer);
/* Ended by itself: `why` is what pulls answer from here on. */
void ace_consumer_end(ace_consumer *consumer, const ace_error *why);
/* The channel is gone, and with it all that came on it. */
void ace_consumer_forget_deliveries(ace_consumer *consumer);
/* Takes it off the loop at once, whatever is in hand. */
void ace_consumer_detach(ace_consumer *consumer);
/* Takes it off the loop when it is stopping and nothing is left in hand. */
void ace_consumer_finish(ace_consumer *consumer);

#endif
