/* JSON and text bodies: jansson takes what we take, and we what it takes, but for what the grammar
 * allows and jansson cannot hold: numbers out of range, surrogates on their own, and a zero byte in
 * a name. */
#include "base/utf8.h"
#include "codec/builtin.h"
#include "fuzz/fuzz.h"

#include <jansson.h>
#include <string.h>

static bool is_beyond_jansson(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           strstr(error->text, "invalid Unicode") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_bytes body = {data, size};
    ace_error *error = NULL;
    json_error_t theirs;
    ace_code code = ace_json_check(body, &error);
    /* A zero byte after the document ends it for jansson. */
    bool comparable = size == 0 || memchr(data, 0, size) == NULL;
    json_t *json = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &theirs);
    if (code == ACE_OK) {
        FUZZ_DEMAND(json != NULL || is_beyond_jansson(&theirs));
    } else {
        FUZZ_DEMAND(json == NULL || !comparable);
        FUZZ_DEMAND(code == ACE_DECODE);
        fuzz_check_error(code, error);
    }
    json_decref(json);
    error = NULL;
    code = ace_text_check(body, &error);
    FUZZ_DEMAND((code == ACE_OK) == ace_utf8_is_valid((const char *)data, size));
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
    }
    return 0;
}
