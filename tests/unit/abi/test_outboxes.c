/* The outbox through the public headers: what its functions refuse, and what they hand out. */
#include <acemq/acemq.h>

#include <check.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 10000

static void fails(acemq_status status, acemq_status expected, acemq_error **error, const char *says)
{
    ck_assert_int_eq(status, expected);
    ck_assert_ptr_nonnull(*error);
    ck_assert_msg(strstr(acemq_error_message(*error), says) != NULL, "%s",
                  acemq_error_message(*error));
    acemq_error_free(*error);
    *error = NULL;
}

static acemq_outbox *memory(void)
{
    acemq_outbox *outbox = NULL;
    ck_assert_int_eq(acemq_outbox_open("memory", NULL, &outbox, NULL), ACEMQ_OK);
    return outbox;
}

START_TEST(options_have_their_defaults_and_limits)
{
    acemq_error *error = NULL;
    acemq_outbox *outbox = NULL;
    acemq_outbox_options options;
    memset(&options, 0xff, sizeof options);
    const acemq_outbox_options defaults = ACEMQ_OUTBOX_OPTIONS_INIT;
    ck_assert_int_eq(acemq_outbox_options_init(&options, sizeof options), ACEMQ_OK);
    ck_assert_mem_eq(&options, &defaults, sizeof defaults);
    options.attempts = 0;
    fails(acemq_outbox_open("memory", &options, &outbox, &error), 1, &error, "attempts");
    options.attempts = 1;
    options.timeout = -1;
    fails(acemq_outbox_open("memory", &options, &outbox, &error), 1, &error, "timeout");
    options.timeout = 0;
    options.name = "drop table";
    fails(acemq_outbox_open("memory", &options, &outbox, &error), 1, &error, "table");
    options.name = "box";
    ck_assert_int_eq(acemq_outbox_open("memory", &options, &outbox, NULL), ACEMQ_OK);
    acemq_outbox_free(outbox);
    acemq_outbox_free(NULL);
    acemq_relay_options relay;
    memset(&relay, 0xff, sizeof relay);
    const acemq_relay_options relay_defaults = ACEMQ_RELAY_OPTIONS_INIT;
    ck_assert_int_eq(acemq_relay_options_init(&relay, sizeof relay), ACEMQ_OK);
    ck_assert_mem_eq(&relay, &relay_defaults, sizeof relay_defaults);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    acemq_error *error = NULL;
    acemq_outbox *outbox = memory();
    acemq_outbox_list *list = NULL;
    acemq_outbox_counts counts = {.size = sizeof counts};
    acemq_message *message = acemq_message_text("x");
    fails(acemq_outbox_open(NULL, NULL, &outbox, &error), 1, &error, "store");
    fails(acemq_outbox_open("memory", NULL, NULL, &error), 1, &error, "outbox");
    fails(acemq_outbox_enqueue(NULL, "", "q", message, 0, NULL, &error), 1, &error, "outbox");
    fails(acemq_outbox_enqueue(outbox, NULL, "q", message, 0, NULL, &error), 1, &error, "exchange");
    fails(acemq_outbox_enqueue(outbox, "", NULL, message, 0, NULL, &error), 1, &error,
          "routing_key");
    fails(acemq_outbox_enqueue(outbox, "", "q", NULL, 0, NULL, &error), 1, &error, "message");
    fails(acemq_outbox_enqueue_lmdb(outbox, NULL, "", "q", message, NULL, &error), 1, &error,
          "transaction");
    fails(acemq_outbox_enqueue_postgres(outbox, NULL, "", "q", message, NULL, &error), 1, &error,
          "connection");
    fails(acemq_outbox_pending(outbox, 0, 0, &list, &error), 1, &error, "max");
    fails(acemq_outbox_count(outbox, 0, NULL, &error), 1, &error, "counts");
    fails(acemq_outbox_purge_published(outbox, -1, 0, NULL, &error), 1, &error, "age");
    fails(acemq_relay_start(NULL, outbox, NULL, NULL, &error), 1, &error, "connection");
    fails(acemq_relay_drain(NULL, 0, &error), 1, &error, "relay");
    acemq_relay_wake(NULL);
    acemq_relay_free(NULL);
    ck_assert_int_eq(acemq_outbox_count(outbox, 0, &counts, NULL), ACEMQ_OK);
    ck_assert_uint_eq(counts.pending, 0);
    acemq_message_free(message);
    acemq_outbox_free(outbox);
}
END_TEST

START_TEST(rows_are_handed_out_as_they_were)
{
    acemq_error *error = NULL;
    acemq_outbox *outbox = memory();
    acemq_outbox_list *list = NULL;
    char id[ACEMQ_OUTBOX_ID_SIZE];
    acemq_message *message = acemq_message_json("{}");
    ck_assert_int_eq(acemq_outbox_enqueue(outbox, "x", "k", message, PATIENCE, id, NULL), ACEMQ_OK);
    ck_assert_uint_eq(strlen(id), 36);
    ck_assert_int_eq(acemq_outbox_pending(outbox, 10, PATIENCE, &list, NULL), ACEMQ_OK);
    ck_assert_uint_eq(acemq_outbox_list_count(list), 1);
    acemq_outbox_row row = {.size = sizeof row};
    ck_assert_int_eq(acemq_outbox_list_row(list, 0, &row, NULL), ACEMQ_OK);
    acemq_outbox_free(outbox); /* the list is its own */
    ck_assert_str_eq(row.id, id);
    ck_assert_str_eq(row.exchange, "x");
    ck_assert_str_eq(row.routing_key, "k");
    ck_assert_str_eq(row.content_type, "application/json");
    ck_assert_str_eq(row.last_error, "");
    ck_assert_ptr_nonnull(strstr(row.headers, id));
    ck_assert_uint_eq(row.body.length, 2);
    ck_assert_int_eq(row.leased_until, 0);
    fails(acemq_outbox_list_row(list, 1, &row, &error), 1, &error, "index is 1");
    acemq_outbox_list_free(list);
    acemq_outbox_list_free(NULL);
    ck_assert_uint_eq(acemq_outbox_list_count(NULL), 0);
    acemq_message_free(message);
}
END_TEST

static acemq_outbox_statement *statement_of(const acemq_message *message,
                                            acemq_placeholder placeholder)
{
    acemq_outbox_statement *statement = NULL;
    ck_assert_int_eq(
        acemq_outbox_statement_new(NULL, placeholder, "", "q", message, &statement, NULL),
        ACEMQ_OK);
    return statement;
}

START_TEST(a_statement_is_one_insert_in_the_drivers_own_style)
{
    static const char *const texts[] = {
        "INSERT INTO acemq_outbox (id, exchange_name, routing_key, content_type, body, "
        "body_encoding, headers, created_at, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7, "
        "CAST($8 AS TIMESTAMP WITH TIME ZONE), 0)",
        "INSERT INTO acemq_outbox (id, exchange_name, routing_key, content_type, body, "
        "body_encoding, headers, created_at, attempts) VALUES (?, ?, ?, ?, ?, ?, ?, "
        "CAST(? AS TIMESTAMP WITH TIME ZONE), 0)",
        "INSERT INTO acemq_outbox (id, exchange_name, routing_key, content_type, body, "
        "body_encoding, headers, created_at, attempts) VALUES (%s, %s, %s, %s, %s, %s, %s, "
        "CAST(%s AS TIMESTAMP WITH TIME ZONE), 0)"};
    acemq_message *message = acemq_message_new("\0\1", 2);
    acemq_message_set_id(message, "m");
    for (int i = 0; i < 3; i++) {
        acemq_outbox_statement *statement = statement_of(message, (acemq_placeholder)i);
        ck_assert_str_eq(acemq_outbox_statement_text(statement), texts[i]);
        ck_assert_uint_eq(acemq_outbox_statement_count(statement), 8);
        ck_assert_str_eq(acemq_outbox_statement_id(statement), "m");
        ck_assert_str_eq(acemq_outbox_statement_value(statement, 4), "AAE=");
        ck_assert_str_eq(acemq_outbox_statement_value(statement, 5), "base64");
        ck_assert_uint_eq(strlen(acemq_outbox_statement_value(statement, 7)), 27);
        ck_assert_ptr_null(acemq_outbox_statement_value(statement, 8));
        acemq_outbox_statement_free(statement);
    }
    acemq_outbox_statement_free(NULL);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_child_of_fork_is_refused)
{
    acemq_outbox *outbox = memory();
    pid_t child = fork();
    if (child == 0) {
        acemq_outbox_counts counts = {.size = sizeof counts};
        int good = acemq_outbox_count(outbox, 0, &counts, NULL) == ACEMQ_E_FORKED;
        acemq_outbox_free(outbox);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    acemq_outbox_free(outbox);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outboxes");
    TCase *tcase = tcase_create("outboxes");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, options_have_their_defaults_and_limits);
    tcase_add_test(tcase, what_is_missing_is_named);
    tcase_add_test(tcase, rows_are_handed_out_as_they_were);
    tcase_add_test(tcase, a_statement_is_one_insert_in_the_drivers_own_style);
    tcase_add_test(tcase, a_child_of_fork_is_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
