/* Publishes under way that nobody waits for: their records are used again, so that one more takes
 * no allocation once as many are there as are outstanding at a time. */
#ifndef ACE_DOOR_DISPATCH_POOL_H
#define ACE_DOOR_DISPATCH_POOL_H

#include "base/memory.h"

#include <stdatomic.h>

typedef struct ace_dispatch ace_dispatch;

/* Zeroed by its owner. Two lists, so that nobody waits: many put, and whoever takes alone has the
 * other for himself. */
typedef struct ace_dispatch_pool {
    /* In a cache line of its own, so that who puts many does not slow down who takes many. */
    char before_put[ACE_CACHE_LINE];
    _Atomic(ace_dispatch *) put;
    char behind_put[ACE_CACHE_LINE];
    atomic_bool taking;
    ace_dispatch *spare; /* of the one who takes */
} ace_dispatch_pool;

/* Any thread. NULL: no memory. */
ace_dispatch *ace_dispatch_take(ace_dispatch_pool *pool);
/* Any thread, after its end; what it holds is freed, but for small buffers. */
void ace_dispatch_put(ace_dispatch_pool *pool, ace_dispatch *dispatch);
void ace_dispatch_pool_free(ace_dispatch_pool *pool); /* when nothing takes or puts any more */

#endif
