/* No password is in anything that people may see: an error, a line of the log, an event. */
#include "client.h"
#include "support/certificates.h"
#include "support/scripted_peer.h"
#include "support/tls_front.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* In no other text of these tests, whichever way it is written. */
#define SECRET  "p:/#@%s3cr3t\xC3\xA9"
#define ENCODED "p%3A%2F%23%40%25s3cr3t%C3%A9"

static void check_text(const char *text, const char *where)
{
    static const char *const forms[] = {SECRET,   ENCODED, "p%3a%2f%23%40",          "p:/#",
                                        "s3cr3t", "3cr3",  CERTIFICATES_KEY_PASSWORD};
    for (size_t i = 0; text != NULL && i < sizeof forms / sizeof forms[0]; i++) {
        ck_assert_msg(strstr(text, forms[i]) == NULL, "%s: %s", where, text);
    }
}

typedef struct log_book {
    pthread_mutex_t mutex;
    char *lines;
    size_t length;
} log_book;

static void write_down(acemq_log_level level, const char *line, void *user)
{
    (void)level;
    log_book *book = user;
    pthread_mutex_lock(&book->mutex);
    size_t length = strlen(line);
    book->lines = realloc(book->lines, book->length + length + 2);
    memcpy(book->lines + book->length, line, length);
    memcpy(book->lines + book->length + length, "\n", 2);
    book->length += length + 1;
    pthread_mutex_unlock(&book->mutex);
}

static acemq_connect_options watched(log_book *book)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    *book = (log_book){.mutex = PTHREAD_MUTEX_INITIALIZER};
    options.log_callback = write_down;
    options.log_user = book;
    options.log_level = ACEMQ_LOG_DEBUG;
    options.reconnect_initial = 10;
    options.reconnect_max = 30;
    for (int kind = ACEMQ_EVENT_CONNECTION; kind <= ACEMQ_EVENT_METRIC; kind++) {
        options.events |= UINT64_C(1) << kind;
    }
    return options;
}

static void check_log(log_book *book)
{
    pthread_mutex_lock(&book->mutex);
    check_text(book->lines, "the log");
    free(book->lines);
    book->lines = NULL;
    pthread_mutex_unlock(&book->mutex);
}

static void check_error(const acemq_error *error, const char *where)
{
    check_text(acemq_error_message(error), where);
    check_text(acemq_error_field(error), where);
}

/* Fails, and says nothing it should not. */
static void must_refuse(const char *url, acemq_connect_options *options)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_connect(url, options, &mq, &error);
    ck_assert_msg(status != ACEMQ_OK, "%s was taken", url);
    check_error(error, acemq_error_name(error));
    acemq_error_free(error);
}

/* --- a connection that is refused, lost, refused again, and comes back
 * ---------------------------- */

static void come_and_go(peer_side *side, int index, void *user)
{
    (void)user;
    if (index < 2) {
        peer_handshake(side, NULL);
        peer_delay(side, 100);
        peer_hang_up(side);
    } else if (index < 5) {
        peer_expect_header(side);
        peer_send_start(side, "PLAIN", index == 3);
        (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
        if (index == 3) {
            peer_close_connection(side, 403, "ACCESS_REFUSED - Login was refused");
            (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
        }
        peer_hang_up(side);
    }
    peer_handshake(side, NULL);
    peer_wait_stop(side);
}

START_TEST(a_connection_that_comes_and_goes_tells_no_password)
{
    log_book book;
    char url[128];
    scripted_peer *peer = peer_start(come_and_go, NULL);
    acemq_connect_options options = watched(&book);
    (void)snprintf(url, sizeof url, "amqp://someone:%s@127.0.0.1:%u/v", ENCODED,
                   (unsigned)peer_port(peer));
    acemq_connection *mq = connect_with(url, &options);
    int seen = 0;
    for (int i = 0; i < 400 && peer_connections(peer) < 7; i++) {
        acemq_event *event = NULL;
        acemq_error *reason = NULL;
        (void)acemq_connection_get_state(mq, &reason);
        check_error(reason, "the state");
        acemq_error_free(reason);
        if (acemq_connection_next_event(mq, 50, &event, NULL) == ACEMQ_OK) {
            seen++;
            check_text(acemq_event_text(event), "an event");
            check_error(acemq_event_error(event), "an event");
            acemq_event_free(event);
        }
    }
    ck_assert_int_ge(peer_connections(peer), 6);
    ck_assert_int_gt(seen, 4);
    acemq_connection_free(mq);
    free(peer_stop(peer));
    check_log(&book);
}
END_TEST

/* --- what a connect says that fails
 * ---------------------------------------------------------------- */

START_TEST(a_login_that_is_refused_tells_no_password_wherever_it_came_from)
{
    log_book book;
    acemq_broker *broker = NULL;
    int port = 0;
    char url[160];
    char path[] = "/tmp/acemq-credentials.XXXXXX";
    MUST(acemq_broker_start(&broker, &error));
    MUST(acemq_broker_listen(broker, "127.0.0.1", 0, &port, &error));
    acemq_connect_options options = watched(&book);
    (void)snprintf(url, sizeof url, "amqp://guest:%s@127.0.0.1:%d/", ENCODED, port);
    must_refuse(url, &options);
    (void)snprintf(url, sizeof url, "amqp://guest:%s@127.0.0.1:%d,127.0.0.1:1/", ENCODED, port);
    must_refuse(url, &options);
    (void)snprintf(url, sizeof url, "amqp://127.0.0.1:%d/", port);
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    static const char *const contents[] = {"guest\n" SECRET "\n", SECRET, "\n" SECRET "\n"};
    options.credentials = ACEMQ_CREDENTIALS_FILE;
    options.credentials_file = path;
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        ck_assert_int_eq(ftruncate(file, 0), 0);
        ck_assert_int_eq(pwrite(file, contents[i], strlen(contents[i]), 0),
                         (ssize_t)strlen(contents[i]));
        must_refuse(url, &options);
    }
    close(file);
    unlink(path);
    setenv("ACEMQ_TEST_HIDDEN", SECRET, 1);
    options.credentials = ACEMQ_CREDENTIALS_ENVIRONMENT;
    options.user_variable = "HOME";
    options.password_variable = "ACEMQ_TEST_HIDDEN";
    must_refuse(url, &options);
    acemq_broker_free(broker);
    check_log(&book);
}
END_TEST

START_TEST(the_password_of_a_key_is_told_nowhere)
{
    log_book book;
    certificates made;
    certificates_make(&made);
    static const char bytes[] = "AMQP\0\0\11\1";
    tls_front *front = front_start(&(tls_front_options){.bytes = bytes, .length = 8});
    acemq_connect_options options = watched(&book);
    char url[1024];
    (void)snprintf(url, sizeof url,
                   "amqps://guest:%s@127.0.0.1:%d/?certfile=%s&keyfile=%s&password=%s", ENCODED,
                   front_port(front), certificates_path(&made, "client.pem"),
                   certificates_path(&made, "locked.key"), CERTIFICATES_KEY_PASSWORD);
    must_refuse(url, &options);
    (void)snprintf(url, sizeof url,
                   "amqps://guest:%s@127.0.0.1:%d/?certfile=%s&keyfile=%s"
                   "&password=%s",
                   ENCODED, front_port(front), certificates_path(&made, "client.pem"),
                   certificates_path(&made, "locked.key"), ENCODED);
    must_refuse(url, &options);
    options.certificate_file = certificates_path(&made, "client.pem");
    options.key_file = certificates_path(&made, "locked.key");
    options.key_password = SECRET;
    (void)snprintf(url, sizeof url, "amqps://127.0.0.1:%d/", front_port(front));
    must_refuse(url, &options);
    must_refuse("amqp://127.0.0.1:1/", &options);
    front_stop(front);
    certificates_remove(&made);
    check_log(&book);
}
END_TEST

/* Trap: what is wrong with a URL is told by its place, not by quoting it. */
static const char *const malformed[] = {
    "amqp://u:" ENCODED "@h/%zz",
    "amqp://u:" ENCODED "@h/%00",
    "amqp://u:" ENCODED "%zz@h",
    "amqp://u:" ENCODED "%00@h",
    "amqp://u:" ENCODED "%ff@h",
    "amqp://u:" ENCODED "@h:0",
    "amqp://u:" ENCODED "@h:65536",
    "amqp://u:" ENCODED "@h:x",
    "amqp://u:" ENCODED "@a,,b",
    "amqp://u:" ENCODED "@h/v/w",
    "amqp://u:" ENCODED "@h?unknown=1",
    "amqp://u:" ENCODED "@h?password=" ENCODED,
    "amqps://u:" ENCODED "@h?password=%zz" ENCODED,
    "amqps://u:" ENCODED "@h?verify=" ENCODED,
    "amqps://u:" ENCODED "@h?" ENCODED "=1",
    "amqps://u:" ENCODED "@h?s3cr3t",
    "amqp://u:" SECRET "@h",
    "amqp://u:p/s3cr3t@h",
    "amqp://u:p?s3cr3t@h",
    "amqp://u:p@s3cr3t@h",
    "amqp://u:p[s3cr3t@h]",
    "amqp://u:s3cr3t",
    "amqp:/u:s3cr3t@h",
    "amqpx://u:s3cr3t@h",
    "u:s3cr3t@h",
};

START_TEST(a_url_that_is_wrong_is_not_quoted)
{
    log_book book;
    acemq_connect_options options = watched(&book);
    options.timeout = 1000;
    must_refuse(malformed[_i], &options);
    check_log(&book);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("redaction");
    TCase *tcase = tcase_create("redaction");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, a_connection_that_comes_and_goes_tells_no_password);
    tcase_add_test(tcase, a_login_that_is_refused_tells_no_password_wherever_it_came_from);
    tcase_add_test(tcase, the_password_of_a_key_is_told_nowhere);
    tcase_add_loop_test(tcase, a_url_that_is_wrong_is_not_quoted, 0,
                        (int)(sizeof malformed / sizeof malformed[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
