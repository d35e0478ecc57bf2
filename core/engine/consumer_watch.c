#include "engine/consumer_watch.h"

#include <stdlib.h>
#include <string.h>

/* --- interceptors --- */

static ace_passenger passenger_of(ace_delivery *delivery)
{
    return (ace_passenger){.side = ACE_SIDE_CONSUMING,
                           .subject = delivery,
                           .exchange = delivery->exchange,
                           .routing_key = delivery->routing_key};
}

bool ace_consumer_intercept(ace_consumer *consumer, ace_delivery *delivery)
{
    ace_interceptors *interceptors = &consumer->connection->interceptors;
    if (!ace_interceptors_any(interceptors, ACE_SIDE_CONSUMING)) {
        return true;
    }
    ace_passenger passenger = passenger_of(delivery);
    char *reason;
    delivery->entering = true;
    int answer = ace_passage_enter(&delivery->passage, interceptors, &passenger, &reason);
    delivery->entering = false;
    if (answer != 0) {
        ace_happening what = answer == (int)ACE_REJECTED ? ACE_HAPPENED_FATAL : ACE_HAPPENED_FAILED;
        ace_consumer_judge(delivery, what, reason);
    }
    free(reason);
    return answer == 0;
}

static int outcome_of(const ace_receiver_verdict *verdict)
{
    if (verdict->put_back_unchanged) {
        return ACE_OUTCOME_PUT_BACK;
    }
    switch (verdict->what) {
    case ACE_HAPPENED_ACCEPTED:
        return ACE_ACCEPTED;
    case ACE_HAPPENED_FATAL:
        return ACE_REJECTED;
    case ACE_HAPPENED_PARKED:
        return ACE_PARKED;
    default:
        return ACE_FAILED;
    }
}

void ace_watch_judged(ace_delivery *delivery, const ace_receiver_verdict *verdict)
{
    if (delivery->begun != 0) {
        delivery->ended = ace_metrics_now();
    }
    if (delivery->passage.chain == NULL) {
        return;
    }
    ace_passenger passenger = passenger_of(delivery);
    int outcome = outcome_of(verdict);
    ace_passage_end end = {.failed = outcome == ACE_FAILED || outcome == ACE_REJECTED,
                           .after = true,
                           .outcome = outcome,
                           .reason = delivery->reason};
    ace_passage_leave(&delivery->passage, &passenger, &end);
}

/* --- metrics --- */

static ace_metrics *metrics_of(const ace_consumer *consumer)
{
    return atomic_load_explicit(&consumer->connection->metrics, memory_order_acquire);
}

static bool is_listened_to(const ace_consumer *consumer)
{
    const ace_connection *connection = consumer->connection;
    return atomic_load_explicit(&connection->settled, memory_order_acquire) != NULL ||
           atomic_load_explicit(&connection->tells_settled, memory_order_relaxed);
}

void ace_watch_begun(ace_delivery *delivery)
{
    const ace_consumer *consumer = delivery->consumer;
    if (metrics_of(consumer) != NULL || is_listened_to(consumer)) {
        delivery->begun = ace_metrics_now();
    }
}

void ace_watch_arrived(ace_delivery *delivery)
{
    ace_metrics *metrics = metrics_of(delivery->consumer);
    if (metrics != NULL) {
        delivery->measured = true;
        ace_metrics_count(metrics, ACE_METRIC_CONSUME_IN_FLIGHT, delivery->queue_name, NULL, 1);
    }
}

void ace_watch_left(ace_delivery *delivery)
{
    if (delivery->measured) {
        ace_metrics_count(metrics_of(delivery->consumer), ACE_METRIC_CONSUME_IN_FLIGHT,
                          delivery->queue_name, NULL, -1);
    }
}

void ace_watch_hop_failed(const ace_hop_target *target, bool rung_missing)
{
    ace_metrics_count(metrics_of(target->consumer),
                      rung_missing ? ACE_METRIC_RUNG_MISSING : ACE_METRIC_SET_ASIDE_FAILED,
                      target->consumer->queue, target->queue, 1);
}

static int64_t time_taken(const ace_delivery *delivery)
{
    return delivery->begun != 0 && delivery->ended > delivery->begun
               ? delivery->ended - delivery->begun
               : 0;
}

/* What should have waited at the broker waited here when its rung could not be had. */
static const char *place_of_retry(const ace_delivery *delivery)
{
    const char *where = delivery->settlement.where;
    bool came_home = delivery->target != NULL && delivery->target->kind == ACE_HOP_OWN_QUEUE;
    return where != NULL && came_home && strcmp(where, "broker") == 0 ? "consumer" : where;
}

static void measure(const ace_delivery *delivery, const char *outcome, const char *where,
                    unsigned counters)
{
    ace_metrics *metrics = metrics_of(delivery->consumer);
    const char *queue = delivery->queue_name;
    if (metrics == NULL) {
        return;
    }
    ace_metrics_count(metrics, ACE_METRIC_CONSUME_TOTAL, queue, outcome, 1);
    ace_metrics_count(metrics, ACE_METRIC_CONSUME_ATTEMPTS, queue, NULL,
                      delivery->envelope.attempt);
    if (delivery->begun != 0) {
        ace_metrics_count(metrics, ACE_METRIC_CONSUME_DURATION, queue, outcome,
                          (double)time_taken(delivery) / 1e6);
    }
    if (where != NULL) {
        ace_metrics_count(metrics, ACE_METRIC_MESSAGES_RETRIED, queue, where, 1);
    }
    if ((counters & ACE_COUNT_DEAD_LETTERED) != 0) {
        ace_metrics_count(metrics, ACE_METRIC_MESSAGES_DEAD_LETTERED, queue, "dead_lettered", 1);
    }
    if ((counters & ACE_COUNT_PARKED) != 0) {
        ace_metrics_count(metrics, ACE_METRIC_MESSAGES_DEAD_LETTERED, queue, "parked", 1);
    }
}

/* --- who wants to know how it ended --- */

static const char *text_of(ace_arena *arena, ace_bytes text)
{
    const char *copy = ace_arena_text(arena, (const char *)text.data, text.length);
    return copy == NULL ? "" : copy;
}

static const char *header_of(ace_arena *arena, const ace_delivery *delivery, const char *name)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    if ((properties->_flags & AMQP_BASIC_HEADERS_FLAG) == 0) {
        return "";
    }
    for (int i = 0; i < properties->headers.num_entries; i++) {
        const amqp_table_entry_t *entry = &properties->headers.entries[i];
        bool is_text =
            entry->value.kind == AMQP_FIELD_KIND_UTF8 || entry->value.kind == AMQP_FIELD_KIND_BYTES;
        if (is_text && ace_bytes_equal_text(ace_bytes_from_amqp(entry->key), name)) {
            return text_of(arena, ace_bytes_from_amqp(entry->value.value.bytes));
        }
    }
    return "";
}

static void put_event(ace_connection *connection, const ace_settled *settled)
{
    ace_settled *copy = ace_settled_copy(settled);
    if (copy != NULL) {
        ace_events_put(connection->events, &(ace_event){.kind = ACE_EVENT_SETTLED,
                                                        .wait = -1,
                                                        .source = "consuming",
                                                        .attachment = copy,
                                                        .attachment_release = ace_settled_free});
    }
}

/* Its receiver may read the delivery still: nothing of it is written. */
static void tell(const ace_delivery *delivery, const char *outcome)
{
    ace_connection *connection = delivery->consumer->connection;
    if (delivery->begun == 0 || !is_listened_to(delivery->consumer)) {
        return;
    }
    ace_arena arena = ACE_ARENA_INIT;
    ace_settled settled = {
        .queue = delivery->queue_name,
        .exchange = delivery->exchange,
        .routing_key = delivery->routing_key,
        .id = text_of(&arena, delivery->envelope.id),
        .type = text_of(&arena, delivery->envelope.type),
        .correlation = text_of(&arena, delivery->envelope.correlation),
        .outcome = outcome,
        .traceparent = header_of(&arena, delivery, "traceparent"),
        .tracestate = header_of(&arena, delivery, "tracestate"),
        .attempt = delivery->envelope.attempt,
        .microseconds = time_taken(delivery),
    };
    const ace_settled_listener *listener = atomic_load(&connection->settled);
    if (listener != NULL) {
        listener->told(&settled, listener->user);
    }
    if (atomic_load(&connection->tells_settled)) {
        put_event(connection, &settled);
    }
    ace_arena_free(&arena);
}

void ace_watch_settled(ace_delivery *delivery)
{
    const ace_settlement *settlement = &delivery->settlement;
    measure(delivery, settlement->outcome, place_of_retry(delivery), settlement->counters);
    tell(delivery, settlement->outcome);
}

void ace_watch_put_back(ace_delivery *delivery, unsigned counters)
{
    measure(delivery, "rejected", "requeued", counters);
    tell(delivery, "rejected");
}

void ace_watch_gone(ace_delivery *delivery, const char *outcome)
{
    tell(delivery, outcome);
}
