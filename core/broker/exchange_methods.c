/* Class exchange. */
#include "broker/channel.h"
#include "broker/topology.h"

#include <amqp_framing.h>
#include <string.h>

static bool is_reserved(ace_bytes name)
{
    return name.length >= 4 && memcmp(name.data, "amq.", 4) == 0;
}

static bool refuse_default(ace_bytes name, ace_broker_fault *fault)
{
    return name.length > 0 || ace_broker_refuse(fault, AMQP_ACCESS_REFUSED,
                                                "operation not permitted on the default exchange");
}

/* --- declare --- */

static bool same_declaration(const ace_broker_exchange *exchange, ace_broker_exchange_kind kind,
                             const amqp_exchange_declare_t *declare, ace_broker_fault *fault)
{
    char text[ACE_RESOURCE_TEXT_MAX];

    ace_broker_exchange_text(exchange, text);
    return ace_broker_declared_text_match(ace_broker_exchange_kind_name(exchange->kind),
                                          ace_broker_exchange_kind_name(kind), "type", text,
                                          fault) &&
           ace_broker_declared_flag_match(exchange->durable, declare->durable, "durable", text,
                                          fault) &&
           ace_broker_declared_flag_match(exchange->auto_delete, declare->auto_delete,
                                          "auto_delete", text, fault) &&
           ace_broker_declared_flag_match(exchange->internal, declare->internal, "internal", text,
                                          fault) &&
           ace_broker_argument_match(&exchange->arguments.table, &declare->arguments,
                                     "alternate-exchange", text, fault);
}

static bool make_exchange(ace_broker_channel *channel, ace_bytes name,
                          ace_broker_exchange_kind kind, const amqp_exchange_declare_t *declare,
                          ace_broker_fault *fault)
{
    ace_broker_vhost *vhost = channel->session->vhost;
    const amqp_field_value_t *alternate = ace_table_find(&declare->arguments, "alternate-exchange");
    char text[ACE_RESOURCE_TEXT_MAX];
    ace_broker_exchange_declaration declaration = {.name = name,
                                                   .kind = kind,
                                                   .durable = declare->durable,
                                                   .auto_delete = declare->auto_delete,
                                                   .internal = declare->internal,
                                                   .arguments = &declare->arguments};

    if (is_reserved(name))
        return ace_broker_refuse(fault, AMQP_ACCESS_REFUSED,
                                 "exchange name '%.*s' contains reserved prefix 'amq.*'",
                                 ACE_TEXT(name));
    if (alternate && alternate->kind != AMQP_FIELD_KIND_UTF8)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "invalid type '%s' for arg 'alternate-exchange' in %s",
                                 ace_broker_field_kind_name(alternate->kind),
                                 ace_broker_resource_text("exchange", name, vhost, text));
    return ace_broker_exchange_make(vhost, &declaration, fault) != NULL;
}

static bool declare_exchange(ace_broker_channel *channel, ace_bytes name,
                             const amqp_exchange_declare_t *declare, ace_broker_fault *fault)
{
    ace_bytes kind_name = ace_bytes_from_amqp(declare->type);
    ace_broker_exchange_kind kind;
    ace_broker_exchange *exchange;

    if (declare->passive)
        return refuse_default(name, fault) &&
               ace_broker_channel_find_exchange(channel, name, fault);
    if (!ace_broker_exchange_kind_read(kind_name, &kind))
        return ace_broker_refuse(fault, AMQP_COMMAND_INVALID, "unknown exchange type '%.*s'",
                                 ACE_TEXT(kind_name));
    if (!refuse_default(name, fault))
        return false;
    exchange = ace_broker_exchange_find(channel->session->vhost, name);
    return exchange ? same_declaration(exchange, kind, declare, fault)
                    : make_exchange(channel, name, kind, declare, fault);
}

bool ace_broker_exchange_declare_method(ace_broker_channel *channel, const void *decoded,
                                        ace_broker_fault *fault)
{
    const amqp_exchange_declare_t *declare = decoded;
    amqp_exchange_declare_ok_t ok = {0};

    if (!ace_broker_name_is_text(declare->exchange, fault) ||
        !declare_exchange(channel, ace_bytes_from_amqp(declare->exchange), declare, fault))
        return false;
    if (!declare->nowait)
        ace_broker_channel_send(channel, AMQP_EXCHANGE_DECLARE_OK_METHOD, &ok);
    return true;
}

/* --- delete --- */

static bool delete_exchange(ace_broker_channel *channel, ace_bytes name, bool if_unused,
                            ace_broker_fault *fault)
{
    ace_broker_vhost *vhost = channel->session->vhost;
    ace_broker_exchange *exchange = ace_broker_exchange_find(vhost, name);
    char text[ACE_RESOURCE_TEXT_MAX];

    if (!refuse_default(name, fault))
        return false;
    if (is_reserved(name))
        return ace_broker_refuse(fault, AMQP_ACCESS_REFUSED, "deletion of system %s not allowed",
                                 ace_broker_resource_text("exchange", name, vhost, text));
    if (!exchange)
        return true;
    if (if_unused && !ace_list_empty(&exchange->outgoing))
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "%s in use",
                                 ace_broker_exchange_text(exchange, text));
    ace_broker_exchange_delete(exchange);
    return true;
}

bool ace_broker_exchange_delete_method(ace_broker_channel *channel, const void *decoded,
                                       ace_broker_fault *fault)
{
    const amqp_exchange_delete_t *delete = decoded;
    amqp_exchange_delete_ok_t ok = {0};

    if (!ace_broker_name_is_text(delete->exchange, fault) ||
        !delete_exchange(channel, ace_bytes_from_amqp(delete->exchange), delete->if_unused, fault))
        return false;
    if (!delete->nowait)
        ace_broker_channel_send(channel, AMQP_EXCHANGE_DELETE_OK_METHOD, &ok);
    return true;
}

/* --- bind and unbind --- */

bool ace_broker_exchange_bind_method(ace_broker_channel *channel, const void *decoded,
                                     ace_broker_fault *fault)
{
    const amqp_exchange_bind_t *bind = decoded;
    amqp_exchange_bind_ok_t ok = {0};
    ace_bytes source = ace_bytes_from_amqp(bind->source);
    ace_bytes destination = ace_bytes_from_amqp(bind->destination);
    ace_broker_binding_declaration declaration = {.key = ace_bytes_from_amqp(bind->routing_key),
                                                  .arguments = &bind->arguments};

    if (!ace_broker_name_is_text(bind->routing_key, fault) || !refuse_default(destination, fault) ||
        !refuse_default(source, fault))
        return false;
    declaration.source = ace_broker_channel_find_exchange(channel, source, fault);
    if (!declaration.source)
        return false;
    declaration.exchange = ace_broker_channel_find_exchange(channel, destination, fault);
    if (!declaration.exchange || !ace_broker_binding_valid(&declaration, fault))
        return false;
    if (!ace_broker_binding_find(&declaration) && !ace_broker_binding_add(&declaration, fault))
        return false;
    if (!bind->nowait)
        ace_broker_channel_send(channel, AMQP_EXCHANGE_BIND_OK_METHOD, &ok);
    return true;
}

bool ace_broker_exchange_unbind_method(ace_broker_channel *channel, const void *decoded,
                                       ace_broker_fault *fault)
{
    const amqp_exchange_unbind_t *unbind = decoded;
    const ace_broker_vhost *vhost = channel->session->vhost;
    amqp_exchange_unbind_ok_t ok = {0};
    ace_bytes source = ace_bytes_from_amqp(unbind->source);
    ace_bytes destination = ace_bytes_from_amqp(unbind->destination);
    ace_broker_binding_declaration declaration = {.key = ace_bytes_from_amqp(unbind->routing_key),
                                                  .arguments = &unbind->arguments};

    if (!refuse_default(destination, fault) || !refuse_default(source, fault))
        return false;
    /* What is not there is as good as unbound. */
    declaration.source = ace_broker_exchange_find(vhost, source);
    declaration.exchange = ace_broker_exchange_find(vhost, destination);
    if (declaration.source && declaration.exchange) {
        ace_broker_binding *binding = ace_broker_binding_find(&declaration);

        if (binding)
            ace_broker_binding_remove(binding);
    }
    if (!unbind->nowait)
        ace_broker_channel_send(channel, AMQP_EXCHANGE_UNBIND_OK_METHOD, &ok);
    return true;
}
