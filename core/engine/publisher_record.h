/* The inside of a publisher, shared by publisher.c (what other threads call) and publisher_lane.c
 * (what happens on the loop's thread). */
#ifndef ACE_ENGINE_PUBLISHER_RECORD_H
#define ACE_ENGINE_PUBLISHER_RECORD_H

#include "base/memory.h"
#include "base/thread.h"
#include "engine/channel.h"
#include "engine/publisher.h"

#include <stdatomic.h>

#define ACE_LANES 3

typedef enum ace_publish_stage {
    ACE_PUBLISH_IDLE,    /* its owner's */
    ACE_PUBLISH_POSTED,  /* on its way to the loop */
    ACE_PUBLISH_WAITING, /* nothing was sent */
    ACE_PUBLISH_SENT,    /* waits for its confirm */
    ACE_PUBLISH_WRITING, /* without confirms: waits for the socket to take it */
} ace_publish_stage;

typedef struct ace_lane {
    ace_publisher *publisher;
    ace_publish_lane kind;
    ace_channel *channel;
    bool ready; /* confirm.select went out, publishes may follow */
    bool confirming;
    bool lasted;  /* something was confirmed since it opened */
    size_t limit; /* outstanding; SIZE_MAX for none */
    ace_call select;
    ace_confirms confirms;
    ace_list waiting;
    ace_list writing;
    ace_timer reopen;
    ace_timer expiry; /* not after the first deadline of all that is in hand */
} ace_lane;

/* Three parts, each in cache lines of its own: what one processor writes for every message would
 * otherwise take from another what that one reads for every message. */
struct ace_publisher {
    /* Read by all, written hardly ever. */
    ace_link *link;
    ace_loop *loop;
    const ace_settings *settings;
    void (*returned)(const ace_error *error, void *user);
    void *returned_user;
    _Atomic(ace_metrics *) metrics; /* borrowed; NULL: nobody measures */
    atomic_bool paused;
    atomic_bool closed;
    char before_the_loops[ACE_CACHE_LINE];

    /* The loop's thread's. */
    ace_lane lanes[ACE_LANES];
    ace_link_listener listener;
    bool blocked;
    bool ended; /* takes nothing more; the loop's side of `closed` */
    ace_publisher_counts counts;
    size_t ended_now[ACE_LANES]; /* in this turn, told to other threads at its end */
    size_t bytes_ended_now;
    ace_deferral tally;
    char behind_the_loops[ACE_CACHE_LINE];

    /* Written by all. */
    atomic_size_t in_hand[ACE_LANES]; /* submitted and not ended, but for those of this turn */
    atomic_size_t bytes;              /* of these, without the hops */
    atomic_size_t waiters;
    ace_mutex mutex;  /* of the list */
    ace_list wanting; /* threads that wait for fewer in hand */
};

/* publisher_lane.c; loop's thread. */
ace_code ace_lane_init(ace_lane *lane, ace_publisher *publisher, ace_publish_lane kind,
                       ace_error **error);
void ace_lane_arrive(ace_lane *lane, ace_publish *publish);
void ace_lane_pump(ace_lane *lane);
/* Ends the record with this result, wherever it is; takes the error over. */
void ace_lane_finish(ace_publish *publish, ace_code code, ace_error *error);
void ace_lane_cancel(ace_publish *publish);
void ace_lane_close(ace_lane *lane);

/* publisher_measure.c. Any thread; loop's thread. */
void ace_publish_measure_begin(ace_publish *publish);
void ace_publish_measure_end(const ace_publish *publish);

/* publisher.c; loop's thread. */
void ace_publisher_ended_one(ace_publisher *publisher, ace_publish_lane lane, size_t bytes);

#endif
