/* Framings, encryption and codecs. */
#include "protocol.h"

#include <stdlib.h>
#include <string.h>

static const char *const frames[] = {"none", "inline", "stored"};

static json_t *body_result(const void *data, size_t length)
{
    json_t *result = json_object();
    set_body(result, data, length);
    return result;
}

static json_t *read_claim(driver_request *request)
{
    size_t length = 0;
    void *body = body_of(request->with, &length);
    acemq_claim_frame frame = ACEMQ_CLAIM_NONE;
    acemq_bytes rest = {0};
    acemq_error *error = NULL;
    json_t *result = NULL;
    if (acemq_claim_frame_read((acemq_bytes){body, length}, &frame, &rest, &error) != ACEMQ_OK) {
        failed(request, error);
    } else {
        result = body_result(rest.data, rest.length);
        json_object_set_new(result, "frame", json_string(frames[frame]));
    }
    free(body);
    return result;
}

static json_t *write_claim(driver_request *request)
{
    size_t length = 0, framed_length = 0;
    const char *name = text_of(request, "frame");
    int frame = 2;
    while (frame > 0 && (!name || strcmp(frames[frame], name) != 0)) {
        frame--;
    }
    void *body = body_of(request->with, &length), *framed = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_claim_frame_write(
        (acemq_claim_frame)frame, (acemq_bytes){body, length}, &framed, &framed_length, &error);
    json_t *result =
        status == ACEMQ_OK ? body_result(framed, framed_length) : failed(request, error);
    acemq_free(framed);
    free(body);
    return result;
}

static json_t *read_encrypted(driver_request *request)
{
    size_t length = 0;
    void *body = body_of(request->with, &length);
    acemq_encrypted_frame frame;
    acemq_error *error = NULL;
    json_t *result = NULL;
    if (acemq_encrypted_frame_read((acemq_bytes){body, length}, &frame, &error) != ACEMQ_OK) {
        failed(request, error);
    } else {
        result = json_pack("{s:s%}", "keyId", frame.key_id.data, frame.key_id.length);
        set_base64(result, "authenticatedBase64", frame.authenticated);
        set_base64(result, "nonceBase64", frame.nonce);
        set_base64(result, "ciphertextBase64", frame.ciphertext);
        set_base64(result, "tagBase64", frame.tag);
    }
    free(body);
    return result;
}

static acemq_status add_key(acemq_keyring *ring, const char *id, const char *encoded,
                            acemq_error **error)
{
    size_t length = 0;
    void *key = base64_of(encoded, &length);
    acemq_status status = acemq_keyring_add(ring, id, (acemq_bytes){key, length}, error);
    free(key);
    return status;
}

/* The codec that encrypts with the keys of the request; NULL, and answered. */
static acemq_codec *encrypting(driver_request *request)
{
    acemq_keyring *ring = NULL;
    acemq_codec *codec = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_keyring_new(&ring, &error);
    const char *id = text_of(request, "keyId");
    json_t *key;
    if (status == ACEMQ_OK && id) {
        status = add_key(ring, id, text_of(request, "keyBase64"), &error);
    }
    json_object_foreach((json_t *)member_of(request, "keys"), id, key)
    {
        status = status == ACEMQ_OK ? add_key(ring, id, json_string_value(key), &error) : status;
    }
    if (status == ACEMQ_OK) {
        status = acemq_codec_encrypted(ring, acemq_codec_builtin("bytes"), &codec, &error);
    }
    acemq_keyring_free(ring);
    if (status != ACEMQ_OK) {
        failed(request, error);
    }
    return codec;
}

static json_t *encrypt_or_decrypt(driver_request *request, int encrypts)
{
    acemq_codec *codec = encrypting(request);
    if (!codec) {
        return NULL;
    }
    size_t length = 0, made_length = 0;
    void *body = body_of(request->with, &length), *made = NULL;
    acemq_bytes bytes = {body, length};
    acemq_error *error = NULL;
    acemq_status status = encrypts
                              ? acemq_codec_encode(codec, bytes, &made, &made_length, &error)
                              : acemq_codec_decode(codec, bytes, acemq_codec_content_type(codec),
                                                   &made, &made_length, &error);
    json_t *result = status == ACEMQ_OK ? body_result(made, made_length) : failed(request, error);
    acemq_free(made);
    free(body);
    acemq_codec_free(codec);
    return result;
}

static json_t *encrypt_verb(driver_request *request)
{
    return encrypt_or_decrypt(request, 1);
}

static json_t *decrypt_verb(driver_request *request)
{
    return encrypt_or_decrypt(request, 0);
}

static json_t *reads_verb(driver_request *request)
{
    return json_pack("{s:b}", "reads",
                     acemq_codec_reads(text_of(request, "codec"), text_of(request, "contentType")));
}

static json_t *check_verb(driver_request *request)
{
    const char *name = text_of(request, "codec");
    const acemq_codec *codec = acemq_codec_builtin(name ? name : "bytes");
    if (!codec) {
        return unsupported(request, "no such codec");
    }
    size_t length = 0;
    void *body = body_of(request->with, &length);
    acemq_error *error = NULL;
    acemq_status status = acemq_codec_check(codec, (acemq_bytes){body, length},
                                            text_of(request, "contentType"), &error);
    free(body);
    return status == ACEMQ_OK ? json_object() : failed(request, error);
}

const driver_verb body_verbs[] = {
    {"claim.read", read_claim, " body bodyBase64 "},
    {"claim.write", write_claim, " frame body bodyBase64 "},
    {"encrypted.read", read_encrypted, " body bodyBase64 "},
    {"encrypt", encrypt_verb, " keyId keyBase64 body bodyBase64 "},
    {"decrypt", decrypt_verb, " keys body bodyBase64 "},
    {"codec.reads", reads_verb, " codec contentType "},
    {"codec.check", check_verb, " codec body bodyBase64 contentType "},
    {0},
};
