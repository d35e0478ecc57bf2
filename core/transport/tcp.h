/* TCP: resolving names, connecting, listening. */
#ifndef ACE_TRANSPORT_TCP_H
#define ACE_TRANSPORT_TCP_H

#include "base/error.h"
#include "transport/stream.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct ace_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t length;
} ace_address;

typedef struct ace_address_list { /* all of one name, in the resolver's order */
    size_t count;                 /* at least 1 */
    ace_address *addresses;
    char *name; /* "host:port", IPv6 literals in brackets */
} ace_address_list;

/* Asks the resolver and blocks meanwhile, seconds if need be: never on an I/O thread. `host` is a
 * name or a literal, IPv6 with or without brackets. ACE_UNREACHABLE: the name does not resolve.
 * ACE_INVALID_ARGUMENT: port 0 or an empty host. */
ace_code ace_address_resolve(const char *host, uint16_t port, ace_address_list **list,
                             ace_error **error);
void ace_address_list_free(ace_address_list *list); /* NULL is fine */

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

#endif
