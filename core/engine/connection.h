/*
 * The client: settings, two links to the broker, the publisher, the consumers that register here,
 * and the events for those who pull them. Thread-safe; not from a loop's thread.
 */
#ifndef ACE_ENGINE_CONNECTION_H
#define ACE_ENGINE_CONNECTION_H

#include "base/error.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/thread.h"
#include "engine/cancel.h"
#include "engine/events.h"
#include "engine/interceptor.h"
#include "engine/link.h"
#include "engine/metrics.h"
#include "engine/publisher.h"
#include "engine/settings.h"
#include "engine/settled.h"
#include "engine/url.h"
#include "engine/work.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_CONNECTION_MAGIC ACE_MAGIC('C', 'O', 'N', 'N')
#define ACE_DRAIN_BUDGET     INT64_C(20000) /* ms, one for everything that closes together */

/* Something that lives on a connection and must end before it: a consumer, a group. A part of its
 * owner's record. The hooks are called by ace_connection_close(), on its thread, in the order
 * below. */
typedef struct ace_member ace_member;
struct ace_health_report;
struct ace_member {
    ace_link_node node;
    bool busy; /* this and the next two are the connection's own: a hook is running */
    int phase; /* how far it has got in closing */
    pthread_t caller;
    /* Takes no more work from now on; does not wait. */
    void (*stop)(ace_member *member);
    /* Waits until what is in hand is finished and settled, or `deadline` (monotonic, of the
     * system's clock) passes; false then. May be NULL. */
    bool (*drain)(ace_member *member, int64_t deadline);
    /* The links are about to end: nothing of it may use them after this returns. */
    void (*close)(ace_member *member);
    /* After that: adds what it has left behind. May be NULL. */
    void (*report)(ace_member *member, ace_work *left);
    /* Whether the calling thread is one of its handlers, from which closing would wait for itself.
     * May be NULL. */
    bool (*is_current)(ace_member *member);
    /* Adds what it has to say, by ace_health_add(). Under the connection's lock: it may take no
     * other and may not wait. May be NULL. */
    void (*health)(ace_member *member, struct ace_health_report *report);
};

typedef struct acemq_connection ace_connection;

typedef struct ace_connection_watch { /* turns what a link reports into events */
    ace_link_listener listener;
    ace_events *events;
    const ace_log *log;
    const char *source;
    ace_link_state state; /* as last told */
    bool blocked;
} ace_connection_watch;

typedef struct ace_settled_listener {
    ace_settled_watch *told;
    void *user;
    void (*destructor)(void *user); /* may be NULL */
} ace_settled_listener;

struct acemq_connection {
    ace_handle handle;
    ace_settings settings; /* a copy; read-only once open, like the next two */
    ace_url url;
    ace_events *events;
    ace_link *publishing;
    ace_link *consuming;
    ace_publisher *publisher;

    ace_mutex mutex; /* of what follows */
    ace_condition quiet;
    ace_list members;
    bool closing;
    ace_connection_watch watches[2];

    ace_interceptors interceptors;
    _Atomic(ace_metrics *) metrics;          /* one reference; NULL until somebody measures */
    _Atomic(ace_settled_listener *) settled; /* owned; NULL until somebody listens */
    atomic_bool tells_settled;               /* by events */

    /* Something that whoever opened it keeps with it, set before it is shared: `release` is called,
     * when it is not NULL, as the last thing that the last ace_connection_release() does. */
    void *attachment;
    void (*attachment_release)(void *attachment);
};

/* Connects both links. `settings` may be NULL for the defaults, and is copied; `cancel` may be
 * NULL. Blocks up to the settings' connect timeout. On success *connection is one reference.
 * ACE_PARSE and the other errors of the URL and the settings (before anything is sent), and those
 * of ace_link_connect(). */
ace_code ace_connection_open(const char *url, const ace_settings *settings, ace_cancel *cancel,
                             ace_connection **connection, ace_error **error);

/* Ends it: members stop, drain and close within `timeout` milliseconds, one budget for all
 * (negative: ACE_DRAIN_BUDGET), what was submitted is confirmed within what is left of it, and the
 * links say goodbye. It is closed whatever is returned. ACE_TIMEOUT: something was cut off
 * (publishes ended as unknown, work in hand goes back to the broker). ACE_FROM_HANDLER: nothing was
 * done. ACE_CLOSED the second time. */
ace_code ace_connection_close(ace_connection *connection, int64_t timeout, ace_error **error);
/* The same, and adds to `left`, which may be NULL, what handlers and pullers had in hand at the
 * end: the broker delivers it again. */
ace_code ace_connection_close_naming(ace_connection *connection, int64_t timeout, ace_work *left,
                                     ace_error **error);

ace_connection *ace_connection_keep(ace_connection *connection);
/* Gives a reference back. The last one closes with a budget of 0 what was not closed, and frees. In
 * a child of fork the first one closes the descriptors, and nothing is freed. NULL is fine. On a
 * loop's thread the last one leaves the work to a thread of its own. */
void ace_connection_release(ace_connection *connection);

/* Adds a member before it uses the links. ACE_CLOSED. */
ace_code ace_connection_add(ace_connection *connection, ace_member *member, ace_error **error);
/* When this returns no hook is running and none will run (but for the one it is called from). Fine
 * when it is not on the list. */
void ace_connection_remove(ace_connection *connection, ace_member *member);

/* What happens through it from here on is counted and timed there; once. ACE_STATE: it is already.
 */
ace_code ace_connection_measure(ace_connection *connection, ace_metrics *metrics,
                                ace_error **error);
/* Called for every delivery that a receiver had, once it is off the consumer's hands, on the
 * consuming loop's thread; once. The destructor is called with the connection's end. ACE_STATE:
 * somebody listens already. ACE_OUT_OF_MEMORY. */
ace_code ace_connection_listen_settled(ace_connection *connection,
                                       const ace_settled_listener *listener, ace_error **error);

typedef struct ace_connection_status {
    ace_link_description publishing; /* both errors are the caller's to free */
    ace_link_description consuming;
    bool open;    /* both links are */
    bool blocked; /* the broker takes no publishes; consuming goes on */
} ace_connection_status;

void ace_connection_describe(ace_connection *connection, ace_connection_status *status);

#endif
