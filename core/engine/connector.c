#include "engine/connector.h"

#include "base/thread.h"
#include "engine/refusal.h"
#include "engine/waiter.h"
#include "transport/tcp.h"
#include "transport/tls.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 200 /* ms between two looks at `abandoned` */

struct ace_connector {
    atomic_uint references; /* the link's and the thread's */
    ace_settings settings;
    ace_url url; /* where, user and password, nothing else */
    ace_host_turn turn;
    ace_tls_context *tls; /* NULL: none */
    ace_task *done;
    int64_t deadline;
    ace_connected result;

    ace_mutex mutex; /* of what follows */
    ace_condition asked;
    ace_loop *loop;
    bool asking; /* inside the credentials callback */
    bool abandoned;
};

static void free_result(ace_connected *result)
{
    ace_error_free(result->error);
    ace_error_free(result->refusals);
    ace_stream_close(result->stream);
    ace_broker_release(result->broker);
    ace_credentials_free(&result->credentials);
    *result = (ace_connected){0};
}

static void release(ace_connector *connector)
{
    if (atomic_fetch_sub(&connector->references, 1) != 1) {
        return;
    }
    free_result(&connector->result);
    ace_settings_free(&connector->settings);
    ace_url_free(&connector->url);
    ace_tls_context_free(connector->tls);
    ace_condition_destroy(&connector->asked);
    ace_mutex_destroy(&connector->mutex);
    free(connector);
}

static bool is_abandoned(ace_connector *connector)
{
    ace_mutex_lock(&connector->mutex);
    bool abandoned = connector->abandoned;
    ace_mutex_unlock(&connector->mutex);
    return abandoned;
}

static bool begin_asking(ace_connector *connector)
{
    ace_mutex_lock(&connector->mutex);
    bool wanted = !connector->abandoned;
    connector->asking = wanted;
    ace_mutex_unlock(&connector->mutex);
    return wanted;
}

static void end_asking(ace_connector *connector)
{
    ace_mutex_lock(&connector->mutex);
    connector->asking = false;
    ace_condition_broadcast(&connector->asked);
    ace_mutex_unlock(&connector->mutex);
}

static ace_code get_credentials(ace_connector *connector, ace_error **error)
{
    if (!begin_asking(connector)) {
        return ace_fail(error, ACE_CANCELLED, "the connect was given up");
    }
    ace_code code = ace_settings_credentials(&connector->settings, &connector->url,
                                             &connector->result.credentials, error);
    end_asking(connector);
    return code;
}

static int slice_until(int64_t deadline)
{
    int64_t left = deadline - ace_clock_monotonic(ace_clock_system());
    return left <= 0 ? 0 : left > SLICE ? SLICE : (int)left;
}

static ace_code establish(ace_connector *connector, ace_stream *stream, int64_t deadline,
                          ace_error **error)
{
    for (;;) {
        ace_error *why = NULL;
        ace_stream_state state = ace_stream_establish(stream, &why);
        if (state == ACE_STREAM_READY) {
            return ACE_OK;
        }
        if (state != ACE_STREAM_BLOCKED) {
            return ace_error_move(error, why);
        }
        int timeout = slice_until(deadline);
        if (timeout == 0 || is_abandoned(connector)) {
            return ace_fail(error, ACE_UNREACHABLE, "%s: no answer to the connect%s in time",
                            ace_stream_peer(stream),
                            connector->tls == NULL ? "" : " or the TLS handshake");
        }
        struct pollfd polled = {.fd = ace_stream_descriptor(stream),
                                .events = ace_stream_events(stream, false, true)};
        (void)poll(&polled, 1, timeout);
    }
}

static ace_code connect_address(ace_connector *connector, const ace_address *address,
                                const char *host, const char *name, int64_t deadline,
                                ace_error **error)
{
    ace_stream *stream = NULL;
    ace_code code = ace_tcp_connect(address, name, &connector->settings.tcp, &stream, error);
    if (code == ACE_OK && connector->tls != NULL) {
        ace_stream *inner = stream;
        stream = NULL;
        code = ace_tls_open(inner, connector->tls, host, &stream, error);
    }
    if (code == ACE_OK) {
        code = establish(connector, stream, deadline, error);
    }
    if (code != ACE_OK) {
        ace_stream_close(stream);
        return code;
    }
    connector->result.stream = stream;
    return ACE_OK;
}

/* The end of the share that one of `count` has in the time from now to `deadline`. */
static int64_t share_of_time(int64_t deadline, size_t count)
{
    int64_t now = ace_clock_monotonic(ace_clock_system());
    return now + (deadline - now) / (int64_t)count;
}

/* Every address gets its share of the time, so that one that swallows packets does not use up all.
 */
static ace_code connect_host(ace_connector *connector, const ace_endpoint *endpoint,
                             int64_t deadline, ace_error **error)
{
    ace_address_list *list = NULL;
    ace_code code = ace_address_resolve(endpoint->host, endpoint->port, &list, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_error *refusal = NULL;
    code = ACE_UNREACHABLE;
    for (size_t i = 0; i < list->count && code != ACE_OK; i++) {
        ace_error *why = NULL;
        code = connect_address(connector, &list->addresses[i], endpoint->host, list->name,
                               share_of_time(deadline, list->count - i), &why);
        refusal = code == ACE_OK ? refusal : ace_refusal_prefer(refusal, why);
    }
    ace_address_list_free(list);
    if (code != ACE_OK) {
        return ace_error_move(error, refusal);
    }
    ace_error_free(refusal);
    return ACE_OK;
}

static ace_code connect_hosts(ace_connector *connector, ace_error **error)
{
    const ace_host_turn *turn = &connector->turn;
    ace_error *refusals = NULL;
    ace_code code = ACE_UNREACHABLE;
    for (size_t i = 0; i < turn->count && code != ACE_OK; i++) {
        if (is_abandoned(connector)) {
            ace_error_free(refusals);
            return ace_fail(error, ACE_CANCELLED, "the connect was given up");
        }
        size_t host = (turn->first + i) % connector->url.endpoint_count;
        ace_error *why = NULL;
        code = connect_host(connector, &connector->url.endpoints[host],
                            share_of_time(connector->deadline, turn->count - i), &why);
        connector->result.host = host;
        refusals = code == ACE_OK ? refusals : ace_refusal_join(refusals, why);
    }
    if (code != ACE_OK) {
        return ace_error_move(error, refusals);
    }
    connector->result.refusals = refusals;
    return ACE_OK;
}

/* The files are read at each connect: certificates are renewed while programs run. */
static ace_code connect_tcp(ace_connector *connector, ace_error **error)
{
    ace_code code = ACE_OK;
    if (connector->url.scheme == ACE_URL_AMQPS) {
        code = ace_tls_context_new(&connector->settings.tls, &connector->tls, error);
    }
    return code == ACE_OK ? connect_hosts(connector, error) : code;
}

static ace_code connect_memory(ace_connector *connector, ace_error **error)
{
    ace_code code =
        ace_broker_open_named(connector->url.memory_name, &connector->result.broker, error);
    if (code == ACE_OK) {
        code = ace_broker_attach(connector->result.broker, &connector->result.stream, error);
    }
    return code;
}

static ace_code reach_broker(ace_connector *connector, ace_error **error)
{
    ace_code code = get_credentials(connector, error);
    if (code != ACE_OK) {
        return code;
    }
    return connector->url.scheme == ACE_URL_MEMORY ? connect_memory(connector, error)
                                                   : connect_tcp(connector, error);
}

static void run_connector(void *user)
{
    ace_connector *connector = user;
    ace_error *error = NULL;
    (void)reach_broker(connector, &error);
    connector->result.error = error;
    /* Under the lock, because the loop may be gone as soon as the link has abandoned this. */
    ace_mutex_lock(&connector->mutex);
    if (!connector->abandoned) {
        (void)ace_loop_post(connector->loop, connector->done);
    }
    ace_mutex_unlock(&connector->mutex);
    release(connector);
}

static bool copy_endpoints(ace_url *copy, const ace_url *url)
{
    copy->endpoints = calloc(url->endpoint_count, sizeof *copy->endpoints);
    bool whole = copy->endpoints != NULL;
    for (size_t i = 0; i < url->endpoint_count && whole; i++) {
        copy->endpoints[i].port = url->endpoints[i].port;
        copy->endpoints[i].host = strdup(url->endpoints[i].host);
        copy->endpoint_count = i + 1;
        whole = copy->endpoints[i].host != NULL;
    }
    return whole;
}

static bool copy_url(ace_url *copy, const ace_url *url)
{
    copy->scheme = url->scheme;
    copy->user = strdup(url->user);
    copy->password = strdup(url->password);
    bool whole = copy->user != NULL && copy->password != NULL;
    if (url->scheme == ACE_URL_MEMORY) {
        copy->memory_name = strdup(url->memory_name);
        return whole && copy->memory_name != NULL;
    }
    return whole && copy_endpoints(copy, url);
}

static ace_code make_connector(const ace_settings *settings, const ace_url *url,
                               ace_connector **out, ace_error **error)
{
    ace_connector *connector = calloc(1, sizeof *connector);
    if (connector == NULL) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_mutex_init(&connector->mutex, error);
    if (code != ACE_OK) {
        free(connector);
        return code;
    }
    code = ace_condition_init(&connector->asked, error);
    if (code != ACE_OK) {
        ace_mutex_destroy(&connector->mutex);
        free(connector);
        return code;
    }
    atomic_init(&connector->references, 1);
    code = ace_settings_copy(settings, &connector->settings, error);
    if (code == ACE_OK && !copy_url(&connector->url, url)) {
        code = ace_fail_memory(error);
    }
    if (code != ACE_OK) {
        release(connector);
        return code;
    }
    *out = connector;
    return ACE_OK;
}

ace_code ace_connector_start(const ace_settings *settings, const ace_url *url, ace_host_turn turn,
                             ace_loop *loop, ace_task *done, int64_t deadline, ace_connector **out,
                             ace_error **error)
{
    ace_connector *connector = NULL;
    ace_code code = make_connector(settings, url, &connector, error);
    if (code != ACE_OK) {
        return code;
    }
    connector->turn = turn;
    connector->loop = loop;
    connector->done = done;
    connector->deadline = deadline;
    atomic_fetch_add(&connector->references, 1);
    ace_thread thread;
    code = ace_thread_start(&thread, "acemq-connect", run_connector, connector, error);
    if (code != ACE_OK) {
        release(connector);
        release(connector);
        return code;
    }
    (void)pthread_detach(thread.id);
    *out = connector;
    return ACE_OK;
}

void ace_connector_finish(ace_connector *connector, ace_connected *connected)
{
    /* The thread posts with the lock held: taking it once means that it has let go of the loop. */
    (void)is_abandoned(connector);
    *connected = connector->result;
    connector->result = (ace_connected){0};
    release(connector);
}

void ace_connector_give_up(ace_connector *connector)
{
    ace_mutex_lock(&connector->mutex);
    connector->abandoned = true;
    ace_mutex_unlock(&connector->mutex);
}

bool ace_connector_is_asking(ace_connector *connector)
{
    ace_mutex_lock(&connector->mutex);
    bool asking = connector->asking;
    ace_mutex_unlock(&connector->mutex);
    return asking;
}

void ace_connector_abandon(ace_connector *connector, int64_t deadline)
{
    ace_mutex_lock(&connector->mutex);
    connector->abandoned = true;
    bool in_time = true;
    while (connector->asking && in_time) {
        in_time = ace_condition_wait_until(&connector->asked, &connector->mutex, deadline);
    }
    ace_mutex_unlock(&connector->mutex);
    release(connector);
}
