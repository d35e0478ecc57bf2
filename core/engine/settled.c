#include "engine/settled.h"

#include <stdlib.h>
#include <string.h>

/* The texts that a copy owns. */
static void list_texts(ace_settled *settled, const char ***texts)
{
    const char **all[] = {&settled->queue,       &settled->exchange,  &settled->routing_key,
                          &settled->id,          &settled->type,      &settled->correlation,
                          &settled->traceparent, &settled->tracestate};
    memcpy(texts, all, sizeof all);
}

#define TEXTS 8

ace_settled *ace_settled_copy(const ace_settled *settled)
{
    ace_settled *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *settled;
    const char **texts[TEXTS];
    list_texts(copy, texts);
    size_t size = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        size += strlen(*texts[i]) + 1;
    }
    copy->texts = malloc(size);
    if (copy->texts == NULL) {
        free(copy);
        return NULL;
    }
    char *at = copy->texts;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t length = strlen(*texts[i]) + 1;
        memcpy(at, *texts[i], length);
        *texts[i] = at;
        at += length;
    }
    return copy;
}

void ace_settled_free(void *settled)
{
    ace_settled *copy = settled;
    if (copy != NULL) {
        free(copy->texts);
        free(copy);
    }
}
