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
