/* Blocks of memory of one thread that are used again, the last one first: it is what the processor
 * still has at hand. */
#ifndef ACE_BASE_BLOCKS_H
#define ACE_BASE_BLOCKS_H

#include <stddef.h>

typedef struct ace_spare_block ace_spare_block;

typedef struct ace_blocks { /* all zero: none */
    ace_spare_block *last;
    size_t bytes;
} ace_blocks;

/* At least `size` bytes, aligned for any type and not zeroed, and how many there are. It may be
 * freed by free(), on any thread. NULL: no memory. */
void *ace_blocks_take(ace_blocks *blocks, size_t size, size_t *capacity);
/* In the place of free(): keeps it for the next use, unless it is large or many are kept. */
void ace_blocks_give(ace_blocks *blocks, void *block, size_t capacity);
void ace_blocks_free(ace_blocks *blocks); /* leaves none */

#endif
