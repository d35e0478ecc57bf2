#include "engine/url_text.h"

#include <limits.h>
#include <string.h>

#define SECRET_MAX 1024
#define NAME_MOST  255

typedef struct number_option {
    const char *name;
    int64_t least;
    int64_t most;
    int32_t *value;
} number_option;

typedef struct text_option { /* of TLS; the names are those of RabbitMQ's URIs */
    const char *name;
    const char *field; /* as the settings call it */
    size_t limit;
    char **value;
} text_option;

static bool is_option_name(ace_url_part text)
{
    for (const char *at = text.start; at < text.end; at++) {
        if (*at != '_' && (*at < 'a' || *at > 'z')) {
            return false;
        }
    }
    return text.end > text.start;
}

static bool is_text(ace_url_part text, const char *wanted)
{
    size_t length = (size_t)(text.end - text.start);
    return strlen(wanted) == length && memcmp(wanted, text.start, length) == 0;
}

static ace_code invalid(ace_url_part text, const char *at, const char *what, ace_error **error)
{
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "url, position %zu: %s",
                             ace_url_position(text, at), what);
    ace_error_field(error, "url", 0);
    return code;
}

static ace_code twice(ace_url_part name, ace_error **error)
{
    return ace_url_bad(name, name.start, "this option stands twice", error);
}

static ace_code read_verify(ace_url_part name, ace_url_part value, ace_url *url, ace_error **error)
{
    if (url->verify != ACE_URL_UNSET) {
        return twice(name, error);
    }
    if (is_text(value, "verify_peer")) {
        url->verify = 1;
    } else if (is_text(value, "verify_none")) {
        url->verify = 0;
    } else {
        return invalid(value, value.start, "verify must be verify_peer or verify_none", error);
    }
    return ACE_OK;
}

static ace_code read_text(const text_option *option, ace_url_part name, ace_url_part value,
                          ace_error **error)
{
    if (*option->value != NULL) {
        return twice(name, error);
    }
    if (value.start == value.end) {
        return invalid(name, name.start, "this option wants a value", error);
    }
    ace_code code = ace_url_decode(value, option->field, option->limit, option->value, error);
    if (code == ACE_OK && strcmp(option->name, "server_name_indication") == 0 &&
        strcmp(*option->value, "disable") == 0) {
        **option->value = '\0';
    }
    return code;
}

/* *found: it was one of TLS. */
static ace_code read_tls_option(ace_url_part name, ace_url_part value, ace_url *url, bool *found,
                                ace_error **error)
{
    const text_option options[] = {
        {"cacertfile", "ca_file", PATH_MAX - 1, &url->ca_file},
        {"certfile", "certificate_file", PATH_MAX - 1, &url->certificate_file},
        {"keyfile", "key_file", PATH_MAX - 1, &url->key_file},
        {"password", "key_password", SECRET_MAX, &url->key_password},
        {"server_name_indication", "server_name", NAME_MOST, &url->server_name},
    };
    const text_option *wanted = NULL;
    for (size_t i = 0; i < sizeof options / sizeof options[0] && wanted == NULL; i++) {
        wanted = is_text(name, options[i].name) ? &options[i] : NULL;
    }
    *found = wanted != NULL || is_text(name, "verify");
    if (*found && url->scheme != ACE_URL_AMQPS) {
        return invalid(name, name.start, "an option of TLS stands only behind amqps://", error);
    }
    if (wanted != NULL) {
        return read_text(wanted, name, value, error);
    }
    return *found ? read_verify(name, value, url, error) : ACE_OK;
}

static ace_code read_option(ace_url_part text, ace_url *url, ace_error **error)
{
    const number_option options[] = {
        {"heartbeat", 0, 65535, &url->heartbeat},
        {"connection_timeout", 1, INT32_MAX, &url->connection_timeout},
        {"channel_max", 1, 65535, &url->channel_max},
        {"frame_max", 4096, INT32_MAX, &url->frame_max},
    };
    const char *equals = ace_url_find(text, "=");
    ace_url_part name = ace_url_cut(text, text.start, equals == NULL ? text.end : equals);
    ace_url_part value = ace_url_cut(text, equals == NULL ? text.end : equals + 1, text.end);
    if (!is_option_name(name)) {
        return ace_url_bad(text, text.start, "expected an option as name=value", error);
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (!is_text(name, options[i].name)) {
            continue;
        }
        return *options[i].value != ACE_URL_UNSET
                   ? twice(name, error)
                   : ace_url_number(value, options[i].least, options[i].most, options[i].value,
                                    options[i].name, error);
    }
    bool found = false;
    ace_code code = read_tls_option(name, value, url, &found, error);
    if (code != ACE_OK || found) {
        return code;
    }
    return invalid(text, text.start,
                   "unknown option, known are heartbeat, connection_timeout, channel_max, "
                   "frame_max, cacertfile, certfile, keyfile, password, verify and "
                   "server_name_indication",
                   error);
}

ace_code ace_url_options(ace_url_part text, ace_url *url, ace_error **error)
{
    /* Then none of this is an option, but a part of a password that was not encoded. */
    if (ace_url_find(text, "@") != NULL) {
        return ace_url_bad(text, text.start, "expected options as name=value", error);
    }
    while (text.start < text.end) {
        const char *end = ace_url_find(text, "&");
        if (end == NULL) {
            end = text.end;
        }
        ace_code code = read_option(ace_url_cut(text, text.start, end), url, error);
        if (code != ACE_OK) {
            return code;
        }
        text.start = end < text.end ? end + 1 : end;
    }
    return ACE_OK;
}
