/* TCP: connecting and listening. transport/address.h resolves names. */
#ifndef ACE_TRANSPORT_TCP_H
#define ACE_TRANSPORT_TCP_H

#include "base/error.h"
#include "transport/address.h"
#include "transport/stream.h"

#include <stdbool.h>
#include <stdint.h>

/* How a peer that vanished is noticed. */
typedef struct ace_tcp_options {
    int32_t keepalive_idle;     /* s of silence before the first probe; 0: no keepalive */
    int32_t keepalive_interval; /* s between two probes */
    int32_t keepalive_count;    /* of probes without an answer, from which on the peer is dead */
    int32_t user_timeout; /* ms that what was sent may wait for its receipt; 0: the kernel's */
} ace_tcp_options;

#define ACE_TCP_OPTIONS_DEFAULT                                                                    \
    {                                                                                              \
        60, 10, 6, 120000                                                                          \
    }

/* Sets them, and that small writes go out at once (TCP_NODELAY). False: the kernel refused one,
 * errno says why. */
bool ace_tcp_set_options(int descriptor, const ace_tcp_options *options);
/* What is sent to a peer that reads nothing for now may wait as long as the kernel likes, or again
 * only as long as the options say. Does nothing to what is not TCP. */
void ace_tcp_set_patient(int descriptor, bool patient, const ace_tcp_options *options);

/* Begins to connect to one address; ace_stream_establish() goes on with it. `options` NULL:
 * ACE_TCP_OPTIONS_DEFAULT. `name` is how errors name the peer, as
 * in ace_address_list; copied. A socket that connected to itself, which the kernel makes of a port
 * that nobody listens on, is a refused connection. ACE_UNREACHABLE when it is refused at once. */
ace_code ace_tcp_connect(const ace_address *address, const char *name,
                         const ace_tcp_options *options, ace_stream **stream, ace_error **error);

typedef struct ace_listener ace_listener;

/* Binds and listens. Port 0 takes a free one. ACE_UNREACHABLE: the host does not resolve.
 * ACE_SYSTEM: "listening on 127.0.0.1:5672: Address already in use". */
ace_code ace_listener_open(const char *host, uint16_t port, ace_listener **listener,
                           ace_error **error);
/* READY with *stream, established; BLOCKED when nobody waits; FAILED for this call only
 * (ACE_SYSTEM, when descriptors are used up: try again later). */
ace_stream_state ace_listener_accept(ace_listener *listener, ace_stream **stream,
                                     ace_error **error);
uint16_t ace_listener_port(const ace_listener *listener);
const char *ace_listener_name(const ace_listener *listener); /* "127.0.0.1:5672" */
int ace_listener_descriptor(const ace_listener *listener);
void ace_listener_close(ace_listener *listener); /* NULL is fine; accepted streams live on */
/* Frees in a forked child: the parent goes on listening. */
void ace_listener_abandon(ace_listener *listener); /* NULL is fine */

#endif
