#include "engine/loop_record.h"
#include "engine/waiter.h"

/* Of threads, by the address. */
static _Thread_local char self;

static ace_receiver *only_one(const ace_loop *loop)
{
    ace_link_node *node = ace_list_first(&loop->receivers);
    return loop->receivers.count == 1 ? ACE_RECORD(node, ace_receiver, node) : NULL;
}

void ace_loop_receive(ace_loop *loop, ace_receiver *receiver)
{
    ace_receiver *other = only_one(loop);
    ace_list_append(&loop->receivers, &receiver->node);
    if (other != NULL && other->waits(other)) {
        other->wake(other); /* nobody asks it any more at the end of this turn */
    }
}

void ace_loop_end_receive(ace_loop *loop, ace_receiver *receiver)
{
    if (ace_list_contains_node(&receiver->node)) {
        ace_list_remove(&loop->receivers, &receiver->node);
    }
}

bool ace_loop_is_only_receiver(const ace_loop *loop, const ace_receiver *receiver)
{
    return only_one(loop) == receiver;
}

bool ace_loop_lend_to_receiver(ace_loop *loop)
{
    ace_receiver *receiver = only_one(loop);
    if (receiver == NULL || !receiver->waits(receiver)) {
        return false;
    }
    if (loop->stopping || !ace_list_empty(&loop->deferred)) {
        receiver->wake(receiver);
        return false;
    }
    atomic_store(&loop->rest, LOOP_FREE);
    bool kept = ace_loop_has_posts(loop) && ace_loop_get_turn(loop, LOOP_HURRIED);
    receiver->wake(receiver);
    return !kept;
}

bool ace_loop_take_turn(ace_loop *loop)
{
    atomic_store(&loop->borrower, &self);
    return ace_loop_get_turn(loop, LOOP_AWAKE);
}

static bool is_early(int64_t deadline)
{
    return deadline == ACE_NEVER || ace_deadline_after(0) < deadline;
}

void ace_loop_turn_until(ace_loop *loop, bool (*over)(void *user), void *user, int64_t deadline)
{
    ace_loop_set_current(loop);
    loop->now = ace_clock_monotonic(loop->clock);
    ace_loop_take(loop); /* what this thread posted itself, mostly */
    ace_loop_finish(loop);
    ace_loop_complete_all(loop);
    bool visited = false;
    bool is_over = false;
    while (!loop->stopping && !visited && !(is_over = over(user)) && is_early(deadline)) {
        ace_loop_sleep(loop, deadline);
        ace_loop_serve(loop);
        ace_loop_take(loop);
        visited = loop->taken != NULL;
        ace_loop_finish(loop);
        ace_loop_complete_all(loop);
    }
    ace_loop_set_current(NULL);
    /* Who waited in vain may have better to do than to wait again. */
    ace_loop_give_back(loop, is_over && !visited && !loop->stopping);
}

bool ace_loop_post_quietly(ace_loop *loop, ace_task *task)
{
    if (atomic_load(&loop->borrower) != &self) {
        return ace_loop_post(loop, task);
    }
    bool pushed = ace_loop_push(loop, task);
    /* The loop's thread, coming back, sees the task, or this sees it there. */
    if (pushed && atomic_load(&loop->rest) != LOOP_FREE) {
        ace_loop_wake(loop);
    }
    return pushed;
}
