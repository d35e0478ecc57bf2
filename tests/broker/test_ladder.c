/*
 * The retry ladder from end to end: what a consumer declares, and a message's way through a rung,
 * into the dead letters, and home again.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

/* --- exponential(5, 10s, 5m) declares the rungs 40s and 80s, and nothing else --- */

static void expect_argument(json_t *arguments, const char *name, const char *type, const char *text,
                            int64_t number)
{
    json_t *argument;
    size_t index;
    json_array_foreach(arguments, index, argument)
    {
        if (strcmp(json_string_value(json_array_get(argument, 0)), name) != 0) {
            continue;
        }
        ck_assert_str_eq(json_string_value(json_array_get(argument, 1)), type);
        if (text != NULL) {
            ck_assert_str_eq(json_string_value(json_array_get(argument, 2)), text);
        } else {
            ck_assert_int_eq(json_integer_value(json_array_get(argument, 2)), number);
        }
        return;
    }
    ck_abort_msg("there is no argument %s", name);
}

static json_t *queue_row(json_t *queues, const char *name)
{
    json_t *row;
    size_t index;
    json_array_foreach(queues, index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) {
            ck_assert(json_is_true(json_object_get(row, "durable")));
            return row;
        }
    }
    ck_abort_msg("RabbitMQ has no queue %s", name);
}

static void expect_plain_queue(json_t *queues, const char *name)
{
    json_t *row = queue_row(queues, name);
    ck_assert_str_eq(json_string_value(json_object_get(row, "type")), "classic");
    ck_assert_uint_eq(json_array_size(json_object_get(row, "arguments")), 0);
}

static void expect_rung(json_t *queues, const char *name, const char *source, int64_t delay)
{
    json_t *row = queue_row(queues, name);
    json_t *arguments = json_object_get(row, "arguments");
    ck_assert_str_eq(json_string_value(json_object_get(row, "type")), "classic");
    ck_assert_uint_eq(json_array_size(arguments), 3);
    expect_argument(arguments, "x-dead-letter-exchange", "longstr", "acemq.retry", 0);
    expect_argument(arguments, "x-dead-letter-routing-key", "longstr", source, 0);
    expect_argument(arguments, "x-message-ttl", "long", NULL, delay);
}

static void expect_durable_rung(json_t *queues, const char *name, const char *source, int64_t delay)
{
    json_t *row = queue_row(queues, name);
    json_t *arguments = json_object_get(row, "arguments");
    ck_assert_str_eq(json_string_value(json_object_get(row, "type")), "quorum");
    ck_assert_uint_eq(json_array_size(arguments), 6);
    expect_argument(arguments, "x-dead-letter-exchange", "longstr", "acemq.retry", 0);
    expect_argument(arguments, "x-dead-letter-routing-key", "longstr", source, 0);
    expect_argument(arguments, "x-dead-letter-strategy", "longstr", "at-least-once", 0);
    expect_argument(arguments, "x-message-ttl", "long", NULL, delay);
    expect_argument(arguments, "x-overflow", "longstr", "reject-publish", 0);
    expect_argument(arguments, "x-queue-type", "longstr", "quorum", 0);
}

static void expect_binding(json_t *bindings, const char *exchange, const char *queue)
{
    json_t *row;
    size_t index;
    json_array_foreach(bindings, index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "source_name")), exchange) == 0 &&
            strcmp(json_string_value(json_object_get(row, "destination_name")), queue) == 0) {
            ck_assert_str_eq(json_string_value(json_object_get(row, "routing_key")), queue);
            return;
        }
    }
    ck_abort_msg("%s is not bound to %s", queue, exchange);
}

static void expect_exchange(json_t *exchanges, const char *name)
{
    json_t *row;
    size_t index;
    json_array_foreach(exchanges, index, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0) {
            ck_assert_str_eq(json_string_value(json_object_get(row, "type")), "direct");
            ck_assert(json_is_true(json_object_get(row, "durable")));
            ck_assert_uint_eq(json_array_size(json_object_get(row, "arguments")), 0);
            return;
        }
    }
    ck_abort_msg("RabbitMQ has no exchange %s", name);
}

/* What RabbitMQ itself says, types of arguments included. */
static void expect_on_rabbitmq(trial *self, const char *source, int durable_rungs)
{
    json_t *queues = broker_control_queues(self->prefix);
    json_t *bindings = broker_control_bindings(self->prefix);
    json_t *exchanges =
        broker_control_json("list_exchanges", "name", "type", "durable", "arguments", NULL);
    const char *dead = trial_derived(self, source, ".dlq");
    const char *parked = trial_derived(self, source, ".parked");
    ck_assert_uint_eq(json_array_size(queues), 5);
    expect_plain_queue(queues, dead);
    expect_plain_queue(queues, parked);
    if (durable_rungs) {
        expect_durable_rung(queues, trial_derived(self, source, ".retry.40s.durable"), source,
                            40000);
        expect_durable_rung(queues, trial_derived(self, source, ".retry.80s.durable"), source,
                            80000);
    } else {
        expect_rung(queues, trial_derived(self, source, ".retry.40s"), source, 40000);
        expect_rung(queues, trial_derived(self, source, ".retry.80s"), source, 80000);
    }
    ck_assert_uint_eq(json_array_size(bindings), 3);
    expect_binding(bindings, "acemq.dlx", dead);
    expect_binding(bindings, "acemq.dlx", parked);
    expect_binding(bindings, "acemq.retry", source);
    expect_exchange(exchanges, "acemq.dlx");
    expect_exchange(exchanges, "acemq.retry");
    json_decref(queues);
    json_decref(bindings);
    json_decref(exchanges);
}

/* What AMQP alone can tell: the whole set is there as planned, and no other rung is. */
static void expect_over_amqp(trial *self, const char *source, const acemq_policy *policy)
{
    const char *others[] = {".retry.10s",  ".retry.20s", ".retry.30s",
                            ".retry.160s", ".retry.1m",  ".retry.5m"};
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_consumer(topology, source, policy);
    trial_must(acemq_topology_dry_run(self->mq, topology, PATIENCE, &plan, trial_error()));
    ck_assert_int_eq(acemq_plan_has_drift(plan), 0);
    size_t queues = 0;
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        if (acemq_plan_get_kind(plan, i) != ACEMQ_PLAN_BINDING) {
            ck_assert_int_eq(acemq_plan_get_state(plan, i), ACEMQ_PLAN_PRESENT);
        }
        queues += acemq_plan_get_kind(plan, i) == ACEMQ_PLAN_QUEUE;
    }
    ck_assert_uint_eq(queues, 4);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(!trial_queue_exists(self, trial_derived(self, source, others[i])));
    }
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

static void declares_rungs(int broker, int durable_rungs)
{
    trial self;
    trial_recorder recorder;
    trial_begin(&self, broker);
    const char *source = trial_queue(&self, "orders", ACEMQ_QUEUE_QUORUM);
    acemq_policy *policy = trial_policy(durable_rungs ? "exponential(5, 10s, 5m).durableRungs()"
                                                      : "exponential(5, 10s, 5m)");
    trial_record(&recorder, self.mq, source, policy, NULL, trial_accept, NULL);
    expect_over_amqp(&self, source, policy);
    if (broker == TRIAL_RABBITMQ) {
        expect_on_rabbitmq(&self, source, durable_rungs);
    }
    trial_record_end(&recorder);
    acemq_policy_free(policy);
    trial_end(&self);
}

START_TEST(exponential_declares_exactly_40s_and_80s)
{
    declares_rungs(_i, 0);
}
END_TEST

START_TEST(durable_rungs_are_declared_under_names_of_their_own)
{
    declares_rungs(_i, 1);
}
END_TEST

START_TEST(without_a_policy_there_is_no_rung_and_no_binding)
{
    trial self;
    trial_recorder recorder;
    trial_begin(&self, _i);
    const char *source = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    trial_record(&recorder, self.mq, source, NULL, NULL, trial_accept, NULL);
    ck_assert(trial_queue_exists(&self, trial_derived(&self, source, ".dlq")));
    ck_assert(trial_queue_exists(&self, trial_derived(&self, source, ".parked")));
    if (_i == TRIAL_RABBITMQ) {
        json_t *queues = broker_control_queues(self.prefix);
        json_t *bindings = broker_control_bindings(self.prefix);
        ck_assert_uint_eq(json_array_size(queues), 3);
        ck_assert_uint_eq(json_array_size(bindings), 2);
        json_decref(queues);
        json_decref(bindings);
    }
    trial_record_end(&recorder);
    trial_end(&self);
}
END_TEST

/* --- the round trip --- */

static const char *const id = "0f0e0d0c-0001-4000-8000-00000000abcd";

static void send_order(const trial *self, const char *source, const unsigned char body[1024])
{
    acemq_message *order = acemq_message_new(body, 1024);
    acemq_message_set_id(order, id);
    acemq_message_set_type(order, "order.placed");
    acemq_message_set_header(order, "tenant", "acme");
    trial_must(acemq_publish(self->mq, source, order, PATIENCE, trial_error()));
    acemq_message_free(order);
}

static void expect_order(const trial_sight *sight, const unsigned char body[1024], int32_t attempt,
                         int64_t first_seen)
{
    const acemq_value *tenant = acemq_table_get(sight->application, "tenant");
    acemq_bytes text = {NULL, 0};
    ck_assert_str_eq(acemq_envelope_id(sight->envelope), id);
    ck_assert_str_eq(acemq_envelope_correlation(sight->envelope), id);
    ck_assert_str_eq(acemq_envelope_type(sight->envelope), "order.placed");
    ck_assert_int_eq(acemq_envelope_attempt(sight->envelope), attempt);
    ck_assert_int_eq(acemq_envelope_first_seen(sight->envelope), first_seen);
    ck_assert_ptr_nonnull(tenant);
    ck_assert_int_eq(acemq_value_bytes(tenant, &text), 1);
    ck_assert_uint_eq(text.length, 4);
    ck_assert_mem_eq(text.data, "acme", 4);
    trial_sight_has_body(sight, body, 1024);
}

static void expect_no_stamps(const trial_sight *sight)
{
    ck_assert_ptr_null(acemq_envelope_replayed_from(sight->envelope));
    ck_assert_int_eq(acemq_envelope_replay_count(sight->envelope), 0);
}

static void expect_stamps(const trial_sight *sight, const char *dead, int64_t replayed_after)
{
    int64_t replayed_at = 0;
    ck_assert_str_eq(acemq_envelope_replayed_from(sight->envelope), dead);
    ck_assert_int_eq(acemq_envelope_replay_count(sight->envelope), 1);
    ck_assert_int_eq(acemq_envelope_replayed_at(sight->envelope, &replayed_at), 1);
    ck_assert_int_ge(replayed_at, replayed_after / 1000 * 1000);
    ck_assert_int_le(replayed_at, replayed_after + PATIENCE);
    ck_assert_ptr_null(acemq_envelope_error(sight->envelope));
}

static int64_t wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void round_trip(int broker, const char *policy_text, acemq_queue_type type)
{
    trial self;
    trial_recorder seen;
    int failures = 3;
    unsigned char body[1024];
    trial_sight dead_letter;
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (unsigned char)(i * 7 + i / 256);
    }
    trial_begin(&self, broker);
    const char *source = trial_queue(&self, "orders", type);
    const char *dead = trial_derived(&self, source, ".dlq");
    acemq_policy *policy = trial_policy(policy_text);
    trial_record_saying(&seen, self.mq, source, policy, NULL, trial_fail_at_first, &failures,
                        "the till is closed");
    send_order(&self, source, body);
    trial_wait_ready(&self, dead, 1, PATIENCE);

    ck_assert_uint_eq(trial_seen(&seen), 3);
    int64_t first_seen = acemq_envelope_first_seen(seen.sights[0].envelope);
    for (int32_t i = 0; i < 3; i++) {
        expect_order(&seen.sights[i], body, i + 1, first_seen);
        expect_no_stamps(&seen.sights[i]);
    }
    ck_assert_int_ge(seen.sights[1].at - seen.sights[0].at, 990);
    ck_assert_int_ge(seen.sights[2].at - seen.sights[1].at, 1990);
    ck_assert_int_le(seen.sights[2].at - seen.sights[0].at, 8000);

    trial_only(&self, dead, &dead_letter);
    expect_order(&dead_letter, body, 3, first_seen);
    ck_assert_str_eq(acemq_envelope_error(dead_letter.envelope),
                     "exhausted 3 attempts: the till is closed");
    trial_sight_free(&dead_letter);

    acemq_replay_result result = {.size = sizeof result};
    int64_t before = wall_clock();
    trial_must(acemq_replay(self.mq, source, NULL, &result, trial_error()));
    ck_assert_uint_eq(result.replayed, 1);
    ck_assert_uint_eq(result.declined, 0);
    ck_assert_uint_eq(result.left, 0);
    trial_wait_seen(&seen, 4, PATIENCE);
    expect_order(&seen.sights[3], body, 1, first_seen);
    expect_stamps(&seen.sights[3], dead, before);
    ck_assert_uint_eq(trial_ready(&self, dead), 0);
    trial_record_end(&seen);
    ck_assert_uint_eq(trial_ready(&self, source), 0);
    acemq_policy_free(policy);
    trial_end(&self);
}

START_TEST(a_message_comes_back_from_rungs_through_dead_letters_and_home)
{
    round_trip(_i, "exponential(3, 1s, 2s).threshold(1s)", ACEMQ_QUEUE_CLASSIC);
}
END_TEST

START_TEST(a_message_comes_back_from_durable_rungs_through_dead_letters_and_home)
{
    round_trip(_i, "exponential(3, 1s, 2s).threshold(1s).durableRungs()", ACEMQ_QUEUE_QUORUM);
}
END_TEST

START_TEST(a_message_comes_back_from_rungs_into_a_quorum_queue)
{
    round_trip(_i, "exponential(3, 1s, 2s).threshold(1s)", ACEMQ_QUEUE_QUORUM);
}
END_TEST

START_TEST(whole_second_names_are_those_of_go_python_and_ruby)
{
    trial self;
    trial_recorder recorder;
    trial_begin(&self, _i);
    const char *source = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy(
        "exponential(3, 500ms, 1500ms).threshold(100ms).multiplier(3).wholeSecondNames()");
    trial_record(&recorder, self.mq, source, policy, NULL, trial_fail, NULL);
    ck_assert(trial_queue_exists(&self, trial_derived(&self, source, ".retry.0s")));
    ck_assert(trial_queue_exists(&self, trial_derived(&self, source, ".retry.1s")));
    ck_assert(!trial_queue_exists(&self, trial_derived(&self, source, ".retry.500ms")));
    ck_assert(!trial_queue_exists(&self, trial_derived(&self, source, ".retry.1500ms")));
    trial_publish_text(&self, source, "a");
    trial_wait_ready(&self, trial_derived(&self, source, ".dlq"), 1, PATIENCE);
    ck_assert_uint_eq(trial_seen(&recorder), 3);
    ck_assert_int_ge(trial_sight_at(&recorder, 1)->at - trial_sight_at(&recorder, 0)->at, 490);
    ck_assert_int_ge(trial_sight_at(&recorder, 2)->at - trial_sight_at(&recorder, 1)->at, 1490);
    trial_record_end(&recorder);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ladder");
    TCase *declared = tcase_create("what is declared");
    tcase_set_timeout(declared, 240);
    tcase_add_loop_test(declared, exponential_declares_exactly_40s_and_80s, 0, TRIAL_BROKERS);
    tcase_add_loop_test(declared, durable_rungs_are_declared_under_names_of_their_own, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(declared, without_a_policy_there_is_no_rung_and_no_binding, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(declared, whole_second_names_are_those_of_go_python_and_ruby, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, declared);
    TCase *trips = tcase_create("round trips");
    tcase_set_timeout(trips, 240);
    tcase_add_loop_test(trips, a_message_comes_back_from_rungs_through_dead_letters_and_home, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(trips,
                        a_message_comes_back_from_durable_rungs_through_dead_letters_and_home, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(trips, a_message_comes_back_from_rungs_into_a_quorum_queue, 0,
                        TRIAL_BROKERS);
    suite_add_tcase(suite, trips);
    return trial_run(suite);
}
