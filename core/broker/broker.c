#include "broker/broker.h"

#include "broker/server.h"
#include "transport/pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NAME_MAX_BYTES  255
#define LISTENERS_NOTED 64

/* --- descriptors, for forked children --- */

static bool make_slots(ace_broker *broker)
{
    broker->descriptor_count = broker->core.limits.connections + LISTENERS_NOTED;
    broker->descriptors = calloc(broker->descriptor_count, sizeof(*broker->descriptors));
    if (!broker->descriptors)
        return false;
    for (size_t i = 0; i < broker->descriptor_count; i++)
        atomic_init(&broker->descriptors[i], -1);
    return true;
}

static void change_slot(ace_broker *broker, int from, int to)
{
    ace_mutex_lock(&broker->lock);
    for (size_t i = 0; i < broker->descriptor_count; i++) {
        if (atomic_load(&broker->descriptors[i]) == from) {
            atomic_store(&broker->descriptors[i], to);
            break;
        }
    }
    ace_mutex_unlock(&broker->lock);
}

void ace_broker_note_descriptor(ace_broker *broker, int descriptor)
{
    change_slot(broker, -1, descriptor);
}

void ace_broker_forget_descriptor(ace_broker *broker, int descriptor)
{
    change_slot(broker, descriptor, -1);
}

static bool is_foreign(const ace_broker *broker)
{
    return broker->process != getpid();
}

static ace_code check(const ace_broker *broker, ace_error **error)
{
    if (!broker)
        return ace_fail(error, ACE_INVALID_ARGUMENT, "the broker is NULL");
    if (is_foreign(broker))
        return ace_fail(error, ACE_FORKED, "the broker belongs to the parent process");
    return ACE_OK;
}

/* --- starting --- */

static void wake_by_clock(void *user)
{
    ace_broker_wake(user);
}

static void free_request(ace_broker_request *request)
{
    ace_stream_close(request->stream);
    ace_listener_close(request->listener);
    free(request);
}

/* What there is of it; the thread does not run. */
static void broker_free(ace_broker *broker)
{
    ace_link_node *node;

    while ((node = ace_list_take_first(&broker->requests)))
        free_request(ACE_RECORD(node, ace_broker_request, link));
    while ((node = ace_list_take_first(&broker->listeners)))
        free_request(ACE_RECORD(node, ace_broker_request, link));
    ace_broker_core_free(&broker->core);
    if (broker->wake >= 0)
        close(broker->wake);
    ace_mutex_destroy(&broker->lock);
    free(broker->polled);
    free(broker->descriptors);
    free(broker->name);
    free(broker);
}

static ace_code start_thread(ace_broker *broker, ace_error **error)
{
    ace_code code;

    broker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (broker->wake < 0)
        return ace_fail_system(error, errno, "eventfd");
    if (!make_slots(broker) || ace_clock_watch(broker->core.clock, wake_by_clock, broker) != 0)
        return ace_fail_memory(error);
    code = ace_thread_start(&broker->thread, "acemq-broker", ace_broker_run, broker, error);
    if (code != ACE_OK)
        ace_clock_unwatch(broker->core.clock, wake_by_clock, broker);
    return code;
}

ace_code ace_broker_start(const ace_broker_options *options, ace_broker **broker, ace_error **error)
{
    ace_broker_options defaults;
    ace_broker *made;
    ace_code code;

    ace_broker_options_init(&defaults);
    if (!options)
        options = &defaults;
    code = ace_broker_check_options(options, error);
    if (code != ACE_OK)
        return code;
    made = calloc(1, sizeof(*made));
    if (!made)
        return ace_fail_memory(error);
    made->process = getpid();
    made->references = 1;
    made->wake = -1;
    ace_list_init(&made->requests);
    ace_list_init(&made->listeners);
    code = ace_mutex_init(&made->lock, error);
    if (code == ACE_OK)
        code = ace_broker_core_init(&made->core, options, error);
    if (code != ACE_OK) {
        free(made);
        return code;
    }
    code = start_thread(made, error);
    if (code != ACE_OK) {
        broker_free(made);
        return code;
    }
    *broker = made;
    return ACE_OK;
}

static ace_code start_named(const char *name, ace_broker **broker, ace_error **error)
{
    char *copy = strdup(name);
    ace_code code;

    if (!copy)
        return ace_fail_memory(error);
    code = ace_broker_start(NULL, broker, error);
    if (code != ACE_OK) {
        free(copy);
        return code;
    }
    (*broker)->name = copy;
    ace_broker_registry_add(*broker);
    return ACE_OK;
}

ace_code ace_broker_open_named(const char *name, ace_broker **broker, ace_error **error)
{
    ace_code code = ACE_OK;
    ace_broker *known;

    if (!name || name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
        return ace_fail(error, ACE_INVALID_ARGUMENT,
                        "the name of a memory broker has %zu bytes, not 1 to %d",
                        name ? strlen(name) : 0, NAME_MAX_BYTES);
    ace_broker_registry_lock();
    known = ace_broker_registry_find(name);
    if (known) {
        known->references++;
        *broker = known;
    } else {
        code = start_named(name, broker, error);
    }
    ace_broker_registry_unlock();
    return code;
}

/* --- using --- */

static ace_code hand_over(ace_broker *broker, ace_stream *stream, ace_listener *listener,
                          int descriptor, ace_error **error)
{
    ace_broker_request *request = calloc(1, sizeof(*request));

    if (!request)
        return ace_fail_memory(error);
    request->stream = stream;
    request->listener = listener;
    ace_broker_note_descriptor(broker, descriptor);
    ace_mutex_lock(&broker->lock);
    ace_list_append(&broker->requests, &request->link);
    ace_mutex_unlock(&broker->lock);
    ace_broker_wake(broker);
    return ACE_OK;
}

ace_code ace_broker_attach(ace_broker *broker, ace_stream **client_end, ace_error **error)
{
    char name[NAME_MAX_BYTES + 16] = "memory broker";
    ace_stream *near;
    ace_stream *far;
    ace_code code = check(broker, error);

    if (code != ACE_OK)
        return code;
    if (broker->name)
        snprintf(name, sizeof(name), "memory://%s", broker->name);
    code = ace_pair_open(name, &near, &far, error);
    if (code != ACE_OK)
        return code;
    code = hand_over(broker, far, NULL, ace_stream_descriptor(far), error);
    if (code != ACE_OK) {
        ace_stream_close(near);
        ace_stream_close(far);
        return code;
    }
    *client_end = near;
    return ACE_OK;
}

ace_code ace_broker_listen(ace_broker *broker, const char *host, uint16_t port,
                           uint16_t *bound_port, ace_error **error)
{
    ace_listener *listener;
    ace_code code = check(broker, error);
    uint16_t bound;

    if (code == ACE_OK)
        code = ace_listener_open(host, port, &listener, error);
    if (code != ACE_OK)
        return code;
    bound = ace_listener_port(listener);
    code = hand_over(broker, NULL, listener, ace_listener_descriptor(listener), error);
    if (code != ACE_OK) {
        ace_listener_close(listener);
        return code;
    }
    if (bound_port)
        *bound_port = bound;
    return ACE_OK;
}

/* --- references --- */

ace_broker *ace_broker_keep(ace_broker *broker)
{
    ace_broker_registry_lock();
    broker->references++;
    ace_broker_registry_unlock();
    return broker;
}

static void stop(ace_broker *broker)
{
    ace_mutex_lock(&broker->lock);
    broker->stopping = true;
    ace_mutex_unlock(&broker->lock);
    ace_clock_unwatch(broker->core.clock, wake_by_clock, broker);
    ace_broker_wake(broker);
    ace_thread_join(&broker->thread);
    broker_free(broker);
}

/* The parent's thread may have been in the middle of anything when this process was made: nothing
 * of what it works on is looked at, and that memory is left alone. */
static void abandon(ace_broker *broker)
{
    for (size_t i = 0; i < broker->descriptor_count; i++) {
        int descriptor = atomic_exchange(&broker->descriptors[i], -1);

        if (descriptor >= 0)
            close(descriptor);
    }
    close(broker->wake);
}

void ace_broker_release(ace_broker *broker)
{
    bool last;

    if (!broker)
        return;
    ace_broker_registry_lock();
    last = --broker->references == 0;
    if (last)
        ace_broker_registry_remove(broker);
    ace_broker_registry_unlock();
    if (!last)
        return;
    if (is_foreign(broker))
        abandon(broker);
    else
        stop(broker);
}
