#include "base/utf8.h"
#include "codec/builtin.h"

ace_code ace_text_check(ace_bytes body, ace_error **error)
{
    size_t valid = ace_utf8_valid_prefix((const char *)body.data, body.length);
    if (valid == body.length) {
        return ACE_OK;
    }
    return ace_fail(error, ACE_DECODE, "not UTF-8: byte %zu of %zu is 0x%02x", valid + 1,
                    body.length, body.data[valid]);
}
