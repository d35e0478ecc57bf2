/* acemq: finds the command, and turns what it says into an exit status. */
#include "command.h"
#include "options.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

static const cli_command *const commands[] = {
    &cli_command_version,     &cli_command_demo,    &cli_command_schedule, &cli_command_time,
    &cli_command_envelope,    &cli_command_publish, &cli_command_consume,  &cli_command_pending,
    &cli_command_peek,        &cli_command_replay,  &cli_command_dead,     &cli_command_topology,
    &cli_command_broker,      &cli_command_top,     &cli_command_relay,    &cli_command_outbox,
    &cli_command_idempotency, &cli_command_schema,
};

static const size_t command_count = sizeof commands / sizeof commands[0];

static void print_commands(void)
{
    printf(
        "usage: acemq COMMAND [ARGUMENT]... [OPTION]...\n\n"
        "Messages on RabbitMQ that survive what happens to them: publish, consume with retries,\n"
        "look at dead letters, and replay them.\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++) {
        cli_print_entry(commands[i]->name, commands[i]->summary, 14);
    }
    printf("\nacemq COMMAND --help tells what a command takes and prints.\n"
           "The broker: --url, else --url-file, else the variable ACEMQ_URL, else\n"
           "amqp://guest:guest@127.0.0.1:5672/.\n\n"
           "Exit status: 0 done, 1 it failed (why is on standard error), 2 used wrongly.\n");
}

static const cli_command *find(const char *name)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static int run(const cli_command *command, int count, char **words)
{
    cli_call call;
    bool help;
    int status = CLI_WRONG_USE;
    if (cli_options_read(command, count, words, &call, &help)) {
        if (help) {
            cli_options_print_help(command);
            status = CLI_DONE;
        } else {
            status = command->run(&call);
        }
    }
    cli_options_release(&call);
    return status;
}

static int dispatch(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_commands();
        return CLI_DONE;
    }
    const cli_command *command = find(strcmp(name, "--version") == 0 ? "version" : name);
    if (command != NULL) {
        return run(command, count - 2, words + 2);
    }
    fprintf(stderr, "acemq: %s%s\nSee: acemq --help\n",
            name[0] == '\0' ? "a command is missing" : "unknown command ", name);
    return CLI_WRONG_USE;
}

int main(int count, char **words)
{
    int status = dispatch(count, words);
    /* What could not be written was not printed, whatever the command did. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return cli_fail_system("standard output");
    }
    return status;
}
