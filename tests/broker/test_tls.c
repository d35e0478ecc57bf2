/* TLS against RabbitMQ: what works, and an error of its own for each thing that does not. */
#include "support/broker_control.h"
#include "support/certificates.h"
#include "support/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE (60 * ACEMQ_SECOND)
#define BIG      ((size_t)8 * 1024 * 1024)

enum { SERVER, SERVER_CLIENT, EXPIRED, WRONG_HOST, UNKNOWN, PORTS };

static certificates made;
static int ports[PORTS];
static char password[128];

/* Once for all tests: each call of the broker's tool takes seconds. */
static void open_ports(void)
{
    certificates_make(&made);
    char *urls = broker_control("tls", made.folder, "server", "server:client", "expired",
                                "wrong-host", "unknown", NULL);
    char *rest = urls;
    for (int i = 0; i < PORTS; i++) {
        char *line = strsep(&rest, "\n");
        ck_assert_ptr_nonnull(line);
        ck_assert_int_eq(sscanf(line, "amqps://guest:%127[^@]@127.0.0.1:%d/", password, &ports[i]),
                         2);
    }
    free(urls);
}

static void remove_certificates(void)
{
    certificates_remove(&made);
}

static const char *path(const char *file)
{
    return certificates_path(&made, file);
}

static const char *url_of(const char *scheme, int port)
{
    static char url[256];
    (void)snprintf(url, sizeof url, "%s://guest:%s@127.0.0.1:%d/", scheme, password, port);
    return url;
}

static acemq_connect_options trusting(const char *client)
{
    static char files[3][128];
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    (void)snprintf(files[0], sizeof files[0], "%s", path("ca.pem"));
    options.ca_file = files[0];
    options.timeout = PATIENCE;
    if (client != NULL) {
        (void)snprintf(files[1], sizeof files[1], "%s/%s.pem", made.folder, client);
        (void)snprintf(files[2], sizeof files[2], "%s/%s.key", made.folder, client);
        options.certificate_file = files[1];
        options.key_file = files[2];
    }
    return options;
}

static void fill(char *body, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        body[i] = (char)(i * 2654435761u >> 13);
    }
}

/* There and back over the connection. */
static void bring_over(acemq_connection *mq, const char *queue, size_t length)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    char *body = malloc(length);
    ck_assert_ptr_nonnull(body);
    fill(body, length);
    acemq_message *message = acemq_message_new(body, length);
    trial_must(acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    trial_must(acemq_consumer_open(mq, queue, NULL, &consumer, trial_error()));
    trial_must(acemq_consumer_next(consumer, PATIENCE, &delivery, trial_error()));
    acemq_bytes received = acemq_delivery_body(delivery);
    ck_assert_uint_eq(received.length, length);
    ck_assert_mem_eq(received.data, body, length);
    trial_must(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, trial_error()));
    acemq_delivery_free(delivery);
    trial_must(acemq_consumer_drain(consumer, PATIENCE, NULL, trial_error()));
    acemq_consumer_free(consumer);
    acemq_message_free(message);
    free(body);
}

static acemq_connection *connect_to(int port, const acemq_connect_options *options)
{
    acemq_connection *mq = NULL;
    trial_must(acemq_connect(url_of("amqps", port), options, &mq, trial_error()));
    return mq;
}

START_TEST(eight_mebibytes_go_there_and_back)
{
    trial self;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "tls", ACEMQ_QUEUE_CLASSIC);
    bool with_certificate = _i == SERVER_CLIENT;
    acemq_connect_options options = trusting(with_certificate ? "client" : NULL);
    acemq_connection *mq = connect_to(ports[_i], &options);
    bring_over(mq, queue, BIG);
    trial_close(mq);
    trial_end(&self);
}
END_TEST

/* All that came in on that port. Others come and go meanwhile, and one that has gone answers with
 * an exception. */
static void cut_connections(int port)
{
    char program[512];
    (void)snprintf(program, sizeof program,
                   "[catch rabbit_networking:close_connection(C, \"cut by the test\") || C <- "
                   "rabbit_networking:connections(), (catch rabbit_networking:connection_info(C, "
                   "[port])) =:= [{port, %d}]].",
                   port);
    free(broker_control_ctl("eval", program, NULL));
}

static void await_event(acemq_connection *mq, acemq_connection_state state)
{
    int64_t reached = 0;
    while (reached != state) {
        acemq_event *event = NULL;
        trial_must(acemq_connection_next_event(mq, PATIENCE, &event, trial_error()));
        reached = acemq_event_number(event);
        acemq_event_free(event);
    }
}

START_TEST(a_connection_that_was_lost_comes_back_with_tls)
{
    trial self;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *queue = trial_queue(&self, "tls", ACEMQ_QUEUE_CLASSIC);
    acemq_connect_options options = trusting("client");
    options.events = UINT64_C(1) << ACEMQ_EVENT_CONNECTION;
    options.reconnect_initial = 50;
    acemq_connection *mq = connect_to(ports[SERVER_CLIENT], &options);
    cut_connections(ports[SERVER_CLIENT]);
    await_event(mq, ACEMQ_CONNECTION_RECONNECTING);
    await_event(mq, ACEMQ_CONNECTION_OPEN);
    bring_over(mq, queue, 100000);
    trial_close(mq);
    trial_end(&self);
}
END_TEST

static const struct {
    const char *scheme;
    int port; /* one of ours; -1: RabbitMQ's plain one */
    const char *client;
    acemq_status status;
} refusals[] = {
    {"amqps", EXPIRED, NULL, ACEMQ_E_TLS_EXPIRED},
    {"amqps", WRONG_HOST, NULL, ACEMQ_E_TLS_NAME},
    {"amqps", UNKNOWN, NULL, ACEMQ_E_TLS_UNTRUSTED},
    {"amqps", SERVER_CLIENT, NULL, ACEMQ_E_TLS_CLIENT_CERTIFICATE},
    {"amqps", SERVER_CLIENT, "other-client", ACEMQ_E_TLS_CLIENT_CERTIFICATE},
    {"amqps", -1, NULL, ACEMQ_E_TLS_PLAIN_SERVER},
    {"amqp", SERVER, NULL, ACEMQ_E_TLS_WANTED},
};

START_TEST(each_refusal_is_an_error_of_its_own)
{
    trial self;
    trial_begin(&self, TRIAL_RABBITMQ);
    int port = refusals[_i].port < 0 ? trial_port(&self) : ports[refusals[_i].port];
    acemq_connection *mq = NULL;
    acemq_connect_options options = trusting(refusals[_i].client);
    const acemq_connect_options *given = strcmp(refusals[_i].scheme, "amqp") == 0 ? NULL : &options;
    char text[16];
    (void)snprintf(text, sizeof text, ":%d", port);
    trial_must_fail(refusals[_i].status,
                    acemq_connect(url_of(refusals[_i].scheme, port), given, &mq, trial_error()));
    trial_error_says(text);
    trial_end(&self);
}
END_TEST

START_TEST(a_host_whose_certificate_has_expired_is_passed_over)
{
    char url[256];
    acemq_connect_options options = trusting(NULL);
    (void)snprintf(url, sizeof url, "amqps://guest:%s@127.0.0.1:%d,127.0.0.1:%d/", password,
                   ports[EXPIRED], ports[SERVER]);
    for (int i = 0; i < 4; i++) {
        acemq_connection *mq = NULL;
        trial_must(acemq_connect(url, &options, &mq, trial_error()));
        trial_close(mq);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tls");
    TCase *tcase = tcase_create("tls");
    tcase_set_timeout(tcase, 240);
    tcase_add_unchecked_fixture(tcase, open_ports, remove_certificates);
    tcase_add_loop_test(tcase, eight_mebibytes_go_there_and_back, SERVER, SERVER_CLIENT + 1);
    tcase_add_test(tcase, a_connection_that_was_lost_comes_back_with_tls);
    tcase_add_loop_test(tcase, each_refusal_is_an_error_of_its_own, 0,
                        (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tcase, a_host_whose_certificate_has_expired_is_passed_over);
    suite_add_tcase(suite, tcase);
    return trial_run(suite);
}
