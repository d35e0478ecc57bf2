/* Calling memory into the processor's cache before it is used. */
#ifndef ACE_BASE_MEMORY_H
#define ACE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define ACE_CACHE_LINE 64

/* `size` bytes that will be written to soon. Any address is fine, also one that is not ours. */
static inline void ace_memory_call(const void *start, size_t size)
{
    for (size_t offset = 0; offset < size; offset += ACE_CACHE_LINE) {
        __builtin_prefetch((const void *)((uintptr_t)start + offset), 1);
    }
}

#endif
