#include "broker/channel.h"

#include "base/random.h"
#include "base/utf8.h"
#include "broker/consumer.h"
#include "broker/queue.h"
#include "broker/topology.h"
#include "wire/big_endian.h"
#include "wire/method.h"

#include <amqp_framing.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_PAGE 4096

static ace_broker_channel *channel_open(ace_broker_session *session, uint16_t number)
{
    ace_broker_channel *channel = calloc(1, sizeof(*channel));

    if (!channel)
        return NULL;
    channel->session = session;
    channel->number = number;
    channel->next_delivery = 1;
    channel->overdue.fire = ace_broker_channel_overdue;
    channel->next_publish = 1;
    ace_list_init(&channel->consumers);
    ace_assembly_init(&channel->assembly, session->core->limits.message_bytes);
    session->channels[number] = channel;
    return channel;
}

static void give_back(ace_broker_channel *channel)
{
    ace_link_node *node;

    while ((node = ace_list_first(&channel->consumers)))
        ace_broker_consumer_remove(ACE_RECORD(node, ace_broker_consumer, of_channel));
    ace_broker_channel_release_unsettled(channel);
}

void ace_broker_channel_free(ace_broker_channel *channel)
{
    give_back(channel);
    ace_timer_cancel(&channel->session->core->queue_timers, &channel->overdue);
    if (ace_list_contains_node(&channel->confirming))
        ace_list_remove(&channel->session->confirming, &channel->confirming);
    channel->session->channels[channel->number] = NULL;
    ace_broker_delivery_window_free(&channel->window);
    ace_assembly_reset(&channel->assembly);
    free((void *)(uintptr_t)channel->last_queue.data);
    free(channel);
}

void ace_broker_channel_send(ace_broker_channel *channel, amqp_method_number_t id,
                             const void *decoded)
{
    if (!channel->closing)
        ace_broker_session_send(channel->session, channel->number, id, decoded);
}

void ace_broker_channel_fail(ace_broker_channel *channel, const ace_broker_fault *fault,
                             amqp_method_number_t id)
{
    amqp_channel_close_t close = {.reply_code = fault->code,
                                  .reply_text = amqp_cstring_bytes(fault->text),
                                  .class_id = ACE_METHOD_CLASS(id),
                                  .method_id = ACE_METHOD_NUMBER(id)};

    ace_log_write(&channel->session->core->log, ACE_LOG_INFO, "connection %s, channel %d: %d %s",
                  ace_stream_peer(channel->session->stream), channel->number, (int)fault->code,
                  fault->text);
    ace_broker_channel_send_confirms(channel);
    give_back(channel);
    ace_assembly_reset(&channel->assembly);
    ace_broker_channel_send(channel, AMQP_CHANNEL_CLOSE_METHOD, &close);
    channel->closing = true;
}

/* --- methods --- */

static const struct {
    amqp_method_number_t id;
    ace_broker_method_handler *handle;
} handlers[] = {
    {AMQP_BASIC_ACK_METHOD, ace_broker_basic_ack_method},
    {AMQP_BASIC_NACK_METHOD, ace_broker_basic_nack_method},
    {AMQP_BASIC_REJECT_METHOD, ace_broker_basic_reject_method},
    {AMQP_BASIC_GET_METHOD, ace_broker_basic_get_method},
    {AMQP_BASIC_CONSUME_METHOD, ace_broker_basic_consume_method},
    {AMQP_BASIC_CANCEL_METHOD, ace_broker_basic_cancel_method},
    {AMQP_BASIC_QOS_METHOD, ace_broker_basic_qos_method},
    {AMQP_BASIC_RECOVER_METHOD, ace_broker_basic_recover_method},
    {AMQP_BASIC_RECOVER_ASYNC_METHOD, ace_broker_basic_recover_async_method},
    {AMQP_QUEUE_DECLARE_METHOD, ace_broker_queue_declare_method},
    {AMQP_QUEUE_DELETE_METHOD, ace_broker_queue_delete_method},
    {AMQP_QUEUE_PURGE_METHOD, ace_broker_queue_purge_method},
    {AMQP_QUEUE_BIND_METHOD, ace_broker_queue_bind_method},
    {AMQP_QUEUE_UNBIND_METHOD, ace_broker_queue_unbind_method},
    {AMQP_EXCHANGE_DECLARE_METHOD, ace_broker_exchange_declare_method},
    {AMQP_EXCHANGE_DELETE_METHOD, ace_broker_exchange_delete_method},
    {AMQP_EXCHANGE_BIND_METHOD, ace_broker_exchange_bind_method},
    {AMQP_EXCHANGE_UNBIND_METHOD, ace_broker_exchange_unbind_method},
    {AMQP_CONFIRM_SELECT_METHOD, ace_broker_confirm_select_method},
};

static bool take_flow(ace_broker_channel *channel, const amqp_channel_flow_t *flow,
                      ace_broker_fault *fault)
{
    amqp_channel_flow_ok_t ok = {.active = 1};

    if (!flow->active)
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED, "active=false");
    ace_broker_channel_send(channel, AMQP_CHANNEL_FLOW_OK_METHOD, &ok);
    return true;
}

static bool take_other(ace_broker_channel *channel, const amqp_method_t *method,
                       ace_broker_fault *fault)
{
    amqp_access_request_ok_t access = {.ticket = 1};

    switch (method->id) {
    case AMQP_CHANNEL_FLOW_METHOD:
        return take_flow(channel, method->decoded, fault);
    case AMQP_CHANNEL_OPEN_METHOD:
        return ace_broker_refuse(fault, AMQP_CHANNEL_ERROR, "second 'channel.open' seen");
    case AMQP_ACCESS_REQUEST_METHOD:
        ace_broker_channel_send(channel, AMQP_ACCESS_REQUEST_OK_METHOD, &access);
        return true;
    case AMQP_TX_SELECT_METHOD:
    case AMQP_TX_COMMIT_METHOD:
    case AMQP_TX_ROLLBACK_METHOD:
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED,
                                 "transactions are not served by the memory broker");
    default:
        return ace_broker_refuse(fault, AMQP_COMMAND_INVALID, "unimplemented method");
    }
}

static bool handle(ace_broker_channel *channel, const amqp_method_t *method,
                   ace_broker_fault *fault)
{
    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        if (handlers[i].id == method->id)
            return handlers[i].handle(channel, method->decoded, fault);
    }
    return take_other(channel, method, fault);
}

bool ace_broker_channel_refuse_method(ace_bytes payload, ace_broker_fault *fault)
{
    amqp_method_number_t id = ace_method_id(payload);

    if (strcmp(ace_method_name(id), "unknown method") == 0)
        return ace_broker_refuse(fault, AMQP_COMMAND_INVALID, "unimplemented method");
    return ace_broker_refuse(fault, AMQP_FRAME_ERROR, "cannot decode %s", ace_method_name(id));
}

/* The one place where a fault becomes the end of a channel, or of the connection; nothing may use
 * the channel afterwards. */
static void settle_fault(ace_broker_channel *channel, const ace_broker_fault *fault,
                         amqp_method_number_t id)
{
    if (ace_broker_fault_is_hard(fault->code))
        ace_broker_session_fail(channel->session, fault, id);
    else
        ace_broker_channel_fail(channel, fault, id);
}

/* Nothing counts between close and close-ok. */
static void take_while_closing(ace_broker_channel *channel, const ace_frame *frame)
{
    amqp_channel_close_ok_t ok = {0};
    amqp_method_number_t id = frame->type == ACE_FRAME_METHOD ? ace_method_id(frame->payload) : 0;

    if (id == AMQP_CHANNEL_CLOSE_OK_METHOD)
        ace_broker_channel_free(channel);
    else if (id == AMQP_CHANNEL_CLOSE_METHOD)
        ace_broker_session_send(channel->session, channel->number, AMQP_CHANNEL_CLOSE_OK_METHOD,
                                &ok);
}

static void take_close(ace_broker_channel *channel)
{
    ace_broker_session *session = channel->session;
    uint16_t number = channel->number;
    amqp_channel_close_ok_t ok = {0};

    ace_broker_channel_send_confirms(channel);
    ace_broker_channel_free(channel);
    ace_broker_session_send(session, number, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
}

static void take_method(ace_broker_channel *channel, const ace_frame *frame)
{
    amqp_pool_t pool;
    amqp_method_t method = {.id = ace_method_id(frame->payload)};
    ace_broker_fault fault = {0};
    bool done;

    if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
        take_close(channel);
        return;
    }
    init_amqp_pool(&pool, POOL_PAGE);
    if (ace_method_decode(frame->payload, &pool, &method, NULL) == ACE_OK)
        done = handle(channel, &method, &fault);
    else
        done = ace_broker_channel_refuse_method(frame->payload, &fault);
    if (!done)
        settle_fault(channel, &fault, method.id);
    empty_amqp_pool(&pool);
}

/* --- contents --- */

/* RabbitMQ does not know 'U', which the codec has turned into something else by now. */
static bool header_is_foreign(const ace_broker_channel *channel, const ace_frame *frame,
                              const ace_content *done)
{
    const ace_content *content = done ? done : channel->assembly.open;
    ace_bytes kept = content->properties_raw;
    const uint8_t *sent = frame->payload.data + frame->payload.length - kept.length;

    if (memcmp(sent, kept.data, kept.length) == 0)
        return false;
    for (size_t i = 0; i < kept.length; i++) {
        if (sent[i] != kept.data[i] && sent[i] == 'U')
            return true;
    }
    return false;
}

static bool refuse_content(const ace_broker_channel *channel, const ace_frame *frame,
                           const ace_error *error, ace_broker_fault *fault)
{
    if (ace_error_code(error) == ACE_OUT_OF_MEMORY)
        return ace_broker_refuse_memory(fault);
    if (ace_error_code(error) == ACE_LIMIT)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "message size %" PRIu64 " is larger than configured max size %zu",
                                 ace_read_u64(frame->payload.data + 4),
                                 channel->session->core->limits.message_bytes);
    return ace_broker_refuse(fault, AMQP_UNEXPECTED_FRAME, "%s", ace_error_message(error));
}

static void take_content_frame(ace_broker_channel *channel, const ace_frame *frame)
{
    ace_content *done = NULL;
    ace_error *error = NULL;
    ace_broker_fault fault = {0};
    bool taken;

    if (ace_assembly_take(&channel->assembly, frame, &done, &error) != ACE_OK) {
        taken = refuse_content(channel, frame, error, &fault);
    } else if (frame->type == ACE_FRAME_HEADER && header_is_foreign(channel, frame, done)) {
        ace_content_free(done);
        taken = ace_broker_refuse_internal(&fault);
    } else {
        taken = !done || ace_broker_basic_publish_content(channel, done, &fault);
    }
    ace_error_free(error);
    if (!taken)
        settle_fault(channel, &fault, AMQP_BASIC_PUBLISH_METHOD);
}

/* Deliver, return and get-ok have contents too, but no client sends them. */
static bool belongs_to_content(const ace_broker_channel *channel, const ace_frame *frame)
{
    return frame->type != ACE_FRAME_METHOD || !ace_assembly_is_empty(&channel->assembly) ||
           ace_method_id(frame->payload) == AMQP_BASIC_PUBLISH_METHOD;
}

/* --- frames --- */

static void take_first(ace_broker_session *session, const ace_frame *frame)
{
    ace_broker_fault fault;
    bool opens = frame->type == ACE_FRAME_METHOD &&
                 ace_method_id(frame->payload) == AMQP_CHANNEL_OPEN_METHOD;
    amqp_channel_open_ok_t ok = {.channel_id = amqp_empty_bytes};
    ace_broker_channel *channel;

    if (frame->type == ACE_FRAME_METHOD && !opens) {
        ace_broker_refuse(&fault, AMQP_CHANNEL_ERROR, "expected 'channel.open'");
        ace_broker_session_fail(session, &fault, ace_method_id(frame->payload));
        return;
    }
    if (!opens) {
        ace_broker_refuse(&fault, AMQP_UNEXPECTED_FRAME,
                          "expected method frame, got non method frame instead");
        ace_broker_session_fail(session, &fault, 0);
        return;
    }
    channel = channel_open(session, frame->channel);
    if (channel)
        ace_broker_channel_send(channel, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
    else
        ace_broker_session_kill(session);
}

void ace_broker_channel_take(ace_broker_session *session, const ace_frame *frame)
{
    ace_broker_fault fault;
    ace_broker_channel *channel;

    if (frame->channel > session->channel_max) {
        ace_broker_refuse(&fault, AMQP_NOT_ALLOWED,
                          "channel number %d is above the negotiated channel_max (%d)",
                          frame->channel, session->channel_max);
        ace_broker_session_fail(session, &fault, 0);
        return;
    }
    channel = session->channels[frame->channel];
    if (!channel)
        take_first(session, frame);
    else if (channel->closing)
        take_while_closing(channel, frame);
    else if (belongs_to_content(channel, frame))
        take_content_frame(channel, frame);
    else
        take_method(channel, frame);
}

/* --- names in methods --- */

bool ace_broker_name_is_text(amqp_bytes_t name, ace_broker_fault *fault)
{
    if (ace_utf8_is_valid(name.bytes, name.len))
        return true;
    return ace_broker_refuse(fault, AMQP_FRAME_ERROR, "Malformed UTF-8 in shortstr");
}

bool ace_broker_channel_queue_name(const ace_broker_channel *channel, amqp_bytes_t given,
                                   ace_bytes *name, ace_broker_fault *fault)
{
    if (!ace_broker_name_is_text(given, fault))
        return false;
    *name = ace_bytes_from_amqp(given);
    if (given.len > 0)
        return true;
    if (!channel->last_queue.data)
        return ace_broker_refuse(fault, AMQP_NOT_FOUND, "no previously declared queue");
    *name = channel->last_queue;
    return true;
}

bool ace_broker_channel_may_use(const ace_broker_channel *channel, const ace_broker_queue *queue,
                                ace_broker_fault *fault)
{
    char text[ACE_RESOURCE_TEXT_MAX];

    if (!queue->owner || queue->owner == channel->session)
        return true;
    return ace_broker_refuse(fault, AMQP_RESOURCE_LOCKED,
                             "cannot obtain exclusive access to locked %s. It could be originally "
                             "declared on another connection or the exclusive property value does "
                             "not match that of the original declaration.",
                             ace_broker_queue_text(queue, text));
}

ace_broker_queue *ace_broker_channel_find_queue(const ace_broker_channel *channel, ace_bytes name,
                                                ace_broker_fault *fault)
{
    ace_broker_vhost *vhost = channel->session->vhost;
    ace_broker_queue *queue = ace_broker_queue_find(vhost, name);
    char text[ACE_RESOURCE_TEXT_MAX];

    if (!queue) {
        ace_broker_refuse(fault, AMQP_NOT_FOUND, "no %s",
                          ace_broker_resource_text("queue", name, vhost, text));
        return NULL;
    }
    return ace_broker_channel_may_use(channel, queue, fault) ? queue : NULL;
}

ace_broker_exchange *ace_broker_channel_find_exchange(const ace_broker_channel *channel,
                                                      ace_bytes name, ace_broker_fault *fault)
{
    ace_broker_vhost *vhost = channel->session->vhost;
    ace_broker_exchange *exchange = ace_broker_exchange_find(vhost, name);
    char text[ACE_RESOURCE_TEXT_MAX];

    if (!exchange)
        ace_broker_refuse(fault, AMQP_NOT_FOUND, "no %s",
                          ace_broker_resource_text("exchange", name, vhost, text));
    return exchange;
}

void ace_broker_make_name(const char *prefix, char *name, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char tail[23] = "";
    uint64_t random = 0;

    for (int i = 0; i < 22; i++) {
        if (i % 10 == 0)
            random = ace_random_next(ace_random_system());
        tail[i] = letters[random & 63];
        random >>= 6;
    }
    snprintf(name, size, "%s%s", prefix, tail);
}
