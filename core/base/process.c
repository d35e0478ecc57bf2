#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Lies in a page that is all zeros in a child, whichever way that was made: pthread_atfork() would
 * see only fork(3). */
_Atomic(atomic_uint_least64_t *) ace_process_page;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map_epoch(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        return;
    }
    if (madvise(mapped, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(mapped, size);
        return;
    }
    atomic_store(&ace_process_page, mapped);
}

static uint64_t draw(void)
{
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        drawn = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
    }
    return drawn == 0 ? 1 : drawn;
}

static atomic_uint_least64_t *find_page(void)
{
    (void)pthread_once(&once, map_epoch);
    return atomic_load(&ace_process_page);
}

uint64_t ace_process_find_epoch(void)
{
    atomic_uint_least64_t *epoch = find_page();
    if (epoch == NULL) {
        return 0;
    }
    uint64_t known = atomic_load_explicit(epoch, memory_order_relaxed);
    if (known == 0) {
        uint64_t drawn = draw();
        if (atomic_compare_exchange_strong(epoch, &known, drawn)) {
            known = drawn;
        }
    }
    return known;
}
