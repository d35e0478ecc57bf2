/* The broker as a whole: its thread, its listeners, and what other threads ask of it. */
#ifndef ACE_BROKER_SERVER_H
#define ACE_BROKER_SERVER_H

#include "base/thread.h"
#include "broker/broker.h"
#include "broker/state.h"
#include "transport/stream.h"
#include "transport/tcp.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/types.h>

typedef struct ace_broker_request { /* something for the thread to take over */
    ace_link_node link;
    ace_stream *stream; /* one of these two */
    ace_listener *listener;
} ace_broker_request;

struct ace_broker {
    pid_t process;
    size_t references; /* under the registry's lock */
    char *name;        /* of `memory://name`; NULL: not registered */
    ace_link_node registered;

    ace_thread thread;
    int wake; /* an eventfd */

    ace_mutex lock;    /* of what follows, up to the thread's own */
    ace_list requests; /* for the thread */
    bool stopping;
    /* What a forked child closes; it reads them without the lock, since whoever held that is not
     * there. A slot is cleared before its descriptor is closed. */
    atomic_int *descriptors;
    size_t descriptor_count;

    /* The thread's alone. */
    ace_broker_core core;
    ace_list listeners; /* requests, whose listener is open */
    struct pollfd *polled;
    size_t polled_capacity;
};

ace_code ace_broker_check_options(const ace_broker_options *options, ace_error **error);
/* Copies users, virtual hosts, limits. */
ace_code ace_broker_core_init(ace_broker_core *core, const ace_broker_options *options,
                              ace_error **error);
void ace_broker_core_free(ace_broker_core *core); /* sessions too */

void ace_broker_run(void *broker);        /* the thread's body */
void ace_broker_wake(ace_broker *broker); /* any thread */

/* Slots of descriptors, for forked children. */
void ace_broker_note_descriptor(ace_broker *broker, int descriptor);
void ace_broker_forget_descriptor(ace_broker *broker, int descriptor);

/* Process-wide: references and names (registry.c). */
void ace_broker_registry_lock(void);
void ace_broker_registry_unlock(void);
/* Under the lock. */
ace_broker *ace_broker_registry_find(const char *name);
void ace_broker_registry_add(ace_broker *broker);
void ace_broker_registry_remove(ace_broker *broker);

#endif
