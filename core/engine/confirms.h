/*
 * The confirm map of one channel: which publish the broker means by a sequence number, and by a
 * basic.return, which carries none. Belongs to a loop's thread.
 */
#ifndef ACE_ENGINE_CONFIRMS_H
#define ACE_ENGINE_CONFIRMS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A publish on its way; a part of its owner's record. The bytes are borrowed while it is in the
 * map. */
typedef struct ace_outstanding {
    uint64_t sequence; /* 0: not in a map */
    bool mandatory;
    bool returned; /* a basic.return was matched to it; its confirm is still to come */
    ace_bytes exchange;
    ace_bytes routing_key;
    ace_bytes message_id; /* as in the properties; empty where there is none */
    ace_bytes properties; /* the flags and the list, as sent */
    uint64_t body_size;
} ace_outstanding;

typedef struct ace_confirms {
    ace_outstanding **ring; /* by sequence number, NULL where settled or forgotten */
    size_t capacity;        /* a power of two */
    uint64_t first;         /* the oldest number that may be in the ring */
    uint64_t next;          /* the number the next publish gets */
    uint64_t return_from;   /* where the search for the next return starts */
    size_t count;           /* in the map */
    uint64_t unknown;       /* confirms for numbers that are not in the map, counted and ignored */
    uint64_t unmatched;     /* returns that fit no publish, likewise */
} ace_confirms;

void ace_confirms_init(ace_confirms *confirms);
void ace_confirms_free(ace_confirms *confirms); /* the records are their owners' */

/* Makes room for one more, so that adding after the bytes went out cannot fail. False: no memory.
 */
bool ace_confirms_reserve(ace_confirms *confirms);
/* Gives the record the next number. Room must have been reserved. */
void ace_confirms_add(ace_confirms *confirms, ace_outstanding *outstanding);
/* Takes it out before its confirm, which will count as unknown. Fine when it is not in the map. */
void ace_confirms_forget(ace_confirms *confirms, ace_outstanding *outstanding);

/* Called for each record that a confirm settles, in the order of publishing, after it was taken
 * out. May add records, and may not free the map. */
typedef void ace_confirms_settled(ace_outstanding *outstanding, bool acknowledged, void *user);

/* basic.ack or basic.nack. With `multiple` everything up to `tag`, or everything when `tag` is 0.
 */
void ace_confirms_settle(ace_confirms *confirms, uint64_t tag, bool multiple, bool acknowledged,
                         ace_confirms_settled *settled, void *user);

/* What a basic.return says about its message. */
typedef struct ace_returned {
    ace_bytes exchange;
    ace_bytes routing_key;
    ace_bytes message_id;
    ace_bytes properties; /* as received */
    uint64_t body_size;
} ace_returned;

/* The publish that a return means, marked as returned; NULL (and counted) when none fits. Returns
 * come in the order of their publishes and before their confirms, so it is the oldest mandatory one
 * not returned yet that has the same exchange, key, body size and property bytes; failing that (a
 * broker may write properties otherwise than it read them) the same message id in place of the
 * property bytes; failing that, where one of the two has no message id, the same exchange, key and
 * body size. */
ace_outstanding *ace_confirms_match(ace_confirms *confirms, const ace_returned *returned);

/* The oldest record whose number is `sequence` or higher, which stays in the map; NULL. */
ace_outstanding *ace_confirms_from(const ace_confirms *confirms, uint64_t sequence);

/* The oldest record of the map, taken out; NULL when it is empty. For a channel that was lost. */
ace_outstanding *ace_confirms_take(ace_confirms *confirms);
/* A new channel counts from 1 again. The map must be empty. */
void ace_confirms_restart(ace_confirms *confirms);

#endif
