/* Publisher confirms. Every publish is decided at once, so that those which can be told are always
 * all up to some number, and one ack tells many. */
#include "broker/channel.h"

#include <amqp_framing.h>

void ace_broker_channel_confirm(ace_broker_channel *channel, uint64_t number)
{
    channel->confirm_upto = number;
    if (!ace_list_contains_node(&channel->confirming))
        ace_list_append(&channel->session->confirming, &channel->confirming);
}

void ace_broker_channel_send_confirms(ace_broker_channel *channel)
{
    amqp_basic_ack_t ack = {.delivery_tag = channel->confirm_upto,
                            .multiple = channel->confirm_upto - channel->confirmed_upto > 1};

    if (channel->confirm_upto == channel->confirmed_upto)
        return;
    channel->confirmed_upto = channel->confirm_upto;
    ace_broker_channel_send(channel, AMQP_BASIC_ACK_METHOD, &ack);
}

void ace_broker_channel_refuse_publish(ace_broker_channel *channel, uint64_t number)
{
    amqp_basic_nack_t nack = {.delivery_tag = number};

    ace_broker_channel_send_confirms(channel);
    channel->confirmed_upto = channel->confirm_upto = number;
    ace_broker_channel_send(channel, AMQP_BASIC_NACK_METHOD, &nack);
}

void ace_broker_channels_send_confirms(ace_broker_session *session)
{
    ace_link_node *node;

    while ((node = ace_list_take_first(&session->confirming)))
        ace_broker_channel_send_confirms(ACE_RECORD(node, ace_broker_channel, confirming));
}

bool ace_broker_confirm_select_method(ace_broker_channel *channel, const void *decoded,
                                      ace_broker_fault *fault)
{
    const amqp_confirm_select_t *select = decoded;
    amqp_confirm_select_ok_t ok = {0};

    (void)fault;
    channel->confirms = true;
    if (!select->nowait)
        ace_broker_channel_send(channel, AMQP_CONFIRM_SELECT_OK_METHOD, &ok);
    return true;
}
