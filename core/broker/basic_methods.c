/* Class basic, what brings messages to a client: qos, consume, cancel, get. */
#include "broker/channel.h"
#include "broker/consumer.h"
#include "broker/queue.h"
#include "broker/topology.h"

#include <amqp_framing.h>

#define MADE_NAME_SIZE 48

/* --- qos --- */

static void wake_queues(ace_broker_channel *channel)
{
    for (ace_link_node *node = ace_list_first(&channel->consumers); node;
         node = ace_list_next(&channel->consumers, node))
        ace_broker_queue_wake(ACE_RECORD(node, ace_broker_consumer, of_channel)->queue);
}

bool ace_broker_basic_qos_method(ace_broker_channel *channel, const void *decoded,
                                 ace_broker_fault *fault)
{
    const amqp_basic_qos_t *qos = decoded;
    amqp_basic_qos_ok_t ok = {0};

    if (qos->prefetch_size != 0)
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED, "prefetch_size!=0 (%u)",
                                 qos->prefetch_size);
    if (qos->global) {
        channel->global_prefetch = qos->prefetch_count;
    } else {
        channel->prefetch = qos->prefetch_count;
        channel->global_prefetch = 0;
    }
    wake_queues(channel);
    ace_broker_channel_send(channel, AMQP_BASIC_QOS_OK_METHOD, &ok);
    return true;
}

/* --- consume and cancel --- */

static ace_broker_consumer *find_consumer(const ace_broker_channel *channel, ace_bytes tag)
{
    for (ace_link_node *node = ace_list_first(&channel->consumers); node;
         node = ace_list_next(&channel->consumers, node)) {
        ace_broker_consumer *consumer = ACE_RECORD(node, ace_broker_consumer, of_channel);

        if (ace_bytes_equal(consumer->tag, tag))
            return consumer;
    }
    return NULL;
}

static bool check_consume(const ace_broker_channel *channel, const amqp_basic_consume_t *consume,
                          ace_broker_consumer_declaration *declaration, ace_broker_fault *fault)
{
    char text[ACE_RESOURCE_TEXT_MAX];
    ace_bytes name;

    if (!ace_broker_name_is_text(consume->consumer_tag, fault) ||
        !ace_broker_channel_queue_name(channel, consume->queue, &name, fault))
        return false;
    if (find_consumer(channel, declaration->tag))
        return ace_broker_refuse(fault, AMQP_NOT_ALLOWED, "attempt to reuse consumer tag '%.*s'",
                                 ACE_TEXT(declaration->tag));
    declaration->queue = ace_broker_channel_find_queue(channel, name, fault);
    if (!declaration->queue)
        return false;
    ace_broker_queue_text(declaration->queue, text);
    if (!ace_broker_consume_arguments_read(&consume->arguments, text,
                                           declaration->queue->settings.kind,
                                           &declaration->priority, fault))
        return false;
    if (declaration->queue->settings.kind == ACE_QUEUE_QUORUM && channel->global_prefetch > 0)
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED, "%s does not support global qos",
                                 text);
    return true;
}

bool ace_broker_basic_consume_method(ace_broker_channel *channel, const void *decoded,
                                     ace_broker_fault *fault)
{
    const amqp_basic_consume_t *consume = decoded;
    char made[MADE_NAME_SIZE];
    ace_broker_consumer *consumer;
    amqp_basic_consume_ok_t ok;
    ace_broker_consumer_declaration declaration = {.channel = channel,
                                                   .tag =
                                                       ace_bytes_from_amqp(consume->consumer_tag),
                                                   .no_ack = consume->no_ack,
                                                   .exclusive = consume->exclusive};

    if (declaration.tag.length == 0) {
        ace_broker_make_name("amq.ctag-", made, sizeof(made));
        declaration.tag = ace_bytes_of(made);
    }
    if (!check_consume(channel, consume, &declaration, fault))
        return false;
    consumer = ace_broker_consumer_add(&declaration, fault);
    if (!consumer)
        return false;
    ok.consumer_tag = ace_bytes_to_amqp(consumer->tag);
    if (!consume->nowait)
        ace_broker_channel_send(channel, AMQP_BASIC_CONSUME_OK_METHOD, &ok);
    return true;
}

/* A tag that nobody has is as good as cancelled. */
bool ace_broker_basic_cancel_method(ace_broker_channel *channel, const void *decoded,
                                    ace_broker_fault *fault)
{
    const amqp_basic_cancel_t *cancel = decoded;
    ace_broker_consumer *consumer =
        find_consumer(channel, ace_bytes_from_amqp(cancel->consumer_tag));
    amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};

    if (!ace_broker_name_is_text(cancel->consumer_tag, fault))
        return false;
    if (consumer)
        ace_broker_consumer_remove(consumer);
    if (!cancel->nowait)
        ace_broker_channel_send(channel, AMQP_BASIC_CANCEL_OK_METHOD, &ok);
    return true;
}

/* --- get --- */

/* Unlike a delivery, the answer of a quorum queue tells its count from the first time on. */
static bool send_entry(ace_broker_channel *channel, const ace_broker_entry *entry, uint64_t tag)
{
    const ace_broker_queue *queue = entry->queue;
    const ace_broker_message *message = entry->message;
    ace_buffer rewritten = ACE_BUFFER_INIT;
    ace_bytes header = message->header;
    amqp_basic_get_ok_t ok = {.delivery_tag = tag,
                              .redelivered = entry->redelivered,
                              .exchange = ace_bytes_to_amqp(message->exchange),
                              .routing_key = ace_bytes_to_amqp(message->keys[0]),
                              .message_count = (uint32_t)ace_broker_queue_length(queue)};

    if (queue->settings.kind == ACE_QUEUE_QUORUM) {
        if (!ace_broker_message_header_with(message, "x-delivery-count", entry->delivery_count,
                                            &rewritten)) {
            ace_buffer_free(&rewritten);
            return false;
        }
        header = (ace_bytes){rewritten.data, rewritten.length};
    }
    ace_broker_session_send_content(channel->session, channel->number, AMQP_BASIC_GET_OK_METHOD,
                                    &ok, header, message->body);
    ace_buffer_free(&rewritten);
    return true;
}

static bool give_entry(ace_broker_channel *channel, ace_broker_queue *queue, bool no_ack,
                       ace_broker_fault *fault)
{
    ace_broker_entry *entry = ace_broker_queue_take(queue);
    amqp_basic_get_empty_t empty = {.cluster_id = amqp_empty_bytes};
    uint64_t tag = channel->next_delivery;

    if (!entry) {
        ace_broker_channel_send(channel, AMQP_BASIC_GET_EMPTY_METHOD, &empty);
        return true;
    }
    if (!no_ack && !ace_broker_channel_lend(channel, tag, entry)) {
        ace_broker_entry_put_back(entry, ACE_RETURNED);
        return ace_broker_refuse_memory(fault);
    }
    channel->next_delivery++;
    if (!send_entry(channel, entry, tag))
        ace_broker_session_kill(channel->session);
    if (no_ack)
        ace_broker_entry_done(entry);
    ace_broker_queue_wake(queue);
    return true;
}

bool ace_broker_basic_get_method(ace_broker_channel *channel, const void *decoded,
                                 ace_broker_fault *fault)
{
    const amqp_basic_get_t *get = decoded;
    char text[ACE_RESOURCE_TEXT_MAX];
    ace_broker_queue *queue;
    ace_bytes name;

    if (!ace_broker_channel_queue_name(channel, get->queue, &name, fault))
        return false;
    queue = ace_broker_channel_find_queue(channel, name, fault);
    if (!queue)
        return false;
    if (queue->settings.kind == ACE_QUEUE_QUORUM && queue->settings.single_active)
        return ace_broker_refuse(fault, AMQP_RESOURCE_LOCKED,
                                 "cannot obtain access to locked %s. basic.get operations are not "
                                 "supported by quorum queues with single active consumer",
                                 ace_broker_queue_text(queue, text));
    ace_broker_queue_used(queue);
    ace_broker_queue_drop_expired(queue, queue->vhost->core->now);
    return give_entry(channel, queue, get->no_ack, fault);
}
