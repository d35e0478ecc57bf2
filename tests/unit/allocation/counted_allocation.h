/*
 * How much memory this program holds, those of the libraries it uses included, and the most it held
 * since a moment. It defines malloc and its kin, so a program includes it once. A sanitizer's
 * malloc is left alone: nothing is counted then.
 */
#ifndef ACE_TESTS_COUNTED_ALLOCATION_H
#define ACE_TESTS_COUNTED_ALLOCATION_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define COUNTED_IS_COUNTING false

static long counted_held(void)
{
    return 0;
}

static long counted_most(void)
{
    return 0;
}

static void counted_begin(void)
{
}
#else
#define COUNTED_IS_COUNTING true

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

static atomic_long counted_now;
static atomic_long counted_peak;

static long counted_held(void)
{
    return atomic_load(&counted_now);
}

static long counted_most(void)
{
    return atomic_load(&counted_peak);
}

static void counted_begin(void)
{
    atomic_store(&counted_peak, atomic_load(&counted_now));
}

static void *counted_add(void *memory)
{
    long size = memory == NULL ? 0 : (long)malloc_usable_size(memory);
    long now = atomic_fetch_add(&counted_now, size) + size;
    long peak = atomic_load(&counted_peak);
    while (now > peak && !atomic_compare_exchange_weak(&counted_peak, &peak, now)) {
    }
    return memory;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return counted_add(__libc_malloc(size));
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return counted_add(__libc_calloc(count, size));
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    long before = memory == NULL ? 0 : (long)malloc_usable_size(memory);
    void *moved = __libc_realloc(memory, size);
    if (moved != NULL || size == 0) {
        atomic_fetch_sub(&counted_now, before);
        (void)counted_add(moved);
    }
    return moved;
}

__attribute__((visibility("default"))) void free(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub(&counted_now, (long)malloc_usable_size(memory));
    }
    __libc_free(memory);
}
#endif

#endif
