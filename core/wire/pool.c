#include "wire/pool.h"

#include <stdlib.h>

void ace_pool_drop_lost_page(amqp_pool_t *pool)
{
    const amqp_pool_blocklist_t *pages = &pool->pages;
    if (pool->alloc_block == NULL ||
        (pool->next_page > 0 && pages->blocklist[pool->next_page - 1] == pool->alloc_block)) {
        return;
    }
    free(pool->alloc_block);
    pool->alloc_block = NULL;
    pool->alloc_used = 0;
}
