/* A stream over a connected, or connecting, stream socket: what TCP and pairs have in common. */
#ifndef ACE_TRANSPORT_SOCKET_STREAM_H
#define ACE_TRANSPORT_SOCKET_STREAM_H

#include "base/error.h"
#include "transport/stream.h"

#include <stdbool.h>

/* Takes over the descriptor, which is non-blocking and close-on-exec, and closes it on failure too.
 * `peer` is copied. `connecting`: a TCP connect is under way. */
ace_code ace_socket_stream_open(int descriptor, const char *peer, bool connecting,
                                ace_stream **stream, ace_error **error);

#endif
