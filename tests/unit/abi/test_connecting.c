/* Connecting through the ABI: what is refused, where credentials come from, and what is told while
 * a connection is away. */
#include "client.h"
#include "engine/connection.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A broker on a port, so that it can go away and come back. */
static acemq_broker *broker;
static int port;
static char url[64];

static void listen_again(void)
{
    MUST(acemq_broker_start(&broker, &error));
    for (int i = 0; i < 100; i++) {
        if (acemq_broker_listen(broker, "127.0.0.1", port, &port, NULL) == ACEMQ_OK) {
            snprintf(url, sizeof url, "amqp://guest:guest@127.0.0.1:%d/", port);
            return;
        }
        sleep_ms(50);
    }
    ck_abort_msg("the port is taken");
}

static void begin(void)
{
    port = 0;
    listen_again();
}

static void end(void)
{
    acemq_broker_free(broker);
}

static acemq_event *next_event(acemq_connection *mq, acemq_event_kind kind)
{
    acemq_event *event = NULL;
    MUST(acemq_connection_next_event(mq, 15000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), kind);
    return event;
}

/* Events of the connection until the state is reached: each half may be lost, and back, at another
 * time. */
static void await_state(acemq_connection *mq, acemq_connection_state state)
{
    int64_t reached = 0;
    while (reached != state) {
        acemq_event *event = next_event(mq, ACEMQ_EVENT_CONNECTION);
        reached = acemq_event_number(event);
        ck_assert(reached == state || reached == ACEMQ_CONNECTION_RECONNECTING ||
                  reached == ACEMQ_CONNECTION_OPEN);
        if (reached == ACEMQ_CONNECTION_OPEN) {
            ck_assert_int_eq(acemq_event_next_try(event), -1);
        }
        acemq_event_free(event);
    }
}

/* --- what is refused --- */

START_TEST(a_connect_that_fails_says_why)
{
    static const struct {
        const char *url;
        acemq_status status;
        const char *text;
    } cases[] = {
        {"", ACEMQ_E_PARSE, "position"},
        {"amqp://h:0/", ACEMQ_E_INVALID_ARGUMENT, "port"},
        {"amqp://h/%zz", ACEMQ_E_PARSE, "position"},
        {"amqp://h/?nonsense=1", ACEMQ_E_INVALID_ARGUMENT, "option"},
        {"amqps://127.0.0.1:1/", ACEMQ_E_UNREACHABLE, "127.0.0.1:1"},
        {"amqp://127.0.0.1:1,[::1]:2/", ACEMQ_E_UNREACHABLE, "none of 2 hosts"},
        {"amqp://127.0.0.1:1/", ACEMQ_E_UNREACHABLE, "127.0.0.1:1"},
        {"amqp://no-such-host.invalid/", ACEMQ_E_UNREACHABLE, "no-such-host.invalid"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        acemq_connection *mq = NULL;
        acemq_error *error = NULL;
        acemq_status status = acemq_connect(cases[i].url, NULL, &mq, &error);
        ck_assert_msg(status == cases[i].status, "%s: %s: %s", cases[i].url,
                      acemq_error_name(error), acemq_error_message(error));
        ck_assert_msg(strstr(acemq_error_message(error), cases[i].text) != NULL,
                      "%s: \"%s\" does not say %s", cases[i].url, acemq_error_message(error),
                      cases[i].text);
        ck_assert_ptr_null(mq);
        acemq_error_free(error);
    }
}
END_TEST

START_TEST(login_and_vhost_are_told_apart)
{
    acemq_connection *mq = NULL;
    char other[96];
    snprintf(other, sizeof other, "amqp://guest:wrong@127.0.0.1:%d/", port);
    MUST_FAIL(ACEMQ_E_LOGIN_REFUSED, acemq_connect(other, NULL, &mq, &error));
    snprintf(other, sizeof other, "amqp://guest:guest@127.0.0.1:%d/elsewhere", port);
    MUST_FAIL(ACEMQ_E_VHOST_REFUSED, acemq_connect(other, NULL, &mq, &error));
}
END_TEST

START_TEST(a_fired_token_ends_a_connect)
{
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    MUST(acemq_cancel_new(&options.cancel, &error));
    acemq_cancel_fire(options.cancel);
    ck_assert_int_eq(acemq_cancel_fired(options.cancel), 1);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_connect(url, &options, &mq, &error));
    acemq_cancel_reset(options.cancel);
    mq = connect_with(url, &options);
    /* The client watches it on. */
    acemq_cancel_fire(options.cancel);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_queue_count(mq, "q", 5000, NULL, NULL, &error));
    acemq_cancel_free(options.cancel);
    acemq_connection_free(mq);
}
END_TEST

/* --- credentials --- */

START_TEST(credentials_come_from_a_file)
{
    char path[] = "/tmp/acemq-credentials-XXXXXX";
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    char bare[64];
    snprintf(bare, sizeof bare, "amqp://other:other@127.0.0.1:%d/", port);
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, "guest\nguest\n", 12), 12);
    options.credentials = ACEMQ_CREDENTIALS_FILE;
    options.credentials_file = path;
    mq = connect_with(bare, &options);
    acemq_connection_free(mq);
    ck_assert_int_eq(ftruncate(descriptor, 6), 0);
    MUST_FAIL(ACEMQ_E_LOGIN_REFUSED, acemq_connect(bare, &options, &mq, &error));
    close(descriptor);
    unlink(path);
}
END_TEST

START_TEST(credentials_come_from_the_environment)
{
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    char bare[64];
    snprintf(bare, sizeof bare, "amqp://other:other@127.0.0.1:%d/", port);
    options.credentials = ACEMQ_CREDENTIALS_ENVIRONMENT;
    options.user_variable = "ACEMQ_TEST_USER";
    options.password_variable = "ACEMQ_TEST_PASSWORD";
    MUST_FAIL(ACEMQ_E_LOGIN_REFUSED, acemq_connect(bare, &options, &mq, &error));
    setenv("ACEMQ_TEST_USER", "guest", 1);
    setenv("ACEMQ_TEST_PASSWORD", "guest", 1);
    mq = connect_with(bare, &options);
    acemq_connection_free(mq);
}
END_TEST

typedef struct giving {
    atomic_int asked;
    int answer;
} giving;

static int give(char *name, char *password, size_t size, void *user)
{
    giving *given = user;
    atomic_fetch_add(&given->asked, 1);
    ck_assert_uint_ge(size, 6);
    strcpy(name, "guest");
    strcpy(password, "guest");
    return given->answer;
}

START_TEST(credentials_come_from_a_callback)
{
    giving given = {.answer = 0};
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    char bare[64];
    snprintf(bare, sizeof bare, "amqp://other:other@127.0.0.1:%d/", port);
    options.credentials = ACEMQ_CREDENTIALS_CALLBACK;
    options.credentials_callback = give;
    options.credentials_user = &given;
    mq = connect_with(bare, &options);
    ck_assert_int_ge(atomic_load(&given.asked), 1);
    acemq_connection_free(mq);
    given.answer = 1;
    MUST_FAIL(ACEMQ_E_LOGIN_REFUSED, acemq_connect(bare, &options, &mq, &error));
}
END_TEST

START_TEST(credentials_are_wanted_by_event_after_a_loss)
{
    acemq_connection *mq = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.credentials = ACEMQ_CREDENTIALS_EVENT;
    options.events = 1u << ACEMQ_EVENT_CREDENTIALS_WANTED;
    options.reconnect_initial = 50;
    mq = connect_with(url, &options); /* the first login is with the URL's */
    MUST_FAIL(ACEMQ_E_STATE, acemq_connection_give_credentials(mq, "guest", "guest", &error));
    acemq_broker_free(broker);
    listen_again();
    bool asked = false; /* before, it may still seem to be open */
    bool opened = false;
    for (int i = 0; i < 400 && !opened; i++) {
        acemq_event *event = NULL;
        if (acemq_connection_next_event(mq, 50, &event, NULL) == ACEMQ_OK) {
            asked = true;
            ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_CREDENTIALS_WANTED);
            acemq_event_free(event);
            (void)acemq_connection_give_credentials(mq, "guest", "guest", NULL);
        }
        /* Asked for once: the other half may see only after this that it is lost. */
        opened = asked && acemq_connection_get_state(mq, NULL) == ACEMQ_CONNECTION_OPEN;
    }
    ck_assert(opened);
    acemq_connection_free(mq);
}
END_TEST

static void *ask_for_credentials(void *user)
{
    const acemq_connection *mq = user;
    ace_credentials credentials = {NULL, NULL};
    ace_code code = mq->settings.ask(&credentials, mq->settings.ask_user, NULL);
    ace_credentials_free(&credentials);
    return code == ACE_OK ? user : NULL;
}

static void *answer_one(void *user)
{
    acemq_event *event = next_event(user, ACEMQ_EVENT_CREDENTIALS_WANTED);
    acemq_event_free(event);
    MUST(acemq_connection_give_credentials(user, "guest", "guest", &error));
    return NULL;
}

/* One half of the connection asks as the other was answered, but does not know it yet. */
START_TEST(a_question_in_the_moment_of_an_answer_is_told_as_well)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.credentials = ACEMQ_CREDENTIALS_EVENT;
    options.events = 1u << ACEMQ_EVENT_CREDENTIALS_WANTED;
    acemq_connection *mq = connect_with(url, &options);
    pthread_t asker;
    pthread_t answerer;
    void *answered = NULL;
    ck_assert_int_eq(pthread_create(&asker, NULL, ask_for_credentials, mq), 0);
    acemq_event_free(next_event(mq, ACEMQ_EVENT_CREDENTIALS_WANTED));
    ck_assert_int_eq(pthread_create(&answerer, NULL, answer_one, mq), 0);
    MUST(acemq_connection_give_credentials(mq, "guest", "guest", &error));
    ck_assert_ptr_nonnull(ask_for_credentials(mq));
    pthread_join(answerer, NULL);
    pthread_join(asker, &answered);
    ck_assert_ptr_nonnull(answered);
    MUST_FAIL(ACEMQ_E_STATE, acemq_connection_give_credentials(mq, "guest", "guest", &error));
    acemq_connection_free(mq);
}
END_TEST

/* Nobody answers: closing does not wait for it. */
START_TEST(a_close_ends_the_wait_for_credentials)
{
    acemq_event *event = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.credentials = ACEMQ_CREDENTIALS_EVENT;
    options.events = 1u << ACEMQ_EVENT_CREDENTIALS_WANTED;
    options.reconnect_initial = 20;
    options.timeout = 60000;
    acemq_connection *mq = connect_with(url, &options);
    acemq_broker_free(broker);
    listen_again();
    event = next_event(mq, ACEMQ_EVENT_CREDENTIALS_WANTED);
    acemq_event_free(event);
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    acemq_status status = acemq_connection_close(mq, 500, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert(status == ACEMQ_OK || status == ACEMQ_E_TIMEOUT);
    ck_assert_int_lt(after.tv_sec - before.tv_sec, 10);
    acemq_connection_free(mq);
}
END_TEST

/* --- events and states --- */

START_TEST(without_events_there_is_nothing_to_wait_for)
{
    acemq_connection *mq = connect_with(url, NULL);
    acemq_event *event = NULL;
    MUST_FAIL(ACEMQ_E_STATE, acemq_connection_next_event(mq, 1000, &event, &error));
    ck_assert_int_eq(acemq_connection_event_fd(mq), -1);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(a_loss_and_a_return_are_told_and_publishing_goes_on)
{
    acemq_error *reason = NULL;
    acemq_message *message = acemq_message_text("x");
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONNECTION;
    options.reconnect_initial = 50;
    acemq_connection *mq = connect_with(url, &options);
    ck_assert_int_eq(acemq_connection_get_state(mq, &reason), ACEMQ_CONNECTION_OPEN);
    ck_assert_ptr_null(reason);
    acemq_broker_free(broker);
    acemq_event *event = next_event(mq, ACEMQ_EVENT_CONNECTION);
    ck_assert_int_eq(acemq_event_number(event), ACEMQ_CONNECTION_RECONNECTING);
    ck_assert_ptr_nonnull(acemq_event_error(event));
    acemq_event_free(event);
    ck_assert_int_eq(acemq_connection_get_state(mq, &reason), ACEMQ_CONNECTION_RECONNECTING);
    ck_assert_ptr_nonnull(reason);
    acemq_error_free(reason);
    /* The half that publishes may hear of it last. */
    while (acemq_publish(mq, "q", message, 50, NULL) == ACEMQ_E_UNKNOWN_OUTCOME) {
    }
    MUST_FAIL(ACEMQ_E_REFUSED, acemq_publish(mq, "q", message, 50, &error));
    listen_again();
    await_state(mq, ACEMQ_CONNECTION_OPEN);
    MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_publish(mq, "q", message, 5000, &error));
    MUST(acemq_connection_close(mq, 5000, &error));
    await_state(mq, ACEMQ_CONNECTION_CLOSED);
    event = NULL;
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_connection_next_event(mq, 5000, &event, &error));
    struct pollfd readable = {acemq_connection_event_fd(mq), POLLIN, 0};
    ck_assert_int_eq(poll(&readable, 1, 0), 1); /* next_event() would not wait */
    acemq_message_free(message);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(a_client_that_must_not_come_back_has_failed)
{
    acemq_error *reason = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONNECTION;
    options.reconnect_initial = 0;
    acemq_connection *mq = connect_with(url, &options);
    acemq_broker_free(broker);
    await_state(mq, ACEMQ_CONNECTION_FAILED);
    ck_assert_int_eq(acemq_connection_get_state(mq, &reason), ACEMQ_CONNECTION_FAILED);
    ck_assert_ptr_nonnull(reason);
    acemq_error_free(reason);
    acemq_connection_free(mq);
    listen_again();
}
END_TEST

static void *close_later(void *user)
{
    sleep_ms(100);
    acemq_connection_close(user, 1000, NULL);
    return NULL;
}

START_TEST(a_close_ends_the_wait_for_an_event)
{
    pthread_t thread;
    acemq_event *event = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONFIRM;
    acemq_connection *mq = connect_with(url, &options);
    ck_assert_int_eq(pthread_create(&thread, NULL, close_later, mq), 0);
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_connection_next_event(mq, ACEMQ_FOREVER, &event, &error));
    pthread_join(thread, NULL);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(a_consumer_that_ends_by_itself_is_told)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONSUMER_ENDED;
    options.reconnect_initial = 0;
    acemq_connection *mq = connect_with(url, &options);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    acemq_broker_free(broker);
    acemq_event *event = next_event(mq, ACEMQ_EVENT_CONSUMER_ENDED);
    ck_assert_str_eq(acemq_event_text(event), "q");
    ck_assert_ptr_nonnull(acemq_event_error(event));
    acemq_event_free(event);
    ck_assert_int_eq(acemq_consumer_subscribed(consumer), 0);
    acemq_status status = acemq_consumer_next(consumer, 5000, &delivery, NULL);
    ck_assert(status != ACEMQ_OK && status != ACEMQ_E_TIMEOUT);
    acemq_consumer_free(consumer);
    acemq_connection_free(mq);
    listen_again();
}
END_TEST

/* --- the log --- */

typedef struct log_book {
    atomic_int lines;
    atomic_int worst;
    atomic_int with_password;
} log_book;

static void write_down(acemq_log_level level, const char *line, void *user)
{
    log_book *book = user;
    atomic_fetch_add(&book->lines, 1);
    if ((int)level > atomic_load(&book->worst)) {
        atomic_store(&book->worst, (int)level);
    }
    if (strstr(line, "guest:guest") != NULL || strchr(line, '\n') != NULL) {
        atomic_fetch_add(&book->with_password, 1);
    }
}

START_TEST(log_lines_come_by_callback_and_by_event)
{
    log_book book = {.worst = 0};
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.log_callback = write_down;
    options.log_user = &book;
    options.log_level = ACEMQ_LOG_DEBUG;
    options.events = 1u << ACEMQ_EVENT_LOG;
    options.reconnect_initial = 20;
    acemq_connection *mq = connect_with(url, &options);
    acemq_broker_free(broker);
    acemq_event *event = next_event(mq, ACEMQ_EVENT_LOG);
    ck_assert_int_ge(acemq_event_number(event), ACEMQ_LOG_ERROR);
    ck_assert_int_le(acemq_event_number(event), ACEMQ_LOG_DEBUG);
    ck_assert_str_ne(acemq_event_text(event), "");
    acemq_event_free(event);
    acemq_connection_free(mq);
    ck_assert_int_gt(atomic_load(&book.lines), 0);
    ck_assert_int_eq(atomic_load(&book.with_password), 0);
    listen_again();
}
END_TEST

START_TEST(lines_past_the_level_are_not_told)
{
    log_book book = {.worst = 0};
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.log_callback = write_down;
    options.log_user = &book;
    options.log_level = ACEMQ_LOG_NONE;
    options.reconnect_initial = 20;
    acemq_connection *mq = connect_with(url, &options);
    acemq_broker_free(broker);
    sleep_ms(100);
    acemq_connection_free(mq);
    ck_assert_int_eq(atomic_load(&book.lines), 0);
    listen_again();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi connecting");
    TCase *tests = tcase_create("connecting");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_connect_that_fails_says_why);
    tcase_add_test(tests, login_and_vhost_are_told_apart);
    tcase_add_test(tests, a_fired_token_ends_a_connect);
    tcase_add_test(tests, credentials_come_from_a_file);
    tcase_add_test(tests, credentials_come_from_the_environment);
    tcase_add_test(tests, credentials_come_from_a_callback);
    tcase_add_test(tests, credentials_are_wanted_by_event_after_a_loss);
    tcase_add_test(tests, a_question_in_the_moment_of_an_answer_is_told_as_well);
    tcase_add_test(tests, a_close_ends_the_wait_for_credentials);
    tcase_add_test(tests, without_events_there_is_nothing_to_wait_for);
    tcase_add_test(tests, a_loss_and_a_return_are_told_and_publishing_goes_on);
    tcase_add_test(tests, a_client_that_must_not_come_back_has_failed);
    tcase_add_test(tests, a_close_ends_the_wait_for_an_event);
    tcase_add_test(tests, a_consumer_that_ends_by_itself_is_told);
    tcase_add_test(tests, log_lines_come_by_callback_and_by_event);
    tcase_add_test(tests, lines_past_the_level_are_not_told);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
