#include "input.h"

#include "output.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define FIRST_ROOM ((size_t)64 * 1024)

FILE *cli_open_input(const char *file)
{
    if (file == NULL || strcmp(file, "-") == 0) {
        return stdin;
    }
    FILE *input = fopen(file, "re");
    if (input == NULL) {
        cli_fail_system("%s", file);
    }
    return input;
}

void cli_close_input(FILE *input)
{
    if (input != NULL && input != stdin) {
        fclose(input);
    }
}

/* Room for at least one byte more and the NUL. */
static bool make_room(cli_bytes *content, size_t *room)
{
    if (content->length + 1 < *room) {
        return true;
    }
    size_t wanted = *room == 0 ? FIRST_ROOM : *room * 2;
    char *data = realloc(content->data, wanted);
    if (data == NULL) {
        cli_fail(NULL);
        return false;
    }
    content->data = data;
    *room = wanted;
    return true;
}

bool cli_read_all(FILE *input, const char *name, size_t most, cli_bytes *content)
{
    size_t room = 0;
    bool good = true;
    *content = (cli_bytes){NULL, 0};
    while (good && (good = make_room(content, &room)) && !feof(input)) {
        size_t wanted = room - content->length - 1;
        content->length += fread(content->data + content->length, 1, wanted, input);
        if (ferror(input)) {
            cli_fail_system("%s", name);
            good = false;
        } else if (content->length > most) {
            cli_fail_text(acemq_status_name(ACEMQ_E_LIMIT), "%s is longer than %zu bytes", name,
                          most);
            good = false;
        }
    }
    if (!good) {
        free(content->data);
        *content = (cli_bytes){NULL, 0};
        return false;
    }
    content->data[content->length] = '\0';
    return true;
}

bool cli_read_file(const char *file, size_t most, cli_bytes *content)
{
    FILE *input = cli_open_input(file);
    bool is_stdin = input == stdin;
    bool good =
        input != NULL && cli_read_all(input, is_stdin ? "standard input" : file, most, content);
    cli_close_input(input);
    return good;
}

/* 1 when there is something to read, or the end; 0 when not. */
static int is_readable(const cli_lines *lines, bool wait)
{
    struct pollfd fds[] = {{.fd = lines->fd, .events = POLLIN},
                           {.fd = cli_interrupted_fd(), .events = POLLIN}};
    int ready;
    do {
        ready = poll(fds, 2, wait ? -1 : 0);
    } while (ready < 0 && errno == EINTR);
    return fds[1].revents == 0 && fds[0].revents != 0;
}

static bool read_more(cli_lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (lines->end == lines->room) {
        size_t wanted = lines->room == 0 ? FIRST_ROOM : lines->room * 2;
        char *buffer = realloc(lines->buffer, wanted);
        if (buffer == NULL) {
            cli_fail(NULL);
            return false;
        }
        lines->buffer = buffer;
        lines->room = wanted;
    }
    ssize_t count;
    do {
        count = read(lines->fd, lines->buffer + lines->end, lines->room - lines->end);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        cli_fail_system("%s", lines->name);
        return false;
    }
    lines->ended = count == 0;
    lines->end += (size_t)count;
    return true;
}

/* The last line need not have a line break. */
static bool take_line(cli_lines *lines, size_t searched, const char **line, size_t *length)
{
    size_t left = lines->end - lines->start;
    if (left == 0) {
        return false;
    }
    const char *start = lines->buffer + lines->start;
    const char *end = memchr(start + searched, '\n', left - searched);
    if (end == NULL && !lines->ended) {
        return false;
    }
    *line = start;
    *length = end == NULL ? left : (size_t)(end - start);
    lines->start += *length + (end == NULL ? 0 : 1);
    return true;
}

cli_line_result cli_next_line(cli_lines *lines, bool wait, const char **line, size_t *length)
{
    size_t searched = 0;
    while (!take_line(lines, searched, line, length)) {
        if (lines->ended) {
            return CLI_LINES_ENDED;
        }
        searched = lines->end - lines->start;
        if (!is_readable(lines, wait)) {
            return CLI_LINES_WAIT;
        }
        if (!read_more(lines)) {
            return CLI_LINES_FAILED;
        }
    }
    return CLI_LINE;
}
