/*
 * Acknowledgements on their way out. basic.ack with `multiple` covers everything below its tag, so
 * it is used where nothing below is unsettled; they are held back for a few milliseconds at most to
 * make that likely. Belongs to the loop's thread.
 */
#ifndef ACE_ENGINE_SETTLE_ACKS_H
#define ACE_ENGINE_SETTLE_ACKS_H

#include "base/timer.h"
#include "engine/channel.h"
#include "engine/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACE_ACKS_MOST  40
#define ACE_ACKS_DELAY INT64_C(3) /* ms */

typedef struct ace_acks {
    uint64_t tags[ACE_ACKS_MOST];
    size_t count;
    int64_t flushed; /* when the last ones left */
    ace_timer timer;
    ace_deferral deferral;
} ace_acks;

/* Sends what is pending. `lowest` is the lowest tag that is neither settled nor pending, UINT64_MAX
 * for none. What cannot be sent for lack of memory stays pending: true when all went. */
bool ace_acks_flush(ace_acks *acks, ace_channel *channel, uint64_t lowest);

#endif
