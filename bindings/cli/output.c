#include "output.h"

#include "command.h"
#include "utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_WIDTH 100

int cli_fail(acemq_error *error)
{
    fprintf(stderr, "acemq: %s%s%s: %s\n", cli_red(stderr),
            error == NULL ? acemq_status_name(ACEMQ_E_OUT_OF_MEMORY) : acemq_error_name(error),
            cli_plain(stderr), error == NULL ? "out of memory" : acemq_error_message(error));
    acemq_error_free(error);
    return CLI_FAILED;
}

int cli_fail_at(const char *what, acemq_error *error)
{
    fprintf(stderr, "acemq: %s: %s%s%s: %s\n", what, cli_red(stderr),
            error == NULL ? acemq_status_name(ACEMQ_E_OUT_OF_MEMORY) : acemq_error_name(error),
            cli_plain(stderr), error == NULL ? "out of memory" : acemq_error_message(error));
    acemq_error_free(error);
    return CLI_FAILED;
}

static void print_failure(const char *name, const char *format, va_list values, const char *why)
{
    flockfile(stderr);
    fprintf(stderr, "acemq: %s%s%s: ", cli_red(stderr), name, cli_plain(stderr));
    vfprintf(stderr, format, values);
    fprintf(stderr, "%s%s\n", why == NULL ? "" : ": ", why == NULL ? "" : why);
    funlockfile(stderr);
}

int cli_fail_text(const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    print_failure(name, format, values, NULL);
    va_end(values);
    return CLI_FAILED;
}

int cli_fail_system(const char *format, ...)
{
    char text[128];
    const char *why = strerror_r(errno, text, sizeof text);
    va_list values;
    va_start(values, format);
    print_failure(acemq_status_name(ACEMQ_E_SYSTEM), format, values, why);
    va_end(values);
    return CLI_FAILED;
}

void cli_say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    flockfile(stderr);
    fputs("acemq: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    funlockfile(stderr);
    va_end(values);
}

bool cli_is_terminal(FILE *stream)
{
    const char *terminal = getenv("TERM");
    return isatty(fileno(stream)) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static const char *escape(FILE *stream, const char *sequence)
{
    const char *forbidden = getenv("NO_COLOR");
    bool allowed = forbidden == NULL || forbidden[0] == '\0';
    return allowed && cli_is_terminal(stream) ? sequence : "";
}

const char *cli_bold(FILE *stream)
{
    return escape(stream, "\033[1m");
}

const char *cli_red(FILE *stream)
{
    return escape(stream, "\033[31m");
}

const char *cli_green(FILE *stream)
{
    return escape(stream, "\033[32m");
}

const char *cli_yellow(FILE *stream)
{
    return escape(stream, "\033[33m");
}

const char *cli_plain(FILE *stream)
{
    return escape(stream, "\033[0m");
}

/* How many bytes of `text` fit a line of `width`, cut at a space where there is one. */
static size_t line_length(const char *text, size_t width)
{
    size_t length = strlen(text);
    if (length <= width) {
        return length;
    }
    size_t cut = width;
    while (cut > 0 && text[cut] != ' ') {
        cut--;
    }
    return cut > 0 ? cut : width;
}

void cli_print_entry(const char *left, const char *right, int column)
{
    int gap = column - 2 - (int)strlen(left);
    printf("  %s", left);
    if (gap < 2) {
        printf("\n");
        gap = column;
    }
    while (right[0] != '\0') {
        size_t length = line_length(right, (size_t)(HELP_WIDTH - column));
        printf("%*s%.*s\n", gap, "", (int)length, right);
        right += length;
        right += strspn(right, " ");
        gap = column;
    }
}

void cli_print_shown(FILE *stream, const void *text, size_t length, size_t most)
{
    const unsigned char *bytes = text;
    size_t shown = length <= most ? length : cli_utf8_cut(text, length, most);
    for (size_t i = 0; i < shown; i++) {
        bool steers = (bytes[i] < ' ' && bytes[i] != '\t') || bytes[i] == 0x7f;
        /* The control characters U+0080 to U+009f are two bytes. */
        steers = steers || (bytes[i] == 0xc2 && i + 1 < shown && bytes[i + 1] < 0xa0);
        if (steers && bytes[i] == 0xc2) {
            i++;
        }
        fputc(steers ? '.' : bytes[i], stream);
    }
    if (shown < length) {
        fputs("...", stream);
    }
}
