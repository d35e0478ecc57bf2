/* Entries on their way through a queue. */
#include "broker/consumer.h"
#include "broker/dead_letter.h"
#include "broker/queue.h"

#include <stdlib.h>

#define PRIORITY_WITHOUT_SUPPORT 0

static ace_broker_entry *entry_of(ace_link_node *node)
{
    return node ? ACE_RECORD(node, ace_broker_entry, place) : NULL;
}

void ace_broker_entry_free(ace_broker_entry *entry)
{
    ace_broker_message_release(entry->message);
    free(entry);
}

ace_broker_entry *ace_broker_queue_head(const ace_broker_queue *queue)
{
    ace_link_node *node = ace_list_first(&queue->returned);

    return entry_of(node ? node : ace_list_first(&queue->ready));
}

/* --- places --- */

/* A queue with priorities gives out the highest first, the oldest of them. */
static bool goes_before(const ace_broker_entry *a, const ace_broker_entry *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->sequence < b->sequence;
}

/* From the end: what was just published mostly belongs there. */
static void insert_from_back(ace_list *list, ace_broker_entry *entry)
{
    ace_link_node *at = list->head.previous;

    while (at != &list->head && goes_before(entry, entry_of(at)))
        at = at->previous;
    ace_list_insert_after(list, at, &entry->place);
}

/* From the front, since what is put back was the head not long ago; or from the one put back
 * before, since many come back in their order. */
static void insert_put_back(ace_broker_queue *queue, ace_broker_entry *entry)
{
    ace_list *list = &queue->ready;
    ace_broker_entry *last = queue->last_put_back;
    ace_link_node *before = last && goes_before(last, entry) ? &last->place : &list->head;

    while (before->next != &list->head && goes_before(entry_of(before->next), entry))
        before = before->next;
    ace_list_insert_after(list, before, &entry->place);
    queue->last_put_back = entry;
}

static void make_ready(ace_broker_entry *entry)
{
    entry->queue->ready_bytes += entry->message->body.length;
    ace_broker_queue_wake(entry->queue);
}

void ace_broker_queue_detach(ace_broker_entry *entry)
{
    ace_broker_queue *queue = entry->queue;
    bool is_returned = ace_broker_queue_head(queue) == entry && !ace_list_empty(&queue->returned);

    if (queue->last_put_back == entry)
        queue->last_put_back = NULL;
    ace_list_remove(is_returned ? &queue->returned : &queue->ready, &entry->place);
    queue->ready_bytes -= entry->message->body.length;
}

/* --- in --- */

static int64_t expiry_of(const ace_broker_queue *queue, const ace_broker_message *message)
{
    int64_t wait = queue->settings.message_ttl;

    if (message->expiration != ACE_UNSET && (wait == ACE_UNSET || message->expiration < wait))
        wait = message->expiration;
    return wait == ACE_UNSET ? ACE_NEVER : queue->vhost->core->now + wait;
}

static bool would_overflow(const ace_broker_queue *queue, const ace_broker_message *message)
{
    const ace_broker_queue_settings *settings = &queue->settings;
    size_t count = ace_broker_queue_length(queue) + queue->dead.count + 1;

    if (settings->overflow == ACE_OVERFLOW_DROP_HEAD)
        return false;
    return (settings->max_length != ACE_UNSET && count > (size_t)settings->max_length) ||
           (settings->max_bytes != ACE_UNSET &&
            queue->ready_bytes + message->body.length > (size_t)settings->max_bytes);
}

static uint8_t priority_in(const ace_broker_queue *queue, const ace_broker_message *message)
{
    int64_t limit = queue->settings.max_priority;

    if (limit == ACE_UNSET)
        return PRIORITY_WITHOUT_SUPPORT;
    return message->priority < limit ? message->priority : (uint8_t)limit;
}

ace_broker_push ace_broker_queue_push(ace_broker_queue *queue, ace_broker_message *message)
{
    if (would_overflow(queue, message)) {
        if (queue->settings.overflow == ACE_OVERFLOW_REJECT_DEAD_LETTER)
            ace_broker_dead_letter_send(queue, message, ACE_DEATH_MAXLEN);
        return ACE_PUSH_REJECTED;
    }

    ace_broker_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return ACE_PUSH_FAILED;
    entry->message = ace_broker_message_keep(message);
    entry->queue = queue;
    entry->sequence = queue->next_sequence++;
    entry->expiry = expiry_of(queue, message);
    entry->priority = priority_in(queue, message);
    insert_from_back(&queue->ready, entry);
    make_ready(entry);
    return ACE_PUSH_DONE;
}

/* --- out --- */

ace_broker_entry *ace_broker_queue_take(ace_broker_queue *queue)
{
    ace_broker_entry *entry = ace_broker_queue_head(queue);

    if (!entry)
        return NULL;
    ace_broker_queue_detach(entry);
    ace_list_append(&queue->unsettled, &entry->place);
    return entry;
}

static void leave_unsettled(ace_broker_entry *entry)
{
    ace_broker_consumer_settled(entry);
    if (entry->queue)
        ace_list_remove(&entry->queue->unsettled, &entry->place);
}

void ace_broker_entry_done(ace_broker_entry *entry)
{
    leave_unsettled(entry);
    ace_broker_entry_free(entry);
}

void ace_broker_entry_discard(ace_broker_entry *entry)
{
    leave_unsettled(entry);
    if (entry->queue)
        ace_broker_dead_letter_entry(entry, ACE_DEATH_REJECTED);
    else
        ace_broker_entry_free(entry);
}

/* A quorum queue counts every delivery that came to nothing. Without a limit it takes what a client
 * puts back as if it were new, at the end; all else goes before what was never delivered. */
static void put_back_quorum(ace_broker_entry *entry, ace_broker_put_back how)
{
    ace_broker_queue *queue = entry->queue;
    int64_t limit = queue->settings.delivery_limit;

    entry->delivery_count++;
    if (limit != ACE_UNSET && entry->delivery_count > limit) {
        ace_broker_dead_letter_entry(entry, ACE_DEATH_DELIVERY_LIMIT);
        return;
    }
    if (how == ACE_REQUEUED && limit == ACE_UNSET)
        ace_list_append(&queue->ready, &entry->place);
    else
        ace_list_append(&queue->returned, &entry->place);
    make_ready(entry);
}

void ace_broker_entry_put_back(ace_broker_entry *entry, ace_broker_put_back how)
{
    leave_unsettled(entry);
    if (!entry->queue) {
        ace_broker_entry_free(entry);
        return;
    }
    entry->redelivered = true;
    if (entry->queue->settings.kind == ACE_QUEUE_QUORUM) {
        put_back_quorum(entry, how);
        return;
    }
    insert_put_back(entry->queue, entry);
    make_ready(entry);
}

/* --- dying --- */

void ace_broker_queue_drop_expired(ace_broker_queue *queue, int64_t now)
{
    ace_broker_entry *entry;

    while ((entry = ace_broker_queue_head(queue)) && entry->expiry <= now) {
        ace_broker_queue_detach(entry);
        ace_broker_dead_letter_entry(entry, ACE_DEATH_EXPIRED);
    }
}

static bool overflows(const ace_broker_queue *queue)
{
    const ace_broker_queue_settings *settings = &queue->settings;

    return (settings->max_length != ACE_UNSET &&
            ace_broker_queue_length(queue) > (size_t)settings->max_length) ||
           (settings->max_bytes != ACE_UNSET && queue->ready_bytes > (size_t)settings->max_bytes);
}

void ace_broker_queue_drop_overflow(ace_broker_queue *queue)
{
    ace_broker_entry *entry;

    if (queue->settings.overflow != ACE_OVERFLOW_DROP_HEAD)
        return;
    while (overflows(queue) && (entry = ace_broker_queue_head(queue))) {
        ace_broker_queue_detach(entry);
        ace_broker_dead_letter_entry(entry, ACE_DEATH_MAXLEN);
    }
}

void ace_broker_queue_set_expiry_timer(ace_broker_queue *queue)
{
    ace_broker_core *core = queue->vhost->core;
    const ace_broker_entry *head = ace_broker_queue_head(queue);

    if (!head || head->expiry == ACE_NEVER)
        ace_timer_cancel(&core->queue_timers, &queue->expiry);
    else if (!ace_timer_set(&core->queue_timers, &queue->expiry, head->expiry))
        core->work_failed = true;
}
