#include "contract/limits.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

ace_code ace_name_check(const char *field, ace_bytes name, ace_error **error)
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
