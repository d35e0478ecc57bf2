#include "broker/consumer.h"

#include "broker/channel.h"
#include "broker/queue.h"
#include "broker/session.h"
#include "broker/topology.h"

#include <amqp_framing.h>
#include <stdlib.h>

/* What RabbitMQ makes of "no limit" on a quorum queue. */
#define QUORUM_PREFETCH 2000

static ace_broker_consumer *of_queue(ace_link_node *node)
{
    return node ? ACE_RECORD(node, ace_broker_consumer, of_queue) : NULL;
}

/* Quorum queues of RabbitMQ 3.10 take the exclusive flag and do nothing with it. */
static bool may_consume(const ace_broker_consumer_declaration *declaration, ace_broker_fault *fault)
{
    const ace_broker_queue *queue = declaration->queue;
    char text[ACE_RESOURCE_TEXT_MAX];
    bool refused;

    if (queue->settings.kind == ACE_QUEUE_QUORUM)
        return true;
    if (queue->settings.single_active)
        refused = declaration->exclusive;
    else
        refused = queue->sole || (declaration->exclusive && !ace_list_empty(&queue->consumers));
    if (!refused)
        return true;
    return ace_broker_refuse(fault, AMQP_ACCESS_REFUSED, "%s in exclusive use",
                             ace_broker_queue_text(queue, text));
}

ace_broker_consumer *ace_broker_consumer_add(const ace_broker_consumer_declaration *declaration,
                                             ace_broker_fault *fault)
{
    ace_broker_queue *queue = declaration->queue;
    ace_broker_channel *channel = declaration->channel;

    if (!may_consume(declaration, fault))
        return NULL;

    ace_broker_consumer *consumer = calloc(1, sizeof(*consumer));

    if (!consumer || !ace_broker_name_copy(declaration->tag, &consumer->tag)) {
        free(consumer);
        ace_broker_refuse_memory(fault);
        return NULL;
    }
    consumer->channel = channel;
    consumer->queue = queue;
    consumer->priority = declaration->priority;
    consumer->no_ack = declaration->no_ack;
    consumer->exclusive = declaration->exclusive && queue->settings.kind == ACE_QUEUE_CLASSIC;
    consumer->prefetch = channel->prefetch;
    if (consumer->prefetch == 0 && queue->settings.kind == ACE_QUEUE_QUORUM)
        consumer->prefetch = QUORUM_PREFETCH;
    ace_list_append(&queue->consumers, &consumer->of_queue);
    ace_list_append(&channel->consumers, &consumer->of_channel);
    queue->had_consumers = true;
    if (consumer->exclusive)
        queue->sole = consumer;
    if (queue->settings.single_active && !queue->active)
        queue->active = consumer;
    ace_broker_queue_wake(queue);
    return consumer;
}

static void detach(ace_broker_consumer *consumer)
{
    ace_broker_queue *queue = consumer->queue;

    ace_broker_delivery_window_forget(&consumer->channel->window, consumer);
    ace_list_remove(&queue->consumers, &consumer->of_queue);
    ace_list_remove(&consumer->channel->consumers, &consumer->of_channel);
    if (queue->sole == consumer)
        queue->sole = NULL;
    if (queue->active == consumer)
        queue->active = of_queue(ace_list_first(&queue->consumers));
    free((void *)(uintptr_t)consumer->tag.data);
    free(consumer);
}

void ace_broker_consumer_remove(ace_broker_consumer *consumer)
{
    ace_broker_queue *queue = consumer->queue;

    detach(consumer);
    if (queue->auto_delete && ace_list_empty(&queue->consumers)) {
        ace_broker_queue_delete(queue);
        return;
    }
    ace_broker_queue_used(queue);
    ace_broker_queue_wake(queue);
}

void ace_broker_consumers_cancel_all(ace_broker_queue *queue)
{
    ace_link_node *node;

    while ((node = ace_list_first(&queue->consumers))) {
        ace_broker_consumer *consumer = of_queue(node);

        ace_broker_channel_notify_cancel(consumer->channel, consumer->tag);
        detach(consumer);
    }
}

/* --- serving --- */

static bool has_room(const ace_broker_consumer *consumer)
{
    const ace_broker_channel *channel = consumer->channel;

    if (!ace_broker_channel_can_deliver(channel))
        return false;
    if (consumer->no_ack)
        return true;
    return (consumer->prefetch == 0 || consumer->unsettled < consumer->prefetch) &&
           (channel->global_prefetch == 0 || channel->counted < channel->global_prefetch ||
            consumer->queue->settings.kind == ACE_QUEUE_QUORUM);
}

/* The first with room, of those with the highest priority. */
static ace_broker_consumer *choose(const ace_broker_queue *queue)
{
    ace_broker_consumer *best = NULL;

    if (queue->settings.single_active)
        return queue->active && has_room(queue->active) ? queue->active : NULL;
    for (ace_link_node *node = ace_list_first(&queue->consumers); node;
         node = ace_list_next(&queue->consumers, node)) {
        ace_broker_consumer *consumer = of_queue(node);

        if ((!best || consumer->priority > best->priority) && has_room(consumer))
            best = consumer;
    }
    return best;
}

static void hand_over(ace_broker_consumer *consumer, ace_broker_entry *entry)
{
    ace_broker_queue *queue = consumer->queue;

    ace_list_remove(&queue->consumers, &consumer->of_queue);
    ace_list_append(&queue->consumers, &consumer->of_queue);
    if (!consumer->no_ack) {
        entry->consumer = consumer;
        entry->counted = true;
        consumer->unsettled++;
        consumer->channel->counted++;
    }
    /* On failure the session ends, and with it what it was given comes back. */
    ace_broker_channel_deliver(consumer, entry);
}

void ace_broker_consumers_serve(ace_broker_queue *queue)
{
    while (ace_broker_queue_head(queue)) {
        ace_broker_consumer *consumer = choose(queue);

        if (!consumer)
            return;
        hand_over(consumer, ace_broker_queue_take(queue));
    }
}

void ace_broker_consumer_settled(ace_broker_entry *entry)
{
    ace_broker_consumer *consumer = entry->consumer;

    if (!consumer)
        return;
    entry->consumer = NULL;
    consumer->unsettled--;
    ace_broker_queue_wake(consumer->queue);
}
