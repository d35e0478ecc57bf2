/* Timers in one binary heap: adding, cancelling and firing cost O(log n), and a timer is part of
 * the record it belongs to, so that ten thousand waits cost no allocation of their own. Not
 * thread-safe: a heap belongs to one loop. */
#ifndef ACE_BASE_TIMER_H
#define ACE_BASE_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ace_timer ace_timer;
typedef void ace_timer_fire(ace_timer *timer);

/* Zeroed by its owner but for `fire`; the rest is the heap's. */
struct ace_timer {
    int64_t deadline;     /* monotonic milliseconds */
    size_t position;      /* in the heap, counted from 1; 0: not set; SIZE_MAX: about to fire */
    ace_timer_fire *fire; /* set by the owner before adding */
    uint64_t order;       /* of two with the same deadline, the one set first fires first */
    ace_timer *previous;  /* among those about to fire */
    ace_timer *next;
};

typedef struct ace_timer_heap {
    ace_timer **timers;
    size_t count;
    size_t capacity;
    uint64_t order;
    ace_timer *due_first; /* not empty only inside ace_timer_run() */
    ace_timer *due_last;
} ace_timer_heap;

#define ACE_TIMER_HEAP_INIT                                                                        \
    {                                                                                              \
        NULL, 0, 0, 0, NULL, NULL                                                                  \
    }

/* Sets or moves a timer. False when memory is gone (only when the heap has to grow); the timer is
 * then not set. */
bool ace_timer_set(ace_timer_heap *heap, ace_timer *timer, int64_t deadline);
void ace_timer_cancel(ace_timer_heap *heap, ace_timer *timer); /* fine when not set */
bool ace_timer_is_set(const ace_timer *timer);
int64_t ace_timer_next(const ace_timer_heap *heap); /* ACE_NEVER when empty */
/* Fires every timer whose deadline is at or before `now`, earliest first; a timer set while firing
 * for a time at or before `now` fires in the next call. What fires may set and cancel any timer,
 * itself and those about to fire included, and free the record of its own. Returns how many fired.
 */
size_t ace_timer_run(ace_timer_heap *heap, int64_t now);
void ace_timer_heap_free(
    ace_timer_heap *heap); /* the timers left are their owners'; they become not set */

#endif
