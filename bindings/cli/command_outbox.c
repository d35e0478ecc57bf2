#include "command.h"
#include "input.h"
#include "json.h"
#include "message_options.h"
#include "options.h"
#include "output.h"
#include "store.h"

#include <acemq/outbox.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_BODY ((size_t)1024 * 1024 * 1024)

static struct {
    const char *exchange;
    const char *key;
    const char *body;
    const char *file;
    cli_message_options message;
    const char *table;
    int64_t timeout;
    int64_t most;
    int64_t age;
} settings = {
    .message = {.content_type = "application/octet-stream"}, .timeout = 10000, .most = 100};

static int print_number(const cli_call *call, const char *name, uint64_t number)
{
    if (call->json) {
        cli_json json = cli_json_stdout();
        cli_json_object(&json);
        cli_json_member_unsigned(&json, name, number);
        cli_json_end_object(&json);
        cli_json_end(&json);
    } else {
        printf("%" PRIu64 " %s\n", number, name);
    }
    return CLI_DONE;
}

/* --- add --- */

static int check_add(const cli_call *call)
{
    if ((call->count == 3) == (settings.exchange != NULL)) {
        return cli_wrong_use(call, "add takes either QUEUE, or --exchange and --key");
    }
    if (call->count == 3 && settings.key != NULL) {
        return cli_wrong_use(call, "--key goes with --exchange; the key of a queue is its name");
    }
    if (settings.body != NULL && settings.file != NULL) {
        return cli_wrong_use(call, "--body excludes --file");
    }
    return cli_message_check(call, &settings.message) ? CLI_DONE : CLI_WRONG_USE;
}

static int add_message(const cli_call *call, acemq_outbox *outbox, const acemq_message *message)
{
    acemq_error *error = NULL;
    char id[ACEMQ_OUTBOX_ID_SIZE];
    const char *key = call->count == 3 ? call->arguments[2] : settings.key;
    if (acemq_outbox_enqueue(outbox, settings.exchange == NULL ? "" : settings.exchange,
                             key == NULL ? "" : key, message, settings.timeout, id,
                             &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    if (call->json) {
        cli_json json = cli_json_stdout();
        cli_json_object(&json);
        cli_json_member_text(&json, "id", id);
        cli_json_end_object(&json);
        cli_json_end(&json);
    } else {
        printf("%s\n", id);
    }
    return CLI_DONE;
}

static int add(const cli_call *call, acemq_outbox *outbox)
{
    cli_bytes body = {NULL, 0};
    if (settings.body != NULL) {
        body = (cli_bytes){strdup(settings.body), strlen(settings.body)};
    } else if (!cli_read_file(settings.file, LARGEST_BODY, &body)) {
        return CLI_FAILED;
    }
    acemq_message *message =
        body.data == NULL ? NULL : cli_message_make(&settings.message, body.data, body.length);
    int status = message == NULL ? cli_fail(NULL) : add_message(call, outbox, message);
    acemq_message_free(message);
    free(body.data);
    return status;
}

/* --- pending and retired --- */

/* A peer's row may hold what does not read, which a relay will say. */
static void print_json_headers(cli_json *json, const char *headers)
{
    acemq_table *table = NULL;
    if (acemq_table_parse_json(headers, strlen(headers), &table, NULL) == ACEMQ_OK) {
        cli_json_table(json, table, false);
    } else {
        cli_json_text(json, headers);
    }
    acemq_table_free(table);
}

static void print_json_row(cli_json *json, const acemq_outbox_row *row)
{
    cli_json_object(json);
    cli_json_member_text(json, "id", row->id);
    cli_json_member_text(json, "exchange", row->exchange);
    cli_json_member_text(json, "routingKey", row->routing_key);
    cli_json_member_text(json, "contentType", row->content_type);
    cli_json_member_integer(json, "createdAt", row->created_at);
    cli_json_member_integer(json, "attempts", row->attempts);
    cli_json_member_text(json, "lastError", row->last_error[0] == '\0' ? NULL : row->last_error);
    cli_json_name(json, "leasedUntil");
    if (row->leased_until == 0) {
        cli_json_null(json);
    } else {
        cli_json_integer(json, row->leased_until);
    }
    cli_json_member_unsigned(json, "bodyBytes", row->body.length);
    cli_json_name(json, "headers");
    print_json_headers(json, row->headers);
    cli_json_end_object(json);
}

static void print_row(const acemq_outbox_row *row)
{
    cli_print_shown(stdout, row->id, strlen(row->id), 256);
    printf("  to ");
    cli_print_shown(stdout, row->exchange, strlen(row->exchange), 255);
    printf("/");
    cli_print_shown(stdout, row->routing_key, strlen(row->routing_key), 255);
    printf("  %zu bytes, %d failed", row->body.length, (int)row->attempts);
    if (row->last_error[0] != '\0') {
        printf(": ");
        cli_print_shown(stdout, row->last_error, strlen(row->last_error), 1000);
    }
    printf("\n");
}

static void print_list(const cli_call *call, const acemq_outbox_list *list)
{
    cli_json json = cli_json_stdout();
    if (call->json) {
        cli_json_array(&json);
    }
    for (size_t i = 0; i < acemq_outbox_list_count(list); i++) {
        acemq_outbox_row row = {.size = sizeof row};
        if (acemq_outbox_list_row(list, i, &row, NULL) != ACEMQ_OK) {
            continue;
        }
        if (call->json) {
            print_json_row(&json, &row);
        } else {
            print_row(&row);
        }
    }
    if (call->json) {
        cli_json_end_array(&json);
        cli_json_end(&json);
    }
}

static int pending(const cli_call *call, acemq_outbox *outbox)
{
    acemq_error *error = NULL;
    acemq_outbox_list *list = NULL;
    if (acemq_outbox_pending(outbox, settings.most, settings.timeout, &list, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    print_list(call, list);
    acemq_outbox_list_free(list);
    return CLI_DONE;
}

static int retired(const cli_call *call, acemq_outbox *outbox)
{
    acemq_error *error = NULL;
    acemq_outbox_list *list = NULL;
    if (acemq_outbox_retired(outbox, settings.most, settings.timeout, &list, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    print_list(call, list);
    acemq_outbox_list_free(list);
    return CLI_DONE;
}

/* --- release and purge --- */

static int release(const cli_call *call, acemq_outbox *outbox)
{
    acemq_error *error = NULL;
    uint64_t count = 0;
    if (acemq_outbox_release(outbox, settings.message.id, settings.timeout, &count, &error) !=
        ACEMQ_OK) {
        return cli_fail(error);
    }
    return print_number(call, "released", count);
}

static int purge(const cli_call *call, acemq_outbox *outbox)
{
    acemq_error *error = NULL;
    uint64_t count = 0;
    if (acemq_outbox_purge_published(outbox, settings.age, settings.timeout, &count, &error) !=
        ACEMQ_OK) {
        return cli_fail(error);
    }
    return print_number(call, "purged", count);
}

static const struct {
    const char *name;
    int (*run)(const cli_call *call, acemq_outbox *outbox);
} actions[] = {{"add", add},
               {"pending", pending},
               {"retired", retired},
               {"release", release},
               {"purge", purge}};

static int run_action(const cli_call *call,
                      int (*action)(const cli_call *call, acemq_outbox *outbox))
{
    acemq_error *error = NULL;
    acemq_outbox *outbox = NULL;
    acemq_outbox_options options = ACEMQ_OUTBOX_OPTIONS_INIT;
    options.name = settings.table;
    options.timeout = settings.timeout;
    if (action != add && !cli_store_is_there(call->arguments[1])) {
        return CLI_FAILED;
    }
    if (acemq_outbox_open(call->arguments[1], &options, &outbox, &error) != ACEMQ_OK) {
        return cli_fail(error);
    }
    int status = action(call, outbox);
    acemq_outbox_free(outbox);
    return status;
}

static int run(const cli_call *call)
{
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(actions[i].name, call->arguments[0]) != 0) {
            continue;
        }
        int status = CLI_DONE;
        if (actions[i].run == add) {
            status = check_add(call);
        } else if (call->count == 3) {
            status = cli_wrong_use(call, "%s takes no QUEUE", actions[i].name);
        }
        return status == CLI_DONE ? run_action(call, actions[i].run) : status;
    }
    return cli_wrong_use(call, "the action must be add, pending, retired, release or purge");
}

static const cli_option options[] = {
    {"--exchange", "E", "add: publish to this exchange instead of a queue", CLI_TEXT,
     .target = &settings.exchange},
    {"--key", "K", "add: the routing key, with --exchange", CLI_TEXT, .target = &settings.key},
    {"--body", "TEXT", "add: the body; else --file, else standard input", CLI_ANY_TEXT,
     .target = &settings.body},
    {"--file", "FILE", "add: read the body from a file", CLI_TEXT, .target = &settings.file},
    {"--type", "TYPE", "add: of the envelope; the routing key when not given", CLI_TEXT,
     .target = &settings.message.type},
    {"--id", "ID", "add: of the message, a new one when not given; release: only this one",
     CLI_TEXT, .target = &settings.message.id},
    {"--correlation", "ID", "add: of the envelope; the id when not given", CLI_TEXT,
     .target = &settings.message.correlation},
    {"--header", "NAME=VALUE", "add: a header of the application; may be given several times",
     CLI_TEXTS, .target = &settings.message.headers},
    {"--content-type", "TYPE", "add: of the body; application/octet-stream when not given",
     CLI_TEXT, .target = &settings.message.content_type},
    {"--table", "NAME", "of the table or the databases; acemq_outbox when not given", CLI_TEXT,
     .target = &settings.table},
    {"--max", "N", "pending, retired: list so many at most; 100 when not given", CLI_INTEGER,
     .target = &settings.most, .least = 1, .most = INT64_MAX},
    {"--older-than", "D", "purge: what was published so long ago; everything when not given",
     CLI_DURATION, .target = &settings.age, .least = 0, .most = INT64_C(1) << 53},
    {"--timeout", "D", "of each step with the store; 10s when not given", CLI_DURATION,
     .target = &settings.timeout, .least = 1, .most = INT64_MAX},
    {.name = NULL},
};

const cli_command cli_command_outbox = {
    .name = "outbox",
    .usage = "add|pending|retired|release|purge STORE [QUEUE]",
    .summary = "Write to an outbox, and look after what it holds",
    .details =
        "STORE is lmdb:PATH or a postgresql:// URL.\n\n"
        "  add      writes one message and commits; a relay publishes it\n"
        "  pending  lists what is not published yet, in order\n"
        "  retired  lists what has failed ten times\n"
        "  release  makes what is retired pending again\n"
        "  purge    deletes what was published; nothing else does\n\n"
        "With --json: add {\"id\"}; pending and retired [{\"id\", \"exchange\", \"routingKey\",\n"
        "\"contentType\", \"createdAt\", \"attempts\", \"lastError\", \"leasedUntil\",\n"
        "\"bodyBytes\", \"headers\"}]; release {\"released\"}; purge {\"purged\"}. Times are in "
        "ms\n"
        "since 1970; lastError and leasedUntil are null where there is none; headers that do not\n"
        "read are a text.\n",
    .options = options,
    .least = 2,
    .most = 3,
    .run = run,
};
