#include "publisher_fixture.h"

static void script_hop_only(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    expect_publish(side, HOPS, "orders.dlq");
    peer_ack(side, HOPS, 1, false);
    expect_publish(side, APPLICATION, "resumed");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_pause_holds_the_application_back_and_no_hop)
{
    publishing p;
    ace_error *error = NULL;
    ace_publish hop;
    begin(&p, script_hop_only, NULL);
    connect_publisher(&p);
    ace_publisher_pause(p.publisher);
    ck_assert(ace_publisher_is_paused(p.publisher));
    ck_assert_int_eq(send_one(&p, "paused", 50, &error), ACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "paused"));
    ace_error_free(error);
    encode(&p, &hop, "orders.dlq", "id", "body");
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_HOP, &hop, NULL, NULL), ACE_OK);
    ace_publish_clear(&hop);
    ace_publisher_resume(p.publisher);
    ck_assert_int_eq(send_one(&p, "resumed", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_window(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    expect_publish(side, APPLICATION, "0");
    expect_publish(side, APPLICATION, "1");
    peer_expect_silence(side, 150); /* the window is two wide */
    peer_ack(side, APPLICATION, 1, false);
    expect_publish(side, APPLICATION, "2");
    peer_expect_silence(side, 50);
    peer_ack(side, APPLICATION, 3, true);
    expect_publish(side, APPLICATION, "3");
    peer_wait_stop(side); /* never confirmed, and 4 waits behind it */
}

START_TEST(more_than_the_outstanding_limit_wait_for_the_window)
{
    publishing p;
    ace_publish publishes[6];
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_window, NULL);
    p.f.settings.outstanding_limit = 2;
    connect_publisher(&p);
    for (int i = 0; i < 4; i++) {
        char key[2] = {(char)('0' + i), '\0'};
        encode(&p, &publishes[i], key, "id", "body");
        publishes[i].done = done_count;
        publishes[i].user = &ended;
        ck_assert_int_eq(
            ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publishes[i], NULL),
            ACE_OK);
    }
    ck_assert_int_eq(ace_publisher_await_room(p.publisher, 1, ace_deadline_after(10), NULL, NULL),
                     ACE_REFUSED);
    await_count(&ended, 3);
    ck_assert_int_eq(ace_publisher_await_room(p.publisher, 1, ace_deadline_after(10), NULL, NULL),
                     ACE_OK);
    ace_publisher_close(p.publisher);
    ck_assert_int_eq(publishes[3].code, ACE_UNKNOWN_OUTCOME);
    for (int i = 0; i < 4; i++) {
        ace_publish_clear(&publishes[i]);
    }
    end(&p);
}
END_TEST

static void script_without_confirms(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
    peer_handshake(side, NULL);
    (void)peer_expect(side, APPLICATION, AMQP_CHANNEL_OPEN_METHOD);
    peer_open_confirm_channel(side, HOPS);
    peer_send(side, APPLICATION, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
    ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
    peer_return(side, content, 312, "NO_ROUTE");
    ace_content_free(content);
    expect_publish(side, HOPS, "hop");
    peer_ack(side, HOPS, 1, false);
    peer_wait_stop(side);
}

static void count_return(const ace_error *error, void *user)
{
    if (ace_error_code(error) == ACE_UNROUTABLE) {
        atomic_fetch_add((atomic_int *)user, 1);
    }
}

START_TEST(without_confirms_written_is_done_and_a_hop_is_confirmed_all_the_same)
{
    publishing p;
    ace_publish hop;
    atomic_int returned;
    atomic_init(&returned, 0);
    begin(&p, script_without_confirms, NULL);
    p.f.settings.confirms = false;
    fixture_make_link(&p.f);
    ck_assert_int_eq(ace_publisher_new(p.f.link, &p.publisher, NULL), ACE_OK);
    ace_publisher_watch_returns(p.publisher, count_return, &returned);
    fixture_must_connect(&p.f);
    ck_assert_int_eq(send_one(&p, "missing", 3000, NULL), ACE_OK);
    await_count(&returned, 1);
    encode(&p, &hop, "hop", "id", "body");
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_HOP, &hop, NULL, NULL), ACE_OK);
    ace_publish_clear(&hop);
    end(&p);
}
END_TEST

static void script_no_answer(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_wait_stop(side);
}

static void fire_soon(void *user)
{
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    ace_cancel_fire(user);
}

START_TEST(a_send_is_cancelled_and_says_whether_it_was_sent)
{
    publishing p;
    ace_error *error = NULL;
    ace_publish publish;
    ace_thread thread;
    begin(&p, script_no_answer, NULL);
    connect_publisher(&p);
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_int_eq(ace_thread_start(&thread, "fire", fire_soon, cancel, NULL), ACE_OK);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, cancel, &error),
        ACE_CANCELLED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "may or may not"));
    ace_error_free(error);
    error = NULL;
    ace_publish_clear(&publish);
    ace_thread_join(&thread);
    ace_publisher_pause(p.publisher);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, cancel, &error),
        ACE_CANCELLED);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nothing was sent"));
    ace_error_free(error);
    ace_publish_clear(&publish);
    ace_publisher_resume(p.publisher);
    ace_cancel_release(cancel);
    end(&p);
}
END_TEST

#define THREADS 8
#define EACH    250

static void script_sink(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    for (uint64_t tag = 1; tag <= THREADS * EACH; tag++) {
        ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
        peer_ack(side, APPLICATION, tag, false);
    }
    peer_wait_stop(side);
}

static void publish_many(void *user)
{
    publishing *p = user;
    for (int i = 0; i < EACH; i++) {
        ck_assert_int_eq(send_one(p, "orders", 10000, NULL), ACE_OK);
    }
}

START_TEST(many_threads_publish_through_one_queue)
{
    publishing p;
    ace_thread threads[THREADS];
    begin(&p, script_sink, NULL);
    connect_publisher(&p);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(ace_thread_start(&threads[i], "publish", publish_many, &p, NULL), ACE_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        ace_thread_join(&threads[i]);
    }
    ace_publisher_counts counts;
    ace_publisher_count(p.publisher, &counts);
    ck_assert_uint_eq(counts.confirmed, THREADS * EACH);
    end(&p);
}
END_TEST

static void script_close_mid_way(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    ace_content_free(peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD));
    peer_delay(side, 100);
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(a_flush_waits_for_the_confirm)
{
    publishing p;
    ace_publish publish;
    atomic_int ended;
    atomic_init(&ended, 0);
    begin(&p, script_close_mid_way, NULL);
    connect_publisher(&p);
    encode(&p, &publish, "orders", "id", "body");
    publish.done = done_count;
    publish.user = &ended;
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_publisher_flush(p.publisher, ace_deadline_after(10), NULL, NULL),
                     ACE_TIMEOUT);
    ck_assert_int_eq(ace_publisher_flush(p.publisher, ace_deadline_after(3000), NULL, NULL),
                     ACE_OK);
    ck_assert_int_eq(atomic_load(&ended), 1);
    ck_assert_int_eq(publish.code, ACE_OK);
    ace_publish_clear(&publish);
    ace_publisher_close(p.publisher);
    encode(&p, &publish, "orders", "id", "body");
    ck_assert_int_eq(ace_publisher_submit(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
                     ACE_CLOSED);
    ck_assert_int_eq(ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, NULL),
                     ACE_CLOSED);
    ace_publish_clear(&publish);
    end(&p);
}
END_TEST

static void script_dead(peer_side *side, int index, void *user)
{
    (void)user;
    const peer_tune tune = {2047, 131072, 1};
    if (index > 0) {
        peer_wait_stop(side);
    }
    peer_handshake(side, &tune);
    open_lanes(side);
    peer_wait_stop(side); /* neither reads nor writes nor hangs up: a machine that lost its power */
}

START_TEST(with_heartbeats_on_a_dead_peer_blocks_neither_the_first_publish_nor_the_second)
{
    publishing p;
    ace_error *error = NULL;
    begin(&p, script_dead, NULL);
    p.f.settings.heartbeat = 60;
    p.f.settings.connect_timeout = 5000;
    connect_publisher(&p);
    int64_t before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(send_one(&p, "first", 10000, &error), ACE_UNKNOWN_OUTCOME);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "heartbeat"));
    ace_error_free(error);
    error = NULL;
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_ge(took, 1900);
    ck_assert_int_lt(took, 9000);
    before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(send_one(&p, "second", 200, &error), ACE_REFUSED);
    took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_lt(took, 9000);
    ace_error_free(error);
    end(&p);
}
END_TEST

#define LARGE 64

static void script_reads_nothing(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    peer_wait_stop(side);
}

START_TEST(what_the_broker_does_not_read_is_not_piled_up_and_is_refused_at_the_deadline)
{
    publishing p;
    static ace_publish publishes[LARGE];
    ace_publish *list[LARGE];
    size_t length = 1024 * 1024;
    uint8_t *body = calloc(1, length);
    int refused = 0;
    int unknown = 0;
    begin(&p, script_reads_nothing, NULL);
    connect_publisher(&p);
    for (int i = 0; i < LARGE; i++) {
        amqp_basic_properties_t properties = {._flags = 0};
        ck_assert_int_eq(ace_publish_encode(&publishes[i], "", "orders", true, &properties,
                                            (ace_bytes){body, length}, ace_link_frame_max(p.f.link),
                                            length, NULL),
                         ACE_OK);
        publishes[i].deadline = ace_publisher_deadline(p.publisher, 500);
        list[i] = &publishes[i];
    }
    (void)ace_publisher_send_all(p.publisher, ACE_PUBLISH_APPLICATION, list, LARGE, NULL, NULL);
    for (int i = 0; i < LARGE; i++) {
        refused += publishes[i].code == ACE_REFUSED;
        unknown += publishes[i].code == ACE_UNKNOWN_OUTCOME;
        if (publishes[i].code == ACE_REFUSED) {
            ck_assert_ptr_nonnull(strstr(ace_error_message(publishes[i].error), "does not read"));
            ck_assert_int_eq(unknown, i - refused + 1); /* in order: none was sent after it */
        }
        ace_publish_clear(&publishes[i]);
    }
    ck_assert_int_eq(refused + unknown, LARGE);
    /* The kernel's buffers of both ends and a little more than a megabyte of ours. */
    ck_assert_int_ge(unknown, 1);
    ck_assert_int_ge(refused, LARGE / 2);
    free(body);
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher");
    TCase *tcase = tcase_create("lanes");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_pause_holds_the_application_back_and_no_hop);
    tcase_add_test(tcase, more_than_the_outstanding_limit_wait_for_the_window);
    tcase_add_test(tcase, without_confirms_written_is_done_and_a_hop_is_confirmed_all_the_same);
    tcase_add_test(tcase, a_send_is_cancelled_and_says_whether_it_was_sent);
    tcase_add_test(tcase, many_threads_publish_through_one_queue);
    tcase_add_test(tcase, a_flush_waits_for_the_confirm);
    tcase_add_test(tcase,
                   with_heartbeats_on_a_dead_peer_blocks_neither_the_first_publish_nor_the_second);
    tcase_add_test(tcase,
                   what_the_broker_does_not_read_is_not_piled_up_and_is_refused_at_the_deadline);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
