/* One connection: its bytes, its handshake, its end, and the channels on it. */
#ifndef ACE_BROKER_SESSION_H
#define ACE_BROKER_SESSION_H

#include "broker/state.h"
#include "transport/stream.h"
#include "wire/frame.h"

#include <amqp.h>

typedef enum ace_broker_session_state {
    ACE_SESSION_GREETING, /* the protocol header is awaited */
    ACE_SESSION_STARTING, /* start is sent */
    ACE_SESSION_TUNING,
    ACE_SESSION_OPENING,
    ACE_SESSION_RUNNING,
    ACE_SESSION_CLOSING,  /* close is sent, close-ok awaited */
    ACE_SESSION_DRAINING, /* the last bytes go out; what comes in is thrown away */
    ACE_SESSION_DEAD,     /* to be freed */
} ace_broker_session_state;

struct ace_broker_session {
    ace_link_node link; /* in core->sessions */
    ace_broker_core *core;
    ace_stream *stream;
    ace_broker_session_state state;
    ace_frame_reader reader;
    ace_buffer out;
    size_t sent;   /* of `out` */
    bool finished; /* no more is sent, and the peer knows */

    ace_broker_vhost *vhost;
    const ace_broker_user *user;
    bool notifies_cancel; /* the client's capability consumer_cancel_notify */
    bool notifies_login;  /* authentication_failure_close */
    uint32_t frame_max;
    uint16_t channel_max;
    uint16_t heartbeat;

    ace_broker_channel **channels; /* by number, 0 to channel_max; NULL before tune-ok */
    ace_list owned;                /* exclusive queues */
    ace_list confirming;           /* channels with confirms to send */

    ace_timer deadline; /* of the handshake, or of the goodbye */
    ace_timer pulse;    /* heartbeats */
    bool wrote;         /* since the last pulse */
    int64_t heard;      /* when bytes came last */
};

/* Takes the stream over, also on failure. NULL: no memory. */
ace_broker_session *ace_broker_session_make(ace_broker_core *core, ace_stream *stream);
/* Whatever its state: channels, exclusive queues and the stream go. */
void ace_broker_session_free(ace_broker_session *session);

/* --- bytes (session_io.c) --- */

/* Reads what has come and acts on it. */
void ace_broker_session_receive(ace_broker_session *session);
/* Acts on what was read but waited for the client to take what is written to it. */
void ace_broker_session_resume(ace_broker_session *session);
/* Writes what can be written. */
void ace_broker_session_flush(ace_broker_session *session);
bool ace_broker_session_wants_input(const ace_broker_session *session);
bool ace_broker_session_wants_output(const ace_broker_session *session);
/* Whether deliveries may be added to what waits to be written. */
bool ace_broker_session_has_room(const ace_broker_session *session);

/* --- sending; a failure ends the session --- */

void ace_broker_session_send(ace_broker_session *session, uint16_t channel, amqp_method_number_t id,
                             const void *decoded);
/* A content as it was published, header and body. */
void ace_broker_session_send_content(ace_broker_session *session, uint16_t channel,
                                     amqp_method_number_t id, const void *decoded, ace_bytes header,
                                     ace_bytes body);

/* --- the end --- */

/* connection.close with the fault; the rest of what comes is ignored. Before the connection is open
 * the client is trusted with nothing: it is cut off. */
void ace_broker_session_fail(ace_broker_session *session, const ace_broker_fault *fault,
                             amqp_method_number_t id);
/* The same when bytes or frames cannot be made sense of any more: no answer is awaited. */
void ace_broker_session_fail_hard(ace_broker_session *session, const ace_broker_fault *fault);
void ace_broker_session_drain(
    ace_broker_session *session); /* what is written goes out, then the stream ends */
void ace_broker_session_kill(ace_broker_session *session); /* freed in this round */

/* --- the parts of it --- */

/* A method on channel 0, or the protocol header with id 0 (handshake.c). */
void ace_broker_handshake_greet(ace_broker_session *session);
bool ace_broker_handshake_take(ace_broker_session *session, const amqp_method_t *method,
                               ace_broker_fault *fault);
/* All channels are closed, and exclusive queues deleted. */
void ace_broker_session_close_channels(ace_broker_session *session);

void ace_broker_session_own(ace_broker_queue *queue); /* an exclusive queue; any other is ignored */
void ace_broker_session_disown(ace_broker_queue *queue); /* likewise */

int64_t ace_broker_session_clock(void); /* the system's, monotonic */
bool ace_broker_session_set_deadline(ace_broker_session *session, int64_t wait);

#endif
