/* Errors as the caller sees them: codes, names, predicates, ownership. */
#include <acemq/acemq.h>
#include <check.h>
#include <string.h>

static const struct {
    acemq_status status;
    const char *name;
} codes[] = {
    {ACEMQ_OK, "ok"},
    {ACEMQ_E_INVALID_ARGUMENT, "invalid_argument"},
    {ACEMQ_E_LIMIT, "limit"},
    {ACEMQ_E_PARSE, "parse"},
    {ACEMQ_E_RESERVED_HEADER, "reserved_header"},
    {ACEMQ_E_STATE, "state"},
    {ACEMQ_E_CLOSED, "closed"},
    {ACEMQ_E_FORKED, "forked"},
    {ACEMQ_E_FROM_HANDLER, "from_handler"},
    {ACEMQ_E_WRONG_THREAD, "wrong_thread"},
    {ACEMQ_E_SETTLED, "settled"},
    {ACEMQ_E_STALE, "stale"},
    {ACEMQ_E_UNSUPPORTED, "unsupported"},
    {ACEMQ_E_OUT_OF_MEMORY, "out_of_memory"},
    {ACEMQ_E_SYSTEM, "system"},
    {ACEMQ_E_TIMEOUT, "timeout"},
    {ACEMQ_E_CANCELLED, "cancelled"},
    {ACEMQ_E_UNREACHABLE, "unreachable"},
    {ACEMQ_E_LOGIN_REFUSED, "login_refused"},
    {ACEMQ_E_VHOST_REFUSED, "vhost_refused"},
    {ACEMQ_E_CONNECTION_LOST, "connection_lost"},
    {ACEMQ_E_PROTOCOL, "protocol"},
    {ACEMQ_E_ACCESS_REFUSED, "access_refused"},
    {ACEMQ_E_NOT_FOUND, "not_found"},
    {ACEMQ_E_LOCKED, "locked"},
    {ACEMQ_E_DIFFERS, "differs"},
    {ACEMQ_E_CHANNEL_CLOSED, "channel_closed"},
    {ACEMQ_E_UNROUTABLE, "unroutable"},
    {ACEMQ_E_NACKED, "nacked"},
    {ACEMQ_E_REFUSED, "refused"},
    {ACEMQ_E_UNKNOWN_OUTCOME, "unknown_outcome"},
    {ACEMQ_E_DECODE, "decode"},
    {ACEMQ_E_STORE, "store"},
    {ACEMQ_E_STORE_FULL, "store_full"},
    {ACEMQ_E_FENCED, "fenced"},
    {ACEMQ_E_TLS, "tls"},
    {ACEMQ_E_TLS_NAME, "tls_name"},
    {ACEMQ_E_TLS_UNTRUSTED, "tls_untrusted"},
    {ACEMQ_E_TLS_EXPIRED, "tls_expired"},
    {ACEMQ_E_TLS_PLAIN_SERVER, "tls_plain_server"},
    {ACEMQ_E_TLS_WANTED, "tls_wanted"},
    {ACEMQ_E_TLS_CLIENT_CERTIFICATE, "tls_client_certificate"},
    {ACEMQ_E_TLS_VERSION, "tls_version"},
};

START_TEST(every_code_has_its_stable_name)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        ck_assert_str_eq(acemq_status_name(codes[i].status), codes[i].name);
    }
    ck_assert_str_eq(acemq_status_name(9999), "unknown");
    ck_assert_str_eq(acemq_status_name(-1), "unknown");
}
END_TEST

START_TEST(no_error_reads_as_ok)
{
    ck_assert_int_eq(acemq_error_code(NULL), ACEMQ_OK);
    ck_assert_str_eq(acemq_error_name(NULL), "ok");
    ck_assert_str_eq(acemq_error_message(NULL), "");
    ck_assert_str_eq(acemq_error_field(NULL), "");
    ck_assert_int_eq(acemq_error_limit(NULL), 0);
    ck_assert_int_eq(acemq_error_reply_code(NULL), 0);
    ck_assert_int_eq(acemq_error_is_retriable(NULL), 0);
    ck_assert_int_eq(acemq_error_is_fatal(NULL), 0);
    ck_assert_int_eq(acemq_error_is_timeout(NULL), 0);
    ck_assert_int_eq(acemq_error_is_unroutable(NULL), 0);
    ck_assert_int_eq(acemq_error_is_refused(NULL), 0);
    ck_assert_ptr_null(acemq_error_copy(NULL));
    acemq_error_free(NULL);
}
END_TEST

START_TEST(a_success_leaves_the_error_alone)
{
    acemq_error *error = NULL;
    char text[ACEMQ_TIME_SIZE];
    ck_assert_int_eq(acemq_time_format(0, text, &error), ACEMQ_OK);
    ck_assert_ptr_null(error);
    ck_assert_int_eq(acemq_time_format(0, text, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_time_format(INT64_MAX, text, NULL), ACEMQ_E_INVALID_ARGUMENT);
}
END_TEST

START_TEST(a_limit_names_field_and_number)
{
    char queue[256];
    char name[ACEMQ_NAME_SIZE];
    acemq_error *error = NULL;
    memset(queue, 'q', 252);
    queue[252] = '\0';
    ck_assert_int_eq(acemq_dead_letter_queue(queue, name, &error), ACEMQ_E_LIMIT);
    ck_assert_int_eq(acemq_error_code(error), ACEMQ_E_LIMIT);
    ck_assert_str_eq(acemq_error_name(error), "limit");
    ck_assert_int_eq(acemq_error_limit(error), 255);
    ck_assert_str_ne(acemq_error_field(error), "");
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "255"));
    ck_assert_int_eq(acemq_error_is_fatal(error), 1);
    ck_assert_int_eq(acemq_error_is_retriable(error), 0);
    acemq_error *copy = acemq_error_copy(error);
    acemq_error_free(error);
    ck_assert_int_eq(acemq_error_limit(copy), 255);
    ck_assert_int_eq(acemq_error_code(copy), ACEMQ_E_LIMIT);
    acemq_error_free(copy);
}
END_TEST

START_TEST(predicates_of_what_a_broker_answers)
{
    acemq_connection *mq = NULL;
    acemq_error *error = NULL;
    acemq_message *message = acemq_message_text("x");
    ck_assert_int_eq(acemq_connect("memory://errors", NULL, &mq, &error), ACEMQ_OK);
    ck_assert_int_eq(acemq_publish(mq, "nowhere", message, 5000, &error), ACEMQ_E_UNROUTABLE);
    ck_assert_int_eq(acemq_error_is_unroutable(error), 1);
    ck_assert_int_eq(acemq_error_is_refused(error), 0);
    ck_assert_int_eq(acemq_error_reply_code(error), 312);
    acemq_error_free(error);
    error = NULL;
    ck_assert_int_eq(acemq_connection_pause_publishing(mq, &error), ACEMQ_OK);
    ck_assert_int_eq(acemq_publish(mq, "nowhere", message, 50, &error), ACEMQ_E_REFUSED);
    ck_assert_int_eq(acemq_error_is_refused(error), 1);
    ck_assert_int_eq(acemq_error_is_retriable(error), 1);
    ck_assert_int_eq(acemq_error_is_fatal(error), 0);
    acemq_error_free(error);
    error = NULL;
    ck_assert_int_eq(acemq_queue_count(mq, "nowhere", 5000, NULL, NULL, &error), ACEMQ_E_NOT_FOUND);
    ck_assert_int_eq(acemq_error_reply_code(error), 404);
    ck_assert_int_eq(acemq_error_is_fatal(error), 1);
    acemq_error_free(error);
    acemq_message_free(message);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(a_timeout_is_told_apart)
{
    acemq_connection *mq = NULL;
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_plan *plan = NULL;
    acemq_error *error = NULL;
    ck_assert_int_eq(acemq_connect("memory://errors", NULL, &mq, &error), ACEMQ_OK);
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, "q", ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    ck_assert_int_eq(acemq_topology_apply(mq, topology, 5000, &plan, &error), ACEMQ_OK);
    ck_assert_int_eq(acemq_consumer_open(mq, "q", NULL, &consumer, &error), ACEMQ_OK);
    ck_assert_int_eq(acemq_consumer_next(consumer, 0, &delivery, &error), ACEMQ_E_TIMEOUT);
    ck_assert_int_eq(acemq_error_is_timeout(error), 1);
    ck_assert_int_eq(acemq_error_is_retriable(error), 1);
    acemq_error_free(error);
    acemq_consumer_free(consumer);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_connection_free(mq);
}
END_TEST

/* A wrong URL is the likeliest place for a password to end in a log. */
START_TEST(no_error_holds_the_password)
{
    static const char *const urls[] = {
        "amqp://user:SeCrEt@127.0.0.1:1/",
        "amqp://user:SeCrEt@127.0.0.1:0/",
        "amqp://user:SeCrEt@127.0.0.1:99999/",
        "amqp://user:SeCrEt%zz@127.0.0.1/",
        "amqp://user:SeCrEt@127.0.0.1/v?x=1",
        "http://user:SeCrEt@127.0.0.1/",
        "amqp://user:SeCrEt@[::1/",
    };
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        acemq_connection *mq = NULL;
        acemq_error *error = NULL;
        ck_assert_int_ne(acemq_connect(urls[i], NULL, &mq, &error), ACEMQ_OK);
        ck_assert_ptr_null(strstr(acemq_error_message(error), "SeCrEt"));
        acemq_error_free(error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi errors");
    TCase *tests = tcase_create("errors");
    tcase_add_test(tests, every_code_has_its_stable_name);
    tcase_add_test(tests, no_error_reads_as_ok);
    tcase_add_test(tests, a_success_leaves_the_error_alone);
    tcase_add_test(tests, a_limit_names_field_and_number);
    tcase_add_test(tests, predicates_of_what_a_broker_answers);
    tcase_add_test(tests, a_timeout_is_told_apart);
    tcase_add_test(tests, no_error_holds_the_password);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
