#include "command.h"
#include "connect.h"
#include "input.h"
#include "message_options.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "publish_tally.h"
#include "signals.h"

#include <acemq/names.h>
#include <acemq/publisher.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGEST_BODY ((size_t)1024 * 1024 * 1024)
#define TRY_EVERY    250 /* ms between two attempts to connect */

#define LEAST_CLOSE ACEMQ_SECOND /* a broker that answers has gone by then */

static struct {
    const char *exchange;
    const char *key;
    const char *body;
    const char *file;
    bool lines;
    cli_message_options message;
    int64_t count;
    int64_t timeout;
} settings = {
    .message = {.content_type = "application/octet-stream"}, .count = 1, .timeout = 10000};

/* A publish under way. */
typedef struct cli_sending {
    acemq_connection *mq;
    acemq_publisher *publisher;
    const char *routing_key;
    cli_tally tally;
} cli_sending;

/* What is wrong with the options shows on a message without a body, before anything else is done.
 */
static int check_options(const cli_call *call)
{
    if ((call->count == 1) == (settings.exchange != NULL)) {
        return cli_wrong_use(call, "expected either QUEUE, or --exchange and --key");
    }
    if (call->count == 1 && settings.key != NULL) {
        return cli_wrong_use(call, "--key goes with --exchange; the key of a queue is its name");
    }
    if (settings.body != NULL && (settings.file != NULL || settings.lines)) {
        return cli_wrong_use(call, "--body excludes --file and --lines");
    }
    if (settings.lines && settings.count != 1) {
        return cli_wrong_use(call, "--lines excludes --count");
    }
    return cli_message_check(call, &settings.message) ? CLI_DONE : CLI_WRONG_USE;
}

static int check_message(void)
{
    acemq_error *error = NULL;
    acemq_message *message = cli_message_make(&settings.message, "", 0);
    if (message == NULL) {
        return cli_fail(NULL);
    }
    acemq_status status = acemq_message_check(message, &error);
    acemq_message_free(message);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static acemq_status open_publisher(cli_sending *sending, acemq_error **error)
{
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.exchange = settings.exchange;
    options.routing_key = sending->routing_key;
    options.timeout = settings.timeout;
    return acemq_publisher_new(sending->mq, &options, &sending->publisher, error);
}

/* Of two failures the one that says more: that the last try had no time left says nothing. */
static void keep_error(acemq_error **kept, acemq_error *error)
{
    if (*kept != NULL && acemq_error_code(error) == ACEMQ_E_TIMEOUT) {
        acemq_error_free(error);
        return;
    }
    acemq_error_free(*kept);
    *kept = error;
}

/* A broker that is away is tried again until the timeout. */
static acemq_status connect_patiently(const cli_call *call, const char *url, cli_sending *sending,
                                      acemq_error **error)
{
    int64_t deadline = cli_now() + settings.timeout;
    int64_t left = settings.timeout;
    bool again = true;
    while (again) {
        acemq_error *failure = NULL;
        acemq_status status = cli_connect_to(call, url, left, &sending->mq, &failure);
        if (status == ACEMQ_OK) {
            acemq_error_free(*error);
            *error = NULL;
            return open_publisher(sending, error);
        }
        again = acemq_error_is_retriable(failure) != 0 && !cli_interrupted();
        keep_error(error, failure);
        left = deadline - cli_now();
        if (again && left > 0) {
            cli_wait_for_interrupt(left < TRY_EVERY ? left : TRY_EVERY);
            left = deadline - cli_now();
        }
        again = again && left > 0;
    }
    return acemq_error_code(*error);
}

/* False when the user wants an end, and the message was not sent. */
static bool send_one(cli_sending *sending, acemq_message *message)
{
    acemq_error *error = NULL;
    char new_id[ACEMQ_ID_SIZE];
    acemq_new_id(new_id);
    const char *id = settings.message.id != NULL ? settings.message.id : new_id;
    acemq_message_set_id(message, id);
    cli_tally_begin(&sending->tally);
    acemq_status status =
        acemq_publisher_send_async(sending->publisher, NULL, message, settings.timeout,
                                   cli_tally_end, &sending->tally, &error);
    if (status != ACEMQ_OK) {
        cli_tally_withdraw(&sending->tally);
    }
    if (status == ACEMQ_E_CANCELLED) {
        acemq_error_free(error);
        return false;
    }
    cli_tally_id(&sending->tally, id);
    if (status != ACEMQ_OK) {
        cli_tally_refuse(&sending->tally, 1, error);
        acemq_error_free(error);
    }
    return true;
}

/* One was refused, which takes a whole timeout, and the broker is still away: so it is for what
 * comes behind, without a timeout for each of a million messages. */
static bool is_away(cli_sending *sending)
{
    return cli_tally_is_refusing(&sending->tally) &&
           acemq_connection_get_state(sending->mq, NULL) != ACEMQ_CONNECTION_OPEN;
}

static int send_copies(cli_sending *sending, const cli_bytes *body)
{
    acemq_message *message = cli_message_make(&settings.message, body->data, body->length);
    if (message == NULL) {
        return cli_fail(NULL);
    }
    cli_progress progress = {.what = "sent"};
    int64_t sent = 0;
    bool going = true;
    while (going && sent < settings.count && !cli_interrupted() && !is_away(sending)) {
        going = send_one(sending, message);
        sent += going ? 1 : 0;
        cli_progress_show(&progress, (uint64_t)sent, (uint64_t)settings.count);
    }
    cli_progress_end(&progress);
    acemq_message_free(message);
    if (going && sent < settings.count && !cli_interrupted()) {
        cli_tally_refuse_alike(&sending->tally, (uint64_t)(settings.count - sent));
    }
    return CLI_DONE;
}

/* How many lines are there already; none is waited for. */
static uint64_t count_lines(cli_lines *lines)
{
    const char *line;
    size_t length;
    uint64_t count = 0;
    while (cli_next_line(lines, false, &line, &length) == CLI_LINE) {
        count++;
    }
    return count;
}

static int send_lines(cli_sending *sending, cli_lines *lines)
{
    cli_progress progress = {.what = "sent"};
    cli_line_result result = CLI_LINE;
    const char *line;
    size_t length;
    uint64_t count = 0;
    bool going = true;
    while (going && !is_away(sending) &&
           (result = cli_next_line(lines, true, &line, &length)) == CLI_LINE) {
        acemq_message *message = cli_message_make(&settings.message, line, length);
        if (message == NULL) {
            return cli_fail(NULL);
        }
        going = send_one(sending, message);
        acemq_message_free(message);
        cli_progress_show(&progress, ++count, 0);
    }
    cli_progress_end(&progress);
    if (going && result == CLI_LINE) {
        cli_tally_refuse_alike(&sending->tally, count_lines(lines));
    }
    return result == CLI_LINES_FAILED ? CLI_FAILED : CLI_DONE;
}

/* There never was a connection. */
static int refuse_all(cli_sending *sending, cli_lines *lines, acemq_error *error)
{
    uint64_t count = lines == NULL ? (uint64_t)settings.count : count_lines(lines);
    cli_tally_refuse_alike(&sending->tally, count);
    return cli_fail(error);
}

static int send_all(const cli_call *call, const char *url, cli_sending *sending,
                    const cli_bytes *body, cli_lines *lines)
{
    acemq_error *error = NULL;
    if (connect_patiently(call, url, sending, &error) != ACEMQ_OK) {
        return refuse_all(sending, lines, error);
    }
    int status = lines == NULL ? send_copies(sending, body) : send_lines(sending, lines);
    cli_tally_wait(&sending->tally, lines == NULL ? (uint64_t)settings.count : 0);
    return status;
}

static int publish(const cli_call *call, const char *url, const cli_bytes *body, cli_lines *lines)
{
    cli_sending sending = {.routing_key = call->count == 1 ? call->arguments[0] : settings.key};
    if (sending.routing_key == NULL) {
        sending.routing_key = "";
    }
    if (!cli_tally_init(&sending.tally)) {
        return cli_fail_system("counting");
    }
    int status = send_all(call, url, &sending, body, lines);
    acemq_publisher_free(sending.publisher);
    cli_disconnect_within(sending.mq,
                          settings.timeout < LEAST_CLOSE ? LEAST_CLOSE : settings.timeout);
    cli_tally_print(&sending.tally, call->json);
    if (!cli_tally_all_confirmed(&sending.tally) || cli_interrupted()) {
        status = CLI_FAILED;
    }
    cli_tally_destroy(&sending.tally);
    return status;
}

static int publish_lines(const cli_call *call, const char *url)
{
    cli_lines lines = {.fd = STDIN_FILENO, .name = "standard input"};
    bool is_file = settings.file != NULL && strcmp(settings.file, "-") != 0;
    if (is_file) {
        lines.name = settings.file;
        lines.fd = open(settings.file, O_RDONLY | O_CLOEXEC);
        if (lines.fd < 0) {
            return cli_fail_system("%s", settings.file);
        }
    }
    int status = cli_signals_take() ? publish(call, url, NULL, &lines) : CLI_FAILED;
    if (is_file) {
        close(lines.fd);
    }
    free(lines.buffer);
    return status;
}

/* The body is read while Ctrl-C still ends the process. */
static int publish_body(const cli_call *call, const char *url)
{
    cli_bytes body = {NULL, 0};
    if (settings.body != NULL) {
        body = (cli_bytes){strdup(settings.body), strlen(settings.body)};
    } else if (!cli_read_file(settings.file, LARGEST_BODY, &body)) {
        return CLI_FAILED;
    }
    if (body.data == NULL) {
        return cli_fail(NULL);
    }
    int status = cli_signals_take() ? publish(call, url, &body, NULL) : CLI_FAILED;
    free(body.data);
    return status;
}

static int run(const cli_call *call)
{
    int status = check_options(call);
    if (status == CLI_DONE) {
        status = check_message();
    }
    if (status != CLI_DONE) {
        return status;
    }
    char *url = cli_url(call);
    if (url == NULL) {
        return CLI_FAILED;
    }
    status = settings.lines ? publish_lines(call, url) : publish_body(call, url);
    free(url);
    return status;
}

static const cli_option options[] = {
    {"--exchange", "E", "publish to this exchange instead of a queue", CLI_TEXT,
     .target = &settings.exchange},
    {"--key", "K", "the routing key, with --exchange; none: empty", CLI_ANY_TEXT,
     .target = &settings.key},
    {"--body", "TEXT", "the body; else --file, else standard input", CLI_ANY_TEXT,
     .target = &settings.body},
    {"--file", "FILE", "read the body, or with --lines the lines, from a file", CLI_TEXT,
     .target = &settings.file},
    {"--lines", NULL, "send one message a line, as the lines come", CLI_FLAG,
     .target = &settings.lines},
    {"--type", "TYPE", "of the envelope; the routing key when not given", CLI_TEXT,
     .target = &settings.message.type},
    {"--id", "ID", "of every message sent; a new one each when not given", CLI_TEXT,
     .target = &settings.message.id},
    {"--correlation", "ID", "of the envelope; the id when not given", CLI_TEXT,
     .target = &settings.message.correlation},
    {"--header", "NAME=VALUE", "a header of the application's; may be given several times",
     CLI_TEXTS, .target = &settings.message.headers},
    {"--content-type", "TYPE", "of the body; application/octet-stream when not given", CLI_TEXT,
     .target = &settings.message.content_type},
    {"--count", "N", "send it N times; once when not given", CLI_INTEGER, .target = &settings.count,
     .least = 1, .most = INT64_MAX},
    {"--timeout", "D",
     "bounds each wait, for the connection, the window and the confirm; 10s when not given",
     CLI_DURATION, .target = &settings.timeout, .least = 1, .most = ACEMQ_DAY},
    {.name = NULL},
};

const cli_command cli_command_publish = {
    .name = "publish",
    .usage = "QUEUE | --exchange E --key K",
    .summary = "Publish messages, and tell what became of each",
    .details = "A broker that is away is tried again until the timeout; what could not be sent by "
               "then is\n"
               "refused. unknown was sent and not confirmed: it may or may not have arrived. "
               "Ctrl-C sends\n"
               "no more and waits a moment for what is under way.\n\n"
               "With --json: {\"sent\", \"confirmed\", \"unroutable\", \"nacked\", \"refused\", "
               "\"unknown\",\n"
               "\"ids\": the first 100, in order}. sent is what left here: all but the refused. "
               "Exit status\n"
               "1 unless all were confirmed.\n",
    .options = options,
    .most = 1,
    .run = run,
};
