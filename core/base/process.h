/* Telling a child of fork from its parent, for less than a system call. */
#ifndef ACE_BASE_PROCESS_H
#define ACE_BASE_PROCESS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* A number of this process, drawn when it is first asked for; a child of fork(2) or clone(2) draws
 * its own. Not in a child that shares our memory, as of vfork(2). 0: this kernel cannot tell. Any
 * thread. */
uint64_t ace_process_find_epoch(void);                    /* for ace_process_epoch() */
extern _Atomic(atomic_uint_least64_t *) ace_process_page; /* the same */

static inline uint64_t ace_process_epoch(void)
{
    atomic_uint_least64_t *page = atomic_load_explicit(&ace_process_page, memory_order_acquire);
    uint64_t known = page == NULL ? 0 : atomic_load_explicit(page, memory_order_relaxed);
    return known != 0 ? known : ace_process_find_epoch();
}

#endif
