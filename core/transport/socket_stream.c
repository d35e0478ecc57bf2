#include "transport/socket_stream.h"

#include "transport/address.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct socket_stream {
    ace_stream stream;
    int descriptor;
    bool connecting;
    char *peer;
} socket_stream;

static socket_stream *of(ace_stream *stream)
{
    return (socket_stream *)(void *)stream;
}

static ace_stream_state fail(const socket_stream *self, ace_code code, const char *what,
                             int error_number, ace_error **error)
{
    char space[128];
    ace_fail(error, code, "%s %s: %s", what, self->peer,
             strerror_r(error_number, space, sizeof space));
    return ACE_STREAM_FAILED;
}

/* Where nobody listens, the kernel may pick the very port for our side, and TCP then connects the
 * socket to itself. */
static bool is_connected_to_itself(int descriptor)
{
    ace_address near;
    ace_address far;
    return ace_address_of_socket(descriptor, &near) && ace_address_of_peer(descriptor, &far) &&
           ace_address_equal(&near, &far);
}

static ace_stream_state socket_establish(ace_stream *stream, ace_error **error)
{
    socket_stream *self = of(stream);
    if (!self->connecting) {
        return ACE_STREAM_READY;
    }
    struct pollfd wait = {self->descriptor, POLLOUT, 0};
    int ready = poll(&wait, 1, 0);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
        return ACE_STREAM_BLOCKED;
    }
    if (ready < 0) {
        return fail(self, ACE_UNREACHABLE, "cannot connect to", errno, error);
    }
    int problem = 0;
    socklen_t length = sizeof problem;
    if (getsockopt(self->descriptor, SOL_SOCKET, SO_ERROR, &problem, &length) < 0) {
        problem = errno;
    }
    if (problem == 0 && is_connected_to_itself(self->descriptor)) {
        problem = ECONNREFUSED;
    }
    if (problem != 0) {
        return fail(self, ACE_UNREACHABLE, "cannot connect to", problem, error);
    }
    self->connecting = false;
    return ACE_STREAM_READY;
}

static ace_stream_state socket_read(ace_stream *stream, void *data, size_t size, size_t *moved,
                                    ace_error **error)
{
    socket_stream *self = of(stream);
    if (self->connecting) {
        return ACE_STREAM_BLOCKED;
    }
    ssize_t got;
    do {
        got = recv(self->descriptor, data, size, 0);
    } while (got < 0 && errno == EINTR);
    if (got > 0) {
        *moved = (size_t)got;
        return ACE_STREAM_READY;
    }
    if (got == 0) {
        return size == 0 ? ACE_STREAM_READY : ACE_STREAM_END;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return ACE_STREAM_BLOCKED;
    }
    return fail(self, ACE_CONNECTION_LOST, "reading from", errno, error);
}

static ace_stream_state socket_write(ace_stream *stream, const struct iovec *parts, int count,
                                     size_t *moved, ace_error **error)
{
    socket_stream *self = of(stream);
    if (self->connecting) {
        return ACE_STREAM_BLOCKED;
    }
    if (count <= 0) {
        return ACE_STREAM_READY;
    }
    struct msghdr message = {0};
    message.msg_iov = (struct iovec *)(uintptr_t)parts; /* sendmsg only reads it */
    message.msg_iovlen = (size_t)(count > IOV_MAX ? IOV_MAX : count);
    ssize_t sent;
    do {
        sent = sendmsg(self->descriptor, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        *moved = (size_t)sent;
        return ACE_STREAM_READY;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return ACE_STREAM_BLOCKED;
    }
    return fail(self, ACE_CONNECTION_LOST, "writing to", errno, error);
}

static void socket_finish(ace_stream *stream)
{
    shutdown(of(stream)->descriptor, SHUT_WR);
}

static void socket_abandon(ace_stream *stream)
{
    socket_stream *self = of(stream);
    close(self->descriptor);
    free(self->peer);
    free(self);
}

/* The shutdown is what ends the connection: a forked child may hold another copy of the descriptor.
 */
static void socket_close(ace_stream *stream)
{
    shutdown(of(stream)->descriptor, SHUT_RDWR);
    socket_abandon(stream);
}

static int socket_descriptor(const ace_stream *stream)
{
    return ((const socket_stream *)(const void *)stream)->descriptor;
}

static short socket_events(const ace_stream *stream, bool reading, bool writing)
{
    if (((const socket_stream *)(const void *)stream)->connecting) {
        return POLLOUT;
    }
    return (short)((reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
}

static const char *socket_peer(const ace_stream *stream)
{
    return ((const socket_stream *)(const void *)stream)->peer;
}

static const ace_stream_operations socket_operations = {
    .establish = socket_establish,
    .read = socket_read,
    .write = socket_write,
    .finish = socket_finish,
    .close = socket_close,
    .abandon = socket_abandon,
    .descriptor = socket_descriptor,
    .events = socket_events,
    .peer = socket_peer,
};

ace_code ace_socket_stream_open(int descriptor, const char *peer, bool connecting,
                                ace_stream **stream, ace_error **error)
{
    socket_stream *self = calloc(1, sizeof *self);
    char *copy = strdup(peer);
    if (self == NULL || copy == NULL) {
        free(self);
        free(copy);
        close(descriptor);
        return ace_fail_memory(error);
    }
    self->stream.operations = &socket_operations;
    self->descriptor = descriptor;
    self->connecting = connecting;
    self->peer = copy;
    *stream = &self->stream;
    return ACE_OK;
}
