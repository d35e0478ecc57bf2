/* Pausing, resuming, another prefetch, another number of members: while it runs, from any thread.
 */
#include "engine/consumer_control.h"

#include "engine/consumer_order.h"
#include "engine/consumer_subscription.h"

#include <inttypes.h>

ace_code ace_members_check(int64_t members, ace_error **error)
{
    if (members >= 1 && members <= ACE_MEMBERS_MOST) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_LIMIT, "members is %" PRId64 ", the limits are 1 and %d",
                             members, ACE_MEMBERS_MOST);
    ace_error_field(error, "members", ACE_MEMBERS_MOST);
    return code;
}

uint16_t ace_consumer_most(const ace_consumer *consumer)
{
    uint64_t members = atomic_load(&consumer->members);
    uint64_t most = atomic_load(&consumer->prefetch) * (members > 0 ? members : 1);
    return most < UINT16_MAX ? (uint16_t)most : UINT16_MAX;
}

static ace_code check_open(const ace_consumer *consumer, ace_error **error)
{
    return ace_handle_is_closed(&consumer->handle)
               ? ace_fail(error, ACE_CLOSED, "the consumer is closed")
               : ACE_OK;
}

/* Runs it on the loop, where everything about the subscription belongs. */
static ace_code on_loop(ace_consumer *consumer, void (*run)(void *user), ace_error **error)
{
    ace_code code = check_open(consumer, error);
    if (code == ACE_OK && !ace_loop_call(consumer->loop, run, consumer)) {
        code = ace_fail(error, ACE_CLOSED, "the connection is closed");
    }
    return code;
}

static void pause_now(void *user)
{
    ace_consumer *consumer = user;
    if (consumer->stopping || atomic_exchange(&consumer->paused, true)) {
        return;
    }
    ace_list left;
    ace_list_init(&left);
    ace_inbox_empty(&consumer->inbox, &left);
    if (!consumer->keeps_order) {
        /* The cancel goes first, so that the broker does not send back at once what it gets. */
        ace_subscription_pause(consumer);
    }
    ace_consumer_return_unseen(&left);
    ace_order_look(consumer);
    ace_inbox_stir(&consumer->inbox);
}

static void resume_now(void *user)
{
    ace_consumer *consumer = user;
    if (!atomic_exchange(&consumer->paused, false) || consumer->stopping) {
        return;
    }
    ace_subscription_stage stage = consumer->subscription.stage;
    if (consumer->keeps_order) {
        ace_order_resume(consumer);
    } else if (stage == ACE_SUBSCRIPTION_NONE) {
        ace_subscription_begin(consumer);
    } else if (stage == ACE_SUBSCRIPTION_HELD_OFF) {
        ace_window_released(consumer, 0);
    } /* else an answer is on its way, and what it leads to looks whether it is paused */
}

ace_code ace_consumer_pause(ace_consumer *consumer, ace_error **error)
{
    return on_loop(consumer, pause_now, error);
}

ace_code ace_consumer_resume(ace_consumer *consumer, ace_error **error)
{
    return on_loop(consumer, resume_now, error);
}

bool ace_consumer_is_paused(const ace_consumer *consumer)
{
    return atomic_load(&consumer->paused);
}

static void adjust_window(void *user)
{
    ace_consumer *consumer = user;
    if (!consumer->stopping) {
        ace_window_set_most(consumer, ace_consumer_most(consumer));
    }
}

ace_code ace_consumer_set_prefetch(ace_consumer *consumer, int64_t prefetch, ace_error **error)
{
    ace_code code = ace_prefetch_check(prefetch, error);
    if (code == ACE_OK) {
        code = check_open(consumer, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    atomic_store(&consumer->prefetch, (unsigned)prefetch);
    return on_loop(consumer, adjust_window, error);
}

int64_t ace_consumer_prefetch(const ace_consumer *consumer)
{
    return atomic_load(&consumer->prefetch);
}

int64_t ace_consumer_members(const ace_consumer *consumer)
{
    return atomic_load(&consumer->members);
}

static void scale_now(void *user)
{
    ace_consumer *consumer = user;
    if (consumer->stopping) {
        return;
    }
    ace_error *error = NULL;
    ace_code code = ace_inbox_set_limit(&consumer->inbox, atomic_load(&consumer->members), &error);
    ace_consumer_staff(consumer, code, error);
    ace_window_set_most(consumer, ace_consumer_most(consumer));
}

ace_code ace_consumer_scale(ace_consumer *consumer, int64_t members, int64_t deadline,
                            ace_cancel *cancel, ace_error **error)
{
    ace_code code = ace_members_check(members, error);
    if (code == ACE_OK && atomic_load(&consumer->members) == 0) {
        code = ace_fail(error, ACE_STATE, "the consumer is no group");
    }
    if (code == ACE_OK) {
        code = check_open(consumer, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    atomic_store(&consumer->members, (unsigned)members);
    code = on_loop(consumer, scale_now, error);
    if (code != ACE_OK || ace_consumer_is_current(consumer) || ace_loop_is_any_current()) {
        return code; /* a handler would wait for itself */
    }
    code = ace_inbox_await(&consumer->inbox, ace_inbox_is_within_limit, &consumer->inbox, deadline,
                           cancel);
    if (code == ACE_OK) {
        return ACE_OK;
    }
    return ace_fail(error, code,
                    "scaling the group of queue %s to %" PRId64
                    " members: %s, members removed are still at work",
                    consumer->queue, members, code == ACE_TIMEOUT ? "time is up" : "cancelled");
}

void ace_consumer_list_work(ace_consumer *consumer, ace_work *work)
{
    ace_inbox_list_held(&consumer->inbox, work);
}
