/* Two ends of a byte stream inside this process, buffered by the kernel and polled like any other.
 */
#ifndef ACE_TRANSPORT_PAIR_H
#define ACE_TRANSPORT_PAIR_H

#include "base/error.h"
#include "transport/stream.h"

/* Both ends are established. `name` is how errors name the peer ("memory://orders"); copied.
 * ACE_SYSTEM. */
ace_code ace_pair_open(const char *name, ace_stream **near, ace_stream **far, ace_error **error);

#endif
