/*
 * Time, injectable. Waits and deadlines are monotonic, times in headers are wall time; both are
 * milliseconds. The engine reads no other clock, so that a test can own the time.
 */
#ifndef ACE_BASE_CLOCK_H
#define ACE_BASE_CLOCK_H

#include <stdint.h>

#define ACE_NEVER INT64_MAX

typedef struct ace_clock ace_clock;

typedef void ace_clock_waker(void *user);

/* The machine's clock: CLOCK_MONOTONIC and CLOCK_REALTIME. Static, never freed. */
ace_clock *ace_clock_system(void);

/* A clock that stands still until it is advanced; advancing wakes every watcher. Any thread may
 * read and advance it. */
ace_clock *ace_clock_manual(int64_t monotonic, int64_t wall); /* NULL when memory is gone */
void ace_clock_advance(ace_clock *clock, int64_t milliseconds);
void ace_clock_free(ace_clock *clock); /* manual clocks only; NULL and the system clock are fine */

int64_t ace_clock_monotonic(const ace_clock *clock);
int64_t ace_clock_wall(const ace_clock *clock);

/* How long poll(2) may sleep for `deadline` (monotonic, ACE_NEVER for none): 0 when it is past, -1
 * for ever. A manual clock always answers 0 or -1, because its time passes only by advancing. */
int ace_clock_poll_timeout(const ace_clock *clock, int64_t deadline);

/* `wake` is called from the advancing thread after each advance, and not any more once unwatch has
 * returned. It may read the clock, but not advance, watch or unwatch it; nor may a thread that does
 * these hold a lock that `wake` takes. Returns 0 on success, -1 without memory. The system clock
 * ignores watchers. */
int ace_clock_watch(ace_clock *clock, ace_clock_waker *wake, void *user);
void ace_clock_unwatch(ace_clock *clock, ace_clock_waker *wake, void *user);

#endif
