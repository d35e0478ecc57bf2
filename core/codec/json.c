#include "codec/builtin.h"

#include <jansson.h>

ace_code ace_json_check(ace_bytes body, ace_error **error)
{
    if (body.length == 0) {
        return ace_fail(error, ACE_DECODE, "not JSON: the body is empty");
    }
    /* Integers are read as doubles, because those above int64 are JSON as well. */
    const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    json_error_t reason;
    json_t *root = json_loadb((const char *)body.data, body.length, flags, &reason);
    if (root != NULL) {
        json_decref(root);
        return ACE_OK;
    }
    if (json_error_code(&reason) == json_error_out_of_memory) {
        return ace_fail_memory(error);
    }
    return ace_fail(error, ACE_DECODE, "not JSON: line %d column %d: %s", reason.line,
                    reason.column, reason.text);
}
