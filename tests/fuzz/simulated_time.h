/* Time that passes only when a target says so. Targets that use it are linked such that the
 * library's clocks, the system's included, read it. */
#ifndef ACE_TESTS_FUZZ_SIMULATED_TIME_H
#define ACE_TESTS_FUZZ_SIMULATED_TIME_H

#include <stdint.h>

void simulated_time_reset(void);
int64_t simulated_time_now(void); /* monotonic milliseconds */
void simulated_time_advance(int64_t milliseconds);

#endif
