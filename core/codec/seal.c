#include "codec/seal.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

ace_code ace_seal_key_set(ace_seal_key *key, ace_bytes bytes, ace_error **error)
{
    if (bytes.length != 16 && bytes.length != 24 && bytes.length != 32) {
        ace_fail(error, ACE_INVALID_ARGUMENT, "key has %zu bytes, it must have 16, 24 or 32",
                 bytes.length);
        ace_error_field(error, "key", 0);
        return ACE_INVALID_ARGUMENT;
    }
    memcpy(key->data, bytes.data, bytes.length);
    key->length = bytes.length;
    return ACE_OK;
}

void ace_seal_key_wipe(ace_seal_key *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

static const EVP_CIPHER *cipher_of(const ace_seal_key *key)
{
    if (key->length == 16) {
        return EVP_aes_128_gcm();
    }
    return key->length == 24 ? EVP_aes_192_gcm() : EVP_aes_256_gcm();
}

/* The library counts in int; a longer body goes in pieces. */
static bool feed(EVP_CIPHER_CTX *cipher, uint8_t *out, ace_bytes in)
{
    const size_t most = INT_MAX / 2;
    size_t done = 0;
    while (done < in.length) {
        size_t left = in.length - done;
        int piece = (int)(left < most ? left : most);
        int written = 0;
        if (EVP_CipherUpdate(cipher, out == NULL ? NULL : out + done, &written, in.data + done,
                             piece) != 1 ||
            written != piece) {
            return false;
        }
        done += (size_t)piece;
    }
    return true;
}

static bool begin(EVP_CIPHER_CTX *cipher, const ace_seal_key *key, const uint8_t *nonce,
                  ace_bytes associated, int encrypts)
{
    return EVP_CipherInit_ex(cipher, cipher_of(key), NULL, NULL, NULL, encrypts) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_IVLEN, ACE_SEAL_NONCE_LENGTH, NULL) == 1 &&
           EVP_CipherInit_ex(cipher, NULL, NULL, key->data, nonce, encrypts) == 1 &&
           feed(cipher, NULL, associated);
}

static bool encrypt(EVP_CIPHER_CTX *cipher, const ace_seal_key *key, const uint8_t *nonce,
                    ace_bytes associated, ace_bytes payload, uint8_t *out)
{
    uint8_t rest[EVP_MAX_BLOCK_LENGTH];
    int written = 0;
    return begin(cipher, key, nonce, associated, 1) && feed(cipher, out, payload) &&
           EVP_CipherFinal_ex(cipher, rest, &written) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, ACE_SEAL_TAG_LENGTH,
                               out + payload.length) == 1;
}

ace_code ace_seal_write(const ace_seal_key *key, ace_bytes key_id,
                        const uint8_t nonce[ACE_SEAL_NONCE_LENGTH], ace_bytes payload,
                        ace_buffer *out, ace_error **error)
{
    size_t before = out->length;
    ace_code code = ace_seal_header(key_id, out, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t head = out->length - before;
    uint8_t *room = NULL;
    if (payload.length <= SIZE_MAX - ACE_SEAL_TAG_LENGTH &&
        ace_buffer_append(out, nonce, ACE_SEAL_NONCE_LENGTH)) {
        room = ace_buffer_extend(out, payload.length + ACE_SEAL_TAG_LENGTH);
    }
    EVP_CIPHER_CTX *cipher = room == NULL ? NULL : EVP_CIPHER_CTX_new();
    if (cipher == NULL) {
        code = ace_fail_memory(error);
    } else if (!encrypt(cipher, key, nonce, (ace_bytes){out->data + before, head}, payload, room)) {
        code = ace_fail(error, ACE_SYSTEM, "the body could not be encrypted");
    }
    EVP_CIPHER_CTX_free(cipher);
    if (code != ACE_OK) {
        out->length = before;
    }
    return code;
}

static bool decrypt(EVP_CIPHER_CTX *cipher, const ace_seal_key *key, const ace_seal *seal,
                    uint8_t *out)
{
    uint8_t rest[EVP_MAX_BLOCK_LENGTH];
    uint8_t tag[ACE_SEAL_TAG_LENGTH];
    memcpy(tag, seal->tag.data, sizeof tag);
    int written = 0;
    return begin(cipher, key, seal->nonce.data, seal->associated, 0) &&
           feed(cipher, out, seal->ciphertext) &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, ACE_SEAL_TAG_LENGTH, tag) == 1 &&
           EVP_CipherFinal_ex(cipher, rest, &written) == 1;
}

ace_code ace_seal_open(const ace_seal_key *key, const ace_seal *seal, ace_buffer *out,
                       ace_error **error)
{
    size_t before = out->length;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    /* One byte more, so that an empty payload is not told from failure by a null pointer. */
    uint8_t *room = NULL;
    if (cipher != NULL && seal->ciphertext.length < SIZE_MAX) {
        room = ace_buffer_extend(out, seal->ciphertext.length + 1);
    }
    ace_code code = ACE_OK;
    if (room == NULL) {
        code = ace_fail_memory(error);
    } else if (!decrypt(cipher, key, seal, room)) {
        code = ace_fail(error, ACE_DECODE, "the encrypted body is damaged, or not of this key");
        OPENSSL_cleanse(room, seal->ciphertext.length);
    }
    EVP_CIPHER_CTX_free(cipher);
    out->length = code == ACE_OK ? before + seal->ciphertext.length : before;
    return code;
}
