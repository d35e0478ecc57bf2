/*
 * How publishes end, on both brokers: each of the five results, told apart, for the right message.
 */
#include "support/trial_proxy.h"
#include "support/trial_recorder.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

static acemq_message *numbered(const char *what, size_t number)
{
    char text[64];
    snprintf(text, sizeof text, "%s-%zu", what, number);
    acemq_message *message = acemq_message_text(text);
    ck_assert_ptr_nonnull(message);
    acemq_message_set_id(message, text);
    return message;
}

static acemq_publisher *publisher_of(const trial *self, const char *exchange)
{
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_publisher *publisher = NULL;
    options.exchange = exchange;
    trial_must(acemq_publisher_new(self->mq, &options, &publisher, trial_error()));
    return publisher;
}

/* The handle takes the next message as if nothing had happened. */
static void still_publishes(const trial *self, const char *queue)
{
    uint64_t before = trial_ready(self, queue);
    trial_publish_text(self, queue, "still here");
    trial_wait_ready(self, queue, before + 1, PATIENCE);
}

/* --- unroutable --- */

START_TEST(every_seventh_of_200_is_unroutable_and_no_other)
{
    enum { COUNT = 200 };
    trial self;
    acemq_receipt *receipts[COUNT];
    uint64_t routed = 0;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    const char *missing = trial_name(&self, "missing");
    acemq_publisher *publisher = publisher_of(&self, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        acemq_message *message = numbered("order", i);
        trial_must(acemq_publisher_begin(publisher, i % 7 == 6 ? missing : queue, message, PATIENCE,
                                         &receipts[i], trial_error()));
        acemq_message_free(message);
    }
    for (size_t i = 0; i < COUNT; i++) {
        if (i % 7 == 6) {
            trial_must_fail(ACEMQ_E_UNROUTABLE,
                            acemq_receipt_wait(receipts[i], PATIENCE, trial_error()));
            ck_assert_int_eq(acemq_error_reply_code(trial_last_error()), 312);
            ck_assert_int_eq(acemq_error_is_unroutable(trial_last_error()), 1);
            trial_error_says("NO_ROUTE");
        } else {
            trial_must(acemq_receipt_wait(receipts[i], PATIENCE, trial_error()));
            routed++;
        }
        acemq_receipt_free(receipts[i]);
    }
    trial_wait_ready(&self, queue, routed, PATIENCE);
    acemq_publisher_free(publisher);
    trial_end(&self);
}
END_TEST

/* Under one routing key, only messages that carry this header find a queue. */
static void also_to(acemq_message *message, const char *queue)
{
    acemq_table *headers = acemq_table_new();
    acemq_array *queues = acemq_array_new();
    trial_must(acemq_table_set_string(headers, "CC", queue, trial_error()));
    trial_must(acemq_array_append(queues, acemq_table_get(headers, "CC"), trial_error()));
    trial_must(acemq_table_set_array(headers, "CC", queues, trial_error()));
    acemq_message_set_headers(message, headers);
    acemq_array_free(queues);
    acemq_table_free(headers);
}

START_TEST(a_batch_tells_its_results_in_order)
{
    enum { COUNT = 200 };
    trial self;
    acemq_message *messages[COUNT];
    acemq_status statuses[COUNT];
    acemq_error *errors[COUNT];
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    acemq_publisher *publisher = publisher_of(&self, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        messages[i] = numbered("order", i);
        if (i % 7 != 6) {
            also_to(messages[i], queue);
        }
    }
    acemq_message_set_header(messages[7], "x-acemq-mine", "refused before it is sent");
    trial_must_fail(ACEMQ_E_UNROUTABLE,
                    acemq_publisher_send_batch(publisher, trial_name(&self, "missing"),
                                               (const acemq_message *const *)messages, COUNT,
                                               PATIENCE, statuses, errors, trial_error()));
    for (size_t i = 0; i < COUNT; i++) {
        acemq_status expected = i % 7 == 6 ? ACEMQ_E_UNROUTABLE : ACEMQ_OK;
        ck_assert_int_eq(statuses[i], i == 7 ? ACEMQ_E_RESERVED_HEADER : expected);
        ck_assert_int_eq(acemq_error_code(errors[i]), statuses[i]);
        acemq_error_free(errors[i]);
        acemq_message_free(messages[i]);
    }
    trial_wait_ready(&self, queue, COUNT - COUNT / 7 - 1, PATIENCE);
    still_publishes(&self, queue);
    acemq_publisher_free(publisher);
    trial_end(&self);
}
END_TEST

START_TEST(of_two_with_the_same_id_the_right_one_fails)
{
    trial self;
    acemq_receipt *lost = NULL, *kept = NULL;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    acemq_publisher *publisher = publisher_of(&self, NULL);
    acemq_message *message = numbered("twin", 1);
    for (int round = 0; round < 20; round++) {
        const char *first = round % 2 == 0 ? trial_name(&self, "missing") : queue;
        const char *second = round % 2 == 0 ? queue : trial_name(&self, "missing");
        acemq_receipt **first_receipt = round % 2 == 0 ? &lost : &kept;
        acemq_receipt **second_receipt = round % 2 == 0 ? &kept : &lost;
        trial_must(acemq_publisher_begin(publisher, first, message, PATIENCE, first_receipt,
                                         trial_error()));
        trial_must(acemq_publisher_begin(publisher, second, message, PATIENCE, second_receipt,
                                         trial_error()));
        trial_must(acemq_receipt_wait(kept, PATIENCE, trial_error()));
        trial_must_fail(ACEMQ_E_UNROUTABLE, acemq_receipt_wait(lost, PATIENCE, trial_error()));
        acemq_receipt_free(lost);
        acemq_receipt_free(kept);
    }
    trial_wait_ready(&self, queue, 20, PATIENCE);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
    trial_end(&self);
}
END_TEST

/* --- refused before a byte is sent --- */

START_TEST(the_limit_of_a_routing_key_is_255_bytes_and_not_characters)
{
    trial self;
    char key[257], umlauts[257];
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    const char *exchange = trial_name(&self, "all");
    trial_exchange(&self, exchange, "topic");
    trial_bind(&self, exchange, queue, "#");
    memset(key, 'a', 256);
    key[255] = '\0';
    for (size_t i = 0; i < 256; i += 2) {
        memcpy(umlauts + i, "\xc3\xa9", 2);
    }
    umlauts[256] = '\0';
    acemq_message *message = numbered("order", 1);
    trial_must(acemq_publish_to(self.mq, exchange, key, message, PATIENCE, trial_error()));
    trial_must_fail(ACEMQ_E_LIMIT,
                    acemq_publish_to(self.mq, exchange, umlauts, message, PATIENCE, trial_error()));
    trial_error_says("256");
    trial_error_says("255");
    ck_assert_int_eq(acemq_error_limit(trial_last_error()), 255);
    umlauts[254] = '\0';
    trial_must(acemq_publish_to(self.mq, exchange, umlauts, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    still_publishes(&self, queue);
    ck_assert_uint_eq(trial_ready(&self, queue), 3);
    trial_end(&self);
}
END_TEST

/* Publishes `message`, which must be refused with this code, and the handle must go on. */
static void refused(const trial *self, const char *queue, acemq_message *message, acemq_status code,
                    const char *says)
{
    trial_must_fail(code, acemq_publish(self->mq, queue, message, PATIENCE, trial_error()));
    trial_error_says(says);
    ck_assert_int_eq(acemq_error_is_fatal(trial_last_error()), 1);
    acemq_message_free(message);
    still_publishes(self, queue);
}

START_TEST(names_of_256_bytes_are_refused_one_by_one)
{
    trial self;
    char name[257];
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    memset(name, 'n', 256);
    name[256] = '\0';
    acemq_message *message = numbered("order", 1);
    acemq_message_set_id(message, name);
    refused(&self, queue, message, ACEMQ_E_LIMIT, "255");
    message = numbered("order", 2);
    acemq_message_set_header(message, name, "value");
    refused(&self, queue, message, ACEMQ_E_LIMIT, "255");
    message = numbered("order", 3);
    acemq_message_set_content_type(message, name);
    refused(&self, queue, message, ACEMQ_E_LIMIT, "255");
    message = numbered("order", 4);
    acemq_message_set_reply_to(message, name);
    refused(&self, queue, message, ACEMQ_E_LIMIT, "255");
    message = numbered("order", 5);
    trial_must_fail(ACEMQ_E_LIMIT, acemq_publish(self.mq, name, message, PATIENCE, trial_error()));
    trial_must_fail(ACEMQ_E_LIMIT,
                    acemq_publish_to(self.mq, name, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    still_publishes(&self, queue);
    trial_end(&self);
}
END_TEST

START_TEST(headers_larger_than_a_frame_are_refused_whole)
{
    trial self;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    char *text = malloc(131041);
    ck_assert_ptr_nonnull(text);
    memset(text, 'h', 131040);
    text[131040] = '\0';
    acemq_message *message = numbered("order", 1);
    acemq_message_set_header(message, "large", text);
    refused(&self, queue, message, ACEMQ_E_LIMIT, "one frame holds");
    text[120000] = '\0';
    message = numbered("order", 2);
    acemq_message_set_header(message, "large", text);
    trial_must(acemq_publish(self.mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    free(text);
    trial_wait_ready(&self, queue, 2, PATIENCE);
    trial_end(&self);
}
END_TEST

START_TEST(a_body_over_the_limit_is_refused)
{
    trial self;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    unsigned char body[1001] = {0};
    options.max_body = 1000;
    trial_begin_with(&self, _i, &options);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    refused(&self, queue, acemq_message_new(body, 1001), ACEMQ_E_LIMIT, "1000");
    trial_publish(&self, queue, "fits", body, 1000);
    trial_wait_ready(&self, queue, 2, PATIENCE);
    trial_end(&self);
}
END_TEST

#define TWO_TO_63 "{\"type\": \"uint64\", \"value\": 9223372036854775808}"

/* A uint64 that the broker would make negative, in a message of ours and in one put back. */
static void refuses_big(const trial *self, const char *queue, const char *json)
{
    acemq_table *headers = NULL;
    trial_must(acemq_table_parse_json(json, strlen(json), &headers, trial_error()));
    acemq_message *message = numbered("order", 4);
    acemq_message_set_headers(message, headers);
    refused(self, queue, message, ACEMQ_E_LIMIT, "big");
    refused(self, queue, acemq_message_verbatim("v", 1, headers), ACEMQ_E_LIMIT, "big");
    acemq_table_free(headers);
}

START_TEST(headers_the_broker_would_choke_on_are_refused)
{
    trial self;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    acemq_message *message = numbered("order", 1);
    acemq_message_set_header(message, "x-acemq-attempt", "7");
    refused(&self, queue, message, ACEMQ_E_RESERVED_HEADER, "x-acemq-attempt");
    message = numbered("order", 2);
    acemq_message_set_header_double(message, "ratio", (double)NAN);
    refused(&self, queue, message, ACEMQ_E_INVALID_ARGUMENT, "ratio");
    message = numbered("order", 3);
    acemq_message_set_header_double(message, "ratio", (double)INFINITY);
    refused(&self, queue, message, ACEMQ_E_INVALID_ARGUMENT, "ratio");
    refuses_big(&self, queue, "{\"big\": " TWO_TO_63 "}");
    refuses_big(&self, queue,
                "{\"inner\": {\"type\": \"table\", \"value\": {\"big\": " TWO_TO_63 "}}}");
    refused(&self, queue, acemq_message_json("{\"id\":"), ACEMQ_E_DECODE, "not JSON");
    trial_end(&self);
}
END_TEST

START_TEST(a_message_that_is_missing_is_an_error_with_a_name)
{
    trial self;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    acemq_message *message = numbered("order", 1);
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_publish(self.mq, queue, NULL, PATIENCE, trial_error()));
    ck_assert_str_eq(acemq_error_field(trial_last_error()), "message");
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_publish(self.mq, NULL, message, PATIENCE, trial_error()));
    ck_assert_str_eq(acemq_error_field(trial_last_error()), "queue");
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_publish(NULL, queue, message, PATIENCE, trial_error()));
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT,
                    acemq_publish(self.mq, queue, message, -1, trial_error()));
    acemq_message_free(message);
    still_publishes(&self, queue);
    trial_end(&self);
}
END_TEST

/* --- nacked, refused, unknown --- */

START_TEST(a_full_queue_that_rejects_is_nacked)
{
    trial self;
    acemq_table *arguments = acemq_table_new();
    trial_begin(&self, _i);
    trial_must(acemq_table_set_int64(arguments, "x-max-length", 2, trial_error()));
    trial_must(acemq_table_set_string(arguments, "x-overflow", "reject-publish", trial_error()));
    const char *queue = trial_queue_with(&self, "full", ACEMQ_QUEUE_CLASSIC, 0, arguments);
    acemq_message *message = numbered("order", 1);
    trial_publish_text(&self, queue, "a");
    trial_publish_text(&self, queue, "b");
    for (int i = 0; i < 3; i++) {
        trial_must_fail(ACEMQ_E_NACKED,
                        acemq_publish(self.mq, queue, message, PATIENCE, trial_error()));
        ck_assert_int_eq(acemq_error_is_retriable(trial_last_error()), 1);
    }
    trial_wait_ready(&self, queue, 2, PATIENCE);
    acemq_message_free(message);
    acemq_table_free(arguments);
    trial_end(&self);
}
END_TEST

START_TEST(paused_publishing_is_refused_after_its_timeout_and_sends_nothing)
{
    trial self;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    acemq_message *message = numbered("order", 1);
    trial_must(acemq_connection_pause_publishing(self.mq, trial_error()));
    int64_t before = trial_now();
    trial_must_fail(ACEMQ_E_REFUSED, acemq_publish(self.mq, queue, message, 300, trial_error()));
    ck_assert_int_ge(trial_now() - before, 290);
    ck_assert_int_le(trial_now() - before, 15000);
    ck_assert_int_eq(acemq_error_is_refused(trial_last_error()), 1);
    trial_must(acemq_connection_resume_publishing(self.mq, trial_error()));
    still_publishes(&self, queue);
    ck_assert_uint_eq(trial_ready(&self, queue), 1);
    acemq_message_free(message);
    trial_end(&self);
}
END_TEST

static trial_pass keep_confirms(trial_frame *frame, void *user)
{
    atomic_bool *keeping = user;
    bool is_confirm = !frame->from_client && frame->method == TRIAL_BASIC_ACK;
    return is_confirm && atomic_load(keeping) ? TRIAL_DROP : TRIAL_FORWARD;
}

START_TEST(a_confirm_that_does_not_come_is_an_unknown_outcome)
{
    trial self;
    acemq_connection *mq = NULL;
    atomic_bool keeping = true;
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    trial_proxy *proxy = trial_proxy_start(trial_port(&self), keep_confirms, &keeping);
    trial_must(acemq_connect(trial_proxy_url(proxy), NULL, &mq, trial_error()));
    acemq_message *message = numbered("order", 1);
    int64_t before = trial_now();
    trial_must_fail(ACEMQ_E_UNKNOWN_OUTCOME, acemq_publish(mq, queue, message, 500, trial_error()));
    ck_assert_int_ge(trial_now() - before, 490);
    ck_assert_int_le(trial_now() - before, 15000);
    trial_wait_ready(&self, queue, 1, PATIENCE);
    atomic_store(&keeping, false);
    trial_must(acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    trial_wait_ready(&self, queue, 2, PATIENCE);
    acemq_message_free(message);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

static trial_pass cut_at_confirm(trial_frame *frame, void *user)
{
    atomic_bool *cutting = user;
    bool is_confirm = !frame->from_client && frame->method == TRIAL_BASIC_ACK;
    return is_confirm && atomic_exchange(cutting, false) ? TRIAL_CUT : TRIAL_FORWARD;
}

START_TEST(a_connection_lost_before_the_confirm_is_an_unknown_outcome_and_comes_back)
{
    trial self;
    acemq_connection *mq = NULL;
    atomic_bool cutting = true;
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    trial_proxy *proxy = trial_proxy_start(trial_port(&self), cut_at_confirm, &cutting);
    trial_must(acemq_connect(trial_proxy_url(proxy), NULL, &mq, trial_error()));
    acemq_message *message = numbered("order", 1);
    trial_must_fail(ACEMQ_E_UNKNOWN_OUTCOME,
                    acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    ck_assert_int_eq(acemq_error_is_retriable(trial_last_error()), 1);
    trial_must(acemq_publish(mq, queue, message, PATIENCE, trial_error()));
    trial_wait_ready(&self, queue, 2, PATIENCE);
    acemq_message_free(message);
    trial_close(mq);
    trial_proxy_stop(proxy);
    trial_end(&self);
}
END_TEST

/* --- many threads --- */

typedef struct sender {
    const trial *self;
    const char *queue;
    size_t index;
    int confirmed;
    pthread_t thread;
} sender;

#define EACH 2000

static void *send_many(void *user)
{
    sender *one = user;
    for (size_t i = 0; i < EACH; i++) {
        acemq_message *message = numbered("thread", one->index * EACH + i);
        acemq_status status =
            acemq_publish(one->self->mq, one->queue, message, PATIENCE, trial_error());
        one->confirmed += status == ACEMQ_OK;
        acemq_message_free(message);
    }
    trial_error();
    return NULL;
}

START_TEST(eight_threads_publish_two_thousand_each)
{
    enum { THREADS = 8 };
    trial self;
    sender senders[THREADS];
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "there", ACEMQ_QUEUE_CLASSIC);
    for (size_t i = 0; i < THREADS; i++) {
        senders[i] = (sender){.self = &self, .queue = queue, .index = i};
        ck_assert_int_eq(pthread_create(&senders[i].thread, NULL, send_many, &senders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(senders[i].thread, NULL);
        ck_assert_int_eq(senders[i].confirmed, EACH);
    }
    trial_wait_ready(&self, queue, THREADS * EACH, PATIENCE);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publishing");
    TCase *results = tcase_create("results");
    tcase_set_timeout(results, 240);
    tcase_add_loop_test(results, every_seventh_of_200_is_unroutable_and_no_other, 0, TRIAL_BROKERS);
    tcase_add_loop_test(results, a_batch_tells_its_results_in_order, 0, TRIAL_BROKERS);
    tcase_add_loop_test(results, of_two_with_the_same_id_the_right_one_fails, 0, TRIAL_BROKERS);
    tcase_add_loop_test(results, a_full_queue_that_rejects_is_nacked, 0, TRIAL_BROKERS);
    tcase_add_loop_test(results, paused_publishing_is_refused_after_its_timeout_and_sends_nothing,
                        0, TRIAL_BROKERS);
    tcase_add_loop_test(results, a_confirm_that_does_not_come_is_an_unknown_outcome, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(results,
                        a_connection_lost_before_the_confirm_is_an_unknown_outcome_and_comes_back,
                        0, TRIAL_BROKERS);
    tcase_add_loop_test(results, eight_threads_publish_two_thousand_each, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, results);
    TCase *limits = tcase_create("limits");
    tcase_set_timeout(limits, 240);
    tcase_add_loop_test(limits, the_limit_of_a_routing_key_is_255_bytes_and_not_characters, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(limits, names_of_256_bytes_are_refused_one_by_one, 0, TRIAL_BROKERS);
    tcase_add_loop_test(limits, headers_larger_than_a_frame_are_refused_whole, 0, TRIAL_BROKERS);
    tcase_add_loop_test(limits, a_body_over_the_limit_is_refused, 0, TRIAL_BROKERS);
    tcase_add_loop_test(limits, headers_the_broker_would_choke_on_are_refused, 0, TRIAL_BROKERS);
    tcase_add_loop_test(limits, a_message_that_is_missing_is_an_error_with_a_name, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, limits);
    return trial_run(suite);
}
