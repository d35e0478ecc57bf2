#include "engine/waiter.h"

#include "base/clock.h"

static void wake_cancelled(ace_cancel_watch *watch)
{
    ace_waiter *waiter = ACE_RECORD(watch, ace_waiter, watch);
    waiter->cancellations++;
    atomic_store(&waiter->cancelled, true);
    ace_semaphore_post(&waiter->wakes);
}

ace_code ace_waiter_init(ace_waiter *waiter, ace_error **error)
{
    *waiter = (ace_waiter){.watch.fired = wake_cancelled};
    return ace_semaphore_init(&waiter->wakes, error);
}

void ace_waiter_destroy(ace_waiter *waiter)
{
    ace_semaphore_destroy(&waiter->wakes);
}

/* No lock: the thread that wakes would have to wait for it at once. */
void ace_waiter_complete(ace_waiter *waiter)
{
    atomic_store(&waiter->done, true);
    ace_semaphore_post(&waiter->wakes);
}

bool ace_waiter_is_done(const ace_waiter *waiter)
{
    return atomic_load(&waiter->done);
}

static bool take_wake(ace_waiter *waiter, int64_t deadline)
{
    bool in_time = ace_semaphore_wait_until(&waiter->wakes, deadline);
    waiter->taken += in_time ? 1 : 0;
    return in_time;
}

ace_code ace_waiter_wait(ace_waiter *waiter, int64_t deadline, ace_cancel *cancel)
{
    atomic_store(&waiter->cancelled, false);
    ace_cancel_watch_add(cancel, &waiter->watch);
    bool in_time = true;
    while (!atomic_load(&waiter->done) && !atomic_load(&waiter->cancelled) && in_time) {
        in_time = take_wake(waiter, deadline);
    }
    ace_cancel_watch_remove(cancel, &waiter->watch);
    if (!atomic_load(&waiter->done)) {
        return atomic_load(&waiter->cancelled) ? ACE_CANCELLED : ACE_TIMEOUT;
    }
    /* Whoever completes it lets go of it with the post, which must be taken before it is gone. */
    while (waiter->taken <= waiter->cancellations) {
        (void)take_wake(waiter, ACE_NEVER);
    }
    return ACE_OK;
}

void ace_waiter_finish(ace_waiter *waiter)
{
    (void)ace_waiter_wait(waiter, ACE_NEVER, NULL);
}

int64_t ace_deadline_after(int64_t timeout)
{
    int64_t now = ace_clock_monotonic(ace_clock_system());
    if (timeout <= 0) {
        return now;
    }
    return timeout > ACE_NEVER - now ? ACE_NEVER : now + timeout;
}
