/* What is counted, timed and told of each way a delivery can go (sections 6 and 15), on both
 * brokers. */
#include "support/trial.h"
#include "support/trial_recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE INT64_C(30000)

static trial self;
static acemq_metrics *metrics;

/* Settlements as they were told: "id:outcome:attempt". */
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static char told[64][128];
static size_t told_count;
static char last_traceparent[128];

static void remember(const acemq_settlement *settlement, void *user)
{
    (void)user;
    pthread_mutex_lock(&told_lock);
    if (told_count < 64) {
        snprintf(told[told_count++], sizeof told[0], "%s:%s:%d", acemq_settlement_id(settlement),
                 acemq_settlement_outcome(settlement), (int)acemq_settlement_attempt(settlement));
        snprintf(last_traceparent, sizeof last_traceparent, "%s",
                 acemq_settlement_traceparent(settlement));
    }
    pthread_mutex_unlock(&told_lock);
}

static bool was_told(const char *text)
{
    bool found = false;
    pthread_mutex_lock(&told_lock);
    for (size_t i = 0; i < told_count && !found; i++) {
        found = strcmp(told[i], text) == 0;
    }
    pthread_mutex_unlock(&told_lock);
    return found;
}

static void wait_told(const char *text)
{
    int64_t end = trial_now() + PATIENCE;
    while (!was_told(text)) {
        ck_assert_msg(trial_now() < end, "never told: %s", text);
        trial_sleep(5);
    }
}

/* The value of a series; -1 when there is none. */
static double value_of(const char *series)
{
    char *text = NULL;
    trial_must(acemq_metrics_prometheus(metrics, &text, trial_error()));
    double value = -1;
    size_t length = strlen(series);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, series, length) == 0 && line[length] == ' ') {
            value = strtod(line + length, NULL);
            break;
        }
    }
    acemq_free(text);
    return value;
}

static void expect(const char *queue, const char *metric, const char *label, double value)
{
    char series[512];
    snprintf(series, sizeof series, "%s{queue=\"%s\"%s%s}", metric, queue,
             label[0] == '\0' ? "" : ",", label);
    int64_t end = trial_now() + PATIENCE;
    while (value_of(series) != value) {
        ck_assert_msg(trial_now() < end, "%s is %g and not %g", series, value_of(series), value);
        trial_sleep(5);
    }
}

static void begin(int broker)
{
    trial_begin(&self, broker);
    told_count = 0;
    trial_must(acemq_metrics_new(NULL, &metrics, trial_error()));
    trial_must(acemq_metrics_watch(metrics, self.mq, trial_error()));
    trial_must(acemq_connection_on_settled(self.mq, remember, NULL, NULL, trial_error()));
}

static void end(void)
{
    trial_end(&self);
    acemq_metrics_free(metrics);
}

START_TEST(accepted)
{
    begin(_i);
    trial_recorder recorder;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, queue, NULL, NULL, trial_accept, NULL);
    trial_publish_text(&self, queue, "one");
    wait_told("one:acked:1");
    expect(queue, "acemq_consume_total", "outcome=\"acked\"", 1);
    expect(queue, "acemq_consume_duration_seconds_count", "outcome=\"acked\"", 1);
    expect(queue, "acemq_consume_attempts_sum", "", 1);
    expect(queue, "acemq_consume_in_flight", "", 0);
    char series[512];
    snprintf(series, sizeof series,
             "acemq_publish_total{exchange=\"\",routing_key=\"%s\",outcome=\"confirmed\"}", queue);
    ck_assert_double_eq(value_of(series), 1);
    trial_record_end(&recorder);
    end();
}
END_TEST

START_TEST(retried_here_and_dead_lettered_at_last)
{
    begin(_i);
    trial_recorder recorder;
    acemq_policy *policy = trial_policy("fixed(2, 5ms)");
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, queue, policy, NULL, trial_fail, NULL);
    trial_publish_text(&self, queue, "one");
    trial_wait_ready(&self, trial_derived(&self, queue, ".dlq"), 1, PATIENCE);
    wait_told("one:retried:1");
    wait_told("one:dead_lettered:2");
    expect(queue, "acemq_consume_total", "outcome=\"retried\"", 1);
    expect(queue, "acemq_consume_total", "outcome=\"dead_lettered\"", 1);
    expect(queue, "acemq_messages_retried_total", "where=\"consumer\"", 1);
    expect(queue, "acemq_messages_dead_lettered_total", "outcome=\"dead_lettered\"", 1);
    expect(queue, "acemq_consume_attempts_sum", "", 3);
    trial_record_end(&recorder);
    acemq_policy_free(policy);
    end();
}
END_TEST

START_TEST(retried_at_the_broker_and_a_rung_that_is_missing)
{
    begin(_i);
    trial_recorder recorder;
    int failures = 1;
    acemq_policy *policy = trial_policy("fixed(2, 50ms).threshold(1ms)");
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    const char *rung = trial_derived(&self, queue, ".retry.50ms");
    trial_record(&recorder, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_must(acemq_queue_delete(self.mq, rung, PATIENCE, NULL, trial_error()));
    trial_publish_text(&self, queue, "one");
    wait_told("one:retried:1");
    wait_told("one:acked:2");
    expect(queue, "acemq_messages_retried_total", "where=\"broker\"", 1);
    char label[256];
    snprintf(label, sizeof label, "rung=\"%s\"", rung);
    expect(queue, "acemq_retry_rung_missing_total", label, 1);
    trial_record_end(&recorder);
    acemq_policy_free(policy);
    end();
}
END_TEST

static void publish_as_text(const char *queue, const char *id)
{
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, id);
    trial_must(acemq_publish(self.mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
}

START_TEST(fatal_parked_and_undecodable)
{
    begin(_i);
    trial_recorder recorder;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.codec = acemq_codec_builtin("text");
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, queue, NULL, &options, trial_reject, NULL);
    publish_as_text(queue, "fatal");
    wait_told("fatal:rejected:1");
    trial_record_verdict(&recorder, trial_park, NULL);
    publish_as_text(queue, "parked");
    wait_told("parked:parked:1");
    trial_publish_text(&self, queue, "broken"); /* bytes, which the codec does not take */
    expect(queue, "acemq_consume_total", "outcome=\"rejected\"", 1);
    expect(queue, "acemq_consume_total", "outcome=\"parked\"", 2);
    expect(queue, "acemq_messages_dead_lettered_total", "outcome=\"dead_lettered\"", 1);
    expect(queue, "acemq_messages_dead_lettered_total", "outcome=\"parked\"", 2);
    expect(queue, "acemq_consume_duration_seconds_count", "outcome=\"parked\"", 1);
    ck_assert(!was_told("broken:parked:1")); /* no receiver had it, so nobody waits for its end */
    trial_record_end(&recorder);
    end();
}
END_TEST

START_TEST(requeued_without_a_policy)
{
    begin(_i);
    trial_recorder recorder;
    int failures = 1;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.requeue_on_failure = 1;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, queue, NULL, &options, trial_fail_at_first, &failures);
    trial_publish_text(&self, queue, "one");
    wait_told("one:rejected:1");
    wait_told("one:acked:1");
    expect(queue, "acemq_consume_total", "outcome=\"rejected\"", 1);
    expect(queue, "acemq_messages_retried_total", "where=\"requeued\"", 1);
    trial_record_end(&recorder);
    end();
}
END_TEST

START_TEST(a_duplicate_and_one_that_somebody_else_holds)
{
    begin(_i);
    trial_recorder recorder;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_idempotency *store = NULL;
    acemq_claim_answer answer;
    char token[ACEMQ_TOKEN_SIZE];
    char series[512];
    trial_must(acemq_idempotency_open("memory:", NULL, &store, trial_error()));
    trial_must(acemq_idempotency_claim(store, "held", ACEMQ_HOUR, PATIENCE, token, &answer,
                                       trial_error()));
    options.idempotency = store;
    options.put_back_wait = 20;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, queue, NULL, &options, trial_accept, NULL);
    trial_publish_text(&self, queue, "one");
    wait_told("one:acked:1");
    trial_publish_text(&self, queue, "one");
    expect(queue, "acemq_consume_total", "outcome=\"acked\"", 2);
    ck_assert_uint_eq(trial_counters(&recorder).duplicates, 1);
    trial_publish_text(&self, queue, "held");
    snprintf(series, sizeof series, "acemq_consume_total{queue=\"%s\",outcome=\"in_progress\"}",
             queue);
    for (int64_t limit = trial_now() + PATIENCE; value_of(series) < 1; trial_sleep(5)) {
        ck_assert_msg(trial_now() < limit, "it was never put back");
    }
    trial_must(acemq_idempotency_release(store, "held", token, PATIENCE, trial_error()));
    wait_told("held:acked:1");
    ck_assert(!was_told("held:in_progress:1")); /* nobody had it */
    trial_record_end(&recorder);
    acemq_idempotency_free(store);
    end();
}
END_TEST

START_TEST(put_back_unchanged_counts_nothing_and_is_told)
{
    begin(_i);
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    trial_publish_text(&self, queue, "one");
    trial_must(acemq_consumer_open(self.mq, queue, NULL, &consumer, trial_error()));
    trial_must(acemq_consumer_next(consumer, PATIENCE, &delivery, trial_error()));
    expect(queue, "acemq_consume_in_flight", "", 1);
    acemq_delivery_free(delivery);
    wait_told("one:put_back:1");
    char series[512];
    snprintf(series, sizeof series, "acemq_consume_total{queue=\"%s\",outcome=\"acked\"}", queue);
    ck_assert_double_eq(value_of(series), -1);
    acemq_consumer_free(consumer);
    end();
}
END_TEST

START_TEST(a_hop_whose_target_is_gone_counts_as_failed_and_then_lands)
{
    begin(_i);
    trial_recorder recorder;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    trial_record(&recorder, self.mq, queue, NULL, NULL, trial_fail, NULL);
    trial_must(acemq_queue_delete(self.mq, dead, PATIENCE, NULL, trial_error()));
    trial_publish_text(&self, queue, "one");
    wait_told("one:dead_lettered:1");
    char label[256];
    snprintf(label, sizeof label, "target=\"%s\"", dead);
    expect(queue, "acemq_messages_set_aside_failed_total", label, 1);
    ck_assert_uint_eq(trial_ready(&self, dead), 1);
    trial_record_end(&recorder);
    end();
}
END_TEST

START_TEST(publishes_by_their_result)
{
    begin(_i);
    acemq_message *message = acemq_message_text("x");
    char series[512];
    const char *nowhere = trial_name(&self, "nowhere");
    trial_must_fail(ACEMQ_E_UNROUTABLE,
                    acemq_publish(self.mq, nowhere, message, PATIENCE, trial_error()));
    trial_must(acemq_connection_pause_publishing(self.mq, trial_error()));
    trial_must_fail(ACEMQ_E_REFUSED, acemq_publish(self.mq, nowhere, message, 10, trial_error()));
    trial_must(acemq_connection_resume_publishing(self.mq, trial_error()));
    acemq_message_set_header(message, "x-acemq-id", "mine");
    trial_must_fail(ACEMQ_E_RESERVED_HEADER,
                    acemq_publish(self.mq, nowhere, message, 10, trial_error()));
    const char *outcomes[] = {"unroutable", "refused", "failed"};
    for (int i = 0; i < 3; i++) {
        snprintf(series, sizeof series,
                 "acemq_publish_total{exchange=\"\",routing_key=\"%s\",outcome=\"%s\"}", nowhere,
                 outcomes[i]);
        ck_assert_msg(value_of(series) == 1, "%s is %g", series, value_of(series));
    }
    snprintf(series, sizeof series,
             "acemq_publish_duration_seconds_count{exchange=\"\",routing_key=\"%s\",outcome="
             "\"unroutable\"}",
             nowhere);
    ck_assert_double_eq(value_of(series), 1);
    acemq_message_free(message);
    end();
}
END_TEST

static acemq_outcome cause_another(acemq_delivery *delivery, void *user)
{
    acemq_message *child = acemq_message_text("child");
    acemq_message_set_id(child, "child");
    acemq_message_caused_by(child, delivery);
    acemq_status status = acemq_publish(self.mq, user, child, PATIENCE, NULL);
    acemq_message_free(child);
    return status == ACEMQ_OK ? ACEMQ_FAILED : ACEMQ_REJECTED;
}

/* Across a publish, a hop, and into what the message causes. */
START_TEST(trace_context_is_carried)
{
    static const char parent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    begin(_i);
    acemq_consumer *consumer = NULL;
    trial_sight dead;
    trial_sight child;
    const char *queue = trial_queue(&self, "q", ACEMQ_QUEUE_CLASSIC);
    const char *children = trial_queue(&self, "children", ACEMQ_QUEUE_CLASSIC);
    trial_must(acemq_consume(self.mq, queue, NULL, cause_another, (void *)(uintptr_t)children, NULL,
                             &consumer, trial_error()));
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, "one");
    acemq_message_set_header(message, "traceparent", parent);
    acemq_message_set_header(message, "tracestate", "vendor=1");
    trial_must(acemq_publish(self.mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
    wait_told("one:dead_lettered:1");
    ck_assert_str_eq(last_traceparent, parent);
    trial_only(&self, trial_derived(&self, queue, ".dlq"), &dead);
    trial_only(&self, children, &child);
    const acemq_table *both[] = {dead.headers, child.headers};
    for (int i = 0; i < 2; i++) {
        acemq_bytes text = {NULL, 0};
        ck_assert_int_eq(acemq_value_bytes(acemq_table_get(both[i], "traceparent"), &text), 1);
        ck_assert_uint_eq(text.length, strlen(parent));
        ck_assert_mem_eq(text.data, parent, text.length);
        ck_assert_ptr_nonnull(acemq_table_get(both[i], "tracestate"));
    }
    trial_sight_free(&dead);
    trial_sight_free(&child);
    acemq_consumer_free(consumer);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("observing");
    TCase *test = tcase_create("outcomes");
    tcase_set_timeout(test, 240);
    tcase_add_loop_test(test, accepted, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, retried_here_and_dead_lettered_at_last, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, retried_at_the_broker_and_a_rung_that_is_missing, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(test, fatal_parked_and_undecodable, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, requeued_without_a_policy, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, a_duplicate_and_one_that_somebody_else_holds, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(test, put_back_unchanged_counts_nothing_and_is_told, TRIAL_MEMORY,
                        TRIAL_BROKERS);
    tcase_add_loop_test(test, a_hop_whose_target_is_gone_counts_as_failed_and_then_lands,
                        TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, publishes_by_their_result, TRIAL_MEMORY, TRIAL_BROKERS);
    tcase_add_loop_test(test, trace_context_is_carried, TRIAL_MEMORY, TRIAL_BROKERS);
    suite_add_tcase(suite, test);
    return trial_run(suite);
}
