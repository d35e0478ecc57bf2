/*
 * Connecting, which cannot be repeated in slices: it runs on a thread of its own that a token can
 * end, while the caller looks for interrupts.
 */
#ifndef ACEMQ_SWIG_CONNECTING_H
#define ACEMQ_SWIG_CONNECTING_H

#include "waiting.h"

#include <pthread.h>

typedef acemq_status (*connecting_function)(const char *url, const acemq_connect_options *options,
                                            acemq_connection **connection, acemq_error **error);

typedef struct connecting {
    connecting_function connect;
    const char *url;
    acemq_connect_options options;
    acemq_cancel *cancel;
    acemq_connection **connection;
    acemq_error **error;
    acemq_status status;
    int is_done;
    int has_thread;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t done;
} connecting;

static void *connecting_main(void *given)
{
    connecting *call = (connecting *)given;
    acemq_status status = call->connect(call->url, &call->options, call->connection, call->error);
    pthread_mutex_lock(&call->mutex);
    call->status = status;
    call->is_done = 1;
    pthread_cond_signal(&call->done);
    pthread_mutex_unlock(&call->mutex);
    return NULL;
}

/* Begins it; where there is no thread to be had, or the options have a token already, it is done
 * when this returns. */
static void connecting_begin(connecting *call, connecting_function connect, const char *url,
                             const acemq_connect_options *options, acemq_connection **connection,
                             acemq_error **error)
{
    memset(call, 0, sizeof *call);
    pthread_mutex_init(&call->mutex, NULL);
    pthread_cond_init(&call->done, NULL);
    call->connect = connect;
    call->url = url;
    call->connection = connection;
    call->error = error;
    acemq_connect_options_init(&call->options, sizeof call->options);
    if (options != NULL) {
        call->options = *options;
    }
    if (call->options.cancel == NULL && acemq_cancel_new(&call->cancel, NULL) == ACEMQ_OK) {
        call->options.cancel = call->cancel;
        call->has_thread = pthread_create(&call->thread, NULL, connecting_main, call) == 0;
    }
    if (!call->has_thread) {
        connecting_main(call);
    }
}

/* Waits for one slice; 1 when it is done. */
static int connecting_wait(connecting *call)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAITING_SLICE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&call->mutex);
    if (!call->is_done) {
        pthread_cond_timedwait(&call->done, &call->mutex, &until);
    }
    int is_done = call->is_done;
    pthread_mutex_unlock(&call->mutex);
    return is_done;
}

/* The connection keeps the token, which nobody fires any more. */
static acemq_status connecting_end(connecting *call)
{
    if (call->has_thread) {
        pthread_join(call->thread, NULL);
    }
    acemq_cancel_free(call->cancel);
    pthread_cond_destroy(&call->done);
    pthread_mutex_destroy(&call->mutex);
    return call->status;
}

/* Ends it at once, and leaves nothing. */
static void connecting_abandon(connecting *call)
{
    acemq_cancel_fire(call->cancel);
    connecting_end(call);
    acemq_connection_free(*call->connection);
    acemq_error_free(*call->error);
    *call->connection = NULL;
    *call->error = NULL;
}

#endif
