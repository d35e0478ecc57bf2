#include "engine/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LIMIT      255
#define CREDENTIAL_MAX  1024
#define OUTSTANDING_MAX 1000000

void ace_settings_init(ace_settings *settings)
{
    *settings = (ace_settings){
        .log = {.level = ACE_LOG_INFO},
        .heartbeat = 60,
        .connect_timeout = 10000,
        .rpc_timeout = 30000,
        .confirm_timeout = 30000,
        .channel_max = 2047,
        .frame_max = 131072,
        .reconnect = true,
        .reconnect_initial = 500,
        .reconnect_limit = 30000,
        .reconnect_jitter = 0.2,
        .outstanding_limit = ACE_OUTSTANDING_DEFAULT,
        .confirms = true,
        .queued_limit = ACE_QUEUED_BYTES_DEFAULT,
        .body_limit = ACE_BODY_BYTES_DEFAULT,
        .headers = {.bytes = ACE_HEADER_BYTES_DEFAULT,
                    .entries = ACE_HEADER_ENTRIES_DEFAULT,
                    .depth = ACE_TABLE_DEPTH_MAX},
        .output_limit = ACE_OUTPUT_BYTES_DEFAULT,
        .credentials = ACE_CREDENTIALS_URL,
        .tls = ACE_TLS_OPTIONS_DEFAULT,
        .tcp = ACE_TCP_OPTIONS_DEFAULT,
    };
}

static void apply_tls(ace_tls_options *tls, const ace_url *url)
{
    const struct {
        const char **setting;
        const char *text;
    } texts[] = {
        {&tls->ca_file, url->ca_file},         {&tls->certificate_file, url->certificate_file},
        {&tls->key_file, url->key_file},       {&tls->key_password, url->key_password},
        {&tls->server_name, url->server_name},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].text != NULL) {
            *texts[i].setting = texts[i].text;
        }
    }
    if (url->verify >= 0) {
        tls->verify = url->verify == 1;
    }
}

void ace_settings_apply_url(ace_settings *settings, const ace_url *url)
{
    if (url->heartbeat >= 0) {
        settings->heartbeat = url->heartbeat;
    }
    if (url->connection_timeout >= 0) {
        settings->connect_timeout = url->connection_timeout;
    }
    if (url->channel_max >= 0) {
        settings->channel_max = url->channel_max;
    }
    if (url->frame_max >= 0) {
        settings->frame_max = url->frame_max;
    }
    apply_tls(&settings->tls, url);
}

static ace_code check_range(const char *field, int64_t value, int64_t least, int64_t most,
                            ace_error **error)
{
    if (value >= least && value <= most) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT,
                             "%s is %" PRId64 ", it must be from %" PRId64 " to %" PRId64, field,
                             value, least, most);
    ace_error_field(error, field, (long long)most);
    return code;
}

static int64_t signed_limit(uint64_t limit)
{
    return limit > INT64_MAX ? -1 : (int64_t)limit;
}

static ace_code check_numbers(const ace_settings *settings, ace_error **error)
{
    const struct {
        const char *field;
        int64_t value;
        int64_t least;
        int64_t most;
    } ranges[] = {
        {"heartbeat", settings->heartbeat, ACE_HEARTBEAT_OF_BROKER, 65535},
        {"connect timeout", settings->connect_timeout, 1, INT32_MAX},
        {"rpc timeout", settings->rpc_timeout, 1, INT32_MAX},
        {"confirm timeout", settings->confirm_timeout, 1, INT32_MAX},
        {"channel max", settings->channel_max, 1, 65535},
        {"frame max", settings->frame_max, ACE_FRAME_BYTES_LEAST, INT32_MAX},
        {"reconnect initial wait", settings->reconnect_initial, 1, INT32_MAX},
        {"reconnect longest wait", settings->reconnect_limit, settings->reconnect_initial,
         INT32_MAX},
        {"outstanding limit", settings->outstanding_limit, 1, OUTSTANDING_MAX},
        {"body limit", signed_limit(settings->body_limit), 0, INT64_MAX},
        {"queued limit", signed_limit(settings->queued_limit), 1, INT64_MAX},
        {"output limit", signed_limit(settings->output_limit), ACE_OUTPUT_BYTES_LEAST, INT64_MAX},
        {"header bytes", signed_limit(settings->headers.bytes), 0, INT64_MAX},
        {"header entries", signed_limit(settings->headers.entries), 0, ACE_HEADER_ENTRIES_MAX},
        {"header nesting", settings->headers.depth, 1, ACE_TABLE_DEPTH_MAX},
        {"keepalive idle time", settings->tcp.keepalive_idle, 0, 32767},
        {"keepalive interval", settings->tcp.keepalive_interval, 1, 32767},
        {"keepalive count", settings->tcp.keepalive_count, 1, 127},
        {"tcp user timeout", settings->tcp.user_timeout, 0, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        ace_code code =
            check_range(ranges[i].field, ranges[i].value, ranges[i].least, ranges[i].most, error);
        if (code != ACE_OK) {
            return code;
        }
    }
    return ACE_OK;
}

static ace_code check_present(const void *value, const char *field, const char *source,
                              ace_error **error)
{
    if (value != NULL) {
        return ACE_OK;
    }
    ace_code code = ace_fail(error, ACE_INVALID_ARGUMENT, "%s is missing: credentials come from %s",
                             field, source);
    ace_error_field(error, field, 0);
    return code;
}

static ace_code check_credentials(const ace_settings *settings, ace_error **error)
{
    switch (settings->credentials) {
    case ACE_CREDENTIALS_URL:
        return ACE_OK;
    case ACE_CREDENTIALS_FILE:
        return check_present(settings->credentials_path, "credentials path", "a file", error);
    case ACE_CREDENTIALS_ENVIRONMENT:
        if (check_present(settings->user_variable, "user variable", "the environment", error) !=
            ACE_OK) {
            return ACE_INVALID_ARGUMENT;
        }
        return check_present(settings->password_variable, "password variable", "the environment",
                             error);
    case ACE_CREDENTIALS_ON_DEMAND:
        return check_present((const void *)(uintptr_t)settings->ask, "credentials callback",
                             "a callback", error);
    }
    return ace_fail(error, ACE_INVALID_ARGUMENT, "credentials source is %d, which is none",
                    (int)settings->credentials);
}

ace_code ace_settings_check(const ace_settings *settings, ace_error **error)
{
    size_t length = settings->name == NULL ? 0 : strlen(settings->name);
    if (length > NAME_LIMIT) {
        ace_code code = ace_fail(error, ACE_LIMIT, "connection name has %zu bytes, the limit is %d",
                                 length, NAME_LIMIT);
        ace_error_field(error, "connection name", NAME_LIMIT);
        return code;
    }
    ace_code code = check_numbers(settings, error);
    if (code != ACE_OK) {
        return code;
    }
    /* Written so that NaN fails as well. */
    if (!(settings->reconnect_jitter >= 0 && settings->reconnect_jitter <= 1)) {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "reconnect jitter must be from 0 to 1");
        ace_error_field(error, "reconnect jitter", 1);
        return code;
    }
    return check_credentials(settings, error);
}

#define TEXTS 10

static size_t texts_of(ace_settings *settings, const char **texts[TEXTS])
{
    ace_tls_options *tls = &settings->tls;
    const char **const all[TEXTS] = {
        &settings->name,
        &settings->credentials_path,
        &settings->user_variable,
        &settings->password_variable,
        &tls->ca_file,
        &tls->ca_folder,
        &tls->certificate_file,
        &tls->key_file,
        &tls->key_password,
        &tls->server_name,
    };
    memcpy(texts, all, sizeof all);
    return TEXTS;
}

static bool copy_text(const char **text)
{
    if (*text == NULL) {
        return true;
    }
    *text = strdup(*text);
    return *text != NULL;
}

ace_code ace_settings_copy(const ace_settings *from, ace_settings *to, ace_error **error)
{
    *to = *from;
    if (to->clock == NULL) {
        to->clock = ace_clock_system();
    }
    if (to->random == NULL) {
        to->random = ace_random_system();
    }
    const char **texts[TEXTS];
    const size_t count = texts_of(to, texts);
    for (size_t i = 0; i < count; i++) {
        if (copy_text(texts[i])) {
            continue;
        }
        for (size_t rest = i; rest < count; rest++) {
            *texts[rest] = NULL; /* still the original's */
        }
        ace_settings_free(to);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

static void wipe(char **text)
{
    if (*text != NULL) {
        explicit_bzero(*text, strlen(*text));
        free(*text);
        *text = NULL;
    }
}

void ace_settings_free(ace_settings *copy)
{
    const char **texts[TEXTS];
    const size_t count = texts_of(copy, texts);
    for (size_t i = 0; i < count; i++) {
        wipe((char **)(uintptr_t)texts[i]);
    }
}

void ace_credentials_free(ace_credentials *credentials)
{
    wipe(&credentials->user);
    wipe(&credentials->password);
}

static ace_code set_credentials(ace_credentials *credentials, const char *user,
                                const char *password, ace_error **error)
{
    credentials->user = strdup(user);
    credentials->password = strdup(password);
    if (credentials->user == NULL || credentials->password == NULL) {
        ace_credentials_free(credentials);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

/* One line without its end; false at the end of the file or when it is too long. */
static bool read_line(FILE *file, char *line, size_t size)
{
    if (fgets(line, (int)size, file) == NULL) {
        return false;
    }
    size_t length = strcspn(line, "\r\n");
    bool whole = line[length] != '\0' || feof(file) != 0;
    line[length] = '\0';
    return whole && length > 0;
}

static ace_code read_file(const char *path, ace_credentials *credentials, ace_error **error)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        char space[128];
        return ace_fail(error, ACE_LOGIN_REFUSED, "credentials file %s: %s", path,
                        strerror_r(errno, space, sizeof space));
    }
    /* Unbuffered: no copy of the password stays in the stream's memory. */
    setvbuf(file, NULL, _IONBF, 0);
    char user[CREDENTIAL_MAX + 2];
    char password[CREDENTIAL_MAX + 2];
    ace_code code;
    if (read_line(file, user, sizeof user) && read_line(file, password, sizeof password)) {
        code = set_credentials(credentials, user, password, error);
    } else {
        code = ace_fail(
            error, ACE_LOGIN_REFUSED,
            "credentials file %s: expected the user on line 1 and the password on line 2", path);
    }
    fclose(file);
    explicit_bzero(password, sizeof password);
    return code;
}

static ace_code read_environment(const ace_settings *settings, ace_credentials *credentials,
                                 ace_error **error)
{
    const char *names[2] = {settings->user_variable, settings->password_variable};
    const char *values[2];
    for (int i = 0; i < 2; i++) {
        values[i] = getenv(names[i]);
        if (values[i] == NULL || values[i][0] == '\0') {
            return ace_fail(error, ACE_LOGIN_REFUSED, "environment variable %s is not set",
                            names[i]);
        }
    }
    return set_credentials(credentials, values[0], values[1], error);
}

static ace_code ask_for(const ace_settings *settings, ace_credentials *credentials,
                        ace_error **error)
{
    ace_code code = settings->ask(credentials, settings->ask_user, error);
    if (code != ACE_OK) {
        ace_credentials_free(credentials);
        return code;
    }
    if (credentials->user == NULL || credentials->password == NULL) {
        ace_credentials_free(credentials);
        return ace_fail(error, ACE_LOGIN_REFUSED,
                        "the credentials callback gave no user or no password");
    }
    return ACE_OK;
}

/* The login goes out before frame-max is known, so it has to fit the least frame. */
static ace_code check_length(ace_credentials *credentials, ace_error **error)
{
    if (strlen(credentials->user) <= CREDENTIAL_MAX &&
        strlen(credentials->password) <= CREDENTIAL_MAX) {
        return ACE_OK;
    }
    ace_credentials_free(credentials);
    ace_code code =
        ace_fail(error, ACE_LIMIT, "user or password has more than %d bytes", CREDENTIAL_MAX);
    ace_error_field(error, "credentials", CREDENTIAL_MAX);
    return code;
}

ace_code ace_settings_credentials(const ace_settings *settings, const ace_url *url,
                                  ace_credentials *credentials, ace_error **error)
{
    *credentials = (ace_credentials){NULL, NULL};
    ace_code code = ACE_OK;
    switch (settings->credentials) {
    case ACE_CREDENTIALS_URL:
        code = set_credentials(credentials, url->user, url->password, error);
        break;
    case ACE_CREDENTIALS_FILE:
        code = read_file(settings->credentials_path, credentials, error);
        break;
    case ACE_CREDENTIALS_ENVIRONMENT:
        code = read_environment(settings, credentials, error);
        break;
    case ACE_CREDENTIALS_ON_DEMAND:
        code = ask_for(settings, credentials, error);
        break;
    }
    return code == ACE_OK ? check_length(credentials, error) : code;
}
