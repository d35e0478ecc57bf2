#include "codec/encrypted.h"

#include "base/utf8.h"
#include "codec/seal.h"

#include <openssl/rand.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_ID      255
#define MOST_BODIES     (UINT64_C(1) << 32)
#define ENCRYPTED_TYPE  "application/vnd.acemq.encrypted"
#define PRINTABLE_BYTES (2 * LONGEST_ID + 3)

typedef struct ring_key {
    uint8_t id[LONGEST_ID];
    size_t id_length;
    ace_seal_key key;
} ring_key;

struct acemq_keyring {
    ring_key *keys;
    size_t count;
    size_t writing;
};

typedef struct encryption {
    ace_keyring *ring;
    const ace_codec *inner;
    ace_nonce_source *source;
    void *source_user;
    atomic_uint_fast64_t written;
} encryption;

ace_keyring *ace_keyring_new(void)
{
    return calloc(1, sizeof(ace_keyring));
}

static void free_keys(ring_key *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ace_seal_key_wipe(&keys[i].key);
    }
    free(keys);
}

void ace_keyring_free(ace_keyring *ring)
{
    if (ring != NULL) {
        free_keys(ring->keys, ring->count);
        free(ring);
    }
}

ace_keyring *ace_keyring_copy(const ace_keyring *ring)
{
    ace_keyring *copy = ace_keyring_new();
    if (copy == NULL || ring->count == 0) {
        return copy;
    }
    copy->keys = calloc(ring->count, sizeof *copy->keys);
    if (copy->keys == NULL) {
        free(copy);
        return NULL;
    }
    memcpy(copy->keys, ring->keys, ring->count * sizeof *copy->keys);
    copy->count = ring->count;
    copy->writing = ring->writing;
    return copy;
}

static const ring_key *find_key(const ace_keyring *ring, ace_bytes id)
{
    for (size_t i = 0; i < ring->count; i++) {
        if (ace_bytes_equal((ace_bytes){ring->keys[i].id, ring->keys[i].id_length}, id)) {
            return &ring->keys[i];
        }
    }
    return NULL;
}

/* An id of a message is anybody's bytes: what is not text is shown in hexadecimal. */
static const char *printable(ace_bytes id, char room[PRINTABLE_BYTES])
{
    bool is_text = ace_utf8_is_valid((const char *)id.data, id.length);
    for (size_t i = 0; is_text && i < id.length; i++) {
        is_text = id.data[i] >= 0x20 && id.data[i] != 0x7f;
    }
    if (is_text) {
        memcpy(room, id.data, id.length);
        room[id.length] = '\0';
        return room;
    }
    static const char digits[] = "0123456789abcdef";
    memcpy(room, "0x", 2);
    for (size_t i = 0; i < id.length; i++) {
        room[2 + 2 * i] = digits[id.data[i] >> 4];
        room[3 + 2 * i] = digits[id.data[i] & 15];
    }
    room[2 + 2 * id.length] = '\0';
    return room;
}

static ace_code check_id(const ace_keyring *ring, ace_bytes id, ace_error **error)
{
    ace_code code = ACE_OK;
    if (id.length == 0 || id.length > LONGEST_ID) {
        code = ace_fail(error, ACE_LIMIT, "key id has %zu bytes, the limits are 1 and %d",
                        id.length, LONGEST_ID);
        ace_error_field(error, "key id", LONGEST_ID);
        return code;
    }
    if (!ace_utf8_is_valid((const char *)id.data, id.length)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "key id is not UTF-8");
    } else if (find_key(ring, id) != NULL) {
        char room[PRINTABLE_BYTES];
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "key id \"%s\" is in the ring already",
                        printable(id, room));
    }
    if (code != ACE_OK) {
        ace_error_field(error, "key id", 0);
    }
    return code;
}

ace_code ace_keyring_add(ace_keyring *ring, ace_bytes id, ace_bytes key, ace_error **error)
{
    ace_code code = check_id(ring, id, error);
    if (code != ACE_OK) {
        return code;
    }
    if (ring->count == ACE_KEYRING_MAX) {
        code = ace_fail(error, ACE_LIMIT, "the ring has %d keys, the limit is %d", ACE_KEYRING_MAX,
                        ACE_KEYRING_MAX);
        ace_error_field(error, "key", ACE_KEYRING_MAX);
        return code;
    }
    ring_key added = {.id_length = id.length};
    memcpy(added.id, id.data, id.length);
    code = ace_seal_key_set(&added.key, key, error);
    if (code != ACE_OK) {
        return code;
    }
    /* Not realloc(), which leaves a copy of the keys behind. */
    ring_key *keys = calloc(ring->count + 1, sizeof *keys);
    if (keys == NULL) {
        code = ace_fail_memory(error);
    } else {
        if (ring->count > 0) {
            memcpy(keys, ring->keys, ring->count * sizeof *keys);
        }
        keys[ring->count] = added;
        free_keys(ring->keys, ring->count);
        ring->keys = keys;
        ring->count++;
    }
    ace_seal_key_wipe(&added.key);
    return code;
}

ace_code ace_keyring_write_with(ace_keyring *ring, ace_bytes id, ace_error **error)
{
    const ring_key *key = find_key(ring, id);
    if (key == NULL) {
        return ace_fail(error, ACE_NOT_FOUND, "the ring has no key of this id");
    }
    ring->writing = (size_t)(key - ring->keys);
    return ACE_OK;
}

static bool random_nonce(uint8_t nonce[12], void *user)
{
    (void)user;
    return RAND_bytes(nonce, ACE_SEAL_NONCE_LENGTH) == 1;
}

static ace_code encode(ace_bytes payload, ace_buffer *body, void *user, ace_error **error)
{
    encryption *self = user;
    if (atomic_fetch_add(&self->written, 1) >= MOST_BODIES) {
        atomic_fetch_sub(&self->written, 1);
        return ace_fail(error, ACE_LIMIT,
                        "this key has encrypted 2^32 bodies, which is its limit: write with a new "
                        "key");
    }
    ace_buffer inner = ACE_BUFFER_INIT;
    uint8_t nonce[ACE_SEAL_NONCE_LENGTH];
    ace_code code = ace_codec_encode(self->inner, payload, &inner, error);
    if (code == ACE_OK && !self->source(nonce, self->source_user)) {
        code = ace_fail(error, ACE_SYSTEM, "there are no random bytes for a nonce");
    }
    if (code == ACE_OK) {
        const ring_key *key = &self->ring->keys[self->ring->writing];
        code = ace_seal_write(&key->key, (ace_bytes){key->id, key->id_length}, nonce,
                              (ace_bytes){inner.data, inner.length}, body, error);
    }
    ace_buffer_free(&inner);
    return code;
}

static ace_code open_body(ace_bytes content_type, ace_bytes body, ace_buffer *room,
                          ace_bytes *payload, void *user, ace_error **error)
{
    (void)content_type;
    const encryption *self = user;
    ace_seal seal;
    ace_code code = ace_seal_read(body, &seal, error);
    if (code != ACE_OK) {
        return code;
    }
    const ring_key *key = find_key(self->ring, seal.key_id);
    char id[PRINTABLE_BYTES];
    if (key == NULL) {
        return ace_fail(error, ACE_DECODE, "there is no key \"%s\"", printable(seal.key_id, id));
    }
    ace_buffer own = ACE_BUFFER_INIT;
    code = ace_seal_open(&key->key, &seal, &own, error);
    if (code == ACE_DECODE) {
        ace_error_prefix(error, "key \"%s\"", printable(seal.key_id, id));
    }
    if (code == ACE_OK) {
        ace_bytes type = ace_bytes_of(ace_codec_content_type(self->inner));
        code = ace_codec_open_within(self->inner, type, &own, room, payload, error);
    }
    ace_buffer_free(&own);
    return code;
}

static void free_encryption(void *user)
{
    encryption *self = user;
    ace_keyring_free(self->ring);
    ace_codec_release(self->inner);
    free(self);
}

ace_code ace_codec_encrypted(const ace_keyring *ring, const ace_codec *inner,
                             ace_nonce_source *source, void *source_user, ace_codec **out,
                             ace_error **error)
{
    if (ring->count == 0) {
        return ace_fail(error, ACE_STATE, "the ring has no key");
    }
    encryption *self = calloc(1, sizeof *self);
    ace_keyring *copy = ace_keyring_copy(ring);
    if (self == NULL || copy == NULL) {
        free(self);
        ace_keyring_free(copy);
        return ace_fail_memory(error);
    }
    ace_codec_retain(inner);
    self->ring = copy;
    self->inner = inner;
    self->source = source == NULL ? random_nonce : source;
    self->source_user = source_user;
    atomic_init(&self->written, 0);
    ace_codec_settings settings = {.name = "encrypted",
                                   .content_type = ENCRYPTED_TYPE,
                                   .encode = encode,
                                   .open = open_body,
                                   .user = self,
                                   .free_user = free_encryption};
    ace_code code = ace_codec_new(&settings, out, error);
    if (code != ACE_OK) {
        free_encryption(self);
    }
    return code;
}
