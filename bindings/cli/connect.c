#include "connect.h"

#include "input.h"
#include "output.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_URL   "amqp://guest:guest@127.0.0.1:5672/"
#define LONGEST_URL   4096
#define CLOSE_TIMEOUT (5 * ACEMQ_SECOND)

static char *copied(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        cli_fail(NULL);
    }
    return copy;
}

static char *read_url_file(const char *file)
{
    cli_bytes content;
    if (!cli_read_file(file, LONGEST_URL, &content)) {
        return NULL;
    }
    content.data[strcspn(content.data, "\r\n")] = '\0';
    size_t length = strlen(content.data);
    while (length > 0 && (content.data[length - 1] == ' ' || content.data[length - 1] == '\t')) {
        content.data[--length] = '\0';
    }
    if (length == 0) {
        cli_fail_text(acemq_status_name(ACEMQ_E_PARSE), "%s: its first line holds no URL", file);
        free(content.data);
        return NULL;
    }
    return content.data;
}

char *cli_url(const cli_call *call)
{
    if (call->url != NULL) {
        return copied(call->url);
    }
    if (call->url_file != NULL) {
        return read_url_file(call->url_file);
    }
    const char *variable = getenv("ACEMQ_URL");
    return copied(variable != NULL && variable[0] != '\0' ? variable : DEFAULT_URL);
}

static void log_line(acemq_log_level level, const char *line, void *user)
{
    (void)user;
    cli_say("%s: %s", level == ACEMQ_LOG_ERROR ? "error" : "warning", line);
}

acemq_status cli_connect_to(const cli_call *call, const char *url, int64_t timeout,
                            acemq_connection **mq, acemq_error **error)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    char name[64];
    snprintf(name, sizeof name, "acemq %s (%ld)", call->command->name, (long)getpid());
    options.name = name;
    options.timeout = timeout;
    options.log_level = ACEMQ_LOG_WARNING;
    options.log_callback = log_line;
    options.cancel = cli_cancel();
    return acemq_connect(url, &options, mq, error);
}

int cli_connect(const cli_call *call, acemq_connection **mq)
{
    acemq_error *error = NULL;
    char *url = cli_url(call);
    if (url == NULL) {
        return CLI_FAILED;
    }
    acemq_status status = cli_connect_to(call, url, CLI_CONNECT_TIMEOUT, mq, &error);
    free(url);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

void cli_disconnect(acemq_connection *mq)
{
    cli_disconnect_within(mq, CLOSE_TIMEOUT);
}

void cli_disconnect_within(acemq_connection *mq, int64_t timeout)
{
    if (mq != NULL) {
        acemq_cancel_reset(cli_cancel()); /* what was asked for is an orderly end */
        (void)acemq_connection_close(mq, timeout < CLOSE_TIMEOUT ? timeout : CLOSE_TIMEOUT, NULL);
        acemq_connection_free(mq);
    }
}
