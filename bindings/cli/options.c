#include "options.h"

#include "output.h"

#include <acemq/acemq.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 24

/* What every command takes. The reading fills these, so they hold nothing between two calls. */
static struct {
    const char *url;
    const char *url_file;
    bool json;
    bool help;
} everywhere;

static const cli_option everywhere_options[] = {
    {"--url", "URL", "the broker; a password here shows in the list of processes", CLI_TEXT,
     .target = &everywhere.url},
    {"--url-file", "FILE",
     "a file with the URL; else ACEMQ_URL, else amqp://guest:guest@127.0.0.1:5672/", CLI_TEXT,
     .target = &everywhere.url_file},
    {"--json", NULL, "one JSON document on standard output, and nothing else there", CLI_FLAG,
     .target = &everywhere.json},
    {"--help", NULL, "this text", CLI_FLAG, .target = &everywhere.help},
    {.name = NULL},
};

static void complain(const cli_command *command, const char *format, va_list values)
{
    flockfile(stderr);
    fprintf(stderr, "acemq %s: ", command->name);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\nSee: acemq %s --help\n", command->name);
    funlockfile(stderr);
}

int cli_wrong_use(const cli_call *call, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    complain(call->command, format, values);
    va_end(values);
    return CLI_WRONG_USE;
}

static bool refuse(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(const cli_command *command, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    complain(command, format, values);
    va_end(values);
    return false;
}

/* `length` is that of the name without a value after `=`. */
static const cli_option *find_in(const cli_option *options, const char *word, size_t length)
{
    for (const cli_option *option = options; option->name != NULL; option++) {
        if (strlen(option->name) == length && strncmp(option->name, word, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (const char *choice = choices; length > 0; choice = strchr(choice, '|') + 1) {
        if (strncmp(choice, value, length) == 0 && (choice[length] == '|' || !choice[length])) {
            return true;
        }
        if (strchr(choice, '|') == NULL) {
            return false;
        }
    }
    return false;
}

static bool read_integer(const cli_command *command, const cli_option *option, const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool is_number = end != text && *end == '\0' && strspn(text, "-0123456789") == strlen(text);
    if (!is_number || errno != 0 || number < option->least || number > option->most) {
        return refuse(command, "%s must be a whole number from %lld to %lld, and not \"%s\"",
                      option->name, (long long)option->least, (long long)option->most, text);
    }
    *(int64_t *)option->target = number;
    return true;
}

static bool refuse_error(const cli_command *command, const cli_option *option, acemq_error *error)
{
    refuse(command, "%s: %s: %s", option->name, acemq_error_name(error),
           acemq_error_message(error));
    acemq_error_free(error);
    return false;
}

static bool read_duration(const cli_command *command, const cli_option *option, const char *text)
{
    acemq_error *error = NULL;
    int64_t milliseconds;
    if (acemq_duration_parse(text, &milliseconds, &error) != ACEMQ_OK) {
        return refuse_error(command, option, error);
    }
    if (milliseconds < option->least || milliseconds > option->most) {
        char least[24] = "";
        char most[24] = "";
        (void)acemq_duration_format(option->least, least, NULL);
        (void)acemq_duration_format(option->most, most, NULL);
        return refuse(command, "%s must be from %s to %s, and not %s", option->name, least, most,
                      text);
    }
    *(int64_t *)option->target = milliseconds;
    return true;
}

static bool read_policy(const cli_command *command, const cli_option *option, const char *text)
{
    acemq_error *error = NULL;
    acemq_policy *policy;
    if (acemq_policy_parse(text, &policy, &error) != ACEMQ_OK) {
        return refuse_error(command, option, error);
    }
    acemq_policy **target = option->target;
    acemq_policy_free(*target);
    *target = policy;
    return true;
}

static bool add_text(const cli_command *command, const cli_option *option, const char *text)
{
    cli_list *list = option->target;
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items == NULL) {
        return refuse(command, "%s: out of memory", option->name);
    }
    items[list->count++] = text;
    list->items = items;
    return true;
}

static bool take_value(const cli_command *command, const cli_option *option, const char *text)
{
    switch (option->kind) {
    case CLI_INTEGER:
        return read_integer(command, option, text);
    case CLI_DURATION:
        return read_duration(command, option, text);
    case CLI_POLICY:
        return read_policy(command, option, text);
    case CLI_TEXTS:
        return add_text(command, option, text);
    case CLI_CHOICE:
        if (!is_choice(option->choices, text)) {
            return refuse(command, "%s must be one of %s, and not \"%s\"", option->name,
                          option->choices, text);
        }
        break;
    case CLI_TEXT:
        if (text[0] == '\0') {
            return refuse(command, "%s must not be empty", option->name);
        }
        break;
    case CLI_FLAG:
    case CLI_ANY_TEXT:
        break;
    }
    *(const char **)option->target = text;
    return true;
}

/* Reads the option at `*at`, and its value; leaves *at at the last word it took. */
static bool take_option(const cli_command *command, int count, char **words, int *at)
{
    const char *word = strcmp(words[*at], "-h") == 0 ? "--help" : words[*at];
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    const cli_option *option = find_in(everywhere_options, word, length);
    if (option == NULL) {
        option = find_in(command->options, word, length);
    }
    if (option == NULL) {
        return refuse(command, "unknown option %.*s", (int)length, word);
    }
    if (option->kind == CLI_FLAG) {
        *(bool *)option->target = true;
        return equals == NULL || refuse(command, "%s takes no value", option->name);
    }
    if (equals != NULL) {
        return take_value(command, option, equals + 1);
    }
    if (*at + 1 >= count) {
        return refuse(command, "%s needs a value, %s", option->name, option->value);
    }
    *at += 1;
    return take_value(command, option, words[*at]);
}

static bool check_arguments(const cli_command *command, size_t count)
{
    if (count < command->least) {
        return refuse(command, "arguments are missing: acemq %s %s", command->name, command->usage);
    }
    if (count > command->most) {
        return refuse(command, "too many arguments: acemq %s %s", command->name, command->usage);
    }
    if (everywhere.url != NULL && everywhere.url_file != NULL) {
        return refuse(command, "--url and --url-file exclude each other");
    }
    return true;
}

bool cli_options_read(const cli_command *command, int count, char **words, cli_call *call,
                      bool *help)
{
    *call = (cli_call){.command = command};
    *help = false;
    call->arguments = calloc((size_t)count + 1, sizeof *call->arguments);
    if (call->arguments == NULL) {
        return refuse(command, "out of memory");
    }
    bool options_ended = false;
    for (int i = 0; i < count && !everywhere.help; i++) {
        bool is_option = !options_ended && words[i][0] == '-' && words[i][1] != '\0';
        if (is_option && strcmp(words[i], "--") == 0) {
            options_ended = true;
        } else if (!is_option) {
            call->arguments[call->count++] = words[i];
        } else if (!take_option(command, count, words, &i)) {
            return false;
        }
    }
    *help = everywhere.help;
    call->url = everywhere.url;
    call->url_file = everywhere.url_file;
    call->json = everywhere.json;
    return *help || check_arguments(command, call->count);
}

static void release_targets(const cli_option *option)
{
    for (; option->name != NULL; option++) {
        if (option->kind == CLI_TEXTS) {
            cli_list *list = option->target;
            free(list->items);
            *list = (cli_list){NULL, 0};
        } else if (option->kind == CLI_POLICY) {
            acemq_policy **policy = option->target;
            acemq_policy_free(*policy);
            *policy = NULL;
        }
    }
}

void cli_options_release(cli_call *call)
{
    release_targets(call->command->options);
    free(call->arguments);
    call->arguments = NULL;
}

static void print_options(const cli_option *option)
{
    for (; option->name != NULL; option++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", option->name, option->value == NULL ? "" : " ",
                 option->value == NULL ? "" : option->value);
        cli_print_entry(left, option->help, HELP_COLUMN);
    }
}

void cli_options_print_help(const cli_command *command)
{
    bool has_options = command->options->name != NULL;
    printf("usage: acemq %s%s%s%s\n\n%s.\n", command->name, command->usage[0] == '\0' ? "" : " ",
           command->usage, " [OPTION]...", command->summary);
    if (has_options) {
        printf("\nOptions:\n");
        print_options(command->options);
    }
    printf("\nEverywhere:\n");
    print_options(everywhere_options);
    printf("\n%s", command->details);
    printf("\nExit status: 0 done, 1 it failed (why is on standard error), 2 used wrongly.\n");
}
