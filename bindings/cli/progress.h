/* A line on standard error that shows how far a long command is. Only on a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    const char *what; /* "replayed" */
    int64_t shown_at; /* monotonic ms */
    bool is_shown;
} cli_progress;

/* Not drawn more than ten times a second. `total` 0: unknown. */
void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total);
/* Takes the line away. */
void cli_progress_end(cli_progress *progress);

/* Monotonic milliseconds. */
int64_t cli_now(void);

#endif
