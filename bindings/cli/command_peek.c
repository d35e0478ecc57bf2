#include "command.h"
#include "connect.h"
#include "json_message.h"
#include "output.h"
#include "print_message.h"
#include "signals.h"

#include <acemq/queue.h>

#define SHOWN_OF_BODY 4096

static struct {
    int64_t most;
    bool force;
} settings = {.most = 10};

static void print(cli_json *json, bool as_json, const acemq_delivery *delivery)
{
    if (as_json) {
        cli_json_delivery(json, delivery);
    } else {
        cli_print_message(stdout, delivery, SHOWN_OF_BODY);
    }
}

static acemq_status look(acemq_browser *browser, bool as_json, acemq_error **error)
{
    const acemq_delivery *delivery = NULL;
    acemq_status status = ACEMQ_OK;
    cli_json json = cli_json_stdout();
    if (as_json) {
        cli_json_array(&json);
    }
    for (int64_t i = 0; i < settings.most && status == ACEMQ_OK; i++) {
        status = acemq_browser_next(browser, &delivery, error);
        if (status != ACEMQ_OK || delivery == NULL) {
            break;
        }
        print(&json, as_json, delivery);
    }
    if (as_json) {
        cli_json_end_array(&json);
        cli_json_end(&json);
    }
    return status;
}

static int peek(const cli_call *call, acemq_connection *mq)
{
    acemq_error *error = NULL;
    acemq_browser *browser = NULL;
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    options.max = settings.most;
    options.force = settings.force;
    acemq_status status = acemq_browser_open(mq, call->arguments[0], &options, &browser, &error);
    if (status == ACEMQ_OK) {
        status = look(browser, call->json, &error);
    }
    acemq_browser_free(browser);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static int run(const cli_call *call)
{
    acemq_connection *mq = NULL;
    int status = cli_signals_take() ? cli_connect(call, &mq) : CLI_FAILED;
    if (status == CLI_DONE) {
        status = peek(call, mq);
    }
    cli_disconnect(mq);
    return status;
}

static const cli_option options[] = {
    {"--max", "N", "look at so many at most; 10 when not given", CLI_INTEGER,
     .target = &settings.most, .least = 1, .most = 1000000},
    {"--force", NULL, "look into a quorum queue too, though each look costs a delivery", CLI_FLAG,
     .target = &settings.force},
    {.name = NULL},
};

const cli_command cli_command_peek = {
    .name = "peek",
    .usage = "QUEUE",
    .summary = "Show the messages at the head of a queue, and leave them there",
    .details =
        "They are put back in their order, marked redelivered. Refused for a rung, where that\n"
        "would begin the wait anew, and for a quorum queue without --force, where each look "
        "counts\n"
        "towards the delivery limit.\n\n"
        "With --json: [{\"envelope\", \"headers\", \"properties\", and \"body\" or "
        "\"bodyBase64\"}];\n"
        "envelope and headers as acemq envelope has them; properties are messageId contentType\n"
        "contentEncoding deliveryMode priority replyTo correlationId type timestamp appId, absent\n"
        "ones null. bodyBase64 stands for a body that is not UTF-8.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
