/* Bodies of others, opened by the codecs that wrap another: any bytes, and a good body with one
 * byte changed. Nothing but what was written comes out. */
#include "codec/builtin.h"
#include "codec/claim_check.h"
#include "codec/encrypted.h"
#include "contract/framing.h"
#include "fuzz/fuzz.h"

#include <string.h>

static const char object[] = "{\"stored\":true}";

static ace_code put(const char *key, ace_bytes bytes, void *user, ace_error **error)
{
    (void)key;
    (void)bytes;
    (void)user;
    (void)error;
    return ACE_OK;
}

/* Keys that begin with a digit are there, with `z` the store is down, and all others are missing.
 */
static ace_code get(const char *key, ace_buffer *out, void *user, ace_error **error)
{
    (void)user;
    FUZZ_DEMAND(ace_claim_key_valid(ace_bytes_of(key)));
    if (key[0] >= '0' && key[0] <= '9') {
        return ace_buffer_append(out, object, strlen(object)) ? ACE_OK : ace_fail_memory(error);
    }
    return ace_fail(error, key[0] == 'z' ? ACE_TIMEOUT : ACE_NOT_FOUND, "no %s", key);
}

static ace_code remove_object(const char *key, void *user, ace_error **error)
{
    (void)key;
    (void)user;
    (void)error;
    return ACE_OK;
}

static ace_codec *encrypted, *claim_outside, *claim_inside;
static ace_buffer good = ACE_BUFFER_INIT;

static void make_codecs(void)
{
    static const uint8_t key[16] = {1};
    ace_keyring *ring = ace_keyring_new();
    ace_claim_store *store = NULL;
    ace_codec *claims = NULL;
    const ace_codec *json = ace_codec_find("json");
    ace_claim_store_calls calls = {.put = put, .get = get, .remove = remove_object};
    FUZZ_DEMAND(ace_keyring_add(ring, ace_bytes_of("k"), (ace_bytes){key, 16}, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_claim_store_new(&calls, &store, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_codec_encrypted(ring, json, NULL, NULL, &encrypted, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_codec_claim_check(encrypted, store, ACE_CLAIM_THRESHOLD, NULL, &claim_outside,
                                      NULL) == ACE_OK);
    FUZZ_DEMAND(ace_codec_claim_check(json, store, ACE_CLAIM_THRESHOLD, NULL, &claims, NULL) ==
                ACE_OK);
    FUZZ_DEMAND(ace_codec_encrypted(ring, claims, NULL, NULL, &claim_inside, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_codec_encode(claim_outside, ace_bytes_of("[1,2,3]"), &good, NULL) == ACE_OK);
    ace_codec_release(claims);
    ace_claim_store_release(store);
    ace_keyring_free(ring);
}

static ace_code open_body(const ace_codec *codec, ace_bytes body, ace_bytes *payload,
                          ace_buffer *room)
{
    ace_error *error = NULL;
    ace_code code = ace_codec_open(codec, ace_bytes_of("application/vnd.acemq.encrypted"), body,
                                   room, payload, &error);
    if (code != ACE_OK) {
        FUZZ_DEMAND(code == ACE_DECODE || code == ACE_TIMEOUT);
        fuzz_check_error(code, error);
        FUZZ_DEMAND(room->data == NULL && payload->length == 0);
    }
    return code;
}

static void open_any(const ace_codec *codec, ace_bytes body)
{
    ace_buffer room = ACE_BUFFER_INIT;
    ace_bytes payload;
    if (open_body(codec, body, &payload, &room) == ACE_OK) {
        FUZZ_DEMAND(ace_json_check(payload, NULL) == ACE_OK);
    }
    ace_buffer_free(&room);
}

static void open_changed(ace_bytes data)
{
    if (data.length < 2) {
        return;
    }
    size_t at = data.data[0] % good.length;
    good.data[at] ^= data.data[1];
    ace_buffer room = ACE_BUFFER_INIT;
    ace_bytes payload;
    ace_code code = open_body(claim_outside, (ace_bytes){good.data, good.length}, &payload, &room);
    FUZZ_DEMAND((code == ACE_OK) == (data.data[1] == 0) || at < ACE_CLAIM_FRAME_LENGTH);
    FUZZ_DEMAND(code != ACE_OK || at < ACE_CLAIM_FRAME_LENGTH ||
                ace_bytes_equal_text(payload, "[1,2,3]"));
    ace_buffer_free(&room);
    good.data[at] ^= data.data[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (encrypted == NULL) {
        make_codecs();
    }
    ace_bytes body = {data, size};
    open_any(encrypted, body);
    open_any(claim_outside, body);
    open_any(claim_inside, body);
    open_changed(body);
    return 0;
}
