#include "acemq/names.h"

#include "acemq/codec.h"
#include "arguments.h"
#include "base/random.h"
#include "codec/codec.h"
#include "contract/framing.h"
#include "contract/names.h"
#include "contract/partition.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(ACEMQ_NAME_SIZE == sizeof(ace_name), "room for a name and its NUL");
_Static_assert(ACEMQ_ID_SIZE == ACE_UUID_LENGTH + 1, "room for an id and its NUL");
_Static_assert((int)ACEMQ_PARTITION_UNSIGNED == (int)ACE_PARTITION_UNSIGNED &&
                   (int)ACEMQ_PARTITION_FLOOR_MOD == (int)ACE_PARTITION_FLOOR &&
                   (int)ACEMQ_PARTITION_MASKED == (int)ACE_PARTITION_MASKED,
               "one numbering of the partition rules");

void acemq_free(void *memory)
{
    free(memory);
}

void acemq_new_id(char id[ACEMQ_ID_SIZE])
{
    if (id != NULL) {
        ace_uuid_v4(ace_random_system(), id);
    }
}

typedef ace_code derive(const char *queue, ace_name *out, ace_error **error);

static acemq_status derived_name(derive *rule, const char *queue, char *name, acemq_error **error)
{
    ace_code code = ace_argument_text(queue, "queue", error);
    if (code == ACE_OK) {
        code = ace_argument_present(name, "name", error);
    }
    if (code == ACE_OK && *queue == '\0') {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "queue is empty");
        ace_error_field(error, "queue", 0);
    }
    ace_name built;
    if (code == ACE_OK) {
        code = rule(queue, &built, error);
    }
    if (code == ACE_OK) {
        memcpy(name, built.text, sizeof built.text);
    }
    return (acemq_status)code;
}

acemq_status acemq_dead_letter_queue(const char *queue, char name[ACEMQ_NAME_SIZE],
                                     acemq_error **error)
{
    return derived_name(ace_name_dead_letter, queue, name, error);
}

acemq_status acemq_parked_queue(const char *queue, char name[ACEMQ_NAME_SIZE], acemq_error **error)
{
    return derived_name(ace_name_parked, queue, name, error);
}

acemq_status acemq_duration_parse(const char *text, int64_t *milliseconds, acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code == ACE_OK) {
        code = ace_argument_present(milliseconds, "milliseconds", error);
    }
    if (code == ACE_OK) {
        code = ace_duration_parse(text, strlen(text), milliseconds, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_duration_format(int64_t milliseconds, char text[24], acemq_error **error)
{
    ace_code code = ace_argument_present(text, "text", error);
    if (code == ACE_OK) {
        code = ace_argument_range(milliseconds, 0, INT64_MAX, "milliseconds", error);
    }
    if (code == ACE_OK) {
        char formatted[ACE_DURATION_LENGTH];
        ace_duration_format(milliseconds, formatted);
        memcpy(text, formatted, 24);
        text[23] = '\0'; /* 19 digits and a unit never come that far */
    }
    return (acemq_status)code;
}

int64_t acemq_partition(acemq_bytes key, int64_t partitions, acemq_partition_rule rule)
{
    if (partitions < 1 || partitions > INT32_MAX || (key.data == NULL && key.length != 0) ||
        (int)rule < ACEMQ_PARTITION_UNSIGNED || (int)rule > ACEMQ_PARTITION_MASKED) {
        return -1;
    }
    return ace_partition_of(ace_bytes_from_public(key), (uint32_t)partitions,
                            (ace_partition_rule)rule);
}

acemq_status acemq_claim_frame_read(acemq_bytes body, acemq_claim_frame *frame, acemq_bytes *rest,
                                    acemq_error **error)
{
    ace_code code = ace_argument_bytes(body, "body", error);
    if (code == ACE_OK) {
        code = ace_argument_present(frame, "frame", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(rest, "rest", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_bytes content;
    switch (ace_claim_frame_read(ace_bytes_from_public(body), &content)) {
    case ACE_CLAIM_UNFRAMED:
        *frame = ACEMQ_CLAIM_NONE;
        break;
    case ACE_CLAIM_INLINE:
        *frame = ACEMQ_CLAIM_INLINE;
        break;
    case ACE_CLAIM_STORED:
        *frame = ACEMQ_CLAIM_STORED;
        break;
    case ACE_CLAIM_BAD_KEY:
    default:
        return (acemq_status)ace_fail(error, ACE_DECODE, "the key of a stored body is malformed");
    }
    *rest = ace_bytes_to_public(content);
    return ACEMQ_OK;
}

static ace_code write_claim_frame(acemq_claim_frame frame, ace_bytes rest, ace_buffer *out,
                                  ace_error **error)
{
    bool written = false;
    switch (frame) {
    case ACEMQ_CLAIM_NONE:
        written = ace_buffer_append(out, rest.data, rest.length);
        break;
    case ACEMQ_CLAIM_INLINE:
        written = ace_claim_frame_inline(out, rest);
        break;
    case ACEMQ_CLAIM_STORED:
        if (!ace_claim_key_valid(rest)) {
            ace_fail(error, ACE_INVALID_ARGUMENT,
                     "rest is no key: letters, digits and . _ - are allowed, at most %d bytes",
                     ACE_CLAIM_CHECK_KEY_MAX);
            ace_error_field(error, "rest", ACE_CLAIM_CHECK_KEY_MAX);
            return ACE_INVALID_ARGUMENT;
        }
        written = ace_claim_frame_stored(out, rest);
        break;
    default:
        return ace_argument_range((int64_t)frame, ACEMQ_CLAIM_NONE, ACEMQ_CLAIM_STORED, "frame",
                                  error);
    }
    return written ? ACE_OK : ace_fail_memory(error);
}

acemq_status acemq_claim_frame_write(acemq_claim_frame frame, acemq_bytes rest, void **framed,
                                     size_t *length, acemq_error **error)
{
    ace_code code = ace_argument_bytes(rest, "rest", error);
    if (code == ACE_OK) {
        code = ace_argument_present(framed, "framed", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(length, "length", error);
    }
    ace_buffer out = ACE_BUFFER_INIT;
    if (code == ACE_OK) {
        code = write_claim_frame(frame, ace_bytes_from_public(rest), &out, error);
    }
    if (code == ACE_OK) {
        *length = out.length;
        *framed = ace_buffer_take_text(&out);
        if (*framed == NULL) {
            *length = 0;
            code = ace_fail_memory(error);
        }
    }
    ace_buffer_free(&out);
    return (acemq_status)code;
}

acemq_status acemq_encrypted_frame_read(acemq_bytes body, acemq_encrypted_frame *frame,
                                        acemq_error **error)
{
    ace_code code = ace_argument_bytes(body, "body", error);
    if (code == ACE_OK) {
        code = ace_argument_present(frame, "frame", error);
    }
    ace_seal seal;
    if (code == ACE_OK) {
        code = ace_seal_read(ace_bytes_from_public(body), &seal, error);
    }
    if (code == ACE_OK) {
        *frame = (acemq_encrypted_frame){.key_id = ace_bytes_to_public(seal.key_id),
                                         .authenticated = ace_bytes_to_public(seal.associated),
                                         .nonce = ace_bytes_to_public(seal.nonce),
                                         .ciphertext = ace_bytes_to_public(seal.ciphertext),
                                         .tag = ace_bytes_to_public(seal.tag)};
    }
    return (acemq_status)code;
}

int acemq_codec_reads(const char *codec, const char *content_type)
{
    const ace_codec *found = codec == NULL ? NULL : ace_codec_find(codec);
    return found != NULL &&
           ace_codec_reads(found, ace_bytes_of(content_type == NULL ? "" : content_type));
}
