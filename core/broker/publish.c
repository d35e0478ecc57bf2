/* basic.publish. */
#include "broker/channel.h"
#include "broker/queue.h"
#include "broker/routing.h"
#include "broker/topology.h"

#include <amqp_framing.h>

static bool check_user(const ace_broker_channel *channel, const amqp_basic_properties_t *properties,
                       ace_broker_fault *fault)
{
    const char *actual = channel->session->user->name;
    ace_bytes claimed = ace_bytes_from_amqp(properties->user_id);

    if (!(properties->_flags & AMQP_BASIC_USER_ID_FLAG) || ace_bytes_equal_text(claimed, actual))
        return true;
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                             "user_id property set to '%.*s' but authenticated user was '%s'",
                             ACE_TEXT(claimed), actual);
}

static bool check_memory(const ace_broker_channel *channel, const ace_content *content,
                         ace_broker_fault *fault)
{
    const ace_broker_core *core = channel->session->core;
    size_t limit = core->limits.stored_bytes;

    if (core->stored_bytes <= limit && ace_content_memory(content) <= limit - core->stored_bytes)
        return true;
    return ace_broker_refuse(fault, AMQP_RESOURCE_ERROR,
                             "the memory broker holds %zu bytes, its limit is %zu",
                             core->stored_bytes, limit);
}

static ace_broker_exchange *check_publish(const ace_broker_channel *channel,
                                          const ace_content *content, ace_broker_fault *fault)
{
    const amqp_basic_publish_t *publish = content->method.decoded;
    char text[ACE_RESOURCE_TEXT_MAX];
    ace_broker_exchange *exchange;

    if (publish->immediate) {
        ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED, "immediate=true");
        return NULL;
    }
    if (!ace_broker_name_is_text(publish->exchange, fault) ||
        !ace_broker_name_is_text(publish->routing_key, fault))
        return NULL;
    exchange =
        ace_broker_channel_find_exchange(channel, ace_bytes_from_amqp(publish->exchange), fault);
    if (!exchange)
        return NULL;
    if (exchange->internal) {
        ace_broker_refuse(fault, AMQP_ACCESS_REFUSED, "cannot publish to internal %s",
                          ace_broker_exchange_text(exchange, text));
        return NULL;
    }
    return check_user(channel, content->properties, fault) && check_memory(channel, content, fault)
               ? exchange
               : NULL;
}

static void send_return(ace_broker_channel *channel, const ace_broker_message *message)
{
    amqp_basic_return_t returned = {.reply_code = AMQP_NO_ROUTE,
                                    .reply_text = amqp_cstring_bytes("NO_ROUTE"),
                                    .exchange = ace_bytes_to_amqp(message->exchange),
                                    .routing_key = ace_bytes_to_amqp(message->keys[0])};

    ace_broker_session_send_content(channel->session, channel->number, AMQP_BASIC_RETURN_METHOD,
                                    &returned, message->header, message->body);
}

/* False: no memory. */
static bool push_all(const ace_broker_route *route, ace_broker_message *message, bool *rejected)
{
    *rejected = false;
    for (size_t i = 0; i < route->count; i++) {
        ace_broker_push pushed = ace_broker_queue_push(route->queues[i], message);

        if (pushed == ACE_PUSH_FAILED)
            return false;
        if (pushed == ACE_PUSH_REJECTED)
            *rejected = true;
    }
    return true;
}

/* A message that no queue took because of its length is refused; one that no queue wants is
 * confirmed, after it was returned. */
static bool route_message(ace_broker_channel *channel, ace_broker_exchange *exchange,
                          ace_broker_message *message, bool mandatory, ace_broker_fault *fault)
{
    const amqp_basic_properties_t *properties = message->content->properties;
    bool has_headers = properties->_flags & AMQP_BASIC_HEADERS_FLAG;
    ace_broker_route route;
    bool rejected;
    bool pushed;

    if (!ace_broker_route_find(exchange, message->keys, message->key_count,
                               has_headers ? &properties->headers : NULL, &route))
        return ace_broker_refuse_memory(fault);
    if (route.count == 0 && mandatory)
        send_return(channel, message);
    pushed = push_all(&route, message, &rejected);
    ace_broker_route_free(&route);
    if (!pushed)
        return ace_broker_refuse_memory(fault);
    if (channel->confirms && rejected)
        ace_broker_channel_refuse_publish(channel, channel->next_publish++);
    else if (channel->confirms)
        ace_broker_channel_confirm(channel, channel->next_publish++);
    return true;
}

bool ace_broker_basic_publish_content(ace_broker_channel *channel, ace_content *content,
                                      ace_broker_fault *fault)
{
    const amqp_basic_publish_t *publish = content->method.decoded;
    bool mandatory = publish->mandatory;
    ace_broker_exchange *exchange = check_publish(channel, content, fault);
    ace_broker_message *message;
    bool done;

    if (!exchange) {
        ace_content_free(content);
        return false;
    }
    message = ace_broker_message_accept(content, exchange->name,
                                        ace_bytes_from_amqp(publish->routing_key),
                                        &channel->session->core->stored_bytes, fault);
    if (!message)
        return false;
    done = route_message(channel, exchange, message, mandatory, fault);
    ace_broker_message_release(message);
    return done;
}
