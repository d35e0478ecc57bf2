#include "broker/routing.h"

#include "broker/topology.h"

#include <amqp_framing.h>
#include <stdlib.h>

typedef struct routing {
    ace_broker_route *route;
    ace_broker_core *core;
    const ace_bytes *keys;
    size_t key_count;
    const amqp_table_t *headers;
    ace_broker_exchange **waiting; /* reached, not looked at yet */
    size_t waiting_count;
    size_t waiting_capacity;
    bool failed;
} routing;

static void *grown(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;

    size_t wider = *capacity ? *capacity * 2 : 8;
    void *moved = realloc(items, wider * size);

    if (moved)
        *capacity = wider;
    return moved;
}

static void reach_queue(routing *way, ace_broker_queue *queue)
{
    ace_broker_route *route = way->route;

    if (queue->visited == way->core->routing)
        return;

    void *queues = grown(route->queues, route->count, &route->capacity, sizeof(*route->queues));

    if (!queues) {
        way->failed = true;
        return;
    }
    route->queues = queues;
    route->queues[route->count++] = queue;
    queue->visited = way->core->routing;
}

static void reach_exchange(routing *way, ace_broker_exchange *exchange)
{
    if (exchange->visited == way->core->routing)
        return;

    void *waiting =
        grown(way->waiting, way->waiting_count, &way->waiting_capacity, sizeof(*way->waiting));

    if (!waiting) {
        way->failed = true;
        return;
    }
    way->waiting = waiting;
    way->waiting[way->waiting_count++] = exchange;
    exchange->visited = way->core->routing;
}

static void follow(routing *way, const ace_broker_binding *binding)
{
    if (binding->queue)
        reach_queue(way, binding->queue);
    else
        reach_exchange(way, binding->exchange);
}

static bool binding_takes(const routing *way, const ace_broker_exchange *exchange,
                          const ace_broker_binding *binding)
{
    if (exchange->kind == ACE_EXCHANGE_FANOUT)
        return true;
    if (exchange->kind == ACE_EXCHANGE_HEADERS)
        return ace_broker_headers_match(&binding->arguments.table, way->headers);
    for (size_t i = 0; i < way->key_count; i++) {
        if (ace_broker_topic_matches(binding->key, way->keys[i]))
            return true;
    }
    return false;
}

/* Whether anything is bound for this message, reached before or not. */
static bool route_direct(routing *way, const ace_broker_exchange *exchange)
{
    bool any = false;

    for (size_t i = 0; i < way->key_count; i++) {
        ace_broker_binding *binding = ace_broker_name_map_find(&exchange->by_key, way->keys[i]);

        for (; binding; binding = binding->same_key) {
            follow(way, binding);
            any = true;
        }
    }
    return any;
}

static bool route_by_bindings(routing *way, const ace_broker_exchange *exchange)
{
    bool any = false;

    if (exchange->kind == ACE_EXCHANGE_DIRECT)
        return route_direct(way, exchange);
    for (ace_link_node *node = ace_list_first(&exchange->outgoing); node;
         node = ace_list_next(&exchange->outgoing, node)) {
        ace_broker_binding *binding = ACE_RECORD(node, ace_broker_binding, by_source);

        if (binding_takes(way, exchange, binding)) {
            follow(way, binding);
            any = true;
        }
    }
    return any;
}

static bool route_by_name(routing *way, const ace_broker_exchange *exchange)
{
    bool any = false;

    for (size_t i = 0; i < way->key_count; i++) {
        ace_broker_queue *queue = ace_broker_name_map_find(&exchange->vhost->queues, way->keys[i]);

        if (queue) {
            reach_queue(way, queue);
            any = true;
        }
    }
    return any;
}

static void route_one(routing *way, const ace_broker_exchange *exchange)
{
    bool any = exchange->name.length == 0 ? route_by_name(way, exchange)
                                          : route_by_bindings(way, exchange);

    if (any || !exchange->alternate.data)
        return;

    ace_broker_exchange *alternate = ace_broker_exchange_find(exchange->vhost, exchange->alternate);

    if (alternate)
        reach_exchange(way, alternate);
}

bool ace_broker_route_find(ace_broker_exchange *exchange, const ace_bytes *keys, size_t key_count,
                           const amqp_table_t *headers, ace_broker_route *route)
{
    static const amqp_table_t none = {0, NULL};
    routing way = {.route = route,
                   .core = exchange->vhost->core,
                   .keys = keys,
                   .key_count = key_count,
                   .headers = headers ? headers : &none};

    *route = (ace_broker_route){NULL, 0, 0};
    way.core->routing++;
    reach_exchange(&way, exchange);
    while (way.waiting_count > 0 && !way.failed)
        route_one(&way, way.waiting[--way.waiting_count]);
    free(way.waiting);
    if (way.failed)
        ace_broker_route_free(route);
    return !way.failed;
}

void ace_broker_route_free(ace_broker_route *route)
{
    free(route->queues);
    *route = (ace_broker_route){NULL, 0, 0};
}
