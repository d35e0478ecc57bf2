#include "transport/pair.h"

#include "transport/socket_stream.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

ace_code ace_pair_open(const char *name, ace_stream **near, ace_stream **far, ace_error **error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
        return ace_fail_system(error, errno, "making a pair of sockets");
    }
    ace_stream *first = NULL;
    ace_code code = ace_socket_stream_open(ends[0], name, false, &first, error);
    if (code != ACE_OK) {
        close(ends[1]);
        return code;
    }
    code = ace_socket_stream_open(ends[1], name, false, far, error);
    if (code != ACE_OK) {
        ace_stream_close(first);
        return code;
    }
    *near = first;
    return ACE_OK;
}
