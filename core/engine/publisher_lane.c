#include "engine/publisher_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REOPEN_WAIT 1000 /* ms, where opening the channel failed */

static ace_publish *publish_of(ace_outstanding *outstanding)
{
    return ACE_RECORD(outstanding, ace_publish, outstanding);
}

static void count_result(ace_publisher_counts *counts, ace_code code)
{
    switch (code) {
    case ACE_OK:
        counts->confirmed++;
        break;
    case ACE_UNROUTABLE:
        counts->unroutable++;
        break;
    case ACE_NACKED:
        counts->nacked++;
        break;
    case ACE_UNKNOWN_OUTCOME:
        counts->unknown++;
        break;
    case ACE_REFUSED:
        counts->refused++;
        break;
    default:
        break;
    }
}

void ace_lane_finish(ace_publish *publish, ace_code code, ace_error *error)
{
    ace_publisher *publisher = publish->publisher;
    ace_publish_lane kind = publish->lane;
    ace_lane *lane = &publisher->lanes[kind];
    if (publish->stage == ACE_PUBLISH_WAITING) {
        ace_list_remove(&lane->waiting, &publish->node);
    } else if (publish->stage == ACE_PUBLISH_WRITING) {
        ace_list_remove(&lane->writing, &publish->node);
    }
    ace_confirms_forget(&lane->confirms, &publish->outstanding);
    publish->stage = ACE_PUBLISH_IDLE;
    publish->code = code;
    if (publish->error != error) {
        ace_error_free(publish->error); /* a return that something else overtook */
        publish->error = error;
    }
    count_result(&publisher->counts, code);
    ace_publish_measure_end(publish);
    size_t bytes = ace_publish_bytes(publish);
    publish->done(publish); /* which may free the record */
    ace_publisher_ended_one(publisher, kind, bytes);
}

/* Why what waits has not been sent. */
static void explain_waiting(const ace_lane *lane, char *text, size_t size)
{
    const ace_publisher *publisher = lane->publisher;
    ace_link_status status;
    ace_link_status_of(publisher->link, &status);
    if (status.state != ACE_LINK_OPEN) {
        (void)snprintf(text, size, "not connected%s%s", status.error == NULL ? "" : ": ",
                       status.error == NULL ? "" : ace_error_message(status.error));
    } else if (status.blocked) {
        (void)snprintf(text, size, "the broker is blocked: %s", status.reason);
    } else if (lane->kind != ACE_PUBLISH_HOP && atomic_load(&publisher->paused)) {
        (void)snprintf(text, size, "publishing is paused");
    } else if (lane->confirms.count >= lane->limit) {
        (void)snprintf(text, size, "%zu publishes are outstanding, the limit is %zu",
                       lane->confirms.count, lane->limit);
    } else if (ace_link_is_congested(publisher->link)) {
        (void)snprintf(text, size, "the broker does not read what was sent before");
    } else {
        (void)snprintf(text, size, "the channel is not open");
    }
}

static void expire(ace_publish *publish)
{
    ace_error *error = NULL;
    ace_code code = ACE_UNKNOWN_OUTCOME;
    if (publish->stage == ACE_PUBLISH_WAITING) {
        char reason[600];
        explain_waiting(&publish->publisher->lanes[publish->lane], reason, sizeof reason);
        code = ace_fail(&error, ACE_REFUSED, "nothing was sent: %s", reason);
    } else if (publish->stage == ACE_PUBLISH_SENT && publish->outstanding.returned) {
        code = ACE_UNROUTABLE;
        error = publish->error;
    } else {
        ace_fail(&error, code,
                 publish->stage == ACE_PUBLISH_SENT
                     ? "no confirm came in time; the message may or may not have arrived"
                     : "the connection did not take it in time; it may or may not have arrived");
    }
    ace_lane_finish(publish, code, error);
}

/* Returns the earlier of `next` and the deadline of a record that is not due. */
static int64_t expire_if_due(ace_publish *publish, int64_t next)
{
    if (publish->deadline <= ace_loop_now(publish->publisher->loop)) {
        expire(publish);
        return next;
    }
    return publish->deadline < next ? publish->deadline : next;
}

static int64_t expire_list(const ace_list *list, int64_t next)
{
    ace_link_node *node = ace_list_first(list);
    while (node != NULL) {
        ace_publish *publish = ACE_RECORD(node, ace_publish, node);
        node = ace_list_next(list, node);
        next = expire_if_due(publish, next);
    }
    return next;
}

static bool watch_deadline(ace_lane *lane, int64_t deadline)
{
    return (ace_timer_is_set(&lane->expiry) && lane->expiry.deadline <= deadline) ||
           ace_loop_timer_set(lane->publisher->loop, &lane->expiry, deadline);
}

/* One timer for all, since nearly every publish ends long before its deadline. */
static void look_for_due(ace_timer *timer)
{
    ace_lane *lane = ACE_RECORD(timer, ace_lane, expiry);
    int64_t next = expire_list(&lane->waiting, ACE_NEVER);
    next = expire_list(&lane->writing, next);
    ace_outstanding *outstanding;
    for (uint64_t from = 0; (outstanding = ace_confirms_from(&lane->confirms, from)) != NULL;) {
        from = outstanding->sequence + 1;
        next = expire_if_due(publish_of(outstanding), next);
    }
    if (next != ACE_NEVER && !watch_deadline(lane, next)) {
        ace_error *error = NULL;
        (void)ace_fail_memory(&error);
        ace_link_fail(lane->publisher->link, error);
    }
    ace_lane_pump(lane);
}

void ace_lane_cancel(ace_publish *publish)
{
    ace_error *error = NULL;
    ace_fail(&error, ACE_CANCELLED,
             publish->stage == ACE_PUBLISH_WAITING
                 ? "the publish was cancelled; nothing was sent"
                 : "the publish was cancelled; the message may or may not have arrived");
    ace_lane_finish(publish, ACE_CANCELLED, error);
}

static void refuse_closed(ace_publish *publish)
{
    ace_error *error = NULL;
    ace_link_status status;
    ace_link_status_of(publish->publisher->link, &status);
    ace_fail(&error, ACE_CLOSED, "nothing was sent: the connection was closed%s%s",
             status.error == NULL ? "" : ": ",
             status.error == NULL ? "" : ace_error_message(status.error));
    ace_lane_finish(publish, ACE_CLOSED, error);
}

static bool link_has_ended(const ace_publisher *publisher)
{
    ace_link_status status;
    ace_link_status_of(publisher->link, &status);
    return status.state == ACE_LINK_CLOSED || status.state == ACE_LINK_CLOSING;
}

static ace_code open_channel(ace_lane *lane, ace_error **error);

void ace_lane_arrive(ace_lane *lane, ace_publish *publish)
{
    ace_publisher *publisher = lane->publisher;
    publish->stage = ACE_PUBLISH_WAITING;
    ace_list_append(&lane->waiting, &publish->node);
    if (publisher->ended || link_has_ended(publisher)) {
        refuse_closed(publish);
        return;
    }
    if (publish->deadline == 0) {
        int64_t now = ace_loop_now(publisher->loop);
        int64_t wait = publish->wait > 0 ? publish->wait : publisher->settings->confirm_timeout;
        publish->deadline = wait > ACE_NEVER - now ? ACE_NEVER : now + wait;
    }
    if (!watch_deadline(lane, publish->deadline)) {
        ace_error *error = NULL;
        ace_code code = ace_fail_memory(&error);
        ace_lane_finish(publish, code, error);
        return;
    }
    ace_error *error = NULL;
    ace_code code = lane->channel == NULL ? open_channel(lane, &error) : ACE_OK;
    if (code != ACE_OK) {
        ace_lane_finish(publish, code, error);
        return;
    }
    ace_lane_pump(lane);
}

static bool can_send(const ace_lane *lane)
{
    const ace_publisher *publisher = lane->publisher;
    if (!lane->ready || publisher->blocked || ace_link_is_congested(publisher->link)) {
        return false;
    }
    return lane->kind == ACE_PUBLISH_HOP ||
           (!atomic_load(&publisher->paused) && lane->confirms.count < lane->limit);
}

static void send_one(ace_lane *lane, ace_publish *publish)
{
    ace_error *error = NULL;
    ace_code code = ACE_OK;
    if (!ace_confirms_reserve(&lane->confirms)) {
        code = ace_fail_memory(&error);
    } else {
        ace_bytes frames = {publish->frames.data, publish->heads};
        code = ace_channel_publish(lane->channel, frames, publish->header, publish->body, &error);
    }
    if (code != ACE_OK) {
        ace_lane_finish(publish, code, error);
        return;
    }
    ace_list_remove(&lane->waiting, &publish->node);
    if (lane->confirming) {
        publish->stage = ACE_PUBLISH_SENT;
        ace_confirms_add(&lane->confirms, &publish->outstanding);
    } else {
        publish->stage = ACE_PUBLISH_WRITING;
        publish->written = ace_channel_queued(lane->channel);
        ace_list_append(&lane->writing, &publish->node);
    }
}

void ace_lane_pump(ace_lane *lane)
{
    ace_link_node *node;
    while (can_send(lane) && (node = ace_list_first(&lane->waiting)) != NULL) {
        send_one(lane, ACE_RECORD(node, ace_publish, node));
    }
}

static void settled(ace_outstanding *outstanding, bool acknowledged, void *user)
{
    ace_publish *publish = publish_of(outstanding);
    (void)user;
    if (outstanding->returned) {
        ace_lane_finish(publish, ACE_UNROUTABLE, publish->error);
    } else if (acknowledged) {
        ace_lane_finish(publish, ACE_OK, NULL);
    } else {
        ace_error *error = NULL;
        ace_fail(&error, ACE_NACKED, "the broker did not take the message (nack)");
        ace_lane_finish(publish, ACE_NACKED, error);
    }
}

static void take_method(ace_channel *channel, const amqp_method_t *method, void *user)
{
    ace_lane *lane = user;
    (void)channel;
    if (!lane->confirming) {
        return;
    }
    lane->lasted = true;
    if (method->id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = method->decoded;
        ace_confirms_settle(&lane->confirms, ack->delivery_tag, ack->multiple, true, settled, lane);
    } else if (method->id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *nack = method->decoded;
        ace_confirms_settle(&lane->confirms, nack->delivery_tag, nack->multiple, false, settled,
                            lane);
    }
    ace_lane_pump(lane);
}

static ace_bytes bytes_of(amqp_bytes_t bytes)
{
    return (ace_bytes){bytes.bytes, bytes.len};
}

static void take_return(ace_channel *channel, ace_content *content, void *user)
{
    ace_lane *lane = user;
    (void)channel;
    if (content->method.id != AMQP_BASIC_RETURN_METHOD) {
        ace_content_free(content);
        return;
    }
    const amqp_basic_return_t *method = content->method.decoded;
    const amqp_basic_properties_t *properties = content->properties;
    bool has_id = (properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0;
    ace_returned returned = {
        .exchange = bytes_of(method->exchange),
        .routing_key = bytes_of(method->routing_key),
        .message_id = has_id ? bytes_of(properties->message_id) : (ace_bytes){NULL, 0},
        .properties = content->properties_raw,
        .body_size = content->skipped > 0 ? content->skipped : content->body.length,
    };
    ace_error *error = NULL;
    ace_fail(&error, ACE_UNROUTABLE,
             "the broker returned the message for exchange '%.*s', routing key '%.*s': %u %.*s",
             (int)method->exchange.len, (const char *)method->exchange.bytes,
             (int)method->routing_key.len, (const char *)method->routing_key.bytes,
             method->reply_code, (int)method->reply_text.len,
             (const char *)method->reply_text.bytes);
    ace_error_set_reply(&error, method->reply_code);
    ace_outstanding *outstanding = ace_confirms_match(&lane->confirms, &returned);
    if (outstanding != NULL) {
        publish_of(outstanding)->error = error;
    } else {
        if (lane->publisher->returned != NULL) {
            lane->publisher->returned(error, lane->publisher->returned_user);
        }
        ace_error_free(error);
    }
    ace_content_free(content);
}

/* The broker closes a channel over a publish without saying which: it names the exchange. */
static bool is_culprit(const ace_publish *publish, const ace_error *error, bool alone)
{
    int reply = ace_error_reply(error);
    const char *message = ace_error_message(error);
    if (reply == 0 || strstr(message, "basic.publish") == NULL) {
        return false;
    }
    if (alone) {
        return true;
    }
    char quoted[300];
    ace_bytes exchange = publish->outstanding.exchange;
    (void)snprintf(quoted, sizeof quoted, "exchange '%.*s'", (int)exchange.length,
                   (const char *)exchange.data);
    return (reply == 403 || reply == 404) && strstr(message, quoted) != NULL;
}

static void lose_one(ace_publish *publish, const ace_error *cause, bool alone)
{
    ace_error *error = NULL;
    if (publish->outstanding.returned) { /* that much is known */
        ace_lane_finish(publish, ACE_UNROUTABLE, publish->error);
        return;
    }
    if (is_culprit(publish, cause, alone)) {
        ace_lane_finish(publish, ace_error_code(cause), ace_error_copy(cause));
        return;
    }
    ace_fail(&error, ACE_UNKNOWN_OUTCOME, "the message may or may not have arrived: %s",
             ace_error_message(cause));
    ace_lane_finish(publish, ACE_UNKNOWN_OUTCOME, error);
}

static void lose_sent(ace_lane *lane, const ace_error *error)
{
    bool alone = lane->confirms.count == 1;
    ace_outstanding *outstanding;
    while ((outstanding = ace_confirms_take(&lane->confirms)) != NULL) {
        lose_one(publish_of(outstanding), error, alone);
    }
    ace_confirms_restart(&lane->confirms);
    ace_link_node *node;
    while ((node = ace_list_first(&lane->writing)) != NULL) {
        lose_one(ACE_RECORD(node, ace_publish, node), error, false);
    }
}

static void refuse_waiting(ace_lane *lane)
{
    ace_link_node *node;
    while ((node = ace_list_first(&lane->waiting)) != NULL) {
        refuse_closed(ACE_RECORD(node, ace_publish, node));
    }
}

static void reopen_now(ace_timer *timer)
{
    ace_channel_reopen(ACE_RECORD(timer, ace_lane, reopen)->channel);
}

static void lost(ace_channel *channel, const ace_error *error, bool comes_back, void *user)
{
    ace_lane *lane = user;
    lane->ready = false;
    lose_sent(lane, error);
    if (link_has_ended(lane->publisher)) {
        refuse_waiting(lane);
    } else if (!comes_back) {
        ace_log_write(&lane->publisher->settings->log, ACE_LOG_WARNING, "publishing channel: %s",
                      ace_error_message(error));
        int64_t wait = lane->lasted ? 0 : REOPEN_WAIT;
        lane->lasted = false;
        if (!ace_loop_timer_set(lane->publisher->loop, &lane->reopen,
                                ace_loop_now(lane->publisher->loop) + wait)) {
            ace_channel_reopen(channel);
        }
    }
}

static void selected(ace_call *call, const amqp_method_t *reply, ace_content *content,
                     const ace_error *error)
{
    (void)call;
    (void)reply;
    (void)content;
    (void)error; /* the channel is lost then, which is told apart */
}

static void opened(ace_channel *channel, void *user)
{
    ace_lane *lane = user;
    ace_error *error = NULL;
    if (lane->confirming) {
        amqp_confirm_select_t select = {.nowait = false};
        lane->select = (ace_call){.done = selected};
        if (ace_channel_call(channel, &lane->select, AMQP_CONFIRM_SELECT_METHOD, &select, &error) !=
            ACE_OK) {
            ace_link_fail(lane->publisher->link, error);
            return;
        }
    }
    lane->ready = true;
    ace_lane_pump(lane);
}

static void room(ace_channel *channel, void *user)
{
    (void)channel;
    ace_lane_pump(user);
}

static void written(ace_channel *channel, uint64_t mark, void *user)
{
    ace_lane *lane = user;
    (void)channel;
    ace_link_node *node;
    while ((node = ace_list_first(&lane->writing)) != NULL) {
        ace_publish *publish = ACE_RECORD(node, ace_publish, node);
        if (publish->written > mark) {
            return;
        }
        lane->lasted = true;
        ace_lane_finish(publish, ACE_OK, NULL);
    }
}

static ace_code open_channel(ace_lane *lane, ace_error **error)
{
    static const ace_channel_handler handler = {.opened = opened,
                                                .lost = lost,
                                                .content = take_return,
                                                .method = take_method,
                                                .room = room,
                                                .written = written};
    ace_error *failure = NULL;
    lane->channel = ace_channel_new(lane->publisher->link, &handler, lane, &failure);
    return lane->channel == NULL ? ace_error_move(error, failure) : ACE_OK;
}

ace_code ace_lane_init(ace_lane *lane, ace_publisher *publisher, ace_publish_lane kind,
                       ace_error **error)
{
    bool is_hop = kind == ACE_PUBLISH_HOP;
    lane->publisher = publisher;
    lane->kind = kind;
    lane->confirming = is_hop || (kind == ACE_PUBLISH_APPLICATION && publisher->settings->confirms);
    lane->limit = is_hop ? SIZE_MAX : publisher->settings->outstanding_limit;
    lane->reopen.fire = reopen_now;
    lane->expiry.fire = look_for_due;
    ace_confirms_init(&lane->confirms);
    ace_list_init(&lane->waiting);
    ace_list_init(&lane->writing);
    return kind == ACE_PUBLISH_UNCONFIRMED ? ACE_OK : open_channel(lane, error);
}

void ace_lane_close(ace_lane *lane)
{
    ace_error *error = NULL;
    lane->ready = false;
    ace_loop_timer_cancel(lane->publisher->loop, &lane->reopen);
    ace_channel_close(lane->channel);
    lane->channel = NULL;
    ace_fail(&error, ACE_CLOSED, "the connection was closed");
    lose_sent(lane, error);
    ace_error_free(error);
    refuse_waiting(lane);
    ace_loop_timer_cancel(lane->publisher->loop, &lane->expiry);
    ace_confirms_free(&lane->confirms);
}
