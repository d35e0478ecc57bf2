#include "acemq/claim_check.h"

#include "arguments.h"
#include "codec/claim_check.h"

#include <stdlib.h>

#define FIRST_RELEASE           ACE_SIZE_UP_TO(acemq_claim_directory_options, reserved)
#define CALLBACKS_FIRST_RELEASE ACE_SIZE_UP_TO(acemq_claim_callbacks, destructor)
#define LONGEST_REASON          512

struct acemq_claim_object {
    ace_buffer *buffer;
};

static const acemq_claim_directory_options defaults = ACEMQ_CLAIM_DIRECTORY_OPTIONS_INIT;

_Static_assert(ACEMQ_CLAIM_THRESHOLD == ACE_CLAIM_THRESHOLD, "one threshold");

acemq_status acemq_claim_directory_options_init(acemq_claim_directory_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

acemq_status acemq_claim_store_directory(const char *path,
                                         const acemq_claim_directory_options *options,
                                         acemq_claim_store **store, acemq_error **error)
{
    acemq_claim_directory_options read = defaults;
    ace_code code = ace_argument_text(path, "path", error);
    if (code == ACE_OK && options != NULL) {
        code = ace_options_read(options, sizeof read, FIRST_RELEASE, &read, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.largest, 1, INT64_MAX, "largest", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.mode, 0400, 0777, "mode", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(read.reserved, 0, 0, "reserved", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(store, "store", error);
    }
    if (code == ACE_OK) {
        code = ace_claim_directory_open(path, (unsigned)read.mode, (uint64_t)read.largest, store,
                                        error);
    }
    return (acemq_status)code;
}

acemq_status acemq_claim_object_append(acemq_claim_object *object, const void *data, size_t length,
                                       acemq_error **error)
{
    ace_code code = ace_argument_present(object, "object", error);
    if (code == ACE_OK) {
        code = ace_argument_bytes((acemq_bytes){data, length}, "data", error);
    }
    if (code == ACE_OK && !ace_buffer_append(object->buffer, data, length)) {
        code = ace_fail_memory(error);
    }
    return (acemq_status)code;
}

static ace_code judge(int result, char *reason, const char *call, ace_error **error)
{
    if (result == 0) {
        return ACE_OK;
    }
    reason[LONGEST_REASON - 1] = '\0';
    return ace_fail(error, ACE_SYSTEM, "claim store: %s: %s", call,
                    reason[0] == '\0' ? "no reason given" : reason);
}

static ace_code put(const char *key, ace_bytes object, void *user, ace_error **error)
{
    const acemq_claim_callbacks *given = user;
    char reason[LONGEST_REASON] = "";
    int result = given->put(key, ace_bytes_to_public(object), reason, sizeof reason, given->user);
    return judge(result, reason, "put", error);
}

static ace_code get(const char *key, ace_buffer *object, void *user, ace_error **error)
{
    const acemq_claim_callbacks *given = user;
    char reason[LONGEST_REASON] = "";
    acemq_claim_object sink = {object};
    int result = given->get(key, &sink, reason, sizeof reason, given->user);
    if (result == 1) {
        return ace_fail(error, ACE_NOT_FOUND, "the claim store has no object %s", key);
    }
    return judge(result, reason, "get", error);
}

static ace_code remove_object(const char *key, void *user, ace_error **error)
{
    const acemq_claim_callbacks *given = user;
    if (given->remove == NULL) {
        return ace_fail(error, ACE_UNSUPPORTED, "the claim store cannot remove objects");
    }
    char reason[LONGEST_REASON] = "";
    int result = given->remove(key, reason, sizeof reason, given->user);
    return judge(result, reason, "remove", error);
}

static void free_callbacks(void *user)
{
    acemq_claim_callbacks *given = user;
    if (given->destructor != NULL) {
        given->destructor(given->user);
    }
    free(given);
}

acemq_status acemq_claim_store_new(const acemq_claim_callbacks *callbacks,
                                   acemq_claim_store **store, acemq_error **error)
{
    acemq_claim_callbacks read = {.size = sizeof read};
    ace_code code = ace_argument_present(callbacks, "callbacks", error);
    if (code == ACE_OK) {
        code = ace_options_read(callbacks, sizeof read, CALLBACKS_FIRST_RELEASE, &read, "callbacks",
                                error);
    }
    if (code == ACE_OK && read.put == NULL) {
        code = ace_argument_present(NULL, "put", error);
    }
    if (code == ACE_OK && read.get == NULL) {
        code = ace_argument_present(NULL, "get", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(store, "store", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_claim_callbacks *given = malloc(sizeof *given);
    if (given == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    *given = read;
    ace_claim_store_calls calls = {.put = put,
                                   .get = get,
                                   .remove = remove_object,
                                   .user = given,
                                   .free_user = free_callbacks};
    code = ace_claim_store_new(&calls, store, error);
    if (code != ACE_OK) {
        free(given);
    }
    return (acemq_status)code;
}

void acemq_claim_store_free(acemq_claim_store *store)
{
    ace_claim_store_release(store);
}

acemq_status acemq_claim_store_remove(acemq_claim_store *store, const char *key,
                                      acemq_error **error)
{
    ace_code code = ace_argument_present(store, "store", error);
    if (code == ACE_OK) {
        code = ace_argument_text(key, "key", error);
    }
    if (code == ACE_OK) {
        code = ace_claim_store_remove(store, ace_bytes_of(key), error);
    }
    return (acemq_status)code;
}

acemq_status acemq_codec_claim_check(const acemq_codec *inner, acemq_claim_store *store,
                                     int64_t threshold, acemq_codec **codec, acemq_error **error)
{
    ace_code code = ace_argument_present(inner, "inner", error);
    if (code == ACE_OK) {
        code = ace_argument_present(store, "store", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(threshold, 0, INT64_MAX, "threshold", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(codec, "codec", error);
    }
    if (code == ACE_OK) {
        code = ace_codec_claim_check(inner, store, (uint64_t)threshold, NULL, codec, error);
    }
    return (acemq_status)code;
}
