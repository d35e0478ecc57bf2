#include "command.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "signals.h"

#include <acemq/broker.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_HOST 256

static struct {
    const char *listen;
} settings;

/* HOST:PORT, where an IPv6 address stands in brackets. */
static bool read_address(const char *text, char host[LONGEST_HOST], int *port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    const char *start = text;
    if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
        start++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        return false;
    }
    if (length == 0 || length >= LONGEST_HOST) {
        return false;
    }
    memcpy(host, start, length);
    host[length] = '\0';
    char *end;
    errno = 0;
    long number = strtol(colon + 1, &end, 10);
    bool is_number = end != colon + 1 && *end == '\0' && strspn(colon + 1, "0123456789") > 0;
    *port = (int)number;
    return is_number && errno == 0 && number <= 65535;
}

static void print_url(const char *host, int port, bool as_json)
{
    char url[LONGEST_HOST + 64];
    bool is_ipv6 = strchr(host, ':') != NULL;
    snprintf(url, sizeof url, "amqp://guest:guest@%s%s%s:%d/", is_ipv6 ? "[" : "", host,
             is_ipv6 ? "]" : "", port);
    if (as_json) {
        cli_json json = cli_json_stdout();
        cli_json_object(&json);
        cli_json_member_text(&json, "url", url);
        cli_json_end_object(&json);
        cli_json_end(&json);
    } else {
        printf("%s\n", url);
    }
    (void)fflush(stdout); /* whoever started it waits for this line */
}

static int run(const cli_call *call)
{
    char host[LONGEST_HOST];
    int port;
    acemq_error *error = NULL;
    acemq_broker *broker = NULL;
    if (settings.listen == NULL || !read_address(settings.listen, host, &port)) {
        return cli_wrong_use(call, "--listen must be HOST:PORT, such as 127.0.0.1:5672");
    }
    if (!cli_signals_take()) {
        return CLI_FAILED;
    }
    acemq_status status = acemq_broker_start(&broker, &error);
    if (status == ACEMQ_OK) {
        status = acemq_broker_listen(broker, host, port, &port, &error);
    }
    if (status == ACEMQ_OK) {
        print_url(host, port, call->json);
        while (!cli_interrupted()) {
            cli_wait_for_interrupt(INT64_MAX);
        }
    }
    acemq_broker_free(broker);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static const cli_option options[] = {
    {"--listen", "HOST:PORT", "the address to listen on; port 0 takes a free one", CLI_TEXT,
     .target = &settings.listen},
    {.name = NULL},
};

const cli_command cli_command_broker = {
    .name = "broker",
    .usage = "--listen HOST:PORT",
    .summary = "Run the memory broker, for tests of any AMQP 0-9-1 client",
    .details =
        "It keeps nothing, has the vhost / and the user guest with the password guest. It prints\n"
        "its URL once it listens, with --json as {\"url\"}, and ends at Ctrl-C (or SIGTERM) with\n"
        "exit status 0.\n",
    .options = options,
    .run = run,
};
