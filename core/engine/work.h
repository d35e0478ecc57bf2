/* Messages that are being worked on, by name: what is left behind when time is up. */
#ifndef ACE_ENGINE_WORK_H
#define ACE_ENGINE_WORK_H

#include "base/buffer.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ace_work_item {
    char *queue;
    char *id;        /* of the envelope; up to the first NUL byte */
    int64_t running; /* ms since its receiver got it */
} ace_work_item;

/* Starts zeroed. */
typedef struct ace_work {
    ace_work_item *items;
    size_t count;
    size_t missed; /* for which there was no memory */
} ace_work;

/* Copies both texts. Never fails: without memory it is counted as missed. `work` may be NULL. */
void ace_work_add(ace_work *work, const char *queue, ace_bytes id, int64_t running);
void ace_work_release(ace_work *work); /* leaves an empty one */

/* "2 messages are in hand: a on orders for 812 ms, b on orders for 90 ms": the first few of them,
 * at the end of `text`. False: no memory. */
bool ace_work_describe(const ace_work *work, ace_buffer *text);

#endif
