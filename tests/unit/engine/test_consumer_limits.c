/* A broker that delivers more than it may, or larger bodies than are taken. */
#include "unit/engine/consumer_peer.h"

#include "wire/frame.h"

/* The settings are the connection's own copy; nothing has read the limit before the consumer is
 * opened. */
static void set_body_limit(consumer_peer *p, uint64_t limit)
{
    p->connection->settings.body_limit = limit;
}

static uint64_t epoch(consumer_peer *p)
{
    ace_link_description description;
    ace_link_describe(p->connection->consuming, &description);
    ace_error_free(description.error);
    return description.epoch;
}

static bool was_lost(consumer_peer *p, const char *reason)
{
    return logged(p, reason) > 0;
}

START_TEST(more_deliveries_than_the_prefetch_end_the_connection)
{
    const int prefetch = 5;
    for (int count = prefetch - 1; count <= prefetch + 1; count++) {
        consumer_peer peer;
        consumer_peer *p = &peer;
        peer_begin(p);
        ace_consumer_options options = peer_options(NULL, NULL);
        options.prefetch = prefetch;
        ace_consumer *consumer = peer_consume(p, &options);
        PEER_SET(to_deliver, count);
        if (count <= prefetch) {
            AWAIT(counted(consumer).in_flight == (uint64_t)count);
            settle_down();
            ck_assert_uint_eq(epoch(p), 1);
        } else {
            AWAIT(was_lost(p, "delivered 6 messages of queue q that are not settled, the limit it "
                              "was told is 5"));
        }
        ace_consumer_release(consumer);
        peer_end(p);
    }
}
END_TEST

START_TEST(what_was_settled_makes_room_for_more)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 2;
    ace_consumer *consumer = peer_consume(p, &options);
    for (int i = 0; i < 10; i++) {
        PEER_SET(to_deliver, 2);
        for (int j = 0; j < 2; j++) {
            ace_delivery *delivery = peer_pull(consumer);
            MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
            ace_delivery_free(delivery);
        }
        AWAIT(counted(consumer).in_flight == 0);
    }
    ck_assert_uint_eq(epoch(p), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

/* --- bodies --- */

START_TEST(a_body_at_the_limit_is_handled_and_one_over_it_is_left_unread)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    set_body_limit(p, 5);
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(body, "four");
    PEER_SET(to_deliver, 1);
    ace_delivery_free(peer_pull(consumer));
    PEER_SET(body, "five5");
    PEER_SET(to_deliver, 1);
    ace_delivery_free(peer_pull(consumer));
    PEER_SET(body, "sixsix");
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    ck_assert_int_eq(logged(p, "left unread"), 1);
    ck_assert_int_eq(logged(p, "body has 6 bytes, the limit is 5"), 1);
    PEER_SET(body, "next");
    PEER_SET(to_deliver, 1);
    ace_delivery *next = peer_pull(consumer); /* it blocks nothing behind it */
    ck_assert_uint_eq(ace_delivery_body(next).length, 4);
    ace_delivery_free(next);
    ck_assert_uint_eq(epoch(p), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

static bool went_back(consumer_peer *p, uint64_t tag)
{
    bool found = false;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < p->settled_count; i++) {
        found = found || (p->settled[i].how == 'n' && p->settled[i].tag == tag);
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

START_TEST(what_was_left_unread_goes_back_when_it_was_held_long_enough_and_when_the_consumer_closes)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    set_body_limit(p, 3);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.acknowledgement_limit = 60000;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    pass(p, 49000);
    settle_down();
    ck_assert_int_eq(PEER(p->settled_count), 0);
    pass(p, 1000); /* five sixths of what the broker allows */
    AWAIT(went_back(p, 1));
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    AWAIT(went_back(p, 2));
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(what_was_left_unread_counts_as_no_outcome)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    set_body_limit(p, 3);
    ace_metrics *metrics = NULL;
    MUST(ace_metrics_new(100, NULL, NULL, NULL, &metrics, &error));
    MUST(ace_connection_measure(p->connection, metrics, &error));
    ace_consumer_options options = peer_options(NULL, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).waiting == 1);
    MUST(ace_consumer_drain(consumer, soon(), NULL, &error));
    AWAIT(went_back(p, 1));
    ace_buffer text = ACE_BUFFER_INIT;
    MUST(ace_metrics_prometheus(metrics, &text, &error));
    ck_assert(ace_buffer_append(&text, "", 1));
    ck_assert_msg(strstr((char *)text.data, "acemq_consume_total{") == NULL, "%s", text.data);
    ace_buffer_free(&text);
    ace_consumer_release(consumer);
    peer_end(p);
    ace_metrics_release(metrics);
}
END_TEST

START_TEST(a_window_full_of_what_is_left_unread_is_replaced)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    peer_begin(p);
    set_body_limit(p, 4);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 1;
    options.prefetch_bytes = 0;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(body, "large");
    for (int i = 1; i <= 3; i++) {
        PEER_SET(to_deliver, 1);
        AWAIT(counted(consumer).waiting == (uint64_t)i);
        AWAIT(PEER(p->consumed) == i + 1); /* cancelled and subscribed again */
        ck_assert_uint_eq(PEER(p->prefetch), 1);
        AWAIT(ace_consumer_is_subscribed(consumer));
    }
    PEER_SET(body, "good");
    PEER_SET(to_deliver, 1);
    ace_delivery_free(peer_pull(consumer));
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(bodies_beyond_twice_the_byte_limit_go_back_unread)
{
    static char large[3001];
    consumer_peer peer;
    consumer_peer *p = &peer;
    memset(large, 'l', sizeof large - 1);
    peer_begin(p);
    set_body_limit(p, 3000);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 40;
    options.prefetch_bytes = 6000; /* so 15,000 at most, whatever the broker sends */
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(body, large);
    PEER_SET(to_deliver, 20);
    AWAIT(went_back(p, 20)); /* the cancel does not bother it */
    ck_assert_uint_le(counted(consumer).in_flight, 5);
    ck_assert_uint_ge(counted(consumer).in_flight, 3);
    ck_assert_uint_eq(epoch(p), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("consumer_limits");
    TCase *tcase = tcase_create("limits");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, more_deliveries_than_the_prefetch_end_the_connection);
    tcase_add_test(tcase, what_was_settled_makes_room_for_more);
    tcase_add_test(tcase, a_body_at_the_limit_is_handled_and_one_over_it_is_left_unread);
    tcase_add_test(
        tcase,
        what_was_left_unread_goes_back_when_it_was_held_long_enough_and_when_the_consumer_closes);
    tcase_add_test(tcase, what_was_left_unread_counts_as_no_outcome);
    tcase_add_test(tcase, a_window_full_of_what_is_left_unread_is_replaced);
    tcase_add_test(tcase, bodies_beyond_twice_the_byte_limit_go_back_unread);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
