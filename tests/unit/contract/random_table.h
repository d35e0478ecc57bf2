/* Header tables at random, of every kind, for properties. */
#ifndef ACE_TESTS_CONTRACT_RANDOM_TABLE_H
#define ACE_TESTS_CONTRACT_RANDOM_TABLE_H

#include "vectors.h"

#include <math.h>

static void random_entries(uint64_t *state, int depth, ace_table *table, int count);

static double random_finite(uint64_t *state)
{
    union {
        uint64_t bits;
        double number;
    } value = {.bits = next_random(state)};
    return isfinite(value.number) ? value.number : 0.5;
}

static size_t random_bytes(uint64_t *state, uint8_t bytes[64])
{
    size_t length = next_random(state) % 64;
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)next_random(state);
    }
    return length;
}

static void set_nested(uint64_t *state, int depth, ace_table *table, const char *name, bool array)
{
    ace_table inner = ACE_TABLE_INIT;
    random_entries(state, depth + 1, &inner, (int)(next_random(state) % 4));
    if (array) {
        amqp_field_value_t values[4];
        for (int i = 0; i < inner.table.num_entries; i++) {
            values[i] = inner.table.entries[i].value;
        }
        amqp_array_t entries = {inner.table.num_entries, values};
        SUCCEEDS(ace_table_set_array(table, name, &entries, &error));
    } else {
        SUCCEEDS(ace_table_set_table(table, name, &inner.table, &error));
    }
    ace_table_release(&inner);
}

static void set_any(uint64_t *state, int depth, ace_table *table, const char *name)
{
    uint64_t draw = next_random(state);
    uint8_t bytes[64];
    switch (next_random(state) % (depth < 4 ? 18 : 16)) {
    case 0:
        SUCCEEDS(ace_table_set_bool(table, name, draw % 2 == 0, &error));
        break;
    case 1:
        SUCCEEDS(ace_table_set_int8(table, name, (int8_t)draw, &error));
        break;
    case 2:
        SUCCEEDS(ace_table_set_uint8(table, name, (uint8_t)draw, &error));
        break;
    case 3:
        SUCCEEDS(ace_table_set_int16(table, name, (int16_t)draw, &error));
        break;
    case 4:
        SUCCEEDS(ace_table_set_uint16(table, name, (uint16_t)draw, &error));
        break;
    case 5:
        SUCCEEDS(ace_table_set_int32(table, name, (int32_t)draw, &error));
        break;
    case 6:
        SUCCEEDS(ace_table_set_uint32(table, name, (uint32_t)draw, &error));
        break;
    case 7:
        SUCCEEDS(ace_table_set_int64(table, name, (int64_t)draw, &error));
        break;
    case 8:
        SUCCEEDS(ace_table_set_uint64(table, name, draw >> 1, &error));
        break;
    case 9:
        SUCCEEDS(ace_table_set_float(table, name, (float)(int32_t)draw / 7, &error));
        break;
    case 10:
        SUCCEEDS(ace_table_set_double(table, name, random_finite(state), &error));
        break;
    case 11:
        SUCCEEDS(ace_table_set_decimal(table, name, (uint8_t)draw, (uint32_t)(draw >> 32), &error));
        break;
    case 12:
        SUCCEEDS(ace_table_set_longstr(table, name, (ace_bytes){bytes, random_bytes(state, bytes)},
                                       &error));
        break;
    case 13:
        SUCCEEDS(ace_table_set_bytes(table, name, (ace_bytes){bytes, random_bytes(state, bytes)},
                                     &error));
        break;
    case 14:
        SUCCEEDS(ace_table_set_timestamp(table, name, draw, &error));
        break;
    case 15:
        SUCCEEDS(ace_table_set_void(table, name, &error));
        break;
    default:
        set_nested(state, depth, table, name, draw % 2 == 0);
        break;
    }
}

static void random_entries(uint64_t *state, int depth, ace_table *table, int count)
{
    for (int i = 0; i < count; i++) {
        char name[40];
        snprintf(name, sizeof name, "h%d-%08x", i, (unsigned)next_random(state));
        set_any(state, depth, table, name);
    }
}

#endif
