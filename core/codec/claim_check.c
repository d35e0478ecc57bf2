#include "codec/claim_check.h"

#include "contract/framing.h"

#include <stdlib.h>

typedef struct claim_check {
    const ace_codec *inner;
    ace_claim_store *store;
    uint64_t threshold;
    ace_random *random;
} claim_check;

static bool reads(ace_bytes content_type, void *user)
{
    const claim_check *self = user;
    return ace_codec_reads(self->inner, content_type);
}

static ace_code store_body(const claim_check *self, ace_bytes encoded, ace_buffer *body,
                           ace_error **error)
{
    char key[ACE_UUID_LENGTH + 1];
    ace_uuid_v4(self->random, key);
    ace_code code = ace_claim_store_put(self->store, ace_bytes_of(key), encoded, error);
    if (code == ACE_OK && !ace_claim_frame_stored(body, ace_bytes_of(key))) {
        (void)ace_claim_store_remove(self->store, ace_bytes_of(key), NULL);
        code = ace_fail_memory(error);
    }
    return code;
}

static ace_code encode(ace_bytes payload, ace_buffer *body, void *user, ace_error **error)
{
    const claim_check *self = user;
    ace_buffer inner = ACE_BUFFER_INIT;
    ace_code code = ace_codec_encode(self->inner, payload, &inner, error);
    ace_bytes encoded = {inner.data, inner.length};
    if (code == ACE_OK && encoded.length >= self->threshold) {
        code = store_body(self, encoded, body, error);
    } else if (code == ACE_OK && !ace_claim_frame_inline(body, encoded)) {
        code = ace_fail_memory(error);
    }
    ace_buffer_free(&inner);
    return code;
}

static ace_code fetch(const claim_check *self, ace_bytes content_type, ace_bytes key,
                      ace_buffer *room, ace_bytes *payload, ace_error **error)
{
    ace_buffer own = ACE_BUFFER_INIT;
    ace_error *reason = NULL;
    ace_code code = ace_claim_store_get(self->store, key, &own, &reason);
    if (code == ACE_NOT_FOUND) {
        code = ace_fail(error, ACE_DECODE, "%s", ace_error_message(reason));
        ace_error_free(reason);
    } else if (code == ACE_DECODE) {
        /* Whatever a store says, it cannot say that the message is at fault. */
        code = ace_fail(error, ACE_SYSTEM, "%s", ace_error_message(reason));
        ace_error_free(reason);
    } else if (code != ACE_OK) {
        ace_error_move(error, reason);
    } else {
        code = ace_codec_open_within(self->inner, content_type, &own, room, payload, error);
    }
    ace_buffer_free(&own);
    return code;
}

static ace_code open_body(ace_bytes content_type, ace_bytes body, ace_buffer *room,
                          ace_bytes *payload, void *user, ace_error **error)
{
    const claim_check *self = user;
    ace_bytes content;
    switch (ace_claim_frame_read(body, &content)) {
    case ACE_CLAIM_STORED:
        return fetch(self, content_type, content, room, payload, error);
    case ACE_CLAIM_BAD_KEY:
        return ace_fail(error, ACE_DECODE, "the claim check has a malformed key of %zu bytes",
                        content.length);
    case ACE_CLAIM_INLINE:
    case ACE_CLAIM_UNFRAMED:
        break;
    }
    return ace_codec_open(self->inner, content_type, content, room, payload, error);
}

static void free_claim_check(void *user)
{
    claim_check *self = user;
    ace_codec_release(self->inner);
    ace_claim_store_release(self->store);
    free(self);
}

ace_code ace_codec_claim_check(const ace_codec *inner, ace_claim_store *store, uint64_t threshold,
                               ace_random *random, ace_codec **out, ace_error **error)
{
    claim_check *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return ace_fail_memory(error);
    }
    ace_codec_retain(inner);
    self->inner = inner;
    self->store = ace_claim_store_keep(store);
    self->threshold = threshold;
    self->random = random == NULL ? ace_random_system() : random;
    ace_codec_settings settings = {.name = "claim-check",
                                   .content_type = ace_codec_content_type(inner),
                                   .reads = reads,
                                   .encode = encode,
                                   .open = open_body,
                                   .user = self,
                                   .free_user = free_claim_check};
    ace_code code = ace_codec_new(&settings, out, error);
    if (code != ACE_OK) {
        free_claim_check(self);
    }
    return code;
}
