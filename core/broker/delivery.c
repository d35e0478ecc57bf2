/* What a channel gives to its client. */
#include "broker/channel.h"
#include "broker/consumer.h"
#include "broker/queue.h"

#include <amqp_framing.h>
#include <inttypes.h>

bool ace_broker_channel_can_deliver(const ace_broker_channel *channel)
{
    return !channel->closing && channel->session->state == ACE_SESSION_RUNNING &&
           ace_broker_session_has_room(channel->session);
}

void ace_broker_channel_uncount(ace_broker_channel *channel, ace_broker_entry *entry)
{
    if (entry->counted) {
        entry->counted = false;
        channel->counted--;
    }
}

/* A quorum queue tells, from the second time on, how often it has delivered the message before. */
static void send_delivery(ace_broker_consumer *consumer, const ace_broker_entry *entry,
                          uint64_t tag)
{
    ace_broker_channel *channel = consumer->channel;
    const ace_broker_message *message = entry->message;
    ace_buffer rewritten = ACE_BUFFER_INIT;
    ace_bytes header = message->header;
    amqp_basic_deliver_t deliver = {.consumer_tag = ace_bytes_to_amqp(consumer->tag),
                                    .delivery_tag = tag,
                                    .redelivered = entry->redelivered,
                                    .exchange = ace_bytes_to_amqp(message->exchange),
                                    .routing_key = ace_bytes_to_amqp(message->keys[0])};

    if (entry->delivery_count > 0) {
        if (!ace_broker_message_header_with(message, "x-delivery-count", entry->delivery_count,
                                            &rewritten)) {
            ace_broker_session_kill(channel->session);
            ace_buffer_free(&rewritten);
            return;
        }
        header = (ace_bytes){rewritten.data, rewritten.length};
    }
    ace_broker_session_send_content(channel->session, channel->number, AMQP_BASIC_DELIVER_METHOD,
                                    &deliver, header, message->body);
    ace_buffer_free(&rewritten);
}

static bool watch(ace_broker_channel *channel, int64_t since)
{
    ace_broker_core *core = channel->session->core;
    int64_t wait = core->limits.acknowledgement_wait;

    return wait == 0 || ace_timer_is_set(&channel->overdue) ||
           ace_timer_set(&core->queue_timers, &channel->overdue, since + wait);
}

/* RabbitMQ takes a client for stuck that settles nothing for so long. */
void ace_broker_channel_overdue(ace_timer *timer)
{
    ace_broker_channel *channel = ACE_RECORD(timer, ace_broker_channel, overdue);
    ace_broker_core *core = channel->session->core;
    const ace_broker_entry *oldest = ace_broker_delivery_window_oldest(&channel->window);
    ace_broker_fault fault;

    if (!oldest)
        return;
    if (oldest->delivered + core->limits.acknowledgement_wait > core->now) {
        if (!watch(channel, oldest->delivered))
            ace_broker_session_kill(channel->session);
        return;
    }
    ace_broker_refuse(
        &fault, AMQP_PRECONDITION_FAILED,
        "delivery acknowledgement on channel %d timed out. Timeout value used: %" PRId64
        " ms. This timeout value can be configured, see consumers doc guide to learn more",
        channel->number, core->limits.acknowledgement_wait);
    ace_broker_channel_fail(channel, &fault, 0);
}

bool ace_broker_channel_lend(ace_broker_channel *channel, uint64_t tag, ace_broker_entry *entry)
{
    entry->delivered = channel->session->core->now;
    return watch(channel, entry->delivered) &&
           ace_broker_delivery_window_add(&channel->window, tag, entry);
}

void ace_broker_channel_deliver(ace_broker_consumer *consumer, ace_broker_entry *entry)
{
    ace_broker_channel *channel = consumer->channel;
    uint64_t tag = channel->next_delivery++;

    if (!consumer->no_ack && !ace_broker_channel_lend(channel, tag, entry)) {
        ace_broker_session_kill(channel->session);
        ace_broker_channel_uncount(channel, entry);
        ace_broker_entry_put_back(entry, ACE_RETURNED);
        return;
    }
    send_delivery(consumer, entry, tag);
    if (consumer->no_ack)
        ace_broker_entry_done(entry);
}

void ace_broker_channel_notify_cancel(ace_broker_channel *channel, ace_bytes tag)
{
    amqp_basic_cancel_t cancel = {.consumer_tag = ace_bytes_to_amqp(tag), .nowait = 1};

    if (channel->session->notifies_cancel)
        ace_broker_channel_send(channel, AMQP_BASIC_CANCEL_METHOD, &cancel);
}

/* Oldest first, since that is the order in which a quorum queue gives them out again. */
void ace_broker_channel_release_unsettled(ace_broker_channel *channel)
{
    ace_broker_entry *entry;

    while ((entry = ace_broker_delivery_window_take_oldest(&channel->window, UINT64_MAX))) {
        ace_broker_channel_uncount(channel, entry);
        ace_broker_entry_put_back(entry, ACE_RETURNED);
    }
}

static void wake_queues_of(ace_broker_channel *channel)
{
    for (ace_link_node *node = ace_list_first(&channel->consumers); node;
         node = ace_list_next(&channel->consumers, node))
        ace_broker_queue_wake(ACE_RECORD(node, ace_broker_consumer, of_channel)->queue);
}

void ace_broker_channels_wake_queues(ace_broker_session *session)
{
    for (size_t number = 1; session->channels && number <= session->channel_max; number++) {
        if (session->channels[number])
            wake_queues_of(session->channels[number]);
    }
}
