/*
 * What a client is told that cannot get in: an error of its own for each reason, in time, and no
 * password in it.
 */
#include "support/trial_proxy.h"
#include "support/trial_recorder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE (20 * ACEMQ_SECOND)
#define SECRET   "Pa55-w0rd"

/* Connecting fails with this code, within its timeout, saying `says` and never the password. */
static void is_refused(const char *url, int64_t timeout, acemq_status code, const char *says)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_connection *mq = NULL;
    options.timeout = timeout;
    int64_t before = trial_now();
    trial_must_fail(code, acemq_connect(url, &options, &mq, trial_error()));
    int64_t took = trial_now() - before;
    ck_assert_msg(took <= timeout + 1500, "it took %ld ms, the timeout is %ld", (long)took,
                  (long)timeout);
    ck_assert_ptr_null(mq);
    trial_error_says(says);
    const char *message = acemq_error_message(trial_last_error());
    ck_assert_msg(strstr(message, SECRET) == NULL, "the password is in \"%s\"", message);
    ck_assert_msg(strchr(message, '\n') == NULL, "two lines: %s", message);
}

static int closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(taken, 0);
    ck_assert_int_eq(bind(taken, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(getsockname(taken, (struct sockaddr *)&address, &length), 0);
    close(taken);
    return ntohs(address.sin_port);
}

START_TEST(nobody_listens)
{
    char url[128], port[16];
    snprintf(port, sizeof port, "%d", closed_port());
    snprintf(url, sizeof url, "amqp://guest:" SECRET "@127.0.0.1:%s/", port);
    is_refused(url, 2000, ACEMQ_E_UNREACHABLE, port);
    ck_assert_int_eq(acemq_error_is_retriable(trial_last_error()), 1);
}
END_TEST

START_TEST(no_such_host)
{
    is_refused("amqp://guest:" SECRET "@no-such-host.invalid/", 5000, ACEMQ_E_UNREACHABLE,
               "no-such-host.invalid");
}
END_TEST

START_TEST(a_host_that_takes_the_connection_and_says_nothing)
{
    char url[128];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(silent, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(silent, 8), 0);
    ck_assert_int_eq(getsockname(silent, (struct sockaddr *)&address, &length), 0);
    snprintf(url, sizeof url, "amqp://guest:" SECRET "@127.0.0.1:%d/", ntohs(address.sin_port));
    is_refused(url, 700, ACEMQ_E_TIMEOUT, "127.0.0.1");
    ck_assert_int_eq(acemq_error_is_timeout(trial_last_error()), 1);
    close(silent);
}
END_TEST

START_TEST(the_wrong_password)
{
    trial self;
    char url[128];
    trial_begin_listening(&self, _i);
    snprintf(url, sizeof url, "amqp://guest:" SECRET "@127.0.0.1:%d/", trial_port(&self));
    is_refused(url, 5000, ACEMQ_E_LOGIN_REFUSED, "guest");
    ck_assert_int_eq(acemq_error_is_fatal(trial_last_error()), 1);
    snprintf(url, sizeof url, "amqp://nobody:" SECRET "@127.0.0.1:%d/", trial_port(&self));
    is_refused(url, 5000, ACEMQ_E_LOGIN_REFUSED, "nobody");
    trial_end(&self);
}
END_TEST

START_TEST(the_vhost_is_missing)
{
    trial self;
    char url[128];
    trial_begin_listening(&self, _i);
    snprintf(url, sizeof url, "amqp://guest:%s@127.0.0.1:%d/no-such-vhost",
             trial_password(trial_port(&self)), trial_port(&self));
    is_refused(url, 5000, ACEMQ_E_VHOST_REFUSED, "no-such-vhost");
    ck_assert_int_eq(acemq_error_is_fatal(trial_last_error()), 1);
    trial_end(&self);
}
END_TEST

START_TEST(urls_that_do_not_read)
{
    static const struct {
        const char *url;
        acemq_status code;
    } cases[] = {
        {"", ACEMQ_E_PARSE},
        {"guest:" SECRET "@127.0.0.1", ACEMQ_E_PARSE},
        {"http://guest:" SECRET "@127.0.0.1/", ACEMQ_E_PARSE},
        {"amqp://guest:" SECRET "@127.0.0.1:0/", ACEMQ_E_INVALID_ARGUMENT},
        {"amqp://guest:" SECRET "@127.0.0.1:65536/", ACEMQ_E_INVALID_ARGUMENT},
        {"amqp://guest:" SECRET "%zz@127.0.0.1/", ACEMQ_E_PARSE},
        {"amqp://guest:" SECRET "@127.0.0.1/%00", ACEMQ_E_PARSE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_refused(cases[i].url, 2000, cases[i].code, "url");
        ck_assert_int_eq(acemq_error_is_fatal(trial_last_error()), 1);
    }
}
END_TEST

static void *fire_soon(void *user)
{
    trial_sleep(300);
    acemq_cancel_fire(user);
    return NULL;
}

START_TEST(connecting_is_cancelled_from_another_thread)
{
    char url[128];
    acemq_cancel *cancel = NULL;
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    pthread_t firing;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(silent, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(silent, 8), 0);
    ck_assert_int_eq(getsockname(silent, (struct sockaddr *)&address, &length), 0);
    snprintf(url, sizeof url, "amqp://127.0.0.1:%d", ntohs(address.sin_port));
    trial_must(acemq_cancel_new(&cancel, trial_error()));
    options.cancel = cancel;
    int64_t before = trial_now();
    ck_assert_int_eq(pthread_create(&firing, NULL, fire_soon, cancel), 0);
    trial_must_fail(ACEMQ_E_CANCELLED, acemq_connect(url, &options, &mq, trial_error()));
    ck_assert_int_lt(trial_now() - before, 8000);
    pthread_join(firing, NULL);
    acemq_cancel_free(cancel);
    close(silent);
}
END_TEST

/* A line that is cut comes back by itself, consumers and all, and says so. */
static trial_pass pass_on(trial_frame *frame, void *user)
{
    atomic_bool *cutting = user;
    (void)frame;
    return atomic_load(cutting) ? TRIAL_CUT : TRIAL_FORWARD;
}

START_TEST(a_line_that_is_cut_comes_back)
{
    trial self;
    trial_recorder seen;
    atomic_bool cutting = false;
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.heartbeat = 1000;
    options.reconnect_initial = 50;
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    trial_proxy *proxy = trial_proxy_start(trial_port(&self), pass_on, &cutting);
    trial_must(acemq_connect(trial_proxy_url(proxy), &options, &mq, trial_error()));
    trial_record(&seen, mq, queue, NULL, NULL, trial_accept, NULL);
    for (int round = 0; round < 3; round++) {
        char id[16];
        snprintf(id, sizeof id, "round-%d", round);
        int before = trial_proxy_links(proxy);
        atomic_store(&cutting, true);
        while (acemq_consumer_subscribed(seen.consumer) == 1) {
            trial_sleep(10);
        }
        atomic_store(&cutting, false);
        trial_publish_text(&self, queue, id);
        trial_wait_text(&seen, id, PATIENCE);
        ck_assert_int_gt(trial_proxy_links(proxy), before);
        acemq_message *message = acemq_message_text("after");
        trial_must(acemq_publish(mq, trial_derived(&self, queue, ".dlq"), message, PATIENCE,
                                 trial_error()));
        acemq_message_free(message);
    }
    ck_assert_int_eq(acemq_connection_get_state(mq, NULL), ACEMQ_CONNECTION_OPEN);
    trial_record_end(&seen);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connecting");
    TCase *cases = tcase_create("connecting");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, nobody_listens);
    tcase_add_test(cases, no_such_host);
    tcase_add_test(cases, a_host_that_takes_the_connection_and_says_nothing);
    tcase_add_test(cases, urls_that_do_not_read);
    tcase_add_test(cases, connecting_is_cancelled_from_another_thread);
    tcase_add_loop_test(cases, the_wrong_password, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, the_vhost_is_missing, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_line_that_is_cut_comes_back, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
