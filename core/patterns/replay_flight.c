#include "patterns/replay_flight.h"

#include "base/list.h"
#include "base/thread.h"

#include <stdlib.h>

typedef struct flight_leg {
    ace_publish publish;
    ace_link_node node;
    ace_flight *flight;
    ace_delivery *delivery;
    uint64_t tag;
    bool ended;
} flight_leg;

struct ace_flight {
    ace_publisher *publisher;
    ace_mutex mutex;
    ace_condition landed;
    ace_list legs; /* in the order of launching */
    bool forgotten;
};

ace_code ace_flight_new(ace_publisher *publisher, ace_flight **out, ace_error **error)
{
    ace_flight *flight = calloc(1, sizeof *flight);
    if (flight == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&flight->mutex, error);
    if (code != ACE_OK) {
        free(flight);
        return code;
    }
    code = ace_condition_init(&flight->landed, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&flight->mutex);
        free(flight);
        return code;
    }
    flight->publisher = publisher;
    ace_list_init(&flight->legs);
    *out = flight;
    return ACE_OK;
}

static void delete_leg(flight_leg *leg)
{
    ace_publish_clear(&leg->publish);
    ace_delivery_free(leg->delivery);
    free(leg);
}

static void delete_flight(ace_flight *flight)
{
    ace_condition_destroy(&flight->landed);
    ace_mutex_destroy(&flight->mutex);
    free(flight);
}

static void drop_ended(ace_flight *flight)
{
    ace_link_node *node = ace_list_first(&flight->legs);
    while (node != NULL) {
        ace_link_node *next = ace_list_next(&flight->legs, node);
        flight_leg *leg = ACE_RECORD(node, flight_leg, node);
        if (leg->ended) {
            ace_list_remove(&flight->legs, node);
            delete_leg(leg);
        }
        node = next;
    }
}

void ace_flight_free(ace_flight *flight)
{
    if (flight == NULL) {
        return;
    }
    ace_mutex_lock(&flight->mutex);
    drop_ended(flight);
    flight->forgotten = true;
    bool empty = ace_list_empty(&flight->legs);
    ace_mutex_unlock(&flight->mutex);
    if (empty) {
        delete_flight(flight);
    }
}

size_t ace_flight_count(ace_flight *flight)
{
    ace_mutex_lock(&flight->mutex);
    size_t count = flight->legs.count;
    ace_mutex_unlock(&flight->mutex);
    return count;
}

static void leg_ended(ace_publish *publish)
{
    flight_leg *leg = publish->user;
    ace_flight *flight = leg->flight;
    ace_mutex_lock(&flight->mutex);
    leg->ended = true;
    bool was_last = false;
    if (flight->forgotten) {
        ace_list_remove(&flight->legs, &leg->node);
        delete_leg(leg);
        was_last = ace_list_empty(&flight->legs);
    }
    ace_condition_signal(&flight->landed);
    ace_mutex_unlock(&flight->mutex);
    if (was_last) {
        delete_flight(flight);
    }
}

ace_code ace_flight_launch(ace_flight *flight, ace_publish *publish, ace_delivery *delivery,
                           uint64_t tag, ace_error **error)
{
    flight_leg *leg = calloc(1, sizeof *leg);
    if (leg == NULL) {
        ace_publish_clear(publish);
        ace_delivery_free(delivery);
        return ace_fail_memory(error);
    }
    leg->publish = *publish;
    leg->publish.done = leg_ended;
    leg->publish.user = leg;
    leg->flight = flight;
    leg->delivery = delivery;
    leg->tag = tag;
    ace_mutex_lock(&flight->mutex);
    ace_list_append(&flight->legs, &leg->node);
    ace_mutex_unlock(&flight->mutex);
    ace_code code = ace_publisher_submit(flight->publisher, ACE_PUBLISH_HOP, &leg->publish, error);
    if (code != ACE_OK) {
        ace_mutex_lock(&flight->mutex);
        ace_list_remove(&flight->legs, &leg->node);
        ace_mutex_unlock(&flight->mutex);
        delete_leg(leg);
    }
    return code;
}

/* A cancel token that fires while somebody waits. */
typedef struct cancel_wait {
    ace_cancel_watch watch;
    ace_flight *flight;
    bool fired; /* under the flight's lock */
} cancel_wait;

static void cancelled(ace_cancel_watch *watch)
{
    cancel_wait *wait = ACE_RECORD(watch, cancel_wait, watch);
    ace_mutex_lock(&wait->flight->mutex);
    wait->fired = true;
    ace_condition_signal(&wait->flight->landed);
    ace_mutex_unlock(&wait->flight->mutex);
}

bool ace_flight_land(ace_flight *flight, int64_t deadline, ace_cancel *cancel, ace_flown *flown)
{
    cancel_wait wait = {.watch = {.fired = cancelled}, .flight = flight};
    ace_cancel_watch_add(cancel, &wait.watch);
    ace_mutex_lock(&flight->mutex);
    ace_link_node *node = ace_list_first(&flight->legs);
    flight_leg *leg = node == NULL ? NULL : ACE_RECORD(node, flight_leg, node);
    bool in_time = true;
    while (leg != NULL && !leg->ended && !wait.fired && in_time) {
        in_time = ace_condition_wait_until(&flight->landed, &flight->mutex, deadline);
    }
    bool landed = leg != NULL && leg->ended;
    if (landed) {
        ace_list_remove(&flight->legs, node);
    }
    ace_mutex_unlock(&flight->mutex);
    ace_cancel_watch_remove(cancel, &wait.watch);
    if (!landed) {
        return false;
    }
    *flown = (ace_flown){leg->tag, leg->publish.code, leg->publish.error};
    leg->publish.error = NULL;
    delete_leg(leg);
    return true;
}
