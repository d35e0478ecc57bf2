/*
 * The broker of the client's simulation: at first it answers as a broker does, up to a request the
 * input names, and from there on it does what the input says, until that is used up; then it hangs
 * up. Whatever the client writes to it must be AMQP.
 */
#ifndef ACE_TESTS_FUZZ_HOSTILE_BROKER_H
#define ACE_TESTS_FUZZ_HOSTILE_BROKER_H

#include "fuzz/fuzz.h"
#include "fuzz/memory_stream.h"
#include "wire/frame.h"

#include <amqp.h>
#include <amqp_framing.h>

#define HOSTILE_CONNECTIONS 24 /* further ones are refused */
#define HOSTILE_REQUESTS    64

typedef struct hostile_request {
    uint16_t channel;
    amqp_method_number_t id; /* 0: the protocol header */
    char name[256];          /* of the queue, or the consumer's tag */
} hostile_request;

typedef struct hostile_connection {
    memory_stream *stream;
    ace_frame_reader reader;
    hostile_request requests[HOSTILE_REQUESTS]; /* unanswered, the oldest first */
    size_t request_count;
    unsigned trust; /* requests that are answered as they come */
    bool hung_up;
    uint16_t consuming; /* the channel of the latest basic.consume; 0: none */
    char tag[256];
    uint64_t delivered;
    uint64_t published;
} hostile_connection;

typedef struct hostile_broker {
    fuzz_input *input;
    hostile_connection connections[HOSTILE_CONNECTIONS];
    size_t count;
    uint8_t trust[2]; /* of the first two connections; later ones are the last one's like */
} hostile_broker;

bool hostile_broker_turn(void *broker);
memory_stream *hostile_broker_accept(void *broker);
/* All connections are closed by the client. */
void hostile_broker_free(hostile_broker *broker);

#endif
