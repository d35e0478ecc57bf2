/* MessagePack bodies: what we take msgpack-c takes too, and it prints as JSON of one line. */
#include "codec/builtin.h"
#include "codec/msgpack.h"
#include "fuzz/fuzz.h"

#include <msgpack.h>
#include <string.h>

static void compare_with_msgpack_c(const uint8_t *data, size_t size)
{
    msgpack_unpacked unpacked;
    size_t offset = 0;
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return answer =
        msgpack_unpack_next(&unpacked, (const char *)data, size, &offset);
    FUZZ_DEMAND(answer == MSGPACK_UNPACK_SUCCESS || answer == MSGPACK_UNPACK_EXTRA_BYTES);
    FUZZ_DEMAND(offset == size);
    msgpack_unpacked_destroy(&unpacked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_bytes body = {data, size};
    ace_error *error = NULL;
    ace_buffer json = ACE_BUFFER_INIT;
    ace_code checked = ace_msgpack_check(body, &error);
    ace_code printed = ace_msgpack_to_json(body, &json, NULL);
    FUZZ_DEMAND(checked == printed);
    if (checked == ACE_OK) {
        FUZZ_DEMAND(json.length > 0 && memchr(json.data, '\n', json.length) == NULL);
        FUZZ_DEMAND(ace_json_check((ace_bytes){json.data, json.length}, NULL) == ACE_OK);
        compare_with_msgpack_c(data, size);
    } else {
        FUZZ_DEMAND(json.length == 0);
        FUZZ_DEMAND(checked == ACE_DECODE);
        fuzz_check_error(checked, error);
    }
    ace_buffer_free(&json);
    return 0;
}
