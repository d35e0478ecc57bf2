/* Class basic, what a client does with the messages it has: ack, nack, reject, recover. */
#include "broker/channel.h"
#include "broker/queue.h"

#include <amqp_framing.h>
#include <inttypes.h>

typedef enum settlement { ACCEPT, REQUEUE, DISCARD } settlement;

static void settle_entry(ace_broker_channel *channel, ace_broker_entry *entry, settlement how)
{
    ace_broker_channel_uncount(channel, entry);
    switch (how) {
    case ACCEPT:
        ace_broker_entry_done(entry);
        break;
    case REQUEUE:
        ace_broker_entry_put_back(entry, ACE_REQUEUED);
        break;
    case DISCARD:
        ace_broker_entry_discard(entry);
        break;
    }
}

/* Under a common limit every queue may have waited for this. */
static void after_settling(ace_broker_channel *channel)
{
    ace_link_node *node = ace_list_first(&channel->consumers);

    for (; node && channel->global_prefetch > 0; node = ace_list_next(&channel->consumers, node))
        ace_broker_queue_wake(ACE_RECORD(node, ace_broker_consumer, of_channel)->queue);
}

static void settle_upto(ace_broker_channel *channel, uint64_t tag, settlement how)
{
    ace_broker_entry *entry;

    while ((entry = ace_broker_delivery_window_take_oldest(&channel->window, tag)))
        settle_entry(channel, entry, how);
}

/* Tag 0 with `multiple` stands for everything; any other must be outstanding. */
static bool settle(ace_broker_channel *channel, uint64_t tag, bool multiple, settlement how,
                   ace_broker_fault *fault)
{
    bool everything = multiple && tag == 0;

    if (!everything && !ace_broker_delivery_window_has(&channel->window, tag))
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "unknown delivery tag %" PRIu64,
                                 tag);
    if (multiple)
        settle_upto(channel, everything ? UINT64_MAX : tag, how);
    else
        settle_entry(channel, ace_broker_delivery_window_take(&channel->window, tag), how);
    after_settling(channel);
    return true;
}

bool ace_broker_basic_ack_method(ace_broker_channel *channel, const void *decoded,
                                 ace_broker_fault *fault)
{
    const amqp_basic_ack_t *ack = decoded;

    return settle(channel, ack->delivery_tag, ack->multiple, ACCEPT, fault);
}

bool ace_broker_basic_nack_method(ace_broker_channel *channel, const void *decoded,
                                  ace_broker_fault *fault)
{
    const amqp_basic_nack_t *nack = decoded;

    return settle(channel, nack->delivery_tag, nack->multiple, nack->requeue ? REQUEUE : DISCARD,
                  fault);
}

bool ace_broker_basic_reject_method(ace_broker_channel *channel, const void *decoded,
                                    ace_broker_fault *fault)
{
    const amqp_basic_reject_t *reject = decoded;

    return settle(channel, reject->delivery_tag, false, reject->requeue ? REQUEUE : DISCARD, fault);
}

static bool recover(ace_broker_channel *channel, bool requeue, ace_broker_fault *fault)
{
    if (!requeue)
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED, "requeue=false");
    settle_upto(channel, UINT64_MAX, REQUEUE);
    after_settling(channel);
    return true;
}

bool ace_broker_basic_recover_async_method(ace_broker_channel *channel, const void *decoded,
                                           ace_broker_fault *fault)
{
    return recover(channel, ((const amqp_basic_recover_async_t *)decoded)->requeue, fault);
}

bool ace_broker_basic_recover_method(ace_broker_channel *channel, const void *decoded,
                                     ace_broker_fault *fault)
{
    amqp_basic_recover_ok_t ok = {0};

    if (!recover(channel, ((const amqp_basic_recover_t *)decoded)->requeue, fault))
        return false;
    ace_broker_channel_send(channel, AMQP_BASIC_RECOVER_OK_METHOD, &ok);
    return true;
}
