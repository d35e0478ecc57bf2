#include "store/postgres_connection.h"
#include "store/postgres_schema.h"

#include "base/clock.h"
#include "support/postgres.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t after(int64_t milliseconds)
{
    return ace_clock_monotonic(ace_clock_system()) + milliseconds;
}

static ace_postgres *open_one(int64_t statement_timeout)
{
    ace_postgres_options options = {.url = postgres_url(), .statement_timeout = statement_timeout};
    ace_postgres *postgres = NULL;
    ace_error *error = NULL;
    ck_assert_msg(ace_postgres_open(&options, after(30000), &postgres, &error) == ACE_OK, "%s",
                  ace_error_message(error));
    return postgres;
}

static ace_code run(ace_postgres *postgres, const char *statement, ace_error **error)
{
    return ace_postgres_run(postgres, statement, NULL, 0, true, after(30000), NULL, error);
}

START_TEST(a_statement_takes_parameters_and_answers)
{
    ace_postgres *postgres = open_one(0);
    const char *values[] = {"x'); DROP TABLE y; --", NULL};
    ace_postgres_answer answer = {0};
    ck_assert_int_eq(ace_postgres_run(postgres, "SELECT $1::text, $2::text, 42", values, 2, true,
                                      after(30000), &answer, NULL),
                     ACE_OK);
    ck_assert_int_eq(answer.rows, 1);
    ck_assert_int_eq(answer.columns, 3);
    ck_assert_str_eq(ace_postgres_value(&answer, 0, 0), values[0]);
    ck_assert_ptr_null(ace_postgres_value(&answer, 0, 1));
    ck_assert_int_eq(ace_postgres_number(&answer, 0, 2), 42);
    ace_postgres_answer_free(&answer);
    ace_postgres_close(postgres);
}
END_TEST

START_TEST(what_the_server_says_has_a_code_and_a_text)
{
    ace_postgres *postgres = open_one(0);
    ace_error *error = NULL;
    ck_assert_int_eq(run(postgres, "SELECT 1 FROM no_such_table", &error), ACE_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "no_such_table"));
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(run(postgres, "SELECT 1 / 0", &error), ACE_STORE);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "22012"));
    ace_error_free(error);
    ck_assert_int_eq(run(postgres, "SELECT 1", NULL), ACE_OK);
    ace_postgres_close(postgres);
}
END_TEST

START_TEST(a_url_that_does_not_serve_never_shows_its_password)
{
    const struct {
        const char *url;
        ace_code code;
    } rows[] = {
        {"mysql://u:secret@127.0.0.1/x", ACE_INVALID_ARGUMENT},
        {"postgresql://u:sec%zzret@127.0.0.1/x", ACE_INVALID_ARGUMENT},
        {"postgresql://u:secret@127.0.0.1:1/x", ACE_UNREACHABLE},
        {"postgresql://u:secret@127.0.0.1:1/x?no_such_thing=secret", ACE_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ace_postgres_options options = {.url = rows[i].url};
        ace_postgres *postgres = NULL;
        ace_error *error = NULL;
        ck_assert_int_eq(ace_postgres_open(&options, after(500), &postgres, &error), rows[i].code);
        ck_assert_ptr_null(strstr(ace_error_message(error), "secret"));
        ace_error_free(error);
    }
}
END_TEST

START_TEST(a_database_or_a_user_that_is_missing_is_told_apart)
{
    char url[512];
    const char *at = strchr(postgres_url(), '@');
    ck_assert_ptr_nonnull(at);
    const char *slash = strrchr(at, '/');
    ace_postgres *postgres = NULL;
    (void)snprintf(url, sizeof url, "postgresql://acemq%.*s/no_such_database", (int)(slash - at),
                   at);
    ace_postgres_options options = {.url = url};
    ck_assert_int_eq(ace_postgres_open(&options, after(10000), &postgres, NULL), ACE_NOT_FOUND);
    (void)snprintf(url, sizeof url, "postgresql://nobody%s", at);
    ck_assert_int_eq(ace_postgres_open(&options, after(10000), &postgres, NULL), ACE_LOGIN_REFUSED);
}
END_TEST

START_TEST(a_slow_statement_ends_by_the_server_s_limit_or_by_the_caller_s)
{
    ace_postgres *postgres = open_one(200);
    ace_error *error = NULL;
    ck_assert_int_eq(run(postgres, "SELECT pg_sleep(60)", &error), ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "57014"));
    ace_error_free(error);
    ace_postgres_close(postgres);
    postgres = open_one(0);
    ck_assert_int_eq(
        ace_postgres_run(postgres, "SELECT pg_sleep(60)", NULL, 0, true, after(200), NULL, NULL),
        ACE_TIMEOUT);
    ck_assert_int_eq(run(postgres, "SELECT 1", NULL), ACE_OK);
    ace_postgres_close(postgres);
    postgres_drop_sessions();
}
END_TEST

START_TEST(a_lost_connection_is_made_again)
{
    ace_postgres *postgres = open_one(0);
    postgres_drop_sessions();
    ck_assert_int_eq(run(postgres, "SELECT 1", NULL), ACE_OK);
    /* Lost in the middle: what may be repeated is, and the rest is told. */
    ck_assert_int_eq(ace_postgres_run(postgres, "SELECT pg_terminate_backend(pg_backend_pid())",
                                      NULL, 0, false, after(30000), NULL, NULL),
                     ACE_CONNECTION_LOST);
    ck_assert_int_eq(run(postgres, "SELECT 1", NULL), ACE_OK);
    postgres_control("kill");
    ace_error *error = NULL;
    ck_assert_int_eq(
        ace_postgres_run(postgres, "SELECT 1", NULL, 0, true, after(300), NULL, &error),
        ACE_UNREACHABLE);
    ace_error_free(error);
    postgres_control("start");
    ck_assert_int_eq(run(postgres, "SELECT 1", NULL), ACE_OK);
    ace_postgres_close(postgres);
}
END_TEST

START_TEST(a_child_leaves_its_parent_s_session_alone)
{
    ace_postgres *postgres = open_one(0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        bool good = run(postgres, "SELECT 1", NULL) == ACE_FORKED;
        ace_postgres_close(postgres);
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(
        ace_postgres_run(postgres, "SELECT 1", NULL, 0, false, after(30000), NULL, NULL), ACE_OK);
    ace_postgres_close(postgres);
}
END_TEST

static void make_table(const char *name, const ace_postgres_table *table)
{
    ace_buffer text = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_postgres_schema_append(&text, table, name, NULL), ACE_OK);
    char *statement = ace_buffer_take_text(&text);
    char *second = strstr(statement, "CREATE INDEX");
    ck_assert_ptr_nonnull(second);
    second[-1] = '\0';
    postgres_must(statement);
    second[-1] = '\n';
    postgres_must(second);
    free(statement);
}

START_TEST(the_tables_of_our_statements_are_the_ones)
{
    ace_postgres *postgres = open_one(0);
    const ace_postgres_table *tables[] = {&ace_postgres_idempotency, &ace_postgres_outbox};
    for (size_t i = 0; i < 2; i++) {
        const char *name = postgres_table();
        ace_error *error = NULL;
        ck_assert_int_eq(ace_postgres_schema_check(postgres, tables[i], name, after(30000), &error),
                         ACE_NOT_FOUND);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "acemq schema postgres"));
        ace_error_free(error);
        make_table(name, tables[i]);
        ck_assert_int_eq(ace_postgres_schema_check(postgres, tables[i], name, after(30000), NULL),
                         ACE_OK);
        make_table(name, tables[i]); /* again does no harm */
    }
    ace_postgres_close(postgres);
}
END_TEST

START_TEST(a_table_of_other_columns_is_refused_by_its_first_difference)
{
    const struct {
        const char *change;
        const char *says;
    } rows[] = {
        {"DROP COLUMN state", "column state is missing"},
        {"ALTER COLUMN message_id TYPE VARCHAR(200)",
         "column message_id is character varying(200), it must be character varying(255)"},
        {"ALTER COLUMN expires_at TYPE TIMESTAMP", "column expires_at is timestamp without"},
        {"ALTER COLUMN claimed_by SET NOT NULL", "column claimed_by is NOT NULL"},
        {"DROP CONSTRAINT %s_pkey", "column message_id is not the primary key"},
        {"ADD COLUMN extra INTEGER NOT NULL", "column extra is NOT NULL"},
        {"ADD COLUMN extra INTEGER NOT NULL DEFAULT 3", NULL},
        {"ADD COLUMN extra INTEGER", NULL},
    };
    ace_postgres *postgres = open_one(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *name = postgres_table();
        make_table(name, &ace_postgres_idempotency);
        char statement[256];
        int length = snprintf(statement, sizeof statement, "ALTER TABLE %s ", name);
        const char *mark = strstr(rows[i].change, "%s");
        if (mark == NULL) {
            strcpy(statement + length, rows[i].change);
        } else {
            (void)snprintf(statement + length, sizeof statement - (size_t)length, "%.*s%s%s",
                           (int)(mark - rows[i].change), rows[i].change, name, mark + 2);
        }
        postgres_must(statement);
        ace_error *error = NULL;
        ace_code code = ace_postgres_schema_check(postgres, &ace_postgres_idempotency, name,
                                                  after(30000), &error);
        ck_assert_int_eq(code, rows[i].says == NULL ? ACE_OK : ACE_DIFFERS);
        ck_assert_msg(rows[i].says == NULL || strstr(ace_error_message(error), rows[i].says), "%s",
                      ace_error_message(error));
        ace_error_free(error);
    }
    ace_postgres_close(postgres);
}
END_TEST

START_TEST(table_names_are_plain)
{
    const char *good[] = {"acemq_idempotency", "_", "A1",
                          "a23456789012345678901234567890123456789012345678901234567890123"};
    const char *bad[] = {
        "",         "1a",
        "a-b",      "a.b",
        "a\"b",     "a;b",
        "\xc3\xa4", "a234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ck_assert_int_eq(ace_store_table_name_check("table", good[i], NULL), ACE_OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_int_eq(ace_store_table_name_check("table", bad[i], NULL), ACE_INVALID_ARGUMENT);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("PostgreSQL");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 240);
    tcase_add_test(all, a_statement_takes_parameters_and_answers);
    tcase_add_test(all, what_the_server_says_has_a_code_and_a_text);
    tcase_add_test(all, a_url_that_does_not_serve_never_shows_its_password);
    tcase_add_test(all, a_database_or_a_user_that_is_missing_is_told_apart);
    tcase_add_test(all, a_slow_statement_ends_by_the_server_s_limit_or_by_the_caller_s);
    tcase_add_test(all, a_lost_connection_is_made_again);
    tcase_add_test(all, a_child_leaves_its_parent_s_session_alone);
    tcase_add_test(all, the_tables_of_our_statements_are_the_ones);
    tcase_add_test(all, a_table_of_other_columns_is_refused_by_its_first_difference);
    tcase_add_test(all, table_names_are_plain);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
