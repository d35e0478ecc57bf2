#include "command.h"
#include "connect.h"
#include "dead.h"
#include "filter.h"
#include "input.h"
#include "json_message.h"
#include "options.h"
#include "output.h"
#include "print_message.h"
#include "progress.h"
#include "signals.h"

#include <acemq/queue.h>
#include <acemq/replay.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LISTED        100
#define SHOWN_OF_BODY 1024
#define LATECOMERS    1000 /* messages that may arrive while the others are looked at */

static struct {
    bool parked;
    int64_t most;
    const char *id;
    cli_list filters;
    bool yes;
} settings = {.most = 0};

/* What is done with each message that matches. False to go no further. */
typedef bool cli_visit(const cli_dead *dead, acemq_browser *browser, const acemq_delivery *delivery,
                       void *state, acemq_error **error);

static bool is_wanted(const acemq_delivery *delivery)
{
    const char *id = acemq_envelope_id(acemq_delivery_envelope(delivery));
    return (settings.id == NULL || strcmp(settings.id, id) == 0) &&
           cli_filters_match(&settings.filters, delivery);
}

/* Looks at all that were there when it began. */
static acemq_status look(const cli_dead *dead, acemq_browser *browser, uint64_t total,
                         cli_visit *visit, void *state, acemq_error **error)
{
    const acemq_delivery *delivery = NULL;
    cli_progress progress = {.what = "looked at"};
    acemq_status status = ACEMQ_OK;
    bool going = true;
    for (uint64_t i = 0; going && status == ACEMQ_OK && i < total; i++) {
        status = acemq_browser_next(browser, &delivery, error);
        if (status != ACEMQ_OK || delivery == NULL) {
            break;
        }
        if (is_wanted(delivery)) {
            going = visit(dead, browser, delivery, state, error);
            status = acemq_error_code(*error);
        }
        cli_progress_show(&progress, i + 1, total);
    }
    cli_progress_end(&progress);
    return status;
}

/* A failure queue that does not exist holds nothing, if its queue does exist. */
static acemq_status visit_all(const cli_dead *dead, cli_visit *visit, void *state,
                              acemq_error **error)
{
    uint64_t total = 0;
    acemq_failure_queue source = settings.parked ? ACEMQ_PARKED_LETTERS : ACEMQ_DEAD_LETTERS;
    acemq_status status =
        acemq_replay_pending(dead->mq, dead->queue, source, CLI_CALL_TIMEOUT, &total, error);
    if (status != ACEMQ_OK || total == 0) {
        return status;
    }
    acemq_browser *browser = NULL;
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    options.max = (int64_t)total + LATECOMERS;
    status = acemq_browser_open(dead->mq, dead->failure_queue, &options, &browser, error);
    if (status == ACEMQ_OK) {
        status = look(dead, browser, total, visit, state, error);
    }
    acemq_browser_free(browser);
    return status;
}

/* How many messages were taken, and where they are written. */
typedef struct cli_writing {
    cli_json json;
    int64_t count;
    int64_t most;
} cli_writing;

static bool list_one(const cli_dead *dead, acemq_browser *browser, const acemq_delivery *delivery,
                     void *state, acemq_error **error)
{
    (void)browser;
    (void)error;
    cli_writing *writing = state;
    if (writing->count == writing->most) {
        cli_say("only the first %" PRId64 " are shown; --max shows more", writing->most);
        return false;
    }
    writing->count++;
    if (dead->call->json) {
        cli_json_delivery(&writing->json, delivery);
    } else {
        cli_print_message(stdout, delivery, SHOWN_OF_BODY);
    }
    return true;
}

static int list(const cli_dead *dead)
{
    acemq_error *error = NULL;
    cli_writing writing = {cli_json_stdout(), 0, settings.most > 0 ? settings.most : LISTED};
    if (dead->call->json) {
        cli_json_array(&writing.json);
    }
    acemq_status status = visit_all(dead, list_one, &writing, &error);
    if (dead->call->json) {
        cli_json_end_array(&writing.json);
        cli_json_end(&writing.json);
    }
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static bool export_one(const cli_dead *dead, acemq_browser *browser, const acemq_delivery *delivery,
                       void *state, acemq_error **error)
{
    (void)dead;
    (void)browser;
    (void)error;
    cli_writing *writing = state;
    cli_json line = {writing->json.out, false};
    cli_json_export(&line, delivery);
    cli_json_end(&line);
    writing->count++;
    return ferror(line.out) == 0 && (settings.most == 0 || writing->count < settings.most);
}

static int export_to(const cli_dead *dead, FILE *out)
{
    acemq_error *error = NULL;
    cli_writing writing = {{out, false}, 0, 0};
    acemq_status status = visit_all(dead, export_one, &writing, &error);
    cli_say("%" PRId64 " exported; they are still in %s", writing.count, dead->failure_queue);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static int export(const cli_dead *dead)
{
    if (dead->file == NULL || strcmp(dead->file, "-") == 0) {
        return export_to(dead, stdout);
    }
    FILE *out = fopen(dead->file, "we");
    if (out == NULL) {
        return cli_fail_system("%s", dead->file);
    }
    int status = export_to(dead, out);
    bool failed = ferror(out) != 0;
    failed = fclose(out) != 0 || failed;
    return failed ? cli_fail_system("%s", dead->file) : status;
}

typedef struct cli_dropping {
    cli_lines answers;
    uint64_t dropped;
} cli_dropping;

/* Asks on the terminal. */
static bool is_confirmed(cli_dropping *dropping, const acemq_delivery *delivery, bool *going)
{
    const char *answer;
    size_t length;
    cli_print_message(stderr, delivery, SHOWN_OF_BODY);
    fputs("Drop it for good? [y/N] ", stderr);
    *going = cli_next_line(&dropping->answers, true, &answer, &length) == CLI_LINE;
    return *going && length > 0 && (answer[0] == 'y' || answer[0] == 'Y');
}

static bool drop_one(const cli_dead *dead, acemq_browser *browser, const acemq_delivery *delivery,
                     void *state, acemq_error **error)
{
    (void)dead;
    cli_dropping *dropping = state;
    bool going = true;
    if (!settings.yes && !is_confirmed(dropping, delivery, &going)) {
        return going;
    }
    if (acemq_browser_remove(browser, error) != ACEMQ_OK) {
        return false;
    }
    dropping->dropped++;
    return settings.most == 0 || dropping->dropped < (uint64_t)settings.most;
}

static void print_dropped(const cli_dead *dead, uint64_t dropped)
{
    uint64_t left = 0;
    acemq_failure_queue source = settings.parked ? ACEMQ_PARKED_LETTERS : ACEMQ_DEAD_LETTERS;
    bool known = acemq_replay_pending(dead->mq, dead->queue, source, CLI_CALL_TIMEOUT, &left,
                                      NULL) == ACEMQ_OK;
    if (!dead->call->json) {
        printf("%" PRIu64 " dropped from %s\n", dropped, dead->failure_queue);
        return;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "dropped", dropped);
    cli_json_name(&json, "left");
    if (known) {
        cli_json_unsigned(&json, left);
    } else {
        cli_json_null(&json);
    }
    cli_json_end_object(&json);
    cli_json_end(&json);
}

static int drop(const cli_dead *dead)
{
    acemq_error *error = NULL;
    cli_dropping dropping = {{.fd = STDIN_FILENO, .name = "standard input"}, 0};
    acemq_status status = visit_all(dead, drop_one, &dropping, &error);
    free(dropping.answers.buffer);
    print_dropped(dead, dropping.dropped);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static int check_drop(const cli_call *call)
{
    if (settings.id == NULL && settings.filters.count == 0) {
        return cli_wrong_use(call, "drop needs --id or --filter");
    }
    if (!settings.yes && isatty(STDIN_FILENO) != 1) {
        return cli_wrong_use(call, "drop needs --yes where nobody can be asked");
    }
    return CLI_DONE;
}

static const struct action {
    const char *name;
    int (*run)(const cli_dead *dead);
} actions[] = {{"list", list}, {"export", export}, {"import", cli_import_publish}, {"drop", drop}};

static const struct action *find_action(const char *name)
{
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return &actions[i];
        }
    }
    return NULL;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t width = strlen(ending);
    return length > width && strcmp(text + length - width, ending) == 0;
}

static int check_use(const cli_call *call, const struct action *action)
{
    const char *queue = call->arguments[1];
    if (action == NULL) {
        return cli_wrong_use(call, "expected list, export, import or drop, and not \"%s\"",
                             call->arguments[0]);
    }
    if (ends_with(queue, ".dlq") || ends_with(queue, ".parked")) {
        return cli_wrong_use(call, "%s is itself a failure queue: give the queue it belongs to%s",
                             queue, ends_with(queue, ".parked") ? ", and --parked" : "");
    }
    bool takes_file = action->run == cli_import_publish || action->run == export;
    if (call->count == 3 && !takes_file) {
        return cli_wrong_use(call, "%s takes no FILE", action->name);
    }
    if (!cli_filters_check(call, &settings.filters)) {
        return CLI_WRONG_USE;
    }
    return action->run == drop ? check_drop(call) : CLI_DONE;
}

/* A file that does not read shows before there is a connection. */
static int act(const struct action *action, cli_dead *dead)
{
    int status = CLI_DONE;
    if (action->run == cli_import_publish) {
        dead->import = cli_import_read(dead->call, dead->file, &status);
    }
    if (status == CLI_DONE) {
        status = cli_signals_take() ? cli_connect(dead->call, &dead->mq) : CLI_FAILED;
    }
    if (status == CLI_DONE) {
        status = action->run(dead);
    }
    cli_import_free(dead->import);
    cli_disconnect(dead->mq);
    return status;
}

static int run(const cli_call *call)
{
    const struct action *action = find_action(call->arguments[0]);
    int status = check_use(call, action);
    if (status != CLI_DONE) {
        return status;
    }
    acemq_error *error = NULL;
    cli_dead dead = {.call = call,
                     .queue = call->arguments[1],
                     .file = call->count == 3 ? call->arguments[2] : NULL};
    acemq_status named = settings.parked
                             ? acemq_parked_queue(dead.queue, dead.failure_queue, &error)
                             : acemq_dead_letter_queue(dead.queue, dead.failure_queue, &error);
    return named == ACEMQ_OK ? act(action, &dead) : cli_fail(error);
}

static const cli_option options[] = {
    {"--parked", NULL, "the parking lot, QUEUE.parked, instead of QUEUE.dlq", CLI_FLAG,
     .target = &settings.parked},
    {"--id", "ID", "only the message with this id", CLI_TEXT, .target = &settings.id},
    {"--filter", "FIELD=PATTERN", "only messages that match; may be given several times", CLI_TEXTS,
     .target = &settings.filters},
    {"--max", "N", "so many at most; all when not given, but list shows 100", CLI_INTEGER,
     .target = &settings.most, .least = 1, .most = INT64_MAX},
    {"--yes", NULL, "drop without asking for each", CLI_FLAG, .target = &settings.yes},
    {.name = NULL},
};

const cli_command cli_command_dead = {
    .name = "dead",
    .usage = "list|export|import|drop QUEUE [FILE]",
    .summary = "List, export, import and drop dead letters",
    .details =
        "  list    show them, and leave them there\n"
        "  export  write them as JSON lines to FILE or standard output, and leave them there\n"
        "  import  publish such lines from FILE or standard input into QUEUE.dlq as they were;\n"
        "          nothing is published when one line does not read\n"
        "  drop    delete those that match --id or --filter; asks for each on a terminal, and\n"
        "          elsewhere needs --yes\n"
        "acemq replay moves them back to QUEUE.\n\n" CLI_FILTER_HELP
        "\nWith --json: list prints what acemq peek prints; export prints its lines in any case:\n"
        "{\"properties\", \"headers\", and \"body\" or \"bodyBase64\"}, each header as {\"type\",\n"
        "\"value\"}; import {\"imported\", \"failed\"}; drop {\"dropped\", \"left\"}.\n",
    .options = options,
    .least = 2,
    .most = 3,
    .run = run,
};
