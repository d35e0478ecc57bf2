/* What goes to the terminal: errors, messages, tables, colours. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <acemq/error.h>

#include <stdbool.h>
#include <stdio.h>

/* Prints the error's name and text to standard error and frees it. Always CLI_FAILED. `error` may
 * be NULL when memory is gone. */
int cli_fail(acemq_error *error);
/* The same with what was being done in front: "orders.dlq: timeout: ...". */
int cli_fail_at(const char *what, acemq_error *error);
/* The same for what is no error of the library's. Always CLI_FAILED. */
int cli_fail_text(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For a failed system call: the text of errno follows. Always CLI_FAILED. */
int cli_fail_system(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A message that is no error, on standard error: one line. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True when this stream is a terminal that moves its cursor. */
bool cli_is_terminal(FILE *stream);
/* What switches a colour on for this stream; "" where there are none, or NO_COLOR forbids them. */
const char *cli_bold(FILE *stream);
const char *cli_red(FILE *stream);
const char *cli_green(FILE *stream);
const char *cli_yellow(FILE *stream);
const char *cli_plain(FILE *stream);

/* "  LEFT   RIGHT", with RIGHT from `column` on and wrapped. */
void cli_print_entry(const char *left, const char *right, int column);

/* Text from a message as it can be shown: control characters become dots, so that it cannot steer
 * the terminal. At most `most` bytes of it are shown. */
void cli_print_shown(FILE *stream, const void *text, size_t length, size_t most);

#endif
