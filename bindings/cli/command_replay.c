#include "command.h"
#include "connect.h"
#include "filter.h"
#include "json.h"
#include "output.h"
#include "progress.h"
#include "signals.h"

#include <acemq/replay.h>

#include <inttypes.h>

static struct {
    int64_t most;
    bool parked;
    bool keep_attempts;
    bool dry_run;
    const char *id;
    cli_list filters;
} settings = {.most = -1};

static int takes(const acemq_delivery *delivery, void *filters)
{
    return cli_filters_match(filters, delivery) ? 1 : 0;
}

static void show(uint64_t replayed, uint64_t declined, uint64_t total, void *progress)
{
    cli_progress_show(progress, replayed + declined, total);
}

static void print(const acemq_replay_result *result, const acemq_error *error, bool as_json)
{
    if (!as_json) {
        printf("%" PRIu64 " %s, %" PRIu64 " declined, %" PRIu64 " left\n", result->replayed,
               settings.dry_run ? "would be replayed" : "replayed", result->declined, result->left);
        return;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "replayed", result->replayed);
    cli_json_member_unsigned(&json, "declined", result->declined);
    cli_json_member_unsigned(&json, "left", result->left);
    cli_json_member_text(&json, "error", error == NULL ? NULL : acemq_error_message(error));
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static int replay(const cli_call *call, acemq_connection *mq)
{
    acemq_error *error = NULL;
    acemq_replay_result result = {.size = sizeof result};
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    cli_progress progress = {.what = "looked at"};
    options.id = settings.id;
    options.filter = settings.filters.count > 0 ? takes : NULL;
    options.filter_user = &settings.filters;
    options.progress = show;
    options.progress_user = &progress;
    options.max = settings.most;
    options.source = settings.parked ? ACEMQ_PARKED_LETTERS : ACEMQ_DEAD_LETTERS;
    options.keep_attempts = settings.keep_attempts;
    options.dry_run = settings.dry_run;
    acemq_status status = acemq_replay(mq, call->arguments[0], &options, &result, &error);
    cli_progress_end(&progress);
    print(&result, error, call->json);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static int run(const cli_call *call)
{
    acemq_connection *mq = NULL;
    if (!cli_filters_check(call, &settings.filters)) {
        return CLI_WRONG_USE;
    }
    int status = cli_signals_take() ? cli_connect(call, &mq) : CLI_FAILED;
    if (status == CLI_DONE) {
        status = replay(call, mq);
    }
    cli_disconnect(mq);
    return status;
}

static const cli_option options[] = {
    {"--max", "N", "move so many at most; all that are there when it begins, when not given",
     CLI_INTEGER, .target = &settings.most, .least = 0, .most = INT64_MAX},
    {"--parked", NULL, "from .parked instead of .dlq", CLI_FLAG, .target = &settings.parked},
    {"--keep-attempts", NULL, "leave the attempt and the error as they are", CLI_FLAG,
     .target = &settings.keep_attempts},
    {"--id", "ID", "only the message with this id", CLI_TEXT, .target = &settings.id},
    {"--filter", "FIELD=PATTERN", "only messages that match; may be given several times", CLI_TEXTS,
     .target = &settings.filters},
    {"--dry-run", NULL, "count what would be moved, and move nothing", CLI_FLAG,
     .target = &settings.dry_run},
    {.name = NULL},
};

const cli_command cli_command_replay = {
    .name = "replay",
    .usage = "QUEUE",
    .summary = "Move dead letters or parked messages back to their queue",
    .details =
        "Each is published to QUEUE, confirmed, and only then taken from QUEUE.dlq. Its attempt\n"
        "begins anew and its error is cleared; id, body and headers stay. When it was first seen\n"
        "stays too: a message past the age limit of its consumer's policy is dead-lettered again\n"
        "at its first failure.\n\n" CLI_FILTER_HELP
        "\nWith --json: {\"replayed\", \"declined\", \"left\", \"error\": null or text}; left is\n"
        "what is in the failure queue afterwards, the declined included.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
