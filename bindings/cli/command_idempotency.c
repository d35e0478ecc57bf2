#include "command.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "signals.h"
#include "store.h"

#include <acemq/idempotency.h>
#include <acemq/time.h>

#include <inttypes.h>
#include <string.h>

#define LISTED_AT_ONCE 1000
#define MOST_TIMEOUT   ACEMQ_DAY

static struct {
    const char *table;
    const char *after;
    int64_t most;
    int64_t timeout;
} settings = {.after = "", .most = 100, .timeout = 30 * ACEMQ_SECOND};

static int print_count(const cli_call *call, const char *member, const char *what, uint64_t count)
{
    if (!call->json) {
        printf("%" PRIu64 " %s\n", count, what);
        return CLI_DONE;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, member, count);
    cli_json_end_object(&json);
    cli_json_end(&json);
    return CLI_DONE;
}

static int size(const cli_call *call, acemq_idempotency *store)
{
    uint64_t count;
    acemq_error *error = NULL;
    if (acemq_idempotency_size(store, settings.timeout, &count, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    return print_count(call, "size", "entries", count);
}

static int purge(const cli_call *call, acemq_idempotency *store)
{
    uint64_t count;
    acemq_error *error = NULL;
    if (acemq_idempotency_purge_expired(store, settings.timeout, &count, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    return print_count(call, "purged", "expired entries were taken away", count);
}

/* --- show --- */

static const char *state_of(const acemq_claim_view *entry)
{
    if (entry->confirmed != 0) {
        return "confirmed";
    }
    return entry->token[0] == '\0' ? "released" : "claimed";
}

static void print_entry(cli_json *json, bool as_json, const acemq_claim_view *entry)
{
    if (!as_json) {
        char recorded[ACEMQ_TIME_SIZE] = "?";
        char expires[ACEMQ_TIME_SIZE] = "?";
        (void)acemq_time_format(entry->recorded_at, recorded, NULL);
        (void)acemq_time_format(entry->expires_at, expires, NULL);
        printf("%-9s  %s  until %s  ", state_of(entry), recorded, expires);
        cli_print_shown(stdout, entry->key, strlen(entry->key), SIZE_MAX);
        printf("\n");
        return;
    }
    cli_json_object(json);
    cli_json_member_text(json, "key", entry->key);
    cli_json_member_text(json, "state", state_of(entry));
    cli_json_member_text(json, "claimedBy", entry->token[0] == '\0' ? NULL : entry->token);
    cli_json_member_integer(json, "recordedAt", entry->recorded_at);
    cli_json_member_integer(json, "expiresAt", entry->expires_at);
    cli_json_end_object(json);
}

/* The last key of a page is where the next one goes on, so it stays until that was read. */
static int show(const cli_call *call, acemq_idempotency *store)
{
    acemq_claims *page = NULL;
    const char *after = settings.after;
    int64_t left = settings.most;
    int status = CLI_DONE;
    cli_json json = cli_json_stdout();
    if (call->json) {
        cli_json_array(&json);
    }
    while (left > 0) {
        acemq_claims *next = NULL;
        acemq_error *error = NULL;
        int64_t most = left < LISTED_AT_ONCE ? left : LISTED_AT_ONCE;
        if (acemq_idempotency_list(store, after, most, settings.timeout, &next, &error) !=
            ACEMQ_OK) {
            status = cli_fail(error);
            break;
        }
        acemq_claims_free(page);
        page = next;
        size_t count = acemq_claims_count(page);
        acemq_claim_view entry;
        for (size_t i = 0; i < count && acemq_claims_get(page, i, &entry, NULL) == ACEMQ_OK; i++) {
            print_entry(&json, call->json, &entry);
            after = entry.key;
        }
        left = (int64_t)count < most ? 0 : left - (int64_t)count;
    }
    acemq_claims_free(page);
    if (call->json) {
        cli_json_end_array(&json);
        cli_json_end(&json);
    }
    return status;
}

static int run(const cli_call *call)
{
    static const struct {
        const char *name;
        int (*run)(const cli_call *call, acemq_idempotency *store);
    } actions[] = {{"size", size}, {"purge", purge}, {"show", show}};
    acemq_idempotency_options options = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;
    options.name = settings.table;
    options.timeout = settings.timeout;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, call->arguments[0]) != 0) {
            continue;
        }
        acemq_idempotency *store = NULL;
        acemq_error *error = NULL;
        if (!cli_store_is_there(call->arguments[1])) {
            return CLI_FAILED;
        }
        if (acemq_idempotency_open(call->arguments[1], &options, &store, &error) != ACEMQ_OK) {
            return cli_fail(error);
        }
        int status = actions[i].run(call, store);
        acemq_idempotency_free(store);
        return status;
    }
    return cli_wrong_use(call, "%s is none of size, purge, show", call->arguments[0]);
}

static const cli_option options[] = {
    {"--table", "NAME",
     "of the table, or of the database in LMDB; acemq_idempotency when not given", CLI_TEXT,
     .target = &settings.table},
    {"--after", "KEY", "show: only entries whose key is greater", CLI_ANY_TEXT,
     .target = &settings.after},
    {"--max", "N", "show: so many entries at most; 100 when not given", CLI_INTEGER,
     .target = &settings.most, .least = 1, .most = INT64_MAX},
    {"--timeout", "D", "of each step with the store; 30s when not given", CLI_DURATION,
     .target = &settings.timeout, .least = 1, .most = MOST_TIMEOUT},
    {.name = NULL},
};

const cli_command cli_command_idempotency = {
    .name = "idempotency",
    .usage = "size|purge|show STORE",
    .summary = "Count, purge and show the entries of an idempotency store",
    .details = "STORE is lmdb:PATH or a postgresql:// URL.\n\n"
               "  size   counts the entries, those whose time is over included\n"
               "  purge  takes away those whose time is over; nothing else does\n"
               "  show   prints entries in the order of their keys\n\n"
               "With --json: size {\"size\"}; purge {\"purged\"}; show [{\"key\", \"state\": "
               "claimed, confirmed\n"
               "or released, \"claimedBy\", \"recordedAt\", \"expiresAt\"}], times in ms since "
               "1970;\n"
               "claimedBy is null for what was released.\n",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run,
};
