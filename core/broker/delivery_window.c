#include "broker/delivery_window.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 16

/* Closes the gaps of what was settled. */
static void compact(ace_broker_delivery_window *window)
{
    size_t to = 0;

    for (size_t from = window->start; from < window->end; from++) {
        if (window->slots[from].entry)
            window->slots[to++] = window->slots[from];
    }
    window->start = 0;
    window->end = to;
}

bool ace_broker_delivery_window_add(ace_broker_delivery_window *window, uint64_t tag,
                                    ace_broker_entry *entry)
{
    if (window->end == window->capacity && window->outstanding * 2 < window->capacity)
        compact(window);
    if (window->end == window->capacity) {
        size_t wider = window->capacity ? window->capacity * 2 : FIRST_CAPACITY;
        void *slots = realloc(window->slots, wider * sizeof(*window->slots));

        if (!slots)
            return false;
        window->slots = slots;
        window->capacity = wider;
    }
    window->slots[window->end++] = (ace_broker_window_slot){tag, entry};
    window->outstanding++;
    return true;
}

/* The first slot whose tag is at least `tag`. */
static size_t find(const ace_broker_delivery_window *window, uint64_t tag)
{
    size_t low = window->start;
    size_t high = window->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (window->slots[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static ace_broker_entry *take_at(ace_broker_delivery_window *window, size_t at)
{
    ace_broker_entry *entry = window->slots[at].entry;

    window->slots[at].entry = NULL;
    window->outstanding--;
    while (window->start < window->end && !window->slots[window->start].entry)
        window->start++;
    while (window->end > window->start && !window->slots[window->end - 1].entry)
        window->end--;
    if (window->start == window->end)
        window->start = window->end = 0;
    return entry;
}

bool ace_broker_delivery_window_has(const ace_broker_delivery_window *window, uint64_t tag)
{
    size_t at = find(window, tag);

    return at < window->end && window->slots[at].tag == tag && window->slots[at].entry;
}

ace_broker_entry *ace_broker_delivery_window_take(ace_broker_delivery_window *window, uint64_t tag)
{
    return ace_broker_delivery_window_has(window, tag) ? take_at(window, find(window, tag)) : NULL;
}

ace_broker_entry *ace_broker_delivery_window_take_oldest(ace_broker_delivery_window *window,
                                                         uint64_t up_to)
{
    if (window->outstanding == 0 || window->slots[window->start].tag > up_to)
        return NULL;
    return take_at(window, window->start);
}

const ace_broker_entry *ace_broker_delivery_window_oldest(const ace_broker_delivery_window *window)
{
    return window->outstanding > 0 ? window->slots[window->start].entry : NULL;
}

void ace_broker_delivery_window_forget(ace_broker_delivery_window *window,
                                       const ace_broker_consumer *consumer)
{
    for (size_t i = window->start; i < window->end; i++) {
        ace_broker_entry *entry = window->slots[i].entry;

        if (entry && entry->consumer == consumer)
            entry->consumer = NULL;
    }
}

void ace_broker_delivery_window_free(ace_broker_delivery_window *window)
{
    free(window->slots);
    *window = (ace_broker_delivery_window){NULL, 0, 0, 0, 0};
}
