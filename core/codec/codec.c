#include "codec/codec.h"

#include "codec/builtin.h"
#include "codec/msgpack.h"
#include "contract/media_type.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME         63
#define LONGEST_CONTENT_TYPE 255

struct acemq_codec {
    bool is_builtin;
    const char *name;
    const char *content_type;
    bool (*reads_builtin)(ace_bytes content_type);
    ace_code (*check_builtin)(ace_bytes body, ace_error **error);

    /* An application's codec only. */
    atomic_uint references;
    ace_codec_reader *reads;
    bool reads_everything;
    ace_codec_decoder *decode;
    ace_codec_dropper *drop;
    ace_codec_encoder *encode;
    ace_codec_opener *open;
    void *user;
    void (*free_user)(void *user);
    char name_copy[LONGEST_NAME + 1];
    char content_type_copy[LONGEST_CONTENT_TYPE + 1];
};

static bool reads_everything(ace_bytes content_type)
{
    (void)content_type;
    return true;
}

static ace_code check_nothing(ace_bytes body, ace_error **error)
{
    (void)body;
    (void)error;
    return ACE_OK;
}

static const ace_codec builtin_codecs[] = {
    {.is_builtin = true,
     .name = "json",
     .content_type = "application/json",
     .reads_builtin = ace_media_type_is_json,
     .check_builtin = ace_json_check},
    {.is_builtin = true,
     .name = "text",
     .content_type = "text/plain; charset=utf-8",
     .reads_builtin = ace_media_type_is_text,
     .check_builtin = ace_text_check},
    {.is_builtin = true,
     .name = "msgpack",
     .content_type = "application/msgpack",
     .reads_builtin = ace_media_type_is_msgpack,
     .check_builtin = ace_msgpack_check},
    {.is_builtin = true,
     .name = "bytes",
     .content_type = "application/octet-stream",
     .reads_builtin = reads_everything,
     .check_builtin = check_nothing},
};

const ace_codec *ace_codec_find(const char *name)
{
    for (size_t i = 0; i < sizeof builtin_codecs / sizeof builtin_codecs[0]; i++) {
        if (name != NULL && strcmp(builtin_codecs[i].name, name) == 0) {
            return &builtin_codecs[i];
        }
    }
    return NULL;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

static ace_code check_length(const char *field, size_t length, size_t limit, ace_error **error)
{
    if (length == 0) {
        ace_fail(error, ACE_INVALID_ARGUMENT, "%s is empty", field);
        ace_error_field(error, field, 0);
        return ACE_INVALID_ARGUMENT;
    }
    if (length > limit) {
        ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %zu", field, length, limit);
        ace_error_field(error, field, (long long)limit);
        return ACE_LIMIT;
    }
    return ACE_OK;
}

static ace_code check_name(const char *name, ace_error **error)
{
    static const char field[] = "codec name";
    if (name == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s is NULL", field);
    }
    ace_code code = check_length(field, strlen(name), LONGEST_NAME, error);
    for (const char *at = name; code == ACE_OK && *at != '\0'; at++) {
        if (!is_name_character(*at)) {
            code = ace_fail(error, ACE_INVALID_ARGUMENT,
                            "%s has the byte 0x%02x; letters, digits and - . _ are allowed", field,
                            (unsigned char)*at);
            ace_error_field(error, field, 0);
        }
    }
    return code;
}

static ace_code check_content_type(const char *content_type, ace_error **error)
{
    static const char field[] = "codec content type";
    ace_code code = check_length(field, strlen(content_type), LONGEST_CONTENT_TYPE, error);
    for (const char *at = content_type; code == ACE_OK && *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f) {
            code = ace_fail(error, ACE_INVALID_ARGUMENT, "%s has the control character 0x%02x",
                            field, byte);
            ace_error_field(error, field, 0);
        }
    }
    return code;
}

ace_code ace_codec_new(const ace_codec_settings *settings, ace_codec **out, ace_error **error)
{
    ace_code code = check_name(settings->name, error);
    const char *content_type = settings->content_type;
    if (content_type == NULL) {
        content_type = "application/octet-stream";
    }
    if (code == ACE_OK) {
        code = check_content_type(content_type, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    ace_codec *codec = calloc(1, sizeof *codec);
    if (codec == NULL) {
        return ace_fail_memory(error);
    }
    memcpy(codec->name_copy, settings->name, strlen(settings->name));
    memcpy(codec->content_type_copy, content_type, strlen(content_type));
    codec->name = codec->name_copy;
    codec->content_type = codec->content_type_copy;
    codec->reads = settings->reads;
    codec->reads_everything = settings->content_type == NULL;
    codec->decode = settings->decode;
    codec->drop = settings->drop;
    codec->encode = settings->encode;
    codec->open = settings->open;
    codec->user = settings->user;
    codec->free_user = settings->free_user;
    atomic_init(&codec->references, 1);
    *out = codec;
    return ACE_OK;
}

/* Users hold a codec as const, since nothing they can see of it changes; the count does. */
static ace_codec *counted(const ace_codec *codec)
{
    return (ace_codec *)(uintptr_t)codec;
}

void ace_codec_retain(const ace_codec *codec)
{
    if (codec != NULL && !codec->is_builtin) {
        atomic_fetch_add_explicit(&counted(codec)->references, 1, memory_order_relaxed);
    }
}

void ace_codec_release(const ace_codec *codec)
{
    if (codec == NULL || codec->is_builtin) {
        return;
    }
    ace_codec *owned = counted(codec);
    if (atomic_fetch_sub_explicit(&owned->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (owned->free_user != NULL) {
        owned->free_user(owned->user);
    }
    free(owned);
}

const char *ace_codec_name(const ace_codec *codec)
{
    return codec->name;
}

const char *ace_codec_content_type(const ace_codec *codec)
{
    return codec->content_type;
}

static uint8_t ascii_lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

static bool is_same_media_type(ace_bytes a, ace_bytes b)
{
    ace_bytes left = ace_media_type_essence(a);
    ace_bytes right = ace_media_type_essence(b);
    if (left.length != right.length) {
        return false;
    }
    for (size_t i = 0; i < left.length; i++) {
        if (ascii_lower(left.data[i]) != ascii_lower(right.data[i])) {
            return false;
        }
    }
    return true;
}

bool ace_codec_reads(const ace_codec *codec, ace_bytes content_type)
{
    if (codec->is_builtin) {
        return codec->reads_builtin(content_type);
    }
    if (codec->reads != NULL) {
        return codec->reads(content_type, codec->user);
    }
    return codec->reads_everything ||
           is_same_media_type(content_type, ace_bytes_of(codec->content_type));
}

/* A content type is a short string on the wire; a longer one comes from a caller's mistake. */
static int printable_length(ace_bytes content_type)
{
    return content_type.length > LONGEST_CONTENT_TYPE ? LONGEST_CONTENT_TYPE
                                                      : (int)content_type.length;
}

static ace_code check_reads(const ace_codec *codec, ace_bytes content_type, ace_error **error)
{
    if (ace_codec_reads(codec, content_type)) {
        return ACE_OK;
    }
    return ace_fail(error, ACE_DECODE, "the %s codec does not read the content type \"%.*s\"",
                    codec->name, printable_length(content_type),
                    content_type.length == 0 ? "" : (const char *)content_type.data);
}

/* Callbacks of applications may fail without a word. */
static ace_code pass_on(const ace_codec *codec, ace_code code, ace_error *reason, ace_error **error)
{
    if (code == ACE_OK) {
        ace_error_free(reason);
        return ACE_OK;
    }
    if (reason == NULL) {
        return ace_fail(error, code, "the %s codec gave no reason", codec->name);
    }
    ace_error_move(error, reason);
    return code;
}

static ace_code decode_custom(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                              void **decoded, ace_error **error)
{
    ace_error *reason = NULL;
    ace_code code = codec->decode(content_type, body, decoded, codec->user, &reason);
    if (code != ACE_OK) {
        ace_codec_drop(codec, *decoded);
        *decoded = NULL;
    }
    return pass_on(codec, code, reason, error);
}

ace_code ace_codec_decode(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                          void **decoded, ace_error **error)
{
    *decoded = NULL;
    if (codec->open != NULL) {
        ace_buffer room = ACE_BUFFER_INIT;
        ace_bytes payload;
        ace_code code = ace_codec_open(codec, content_type, body, &room, &payload, error);
        ace_buffer_free(&room);
        return code;
    }
    ace_code code = check_reads(codec, content_type, error);
    if (code != ACE_OK) {
        return code;
    }
    if (codec->is_builtin) {
        return codec->check_builtin(body, error);
    }
    return codec->decode == NULL ? ACE_OK
                                 : decode_custom(codec, content_type, body, decoded, error);
}

static ace_code name_body(ace_code code, ace_error **error)
{
    if (code == ACE_DECODE) {
        ace_error_field(error, "body", 0);
    }
    return code;
}

ace_code ace_codec_check(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                         ace_error **error)
{
    void *decoded;
    ace_code code = ace_codec_decode(codec, content_type, body, &decoded, error);
    ace_codec_drop(codec, decoded);
    return name_body(code, error);
}

void ace_codec_drop(const ace_codec *codec, void *decoded)
{
    if (decoded != NULL && codec->drop != NULL) {
        codec->drop(decoded, codec->user);
    }
}

ace_code ace_codec_encode(const ace_codec *codec, ace_bytes payload, ace_buffer *body,
                          ace_error **error)
{
    if (codec->encode != NULL) {
        ace_error *reason = NULL;
        ace_code code = codec->encode(payload, body, codec->user, &reason);
        return pass_on(codec, code, reason, error);
    }
    ace_code code = ace_codec_check(codec, ace_bytes_of(codec->content_type), payload, error);
    if (code == ACE_OK && payload.length > 0 &&
        !ace_buffer_append(body, payload.data, payload.length)) {
        code = ace_fail_memory(error);
    }
    return code;
}

ace_code ace_codec_open(const ace_codec *codec, ace_bytes content_type, ace_bytes body,
                        ace_buffer *room, ace_bytes *payload, ace_error **error)
{
    *payload = body;
    if (codec->open == NULL) {
        return ace_codec_check(codec, content_type, body, error);
    }
    ace_code code = check_reads(codec, content_type, error);
    if (code == ACE_OK) {
        ace_error *reason = NULL;
        code = codec->open(content_type, body, room, payload, codec->user, &reason);
        code = pass_on(codec, code, reason, error);
    }
    if (code != ACE_OK) {
        ace_buffer_free(room);
        *payload = (ace_bytes){NULL, 0};
    }
    return name_body(code, error);
}

ace_code ace_codec_open_within(const ace_codec *inner, ace_bytes content_type, ace_buffer *own,
                               ace_buffer *room, ace_bytes *payload, ace_error **error)
{
    ace_buffer deeper = ACE_BUFFER_INIT;
    ace_code code = ace_codec_open(inner, content_type, (ace_bytes){own->data, own->length},
                                   &deeper, payload, error);
    if (code != ACE_OK) {
        return code;
    }
    if (deeper.data != NULL) {
        *room = deeper;
    } else {
        *room = *own;
        *own = (ace_buffer)ACE_BUFFER_INIT;
    }
    return ACE_OK;
}
