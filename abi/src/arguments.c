#include "arguments.h"

#include "base/utf8.h"

#include <string.h>

/* A size that was never set is seldom small: no struct of options comes near this. */
#define LARGEST_OPTIONS 4096

static ace_code refuse(const char *name, ace_error **error, const char *why)
{
    ace_fail(error, ACE_INVALID_ARGUMENT, "%s %s", name, why);
    ace_error_field(error, name, 0);
    return ACE_INVALID_ARGUMENT;
}

ace_code ace_argument_present(const void *pointer, const char *name, ace_error **error)
{
    return pointer != NULL ? ACE_OK : refuse(name, error, "is NULL");
}

ace_code ace_argument_text(const char *text, const char *name, ace_error **error)
{
    if (text == NULL) {
        return refuse(name, error, "is NULL");
    }
    return ace_argument_optional_text(text, name, error);
}

ace_code ace_argument_optional_text(const char *text, const char *name, ace_error **error)
{
    if (text != NULL && !ace_utf8_is_valid(text, strlen(text))) {
        return refuse(name, error, "is not UTF-8");
    }
    return ACE_OK;
}

ace_code ace_argument_bytes(acemq_bytes bytes, const char *name, ace_error **error)
{
    if (bytes.data == NULL && bytes.length != 0) {
        return refuse(name, error, "is NULL and has a length");
    }
    return ACE_OK;
}

ace_code ace_argument_timeout(int64_t timeout, ace_error **error)
{
    if (timeout < 0) {
        return refuse("timeout", error, "is negative");
    }
    return ACE_OK;
}

ace_code ace_argument_range(int64_t value, int64_t least, int64_t most, const char *name,
                            ace_error **error)
{
    if (value >= least && value <= most) {
        return ACE_OK;
    }
    ace_fail(error, ACE_INVALID_ARGUMENT, "%s is %lld, %lld to %lld are allowed", name,
             (long long)value, (long long)least, (long long)most);
    ace_error_field(error, name, value < least ? least : most);
    return ACE_INVALID_ARGUMENT;
}

static ace_code check_size(size_t size, size_t first_release, const char *name, ace_error **error)
{
    if (size >= first_release && size <= LARGEST_OPTIONS) {
        return ACE_OK;
    }
    ace_fail(error, ACE_INVALID_ARGUMENT, "%s has the size %zu, %zu to %d are allowed", name, size,
             first_release, LARGEST_OPTIONS);
    ace_error_field(error, name, (long long)first_release);
    return ACE_INVALID_ARGUMENT;
}

ace_code ace_options_read(const void *options, size_t known, size_t first_release, void *copy,
                          const char *name, ace_error **error)
{
    size_t size;
    memcpy(&size, options, sizeof size);
    ace_code code = check_size(size, first_release, name, error);
    if (code != ACE_OK) {
        return code;
    }
    const unsigned char *bytes = options;
    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0) {
            return refuse(name, error, "asks for what only a later version of the library has");
        }
    }
    /* What an older caller does not know keeps the defaults that `copy` came with. */
    memcpy(copy, options, size < known ? size : known);
    memcpy(copy, &known, sizeof known);
    return ACE_OK;
}

ace_code ace_options_fill(void *options, size_t size, const void *defaults, size_t known,
                          size_t first_release, const char *name, ace_error **error)
{
    ace_code code = ace_argument_present(options, name, error);
    if (code == ACE_OK) {
        code = check_size(size, first_release, name, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    memset(options, 0, size);
    memcpy(options, defaults, size < known ? size : known);
    memcpy(options, &size, sizeof size);
    return ACE_OK;
}

ace_bytes ace_bytes_from_public(acemq_bytes bytes)
{
    return (ace_bytes){bytes.data, bytes.length};
}

acemq_bytes ace_bytes_to_public(ace_bytes bytes)
{
    return (acemq_bytes){bytes.data, bytes.length};
}
