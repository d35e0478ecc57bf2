/* Which acknowledgements go out, and which never do. */
#include "engine/consumer_subscription.h"
#include "engine/settle.h"
#include "unit/engine/consumer_peer.h"

static void take(ace_consumer *consumer, ace_delivery **deliveries, int count)
{
    for (int i = 0; i < count; i++) {
        deliveries[i] = peer_pull(consumer);
    }
}

static void accept_one(ace_delivery *delivery)
{
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
}

static void assert_settled(consumer_peer *p, int index, char how, uint64_t tag, bool multiple)
{
    AWAIT(PEER(p->settled_count) > index);
    settled_tag seen = PEER(p->settled[index]);
    ck_assert_int_eq(seen.how, how);
    ck_assert_uint_eq(seen.tag, tag);
    ck_assert_int_eq(seen.multiple, multiple);
}

START_TEST(acks_are_joined_where_nothing_below_is_unsettled_and_single_elsewhere)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[7];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    ck_assert_uint_eq(PEER(p->prefetch), 50);
    PEER_SET(to_deliver, 7);
    take(consumer, d, 7);
    accept_one(d[0]);
    accept_one(d[2]);
    accept_one(d[1]);
    AWAIT(counted(consumer).acknowledged == 3);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0); /* held back while others are in hand */
    pass(p, ACE_ACKS_DELAY);
    assert_settled(p, 0, 'a', 3, true);
    accept_one(d[4]); /* over one that is not settled */
    AWAIT(counted(consumer).acknowledged == 4);
    pass(p, ACE_ACKS_DELAY);
    assert_settled(p, 1, 'a', 5, false);
    MUST(ace_delivery_put_back(d[3], &error));
    ace_delivery_free(d[3]);
    assert_settled(p, 2, 'n', 4, false);
    pass(p, ACE_ACKS_DELAY);
    accept_one(d[5]);
    accept_one(d[6]); /* the last in hand, a while after the others: at once */
    AWAIT(counted(consumer).acknowledged == 6);
    assert_settled(p, 3, 'a', 7, true);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 4);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(the_last_in_hand_waits_where_others_were_there_a_moment_ago)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[2];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 2);
    take(consumer, d, 2);
    pass(p, ACE_ACKS_DELAY);
    accept_one(d[0]);
    AWAIT(counted(consumer).acknowledged == 1);
    pass(p, ACE_ACKS_DELAY);
    assert_settled(p, 0, 'a', 1, false);
    accept_one(d[1]);
    AWAIT(counted(consumer).acknowledged == 2);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 1);
    pass(p, ACE_ACKS_DELAY);
    assert_settled(p, 1, 'a', 2, false);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(acks_of_a_quarter_of_the_window_wait_no_longer)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[4];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 8;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 4);
    take(consumer, d, 4);
    accept_one(d[0]);
    AWAIT(counted(consumer).acknowledged == 1);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0);
    accept_one(d[1]);
    assert_settled(p, 0, 'a', 2, true);
    ace_delivery_free(d[2]);
    ace_delivery_free(d[3]);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(no_tag_is_acknowledged_twice_where_as_many_are_pending_as_there_is_room_for)
{
    enum { ALL = ACE_ACKS_MOST + 2 };
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[ALL];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 8 * ACE_ACKS_MOST;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, ALL);
    take(consumer, d, ALL);
    for (int i = 1; i <= ACE_ACKS_MOST; i++) {
        accept_one(d[i]);
    }
    accept_one(d[0]); /* below all that are pending */
    AWAIT(counted(consumer).acknowledged == ALL - 1);
    settle_down();
    pass(p, ACE_ACKS_DELAY);
    AWAIT(PEER(p->settled_count) == ALL - 1);
    bool seen[ALL + 1] = {false};
    for (int i = 0; i < ALL - 1; i++) {
        settled_tag one = PEER(p->settled[i]);
        ck_assert_int_eq(one.how, 'a');
        ck_assert(!one.multiple);
        ck_assert_uint_le(one.tag, ALL);
        ck_assert_msg(!seen[one.tag], "tag %d went out twice", (int)one.tag);
        seen[one.tag] = true;
    }
    ace_delivery_free(d[ALL - 1]);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(closing_flushes_what_was_held_back)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[2];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 2);
    take(consumer, d, 2);
    accept_one(d[0]);
    AWAIT(counted(consumer).acknowledged == 1);
    MUST(ace_consumer_close(consumer, &error));
    assert_settled(p, 0, 'a', 1, false);
    accept_one(d[1]); /* after the close, as long as the connection is open */
    assert_settled(p, 1, 'a', 2, false);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_settle_from_before_a_reconnect_is_dropped_here)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *late[2];
    ace_delivery *fresh[1];
    ace_error *error = NULL;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 3);
    take(consumer, late, 2); /* and one that nobody has taken yet */
    PEER_SET(command, DO_HANG_UP);
    AWAIT(!ace_consumer_is_subscribed(consumer));
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_int_eq(ace_delivery_settle(late[0], ACE_ACCEPTED, NULL, &error), ACE_STALE);
    ace_error_free(error);
    pass(p, 60000);
    AWAIT(ace_consumer_is_subscribed(consumer));
    ck_assert_int_eq(PEER(p->consumed), 2);
    ck_assert_int_eq(PEER(p->sources), 2); /* its set is declared again too */
    ck_assert_int_eq(ace_delivery_settle(late[1], ACE_FAILED, NULL, NULL), ACE_STALE);
    ck_assert_int_eq(ace_delivery_settle(late[1], ACE_ACCEPTED, NULL, NULL), ACE_SETTLED);
    PEER_SET(to_deliver, 1);
    take(consumer, fresh, 1);
    accept_one(fresh[0]);
    assert_settled(p, 0, 'a', 1, false);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 1);
    ck_assert_int_eq(PEER(p->hop_count), 0);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_uint_eq(counted(consumer).rejected, 0);
    ace_delivery_free(late[0]);
    ace_delivery_free(late[1]);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(an_ack_held_back_when_the_channel_is_lost_does_not_go_out_on_the_next)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[2];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 2);
    take(consumer, d, 2);
    accept_one(d[0]);
    AWAIT(counted(consumer).acknowledged == 1);
    PEER_SET(command, DO_HANG_UP);
    AWAIT(counted(consumer).in_flight == 0);
    ace_delivery_free(d[1]);
    pass(p, 500);
    AWAIT(ace_consumer_is_subscribed(consumer));
    PEER_SET(to_deliver, 2);
    take(consumer, d, 2);
    pass(p, 1000);
    accept_one(d[1]);
    AWAIT(counted(consumer).acknowledged == 2);
    pass(p, ACE_ACKS_DELAY);
    assert_settled(p, 0, 'a', 2, false);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 1); /* the same tag is another message now */
    ace_delivery_free(d[0]);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

static void shut_before_all_acks_left(void *user)
{
    ace_consumer *consumer = user;
    ace_settle_flush(consumer);
    consumer->acks.tags[0] = 1;
    consumer->acks.count = 1;
    ace_consumer_timer(consumer, &consumer->acks.timer, ACE_ACKS_DELAY);
    ace_subscription_shut(consumer);
    ace_subscription_open(consumer);
}

START_TEST(an_ack_that_no_memory_was_left_for_does_not_go_out_on_the_next_channel)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    ck_assert(ace_loop_call(consumer->loop, shut_before_all_acks_left, consumer));
    AWAIT(ace_consumer_is_subscribed(consumer));
    pass(p, ACE_ACKS_DELAY);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_handler_that_outlives_its_connection_settles_nothing)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED, .held = true};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 1);
    AWAIT(atomic_load(&record.running) == 1);
    ace_consumer_release(consumer);
    peer_end(p);
    ck_assert_int_eq(p->settled_count, 0);
    ck_assert_int_eq(atomic_load(&record.destroyed), 0);
    atomic_store(&record.held, false);
    AWAIT(atomic_load(&record.destroyed) == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
}
END_TEST

START_TEST(a_channel_the_broker_closes_is_reported_once_and_opened_again)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[1];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 1);
    take(consumer, d, 1);
    PEER_SET(command, DO_CLOSE_CHANNEL);
    AWAIT(!ace_consumer_is_subscribed(consumer));
    AWAIT(logged(p, "not subscribed") == 1);
    ck_assert_int_eq(logged(p, "timed out"), 1);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_SUBSCRIBED);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_AWAY);
    ck_assert_int_eq(ace_delivery_settle(d[0], ACE_ACCEPTED, NULL, NULL), ACE_STALE);
    ace_delivery_free(d[0]);
    pass(p, 999);
    settle_down();
    ck_assert_int_eq(PEER(p->consumed), 1);
    pass(p, 1);
    AWAIT(ace_consumer_is_subscribed(consumer));
    PEER_SET(to_deliver, 1);
    take(consumer, d, 1);
    accept_one(d[0]);
    assert_settled(p, 0, 'a', 1, false);
    ck_assert_int_eq(logged(p, "not subscribed"), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_cancelled_subscription_is_made_again_and_a_missing_source_asked_for_ever_more_rarely)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    int declared = PEER(p->declared);
    PEER_SET(command, DO_CANCEL);
    AWAIT(PEER(p->consumed) == 2); /* at once: the queue may be there, on another node */
    ck_assert_int_eq(PEER(p->declared), 2 * declared);
    AWAIT(ace_consumer_is_subscribed(consumer));
    PEER_SET(source_missing, true);
    PEER_SET(command, DO_CANCEL);
    AWAIT(PEER(p->sources) == 3);
    AWAIT(logged(p, "not subscribed") == 1);
    const int64_t waits[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (int i = 0; i < 7; i++) {
        pass(p, waits[i] - 1);
        settle_down();
        ck_assert_int_eq(PEER(p->sources), 3 + i);
        pass(p, 1);
        AWAIT(PEER(p->sources) == 4 + i);
        AWAIT(logged(p, "not subscribed") == 2 + i);
    }
    PEER_SET(source_missing, false);
    pass(p, 30000);
    AWAIT(ace_consumer_is_subscribed(consumer));
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_hop_under_way_when_the_channel_is_lost_acknowledges_nothing_on_the_next)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[1];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, IGNORE_HOPS);
    PEER_SET(to_deliver, 1);
    take(consumer, d, 1);
    MUST(ace_delivery_settle(d[0], ACE_PARKED, NULL, &error));
    ace_delivery_free(d[0]);
    AWAIT(PEER(p->hop_count) == 1);
    PEER_SET(command, DO_HANG_UP);
    AWAIT(counted(consumer).in_flight == 0);
    pass(p, 500);
    AWAIT(ace_consumer_is_subscribed(consumer));
    PEER_SET(to_deliver, 1); /* the same tag on the new channel */
    take(consumer, d, 1);
    pass(p, 30000); /* no confirm came */
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0);
    ck_assert_int_eq(PEER(p->hop_count), 1); /* and it is the broker's again to deliver */
    ck_assert_uint_eq(counted(consumer).hops_failed, 0);
    ck_assert_uint_eq(counted(consumer).parked, 0);
    AWAIT(counted(consumer).in_flight == 1);
    accept_one(d[0]);
    assert_settled(p, 0, 'a', 1, false);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(a_consumer_whose_connection_is_gone_for_good_ends_and_says_why)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED};
    ace_delivery *delivery = NULL;
    ace_error *error = NULL;
    peer_begin_with(p, false);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *pulls = peer_consume(p, &options);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_SUBSCRIBED);
    options = peer_options(&record, NULL);
    ace_consumer *pushes = peer_consume(p, &options);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_SUBSCRIBED);
    PEER_SET(command, DO_HANG_UP);
    ck_assert_int_eq(ace_consumer_next(pulls, soon(), NULL, &delivery, &error),
                     ACE_CONNECTION_LOST);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "127.0.0.1"));
    ace_error_free(error);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_ENDED);
    assert_event(p, ACE_EVENT_CONSUMER, ACE_CONSUMER_ENDED);
    ck_assert_int_eq(logged(p, "again in"), 0);
    ck_assert_int_eq(atomic_load(&record.destroyed), 0); /* the loop calls nobody */
    ck_assert_int_eq(ace_consumer_close(pushes, NULL), ACE_OK);
    ck_assert_int_eq(atomic_load(&record.destroyed), 1);
    ace_consumer_release(pushes);
    ace_consumer_release(pulls);
    peer_end(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("consumer_acks");
    TCase *tcase = tcase_create("acks");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, acks_are_joined_where_nothing_below_is_unsettled_and_single_elsewhere);
    tcase_add_test(tcase, the_last_in_hand_waits_where_others_were_there_a_moment_ago);
    tcase_add_test(tcase, acks_of_a_quarter_of_the_window_wait_no_longer);
    tcase_add_test(tcase,
                   no_tag_is_acknowledged_twice_where_as_many_are_pending_as_there_is_room_for);
    tcase_add_test(tcase, closing_flushes_what_was_held_back);
    tcase_add_test(tcase, a_settle_from_before_a_reconnect_is_dropped_here);
    tcase_add_test(tcase, an_ack_held_back_when_the_channel_is_lost_does_not_go_out_on_the_next);
    tcase_add_test(tcase, an_ack_that_no_memory_was_left_for_does_not_go_out_on_the_next_channel);
    tcase_add_test(tcase, a_handler_that_outlives_its_connection_settles_nothing);
    tcase_add_test(tcase, a_channel_the_broker_closes_is_reported_once_and_opened_again);
    tcase_add_test(
        tcase,
        a_cancelled_subscription_is_made_again_and_a_missing_source_asked_for_ever_more_rarely);
    tcase_add_test(tcase,
                   a_hop_under_way_when_the_channel_is_lost_acknowledges_nothing_on_the_next);
    tcase_add_test(tcase, a_consumer_whose_connection_is_gone_for_good_ends_and_says_why);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
