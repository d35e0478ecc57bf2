#include "acemq/connection.h"

#include "arguments.h"
#include "client.h"
#include "engine/waiter.h"
#include "event.h"
#include "metrics.h"
#include "work.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_RELEASE  ACE_SIZE_UP_TO(acemq_connect_options, tcp_user_timeout)
#define CLOSING_BUDGET ACEMQ_SECOND
#define KEEPALIVE_MOST (32767 * ACEMQ_SECOND) /* the kernel's limit */

static const acemq_connect_options defaults = ACEMQ_CONNECT_OPTIONS_INIT;

acemq_status acemq_connect_options_init(acemq_connect_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code check_numbers(const acemq_connect_options *options, ace_error **error)
{
    const struct {
        int64_t value;
        int64_t least;
        int64_t most;
        const char *name;
    } numbers[] = {
        {options->timeout, 1, ACEMQ_DAY, "timeout"},
        {options->call_timeout, 1, ACEMQ_DAY, "call_timeout"},
        {options->heartbeat, -1, UINT16_MAX * ACEMQ_SECOND, "heartbeat"},
        {options->reconnect_initial, 0, ACEMQ_DAY, "reconnect_initial"},
        {options->reconnect_max, 0, ACEMQ_DAY, "reconnect_max"},
        {options->outstanding, 1, UINT16_MAX, "outstanding"},
        {options->publish_timeout, 1, ACEMQ_DAY, "publish_timeout"},
        {options->max_body, 1, INT64_MAX, "max_body"},
        {options->frame_max == 0 ? ACE_FRAME_BYTES_TAKEN : options->frame_max,
         ACE_FRAME_BYTES_LEAST, INT32_MAX, "frame_max"},
        {options->channel_max, 0, UINT16_MAX, "channel_max"},
        {options->credentials, ACEMQ_CREDENTIALS_URL, ACEMQ_CREDENTIALS_EVENT, "credentials"},
        {options->max_queued, 1, INT64_MAX, "max_queued"},
        {options->max_output, ACE_OUTPUT_BYTES_LEAST, INT64_MAX, "max_output"},
        {options->max_headers, 0, INT32_MAX, "max_headers"},
        {options->max_header_entries, 0, ACE_HEADER_ENTRIES_MAX, "max_header_entries"},
        {options->max_nesting, 1, ACE_TABLE_DEPTH_MAX, "max_nesting"},
        {options->log_level, ACEMQ_LOG_NONE, ACEMQ_LOG_DEBUG, "log_level"},
        {options->verify, 0, 1, "verify"},
        {options->keepalive_count, 1, 127, "keepalive_count"},
        {options->keepalive, 0, KEEPALIVE_MOST, "keepalive"},
        {options->keepalive_interval, 1, KEEPALIVE_MOST, "keepalive_interval"},
        {options->tcp_user_timeout, 0, ACEMQ_DAY, "tcp_user_timeout"},
        {(int64_t)(options->events >> (ACEMQ_EVENT_ORDER_GAP + 1)), 0, 0,
         "events beyond the known ones"},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        ace_code code = ace_argument_range(numbers[i].value, numbers[i].least, numbers[i].most,
                                           numbers[i].name, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

/* Only of two waits that were chosen; a default gives way to the other, see fill_waits(). */
static ace_code check_waits(const acemq_connect_options *options, ace_error **error)
{
    int64_t initial = options->reconnect_initial;
    int64_t most = options->reconnect_max;
    if (most == 0 || initial == defaults.reconnect_initial || most == defaults.reconnect_max) {
        return ACE_OK;
    }
    return ace_argument_range(most, initial, ACEMQ_DAY, "reconnect_max", error);
}

static ace_code check_credentials(const acemq_connect_options *options, ace_error **error)
{
    bool by_callback = options->credentials == ACEMQ_CREDENTIALS_CALLBACK;
    bool by_event = options->credentials == ACEMQ_CREDENTIALS_EVENT;
    if (by_callback && options->credentials_callback == NULL) {
        return ace_argument_present(NULL, "credentials_callback", error);
    }
    if (by_event && (options->events & 1u << ACEMQ_EVENT_CREDENTIALS_WANTED) == 0) {
        ace_fail(error, ACE_INVALID_ARGUMENT, "events does not hold the kind credentials_wanted");
        ace_error_field(error, "events", 0);
        return ACE_INVALID_ARGUMENT;
    }
    return ACE_OK;
}

static ace_code read_options(const acemq_connect_options *given, acemq_connect_options *options,
                             ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(options->name, "name", error);
    }
    if (code == ACE_OK) {
        code = check_numbers(options, error);
    }
    if (code == ACE_OK) {
        code = check_waits(options, error);
    }
    if (code == ACE_OK) {
        code = check_credentials(options, error);
    }
    if (code == ACE_OK && options->credentials != ACEMQ_CREDENTIALS_CALLBACK) {
        options->credentials_callback = NULL;
    }
    return code;
}

/* A program that names certificates believes that nobody reads along. */
static ace_code check_tls(const acemq_connect_options *options, const ace_url *url,
                          ace_error **error)
{
    const struct {
        const char *value;
        const char *name;
    } texts[] = {
        {options->ca_file, "ca_file"},
        {options->ca_folder, "ca_folder"},
        {options->certificate_file, "certificate_file"},
        {options->key_file, "key_file"},
        {options->key_password, "key_password"},
        {options->server_name, "server_name"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && url->scheme == ACE_URL_AMQP; i++) {
        if (texts[i].value != NULL) {
            ace_fail(error, ACE_INVALID_ARGUMENT, "%s is for amqps://, the URL begins with amqp://",
                     texts[i].name);
            ace_error_field(error, texts[i].name, 0);
            return ACE_INVALID_ARGUMENT;
        }
    }
    return ACE_OK;
}

static ace_credentials_source source_of(int32_t credentials)
{
    switch (credentials) {
    case ACEMQ_CREDENTIALS_FILE:
        return ACE_CREDENTIALS_FILE;
    case ACEMQ_CREDENTIALS_ENVIRONMENT:
        return ACE_CREDENTIALS_ENVIRONMENT;
    case ACEMQ_CREDENTIALS_CALLBACK:
    case ACEMQ_CREDENTIALS_EVENT:
        return ACE_CREDENTIALS_ON_DEMAND;
    default:
        return ACE_CREDENTIALS_URL;
    }
}

static int32_t whole_seconds(int64_t milliseconds)
{
    return (int32_t)((milliseconds + 999) / 1000);
}

static void fill_network(const acemq_connect_options *options, ace_settings *settings)
{
    settings->tls = (ace_tls_options){
        .verify = options->verify == 1,
        .ca_file = options->ca_file,
        .ca_folder = options->ca_folder,
        .certificate_file = options->certificate_file,
        .key_file = options->key_file,
        .key_password = options->key_password,
        .server_name = options->server_name,
    };
    settings->tcp = (ace_tcp_options){
        .keepalive_idle = whole_seconds(options->keepalive),
        .keepalive_interval = whole_seconds(options->keepalive_interval),
        .keepalive_count = options->keepalive_count,
        .user_timeout = (int32_t)options->tcp_user_timeout,
    };
}

static void fill_waits(const acemq_connect_options *options, ace_settings *settings)
{
    int64_t most = options->reconnect_max;
    settings->reconnect = options->reconnect_initial > 0;
    if (settings->reconnect) {
        settings->reconnect_initial = options->reconnect_initial;
    }
    if (most > 0 && most < settings->reconnect_initial &&
        settings->reconnect_initial == defaults.reconnect_initial) {
        settings->reconnect_initial = most;
    }
    settings->reconnect_limit =
        most > settings->reconnect_initial ? most : settings->reconnect_initial;
}

static void fill_settings(const acemq_connect_options *options, ace_settings *settings)
{
    ace_settings_init(settings);
    settings->name = options->name;
    settings->heartbeat =
        options->heartbeat < 0 ? ACE_HEARTBEAT_OF_BROKER : whole_seconds(options->heartbeat);
    settings->connect_timeout = options->timeout;
    settings->rpc_timeout = options->call_timeout;
    settings->confirm_timeout = options->publish_timeout;
    settings->channel_max = options->channel_max == 0 ? UINT16_MAX : options->channel_max;
    settings->frame_max = options->frame_max == 0 ? ACE_FRAME_BYTES_TAKEN : options->frame_max;
    fill_waits(options, settings);
    settings->outstanding_limit = (uint32_t)options->outstanding;
    settings->body_limit = (uint64_t)options->max_body;
    settings->queued_limit = (uint64_t)options->max_queued;
    settings->output_limit = (uint64_t)options->max_output;
    settings->headers = (ace_header_limits){.bytes = (uint64_t)options->max_headers,
                                            .entries = (uint64_t)options->max_header_entries,
                                            .depth = options->max_nesting};
    settings->credentials = source_of(options->credentials);
    settings->credentials_path = options->credentials_file;
    settings->user_variable = options->user_variable;
    settings->password_variable = options->password_variable;
    fill_network(options, settings);
}

static ace_code open_client(const char *url, const acemq_connect_options *options,
                            ace_client *client, ace_connection **connection, ace_error **error)
{
    char own_name[NAME_MAX + 32];
    ace_settings settings;
    fill_settings(options, &settings);
    if (settings.name == NULL) {
        snprintf(own_name, sizeof own_name, "%.200s %ld", program_invocation_short_name,
                 (long)getpid());
        settings.name = own_name;
    }
    ace_url parsed;
    ace_code code = ace_url_parse(url, &parsed, error);
    if (code != ACE_OK) {
        return code;
    }
    code = check_tls(options, &parsed, error);
    if (code == ACE_OK) {
        code = ace_client_prepare(client, options, &parsed, &settings, error);
    }
    ace_url_free(&parsed);
    if (code == ACE_OK) {
        code = ace_connection_open(url, &settings, client->cancel, connection, error);
    }
    return code;
}

acemq_status acemq_connect(const char *url, const acemq_connect_options *options,
                           acemq_connection **connection, acemq_error **error)
{
    ace_code code = ace_argument_text(url, "url", error);
    if (code == ACE_OK) {
        code = ace_argument_present(connection, "connection", error);
    }
    acemq_connect_options read;
    if (code == ACE_OK) {
        code = read_options(options, &read, error);
    }
    ace_client *client = NULL;
    if (code == ACE_OK) {
        code = ace_client_new(&read, &client, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_connection *opened = NULL;
    code = open_client(url, &read, client, &opened, error);
    if (code != ACE_OK) {
        ace_client_release(client);
        return (acemq_status)code;
    }
    ace_client_adopt(client, opened);
    if ((read.events & UINT64_C(1) << ACEMQ_EVENT_METRIC) != 0) {
        code = ace_metrics_by_event(opened, error);
    }
    if (code != ACE_OK) {
        acemq_connection_free(opened);
        return (acemq_status)code;
    }
    *connection = opened;
    return ACEMQ_OK;
}

acemq_status acemq_connection_close(acemq_connection *connection, int64_t timeout,
                                    acemq_error **error)
{
    return acemq_connection_close_naming(connection, timeout, NULL, error);
}

acemq_status acemq_connection_close_naming(acemq_connection *connection, int64_t timeout,
                                           acemq_work **left, acemq_error **error)
{
    if (left != NULL) {
        *left = NULL;
    }
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_client *client = ace_client_of(connection);
    ace_client_set_closing(client, true);
    ace_work named = {0};
    code = ace_connection_close_naming(connection, timeout, &named, error);
    (void)ace_work_to_public(&named, false, left, NULL); /* closed it is without memory, too */
    if (code == ACE_FROM_HANDLER) {
        ace_client_set_closing(client, false);
    } else if (code != ACE_CLOSED) {
        ace_events_end(connection->events);
    }
    return (acemq_status)code;
}

void acemq_connection_free(acemq_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    if (!ace_handle_is_foreign(&connection->handle)) {
        (void)acemq_connection_close(connection, CLOSING_BUDGET, NULL);
    }
    ace_connection_release(connection);
}

/* Takes the descriptions' errors over. */
static acemq_connection_state read_state(const ace_connection *connection,
                                         ace_connection_status *status, ace_error **reason)
{
    acemq_connection_state state = ace_state_of_links(
        status->publishing.state, status->consuming.state, status->publishing.blocked);
    if (ace_handle_is_closed(&connection->handle)) {
        state = ACEMQ_CONNECTION_CLOSED;
        ace_fail(reason, ACE_CLOSED, "connection is closed");
    } else if (state == ACEMQ_CONNECTION_BLOCKED) {
        ace_fail(reason, ACE_REFUSED, "the broker takes no publishes: %s",
                 status->publishing.reason);
    } else if (state != ACEMQ_CONNECTION_OPEN) {
        ace_error **why =
            status->publishing.error != NULL ? &status->publishing.error : &status->consuming.error;
        if (*why != NULL) {
            ace_error_move(reason, *why);
            *why = NULL;
        } else {
            ace_fail(reason, ACE_CONNECTION_LOST, "not connected; it is being tried");
        }
    }
    ace_error_free(status->publishing.error);
    ace_error_free(status->consuming.error);
    return state;
}

acemq_connection_state acemq_connection_get_state(const acemq_connection *connection,
                                                  acemq_error **reason)
{
    if (reason != NULL) {
        *reason = NULL;
    }
    ace_code code = ace_connection_check_known(connection, reason);
    if (code != ACE_OK) {
        return ACEMQ_CONNECTION_CLOSED;
    }
    ace_connection_status status;
    /* What is described does not change by being described; its lock does. */
    ace_connection_describe((ace_connection *)(uintptr_t)connection, &status);
    return read_state(connection, &status, reason);
}

acemq_status acemq_connection_pause_publishing(acemq_connection *connection, acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        ace_publisher_pause(connection->publisher);
    }
    return (acemq_status)code;
}

acemq_status acemq_connection_resume_publishing(acemq_connection *connection, acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        ace_publisher_resume(connection->publisher);
    }
    return (acemq_status)code;
}

int acemq_connection_publishing_paused(const acemq_connection *connection)
{
    return ace_connection_check(connection, NULL) == ACE_OK &&
           ace_publisher_is_paused(connection->publisher);
}

acemq_status acemq_connection_next_event(acemq_connection *connection, int64_t timeout,
                                         acemq_event **event, acemq_error **error)
{
    ace_code code = ace_connection_check_known(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(event, "event", error);
    }
    if (code == ACE_OK && ace_client_of(connection)->wanted == 0) {
        code = ace_fail(error, ACE_STATE, "the connection was opened without events");
    }
    if (code == ACE_OK && timeout > 0 && ace_loop_is_any_current()) {
        code = ace_fail(error, ACE_FROM_HANDLER,
                        "waiting for an event would block a thread that may not wait");
    }
    ace_event *next = NULL;
    if (code == ACE_OK) {
        code = ace_events_next(connection->events, ace_deadline_after(timeout),
                               ace_client_cancel(connection, NULL), &next, error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    ace_event_tell_interceptors(next);
    acemq_event *made = ace_event_to_public(next);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    *event = made;
    return ACEMQ_OK;
}

int acemq_connection_event_fd(const acemq_connection *connection)
{
    if (ace_connection_check_known(connection, NULL) != ACE_OK ||
        ace_client_of(connection)->wanted == 0) {
        return -1;
    }
    return ace_events_descriptor(connection->events);
}

acemq_status acemq_connection_give_credentials(acemq_connection *connection, const char *name,
                                               const char *password, acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_text(name, "name", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(password, "password", error);
    }
    if (code == ACE_OK) {
        code = ace_client_answer(ace_client_of(connection), name, password, error);
    }
    return (acemq_status)code;
}
