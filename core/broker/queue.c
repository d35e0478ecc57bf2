#include "broker/queue.h"

#include "broker/consumer.h"
#include "broker/dead_letter.h"
#include "broker/session.h"
#include "broker/topology.h"

#include <amqp_framing.h>
#include <stdlib.h>

const char *ace_broker_queue_text(const ace_broker_queue *queue, char *text)
{
    return ace_broker_resource_text("queue", queue->name, queue->vhost, text);
}

ace_broker_queue *ace_broker_queue_find(const ace_broker_vhost *vhost, ace_bytes name)
{
    return ace_broker_name_map_find(&vhost->queues, name);
}

size_t ace_broker_queue_length(const ace_broker_queue *queue)
{
    return queue->ready.count + queue->returned.count;
}

/* --- timers --- */

static void expiry_fired(ace_timer *timer)
{
    ace_broker_queue_wake(ACE_RECORD(timer, ace_broker_queue, expiry));
}

static void disuse_fired(ace_timer *timer)
{
    ace_broker_queue *queue = ACE_RECORD(timer, ace_broker_queue, disuse);

    if (ace_list_empty(&queue->consumers))
        ace_broker_queue_delete(queue);
    else
        ace_broker_queue_used(queue);
}

static void retry_fired(ace_timer *timer)
{
    ace_broker_dead_letters_retry(ACE_RECORD(timer, ace_broker_queue, retry));
}

void ace_broker_queue_used(ace_broker_queue *queue)
{
    ace_broker_core *core = queue->vhost->core;

    if (queue->settings.expires != ACE_UNSET &&
        !ace_timer_set(&core->queue_timers, &queue->disuse, core->now + queue->settings.expires))
        core->work_failed = true;
}

/* --- making and deleting --- */

static bool kind_allows(const ace_broker_queue_declaration *declaration, ace_broker_queue_kind kind,
                        const char *text, ace_broker_fault *fault)
{
    const char *property = NULL;

    if (kind != ACE_QUEUE_QUORUM)
        return true;
    if (declaration->auto_delete)
        property = "auto-delete";
    else if (declaration->owner)
        property = "exclusive-owner";
    else if (!declaration->durable)
        property = "non-durable";
    if (!property)
        return true;
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "invalid property '%s' for %s",
                             property, text);
}

static void init_lists(ace_broker_queue *queue)
{
    ace_list_init(&queue->bindings);
    ace_list_init(&queue->ready);
    ace_list_init(&queue->returned);
    ace_list_init(&queue->unsettled);
    ace_list_init(&queue->dead);
    ace_list_init(&queue->consumers);
    queue->expiry.fire = expiry_fired;
    queue->disuse.fire = disuse_fired;
    queue->retry.fire = retry_fired;
}

static void free_record(ace_broker_queue *queue)
{
    ace_table_release(&queue->arguments);
    free((void *)(uintptr_t)queue->name.data);
    free(queue);
}

/* The settings point into the queue's own copy of the arguments. */
static bool fill_queue(ace_broker_queue *queue, const ace_broker_queue_declaration *declaration,
                       const char *text, ace_broker_fault *fault)
{
    init_lists(queue);
    queue->durable = declaration->durable;
    queue->auto_delete = declaration->auto_delete;
    queue->owner = declaration->owner;
    if (!ace_broker_name_copy(declaration->name, &queue->name) ||
        ace_table_copy_arrived(&queue->arguments, declaration->arguments, NULL) != ACE_OK)
        return ace_broker_refuse_memory(fault);
    return ace_broker_queue_arguments_read(&queue->arguments.table, text, &queue->settings,
                                           fault) &&
           kind_allows(declaration, queue->settings.kind, text, fault);
}

ace_broker_queue *ace_broker_queue_make(ace_broker_vhost *vhost,
                                        const ace_broker_queue_declaration *declaration,
                                        ace_broker_fault *fault)
{
    ace_broker_core *core = vhost->core;
    char text[ACE_RESOURCE_TEXT_MAX];

    ace_broker_resource_text("queue", declaration->name, vhost, text);
    if (core->queue_count >= core->limits.queues) {
        ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                          "cannot declare queue '%.*s': queue limit in vhost '%s' (%zu) is reached",
                          ACE_TEXT(declaration->name), vhost->name, core->limits.queues);
        return NULL;
    }

    ace_broker_queue *queue = calloc(1, sizeof(*queue));

    if (!queue) {
        ace_broker_refuse_memory(fault);
        return NULL;
    }
    queue->vhost = vhost;
    if (!fill_queue(queue, declaration, text, fault)) {
        free_record(queue);
        return NULL;
    }
    if (!ace_broker_name_map_add(&vhost->queues, queue->name, queue)) {
        ace_broker_refuse_memory(fault);
        free_record(queue);
        return NULL;
    }
    core->queue_count++;
    ace_broker_session_own(queue);
    ace_broker_queue_used(queue);
    return queue;
}

static void free_entries(ace_list *list)
{
    ace_link_node *node;

    while ((node = ace_list_take_first(list)))
        ace_broker_entry_free(ACE_RECORD(node, ace_broker_entry, place));
}

/* Their channels still hold them, and settle nothing by it. */
static void orphan_unsettled(ace_broker_queue *queue)
{
    ace_link_node *node;

    while ((node = ace_list_take_first(&queue->unsettled))) {
        ace_broker_entry *entry = ACE_RECORD(node, ace_broker_entry, place);

        entry->queue = NULL;
        ace_broker_message_release(entry->message);
        entry->message = NULL;
    }
}

void ace_broker_queue_delete(ace_broker_queue *queue)
{
    ace_broker_core *core = queue->vhost->core;
    ace_link_node *node;

    /* Nobody finds it from here on; an auto-delete queue would be deleted again with its last
     * consumer. */
    ace_broker_name_map_remove(&queue->vhost->queues, queue->name);
    queue->auto_delete = false;
    ace_broker_consumers_cancel_all(queue);
    ace_broker_session_disown(queue);
    while ((node = ace_list_first(&queue->bindings)))
        ace_broker_binding_remove(ACE_RECORD(node, ace_broker_binding, by_destination));
    orphan_unsettled(queue);
    free_entries(&queue->ready);
    free_entries(&queue->returned);
    free_entries(&queue->dead);
    ace_timer_cancel(&core->queue_timers, &queue->expiry);
    ace_timer_cancel(&core->queue_timers, &queue->disuse);
    ace_timer_cancel(&core->queue_timers, &queue->retry);
    if (ace_list_contains_node(&queue->turn))
        ace_list_remove(&core->turns, &queue->turn);
    core->queue_count--;
    free_record(queue);
}

size_t ace_broker_queue_purge(ace_broker_queue *queue)
{
    size_t count = ace_broker_queue_length(queue);

    free_entries(&queue->ready);
    free_entries(&queue->returned);
    queue->ready_bytes = 0;
    queue->last_put_back = NULL;
    ace_broker_queue_set_expiry_timer(queue);
    return count;
}

/* --- turns --- */

void ace_broker_queue_wake(ace_broker_queue *queue)
{
    if (!ace_list_contains_node(&queue->turn))
        ace_list_append(&queue->vhost->core->turns, &queue->turn);
}

/* On a classic queue what arrives goes to a waiting consumer even with a TTL of 0; a quorum queue
 * drops it first. The limits count what no consumer took. */
static void run_turn(ace_broker_queue *queue)
{
    int64_t now = queue->vhost->core->now;

    ace_broker_queue_drop_expired(queue, queue->settings.kind == ACE_QUEUE_CLASSIC ? now - 1 : now);
    ace_broker_consumers_serve(queue);
    ace_broker_queue_drop_overflow(queue);
    ace_broker_queue_drop_expired(queue, now);
    ace_broker_queue_set_expiry_timer(queue);
}

void ace_broker_turns_run(ace_broker_core *core)
{
    for (;;) {
        ace_link_node *node = ace_list_take_first(&core->turns);

        if (node)
            run_turn(ACE_RECORD(node, ace_broker_queue, turn));
        else if (!ace_broker_dead_letter_publish_next(core))
            return;
    }
}
