#include "plan.h"

#include <inttypes.h>

static const char *const names[FAULT_KINDS] = {
    "cut",  "reset",  "delay",  "stall", "black hole", "half-close", "pieces", "turn away",
    "dumb", "delete", "source", "alarm", "client",     "restart",    "kill",
};

/* Of a thousand. What takes the broker away takes many seconds each, and is given its number
 * below. */
static const int shares[FAULT_KINDS] = {250, 130, 90, 90, 70, 80, 60, 40, 30, 90, 20, 0, 50, 0, 0};

uint64_t fault_mix(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
    *state = fault_mix(*state);
    return *state % limit;
}

static fault_kind draw_kind(uint64_t *state)
{
    int drawn = (int)below(state, 1000);
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        drawn -= shares[kind];
        if (drawn < 0) {
            return (fault_kind)kind;
        }
    }
    return FAULT_CUT;
}

static int64_t lasting(fault_kind kind, uint64_t *state)
{
    switch (kind) {
    case FAULT_DELAY:
    case FAULT_PIECES:
        return 200 + (int64_t)below(state, 800);
    case FAULT_STALL:
        return 200 + (int64_t)below(state, 3000);
    case FAULT_TURN_AWAY:
        return 300 + (int64_t)below(state, 1500);
    case FAULT_DUMB:
        return 500 + (int64_t)below(state, 2500);
    case FAULT_ALARM:
        return 500 + (int64_t)below(state, 4000);
    default:
        return 0;
    }
}

/* Frames are small, most of them: half of the cuts fall within the next few, the rest anywhere. */
static int64_t bytes_left(uint64_t *state)
{
    uint64_t bits = below(state, 2) == 0 ? 6 + below(state, 4) : 8 + below(state, 9);
    return (int64_t)below(state, UINT64_C(1) << bits);
}

/* A campaign has a kill for each forty faults, one at least, and half as many restarts and alarms,
 * spread over it. */
static void place(fault *faults, int count, fault_kind kind, int number, int offset)
{
    for (int i = 0; i < number; i++) {
        faults[(count * (2 * i + 1) / (2 * number) + offset) % count].kind = kind;
    }
}

void fault_plan(uint64_t seed, int count, fault *faults)
{
    uint64_t state = fault_mix(seed);
    for (int i = 0; i < count; i++) {
        fault *one = &faults[i];
        one->kind = draw_kind(&state);
        one->line = (int)below(&state, 1000);
        one->upward = (int)below(&state, 2);
        one->bytes = bytes_left(&state);
        one->pause = 100 + (int64_t)below(&state, 1400);
        one->lasting = 0;
    }
    if (count == 0) {
        return;
    }
    int kills = count / 40 > 0 ? count / 40 : 1;
    place(faults, count, FAULT_ALARM, (kills + 1) / 2, 1 + (int)below(&state, 3));
    place(faults, count, FAULT_RESTART, kills / 2, 5 + (int)below(&state, 3));
    place(faults, count, FAULT_KILL, kills, 0);
    for (int i = 0; i < count; i++) {
        faults[i].lasting = lasting(faults[i].kind, &state);
    }
}

const char *fault_name(fault_kind kind)
{
    return names[kind];
}

void fault_print(FILE *out, int number, const fault *one)
{
    fprintf(out, "%4d %-10s line %3d %-4s bytes %6" PRId64 " lasting %5" PRId64 " ms\n", number,
            fault_name(one->kind), one->line, one->upward ? "up" : "down", one->bytes,
            one->lasting);
}
