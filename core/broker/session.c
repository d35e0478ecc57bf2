#include "broker/session.h"

#include "broker/channel.h"
#include "broker/queue.h"
#include "wire/method.h"

#include <amqp_framing.h>
#include <stdlib.h>
#include <string.h>

#define GOODBYE_WAIT 30000 /* milliseconds for close-ok, as RabbitMQ waits */
#define LINGER_WAIT  3000  /* for the peer to read the last bytes */

int64_t ace_broker_session_clock(void)
{
    return ace_clock_monotonic(ace_clock_system());
}

static void deadline_fired(ace_timer *timer)
{
    ace_broker_session *session = ACE_RECORD(timer, ace_broker_session, deadline);

    ace_log_write(&session->core->log, ACE_LOG_INFO, "connection %s took too long",
                  ace_stream_peer(session->stream));
    ace_broker_session_kill(session);
}

/* Sends a heartbeat when nothing else was sent, and gives up on a client that has been silent for
 * two intervals. */
static void pulse_fired(ace_timer *timer)
{
    ace_broker_session *session = ACE_RECORD(timer, ace_broker_session, pulse);
    int64_t now = ace_broker_session_clock();
    int64_t interval = (int64_t)session->heartbeat * 1000;

    if (now - session->heard > 2 * interval) {
        ace_log_write(&session->core->log, ACE_LOG_WARNING, "connection %s missed heartbeats",
                      ace_stream_peer(session->stream));
        ace_broker_session_kill(session);
        return;
    }
    if (!session->wrote && session->state == ACE_SESSION_RUNNING &&
        ace_frame_write_heartbeat(&session->out, NULL) != ACE_OK)
        ace_broker_session_kill(session);
    session->wrote = false;
    if (!ace_timer_set(&session->core->session_timers, timer, now + interval / 2))
        ace_broker_session_kill(session);
}

bool ace_broker_session_set_deadline(ace_broker_session *session, int64_t wait)
{
    if (wait == ACE_NEVER) {
        ace_timer_cancel(&session->core->session_timers, &session->deadline);
        return true;
    }
    return ace_timer_set(&session->core->session_timers, &session->deadline,
                         ace_broker_session_clock() + wait);
}

ace_broker_session *ace_broker_session_make(ace_broker_core *core, ace_stream *stream)
{
    ace_broker_session *session = calloc(1, sizeof(*session));

    if (!session) {
        ace_stream_close(stream);
        return NULL;
    }
    session->core = core;
    session->stream = stream;
    session->state = ACE_SESSION_GREETING;
    session->frame_max = ACE_FRAME_MAX_DEFAULT;
    session->heard = ace_broker_session_clock();
    session->deadline.fire = deadline_fired;
    session->pulse.fire = pulse_fired;
    ace_list_init(&session->owned);
    ace_list_init(&session->confirming);
    ace_frame_reader_init(&session->reader, ACE_FRAME_SERVER);
    ace_list_append(&core->sessions, &session->link);
    if (!ace_broker_session_set_deadline(session, core->limits.handshake_wait)) {
        ace_broker_session_free(session);
        return NULL;
    }
    return session;
}

void ace_broker_session_free(ace_broker_session *session)
{
    ace_broker_core *core = session->core;

    session->state = ACE_SESSION_DEAD;
    ace_broker_session_close_channels(session);
    ace_timer_cancel(&core->session_timers, &session->deadline);
    ace_timer_cancel(&core->session_timers, &session->pulse);
    ace_list_remove(&core->sessions, &session->link);
    ace_stream_close(session->stream);
    ace_frame_reader_free(&session->reader);
    ace_buffer_free(&session->out);
    free(session->channels);
    free(session);
}

/* --- exclusive queues --- */

void ace_broker_session_own(ace_broker_queue *queue)
{
    if (queue->owner)
        ace_list_append(&queue->owner->owned, &queue->owned);
}

void ace_broker_session_disown(ace_broker_queue *queue)
{
    if (queue->owner)
        ace_list_remove(&queue->owner->owned, &queue->owned);
}

void ace_broker_session_close_channels(ace_broker_session *session)
{
    ace_link_node *node;

    for (size_t number = 1; session->channels && number <= session->channel_max; number++) {
        if (session->channels[number])
            ace_broker_channel_free(session->channels[number]);
    }
    while ((node = ace_list_first(&session->owned)))
        ace_broker_queue_delete(ACE_RECORD(node, ace_broker_queue, owned));
}

/* --- sending --- */

static bool takes_bytes(const ace_broker_session *session)
{
    return session->state < ACE_SESSION_DRAINING;
}

void ace_broker_session_send(ace_broker_session *session, uint16_t channel, amqp_method_number_t id,
                             const void *decoded)
{
    if (takes_bytes(session) &&
        ace_method_write(&session->out, channel, id, decoded, session->frame_max, NULL) != ACE_OK)
        ace_broker_session_kill(session);
}

void ace_broker_session_send_content(ace_broker_session *session, uint16_t channel,
                                     amqp_method_number_t id, const void *decoded, ace_bytes header,
                                     ace_bytes body)
{
    uint8_t *room;

    if (!takes_bytes(session))
        return;
    ace_broker_session_send(session, channel, id, decoded);
    room = ace_frame_begin(&session->out, ACE_FRAME_HEADER, channel, header.length);
    if (!room) {
        ace_broker_session_kill(session);
        return;
    }
    memcpy(room, header.data, header.length);
    if (ace_frame_write_body(&session->out, channel, body, session->frame_max, NULL) != ACE_OK)
        ace_broker_session_kill(session);
}

/* --- the end --- */

void ace_broker_session_kill(ace_broker_session *session)
{
    session->state = ACE_SESSION_DEAD;
}

void ace_broker_session_drain(ace_broker_session *session)
{
    if (session->state == ACE_SESSION_DEAD)
        return;
    session->state = ACE_SESSION_DRAINING;
    ace_timer_cancel(&session->core->session_timers, &session->pulse);
    if (!ace_broker_session_set_deadline(session, LINGER_WAIT))
        ace_broker_session_kill(session);
}

static void send_close(ace_broker_session *session, const ace_broker_fault *fault,
                       amqp_method_number_t id)
{
    amqp_connection_close_t close = {.reply_code = fault->code,
                                     .reply_text = amqp_cstring_bytes(fault->text),
                                     .class_id = ACE_METHOD_CLASS(id),
                                     .method_id = ACE_METHOD_NUMBER(id)};

    ace_log_write(&session->core->log, ACE_LOG_WARNING, "connection %s: closed with %d %s",
                  ace_stream_peer(session->stream), (int)fault->code, fault->text);
    ace_broker_session_send(session, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
}

void ace_broker_session_fail(ace_broker_session *session, const ace_broker_fault *fault,
                             amqp_method_number_t id)
{
    if (session->state >= ACE_SESSION_CLOSING)
        return;
    if (session->state < ACE_SESSION_TUNING) {
        ace_broker_session_kill(session);
        return;
    }
    ace_broker_session_close_channels(session);
    send_close(session, fault, id);
    if (session->state != ACE_SESSION_DEAD) {
        session->state = ACE_SESSION_CLOSING;
        if (!ace_broker_session_set_deadline(session, GOODBYE_WAIT))
            ace_broker_session_kill(session);
    }
}

void ace_broker_session_fail_hard(ace_broker_session *session, const ace_broker_fault *fault)
{
    if (session->state < ACE_SESSION_TUNING) {
        ace_broker_session_kill(session);
        return;
    }
    ace_broker_session_close_channels(session);
    if (session->state < ACE_SESSION_CLOSING)
        send_close(session, fault, 0);
    ace_broker_session_drain(session);
}
