#include "contract/partition.h"

#include <string.h>

#define FNV_OFFSET 2166136261u
#define FNV_PRIME  16777619u

static const char *const rule_names[] = {"unsigned", "java", "dotnet"};

uint32_t ace_fnv1a_32(ace_bytes key)
{
    uint32_t hash = FNV_OFFSET;
    for (size_t i = 0; i < key.length; i++) {
        hash = (hash ^ key.data[i]) * FNV_PRIME;
    }
    return hash;
}

uint32_t ace_partition_of(ace_bytes key, uint32_t partitions, ace_partition_rule rule)
{
    if (partitions == 0) {
        return 0;
    }
    uint32_t hash = ace_fnv1a_32(key);
    if (rule == ACE_PARTITION_MASKED) {
        return (hash & 0x7fffffffu) % partitions;
    }
    if (rule == ACE_PARTITION_FLOOR) {
        int64_t as_signed = hash > INT32_MAX ? (int64_t)hash - ((int64_t)UINT32_MAX + 1) : hash;
        int64_t rest = as_signed % (int64_t)partitions;
        return (uint32_t)(rest < 0 ? rest + partitions : rest);
    }
    return hash % partitions;
}

bool ace_partition_rule_parse(const char *name, ace_partition_rule *rule)
{
    for (size_t i = 0; i < sizeof rule_names / sizeof rule_names[0]; i++) {
        if (strcmp(name, rule_names[i]) == 0) {
            *rule = (ace_partition_rule)i;
            return true;
        }
    }
    return false;
}

const char *ace_partition_rule_name(ace_partition_rule rule)
{
    size_t index = (size_t)rule;
    return index < sizeof rule_names / sizeof rule_names[0] ? rule_names[index] : "unknown";
}
