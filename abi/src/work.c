#include "work.h"

#include <stdlib.h>

struct acemq_work {
    ace_work work;
};

ace_code ace_work_to_public(ace_work *work, bool even_empty, acemq_work **out, ace_error **error)
{
    ace_code code = ACE_OK;
    if (out != NULL && (even_empty || work->count > 0)) {
        *out = malloc(sizeof **out);
        if (*out == NULL) {
            code = ace_fail_memory(error);
        } else {
            (*out)->work = *work;
            *work = (ace_work){0};
        }
    }
    ace_work_release(work);
    return code;
}

size_t acemq_work_count(const acemq_work *work)
{
    return work == NULL ? 0 : work->work.count;
}

static const ace_work_item *item_at(const acemq_work *work, size_t index)
{
    static const ace_work_item none = {.queue = "", .id = ""};
    return index < acemq_work_count(work) ? &work->work.items[index] : &none;
}

const char *acemq_work_queue(const acemq_work *work, size_t index)
{
    return item_at(work, index)->queue;
}

const char *acemq_work_id(const acemq_work *work, size_t index)
{
    return item_at(work, index)->id;
}

int64_t acemq_work_running(const acemq_work *work, size_t index)
{
    return item_at(work, index)->running;
}

void acemq_work_free(acemq_work *work)
{
    if (work != NULL) {
        ace_work_release(&work->work);
        free(work);
    }
}
