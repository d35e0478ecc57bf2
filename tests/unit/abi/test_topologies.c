/* Topologies through the ABI, held against the memory broker; and the words in which RabbitMQ says
 * what differs. */
#include "client.h"

#include "patterns/precondition.h"
#include "patterns/queue_kind.h"

static acemq_connection *mq;

static void begin(void)
{
    mq = connect_with("memory://topologies", NULL);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static acemq_topology *orders(acemq_queue_type type, const acemq_policy *retry)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, "shop", "topic");
    acemq_topology_queue(topology, "orders", type, 1, retry, NULL);
    acemq_topology_bind(topology, "shop", "orders", "order.#");
    return topology;
}

static size_t index_of(const acemq_plan *plan, const char *name)
{
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        if (acemq_plan_get_kind(plan, i) != ACEMQ_PLAN_BINDING &&
            strcmp(acemq_plan_name(plan, i), name) == 0) {
            return i;
        }
    }
    ck_abort_msg("the plan has no %s", name);
    return 0;
}

static void all_are(const acemq_plan *plan, acemq_plan_state expected)
{
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        ck_assert_int_eq(acemq_plan_get_state(plan, i),
                         acemq_plan_get_kind(plan, i) == ACEMQ_PLAN_BINDING ? ACEMQ_PLAN_UNKNOWN
                                                                            : expected);
        ck_assert_str_eq(acemq_plan_differing(plan, i), "");
    }
}

START_TEST(a_dry_run_changes_nothing)
{
    acemq_plan *plan = NULL;
    acemq_policy *policy = acemq_policy_exponential(5, 10000, 300000);
    acemq_topology *topology = orders(ACEMQ_QUEUE_QUORUM, policy);
    for (int i = 0; i < 2; i++) { /* the second finds as little as the first */
        MUST(acemq_topology_dry_run(mq, topology, 5000, &plan, &error));
        all_are(plan, ACEMQ_PLAN_CREATE);
        ck_assert_int_eq(acemq_plan_has_drift(plan), 1);
        acemq_plan_free(plan);
    }
    MUST_FAIL(ACEMQ_E_NOT_FOUND, acemq_queue_count(mq, "orders", 5000, NULL, NULL, &error));
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    all_are(plan, ACEMQ_PLAN_CREATE);
    acemq_plan_free(plan);
    for (int i = 0; i < 2; i++) {
        MUST(acemq_topology_dry_run(mq, topology, 5000, &plan, &error));
        all_are(plan, ACEMQ_PLAN_PRESENT);
        ck_assert_int_eq(acemq_plan_has_drift(plan), 0);
        acemq_plan_free(plan);
    }
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    all_are(plan, ACEMQ_PLAN_PRESENT);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_policy_free(policy);
}
END_TEST

START_TEST(the_ladder_of_the_contract_is_two_rungs)
{
    acemq_plan *plan = NULL;
    acemq_policy *policy = acemq_policy_exponential(5, 10000, 300000);
    acemq_topology *topology = orders(ACEMQ_QUEUE_QUORUM, policy);
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    size_t rungs = 0;
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        rungs += acemq_plan_get_kind(plan, i) == ACEMQ_PLAN_QUEUE &&
                 strstr(acemq_plan_name(plan, i), ".retry.") != NULL;
    }
    ck_assert_uint_eq(rungs, 2);
    ck_assert_uint_eq(count_ready(mq, "orders.retry.40s"), 0);
    ck_assert_uint_eq(count_ready(mq, "orders.retry.80s"), 0);
    ck_assert_uint_eq(count_ready(mq, "orders.dlq"), 0);
    ck_assert_uint_eq(count_ready(mq, "orders.parked"), 0);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_policy_free(policy);
}
END_TEST

/* The topology works: what is published to the exchange arrives. */
START_TEST(an_applied_binding_routes)
{
    acemq_plan *plan = NULL;
    acemq_message *message = acemq_message_text("x");
    acemq_topology *topology = orders(ACEMQ_QUEUE_CLASSIC, NULL);
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    MUST(acemq_publish_to(mq, "shop", "order.placed", message, 5000, &error));
    ck_assert_uint_eq(count_ready(mq, "orders"), 1);
    MUST_FAIL(ACEMQ_E_UNROUTABLE,
              acemq_publish_to(mq, "shop", "invoice.sent", message, 5000, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_message_free(message);
}
END_TEST

static void differs(const acemq_plan *plan, const char *name, const char *argument,
                    const char *ours, const char *theirs)
{
    size_t i = index_of(plan, name);
    ck_assert_int_eq(acemq_plan_get_state(plan, i), ACEMQ_PLAN_DIFFERS);
    ck_assert_str_eq(acemq_plan_differing(plan, i), argument);
    ck_assert_str_eq(acemq_plan_ours(plan, i), ours);
    ck_assert_str_eq(acemq_plan_theirs(plan, i), theirs);
}

START_TEST(a_queue_that_differs_is_told_with_argument_ours_and_theirs)
{
    acemq_plan *plan = NULL;
    acemq_error *said = NULL;
    acemq_topology *classic = acemq_topology_new();
    acemq_topology_queue(classic, "orders", ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    MUST(acemq_topology_apply(mq, classic, 5000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology *quorum = acemq_topology_new();
    acemq_topology_queue(quorum, "orders", ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    acemq_topology_queue(quorum, "later", ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    MUST(acemq_topology_dry_run(mq, quorum, 5000, &plan, &error));
    differs(plan, "orders", "x-queue-type", "quorum", "classic");
    ck_assert_int_eq(acemq_plan_get_state(plan, index_of(plan, "later")), ACEMQ_PLAN_CREATE);
    ck_assert_int_eq(acemq_plan_has_drift(plan), 1);
    acemq_plan_free(plan);
    /* Applying says the same as an error, and makes the rest. */
    ck_assert_int_eq(acemq_topology_apply(mq, quorum, 5000, &plan, &said), ACEMQ_E_DIFFERS);
    ck_assert_str_eq(acemq_error_message(said),
                     "queue orders: x-queue-type is quorum here, classic at the broker");
    ck_assert_str_eq(acemq_error_field(said), "x-queue-type");
    ck_assert_int_eq(acemq_error_reply_code(said), 406);
    acemq_error_free(said);
    differs(plan, "orders", "x-queue-type", "quorum", "classic");
    acemq_plan_free(plan);
    ck_assert_uint_eq(count_ready(mq, "later"), 0);
    acemq_topology_free(quorum);
    acemq_topology_free(classic);
}
END_TEST

START_TEST(an_exchange_of_another_type_differs)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, "shop", "direct");
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_exchange(topology, "shop", "topic");
    MUST(acemq_topology_dry_run(mq, topology, 5000, &plan, &error));
    differs(plan, "shop", "type", "topic", "direct");
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}
END_TEST

START_TEST(the_first_error_of_a_topology_is_kept)
{
    acemq_plan *plan = NULL;
    char long_name[300];
    memset(long_name, 'q', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, long_name, ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    acemq_topology_exchange(topology, "", "direct");
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_topology_validate(topology, &error));
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_topology_apply(mq, topology, 5000, &plan, &error));
    ck_assert_ptr_null(plan);
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_queue(topology, "q", (acemq_queue_type)3, 0, NULL, NULL);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_topology_validate(topology, &error));
    acemq_topology_free(topology);
    acemq_policy *policy = acemq_policy_fixed(0, 1);
    topology = acemq_topology_new();
    acemq_topology_queue(topology, "q", ACEMQ_QUEUE_QUORUM, 0, policy, NULL);
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_topology_validate(topology, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_consumer(topology, "q", policy);
    MUST_FAIL(ACEMQ_E_LIMIT, acemq_topology_validate(topology, &error));
    acemq_topology_free(topology);
    acemq_policy_free(policy);
    /* One queue in two ways, across a topology and its consumer. */
    policy = acemq_policy_fixed(2, 40000);
    topology = acemq_topology_new();
    acemq_topology_queue(topology, "q.dlq", ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    acemq_topology_consumer(topology, "q", policy);
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_topology_validate(topology, &error));
    acemq_topology_free(topology);
    acemq_policy_free(policy);
}
END_TEST

START_TEST(a_plan_ends_where_it_ends)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = orders(ACEMQ_QUEUE_QUORUM, NULL);
    MUST(acemq_topology_plan(topology, &plan, &error));
    size_t past = acemq_plan_count(plan);
    ck_assert_ptr_null(acemq_plan_name(plan, past));
    ck_assert_ptr_null(acemq_plan_type(plan, past));
    ck_assert_ptr_null(acemq_plan_arguments(plan, past));
    ck_assert_ptr_null(acemq_plan_ours(plan, past));
    ck_assert_int_eq(acemq_plan_get_kind(plan, past), 0);
    acemq_topology_free(topology); /* the plan has its own copies */
    ck_assert_str_eq(acemq_plan_type(plan, index_of(plan, "orders")), "quorum");
    acemq_plan_free(plan);
}
END_TEST

/* --- the broker's words --- */

static void reads(const char *text, const char *argument, const char *ours, const char *theirs)
{
    ace_precondition told;
    ck_assert_msg(ace_precondition_read(text, &told), "\"%s\" was not read", text);
    ck_assert(ace_bytes_equal_text(told.argument, argument));
    ck_assert(ace_bytes_equal_text(told.ours, ours));
    ck_assert(ace_bytes_equal_text(told.theirs, theirs));
}

START_TEST(a_refused_declaration_is_read)
{
    ace_precondition told;
    reads("406 PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'q' in vhost '/': "
          "received the value '40000' of type 'signedint' but current is none",
          "x-message-ttl", "40000", "none");
    reads("PRECONDITION_FAILED - inequivalent arg 'x-dead-letter-exchange' for queue 'q' in vhost "
          "'/': received none but current is the value 'acemq.dlx' of type 'longstr'",
          "x-dead-letter-exchange", "none", "acemq.dlx");
    reads("inequivalent arg 'durable' for exchange 'e' in vhost '/': received 'false' but current "
          "is 'true'",
          "durable", "false", "true");
    /* Names and values that look like the text around them. */
    reads("inequivalent arg 'x-a' for queue 'it is: received ' in vhost '/': received the value 'a "
          "but current is b' of type 'longstr' but current is the value 'it's' of type 'longstr'",
          "x-a", "a but current is b", "it's");
    static const char *const others[] = {
        "",
        "PRECONDITION_FAILED - queue 'q' in vhost '/' not empty",
        "inequivalent arg 'x' for queue 'q'",
        "inequivalent arg 'x",
        "inequivalent arg 'x' but current is 'y'",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!ace_precondition_read(others[i], &told), "\"%s\" was read", others[i]);
    }
}
END_TEST

START_TEST(rungs_are_known_by_their_names)
{
    static const char *const rungs[] = {"orders.retry.40s", "orders.retry.1500ms",
                                        "orders.retry.2h.durable", "a.retry.b.retry.1m"};
    static const char *const others[] = {"orders",          "orders.retry",        "orders.retry.",
                                         ".retry.40s",      "orders.retry.forty",  "orders.retry.s",
                                         "orders.retry.4d", "orders.retry.40s.x",  "orders.dlq",
                                         "orders.retry.40", "orders.retry.durable"};
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++) {
        ck_assert_msg(ace_name_is_rung(rungs[i]), "%s is a rung", rungs[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!ace_name_is_rung(others[i]), "%s is no rung", others[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi topologies");
    TCase *tests = tcase_create("topologies");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_dry_run_changes_nothing);
    tcase_add_test(tests, the_ladder_of_the_contract_is_two_rungs);
    tcase_add_test(tests, an_applied_binding_routes);
    tcase_add_test(tests, a_queue_that_differs_is_told_with_argument_ours_and_theirs);
    tcase_add_test(tests, an_exchange_of_another_type_differs);
    tcase_add_test(tests, the_first_error_of_a_topology_is_kept);
    tcase_add_test(tests, a_plan_ends_where_it_ends);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    TCase *words = tcase_create("words");
    tcase_set_timeout(words, 60);
    tcase_add_test(words, a_refused_declaration_is_read);
    tcase_add_test(words, rungs_are_known_by_their_names);
    suite_add_tcase(suite, words);
    return run_suite(suite);
}
