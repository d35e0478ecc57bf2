/* TCP on the loopback. */
#include "transport/tcp.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ace_listener *listener;

static void setup(void)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_listener_open("127.0.0.1", 0, &listener, &error), ACE_OK);
}

static void teardown(void)
{
    ace_listener_close(listener);
}

static ace_stream_state establish(ace_stream *stream, ace_error **error)
{
    for (;;) {
        ace_stream_state state = ace_stream_establish(stream, error);
        if (state != ACE_STREAM_BLOCKED) {
            return state;
        }
        struct pollfd wait = {ace_stream_descriptor(stream),
                              ace_stream_events(stream, false, false), 0};
        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    }
}

static ace_stream *accept_one(void)
{
    struct pollfd wait = {ace_listener_descriptor(listener), POLLIN, 0};
    ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    ace_stream *stream = NULL;
    ck_assert_int_eq(ace_listener_accept(listener, &stream, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_establish(stream, NULL), ACE_STREAM_READY);
    return stream;
}

static ace_stream *connect_to(const char *host, uint16_t port)
{
    ace_address_list *list = NULL;
    ace_stream *stream = NULL;
    ck_assert_int_eq(ace_address_resolve(host, port, &list, NULL), ACE_OK);
    ck_assert_int_eq(ace_tcp_connect(&list->addresses[0], list->name, NULL, &stream, NULL), ACE_OK);
    ace_address_list_free(list);
    return stream;
}

static size_t read_wait(ace_stream *stream, void *data, size_t size)
{
    size_t moved;
    ace_stream_state state;
    while ((state = ace_stream_read(stream, data, size, &moved, NULL)) == ACE_STREAM_BLOCKED) {
        struct pollfd wait = {ace_stream_descriptor(stream), POLLIN, 0};
        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    }
    ck_assert(state == ACE_STREAM_READY || state == ACE_STREAM_END);
    return moved;
}

static int option_of(int descriptor, int level, int name)
{
    int value = 0;
    socklen_t length = sizeof value;
    ck_assert_int_eq(getsockopt(descriptor, level, name, &value, &length), 0);
    return value;
}

static void check_socket(const ace_stream *stream)
{
    int descriptor = ace_stream_descriptor(stream);
    ck_assert_int_ne(option_of(descriptor, IPPROTO_TCP, TCP_NODELAY), 0);
    ck_assert_int_ne(option_of(descriptor, SOL_SOCKET, SO_KEEPALIVE), 0);
    ck_assert_int_eq(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    ck_assert_int_eq(fcntl(descriptor, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

START_TEST(a_client_connects_writes_and_ends)
{
    char expected[64];
    snprintf(expected, sizeof expected, "127.0.0.1:%u", ace_listener_port(listener));
    ck_assert_str_eq(ace_listener_name(listener), expected);
    ace_stream *none = NULL;
    ck_assert_int_eq(ace_listener_accept(listener, &none, NULL), ACE_STREAM_BLOCKED);
    ace_stream *client = connect_to("127.0.0.1", ace_listener_port(listener));
    ck_assert_str_eq(ace_stream_peer(client), expected);
    ck_assert_int_eq(establish(client, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_establish(client, NULL), ACE_STREAM_READY);
    ace_stream *server = accept_one();
    check_socket(client);
    check_socket(server);
    ck_assert_ptr_nonnull(strstr(ace_stream_peer(server), "127.0.0.1:"));
    size_t moved;
    struct iovec parts[2] = {{"AM", 2}, {"QP", 2}};
    ck_assert_int_eq(ace_stream_write(client, parts, 2, &moved, NULL), ACE_STREAM_READY);
    char got[8];
    ck_assert_uint_eq(read_wait(server, got, sizeof got), 4);
    ck_assert_mem_eq(got, "AMQP", 4);
    ace_stream_finish(client);
    ck_assert_uint_eq(read_wait(server, got, sizeof got), 0);
    ck_assert_int_eq(ace_stream_write(server, parts, 1, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(read_wait(client, got, sizeof got), 2);
    ace_stream_close(client);
    ace_stream_close(server);
}
END_TEST

START_TEST(before_it_is_established_a_stream_is_blocked)
{
    ace_stream *client = connect_to("127.0.0.1", ace_listener_port(listener));
    size_t moved;
    char got[4];
    struct iovec part = {"x", 1};
    ck_assert_int_eq(ace_stream_read(client, got, 4, &moved, NULL), ACE_STREAM_BLOCKED);
    ck_assert_int_eq(ace_stream_write(client, &part, 1, &moved, NULL), ACE_STREAM_BLOCKED);
    ck_assert_int_eq(ace_stream_events(client, true, false), POLLOUT);
    ck_assert_int_eq(establish(client, NULL), ACE_STREAM_READY);
    ck_assert_int_eq(ace_stream_events(client, true, false), POLLIN);
    ace_stream_close(client);
}
END_TEST

START_TEST(a_peer_that_resets_is_a_lost_connection_with_its_name)
{
    ace_stream *client = connect_to("127.0.0.1", ace_listener_port(listener));
    ck_assert_int_eq(establish(client, NULL), ACE_STREAM_READY);
    ace_stream *server = accept_one();
    struct linger hard = {1, 0};
    ck_assert_int_eq(
        setsockopt(ace_stream_descriptor(server), SOL_SOCKET, SO_LINGER, &hard, sizeof hard), 0);
    ace_stream_abandon(server); /* without the shutdown, so that it is a reset */
    struct pollfd wait = {ace_stream_descriptor(client), POLLIN, 0};
    ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    char got[4];
    size_t moved;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_stream_read(client, got, 4, &moved, &error), ACE_STREAM_FAILED);
    ck_assert_int_eq(ace_error_code(error), ACE_CONNECTION_LOST);
    char expected[100];
    snprintf(expected, sizeof expected, "reading from 127.0.0.1:%u: Connection reset by peer",
             ace_listener_port(listener));
    ck_assert_str_eq(ace_error_message(error), expected);
    ace_error_free(error);
    ace_stream_close(client);
}
END_TEST

START_TEST(a_port_where_nobody_listens_is_refused_with_host_and_port)
{
    uint16_t port = ace_listener_port(listener);
    ace_listener_close(listener);
    listener = NULL;
    ace_address_list *list = NULL;
    ck_assert_int_eq(ace_address_resolve("127.0.0.1", port, &list, NULL), ACE_OK);
    ace_stream *stream = NULL;
    ace_error *error = NULL;
    if (ace_tcp_connect(&list->addresses[0], "broker.example:5672", NULL, &stream, &error) ==
        ACE_OK) {
        ck_assert_int_eq(establish(stream, &error), ACE_STREAM_FAILED);
        ace_stream_close(stream);
    }
    ck_assert_int_eq(ace_error_code(error), ACE_UNREACHABLE);
    char expected[200];
    char number[ACE_ADDRESS_TEXT_MAX];
    ace_address_format(&list->addresses[0], number);
    snprintf(expected, sizeof expected,
             "cannot connect to broker.example:5672 (%s): Connection refused", number);
    ck_assert_str_eq(ace_error_message(error), expected);
    ace_error_free(error);
    ace_address_list_free(list);
}
END_TEST

/* Binds the client's own side to the port it connects to, as the kernel does by chance. */
START_TEST(a_socket_connected_to_itself_is_a_refused_connection)
{
    uint16_t port = ace_listener_port(listener);
    ace_listener_close(listener);
    listener = NULL;
    ace_address_list *list = NULL;
    ck_assert_int_eq(ace_address_resolve("127.0.0.1", port, &list, NULL), ACE_OK);
    ace_stream *stream = NULL;
    ace_error *error = NULL;
    /* ace_tcp_connect() picks no port, so connect its socket again from a bound one. */
    int bound = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(bound, 0);
    int on = 1;
    ck_assert_int_eq(setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    ck_assert_int_eq(bind(bound, &list->addresses[0].socket.any, list->addresses[0].length), 0);
    ck_assert_int_eq(ace_tcp_connect(&list->addresses[0], list->name, NULL, &stream, NULL), ACE_OK);
    ck_assert_int_eq(dup3(bound, ace_stream_descriptor(stream), O_CLOEXEC),
                     ace_stream_descriptor(stream));
    close(bound);
    int connected = connect(ace_stream_descriptor(stream), &list->addresses[0].socket.any,
                            list->addresses[0].length);
    ck_assert(connected == 0 || errno == EINPROGRESS);
    ck_assert_int_eq(establish(stream, &error), ACE_STREAM_FAILED);
    ck_assert_int_eq(ace_error_code(error), ACE_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "Connection refused"));
    ace_error_free(error);
    ace_stream_close(stream);
    ace_address_list_free(list);
}
END_TEST

START_TEST(a_taken_port_is_an_error_with_its_name)
{
    ace_listener *second = NULL;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_listener_open("127.0.0.1", ace_listener_port(listener), &second, &error),
                     ACE_SYSTEM);
    char expected[100];
    snprintf(expected, sizeof expected, "listening on 127.0.0.1:%u: Address already in use",
             ace_listener_port(listener));
    ck_assert_str_eq(ace_error_message(error), expected);
    ace_error_free(error);
    uint16_t port = ace_listener_port(listener);
    ace_listener_close(listener);
    ck_assert_int_eq(ace_listener_open("127.0.0.1", port, &listener, &error), ACE_OK);
}
END_TEST

START_TEST(accepted_streams_outlive_their_listener)
{
    ace_stream *client = connect_to("127.0.0.1", ace_listener_port(listener));
    ck_assert_int_eq(establish(client, NULL), ACE_STREAM_READY);
    ace_stream *server = accept_one();
    ace_listener_close(listener);
    listener = NULL;
    size_t moved;
    struct iovec part = {"x", 1};
    char got[4];
    ck_assert_int_eq(ace_stream_write(client, &part, 1, &moved, NULL), ACE_STREAM_READY);
    ck_assert_uint_eq(read_wait(server, got, sizeof got), 1);
    ace_stream_close(client);
    ace_stream_close(server);
}
END_TEST

static void check_resolve(const char *host, uint16_t port, ace_code code, const char *message)
{
    ace_address_list *list = NULL;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_address_resolve(host, port, &list, &error), code);
    ck_assert_msg(strncmp(ace_error_message(error), message, strlen(message)) == 0, "%s",
                  ace_error_message(error));
    ck_assert_ptr_null(list);
    ace_error_free(error);
}

START_TEST(what_does_not_resolve_is_said_with_host_and_port)
{
    check_resolve("no-such-host.invalid", 5672, ACE_UNREACHABLE,
                  "cannot resolve no-such-host.invalid (port 5672): ");
    check_resolve("", 5672, ACE_INVALID_ARGUMENT, "host is empty");
    check_resolve("[]", 5672, ACE_INVALID_ARGUMENT, "host is empty");
    check_resolve("127.0.0.1", 0, ACE_INVALID_ARGUMENT, "port is 0, it must be from 1 to 65535");
    char host[257];
    memset(host, 'h', 256);
    host[256] = '\0';
    check_resolve(host, 5672, ACE_LIMIT, "host has 256 bytes, the limit is 255");
}
END_TEST

START_TEST(literals_resolve_to_themselves)
{
    ace_address_list *list = NULL;
    ck_assert_int_eq(ace_address_resolve("127.0.0.2", 5672, &list, NULL), ACE_OK);
    ck_assert_uint_eq(list->count, 1);
    ck_assert_str_eq(list->name, "127.0.0.2:5672");
    ck_assert_uint_eq(ace_address_port(&list->addresses[0]), 5672);
    ace_address_list *other = NULL;
    ck_assert_int_eq(ace_address_resolve("[::1]", 5671, &other, NULL), ACE_OK);
    ck_assert_str_eq(other->name, "[::1]:5671");
    char text[ACE_ADDRESS_TEXT_MAX];
    ace_address_format(&other->addresses[0], text);
    ck_assert_str_eq(text, "[::1]:5671");
    ck_assert(ace_address_equal(&other->addresses[0], &other->addresses[0]));
    ck_assert(!ace_address_equal(&other->addresses[0], &list->addresses[0]));
    ace_address_list_free(list);
    ace_address_list_free(other);
    ace_address_list_free(NULL);
    ace_listener_close(NULL);
    ace_listener_abandon(NULL);
}
END_TEST

START_TEST(a_peer_that_vanishes_is_noticed_as_the_options_say)
{
    const struct {
        const ace_tcp_options *given;
        int keepalive;
        int idle;
        int interval;
        int count;
        int user_timeout;
    } rows[] = {
        {NULL, 1, 60, 10, 6, 120000},
        {&(ace_tcp_options){7, 3, 2, 4500}, 1, 7, 3, 2, 4500},
        {&(ace_tcp_options){0, 1, 1, 0}, 0, -1, -1, -1, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ace_address_list *list = NULL;
        ace_stream *stream = NULL;
        ck_assert_int_eq(ace_address_resolve("127.0.0.1", ace_listener_port(listener), &list, NULL),
                         ACE_OK);
        ck_assert_int_eq(
            ace_tcp_connect(&list->addresses[0], list->name, rows[i].given, &stream, NULL), ACE_OK);
        int descriptor = ace_stream_descriptor(stream);
        ck_assert_int_eq(option_of(descriptor, SOL_SOCKET, SO_KEEPALIVE), rows[i].keepalive);
        ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT),
                         rows[i].user_timeout);
        if (rows[i].idle >= 0) {
            ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), rows[i].idle);
            ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_KEEPINTVL), rows[i].interval);
            ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_KEEPCNT), rows[i].count);
        }
        ace_stream_close(stream);
        ace_address_list_free(list);
    }
}
END_TEST

START_TEST(a_broker_that_does_not_read_for_now_has_all_the_time_it_wants)
{
    const ace_tcp_options options = {60, 10, 6, 4500};
    ace_stream *stream = connect_to("127.0.0.1", ace_listener_port(listener));
    int descriptor = ace_stream_descriptor(stream);
    ace_tcp_set_patient(descriptor, true, &options);
    ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    ace_tcp_set_patient(descriptor, false, &options);
    ck_assert_int_eq(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 4500);
    ace_stream_close(stream);
}
END_TEST

static Suite *tcp_suite(void)
{
    Suite *suite = suite_create("tcp");
    TCase *loopback = tcase_create("tcp");
    tcase_set_timeout(loopback, 60);
    tcase_add_checked_fixture(loopback, setup, teardown);
    tcase_add_test(loopback, a_client_connects_writes_and_ends);
    tcase_add_test(loopback, before_it_is_established_a_stream_is_blocked);
    tcase_add_test(loopback, a_peer_that_resets_is_a_lost_connection_with_its_name);
    tcase_add_test(loopback, a_port_where_nobody_listens_is_refused_with_host_and_port);
    tcase_add_test(loopback, a_socket_connected_to_itself_is_a_refused_connection);
    tcase_add_test(loopback, a_taken_port_is_an_error_with_its_name);
    tcase_add_test(loopback, accepted_streams_outlive_their_listener);
    tcase_add_test(loopback, what_does_not_resolve_is_said_with_host_and_port);
    tcase_add_test(loopback, a_peer_that_vanishes_is_noticed_as_the_options_say);
    tcase_add_test(loopback, a_broker_that_does_not_read_for_now_has_all_the_time_it_wants);
    tcase_add_test(loopback, literals_resolve_to_themselves);
    suite_add_tcase(suite, loopback);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(tcp_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
