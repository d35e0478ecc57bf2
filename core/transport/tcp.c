#include "transport/tcp.h"

#include "transport/socket_stream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that vanished is noticed within two minutes even where heartbeats are off. */
#define KEEPALIVE_IDLE     60
#define KEEPALIVE_INTERVAL 10
#define KEEPALIVE_COUNT    6

bool ace_tcp_set_options(int descriptor)
{
    const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (setsockopt(descriptor, options[i].level, options[i].name, &options[i].value,
                       sizeof options[i].value) < 0) {
            return false;
        }
    }
    return true;
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

ace_code ace_tcp_connect(const ace_address *address, const char *name, ace_stream **stream,
                         ace_error **error)
{
    char peer[512];
    describe(address, name, peer, sizeof peer);
    int descriptor = socket(address->socket.any.sa_family,
                            SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) {
        /* A family this machine does not have is an address that does not answer; the next may. */
        return fail(error, errno == EAFNOSUPPORT ? ACE_UNREACHABLE : ACE_SYSTEM, peer, errno);
    }
    int status = ace_tcp_set_options(descriptor)
                     ? connect(descriptor, &address->socket.any, address->length)
                     : -1;
    if (status < 0 && errno != EINPROGRESS && errno != EINTR) {
        ace_code code = fail(error, ACE_UNREACHABLE, peer, errno);
        close(descriptor);
        return code;
    }
    return ace_socket_stream_open(descriptor, peer, true, stream, error);
}
