/* Ordered publishing and consuming through the public headers. */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(offsetof(acemq_ordered_options, failure) + sizeof(int64_t) ==
                   sizeof(acemq_ordered_options),
               "no padding");
_Static_assert(offsetof(acemq_partitioning, rule) + sizeof(int64_t) == sizeof(acemq_partitioning),
               "no padding");

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        for (int await_i = 0; await_i < 4000 && !(condition); await_i++) {                         \
            sleep_ms(5);                                                                           \
        }                                                                                          \
        ck_assert_msg((condition), "never came true: %s", #condition);                             \
    } while (0)

static const acemq_bytes no_key = {NULL, 0};

static acemq_bytes bytes_of(const char *text)
{
    return (acemq_bytes){text, strlen(text)};
}

static acemq_connection *begin_with(const char *url, int64_t partitions,
                                    const acemq_connect_options *options)
{
    acemq_connection *mq = connect_with(url, options);
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_partitioned(topology, "o", partitions);
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return mq;
}

static acemq_connection *begin(const char *url, int64_t partitions)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_PARTITION_HALTED | 1u << ACEMQ_EVENT_ORDER_GAP;
    return begin_with(url, partitions, &options);
}

static acemq_bytes key_of(const acemq_message *message, void *user)
{
    (void)message;
    return user == NULL ? no_key : bytes_of(user);
}

static void expect_queue(const acemq_partitioning *by, acemq_bytes key,
                         const acemq_message *message, const char *expected)
{
    char queue[ACEMQ_NAME_SIZE];
    MUST(acemq_ordered_queue("o", by, key, message, queue, &error));
    ck_assert_str_eq(queue, expected);
}

START_TEST(the_three_rules_choose_the_partition_by_key_header_or_function)
{
    char queue[ACEMQ_NAME_SIZE];
    acemq_partitioning by;
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_header(message, "customer", "foobar");
    acemq_message_set_header_int64(message, "number", 7);
    ck_assert_int_eq(acemq_partitioning_init(&by, sizeof by), ACEMQ_OK);
    ck_assert_int_eq(by.partitions, 8);
    ck_assert_int_eq(acemq_partition_rule_named("unsigned"), ACEMQ_PARTITION_UNSIGNED);
    ck_assert_int_eq(acemq_partition_rule_named("java"), ACEMQ_PARTITION_FLOOR_MOD);
    ck_assert_int_eq(acemq_partition_rule_named("dotnet"), ACEMQ_PARTITION_MASKED);
    ck_assert_int_eq(acemq_partition_rule_named("other"), -1);
    ck_assert_int_eq(acemq_partition_rule_named(NULL), -1);
    by.partitions = 7;
    expect_queue(&by, bytes_of("foobar"), NULL, "o.0");
    by.rule = acemq_partition_rule_named("java");
    expect_queue(&by, bytes_of("foobar"), NULL, "o.3");
    by.rule = acemq_partition_rule_named("dotnet");
    expect_queue(&by, bytes_of("foobar"), NULL, "o.5");
    by.header = "customer";
    expect_queue(&by, no_key, message, "o.5");
    by.header = NULL;
    by.key = key_of;
    by.user = "foobar";
    expect_queue(&by, no_key, message, "o.5");
    by.user = NULL;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue("o", &by, no_key, message, queue, &error));
    by.header = "number";
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue("o", &by, no_key, message, queue, &error));
    by.header = "missing";
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue("o", &by, no_key, message, queue, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue("o", NULL, no_key, message, queue, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue(NULL, NULL, bytes_of("k"), NULL, queue, &error));
    by.partitions = 0;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_queue("o", &by, bytes_of("k"), NULL, queue, &error));
    acemq_message_free(message);
}
END_TEST

START_TEST(ordered_consumers_refuse_what_they_cannot_do)
{
    acemq_connection *mq = begin("memory://ordered-arguments", 2);
    acemq_ordered *ordered = NULL;
    acemq_delivery *delivery = NULL;
    acemq_ordered_options options;
    ck_assert_int_eq(acemq_ordered_options_init(&options, sizeof options), ACEMQ_OK);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_ordered_consume(mq, "o", NULL, NULL, NULL, NULL, &ordered, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_open(NULL, "o", NULL, &ordered, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_open(mq, "o", NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_ordered_open(mq, "o", NULL, &ordered, &error));
    options.partitions = 1025;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_open(mq, "o", &options, &ordered, &error));
    options.partitions = 2;
    options.failure = 3;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_open(mq, "o", &options, &ordered, &error));
    options.failure = ACEMQ_ORDER_STOP;
    MUST(acemq_ordered_open(mq, "o", &options, &ordered, &error));
    ck_assert_int_ge(acemq_ordered_fd(ordered), 0);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_next(ordered, -1, &delivery, &error));
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_ordered_next(ordered, 0, &delivery, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_resume(ordered, 2, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_ordered_get_gaps(ordered, NULL, &error));
    ck_assert_int_eq(acemq_ordered_halted(ordered, 2, NULL), 0);
    MUST(acemq_ordered_pause(ordered, &error));
    ck_assert_int_eq(acemq_ordered_paused(ordered), 1);
    MUST(acemq_ordered_resume(ordered, -1, &error));
    ck_assert_int_eq(acemq_ordered_paused(ordered), 0);
    AWAIT(acemq_ordered_subscribed(ordered) == 1);
    acemq_ordered_wake(ordered);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_ordered_next(ordered, 5000, &delivery, &error));
    MUST(acemq_ordered_close(ordered, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_ordered_close(ordered, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_ordered_pause(ordered, &error));
    acemq_ordered_free(ordered);
    acemq_ordered_free(NULL);
    acemq_ordered_wake(NULL);
    ck_assert_int_eq(acemq_ordered_fd(NULL), -1);
    ck_assert_int_eq(acemq_ordered_paused(NULL), 0);
    ck_assert_uint_eq(acemq_gaps_count(NULL), 0);
    ck_assert_int_eq(acemq_gaps_partition(NULL, 0), -1);
    ck_assert_str_eq(acemq_gaps_reason(NULL, 0), "");
    acemq_gaps_free(NULL);
    acemq_connection_free(mq);
}
END_TEST

typedef struct story {
    acemq_ordered *ordered;
    atomic_int fails;
    atomic_int calls;
    atomic_int destroyed;
    acemq_status drained;
    acemq_status closed;
} story;

static acemq_outcome fail_first(acemq_delivery *delivery, void *user)
{
    story *self = user;
    atomic_fetch_add(&self->calls, 1);
    if (atomic_fetch_sub(&self->fails, 1) > 0) {
        acemq_delivery_set_reason(delivery, "down");
        return ACEMQ_FAILED;
    }
    return ACEMQ_ACCEPTED;
}

static void destroyed(void *user)
{
    story *self = user;
    atomic_fetch_add(&self->destroyed, 1);
}

static void publish_key(acemq_connection *mq, const char *key, const char *id, int64_t partitions)
{
    acemq_partitioning by = ACEMQ_PARTITIONING_INIT;
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, id);
    by.partitions = partitions;
    MUST(acemq_ordered_publish(mq, "o", &by, bytes_of(key), message, 5000, &error));
    acemq_message_free(message);
}

static void expect_event(acemq_connection *mq, acemq_event_kind kind, const char *says)
{
    acemq_event *event = NULL;
    MUST(acemq_connection_next_event(mq, 10000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), kind);
    ck_assert_str_eq(acemq_event_text(event), "o.0");
    ck_assert_int_eq(acemq_event_number(event), 0);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(acemq_event_error(event)), says));
    acemq_event_free(event);
}

START_TEST(a_halt_and_a_gap_are_told_and_can_be_read)
{
    static story self;
    acemq_connection *mq = begin("memory://ordered-told", 1);
    acemq_ordered_options options = ACEMQ_ORDERED_OPTIONS_INIT;
    acemq_error *why = NULL;
    acemq_gaps *gaps = NULL;
    int finished = 0;
    memset(&self, 0, sizeof self);
    atomic_store(&self.fails, 2);
    options.partitions = 1;
    MUST(acemq_ordered_consume(mq, "o", &options, fail_first, &self, destroyed, &self.ordered,
                               &error));
    publish_key(mq, "k", "first", 1);
    expect_event(mq, ACEMQ_EVENT_PARTITION_HALTED, "first");
    ck_assert_int_eq(acemq_ordered_halted(self.ordered, 0, &why), 1);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(why), "down"));
    acemq_error_free(why);
    await_ready(mq, "o.0", 1);
    acemq_ordered_free(self.ordered);
    AWAIT(atomic_load(&self.destroyed) == 1);
    options.failure = ACEMQ_ORDER_SKIP;
    MUST(acemq_ordered_consume(mq, "o", &options, fail_first, &self, NULL, &self.ordered, &error));
    expect_event(mq, ACEMQ_EVENT_ORDER_GAP, "first");
    await_ready(mq, "o.0.dlq", 1);
    MUST(acemq_ordered_get_gaps(self.ordered, &gaps, &error));
    ck_assert_uint_eq(acemq_gaps_count(gaps), 1);
    ck_assert_uint_eq(acemq_gaps_total(gaps), 1);
    ck_assert_int_eq(acemq_gaps_partition(gaps, 0), 0);
    ck_assert_str_eq(acemq_gaps_id(gaps, 0), "first");
    ck_assert_str_eq(acemq_gaps_reason(gaps, 0), "down");
    ck_assert_int_eq(acemq_gaps_parked(gaps, 0), 0);
    ck_assert_int_gt(acemq_gaps_time(gaps, 0), 0);
    acemq_gaps_free(gaps);
    MUST(acemq_ordered_drain(self.ordered, 10000, &finished, NULL, &error));
    ck_assert_int_eq(finished, 1);
    acemq_consumer_counters counters = {.size = sizeof counters};
    MUST(acemq_ordered_get_counters(self.ordered, &counters, &error));
    ck_assert_uint_eq(counters.dead_lettered, 1);
    acemq_ordered_free(self.ordered);
    acemq_connection_free(mq);
}
END_TEST

/* Whoever reads the log has seen the halt, and takes his time. */
static void slow_log(acemq_log_level level, const char *line, void *user)
{
    atomic_bool *seen = user;
    (void)level;
    if (strstr(line, "halted at message") != NULL) {
        atomic_store(seen, true);
        sleep_ms(300);
    }
}

START_TEST(a_partition_resumed_as_soon_as_its_halt_is_known_goes_on)
{
    static story self;
    static atomic_bool seen;
    acemq_connect_options connecting = ACEMQ_CONNECT_OPTIONS_INIT;
    connecting.log_callback = slow_log;
    connecting.log_user = &seen;
    acemq_connection *mq = begin_with("memory://ordered-resumed", 1, &connecting);
    acemq_ordered_options options = ACEMQ_ORDERED_OPTIONS_INIT;
    memset(&self, 0, sizeof self);
    atomic_store(&self.fails, 1);
    options.partitions = 1;
    MUST(acemq_ordered_consume(mq, "o", &options, fail_first, &self, destroyed, &self.ordered,
                               &error));
    publish_key(mq, "k", "first", 1);
    AWAIT(atomic_load(&seen) && acemq_ordered_halted(self.ordered, 0, NULL) == 1);
    MUST(acemq_ordered_resume(self.ordered, 0, &error));
    AWAIT(atomic_load(&self.calls) == 2);
    ck_assert_int_eq(acemq_ordered_halted(self.ordered, 0, NULL), 0);
    ck_assert_int_eq(acemq_ordered_paused(self.ordered), 0);
    acemq_ordered_free(self.ordered);
    acemq_connection_free(mq);
}
END_TEST

static acemq_outcome end_from_inside(acemq_delivery *delivery, void *user)
{
    story *self = user;
    (void)delivery;
    self->drained = acemq_ordered_drain(self->ordered, 5000, NULL, NULL, NULL);
    self->closed = acemq_ordered_close(self->ordered, NULL);
    atomic_fetch_add(&self->calls, 1);
    return ACEMQ_ACCEPTED;
}

START_TEST(an_ordered_consumer_closes_from_its_handler_and_drains_elsewhere)
{
    static story self;
    acemq_connection *mq = begin("memory://ordered-inside", 1);
    acemq_ordered_options options = ACEMQ_ORDERED_OPTIONS_INIT;
    memset(&self, 0, sizeof self);
    options.partitions = 1;
    MUST(acemq_ordered_consume(mq, "o", &options, end_from_inside, &self, destroyed, &self.ordered,
                               &error));
    publish_key(mq, "k", "first", 1);
    AWAIT(atomic_load(&self.destroyed) == 1);
    ck_assert_int_eq(self.drained, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(self.closed, ACEMQ_OK);
    await_ready(mq, "o.0", 0);
    acemq_ordered_free(self.ordered);
    acemq_connection_free(mq);
}
END_TEST

START_TEST(closing_the_client_ends_those_who_pull_in_order)
{
    acemq_connection *mq = begin("memory://ordered-closed", 1);
    acemq_connection *other = connect_with("memory://ordered-closed", NULL);
    acemq_ordered_options options = ACEMQ_ORDERED_OPTIONS_INIT;
    acemq_ordered *ordered = NULL;
    acemq_delivery *delivery = NULL;
    options.partitions = 1;
    MUST(acemq_ordered_open(mq, "o", &options, &ordered, &error));
    publish_key(mq, "k", "first", 1);
    publish_key(mq, "k", "second", 1);
    MUST(acemq_ordered_next(ordered, 5000, &delivery, &error));
    ck_assert_str_eq(acemq_delivery_queue(delivery), "o.0");
    ck_assert_str_eq(acemq_envelope_id(acemq_delivery_envelope(delivery)), "first");
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_connection_close(mq, 50, &error));
    MUST_FAIL(ACEMQ_E_CLOSED, acemq_ordered_next(ordered, 5000, &delivery, &error));
    MUST_FAIL(ACEMQ_E_STALE, acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    await_ready(other, "o.0", 2);
    acemq_ordered_free(ordered);
    acemq_connection_free(mq);
    acemq_connection_free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi ordering");
    TCase *tcase = tcase_create("ordering");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_three_rules_choose_the_partition_by_key_header_or_function);
    tcase_add_test(tcase, ordered_consumers_refuse_what_they_cannot_do);
    tcase_add_test(tcase, a_halt_and_a_gap_are_told_and_can_be_read);
    tcase_add_test(tcase, a_partition_resumed_as_soon_as_its_halt_is_known_goes_on);
    tcase_add_test(tcase, an_ordered_consumer_closes_from_its_handler_and_drains_elsewhere);
    tcase_add_test(tcase, closing_the_client_ends_those_who_pull_in_order);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
