/*
 * The whole client on one thread, without sockets and with time that jumps: the loops, the way to
 * the broker and the waiting of blocking calls are replaced at link time (CMakeLists.txt), the rest
 * is the library as it is. A blocking call runs the loops until it ends; when none of them has
 * anything to do the broker is asked for more, and when that has nothing either, time passes until
 * the next timer. A wait that nothing could ever end is a finding.
 */
#ifndef ACE_TESTS_FUZZ_SIMULATION_H
#define ACE_TESTS_FUZZ_SIMULATION_H

#include "fuzz/memory_stream.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct simulation_broker {
    /* Does something, if only hanging up. False: nothing is left that it would do. */
    bool (*turn)(void *user);
    /* A new connection; NULL: refused. */
    memory_stream *(*accept)(void *user);
    void *user;
} simulation_broker;

void simulation_begin(const simulation_broker *broker);
void simulation_end(void); /* everything must be gone by now but the streams */

/* One step of everything; what waits until `deadline` may go on. False: the deadline has passed. */
bool simulation_run(int64_t deadline);

#endif
