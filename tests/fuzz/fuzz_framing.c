/* The bytes around stored and encrypted bodies, base64, and media types. */
#include "contract/base64.h"
#include "contract/framing.h"
#include "contract/media_type.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void check_claim(ace_bytes body)
{
    ace_bytes content;
    ace_buffer again = ACE_BUFFER_INIT;
    ace_claim_kind kind = ace_claim_frame_read(body, &content);
    switch (kind) {
    case ACE_CLAIM_UNFRAMED:
        FUZZ_DEMAND(content.data == body.data && content.length == body.length);
        break;
    case ACE_CLAIM_INLINE:
        FUZZ_DEMAND(ace_claim_frame_inline(&again, content));
        break;
    case ACE_CLAIM_STORED:
        FUZZ_DEMAND(ace_claim_key_valid(content));
        FUZZ_DEMAND(ace_claim_frame_stored(&again, content));
        break;
    case ACE_CLAIM_BAD_KEY:
        FUZZ_DEMAND(!ace_claim_key_valid(content));
        break;
    }
    if (kind == ACE_CLAIM_INLINE || kind == ACE_CLAIM_STORED) {
        FUZZ_DEMAND(ace_bytes_equal(body, (ace_bytes){again.data, again.length}));
    }
    ace_buffer_free(&again);
}

static void check_seal(ace_bytes body)
{
    ace_seal seal;
    ace_error *error = NULL;
    ace_buffer again = ACE_BUFFER_INIT;
    ace_code code = ace_seal_read(body, &seal, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return;
    }
    FUZZ_DEMAND(ace_seal_header(seal.key_id, &again, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_bytes_equal(seal.associated, (ace_bytes){again.data, again.length}));
    FUZZ_DEMAND(seal.nonce.length == ACE_SEAL_NONCE_LENGTH);
    FUZZ_DEMAND(seal.tag.length == ACE_SEAL_TAG_LENGTH);
    FUZZ_DEMAND(ace_buffer_append(&again, seal.nonce.data, seal.nonce.length) &&
                ace_buffer_append(&again, seal.ciphertext.data, seal.ciphertext.length) &&
                ace_buffer_append(&again, seal.tag.data, seal.tag.length));
    FUZZ_DEMAND(ace_bytes_equal(body, (ace_bytes){again.data, again.length}));
    ace_buffer_free(&again);
}

static void check_base64(ace_bytes text)
{
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_buffer again = ACE_BUFFER_INIT;
    if (ace_base64_decode(text, &bytes)) {
        FUZZ_DEMAND(ace_base64_encode((ace_bytes){bytes.data, bytes.length}, &again));
        FUZZ_DEMAND(ace_bytes_equal(text, (ace_bytes){again.data, again.length}));
    }
    ace_buffer_free(&bytes);
    ace_buffer_free(&again);
}

static void check_media_type(ace_bytes type)
{
    ace_bytes essence = ace_media_type_essence(type);
    FUZZ_DEMAND(essence.length <= type.length);
    FUZZ_DEMAND(ace_media_type_is_json(type) == ace_media_type_is_json(essence));
    FUZZ_DEMAND(ace_media_type_is_text(type) == ace_media_type_is_text(essence));
    FUZZ_DEMAND(ace_media_type_is_msgpack(type) == ace_media_type_is_msgpack(essence));
    FUZZ_DEMAND(!ace_media_type_is_encrypted(type) || !ace_media_type_is_json(type));
    FUZZ_DEMAND(ace_media_type_matches(type, "*"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_bytes body = {data, size};
    check_claim(body);
    check_seal(body);
    check_base64(body);
    check_media_type(body);
    return 0;
}
