#include "contract/limits.h"

#include "contract/table.h"

#include <inttypes.h>
#include <string.h>

ace_code ace_name_explain(const char *field, ace_bytes name, ace_error **error)
{
    if (name.length > ACE_NAME_MAX) {
        ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %d", field, name.length,
                 ACE_NAME_MAX);
        ace_error_field(error, field, ACE_NAME_MAX);
        return ACE_LIMIT;
    }
    if (name.length == 0) {
        return ACE_OK;
    }
    const char *fault = NULL;
    if (memchr(name.data, '\0', name.length) != NULL) {
        fault = "has a NUL byte in it";
    } else if (!ace_utf8_is_valid((const char *)name.data, name.length)) {
        fault = "is not UTF-8";
    }
    if (fault != NULL) {
        ace_fail(error, ACE_INVALID_ARGUMENT, "%s %s", field, fault);
        ace_error_field(error, field, 0);
        return ACE_INVALID_ARGUMENT;
    }
    return ACE_OK;
}

ace_code ace_prefetch_check(int64_t prefetch, ace_error **error)
{
    if (prefetch >= 1 && prefetch <= ACE_PREFETCH_MAX) {
        return ACE_OK;
    }
    ace_fail(error, ACE_LIMIT, "prefetch is %" PRId64 ", the limits are 1 and %d", prefetch,
             ACE_PREFETCH_MAX);
    ace_error_field(error, "prefetch", prefetch < 1 ? 1 : ACE_PREFETCH_MAX);
    return ACE_LIMIT;
}

/* The array, or the entries' values. */
typedef struct nested {
    const amqp_field_value_t *values;
    const amqp_table_entry_t *entries;
    int count;
} nested;

typedef struct extent {
    uint64_t entries;
    int depth;
} extent;

static bool is_nested(const amqp_field_value_t *value, nested *inside)
{
    if (value->kind == AMQP_FIELD_KIND_TABLE) {
        *inside = (nested){.entries = value->value.table.entries,
                           .count = value->value.table.num_entries};
        return true;
    }
    if (value->kind == AMQP_FIELD_KIND_ARRAY) {
        *inside =
            (nested){.values = value->value.array.entries, .count = value->value.array.num_entries};
        return true;
    }
    return false;
}

/* No deeper than what a table takes: each value was checked when it was set. */
static void measure(const nested *of, int depth, extent *found)
{
    found->entries += (uint64_t)of->count;
    found->depth = depth > found->depth ? depth : found->depth;
    if (of->values == NULL && of->entries == NULL) {
        return; /* it counts none */
    }
    for (int i = 0; i < of->count; i++) {
        nested inside;
        if (is_nested(of->values != NULL ? &of->values[i] : &of->entries[i].value, &inside)) {
            measure(&inside, depth + 1, found);
        }
    }
}

static ace_code refuse(const char *what, uint64_t has, const char *unit, uint64_t limit,
                       ace_error **error)
{
    ace_fail(error, ACE_LIMIT, "headers %s %" PRIu64 "%s, the limit is %" PRIu64, what, has, unit,
             limit);
    ace_error_field(error, "headers", (long long)limit);
    return ACE_LIMIT;
}

ace_code ace_headers_check(const amqp_table_t *headers, const ace_header_limits *limits,
                           ace_error **error)
{
    if (headers == NULL || headers->num_entries == 0) {
        return ACE_OK;
    }
    extent found = {0, 0};
    measure(&(nested){.entries = headers->entries, .count = headers->num_entries}, 1, &found);
    if (found.entries > limits->entries) {
        return refuse("have", found.entries, " entries", limits->entries, error);
    }
    if (found.depth > limits->depth) {
        return refuse("are nested", (uint64_t)found.depth, " deep", (uint64_t)limits->depth, error);
    }
    size_t bytes = ace_table_encoded_size(headers);
    return bytes > limits->bytes ? refuse("have", bytes, " bytes", limits->bytes, error) : ACE_OK;
}
