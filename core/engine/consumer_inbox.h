/*
 * Between the loop, which fills it, and the receivers, who take from it: handler threads made on
 * demand, or threads that pull. A consumer has one receiver at a time, a group as many as it has
 * members. This is the one place of a consumer with a lock in it.
 */
#ifndef ACE_ENGINE_CONSUMER_INBOX_H
#define ACE_ENGINE_CONSUMER_INBOX_H

#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"
#include "engine/cancel.h"
#include "engine/delivery.h"
#include "engine/loop.h"
#include "engine/work.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_WORKER_IDLE INT64_C(3000) /* ms that a handler thread waits for more before it ends */

typedef struct ace_inbox {
    ace_mutex mutex;
    ace_condition arrived; /* or closed, woken, cancelled: what a receiver waits for */
    ace_condition quiet;   /* something was settled: what a drain waits for */
    ace_list ready;
    ace_list held;       /* what its receivers have */
    bool pushes;         /* constant: handler threads take, else a puller */
    int descriptor;      /* of a puller's eventfd; -1 */
    bool signalled;      /* it is readable */
    bool begun;          /* its receivers may take; before, what comes only waits */
    bool closed;         /* nothing more is given out */
    ace_error *why;      /* it ended by itself; NULL: it was closed */
    unsigned woken;      /* so many pulls, those under way first, are cancelled */
    unsigned limit;      /* of the next two: the receivers there may be at a time */
    unsigned pulling;    /* threads inside */
    unsigned workers;    /* threads there are */
    unsigned idle;       /* of them, those that wait */
    atomic_size_t taken; /* given out and not judged yet; the loop counts it down */
    bool destroyed;      /* the destructor was called, or has no reason to be */
    ace_receiver receiver;
    ace_loop *loop;    /* whose turns its only receiver may be lent; NULL: none */
    ace_loop *turning; /* it is in one */
    unsigned waiting;  /* threads that wait for `arrived` */
    bool untold;       /* of what this turn brought the receiver was not told yet */
} ace_inbox;

ace_code ace_inbox_init(ace_inbox *inbox, bool pushes, unsigned limit, ace_error **error);
void ace_inbox_destroy(ace_inbox *inbox);

/* Once: from here on there are receivers, and a destructor is owed. ACE_SYSTEM as below. */
ace_code ace_inbox_begin(ace_inbox *inbox, ace_error **error);
/* The loop. Takes a reference of its own. ACE_CLOSED (not taken); ACE_SYSTEM: taken, but there is
 * no thread to handle it: ask again with ace_inbox_staff(). */
ace_code ace_inbox_put(ace_inbox *inbox, ace_delivery *delivery, ace_error **error);
ace_code ace_inbox_staff(ace_inbox *inbox, ace_error **error);

/* The loop: whose turns bring what it is given, from here on; `receiver` has its two functions.
 * Nobody but receivers may be lent its turns: at their end only a receiver is told what they
 * brought. Not attached, it tells at once. */
void ace_inbox_attach(ace_inbox *inbox, ace_loop *loop);
void ace_inbox_detach(ace_inbox *inbox); /* again is fine */
/* What these do under the lock. */
bool ace_inbox_has_waiting(ace_inbox *inbox);
void ace_inbox_tell(ace_inbox *inbox);
/* In the place of ace_condition_wait_until(), with the inbox locked. `fired` may be NULL. */
bool ace_inbox_wait(ace_inbox *inbox, const bool *fired, int64_t deadline);

/* Gives out nothing more from here on, and hands over what nobody took. `why` (taken over) is what
 * pulls answer; NULL: ACE_CLOSED. Again is fine: the first `why` counts. */
void ace_inbox_close(ace_inbox *inbox, ace_error *why, ace_list *left);
/* Hands over what nobody took, and stays open. */
void ace_inbox_empty(ace_inbox *inbox, ace_list *left);

/* Nobody is to take it any more, with its reference. False: somebody has, or may. */
bool ace_inbox_take_back(ace_inbox *inbox, const ace_delivery *delivery);

/* The next, with its reference; NULL. It is held from here on. With the inbox locked. */
ace_delivery *ace_inbox_take_first(ace_inbox *inbox);
/* Its receiver is done with it. Again is fine. */
void ace_inbox_let_go(ace_inbox *inbox, ace_delivery *delivery);
void ace_inbox_forget_held(ace_inbox *inbox, ace_delivery *delivery); /* with the inbox locked */
/* Adds what receivers hold and have not settled, or what was taken away from them. */
void ace_inbox_list_held(ace_inbox *inbox, ace_work *work);

/* Another number of receivers. Those that are too many go when they are done with what they hold,
 * pullers that wait at once. Calls more threads where there is work for them; ACE_SYSTEM as above.
 */
ace_code ace_inbox_set_limit(ace_inbox *inbox, unsigned limit, ace_error **error);
/* For ace_inbox_await(): not more receivers than there may be. */
bool ace_inbox_is_within_limit(void *inbox);

/* True for the one caller who has to call the destructor: it is closed, and so many threads are
 * left. With the inbox locked. */
bool ace_inbox_take_destructor(ace_inbox *inbox, unsigned workers);
/* For ace_inbox_await(): each thread that is left is inside a handler. */
bool ace_inbox_has_only_handlers(void *inbox);

/* A puller's wait for the next. ACE_TIMEOUT, ACE_CANCELLED (also: too many are inside since the
 * limit became smaller), ACE_CLOSED or why it ended, ACE_WRONG_THREAD (as many as may be are
 * inside). The caller gets a reference. */
ace_code ace_inbox_take(ace_inbox *inbox, int64_t deadline, ace_cancel *cancel,
                        ace_delivery **delivery, ace_error **error);
/* Cancels all pulls under way, or else the next one. */
void ace_inbox_wake(ace_inbox *inbox);

/* Waits until `done(user)`, asked under the lock after every ace_inbox_stir(), is true.
 * ACE_TIMEOUT, ACE_CANCELLED. */
ace_code ace_inbox_await(ace_inbox *inbox, bool (*done)(void *user), void *user, int64_t deadline,
                         ace_cancel *cancel);
void ace_inbox_stir(ace_inbox *inbox);

#endif
