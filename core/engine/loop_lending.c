#include "engine/loop_record.h"
#include "engine/waiter.h"

/* Waits in a row that were alone. A turn that is lent for one wait only costs a switch of threads
 * more than none: with 1 here who publishes every 15 ms pays 5.0 a publish instead of 4.0, with 4
 * it is 4.3; a run of 20 is as cheap with 4 as with 1, and with 16 it is as dear as without. */
#define LEND_FROM 4
/* In ms, without a lent turn, after which the loop's thread is back. Until then nobody reads what
 * comes unasked, and each round of it is a switch of threads. With 10 who publishes every 5 ms
 * still pays 2.7 switches instead of 4.0, and who never pauses 1.05; with 3 it is 4.25 and 1.2,
 * with 30 it is 2.3 and 1.02. */
#define LINGER 10

static size_t in_hand(const ace_loop *loop)
{
    return loop->in_hand == NULL ? 0 : loop->in_hand(loop->in_hand_user);
}

void ace_loop_lend(ace_loop *loop, size_t (*count)(void *user), void *user)
{
    loop->in_hand = count;
    loop->in_hand_user = user;
}

void ace_loop_complete(ace_loop *loop, ace_waiter *waiter)
{
    waiter->next = loop->answered;
    loop->answered = waiter;
}

static void complete_each(ace_waiter *answered)
{
    while (answered != NULL) {
        ace_waiter *next = answered->next; /* it is gone with its completion */
        ace_waiter_complete(answered);
        answered = next;
    }
}

void ace_loop_complete_all(ace_loop *loop)
{
    ace_waiter *answered = loop->answered;
    loop->answered = NULL;
    complete_each(answered);
}

bool ace_loop_get_turn(ace_loop *loop, ace_loop_rest state)
{
    int nobody = LOOP_FREE;
    return atomic_compare_exchange_strong(&loop->rest, &nobody, state);
}

void ace_loop_give(ace_loop *loop)
{
    ace_semaphore_post(&loop->given);
}

/* --- the loop's thread ----------------------------------------------------------------------- */

/* A thread keeps its turn for long, or nobody has come for one. True: it is this thread's. */
static bool take_back(ace_loop *loop)
{
    if (ace_loop_get_turn(loop, LOOP_AWAKE)) {
        atomic_store(&loop->alone, 0);
        return true;
    }
    /* Who gives it back sees this, or this sees that it was given back. */
    atomic_store(&loop->wanted_back, true);
    return ace_loop_get_turn(loop, LOOP_AWAKE);
}

static void stand_by(ace_loop *loop)
{
    unsigned seen = atomic_load(&loop->lent);
    int64_t until = ace_deadline_after(LINGER);
    while (!ace_semaphore_wait_until(&loop->given, until)) {
        unsigned lent = atomic_load(&loop->lent);
        if (lent != seen) {
            seen = lent;
            until = ace_deadline_after(LINGER);
        } else if (take_back(loop)) {
            return;
        } else {
            until = ACE_NEVER;
        }
    }
}

/* To the thread that has its answer by this turn, and is about to ask for the next. What came for
 * others leaves the thread at its descriptors, since more may come. */
static bool can_lend(const ace_loop *loop)
{
    return loop->answered != NULL && atomic_load(&loop->alone) >= LEND_FROM &&
           loop->in_hand != NULL && !loop->stopping && in_hand(loop) == 0 &&
           ace_list_empty(&loop->deferred);
}

/* Until the turn is this thread's again. */
static void stay_away(ace_loop *loop)
{
    stand_by(loop);
    /* The same as the semaphore says, where only atomics are understood. */
    (void)atomic_load(&loop->rest);
    atomic_store(&loop->wanted_back, false);
}

void ace_loop_end_turn(ace_loop *loop)
{
    if (!can_lend(loop)) {
        ace_loop_complete_all(loop);
        if (ace_loop_lend_to_receiver(loop)) {
            stay_away(loop);
        }
        return;
    }
    ace_waiter *answered = loop->answered;
    loop->answered = NULL;
    atomic_store(&loop->rest, LOOP_FREE);
    complete_each(answered);
    if (!ace_loop_has_posts(loop) || !ace_loop_get_turn(loop, LOOP_HURRIED)) {
        stay_away(loop);
    }
}

/* --- who is lent the turn -------------------------------------------------------------------- */

bool ace_loop_borrow(ace_loop *loop, bool alone)
{
    unsigned before = atomic_load(&loop->alone);
    if (!alone) {
        if (before != 0) {
            atomic_store(&loop->alone, 0);
        }
        return false;
    }
    if (before < LEND_FROM) {
        atomic_store(&loop->alone, before + 1);
        return false;
    }
    return ace_loop_get_turn(loop, LOOP_AWAKE);
}

/* What others have in hand may call back, which the loop's thread is there for. */
static bool may_keep(const ace_loop *loop)
{
    return !loop->stopping && loop->in_hand != NULL && in_hand(loop) <= 1;
}

/* False: the rest of the turn is the loop's thread's. */
static bool finish_turn(ace_loop *loop)
{
    if (!may_keep(loop)) {
        return false;
    }
    ace_loop_finish(loop);
    ace_loop_complete_all(loop);
    return may_keep(loop);
}

void ace_loop_give_back(ace_loop *loop, bool for_nobody)
{
    atomic_fetch_add(&loop->lent, 1);
    if (!for_nobody || in_hand(loop) > 0 || !ace_list_empty(&loop->deferred)) {
        atomic_store(&loop->rest, LOOP_HURRIED);
        ace_loop_give(loop);
        return;
    }
    atomic_store(&loop->rest, LOOP_FREE);
    if ((ace_loop_has_posts(loop) || atomic_load(&loop->wanted_back)) &&
        ace_loop_get_turn(loop, LOOP_HURRIED)) {
        ace_loop_give(loop);
    }
}

typedef struct interruption {
    ace_cancel_watch watch;
    ace_loop *loop;
    atomic_bool fired;
} interruption;

static void interrupt(ace_cancel_watch *watch)
{
    interruption *mine = ACE_RECORD(watch, interruption, watch);
    atomic_store(&mine->fired, true);
    ace_loop_stir(mine->loop);
}

static bool goes_on(const ace_waiter *waiter, const interruption *cancelled, int64_t deadline)
{
    return !ace_waiter_is_done(waiter) && !atomic_load(&cancelled->fired) &&
           (deadline == ACE_NEVER || ace_deadline_after(0) < deadline);
}

ace_code ace_loop_wait(ace_loop *loop, ace_waiter *waiter, int64_t deadline, ace_cancel *cancel)
{
    interruption cancelled = {.watch.fired = interrupt, .loop = loop};
    ace_cancel_watch_add(cancel, &cancelled.watch);
    ace_loop_set_current(loop);
    loop->now = ace_clock_monotonic(loop->clock);
    atomic_store(&loop->rest, LOOP_AWAKE);
    ace_loop_take(loop);
    /* What was posted to be waited for leaves first. Where it was not even taken, what is in hand
     * is somebody else's. */
    bool kept = !ace_waiter_is_done(waiter) && finish_turn(loop);
    bool visited = false;
    while (kept && goes_on(waiter, &cancelled, deadline)) {
        ace_loop_sleep(loop, deadline);
        ace_loop_serve(loop);
        ace_loop_take(loop);
        visited = visited || loop->taken != NULL;
        kept = finish_turn(loop);
    }
    ace_loop_set_current(NULL);
    ace_cancel_watch_remove(cancel, &cancelled.watch);
    ace_loop_give_back(loop, kept && !visited);
    if (atomic_load(&cancelled.fired) && !ace_waiter_is_done(waiter)) {
        return ACE_CANCELLED;
    }
    return ace_waiter_wait(waiter, deadline, cancel);
}
