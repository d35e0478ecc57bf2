/* Memory that is given out piece by piece and freed at once. */
#ifndef ACE_BASE_ARENA_H
#define ACE_BASE_ARENA_H

#include <stddef.h>

typedef struct ace_arena_block ace_arena_block;

typedef struct ace_arena {
    ace_arena_block *blocks;
} ace_arena;

#define ACE_ARENA_INIT                                                                             \
    {                                                                                              \
        NULL                                                                                       \
    }

void *ace_arena_take(ace_arena *arena,
                     size_t size); /* aligned for any type, zeroed; NULL: no memory */
void *ace_arena_copy(ace_arena *arena, const void *data, size_t size);
char *ace_arena_text(ace_arena *arena, const char *text, size_t length); /* NUL-terminated copy */
void ace_arena_clear(ace_arena *arena); /* keeps one block for the next use */
void ace_arena_free(ace_arena *arena);  /* leaves an empty arena */

#endif
