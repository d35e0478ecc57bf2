/* Class queue. */
#include "broker/channel.h"
#include "broker/queue.h"
#include "broker/topology.h"

#include <amqp_framing.h>
#include <stdlib.h>
#include <string.h>

#define MADE_NAME_SIZE 48

/* --- declare --- */

static void remember(ace_broker_channel *channel, const ace_broker_queue *queue)
{
    ace_bytes copy;

    if (!ace_broker_name_copy(queue->name, &copy)) {
        ace_broker_session_kill(channel->session);
        return;
    }
    free((void *)(uintptr_t)channel->last_queue.data);
    channel->last_queue = copy;
}

static bool same_declaration(const ace_broker_channel *channel, const ace_broker_queue *queue,
                             const amqp_queue_declare_t *declare, ace_broker_fault *fault)
{
    bool durable = declare->durable && !declare->exclusive;
    char text[ACE_RESOURCE_TEXT_MAX];

    ace_broker_queue_text(queue, text);
    /* Exclusive and not exclusive are as different as two owners. */
    if (queue->owner != (declare->exclusive ? channel->session : NULL))
        return ace_broker_refuse(
            fault, AMQP_RESOURCE_LOCKED,
            "cannot obtain exclusive access to locked %s. It could be originally declared on "
            "another connection or the exclusive property value does not match that of the "
            "original declaration.",
            text);
    return ace_broker_declared_flag_match(queue->durable, durable, "durable", text, fault) &&
           ace_broker_declared_flag_match(queue->auto_delete, declare->auto_delete, "auto_delete",
                                          text, fault) &&
           ace_broker_queue_arguments_match(&queue->arguments.table, &declare->arguments,
                                            queue->settings.kind, text, fault);
}

static bool may_name_for_client(const amqp_table_t *arguments, ace_broker_fault *fault)
{
    const amqp_field_value_t *kind = ace_table_find(arguments, "x-queue-type");

    if (kind && kind->kind == AMQP_FIELD_KIND_UTF8 &&
        ace_bytes_equal_text(ace_bytes_from_amqp(kind->value.bytes), "quorum"))
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "Cannot declare a server-named queue for type "
                                 "rabbit_quorum_queue");
    return true;
}

static ace_broker_queue *declare_queue(ace_broker_channel *channel,
                                       const amqp_queue_declare_t *declare, ace_broker_fault *fault)
{
    ace_broker_vhost *vhost = channel->session->vhost;
    char made[MADE_NAME_SIZE];
    ace_broker_queue *queue;
    ace_broker_queue_declaration declaration = {.name = ace_bytes_from_amqp(declare->queue),
                                                .durable = declare->durable && !declare->exclusive,
                                                .auto_delete = declare->auto_delete,
                                                .owner =
                                                    declare->exclusive ? channel->session : NULL,
                                                .arguments = &declare->arguments};

    if (declare->passive)
        return ace_broker_channel_find_queue(channel, declaration.name, fault);
    if (declaration.name.length == 0) {
        if (!may_name_for_client(&declare->arguments, fault))
            return NULL;
        ace_broker_make_name("amq.gen-", made, sizeof(made));
        declaration.name = ace_bytes_of(made);
    } else if (declaration.name.length >= 4 && memcmp(declaration.name.data, "amq.", 4) == 0) {
        ace_broker_refuse(fault, AMQP_ACCESS_REFUSED,
                          "queue name '%.*s' contains reserved prefix 'amq.*'",
                          ACE_TEXT(declaration.name));
        return NULL;
    }
    queue = ace_broker_queue_find(vhost, declaration.name);
    if (!queue)
        return ace_broker_queue_make(vhost, &declaration, fault);
    return same_declaration(channel, queue, declare, fault) ? queue : NULL;
}

bool ace_broker_queue_declare_method(ace_broker_channel *channel, const void *decoded,
                                     ace_broker_fault *fault)
{
    const amqp_queue_declare_t *declare = decoded;
    ace_broker_queue *queue;
    amqp_queue_declare_ok_t ok;

    if (!ace_broker_name_is_text(declare->queue, fault))
        return false;
    queue = declare_queue(channel, declare, fault);
    if (!queue)
        return false;
    remember(channel, queue);
    ace_broker_queue_used(queue);
    ok.queue = ace_bytes_to_amqp(queue->name);
    ok.message_count = (uint32_t)ace_broker_queue_length(queue);
    ok.consumer_count = (uint32_t)queue->consumers.count;
    if (!declare->nowait)
        ace_broker_channel_send(channel, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
    return true;
}

/* --- delete and purge --- */

static bool may_delete(const ace_broker_queue *queue, const amqp_queue_delete_t *delete,
                       ace_broker_fault *fault)
{
    char text[ACE_RESOURCE_TEXT_MAX];

    ace_broker_queue_text(queue, text);
    if (queue->settings.kind == ACE_QUEUE_QUORUM && (delete->if_unused || delete->if_empty))
        return ace_broker_refuse(fault, AMQP_NOT_IMPLEMENTED,
                                 "cannot delete %s. queue.delete operations with %s flag set are "
                                 "not supported by quorum queues",
                                 text, delete->if_unused ? "if-unused" : "if-empty");
    if (delete->if_unused && !ace_list_empty(&queue->consumers))
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "%s in use", text);
    if (delete->if_empty && ace_broker_queue_length(queue) > 0)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "%s not empty", text);
    return true;
}

/* A queue that is not there is as good as deleted. */
bool ace_broker_queue_delete_method(ace_broker_channel *channel, const void *decoded,
                                    ace_broker_fault *fault)
{
    const amqp_queue_delete_t *delete = decoded;
    amqp_queue_delete_ok_t ok = {0};
    ace_bytes name;
    ace_broker_queue *queue;

    if (!ace_broker_channel_queue_name(channel, delete->queue, &name, fault))
        return false;
    queue = ace_broker_queue_find(channel->session->vhost, name);
    if (queue) {
        if (!ace_broker_channel_may_use(channel, queue, fault) || !may_delete(queue, delete, fault))
            return false;
        ok.message_count = (uint32_t)ace_broker_queue_length(queue);
        ace_broker_queue_delete(queue);
    }
    if (!delete->nowait)
        ace_broker_channel_send(channel, AMQP_QUEUE_DELETE_OK_METHOD, &ok);
    return true;
}

bool ace_broker_queue_purge_method(ace_broker_channel *channel, const void *decoded,
                                   ace_broker_fault *fault)
{
    const amqp_queue_purge_t *purge = decoded;
    amqp_queue_purge_ok_t ok;
    ace_bytes name;
    ace_broker_queue *queue;

    if (!ace_broker_channel_queue_name(channel, purge->queue, &name, fault))
        return false;
    queue = ace_broker_channel_find_queue(channel, name, fault);
    if (!queue)
        return false;
    ok.message_count = (uint32_t)ace_broker_queue_purge(queue);
    if (!purge->nowait)
        ace_broker_channel_send(channel, AMQP_QUEUE_PURGE_OK_METHOD, &ok);
    return true;
}

/* --- bind and unbind --- */

static bool refuse_default(ace_bytes exchange, ace_broker_fault *fault)
{
    return exchange.length > 0 ||
           ace_broker_refuse(fault, AMQP_ACCESS_REFUSED,
                             "operation not permitted on the default exchange");
}

/* An empty key beside an empty name stands for the queue's name, too. */
static bool names_of(const ace_broker_channel *channel, amqp_bytes_t queue, amqp_bytes_t given_key,
                     ace_bytes *name, ace_bytes *key, ace_broker_fault *fault)
{
    if (!ace_broker_name_is_text(given_key, fault) ||
        !ace_broker_channel_queue_name(channel, queue, name, fault))
        return false;
    *key = queue.len == 0 && given_key.len == 0 ? *name : ace_bytes_from_amqp(given_key);
    return true;
}

bool ace_broker_queue_bind_method(ace_broker_channel *channel, const void *decoded,
                                  ace_broker_fault *fault)
{
    const amqp_queue_bind_t *bind = decoded;
    amqp_queue_bind_ok_t ok = {0};
    ace_bytes name;
    ace_bytes exchange = ace_bytes_from_amqp(bind->exchange);
    ace_broker_binding_declaration declaration = {.arguments = &bind->arguments};

    if (!names_of(channel, bind->queue, bind->routing_key, &name, &declaration.key, fault) ||
        !refuse_default(exchange, fault))
        return false;
    declaration.source = ace_broker_channel_find_exchange(channel, exchange, fault);
    if (!declaration.source)
        return false;
    declaration.queue = ace_broker_channel_find_queue(channel, name, fault);
    if (!declaration.queue || !ace_broker_binding_valid(&declaration, fault))
        return false;
    if (!ace_broker_binding_find(&declaration) && !ace_broker_binding_add(&declaration, fault))
        return false;
    if (!bind->nowait)
        ace_broker_channel_send(channel, AMQP_QUEUE_BIND_OK_METHOD, &ok);
    return true;
}

bool ace_broker_queue_unbind_method(ace_broker_channel *channel, const void *decoded,
                                    ace_broker_fault *fault)
{
    const amqp_queue_unbind_t *unbind = decoded;
    const ace_broker_vhost *vhost = channel->session->vhost;
    amqp_queue_unbind_ok_t ok = {0};
    ace_bytes name;
    ace_bytes exchange = ace_bytes_from_amqp(unbind->exchange);
    ace_broker_binding_declaration declaration = {.arguments = &unbind->arguments};
    ace_broker_binding *binding = NULL;

    if (!names_of(channel, unbind->queue, unbind->routing_key, &name, &declaration.key, fault) ||
        !refuse_default(exchange, fault))
        return false;
    declaration.source = ace_broker_exchange_find(vhost, exchange);
    declaration.queue = ace_broker_queue_find(vhost, name);
    if (declaration.source && declaration.queue)
        binding = ace_broker_binding_find(&declaration);
    if (binding) {
        if (!ace_broker_channel_may_use(channel, declaration.queue, fault))
            return false;
        ace_broker_binding_remove(binding);
    }
    ace_broker_channel_send(channel, AMQP_QUEUE_UNBIND_OK_METHOD, &ok);
    return true;
}
