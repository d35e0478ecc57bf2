#include "base/random.h"

#include "base/process.h"
#include "base/thread.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct ace_random {
    bool is_seeded;
    ace_mutex lock;
    uint64_t state;
};

static ace_random system_random = {.is_seeded = false};

/* SplitMix64: passes the usual batteries, and every seed is as good as any other. */
static uint64_t split_mix(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* For a sandbox that forbids getrandom(2): ids still differ between calls, threads and processes.
 */
static uint64_t without_the_kernel(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t state = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    state ^= (uint64_t)getpid() << 40;
    state ^= (uint64_t)(uintptr_t)&now;
    return split_mix(&state);
}

static uint64_t from_the_kernel(void)
{
    uint64_t value;
    for (;;) {
        ssize_t got = getrandom(&value, sizeof value, 0);
        if (got == (ssize_t)sizeof value) {
            return value;
        }
        if (got < 0 && errno != EINTR) {
            return without_the_kernel();
        }
    }
}

/* What a thread has drawn and not used: one system call for many numbers. A child of fork must not
 * use its parent's. */
#define STORED 64

static _Thread_local struct {
    uint64_t epoch;
    size_t left;
    uint64_t values[STORED];
} store;

static bool refill(uint64_t epoch)
{
    /* So few bytes come whole, or not at all. */
    if (epoch == 0 ||
        getrandom(store.values, sizeof store.values, 0) != (ssize_t)sizeof store.values) {
        return false;
    }
    store.epoch = epoch;
    store.left = STORED;
    return true;
}

static void from_the_store(uint64_t *numbers, size_t count)
{
    uint64_t epoch = ace_process_epoch();
    bool is_full = (store.left >= count && store.epoch == epoch && epoch != 0) || refill(epoch);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = is_full ? store.values[--store.left] : from_the_kernel();
    }
}

ace_random *ace_random_system(void)
{
    return &system_random;
}

ace_random *ace_random_seeded(uint64_t seed)
{
    ace_random *random = calloc(1, sizeof *random);
    if (random == NULL) {
        return NULL;
    }
    if (ace_mutex_init(&random->lock, NULL) != ACE_OK) {
        free(random);
        return NULL;
    }
    random->is_seeded = true;
    random->state = seed;
    return random;
}

void ace_random_free(ace_random *random)
{
    if (random == NULL || !random->is_seeded) {
        return;
    }
    ace_mutex_destroy(&random->lock);
    free(random);
}

static void draw(ace_random *random, uint64_t *numbers, size_t count)
{
    if (!random->is_seeded) {
        from_the_store(numbers, count);
        return;
    }
    ace_mutex_lock(&random->lock);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = split_mix(&random->state);
    }
    ace_mutex_unlock(&random->lock);
}

uint64_t ace_random_next(ace_random *random)
{
    uint64_t value;
    draw(random, &value, 1);
    return value;
}

double ace_random_unit(ace_random *random)
{
    /* 53 bits are what a double holds exactly; one more could round up to 1. */
    return (double)(ace_random_next(random) >> 11) * 0x1.0p-53;
}

/* The eight digits of a number, all at once: a digit in each byte, and 39 more from ten on. */
static void write_hexadecimal(uint32_t number, char out[8])
{
    uint64_t digits = number;
    digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits | digits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    uint64_t above_nine =
        (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    digits += UINT64_C(0x3030303030303030) + above_nine * ('a' - '0' - 10);
    digits = htobe64(digits);
    memcpy(out, &digits, sizeof digits);
}

void ace_uuid_v4(ace_random *random, char out[ACE_UUID_LENGTH + 1])
{
    uint64_t halves[2];
    draw(random, halves, 2);
    halves[0] = (halves[0] & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    halves[1] = (halves[1] & ~(UINT64_C(3) << 62)) | (UINT64_C(2) << 62);
    char digits[32];
    write_hexadecimal((uint32_t)(halves[0] >> 32), digits);
    write_hexadecimal((uint32_t)halves[0], digits + 8);
    write_hexadecimal((uint32_t)(halves[1] >> 32), digits + 16);
    write_hexadecimal((uint32_t)halves[1], digits + 24);
    memcpy(out, digits, 8);
    memcpy(out + 9, digits + 8, 4);
    memcpy(out + 14, digits + 12, 4);
    memcpy(out + 19, digits + 16, 4);
    memcpy(out + 24, digits + 20, 12);
    out[8] = out[13] = out[18] = out[23] = '-';
    out[ACE_UUID_LENGTH] = '\0';
}
