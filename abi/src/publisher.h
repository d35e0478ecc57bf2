/* Publishers of the ABI, and what one of their calls comes down to. */
#ifndef ACE_DOOR_PUBLISHER_H
#define ACE_DOOR_PUBLISHER_H

#include "acemq/publisher.h"
#include "client.h"
#include "message.h"
#include "outgoing.h"

struct acemq_publisher {
    ace_handle handle;
    ace_connection *connection; /* one reference */
    char *exchange;             /* never NULL */
    char *routing_key;          /* NULL: each call gives one */
    ace_cancel *cancel;         /* one reference; NULL: the client's */
    int64_t timeout;            /* 0: the client's */
    bool confirmed;
    bool mandatory;
};

/* Where a message goes and how long that may take. Borrowed. */
typedef struct ace_target {
    ace_connection *connection;
    ace_cancel *cancel;
    const char *exchange;
    const char *routing_key;
    bool mandatory;
    bool confirmed;
    int64_t wait; /* ms, for all of it */
} ace_target;

/* The arguments of a call on a publisher, checked. `routing_key` NULL and `timeout` 0 are the
 * publisher's. */
ace_code ace_target_of_publisher(const acemq_publisher *publisher, const char *routing_key,
                                 int64_t timeout, ace_target *target, ace_error **error);

/* One message, and its result. */
ace_code ace_target_send(const ace_target *target, const acemq_message *message, ace_error **error);

/* A publish that outlives the call that began it. */
struct ace_dispatch {
    ace_publish publish;    /* `done` and `user` are set by its owner */
    ace_body *body;         /* one reference while it is on its way */
    ace_outgoing *outgoing; /* owned; NULL: nobody intercepts it */

    /* How its end is told, where nobody waits for it. */
    acemq_publish_callback callback;
    void *user;
    ace_events *events; /* the connection's, which ends its publishes before it ends this */
    int64_t token;

    ace_dispatch_pool *pool; /* the client's */
    ace_dispatch *next;      /* in there */
};

/* Waits for room in the window, encodes and submits. On failure `done` is not called and nothing
 * of the dispatch is left. */
ace_code ace_dispatch_begin(ace_dispatch *dispatch, const ace_target *target,
                            const acemq_message *message, ace_error **error);
/* After its end: frees what it holds. */
void ace_dispatch_clear(ace_dispatch *dispatch);

#endif
