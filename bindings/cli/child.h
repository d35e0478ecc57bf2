/* A command run for one message. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <acemq/common.h>

#include <stdbool.h>

/* How a command ended. */
typedef struct cli_ending {
    int status;      /* its exit status; -1: a signal ended it */
    bool was_ended;  /* by us, since the user wanted an end */
    char *last_line; /* of its standard error: UTF-8 without control characters; NULL: none; freed
                      * with free() */
} cli_ending;

/*
 * Runs `command` by `sh -c`, in a process group of its own, with `input` on its standard input, and
 * waits for it. Its standard output and its standard error go to our standard error. When the user
 * wants an end it gets a SIGTERM, and five seconds later a SIGKILL. Any thread, several at once.
 * `environment` ends with NULL. False, and said why, when it cannot be started.
 */
bool cli_run_command(const char *command, char *const environment[], acemq_bytes input,
                     cli_ending *ending);

/* Ends all that run, at once. Any thread. */
void cli_kill_commands(void);

#endif
