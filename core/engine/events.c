#include "engine/events.h"

#include "base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ace_events {
    ace_mutex mutex;
    ace_condition changed;
    ace_list queues[ACE_EVENT_KINDS];
    uint64_t lost[ACE_EVENT_KINDS]; /* since the last event of the kind that was put */
    size_t count;                   /* in all queues */
    size_t limit;
    uint64_t order; /* of the last event that was put */
    bool ended;
    ace_event_judge *judge;
    void *judge_user;
    int descriptor;
};

static ace_code init_locks(ace_events *events, ace_error **error)
{
    ace_code code = ace_mutex_init(&events->mutex, error);
    if (code != ACE_OK) {
        return code;
    }
    code = ace_condition_init(&events->changed, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&events->mutex);
    }
    return code;
}

ace_code ace_events_new(size_t limit, ace_events **out, ace_error **error)
{
    ace_events *events = calloc(1, sizeof *events);
    if (events == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = init_locks(events, error);
    if (code != ACE_OK) {
        free(events);
        return code;
    }
    events->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->descriptor < 0) {
        code = ace_fail_system(error, errno, "eventfd");
        ace_condition_destroy(&events->changed);
        ace_mutex_destroy(&events->mutex);
        free(events);
        return code;
    }
    for (size_t kind = 0; kind < ACE_EVENT_KINDS; kind++) {
        ace_list_init(&events->queues[kind]);
    }
    events->limit = limit == 0 ? 1 : limit;
    *out = events;
    return ACE_OK;
}

void ace_events_free(ace_events *events)
{
    if (events == NULL) {
        return;
    }
    ace_event *event;
    while ((event = ace_events_take(events)) != NULL) {
        ace_event_free(event);
    }
    close(events->descriptor);
    ace_condition_destroy(&events->changed);
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

static void release_attachment(const ace_event *event)
{
    if (event->attachment != NULL && event->attachment_release != NULL) {
        event->attachment_release(event->attachment);
    }
}

void ace_event_free(ace_event *event)
{
    if (event == NULL) {
        return;
    }
    release_attachment(event);
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
    copy->lost = 0;
    copy->error = ace_error_copy(from->error);
    if (from->text != NULL) {
        copy->text = strdup(from->text);
        if (copy->text == NULL) {
            copy->attachment = NULL; /* still the giver's */
            ace_event_free(copy);
            return NULL;
        }
    }
    return copy;
}

static void set_readable(ace_events *events, bool readable)
{
    uint64_t count = 1;
    ssize_t moved = readable ? write(events->descriptor, &count, sizeof count)
                             : read(events->descriptor, &count, sizeof count);
    (void)moved; /* it is in the state that was asked for already */
}

static bool is_droppable(ace_event_kind kind)
{
    return kind != ACE_EVENT_CONFIRM && kind != ACE_EVENT_CREDENTIALS;
}

/* With the lock held, as what follows. */
static ace_event *take_first(ace_events *events, ace_list *queue)
{
    ace_event *event = ACE_RECORD(ace_list_take_first(queue), ace_event, node);
    events->count--;
    if (events->count == 0 && !events->ended) {
        set_readable(events, false);
    }
    return event;
}

static ace_list *queue_of_oldest(ace_events *events)
{
    ace_list *found = NULL;
    uint64_t least = UINT64_MAX;
    for (size_t kind = 0; kind < ACE_EVENT_KINDS; kind++) {
        ace_link_node *node = ace_list_first(&events->queues[kind]);
        if (node != NULL && ACE_RECORD(node, ace_event, node)->order < least) {
            least = ACE_RECORD(node, ace_event, node)->order;
            found = &events->queues[kind];
        }
    }
    return found;
}

/* Takes the event over; returns one that nobody wants, to be freed without the lock. */
static ace_event *append(ace_events *events, ace_event *event)
{
    if (events->judge != NULL && !events->judge(event, events->judge_user)) {
        return event;
    }
    ace_list *queue = &events->queues[event->kind];
    ace_event *dropped = NULL;
    if (queue->count >= events->limit && is_droppable(event->kind)) {
        dropped = take_first(events, queue);
        events->lost[event->kind] += dropped->lost + 1;
    }
    event->lost += events->lost[event->kind];
    events->lost[event->kind] = 0;
    event->order = ++events->order;
    ace_list_append(queue, &event->node);
    events->count++;
    if (events->count == 1) {
        set_readable(events, true);
    }
    ace_condition_broadcast(&events->changed);
    return dropped;
}

void ace_events_put(ace_events *events, const ace_event *event)
{
    if (events == NULL || (unsigned)event->kind >= ACE_EVENT_KINDS) {
        release_attachment(event);
        return;
    }
    ace_event *copy = copy_event(event);
    ace_event *unwanted = NULL;
    ace_mutex_lock(&events->mutex);
    if (copy == NULL) {
        events->lost[event->kind]++;
    } else {
        unwanted = append(events, copy);
    }
    ace_mutex_unlock(&events->mutex);
    ace_event_free(unwanted);
    if (copy == NULL) {
        release_attachment(event);
    }
}

void ace_events_judge_by(ace_events *events, ace_event_judge *judge, void *user)
{
    ace_list waiting;
    ace_list unwanted;
    ace_list_init(&waiting);
    ace_list_init(&unwanted);
    ace_mutex_lock(&events->mutex);
    events->judge = judge;
    events->judge_user = user;
    for (ace_list *queue; (queue = queue_of_oldest(events)) != NULL;) {
        ace_list_append(&waiting, &take_first(events, queue)->node);
    }
    for (ace_link_node *node; (node = ace_list_take_first(&waiting)) != NULL;) {
        ace_event *dropped = append(events, ACE_RECORD(node, ace_event, node));
        if (dropped != NULL) {
            ace_list_append(&unwanted, &dropped->node);
        }
    }
    ace_mutex_unlock(&events->mutex);
    for (ace_link_node *node; (node = ace_list_take_first(&unwanted)) != NULL;) {
        ace_event_free(ACE_RECORD(node, ace_event, node));
    }
}

ace_event *ace_events_take(ace_events *events)
{
    ace_mutex_lock(&events->mutex);
    ace_list *queue = queue_of_oldest(events);
    ace_event *event = queue == NULL ? NULL : take_first(events, queue);
    ace_mutex_unlock(&events->mutex);
    return event;
}

typedef struct waiting {
    ace_cancel_watch watch;
    ace_events *events;
    bool cancelled;
} waiting;

static void wake_cancelled(ace_cancel_watch *watch)
{
    waiting *waiter = ACE_RECORD(watch, waiting, watch);
    ace_mutex_lock(&waiter->events->mutex);
    waiter->cancelled = true;
    ace_condition_broadcast(&waiter->events->changed);
    ace_mutex_unlock(&waiter->events->mutex);
}

static ace_code await(waiting *waiter, int64_t deadline, ace_event **event)
{
    ace_events *events = waiter->events;
    ace_code code = ACE_OK;
    ace_mutex_lock(&events->mutex);
    bool in_time = true;
    while (events->count == 0 && !events->ended && !waiter->cancelled && in_time) {
        in_time = ace_condition_wait_until(&events->changed, &events->mutex, deadline);
    }
    ace_list *queue = queue_of_oldest(events);
    if (queue != NULL) {
        *event = take_first(events, queue);
    } else {
        code = events->ended ? ACE_CLOSED : waiter->cancelled ? ACE_CANCELLED : ACE_TIMEOUT;
    }
    ace_mutex_unlock(&events->mutex);
    return code;
}

ace_code ace_events_next(ace_events *events, int64_t deadline, ace_cancel *cancel,
                         ace_event **event, ace_error **error)
{
    waiting waiter = {.watch = {.fired = wake_cancelled}, .events = events};
    ace_cancel_watch_add(cancel, &waiter.watch);
    ace_code code = await(&waiter, deadline, event);
    ace_cancel_watch_remove(cancel, &waiter.watch);
    switch (code) {
    case ACE_OK:
        return ACE_OK;
    case ACE_CLOSED:
        return ace_fail(error, code, "the connection is closed and no event is left");
    case ACE_CANCELLED:
        return ace_fail(error, code, "waiting for an event was cancelled");
    default:
        return ace_fail(error, code, "no event came in time");
    }
}

void ace_events_end(ace_events *events)
{
    if (events == NULL) {
        return;
    }
    ace_mutex_lock(&events->mutex);
    if (!events->ended) {
        events->ended = true;
        set_readable(events, true);
        ace_condition_broadcast(&events->changed);
    }
    ace_mutex_unlock(&events->mutex);
}

int ace_events_descriptor(const ace_events *events)
{
    return events->descriptor;
}
