/* How a consumer opens, and how its window follows the bytes it holds. */
#include "unit/engine/consumer_peer.h"

#define MINUTE INT64_C(60000)

START_TEST(a_refused_declaration_is_named_with_the_brokers_code)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    const struct {
        const char *name;
        int reply;
        ace_code code;
        const char *text;
    } cases[] = {
        {"q.parked", 403, ACE_ACCESS_REFUSED, "declaring queue q.parked"},
        {"acemq.dlx", 406, ACE_DIFFERS, "declaring exchange acemq.dlx"},
        {"q.retry.1m", 405, ACE_LOCKED, "declaring queue q.retry.1m"},
        {"q", 405, ACE_LOCKED, "queue q"},
    };
    ace_policy policy = ace_policy_fixed(2, MINUTE);
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, &policy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PEER_SET(refused_name, cases[i].name);
        PEER_SET(refused_code, cases[i].reply);
        ace_consumer *consumer = NULL;
        ace_error *error = NULL;
        ck_assert_int_eq(
            ace_consumer_open(p->connection, &options, soon(), NULL, &consumer, &error),
            cases[i].code);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), cases[i].text));
        ck_assert_int_eq(ace_error_reply(error), cases[i].reply);
        ace_error_free(error);
    }
    ck_assert_int_eq(PEER(p->consumed), 0);
    PEER_SET(refused_name, NULL);
    ace_consumer_release(peer_consume(p, &options));
    peer_end(p);
}
END_TEST

START_TEST(opening_ends_by_its_deadline_and_by_its_cancel_token)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_consumer *consumer = NULL;
    ace_error *error = NULL;
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    PEER_SET(command, DO_HANG_UP); /* and the clock stands still: it does not come back */
    AWAIT(!ace_link_is_open(p->connection->consuming));
    ck_assert_int_eq(
        ace_consumer_open(p->connection, &options, ace_deadline_after(50), NULL, &consumer, &error),
        ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "q"));
    ace_error_free(error);
    ace_cancel *cancel = ace_cancel_new(NULL);
    ace_cancel_fire(cancel);
    ck_assert_int_eq(ace_consumer_open(p->connection, &options, soon(), cancel, &consumer, NULL),
                     ACE_CANCELLED);
    ace_cancel_release(cancel);
    pass(p, 60000);
    consumer = peer_consume(p, &options);
    ck_assert_int_eq(PEER(p->consumed), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(too_many_bytes_cancel_and_subscribe_again_with_a_window_that_fits)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    ace_delivery *d[4];
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 10;
    options.prefetch_bytes = 1; /* anything is too much */
    ace_consumer *consumer = peer_consume(p, &options);
    ck_assert_uint_eq(PEER(p->prefetch), 10);
    PEER_SET(to_deliver, 3);
    AWAIT(PEER(p->cancelled) == 1);
    for (int i = 0; i < 3; i++) {
        d[i] = peer_pull(consumer);
        settle_down();
        ck_assert_int_eq(PEER(p->consumed), 1);
        MUST(ace_delivery_settle(d[i], ACE_ACCEPTED, NULL, &error));
        ace_delivery_free(d[i]);
    }
    AWAIT(PEER(p->consumed) == 2);
    ck_assert_uint_eq(PEER(p->prefetch), 1);
    PEER_SET(to_deliver, 1);
    d[3] = peer_pull(consumer);
    settle_down();
    ck_assert_int_eq(PEER(p->cancelled), 1); /* one has to be let in */
    ace_delivery_free(d[3]);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

static void take_and_accept(consumer_peer *p, ace_consumer *consumer)
{
    uint64_t before = counted(consumer).acknowledged;
    PEER_SET(to_deliver, 1);
    ace_delivery *delivery = peer_pull(consumer);
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    AWAIT(counted(consumer).acknowledged == before + 1);
}

START_TEST(a_narrow_window_is_widened_once_only_small_messages_come)
{
    static char large[16001];
    consumer_peer peer;
    consumer_peer *p = &peer;
    memset(large, 'l', sizeof large - 1);
    peer_begin(p);
    ace_consumer_options options = peer_options(NULL, NULL);
    options.prefetch = 4;
    options.prefetch_bytes = 20000;
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(body, large);
    PEER_SET(to_deliver, 2);
    AWAIT(PEER(p->cancelled) == 1);
    for (int i = 0; i < 2; i++) {
        ace_delivery_free(peer_pull(consumer));
    }
    AWAIT(PEER(p->consumed) == 2);
    ck_assert_uint_eq(PEER(p->prefetch), 1);
    AWAIT(ace_consumer_is_subscribed(consumer));
    PEER_SET(body, "small");
    for (int i = 0; i < 7; i++) {
        take_and_accept(p, consumer);
    }
    settle_down();
    ck_assert_int_eq(PEER(p->cancelled), 1);
    take_and_accept(p, consumer); /* two full windows of small ones */
    AWAIT(PEER(p->consumed) == 3);
    ck_assert_uint_eq(PEER(p->prefetch), 4);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

/* --- what its log says once --- */

START_TEST(messages_without_any_id_are_told_of_once)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(to_deliver, 2);
    AWAIT(counted(consumer).acknowledged == 2);
    ck_assert_int_eq(logged(p, "idempotency"), 0);
    PEER_SET(nameless, true);
    PEER_SET(to_deliver, 3);
    AWAIT(counted(consumer).acknowledged == 5);
    ck_assert_int_eq(logged(p, "neither x-acemq-id nor message-id"), 1);
    PEER_SET(command, DO_CANCEL);
    AWAIT(PEER(p->consumed) == 2);
    PEER_SET(to_deliver, 1);
    AWAIT(counted(consumer).acknowledged == 6);
    ck_assert_int_eq(logged(p, "neither x-acemq-id nor message-id"), 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

START_TEST(verifying_says_that_bindings_cannot_be_looked_at)
{
    for (int verify = 0; verify < 2; verify++) {
        consumer_peer peer;
        consumer_peer *p = &peer;
        peer_begin(p);
        ace_consumer_options options = peer_options(NULL, NULL);
        options.verify = verify;
        ace_consumer *consumer = peer_consume(p, &options);
        ck_assert_int_eq(logged(p, "bindings"), verify);
        ace_consumer_release(consumer);
        peer_end(p);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("consumer_opening");
    TCase *tcase = tcase_create("opening");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_refused_declaration_is_named_with_the_brokers_code);
    tcase_add_test(tcase, opening_ends_by_its_deadline_and_by_its_cancel_token);
    tcase_add_test(tcase, too_many_bytes_cancel_and_subscribe_again_with_a_window_that_fits);
    tcase_add_test(tcase, a_narrow_window_is_widened_once_only_small_messages_come);
    suite_add_tcase(suite, tcase);
    TCase *lines = tcase_create("log");
    tcase_set_timeout(lines, 60);
    tcase_add_test(lines, messages_without_any_id_are_told_of_once);
    tcase_add_test(lines, verifying_says_that_bindings_cannot_be_looked_at);
    suite_add_tcase(suite, lines);
    return run_suite(suite);
}
