#include "base/timer.h"

#include "base/clock.h"

#include <stdlib.h>

#define ABOUT_TO_FIRE     SIZE_MAX
#define SMALLEST_CAPACITY 16

static bool is_before(const ace_timer *a, const ace_timer *b)
{
    return a->deadline != b->deadline ? a->deadline < b->deadline : a->order < b->order;
}

/* Positions count from 1, so that 0 can say "not set" in a zeroed record. */
static void put(ace_timer_heap *heap, size_t position, ace_timer *timer)
{
    heap->timers[position - 1] = timer;
    timer->position = position;
}

static ace_timer *at(const ace_timer_heap *heap, size_t position)
{
    return heap->timers[position - 1];
}

static void move_up(ace_timer_heap *heap, ace_timer *timer)
{
    size_t position = timer->position;
    while (position > 1 && is_before(timer, at(heap, position / 2))) {
        put(heap, position, at(heap, position / 2));
        position /= 2;
    }
    put(heap, position, timer);
}

static void move_down(ace_timer_heap *heap, ace_timer *timer)
{
    size_t position = timer->position;
    while (position * 2 <= heap->count) {
        size_t child = position * 2;
        if (child < heap->count && is_before(at(heap, child + 1), at(heap, child))) {
            child++;
        }
        if (!is_before(at(heap, child), timer)) {
            break;
        }
        put(heap, position, at(heap, child));
        position = child;
    }
    put(heap, position, timer);
}

static void take_from_heap(ace_timer_heap *heap, ace_timer *timer)
{
    size_t position = timer->position;
    ace_timer *last = at(heap, heap->count);
    heap->count--;
    timer->position = 0;
    if (last == timer) {
        return;
    }
    put(heap, position, last);
    move_up(heap, last);
    move_down(heap, last);
}

static void append_due(ace_timer_heap *heap, ace_timer *timer)
{
    timer->position = ABOUT_TO_FIRE;
    timer->next = NULL;
    timer->previous = heap->due_last;
    if (heap->due_last == NULL) {
        heap->due_first = timer;
    } else {
        heap->due_last->next = timer;
    }
    heap->due_last = timer;
}

static void take_from_due(ace_timer_heap *heap, ace_timer *timer)
{
    if (timer->previous == NULL) {
        heap->due_first = timer->next;
    } else {
        timer->previous->next = timer->next;
    }
    if (timer->next == NULL) {
        heap->due_last = timer->previous;
    } else {
        timer->next->previous = timer->previous;
    }
    timer->previous = NULL;
    timer->next = NULL;
    timer->position = 0;
}

static bool grow(ace_timer_heap *heap)
{
    if (heap->count < heap->capacity) {
        return true;
    }
    size_t capacity = heap->capacity == 0 ? SMALLEST_CAPACITY : heap->capacity * 2;
    if (capacity > SIZE_MAX / sizeof(ace_timer *)) {
        return false;
    }
    ace_timer **timers = realloc(heap->timers, capacity * sizeof(ace_timer *));
    if (timers == NULL) {
        return false;
    }
    heap->timers = timers;
    heap->capacity = capacity;
    return true;
}

bool ace_timer_set(ace_timer_heap *heap, ace_timer *timer, int64_t deadline)
{
    ace_timer_cancel(heap, timer);
    if (!grow(heap)) {
        return false;
    }
    timer->deadline = deadline;
    timer->order = heap->order++;
    heap->count++;
    timer->position = heap->count;
    move_up(heap, timer);
    return true;
}

void ace_timer_cancel(ace_timer_heap *heap, ace_timer *timer)
{
    if (timer->position == ABOUT_TO_FIRE) {
        take_from_due(heap, timer);
    } else if (timer->position != 0) {
        take_from_heap(heap, timer);
    }
}

bool ace_timer_is_set(const ace_timer *timer)
{
    return timer->position != 0;
}

int64_t ace_timer_next(const ace_timer_heap *heap)
{
    if (heap->due_first != NULL) {
        return heap->due_first->deadline;
    }
    return heap->count == 0 ? ACE_NEVER : at(heap, 1)->deadline;
}

size_t ace_timer_run(ace_timer_heap *heap, int64_t now)
{
    /* All that are due leave the heap before the first one fires: what a firing timer sets is then
     * never mistaken for one of them, and a timer that sets itself again cannot keep this loop
     * busy. */
    while (heap->count > 0 && at(heap, 1)->deadline <= now) {
        ace_timer *timer = at(heap, 1);
        take_from_heap(heap, timer);
        append_due(heap, timer);
    }
    size_t fired = 0;
    while (heap->due_first != NULL) {
        ace_timer *timer = heap->due_first;
        take_from_due(heap, timer);
        timer->fire(timer);
        fired++;
    }
    return fired;
}

void ace_timer_heap_free(ace_timer_heap *heap)
{
    while (heap->due_first != NULL) {
        take_from_due(heap, heap->due_first);
    }
    for (size_t position = 1; position <= heap->count; position++) {
        at(heap, position)->position = 0;
    }
    free(heap->timers);
    *heap = (ace_timer_heap)ACE_TIMER_HEAP_INIT;
}
