#include "progress.h"

#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define BAR_WIDTH  30
#define DRAW_EVERY 100

int64_t cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total)
{
    int64_t now = cli_now();
    if (!cli_is_terminal(stderr) || (progress->is_shown && now - progress->shown_at < DRAW_EVERY)) {
        return;
    }
    progress->is_shown = true;
    progress->shown_at = now;
    if (total == 0) {
        fprintf(stderr, "\r%s %" PRIu64 "\033[K", progress->what, done);
        return;
    }
    char bar[BAR_WIDTH + 1];
    int filled = (int)(done >= total ? BAR_WIDTH : (double)done / (double)total * BAR_WIDTH);
    for (int i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %s %" PRIu64 " of %" PRIu64 "\033[K", bar, progress->what, done, total);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        progress->is_shown = false;
    }
}
