#include "engine/events.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ace_events {
    ace_mutex mutex;
    ace_list queue;
    size_t limit;
    uint64_t lost; /* since the last event that was put */
    int descriptor;
};

ace_code ace_events_new(size_t limit, ace_events **out, ace_error **error)
{
    ace_events *events = calloc(1, sizeof *events);
    if (events == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&events->mutex, error);
    if (code != ACE_OK) {
        free(events);
        return code;
    }
    events->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->descriptor < 0) {
        code = ace_fail_system(error, errno, "eventfd");
        ace_mutex_destroy(&events->mutex);
        free(events);
        return code;
    }
    ace_list_init(&events->queue);
    events->limit = limit == 0 ? 1 : limit;
    *out = events;
    return ACE_OK;
}

void ace_events_free(ace_events *events)
{
    if (events == NULL) {
        return;
    }
    ace_link_node *node;
    while ((node = ace_list_take_first(&events->queue)) != NULL) {
        ace_event_free(ACE_RECORD(node, ace_event, node));
    }
    close(events->descriptor);
    ace_mutex_destroy(&events->mutex);
    free(events);
}

void ace_events_abandon(ace_events *events)
{
    if (events != NULL && events->descriptor >= 0) {
        close(events->descriptor);
        events->descriptor = -1;
    }
}

void ace_event_free(ace_event *event)
{
    if (event == NULL) {
        return;
    }
    free(event->text);
    ace_error_free(event->error);
    free(event);
}

static ace_event *copy_event(const ace_event *from)
{
    ace_event *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *from;
    copy->node = (ace_link_node){NULL, NULL};
    copy->error = ace_error_copy(from->error);
    if (from->text != NULL) {
        copy->text = strdup(from->text);
        if (copy->text == NULL) {
            ace_event_free(copy);
            return NULL;
        }
    }
    return copy;
}

/* Log lines go first: they are what can be done without. */
static ace_event *take_least_wanted(ace_events *events)
{
    ace_link_node *chosen = ace_list_first(&events->queue);
    for (ace_link_node *node = chosen; node != NULL; node = ace_list_next(&events->queue, node)) {
        if (ACE_RECORD(node, ace_event, node)->kind == ACE_EVENT_LOG) {
            chosen = node;
            break;
        }
    }
    ace_event *event = ACE_RECORD(chosen, ace_event, node);
    ace_link_node *after = ace_list_next(&events->queue, chosen);
    uint64_t lost = event->lost + 1;
    if (after != NULL) {
        ACE_RECORD(after, ace_event, node)->lost += lost;
    } else {
        events->lost += lost;
    }
    ace_list_remove(&events->queue, chosen);
    return event;
}

static void set_readable(ace_events *events, bool readable)
{
    uint64_t count = 1;
    ssize_t moved = readable ? write(events->descriptor, &count, sizeof count)
                             : read(events->descriptor, &count, sizeof count);
    (void)moved; /* it is in the state that was asked for already */
}

void ace_events_put(ace_events *events, const ace_event *event)
{
    if (events == NULL) {
        return;
    }
    ace_event *copy = copy_event(event);
    ace_event *dropped = NULL;
    ace_mutex_lock(&events->mutex);
    if (copy == NULL) {
        events->lost++;
    } else {
        if (events->queue.count >= events->limit) {
            dropped = take_least_wanted(events);
        }
        copy->lost = events->lost;
        events->lost = 0;
        ace_list_append(&events->queue, &copy->node);
        if (events->queue.count == 1) {
            set_readable(events, true);
        }
    }
    ace_mutex_unlock(&events->mutex);
    ace_event_free(dropped);
}

ace_event *ace_events_take(ace_events *events)
{
    ace_mutex_lock(&events->mutex);
    ace_link_node *node = ace_list_take_first(&events->queue);
    if (ace_list_empty(&events->queue)) {
        set_readable(events, false);
    }
    ace_mutex_unlock(&events->mutex);
    return node == NULL ? NULL : ACE_RECORD(node, ace_event, node);
}

int ace_events_descriptor(const ace_events *events)
{
    return events->descriptor;
}
