/*
 * Topologies compared with a broker and declared on it, and consumers that may not declare.
 */
#include "support/broker_control.h"
#include "support/trial_recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

static size_t count_of(const acemq_plan *plan, acemq_plan_kind kind, acemq_plan_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        count += acemq_plan_get_kind(plan, i) == kind && acemq_plan_get_state(plan, i) == state;
    }
    return count;
}

static size_t position_of(const acemq_plan *plan, acemq_plan_kind kind, const char *name)
{
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        if (acemq_plan_get_kind(plan, i) == kind && strcmp(acemq_plan_name(plan, i), name) == 0) {
            return i;
        }
    }
    ck_abort_msg("the plan lacks %s", name);
}

static acemq_topology *orders_topology(trial *self, const char *exchange, const char *queue)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_policy *policy = trial_policy("exponential(5, 10s, 5m)");
    (void)self;
    acemq_topology_exchange(topology, exchange, "topic");
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_QUORUM, 1, policy, NULL);
    acemq_topology_bind(topology, exchange, queue, "order.#");
    acemq_policy_free(policy);
    return topology;
}

static acemq_plan *dry_run(const trial *self, const acemq_topology *topology)
{
    acemq_plan *plan = NULL;
    trial_must(acemq_topology_dry_run(self->mq, topology, PATIENCE, &plan, trial_error()));
    return plan;
}

START_TEST(planned_tried_applied_and_checked)
{
    trial self;
    acemq_plan *plan = NULL;
    trial_begin(&self, _i);
    const char *exchange = trial_name(&self, "events");
    const char *queue = trial_name(&self, "orders");
    acemq_topology *topology = orders_topology(&self, exchange, queue);
    trial_must(acemq_topology_validate(topology, trial_error()));

    trial_must(acemq_topology_plan(topology, &plan, trial_error()));
    size_t all = acemq_plan_count(plan);
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_UNKNOWN), 5);
    size_t at = position_of(plan, ACEMQ_PLAN_QUEUE, queue);
    ck_assert_str_eq(acemq_plan_type(plan, at), "quorum");
    ck_assert_uint_eq(acemq_table_count(acemq_plan_arguments(plan, at)), 3);
    acemq_plan_free(plan);

    plan = dry_run(&self, topology);
    ck_assert_uint_eq(acemq_plan_count(plan), all);
    ck_assert_int_eq(acemq_plan_has_drift(plan), 1);
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_CREATE), 5);
    ck_assert_int_eq(acemq_plan_get_state(plan, position_of(plan, ACEMQ_PLAN_EXCHANGE, exchange)),
                     ACEMQ_PLAN_CREATE);
    acemq_plan_free(plan);
    ck_assert(!trial_queue_exists(&self, queue));
    ck_assert(!trial_queue_exists(&self, trial_derived(&self, queue, ".dlq")));

    trial_must(acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_CREATE), 5);
    acemq_plan_free(plan);
    ck_assert_uint_eq(trial_ready(&self, queue), 0);

    plan = dry_run(&self, topology);
    ck_assert_int_eq(acemq_plan_has_drift(plan), 0);
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_PRESENT), 5);
    acemq_plan_free(plan);
    trial_must(acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_PRESENT), 5);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    trial_end(&self);
}
END_TEST

START_TEST(what_was_applied_routes_and_dead_letters)
{
    trial self;
    trial_sight letter;
    acemq_plan *plan = NULL;
    trial_begin(&self, _i);
    const char *exchange = trial_name(&self, "events");
    const char *queue = trial_name(&self, "orders");
    acemq_topology *topology = orders_topology(&self, exchange, queue);
    trial_must(acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    acemq_message *message = acemq_message_text("expired");
    acemq_message_set_expiration(message, 50);
    trial_must(
        acemq_publish_to(self.mq, exchange, "order.placed", message, PATIENCE, trial_error()));
    const char *dead = trial_derived(&self, queue, ".dlq");
    trial_wait_ready(&self, dead, 1, PATIENCE);
    trial_only(&self, dead, &letter);
    ck_assert_str_eq(acemq_envelope_type(letter.envelope), "order.placed");
    trial_sight_free(&letter);
    acemq_message_free(message);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    trial_end(&self);
}
END_TEST

START_TEST(a_queue_that_went_away_is_drift)
{
    trial self;
    acemq_plan *plan = NULL;
    trial_begin(&self, _i);
    const char *exchange = trial_name(&self, "events");
    const char *queue = trial_name(&self, "orders");
    acemq_topology *topology = orders_topology(&self, exchange, queue);
    trial_must(acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    acemq_plan_free(plan);
    const char *rung = trial_derived(&self, queue, ".retry.80s");
    trial_must(acemq_queue_delete(self.mq, rung, PATIENCE, NULL, trial_error()));
    plan = dry_run(&self, topology);
    ck_assert_int_eq(acemq_plan_has_drift(plan), 1);
    ck_assert_uint_eq(count_of(plan, ACEMQ_PLAN_QUEUE, ACEMQ_PLAN_PRESENT), 4);
    ck_assert_int_eq(acemq_plan_get_state(plan, position_of(plan, ACEMQ_PLAN_QUEUE, rung)),
                     ACEMQ_PLAN_CREATE);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    trial_end(&self);
}
END_TEST

/* --- what differs --- */

/* A queue with a TTL of 5 s where a topology wants 7 s. */
static acemq_topology *seven_seconds(const char *queue)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_table *arguments = acemq_table_new();
    trial_must(acemq_table_set_int64(arguments, "x-message-ttl", 7000, trial_error()));
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_CLASSIC, 0, NULL, arguments);
    acemq_table_free(arguments);
    return topology;
}

static void expect_differs(const acemq_plan *plan, const char *queue)
{
    size_t at = position_of(plan, ACEMQ_PLAN_QUEUE, queue);
    ck_assert_int_eq(acemq_plan_has_drift(plan), 1);
    ck_assert_int_eq(acemq_plan_get_state(plan, at), ACEMQ_PLAN_DIFFERS);
    ck_assert_str_eq(acemq_plan_differing(plan, at), "x-message-ttl");
    ck_assert_ptr_nonnull(strstr(acemq_plan_ours(plan, at), "7000"));
    ck_assert_ptr_nonnull(strstr(acemq_plan_theirs(plan, at), "5000"));
}

START_TEST(a_queue_that_differs_names_queue_argument_ours_and_theirs)
{
    trial self;
    acemq_plan *plan = NULL;
    acemq_table *arguments = acemq_table_new();
    trial_begin(&self, _i);
    trial_must(acemq_table_set_int64(arguments, "x-message-ttl", 5000, trial_error()));
    const char *queue = trial_queue_with(&self, "orders", ACEMQ_QUEUE_CLASSIC, 0, arguments);
    acemq_topology *topology = seven_seconds(queue);
    plan = dry_run(&self, topology);
    expect_differs(plan, queue);
    acemq_plan_free(plan);
    plan = NULL;
    trial_must_fail(ACEMQ_E_DIFFERS,
                    acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    trial_error_says(queue);
    trial_error_says("x-message-ttl");
    trial_error_says("7000");
    trial_error_says("5000");
    ck_assert_int_eq(acemq_error_reply_code(trial_last_error()), 406);
    ck_assert_int_eq(acemq_error_is_fatal(trial_last_error()), 1);
    expect_differs(plan, queue);
    acemq_plan_free(plan);
    trial_publish_text(&self, queue, "the client goes on");
    acemq_topology_free(topology);
    acemq_table_free(arguments);
    trial_end(&self);
}
END_TEST

START_TEST(an_argument_that_only_the_broker_has_differs)
{
    trial self;
    acemq_table *arguments = acemq_table_new();
    trial_begin(&self, _i);
    trial_must(acemq_table_set_int64(arguments, "x-max-length", 5, trial_error()));
    const char *queue = trial_queue_with(&self, "orders", ACEMQ_QUEUE_CLASSIC, 0, arguments);
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    acemq_plan *plan = dry_run(&self, topology);
    size_t at = position_of(plan, ACEMQ_PLAN_QUEUE, queue);
    ck_assert_int_eq(acemq_plan_get_state(plan, at), ACEMQ_PLAN_DIFFERS);
    ck_assert_str_eq(acemq_plan_differing(plan, at), "x-max-length");
    ck_assert_ptr_nonnull(strstr(acemq_plan_theirs(plan, at), "5"));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_table_free(arguments);
    trial_end(&self);
}
END_TEST

START_TEST(an_exchange_of_another_type_differs)
{
    trial self;
    acemq_plan *plan = NULL;
    trial_begin(&self, _i);
    const char *exchange = trial_name(&self, "events");
    trial_exchange(&self, exchange, "fanout");
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, exchange, "topic");
    plan = dry_run(&self, topology);
    ck_assert_int_eq(acemq_plan_get_state(plan, position_of(plan, ACEMQ_PLAN_EXCHANGE, exchange)),
                     ACEMQ_PLAN_DIFFERS);
    acemq_plan_free(plan);
    trial_must_fail(ACEMQ_E_DIFFERS,
                    acemq_topology_apply(self.mq, topology, PATIENCE, &plan, trial_error()));
    trial_error_says(exchange);
    trial_error_says("fanout");
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    trial_end(&self);
}
END_TEST

/* A consumer whose rung is there with another TTL refuses to start and names it. */
START_TEST(a_consumer_with_a_rung_that_differs_refuses_to_start)
{
    trial self;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    acemq_table *arguments = acemq_table_new();
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    trial_must(acemq_table_set_int64(arguments, "x-message-ttl", 1234, trial_error()));
    const char *rung =
        trial_queue_with(&self, "orders.retry.40s", ACEMQ_QUEUE_CLASSIC, 0, arguments);
    acemq_policy *policy = trial_policy("fixed(3, 40s)");
    options.retry = policy;
    trial_must_fail(ACEMQ_E_DIFFERS,
                    acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
    ck_assert_ptr_null(consumer);
    trial_error_says(rung);
    trial_error_says("1234");
    acemq_policy_free(policy);
    acemq_table_free(arguments);
    trial_end(&self);
}
END_TEST

START_TEST(a_consumer_of_a_missing_queue_refuses_to_start)
{
    trial self;
    acemq_consumer *consumer = NULL;
    trial_begin(&self, _i);
    const char *queue = trial_name(&self, "missing");
    trial_must_fail(ACEMQ_E_NOT_FOUND,
                    acemq_consumer_open(self.mq, queue, NULL, &consumer, trial_error()));
    trial_error_says(queue);
    ck_assert(!trial_queue_exists(&self, trial_derived(&self, queue, ".dlq")));
    trial_end(&self);
}
END_TEST

/* --- without the right to declare --- */

START_TEST(verify_names_what_is_missing_and_declares_nothing)
{
    trial self;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    const char *rung = trial_derived(&self, queue, ".retry.40s");
    acemq_policy *policy = trial_policy("fixed(3, 40s)");
    options.retry = policy;
    trial_must(acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
    acemq_consumer_free(consumer);
    options.declare = ACEMQ_DECLARE_VERIFY;
    trial_must(acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
    acemq_consumer_free(consumer);
    const char *const set[] = {rung, dead, trial_derived(&self, queue, ".parked")};
    for (size_t i = 0; i < 3; i++) {
        trial_must(acemq_queue_delete(self.mq, set[i], PATIENCE, NULL, trial_error()));
        consumer = NULL;
        trial_must_fail(ACEMQ_E_NOT_FOUND,
                        acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
        trial_error_says(set[i]);
        ck_assert_ptr_null(consumer);
        ck_assert(!trial_queue_exists(&self, set[i]));
        options.declare = ACEMQ_DECLARE_YES;
        trial_must(acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
        acemq_consumer_free(consumer);
        options.declare = ACEMQ_DECLARE_VERIFY;
    }
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

static acemq_connection *connect_as(const trial *self, const char *user, const char *configure)
{
    acemq_connection *mq = NULL;
    char url[256];
    free(broker_control_ctl("add_user", user, "secret", NULL));
    free(broker_control_ctl("set_permissions", user, configure, ".*", ".*", NULL));
    snprintf(url, sizeof url, "amqp://%s:secret@127.0.0.1:%d/", user, trial_port(self));
    trial_must(acemq_connect(url, NULL, &mq, trial_error()));
    return mq;
}

START_TEST(without_the_right_to_configure_a_consumer_says_so_or_verifies)
{
    trial self;
    trial_recorder seen;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *user = trial_name(&self, "user");
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(3, 200ms).threshold(200ms)");
    acemq_connection *mq = connect_as(&self, user, "^$");
    options.retry = policy;
    trial_must_fail(ACEMQ_E_ACCESS_REFUSED,
                    acemq_consumer_open(mq, queue, &options, &consumer, trial_error()));
    ck_assert_ptr_null(consumer);
    trial_error_says("acemq.dlx");
    ck_assert_int_eq(acemq_error_reply_code(trial_last_error()), 403);

    options.declare = ACEMQ_DECLARE_VERIFY;
    trial_must_fail(ACEMQ_E_NOT_FOUND,
                    acemq_consumer_open(mq, queue, &options, &consumer, trial_error()));
    /* Somebody who may declares the set; from then on it starts and works. */
    options.declare = ACEMQ_DECLARE_YES;
    trial_must(acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
    acemq_consumer_free(consumer);
    options.declare = ACEMQ_DECLARE_VERIFY;
    trial_record(&seen, mq, queue, policy, &options, trial_fail, NULL);
    trial_publish_text(&self, queue, "verified");
    trial_wait_ready(&self, trial_derived(&self, queue, ".dlq"), 1, PATIENCE);
    ck_assert_uint_eq(trial_seen(&seen), 3);
    trial_record_end(&seen);
    trial_close(mq);
    free(broker_control_ctl("delete_user", user, NULL));
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

START_TEST(a_topology_that_may_not_be_declared_names_the_declaration)
{
    trial self;
    acemq_plan *plan = NULL;
    trial_begin(&self, TRIAL_RABBITMQ);
    const char *user = trial_name(&self, "user");
    const char *queue = trial_name(&self, "orders");
    acemq_connection *mq = connect_as(&self, user, "^$");
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    trial_must_fail(ACEMQ_E_ACCESS_REFUSED,
                    acemq_topology_apply(mq, topology, PATIENCE, &plan, trial_error()));
    trial_error_says(queue);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    trial_close(mq);
    free(broker_control_ctl("delete_user", user, NULL));
    trial_end(&self);
}
END_TEST

/* --- without a broker --- */

START_TEST(what_is_wrong_is_refused_by_name_before_anything_is_sent)
{
    char name[ACEMQ_NAME_SIZE + 1];
    acemq_table *arguments = acemq_table_new();
    memset(name, 'q', ACEMQ_NAME_SIZE);
    name[ACEMQ_NAME_SIZE] = '\0';
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, name, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    trial_must_fail(ACEMQ_E_LIMIT, acemq_topology_validate(topology, trial_error()));
    acemq_topology_free(topology);
    /* Long enough to fit, but not with `.dlq` behind it. */
    name[252] = '\0';
    topology = acemq_topology_new();
    acemq_topology_queue(topology, name, ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    trial_must(acemq_topology_validate(topology, trial_error()));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_queue(topology, name, ACEMQ_QUEUE_CLASSIC, 1, NULL, NULL);
    trial_must_fail(ACEMQ_E_LIMIT, acemq_topology_validate(topology, trial_error()));
    acemq_topology_free(topology);
    trial_must(acemq_table_set_string(arguments, "x-dead-letter-exchange", "mine", trial_error()));
    topology = acemq_topology_new();
    acemq_topology_queue(topology, "orders", ACEMQ_QUEUE_CLASSIC, 1, NULL, arguments);
    trial_must_fail(ACEMQ_E_INVALID_ARGUMENT, acemq_topology_validate(topology, trial_error()));
    trial_error_says("x-dead-letter-exchange");
    acemq_topology_free(topology);
    acemq_table_free(arguments);
}
END_TEST

START_TEST(a_policy_with_0_attempts_is_refused_by_the_consumer)
{
    trial self;
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_consumer *consumer = NULL;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = acemq_policy_fixed(0, ACEMQ_SECOND);
    options.retry = policy;
    trial_must_fail(ACEMQ_E_LIMIT,
                    acemq_consumer_open(self.mq, queue, &options, &consumer, trial_error()));
    trial_error_says("attempts");
    ck_assert(!trial_queue_exists(&self, trial_derived(&self, queue, ".dlq")));
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *cases = tcase_create("topology");
    tcase_set_timeout(cases, 240);
    tcase_add_test(cases, what_is_wrong_is_refused_by_name_before_anything_is_sent);
    tcase_add_loop_test(cases, planned_tried_applied_and_checked, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, what_was_applied_routes_and_dead_letters, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_queue_that_went_away_is_drift, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_queue_that_differs_names_queue_argument_ours_and_theirs, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, an_argument_that_only_the_broker_has_differs, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, an_exchange_of_another_type_differs, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_consumer_with_a_rung_that_differs_refuses_to_start, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_consumer_of_a_missing_queue_refuses_to_start, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, verify_names_what_is_missing_and_declares_nothing, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_policy_with_0_attempts_is_refused_by_the_consumer, 0,
                        TRIAL_BROKERS);
    tcase_add_test(cases, without_the_right_to_configure_a_consumer_says_so_or_verifies);
    tcase_add_test(cases, a_topology_that_may_not_be_declared_names_the_declaration);
    suite_add_tcase(suite, cases);
    return trial_run(suite);
}
