/* TLS through the public ABI, on a memory broker behind a TLS server of the test's own. */
#include "client.h"
#include "support/certificates.h"
#include "support/tls_front.h"

#include <dirent.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PASSWORD "guest"
#define BIG      ((size_t)8 * 1024 * 1024)

static certificates made;
static acemq_broker *broker;
static int broker_port;
static tls_front *front;

static const char *path(const char *file)
{
    return certificates_path(&made, file);
}

static void begin(void)
{
    certificates_make(&made);
    MUST(acemq_broker_start(&broker, &error));
    MUST(acemq_broker_listen(broker, "127.0.0.1", 0, &broker_port, &error));
}

static void end(void)
{
    if (front != NULL) {
        front_stop(front);
        front = NULL;
    }
    acemq_broker_free(broker);
    certificates_remove(&made);
}

static void start_front(const char *name, tls_front_options options)
{
    static char certificate[128];
    static char key[128];
    (void)snprintf(certificate, sizeof certificate, "%s/%s.pem", made.folder, name);
    (void)snprintf(key, sizeof key, "%s/%s.key", made.folder, name);
    options.certificate = certificate;
    options.key = key;
    options.backend = broker_port;
    front = front_start(&options);
}

static const char *url_of(const char *scheme)
{
    static char url[128];
    (void)snprintf(url, sizeof url, "%s://guest:" PASSWORD "@127.0.0.1:%d/", scheme,
                   front_port(front));
    return url;
}

static acemq_connect_options trusting(void)
{
    static char ca[128];
    (void)snprintf(ca, sizeof ca, "%s/ca.pem", made.folder);
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.ca_file = ca;
    options.timeout = 20000;
    return options;
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static bool holds(const uint8_t *bytes, size_t length, const char *text)
{
    return memmem(bytes, length, text, strlen(text)) != NULL;
}

/* Everything that a client ever sent to the front began with a ClientHello, and nothing of what was
 * meant for the broker could be read on the way. */
static void nothing_was_sent_in_clear(void)
{
    size_t length = 0;
    uint8_t *heard = front_heard(front, &length);
    ck_assert_uint_gt(length, 5);
    ck_assert_int_eq(heard[0], 22); /* a handshake record */
    ck_assert_int_eq(heard[1], 3);
    ck_assert_int_eq(heard[5], 1); /* ClientHello */
    ck_assert(!front_heard_clear(front));
    ck_assert(!holds(heard, length, "AMQP"));
    ck_assert(!holds(heard, length, "PLAIN"));
    ck_assert(!holds(heard, length, PASSWORD));
    ck_assert(!holds(heard, length, "libacemq"));
    free(heard);
}

/* --- what works ----------------------------------------------------------------------------- */

static void bring_over(acemq_connection *mq, size_t length)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    char *body = malloc(length);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < length; i++) {
        body[i] = (char)(i * 31 >> 3);
    }
    acemq_message *message = acemq_message_new(body, length);
    MUST(acemq_publish(mq, "big", message, 60000, &error));
    MUST(acemq_consumer_open(mq, "big", NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 60000, &delivery, &error));
    acemq_bytes received = acemq_delivery_body(delivery);
    ck_assert_uint_eq(received.length, length);
    ck_assert_mem_eq(received.data, body, length);
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
    acemq_message_free(message);
    free(body);
}

static const struct {
    int version;
    bool client_certificate;
    bool update_keys;
} ways[] = {
    {TLS1_2_VERSION, false, false},
    {TLS1_2_VERSION, true, false},
    {TLS1_3_VERSION, false, true},
    {TLS1_3_VERSION, true, true},
};

START_TEST(eight_mebibytes_go_there_and_back)
{
    tls_front_options given = {.highest_version = ways[_i].version,
                               .update_keys = ways[_i].update_keys};
    acemq_connect_options options = trusting();
    if (ways[_i].client_certificate) {
        given.client_ca = path("ca.pem");
        options.certificate_file = path("client.pem");
        options.key_file = path("client.key");
    }
    start_front("server", given);
    acemq_connection *mq = connect_with(url_of("amqps"), &options);
    declare_queue(mq, "big", ACEMQ_QUEUE_CLASSIC, 0);
    bring_over(mq, BIG);
    acemq_connection_free(mq);
    nothing_was_sent_in_clear();
}
END_TEST

START_TEST(the_url_alone_is_enough)
{
    char url[1024];
    start_front("server", (tls_front_options){.client_ca = path("ca.pem")});
    (void)snprintf(url, sizeof url,
                   "amqps://localhost:%d/?cacertfile=%s&certfile=%s&keyfile=%s&password=%s"
                   "&verify=verify_peer&server_name_indication=localhost",
                   front_port(front), path("ca.pem"), path("client.pem"), path("locked.key"),
                   CERTIFICATES_KEY_PASSWORD);
    acemq_connection_free(connect_with(url, NULL));
    nothing_was_sent_in_clear();
}
END_TEST

static void count_warnings(acemq_log_level level, const char *line, void *user)
{
    if (level == ACEMQ_LOG_WARNING && strstr(line, "is not verified") != NULL) {
        atomic_fetch_add((atomic_int *)user, 1);
    }
}

START_TEST(without_verification_anything_goes_and_the_log_warns)
{
    static const char *const names[] = {"wrong-host", "expired", "unknown"};
    atomic_int warnings = 0;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.verify = 0;
    options.log_callback = count_warnings;
    options.log_user = &warnings;
    start_front(names[_i], (tls_front_options){0});
    acemq_connection_free(connect_with(url_of("amqps"), &options));
    ck_assert_int_eq(atomic_load(&warnings), 2); /* one of each connection */
    nothing_was_sent_in_clear();
}
END_TEST

START_TEST(another_server_name_may_be_given)
{
    acemq_connect_options options = trusting();
    options.server_name = "elsewhere.example";
    start_front("wrong-host", (tls_front_options){0});
    acemq_connection_free(connect_with(url_of("amqps"), &options));
}
END_TEST

/* --- what does not, each with an error of its own -------------------------------------------- */

typedef struct refusal {
    const char *certificate;
    const char *client; /* certificate; NULL: none */
    bool wants_client;
    int version;
    const char *bytes; /* answered in place of TLS */
    acemq_status status;
    const char *says;
} refusal;

static const refusal refusals[] = {
    {.certificate = "wrong-host", .status = ACEMQ_E_TLS_NAME, .says = "not for 127.0.0.1"},
    {.certificate = "unknown", .status = ACEMQ_E_TLS_UNTRUSTED, .says = "ca_file"},
    {.certificate = "expired", .status = ACEMQ_E_TLS_EXPIRED, .says = "expired"},
    {.certificate = "future", .status = ACEMQ_E_TLS_EXPIRED, .says = "not yet valid"},
    {.certificate = "server",
     .version = TLS1_1_VERSION,
     .status = ACEMQ_E_TLS_VERSION,
     .says = "1.2"},
    {.certificate = "server",
     .wants_client = true,
     .status = ACEMQ_E_TLS_CLIENT_CERTIFICATE,
     .says = "wants a client certificate"},
    {.certificate = "server",
     .wants_client = true,
     .version = TLS1_2_VERSION,
     .status = ACEMQ_E_TLS_CLIENT_CERTIFICATE,
     .says = "wants a client certificate"},
    {.certificate = "server",
     .wants_client = true,
     .client = "other-client",
     .status = ACEMQ_E_TLS_CLIENT_CERTIFICATE,
     .says = "refuses our client certificate"},
    {.certificate = "server",
     .wants_client = true,
     .client = "other-client",
     .version = TLS1_2_VERSION,
     .status = ACEMQ_E_TLS_CLIENT_CERTIFICATE,
     .says = "refuses our client certificate"},
    {.bytes = "AMQP\0\0\11\1", .status = ACEMQ_E_TLS_PLAIN_SERVER, .says = "does not speak TLS"},
    {.bytes = "HTTP/1.1 400 Bad Request\r\n\r\n",
     .status = ACEMQ_E_TLS_PLAIN_SERVER,
     .says = "does not speak TLS"},
    {.bytes = "", .status = ACEMQ_E_UNREACHABLE, .says = "hung up during the TLS handshake"},
};

START_TEST(each_refusal_is_an_error_of_its_own_and_leaves_no_descriptor)
{
    const refusal *row = &refusals[_i];
    tls_front_options given = {.highest_version = row->version};
    char port[16];
    acemq_connect_options options = trusting();
    char client[128];
    char key[128];
    if (row->wants_client) {
        given.client_ca = path("ca.pem");
    }
    if (row->client != NULL) {
        (void)snprintf(client, sizeof client, "%s/%s.pem", made.folder, row->client);
        (void)snprintf(key, sizeof key, "%s/%s.key", made.folder, row->client);
        options.certificate_file = client;
        options.key_file = key;
    }
    if (row->bytes != NULL) {
        given.bytes = row->bytes;
        given.length = row->bytes[0] == 'A' ? 8 : strlen(row->bytes);
    }
    start_front(row->certificate == NULL ? "server" : row->certificate, given);
    (void)snprintf(port, sizeof port, ":%d", front_port(front));
    int before = 0;
    for (int i = 0; i < 4; i++) {
        acemq_connection *mq = NULL;
        acemq_error *error = NULL;
        acemq_status status = acemq_connect(url_of("amqps"), &options, &mq, &error);
        ck_assert_msg(status == row->status, "%s: %s", acemq_error_name(error),
                      acemq_error_message(error));
        ck_assert_msg(strstr(acemq_error_message(error), row->says) != NULL &&
                          strstr(acemq_error_message(error), port) != NULL,
                      "%s", acemq_error_message(error));
        ck_assert_int_eq(acemq_error_is_fatal(error), status != ACEMQ_E_UNREACHABLE);
        acemq_error_free(error);
        /* The front's own end of a line goes when that line is over: the first round is not
         * counted, and each later one may only find what the front still has open. */
        if (i == 0) {
            front_stop(front);
            start_front(row->certificate == NULL ? "server" : row->certificate, given);
            (void)snprintf(port, sizeof port, ":%d", front_port(front));
            before = count_descriptors();
        }
    }
    nothing_was_sent_in_clear();
    front_stop(front);
    front = NULL;
    ck_assert_int_le(count_descriptors(), before);
}
END_TEST

/* The login goes out in the same breath as the end of the handshake: not even then. */
/* Names that a certificate does not hold in so many words: in the subject of one that holds none,
 * by the end of one, or by nothing at all once what stands behind % was taken off. */
START_TEST(only_a_name_that_the_certificate_holds_counts)
{
    static const struct {
        const char *certificate;
        const char *name;
    } rows[] = {{"client", "client"}, {"wrong-host", ".example"}, {"wrong-host", "%:"}};
    acemq_connect_options options = trusting();
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    options.server_name = rows[_i].name;
    start_front(rows[_i].certificate, (tls_front_options){0});
    acemq_status status = acemq_connect(url_of("amqps"), &options, &mq, &error);
    ck_assert_msg(status == ACEMQ_E_TLS_NAME || status == ACEMQ_E_TLS, "%s: %s",
                  acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
}
END_TEST

START_TEST(a_client_that_is_refused_has_shown_no_password)
{
    acemq_connection *mq = NULL;
    acemq_connect_options options = trusting();
    start_front("unknown", (tls_front_options){0});
    MUST_FAIL(ACEMQ_E_TLS_UNTRUSTED, acemq_connect(url_of("amqps"), &options, &mq, &error));
    nothing_was_sent_in_clear();
}
END_TEST

START_TEST(a_plain_client_at_a_port_for_tls_is_told_so)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    /* What Erlang's and Java's servers answer: an alert. */
    static const char alert[] = {21, 3, 3, 0, 2, 2, 10};
    start_front("server", (tls_front_options){.bytes = alert, .length = sizeof alert});
    ck_assert_int_eq(acemq_connect(url_of("amqp"), NULL, &mq, &error), ACEMQ_E_TLS_WANTED);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "amqps://"));
    acemq_error_free(error);
}
END_TEST

START_TEST(a_port_for_tls_that_says_nothing_to_a_plain_client_is_suspected)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    start_front("server", (tls_front_options){0}); /* OpenSSL hangs up on "AMQP" without a word */
    ck_assert_int_eq(acemq_connect(url_of("amqp"), NULL, &mq, &error), ACEMQ_E_CONNECTION_LOST);
    ck_assert(front_heard_clear(front));
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "amqps://"));
    acemq_error_free(error);
}
END_TEST

START_TEST(files_that_cannot_be_used_are_named_and_the_password_is_not)
{
    const struct {
        const char *ca;
        const char *certificate;
        const char *key;
        const char *password;
        const char *field;
        const char *says;
    } rows[] = {
        {"no-such.pem", NULL, NULL, NULL, "ca_file", "No such file"},
        {"client.key", NULL, NULL, NULL, "ca_file", "client.key"},
        {"ca.pem", "no-such.pem", NULL, NULL, "certificate_file", "No such file"},
        {"ca.pem", "client.key", NULL, NULL, "certificate_file", "nothing of that kind"},
        {"ca.pem", "client.pem", NULL, NULL, "key_file", "nothing of that kind"},
        {"ca.pem", "client.pem", "no-such.key", NULL, "key_file", "No such file"},
        {"ca.pem", "client.pem", "server.key", NULL, "key_file", "key values mismatch"},
        {"ca.pem", "client.pem", "locked.key", NULL, "key_password", "wants a password"},
        {"ca.pem", "client.pem", "locked.key", "hushhush", "key_password", "does not open it"},
        {"ca.pem", NULL, "client.key", NULL, "certificate_file", "without certificate_file"},
    };
    start_front("server", (tls_front_options){0});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        acemq_connection *mq = NULL;
        acemq_error *error = NULL;
        acemq_connect_options options = trusting();
        options.ca_file = path(rows[i].ca);
        options.certificate_file = rows[i].certificate == NULL ? NULL : path(rows[i].certificate);
        options.key_file = rows[i].key == NULL ? NULL : path(rows[i].key);
        options.key_password = rows[i].password;
        acemq_status status = acemq_connect(url_of("amqps"), &options, &mq, &error);
        const char *text = acemq_error_message(error);
        ck_assert_msg(status == ACEMQ_E_INVALID_ARGUMENT, "%zu: %s", i, text);
        ck_assert_msg(strcmp(acemq_error_field(error), rows[i].field) == 0, "%zu: %s", i, text);
        ck_assert_msg(strstr(text, rows[i].says) != NULL, "%zu: %s", i, text);
        ck_assert_msg(strstr(text, "hush") == NULL, "%zu: %s", i, text);
        acemq_error_free(error);
    }
}
END_TEST

START_TEST(options_of_tls_are_refused_where_nothing_would_be_encrypted)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    acemq_connect_options options = trusting();
    ck_assert_int_eq(acemq_connect("amqp://127.0.0.1:1/", &options, &mq, &error),
                     ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_str_eq(acemq_error_field(error), "ca_file");
    acemq_error_free(error);
}
END_TEST

/* --- after a loss ----------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    char bytes[8192];
    char next[160];
    FILE *in = fopen(from, "re");
    ck_assert_ptr_nonnull(in);
    size_t length = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    (void)snprintf(next, sizeof next, "%s.next", to);
    FILE *out = fopen(next, "we");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(bytes, 1, length, out), length);
    fclose(out);
    ck_assert_int_eq(rename(next, to), 0);
}

static void await_reason(acemq_connection *mq, acemq_status wanted)
{
    for (int i = 0; i < 3000; i++) {
        acemq_error *reason = NULL;
        acemq_connection_state state = acemq_connection_get_state(mq, &reason);
        acemq_status found = acemq_error_code(reason);
        acemq_error_free(reason);
        if (wanted == ACEMQ_OK ? state == ACEMQ_CONNECTION_OPEN : found == wanted) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    ck_abort_msg("it never was %s", acemq_status_name(wanted));
}

START_TEST(the_files_are_read_at_each_connect)
{
    char rotating[128];
    (void)snprintf(rotating, sizeof rotating, "%s/other-ca.key", made.folder);
    copy_file(path("ca.pem"), rotating);
    acemq_connect_options options = trusting();
    options.ca_file = rotating;
    options.reconnect_initial = 20;
    options.reconnect_max = 50;
    start_front("server", (tls_front_options){0});
    acemq_connection *mq = connect_with(url_of("amqps"), &options);
    copy_file(path("other-ca.pem"), rotating);
    front_cut(front);
    await_reason(mq, ACEMQ_E_TLS_UNTRUSTED);
    copy_file(path("ca.pem"), rotating);
    await_reason(mq, ACEMQ_OK);
    declare_queue(mq, "big", ACEMQ_QUEUE_CLASSIC, 0);
    bring_over(mq, 100000);
    acemq_connection_free(mq);
    nothing_was_sent_in_clear();
}
END_TEST

/* --- hostile peers ------------------------------------------------------------------------------
 */

/* A handshake in the middle changes who is on the other side. */
START_TEST(a_server_that_asks_for_another_handshake_gets_none_and_the_loss_is_told)
{
    acemq_error *reason = NULL;
    acemq_connect_options options = trusting();
    options.reconnect_initial = 0;
    start_front("server", (tls_front_options){.highest_version = TLS1_2_VERSION});
    acemq_connection *mq = connect_with(url_of("amqps"), &options);
    front_ask_again(front);
    for (int i = 0; i < 3000 && !front_was_given_another(front) &&
                    acemq_connection_get_state(mq, NULL) != ACEMQ_CONNECTION_FAILED;
         i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    ck_assert(!front_was_given_another(front));
    ck_assert_int_eq(acemq_connection_get_state(mq, &reason), ACEMQ_CONNECTION_FAILED);
    ck_assert_int_eq(acemq_error_code(reason), ACEMQ_E_CONNECTION_LOST);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(reason), "handshake"));
    acemq_error_free(reason);
    acemq_connection_free(mq);
    nothing_was_sent_in_clear();
}
END_TEST

static void must_not_connect(const char *what, size_t number)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    acemq_connect_options options = trusting();
    acemq_status status = acemq_connect(url_of("amqps"), &options, &mq, &error);
    ck_assert_msg(status != ACEMQ_OK && error != NULL, "%s %zu: connected", what, number);
    ck_assert_msg(status == ACEMQ_E_UNREACHABLE || status == ACEMQ_E_CONNECTION_LOST ||
                      (status >= ACEMQ_E_TLS && status <= ACEMQ_E_TLS_VERSION),
                  "%s %zu: %s", what, number, acemq_error_message(error));
    acemq_error_free(error);
}

START_TEST(a_handshake_that_breaks_off_anywhere_is_an_error)
{
    for (size_t i = 1; i < 1500; i += i < 40 ? 3 : 97) {
        start_front("server", (tls_front_options){.cut_after = i,
                                                  .highest_version = _i == 0 ? TLS1_2_VERSION : 0});
        /* Whoever gets the whole handshake has logged in: far enough. */
        if (i < 600) {
            must_not_connect("cut after", i);
        } else {
            acemq_connection *mq = NULL;
            acemq_connect_options options = trusting();
            (void)acemq_connect(url_of("amqps"), &options, &mq, NULL);
            acemq_connection_free(mq);
        }
        front_stop(front);
        front = NULL;
    }
}
END_TEST

START_TEST(bytes_at_random_in_place_of_tls_are_an_error)
{
    uint8_t bytes[600];
    uint64_t state = 88172645463325252u + (uint64_t)_i;
    for (size_t i = 0; i < 12; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes[k] = (uint8_t)(state >> 33);
        }
        if (i % 3 != 0) { /* so that more than the first byte is looked at */
            static const uint8_t record[] = {22, 3, 3, 2, 0, 2, 0, 1, 252, 3, 3};
            memcpy(bytes, record, i % 3 == 1 ? 3 : sizeof record);
        }
        start_front("server", (tls_front_options){.bytes = bytes, .length = sizeof bytes});
        must_not_connect("random", i);
        front_stop(front);
        front = NULL;
    }
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

int main(void)
{
    Suite *suite = suite_create("tls");
    TCase *works = tcase_create("works");
    tcase_set_timeout(works, 120);
    tcase_add_checked_fixture(works, begin, end);
    tcase_add_loop_test(works, eight_mebibytes_go_there_and_back, 0, COUNT(ways));
    tcase_add_test(works, the_url_alone_is_enough);
    tcase_add_loop_test(works, without_verification_anything_goes_and_the_log_warns, 0, 3);
    tcase_add_test(works, another_server_name_may_be_given);
    tcase_add_test(works, the_files_are_read_at_each_connect);
    suite_add_tcase(suite, works);
    TCase *refused = tcase_create("refused");
    tcase_set_timeout(refused, 120);
    tcase_add_checked_fixture(refused, begin, end);
    tcase_add_loop_test(refused, each_refusal_is_an_error_of_its_own_and_leaves_no_descriptor, 0,
                        COUNT(refusals));
    tcase_add_loop_test(refused, only_a_name_that_the_certificate_holds_counts, 0, 3);
    tcase_add_test(refused, a_client_that_is_refused_has_shown_no_password);
    tcase_add_test(refused, a_plain_client_at_a_port_for_tls_is_told_so);
    tcase_add_test(refused, a_port_for_tls_that_says_nothing_to_a_plain_client_is_suspected);
    tcase_add_test(refused, files_that_cannot_be_used_are_named_and_the_password_is_not);
    tcase_add_test(refused, options_of_tls_are_refused_where_nothing_would_be_encrypted);
    suite_add_tcase(suite, refused);
    TCase *hostile = tcase_create("hostile");
    tcase_set_timeout(hostile, 120);
    tcase_add_checked_fixture(hostile, begin, end);
    tcase_add_test(hostile,
                   a_server_that_asks_for_another_handshake_gets_none_and_the_loss_is_told);
    tcase_add_loop_test(hostile, a_handshake_that_breaks_off_anywhere_is_an_error, 0, 2);
    tcase_add_loop_test(hostile, bytes_at_random_in_place_of_tls_are_an_error, 0, 3);
    suite_add_tcase(suite, hostile);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
