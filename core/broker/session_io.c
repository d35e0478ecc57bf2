/* Bytes in, frames, and bytes out. */
#include "broker/channel.h"
#include "broker/queue.h"
#include "broker/session.h"
#include "wire/method.h"

#include <amqp_framing.h>
#include <sys/uio.h>

#define READ_SIZE     65536
#define READS_A_ROUND 16 /* so that one busy client does not keep the others waiting */
#define COMPACT_AT    65536
#define POOL_PAGE     4096
#define INPUT_ALLOWANCE                                                                            \
    16 /* times the limit of deliveries: then a client that never reads is not heard */

static size_t waiting(const ace_broker_session *session)
{
    return session->out.length - session->sent;
}

bool ace_broker_session_has_room(const ace_broker_session *session)
{
    return waiting(session) < session->core->limits.outgoing_bytes;
}

bool ace_broker_session_wants_input(const ace_broker_session *session)
{
    if (session->state == ACE_SESSION_DEAD)
        return false;
    return session->state == ACE_SESSION_DRAINING ||
           waiting(session) / INPUT_ALLOWANCE < session->core->limits.outgoing_bytes;
}

bool ace_broker_session_wants_output(const ace_broker_session *session)
{
    return session->state != ACE_SESSION_DEAD && waiting(session) > 0;
}

/* --- frames --- */

static void take_method_0(ace_broker_session *session, const ace_frame *frame)
{
    amqp_pool_t pool;
    amqp_method_t method;
    ace_broker_fault fault = {0};
    bool done;

    init_amqp_pool(&pool, POOL_PAGE);
    if (ace_method_decode(frame->payload, &pool, &method, NULL) == ACE_OK)
        done = ace_broker_handshake_take(session, &method, &fault);
    else
        done = ace_broker_channel_refuse_method(frame->payload, &fault);
    if (!done)
        ace_broker_session_fail(session, &fault, ace_method_id(frame->payload));
    empty_amqp_pool(&pool);
}

static void take_frame_0(ace_broker_session *session, const ace_frame *frame)
{
    if (frame->type == ACE_FRAME_METHOD)
        take_method_0(session, frame);
}

static void take_channel_frame(ace_broker_session *session, const ace_frame *frame)
{
    if (session->state == ACE_SESSION_CLOSING)
        return;
    /* Before open there are no channels, and whoever uses one is no client of AMQP. */
    if (session->state != ACE_SESSION_RUNNING) {
        ace_broker_session_kill(session);
        return;
    }
    ace_broker_channel_take(session, frame);
}

static void take_frame(ace_broker_session *session, const ace_frame *frame)
{
    if (frame->type == ACE_FRAME_PROTOCOL_HEADER)
        ace_broker_handshake_greet(session);
    else if (frame->channel == 0)
        take_frame_0(session, frame);
    else
        take_channel_frame(session, frame);
    ace_broker_turns_run(session->core);
}

/* The reader's error tells what of the frame was wrong. */
static void refuse_bytes(ace_broker_session *session, ace_error *error)
{
    ace_broker_fault fault;

    if (session->state == ACE_SESSION_GREETING) {
        /* This is how a server refuses a version, or what is no AMQP at all. */
        if (ace_frame_write_protocol_header(&session->out, NULL) == ACE_OK)
            ace_broker_session_drain(session);
        else
            ace_broker_session_kill(session);
    } else if (ace_error_code(error) == ACE_OUT_OF_MEMORY) {
        ace_broker_session_kill(session);
    } else {
        ace_broker_refuse(&fault, AMQP_FRAME_ERROR, "%s", ace_error_message(error));
        ace_broker_session_fail_hard(session, &fault);
    }
    ace_error_free(error);
}

static bool is_listening(const ace_broker_session *session)
{
    return session->state < ACE_SESSION_DRAINING && ace_broker_session_wants_input(session);
}

static void act(ace_broker_session *session)
{
    while (is_listening(session)) {
        ace_frame frame;
        ace_error *error = NULL;

        if (ace_frame_next(&session->reader, &frame, &error) != ACE_OK) {
            refuse_bytes(session, error);
            return;
        }
        if (frame.type == ACE_FRAME_NONE)
            return;
        take_frame(session, &frame);
    }
}

/* --- in --- */

static ace_stream_state discard(ace_broker_session *session)
{
    uint8_t bytes[4096];
    size_t moved;

    return ace_stream_read(session->stream, bytes, sizeof(bytes), &moved, NULL);
}

static ace_stream_state read_some(ace_broker_session *session)
{
    size_t size = 0;
    size_t moved = 0;
    uint8_t *room = ace_frame_reader_room(&session->reader, READ_SIZE, &size);
    ace_stream_state state;

    if (!room)
        return ACE_STREAM_FAILED;
    state = ace_stream_read(session->stream, room, size, &moved, NULL);
    if (state == ACE_STREAM_READY) {
        ace_frame_reader_received(&session->reader, moved);
        session->heard = ace_broker_session_clock();
    }
    return state;
}

void ace_broker_session_receive(ace_broker_session *session)
{
    for (int i = 0; i < READS_A_ROUND && ace_broker_session_wants_input(session); i++) {
        bool draining = session->state == ACE_SESSION_DRAINING;
        ace_stream_state state = draining ? discard(session) : read_some(session);

        if (state == ACE_STREAM_BLOCKED)
            break;
        if (state != ACE_STREAM_READY) {
            ace_broker_session_kill(session);
            return;
        }
        act(session);
    }
    ace_broker_channels_send_confirms(session);
}

void ace_broker_session_resume(ace_broker_session *session)
{
    if (is_listening(session) && ace_frame_reader_pending(&session->reader) > 0) {
        act(session);
        ace_broker_channels_send_confirms(session);
    }
}

/* --- out --- */

static void forget_sent(ace_broker_session *session)
{
    if (session->sent == session->out.length) {
        ace_buffer_clear(&session->out);
        session->sent = 0;
    } else if (session->sent >= COMPACT_AT && session->sent * 2 >= session->out.length) {
        ace_buffer_consume(&session->out, session->sent);
        session->sent = 0;
    }
}

void ace_broker_session_flush(ace_broker_session *session)
{
    bool had_room = ace_broker_session_has_room(session);

    while (ace_broker_session_wants_output(session)) {
        size_t moved = 0;
        struct iovec part = {session->out.data + session->sent, waiting(session)};
        ace_stream_state state = ace_stream_write(session->stream, &part, 1, &moved, NULL);

        if (state == ACE_STREAM_BLOCKED)
            break;
        if (state != ACE_STREAM_READY) {
            ace_broker_session_kill(session);
            return;
        }
        session->sent += moved;
        session->wrote = true;
    }
    forget_sent(session);
    if (!had_room && ace_broker_session_has_room(session))
        ace_broker_channels_wake_queues(session);
    if (session->state == ACE_SESSION_DRAINING && waiting(session) == 0 && !session->finished) {
        ace_stream_finish(session->stream);
        session->finished = true;
    }
}
