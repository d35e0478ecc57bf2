#include "engine/channel_record.h"
#include "wire/method.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void fail_link(ace_channel *channel, ace_code code, const char *what,
                      amqp_method_number_t id)
{
    ace_error *error = NULL;
    ace_fail(&error, code, "%s, channel %u: %s %s", channel->link->place, channel->number, what,
             ace_method_name(id));
    ace_link_fail(channel->link, error);
}

static ace_code code_of_close(const amqp_channel_close_t *close)
{
    switch (close->reply_code) {
    case 403:
        return ACE_ACCESS_REFUSED;
    case 404:
        return ACE_NOT_FOUND;
    case 405:
        return ACE_LOCKED;
    case 406: {
        /* Of a declaration; elsewhere 406 says that a queue is in use, a tag is unknown and so on.
         */
        bool declares = (close->class_id == 50 || close->class_id == 40) && close->method_id == 10;
        return declares ? ACE_DIFFERS : ACE_CHANNEL_CLOSED;
    }
    default:
        return ACE_CHANNEL_CLOSED;
    }
}

static ace_error *error_of_close(const amqp_channel_close_t *close, ace_code code)
{
    ace_error *error = NULL;
    int length = (int)close->reply_text.len;
    const char *text = close->reply_text.bytes;
    if (close->class_id == 0) {
        ace_fail(&error, code, "the broker closed the channel: %u %.*s", close->reply_code, length,
                 text);
    } else {
        ace_fail(&error, code, "the broker refused %s: %u %.*s",
                 ace_method_name_of(close->class_id, close->method_id), close->reply_code, length,
                 text);
    }
    ace_error_set_reply(&error, close->reply_code);
    return error;
}

/* Whether the close is about this call, or may be. */
static bool is_about(const ace_call *call, const amqp_channel_close_t *close)
{
    return close->class_id == 0 || (ACE_METHOD_CLASS(call->request) == close->class_id &&
                                    ACE_METHOD_NUMBER(call->request) == close->method_id);
}

static void take_close(ace_channel *channel, const amqp_channel_close_t *close)
{
    ace_error *error = error_of_close(close, code_of_close(close));
    ace_error *collateral = error_of_close(close, ACE_CHANNEL_CLOSED);
    ace_error *failure = NULL;
    amqp_channel_close_ok_t ok = {0};
    /* Queued before anything that may use the number again. */
    if (ace_channel_write(channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok, &failure) != ACE_OK) {
        ace_link_fail(channel->link, failure);
    }
    ace_channel_give_number_back(channel);
    ace_assembly_reset(&channel->assembly);
    channel->state = ACE_CHANNEL_BROKEN;
    ace_link_node *first = ace_list_first(&channel->calls);
    bool answers = first != NULL && is_about(ACE_RECORD(first, ace_call, node), close);
    ace_channel_fail_calls(channel, answers ? error : collateral, collateral);
    ace_channel_lose(channel, error, false);
    ace_error_free(error);
    ace_error_free(collateral);
}

static bool answers(amqp_method_number_t request, amqp_method_number_t reply)
{
    if (request == AMQP_BASIC_GET_METHOD) {
        return reply == AMQP_BASIC_GET_EMPTY_METHOD || reply == AMQP_BASIC_GET_OK_METHOD;
    }
    /* One method breaks the rule that an answer has the next number. */
    return reply ==
           (request == AMQP_EXCHANGE_UNBIND_METHOD ? AMQP_EXCHANGE_UNBIND_OK_METHOD : request + 1);
}

/* `content` becomes the call's. */
static void take_reply(ace_channel *channel, const amqp_method_t *reply, ace_content *content)
{
    ace_link_node *first = ace_list_first(&channel->calls);
    ace_call *call = first == NULL ? NULL : ACE_RECORD(first, ace_call, node);
    if (call == NULL || !answers(call->request, reply->id)) {
        fail_link(channel, ACE_PROTOCOL, "nobody asked for", reply->id);
        ace_content_free(content); /* and the reply with it */
        return;
    }
    ace_list_remove(&channel->calls, &call->node);
    ace_channel_set_limit(channel);
    call->done(call, reply, content, NULL);
}

static void take_flow(ace_channel *channel, const amqp_channel_flow_t *flow)
{
    amqp_channel_flow_ok_t ok = {.active = flow->active};
    ace_error *error = NULL;
    if (ace_channel_write(channel, AMQP_CHANNEL_FLOW_OK_METHOD, &ok, &error) != ACE_OK) {
        ace_link_fail(channel->link, error);
    }
}

static void answer_cancel(ace_channel *channel, const amqp_basic_cancel_t *cancel)
{
    if (cancel->nowait) {
        return;
    }
    amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};
    ace_error *error = NULL;
    if (ace_channel_write(channel, AMQP_BASIC_CANCEL_OK_METHOD, &ok, &error) != ACE_OK) {
        ace_link_fail(channel->link, error);
    }
}

static void pass_on(ace_channel *channel, const amqp_method_t *method)
{
    if (channel->handler.method != NULL) {
        channel->handler.method(channel, method, channel->user);
    }
}

static void take_method(ace_channel *channel, const amqp_method_t *method)
{
    switch (method->id) {
    case AMQP_CHANNEL_CLOSE_METHOD:
        take_close(channel, method->decoded);
        break;
    case AMQP_CHANNEL_FLOW_METHOD:
        take_flow(channel, method->decoded);
        break;
    case AMQP_BASIC_CANCEL_METHOD:
        answer_cancel(channel, method->decoded);
        pass_on(channel, method);
        break;
    case AMQP_BASIC_ACK_METHOD:
    case AMQP_BASIC_NACK_METHOD:
        pass_on(channel, method);
        break;
    default:
        take_reply(channel, method, NULL);
        break;
    }
}

static void take_content(ace_channel *channel, ace_content *content)
{
    if (content->method.id == AMQP_BASIC_GET_OK_METHOD) {
        take_reply(channel, &content->method, content);
    } else if (channel->handler.content != NULL) {
        channel->handler.content(channel, content, channel->user);
    } else {
        ace_content_free(content);
    }
}

static void decode_and_take(ace_channel *channel, const ace_frame *frame)
{
    ace_link *link = channel->link;
    amqp_method_t method;
    ace_error *error = NULL;
    if (ace_method_decode(frame->payload, &link->pool, &method, &error) != ACE_OK) {
        ace_error_prefix(&error, "%s, channel %u", link->place, frame->channel);
        ace_link_fail(link, error);
    } else {
        take_method(channel, &method);
    }
    recycle_amqp_pool(&link->pool);
}

/* A number whose channel was closed here: everything is late but the goodbye. */
static void take_late(ace_link *link, ace_channel_slot *slot, const ace_frame *frame)
{
    amqp_method_number_t id = frame->type == ACE_FRAME_METHOD ? ace_method_id(frame->payload) : 0;
    if (id == AMQP_CHANNEL_CLOSE_OK_METHOD) {
        slot->closing = false;
    } else if (id == AMQP_CHANNEL_CLOSE_METHOD) {
        amqp_channel_close_ok_t ok = {0};
        ace_error *error = NULL;
        size_t before = link->output.length;
        if (ace_method_write(&link->output, frame->channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok,
                             link->limits.frame_max, &error) != ACE_OK) {
            ace_link_fail(link, error);
            return;
        }
        ace_link_added(link, before);
    }
}

void ace_channels_take(ace_link *link, const ace_frame *frame)
{
    if (link->state != ACE_LINK_OPEN) {
        return; /* what still comes after our goodbye */
    }
    ace_channel_slot *slot =
        frame->channel < link->slot_count ? &link->slots[frame->channel] : NULL;
    ace_error *error = NULL;
    if (slot != NULL && slot->closing) {
        take_late(link, slot, frame);
        return;
    }
    if (slot == NULL || slot->channel == NULL) {
        ace_fail(&error, ACE_PROTOCOL, "%s sent a frame for channel %u, which is not open",
                 link->place, frame->channel);
        ace_link_fail(link, error);
        return;
    }
    ace_channel *channel = slot->channel;
    ace_content *content = NULL;
    if (ace_assembly_take(&channel->assembly, frame, &content, &error) != ACE_OK) {
        ace_error_prefix(&error, "%s, channel %u", link->place, frame->channel);
        ace_link_fail(link, error);
    } else if (content != NULL) {
        take_content(channel, content);
    } else if (frame->type == ACE_FRAME_METHOD &&
               !ace_method_has_content(ace_method_id(frame->payload))) {
        decode_and_take(channel, frame);
    }
}

void ace_channel_leave_room(ace_channel *channel, size_t room)
{
    ace_assembly_leave_room(&channel->assembly, room);
}

void ace_channel_give_back(ace_channel *channel, ace_content *content)
{
    if (channel->dead) {
        ace_content_free(content);
    } else {
        ace_assembly_give_back(&channel->assembly, content);
    }
}

/* The next channel that this round has not seen. Handlers may close and make channels meanwhile,
 * which is why the search begins anew each time. */
static ace_channel *next_unvisited(ace_link *link)
{
    for (ace_link_node *node = ace_list_first(&link->channels); node != NULL;
         node = ace_list_next(&link->channels, node)) {
        ace_channel *channel = ACE_RECORD(node, ace_channel, node);
        if (!channel->visited) {
            channel->visited = true;
            return channel;
        }
    }
    return NULL;
}

static void begin_round(ace_link *link)
{
    for (ace_link_node *node = ace_list_first(&link->channels); node != NULL;
         node = ace_list_next(&link->channels, node)) {
        ACE_RECORD(node, ace_channel, node)->visited = false;
    }
}

void ace_channels_open(ace_link *link)
{
    begin_round(link);
    ace_channel *channel;
    while ((channel = next_unvisited(link)) != NULL) {
        ace_error *error = NULL;
        if (channel->state == ACE_CHANNEL_DOWN && ace_channel_open(channel, &error) != ACE_OK) {
            ace_channel_lose(channel, error, false);
            ace_error_free(error);
        }
    }
}

static void lose_one(ace_channel *channel, const ace_error *error, bool comes_back)
{
    bool was_up = channel->state == ACE_CHANNEL_OPEN || channel->state == ACE_CHANNEL_OPENING ||
                  channel->refusal != NULL;
    bool tells = was_up || (channel->state == ACE_CHANNEL_DOWN && !comes_back);
    ace_error_free(channel->refusal);
    channel->refusal = NULL;
    ace_assembly_reset(&channel->assembly);
    /* One that was broken was told so before, and stays for its user to reopen. */
    if (tells) {
        channel->state = comes_back ? ACE_CHANNEL_DOWN : ACE_CHANNEL_BROKEN;
    }
    ace_channel_fail_calls(channel, error, error);
    if (tells) {
        ace_channel_lose(channel, error, comes_back);
    }
}

void ace_channels_lose(ace_link *link, const ace_error *error, bool comes_back)
{
    /* All numbers at once: the first handler that is told may close other channels. */
    for (size_t number = 0; number < link->slot_count; number++) {
        link->slots[number] = (ace_channel_slot){NULL, false};
    }
    for (ace_link_node *node = ace_list_first(&link->channels); node != NULL;
         node = ace_list_next(&link->channels, node)) {
        ACE_RECORD(node, ace_channel, node)->number = 0;
    }
    begin_round(link);
    ace_channel *channel;
    while ((channel = next_unvisited(link)) != NULL) {
        lose_one(channel, error, comes_back);
    }
}

void ace_channels_have_room(ace_link *link)
{
    begin_round(link);
    ace_channel *channel;
    while ((channel = next_unvisited(link)) != NULL) {
        if (channel->handler.room != NULL && channel->state == ACE_CHANNEL_OPEN) {
            channel->handler.room(channel, channel->user);
        }
    }
}

void ace_channels_written(ace_link *link, uint64_t mark)
{
    begin_round(link);
    ace_channel *channel;
    while ((channel = next_unvisited(link)) != NULL) {
        if (channel->handler.written != NULL && channel->state == ACE_CHANNEL_OPEN) {
            channel->handler.written(channel, mark, channel->user);
        }
    }
}

static void bury(ace_deferral *deferral)
{
    ace_link *link = ACE_RECORD(deferral, ace_link, burial);
    ace_link_node *node;
    while ((node = ace_list_take_first(&link->graveyard)) != NULL) {
        free(ACE_RECORD(node, ace_channel, node));
    }
}

void ace_channels_init(ace_link *link)
{
    ace_list_init(&link->channels);
    ace_list_init(&link->graveyard);
    link->burial.run = bury;
}

void ace_channels_free(ace_link *link)
{
    ace_link_node *node;
    while ((node = ace_list_take_first(&link->channels)) != NULL) {
        ace_list_append(&link->graveyard, node);
    }
    while ((node = ace_list_take_first(&link->graveyard)) != NULL) {
        ace_channel *channel = ACE_RECORD(node, ace_channel, node);
        ace_assembly_reset(&channel->assembly);
        ace_error_free(channel->refusal);
        free(channel);
    }
    free(link->slots);
    link->slots = NULL;
    link->slot_count = 0;
}
