#include "base/blocks.h"

#include <stdint.h>
#include <stdlib.h>

#define GRAIN      256
#define LARGEST    8192
#define KEPT_BYTES (512 * 1024)

/* Under AddressSanitizer nothing is kept, so that it sees what is used after its end. */
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS 0
#endif
#endif
#ifndef KEEPS
#define KEEPS 1
#endif

struct ace_spare_block {
    ace_spare_block *before;
    size_t capacity;
};

static ace_spare_block *pop(ace_blocks *blocks)
{
    ace_spare_block *last = blocks->last;
    blocks->last = last->before;
    blocks->bytes -= last->capacity;
    return last;
}

void *ace_blocks_take(ace_blocks *blocks, size_t size, size_t *capacity)
{
    if (blocks->last != NULL && size <= LARGEST) {
        ace_spare_block *spare = pop(blocks);
        if (size <= spare->capacity) {
            *capacity = spare->capacity;
            return spare;
        }
        free(spare); /* what is too small for one is for the next, mostly */
    }
    *capacity = size > LARGEST ? size : (size + GRAIN - 1) / GRAIN * GRAIN;
    return malloc(*capacity);
}

void ace_blocks_give(ace_blocks *blocks, void *block, size_t capacity)
{
    if (!KEEPS || capacity < GRAIN || capacity > LARGEST || blocks->bytes + capacity > KEPT_BYTES) {
        free(block);
        return;
    }
    ace_spare_block *spare = block;
    *spare = (ace_spare_block){blocks->last, capacity};
    blocks->last = spare;
    blocks->bytes += capacity;
}

void ace_blocks_free(ace_blocks *blocks)
{
    while (blocks->last != NULL) {
        free(pop(blocks));
    }
}
