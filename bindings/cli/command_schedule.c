#include "command.h"
#include "json.h"
#include "output.h"

#include <acemq/names.h>
#include <acemq/policy.h>

#include <inttypes.h>

#define LONGEST_BROKER_WAIT 315360000000LL /* ms; the broker refuses a longer x-message-ttl */

static struct {
    const char *queue;
} settings = {"orders"};

static bool rung_of(const acemq_policy *policy, int64_t delay, char name[ACEMQ_NAME_SIZE],
                    acemq_error **error)
{
    int64_t rung = acemq_policy_choose_rung(policy, delay);
    return acemq_policy_rung_name(policy, settings.queue, rung, name, error) == ACEMQ_OK;
}

static void write_wait(cli_json *json, int64_t attempt, int64_t delay, const char *rung)
{
    cli_json_object(json);
    cli_json_member_integer(json, "afterAttempt", attempt);
    cli_json_member_integer(json, "delayMs", delay);
    cli_json_member_text(json, "where", rung == NULL ? "consumer" : "broker");
    cli_json_member_text(json, "rung", rung);
    cli_json_end_object(json);
}

static void print_wait(int64_t attempt, int64_t delay, const char *rung)
{
    char text[24] = "";
    (void)acemq_duration_format(delay, text, NULL);
    printf("%13" PRId64 "  %10s  %s\n", attempt, text, rung == NULL ? "in the consumer" : rung);
}

/* `json` is NULL for the terminal. */
static acemq_status list_waits(const acemq_policy *policy, cli_json *json, acemq_error **error)
{
    for (int64_t attempt = 1; attempt < acemq_policy_max_attempts(policy); attempt++) {
        char name[ACEMQ_NAME_SIZE];
        const char *rung = NULL;
        int64_t delay = acemq_policy_wait(policy, attempt);
        if (acemq_policy_waits_in_broker(policy, delay)) {
            if (!rung_of(policy, delay, name, error)) {
                return acemq_error_code(*error);
            }
            rung = name;
        }
        if (json != NULL) {
            write_wait(json, attempt, delay, rung);
        } else {
            print_wait(attempt, delay, rung);
        }
    }
    return ACEMQ_OK;
}

static acemq_status write_rung(const acemq_policy *policy, int64_t delay, cli_json *json,
                               acemq_error **error)
{
    char name[ACEMQ_NAME_SIZE];
    acemq_table *arguments = NULL;
    if (!rung_of(policy, delay, name, error) ||
        acemq_policy_rung_arguments(policy, settings.queue, delay, &arguments, error) != ACEMQ_OK) {
        return acemq_error_code(*error);
    }
    cli_json_object(json);
    cli_json_member_text(json, "queue", name);
    cli_json_name(json, "arguments");
    cli_json_table(json, arguments, false);
    cli_json_end_object(json);
    acemq_table_free(arguments);
    return ACEMQ_OK;
}

static acemq_status write_json(const acemq_policy *policy, const char *text, acemq_error **error)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_text(&json, "policy", text);
    cli_json_member_integer(&json, "maxAttempts", acemq_policy_max_attempts(policy));
    cli_json_name(&json, "waits");
    cli_json_array(&json);
    acemq_status status = list_waits(policy, &json, error);
    cli_json_end_array(&json);
    cli_json_name(&json, "rungs");
    cli_json_array(&json);
    for (size_t i = 0; status == ACEMQ_OK && i < acemq_policy_rung_count(policy); i++) {
        status = write_rung(policy, acemq_policy_rung_delay(policy, i), &json, error);
    }
    cli_json_end_array(&json);
    cli_json_end_object(&json);
    cli_json_end(&json);
    return status;
}

static acemq_status print_table(const acemq_policy *policy, const char *text, acemq_error **error)
{
    printf("%s: at most %" PRId64 " attempts\n", text, acemq_policy_max_attempts(policy));
    if (acemq_policy_max_attempts(policy) > 1) {
        printf("%safter attempt        wait  where%s\n", cli_bold(stdout), cli_plain(stdout));
    }
    return list_waits(policy, NULL, error);
}

/* The schedule is the policy's all the same. */
static void warn_of_the_limit(const acemq_policy *policy)
{
    int64_t longest = 0;
    for (size_t i = 0; i < acemq_policy_rung_count(policy); i++) {
        longest = acemq_policy_rung_delay(policy, i);
    }
    if (longest > LONGEST_BROKER_WAIT) {
        cli_say("warning: no topology and no consumer takes this policy: the longest wait in the "
                "broker is %" PRId64 " milliseconds, the limit is %lld",
                longest, LONGEST_BROKER_WAIT);
    }
}

/* A name that has no room for a rung's ending shows before anything is printed. */
static acemq_status check_names(const acemq_policy *policy, acemq_error **error)
{
    char name[ACEMQ_NAME_SIZE];
    if (acemq_dead_letter_queue(settings.queue, name, error) != ACEMQ_OK) {
        return acemq_error_code(*error);
    }
    for (size_t i = 0; i < acemq_policy_rung_count(policy); i++) {
        if (!rung_of(policy, acemq_policy_rung_delay(policy, i), name, error)) {
            return acemq_error_code(*error);
        }
    }
    return ACEMQ_OK;
}

static int run(const cli_call *call)
{
    acemq_error *error = NULL;
    acemq_policy *policy = NULL;
    char *text = NULL;
    acemq_status status = acemq_policy_parse(call->arguments[0], &policy, &error);
    if (status == ACEMQ_OK) {
        status = acemq_policy_format(policy, &text, &error);
    }
    if (status == ACEMQ_OK) {
        status = check_names(policy, &error);
    }
    if (status == ACEMQ_OK) {
        warn_of_the_limit(policy);
        status = call->json ? write_json(policy, text, &error) : print_table(policy, text, &error);
    }
    acemq_free(text);
    acemq_policy_free(policy);
    if (status != ACEMQ_OK) {
        cli_fail(error);
        return status == ACEMQ_E_OUT_OF_MEMORY ? CLI_FAILED : CLI_WRONG_USE;
    }
    return CLI_DONE;
}

static const cli_option options[] = {
    {"--queue", "QUEUE", "whose rungs are named; orders when not given", CLI_TEXT,
     .target = &settings.queue},
    {.name = NULL},
};

const cli_command cli_command_schedule = {
    .name = "schedule",
    .usage = "POLICY",
    .summary = "Print the waits and the rung queues of a retry policy",
    .details =
        "POLICY is none, fixed(4, 30s) or exponential(5, 10s, 5m), followed by any of\n"
        ".giveUpAfter(2m), .threshold(30s), .jitter(0.2), .multiplier(3), .wholeSecondNames() and\n"
        ".durableRungs(). Waits are printed without their jitter.\n\n"
        "With --json: {\"policy\", \"maxAttempts\",\n"
        "\"waits\": [{\"afterAttempt\", \"delayMs\", \"where\": \"consumer\" or \"broker\", "
        "\"rung\"}],\n"
        "\"rungs\": [{\"queue\", \"arguments\"}]}; rung is the whole name of a queue or null.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
