/* A loop whose turns are lent, and what is asked of it. */
#ifndef ACEMQ_TESTS_LENDING_FIXTURE_H
#define ACEMQ_TESTS_LENDING_FIXTURE_H

#include "base/thread.h"
#include "engine/loop.h"
#include "engine/waiter.h"

#include <check.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* A peer that answers what is asked of it, as a broker confirms: through a descriptor that the loop
 * watches. */
typedef struct peer {
    ace_loop *loop;
    ace_clock *clock;
    atomic_size_t in_hand;
    size_t ended_now;
    ace_deferral tally;
    ace_watch watch;
    struct question *asked; /* the loop's */
    atomic_bool silent;     /* it does not answer */
} peer;

typedef struct question {
    ace_task task;
    ace_waiter waiter;
    struct question *next;
    peer *of;
    pthread_t arrived_on;
    pthread_t ended_on;
} question;

static inline size_t count_in_hand(void *user)
{
    return atomic_load(&((peer *)user)->in_hand);
}

static inline void tell_ended(ace_deferral *deferral)
{
    peer *self = ACE_RECORD(deferral, peer, tally);
    atomic_fetch_sub(&self->in_hand, self->ended_now);
    self->ended_now = 0;
}

static inline void end_all(peer *self)
{
    ck_assert(ace_loop_is_current(self->loop));
    while (self->asked != NULL) {
        question *ended = self->asked;
        self->asked = ended->next;
        ended->ended_on = pthread_self();
        ace_loop_complete(self->loop, &ended->waiter);
        self->ended_now++;
        ace_loop_defer(self->loop, &self->tally);
    }
}

static inline void answered(ace_watch *watch, short events)
{
    uint64_t value;
    ck_assert((events & POLLIN) != 0);
    ck_assert_int_eq(read(watch->descriptor, &value, sizeof value), sizeof value);
    end_all(ACE_RECORD(watch, peer, watch));
}

static inline void answer(peer *self)
{
    const uint64_t one = 1;
    ck_assert_int_eq(write(self->watch.descriptor, &one, sizeof one), sizeof one);
}

static inline void arrive(ace_task *task)
{
    question *mine = ACE_RECORD(task, question, task);
    peer *self = mine->of;
    ck_assert(ace_loop_is_current(self->loop));
    mine->arrived_on = pthread_self();
    mine->next = self->asked;
    self->asked = mine;
    if (!atomic_load(&self->silent)) {
        answer(self);
    }
}

static inline void begin(void *user)
{
    peer *self = user;
    ck_assert(ace_loop_watch(self->loop, &self->watch));
    ace_loop_lend(self->loop, count_in_hand, self);
}

static inline void set_up(peer *self, ace_clock *clock)
{
    *self = (peer){.clock = clock, .tally.run = tell_ended};
    self->watch.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    self->watch.events = POLLIN;
    self->watch.ready = answered;
    ck_assert_int_ge(self->watch.descriptor, 0);
    ck_assert_int_eq(ace_loop_start("loop", clock, &self->loop, NULL), ACE_OK);
    ck_assert(ace_loop_call(self->loop, begin, self));
}

static inline void end(void *user)
{
    peer *self = user;
    ace_loop_lend(self->loop, NULL, NULL);
    end_all(self);
    ace_loop_unwatch(self->loop, &self->watch);
}

static inline void tear_down(peer *self)
{
    (void)ace_loop_call(self->loop, end, self);
    ace_loop_stop(self->loop);
    ace_loop_free(self->loop);
    close(self->watch.descriptor);
}

/* Whether the turn was lent. The question is left to the caller to destroy. */
static inline bool put(peer *self, question *asked)
{
    *asked = (question){.task.run = arrive, .of = self};
    ck_assert_int_eq(ace_waiter_init(&asked->waiter, NULL), ACE_OK);
    bool lent = ace_loop_borrow(self->loop, atomic_load(&self->in_hand) == 0);
    atomic_fetch_add(&self->in_hand, 1);
    ck_assert(ace_loop_post(self->loop, &asked->task));
    return lent;
}

static inline ace_code await_answer(peer *self, question *asked, bool lent, int64_t deadline,
                                    ace_cancel *cancel)
{
    ace_code code = lent ? ace_loop_wait(self->loop, &asked->waiter, deadline, cancel)
                         : ace_waiter_wait(&asked->waiter, deadline, cancel);
    ck_assert(!ace_loop_is_any_current());
    return code;
}

/* True: it was answered within turns of this thread. */
static inline bool ask(peer *self)
{
    question asked;
    bool lent = put(self, &asked);
    ck_assert_int_eq(await_answer(self, &asked, lent, ACE_NEVER, NULL), ACE_OK);
    ace_waiter_destroy(&asked.waiter);
    return pthread_equal(asked.arrived_on, pthread_self()) != 0 &&
           pthread_equal(asked.ended_on, pthread_self()) != 0;
}

static inline void pause_for(long milliseconds)
{
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* A turn that is lent, and a question in it that is not answered. */
static inline void put_lent(peer *self, question *asked)
{
    bool lent = false;
    atomic_store(&self->silent, false);
    for (int i = 0; i < 10000 && !lent; i++) {
        lent = ask(self);
    }
    ck_assert(lent);
    for (int i = 0; i < 10000; i++) {
        atomic_store(&self->silent, true);
        lent = put(self, asked);
        if (lent) {
            return;
        }
        answer(self);
        ck_assert_int_eq(await_answer(self, asked, false, ACE_NEVER, NULL), ACE_OK);
        ace_waiter_destroy(&asked->waiter);
    }
    ck_abort_msg("the turn was never lent");
}

/* Another thread, and what it does beside. */
typedef struct other {
    ace_thread thread;
    peer *self;
    ace_task task;
    ace_timer timer;
    ace_cancel *cancel;
    question *asked;
    pthread_t ran_on;
    atomic_int ran;
    long wait;
} other;

#endif
