#include "engine/delivery.h"

#include "base/utf8.h"
#include "engine/claims.h"
#include "engine/consumer_state.h"
#include "engine/consumer_watch.h"
#include "engine/delivery_state.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const ace_happening happenings[] = {
    [ACE_ACCEPTED] = ACE_HAPPENED_ACCEPTED,
    [ACE_FAILED] = ACE_HAPPENED_FAILED,
    [ACE_REJECTED] = ACE_HAPPENED_FATAL,
    [ACE_PARKED] = ACE_HAPPENED_PARKED,
};

typedef struct routing {
    amqp_bytes_t exchange;
    amqp_bytes_t routing_key;
    uint64_t tag;
    bool redelivered;
} routing;

static routing routing_of(const ace_content *content)
{
    if (content->method.id == AMQP_BASIC_DELIVER_METHOD) {
        const amqp_basic_deliver_t *deliver = content->method.decoded;
        return (routing){deliver->exchange, deliver->routing_key, deliver->delivery_tag,
                         deliver->redelivered != 0};
    }
    const amqp_basic_get_ok_t *got = content->method.decoded;
    return (routing){got->exchange, got->routing_key, got->delivery_tag, got->redelivered != 0};
}

static const char *write_text(char **at, const void *data, size_t length)
{
    char *text = *at;
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    *at = text + length + 1;
    return text;
}

static ace_bytes property_bytes(const amqp_basic_properties_t *properties, amqp_flags_t flag,
                                amqp_bytes_t value)
{
    return (properties->_flags & flag) != 0 ? ace_bytes_from_amqp(value) : (ace_bytes){NULL, 0};
}

static bool make_up_id(ace_delivery *delivery, ace_random *random, ace_bytes *id)
{
    char *text = ace_arena_take(&delivery->arena, ACE_UUID_LENGTH + 1);
    if (text == NULL) {
        return false;
    }
    ace_uuid_v4(random, text);
    *id = ace_bytes_of(text);
    return true;
}

static bool read_envelope(ace_delivery *delivery, ace_random *random)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    ace_arrival arrival = {
        .headers =
            (properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0 ? &properties->headers : NULL,
        .routing_key = ace_bytes_of(delivery->routing_key),
        .message_id =
            property_bytes(properties, AMQP_BASIC_MESSAGE_ID_FLAG, properties->message_id),
        .reply_to = property_bytes(properties, AMQP_BASIC_REPLY_TO_FLAG, properties->reply_to),
    };
    ace_envelope *envelope = &delivery->envelope;
    if (ace_envelope_read(&arrival, &delivery->arena, envelope, NULL) != ACE_OK) {
        return false;
    }
    /* Most messages have an id: a random one is drawn only once it is known to be needed. */
    return !envelope->id_unstable ||
           (make_up_id(delivery, random, &arrival.fallback_id) &&
            ace_envelope_read(&arrival, &delivery->arena, envelope, NULL) == ACE_OK);
}

ace_delivery *ace_delivery_new(ace_content *content, const char *queue, ace_consumer *consumer,
                               ace_random *random)
{
    routing route = routing_of(content);
    size_t queue_length = consumer == NULL ? strlen(queue) : 0;
    size_t texts = queue_length + route.exchange.len + route.routing_key.len + 3;
    /* The room has the method's length on top, of which both texts are a part. */
    ace_delivery *delivery = consumer != NULL ? ace_content_room(content) : NULL;
    bool is_within = delivery != NULL;
    if (!is_within) {
        delivery = malloc(sizeof *delivery + texts);
    }
    if (delivery == NULL) {
        ace_content_free(content);
        return NULL;
    }
    memset(delivery, 0, offsetof(ace_delivery, envelope));
    delivery->is_within = is_within;
    atomic_init(&delivery->references, 1);
    atomic_init(&delivery->settled, false);
    delivery->content = content;
    delivery->body = content->body;
    delivery->tag = route.tag;
    delivery->redelivered = route.redelivered;
    char *at = delivery->texts;
    delivery->queue_name = consumer == NULL ? write_text(&at, queue, queue_length) : queue;
    delivery->exchange = write_text(&at, route.exchange.bytes, route.exchange.len);
    delivery->routing_key = write_text(&at, route.routing_key.bytes, route.routing_key.len);
    if (consumer != NULL) {
        ace_handle_retain(&consumer->handle);
        delivery->consumer = consumer;
    }
    if (!read_envelope(delivery, random)) {
        ace_delivery_unref(delivery);
        return NULL;
    }
    return delivery;
}

ace_code ace_delivery_of_content(ace_content *content, const char *queue, ace_delivery **delivery,
                                 ace_error **error)
{
    *delivery = ace_delivery_new(content, queue, NULL, ace_random_system());
    return *delivery == NULL ? ace_fail_memory(error) : ACE_OK;
}

ace_delivery *ace_delivery_view(ace_delivery *delivery)
{
    ace_delivery *view = calloc(1, sizeof *view);
    if (view == NULL) {
        return NULL;
    }
    atomic_init(&view->references, 1);
    atomic_init(&view->settled, false);
    view->origin = ace_delivery_keep(delivery);
    ace_handle_retain(&delivery->consumer->handle);
    view->consumer = delivery->consumer;
    view->content = delivery->content;
    view->envelope = delivery->envelope;
    view->body = delivery->body;
    view->opening = delivery->opening;
    view->tag = delivery->tag;
    view->redelivered = delivery->redelivered;
    view->queue_name = delivery->queue_name;
    view->exchange = delivery->exchange;
    view->routing_key = delivery->routing_key;
    return view;
}

ace_delivery *ace_delivery_keep(ace_delivery *delivery)
{
    atomic_fetch_add_explicit(&delivery->references, 1, memory_order_relaxed);
    return delivery;
}

ace_delivery_views *ace_delivery_views_of(const ace_delivery *delivery)
{
    if (delivery->views == NULL) {
        ((ace_delivery *)delivery)->views = calloc(1, sizeof *delivery->views);
    }
    return delivery->views;
}

/* What was made of the envelope. */
static void forget_envelope(ace_delivery *delivery)
{
    ace_delivery_views *views = delivery->views;
    if (views == NULL) {
        return;
    }
    if (views->attachment != NULL && views->release_attachment != NULL) {
        views->release_attachment(views->attachment);
    }
    views->attachment = NULL;
    ace_buffer_free(&views->packed);
}

void ace_delivery_drop_views(ace_delivery *delivery)
{
    ace_delivery_views *views = delivery->views;
    if (views == NULL) {
        return;
    }
    forget_envelope(delivery);
    ace_table_delete(views->all_headers);
    ace_table_delete(views->headers);
    ace_arena_free(&views->copies);
    free(views);
    delivery->views = NULL;
}

/* The memory of the delivery too, where it lies within. `channel` NULL: on any thread. */
static void free_content(const ace_delivery *delivery, ace_channel *channel)
{
    if (delivery->origin != NULL) {
        return;
    }
    if (channel == NULL) {
        ace_content_free(delivery->content);
    } else {
        ace_channel_give_back(channel, delivery->content);
    }
}

static void unref(ace_delivery *delivery, ace_channel *channel)
{
    if (atomic_fetch_sub_explicit(&delivery->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    ace_delivery_drop_views(delivery);
    ace_claims_forget(delivery);
    ace_passage_leave(&delivery->passage, NULL, &(ace_passage_end){.after = false});
    ace_settlement_release(&delivery->settlement);
    ace_arena_free(&delivery->arena);
    free(delivery->opened);
    free(delivery->reason);
    ace_delivery *origin = delivery->origin;
    ace_consumer *consumer = delivery->consumer;
    ace_delivery *separate = delivery->is_within ? NULL : delivery;
    free_content(delivery, channel);
    free(separate);
    if (origin != NULL) {
        ace_delivery_unref(origin);
    }
    if (consumer != NULL) {
        ace_consumer_unref(consumer);
    }
}

void ace_delivery_unref(ace_delivery *delivery)
{
    unref(delivery, NULL);
}

void ace_delivery_let_go(ace_delivery *delivery)
{
    unref(delivery, delivery->consumer->subscription.channel);
}

/* A reason ends in a header: what is not UTF-8 in it becomes question marks. */
static char *copy_reason(const char *reason)
{
    char *copy = strdup(reason);
    if (copy != NULL && !ace_utf8_is_valid(copy, strlen(copy))) {
        ace_utf8_clean_line(copy);
    }
    return copy;
}

static void replace_reason(ace_delivery *delivery, char *reason)
{
    free(delivery->reason);
    delivery->reason = reason;
}

void ace_delivery_untake(ace_delivery *delivery)
{
    if (!atomic_exchange(&delivery->untaken, true)) {
        atomic_fetch_sub(&delivery->consumer->inbox.taken, 1);
    }
}

ace_code ace_delivery_post(ace_delivery *delivery, const ace_receiver_verdict *verdict,
                           ace_error **error)
{
    ace_consumer *consumer = delivery->consumer;
    /* First, since the clock is not the connection's: it may be gone once that was closed. */
    if (ace_consumer_is_stale(consumer, delivery)) {
        ace_watch_gone(delivery, "lost");
        return ace_fail(error, ACE_STALE,
                        "the delivery's channel is gone; the broker delivers it again");
    }
    delivery->verdict = *verdict;
    if (verdict->what == ACE_HAPPENED_FAILED) { /* may be too old by now */
        delivery->verdict.wall = ace_clock_wall(ace_loop_clock(consumer->loop));
    }
    ace_delivery_keep(delivery); /* the task's */
    if (!ace_loop_post_quietly(consumer->loop, &delivery->task)) {
        ace_watch_gone(delivery, "lost");
        ace_delivery_unref(delivery);
        return ace_fail(error, ACE_STALE,
                        "the connection is closed; the broker delivers the message again");
    }
    return ACE_OK;
}

/* `reason` is taken over. */
static ace_code answer_origin(const ace_delivery *view, ace_receiver_verdict verdict, char *reason,
                              ace_error **error)
{
    ace_delivery *origin = view->origin;
    ace_inbox *inbox = &origin->consumer->inbox;
    /* Before it is answered: a verdict that halts a partition takes the channel away itself. */
    bool stale = ace_consumer_is_stale(view->consumer, view);
    ace_mutex_lock(&inbox->mutex);
    bool in_time = !origin->abandoned;
    if (in_time) {
        replace_reason(origin, reason);
        origin->verdict = verdict;
        origin->answered = true;
        ace_condition_broadcast(&inbox->quiet);
    }
    ace_mutex_unlock(&inbox->mutex);
    if (!in_time) {
        free(reason);
    }
    if (!in_time || stale) {
        return ace_fail(error, ACE_STALE,
                        "the delivery's channel is gone; the broker delivers it again");
    }
    return ACE_OK;
}

static ace_code hand_over(ace_delivery *delivery, ace_receiver_verdict verdict, const char *reason,
                          ace_error **error)
{
    char *copy = NULL;
    if (reason != NULL && (copy = copy_reason(reason)) == NULL) {
        return ace_fail_memory(error);
    }
    if (atomic_exchange(&delivery->settled, true)) {
        free(copy);
        return ace_fail(error, ACE_SETTLED, "the delivery was settled before");
    }
    if (delivery->origin != NULL) {
        return answer_origin(delivery, verdict, copy, error);
    }
    if (copy != NULL) {
        replace_reason(delivery, copy);
    }
    ace_watch_judged(delivery, &verdict);
    if (!delivery->pushed) {
        ace_inbox_let_go(&delivery->consumer->inbox, delivery);
    }
    return delivery->claim != NULL ? ace_claims_settle(delivery, &verdict, error)
                                   : ace_delivery_post(delivery, &verdict, error);
}

ace_code ace_delivery_report(ace_delivery *delivery, ace_happening what, const char *reason,
                             ace_error **error)
{
    return hand_over(delivery, (ace_receiver_verdict){.what = what}, reason, error);
}

void ace_delivery_hand_back(ace_delivery *delivery)
{
    (void)hand_over(delivery, (ace_receiver_verdict){.put_back_unchanged = true}, NULL, NULL);
}

static ace_code check_receiver(const ace_delivery *delivery, ace_error **error)
{
    if (delivery->consumer == NULL) {
        return ace_fail(error, ACE_STATE, "the delivery was only looked at: nobody settles it");
    }
    if (delivery->entering) {
        return ace_fail(error, ACE_STATE,
                        "what an interceptor answers settles its delivery, nothing else does");
    }
    if (ace_handle_is_foreign(&delivery->consumer->handle)) {
        return ace_fail(error, ACE_FORKED, "the delivery belongs to the parent process");
    }
    if (delivery->pushed) {
        return ace_fail(error, ACE_STATE,
                        "what the handler returns settles its delivery, nothing else does");
    }
    return ACE_OK;
}

ace_code ace_delivery_settle(ace_delivery *delivery, ace_outcome outcome, const char *reason,
                             ace_error **error)
{
    ace_code code = check_receiver(delivery, error);
    if (code != ACE_OK) {
        return code;
    }
    if ((int)outcome < ACE_ACCEPTED || outcome > ACE_PARKED) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "outcome is %d, it must be 0 to 3",
                        (int)outcome);
    }
    if (reason != NULL && !ace_utf8_is_valid(reason, strlen(reason))) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "reason is not UTF-8");
    }
    return ace_delivery_report(delivery, happenings[outcome], reason, error);
}

ace_code ace_delivery_put_back(ace_delivery *delivery, ace_error **error)
{
    ace_code code = check_receiver(delivery, error);
    if (code != ACE_OK) {
        return code;
    }
    return hand_over(delivery, (ace_receiver_verdict){.put_back_unchanged = true}, NULL, error);
}

void ace_delivery_free(ace_delivery *delivery)
{
    if (delivery == NULL) {
        return;
    }
    if (delivery->consumer != NULL) {
        if (ace_handle_is_foreign(&delivery->consumer->handle)) {
            return; /* its locks and its threads are the parent's */
        }
        if (!delivery->pushed && !atomic_load(&delivery->settled)) {
            (void)ace_delivery_put_back(delivery, NULL);
        }
    }
    ace_delivery_drop_views(delivery); /* it may wait here for hours, and nobody looks any more */
    ace_delivery_unref(delivery);
}

void ace_delivery_set_reason(ace_delivery *delivery, const char *reason)
{
    if (reason == NULL) {
        replace_reason(delivery, NULL);
        return;
    }
    char *copy = copy_reason(reason);
    if (copy != NULL) { /* without memory the message still goes its way */
        replace_reason(delivery, copy);
    }
}

static ace_code check_entering(const ace_delivery *delivery, ace_error **error)
{
    return delivery->entering
               ? ACE_OK
               : ace_fail(error, ACE_STATE,
                          "the envelope changes only in an interceptor's before hook");
}

ace_code ace_delivery_change_text(ace_delivery *delivery, ace_envelope_text which, const char *text,
                                  ace_error **error)
{
    ace_envelope *envelope = &delivery->envelope;
    const struct {
        const char *name;
        ace_bytes *text;
        bool always;
    } texts[] = {
        [ACE_ENVELOPE_TYPE] = {"type", &envelope->type, true},
        [ACE_ENVELOPE_CORRELATION] = {"correlation", &envelope->correlation, true},
        [ACE_ENVELOPE_CAUSATION] = {"causation", &envelope->causation, false},
        [ACE_ENVELOPE_ORIGIN] = {"origin", &envelope->origin, false},
    };
    ace_code code = check_entering(delivery, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t length = text == NULL ? 0 : strlen(text);
    if (length == 0 && texts[which].always) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is empty: every message has one",
                        texts[which].name);
    }
    if (!ace_utf8_is_valid(text == NULL ? "" : text, length)) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is not UTF-8", texts[which].name);
    }
    char *copy = ace_arena_text(&delivery->arena, text == NULL ? "" : text, length);
    if (copy == NULL) {
        return ace_fail_memory(error);
    }
    *texts[which].text = (ace_bytes){(const uint8_t *)copy, length};
    forget_envelope(delivery);
    return ACE_OK;
}

ace_code ace_delivery_change_version(ace_delivery *delivery, int32_t version, ace_error **error)
{
    ace_code code = check_entering(delivery, error);
    if (code == ACE_OK && version < 1) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "version is %d, it starts at 1", version);
    }
    if (code == ACE_OK) {
        delivery->envelope.version = version;
        forget_envelope(delivery);
    }
    return code;
}
