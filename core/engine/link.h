/*
 * A link is one AMQP connection to the broker that comes back: an I/O thread with its loop, the
 * login, the heartbeats, and the channels that live on it (engine/channel.h). A client has two, one
 * that publishes and one that consumes.
 *
 * Everything about a link, its channels and what hangs on them happens on its loop's thread. Each
 * successful open is an epoch, counted from 1: what belongs to an earlier one (delivery tags,
 * sequence numbers) means nothing in the next.
 */
#ifndef ACE_ENGINE_LINK_H
#define ACE_ENGINE_LINK_H

#include "base/error.h"
#include "base/list.h"
#include "engine/cancel.h"
#include "engine/loop.h"
#include "engine/settings.h"
#include "engine/url.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_link ace_link;

typedef enum ace_link_state {
    ACE_LINK_IDLE = 0,       /* made, not asked to connect yet */
    ACE_LINK_CONNECTING = 1, /* resolving, connecting, logging in */
    ACE_LINK_OPEN = 2,
    ACE_LINK_WAITING = 3, /* lost; tries again after a wait */
    ACE_LINK_CLOSING = 4, /* connection.close is on its way */
    ACE_LINK_CLOSED = 5,  /* for good: asked to, not to come back, or refused ten times in a row */
} ace_link_state;

typedef struct ace_link_limits { /* as negotiated */
    uint16_t channel_max;        /* the highest channel number, 1 to 65535 */
    uint32_t frame_max;          /* bytes of a whole frame, 4096 to 2^31 - 1 */
    uint16_t heartbeat;          /* seconds; 0: none */
} ace_link_limits;

typedef struct ace_link_status {
    ace_link_state state;
    uint64_t epoch; /* of the present or the last open; 0: never was */
    int64_t wait;   /* WAITING: milliseconds until the next try; else -1 */
    const ace_error
        *error;   /* why it is not open; NULL when there is no reason. Borrowed for the call */
    bool blocked; /* the broker takes no publishes (connection.blocked) */
    const char *reason; /* the broker's words for that, else "" */
} ace_link_status;

/* Called on the loop's thread at every change of state, and of `blocked`. May not add or remove
 * listeners. */
typedef struct ace_link_listener ace_link_listener;
struct ace_link_listener {
    ace_link_node node;
    void (*changed)(ace_link_listener *listener, const ace_link_status *status);
};

/* Makes a link in state IDLE and starts its thread. `settings` (a checked copy), `url` and `role`,
 * a word for messages ("publishing"), are borrowed until ace_link_free(). ACE_SYSTEM,
 * ACE_OUT_OF_MEMORY. */
ace_code ace_link_new(const ace_settings *settings, const ace_url *url, const char *role,
                      ace_link **link, ace_error **error);

/* The first connect; blocks until the link is open, `deadline` (monotonic, of the system's clock)
 * passes or `cancel` fires. It fails at once, without a second try, and leaves the link CLOSED:
 * ACE_UNREACHABLE, ACE_LOGIN_REFUSED, ACE_VHOST_REFUSED, ACE_PROTOCOL, ACE_CONNECTION_LOST (the
 * peer hung up during the handshake), ACE_TIMEOUT, ACE_CANCELLED, and what the credentials callback
 * answers. The texts name host, port, user and vhost, never the password. */
ace_code ace_link_connect(ace_link *link, int64_t deadline, ace_cancel *cancel, ace_error **error);

/* Says goodbye (connection.close) and waits for the answer until `deadline`, then ends the thread.
 * Output that was queued before goes out first. A broker that reads nothing at present (blocked) is
 * not waited for. Channels are lost with ACE_CLOSED. Never from the loop's thread; again is fine.
 */
void ace_link_close(ace_link *link, int64_t deadline);
void ace_link_free(ace_link *link); /* closed, or in a child of fork; NULL is fine */
/* In a child of fork: closes the descriptors, tells nobody, takes no lock. ace_link_free() may
 * follow. */
void ace_link_abandon(ace_link *link);

/* Any thread. */
ace_loop *ace_link_loop(const ace_link *link);
const char *ace_link_role(const ace_link *link);
bool ace_link_is_open(const ace_link *link);
uint32_t ace_link_frame_max(const ace_link *link); /* before the first open: what is offered */

typedef struct ace_link_description {
    ace_link_state state;
    uint64_t epoch;
    ace_link_limits limits; /* of the present or the last epoch; zeros before */
    bool blocked;
    char reason[256]; /* of being blocked */
    char place[300];  /* "host:port" */
    ace_error *error; /* why it is not open; a copy the caller frees, may be NULL */
} ace_link_description;

void ace_link_describe(ace_link *link, ace_link_description *description);

/* The rest is for the loop's thread. */
const ace_settings *ace_link_settings(const ace_link *link);
void ace_link_status_of(const ace_link *link, ace_link_status *status);
uint64_t ace_link_epoch(const ace_link *link);
const ace_link_limits *ace_link_limits_of(const ace_link *link);
void ace_link_listen(ace_link *link, ace_link_listener *listener);
void ace_link_unlisten(ace_link *link, ace_link_listener *listener); /* fine when not listening */

/* Gives the connection up, without a goodbye, at the end of the present turn; it comes back as
 * after any loss. Takes the error over (may not be NULL). Does nothing when the link is not open or
 * connecting. */
void ace_link_fail(ace_link *link, ace_error *error);

/* Writes what the socket takes at present, for whom the end of the turn is too late. Not from
 * inside a channel's handler. */
void ace_link_flush(ace_link *link);

/* More output waits than the peer takes at present: what can wait should. Channels hear of room
 * again by their handler's `room`. */
bool ace_link_is_congested(const ace_link *link);

#endif
