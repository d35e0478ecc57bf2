#include "transport/tcp.h"

#include "transport/socket_stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const ace_tcp_options defaults = ACE_TCP_OPTIONS_DEFAULT;

static bool set(int descriptor, int level, int name, int value)
{
    return setsockopt(descriptor, level, name, &value, sizeof value) == 0;
}

bool ace_tcp_set_options(int descriptor, const ace_tcp_options *options)
{
    if (options == NULL) {
        options = &defaults;
    }
    if (!set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1) ||
        !set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options->user_timeout)) {
        return false;
    }
    if (options->keepalive_idle == 0) {
        return set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 0);
    }
    return set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, options->keepalive_idle) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, options->keepalive_interval) &&
           set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, options->keepalive_count);
}

void ace_tcp_set_patient(int descriptor, bool patient, const ace_tcp_options *options)
{
    (void)set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, patient ? 0 : options->user_timeout);
}

/* "broker.example:5672 (192.0.2.7:5672)"; the address once where the name is the address. */
static void describe(const ace_address *address, const char *name, char *text, size_t size)
{
    char number[ACE_ADDRESS_TEXT_MAX];
    ace_address_format(address, number);
    if (strcmp(name, number) == 0) {
        snprintf(text, size, "%s", name);
    } else {
        snprintf(text, size, "%s (%s)", name, number);
    }
}

static ace_code fail(ace_error **error, ace_code code, const char *peer, int error_number)
{
    char space[128];
    return ace_fail(error, code, "cannot connect to %s: %s", peer,
                    strerror_r(error_number, space, sizeof space));
}

ace_code ace_tcp_connect(const ace_address *address, const char *name,
                         const ace_tcp_options *options, ace_stream **stream, ace_error **error)
{
    char peer[512];
    describe(address, name, peer, sizeof peer);
    int descriptor = socket(address->socket.any.sa_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) {
        /* A family this machine does not have is an address that does not answer; the next may. */
        return fail(error, errno == EAFNOSUPPORT ? ACE_UNREACHABLE : ACE_SYSTEM, peer, errno);
    }
    int status = ace_tcp_set_options(descriptor, options)
                     ? connect(descriptor, &address->socket.any, address->length)
                     : -1;
    if (status < 0 && errno != EINPROGRESS && errno != EINTR) {
        ace_code code = fail(error, ACE_UNREACHABLE, peer, errno);
        close(descriptor);
        return code;
    }
    return ace_socket_stream_open(descriptor, peer, true, stream, error);
}
