#include "engine/link_record.h"

#include "base/arena.h"
#include "transport/tcp.h"
#include "wire/arguments.h"
#include "wire/method.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PRODUCT "libacemq"

static ace_code send_method(ace_link *link, amqp_method_number_t id, const void *method,
                            ace_error **error)
{
    size_t before = link->output.length;
    /* Before tune-ok the least frame is all that every peer takes. */
    uint32_t frame_max =
        link->stage > ACE_LOGIN_TUNE ? link->limits.frame_max : ACE_FRAME_MAX_LEAST;
    ace_code code = ace_method_write(&link->output, 0, id, method, frame_max, error);
    if (code == ACE_OK) {
        ace_link_added(link, before);
    }
    return code;
}

ace_code ace_login_begin(ace_link *link, ace_error **error)
{
    size_t before = link->output.length;
    ace_code code = ace_frame_write_protocol_header(&link->output, error);
    if (code == ACE_OK) {
        link->stage = ACE_LOGIN_START;
        ace_link_added(link, before);
    }
    return code;
}

static amqp_bytes_t bytes_of(const char *text)
{
    return (amqp_bytes_t){strlen(text), (void *)(uintptr_t)text};
}

static bool offers_plain(amqp_bytes_t mechanisms)
{
    const char *text = mechanisms.bytes;
    size_t start = 0;
    for (size_t at = 0; at <= mechanisms.len; at++) {
        if (at < mechanisms.len && text[at] != ' ') {
            continue;
        }
        if (at - start == 5 && memcmp(text + start, "PLAIN", 5) == 0) {
            return true;
        }
        start = at + 1;
    }
    return false;
}

/* "\0user\0password" */
static char *plain_response(ace_arena *arena, const ace_credentials *credentials, size_t *length)
{
    size_t user = strlen(credentials->user);
    size_t password = strlen(credentials->password);
    *length = user + password + 2;
    char *response = ace_arena_take(arena, *length);
    if (response != NULL) {
        memcpy(response + 1, credentials->user, user);
        memcpy(response + user + 2, credentials->password, password);
    }
    return response;
}

static ace_code answer_start(ace_link *link, const amqp_connection_start_t *start,
                             ace_error **error)
{
    if (start->version_major != 0 || start->version_minor != 9) {
        return ace_fail(error, ACE_PROTOCOL, "%s speaks AMQP %u-%u, wanted is 0-9-1", link->place,
                        start->version_major, start->version_minor);
    }
    if (!offers_plain(start->mechanisms)) {
        return ace_fail(error, ACE_UNSUPPORTED, "%s does not offer a PLAIN login", link->place);
    }
    link->peer_tells_refusal =
        ace_properties_have_capability(&start->server_properties, "authentication_failure_close");
    ace_arena arena = ACE_ARENA_INIT;
    amqp_connection_start_ok_t ok = {.mechanism = bytes_of("PLAIN"), .locale = bytes_of("en_US")};
    ace_code code = ace_client_properties(&arena, PRODUCT, ACE_VERSION, link->settings->name,
                                          &ok.client_properties, error);
    size_t length = 0;
    char *response = NULL;
    if (code == ACE_OK) {
        response = plain_response(&arena, &link->credentials, &length);
        ok.response = (amqp_bytes_t){length, response};
        code = response == NULL ? ace_fail_memory(error)
                                : send_method(link, AMQP_CONNECTION_START_OK_METHOD, &ok, error);
    }
    if (response != NULL) {
        explicit_bzero(response, length);
    }
    ace_arena_free(&arena);
    ace_credentials_free(&link->credentials);
    link->stage = ACE_LOGIN_TUNE;
    return code;
}

/* The smaller of two limits, of which 0 is none. */
static uint32_t smaller_limit(uint32_t ours, uint32_t theirs)
{
    return theirs == 0 || ours < theirs ? ours : theirs;
}

static uint16_t negotiate_heartbeat(int32_t ours, uint16_t theirs)
{
    if (ours == ACE_HEARTBEAT_OF_BROKER || theirs == 0) {
        return theirs;
    }
    return ours < theirs ? (uint16_t)ours : theirs;
}

static ace_code answer_tune(ace_link *link, const amqp_connection_tune_t *tune, ace_error **error)
{
    const ace_settings *settings = link->settings;
    if (tune->frame_max != 0 && tune->frame_max < ACE_FRAME_MAX_LEAST) {
        return ace_fail(error, ACE_PROTOCOL, "%s offers frames of %u bytes, the least is %u",
                        link->place, tune->frame_max, ACE_FRAME_MAX_LEAST);
    }
    link->limits = (ace_link_limits){
        .channel_max = (uint16_t)smaller_limit((uint32_t)settings->channel_max, tune->channel_max),
        .frame_max = smaller_limit((uint32_t)settings->frame_max, tune->frame_max),
        .heartbeat = negotiate_heartbeat(settings->heartbeat, tune->heartbeat),
    };
    /* What crosses the wire before tune-ok may be larger, what comes after may not. */
    ace_frame_reader_set_max(&link->reader, link->limits.frame_max);
    amqp_connection_tune_ok_t ok = {.channel_max = link->limits.channel_max,
                                    .frame_max = link->limits.frame_max,
                                    .heartbeat = link->limits.heartbeat};
    ace_code code = send_method(link, AMQP_CONNECTION_TUNE_OK_METHOD, &ok, error);
    if (code != ACE_OK) {
        return code;
    }
    amqp_connection_open_t open = {.virtual_host = bytes_of(link->url->vhost)};
    link->stage = ACE_LOGIN_OPEN;
    return send_method(link, AMQP_CONNECTION_OPEN_METHOD, &open, error);
}

static void finish_open(ace_link *link)
{
    link->stage = ACE_LOGIN_DONE;
    /* The login is still in the memory that carried it out. */
    if (link->output_start == link->output.length && link->output.data != NULL) {
        explicit_bzero(link->output.data, link->output.capacity);
        ace_buffer_clear(&link->output);
        link->output_start = 0;
    }
    ace_link_start_heartbeats(link);
    ace_link_opened(link);
}

static bool mentions(amqp_bytes_t text, const char *word)
{
    return memmem(text.bytes, text.len, word, strlen(word)) != NULL;
}

static ace_code code_of_close(const ace_link *link, const amqp_connection_close_t *close)
{
    if (link->stage == ACE_LOGIN_TUNE && close->reply_code == 403) {
        return ACE_LOGIN_REFUSED;
    }
    if (link->stage != ACE_LOGIN_OPEN) {
        return ACE_CONNECTION_LOST;
    }
    bool refused = close->reply_code == 530 || close->reply_code == 403 || close->reply_code == 402;
    /* "connection limit (n) is reached" and "vhost is down" carry the same codes and pass by. */
    if (!refused || mentions(close->reply_text, "limit") || mentions(close->reply_text, "down")) {
        return ACE_UNREACHABLE;
    }
    return ACE_VHOST_REFUSED;
}

static ace_error *error_of_close(const ace_link *link, const amqp_connection_close_t *close)
{
    ace_error *error = NULL;
    ace_code code = code_of_close(link, close);
    int length = (int)close->reply_text.len;
    const char *text = close->reply_text.bytes;
    if (code == ACE_LOGIN_REFUSED) {
        ace_fail(&error, code, "%s refused the login of user %s: %u %.*s", link->place, link->user,
                 close->reply_code, length, text);
    } else if (link->stage == ACE_LOGIN_OPEN) {
        ace_fail(&error, code, "%s refused virtual host %s to user %s: %u %.*s", link->place,
                 link->url->vhost, link->user, close->reply_code, length, text);
    } else {
        ace_fail(&error, code, "%s closed the connection: %u %.*s%s%s", link->place,
                 close->reply_code, length, text, close->class_id == 0 ? "" : ", over ",
                 close->class_id == 0 ? "" : ace_method_name_of(close->class_id, close->method_id));
    }
    ace_error_set_reply(&error, close->reply_code);
    return error;
}

static void take_close(ace_link *link, const amqp_connection_close_t *close)
{
    ace_error *error = error_of_close(link, close);
    amqp_connection_close_ok_t ok = {0};
    if (send_method(link, AMQP_CONNECTION_CLOSE_OK_METHOD, &ok, NULL) == ACE_OK) {
        ace_link_write_now(link);
    }
    if (link->failure != NULL) { /* the goodbye did not get through; the reason still counts */
        ace_error_free(link->failure);
        link->failure = error;
        return;
    }
    ace_link_fail(link, error);
}

static void take_blocked(ace_link *link, bool blocked, amqp_bytes_t reason)
{
    size_t length = reason.len < sizeof link->reason ? reason.len : sizeof link->reason - 1;
    if (length > 0) {
        memcpy(link->reason, reason.bytes, length);
    }
    link->reason[length] = '\0';
    link->blocked = blocked;
    /* What was sent before may stay unread for as long as that lasts: the peer is not dead. */
    ace_tcp_set_patient(ace_stream_descriptor(link->stream), blocked, &link->settings->tcp);
    ace_link_tell(link);
}

static void take_handshake(ace_link *link, const amqp_method_t *method)
{
    ace_error *error = NULL;
    ace_code code = ACE_OK;
    if (method->id == AMQP_CONNECTION_START_METHOD && link->stage == ACE_LOGIN_START) {
        code = answer_start(link, method->decoded, &error);
    } else if (method->id == AMQP_CONNECTION_TUNE_METHOD && link->stage == ACE_LOGIN_TUNE) {
        code = answer_tune(link, method->decoded, &error);
    } else if (method->id == AMQP_CONNECTION_OPEN_OK_METHOD && link->stage == ACE_LOGIN_OPEN) {
        finish_open(link);
    } else {
        code = ace_fail(&error, ACE_PROTOCOL, "%s sent %s, which is out of place", link->place,
                        ace_method_name(method->id));
    }
    if (code != ACE_OK) {
        ace_link_fail(link, error);
    }
}

void ace_login_method(ace_link *link, const amqp_method_t *method)
{
    switch (method->id) {
    case AMQP_CONNECTION_CLOSE_METHOD:
        take_close(link, method->decoded);
        break;
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
        if (link->stage == ACE_LOGIN_CLOSE) {
            ace_link_said_goodbye(link);
        }
        break;
    case AMQP_CONNECTION_BLOCKED_METHOD:
        take_blocked(link, true, ((amqp_connection_blocked_t *)method->decoded)->reason);
        break;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        take_blocked(link, false, (amqp_bytes_t){0, NULL});
        break;
    default:
        if (link->stage != ACE_LOGIN_CLOSE) {
            take_handshake(link, method);
        }
        break;
    }
}

ace_code ace_login_say_goodbye(ace_link *link, ace_error **error)
{
    amqp_connection_close_t close = {.reply_code = 200, .reply_text = bytes_of("goodbye")};
    ace_code code = send_method(link, AMQP_CONNECTION_CLOSE_METHOD, &close, error);
    link->stage = ACE_LOGIN_CLOSE;
    return code;
}

/* A record of TLS, alert or handshake, in place of the first frame. */
static bool speaks_tls(const ace_link *link)
{
    const ace_frame_reader *reader = &link->reader;
    return link->stage == ACE_LOGIN_START && link->url->scheme == ACE_URL_AMQP &&
           reader->bytes.length - reader->start >= 2 &&
           (reader->bytes.data[reader->start] == 21 || reader->bytes.data[reader->start] == 22) &&
           reader->bytes.data[reader->start + 1] == 3;
}

ace_error *ace_login_explain(ace_link *link, ace_error *cause)
{
    ace_error *error = NULL;
    if (speaks_tls(link)) {
        ace_fail(&error, ACE_TLS_WANTED,
                 "%s speaks TLS on this port: the URL has to begin with amqps://", link->place);
        ace_error_free(cause);
        return error;
    }
    if (ace_error_code(cause) != ACE_CONNECTION_LOST || ace_error_reply(cause) != 0) {
        return cause;
    }
    if (link->stage == ACE_LOGIN_START) {
        ace_error_prefix(&cause, link->url->scheme == ACE_URL_AMQP
                                     ? "no AMQP handshake (a port for TLS wants amqps://)"
                                     : "no AMQP handshake");
    } else if (link->stage == ACE_LOGIN_TUNE && !link->peer_tells_refusal) {
        ace_fail(&error, ACE_LOGIN_REFUSED,
                 "%s hung up on the login of user %s, as brokers do that refuse it", link->place,
                 link->user);
        ace_error_free(cause);
        return error;
    } else if (link->stage == ACE_LOGIN_TUNE || link->stage == ACE_LOGIN_OPEN) {
        ace_error_prefix(&cause, "during the login of user %s", link->user);
    }
    return cause;
}
