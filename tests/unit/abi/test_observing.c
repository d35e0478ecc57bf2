/* Metrics, settlements, their events, and health, through the ABI. */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static acemq_connection *mq;

static void begin(void)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = UINT64_C(1) << ACEMQ_EVENT_SETTLED;
    mq = connect_with("memory://observing", &options);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static char *text_of(acemq_metrics *metrics)
{
    char *text = NULL;
    MUST(acemq_metrics_prometheus(metrics, &text, &error));
    return text;
}

static void has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is missing in:\n%s", part, text);
}

static acemq_metrics *watching(acemq_connection *connection, int64_t limit)
{
    acemq_metrics_options options = ACEMQ_METRICS_OPTIONS_INIT;
    acemq_metrics *metrics = NULL;
    options.series_limit = limit;
    MUST(acemq_metrics_new(&options, &metrics, &error));
    MUST(acemq_metrics_watch(metrics, connection, &error));
    return metrics;
}

static void publish_nowhere(acemq_connection *connection, const char *key)
{
    acemq_message *message = acemq_message_text("x");
    MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_publish(connection, key, message, 5000, &error));
    acemq_message_free(message);
}

START_TEST(prometheus_text_has_types_seconds_and_escapes)
{
    acemq_metrics *metrics = watching(mq, 100);
    char *empty = text_of(metrics);
    ck_assert_str_eq(empty, "");
    acemq_free(empty);
    publish_text(mq, "q", "one", "x");
    publish_nowhere(mq, "say \"hi\" \\ there");
    char *text = text_of(metrics);
    has(text, "# HELP acemq_publish_total Publishes that ended.\n# TYPE acemq_publish_total "
              "counter\nacemq_publish_total{exchange=\"\",routing_key=\"q\",outcome=\"confirmed\"} "
              "1\n");
    has(text, "acemq_publish_total{exchange=\"\",routing_key=\"say \\\"hi\\\" \\\\ "
              "there\",outcome=\"unroutable\"} 1\n");
    has(text, "# TYPE acemq_publish_duration_seconds histogram\n");
    has(text, "acemq_publish_duration_seconds_bucket{exchange=\"\",routing_key=\"q\",outcome="
              "\"confirmed\",le=\"0.0005\"} ");
    has(text, "acemq_publish_duration_seconds_bucket{exchange=\"\",routing_key=\"q\",outcome="
              "\"confirmed\",le=\"+Inf\"} 1\n");
    has(text, "acemq_publish_duration_seconds_sum{exchange=\"\",routing_key=\"q\",outcome="
              "\"confirmed\"} ");
    acemq_free(text);
    acemq_metrics_free(metrics);
}
END_TEST

START_TEST(a_routing_key_a_message_does_not_fill_the_memory)
{
    acemq_metrics *metrics = watching(mq, 3);
    for (int i = 0; i < 10; i++) {
        char key[32];
        snprintf(key, sizeof key, "key.%d", i);
        publish_nowhere(mq, key);
    }
    char *text = text_of(metrics);
    has(text, "routing_key=\"key.2\",outcome=\"unroutable\"} 1\n");
    ck_assert_ptr_null(strstr(text, "key.3"));
    has(text, "acemq_publish_total{exchange=\"_other\",routing_key=\"_other\",outcome="
              "\"unroutable\"} 7\n");
    acemq_free(text);
    acemq_metrics_free(metrics);
}
END_TEST

START_TEST(one_registry_sums_up_its_clients_and_outlives_them)
{
    acemq_connection *other = connect_with("memory://observing", NULL);
    acemq_metrics *metrics = watching(mq, 100);
    MUST(acemq_metrics_watch(metrics, other, &error));
    MUST_FAIL(ACEMQ_E_STATE, acemq_metrics_watch(metrics, other, &error));
    publish_text(mq, "q", "one", "x");
    publish_text(other, "q", "two", "x");
    acemq_connection_free(other);
    char *text = text_of(metrics);
    has(text, "routing_key=\"q\",outcome=\"confirmed\"} 2\n");
    acemq_free(text);
    acemq_metrics_free(metrics);
    publish_text(mq, "q", "three", "x"); /* the client has a reference of its own */
}
END_TEST

typedef struct observed {
    atomic_int counters;
    atomic_int durations;
    atomic_int destroyed;
} observed;

static void observe(const acemq_observation *observation, void *user)
{
    observed *self = user;
    const char *name = acemq_observation_name(observation);
    if (strcmp(name, "acemq.publish.total") == 0) {
        ck_assert_int_eq(acemq_observation_kind(observation), ACEMQ_METRIC_COUNTER);
        ck_assert_double_eq(acemq_observation_value(observation), 1);
        ck_assert_uint_eq(acemq_observation_label_count(observation), 3);
        ck_assert_str_eq(acemq_observation_label(observation, 1), "routing.key");
        ck_assert_str_eq(acemq_observation_label_value(observation, 1), "q");
        ck_assert_str_eq(acemq_observation_label_value(observation, 2), "confirmed");
        ck_assert_ptr_null(acemq_observation_label(observation, 3));
        atomic_fetch_add(&self->counters, 1);
    } else if (strcmp(name, "acemq.publish.duration") == 0) {
        ck_assert_int_eq(acemq_observation_kind(observation), ACEMQ_METRIC_DURATION);
        ck_assert_double_lt(acemq_observation_value(observation), 60);
        atomic_fetch_add(&self->durations, 1);
    }
}

static void destroy(void *user)
{
    atomic_fetch_add(&((observed *)user)->destroyed, 1);
}

START_TEST(an_observer_hears_each_one)
{
    observed seen = {0};
    acemq_metrics_options options = ACEMQ_METRICS_OPTIONS_INIT;
    acemq_metrics *metrics = NULL;
    acemq_connection *other = connect_with("memory://observing", NULL);
    options.observer = observe;
    options.user = &seen;
    options.destructor = destroy;
    MUST(acemq_metrics_new(&options, &metrics, &error));
    MUST(acemq_metrics_watch(metrics, other, &error));
    acemq_metrics_free(metrics);
    publish_text(other, "q", "one", "x");
    ck_assert_int_eq(atomic_load(&seen.destroyed), 0);
    acemq_connection_free(other);
    ck_assert_int_eq(atomic_load(&seen.counters), 1);
    ck_assert_int_eq(atomic_load(&seen.durations), 1);
    ck_assert_int_eq(atomic_load(&seen.destroyed), 1);
}
END_TEST

START_TEST(metrics_come_as_events_to_those_who_pull)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_event *event = NULL;
    acemq_metrics *metrics = NULL;
    options.events = UINT64_C(1) << ACEMQ_EVENT_METRIC;
    acemq_connection *other = connect_with("memory://observing", &options);
    MUST(acemq_metrics_new(NULL, &metrics, &error));
    MUST_FAIL(ACEMQ_E_STATE, acemq_metrics_watch(metrics, other, &error));
    acemq_metrics_free(metrics);
    publish_text(other, "q", "one", "x");
    MUST(acemq_connection_next_event(other, 5000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_METRIC);
    const acemq_observation *observation = acemq_event_observation(event);
    ck_assert_str_eq(acemq_observation_name(observation), "acemq.publish.total");
    ck_assert_str_eq(acemq_observation_label_value(observation, 1), "q");
    ck_assert_ptr_null(acemq_event_settlement(event));
    acemq_event_free(event);
    acemq_connection_free(other);
}
END_TEST

START_TEST(a_settlement_is_an_event_with_everything_a_span_needs)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_event *event = NULL;
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, "one");
    acemq_message_set_type(message, "order.placed");
    acemq_message_set_correlation(message, "story");
    acemq_message_set_header(message, "traceparent", "00-trace-span-01");
    MUST(acemq_publish(mq, "q", message, 5000, &error));
    acemq_message_free(message);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    sleep_ms(5);
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    MUST(acemq_connection_next_event(mq, 5000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_SETTLED);
    const acemq_settlement *settlement = acemq_event_settlement(event);
    ck_assert_str_eq(acemq_settlement_queue(settlement), "q");
    ck_assert_str_eq(acemq_settlement_exchange(settlement), "");
    ck_assert_str_eq(acemq_settlement_routing_key(settlement), "q");
    ck_assert_str_eq(acemq_settlement_id(settlement), "one");
    ck_assert_str_eq(acemq_settlement_type(settlement), "order.placed");
    ck_assert_str_eq(acemq_settlement_correlation(settlement), "story");
    ck_assert_str_eq(acemq_settlement_outcome(settlement), "acked");
    ck_assert_str_eq(acemq_settlement_traceparent(settlement), "00-trace-span-01");
    ck_assert_str_eq(acemq_settlement_tracestate(settlement), "");
    ck_assert_int_eq(acemq_settlement_attempt(settlement), 1);
    ck_assert_int_ge(acemq_settlement_microseconds(settlement), 5000);
    ck_assert_ptr_null(acemq_event_observation(event));
    acemq_event_free(event);
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
}
END_TEST

static void settled(const acemq_settlement *settlement, void *user)
{
    (void)settlement;
    (void)user;
}

START_TEST(what_outlives_its_connection_is_told_as_lost)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_event *event = NULL;
    publish_text(mq, "q", "one", "x");
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    (void)acemq_connection_close(mq, 0, NULL);
    ck_assert_int_ne(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, NULL), ACEMQ_OK);
    MUST(acemq_connection_next_event(mq, 5000, &event, &error));
    ck_assert_str_eq(acemq_settlement_outcome(acemq_event_settlement(event)), "lost");
    acemq_event_free(event);
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
}
END_TEST

/* --- health --- */

static char *health_of(acemq_connection *connection, acemq_health expected)
{
    acemq_health health;
    char *json = NULL;
    MUST(acemq_health_check(connection, &health, &json, &error));
    ck_assert_msg(health == expected, "%s: %s", acemq_health_name(health), json);
    return json;
}

static void await_health(acemq_connection *connection, acemq_health expected)
{
    acemq_health health = ACEMQ_HEALTH_UP;
    for (int i = 0; i < 1000; i++) {
        MUST(acemq_health_check(connection, &health, NULL, &error));
        if (health == expected) {
            return;
        }
        sleep_ms(10);
    }
    ck_abort_msg("it stayed %s", acemq_health_name(health));
}

START_TEST(health_is_up_and_down_once_closed)
{
    acemq_consumer *consumer = NULL;
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    char *json = health_of(mq, ACEMQ_HEALTH_UP);
    ck_assert_str_eq(json,
                     "{\"status\":\"up\",\"reason\":null,\"blocked\":null,\"publishing\":"
                     "\"open\",\"consuming\":\"open\",\"consumers\":[{\"queue\":\"q\","
                     "\"subscribed\":true,\"inFlight\":0,\"waiting\":0,\"failingHop\":null}]}");
    acemq_free(json);
    acemq_consumer_free(consumer);
    (void)acemq_connection_close(mq, 1000, NULL);
    json = health_of(mq, ACEMQ_HEALTH_DOWN);
    has(json, "\"reason\":\"the connection is closed\"");
    acemq_free(json);
}
END_TEST

/* A consumer whose queue was deleted tries again, and the rest works. */
START_TEST(a_consumer_away_is_degraded_until_it_is_back)
{
    acemq_consumer *consumer = NULL;
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_queue_delete(mq, "q", 5000, NULL, &error));
    await_health(mq, ACEMQ_HEALTH_DEGRADED);
    char *json = health_of(mq, ACEMQ_HEALTH_DEGRADED);
    has(json, "\"reason\":\"the consumer of q is not subscribed\"");
    acemq_free(json);
    declare_queue(mq, "q", ACEMQ_QUEUE_QUORUM, 1);
    await_health(mq, ACEMQ_HEALTH_UP);
    acemq_consumer_free(consumer);
}
END_TEST

static atomic_bool let_go;

static acemq_outcome block(acemq_delivery *delivery, void *user)
{
    atomic_bool *inside = user;
    (void)delivery;
    atomic_store(inside, true);
    while (!atomic_load(&let_go)) {
        sleep_ms(1);
    }
    return ACEMQ_ACCEPTED;
}

START_TEST(a_probe_is_answered_while_a_handler_blocks)
{
    atomic_bool inside = false;
    acemq_consumer *consumer = NULL;
    atomic_store(&let_go, false);
    MUST(acemq_consume(mq, "q", NULL, block, &inside, NULL, &consumer, &error));
    publish_text(mq, "q", "one", "x");
    while (!atomic_load(&inside)) {
        sleep_ms(1);
    }
    char *json = health_of(mq, ACEMQ_HEALTH_UP);
    has(json, "\"inFlight\":1");
    acemq_free(json);
    atomic_store(&let_go, true);
    acemq_consumer_free(consumer);
}
END_TEST

START_TEST(a_broker_that_is_gone_is_down_and_answered_at_once)
{
    acemq_broker *broker = NULL;
    acemq_connection *other = NULL;
    char url[64];
    int port;
    MUST(acemq_broker_start(&broker, &error));
    MUST(acemq_broker_listen(broker, "127.0.0.1", 0, &port, &error));
    snprintf(url, sizeof url, "amqp://guest:guest@127.0.0.1:%d/", port);
    other = connect_with(url, NULL);
    char *json = health_of(other, ACEMQ_HEALTH_UP);
    acemq_free(json);
    acemq_broker_free(broker);
    await_health(other, ACEMQ_HEALTH_DOWN);
    json = health_of(other, ACEMQ_HEALTH_DOWN);
    has(json, "\"reason\":\"not connected: ");
    acemq_free(json);
    acemq_connection_free(other);
}
END_TEST

START_TEST(arguments_are_checked)
{
    acemq_metrics_options options = ACEMQ_METRICS_OPTIONS_INIT;
    acemq_metrics *metrics = NULL;
    acemq_health health;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_new(NULL, NULL, &error));
    options.series_limit = 0;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_new(&options, &metrics, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_watch(NULL, mq, &error));
    MUST(acemq_metrics_new(NULL, &metrics, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_watch(metrics, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_prometheus(metrics, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_metrics_prometheus(NULL, NULL, &error));
    acemq_metrics_free(metrics);
    acemq_metrics_free(NULL);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_connection_on_settled(NULL, settled, NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_connection_on_settled(mq, NULL, NULL, NULL, &error));
    MUST(acemq_connection_on_settled(mq, settled, NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_STATE, acemq_connection_on_settled(mq, settled, NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_health_check(NULL, &health, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_health_check(mq, NULL, NULL, &error));
    ck_assert_str_eq(acemq_settlement_id(NULL), "");
    ck_assert_int_eq(acemq_settlement_attempt(NULL), 0);
    ck_assert_str_eq(acemq_observation_name(NULL), "");
    ck_assert_ptr_null(acemq_observation_label(NULL, 0));
    ck_assert_ptr_null(acemq_event_settlement(NULL));
    ck_assert_ptr_null(acemq_event_observation(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi observing");
    TCase *test = tcase_create("observing");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, prometheus_text_has_types_seconds_and_escapes);
    tcase_add_test(test, a_routing_key_a_message_does_not_fill_the_memory);
    tcase_add_test(test, one_registry_sums_up_its_clients_and_outlives_them);
    tcase_add_test(test, an_observer_hears_each_one);
    tcase_add_test(test, metrics_come_as_events_to_those_who_pull);
    tcase_add_test(test, a_settlement_is_an_event_with_everything_a_span_needs);
    tcase_add_test(test, what_outlives_its_connection_is_told_as_lost);
    tcase_add_test(test, health_is_up_and_down_once_closed);
    tcase_add_test(test, a_consumer_away_is_degraded_until_it_is_back);
    tcase_add_test(test, a_probe_is_answered_while_a_handler_blocks);
    tcase_add_test(test, a_broker_that_is_gone_is_down_and_answered_at_once);
    tcase_add_test(test, arguments_are_checked);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
