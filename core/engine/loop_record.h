/*
 * The inside of a loop, shared by loop.c (the turns and whoever posts), loop_lending.c (who has
 * the turn) and loop_receiving.c (the same for who waits for what comes). Nobody else includes
 * this.
 *
 * `rest` says who has the turn as well: with LOOP_FREE nobody, and whoever puts another value in
 * its place has it from there on, or gives it to the loop's thread with ace_loop_give(). All that
 * is not atomic belongs to who has the turn.
 */
#ifndef ACE_ENGINE_LOOP_RECORD_H
#define ACE_ENGINE_LOOP_RECORD_H

#include "base/memory.h"
#include "base/thread.h"
#include "engine/loop.h"

#include <poll.h>
#include <stdatomic.h>

typedef enum ace_loop_rest {
    LOOP_AWAKE,
    LOOP_HURRIED, /* awake, and what was posted meanwhile waits for nothing */
    LOOP_DOZING,  /* in poll, or about to be; looks for tasks by itself within ACE_LOOP_DOZE */
    LOOP_ASLEEP,  /* the same until it is woken */
    LOOP_FREE,    /* nobody polls; the loop's thread comes back when it is told, or soon */
} ace_loop_rest;

struct ace_loop {
    ace_clock *clock;
    ace_thread thread;
    int wake; /* an eventfd, polled by who has the turn */

    /* Written by all: in a cache line of its own. */
    char before_posted[ACE_CACHE_LINE];
    _Atomic(ace_task *) posted; /* newest first; the end's mark once the loop takes nothing more */
    atomic_int rest;            /* ace_loop_rest */
    atomic_bool company;        /* something was posted that may wait for more */
    char behind_posted[ACE_CACHE_LINE];

    ace_task *taken; /* of what was posted, in the order of posting */
    bool dozes;      /* what may wait for more comes one after the other at present */
    bool stopping;
    bool abandoned;
    int64_t now;
    int64_t gauged;   /* when the arrivals were counted last */
    int64_t arrivals; /* since then */
    bool flooded;     /* by that count */
    ace_timer_heap timers;
    ace_list watches;
    ace_list deferred;
    struct pollfd *polled; /* [0] is the eventfd */
    ace_watch **polled_watches;
    size_t polled_capacity;
    size_t polled_count;

    /* Lending. */
    size_t (*in_hand)(void *user); /* NULL: the turn is not lent */
    void *in_hand_user;
    struct ace_waiter *answered; /* to be completed at the end of the turn */
    ace_semaphore given;         /* posted once for each time the loop's thread is given the turn */
    atomic_uint alone;           /* waits in a row that were alone, up to what lending takes */
    atomic_uint lent;            /* how often a thread gave back what it was lent */
    atomic_bool wanted_back;     /* the loop's thread waits until it is given the turn */
    ace_list receivers;
    _Atomic(const char *) borrower; /* of the receivers' threads, who asked for the turn last */
};

/* loop.c; who has the turn. */
void ace_loop_set_current(ace_loop *loop); /* of this thread; NULL: none */
/* Polls until something is ready or posted, a timer is due or `deadline` of the system's clock. */
void ace_loop_sleep(ace_loop *loop, int64_t deadline);
void ace_loop_serve(ace_loop *loop);  /* what that found */
void ace_loop_take(ace_loop *loop);   /* what was posted, without running it */
void ace_loop_finish(ace_loop *loop); /* the rest of the turn: tasks, timers, deferred */
void ace_loop_wake(ace_loop *loop);   /* any thread */
bool ace_loop_push(ace_loop *loop, ace_task *task); /* any thread: without waking */
bool ace_loop_has_posts(ace_loop *loop);

/* loop_lending.c. */
void ace_loop_give(ace_loop *loop); /* to the loop's thread; not touched any more after that */
void ace_loop_complete_all(ace_loop *loop);
bool ace_loop_get_turn(ace_loop *loop, ace_loop_rest state); /* from nobody */
/* `for_nobody`: unless the loop's thread has something to do. */
void ace_loop_give_back(ace_loop *loop, bool for_nobody);
/* The loop's thread at the end of a turn: returns with the next. */
void ace_loop_end_turn(ace_loop *loop);

/* loop_receiving.c; the loop's thread at the end of a turn: the turn is the receiver's. */
bool ace_loop_lend_to_receiver(ace_loop *loop);

#endif
