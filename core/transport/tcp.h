/* TCP: connecting and listening. transport/address.h resolves names. */
#ifndef ACE_TRANSPORT_TCP_H
#define ACE_TRANSPORT_TCP_H

#include "base/error.h"
#include "transport/address.h"
#include "transport/stream.h"

#include <stdint.h>

/* Begins to connect to one address; ace_stream_establish() goes on with it. Small writes go out at
 * once (TCP_NODELAY) and dead peers are found (keepalive). `name` is how errors name the peer, as
 * in ace_address_list; copied. A socket that connected to itself, which the kernel makes of a port
 * that nobody listens on, is a refused connection. ACE_UNREACHABLE when it is refused at once. */
ace_code ace_tcp_connect(const ace_address *address, const char *name, ace_stream **stream,
                         ace_error **error);

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
