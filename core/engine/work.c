#include "engine/work.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIBED 5 /* named in a text, which has to fit an error's line */
#define ID_SHOWN  64

void ace_work_add(ace_work *work, const char *queue, ace_bytes id, int64_t running)
{
    if (work == NULL) {
        return;
    }
    ace_work_item item = {
        .queue = strdup(queue),
        .id = ace_bytes_to_text(id),
        .running = running,
    };
    ace_work_item *grown = NULL;
    if (item.queue != NULL && item.id != NULL) {
        grown = realloc(work->items, (work->count + 1) * sizeof *grown);
    }
    if (grown == NULL) {
        free(item.queue);
        free(item.id);
        work->missed++;
        return;
    }
    work->items = grown;
    work->items[work->count++] = item;
}

void ace_work_release(ace_work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        free(work->items[i].queue);
        free(work->items[i].id);
    }
    free(work->items);
    *work = (ace_work){0};
}

bool ace_work_describe(const ace_work *work, ace_buffer *text)
{
    size_t all = work->count + work->missed;
    bool good = ace_buffer_format(
        text, all == 1 ? "%zu message is in hand" : "%zu messages are in hand", all);
    for (size_t i = 0; good && i < work->count && i < DESCRIBED; i++) {
        const ace_work_item *item = &work->items[i];
        good = ace_buffer_format(text, "%s %.*s on %.100s for %" PRId64 " ms", i == 0 ? ":" : ",",
                                 ID_SHOWN, item->id, item->queue, item->running);
    }
    return good && (all <= DESCRIBED || ace_buffer_format(text, ", ..."));
}
