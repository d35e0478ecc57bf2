#include "reference.h"

#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reference_check(int status, const char *what)
{
    if (status != AMQP_STATUS_OK) {
        bench_fail("%s: %s", what, amqp_error_string2(status));
    }
}

void reference_check_reply(amqp_connection_state_t connection, const char *what)
{
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(connection);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
        bench_fail("%s: %s", what, amqp_error_string2(reply.library_error));
    }
}

amqp_connection_state_t reference_connect(const bench_options *options)
{
    struct amqp_connection_info where;
    char *url = strdup(options->url);
    if (url == NULL || amqp_parse_url(url, &where) != AMQP_STATUS_OK) {
        bench_fail("the URL cannot be read");
    }
    /* It reads the path of `amqp://host/` as a vhost without a name. */
    const char *vhost = where.vhost[0] == '\0' ? "/" : where.vhost;
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (socket == NULL) {
        bench_fail("no memory for a socket");
    }
    reference_check(amqp_socket_open(socket, where.host, where.port), "connect");
    amqp_rpc_reply_t reply = amqp_login(connection, vhost, 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                                        where.user, where.password);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
        bench_fail("the login was refused");
    }
    (void)amqp_channel_open(connection, REFERENCE_CHANNEL);
    reference_check_reply(connection, "channel.open");
    free(url);
    return connection;
}

void reference_disconnect(amqp_connection_state_t connection)
{
    (void)amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
    reference_check(amqp_destroy_connection(connection), "close");
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(const bench_options *options);
    } all[] = {
        {"publish", reference_publish}, {"consume", reference_consume},
        {"latency", reference_latency}, {"waiting", reference_waiting},
        {"claims", reference_claims},
    };
    bench_options options = bench_read_options(count, arguments);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].name, options.what) == 0) {
            all[i].run(&options);
            return 0;
        }
    }
    (void)fprintf(stderr, "%s is not known\n", options.what);
    return 2;
}
