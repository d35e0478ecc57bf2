#include "support/trial_foreign.h"

#include <amqp_tcp_socket.h>
#include <check.h>

static void must(amqp_rpc_reply_t reply, const char *what)
{
    ck_assert_msg(reply.reply_type == AMQP_RESPONSE_NORMAL, "the foreign client's %s failed: %s",
                  what, amqp_error_string2(reply.library_error));
}

static amqp_connection_state_t log_in(int port, const char *user, const char *password)
{
    amqp_connection_state_t state = amqp_new_connection();
    ck_assert_ptr_nonnull(state);
    amqp_socket_t *socket = amqp_tcp_socket_new(state);
    ck_assert_ptr_nonnull(socket);
    ck_assert_int_eq(amqp_socket_open(socket, "127.0.0.1", port), AMQP_STATUS_OK);
    must(amqp_login(state, "/", 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, user, password), "login");
    amqp_channel_open(state, 1);
    must(amqp_get_rpc_reply(state), "channel.open");
    return state;
}

void trial_foreign_publish(int port, const char *user, const char *password, const char *queue,
                           const amqp_basic_properties_t *properties, const char *body)
{
    amqp_connection_state_t state = log_in(port, user, password);
    ck_assert_int_eq(amqp_basic_publish(state, 1, amqp_empty_bytes, amqp_cstring_bytes(queue), 1, 0,
                                        properties, amqp_cstring_bytes(body)),
                     AMQP_STATUS_OK);
    /* The broker answers in order: once the channel is closed it has the message. */
    must(amqp_channel_close(state, 1, AMQP_REPLY_SUCCESS), "publish");
    must(amqp_connection_close(state, AMQP_REPLY_SUCCESS), "goodbye");
    ck_assert_int_eq(amqp_destroy_connection(state), AMQP_STATUS_OK);
}
