/* What the door keeps with a connection: what the ABI asks for and the engine does not know. */
#ifndef ACE_DOOR_CLIENT_H
#define ACE_DOOR_CLIENT_H

#include "acemq/connection.h"
#include "base/thread.h"
#include "dispatch_pool.h"
#include "engine/connection.h"

#include <stdatomic.h>

typedef struct ace_client {
    atomic_uint references; /* the connection's, and one of each question that is under way */
    acemq_credentials_callback credentials_callback;
    void *credentials_user;
    acemq_log_callback log_callback;
    void *log_user;
    ace_cancel *cancel; /* one reference; NULL */
    int64_t connect_timeout;
    int64_t publish_timeout;
    uint64_t wanted; /* kinds of events, 1 << acemq_event_kind each */

    /* The queue of the connection, from the time on when it is open. */
    _Atomic(ace_events *) events;

    atomic_bool closing;
    ace_dispatch_pool dispatches;

    /* Credentials by event. */
    ace_mutex mutex;
    ace_condition answered;
    uint64_t answer; /* counts them */
    unsigned asking; /* questions that were not answered */
    char *name;      /* the last answer; at first the URL's */
    char *password;

    /* Under the lock of the event queue. */
    ace_link_state publishing;
    ace_link_state consuming;
    bool blocked;
    bool opened; /* the first connect, of which nothing is told, is over */
    acemq_connection_state told;
} ace_client;

/* `options` is whole and checked. */
ace_code ace_client_new(const acemq_connect_options *options, ace_client **client,
                        ace_error **error);
void ace_client_release(void *client); /* also what a connection's attachment is released by */

/* Fills settings' callbacks in. `url` has the first credentials. */
ace_code ace_client_prepare(ace_client *client, const acemq_connect_options *options,
                            const ace_url *url, ace_settings *settings, ace_error **error);
/* From now on its events are judged and its log lines may become events. */
void ace_client_adopt(ace_client *client, ace_connection *connection);

/* Whoever waits for credentials goes without; `closing` false takes it back. */
void ace_client_set_closing(ace_client *client, bool closing);
ace_code ace_client_answer(ace_client *client, const char *name, const char *password,
                           ace_error **error);

ace_client *ace_client_of(const ace_connection *connection);
/* The token that blocking calls watch: the given one, else the client's. */
ace_cancel *ace_client_cancel(const ace_connection *connection, ace_cancel *given);
/* ACE_CANCELLED when the token stands fired; NULL never does. */
ace_code ace_cancel_check(const ace_cancel *cancel, ace_error **error);
/* Of a call on an open connection of this process. */
ace_code ace_connection_check(const ace_connection *connection, ace_error **error);
/* The same for calls that are fine on a closed one. */
ace_code ace_connection_check_known(const ace_connection *connection, ace_error **error);

#endif
