#include "base/clock.h"

#include "base/thread.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

typedef struct watcher {
    struct watcher *next;
    ace_clock_waker *wake;
    void *user;
} watcher;

/* The times are atomic so that a watcher may read the clock while it is called under the lock. */
struct ace_clock {
    bool is_manual;
    atomic_llong monotonic;
    atomic_llong wall;
    ace_mutex lock; /* held while the watchers are called: after unwatch none comes any more */
    watcher *watchers;
};

static ace_clock system_clock = {.is_manual = false};

ace_clock *ace_clock_system(void)
{
    return &system_clock;
}

ace_clock *ace_clock_manual(int64_t monotonic, int64_t wall)
{
    ace_clock *clock = calloc(1, sizeof *clock);
    if (clock == NULL) {
        return NULL;
    }
    if (ace_mutex_init(&clock->lock, NULL) != ACE_OK) {
        free(clock);
        return NULL;
    }
    clock->is_manual = true;
    atomic_init(&clock->monotonic, monotonic);
    atomic_init(&clock->wall, wall);
    return clock;
}

void ace_clock_advance(ace_clock *clock, int64_t milliseconds)
{
    if (!clock->is_manual) {
        return;
    }
    ace_mutex_lock(&clock->lock);
    atomic_fetch_add(&clock->monotonic, milliseconds);
    atomic_fetch_add(&clock->wall, milliseconds);
    for (watcher *each = clock->watchers; each != NULL; each = each->next) {
        each->wake(each->user);
    }
    ace_mutex_unlock(&clock->lock);
}

void ace_clock_free(ace_clock *clock)
{
    if (clock == NULL || !clock->is_manual) {
        return;
    }
    while (clock->watchers != NULL) {
        watcher *next = clock->watchers->next;
        free(clock->watchers);
        clock->watchers = next;
    }
    ace_mutex_destroy(&clock->lock);
    free(clock);
}

static int64_t read_system(clockid_t id)
{
    struct timespec now;
    /* Both clocks exist on every Linux, and the pointer is good: nothing is left that could fail.
     */
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t ace_clock_monotonic(const ace_clock *clock)
{
    return clock->is_manual ? atomic_load(&clock->monotonic) : read_system(CLOCK_MONOTONIC);
}

int64_t ace_clock_wall(const ace_clock *clock)
{
    return clock->is_manual ? atomic_load(&clock->wall) : read_system(CLOCK_REALTIME);
}

int ace_clock_poll_timeout(const ace_clock *clock, int64_t deadline)
{
    if (deadline == ACE_NEVER) {
        return -1;
    }
    int64_t now = ace_clock_monotonic(clock);
    if (deadline <= now) {
        return 0;
    }
    if (clock->is_manual) {
        return -1;
    }
    /* `now` was rounded down, so this never wakes before the deadline. */
    int64_t left = deadline - now;
    return left > INT_MAX ? INT_MAX : (int)left;
}

int ace_clock_watch(ace_clock *clock, ace_clock_waker *wake, void *user)
{
    if (!clock->is_manual) {
        return 0;
    }
    watcher *made = malloc(sizeof *made);
    if (made == NULL) {
        return -1;
    }
    made->wake = wake;
    made->user = user;
    ace_mutex_lock(&clock->lock);
    made->next = clock->watchers;
    clock->watchers = made;
    ace_mutex_unlock(&clock->lock);
    return 0;
}

void ace_clock_unwatch(ace_clock *clock, ace_clock_waker *wake, void *user)
{
    if (!clock->is_manual) {
        return;
    }
    ace_mutex_lock(&clock->lock);
    watcher **place = &clock->watchers;
    while (*place != NULL && ((*place)->wake != wake || (*place)->user != user)) {
        place = &(*place)->next;
    }
    watcher *found = *place;
    if (found != NULL) {
        *place = found->next;
    }
    ace_mutex_unlock(&clock->lock);
    free(found);
}
