#include "engine/worker.h"

#include "engine/consumer_state.h"

static _Thread_local const ace_consumer *handling;

const ace_consumer *ace_worker_consumer(void)
{
    return handling;
}

static bool may_take(const ace_inbox *inbox)
{
    return !inbox->closed && inbox->workers <= inbox->limit;
}

static void wait_for_more(ace_inbox *inbox)
{
    int64_t deadline = ace_deadline_after(ACE_WORKER_IDLE);
    bool in_time = true;
    while (in_time && may_take(inbox) && ace_list_empty(&inbox->ready)) {
        inbox->idle++;
        in_time = ace_inbox_wait(inbox, NULL, deadline);
        inbox->idle--;
    }
}

/* What was handled is let go of under the same lock. Unlocked; or NULL, when the thread should end,
 * and locked. */
static ace_delivery *next_after(ace_inbox *inbox, ace_delivery *done)
{
    ace_mutex_lock(&inbox->mutex);
    if (done != NULL) {
        ace_inbox_forget_held(inbox, done);
    }
    if (done != NULL && !(may_take(inbox) && !ace_list_empty(&inbox->ready))) {
        ace_mutex_unlock(&inbox->mutex);
        ace_delivery_unref(done); /* now, since the next may be long in coming */
        done = NULL;
        ace_mutex_lock(&inbox->mutex);
    }
    if (may_take(inbox) && ace_list_empty(&inbox->ready)) {
        wait_for_more(inbox);
    }
    ace_delivery *following = may_take(inbox) ? ace_inbox_take_first(inbox) : NULL;
    if (following != NULL) {
        ace_mutex_unlock(&inbox->mutex);
        if (done != NULL) {
            ace_delivery_unref(done);
        }
    }
    return following;
}

static void work(void *user)
{
    ace_consumer *consumer = user;
    ace_inbox *inbox = &consumer->inbox;
    ace_delivery *delivery = NULL;
    while ((delivery = next_after(inbox, delivery)) != NULL) {
        handling = consumer;
        ace_consumer_handle(consumer, delivery);
        handling = NULL;
    }
    /* While it still counts as one of them: whoever closes waits for the destructor too. */
    if (ace_inbox_take_destructor(inbox, 1) && consumer->destructor != NULL) {
        ace_mutex_unlock(&inbox->mutex);
        consumer->destructor(consumer->user);
        ace_mutex_lock(&inbox->mutex);
    }
    inbox->workers--;
    if (!ace_list_empty(&inbox->ready)) {
        ace_condition_signal(&inbox->arrived); /* meant for another, if this one had it */
    }
    ace_condition_broadcast(&inbox->quiet);
    ace_mutex_unlock(&inbox->mutex);
    ace_consumer_unref(consumer);
}

bool ace_worker_is_missing(const ace_inbox *inbox)
{
    return inbox->ready.count > inbox->idle && inbox->workers < inbox->limit;
}

ace_code ace_worker_call(ace_inbox *inbox, ace_error **error)
{
    if (!ace_worker_is_missing(inbox)) {
        /* Where all are at work they look again when they have done what they are at. */
        ace_condition_signal(&inbox->arrived);
        return ACE_OK;
    }
    ace_consumer *consumer = ACE_RECORD(inbox, ace_consumer, inbox);
    ace_handle_retain(&consumer->handle);
    ace_thread thread;
    ace_code code = ace_thread_start(&thread, "acemq-handler", work, consumer, error);
    if (code != ACE_OK) {
        ace_consumer_unref(consumer);
        return code;
    }
    /* It may be the one that frees the consumer, and nobody waits for it. */
    (void)pthread_detach(thread.id);
    inbox->workers++;
    return ACE_OK;
}
