#include "base/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_LINE 2047

void ace_log_write(const ace_log *log, ace_log_level level, const char *format, ...)
{
    if (log == NULL || log->sink == NULL || level > log->level) {
        return;
    }
    /* Larger than the limit, so that the cut sees whether a code point goes over it. */
    char line[LONGEST_LINE + 8];
    va_list arguments;
    va_start(arguments, format);
    int formatted = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (formatted < 0) {
        return;
    }
    line[ace_utf8_cut(line, strlen(line), LONGEST_LINE)] = '\0';
    ace_utf8_clean_line(line);
    log->sink(level, line, log->user);
}
