/* Hops that fail, and when they are repeated; waits, and how long anything is held. */
#include "engine/settle_acks.h"
#include "unit/engine/consumer_peer.h"

#define MINUTE INT64_C(60000)

static published hop_at(consumer_peer *p, int index)
{
    AWAIT(PEER(p->hop_count) > index);
    return PEER(p->hopped[index]);
}

static void assert_no_hop_for(consumer_peer *p, int64_t milliseconds)
{
    int before = PEER(p->hop_count);
    pass(p, milliseconds);
    settle_down();
    ck_assert_int_eq(PEER(p->hop_count), before);
}

static void assert_last_settled(consumer_peer *p, int count, char how, uint64_t tag)
{
    AWAIT(PEER(p->settled_count) >= count);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), count);
    ck_assert_int_eq(PEER(p->settled[count - 1].how), how);
    ck_assert_uint_eq(PEER(p->settled[count - 1].tag), tag);
}

START_TEST(a_failed_hop_is_repeated_after_one_second_doubling_to_thirty_and_a_success_resets_that)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED, .reason = "why"};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, NACK_HOPS);
    PEER_SET(to_deliver, 1);
    const int64_t waits[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    AWAIT(counted(consumer).hops_failed == 1);
    for (int i = 0; i < 7; i++) {
        assert_no_hop_for(p, waits[i] - 1);
        pass(p, 1);
        AWAIT(counted(consumer).hops_failed == (uint64_t)(i + 2));
    }
    ck_assert_int_eq(PEER(p->settled_count), 0);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    PEER_SET(hops, CONFIRM_HOPS);
    pass(p, 30000);
    assert_last_settled(p, 1, 'a', 1);
    AWAIT(counted(consumer).dead_lettered == 1);
    published last = hop_at(p, PEER(p->hop_count) - 1);
    ck_assert_str_eq(last.key, "q.dlq");
    ck_assert_int_eq(last.attempt, 1);
    ck_assert_str_eq(last.error, "exhausted 1 attempts: why");
    PEER_SET(hops, NACK_HOPS);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).hops_failed == 9);
    assert_no_hop_for(p, 999);
    PEER_SET(hops, CONFIRM_HOPS);
    pass(p, 1);
    assert_last_settled(p, 2, 'a', 2);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(many_failing_hops_share_one_back_off_and_leave_together)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, NACK_HOPS);
    PEER_SET(to_deliver, 20);
    AWAIT(atomic_load(&record.calls) == 20);
    settle_down();
    PEER_SET(hops, CONFIRM_HOPS);
    AWAIT(counted(consumer).in_flight == 20);
    pass(p, 1000);
    AWAIT(counted(consumer).dead_lettered == 20);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_failing_hop_does_not_keep_others_from_settling)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, NACK_HOPS);
    PEER_SET(to_deliver, 2);
    ace_delivery *failing = peer_pull(consumer);
    ace_delivery *fine = peer_pull(consumer);
    MUST(ace_delivery_settle(failing, ACE_PARKED, NULL, &error));
    AWAIT(counted(consumer).hops_failed == 1);
    MUST(ace_delivery_settle(fine, ACE_ACCEPTED, NULL, &error));
    AWAIT(counted(consumer).acknowledged == 1);
    pass(p, 3);
    assert_last_settled(p, 1, 'a', 2);
    ace_delivery_free(failing);
    ace_delivery_free(fine);
    ck_assert(ace_consumer_is_subscribed(consumer));
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_declaration_that_is_refused_leaves_the_hop_repeated_and_the_log_says_why)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    int declared = PEER(p->declared);
    PEER_SET(refused_name, "q.dlq");
    PEER_SET(refused_code, 403);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(to_deliver, 1);
    AWAIT(logged(p, "q.dlq is missing and cannot be declared") == 1);
    ck_assert_int_ge(logged(p, "403 REFUSED by the test"), 1);
    ck_assert_int_gt(PEER(p->declared), declared);
    const int64_t waits[] = {1000, 2000, 4000, 8000, 16000, 30000};
    for (int i = 0; i < 6; i++) {
        assert_no_hop_for(p, waits[i] - 1);
        pass(p, 1);
        AWAIT(counted(consumer).hops_failed == (uint64_t)(i + 2));
    }
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    ck_assert_int_eq(PEER(p->settled_count), 0); /* nothing requeued: it would cost a delivery */
    ck_assert(ace_consumer_is_subscribed(consumer));
    PEER_SET(refused_name, NULL);
    PEER_SET(hops, CONFIRM_HOPS);
    pass(p, 30000);
    assert_last_settled(p, 1, 'a', 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(what_is_held_goes_back_to_the_broker_before_its_limit)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    options.acknowledgement_limit = 6 * MINUTE;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, NACK_HOPS);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).hops_failed == 1);
    for (int64_t passed = 0; passed < 5 * MINUTE - 1000; passed += 1000) {
        pass(p, 1000);
    }
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0);
    pass(p, 1000);
    assert_last_settled(p, 1, 'n', 1);
    AWAIT(counted(consumer).rejected == 1);
    ck_assert_uint_eq(counted(consumer).dead_lettered, 0);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_hop_under_way_when_the_publishing_connection_is_lost_is_repeated_when_it_is_back)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, HANG_UP_ON_HOPS);
    PEER_SET(to_deliver, 3);
    AWAIT(atomic_load(&record.calls) == 3);
    AWAIT(counted(consumer).hops_failed > 0);
    settle_down();
    ck_assert(ace_consumer_is_subscribed(consumer)); /* only the other connection is away */
    ck_assert_int_eq(PEER(p->settled_count), 0);
    AWAIT(counted(consumer).in_flight == 3);
    PEER_SET(hops, CONFIRM_HOPS);
    for (int i = 0; i < 100 && counted(consumer).dead_lettered < 3; i++) {
        pass(p, 1000);
        nap(10);
    }
    AWAIT(counted(consumer).dead_lettered == 3);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_int_eq(atomic_load(&record.calls), 3); /* the hop is repeated, never the handler */
    pass(p, ACE_ACKS_DELAY);
    AWAIT(PEER(p->settled_count) > 0);
    ck_assert_int_eq(PEER(p->consumed), 1);
    for (int i = 0; i < PEER(p->settled_count); i++) {
        ck_assert_int_eq(PEER(p->settled[i].how), 'a');
    }
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_hop_without_a_confirm_counts_as_failed_after_thirty_seconds)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, IGNORE_HOPS);
    PEER_SET(to_deliver, 1);
    (void)hop_at(p, 0);
    settle_down();
    pass(p, 29999);
    ck_assert_uint_eq(counted(consumer).hops_failed, 0);
    PEER_SET(hops, CONFIRM_HOPS);
    pass(p, 1);
    AWAIT(counted(consumer).hops_failed == 1);
    ck_assert_int_eq(PEER(p->settled_count), 0);
    for (int i = 0; i < 40 && PEER(p->settled_count) == 0; i++) {
        pass(p, 1000); /* its channel may have to come back first */
        settle_down();
    }
    assert_last_settled(p, 1, 'a', 1);
    ck_assert_int_eq(PEER(p->hop_count), 2);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_missing_rung_that_may_not_be_declared_is_waited_out_here_with_the_attempt_advanced)
{
    /* Without its exchange or its binding a rung would lose what it takes. */
    const char *const refused[] = {"q.retry.40m", "acemq.retry", "a binding"};
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 40 * MINUTE);
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(refused_name, refused[_i]);
    PEER_SET(refused_code, 406);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    ck_assert_str_eq(hop_at(p, 0).key, "q.retry.40m");
    AWAIT(counted(consumer).rungs_missing == 1);
    ck_assert_uint_eq(counted(consumer).hops_failed, 0);
    PEER_SET(hops, CONFIRM_HOPS);
    assert_no_hop_for(p, 25 * MINUTE - 1);
    pass(p, 1);
    published back = hop_at(p, 1);
    ck_assert_str_eq(back.key, "q");
    ck_assert_int_eq(back.attempt, 2);
    assert_last_settled(p, 1, 'a', 1);
    AWAIT(counted(consumer).retried == 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_refusal_of_something_else_does_not_keep_the_rung_from_being_declared)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, MINUTE);
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    ace_consumer *consumer = peer_consume(p, &options);
    int declared = PEER(p->declared);
    PEER_SET(refused_name, "acemq.dlx"); /* the first of all */
    PEER_SET(refused_code, 403);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).rungs_missing == 2); /* the second try was at once */
    ck_assert_int_eq(PEER(p->declared), 2 * declared);
    ck_assert_uint_eq(counted(consumer).waiting, 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_rung_that_is_back_after_the_declaration_gets_the_hop_at_once)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, MINUTE);
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(refused_name, "nothing");
    int declared = PEER(p->declared);
    PEER_SET(to_deliver, 1);
    /* Returned, declared, returned again: only then it backs off. */
    AWAIT(counted(consumer).rungs_missing == 2);
    ck_assert_int_eq(PEER(p->declared), 2 * declared);
    PEER_SET(hops, CONFIRM_HOPS);
    assert_no_hop_for(p, 1999);
    pass(p, 1);
    ck_assert_str_eq(hop_at(p, 2).key, "q.retry.1m");
    assert_last_settled(p, 1, 'a', 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_hop_to_the_own_queue_that_is_returned_is_not_repeated)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 100);
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    options.acknowledgement_limit = 6 * MINUTE;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(to_deliver, 2);
    AWAIT(counted(consumer).waiting == 2);
    pass(p, 100);
    AWAIT(counted(consumer).hops_failed == 2);
    AWAIT(logged(p, "its queue is gone") == 2);
    assert_no_hop_for(p, MINUTE);
    ck_assert_int_eq(PEER(p->settled_count), 0);
    /* The broker says so, and the queue is there again: so is the message. */
    PEER_SET(hops, CONFIRM_HOPS);
    PEER_SET(command, DO_CANCEL);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_str_eq(hop_at(p, 3).key, "q");
    ck_assert_int_eq(hop_at(p, 3).attempt, 2);
    AWAIT(counted(consumer).retried == 2);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_wait_here_takes_no_handler_and_ends_when_it_should)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(3, 20000);
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 30);
    AWAIT(counted(consumer).waiting == 30); /* all handled by the one thread there is */
    ck_assert_int_eq(atomic_load(&record.calls), 30);
    ck_assert_int_eq(atomic_load(&record.most_running), 1);
    assert_no_hop_for(p, 19999);
    pass(p, 1);
    AWAIT(PEER(p->hop_count) == 30);
    ck_assert_int_eq(hop_at(p, 29).attempt, 2);
    ck_assert_str_eq(hop_at(p, 29).error, "");
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_uint_eq(counted(consumer).waiting, 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_wait_longer_than_the_broker_allows_is_warned_of_and_cut)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 60 * MINUTE);
    policy.threshold = 0;
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, &policy);
    ace_consumer *consumer = peer_consume(p, &options);
    ck_assert_int_eq(logged(p, "a wait of 1h is held here"), 1);
    ck_assert_int_eq(logged(p, "for 30m"), 1);
    ck_assert_int_eq(logged(p, "a threshold of 30m"), 1);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    assert_no_hop_for(p, 25 * MINUTE - 1);
    pass(p, 1);
    ck_assert_int_eq(hop_at(p, 0).attempt, 2);
    assert_last_settled(p, 1, 'a', 1);
    ace_consumer_release(consumer);
    options.acknowledgement_limit = 2 * 60 * MINUTE;
    ace_consumer_release(peer_consume(p, &options));
    ck_assert_int_eq(logged(p, "is held here"), 1);
    peer_end(p);
}
END_TEST

START_TEST(requeueing_backs_off_from_one_second_until_something_is_accepted)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 3};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    options.requeue_on_failure = true;
    ace_consumer *consumer = peer_consume(p, &options);
    const int64_t waits[] = {1000, 2000, 4000};
    for (int i = 0; i < 3; i++) {
        PEER_SET(to_deliver, 1);
        AWAIT(counted(consumer).waiting == 1);
        pass(p, waits[i] - 1);
        settle_down();
        ck_assert_int_eq(PEER(p->settled_count), i);
        pass(p, 1);
        assert_last_settled(p, i + 1, 'n', (uint64_t)(i + 1));
    }
    AWAIT(counted(consumer).rejected == 3);
    ck_assert_uint_eq(counted(consumer).retried, 0);
    PEER_SET(to_deliver, 1);
    assert_last_settled(p, 4, 'a', 4);
    ck_assert_int_eq(PEER(p->hop_count), 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("consumer_hops");
    TCase *tcase = tcase_create("hops");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(
        tcase,
        a_failed_hop_is_repeated_after_one_second_doubling_to_thirty_and_a_success_resets_that);
    tcase_add_test(tcase, many_failing_hops_share_one_back_off_and_leave_together);
    tcase_add_test(tcase, a_failing_hop_does_not_keep_others_from_settling);
    tcase_add_test(tcase,
                   a_declaration_that_is_refused_leaves_the_hop_repeated_and_the_log_says_why);
    tcase_add_test(tcase, what_is_held_goes_back_to_the_broker_before_its_limit);
    tcase_add_test(
        tcase, a_hop_under_way_when_the_publishing_connection_is_lost_is_repeated_when_it_is_back);
    tcase_add_test(tcase, a_hop_without_a_confirm_counts_as_failed_after_thirty_seconds);
    tcase_add_loop_test(
        tcase, a_missing_rung_that_may_not_be_declared_is_waited_out_here_with_the_attempt_advanced,
        0, 3);
    tcase_add_test(tcase, a_refusal_of_something_else_does_not_keep_the_rung_from_being_declared);
    tcase_add_test(tcase, a_rung_that_is_back_after_the_declaration_gets_the_hop_at_once);
    tcase_add_test(tcase, a_hop_to_the_own_queue_that_is_returned_is_not_repeated);
    tcase_add_test(tcase, a_wait_here_takes_no_handler_and_ends_when_it_should);
    tcase_add_test(tcase, a_wait_longer_than_the_broker_allows_is_warned_of_and_cut);
    tcase_add_test(tcase, requeueing_backs_off_from_one_second_until_something_is_accepted);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
