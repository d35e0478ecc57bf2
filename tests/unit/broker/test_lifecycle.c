/* Starting, sharing and ending a broker. */
#include "support/wire_client.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(a_named_broker_is_shared_and_ends_with_its_last_reference)
{
    ace_broker *first;
    ace_broker *second;
    ace_wire_client *client;

    ck_assert_int_eq(ace_broker_open_named("orders", &first, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_open_named("orders", &second, NULL), ACE_OK);
    ck_assert_ptr_eq(first, second);
    client = ace_wire_client_login(first);
    ace_wire_declare(client, "q", NULL);
    ace_wire_publish_text(client, "q", "x");
    ace_wire_wait_count(client, "q", 1);
    ace_wire_client_free(client);
    ace_broker_release(first);
    client = ace_wire_client_login(second);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 1);
    ace_wire_client_free(client);
    ace_broker_release(second);
    ck_assert_int_eq(ace_broker_open_named("orders", &first, NULL), ACE_OK);
    client = ace_wire_client_login(first);
    ck_assert_uint_eq(ace_wire_declare(client, "q", NULL), 0);
    ace_wire_client_free(client);
    ace_broker_release(first);
}
END_TEST

START_TEST(other_names_are_other_brokers)
{
    ace_broker *first;
    ace_broker *second;

    ck_assert_int_eq(ace_broker_open_named("a", &first, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_open_named("b", &second, NULL), ACE_OK);
    ck_assert_ptr_ne(first, second);
    ace_broker_release(first);
    ace_broker_release(second);
}
END_TEST

START_TEST(names_and_limits_are_checked)
{
    char name[257];
    ace_broker *broker = NULL;
    ace_error *error = NULL;
    ace_broker_options options;

    memset(name, 'n', 256);
    name[256] = '\0';
    ck_assert_int_eq(ace_broker_open_named(name, &broker, &error), ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error),
                     "the name of a memory broker has 256 bytes, not 1 to 255");
    ace_error_free(error);
    ck_assert_int_eq(ace_broker_open_named("", &broker, NULL), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(ace_broker_open_named(NULL, &broker, NULL), ACE_INVALID_ARGUMENT);
    ace_broker_options_init(&options);
    options.limits.frame_bytes = 4095;
    error = NULL;
    ck_assert_int_eq(ace_broker_start(&options, &broker, &error), ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_field_name(error), "frame bytes");
    ace_error_free(error);
    ck_assert_int_eq(ace_broker_attach(NULL, NULL, NULL), ACE_INVALID_ARGUMENT);
    ace_broker_release(NULL);
    ck_assert_ptr_null(broker);
}
END_TEST

START_TEST(releasing_ends_the_clients_that_are_left)
{
    ace_broker *broker;
    ace_wire_client *clients[5];

    ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
    ck_assert_ptr_eq(ace_broker_keep(broker), broker);
    for (int i = 0; i < 5; i++) {
        clients[i] = ace_wire_client_login(broker);
        ace_wire_declare(clients[i], "q", NULL);
        ace_wire_consume(clients[i], "q", "c", false);
    }
    for (int i = 0; i < 5; i++)
        ace_wire_publish_text(clients[0], "q", "x");
    for (int i = 0; i < 5; i++)
        ace_wire_expect(clients[i], AMQP_BASIC_DELIVER_METHOD);
    ace_broker_release(broker);
    ace_broker_release(broker);
    for (int i = 0; i < 5; i++) {
        ace_wire_expect_end(clients[i]);
        ace_wire_client_free(clients[i]);
    }
}
END_TEST

START_TEST(it_listens_on_tcp)
{
    ace_broker *broker;
    uint16_t port = 0;
    char greeting[8];
    struct sockaddr_in address = {.sin_family = AF_INET};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ace_error *error = NULL;

    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_listen(broker, "127.0.0.1", 0, &port, NULL), ACE_OK);
    ck_assert_uint_ne(port, 0);
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(descriptor, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(write(descriptor, "AMQP\0\0\x09\x01", 8), 8);
    ck_assert_int_eq(read(descriptor, greeting, 8), 8);
    ck_assert_mem_eq(greeting, "\1\0\0", 3);
    ck_assert_int_eq(ace_broker_listen(broker, "127.0.0.1", port, NULL, &error), ACE_SYSTEM);
    ace_error_free(error);
    ace_broker_release(broker);
    close(descriptor);
}
END_TEST

/* Reads to the end of what a client's stream holds; true when it ended. */
static bool ends(ace_wire_client *client)
{
    return !ace_wire_read(client);
}

START_TEST(a_forked_child_is_refused_and_gives_its_descriptors_up)
{
    ace_broker *broker;
    ace_wire_client *client;
    int status = 0;
    pid_t child;

    ck_assert_int_eq(ace_broker_open_named("forked", &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
    child = fork();
    if (child == 0) {
        ace_stream *stream = NULL;
        ace_broker *own = NULL;
        bool fine = ace_broker_attach(broker, &stream, NULL) == ACE_FORKED &&
                    ace_broker_listen(broker, "127.0.0.1", 0, NULL, NULL) == ACE_FORKED;

        ace_broker_release(broker);
        /* The name is the child's to use: a broker of its own, with a thread that runs. */
#ifdef __SANITIZE_THREAD__
        own = NULL; /* that sanitizer allows no thread in the child of a process with threads */
#else
        fine = fine && ace_broker_open_named("forked", &own, NULL) == ACE_OK && own != broker;
#endif
        if (fine && own) {
            ace_wire_client *other = ace_wire_client_login(own);

            ace_wire_declare(other, "q", NULL);
            ace_wire_client_free(other);
            ace_broker_release(own);
        }
        usleep(300000);
        _exit(fine ? 0 : 1);
    }
    ck_assert_int_gt(child, 0);
    /* The parent goes on as if nothing had been, and its end reaches its clients while the child
     * lives. */
    ck_assert_uint_eq(ace_wire_declare(client, "q", NULL), 0);
    usleep(100000);
    ace_broker_release(broker);
    ck_assert(ends(client));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(many_brokers_come_and_go)
{
    for (int i = 0; i < 200; i++) {
        ace_broker *broker;
        ace_stream *stream = NULL;

        ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
        ck_assert_int_eq(ace_broker_attach(broker, &stream, NULL), ACE_OK);
        ace_broker_release(broker);
        ace_stream_close(stream);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lifecycle");
    TCase *tcase = tcase_create("lifecycle");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_named_broker_is_shared_and_ends_with_its_last_reference);
    tcase_add_test(tcase, other_names_are_other_brokers);
    tcase_add_test(tcase, names_and_limits_are_checked);
    tcase_add_test(tcase, releasing_ends_the_clients_that_are_left);
    tcase_add_test(tcase, it_listens_on_tcp);
    tcase_add_test(tcase, a_forked_child_is_refused_and_gives_its_descriptors_up);
    tcase_add_test(tcase, many_brokers_come_and_go);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
