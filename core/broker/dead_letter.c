#include "broker/dead_letter.h"

#include "broker/queue.h"
#include "broker/routing.h"
#include "broker/topology.h"
#include "broker/x_death.h"

#include <stdlib.h>
#include <string.h>

#define POOL_PAGE      4096
#define RETRY_INTERVAL 180000 /* RabbitMQ's own, in milliseconds */

/* A death that waits for its publication. It has copies of everything but the vhost, since the
 * queue may be gone by then. */
typedef struct death_record {
    ace_link_node link;
    ace_broker_vhost *vhost;
    ace_broker_message *message;
    const char *reason;
    ace_bytes queue;
    ace_bytes exchange;
    ace_bytes routing_key; /* data NULL: that of the message */
} death_record;

static ace_bytes copy_into(uint8_t **at, ace_bytes text)
{
    ace_bytes copy = {*at, text.length};

    if (!text.data)
        return (ace_bytes){NULL, 0};
    if (text.length > 0)
        memcpy(*at, text.data, text.length);
    *at += text.length;
    return copy;
}

void ace_broker_dead_letter_send(ace_broker_queue *queue, ace_broker_message *message,
                                 const char *reason)
{
    ace_broker_core *core = queue->vhost->core;
    const ace_broker_queue_settings *settings = &queue->settings;
    death_record *record;

    if (!settings->dead_exchange.data)
        return;
    record = malloc(sizeof(*record) + queue->name.length + settings->dead_exchange.length +
                    settings->dead_routing_key.length + 1);
    if (!record) {
        core->work_failed = true;
        return;
    }

    uint8_t *at = (uint8_t *)(record + 1);

    record->vhost = queue->vhost;
    record->message = ace_broker_message_keep(message);
    record->reason = reason;
    record->queue = copy_into(&at, queue->name);
    record->exchange = copy_into(&at, settings->dead_exchange);
    record->routing_key = copy_into(&at, settings->dead_routing_key);
    ace_list_append(&core->deaths, &record->link);
}

static void record_free(death_record *record)
{
    ace_broker_message_release(record->message);
    free(record);
}

void ace_broker_dead_letters_free(ace_broker_core *core)
{
    ace_link_node *node;

    while ((node = ace_list_take_first(&core->deaths)))
        record_free(ACE_RECORD(node, death_record, link));
}

/* --- writing the message anew --- */

typedef struct rewriting {
    amqp_pool_t pool;
    ace_table headers;
    amqp_basic_properties_t *properties;
    ace_bytes *death_keys; /* the routing key, and what CC holds now */
    size_t death_key_count;
} rewriting;

static bool collect_death_keys(rewriting *work, const ace_broker_message *message)
{
    ace_broker_fault ignored;
    size_t carbon = 0;

    work->death_keys = calloc(message->key_count, sizeof(*work->death_keys));
    if (!work->death_keys)
        return false;
    work->death_keys[0] = message->keys[0];
    ace_broker_headers_routes(&work->headers.table, "CC", work->death_keys + 1,
                              message->key_count - 1, &carbon, &ignored);
    work->death_key_count = 1 + carbon;
    return true;
}

static bool record_death(rewriting *work, const death_record *record)
{
    amqp_basic_properties_t *properties = work->properties;
    const ace_broker_message *message = record->message;
    ace_broker_death death = {.reason = record->reason,
                              .queue = record->queue,
                              .exchange = message->exchange,
                              .keys = work->death_keys,
                              .key_count = work->death_key_count};

    death.seconds = (uint64_t)(ace_clock_wall(record->vhost->core->clock) / 1000);
    if (properties->_flags & AMQP_BASIC_EXPIRATION_FLAG)
        death.original_expiration = ace_bytes_from_amqp(properties->expiration);
    if (ace_broker_x_death_record(&work->headers, &death, NULL) != ACE_OK)
        return false;
    if (record->routing_key.data)
        ace_table_remove(&work->headers, "CC");
    properties->headers = work->headers.table;
    properties->_flags |= AMQP_BASIC_HEADERS_FLAG;
    properties->_flags &= ~(amqp_flags_t)AMQP_BASIC_EXPIRATION_FLAG;
    return true;
}

static bool begin_rewriting(rewriting *work, const ace_broker_message *message)
{
    *work = (rewriting){.headers = ACE_TABLE_INIT};
    init_amqp_pool(&work->pool, POOL_PAGE);
    if (!ace_broker_message_decode(message, &work->pool, &work->properties))
        return false;
    return !(work->properties->_flags & AMQP_BASIC_HEADERS_FLAG) ||
           ace_table_copy_arrived(&work->headers, &work->properties->headers, NULL) == ACE_OK;
}

static void end_rewriting(rewriting *work)
{
    free(work->death_keys);
    ace_table_release(&work->headers);
    empty_amqp_pool(&work->pool);
}

/* --- publishing --- */

/* Queues the message has been to, with no rejection on the way, are left out. */
static void drop_cycles(ace_broker_route *route, const death_record *record,
                        const amqp_table_t *headers)
{
    size_t kept = 0;

    if (strcmp(record->reason, ACE_DEATH_REJECTED) == 0)
        return;
    for (size_t i = 0; i < route->count; i++) {
        if (!ace_broker_x_death_is_cycle(headers, route->queues[i]->name))
            route->queues[kept++] = route->queues[i];
        else
            ace_log_write(&record->vhost->core->log, ACE_LOG_WARNING,
                          "message dropped: a cycle of dead letters through queue %.*s",
                          ACE_TEXT(route->queues[i]->name));
    }
    route->count = kept;
}

/* How many queues took it. */
static size_t push_all(const ace_broker_route *route, const death_record *record,
                       const rewriting *work, const ace_bytes *keys, size_t key_count)
{
    size_t taken = 0;
    ace_broker_message *message;

    if (route->count == 0)
        return 0;
    message = ace_broker_message_rewrite(record->message, work->properties, record->exchange, keys,
                                         key_count);
    if (!message) {
        record->vhost->core->work_failed = true;
        return 0;
    }
    for (size_t i = 0; i < route->count; i++) {
        ace_broker_push pushed = ace_broker_queue_push(route->queues[i], message);

        if (pushed == ACE_PUSH_DONE)
            taken++;
        else if (pushed == ACE_PUSH_FAILED)
            record->vhost->core->work_failed = true;
    }
    ace_broker_message_release(message);
    return taken;
}

static size_t publish(const death_record *record)
{
    ace_broker_exchange *exchange = ace_broker_exchange_find(record->vhost, record->exchange);
    const ace_broker_message *message = record->message;
    bool own_key = record->routing_key.data != NULL;
    const ace_bytes *keys = own_key ? &record->routing_key : message->keys;
    size_t key_count = own_key ? 1 : message->key_count;
    ace_broker_route route = {NULL, 0, 0};
    rewriting work;
    size_t taken = 0;

    if (!exchange)
        return 0;
    if (begin_rewriting(&work, message) && collect_death_keys(&work, message) &&
        record_death(&work, record) &&
        ace_broker_route_find(exchange, keys, key_count, &work.headers.table, &route)) {
        drop_cycles(&route, record, &work.headers.table);
        taken = push_all(&route, record, &work, keys, key_count);
    } else {
        record->vhost->core->work_failed = true;
    }
    ace_broker_route_free(&route);
    end_rewriting(&work);
    return taken;
}

bool ace_broker_dead_letter_publish_next(ace_broker_core *core)
{
    ace_link_node *node = ace_list_take_first(&core->deaths);

    if (!node)
        return false;

    death_record *record = ACE_RECORD(node, death_record, link);

    publish(record);
    record_free(record);
    return true;
}

/* --- at least once --- */

static bool try_to_publish(ace_broker_queue *queue, const ace_broker_entry *entry)
{
    death_record record = {.vhost = queue->vhost,
                           .message = entry->message,
                           .reason = entry->reason,
                           .queue = queue->name,
                           .exchange = queue->settings.dead_exchange,
                           .routing_key = queue->settings.dead_routing_key};

    return publish(&record) > 0;
}

static void set_retry_timer(ace_broker_queue *queue)
{
    ace_broker_core *core = queue->vhost->core;

    if (ace_list_empty(&queue->dead))
        ace_timer_cancel(&core->queue_timers, &queue->retry);
    else if (!ace_timer_is_set(&queue->retry) &&
             !ace_timer_set(&core->queue_timers, &queue->retry, core->now + RETRY_INTERVAL))
        core->work_failed = true;
}

void ace_broker_dead_letters_retry(ace_broker_queue *queue)
{
    size_t count = queue->dead.count;

    for (size_t i = 0; i < count; i++) {
        ace_broker_entry *entry =
            ACE_RECORD(ace_list_take_first(&queue->dead), ace_broker_entry, place);

        if (try_to_publish(queue, entry))
            ace_broker_entry_free(entry);
        else
            ace_list_append(&queue->dead, &entry->place);
    }
    set_retry_timer(queue);
}

void ace_broker_dead_letter_entry(ace_broker_entry *entry, const char *reason)
{
    ace_broker_queue *queue = entry->queue;

    entry->reason = reason;
    if (queue->settings.at_least_once && !try_to_publish(queue, entry)) {
        ace_list_append(&queue->dead, &entry->place);
        set_retry_timer(queue);
        return;
    }
    if (!queue->settings.at_least_once)
        ace_broker_dead_letter_send(queue, entry->message, reason);
    ace_broker_entry_free(entry);
}
