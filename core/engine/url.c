#include "engine/url.h"

#include "base/buffer.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX     8192
#define NAME_MAX_URL 255
#define PASSWORD_MAX 1024
#define OPTION_UNSET (-1)

/* A stretch of the text; errors say where in the whole it lies. */
typedef struct part {
    const char *whole;
    const char *start;
    const char *end;
} part;

static size_t position(part text, const char *at)
{
    return (size_t)(at - text.whole) + 1;
}

static ace_code unsupported(const char *what, ace_error **error)
{
    ace_fail(error, ACE_UNSUPPORTED, "url: %s", what);
    ace_error_field(error, "url", 0);
    return ACE_UNSUPPORTED;
}

static ace_code bad(part text, const char *at, const char *what, ace_error **error)
{
    ace_code code = ace_fail(error, ACE_PARSE, "url, position %zu: %s", position(text, at), what);
    ace_error_field(error, "url", 0);
    return code;
}

static part cut(part text, const char *start, const char *end)
{
    return (part){text.whole, start, end};
}

static const char *find(part text, const char *characters)
{
    for (const char *at = text.start; at < text.end; at++) {
        if (strchr(characters, *at) != NULL) {
            return at;
        }
    }
    return NULL;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

static ace_code decode_into(part text, char *out, size_t *length, ace_error **error)
{
    *length = 0;
    for (const char *at = text.start; at < text.end; at++) {
        char byte = *at;
        if (byte == '%') {
            int high = text.end - at > 2 ? hex_digit(at[1]) : -1;
            int low = high >= 0 ? hex_digit(at[2]) : -1;
            if (low < 0) {
                return bad(text, at, "% wants two hexadecimal digits after it", error);
            }
            byte = (char)(high * 16 + low);
            if (byte == '\0') {
                return bad(text, at, "a zero byte is allowed nowhere", error);
            }
            at += 2;
        }
        out[(*length)++] = byte;
    }
    out[*length] = '\0';
    return ACE_OK;
}

static ace_code decode(part text, const char *field, size_t limit, char **out, ace_error **error)
{
    size_t room = (size_t)(text.end - text.start);
    char *decoded = malloc(room + 1);
    if (decoded == NULL) {
        return ace_fail_memory(error);
    }
    size_t length = 0;
    ace_code code = decode_into(text, decoded, &length, error);
    if (code == ACE_OK && length > limit) {
        code = ace_fail(error, ACE_LIMIT, "url: %s has %zu bytes, the limit is %zu", field, length,
                        limit);
        ace_error_field(error, field, (long long)limit);
    } else if (code == ACE_OK && !ace_utf8_is_valid(decoded, length)) {
        code = bad(text, text.start, "this is not UTF-8", error);
    }
    if (code != ACE_OK) {
        explicit_bzero(decoded, room + 1);
        free(decoded);
        return code;
    }
    free(*out);
    *out = decoded;
    return ACE_OK;
}

static ace_code read_number(part text, int64_t least, int64_t most, int32_t *out, const char *field,
                            ace_error **error)
{
    int64_t value = 0;
    bool sound = text.end > text.start && text.end - text.start <= 10;
    for (const char *at = text.start; sound && at < text.end; at++) {
        sound = *at >= '0' && *at <= '9';
        value = value * 10 + (*at - '0');
    }
    if (!sound || value < least || value > most) {
        ace_code code =
            ace_fail(error, ACE_INVALID_ARGUMENT,
                     "url, position %zu: %s must be a whole number from %" PRId64 " to %" PRId64,
                     position(text, text.start), field, least, most);
        ace_error_field(error, field, (long long)most);
        return code;
    }
    *out = (int32_t)value;
    return ACE_OK;
}

static ace_code read_scheme(part text, ace_url *url, part *rest, ace_error **error)
{
    const char *mark = strstr(text.start, "://");
    if (mark == NULL) {
        return bad(text, text.start, "expected amqp:// or memory://", error);
    }
    size_t length = (size_t)(mark - text.start);
    *rest = cut(text, mark + 3, text.end);
    if (length == 4 && strncasecmp(text.start, "amqp", 4) == 0) {
        url->scheme = ACE_URL_AMQP;
        return ACE_OK;
    }
    if (length == 6 && strncasecmp(text.start, "memory", 6) == 0) {
        url->scheme = ACE_URL_MEMORY;
        return ACE_OK;
    }
    if (length == 5 && strncasecmp(text.start, "amqps", 5) == 0) {
        return unsupported("amqps:// is refused, TLS is not in this build", error);
    }
    return bad(text, text.start, "expected amqp:// or memory://", error);
}

/* What cannot stand in any URL of ours unencoded. A raw # or @ further on is most likely a piece of
 * a password, and must not become a host or a virtual host that later messages name. */
static ace_code check_characters(part text, ace_error **error)
{
    size_t length = strlen(text.start);
    if (length > TEXT_MAX) {
        ace_code code =
            ace_fail(error, ACE_LIMIT, "url has %zu bytes, the limit is %d", length, TEXT_MAX);
        ace_error_field(error, "url", TEXT_MAX);
        return code;
    }
    for (const char *at = text.start; at < text.end; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte <= ' ' || byte == 0x7f) {
            return bad(text, at, "a space or control character must be percent-encoded", error);
        }
        if (byte == '#') {
            return bad(text, at, "# must be written %23", error);
        }
    }
    return ACE_OK;
}

static ace_code read_user(part text, ace_url *url, ace_error **error)
{
    const char *colon = find(text, ":");
    part user = cut(text, text.start, colon == NULL ? text.end : colon);
    part password = cut(text, colon == NULL ? text.end : colon + 1, text.end);
    if (user.start == user.end) {
        return bad(text, text.start, "the user is empty", error);
    }
    ace_code code = decode(user, "user", NAME_MAX_URL, &url->user, error);
    if (code == ACE_OK) {
        code = decode(password, "password", PASSWORD_MAX, &url->password, error);
    }
    url->has_user = code == ACE_OK;
    return code;
}

static ace_code read_port(part text, ace_endpoint *endpoint, ace_error **error)
{
    int32_t port = ACE_AMQP_PORT;
    ace_code code = ACE_OK;
    if (text.start < text.end) {
        code = read_number(text, 1, 65535, &port, "port", error);
    }
    endpoint->port = (uint16_t)port;
    return code;
}

/* "[address]" or "name", and what stands behind it. */
static ace_code read_host(part text, ace_endpoint *endpoint, part *rest, ace_error **error)
{
    if (text.start < text.end && *text.start == '[') {
        const char *end = find(text, "]");
        if (end == NULL || end == text.start + 1) {
            return bad(text, text.start, "an IPv6 address stands between [ and ]", error);
        }
        *rest = cut(text, end + 1, text.end);
        return decode(cut(text, text.start + 1, end), "host", NAME_MAX_URL, &endpoint->host, error);
    }
    const char *end = find(text, ":");
    if (end == NULL) {
        end = text.end;
    }
    *rest = cut(text, end, text.end);
    ace_code code =
        decode(cut(text, text.start, end), "host", NAME_MAX_URL, &endpoint->host, error);
    if (code == ACE_OK && endpoint->host[0] == '\0') {
        free(endpoint->host);
        endpoint->host = strdup("localhost");
        code = endpoint->host == NULL ? ace_fail_memory(error) : ACE_OK;
    }
    return code;
}

static ace_code read_endpoint(part text, ace_endpoint *endpoint, ace_error **error)
{
    part rest = text;
    ace_code code = read_host(text, endpoint, &rest, error);
    if (code != ACE_OK) {
        return code;
    }
    if (rest.start == rest.end) {
        endpoint->port = ACE_AMQP_PORT;
        return ACE_OK;
    }
    if (*rest.start != ':') {
        return bad(text, rest.start, "expected : and a port after the host", error);
    }
    if (rest.start + 1 == rest.end) {
        return bad(text, rest.start, "expected a port after the :", error);
    }
    return read_port(cut(text, rest.start + 1, rest.end), endpoint, error);
}

static ace_code read_memory_name(part text, ace_url *url, ace_error **error)
{
    const char *colon = find(text, ":");
    if (colon != NULL) {
        return bad(text, colon, "a memory broker has no port; a : in its name is written %3A",
                   error);
    }
    if (text.start == text.end) {
        return bad(text, text.start, "expected the memory broker's name", error);
    }
    return decode(text, "name", NAME_MAX_URL, &url->memory_name, error);
}

static ace_code read_authority(part text, ace_url *url, ace_error **error)
{
    const char *at = find(text, "@");
    if (at != NULL) {
        ace_code code = read_user(cut(text, text.start, at), url, error);
        if (code != ACE_OK) {
            return code;
        }
        text.start = at + 1;
        at = find(text, "@");
        if (at != NULL) {
            return bad(text, at, "@ in a user or password must be written %40", error);
        }
    }
    if (url->scheme == ACE_URL_MEMORY) {
        return read_memory_name(text, url, error);
    }
    if (find(text, ",") != NULL) {
        return unsupported("several hosts are refused, this build connects to one", error);
    }
    url->endpoints = calloc(1, sizeof *url->endpoints);
    if (url->endpoints == NULL) {
        return ace_fail_memory(error);
    }
    url->endpoint_count = 1;
    return read_endpoint(text, &url->endpoints[0], error);
}

static ace_code read_vhost(part text, ace_url *url, ace_error **error)
{
    const char *raw = find(text, "/@");
    if (raw != NULL) {
        return bad(text, raw,
                   "/ and @ must be percent-encoded here: %2F or %40 (in a password too)", error);
    }
    if (text.start == text.end) {
        return ACE_OK;
    }
    return decode(text, "virtual host", NAME_MAX_URL, &url->vhost, error);
}

typedef struct option {
    const char *name;
    int64_t least;
    int64_t most;
    int32_t *value;
} option;

static bool is_option_name(part text)
{
    for (const char *at = text.start; at < text.end; at++) {
        if (*at != '_' && (*at < 'a' || *at > 'z')) {
            return false;
        }
    }
    return text.end > text.start;
}

static ace_code read_option(part text, const option *options, size_t count, ace_error **error)
{
    const char *equals = find(text, "=");
    part name = cut(text, text.start, equals == NULL ? text.end : equals);
    if (!is_option_name(name)) {
        return bad(text, text.start, "expected an option as name=value", error);
    }
    size_t length = (size_t)(name.end - name.start);
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) != length || memcmp(options[i].name, name.start, length) != 0) {
            continue;
        }
        if (*options[i].value != OPTION_UNSET) {
            return bad(text, text.start, "this option stands twice", error);
        }
        part value = cut(text, equals == NULL ? text.end : equals + 1, text.end);
        return read_number(value, options[i].least, options[i].most, options[i].value,
                           options[i].name, error);
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT,
                             "url: unknown option %.*s, known are heartbeat, connection_timeout, "
                             "channel_max and frame_max",
                             length > 64 ? 64 : (int)length, name.start);
    ace_error_field(error, "url", 0);
    return code;
}

static ace_code read_options(part text, ace_url *url, ace_error **error)
{
    const option options[] = {
        {"heartbeat", 0, 65535, &url->heartbeat},
        {"connection_timeout", 1, INT32_MAX, &url->connection_timeout},
        {"channel_max", 1, 65535, &url->channel_max},
        {"frame_max", 4096, INT32_MAX, &url->frame_max},
    };
    /* Then none of this is an option, but a part of a password that was not encoded. */
    if (find(text, "@") != NULL) {
        return bad(text, text.start, "expected options as name=value", error);
    }
    while (text.start < text.end) {
        const char *end = find(text, "&");
        if (end == NULL) {
            end = text.end;
        }
        ace_code code = read_option(cut(text, text.start, end), options,
                                    sizeof options / sizeof options[0], error);
        if (code != ACE_OK) {
            return code;
        }
        text.start = end < text.end ? end + 1 : end;
    }
    return ACE_OK;
}

static ace_code set_defaults(ace_url *url, ace_error **error)
{
    url->heartbeat = OPTION_UNSET;
    url->connection_timeout = OPTION_UNSET;
    url->channel_max = OPTION_UNSET;
    url->frame_max = OPTION_UNSET;
    url->user = strdup("guest");
    url->password = strdup("guest");
    url->vhost = strdup("/");
    if (url->user == NULL || url->password == NULL || url->vhost == NULL) {
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

static ace_code parse_parts(const char *text, ace_url *url, ace_error **error)
{
    part whole = {text, text, text + strlen(text)};
    part rest = whole;
    ace_code code = check_characters(whole, error);
    if (code == ACE_OK) {
        code = read_scheme(whole, url, &rest, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    const char *end = find(rest, "/?");
    const char *query = find(rest, "?");
    part authority = cut(rest, rest.start, end == NULL ? rest.end : end);
    code = read_authority(authority, url, error);
    if (code == ACE_OK && end != NULL && *end == '/') {
        code = read_vhost(cut(rest, end + 1, query == NULL ? rest.end : query), url, error);
    }
    if (code == ACE_OK && query != NULL) {
        code = read_options(cut(rest, query + 1, rest.end), url, error);
    }
    return code;
}

ace_code ace_url_parse(const char *text, ace_url *url, ace_error **error)
{
    *url = (ace_url){0};
    if (text == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "url is NULL");
    }
    ace_code code = set_defaults(url, error);
    if (code == ACE_OK) {
        code = parse_parts(text, url, error);
    }
    if (code != ACE_OK) {
        ace_url_free(url);
    }
    return code;
}

void ace_url_free(ace_url *url)
{
    for (size_t i = 0; i < url->endpoint_count; i++) {
        free(url->endpoints[i].host);
    }
    if (url->password != NULL) {
        explicit_bzero(url->password, strlen(url->password));
    }
    free(url->endpoints);
    free(url->memory_name);
    free(url->user);
    free(url->password);
    free(url->vhost);
    *url = (ace_url){0};
}

void ace_url_place(const ace_url *url, char *out, size_t size)
{
    if (url->scheme == ACE_URL_MEMORY) {
        (void)snprintf(out, size, "memory://%s", url->memory_name);
        return;
    }
    const ace_endpoint *endpoint = &url->endpoints[0];
    const char *format = strchr(endpoint->host, ':') == NULL ? "%s:%u" : "[%s]:%u";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(out, size, format, endpoint->host, (unsigned)endpoint->port);
#pragma GCC diagnostic pop
}

/* `plain` are characters that stand as they are besides the unreserved ones. */
static bool append_encoded_but(ace_buffer *out, const char *text, const char *plain)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        bool stands = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                      (byte >= '0' && byte <= '9') || strchr("-._~", byte) != NULL ||
                      strchr(plain, byte) != NULL;
        bool added =
            stands ? ace_buffer_append(out, text, 1) : ace_buffer_format(out, "%%%02X", byte);
        if (!added) {
            return false;
        }
    }
    return true;
}

static bool append_encoded(ace_buffer *out, const char *text)
{
    return append_encoded_but(out, text, "");
}

static bool append_endpoint(ace_buffer *out, const ace_endpoint *endpoint)
{
    bool is_v6 = strchr(endpoint->host, ':') != NULL;
    return ace_buffer_append_text(out, is_v6 ? "[" : "") &&
           append_encoded_but(out, endpoint->host, ":") &&
           ace_buffer_format(out, "%s:%u", is_v6 ? "]" : "", (unsigned)endpoint->port);
}

char *ace_url_redacted(const ace_url *url)
{
    ace_buffer out = ACE_BUFFER_INIT;
    bool is_memory = url->scheme == ACE_URL_MEMORY;
    bool whole = ace_buffer_append_text(&out, is_memory ? "memory://" : "amqp://") &&
                 append_encoded(&out, url->user) && ace_buffer_append_text(&out, "@") &&
                 (is_memory ? append_encoded(&out, url->memory_name)
                            : append_endpoint(&out, &url->endpoints[0])) &&
                 ace_buffer_append_text(&out, "/") && append_encoded(&out, url->vhost);
    char *text = whole ? ace_buffer_take_text(&out) : NULL;
    ace_buffer_free(&out);
    return text;
}
