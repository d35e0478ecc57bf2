#include "engine/url.h"

#include "base/buffer.h"
#include "engine/url_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX     8192
#define NAME_MAX_URL 255
#define PASSWORD_MAX 1024
#define HOSTS_MAX    64
#define EXPECTED     "expected amqp://, amqps:// or memory://"

static ace_code read_scheme(ace_url_part text, ace_url *url, ace_url_part *rest, ace_error **error)
{
    static const struct {
        const char *name;
        ace_url_scheme scheme;
    } schemes[] = {{"amqp", ACE_URL_AMQP}, {"amqps", ACE_URL_AMQPS}, {"memory", ACE_URL_MEMORY}};
    const char *mark = strstr(text.start, "://");
    if (mark == NULL) {
        return ace_url_bad(text, text.start, EXPECTED, error);
    }
    size_t length = (size_t)(mark - text.start);
    *rest = ace_url_cut(text, mark + 3, text.end);
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strlen(schemes[i].name) == length &&
            strncasecmp(text.start, schemes[i].name, length) == 0) {
            url->scheme = schemes[i].scheme;
            return ACE_OK;
        }
    }
    return ace_url_bad(text, text.start, EXPECTED, error);
}

/* What cannot stand in any URL of ours unencoded. A raw # or @ further on is most likely a piece of
 * a password, and must not become a host or a virtual host that later messages name. */
static ace_code check_characters(ace_url_part text, ace_error **error)
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
            return ace_url_bad(text, at, "a space or control character must be percent-encoded",
                               error);
        }
        if (byte == '#') {
            return ace_url_bad(text, at, "# must be written %23", error);
        }
    }
    return ACE_OK;
}

static ace_code read_user(ace_url_part text, ace_url *url, ace_error **error)
{
    const char *colon = ace_url_find(text, ":");
    ace_url_part user = ace_url_cut(text, text.start, colon == NULL ? text.end : colon);
    ace_url_part password = ace_url_cut(text, colon == NULL ? text.end : colon + 1, text.end);
    if (user.start == user.end) {
        return ace_url_bad(text, text.start, "the user is empty", error);
    }
    ace_code code = ace_url_decode(user, "user", NAME_MAX_URL, &url->user, error);
    if (code == ACE_OK) {
        code = ace_url_decode(password, "password", PASSWORD_MAX, &url->password, error);
    }
    url->has_user = code == ACE_OK;
    return code;
}

/* "[address]" or "name", and what stands behind it. */
static ace_code read_host(ace_url_part text, ace_endpoint *endpoint, ace_url_part *rest,
                          ace_error **error)
{
    if (text.start < text.end && *text.start == '[') {
        const char *end = ace_url_find(text, "]");
        if (end == NULL || end == text.start + 1) {
            return ace_url_bad(text, text.start, "an IPv6 address stands between [ and ]", error);
        }
        *rest = ace_url_cut(text, end + 1, text.end);
        return ace_url_decode(ace_url_cut(text, text.start + 1, end), "host", NAME_MAX_URL,
                              &endpoint->host, error);
    }
    const char *end = ace_url_find(text, ":");
    if (end == NULL) {
        end = text.end;
    }
    *rest = ace_url_cut(text, end, text.end);
    ace_code code = ace_url_decode(ace_url_cut(text, text.start, end), "host", NAME_MAX_URL,
                                   &endpoint->host, error);
    return code;
}

static ace_code read_endpoint(ace_url_part text, uint16_t usual_port, ace_endpoint *endpoint,
                              ace_error **error)
{
    ace_url_part rest = text;
    int32_t port = usual_port;
    ace_code code = read_host(text, endpoint, &rest, error);
    if (code == ACE_OK && rest.start < rest.end) {
        if (*rest.start != ':') {
            return ace_url_bad(text, rest.start, "expected : and a port after the host", error);
        }
        if (rest.start + 1 == rest.end) {
            return ace_url_bad(text, rest.start, "expected a port after the :", error);
        }
        code = ace_url_number(ace_url_cut(text, rest.start + 1, rest.end), 1, 65535, &port, "port",
                              error);
    }
    endpoint->port = (uint16_t)port;
    return code;
}

/* Without a host it is localhost, but in a list a host that is missing is a mistake. */
static ace_code complete_host(ace_url_part text, const ace_url *url, ace_endpoint *endpoint,
                              ace_error **error)
{
    if (endpoint->host[0] != '\0') {
        return ACE_OK;
    }
    if (url->endpoint_count > 1) {
        return ace_url_bad(text, text.start, "a host of the list is empty", error);
    }
    free(endpoint->host);
    endpoint->host = strdup("localhost");
    return endpoint->host == NULL ? ace_fail_memory(error) : ACE_OK;
}

static size_t count_hosts(ace_url_part text)
{
    size_t count = 1;
    for (const char *at = text.start; at < text.end; at++) {
        count += *at == ',';
    }
    return count;
}

static ace_code read_endpoints(ace_url_part text, ace_url *url, ace_error **error)
{
    uint16_t usual_port = url->scheme == ACE_URL_AMQPS ? ACE_AMQPS_PORT : ACE_AMQP_PORT;
    size_t count = count_hosts(text);
    if (count > HOSTS_MAX) {
        ace_fail(error, ACE_LIMIT, "url has %zu hosts, the limit is %d", count, HOSTS_MAX);
        ace_error_field(error, "url", HOSTS_MAX);
        return ACE_LIMIT;
    }
    url->endpoints = calloc(count, sizeof *url->endpoints);
    if (url->endpoints == NULL) {
        return ace_fail_memory(error);
    }
    url->endpoint_count = count;
    ace_code code = ACE_OK;
    for (size_t i = 0; i < count && code == ACE_OK; i++) {
        const char *comma = ace_url_find(text, ",");
        ace_url_part one = ace_url_cut(text, text.start, comma == NULL ? text.end : comma);
        code = read_endpoint(one, usual_port, &url->endpoints[i], error);
        if (code == ACE_OK) {
            code = complete_host(one, url, &url->endpoints[i], error);
        }
        text.start = comma == NULL ? text.end : comma + 1;
    }
    return code;
}

static ace_code read_memory_name(ace_url_part text, ace_url *url, ace_error **error)
{
    const char *colon = ace_url_find(text, ":");
    if (colon != NULL) {
        return ace_url_bad(text, colon,
                           "a memory broker has no port; a : in its name is written %3A", error);
    }
    if (text.start == text.end) {
        return ace_url_bad(text, text.start, "expected the memory broker's name", error);
    }
    return ace_url_decode(text, "name", NAME_MAX_URL, &url->memory_name, error);
}

static ace_code read_authority(ace_url_part text, ace_url *url, ace_error **error)
{
    const char *at = ace_url_find(text, "@");
    if (at != NULL) {
        ace_code code = read_user(ace_url_cut(text, text.start, at), url, error);
        if (code != ACE_OK) {
            return code;
        }
        text.start = at + 1;
        at = ace_url_find(text, "@");
        if (at != NULL) {
            return ace_url_bad(text, at, "@ in a user or password must be written %40", error);
        }
    }
    if (url->scheme == ACE_URL_MEMORY) {
        return read_memory_name(text, url, error);
    }
    return read_endpoints(text, url, error);
}

static ace_code read_vhost(ace_url_part text, ace_url *url, ace_error **error)
{
    const char *raw = ace_url_find(text, "/@");
    if (raw != NULL) {
        return ace_url_bad(text, raw,
                           "/ and @ must be percent-encoded here: %2F or %40 (in a password too)",
                           error);
    }
    if (text.start == text.end) {
        return ACE_OK;
    }
    return ace_url_decode(text, "virtual host", NAME_MAX_URL, &url->vhost, error);
}

static ace_code set_defaults(ace_url *url, ace_error **error)
{
    url->heartbeat = ACE_URL_UNSET;
    url->connection_timeout = ACE_URL_UNSET;
    url->channel_max = ACE_URL_UNSET;
    url->frame_max = ACE_URL_UNSET;
    url->verify = ACE_URL_UNSET;
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
    ace_url_part whole = {text, text, text + strlen(text)};
    ace_url_part rest = whole;
    ace_code code = check_characters(whole, error);
    if (code == ACE_OK) {
        code = read_scheme(whole, url, &rest, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    const char *end = ace_url_find(rest, "/?");
    const char *query = ace_url_find(rest, "?");
    ace_url_part authority = ace_url_cut(rest, rest.start, end == NULL ? rest.end : end);
    code = read_authority(authority, url, error);
    if (code == ACE_OK && end != NULL && *end == '/') {
        code = read_vhost(ace_url_cut(rest, end + 1, query == NULL ? rest.end : query), url, error);
    }
    if (code == ACE_OK && query != NULL) {
        code = ace_url_options(ace_url_cut(rest, query + 1, rest.end), url, error);
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
    char *const texts[] = {url->memory_name, url->user,         url->password,
                           url->vhost,       url->ca_file,      url->certificate_file,
                           url->key_file,    url->key_password, url->server_name};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i] != NULL) {
            explicit_bzero(texts[i], strlen(texts[i]));
            free(texts[i]);
        }
    }
    free(url->endpoints);
    *url = (ace_url){0};
}

void ace_endpoint_place(const ace_endpoint *endpoint, char *out, size_t size)
{
    bool is_v6 = strchr(endpoint->host, ':') != NULL;
    (void)snprintf(out, size, "%s%s%s:%u", is_v6 ? "[" : "", endpoint->host, is_v6 ? "]" : "",
                   (unsigned)endpoint->port);
}

void ace_url_place(const ace_url *url, char *out, size_t size)
{
    if (url->scheme == ACE_URL_MEMORY) {
        (void)snprintf(out, size, "memory://%s", url->memory_name);
        return;
    }
    size_t used = 0;
    for (size_t i = 0; i < url->endpoint_count && used + 1 < size; i++) {
        (void)snprintf(out + used, size - used, "%s", i == 0 ? "" : ",");
        used += strlen(out + used);
        ace_endpoint_place(&url->endpoints[i], out + used, size - used);
        used += strlen(out + used);
    }
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

static bool append_endpoints(ace_buffer *out, const ace_url *url)
{
    bool whole = true;
    for (size_t i = 0; i < url->endpoint_count && whole; i++) {
        whole = ace_buffer_append_text(out, i == 0 ? "" : ",") &&
                append_endpoint(out, &url->endpoints[i]);
    }
    return whole;
}

char *ace_url_redacted(const ace_url *url)
{
    ace_buffer out = ACE_BUFFER_INIT;
    bool is_memory = url->scheme == ACE_URL_MEMORY;
    const char *scheme = is_memory                      ? "memory://"
                         : url->scheme == ACE_URL_AMQPS ? "amqps://"
                                                        : "amqp://";
    bool whole =
        ace_buffer_append_text(&out, scheme) && append_encoded(&out, url->user) &&
        ace_buffer_append_text(&out, "@") &&
        (is_memory ? append_encoded(&out, url->memory_name) : append_endpoints(&out, url)) &&
        ace_buffer_append_text(&out, "/") && append_encoded(&out, url->vhost);
    char *text = whole ? ace_buffer_take_text(&out) : NULL;
    ace_buffer_free(&out);
    return text;
}
