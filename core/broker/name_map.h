/* A map from names (any bytes) to records. The key is borrowed: it lives in the record. */
#ifndef ACE_BROKER_NAME_MAP_H
#define ACE_BROKER_NAME_MAP_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ace_broker_name_slot {
    ace_bytes key;
    uint64_t hash;
    void *record; /* NULL: free */
} ace_broker_name_slot;

typedef struct ace_broker_name_map {
    ace_broker_name_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} ace_broker_name_map;

#define ACE_BROKER_NAME_MAP_INIT                                                                   \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

void *ace_broker_name_map_find(const ace_broker_name_map *map,
                               ace_bytes key); /* NULL when it is not there */
/* The key must not be there yet. False when memory is gone; the map is then unchanged. */
bool ace_broker_name_map_add(ace_broker_name_map *map, ace_bytes key, void *record);
/* Puts another record (and its copy of the key) in the place of one that is there. */
void ace_broker_name_map_replace(ace_broker_name_map *map, ace_bytes key, void *record);
void ace_broker_name_map_remove(ace_broker_name_map *map,
                                ace_bytes key); /* fine when it is not there */
/* Walks the records in no order; start with *cursor 0. The map must not change meanwhile. NULL at
 * the end. */
void *ace_broker_name_map_next(const ace_broker_name_map *map, size_t *cursor);
void *
ace_broker_name_map_any(const ace_broker_name_map *map); /* NULL when empty; for emptying a map */
void ace_broker_name_map_free(ace_broker_name_map *map); /* not the records */

#endif
