/*
 * Between the loop, which fills it, and the receivers, who take from it: handler threads made on
 * demand, or one thread that pulls. This is the one place of a consumer with a lock in it.
 */
#ifndef ACE_ENGINE_CONSUMER_INBOX_H
#define ACE_ENGINE_CONSUMER_INBOX_H

#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"
#include "engine/cancel.h"
#include "engine/delivery.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_WORKER_IDLE INT64_C(3000) /* ms that a handler thread waits for more before it ends */

typedef struct ace_inbox {
    ace_mutex mutex;
    ace_condition arrived; /* or closed, woken, cancelled: what a receiver waits for */
    ace_condition quiet;   /* something was settled: what a drain waits for */
    ace_list ready;
    bool pushes;         /* constant: handler threads take, else a puller */
    int descriptor;      /* of a puller's eventfd; -1 */
    bool signalled;      /* it is readable */
    bool begun;          /* its receivers may take; before, what comes only waits */
    bool closed;         /* nothing more is given out */
    ace_error *why;      /* it ended by itself; NULL: it was closed */
    bool woken;          /* the next pull, or the one under way, is cancelled */
    bool pulling;        /* a thread is inside */
    unsigned workers;    /* threads there are */
    unsigned idle;       /* of them, those that wait */
    atomic_size_t taken; /* given out and not judged yet; the loop counts it down */
    bool destroyed;      /* the destructor was called, or has no reason to be */
} ace_inbox;

ace_code ace_inbox_init(ace_inbox *inbox, bool pushes, ace_error **error);
void ace_inbox_destroy(ace_inbox *inbox);

/* Once: from here on there are receivers, and a destructor is owed. ACE_SYSTEM as below. */
ace_code ace_inbox_begin(ace_inbox *inbox, ace_error **error);
/* The loop. Takes a reference of its own. ACE_CLOSED (not taken); ACE_SYSTEM: taken, but there is
 * no thread to handle it: ask again with ace_inbox_staff(). */
ace_code ace_inbox_put(ace_inbox *inbox, ace_delivery *delivery, ace_error **error);
ace_code ace_inbox_staff(ace_inbox *inbox, ace_error **error);

/* Gives out nothing more from here on, and hands over what nobody took. `why` (taken over) is what
 * pulls answer; NULL: ACE_CLOSED. Again is fine: the first `why` counts. */
void ace_inbox_close(ace_inbox *inbox, ace_error *why, ace_list *left);
/* Hands over what nobody took, and stays open. */
void ace_inbox_empty(ace_inbox *inbox, ace_list *left);

/* The next, with its reference; NULL. With the inbox locked. */
ace_delivery *ace_inbox_take_first(ace_inbox *inbox);

/* True for the one caller who has to call the destructor: it is closed and no handler runs. */
bool ace_inbox_take_destructor(ace_inbox *inbox);

/* A puller's wait for the next. ACE_TIMEOUT, ACE_CANCELLED, ACE_CLOSED or why it ended,
 * ACE_WRONG_THREAD. The caller gets a reference. */
ace_code ace_inbox_take(ace_inbox *inbox, int64_t deadline, ace_cancel *cancel,
                        ace_delivery **delivery, ace_error **error);
void ace_inbox_wake(ace_inbox *inbox);

/* Waits until `done(user)`, asked under the lock after every ace_inbox_stir(), is true.
 * ACE_TIMEOUT, ACE_CANCELLED. */
ace_code ace_inbox_await(ace_inbox *inbox, bool (*done)(void *user), void *user, int64_t deadline,
                         ace_cancel *cancel);
void ace_inbox_stir(ace_inbox *inbox);

#endif
