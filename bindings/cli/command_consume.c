#include "command.h"
#include "connect.h"
#include "consume.h"
#include "json.h"
#include "output.h"
#include "signals.h"

#include <inttypes.h>
#include <signal.h>

#define LONGEST_IDLE (365 * ACEMQ_DAY)

static struct {
    const char *command;
    const char *declare;
    acemq_policy *retry;
    int64_t members;
    int64_t prefetch;
    int64_t most;
    int64_t idle;
    int64_t threshold;
    const char *decode;
    const char *idempotency;
    const char *table;
    int64_t lease;
} settings = {.declare = "yes",
              .members = 1,
              .prefetch = 50,
              .idle = -1,
              .threshold = -1,
              .decode = "bytes",
              .lease = 5 * ACEMQ_MINUTE};

static void print_counters(const acemq_consumer_counters *counters, bool as_json)
{
    if (!as_json) {
        fprintf(stderr,
                "acemq: %" PRIu64 " acknowledged, %" PRIu64 " rejected: %" PRIu64
                " retried, %" PRIu64 " dead-lettered, %" PRIu64 " parked\n",
                counters->acknowledged, counters->rejected, counters->retried,
                counters->dead_lettered, counters->parked);
        return;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "acknowledged", counters->acknowledged);
    cli_json_member_unsigned(&json, "rejected", counters->rejected);
    cli_json_member_unsigned(&json, "retried", counters->retried);
    cli_json_member_unsigned(&json, "deadLettered", counters->dead_lettered);
    cli_json_member_unsigned(&json, "duplicates", counters->duplicates);
    cli_json_member_unsigned(&json, "parked", counters->parked);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

/* More than may be handled would only be put back at the end. */
static int32_t prefetch(void)
{
    int64_t wanted = settings.prefetch;
    return (int32_t)(settings.most > 0 && settings.most < wanted ? settings.most : wanted);
}

/* NULL when none was asked for. */
static bool open_store(acemq_idempotency **store)
{
    acemq_idempotency_options how = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;
    acemq_error *error = NULL;
    how.name = settings.table;
    *store = NULL;
    if (settings.idempotency != NULL &&
        acemq_idempotency_open(settings.idempotency, &how, store, &error) != ACEMQ_OK) {
        cli_fail(error);
        return false;
    }
    return true;
}

static int run(const cli_call *call)
{
    acemq_connection *mq = NULL;
    acemq_consumer_counters counters;
    cli_consume_settings consume = {.queue = call->arguments[0],
                                    .command = settings.command,
                                    .to_stderr = call->json,
                                    .members = settings.members,
                                    .most = settings.most,
                                    .idle = settings.idle,
                                    .options = ACEMQ_CONSUMER_OPTIONS_INIT};
    if (settings.retry != NULL && settings.threshold >= 0) {
        acemq_policy_threshold(settings.retry, settings.threshold);
    }
    consume.options.retry = settings.retry;
    consume.options.codec = acemq_codec_builtin(settings.decode);
    consume.options.prefetch = prefetch();
    consume.options.declare = settings.declare[0] == 'v' ? ACEMQ_DECLARE_VERIFY : ACEMQ_DECLARE_YES;
    /* A command that does not read its input, or a reader of ours that went away, is no end. */
    (void)signal(SIGPIPE, SIG_IGN);
    acemq_idempotency *store = NULL;
    if (!cli_signals_take() || !open_store(&store)) {
        return CLI_FAILED;
    }
    if (cli_connect(call, &mq) != CLI_DONE) {
        acemq_idempotency_free(store);
        return CLI_FAILED;
    }
    consume.options.idempotency = store;
    consume.options.lease = settings.lease;
    consume.options.renew = 1; /* a command takes the time it takes */
    bool good = cli_consume(mq, &consume, &counters);
    cli_disconnect(mq);
    acemq_idempotency_free(store);
    print_counters(&counters, call->json);
    return good ? CLI_DONE : CLI_FAILED;
}

static const cli_option options[] = {
    {"--exec", "COMMAND", "run this by sh -c for each message, instead of printing it", CLI_TEXT,
     .target = &settings.command},
    {"--declare", "yes|verify",
     "declare the failure queues and the ladder (yes, the default), or only check that they are "
     "there",
     CLI_CHOICE, .target = &settings.declare, .choices = "yes|verify"},
    {"--retry", "POLICY", "such as 'exponential(5, 10s, 5m)'; none: one attempt, then .dlq",
     CLI_POLICY, .target = &settings.retry},
    {"--threshold", "D", "of the policy: waits of at least this go to the broker; 0: none does",
     CLI_DURATION, .target = &settings.threshold, .least = 0, .most = INT64_MAX},
    {"--members", "N", "so many messages are handled at once; 1 when not given", CLI_INTEGER,
     .target = &settings.members, .least = 1, .most = 1000},
    {"--prefetch", "N", "messages held here by each member; 50 when not given", CLI_INTEGER,
     .target = &settings.prefetch, .least = 1, .most = 65535},
    {"--max", "N", "end after so many messages were handled", CLI_INTEGER, .target = &settings.most,
     .least = 1, .most = INT64_MAX},
    {"--idle", "D",
     "end after that long with nothing delivered and nothing waiting here; time without a "
     "connection does not count",
     CLI_DURATION, .target = &settings.idle, .least = 1, .most = LONGEST_IDLE},
    {"--decode", "CODEC",
     "json, text, msgpack or bytes (the default): what does not decode is parked", CLI_CHOICE,
     .target = &settings.decode, .choices = "json|text|msgpack|bytes"},
    {"--idempotency", "STORE",
     "handle each id once: lmdb:PATH, a postgresql:// URL, or memory: (which ends with this run)",
     CLI_TEXT, .target = &settings.idempotency},
    {"--idempotency-table", "NAME", "of the store; acemq_idempotency when not given", CLI_TEXT,
     .target = &settings.table},
    {"--lease", "D", "of a claim, which is renewed while its message is handled; 5m when not given",
     CLI_DURATION, .target = &settings.lease, .least = 1, .most = 365 * ACEMQ_DAY},
    {.name = NULL},
};

const cli_command cli_command_consume = {
    .name = "consume",
    .usage = "QUEUE",
    .summary = "Consume messages, with retries, dead letters and a parking lot",
    .details =
        "Ends at Ctrl-C (or SIGTERM) with exit status 0: what is unsettled goes back. A second\n"
        "Ctrl-C ends it at once.\n\n"
        "Without --exec each message is printed, and then acknowledged. With --exec the body is\n"
        "the command's standard input, and its exit status says what becomes of the message:\n"
        "  0              accepted\n"
        "  64             parked\n"
        "  65             rejected as unprocessable: dead-lettered at once\n"
        "  anything else  failed: retried as --retry says, at last dead-lettered\n"
        "The reason is the last line of its standard error. Its standard output goes to our\n"
        "standard error. At Ctrl-C a command gets a SIGTERM, and 5 s later a SIGKILL; its message\n"
        "goes back unless it ended with 0. Its environment has ACEMQ_ID, ACEMQ_TYPE,\n"
        "ACEMQ_VERSION, ACEMQ_ATTEMPT, ACEMQ_CORRELATION, ACEMQ_CAUSATION, ACEMQ_ORIGIN,\n"
        "ACEMQ_FIRST_SEEN, ACEMQ_QUEUE, ACEMQ_EXCHANGE, ACEMQ_ROUTING_KEY, ACEMQ_CONTENT_TYPE,\n"
        "ACEMQ_REDELIVERED, ACEMQ_REPLAY_COUNT and ACEMQ_HEADERS (JSON, up to 64 KiB).\n\n"
        "With --json, at the end: {\"acknowledged\", \"rejected\", \"retried\", \"deadLettered\",\n"
        "\"duplicates\", \"parked\"}; messages that are printed go to standard error.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
