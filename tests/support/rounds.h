/* How often a test repeats a random case. Under a tool that makes everything twenty times slower,
 * ACEMQ_TEST_FEWER says what part of the full count is enough there; a run without it has all.
 */
#ifndef ACE_TEST_ROUNDS_H
#define ACE_TEST_ROUNDS_H

#include <stdlib.h>

/* Also of what is expected to come up among so many. */
static inline int rounds(int full)
{
    const char *fewer = getenv("ACEMQ_TEST_FEWER");
    int part = fewer == NULL ? 1 : atoi(fewer);
    return part > 1 && full > part ? full / part : full;
}

#endif
