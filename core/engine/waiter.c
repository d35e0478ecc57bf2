#include "engine/waiter.h"

#include "base/clock.h"

static void wake_cancelled(ace_cancel_watch *watch)
{
    ace_waiter *waiter = ACE_RECORD(watch, ace_waiter, watch);
    ace_mutex_lock(&waiter->mutex);
    waiter->cancelled = true;
    ace_condition_signal(&waiter->condition);
    ace_mutex_unlock(&waiter->mutex);
}

ace_code ace_waiter_init(ace_waiter *waiter, ace_error **error)
{
    ace_code code = ace_mutex_init(&waiter->mutex, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_condition_init(&waiter->condition, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&waiter->mutex);
        return code;
    }
    waiter->done = false;
    waiter->cancelled = false;
    waiter->watch.fired = wake_cancelled;
    return ACE_OK;
}

void ace_waiter_destroy(ace_waiter *waiter)
{
    ace_condition_destroy(&waiter->condition);
    ace_mutex_destroy(&waiter->mutex);
}

void ace_waiter_complete(ace_waiter *waiter)
{
    /* Signalled under the lock: the waiting thread cannot destroy the waiter before this one lets
     * go. */
    ace_mutex_lock(&waiter->mutex);
    waiter->done = true;
    ace_condition_signal(&waiter->condition);
    ace_mutex_unlock(&waiter->mutex);
}

ace_code ace_waiter_wait(ace_waiter *waiter, int64_t deadline, ace_cancel *cancel)
{
    waiter->cancelled = false;
    ace_cancel_watch_add(cancel, &waiter->watch);
    ace_mutex_lock(&waiter->mutex);
    bool in_time = true;
    while (!waiter->done && !waiter->cancelled && in_time) {
        in_time = ace_condition_wait_until(&waiter->condition, &waiter->mutex, deadline);
    }
    ace_code code = waiter->done ? ACE_OK : waiter->cancelled ? ACE_CANCELLED : ACE_TIMEOUT;
    ace_mutex_unlock(&waiter->mutex);
    ace_cancel_watch_remove(cancel, &waiter->watch);
    return code;
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
