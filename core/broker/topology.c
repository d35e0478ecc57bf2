#include "broker/topology.h"

#include "broker/queue.h"

#include <amqp_framing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ace_broker_exchange_declaration predeclared[] = {
    {{(const uint8_t *)"", 0}, ACE_EXCHANGE_DIRECT, true, false, false, NULL},
    {{(const uint8_t *)"amq.direct", 10}, ACE_EXCHANGE_DIRECT, true, false, false, NULL},
    {{(const uint8_t *)"amq.fanout", 10}, ACE_EXCHANGE_FANOUT, true, false, false, NULL},
    {{(const uint8_t *)"amq.topic", 9}, ACE_EXCHANGE_TOPIC, true, false, false, NULL},
    {{(const uint8_t *)"amq.headers", 11}, ACE_EXCHANGE_HEADERS, true, false, false, NULL},
    {{(const uint8_t *)"amq.match", 9}, ACE_EXCHANGE_HEADERS, true, false, false, NULL},
    {{(const uint8_t *)"amq.rabbitmq.trace", 18}, ACE_EXCHANGE_TOPIC, true, false, true, NULL},
};

bool ace_broker_name_copy(ace_bytes name, ace_bytes *copy)
{
    uint8_t *data = malloc(name.length + 1);

    if (!data)
        return false;
    if (name.length > 0)
        memcpy(data, name.data, name.length);
    data[name.length] = '\0';
    *copy = (ace_bytes){data, name.length};
    return true;
}

const char *ace_broker_resource_text(const char *kind, ace_bytes name,
                                     const ace_broker_vhost *vhost,
                                     char text[ACE_RESOURCE_TEXT_MAX])
{
    snprintf(text, ACE_RESOURCE_TEXT_MAX, "%s '%.*s' in vhost '%s'", kind, ACE_TEXT(name),
             vhost->name);
    return text;
}

const char *ace_broker_exchange_text(const ace_broker_exchange *exchange,
                                     char text[ACE_RESOURCE_TEXT_MAX])
{
    return ace_broker_resource_text("exchange", exchange->name, exchange->vhost, text);
}

const char *ace_broker_exchange_kind_name(ace_broker_exchange_kind kind)
{
    static const char *const names[] = {"direct", "fanout", "topic", "headers"};

    return names[kind];
}

bool ace_broker_exchange_kind_read(ace_bytes text, ace_broker_exchange_kind *kind)
{
    for (int i = ACE_EXCHANGE_DIRECT; i <= ACE_EXCHANGE_HEADERS; i++) {
        if (ace_bytes_equal_text(text,
                                 ace_broker_exchange_kind_name((ace_broker_exchange_kind)i))) {
            *kind = (ace_broker_exchange_kind)i;
            return true;
        }
    }
    return false;
}

/* --- exchanges --- */

ace_broker_exchange *ace_broker_exchange_find(const ace_broker_vhost *vhost, ace_bytes name)
{
    return ace_broker_name_map_find(&vhost->exchanges, name);
}

static void exchange_free(ace_broker_exchange *exchange)
{
    ace_table_release(&exchange->arguments);
    ace_broker_name_map_free(&exchange->by_key);
    free((void *)(uintptr_t)exchange->name.data);
    free(exchange);
}

static bool fill_exchange(ace_broker_exchange *exchange,
                          const ace_broker_exchange_declaration *declaration)
{
    const amqp_field_value_t *alternate;

    exchange->kind = declaration->kind;
    exchange->durable = declaration->durable;
    exchange->auto_delete = declaration->auto_delete;
    exchange->internal = declaration->internal;
    ace_list_init(&exchange->outgoing);
    ace_list_init(&exchange->incoming);
    if (!ace_broker_name_copy(declaration->name, &exchange->name))
        return false;
    if (!declaration->arguments)
        return true;
    if (ace_table_copy_arrived(&exchange->arguments, declaration->arguments, NULL) != ACE_OK)
        return false;
    alternate = ace_table_find(&exchange->arguments.table, "alternate-exchange");
    if (alternate && alternate->kind == AMQP_FIELD_KIND_UTF8) {
        exchange->alternate = ace_bytes_from_amqp(alternate->value.bytes);
        if (exchange->alternate.length == 0)
            exchange->alternate.data = (const uint8_t *)"";
    }
    return true;
}

static ace_broker_exchange *exchange_new(ace_broker_vhost *vhost,
                                         const ace_broker_exchange_declaration *declaration)
{
    ace_broker_exchange *exchange = calloc(1, sizeof(*exchange));

    if (!exchange)
        return NULL;
    exchange->vhost = vhost;
    if (!fill_exchange(exchange, declaration) ||
        !ace_broker_name_map_add(&vhost->exchanges, exchange->name, exchange)) {
        exchange_free(exchange);
        return NULL;
    }
    return exchange;
}

ace_broker_exchange *ace_broker_exchange_make(ace_broker_vhost *vhost,
                                              const ace_broker_exchange_declaration *declaration,
                                              ace_broker_fault *fault)
{
    ace_broker_core *core = vhost->core;
    ace_broker_exchange *exchange;

    if (core->exchange_count >= core->limits.exchanges) {
        ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                          "cannot declare exchange '%.*s': exchange limit (%zu) is reached",
                          ACE_TEXT(declaration->name), core->limits.exchanges);
        return NULL;
    }
    exchange = exchange_new(vhost, declaration);
    if (!exchange) {
        ace_broker_refuse_memory(fault);
        return NULL;
    }
    core->exchange_count++;
    return exchange;
}

static void binding_unlink(ace_broker_binding *binding);

void ace_broker_exchange_delete(ace_broker_exchange *exchange)
{
    ace_link_node *node;

    ace_broker_name_map_remove(&exchange->vhost->exchanges, exchange->name);
    while ((node = ace_list_first(&exchange->outgoing)))
        binding_unlink(ACE_RECORD(node, ace_broker_binding, by_source));
    while ((node = ace_list_first(&exchange->incoming)))
        ace_broker_binding_remove(ACE_RECORD(node, ace_broker_binding, by_destination));
    if (!exchange->predeclared)
        exchange->vhost->core->exchange_count--;
    exchange_free(exchange);
}

/* --- bindings --- */

bool ace_broker_binding_valid(const ace_broker_binding_declaration *declaration,
                              ace_broker_fault *fault)
{
    const amqp_field_value_t *match = ace_table_find(declaration->arguments, "x-match");
    static const char *const known[] = {"all", "any", "all-with-x", "any-with-x"};

    if (declaration->source->kind != ACE_EXCHANGE_HEADERS || !match)
        return true;
    if (match->kind != AMQP_FIELD_KIND_UTF8)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "Invalid x-match field type %s; expected longstr",
                                 ace_broker_field_kind_name(match->kind));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (ace_bytes_equal_text(ace_bytes_from_amqp(match->value.bytes), known[i]))
            return true;
    }
    return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                             "Invalid x-match field value <<\"%.*s\">>; expected all, any, "
                             "all-with-x, or any-with-x",
                             ACE_TEXT(ace_bytes_from_amqp(match->value.bytes)));
}

static bool is_that(const ace_broker_binding *binding, const ace_broker_binding_declaration *wanted)
{
    return binding->queue == wanted->queue && binding->exchange == wanted->exchange &&
           ace_bytes_equal(binding->key, wanted->key) &&
           ace_table_equal(&binding->arguments.table, wanted->arguments);
}

ace_broker_binding *ace_broker_binding_find(const ace_broker_binding_declaration *declaration)
{
    ace_broker_binding *binding =
        ace_broker_name_map_find(&declaration->source->by_key, declaration->key);

    while (binding && !is_that(binding, declaration))
        binding = binding->same_key;
    return binding;
}

static void binding_free(ace_broker_binding *binding)
{
    ace_table_release(&binding->arguments);
    free((void *)(uintptr_t)binding->key.data);
    free(binding);
}

static bool chain_add(ace_broker_exchange *source, ace_broker_binding *binding)
{
    ace_broker_binding *first = ace_broker_name_map_find(&source->by_key, binding->key);

    if (!first)
        return ace_broker_name_map_add(&source->by_key, binding->key, binding);
    binding->same_key = first->same_key;
    first->same_key = binding;
    return true;
}

static void chain_remove(ace_broker_exchange *source, ace_broker_binding *binding)
{
    ace_broker_binding *first = ace_broker_name_map_find(&source->by_key, binding->key);

    if (first != binding) {
        while (first->same_key != binding)
            first = first->same_key;
        first->same_key = binding->same_key;
    } else if (binding->same_key) {
        ace_broker_name_map_replace(&source->by_key, binding->same_key->key, binding->same_key);
    } else {
        ace_broker_name_map_remove(&source->by_key, binding->key);
    }
}

bool ace_broker_binding_add(const ace_broker_binding_declaration *declaration,
                            ace_broker_fault *fault)
{
    ace_broker_exchange *source = declaration->source;
    ace_broker_core *core = source->vhost->core;

    if (core->binding_count >= core->limits.bindings)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED, "binding limit (%zu) is reached",
                                 core->limits.bindings);

    ace_broker_binding *binding = calloc(1, sizeof(*binding));

    if (!binding)
        return ace_broker_refuse_memory(fault);
    binding->source = source;
    binding->queue = declaration->queue;
    binding->exchange = declaration->exchange;
    if (!ace_broker_name_copy(declaration->key, &binding->key) ||
        ace_table_copy_arrived(&binding->arguments, declaration->arguments, NULL) != ACE_OK ||
        !chain_add(source, binding)) {
        binding_free(binding);
        return ace_broker_refuse_memory(fault);
    }
    ace_list_append(&source->outgoing, &binding->by_source);
    ace_list_append(binding->queue ? &binding->queue->bindings : &binding->exchange->incoming,
                    &binding->by_destination);
    core->binding_count++;
    return true;
}

static void binding_unlink(ace_broker_binding *binding)
{
    ace_broker_exchange *source = binding->source;

    chain_remove(source, binding);
    ace_list_remove(&source->outgoing, &binding->by_source);
    ace_list_remove(binding->queue ? &binding->queue->bindings : &binding->exchange->incoming,
                    &binding->by_destination);
    source->vhost->core->binding_count--;
    binding_free(binding);
}

void ace_broker_binding_remove(ace_broker_binding *binding)
{
    ace_broker_exchange *source = binding->source;

    binding_unlink(binding);
    if (source->auto_delete && ace_list_empty(&source->outgoing))
        ace_broker_exchange_delete(source);
}

/* --- virtual hosts --- */

ace_broker_vhost *ace_broker_vhost_make(ace_broker_core *core, const char *name)
{
    ace_broker_vhost *vhost = calloc(1, sizeof(*vhost));

    if (!vhost)
        return NULL;
    vhost->core = core;
    ace_list_append(&core->vhosts, &vhost->link);
    vhost->name = strdup(name);

    bool made = vhost->name != NULL;

    for (size_t i = 0; made && i < sizeof(predeclared) / sizeof(predeclared[0]); i++) {
        ace_broker_exchange *exchange = exchange_new(vhost, &predeclared[i]);

        made = exchange != NULL;
        if (made)
            exchange->predeclared = true;
    }
    if (!made) {
        ace_broker_vhost_free(vhost);
        return NULL;
    }
    return vhost;
}

ace_broker_vhost *ace_broker_vhost_find(const ace_broker_core *core, ace_bytes name)
{
    for (ace_link_node *node = ace_list_first(&core->vhosts); node;
         node = ace_list_next(&core->vhosts, node)) {
        ace_broker_vhost *vhost = ACE_RECORD(node, ace_broker_vhost, link);

        if (ace_bytes_equal_text(name, vhost->name))
            return vhost;
    }
    return NULL;
}

void ace_broker_vhost_free(ace_broker_vhost *vhost)
{
    void *record;

    while ((record = ace_broker_name_map_any(&vhost->queues)))
        ace_broker_queue_delete(record);
    while ((record = ace_broker_name_map_any(&vhost->exchanges)))
        ace_broker_exchange_delete(record);
    ace_broker_name_map_free(&vhost->queues);
    ace_broker_name_map_free(&vhost->exchanges);
    ace_list_remove(&vhost->core->vhosts, &vhost->link);
    free(vhost->name);
    free(vhost);
}
