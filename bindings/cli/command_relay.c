#include "command.h"
#include "connect.h"
#include "json.h"
#include "output.h"
#include "signals.h"

#include <acemq/outbox.h>

#include <inttypes.h>

static struct {
    const char *table;
    int64_t batch;
    int64_t every;
    int64_t lease;
    bool once;
} settings = {.batch = 100, .every = 1000, .lease = 60000};

static void print(const cli_call *call, acemq_relay *relay)
{
    acemq_relay_counters counters = {.size = sizeof counters};
    if (acemq_relay_count(relay, &counters, NULL) != ACEMQ_OK) {
        return;
    }
    if (!call->json) {
        printf("%" PRIu64 " published, %" PRIu64 " failed, %" PRIu64 " retired\n",
               counters.published, counters.failed, counters.retired);
        return;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "published", counters.published);
    cli_json_member_unsigned(&json, "failed", counters.failed);
    cli_json_member_unsigned(&json, "retired", counters.retired);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static int relay_until_the_end(acemq_relay *relay)
{
    acemq_error *error = NULL;
    if (!settings.once) {
        cli_wait_for_interrupt(ACEMQ_FOREVER);
    } else if (acemq_relay_drain(relay, ACEMQ_FOREVER, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    return CLI_DONE;
}

static int relay(const cli_call *call, acemq_connection *mq, acemq_outbox *outbox)
{
    acemq_error *error = NULL;
    acemq_relay *started = NULL;
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    options.batch = (int32_t)settings.batch;
    options.every = settings.every;
    options.lease = settings.lease;
    if (acemq_relay_start(mq, outbox, &options, &started, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    int status = relay_until_the_end(started);
    if (acemq_relay_stop(started, CLI_CALL_TIMEOUT, &error) != ACEMQ_OK) {
        status = cli_fail(error);
    }
    print(call, started);
    acemq_relay_free(started);
    return status;
}

static int run(const cli_call *call)
{
    acemq_error *error = NULL;
    acemq_outbox *outbox = NULL;
    acemq_connection *mq = NULL;
    acemq_outbox_options options = ACEMQ_OUTBOX_OPTIONS_INIT;
    options.name = settings.table;
    if (!cli_signals_take()) {
        return CLI_FAILED;
    }
    if (acemq_outbox_open(call->arguments[0], &options, &outbox, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    int status = cli_connect(call, &mq);
    if (status == CLI_DONE) {
        status = relay(call, mq, outbox);
    }
    cli_disconnect(mq);
    acemq_outbox_free(outbox);
    return status;
}

static const cli_option options[] = {
    {"--batch", "N", "messages a pass; 100 when not given", CLI_INTEGER, .target = &settings.batch,
     .least = 1, .most = 1000},
    {"--every", "D", "how often an empty outbox is looked at; 1s when not given", CLI_DURATION,
     .target = &settings.every, .least = 1, .most = INT64_MAX},
    {"--lease", "D", "how long a message is this relay's own; 60s when not given", CLI_DURATION,
     .target = &settings.lease, .least = 1000, .most = INT64_C(86400000)},
    {"--once", NULL, "end when nothing is pending any more", CLI_FLAG, .target = &settings.once},
    {"--table", "NAME", "of the table or the databases; acemq_outbox when not given", CLI_TEXT,
     .target = &settings.table},
    {.name = NULL},
};

const cli_command cli_command_relay = {
    .name = "relay",
    .usage = "STORE",
    .summary = "Publish what an outbox holds",
    .details =
        "STORE is lmdb:PATH or a postgresql:// URL. Each message is published, mandatory and\n"
        "confirmed, and marked afterwards; a relay that dies in between publishes it again, with\n"
        "the same id. Any number of relays may share an outbox. One that fails ten times by its\n"
        "own fault is retired: see acemq outbox. Ctrl-C ends it when what is under way is done.\n\n"
        "With --json, at the end: {\"published\", \"failed\", \"retired\"}; failed counts "
        "attempts.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
