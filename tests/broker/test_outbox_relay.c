/* The relay: what an outbox holds is published, whole, in order, and marked afterwards. */
#include "support/trial_recorder.h"

#include "store/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 30000

static acemq_outbox *memory_outbox(int32_t attempts)
{
    acemq_outbox *outbox = NULL;
    acemq_outbox_options options = ACEMQ_OUTBOX_OPTIONS_INIT;
    options.attempts = attempts;
    trial_must(acemq_outbox_open("memory:", &options, &outbox, trial_error()));
    return outbox;
}

static acemq_relay *relay(acemq_connection *mq, acemq_outbox *outbox)
{
    acemq_relay *started = NULL;
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    options.every = 20;
    trial_must(acemq_relay_start(mq, outbox, &options, &started, trial_error()));
    return started;
}

static void enqueue(acemq_outbox *outbox, const char *queue, const char *id)
{
    acemq_message *message = acemq_message_text(id);
    acemq_message_set_id(message, id);
    trial_must(acemq_outbox_enqueue(outbox, "", queue, message, PATIENCE, NULL, trial_error()));
    acemq_message_free(message);
}

static acemq_outbox_counts counts_of(acemq_outbox *outbox)
{
    acemq_outbox_counts counts = {.size = sizeof counts};
    trial_must(acemq_outbox_count(outbox, PATIENCE, &counts, trial_error()));
    return counts;
}

static acemq_relay_counters counted(acemq_relay *self)
{
    acemq_relay_counters counters = {.size = sizeof counters};
    trial_must(acemq_relay_count(self, &counters, trial_error()));
    return counters;
}

START_TEST(a_message_arrives_as_a_publish_would_have_sent_it)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "whole", ACEMQ_QUEUE_QUORUM);
    acemq_outbox *outbox = memory_outbox(10);
    static const unsigned char body[] = {0, 1, 2, 255};
    acemq_message *message = acemq_message_new(body, sizeof body);
    acemq_message_set_id(message, "order-7");
    acemq_message_set_type(message, "order.placed");
    acemq_message_set_version(message, 3);
    acemq_message_set_correlation(message, "c-1");
    acemq_message_set_route(message, "a,b", 1, "r-1");
    acemq_message_set_header(message, "tenant", "acm\xc3\xa9");
    acemq_message_set_header_int64(message, "big", INT64_C(9007199254740993));
    acemq_message_set_header_double(message, "half", 2.0);
    acemq_message_set_header_bool(message, "yes", 1);
    int64_t before = ace_clock_wall(ace_clock_system());
    trial_must(acemq_outbox_enqueue(outbox, "", queue, message, PATIENCE, NULL, trial_error()));
    int64_t after = ace_clock_wall(ace_clock_system());
    acemq_message_free(message);
    acemq_relay *self = relay(t.mq, outbox);
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    trial_sight seen;
    trial_only(&t, queue, &seen);
    trial_sight_has_body(&seen, body, sizeof body);
    ck_assert_str_eq(seen.content_type, "application/octet-stream");
    ck_assert_str_eq(seen.message_id, "order-7");
    ck_assert_str_eq(acemq_envelope_id(seen.envelope), "order-7");
    ck_assert_str_eq(acemq_envelope_type(seen.envelope), "order.placed");
    ck_assert_int_eq(acemq_envelope_version(seen.envelope), 3);
    ck_assert_str_eq(acemq_envelope_correlation(seen.envelope), "c-1");
    ck_assert_int_ge(acemq_envelope_first_seen(seen.envelope), before);
    ck_assert_int_le(acemq_envelope_first_seen(seen.envelope), after);
    char *headers = NULL;
    trial_must(acemq_table_format_json(seen.headers, 0, &headers, trial_error()));
    ck_assert_ptr_nonnull(strstr(headers, "9007199254740993"));
    ck_assert_ptr_nonnull(strstr(headers, "\"x-acemq-route\":\"a,b\""));
    acemq_free(headers);
    const acemq_value *version = acemq_table_get(seen.headers, "x-acemq-version");
    const acemq_value *first_seen = acemq_table_get(seen.headers, "x-acemq-first-seen");
    const acemq_value *half = acemq_table_get(seen.headers, "half");
    ck_assert_int_eq(acemq_value_kind(version), ACEMQ_KIND_INT32);
    ck_assert_int_eq(acemq_value_kind(first_seen), ACEMQ_KIND_INT64);
    ck_assert_int_eq(acemq_value_kind(half), ACEMQ_KIND_DOUBLE);
    trial_sight_free(&seen);
    ck_assert_uint_eq(counts_of(outbox).published, 1);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(a_row_that_cannot_be_sent_holds_up_nobody_and_is_retired)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "bad", ACEMQ_QUEUE_QUORUM);
    acemq_outbox *outbox = memory_outbox(3);
    /* Past the door's own check, as a row of another program's would be. */
    char key[257];
    memset(key, 'k', 256);
    key[256] = '\0';
    ace_outbox_record record = {.id = ace_bytes_of("long-key"),
                                .routing_key = ace_bytes_of(key),
                                .headers = ace_bytes_of("{}"),
                                .created = 1};
    ck_assert_int_eq(ace_outbox_add(outbox, &record, NULL, ACE_NEVER, NULL), ACE_OK);
    record.id = ace_bytes_of("bad-headers");
    record.routing_key = ace_bytes_of(queue);
    record.headers = ace_bytes_of("{\"x\":");
    record.created = 2;
    ck_assert_int_eq(ace_outbox_add(outbox, &record, NULL, ACE_NEVER, NULL), ACE_OK);
    enqueue(outbox, "nobody.has.this.queue", "unroutable");
    char id[16];
    for (int i = 0; i < 250; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
    }
    acemq_relay *self = relay(t.mq, outbox);
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    trial_wait_ready(&t, queue, 250, PATIENCE);
    acemq_outbox_counts counts = counts_of(outbox);
    ck_assert_uint_eq(counts.published, 250);
    ck_assert_uint_eq(counts.retired, 3);
    ck_assert_uint_eq(counted(self).failed, 9);
    ck_assert_uint_eq(counted(self).retired, 3);
    acemq_outbox_list *retired = NULL;
    trial_must(acemq_outbox_retired(outbox, 10, PATIENCE, &retired, trial_error()));
    ck_assert_uint_eq(acemq_outbox_list_count(retired), 3);
    acemq_outbox_row row = {.size = sizeof row};
    trial_must(acemq_outbox_list_row(retired, 0, &row, trial_error()));
    ck_assert_str_eq(row.id, "long-key");
    ck_assert_str_eq(row.last_error, "routing key has 256 bytes, the limit is 255");
    ck_assert_int_eq(row.attempts, 3);
    acemq_outbox_list_free(retired);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(a_row_for_an_exchange_that_is_missing_takes_nobody_with_it_for_good)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "exchange", ACEMQ_QUEUE_QUORUM);
    acemq_outbox *outbox = memory_outbox(2);
    acemq_message *message = acemq_message_text("lost");
    acemq_message_set_id(message, "lost");
    trial_must(acemq_outbox_enqueue(outbox, "no.such.exchange", "k", message, PATIENCE, NULL,
                                    trial_error()));
    acemq_message_free(message);
    char id[16];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
    }
    acemq_relay *self = relay(t.mq, outbox);
    trial_must(acemq_relay_drain(self, 60000, trial_error()));
    ck_assert_uint_eq(counts_of(outbox).published, 20);
    ck_assert_uint_eq(counts_of(outbox).retired, 1);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

/* It closes the channel under what else is on it. */
START_TEST(what_a_missing_exchange_took_the_channel_from_goes_in_the_same_pass)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "pass", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(1);
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    char id[16];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
        if (i == 9) {
            acemq_message *message = acemq_message_text("lost");
            trial_must(acemq_outbox_enqueue(outbox, "no.such.exchange", "k", message, PATIENCE,
                                            NULL, trial_error()));
            acemq_message_free(message);
        }
    }
    options.every = 24 * ACEMQ_HOUR;
    acemq_relay *self = NULL;
    trial_must(acemq_relay_start(t.mq, outbox, &options, &self, trial_error()));
    int64_t end = trial_now() + PATIENCE;
    while (counted(self).published < 20 && trial_now() < end) {
        trial_sleep(10);
    }
    ck_assert_uint_eq(counted(self).published, 20);
    ck_assert_uint_eq(counted(self).passes, 1);
    ck_assert_uint_eq(counts_of(outbox).retired, 1);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(two_relays_publish_each_message_once_and_all_in_all)
{
    trial t;
    trial_begin(&t, _i);
    enum { MESSAGES = 400 };
    const char *queue = trial_queue(&t, "two", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(10);
    acemq_connection *other = trial_connect(&t, NULL);
    char id[16];
    for (int i = 0; i < MESSAGES; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
    }
    acemq_relay *relays[] = {relay(t.mq, outbox), relay(other, outbox)};
    trial_must(acemq_relay_drain(relays[0], PATIENCE, trial_error()));
    trial_must(acemq_relay_stop(relays[0], PATIENCE, trial_error()));
    trial_must(acemq_relay_stop(relays[1], PATIENCE, trial_error()));
    ck_assert_uint_eq(counted(relays[0]).published + counted(relays[1]).published, MESSAGES);
    trial_wait_ready(&t, queue, MESSAGES, PATIENCE);
    acemq_relay_free(relays[0]);
    acemq_relay_free(relays[1]);
    trial_close(other);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(one_relay_keeps_the_order)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "order", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(10);
    char id[16];
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
    }
    acemq_relay *self = relay(t.mq, outbox);
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    static trial_sight seen[400];
    ck_assert_uint_eq(trial_browse(&t, queue, seen, 400), 300);
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        ck_assert_str_eq(acemq_envelope_id(seen[i].envelope), id);
        trial_sight_free(&seen[i]);
    }
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(a_client_that_is_closed_ends_its_relay_and_the_outbox_keeps_the_rest)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "closed", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(10);
    acemq_connection *other = trial_connect(&t, NULL);
    acemq_relay *self = relay(other, outbox);
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    trial_close(other);
    enqueue(outbox, queue, "later");
    acemq_relay_wake(self);
    trial_must_fail(ACEMQ_E_CLOSED, acemq_relay_drain(self, PATIENCE, trial_error()));
    ck_assert_uint_eq(counts_of(outbox).pending, 1);
    trial_must(acemq_relay_stop(self, PATIENCE, trial_error()));
    acemq_relay_free(self);
    self = relay(t.mq, outbox);
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    trial_wait_ready(&t, queue, 1, PATIENCE);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(a_new_message_wakes_the_relay_long_before_its_time)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "wake", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(10);
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    options.every = 24 * ACEMQ_HOUR;
    acemq_relay *self = NULL;
    trial_must(acemq_relay_start(t.mq, outbox, &options, &self, trial_error()));
    enqueue(outbox, queue, "one");
    trial_wait_ready(&t, queue, 1, PATIENCE);
    enqueue(outbox, queue, "two");
    trial_wait_ready(&t, queue, 2, PATIENCE);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

/* A queue that is made again takes a moment, in which others go on writing. */
START_TEST(new_messages_do_not_use_up_the_attempts_of_one_that_failed)
{
    trial t;
    trial_begin(&t, _i);
    const char *queue = trial_queue(&t, "busy", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(10);
    acemq_relay *self = NULL;
    int64_t begun = trial_now();
    trial_must(acemq_relay_start(t.mq, outbox, NULL, &self, trial_error()));
    enqueue(outbox, "nobody.has.this.queue", "unroutable");
    char id[16];
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "m-%03d", i);
        enqueue(outbox, queue, id);
        trial_wait_ready(&t, queue, (uint64_t)i + 1, PATIENCE);
    }
    ck_assert_uint_ge(counted(self).failed, 1);
    ck_assert_uint_le(counted(self).failed, 1 + (uint64_t)(trial_now() - begun) / 900);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(what_an_outbox_cannot_keep_is_refused_by_name)
{
    trial t;
    trial_begin(&t, TRIAL_MEMORY);
    acemq_outbox *outbox = memory_outbox(10);
    static const struct {
        const char *field;
        acemq_status status;
    } rows[] = {{"priority", 1},  {"expiration", 1},  {"reply_to", 1},
                {"transient", 1}, {"header blob", 1}, {"id", ACEMQ_E_LIMIT}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        acemq_message *message = acemq_message_text("x");
        if (i == 0) {
            acemq_message_set_priority(message, 3);
        } else if (i == 1) {
            acemq_message_set_expiration(message, 1000);
        } else if (i == 2) {
            acemq_message_set_reply_to(message, "q");
        } else if (i == 3) {
            acemq_message_set_transient(message);
        } else if (i == 4) {
            acemq_table *table = acemq_table_new();
            trial_must(acemq_table_set_bytes(table, "blob", (acemq_bytes){"x", 1}, trial_error()));
            acemq_message_set_headers(message, table);
            acemq_table_free(table);
        } else {
            acemq_message_set_id(message, "0123456789012345678901234567890123456789"
                                          "0123456789012345678901234");
        }
        trial_must_fail(rows[i].status,
                        acemq_outbox_enqueue(outbox, "", "q", message, 0, NULL, trial_error()));
        trial_error_says(rows[i].field);
        acemq_message_free(message);
    }
    ck_assert_uint_eq(counts_of(outbox).pending, 0);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

START_TEST(a_paused_client_uses_no_attempt)
{
    trial t;
    trial_begin(&t, TRIAL_MEMORY);
    const char *queue = trial_queue(&t, "paused", ACEMQ_QUEUE_CLASSIC);
    acemq_outbox *outbox = memory_outbox(2);
    enqueue(outbox, queue, "patient");
    acemq_relay_options options = ACEMQ_RELAY_OPTIONS_INIT;
    options.every = 20;
    options.lease = 1000; /* so that a publish is given up after half a second */
    acemq_relay *self = NULL;
    trial_must(acemq_connection_pause_publishing(t.mq, trial_error()));
    trial_must(acemq_relay_start(t.mq, outbox, &options, &self, trial_error()));
    int64_t end = trial_now() + PATIENCE;
    while (counted(self).passes < 2 && trial_now() < end) {
        trial_sleep(20);
    }
    ck_assert_uint_ge(counted(self).passes, 2);
    ck_assert_uint_eq(counted(self).failed, 0);
    ck_assert_uint_eq(counts_of(outbox).pending, 1);
    trial_must(acemq_connection_resume_publishing(t.mq, trial_error()));
    trial_must(acemq_relay_drain(self, PATIENCE, trial_error()));
    trial_wait_ready(&t, queue, 1, PATIENCE);
    acemq_relay_free(self);
    acemq_outbox_free(outbox);
    trial_end(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox relay");
    TCase *tcase = tcase_create("outbox relay");
    tcase_set_timeout(tcase, 240);
    tcase_add_loop_test(tcase, a_message_arrives_as_a_publish_would_have_sent_it, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_row_that_cannot_be_sent_holds_up_nobody_and_is_retired,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_row_for_an_exchange_that_is_missing_takes_nobody_with_it_for_good,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(tcase, two_relays_publish_each_message_once_and_all_in_all, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, one_relay_keeps_the_order, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_client_that_is_closed_ends_its_relay_and_the_outbox_keeps_the_rest,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(tcase, a_new_message_wakes_the_relay_long_before_its_time, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(tcase, what_a_missing_exchange_took_the_channel_from_goes_in_the_same_pass,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_test(tcase, a_paused_client_uses_no_attempt);
    tcase_add_test(tcase, new_messages_do_not_use_up_the_attempts_of_one_that_failed);
    tcase_add_test(tcase, what_an_outbox_cannot_keep_is_refused_by_name);
    suite_add_tcase(suite, tcase);
    return trial_run(suite);
}
