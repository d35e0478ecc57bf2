/* The command line: options with `=` or a space, `--` ends them, unknown ones are refused. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

/* Reads what follows the command's name into `call` and the targets of the command's options. False
 * when it was used wrongly; what is wrong is on standard error then. *help is true when --help was
 * among it, and nothing else counts. */
bool cli_options_read(const cli_command *command, int count, char **words, cli_call *call,
                      bool *help);
void cli_options_release(cli_call *call);

/* --help of one command, on standard output. */
void cli_options_print_help(const cli_command *command);

/* Says on standard error what was wrong and where help is. Always CLI_WRONG_USE. */
int cli_wrong_use(const cli_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
