#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK    1024
#define LARGEST_GROWTH 65536

struct ace_arena_block {
    ace_arena_block *next;
    size_t capacity;
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

static ace_arena_block *add_block(ace_arena *arena, size_t at_least)
{
    size_t capacity = FIRST_BLOCK;
    if (arena->blocks != NULL) {
        capacity = arena->blocks->capacity * 2;
    }
    if (capacity > LARGEST_GROWTH) {
        capacity = LARGEST_GROWTH;
    }
    if (capacity < at_least) {
        capacity = at_least;
    }
    if (capacity > SIZE_MAX - sizeof(ace_arena_block)) {
        return NULL;
    }
    ace_arena_block *block = malloc(sizeof *block + capacity);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    block->capacity = capacity;
    block->used = 0;
    arena->blocks = block;
    return block;
}

void *ace_arena_take(ace_arena *arena, size_t size)
{
    const size_t alignment = alignof(max_align_t);
    if (size > SIZE_MAX - alignment) {
        return NULL;
    }
    /* Nothing at all still gets an address of its own. */
    size_t rounded = (size == 0 ? alignment : size + alignment - 1) / alignment * alignment;
    ace_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity - block->used < rounded) {
        block = add_block(arena, rounded);
        if (block == NULL) {
            return NULL;
        }
    }
    void *taken = block->data + block->used;
    block->used += rounded;
    memset(taken, 0, rounded);
    return taken;
}

void *ace_arena_copy(ace_arena *arena, const void *data, size_t size)
{
    void *copy = ace_arena_take(arena, size);
    if (copy != NULL && size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *ace_arena_text(ace_arena *arena, const char *text, size_t length)
{
    if (length == SIZE_MAX) {
        return NULL;
    }
    char *copy = ace_arena_take(arena, length + 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

void ace_arena_clear(ace_arena *arena)
{
    ace_arena_block *kept = arena->blocks;
    if (kept == NULL) {
        return;
    }
    ace_arena rest = {kept->next};
    ace_arena_free(&rest);
    kept->next = NULL;
    kept->used = 0;
}

void ace_arena_free(ace_arena *arena)
{
    ace_arena_block *block = arena->blocks;
    while (block != NULL) {
        ace_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
}
