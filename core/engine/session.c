#include "engine/session.h"

#include "engine/channel.h"
#include "engine/waiter.h"
#include "wire/method.h"

#include <stdlib.h>
#include <string.h>

/* What the calling thread waits for; on its stack. */
typedef struct session_request {
    ace_session *session;
    amqp_method_number_t id;
    const void *method;
    ace_waiter waiter;
    ace_call call;
    bool pending;
    bool sent;
    ace_code ended; /* how the wait ended */
    ace_code code;
    ace_error *error;
    ace_reply reply;
    ace_content *content;
    uint64_t opening;
} session_request;

struct ace_session {
    ace_link *link;
    ace_channel *channel; /* this and the next two belong to the loop's thread */
    session_request *current;
    uint64_t opening;
};

static void complete(session_request *request)
{
    request->pending = false;
    request->session->current = NULL;
    ace_waiter_complete(&request->waiter);
}

/* Takes the error over. */
static void fail(session_request *request, ace_error *error)
{
    request->code = ace_error_move(&request->error, error);
    complete(request);
}

static void copy_name(ace_reply *reply, amqp_bytes_t name)
{
    size_t length = name.len < sizeof reply->name ? name.len : sizeof reply->name - 1;
    if (length > 0) {
        memcpy(reply->name, name.bytes, length);
    }
    reply->name[length] = '\0';
}

static void read_reply(ace_reply *out, const amqp_method_t *method)
{
    out->id = method->id;
    switch (method->id) {
    case AMQP_QUEUE_DECLARE_OK_METHOD: {
        const amqp_queue_declare_ok_t *ok = method->decoded;
        out->message_count = ok->message_count;
        out->consumer_count = ok->consumer_count;
        copy_name(out, ok->queue);
        break;
    }
    case AMQP_QUEUE_PURGE_OK_METHOD:
        out->message_count = ((const amqp_queue_purge_ok_t *)method->decoded)->message_count;
        break;
    case AMQP_QUEUE_DELETE_OK_METHOD:
        out->message_count = ((const amqp_queue_delete_ok_t *)method->decoded)->message_count;
        break;
    case AMQP_BASIC_GET_OK_METHOD:
        out->message_count = ((const amqp_basic_get_ok_t *)method->decoded)->message_count;
        break;
    case AMQP_BASIC_CONSUME_OK_METHOD:
        copy_name(out, ((const amqp_basic_consume_ok_t *)method->decoded)->consumer_tag);
        break;
    case AMQP_BASIC_CANCEL_OK_METHOD:
        copy_name(out, ((const amqp_basic_cancel_ok_t *)method->decoded)->consumer_tag);
        break;
    default:
        break;
    }
}

static void answered(ace_call *call, const amqp_method_t *reply, ace_content *content,
                     const ace_error *error)
{
    session_request *asked = ACE_RECORD(call, session_request, call);
    if (!asked->pending) { /* given up while its channel was being closed */
        ace_content_free(content);
        return;
    }
    if (error != NULL) {
        fail(asked, ace_error_copy(error));
        return;
    }
    read_reply(&asked->reply, reply);
    asked->content = content;
    asked->opening = asked->session->opening;
    complete(asked);
}

static void send_now(session_request *request)
{
    ace_error *error = NULL;
    request->call = (ace_call){.done = answered};
    /* The caller's deadline bounds the wait; the channel's own must not end it earlier. */
    request->call.wait = INT64_MAX;
    request->sent = true;
    if (ace_channel_call(request->session->channel, &request->call, request->id, request->method,
                         &error) != ACE_OK) {
        request->sent = false;
        fail(request, error);
    }
}

static void channel_opened(ace_channel *channel, void *user)
{
    ace_session *session = user;
    (void)channel;
    session->opening++;
    if (session->current != NULL && !session->current->sent) {
        send_now(session->current);
    }
}

static void channel_lost(ace_channel *channel, const ace_error *error, bool comes_back, void *user)
{
    ace_session *session = user;
    (void)channel;
    /* One that was sent has its answer already; one that was not waits for the link. */
    if (session->current != NULL && !comes_back) {
        fail(session->current, ace_error_copy(error));
    }
}

static bool fail_if_closed(session_request *asked)
{
    ace_link_status status;
    ace_link_status_of(asked->session->link, &status);
    if (status.state != ACE_LINK_CLOSED && status.state != ACE_LINK_CLOSING) {
        return false;
    }
    ace_error *error = NULL;
    ace_fail(&error, ACE_CLOSED, "%s: the connection was closed%s%s", ace_method_name(asked->id),
             status.error == NULL ? "" : ": ",
             status.error == NULL ? "" : ace_error_message(status.error));
    fail(asked, error);
    return true;
}

static void start_request(void *user)
{
    session_request *asked = user;
    ace_session *session = asked->session;
    static const ace_channel_handler handler = {.opened = channel_opened, .lost = channel_lost};
    asked->pending = true;
    session->current = asked;
    if (fail_if_closed(asked)) {
        return;
    }
    if (session->channel == NULL) {
        ace_error *error = NULL;
        session->channel = ace_channel_new(session->link, &handler, session, &error);
        if (session->channel == NULL) {
            fail(asked, error);
        }
        return;
    }
    if (ace_channel_is_open(session->channel)) {
        send_now(asked);
    } else {
        ace_channel_reopen(session->channel);
    }
}

static void explain_wait(session_request *asked)
{
    ace_link_status status;
    ace_link_status_of(asked->session->link, &status);
    const char *how = asked->ended == ACE_CANCELLED ? "was cancelled" : "ran out of time";
    const char *method = ace_method_name(asked->id);
    if (asked->sent) {
        ace_fail(&asked->error, asked->ended, "%s %s; it was sent and not answered yet", method,
                 how);
    } else {
        ace_fail(&asked->error, asked->ended, "%s %s; nothing was sent%s%s", method, how,
                 status.error == NULL ? "" : ": ",
                 status.error == NULL ? "" : ace_error_message(status.error));
    }
    asked->code = asked->ended;
}

static void conclude_request(void *user)
{
    session_request *asked = user;
    ace_session *session = asked->session;
    if (!asked->pending) {
        return;
    }
    asked->pending = false;
    session->current = NULL;
    explain_wait(asked);
    if (asked->sent) { /* the late answer must not be taken for another call's */
        ace_channel_close(session->channel);
        session->channel = NULL;
    }
}

static ace_code run_request(session_request *asked, int64_t deadline, ace_cancel *cancel,
                            ace_error **error)
{
    ace_link *link = asked->session->link;
    if (ace_loop_is_any_current()) {
        return ace_fail(error, ACE_FROM_HANDLER, "%s would block a thread that may not wait",
                        ace_method_name(asked->id));
    }
    if (ace_cancel_fired(cancel)) { /* or a quick answer would win over it */
        return ace_fail(error, ACE_CANCELLED, "%s was cancelled; nothing was sent",
                        ace_method_name(asked->id));
    }
    ace_code code = ace_waiter_init(&asked->waiter, error);
    if (code != ACE_OK) {
        return code;
    }
    if (ace_loop_call(ace_link_loop(link), start_request, asked)) {
        asked->ended = ace_waiter_wait(&asked->waiter, deadline, cancel);
        /* Where the loop has ended meanwhile, its end has answered the request. */
        (void)ace_loop_call(ace_link_loop(link), conclude_request, asked);
        code = asked->code;
        if (asked->error != NULL) {
            ace_error_move(error, asked->error);
        }
    } else {
        code = ace_fail(error, ACE_CLOSED, "%s: the connection was closed",
                        ace_method_name(asked->id));
    }
    ace_waiter_destroy(&asked->waiter);
    return code;
}

ace_code ace_session_new(ace_link *link, ace_session **out, ace_error **error)
{
    ace_session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return ace_fail_memory(error);
    }
    session->link = link;
    *out = session;
    return ACE_OK;
}

static void close_channel(void *user)
{
    ace_session *session = user;
    ace_channel_close(session->channel);
    session->channel = NULL;
    /* With what was settled before: the process may end as soon as this returns. */
    ace_link_flush(session->link);
}

void ace_session_free(ace_session *session)
{
    if (session == NULL) {
        return;
    }
    /* A loop that has ended has left the channel to its link. */
    (void)ace_loop_call(ace_link_loop(session->link), close_channel, session);
    free(session);
}

ace_code ace_session_call(ace_session *session, amqp_method_number_t id, const void *method,
                          ace_reply *reply, int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    session_request asked = {.session = session, .id = id, .method = method};
    ace_code code = run_request(&asked, deadline, cancel, error);
    ace_content_free(asked.content);
    if (code == ACE_OK && reply != NULL) {
        *reply = asked.reply;
    }
    return code;
}

ace_code ace_session_get(ace_session *session, const char *queue, ace_content **content,
                         uint64_t *opening, int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    amqp_basic_get_t get = {.queue = {strlen(queue), (void *)(uintptr_t)queue}};
    session_request asked = {.session = session, .id = AMQP_BASIC_GET_METHOD, .method = &get};
    ace_code code = run_request(&asked, deadline, cancel, error);
    if (code == ACE_OK) {
        *content = asked.content;
        *opening = asked.opening;
    }
    return code;
}

typedef struct settlement {
    ace_session *session;
    uint64_t opening;
    amqp_method_number_t id;
    const void *method;
    ace_code code;
    ace_error **error;
} settlement;

static void settle_now(void *user)
{
    settlement *settled = user;
    ace_session *session = settled->session;
    if (session->channel == NULL || !ace_channel_is_open(session->channel) ||
        session->opening != settled->opening) {
        settled->code = ace_fail(settled->error, ACE_STALE,
                                 "the channel was lost; the broker has put the message back");
        return;
    }
    settled->code =
        ace_channel_send(session->channel, settled->id, settled->method, settled->error);
}

static ace_code settle(ace_session *session, uint64_t opening, amqp_method_number_t id,
                       const void *method, ace_error **error)
{
    settlement settled = {session, opening, id, method, ACE_OK, error};
    if (!ace_loop_call(ace_link_loop(session->link), settle_now, &settled)) {
        return ace_fail(error, ACE_STALE, "the connection was closed");
    }
    return settled.code;
}

ace_code ace_session_ack(ace_session *session, uint64_t opening, uint64_t tag, bool multiple,
                         ace_error **error)
{
    amqp_basic_ack_t ack = {.delivery_tag = tag, .multiple = multiple};
    return settle(session, opening, AMQP_BASIC_ACK_METHOD, &ack, error);
}

ace_code ace_session_nack(ace_session *session, uint64_t opening, uint64_t tag, bool multiple,
                          bool requeue, ace_error **error)
{
    amqp_basic_nack_t nack = {.delivery_tag = tag, .multiple = multiple, .requeue = requeue};
    return settle(session, opening, AMQP_BASIC_NACK_METHOD, &nack, error);
}

ace_code ace_link_rpc(ace_link *link, amqp_method_number_t id, const void *method, ace_reply *reply,
                      int64_t deadline, ace_cancel *cancel, ace_error **error)
{
    ace_session *session = NULL;
    ace_code code = ace_session_new(link, &session, error);
    if (code == ACE_OK) {
        code = ace_session_call(session, id, method, reply, deadline, cancel, error);
    }
    ace_session_free(session);
    return code;
}
