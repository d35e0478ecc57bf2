/* The inside of one connection of the scripted peer. */
#ifndef ACEMQ_TESTS_SCRIPTED_PEER_SIDE_H
#define ACEMQ_TESTS_SCRIPTED_PEER_SIDE_H

#include "base/thread.h"
#include "support/scripted_peer.h"
#include "transport/stream.h"
#include "wire/frame.h"

#include <setjmp.h>

#define PEER_CHANNELS 64

struct peer_side {
    scripted_peer *peer;
    int index;
    ace_thread thread;
    jmp_buf end; /* where a failed step goes */
    ace_stream *stream;
    ace_frame_reader reader;
    ace_buffer output;
    amqp_pool_t pool;
    ace_assembly assemblies[PEER_CHANNELS];
    uint32_t frame_max;
    int patience;
    peer_pieces pieces;
    amqp_connection_tune_ok_t tuned;
};

void peer_side_init(peer_side *side, scripted_peer *peer, ace_stream *stream);
void peer_side_free(peer_side *side);
void peer_record_failure(scripted_peer *peer, const char *text);
int peer_stop_descriptor(const scripted_peer *peer);

/* The next frame of any kind; false when the client has hung up. Fails the step after the patience,
 * or answers ACE_FRAME_NONE when `wait` (in ms, -1 for the patience) is over. */
bool peer_next_frame(peer_side *side, ace_frame *frame, int wait);
void peer_flush(peer_side *side);

#endif
