#include "acemq/encryption.h"

#include "arguments.h"
#include "codec/encrypted.h"

acemq_status acemq_keyring_new(acemq_keyring **keyring, acemq_error **error)
{
    ace_code code = ace_argument_present(keyring, "keyring", error);
    if (code == ACE_OK) {
        ace_keyring *made = ace_keyring_new();
        if (made == NULL) {
            code = ace_fail_memory(error);
        } else {
            *keyring = made;
        }
    }
    return (acemq_status)code;
}

acemq_status acemq_keyring_add(acemq_keyring *keyring, const char *id, acemq_bytes key,
                               acemq_error **error)
{
    ace_code code = ace_argument_present(keyring, "keyring", error);
    if (code == ACE_OK) {
        code = ace_argument_text(id, "id", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_bytes(key, "key", error);
    }
    if (code == ACE_OK) {
        code = ace_keyring_add(keyring, ace_bytes_of(id), ace_bytes_from_public(key), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_keyring_write_with(acemq_keyring *keyring, const char *id, acemq_error **error)
{
    ace_code code = ace_argument_present(keyring, "keyring", error);
    if (code == ACE_OK) {
        code = ace_argument_text(id, "id", error);
    }
    if (code == ACE_OK) {
        code = ace_keyring_write_with(keyring, ace_bytes_of(id), error);
    }
    return (acemq_status)code;
}

void acemq_keyring_free(acemq_keyring *keyring)
{
    ace_keyring_free(keyring);
}

acemq_status acemq_codec_encrypted(const acemq_keyring *keyring, const acemq_codec *inner,
                                   acemq_codec **codec, acemq_error **error)
{
    ace_code code = ace_argument_present(keyring, "keyring", error);
    if (code == ACE_OK) {
        code = ace_argument_present(inner, "inner", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(codec, "codec", error);
    }
    if (code == ACE_OK) {
        code = ace_codec_encrypted(keyring, inner, NULL, NULL, codec, error);
    }
    return (acemq_status)code;
}
