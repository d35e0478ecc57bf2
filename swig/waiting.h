/*
 * A wait that an interrupt can end: it is made of slices, and between two of them the language says
 * whether its user wants it to go on.
 */
#ifndef ACEMQ_SWIG_WAITING_H
#define ACEMQ_SWIG_WAITING_H

#include <acemq/acemq.h>

#include <time.h>

enum { WAITING_SLICE_MS = 100 };

typedef struct waiting_slices {
    int64_t timeout;
    int64_t began;
    int64_t left;
    int64_t slice;
} waiting_slices;

static int64_t waiting_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static waiting_slices waiting_begin(int64_t timeout)
{
    waiting_slices slices = {timeout, waiting_now(), timeout, 0};
    return slices;
}

/* The next slice's timeout. */
static int64_t waiting_next(waiting_slices *slices)
{
    slices->slice = slices->left > WAITING_SLICE_MS ? WAITING_SLICE_MS : slices->left;
    return slices->slice;
}

/* 1 when only this slice is over, and not the whole wait. */
static int waiting_goes_on(waiting_slices *slices, acemq_status status)
{
    if (status != ACEMQ_E_TIMEOUT || slices->left == slices->slice) {
        return 0;
    }
    if (slices->timeout != ACEMQ_FOREVER) {
        int64_t spent = waiting_now() - slices->began;
        slices->left = spent < slices->timeout ? slices->timeout - spent : 0;
    }
    return 1;
}

#endif
