/*
 * Every allocation of this program goes through here, those of the libraries it uses included, and
 * one of them can be made to fail: the n-th from a moment on, on whatever thread it comes. It
 * defines malloc and its kin, so a program includes it once. ThreadSanitizer does not start with a
 * malloc of somebody else's; with AddressSanitizer it looks for leaks too.
 */
#ifndef ACE_TESTS_FAILING_ALLOCATION_H
#define ACE_TESTS_FAILING_ALLOCATION_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
void __sanitizer_print_stack_trace(void);
int __lsan_do_recoverable_leak_check(void);
#endif

#define FAILING_NONE LONG_MAX

static atomic_bool failing_is_armed;
static atomic_long failing_left;  /* 1: the next one fails; below: so many ago one did */
static atomic_long failing_count; /* allocations since it was armed */
static atomic_bool failing_has_failed;
static atomic_bool failing_was_ours; /* on the thread that armed it */
static long failing_in_a_row;
static pthread_t failing_thread;
static _Thread_local bool failing_is_exempt; /* a sanitizer is at work, which cannot go without */

/* The `number`-th allocation from now on fails, and the next of `in_a_row` with it; FAILING_NONE
 * only counts. */
static void failing_arm(long number, long in_a_row)
{
    failing_in_a_row = in_a_row;
    failing_thread = pthread_self();
    atomic_store(&failing_left, number);
    atomic_store(&failing_count, 0);
    atomic_store(&failing_has_failed, false);
    atomic_store(&failing_was_ours, false);
    atomic_store(&failing_is_armed, true);
}

/* How many allocations there were. */
static long failing_disarm(void)
{
    atomic_store(&failing_is_armed, false);
    return atomic_load(&failing_count);
}

static bool failing_now(void)
{
    if (failing_is_exempt || !atomic_load(&failing_is_armed)) {
        return false;
    }
    atomic_fetch_add(&failing_count, 1);
    long left = atomic_fetch_sub(&failing_left, 1);
    if (left > 1 || left <= 1 - failing_in_a_row) {
        return false;
    }
    if (pthread_equal(failing_thread, pthread_self()) != 0) {
        atomic_store(&failing_was_ours, true);
    }
    atomic_store(&failing_has_failed, true);
#ifdef __SANITIZE_ADDRESS__
    if (getenv("ACEMQ_TEST_SHOW_ALLOCATION") != NULL) {
        __sanitizer_print_stack_trace();
    }
#endif
    errno = ENOMEM;
    return true;
}

/* Leaks since the last time; false where nothing looks for them. */
static bool failing_has_leaked(void)
{
#ifdef __SANITIZE_ADDRESS__
    return __lsan_do_recoverable_leak_check() != 0;
#else
    return false;
#endif
}

/* --- what the program and its libraries call ------------------------------------------------ */

typedef void *failing_malloc(size_t size);
typedef void *failing_calloc(size_t count, size_t size);
typedef void *failing_realloc(void *memory, size_t size);

#ifdef __SANITIZE_ADDRESS__
/* A sanitizer's library comes next in the search, and keeps book of what it hands out. */
static void failing_find(const char *name, void *found, size_t size)
{
    void *address = dlsym(RTLD_NEXT, name);
    if (address == NULL) {
        abort();
    }
    memcpy(found, &address, size);
}

static failing_malloc *failing_real_malloc(void)
{
    static failing_malloc *real;
    if (real == NULL) {
        failing_find("malloc", &real, sizeof real);
    }
    return real;
}

static failing_calloc *failing_real_calloc(void)
{
    static failing_calloc *real;
    if (real == NULL) {
        failing_find("calloc", &real, sizeof real);
    }
    return real;
}

static failing_realloc *failing_real_realloc(void)
{
    static failing_realloc *real;
    if (real == NULL) {
        failing_find("realloc", &real, sizeof real);
    }
    return real;
}

/* Called where a sanitizer takes note of a new thread. */
__attribute__((visibility("default"))) int pthread_getattr_np(pthread_t thread,
                                                              pthread_attr_t *attributes)
{
    static int (*real)(pthread_t, pthread_attr_t *);
    if (real == NULL) {
        failing_find("pthread_getattr_np", &real, sizeof real);
    }
    failing_is_exempt = true;
    int result = real(thread, attributes);
    failing_is_exempt = false;
    return result;
}
#else
failing_malloc __libc_malloc;
failing_calloc __libc_calloc;
failing_realloc __libc_realloc;

static failing_malloc *failing_real_malloc(void)
{
    return __libc_malloc;
}

static failing_calloc *failing_real_calloc(void)
{
    return __libc_calloc;
}

static failing_realloc *failing_real_realloc(void)
{
    return __libc_realloc;
}
#endif

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    return failing_now() ? NULL : failing_real_malloc()(size);
}

__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
    return failing_now() ? NULL : failing_real_calloc()(count, size);
}

__attribute__((visibility("default"))) void *realloc(void *memory, size_t size)
{
    return failing_now() ? NULL : failing_real_realloc()(memory, size);
}

/* A sanitizer's own would not come by here. */
__attribute__((visibility("default"))) char *strndup(const char *text, size_t limit)
{
    size_t length = strnlen(text, limit);
    char *copy = malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

__attribute__((visibility("default"))) char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}

#endif
