#include "engine/hop_flight.h"

#include "engine/consumer_state.h"

#include <stdlib.h>

typedef struct hop_flight {
    ace_publish publish;
    ace_task task;
    ace_delivery *delivery; /* referenced: its body is being sent */
    ace_hop_target *target;
    uint64_t round;
    int64_t submitted;
} hop_flight;

static void free_flight(hop_flight *flight)
{
    ace_delivery *delivery = flight->delivery;
    ace_publish_clear(&flight->publish);
    free(flight);
    ace_delivery_unref(delivery);
}

static void landed(ace_task *task)
{
    hop_flight *flight = ACE_RECORD(task, hop_flight, task);
    if (flight->delivery->stage == ACE_DELIVERY_HOPPING) { /* else its channel is gone */
        ace_hop_result result = {flight->publish.code, flight->publish.error, flight->round,
                                 flight->submitted};
        ace_hop_landed(flight->delivery, flight->target, &result);
        ace_consumer_finish(flight->delivery->consumer);
    }
    free_flight(flight);
}

/* On the publishing loop. */
static void published(ace_publish *publish)
{
    hop_flight *flight = ACE_RECORD(publish, hop_flight, publish);
    if (!ace_loop_post(flight->delivery->consumer->loop, &flight->task)) {
        free_flight(flight);
    }
}

static ace_code encode(hop_flight *flight, ace_error **error)
{
    ace_delivery *delivery = flight->delivery;
    ace_consumer *consumer = delivery->consumer;
    const char *text = delivery->settlement.error;
    uint32_t frame_max = ace_link_frame_max(consumer->publishing);
    ace_hop hop = {
        .kind = flight->target->kind,
        .properties = delivery->content->properties,
        .envelope = &delivery->envelope,
        .attempt = delivery->settlement.attempt,
        .error = text == NULL ? (ace_bytes){NULL, 0} : ace_bytes_of(text),
        .now = ace_clock_wall(ace_loop_clock(consumer->loop)),
        .frame_max = frame_max,
    };
    ace_head head = ACE_HEAD_INIT;
    ace_code code = ace_hop_build(&hop, &head, error);
    if (code == ACE_OK) {
        code = ace_publish_encode(&flight->publish, "", flight->target->queue, true,
                                  &head.properties, delivery->content->body, frame_max,
                                  consumer->connection->settings.body_limit, error);
    }
    ace_head_release(&head);
    return code;
}

ace_code ace_hop_launch(ace_delivery *delivery, ace_hop_target *target, ace_error **error)
{
    ace_consumer *consumer = delivery->consumer;
    ace_publisher *publisher = consumer->connection->publisher;
    hop_flight *flight = calloc(1, sizeof *flight);
    if (flight == NULL) {
        return ace_fail_memory(error);
    }
    flight->delivery = ace_delivery_keep(delivery);
    flight->target = target;
    flight->round = target->round;
    flight->submitted = ace_consumer_now(consumer);
    flight->task.run = landed;
    flight->publish.done = published;
    flight->publish.deadline = ace_publisher_deadline(publisher, ACE_CONFIRM_TIMEOUT);
    ace_code code = encode(flight, error);
    if (code == ACE_OK) {
        code = ace_publisher_submit(publisher, ACE_PUBLISH_HOP, &flight->publish, error);
    }
    if (code != ACE_OK) {
        free_flight(flight);
    }
    return code;
}
