/* Which partition a key belongs to (section 7, and the peers' other rules of 16.6). */
#ifndef ACE_CONTRACT_PARTITION_H
#define ACE_CONTRACT_PARTITION_H

#include "base/buffer.h"

typedef enum ace_partition_rule {
    ACE_PARTITION_UNSIGNED = 0, /* ours, Go, Python, Ruby */
    ACE_PARTITION_FLOOR = 1,    /* Java: floorMod of the signed hash */
    ACE_PARTITION_MASKED = 2,   /* .NET: the top bit masked first */
} ace_partition_rule;

uint32_t ace_fnv1a_32(ace_bytes key);

/* From 0 to partitions - 1; 0 when there are none. All rules agree where partitions is a power of
 * two. */
uint32_t ace_partition_of(ace_bytes key, uint32_t partitions, ace_partition_rule rule);

/* "unsigned", "java", "dotnet". */
bool ace_partition_rule_parse(const char *name, ace_partition_rule *rule);
const char *ace_partition_rule_name(ace_partition_rule rule);

#endif
