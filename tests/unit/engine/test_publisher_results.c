#include "publisher_fixture.h"

static void script_ack_one(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_check(side, ace_bytes_equal_text(content->body, "body"), "another body");
    peer_check(side, content->properties->delivery_mode == 2, "not persistent");
    ace_content_free(content);
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_publish_is_confirmed)
{
    publishing p;
    begin(&p, script_ack_one, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.confirmed, 1);
    ck_assert_uint_eq(counts.outstanding, 0);
    end(&p);
}
END_TEST

#define BATCH 10

static void script_batch(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < BATCH; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    }
    peer_ack(side, APPLICATION, 99, false); /* nobody's */
    peer_ack(side, APPLICATION, 3, true);
    peer_nack(side, APPLICATION, 5, false);
    peer_ack(side, APPLICATION, 4, false);
    peer_ack(side, APPLICATION, 4, false); /* a second time */
    peer_ack(side, APPLICATION, 10, true);
    peer_wait_stop(side);
}

START_TEST(acks_and_nacks_single_and_multiple_find_their_publishes)
{
    publishing p;
    ace_publish publishes[BATCH];
    ace_publish *list[BATCH];
    ace_error *error = NULL;
    begin(&p, script_batch, NULL);
    connect_publisher(&p);
    for (int i = 0; i < BATCH; i++) {
        encode(&p, &publishes[i], "orders", "id", "body");
        list[i] = &publishes[i];
    }
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, BATCH, NULL, &error),
        ACE_NACKED);
    ck_assert_int_eq(ace_error_code(error), ACE_NACKED);
    ace_error_free(error);
    for (int i = 0; i < BATCH; i++) {
        ck_assert_int_eq(publishes[i].code, i == 4 ? ACE_NACKED : ACE_OK);
        ace_publish_clear(&publishes[i]);
    }
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.unknown_tags, 2);
    ck_assert_uint_eq(counts.nacked, 1);
    end(&p);
}
END_TEST

#define ROUNDS 300

static void script_ack_at_once(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 1; i <= ROUNDS; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
        peer_ack(side, APPLICATION, (uint64_t)i, false);
    }
    peer_expect_end(side);
}

/* Whoever submits is sometimes still inside when the confirm is there: another thread is at work.
 */
START_TEST(a_confirm_that_comes_before_the_publish_returned_is_not_lost)
{
    publishing p;
    ace_publish publish;
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_ack_at_once, NULL);
    connect_publisher(&p);
    for (int i = 1; i <= ROUNDS; i++) {
        encode(&p, &publish, "orders", "id", "body");
        publish.done = done_count;
        publish.user = &ended;
        ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                         ACE_OK);
        await_count(&ended, i);
        ck_assert_int_eq(publish.code, ACE_OK);
        ace_publish_clear(&publish);
    }
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.confirmed, ROUNDS);
    ck_assert_uint_eq(counts.unknown_tags, 0);
    end(&p);
}
END_TEST

#define MANY 200

/* Returns each seventh, in order and before its confirm, as RabbitMQ does; confirms come late and
 * in one. */
static void script_return_sevenths(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < MANY; i++) {
        ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
        if (i % 7 == 0) {
            peer_return(side, content, 312, "NO_ROUTE");
        }
        ace_content_free(content);
    }
    peer_ack(side, APPLICATION, MANY, true);
    peer_wait_stop(side);
}

START_TEST(of_a_batch_exactly_those_returned_are_unroutable)
{
    publishing p;
    ace_publish publishes[MANY];
    ace_publish *list[MANY];
    begin(&p, script_return_sevenths, NULL);
    connect_publisher(&p);
    for (int i = 0; i < MANY; i++) {
        encode(&p, &publishes[i], i % 7 == 0 ? "missing" : "orders", "the same id", "body");
        list[i] = &publishes[i];
    }
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, MANY, NULL, NULL),
        ACE_UNROUTABLE);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(publishes[i].code, i % 7 == 0 ? ACE_UNROUTABLE : ACE_OK);
        if (i % 7 == 0) {
            ck_assert_int_eq(ace_error_reply(publishes[i].error), 312);
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "NO_ROUTE"));
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "'missing'"));
        }
        ace_publish_clear(&publishes[i]);
    }
    end(&p);
}
END_TEST

static void script_return_second(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content *first = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    ace_content *second = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_return(side, second, 312, "NO_ROUTE");
    peer_ack(side, APPLICATION, 2, true);
    ace_content_free(first);
    ace_content_free(second);
    peer_wait_stop(side);
}

START_TEST(of_two_with_the_same_id_the_right_one_is_unroutable)
{
    publishing p;
    ace_publish publishes[2];
    ace_publish *list[2] = {&publishes[0], &publishes[1]};
    begin(&p, script_return_second, NULL);
    connect_publisher(&p);
    encode(&p, &publishes[0], "orders", "twin", "body");
    encode(&p, &publishes[1], "missing", "twin", "body");
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, 2, NULL, NULL),
        ACE_UNROUTABLE);
    ck_assert_int_eq(publishes[0].code, ACE_OK);
    ck_assert_int_eq(publishes[1].code, ACE_UNROUTABLE);
    ace_publish_clear(&publishes[0]);
    ace_publish_clear(&publishes[1]);
    end(&p);
}
END_TEST

static void script_never_confirm(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_delay(side, 300);
    peer_ack(side, APPLICATION, 1, false); /* too late, and for nobody */
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_ack(side, APPLICATION, 2, false);
    peer_wait_stop(side);
}

START_TEST(a_confirm_that_comes_too_late_is_unknown_and_harms_nobody)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_never_confirm, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 100, &error), ACE_UNKNOWN_OUTCOME);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "may or may not"));
    ace_error_free(error);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_lose(peer_side *side, int index, void *user)
{
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    if (index == 0) {
        peer_hang_up(side);
        return;
    }
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_lost_connection_makes_what_was_sent_unknown_and_numbers_start_again)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_lose, NULL);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "orders", 3000, &error), ACE_UNKNOWN_OUTCOME);
    ace_error_free(error);
    /* Submitted while the link is down: it waits for the link. */
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_away(peer_side *side, int index, void *user)
{
    (void)user;
    if (index > 0) {
        peer_wait_stop(side); /* never finishes a login again */
    }
    start(side);
    peer_hang_up(side);
}

START_TEST(what_could_not_be_sent_in_time_is_refused_and_says_why)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_away, NULL);
    connect_publisher(&p);
    fixture_await_state(&p.f, ACE_LINK_CONNECTING, 1);
    ck_assert_int_eq(send_one(&p, "orders", 100, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nothing was sent: not connected"));
    ace_error_free(error);
    end(&p);
}
END_TEST

static void script_block(peer_side *side, int index, void *user)
{
    (void)index;
    atomic_int *step = user;
    start(side);
    expect_publish(side, APPLICATION, "first");
    amqp_connection_blocked_t blocked = {.reason = peer_text("low on disk")};
    peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    peer_ack(side, APPLICATION, 1, false);
    while (atomic_load(step) == 0) {
        peer_expect_silence(side, 20);
    }
    amqp_connection_unblocked_t unblocked = {0};
    peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    expect_publish(side, APPLICATION, "third");
    peer_ack(side, APPLICATION, 2, false);
    peer_wait_stop(side);
}

START_TEST(a_blocked_broker_refuses_at_the_deadline_and_what_waits_goes_on_when_it_is_free)
{
    publishing p;
    ace_error *error = NULL;
    atomic_int step;
    atomic_int ended;
    ace_publish third;
    atomic_init(&step, 0);
    atomic_init(&ended, 0);
    begin(&p, script_block, &step);
    connect_publisher(&p);
    ck_assert_int_eq(send_one(&p, "first", 3000, NULL), ACE_OK);
    ck_assert_int_eq(send_one(&p, "second", 100, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "blocked: low on disk"));
    ace_error_free(error);
    encode(&p, &third, "third", "id", "body");
    third.done = done_count;
    third.user = &ended;
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &third, NULL),
                     ACE_OK);
    atomic_store(&step, 1);
    await_count(&ended, 1);
    ck_assert_int_eq(third.code, ACE_OK);
    ace_publish_clear(&third);
    end(&p);
}
END_TEST

static void script_missing_exchange(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (int i = 0; i < 3; i++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    }
    peer_ack(side, APPLICATION, 1, false);
    peer_close_channel(side, APPLICATION, 404, "NOT_FOUND - no exchange 'nowhere' in vhost '/'",
                       AMQP_BASIC_PUBLISH_METHOD);
    /* Close-ok comes before the number is used again. */
    (void)peer_expect(side, APPLICATION, AMQP_CHANNEL_CLOSE_OK_METHOD);
    peer_open_confirm_channel(side, APPLICATION);
    expect_publish(side, APPLICATION, "after");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

static void encode_to(publishing *p, ace_publish *publish, const char *exchange, const char *key)
{
    amqp_basic_properties_t properties = {._flags = 0};
    *publish = (ace_publish){0};
    ck_assert_int_eq(ace_publish_encode(publish, exchange, key, true, &properties,
                                        ace_bytes_of("body"), ace_link_frame_max(p->f.link), 1000,
                                        NULL),
                     ACE_OK);
    publish->deadline = ace_publisher_deadline(p->publisher, 3000);
}

START_TEST(a_missing_exchange_fails_its_publish_and_the_channel_is_replaced)
{
    publishing p;
    ace_publish publishes[3];
    ace_publish *list[3] = {&publishes[0], &publishes[1], &publishes[2]};
    begin(&p, script_missing_exchange, NULL);
    connect_publisher(&p);
    encode_to(&p, &publishes[0], "", "orders");
    encode_to(&p, &publishes[1], "nowhere", "orders");
    encode_to(&p, &publishes[2], "", "orders");
    ck_assert_int_eq(
        ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, 3, NULL, NULL),
        ACE_NOT_FOUND);
    ck_assert_int_eq(publishes[0].code, ACE_OK);
    ck_assert_int_eq(publishes[1].code, ACE_NOT_FOUND);
    ck_assert_int_eq(ace_error_reply(publishes[1].error), 404);
    ck_assert_int_eq(publishes[2].code, ACE_UNKNOWN_OUTCOME);
    for (int i = 0; i < 3; i++) {
        ace_publish_clear(&publishes[i]);
    }
    ck_assert_int_eq(send_one(&p, "after", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher");
    TCase *tcase = tcase_create("results");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_publish_is_confirmed);
    tcase_add_test(tcase, a_confirm_that_comes_before_the_publish_returned_is_not_lost);
    tcase_add_test(tcase, acks_and_nacks_single_and_multiple_find_their_publishes);
    tcase_add_test(tcase, of_a_batch_exactly_those_returned_are_unroutable);
    tcase_add_test(tcase, of_two_with_the_same_id_the_right_one_is_unroutable);
    tcase_add_test(tcase, a_confirm_that_comes_too_late_is_unknown_and_harms_nobody);
    tcase_add_test(tcase, a_lost_connection_makes_what_was_sent_unknown_and_numbers_start_again);
    tcase_add_test(tcase, what_could_not_be_sent_in_time_is_refused_and_says_why);
    tcase_add_test(tcase,
                   a_blocked_broker_refuses_at_the_deadline_and_what_waits_goes_on_when_it_is_free);
    tcase_add_test(tcase, a_missing_exchange_fails_its_publish_and_the_channel_is_replaced);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
