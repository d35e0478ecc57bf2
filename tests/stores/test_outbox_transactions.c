/* Enqueuing in transactions of the caller's own, and stores that cannot. */
#include "outbox_fixture.h"

#include "store/postgres_exchange.h"

#include <acemq/acemq.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --- LMDB --- */

typedef struct environment {
    MDB_env *env;
    char folder[64];
} environment;

static void open_environment(environment *self, size_t map)
{
    strcpy(self->folder, "/tmp/acemq-outbox-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(self->folder));
    ck_assert_int_eq(mdb_env_create(&self->env), 0);
    ck_assert_int_eq(mdb_env_set_maxdbs(self->env, 8), 0);
    ck_assert_int_eq(mdb_env_set_mapsize(self->env, map), 0);
    ck_assert_int_eq(mdb_env_open(self->env, self->folder, 0, 0600), 0);
}

static void close_environment(environment *self)
{
    mdb_env_close(self->env);
    fixture f = {.outbox = NULL};
    strcpy(f.folder, self->folder);
    close_outbox(&f);
}

static MDB_txn *begin(environment *self)
{
    MDB_txn *transaction = NULL;
    ck_assert_int_eq(mdb_txn_begin(self->env, NULL, 0, &transaction), 0);
    return transaction;
}

static acemq_outbox *open_in(environment *self)
{
    acemq_outbox *outbox = NULL;
    ck_assert_int_eq(acemq_outbox_open_lmdb(self->env, NULL, &outbox, NULL), ACEMQ_OK);
    return outbox;
}

static uint64_t pending_of(acemq_outbox *outbox)
{
    acemq_outbox_counts counts = {.size = sizeof counts};
    ck_assert_int_eq(acemq_outbox_count(outbox, PATIENCE, &counts, NULL), ACEMQ_OK);
    return counts.pending;
}

START_TEST(a_message_exists_exactly_when_the_callers_lmdb_transaction_commits)
{
    environment e;
    open_environment(&e, 1 << 20);
    acemq_outbox *outbox = open_in(&e);
    acemq_message *message = acemq_message_text("hello");
    char id[ACEMQ_OUTBOX_ID_SIZE];
    MDB_txn *transaction = begin(&e);
    ck_assert_int_eq(acemq_outbox_enqueue_lmdb(outbox, transaction, "", "q", message, id, NULL),
                     ACEMQ_OK);
    ck_assert_uint_eq(strlen(id), 36);
    mdb_txn_abort(transaction);
    ck_assert_uint_eq(pending_of(outbox), 0);
    transaction = begin(&e);
    ck_assert_int_eq(acemq_outbox_enqueue_lmdb(outbox, transaction, "", "q", message, NULL, NULL),
                     ACEMQ_OK);
    ck_assert_int_eq(mdb_txn_commit(transaction), 0);
    ck_assert_uint_eq(pending_of(outbox), 1);
    acemq_message_free(message);
    acemq_outbox_free(outbox);
    close_environment(&e);
}
END_TEST

START_TEST(a_transaction_of_another_environment_is_refused)
{
    environment e;
    environment other;
    open_environment(&e, 1 << 20);
    open_environment(&other, 1 << 20);
    acemq_outbox *outbox = open_in(&e);
    acemq_message *message = acemq_message_text("hello");
    acemq_error *error = NULL;
    MDB_txn *transaction = begin(&other);
    ck_assert_int_eq(acemq_outbox_enqueue_lmdb(outbox, transaction, "", "q", message, NULL, &error),
                     ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_str_eq(acemq_error_field(error), "transaction");
    acemq_error_free(error);
    mdb_txn_abort(transaction);
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(outbox, (struct pg_conn *)&e, "", "q", message, NULL, NULL),
        ACEMQ_E_STATE);
    acemq_message_free(message);
    acemq_outbox_free(outbox);
    close_environment(&e);
    close_environment(&other);
}
END_TEST

START_TEST(a_full_map_of_the_callers_is_an_error_and_nothing_is_written)
{
    environment e;
    open_environment(&e, 128 << 10);
    acemq_outbox *outbox = open_in(&e);
    void *large = calloc(1, 200 << 10);
    ck_assert_ptr_nonnull(large);
    acemq_message *message = acemq_message_new(large, 200 << 10);
    MDB_txn *transaction = begin(&e);
    acemq_error *error = NULL;
    ck_assert_int_eq(acemq_outbox_enqueue_lmdb(outbox, transaction, "", "q", message, NULL, &error),
                     ACEMQ_E_STORE_FULL);
    acemq_error_free(error);
    mdb_txn_abort(transaction);
    ck_assert_int_eq(acemq_outbox_enqueue(outbox, "", "q", message, PATIENCE, NULL, NULL),
                     ACEMQ_E_STORE_FULL);
    ck_assert_uint_eq(pending_of(outbox), 0);
    acemq_message_free(message);
    message = acemq_message_text("small");
    ck_assert_int_eq(acemq_outbox_enqueue(outbox, "", "q", message, PATIENCE, NULL, NULL),
                     ACEMQ_OK);
    acemq_message_free(message);
    free(large);
    acemq_outbox_free(outbox);
    close_environment(&e);
}
END_TEST

START_TEST(our_own_map_grows)
{
    fixture f;
    open_outbox(&f, LMDB);
    uint8_t *large = calloc(1, 9 << 20);
    ck_assert_ptr_nonnull(large);
    static const char *const ids[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        ace_outbox_record record = record_of(ids[i], i + 1);
        record.body = (ace_bytes){large, 9 << 20};
        ck_assert_int_eq(ace_outbox_add(f.outbox, &record, NULL, after(PATIENCE), NULL), ACE_OK);
    }
    lists(&f, ACE_OUTBOX_PENDING, "a,b,c");
    free(large);
    close_outbox(&f);
}
END_TEST

/* Root may write anywhere, so that a child which is not root tries. */
START_TEST(a_read_only_folder_is_an_error)
{
    char folder[] = "/tmp/acemq-outbox-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        char store[80];
        acemq_outbox *outbox = NULL;
        snprintf(store, sizeof store, "lmdb:%s/box", folder);
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(10);
        }
        _exit(acemq_outbox_open(store, NULL, &outbox, NULL) == ACEMQ_E_SYSTEM ? 0 : 11);
    }
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* --- PostgreSQL --- */

static struct pg_conn *connect_to_postgres(const ace_postgres_library **library)
{
    struct pg_conn *connection = NULL;
    *library = ace_postgres_library_get(NULL);
    ck_assert_ptr_nonnull(*library);
    ck_assert_int_eq(
        ace_postgres_connect(*library, postgres_url(), 10000, after(PATIENCE), &connection, NULL),
        ACE_OK);
    return connection;
}

static void say(struct pg_conn *connection, const char *statement)
{
    ck_assert_int_eq(ace_postgres_run_on(connection, statement, NULL, 0, NULL, NULL), ACE_OK);
}

START_TEST(a_message_exists_exactly_when_the_callers_connection_commits)
{
    fixture f;
    const ace_postgres_library *library;
    open_outbox(&f, POSTGRES);
    struct pg_conn *connection = connect_to_postgres(&library);
    acemq_message *message = acemq_message_text("hello");
    say(connection, "BEGIN");
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, NULL),
        ACEMQ_OK);
    say(connection, "ROLLBACK");
    ck_assert_uint_eq(count(&f).pending, 0);
    say(connection, "BEGIN");
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, NULL),
        ACEMQ_OK);
    ck_assert_uint_eq(count(&f).pending, 0);
    say(connection, "COMMIT");
    ck_assert_uint_eq(count(&f).pending, 1);
    acemq_message_set_id(message, "twice");
    say(connection, "BEGIN");
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, NULL),
        ACEMQ_OK);
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, NULL),
        ACEMQ_E_INVALID_ARGUMENT);
    say(connection, "COMMIT"); /* a known id spoils nothing */
    ck_assert_uint_eq(count(&f).pending, 2);
    acemq_message_free(message);
    library->finish(connection);
    close_outbox(&f);
}
END_TEST

/* Its server would take each byte of a text for a character. */
START_TEST(a_callers_connection_that_does_not_speak_utf8_is_refused)
{
    fixture f;
    const ace_postgres_library *library;
    open_outbox(&f, POSTGRES);
    struct pg_conn *connection = connect_to_postgres(&library);
    acemq_message *message = acemq_message_text("\xc3\xa9");
    acemq_error *error = NULL;
    say(connection, "SET client_encoding = 'LATIN1'");
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, &error),
        ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "LATIN1"));
    ck_assert_str_eq(acemq_error_field(error), "connection");
    acemq_error_free(error);
    say(connection, "SET client_encoding = 'UTF8'");
    ck_assert_int_eq(
        acemq_outbox_enqueue_postgres(f.outbox, connection, "", "q", message, NULL, NULL),
        ACEMQ_OK);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert(ace_bytes_equal_text(rows.rows[0].record.body, "\xc3\xa9"));
    ace_outbox_rows_free(&rows);
    acemq_message_free(message);
    library->finish(connection);
    close_outbox(&f);
}
END_TEST

START_TEST(the_statement_and_its_parameters_are_enough_for_another_driver)
{
    fixture f;
    open_outbox(&f, POSTGRES);
    static const unsigned char body[] = {0, 1, 255};
    acemq_message *message = acemq_message_new(body, sizeof body);
    acemq_message_set_id(message, "by-hand");
    acemq_outbox_statement *statement = NULL;
    ck_assert_int_eq(acemq_outbox_statement_new(f.table, ACEMQ_PLACEHOLDER_DOLLAR, "x", "k",
                                                message, &statement, NULL),
                     ACEMQ_OK);
    const char *values[16];
    size_t values_count = acemq_outbox_statement_count(statement);
    for (size_t i = 0; i < values_count; i++) {
        values[i] = acemq_outbox_statement_value(statement, i);
    }
    const ace_postgres_library *library;
    struct pg_conn *connection = connect_to_postgres(&library);
    ace_error *error = NULL;
    ace_code code = ace_postgres_run_on(connection, acemq_outbox_statement_text(statement), values,
                                        (int)values_count, NULL, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "" : ace_error_message(error));
    library->finish(connection);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_str_eq(ids_of(&rows), "by-hand");
    ck_assert(ace_bytes_equal(rows.rows[0].record.body, (ace_bytes){body, sizeof body}));
    ace_outbox_rows_free(&rows);
    acemq_outbox_statement_free(statement);
    acemq_message_free(message);
    close_outbox(&f);
}
END_TEST

START_TEST(a_table_of_other_columns_is_refused_by_its_first_difference)
{
    ace_outbox_options options = {.name = postgres_table()};
    char statement[300];
    ace_outbox *outbox = NULL;
    ace_error *error = NULL;
    ck_assert_int_eq(
        ace_outbox_open_postgres(postgres_url(), &options, after(PATIENCE), &outbox, &error),
        ACE_NOT_FOUND);
    ace_error_free(error);
    error = NULL;
    snprintf(statement, sizeof statement,
             "CREATE TABLE %s (id VARCHAR(64) PRIMARY KEY, exchange_name VARCHAR(255) NOT NULL, "
             "routing_key TEXT NOT NULL)",
             options.name);
    postgres_must(statement);
    ck_assert_int_eq(
        ace_outbox_open_postgres(postgres_url(), &options, after(PATIENCE), &outbox, &error),
        ACE_DIFFERS);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "routing_key"));
    ace_error_free(error);
}
END_TEST

START_TEST(a_dropped_connection_is_made_again_and_nothing_is_taken_for_done)
{
    fixture f;
    open_outbox(&f, POSTGRES);
    add(&f, "a", 1);
    postgres_drop_sessions();
    leases(&f, "me", "a");
    postgres_drop_sessions();
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    postgres_drop_sessions();
    settle(&f, "me", &rows, ACE_OUTBOX_PUBLISHED);
    ace_outbox_rows_free(&rows);
    ck_assert_uint_eq(count(&f).published, 1);
    close_outbox(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox transactions");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 240);
    tcase_add_test(all, a_message_exists_exactly_when_the_callers_lmdb_transaction_commits);
    tcase_add_test(all, a_transaction_of_another_environment_is_refused);
    tcase_add_test(all, a_full_map_of_the_callers_is_an_error_and_nothing_is_written);
    tcase_add_test(all, our_own_map_grows);
    tcase_add_test(all, a_read_only_folder_is_an_error);
    tcase_add_test(all, a_message_exists_exactly_when_the_callers_connection_commits);
    tcase_add_test(all, a_callers_connection_that_does_not_speak_utf8_is_refused);
    tcase_add_test(all, the_statement_and_its_parameters_are_enough_for_another_driver);
    tcase_add_test(all, a_table_of_other_columns_is_refused_by_its_first_difference);
    tcase_add_test(all, a_dropped_connection_is_made_again_and_nothing_is_taken_for_done);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
