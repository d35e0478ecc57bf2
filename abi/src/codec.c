#include "acemq/codec.h"

#include "arguments.h"
#include "base/utf8.h"
#include "codec/codec.h"
#include "codec/msgpack.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_REASON       512
#define LONGEST_CONTENT_TYPE 255

/* What the application gave, behind the core's callbacks. */
typedef struct decoder {
    acemq_decode_callback decode;
    void *user;
    acemq_destructor destructor;
} decoder;

const acemq_codec *acemq_codec_builtin(const char *name)
{
    return name == NULL ? NULL : ace_codec_find(name);
}

static ace_code ask(ace_bytes content_type, ace_bytes body, void **decoded, void *user,
                    ace_error **error)
{
    (void)decoded;
    const decoder *given = user;
    char type[LONGEST_CONTENT_TYPE + 1];
    size_t length = content_type.length < sizeof type ? content_type.length : sizeof type - 1;
    if (length > 0) {
        memcpy(type, content_type.data, length);
    }
    type[length] = '\0';
    char reason[LONGEST_REASON] = "";
    if (given->decode(ace_bytes_to_public(body), type, reason, sizeof reason, given->user) == 0) {
        return ACE_OK;
    }
    reason[sizeof reason - 1] = '\0';
    return ace_fail(error, ACE_DECODE, "%s", reason[0] == '\0' ? "no reason given" : reason);
}

static void free_decoder(void *user)
{
    decoder *given = user;
    if (given->destructor != NULL) {
        given->destructor(given->user);
    }
    free(given);
}

acemq_status acemq_codec_new(const char *name, acemq_decode_callback decode, void *user,
                             acemq_destructor destructor, acemq_codec **codec, acemq_error **error)
{
    ace_code code = ace_argument_text(name, "name", error);
    if (code == ACE_OK && decode == NULL) {
        code = ace_argument_present(NULL, "decode", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(codec, "codec", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    decoder *given = malloc(sizeof *given);
    if (given == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    *given = (decoder){decode, user, destructor};
    ace_codec_settings settings = {
        .name = name, .decode = ask, .user = given, .free_user = free_decoder};
    code = ace_codec_new(&settings, codec, error);
    if (code != ACE_OK) {
        free(given);
    }
    return (acemq_status)code;
}

void acemq_codec_free(acemq_codec *codec)
{
    ace_codec_release(codec);
}

acemq_status acemq_codec_check(const acemq_codec *codec, acemq_bytes body, const char *content_type,
                               acemq_error **error)
{
    ace_code code = ace_argument_present(codec, "codec", error);
    if (code == ACE_OK) {
        code = ace_argument_bytes(body, "body", error);
    }
    if (code == ACE_OK) {
        code =
            ace_codec_check(codec, ace_bytes_of(content_type), ace_bytes_from_public(body), error);
    }
    return (acemq_status)code;
}

const char *acemq_codec_content_type(const acemq_codec *codec)
{
    return codec == NULL ? NULL : ace_codec_content_type(codec);
}

static ace_code check_result(const acemq_codec *codec, acemq_bytes bytes, const char *bytes_name,
                             void **out, const char *out_name, const size_t *length,
                             ace_error **error)
{
    ace_code code = ace_argument_present(codec, "codec", error);
    if (code == ACE_OK) {
        code = ace_argument_bytes(bytes, bytes_name, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(out, out_name, error);
    }
    return code == ACE_OK ? ace_argument_present(length, "length", error) : code;
}

static ace_code hand_over(ace_buffer *buffer, void **out, size_t *length, ace_error **error)
{
    size_t bytes = buffer->length;
    char *text = ace_buffer_take_text(buffer);
    if (text == NULL) {
        return ace_fail_memory(error);
    }
    *out = text;
    *length = bytes;
    return ACE_OK;
}

acemq_status acemq_codec_encode(const acemq_codec *codec, acemq_bytes payload, void **body,
                                size_t *length, acemq_error **error)
{
    ace_code code = check_result(codec, payload, "payload", body, "body", length, error);
    ace_buffer buffer = ACE_BUFFER_INIT;
    if (code == ACE_OK) {
        code = ace_codec_encode(codec, ace_bytes_from_public(payload), &buffer, error);
    }
    if (code == ACE_OK) {
        code = hand_over(&buffer, body, length, error);
    }
    ace_buffer_free(&buffer);
    return (acemq_status)code;
}

/* Opened bytes lie in the room, at its beginning or further on, or in the caller's body. */
static ace_code copy_payload(ace_bytes payload, void **out, size_t *length, ace_error **error)
{
    ace_buffer copy = ACE_BUFFER_INIT;
    ace_code code = ace_buffer_append(&copy, payload.data, payload.length)
                        ? hand_over(&copy, out, length, error)
                        : ace_fail_memory(error);
    ace_buffer_free(&copy);
    return code;
}

acemq_status acemq_codec_decode(const acemq_codec *codec, acemq_bytes body,
                                const char *content_type, void **payload, size_t *length,
                                acemq_error **error)
{
    ace_code code = check_result(codec, body, "body", payload, "payload", length, error);
    ace_buffer room = ACE_BUFFER_INIT;
    if (code == ACE_OK) {
        ace_bytes opened;
        code = ace_codec_open(codec, ace_bytes_of(content_type), ace_bytes_from_public(body), &room,
                              &opened, error);
        if (code == ACE_OK) {
            code = copy_payload(opened, payload, length, error);
        }
    }
    ace_buffer_free(&room);
    return (acemq_status)code;
}

acemq_status acemq_msgpack_to_json(acemq_bytes body, char **json, acemq_error **error)
{
    ace_code code = ace_argument_bytes(body, "body", error);
    if (code == ACE_OK) {
        code = ace_argument_present(json, "json", error);
    }
    ace_buffer buffer = ACE_BUFFER_INIT;
    if (code == ACE_OK) {
        code = ace_msgpack_to_json(ace_bytes_from_public(body), &buffer, error);
    }
    if (code == ACE_OK) {
        char *text = ace_buffer_take_text(&buffer);
        if (text == NULL) {
            code = ace_fail_memory(error);
        } else {
            *json = text;
        }
    }
    ace_buffer_free(&buffer);
    return (acemq_status)code;
}
