#include "transport/socket_stream.h"
#include "transport/tcp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 128

struct ace_listener {
    int descriptor;
    uint16_t port;
    char name[ACE_ADDRESS_TEXT_MAX];
};

/* The descriptor, or -1 with errno set. */
static int open_socket(const ace_address *address)
{
    int descriptor = socket(address->socket.any.sa_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) {
        return -1;
    }
    int on = 1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(descriptor, &address->socket.any, address->length) < 0 ||
        listen(descriptor, BACKLOG) < 0) {
        int problem = errno;
        close(descriptor);
        errno = problem;
        return -1;
    }
    return descriptor;
}

static ace_code open_first(const ace_address_list *list, int *descriptor, ace_error **error)
{
    for (size_t i = 0; i < list->count; i++) {
        *descriptor = open_socket(&list->addresses[i]);
        if (*descriptor >= 0) {
            return ACE_OK;
        }
    }
    char what[300];
    int problem = errno;
    snprintf(what, sizeof what, "listening on %s", list->name);
    return ace_fail_system(error, problem, what);
}

ace_code ace_listener_open(const char *host, uint16_t port, ace_listener **listener,
                           ace_error **error)
{
    ace_address_list *list = NULL;
    ace_code code = ace_address_resolve_own(host, port, &list, error);
    if (code != ACE_OK) {
        return code;
    }
    int descriptor = -1;
    code = open_first(list, &descriptor, error);
    ace_address_list_free(list);
    if (code != ACE_OK) {
        return code;
    }
    ace_listener *made = calloc(1, sizeof *made);
    if (made == NULL) {
        close(descriptor);
        return ace_fail_memory(error);
    }
    made->descriptor = descriptor;
    ace_address own;
    if (ace_address_of_socket(descriptor, &own)) {
        made->port = ace_address_port(&own);
        ace_address_format(&own, made->name);
    }
    *listener = made;
    return ACE_OK;
}

/* A client that gave up before it was accepted is no failure of the listener. */
static int accept_next(const ace_listener *listener)
{
    int descriptor;
    do {
        descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO));
    return descriptor;
}

ace_stream_state ace_listener_accept(ace_listener *listener, ace_stream **stream, ace_error **error)
{
    int descriptor = accept_next(listener);
    if (descriptor < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        return ACE_STREAM_BLOCKED;
    }
    if (descriptor < 0) {
        char what[ACE_ADDRESS_TEXT_MAX + 32];
        int problem = errno;
        snprintf(what, sizeof what, "accepting on %s", listener->name);
        ace_fail_system(error, problem, what);
        return ACE_STREAM_FAILED;
    }
    /* Without the options the connection works all the same. */
    ace_tcp_set_options(descriptor, NULL);
    ace_address peer;
    char name[ACE_ADDRESS_TEXT_MAX] = "a client that left";
    if (ace_address_of_peer(descriptor, &peer)) {
        ace_address_format(&peer, name);
    }
    ace_code code = ace_socket_stream_open(descriptor, name, false, stream, error);
    return code == ACE_OK ? ACE_STREAM_READY : ACE_STREAM_FAILED;
}

uint16_t ace_listener_port(const ace_listener *listener)
{
    return listener->port;
}

const char *ace_listener_name(const ace_listener *listener)
{
    return listener->name;
}

int ace_listener_descriptor(const ace_listener *listener)
{
    return listener->descriptor;
}

void ace_listener_abandon(ace_listener *listener)
{
    if (listener != NULL) {
        close(listener->descriptor);
        free(listener);
    }
}

/* The shutdown frees the port even where a forked child holds a copy of the descriptor. */
void ace_listener_close(ace_listener *listener)
{
    if (listener != NULL) {
        shutdown(listener->descriptor, SHUT_RDWR);
        ace_listener_abandon(listener);
    }
}
