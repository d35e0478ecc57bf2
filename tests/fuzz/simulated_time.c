#include "fuzz/simulated_time.h"

#include "base/clock.h"

#define START      INT64_C(1000000)
#define WALL_START INT64_C(1770091506000)

static int64_t now = START;

/* The linker puts these in the place of the functions without "__wrap_". */
int64_t __wrap_ace_clock_monotonic(const ace_clock *clock);
int64_t __wrap_ace_clock_wall(const ace_clock *clock);

void simulated_time_reset(void)
{
    now = START;
}

int64_t simulated_time_now(void)
{
    return now;
}

void simulated_time_advance(int64_t milliseconds)
{
    now += milliseconds;
}

int64_t __wrap_ace_clock_monotonic(const ace_clock *clock)
{
    (void)clock;
    return now;
}

int64_t __wrap_ace_clock_wall(const ace_clock *clock)
{
    (void)clock;
    return now - START + WALL_START;
}
