#include "dead.h"

#include "input.h"
#include "json_message.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "signals.h"

#include <acemq/publisher.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH        500
#define TIMEOUT      (30 * ACEMQ_SECOND)
#define LARGEST_FILE ((size_t)16 * 1024 * 1024 * 1024)

struct cli_import {
    acemq_message **messages;
    size_t count;
    size_t room;
};

void cli_import_free(cli_import *import)
{
    if (import != NULL) {
        for (size_t i = 0; i < import->count; i++) {
            acemq_message_free(import->messages[i]);
        }
        free(import->messages);
        free(import);
    }
}

static bool keep(cli_import *import, acemq_message *message)
{
    if (import->count == import->room) {
        size_t room = import->room == 0 ? 256 : import->room * 2;
        acemq_message **messages = realloc(import->messages, room * sizeof(acemq_message *));
        if (messages == NULL) {
            acemq_message_free(message);
            cli_fail(NULL);
            return false;
        }
        import->messages = messages;
        import->room = room;
    }
    import->messages[import->count++] = message;
    return true;
}

static int read_lines(const cli_call *call, const char *name, const cli_bytes *text,
                      cli_import *import)
{
    size_t number = 0;
    size_t at = 0;
    while (at < text->length) {
        const char *line = text->data + at;
        const char *end = memchr(line, '\n', text->length - at);
        size_t length = end == NULL ? text->length - at : (size_t)(end - line);
        at += length + 1;
        number++;
        if (length == 0) {
            continue;
        }
        cli_fault fault;
        acemq_message *message = cli_json_import((acemq_bytes){line, length}, &fault);
        if (message == NULL) {
            return cli_wrong_use(call, "%s: line %zu: %s", name, number, fault.text);
        }
        if (!keep(import, message)) {
            return CLI_FAILED;
        }
    }
    return CLI_DONE;
}

cli_import *cli_import_read(const cli_call *call, const char *file, int *status)
{
    cli_bytes text;
    *status = CLI_FAILED;
    if (!cli_read_file(file, LARGEST_FILE, &text)) {
        return NULL;
    }
    cli_import *import = calloc(1, sizeof *import);
    if (import == NULL) {
        cli_fail(NULL);
    } else {
        *status = read_lines(call, file == NULL ? "standard input" : file, &text, import);
    }
    free(text.data);
    if (*status != CLI_DONE) {
        cli_import_free(import);
        return NULL;
    }
    return import;
}

static uint64_t count_good(const acemq_status *statuses, size_t count)
{
    uint64_t good = 0;
    for (size_t i = 0; i < count; i++) {
        good += statuses[i] == ACEMQ_OK ? 1 : 0;
    }
    return good;
}

/* Batch by batch; after one that was not taken whole no other is begun. */
static acemq_status publish(const cli_import *import, acemq_publisher *publisher,
                            uint64_t *imported, acemq_error **error)
{
    cli_progress progress = {.what = "imported"};
    acemq_status statuses[BATCH];
    acemq_status status = ACEMQ_OK;
    for (size_t at = 0; status == ACEMQ_OK && at < import->count; at += BATCH) {
        size_t left = import->count - at;
        size_t count = left < BATCH ? left : BATCH;
        for (size_t i = 0; i < count; i++) {
            statuses[i] = ACEMQ_E_REFUSED;
        }
        status = acemq_publisher_send_batch(publisher, NULL,
                                            (const acemq_message *const *)(import->messages + at),
                                            count, TIMEOUT, statuses, NULL, error);
        *imported += count_good(statuses, count);
        cli_progress_show(&progress, *imported, import->count);
    }
    cli_progress_end(&progress);
    return status;
}

static void print(uint64_t imported, uint64_t failed, const cli_dead *dead)
{
    if (!dead->call->json) {
        printf("%" PRIu64 " imported into %s, %" PRIu64 " not\n", imported, dead->failure_queue,
               failed);
        return;
    }
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_member_unsigned(&json, "imported", imported);
    cli_json_member_unsigned(&json, "failed", failed);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

int cli_import_publish(const cli_dead *dead)
{
    const cli_import *import = dead->import;
    acemq_error *error = NULL;
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    uint64_t imported = 0;
    options.routing_key = dead->failure_queue;
    acemq_status status = acemq_publisher_new(dead->mq, &options, &publisher, &error);
    if (status == ACEMQ_OK) {
        status = publish(import, publisher, &imported, &error);
    }
    acemq_publisher_free(publisher);
    print(imported, import->count - imported, dead);
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}
