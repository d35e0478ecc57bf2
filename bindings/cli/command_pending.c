#include "command.h"
#include "connect.h"
#include "json.h"
#include "output.h"
#include "signals.h"

#include <acemq/names.h>
#include <acemq/policy.h>
#include <acemq/queue.h>

#include <inttypes.h>
#include <stdlib.h>

static struct {
    acemq_policy *retry;
} settings;

typedef struct cli_rung {
    char name[ACEMQ_NAME_SIZE];
    uint64_t messages;
} cli_rung;

typedef struct cli_counts {
    uint64_t ready;
    uint64_t dead_lettered;
    uint64_t parked;
    cli_rung *rungs;
    size_t rung_count;
} cli_counts;

/* A queue that is missing holds nothing. */
static acemq_status count_derived(acemq_connection *mq, const char *queue, uint64_t *messages,
                                  acemq_error **error)
{
    acemq_status status = acemq_queue_count(mq, queue, CLI_CALL_TIMEOUT, messages, NULL, error);
    if (status == ACEMQ_E_NOT_FOUND) {
        acemq_error_free(*error);
        *error = NULL;
        *messages = 0;
        return ACEMQ_OK;
    }
    return status;
}

static acemq_status count_rungs(acemq_connection *mq, const char *queue, cli_counts *counts,
                                acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (size_t i = 0; status == ACEMQ_OK && i < acemq_policy_rung_count(settings.retry); i++) {
        cli_rung *rung = &counts->rungs[i];
        int64_t delay = acemq_policy_rung_delay(settings.retry, i);
        status = acemq_policy_rung_name(settings.retry, queue, delay, rung->name, error);
        if (status == ACEMQ_OK) {
            status = count_derived(mq, rung->name, &rung->messages, error);
            counts->rung_count++;
        }
    }
    return status;
}

static acemq_status count_all(acemq_connection *mq, const char *queue, cli_counts *counts,
                              acemq_error **error)
{
    char name[ACEMQ_NAME_SIZE];
    acemq_status status =
        acemq_queue_count(mq, queue, CLI_CALL_TIMEOUT, &counts->ready, NULL, error);
    if (status == ACEMQ_OK) {
        status = acemq_dead_letter_queue(queue, name, error);
    }
    if (status == ACEMQ_OK) {
        status = count_derived(mq, name, &counts->dead_lettered, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_parked_queue(queue, name, error);
    }
    if (status == ACEMQ_OK) {
        status = count_derived(mq, name, &counts->parked, error);
    }
    if (status == ACEMQ_OK && settings.retry != NULL) {
        status = count_rungs(mq, queue, counts, error);
    }
    return status;
}

static void print_json(const char *queue, const cli_counts *counts)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_text(&json, "queue", queue);
    cli_json_member_unsigned(&json, "ready", counts->ready);
    cli_json_member_unsigned(&json, "deadLettered", counts->dead_lettered);
    cli_json_member_unsigned(&json, "parked", counts->parked);
    cli_json_name(&json, "rungs");
    cli_json_array(&json);
    for (size_t i = 0; i < counts->rung_count; i++) {
        cli_json_object(&json);
        cli_json_member_text(&json, "queue", counts->rungs[i].name);
        cli_json_member_unsigned(&json, "messages", counts->rungs[i].messages);
        cli_json_end_object(&json);
    }
    cli_json_end_array(&json);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static void print_text(const char *queue, const cli_counts *counts)
{
    printf("%10" PRIu64 "  ready in %s\n", counts->ready, queue);
    for (size_t i = 0; i < counts->rung_count; i++) {
        printf("%10" PRIu64 "  waiting in %s\n", counts->rungs[i].messages, counts->rungs[i].name);
    }
    printf("%10" PRIu64 "  dead-lettered\n", counts->dead_lettered);
    printf("%10" PRIu64 "  parked\n", counts->parked);
}

static int run(const cli_call *call)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    const char *queue = call->arguments[0];
    size_t rungs = settings.retry == NULL ? 0 : acemq_policy_rung_count(settings.retry);
    cli_counts counts = {.rungs = calloc(rungs + 1, sizeof *counts.rungs)};
    if (counts.rungs == NULL) {
        return cli_fail(NULL);
    }
    int status = cli_signals_take() ? cli_connect(call, &mq) : CLI_FAILED;
    if (status == CLI_DONE && count_all(mq, queue, &counts, &error) != ACEMQ_OK) {
        status = cli_fail(error);
    }
    cli_disconnect(mq);
    if (status == CLI_DONE && call->json) {
        print_json(queue, &counts);
    } else if (status == CLI_DONE) {
        print_text(queue, &counts);
    }
    free(counts.rungs);
    return status;
}

static const cli_option options[] = {
    {"--retry", "POLICY", "also count what waits in the rungs of this policy", CLI_POLICY,
     .target = &settings.retry},
    {.name = NULL},
};

const cli_command cli_command_pending = {
    .name = "pending",
    .usage = "QUEUE",
    .summary = "Count what is ready, waits, is dead-lettered and is parked",
    .details = "A queue that is missing counts 0, QUEUE itself excepted.\n\n"
               "With --json: {\"queue\", \"ready\", \"deadLettered\", \"parked\",\n"
               "\"rungs\": [{\"queue\", \"messages\"}]}; no rungs without --retry.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
