#include "support/scripted_peer.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/thread.h"
#include "support/scripted_peer_side.h"
#include "transport/tcp.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SIDES_MAX 64

struct scripted_peer {
    peer_script *script;
    void *user;
    ace_listener *listener;
    ace_thread acceptor;
    int stop; /* an eventfd, readable from peer_stop() on */
    char url[64];
    ace_mutex mutex; /* of what follows */
    peer_side *sides[SIDES_MAX];
    int count;
    char *failure;
};

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "scripted peer: %s failed\n", what);
        abort();
    }
}

void peer_record_failure(scripted_peer *peer, const char *text)
{
    ace_mutex_lock(&peer->mutex);
    if (peer->failure == NULL) {
        peer->failure = strdup(text);
    }
    ace_mutex_unlock(&peer->mutex);
}

int peer_stop_descriptor(const scripted_peer *peer)
{
    return peer->stop;
}

static void run_side(void *user)
{
    peer_side *side = user;
    if (setjmp(side->end) == 0) {
        side->peer->script(side, side->index, side->peer->user);
    }
    peer_hang_up(side);
}

static void start_side(scripted_peer *peer, ace_stream *stream)
{
    peer_side *side = calloc(1, sizeof *side);
    must(side != NULL, "memory");
    peer_side_init(side, peer, stream);
    ace_mutex_lock(&peer->mutex);
    must(peer->count < SIDES_MAX, "room for a connection");
    side->index = peer->count;
    peer->sides[peer->count++] = side;
    ace_mutex_unlock(&peer->mutex);
    must(ace_thread_start(&side->thread, "peer", run_side, side, NULL) == ACE_OK, "a thread");
}

static void accept_all(void *user)
{
    scripted_peer *peer = user;
    for (;;) {
        struct pollfd polled[2] = {
            {.fd = peer->stop, .events = POLLIN},
            {.fd = ace_listener_descriptor(peer->listener), .events = POLLIN},
        };
        (void)poll(polled, 2, -1);
        if (polled[0].revents != 0) {
            return;
        }
        ace_stream *stream = NULL;
        if (ace_listener_accept(peer->listener, &stream, NULL) == ACE_STREAM_READY) {
            start_side(peer, stream);
        }
    }
}

scripted_peer *peer_start(peer_script *script, void *user)
{
    scripted_peer *made = calloc(1, sizeof *made);
    must(made != NULL, "memory");
    made->script = script;
    made->user = user;
    made->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(made->stop >= 0, "eventfd");
    must(ace_mutex_init(&made->mutex, NULL) == ACE_OK, "a lock");
    must(ace_listener_open("127.0.0.1", 0, &made->listener, NULL) == ACE_OK, "listening");
    (void)snprintf(made->url, sizeof made->url, "amqp://guest:guest@127.0.0.1:%u",
                   (unsigned)ace_listener_port(made->listener));
    must(ace_thread_start(&made->acceptor, "peer-accept", accept_all, made, NULL) == ACE_OK,
         "a thread");
    return made;
}

const char *peer_url(const scripted_peer *peer)
{
    return peer->url;
}

uint16_t peer_port(const scripted_peer *peer)
{
    return ace_listener_port(peer->listener);
}

int peer_connections(scripted_peer *peer)
{
    ace_mutex_lock(&peer->mutex);
    int count = peer->count;
    ace_mutex_unlock(&peer->mutex);
    return count;
}

char *peer_stop(scripted_peer *peer)
{
    const uint64_t one = 1;
    must(write(peer->stop, &one, sizeof one) == sizeof one, "the stop");
    ace_thread_join(&peer->acceptor);
    for (int i = 0; i < peer->count; i++) {
        ace_thread_join(&peer->sides[i]->thread);
        peer_side_free(peer->sides[i]);
    }
    char *failure = peer->failure;
    ace_listener_close(peer->listener);
    close(peer->stop);
    ace_mutex_destroy(&peer->mutex);
    free(peer);
    return failure;
}
