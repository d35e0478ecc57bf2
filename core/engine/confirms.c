#include "engine/confirms.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64

/* While one record is settled, another is called into the cache. */
#define AHEAD       4
#define CALLED_SIZE 256

void ace_confirms_init(ace_confirms *confirms)
{
    *confirms = (ace_confirms){.first = 1, .next = 1, .return_from = 1};
}

void ace_confirms_free(ace_confirms *confirms)
{
    free(confirms->ring);
    ace_confirms_init(confirms);
}

static ace_outstanding **slot(const ace_confirms *confirms, uint64_t sequence)
{
    return &confirms->ring[sequence & (confirms->capacity - 1)];
}

static bool grow(ace_confirms *confirms)
{
    size_t capacity = confirms->capacity == 0 ? SMALLEST_CAPACITY : confirms->capacity * 2;
    ace_outstanding **ring = calloc(capacity, sizeof(ace_outstanding *));
    if (ring == NULL) {
        return false;
    }
    for (uint64_t sequence = confirms->first; sequence < confirms->next; sequence++) {
        ring[sequence & (capacity - 1)] = *slot(confirms, sequence);
    }
    free(confirms->ring);
    confirms->ring = ring;
    confirms->capacity = capacity;
    return true;
}

bool ace_confirms_reserve(ace_confirms *confirms)
{
    return confirms->next - confirms->first < confirms->capacity || grow(confirms);
}

void ace_confirms_add(ace_confirms *confirms, ace_outstanding *outstanding)
{
    outstanding->sequence = confirms->next++;
    outstanding->returned = false;
    *slot(confirms, outstanding->sequence) = outstanding;
    confirms->count++;
}

/* What is settled or forgotten at the old end makes room, so that one confirm that never comes
 * holds up the ring only as long as somebody waits for it. */
static void take_out(ace_confirms *confirms, ace_outstanding *outstanding)
{
    *slot(confirms, outstanding->sequence) = NULL;
    outstanding->sequence = 0;
    confirms->count--;
    while (confirms->first < confirms->next && *slot(confirms, confirms->first) == NULL) {
        confirms->first++;
    }
}

void ace_confirms_forget(ace_confirms *confirms, ace_outstanding *outstanding)
{
    if (outstanding->sequence != 0) {
        take_out(confirms, outstanding);
    }
}

static ace_outstanding *find(const ace_confirms *confirms, uint64_t sequence)
{
    if (sequence < confirms->first || sequence >= confirms->next) {
        return NULL;
    }
    return *slot(confirms, sequence);
}

static bool settle_range(ace_confirms *confirms, uint64_t last, bool acknowledged,
                         ace_confirms_settled *settled, void *user)
{
    bool any = false;
    /* The oldest is never NULL; the callback may add records behind `last`. */
    while (confirms->count > 0 && confirms->first <= last) {
        ace_outstanding *oldest = *slot(confirms, confirms->first);
        ace_memory_call(*slot(confirms, confirms->first + AHEAD), CALLED_SIZE);
        take_out(confirms, oldest);
        settled(oldest, acknowledged, user);
        any = true;
    }
    return any;
}

void ace_confirms_settle(ace_confirms *confirms, uint64_t tag, bool multiple, bool acknowledged,
                         ace_confirms_settled *settled, void *user)
{
    if (multiple && tag < confirms->next) {
        uint64_t last = tag == 0 ? confirms->next - 1 : tag;
        if (!settle_range(confirms, last, acknowledged, settled, user)) {
            confirms->unknown++;
        }
        return;
    }
    ace_outstanding *outstanding = find(confirms, tag);
    if (outstanding == NULL) {
        confirms->unknown++;
        return;
    }
    take_out(confirms, outstanding);
    settled(outstanding, acknowledged, user);
}

typedef enum likeness { SAME_PROPERTIES, SAME_MESSAGE_ID, SAME_ADDRESS } likeness;

static bool fits(const ace_outstanding *outstanding, const ace_returned *returned, likeness wanted)
{
    if (outstanding == NULL || outstanding->returned || !outstanding->mandatory ||
        outstanding->body_size != returned->body_size ||
        !ace_bytes_equal(outstanding->routing_key, returned->routing_key) ||
        !ace_bytes_equal(outstanding->exchange, returned->exchange)) {
        return false;
    }
    switch (wanted) {
    case SAME_PROPERTIES:
        return ace_bytes_equal(outstanding->properties, returned->properties);
    case SAME_MESSAGE_ID:
        return returned->message_id.length > 0 &&
               ace_bytes_equal(outstanding->message_id, returned->message_id);
    case SAME_ADDRESS:
        /* No broker changes an id: another one is another message, which was forgotten here. */
        return outstanding->message_id.length == 0 || returned->message_id.length == 0;
    }
    return false;
}

static ace_outstanding *search(const ace_confirms *confirms, const ace_returned *returned,
                               likeness wanted)
{
    uint64_t from = confirms->return_from;
    if (from < confirms->first) {
        from = confirms->first;
    }
    for (uint64_t sequence = from; sequence < confirms->next; sequence++) {
        ace_outstanding *outstanding = *slot(confirms, sequence);
        if (fits(outstanding, returned, wanted)) {
            return outstanding;
        }
    }
    for (uint64_t sequence = confirms->first; sequence < from; sequence++) {
        ace_outstanding *outstanding = find(confirms, sequence);
        if (fits(outstanding, returned, wanted)) {
            return outstanding;
        }
    }
    return NULL;
}

ace_outstanding *ace_confirms_match(ace_confirms *confirms, const ace_returned *returned)
{
    ace_outstanding *found = NULL;
    for (int wanted = SAME_PROPERTIES; found == NULL && wanted <= SAME_ADDRESS; wanted++) {
        found = search(confirms, returned, (likeness)wanted);
    }
    if (found == NULL) {
        confirms->unmatched++;
        return NULL;
    }
    found->returned = true;
    confirms->return_from = found->sequence + 1;
    return found;
}

ace_outstanding *ace_confirms_from(const ace_confirms *confirms, uint64_t sequence)
{
    if (sequence < confirms->first) {
        sequence = confirms->first;
    }
    for (; sequence < confirms->next; sequence++) {
        ace_outstanding *outstanding = *slot(confirms, sequence);
        if (outstanding != NULL) {
            return outstanding;
        }
    }
    return NULL;
}

ace_outstanding *ace_confirms_take(ace_confirms *confirms)
{
    if (confirms->count == 0) {
        return NULL;
    }
    ace_outstanding *oldest = *slot(confirms, confirms->first);
    take_out(confirms, oldest);
    return oldest;
}

void ace_confirms_restart(ace_confirms *confirms)
{
    confirms->first = 1;
    confirms->next = 1;
    confirms->return_from = 1;
}
