/* What a command reads: whole files, and lines. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Owned bytes, freed with free(data). A NUL stands behind them. */
typedef struct cli_bytes {
    char *data;
    size_t length;
} cli_bytes;

/* Opens a file to read; "-" and NULL are standard input. NULL, and said why, when it cannot be
 * done. Closed with cli_close_input(). */
FILE *cli_open_input(const char *file);
void cli_close_input(FILE *input);

/* All that is left of a stream, at most `most` bytes. `name` is for what goes wrong, which is said
 * on standard error. */
bool cli_read_all(FILE *input, const char *name, size_t most, cli_bytes *content);
bool cli_read_file(const char *file, size_t most, cli_bytes *content);

/* Lines of a descriptor, read so that Ctrl-C ends the waiting for the next one. */
typedef struct cli_lines {
    int fd;
    const char *name; /* for what goes wrong */
    char *buffer;     /* owned, freed with free() */
    size_t start;     /* of what was not handed out yet */
    size_t end;
    size_t room;
    bool ended;
} cli_lines;

typedef enum cli_line_result {
    CLI_LINE,         /* there is one */
    CLI_LINES_ENDED,  /* there will be none */
    CLI_LINES_WAIT,   /* none yet: the user wants an end, or `wait` is false */
    CLI_LINES_FAILED, /* said why on standard error */
} cli_line_result;

/* The next line without its line break, borrowed until the next call. */
cli_line_result cli_next_line(cli_lines *lines, bool wait, const char **line, size_t *length);

#endif
