#include "command.h"
#include "json.h"
#include "options.h"
#include "output.h"

#include <acemq/idempotency.h>
#include <acemq/names.h>

#include <stdio.h>
#include <string.h>

static struct {
    const char *idempotency;
    const char *outbox;
} settings;

static int run(const cli_call *call)
{
    if (strcmp(call->arguments[0], "postgres") != 0) {
        return cli_wrong_use(call, "there is a schema for postgres, and none for %s",
                             call->arguments[0]);
    }
    char *text = NULL;
    acemq_error *error = NULL;
    if (acemq_schema_postgres(settings.idempotency, settings.outbox, &text, &error) != ACEMQ_OK) {
        (void)cli_fail(error);
        return CLI_WRONG_USE;
    }
    if (call->json) {
        cli_json json = cli_json_stdout();
        cli_json_object(&json);
        cli_json_member_text(&json, "sql", text);
        cli_json_end_object(&json);
        cli_json_end(&json);
    } else {
        printf("%s", text);
    }
    acemq_free(text);
    return CLI_DONE;
}

static const cli_option options[] = {
    {"--idempotency-table", "NAME", "acemq_idempotency when not given", CLI_TEXT,
     .target = &settings.idempotency},
    {"--outbox-table", "NAME", "acemq_outbox when not given", CLI_TEXT, .target = &settings.outbox},
    {.name = NULL},
};

const cli_command cli_command_schema = {
    .name = "schema",
    .usage = "postgres",
    .summary = "Print the statements that make the tables of the stores",
    .details = "Nothing is ever made unasked: give what is printed to psql, or to whoever looks "
               "after the\n"
               "database. What is there already is left alone.\n\n"
               "With --json: {\"sql\"}.\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
