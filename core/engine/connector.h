/*
 * The part of a connect that blocks: credentials, the resolver, the TCP and TLS handshakes,
 * starting a memory broker. It runs on a short-lived thread of its own, which nobody waits for: a
 * resolver that hangs holds up neither the I/O thread nor a close.
 */
#ifndef ACE_ENGINE_CONNECTOR_H
#define ACE_ENGINE_CONNECTOR_H

#include "base/error.h"
#include "broker/broker.h"
#include "engine/loop.h"
#include "engine/settings.h"
#include "engine/url.h"
#include "transport/stream.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ace_connector ace_connector;

typedef struct ace_connected {
    ace_error *error; /* owned; NULL: it worked, and the rest is set */
    ace_stream *stream;
    ace_broker *broker; /* one reference; NULL where the stream goes elsewhere */
    ace_credentials credentials;
    size_t host;         /* which of the URL's the stream goes to */
    ace_error *refusals; /* owned; of the hosts that were tried before that one; NULL */
} ace_connected;

/* Which of the URL's hosts to try: `count` of them in their order, from `first` on, in a circle. A
 * memory broker's URL has none. */
typedef struct ace_host_turn {
    size_t first;
    size_t count;
} ace_host_turn;

/* Starts the thread. `done` is posted to the loop when there is a result; what it stands in must
 * live until then or until ace_connector_give_up(). `deadline` is of the system's clock. Settings
 * and URL are copied. */
ace_code ace_connector_start(const ace_settings *settings, const ace_url *url, ace_host_turn turn,
                             ace_loop *loop, ace_task *done, int64_t deadline,
                             ace_connector **connector, ace_error **error);
/* The result, on the loop's thread once `done` ran; everything in it is the caller's. Ends the
 * connector. */
void ace_connector_finish(ace_connector *connector, ace_connected *connected);
/* Nobody wants the result any more: `done` is not posted from here on (it may have been before). */
void ace_connector_give_up(ace_connector *connector);
/* Whether the credentials callback is running. */
bool ace_connector_is_asking(ace_connector *connector);
/* The same as giving up, and waits until `deadline` (of the system's clock) for a credentials
 * callback that is running. Ends the connector. */
void ace_connector_abandon(ace_connector *connector, int64_t deadline);

#endif
