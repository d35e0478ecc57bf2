#include "engine/consumer_inbox.h"

#include "engine/delivery_state.h"
#include "engine/waiter.h"
#include "engine/worker.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A cancel token that fires while somebody waits here. */
typedef struct cancel_wait {
    ace_cancel_watch watch;
    ace_inbox *inbox;
    ace_condition *condition;
    bool fired; /* under the inbox's lock */
} cancel_wait;

/* Who would wait for `arrived`, but has a turn. Under the lock. */
static void stir_turn(const ace_inbox *inbox)
{
    if (inbox->turning != NULL) {
        ace_loop_stir(inbox->turning);
    }
}

static void stir_all(ace_inbox *inbox)
{
    ace_condition_broadcast(&inbox->arrived);
    stir_turn(inbox);
}

static void cancelled(ace_cancel_watch *watch)
{
    cancel_wait *wait = ACE_RECORD(watch, cancel_wait, watch);
    ace_mutex_lock(&wait->inbox->mutex);
    wait->fired = true;
    ace_condition_broadcast(wait->condition);
    stir_turn(wait->inbox);
    ace_mutex_unlock(&wait->inbox->mutex);
}

static void cancel_wait_begin(cancel_wait *wait, ace_inbox *inbox, ace_condition *condition,
                              ace_cancel *cancel)
{
    *wait = (cancel_wait){.inbox = inbox, .condition = condition};
    wait->watch.fired = cancelled;
    ace_cancel_watch_add(cancel, &wait->watch);
}

ace_code ace_inbox_init(ace_inbox *inbox, bool pushes, unsigned limit, ace_error **error)
{
    *inbox = (ace_inbox){.pushes = pushes, .limit = limit, .descriptor = -1, .destroyed = true};
    ace_list_init(&inbox->ready);
    ace_list_init(&inbox->held);
    ace_code code = ace_mutex_init(&inbox->mutex, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_condition_init(&inbox->arrived, error);
    if (code != ACE_OK) {
        goto no_arrived;
    }
    code = ace_condition_init(&inbox->quiet, error);
    if (code != ACE_OK) {
        goto no_quiet;
    }
    if (pushes) {
        return ACE_OK;
    }
    inbox->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->descriptor >= 0) {
        return ACE_OK;
    }
    code = ace_fail_system(error, errno, "eventfd");
    ace_condition_destroy(&inbox->quiet);
no_quiet:
    ace_condition_destroy(&inbox->arrived);
no_arrived:
    ace_mutex_destroy(&inbox->mutex);
    return code;
}

void ace_inbox_destroy(ace_inbox *inbox)
{
    if (inbox->descriptor >= 0) {
        (void)close(inbox->descriptor);
    }
    ace_error_free(inbox->why);
    ace_condition_destroy(&inbox->quiet);
    ace_condition_destroy(&inbox->arrived);
    ace_mutex_destroy(&inbox->mutex);
}

/* Makes the descriptor readable, or not, as a pull would wait, or not. Under the lock. */
static void show(ace_inbox *inbox)
{
    bool ready = inbox->closed || inbox->woken > 0 || !ace_list_empty(&inbox->ready);
    if (inbox->descriptor < 0 || ready == inbox->signalled) {
        return;
    }
    uint64_t count = 1;
    ssize_t moved = ready ? write(inbox->descriptor, &count, sizeof count)
                          : read(inbox->descriptor, &count, sizeof count);
    (void)moved; /* of an eventfd that only we touch neither can fail */
    inbox->signalled = ready;
}

ace_code ace_inbox_begin(ace_inbox *inbox, ace_error **error)
{
    ace_mutex_lock(&inbox->mutex);
    inbox->destroyed = false;
    inbox->begun = true;
    ace_mutex_unlock(&inbox->mutex);
    return inbox->pushes ? ace_inbox_staff(inbox, error) : ACE_OK;
}

/* --- whose turn it is ------------------------------------------------------------------------ */

static bool may_turn(const ace_inbox *inbox)
{
    return inbox->loop != NULL && inbox->limit == 1;
}

void ace_inbox_attach(ace_inbox *inbox, ace_loop *loop)
{
    ace_mutex_lock(&inbox->mutex);
    inbox->loop = loop;
    ace_mutex_unlock(&inbox->mutex);
    ace_loop_receive(loop, &inbox->receiver);
}

void ace_inbox_detach(ace_inbox *inbox)
{
    ace_mutex_lock(&inbox->mutex);
    ace_loop *loop = inbox->loop;
    inbox->loop = NULL;
    ace_mutex_unlock(&inbox->mutex);
    if (loop != NULL) {
        ace_loop_end_receive(loop, &inbox->receiver);
    }
}

bool ace_inbox_has_waiting(ace_inbox *inbox)
{
    ace_mutex_lock(&inbox->mutex);
    bool waiting = inbox->untold && inbox->waiting > 0;
    inbox->untold = false;
    ace_mutex_unlock(&inbox->mutex);
    return waiting;
}

void ace_inbox_tell(ace_inbox *inbox)
{
    ace_condition_signal(&inbox->arrived);
}

typedef struct turn_end {
    ace_inbox *inbox;
    const bool *fired;
} turn_end;

static bool is_turn_over(void *user)
{
    const turn_end *end = user;
    ace_inbox *inbox = end->inbox;
    ace_mutex_lock(&inbox->mutex);
    bool over = inbox->closed || !ace_list_empty(&inbox->ready) || inbox->woken > 0 ||
                inbox->limit != 1 || (end->fired != NULL && *end->fired);
    ace_mutex_unlock(&inbox->mutex);
    return over;
}

static bool is_early(int64_t deadline)
{
    return deadline == ACE_NEVER || ace_deadline_after(0) < deadline;
}

bool ace_inbox_wait(ace_inbox *inbox, const bool *fired, int64_t deadline)
{
    ace_loop *loop = inbox->loop;
    if (!is_early(deadline)) {
        return false;
    }
    if (!may_turn(inbox) || !ace_loop_take_turn(loop)) {
        inbox->waiting++;
        bool in_time = ace_condition_wait_until(&inbox->arrived, &inbox->mutex, deadline);
        inbox->waiting--;
        return in_time;
    }
    turn_end end = {inbox, fired};
    inbox->turning = loop;
    ace_mutex_unlock(&inbox->mutex);
    ace_loop_turn_until(loop, is_turn_over, &end, deadline);
    ace_mutex_lock(&inbox->mutex);
    inbox->turning = NULL;
    return is_early(deadline);
}

/* --- what comes in --------------------------------------------------------------------------- */

ace_code ace_inbox_put(ace_inbox *inbox, ace_delivery *delivery, ace_error **error)
{
    ace_mutex_lock(&inbox->mutex);
    if (inbox->closed) {
        ace_mutex_unlock(&inbox->mutex);
        return ace_fail(error, ACE_CLOSED, "the consumer is closed");
    }
    ace_list_append(&inbox->ready, &ace_delivery_keep(delivery)->queue);
    show(inbox);
    bool missing = inbox->pushes && inbox->begun && ace_worker_is_missing(inbox);
    ace_code code = missing ? ace_worker_call(inbox, error) : ACE_OK;
    bool later =
        !missing && may_turn(inbox) && ace_loop_is_only_receiver(inbox->loop, &inbox->receiver);
    inbox->untold = inbox->untold || later;
    ace_mutex_unlock(&inbox->mutex);
    if (!missing && !later) {
        ace_condition_signal(&inbox->arrived); /* whoever wakes finds it unlocked */
    }
    return code;
}

ace_code ace_inbox_staff(ace_inbox *inbox, ace_error **error)
{
    ace_mutex_lock(&inbox->mutex);
    ace_code code = ACE_OK;
    if (inbox->begun && !inbox->closed && !ace_list_empty(&inbox->ready)) {
        code = ace_worker_call(inbox, error);
    }
    ace_mutex_unlock(&inbox->mutex);
    return code;
}

void ace_inbox_close(ace_inbox *inbox, ace_error *why, ace_list *left)
{
    ace_mutex_lock(&inbox->mutex);
    if (!inbox->closed) {
        inbox->closed = true;
        inbox->why = why;
        why = NULL;
    }
    ace_list_splice(left, &inbox->ready);
    show(inbox);
    stir_all(inbox);
    ace_condition_broadcast(&inbox->quiet);
    ace_mutex_unlock(&inbox->mutex);
    ace_error_free(why);
}

void ace_inbox_empty(ace_inbox *inbox, ace_list *left)
{
    ace_mutex_lock(&inbox->mutex);
    ace_list_splice(left, &inbox->ready);
    show(inbox);
    ace_mutex_unlock(&inbox->mutex);
}

bool ace_inbox_take_back(ace_inbox *inbox, const ace_delivery *delivery)
{
    ace_mutex_lock(&inbox->mutex);
    ace_link_node *node = ace_list_first(&inbox->ready);
    while (node != NULL && node != &delivery->queue) {
        node = ace_list_next(&inbox->ready, node);
    }
    if (node != NULL) {
        ace_list_remove(&inbox->ready, node);
        show(inbox);
    }
    ace_mutex_unlock(&inbox->mutex);
    return node != NULL;
}

ace_delivery *ace_inbox_take_first(ace_inbox *inbox)
{
    ace_link_node *node = ace_list_take_first(&inbox->ready);
    if (node == NULL) {
        return NULL;
    }
    ace_delivery *delivery = ACE_RECORD(node, ace_delivery, queue);
    atomic_fetch_add(&inbox->taken, 1);
    delivery->held_since = ace_clock_monotonic(ace_clock_system());
    ace_list_append(&inbox->held, &delivery->held);
    return delivery;
}

void ace_inbox_forget_held(ace_inbox *inbox, ace_delivery *delivery)
{
    if (ace_list_contains_node(&delivery->held)) {
        ace_list_remove(&inbox->held, &delivery->held);
    }
}

void ace_inbox_let_go(ace_inbox *inbox, ace_delivery *delivery)
{
    ace_mutex_lock(&inbox->mutex);
    ace_inbox_forget_held(inbox, delivery);
    ace_mutex_unlock(&inbox->mutex);
}

void ace_inbox_list_held(ace_inbox *inbox, ace_work *work)
{
    int64_t now = ace_clock_monotonic(ace_clock_system());
    ace_mutex_lock(&inbox->mutex);
    for (const ace_link_node *node = ace_list_first(&inbox->held); node != NULL;
         node = ace_list_next(&inbox->held, node)) {
        const ace_delivery *delivery = ACE_RECORD(node, ace_delivery, held);
        if (!atomic_load(&delivery->settled) || atomic_load(&delivery->dropped)) {
            ace_work_add(work, delivery->queue_name, delivery->envelope.id,
                         now - delivery->held_since);
        }
    }
    ace_mutex_unlock(&inbox->mutex);
}

ace_code ace_inbox_set_limit(ace_inbox *inbox, unsigned limit, ace_error **error)
{
    ace_code code = ACE_OK;
    ace_mutex_lock(&inbox->mutex);
    unsigned before = inbox->limit;
    inbox->limit = limit;
    stir_all(inbox);
    bool short_of_hands = inbox->pushes && inbox->begun && !inbox->closed;
    for (unsigned i = before; code == ACE_OK && short_of_hands && i < limit; i++) {
        code = ace_worker_call(inbox, error);
    }
    ace_mutex_unlock(&inbox->mutex);
    return code;
}

bool ace_inbox_is_within_limit(void *inbox)
{
    const ace_inbox *asked = inbox;
    return asked->workers <= asked->limit && asked->pulling <= asked->limit;
}

bool ace_inbox_take_destructor(ace_inbox *inbox, unsigned workers)
{
    bool due = inbox->closed && inbox->workers == workers && !inbox->destroyed;
    inbox->destroyed = inbox->destroyed || due;
    return due;
}

bool ace_inbox_has_only_handlers(void *inbox)
{
    const ace_inbox *asked = inbox;
    size_t handlers = 0;
    for (const ace_link_node *node = ace_list_first(&asked->held); node != NULL;
         node = ace_list_next(&asked->held, node)) {
        const ace_delivery *delivery = ACE_RECORD(node, ace_delivery, held);
        handlers += !atomic_load(&delivery->settled); /* by what the handler answers */
    }
    return asked->workers <= handlers;
}

static ace_code closed(const ace_inbox *inbox, ace_error **error)
{
    if (inbox->why != NULL) {
        return ace_error_move(error, ace_error_copy(inbox->why));
    }
    return ace_fail(error, ACE_CLOSED, "the consumer is closed");
}

static ace_code wait_for_one(ace_inbox *inbox, const cancel_wait *wait, int64_t deadline,
                             ace_delivery **delivery, ace_error **error)
{
    for (bool in_time = true;;) {
        if (inbox->closed) {
            return closed(inbox, error);
        }
        if (inbox->pulling > inbox->limit) {
            return ace_fail(error, ACE_CANCELLED, "there are fewer members now, %u", inbox->limit);
        }
        if (wait->fired || inbox->woken > 0) {
            if (!wait->fired) {
                inbox->woken--; /* each is answered by one return */
            }
            return ace_fail(error, ACE_CANCELLED, "waiting for a message was cancelled");
        }
        *delivery = ace_inbox_take_first(inbox);
        if (*delivery != NULL) {
            return ACE_OK;
        }
        if (!in_time) {
            return ace_fail(error, ACE_TIMEOUT, "no message came in time");
        }
        in_time = ace_inbox_wait(inbox, &wait->fired, deadline);
    }
}

ace_code ace_inbox_take(ace_inbox *inbox, int64_t deadline, ace_cancel *cancel,
                        ace_delivery **delivery, ace_error **error)
{
    cancel_wait wait;
    cancel_wait_begin(&wait, inbox, &inbox->arrived, cancel);
    ace_mutex_lock(&inbox->mutex);
    ace_code code;
    if (inbox->pulling >= inbox->limit) {
        code = inbox->limit == 1
                   ? ace_fail(error, ACE_WRONG_THREAD,
                              "another thread is waiting for this consumer's next message")
                   : ace_fail(error, ACE_WRONG_THREAD,
                              "%u threads wait for the next message, as many as there are members",
                              inbox->pulling);
    } else {
        inbox->pulling++;
        code = wait_for_one(inbox, &wait, deadline, delivery, error);
        inbox->pulling--;
        show(inbox);
        if (!ace_list_empty(&inbox->ready)) {
            ace_condition_signal(&inbox->arrived); /* meant for another, if this one had it */
        }
        ace_condition_broadcast(&inbox->quiet);
    }
    ace_mutex_unlock(&inbox->mutex);
    ace_cancel_watch_remove(cancel, &wait.watch);
    return code;
}

void ace_inbox_wake(ace_inbox *inbox)
{
    ace_mutex_lock(&inbox->mutex);
    inbox->woken = inbox->pulling > 0 ? inbox->pulling : 1;
    show(inbox);
    stir_all(inbox);
    ace_mutex_unlock(&inbox->mutex);
}

ace_code ace_inbox_await(ace_inbox *inbox, bool (*done)(void *user), void *user, int64_t deadline,
                         ace_cancel *cancel)
{
    cancel_wait wait;
    cancel_wait_begin(&wait, inbox, &inbox->quiet, cancel);
    ace_mutex_lock(&inbox->mutex);
    bool in_time = true;
    bool is_done = done(user);
    while (!is_done && !wait.fired && in_time) {
        in_time = ace_condition_wait_until(&inbox->quiet, &inbox->mutex, deadline);
        is_done = done(user);
    }
    ace_code code = is_done ? ACE_OK : wait.fired ? ACE_CANCELLED : ACE_TIMEOUT;
    ace_mutex_unlock(&inbox->mutex);
    ace_cancel_watch_remove(cancel, &wait.watch);
    return code;
}

void ace_inbox_stir(ace_inbox *inbox)
{
    ace_mutex_lock(&inbox->mutex);
    ace_condition_broadcast(&inbox->quiet);
    ace_mutex_unlock(&inbox->mutex);
}
