#include "command.h"
#include "input.h"
#include "json_message.h"
#include "options.h"
#include "output.h"

#include <acemq/envelope.h>

#include <stdlib.h>

#define LONGEST_INPUT ((size_t)64 * 1024 * 1024)

/* What is read, and what is made of it. */
typedef struct cli_reading {
    acemq_table *headers;
    acemq_envelope *envelope;
    acemq_table *application;
    acemq_table *written;
} cli_reading;

static void release(cli_reading *read)
{
    acemq_table_free(read->headers);
    acemq_envelope_free(read->envelope);
    acemq_table_free(read->application);
    acemq_table_free(read->written);
}

static int read_envelope(cli_reading *read, const char *routing_key, const char *message_id)
{
    acemq_error *error = NULL;
    acemq_status status =
        acemq_envelope_read(read->headers, routing_key, message_id, &read->envelope, &error);
    if (status == ACEMQ_OK) {
        status = acemq_envelope_application_headers(read->headers, &read->application, &error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_table_copy(read->headers, &read->written, &error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_envelope_write(read->envelope, read->written, &error);
    }
    return status == ACEMQ_OK ? CLI_DONE : cli_fail(error);
}

static void print_json(const cli_reading *read)
{
    cli_json json = cli_json_stdout();
    cli_json_object(&json);
    cli_json_name(&json, "envelope");
    cli_json_envelope(&json, read->envelope);
    cli_json_name(&json, "headers");
    cli_json_table(&json, read->application, false);
    cli_json_name(&json, "written");
    cli_json_table(&json, read->written, true);
    cli_json_end_object(&json);
    cli_json_end(&json);
}

/* What is given may be absent, and otherwise is a string. */
static bool text_member(acemq_bytes input, const char *name, json_t **text, cli_fault *fault)
{
    *text = cli_json_member_value(input, name, fault);
    if (*text != NULL && !json_is_string(*text)) {
        snprintf(fault->text, sizeof fault->text, "%s: expected a string", name);
    }
    return fault->text[0] == '\0';
}

static int read_input(const cli_call *call, acemq_bytes input)
{
    cli_fault fault;
    json_t *routing_key = NULL;
    json_t *message_id = NULL;
    cli_reading read = {NULL, NULL, NULL, NULL};
    int status = CLI_WRONG_USE;
    bool good = text_member(input, "routingKey", &routing_key, &fault) &&
                text_member(input, "messageId", &message_id, &fault);
    if (good) {
        read.headers = cli_json_member_table(input, "headers", &fault);
    }
    if (read.headers == NULL) {
        cli_wrong_use(call, "standard input: %s", fault.text);
    } else {
        status =
            read_envelope(&read, json_string_value(routing_key), json_string_value(message_id));
    }
    if (status == CLI_DONE) {
        print_json(&read);
    }
    release(&read);
    json_decref(routing_key);
    json_decref(message_id);
    return status;
}

static int run(const cli_call *call)
{
    cli_bytes text;
    if (!cli_read_all(stdin, "standard input", LONGEST_INPUT, &text)) {
        return CLI_FAILED;
    }
    int status = read_input(call, (acemq_bytes){text.data, text.length});
    free(text.data);
    return status;
}

static const cli_option options[] = {{.name = NULL}};

const cli_command cli_command_envelope = {
    .name = "envelope",
    .usage = "< FILE",
    .summary = "Read an envelope out of a message's headers, and write it again",
    .details =
        "Reads {\"headers\": {...}, \"routingKey\": TEXT, \"messageId\": TEXT}, of which each may "
        "be\n"
        "absent, from standard input.\n\n"
        "Prints JSON, with --json or without: {\"envelope\": {...}, \"headers\": {...},\n"
        "\"written\": {name: {\"type\", \"value\"}}}. headers are the application's, written is "
        "the\n"
        "whole header table written again with nothing changed. An absent member of the envelope\n"
        "is null; times are milliseconds since 1970.\n\n"
        "A plain JSON integer is an int64, a fraction a double, a string a long string, true and\n"
        "false a bool, null a void, a list an array. Any other type is an object of exactly the\n"
        "members type and value; type is one of bool int8 uint8 int16 uint16 int32 uint32 int64\n"
        "uint64 float double decimal longstr bytes array table timestamp void. bytes are base64, "
        "a\n"
        "decimal is a string, a timestamp is in seconds; a long string that is not UTF-8 is\n"
        "{\"type\": \"longstr\", \"base64\": TEXT}. Any other object is a table. A plain integer\n"
        "outside int64 was used wrongly: exit status 2.\n",
    .options = options,
    .run = run,
};
