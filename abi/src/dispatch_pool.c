#include "dispatch_pool.h"

#include "base/memory.h"
#include "publisher.h"

#include <stdlib.h>

#define LARGEST_KEPT 1024 /* bytes of a buffer */

/* It was used last on another processor, long ago: by the time it is taken its memory is here. */
static void call_near(const ace_dispatch *next)
{
    if (next == NULL) {
        return;
    }
    if (next->next != NULL) {
        ace_memory_call(next->next, sizeof *next->next);
    }
    ace_memory_call(next->publish.frames.data, next->publish.frames.length);
}

static ace_dispatch *take_spare(ace_dispatch_pool *pool)
{
    if (atomic_exchange_explicit(&pool->taking, true, memory_order_acquire)) {
        return NULL;
    }
    if (pool->spare == NULL) {
        pool->spare = atomic_exchange_explicit(&pool->put, NULL, memory_order_acquire);
    }
    ace_dispatch *taken = pool->spare;
    if (taken != NULL) {
        pool->spare = taken->next;
        call_near(pool->spare);
    }
    atomic_store_explicit(&pool->taking, false, memory_order_release);
    return taken;
}

ace_dispatch *ace_dispatch_take(ace_dispatch_pool *pool)
{
    ace_dispatch *dispatch = take_spare(pool);
    return dispatch != NULL ? dispatch : calloc(1, sizeof *dispatch);
}

void ace_dispatch_put(ace_dispatch_pool *pool, ace_dispatch *dispatch)
{
    ace_publish *publish = &dispatch->publish;
    ace_error_free(publish->error);
    publish->error = NULL;
    if (publish->frames.capacity > LARGEST_KEPT) {
        ace_buffer_free(&publish->frames);
    }
    ace_body_release(dispatch->body);
    dispatch->body = NULL;
    ace_dispatch *head = atomic_load_explicit(&pool->put, memory_order_relaxed);
    do {
        dispatch->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&pool->put, &head, dispatch,
                                                    memory_order_release, memory_order_relaxed));
}

static void free_list(ace_dispatch *dispatch)
{
    while (dispatch != NULL) {
        ace_dispatch *next = dispatch->next;
        ace_dispatch_clear(dispatch);
        free(dispatch);
        dispatch = next;
    }
}

void ace_dispatch_pool_free(ace_dispatch_pool *pool)
{
    free_list(pool->spare);
    free_list(atomic_load(&pool->put));
}
