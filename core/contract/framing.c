#include "contract/framing.h"

#include <string.h>

static const uint8_t claim_start[] = {0xac, 0x01};
static const uint8_t seal_start[] = {0xae, 0x01};

static bool starts_with(ace_bytes body, const uint8_t start[2])
{
    return body.length >= 2 && memcmp(body.data, start, 2) == 0;
}

static ace_bytes from(ace_bytes body, size_t position, size_t length)
{
    return (ace_bytes){body.data + position, length};
}

static bool is_letter_or_digit(uint8_t byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9');
}

bool ace_claim_key_valid(ace_bytes key)
{
    if (key.length == 0 || key.length > ACE_CLAIM_CHECK_KEY_MAX ||
        !is_letter_or_digit(key.data[0])) {
        return false;
    }
    for (size_t i = 1; i < key.length; i++) {
        uint8_t byte = key.data[i];
        if (!is_letter_or_digit(byte) && byte != '.' && byte != '_' && byte != '-') {
            return false;
        }
    }
    return true;
}

ace_claim_kind ace_claim_frame_read(ace_bytes body, ace_bytes *content)
{
    *content = body;
    if (!starts_with(body, claim_start) || body.length < ACE_CLAIM_FRAME_LENGTH) {
        return ACE_CLAIM_UNFRAMED;
    }
    uint8_t kind = body.data[2];
    if (kind > 1) {
        return ACE_CLAIM_UNFRAMED;
    }
    *content = from(body, ACE_CLAIM_FRAME_LENGTH, body.length - ACE_CLAIM_FRAME_LENGTH);
    if (kind == 0) {
        return ACE_CLAIM_INLINE;
    }
    return ace_claim_key_valid(*content) ? ACE_CLAIM_STORED : ACE_CLAIM_BAD_KEY;
}

static bool append_framed(ace_buffer *out, const uint8_t *start, size_t start_length, uint8_t kind,
                          ace_bytes content)
{
    return ace_buffer_reserve(out, start_length + 1) &&
           ace_buffer_reserve(out, start_length + 1 + content.length) &&
           ace_buffer_append(out, start, start_length) && ace_buffer_append(out, &kind, 1) &&
           ace_buffer_append(out, content.data, content.length);
}

bool ace_claim_frame_inline(ace_buffer *out, ace_bytes payload)
{
    return append_framed(out, claim_start, sizeof claim_start, 0, payload);
}

bool ace_claim_frame_stored(ace_buffer *out, ace_bytes key)
{
    return append_framed(out, claim_start, sizeof claim_start, 1, key);
}

ace_code ace_seal_read(ace_bytes body, ace_seal *seal, ace_error **error)
{
    if (!starts_with(body, seal_start) || body.length < 3) {
        return ace_fail(error, ACE_DECODE,
                        "the body is not an encrypted one: it does not begin "
                        "with the bytes ae 01 and a key id");
    }
    size_t key_length = body.data[2];
    size_t head = 3 + key_length;
    if (key_length == 0) {
        return ace_fail(error, ACE_DECODE, "the encrypted body has an empty key id");
    }
    if (body.length < head + ACE_SEAL_NONCE_LENGTH + ACE_SEAL_TAG_LENGTH) {
        return ace_fail(error, ACE_DECODE,
                        "the encrypted body has %zu bytes, a key id of %zu needs at least %zu",
                        body.length, key_length,
                        head + ACE_SEAL_NONCE_LENGTH + ACE_SEAL_TAG_LENGTH);
    }
    size_t text = head + ACE_SEAL_NONCE_LENGTH;
    seal->associated = from(body, 0, head);
    seal->key_id = from(body, 3, key_length);
    seal->nonce = from(body, head, ACE_SEAL_NONCE_LENGTH);
    seal->ciphertext = from(body, text, body.length - text - ACE_SEAL_TAG_LENGTH);
    seal->tag = from(body, body.length - ACE_SEAL_TAG_LENGTH, ACE_SEAL_TAG_LENGTH);
    return ACE_OK;
}

ace_code ace_seal_header(ace_bytes key_id, ace_buffer *out, ace_error **error)
{
    if (key_id.length == 0 || key_id.length > UINT8_MAX) {
        ace_fail(error, ACE_LIMIT, "key id has %zu bytes, the limits are 1 and %d", key_id.length,
                 UINT8_MAX);
        ace_error_field(error, "key id", UINT8_MAX);
        return ACE_LIMIT;
    }
    if (!append_framed(out, seal_start, sizeof seal_start, (uint8_t)key_id.length, key_id)) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}
