/*
 * One I/O thread: poll(2) over descriptors and an eventfd, a timer heap on an injectable clock, and
 * tasks posted from any thread. Everything that a loop's callbacks touch belongs to the turn, which
 * one thread has at a time, so that there are no locks in the state machines above.
 *
 * A turn of the loop: ready descriptors, tasks in the order of posting, due timers, and at last
 * what was deferred (the flush of output, so that many publishes leave in one write). No callback
 * may block.
 *
 * The turns are the thread's own, but for two cases. A thread that waits for what it posted, while
 * nothing else is in hand, is lent them until it has its answer; and the only one that waits for
 * what comes in, until something came. So a thread that sends one thing after the other, or handles
 * one after the other, writes and reads the socket itself, and no other thread has to wake. "The
 * loop's thread" below is whoever has the turn, and ace_loop_is_current() is true on it.
 */
#ifndef ACE_ENGINE_LOOP_H
#define ACE_ENGINE_LOOP_H

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/timer.h"
#include "engine/cancel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ace_waiter;
typedef struct ace_loop ace_loop;
typedef struct ace_task ace_task;
typedef void ace_task_run(ace_task *task);

/* Work for the loop, embedded in the record it is about; ACE_RECORD(task, type, member) leads back.
 * It is the loop's from posting until `run` is called, and may be posted again or freed from there
 * on. */
struct ace_task {
    ace_task *next; /* the loop's own */
    ace_task_run *run;
};

/* Work at the end of the present turn. */
typedef struct ace_deferral ace_deferral;
struct ace_deferral {
    ace_link_node node;
    void (*run)(ace_deferral *deferral);
};

/* A descriptor that is polled. The record is the caller's, and must live until it is unwatched. */
typedef struct ace_watch ace_watch;
struct ace_watch {
    ace_link_node node;
    int descriptor;
    short events; /* POLLIN, POLLOUT: may be changed at any time on the loop's thread; 0: not polled
                   */
    size_t polled;                                 /* the loop's own */
    void (*ready)(ace_watch *watch, short events); /* may unwatch, itself included */
};

/* Starts the thread. `name` is cut at 15 bytes; the clock is borrowed until ace_loop_free().
 * ACE_SYSTEM, ACE_OUT_OF_MEMORY. */
ace_code ace_loop_start(const char *name, ace_clock *clock, ace_loop **loop, ace_error **error);

/* Ends the loop after the tasks posted so far and joins its thread: never from that thread. What is
 * still watched or timed is dropped without a call. From then on ace_loop_post() answers false. */
void ace_loop_stop(ace_loop *loop);
void ace_loop_free(ace_loop *loop); /* a stopped loop, or in a child of fork; NULL is fine */
/* In a child of fork: closes the descriptors of the loop and touches no lock. */
void ace_loop_abandon(ace_loop *loop);

/* Any thread. False when the loop has ended: the task stays the caller's and is not run. Costs one
 * system call only when the loop is asleep. */
bool ace_loop_post(ace_loop *loop, ace_task *task);

/* The same for what may wait up to ACE_LOOP_DOZE for company: in a run of such tasks the loop is
 * left to find them by itself. Whoever posts and then waits for the outcome calls ace_loop_hurry().
 */
#define ACE_LOOP_DOZE 1 /* ms */
bool ace_loop_post_soon(ace_loop *loop, ace_task *task);
void ace_loop_hurry(ace_loop *loop);         /* any thread: what was posted begins now */
void ace_loop_expect(ace_loop *loop);        /* any thread: such a run is about to begin */
bool ace_loop_expects(const ace_loop *loop); /* any thread: it is, or has begun */

/* Runs `run(user)` on the loop's thread and waits for its end; directly when this is that thread.
 * False when the loop has ended and nothing was run. */
bool ace_loop_call(ace_loop *loop, void (*run)(void *user), void *user);

/* Whether turns are lent: while `in_hand` answers at most 1, which is what the borrower waits for.
 * It is called under the turn; what it counts is counted before it is posted, and no more once a
 * turn that ended it is over. NULL: no more. The loop's thread. */
void ace_loop_lend(ace_loop *loop, size_t (*in_hand)(void *user), void *user);
/* Before posting what this thread will wait for; `alone`: nothing else is in hand. Never on a
 * loop's thread. True: it has the turn, and calls ace_loop_wait() after posting, whatever came of
 * that. */
bool ace_loop_borrow(ace_loop *loop, bool alone);
/* ace_waiter_wait() with the turn: runs turns until the waiter, which is completed under the turn,
 * is completed, or somebody else needs the loop, and gives it back. */
ace_code ace_loop_wait(ace_loop *loop, struct ace_waiter *waiter, int64_t deadline,
                       ace_cancel *cancel);
/* The loop's thread: completes the waiter when this turn is over, so that who waited finds nothing
 * in hand any more, and the turn free. */
void ace_loop_complete(ace_loop *loop, struct ace_waiter *waiter);

/* A consumer's receiver. While it is the loop's only one it is lent the turns as long as it waits,
 * and so reads from the socket what it handles. The record is the caller's. */
typedef struct ace_receiver ace_receiver;
struct ace_receiver {
    ace_link_node node;
    /* The end of a turn: whether a thread waits that was not told yet of what came for it. Then
     * `wake` follows, until which the record stays, whatever another thread does. */
    bool (*waits)(ace_receiver *receiver);
    void (*wake)(ace_receiver *receiver);
};
/* The loop's thread. */
void ace_loop_receive(ace_loop *loop, ace_receiver *receiver);
void ace_loop_end_receive(ace_loop *loop, ace_receiver *receiver); /* fine when it does not */
bool ace_loop_is_only_receiver(const ace_loop *loop, const ace_receiver *receiver);
/* The receiver's thread, in the place of waiting. True: it has the turn, and must call
 * ace_loop_turn_until(), which runs turns until `over(user)`, the deadline of the system's clock,
 * or until somebody else needs the loop. */
bool ace_loop_take_turn(ace_loop *loop);
void ace_loop_turn_until(ace_loop *loop, bool (*over)(void *user), void *user, int64_t deadline);
/* ace_loop_post() of the thread that asked for the turn last and will again soon: nobody else
 * is woken for it. Where it does not ask, the loop's thread comes for it in some milliseconds. */
bool ace_loop_post_quietly(ace_loop *loop, ace_task *task);
void ace_loop_stir(ace_loop *loop); /* any thread: who has the turn looks about, and asks `over` */

bool ace_loop_is_current(const ace_loop *loop);
bool ace_loop_is_any_current(void); /* this is the thread of some loop, which may not block */
ace_clock *ace_loop_clock(const ace_loop *loop);

/* The rest is for the loop's own thread. */
int64_t ace_loop_now(const ace_loop *loop); /* monotonic milliseconds, as of this turn's start */
bool ace_loop_timer_set(ace_loop *loop, ace_timer *timer, int64_t deadline); /* false: no memory */
void ace_loop_timer_cancel(ace_loop *loop, ace_timer *timer);                /* fine when not set */
/* Something came that the sender did not wait for, and more may come before this is answered: where
 * thousands a second do, the loop pauses before it reads on, and so reads larger portions. With
 * half of this pause it wakes up twice as often; with four times as much a window of 300 runs dry.
 */
#define ACE_LOOP_PAUSE 100000 /* ns */
void ace_loop_note_arrival(ace_loop *loop);
bool ace_loop_watch(ace_loop *loop, ace_watch *watch);       /* false: no memory */
void ace_loop_unwatch(ace_loop *loop, ace_watch *watch);     /* fine when not watched */
void ace_loop_defer(ace_loop *loop, ace_deferral *deferral); /* once a turn, however often asked */
void ace_loop_undefer(ace_loop *loop, ace_deferral *deferral);

#endif
