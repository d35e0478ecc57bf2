/*
 * The inside of a link, shared by the files that make it up: link.c (states, connecting and coming
 * back), link_stream.c (bytes and heartbeats), login.c (channel 0) and channel.c. Nobody else
 * includes this. Everything but the three atomics belongs to the loop's thread.
 */
#ifndef ACE_ENGINE_LINK_RECORD_H
#define ACE_ENGINE_LINK_RECORD_H

#include "base/buffer.h"
#include "broker/broker.h"
#include "engine/channel.h"
#include "engine/connector.h"
#include "engine/link.h"
#include "engine/loop.h"
#include "engine/waiter.h"
#include "transport/stream.h"
#include "wire/frame.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdatomic.h>

typedef enum ace_login_stage {
    ACE_LOGIN_NONE,
    ACE_LOGIN_STREAM, /* the connector is at work */
    ACE_LOGIN_START,  /* the protocol header went out */
    ACE_LOGIN_TUNE,   /* start-ok went out */
    ACE_LOGIN_OPEN,   /* tune-ok and open went out */
    ACE_LOGIN_DONE,
    ACE_LOGIN_CLOSE, /* connection.close went out */
} ace_login_stage;

typedef struct ace_channel_slot { /* of a channel number */
    ace_channel *channel;
    bool closing; /* channel.close went out: taken until its answer */
} ace_channel_slot;

struct ace_link {
    const ace_settings *settings;
    const ace_url *url;
    const char *role;
    ace_loop *loop;
    char place[300];
    char user[256]; /* of the latest login, for messages */

    atomic_bool is_open;
    atomic_uint frame_max_now;
    atomic_bool stopped; /* the loop has ended */

    ace_link_state state;
    uint64_t epoch;
    ace_link_limits limits;
    ace_error *error; /* why it is not open */
    bool blocked;
    char reason[256];
    ace_list listeners;

    /* Connecting. */
    ace_connector *connector;
    ace_connector *given_up; /* the latest one of those; its callback may still be running */
    ace_task connected;
    ace_credentials credentials; /* between connecting and login */
    ace_broker *broker;          /* of memory://, kept while the link exists */
    ace_login_stage stage;
    bool peer_tells_refusal;  /* authentication_failure_close: a hang-up is not a refused login */
    ace_host_turn turn;       /* which hosts are left to this attempt */
    ace_error *host_refusals; /* of those it tried already; NULL */
    int64_t attempt_deadline; /* of the system's clock */
    ace_timer login_limit;
    ace_timer retry;
    int64_t retry_at;
    unsigned attempts; /* since the last success that lasted */
    unsigned refusals; /* of the login, in a row */
    int64_t opened_at;
    ace_waiter *first; /* who waits for the first connect */
    ace_waiter *closer;

    /* The stream. */
    ace_stream *stream;
    ace_watch watch;
    ace_frame_reader reader;
    ace_buffer output;
    size_t output_start; /* of what was not written yet */
    uint64_t queued;     /* bytes since the stream was opened */
    uint64_t paid;       /* of these, up to the end of the latest content */
    bool congested;
    bool draining; /* reading what a failed peer left */
    ace_deferral flush;
    ace_deferral failing;
    ace_error *failure;
    ace_timer heartbeat;
    int64_t last_received;
    int64_t last_sent;
    amqp_pool_t pool; /* of the method that is being handled */

    /* Channels. */
    ace_list channels;
    ace_channel_slot *slots; /* by number; [0] is not used */
    size_t slot_count;
    ace_list graveyard; /* closed channels, freed when nothing can be inside them */
    ace_deferral burial;
};

/* link_state.c */
extern const char *const ace_link_state_names[];
void ace_link_state_init(ace_link *link);
void ace_link_set_state(ace_link *link, ace_link_state state);
void ace_link_begin(ace_link *link); /* to connect */
/* The connection is gone, or did not come about. Takes the error over. */
void ace_link_come_down(ace_link *link, ace_error *error);
void ace_link_opened(ace_link *link);       /* open-ok came */
void ace_link_said_goodbye(ace_link *link); /* close-ok came, or will not */
void ace_link_tell(ace_link *link);         /* its listeners */
void ace_link_finish_first(ace_link *link); /* the thread that waits for the first connect */

/* link_stream.c */
ace_code ace_link_attach(ace_link *link, ace_stream *stream, ace_error **error);
void ace_link_detach(ace_link *link); /* closes the stream and forgets what was under way */
void ace_link_start_heartbeats(ace_link *link);
void ace_link_flush_soon(ace_link *link);
void ace_link_write_now(ace_link *link); /* what fits into the socket; for a last word */
void ace_link_stream_init(ace_link *link);
/* Brackets the additions to link->output, so that what is queued is counted and goes out. More than
 * the output limit in methods that the peer does not read is the end of the connection. */
void ace_link_added(ace_link *link, size_t length_before);
/* The same for a content, which is only sent to a peer that reads. */
void ace_link_added_content(ace_link *link, size_t length_before);

/* login.c */
ace_code ace_login_begin(ace_link *link, ace_error **error);
void ace_login_method(ace_link *link, const amqp_method_t *method);
ace_code ace_login_say_goodbye(ace_link *link, ace_error **error);
/* What the loss of the stream means at this stage; takes `cause` over and gives it or another back.
 */
ace_error *ace_login_explain(ace_link *link, ace_error *cause);

/* channel.c */
void ace_channels_open(ace_link *link);
/* Tells every channel. `error` is borrowed. */
void ace_channels_lose(ace_link *link, const ace_error *error, bool comes_back);
void ace_channels_take(ace_link *link, const ace_frame *frame);
void ace_channels_have_room(ace_link *link);
void ace_channels_written(ace_link *link, uint64_t mark);
void ace_channels_init(ace_link *link);
void ace_channels_free(ace_link *link);

#endif
