#include "broker/name_map.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static uint64_t hash_of(ace_bytes key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < key.length; i++)
        hash = (hash ^ key.data[i]) * UINT64_C(1099511628211);
    return hash;
}

static size_t home_of(const ace_broker_name_map *map, uint64_t hash)
{
    return (size_t)(hash ^ (hash >> 32)) & (map->capacity - 1);
}

static ace_broker_name_slot *slot_of(const ace_broker_name_map *map, ace_bytes key, uint64_t hash)
{
    if (map->capacity == 0)
        return NULL;
    for (size_t i = home_of(map, hash);; i = (i + 1) & (map->capacity - 1)) {
        ace_broker_name_slot *slot = &map->slots[i];

        if (!slot->record)
            return NULL;
        if (slot->hash == hash && ace_bytes_equal(slot->key, key))
            return slot;
    }
}

void *ace_broker_name_map_find(const ace_broker_name_map *map, ace_bytes key)
{
    const ace_broker_name_slot *slot = slot_of(map, key, hash_of(key));

    return slot ? slot->record : NULL;
}

static void place(ace_broker_name_map *map, ace_broker_name_slot item)
{
    size_t i = home_of(map, item.hash);

    while (map->slots[i].record)
        i = (i + 1) & (map->capacity - 1);
    map->slots[i] = item;
}

static bool grow(ace_broker_name_map *map)
{
    ace_broker_name_map wider = {NULL, map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                                 map->count};

    wider.slots = calloc(wider.capacity, sizeof(*wider.slots));
    if (!wider.slots)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].record)
            place(&wider, map->slots[i]);
    }
    free(map->slots);
    *map = wider;
    return true;
}

bool ace_broker_name_map_add(ace_broker_name_map *map, ace_bytes key, void *record)
{
    /* At most half full, so that a probe is short whatever the names. */
    if ((map->count + 1) * 2 > map->capacity && !grow(map))
        return false;
    place(map, (ace_broker_name_slot){key, hash_of(key), record});
    map->count++;
    return true;
}

void ace_broker_name_map_replace(ace_broker_name_map *map, ace_bytes key, void *record)
{
    ace_broker_name_slot *slot = slot_of(map, key, hash_of(key));

    if (slot) {
        slot->key = key;
        slot->record = record;
    }
}

void ace_broker_name_map_remove(ace_broker_name_map *map, ace_bytes key)
{
    ace_broker_name_slot *slot = slot_of(map, key, hash_of(key));

    if (!slot)
        return;
    /* Moves the followers of the run up, which keeps probing free of tombstones. */
    size_t hole = (size_t)(slot - map->slots);
    size_t mask = map->capacity - 1;

    for (size_t i = (hole + 1) & mask; map->slots[i].record; i = (i + 1) & mask) {
        size_t home = home_of(map, map->slots[i].hash);

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->slots[hole] = (ace_broker_name_slot){{NULL, 0}, 0, NULL};
    map->count--;
}

void *ace_broker_name_map_next(const ace_broker_name_map *map, size_t *cursor)
{
    while (*cursor < map->capacity) {
        void *record = map->slots[(*cursor)++].record;

        if (record)
            return record;
    }
    return NULL;
}

void *ace_broker_name_map_any(const ace_broker_name_map *map)
{
    size_t cursor = 0;

    return ace_broker_name_map_next(map, &cursor);
}

void ace_broker_name_map_free(ace_broker_name_map *map)
{
    free(map->slots);
    *map = (ace_broker_name_map)ACE_BROKER_NAME_MAP_INIT;
}
