/* Relays over the stores that several processes share. */
#include "outbox_fixture.h"

#include "support/trial_recorder.h"

enum { MESSAGES = 300 };

static acemq_relay *start(acemq_connection *mq, acemq_outbox *outbox)
{
    acemq_relay *relay = NULL;
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    options.every = 20;
    options.batch = 20;
    trial_must(acemq_relay_start(mq, outbox, &options, &relay, trial_error()));
    return relay;
}

static uint64_t published_by(acemq_relay *relay)
{
    acemq_relay_counters counters = {.size = sizeof counters};
    trial_must(acemq_relay_count(relay, &counters, trial_error()));
    return counters.published;
}

START_TEST(two_relays_share_a_store_and_publish_each_message_once)
{
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, _i);
    const char *queue = trial_queue(&t, "shared", ACEMQ_QUEUE_CLASSIC);
    for (int i = 0; i < MESSAGES; i++) {
        acemq_message *message = acemq_message_text("x");
        trial_must(
            acemq_outbox_enqueue(f.outbox, "", queue, message, PATIENCE, NULL, trial_error()));
        acemq_message_free(message);
    }
    acemq_connection *other = trial_connect(&t, NULL);
    acemq_relay *relays[] = {start(t.mq, f.outbox), start(other, f.outbox)};
    trial_must(acemq_relay_drain(relays[0], PATIENCE, trial_error()));
    trial_must(acemq_relay_stop(relays[0], PATIENCE, trial_error()));
    trial_must(acemq_relay_stop(relays[1], PATIENCE, trial_error()));
    ck_assert_uint_eq(published_by(relays[0]) + published_by(relays[1]), MESSAGES);
    trial_wait_ready(&t, queue, MESSAGES, PATIENCE);
    ck_assert_uint_eq(count(&f).published, MESSAGES);
    acemq_relay_free(relays[0]);
    acemq_relay_free(relays[1]);
    trial_close(other);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

/* 255 characters, which the table takes, and 256 bytes, which the broker does not. */
START_TEST(a_key_of_256_bytes_in_the_table_holds_up_nobody)
{
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, POSTGRES);
    const char *queue = trial_queue(&t, "key", ACEMQ_QUEUE_CLASSIC);
    char statement[400];
    snprintf(statement, sizeof statement,
             "INSERT INTO %s VALUES ('long', '', repeat('k', 254) || U&'\\00e9', '', 'b', 'utf-8', "
             "'{}', '2026-01-01Z')",
             f.table);
    postgres_must(statement);
    acemq_message *message = acemq_message_text("fine");
    trial_must(acemq_outbox_enqueue(f.outbox, "", queue, message, PATIENCE, NULL, trial_error()));
    acemq_message_free(message);
    acemq_relay *relay = start(t.mq, f.outbox);
    trial_must(acemq_relay_drain(relay, PATIENCE, trial_error()));
    trial_wait_ready(&t, queue, 1, PATIENCE);
    lists(&f, ACE_OUTBOX_RETIRED, "long");
    acemq_relay_free(relay);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

START_TEST(what_a_drain_waited_for_is_counted)
{
    unsigned rounds = _i == MEMORY ? 2000 : 50;
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, _i);
    const char *queue = trial_queue(&t, "counted", ACEMQ_QUEUE_CLASSIC);
    acemq_relay *relay = start(t.mq, f.outbox);
    for (unsigned round = 1; round <= rounds; round++) {
        acemq_message *message = acemq_message_text("x");
        trial_must(
            acemq_outbox_enqueue(f.outbox, "", queue, message, PATIENCE, NULL, trial_error()));
        acemq_message_free(message);
        trial_must(acemq_relay_drain(relay, PATIENCE, trial_error()));
        ck_assert_uint_eq(published_by(relay), round);
    }
    acemq_relay_free(relay);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

static const struct {
    const char *body;
    const char *encoding;
    const char *says;
} unreadable[] = {
    {"bm8gYmFzZTY0", "base32", "neither utf-8 nor base64"},
    {"no base64!", "base64", "not the base64"},
    {"YQ", "base64", "not the base64"}, /* without its padding */
};

START_TEST(a_body_that_does_not_read_in_its_encoding_fails_its_row_and_no_other)
{
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, POSTGRES);
    const char *queue = trial_queue(&t, "unreadable", ACEMQ_QUEUE_CLASSIC);
    char statement[600];
    snprintf(statement, sizeof statement,
             "INSERT INTO %s VALUES ('bad', '', '%s', '', '%s', '%s', '{}', '2026-01-01Z'), "
             "('good', '', '%s', '', 'YQ==', 'base64', '{}', '2026-01-02Z')",
             f.table, queue, unreadable[_i].body, unreadable[_i].encoding, queue);
    postgres_must(statement);
    acemq_relay *relay = start(t.mq, f.outbox);
    trial_must(acemq_relay_drain(relay, PATIENCE, trial_error()));
    lists(&f, ACE_OUTBOX_RETIRED, "bad");
    acemq_relay_counters counters = {.size = sizeof counters};
    trial_must(acemq_relay_count(relay, &counters, trial_error()));
    ck_assert_uint_eq(counters.published, 1);
    ck_assert_uint_eq(counters.failed, 3);
    ck_assert_uint_eq(counters.retired, 1);
    ck_assert_uint_eq(trial_ready(&t, queue), 1);
    ace_outbox_rows rows = ACE_OUTBOX_ROWS_INIT;
    ck_assert_int_eq(
        ace_outbox_list_rows(f.outbox, ACE_OUTBOX_RETIRED, 1, after(PATIENCE), &rows, NULL),
        ACE_OK);
    ck_assert_ptr_nonnull(strstr((const char *)rows.rows[0].last_error.data, unreadable[_i].says));
    ck_assert(ace_bytes_equal_text(rows.rows[0].record.body, unreadable[_i].body));
    ace_outbox_rows_free(&rows);
    acemq_relay_free(relay);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

START_TEST(a_time_that_no_number_holds_in_the_table_holds_up_nobody)
{
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, POSTGRES);
    const char *queue = trial_queue(&t, "infinite", ACEMQ_QUEUE_CLASSIC);
    const char *times[] = {"infinity", "-infinity", "294276-12-31 23:00:00Z",
                           "4713-02-01 00:00:00Z BC"};
    for (int i = 0; i < 4; i++) {
        char statement[400];
        snprintf(statement, sizeof statement,
                 "INSERT INTO %s VALUES ('%s', '', '%s', '', 'b', 'utf-8', '{}', '%s')", f.table,
                 times[i], queue, times[i]);
        postgres_must(statement);
    }
    ck_assert_uint_eq(count(&f).pending, 4);
    acemq_relay *relay = start(t.mq, f.outbox);
    trial_must(acemq_relay_drain(relay, PATIENCE, trial_error()));
    trial_wait_ready(&t, queue, 4, PATIENCE);
    ck_assert_uint_eq(count(&f).published, 4);
    acemq_relay_free(relay);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

START_TEST(a_store_that_is_down_for_a_while_loses_nothing)
{
    trial t;
    fixture f;
    trial_begin(&t, TRIAL_MEMORY);
    open_outbox(&f, POSTGRES);
    const char *queue = trial_queue(&t, "down", ACEMQ_QUEUE_CLASSIC);
    acemq_relay *relay = start(t.mq, f.outbox);
    for (int i = 0; i < 5; i++) {
        acemq_message *message = acemq_message_text("x");
        trial_must(
            acemq_outbox_enqueue(f.outbox, "", queue, message, PATIENCE, NULL, trial_error()));
        acemq_message_free(message);
        char statement[200];
        snprintf(statement, sizeof statement, "ALTER TABLE %s RENAME TO %s_away", f.table, f.table);
        postgres_must(statement);
        acemq_relay_wake(relay);
        trial_sleep(30);
        snprintf(statement, sizeof statement, "ALTER TABLE %s_away RENAME TO %s", f.table, f.table);
        postgres_must(statement);
    }
    int64_t end = trial_now() + PATIENCE;
    while (count(&f).published < 5 && trial_now() < end) {
        trial_sleep(50);
    }
    ck_assert_uint_eq(count(&f).published, 5);
    ck_assert_uint_ge(trial_ready(&t, queue), 5);
    acemq_relay_free(relay);
    close_outbox(&f);
    trial_end(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox relay over stores");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 240);
    tcase_add_loop_test(all, two_relays_share_a_store_and_publish_each_message_once, LMDB, KINDS);
    tcase_add_loop_test(all, what_a_drain_waited_for_is_counted, MEMORY, KINDS);
    tcase_add_test(all, a_time_that_no_number_holds_in_the_table_holds_up_nobody);
    tcase_add_loop_test(all, a_body_that_does_not_read_in_its_encoding_fails_its_row_and_no_other,
                        0, sizeof unreadable / sizeof unreadable[0]);
    tcase_add_test(all, a_key_of_256_bytes_in_the_table_holds_up_nobody);
    tcase_add_test(all, a_store_that_is_down_for_a_while_loses_nothing);
    suite_add_tcase(suite, all);
    return trial_run(suite);
}
