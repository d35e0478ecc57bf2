#include "engine_fixture.h"

#include "engine/session.h"

#include <stdatomic.h>
#include <stdio.h>

static ace_code declare(ace_session *session, const char *queue, ace_reply *reply,
                        ace_error **error)
{
    amqp_queue_declare_t method = {.queue = peer_text(queue), .passive = true};
    return ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &method, reply,
                            ace_deadline_after(3000), NULL, error);
}

static void answer_declare(peer_side *side, uint16_t channel, const char *queue, uint32_t messages)
{
    const amqp_queue_declare_t *method = peer_expect(side, channel, AMQP_QUEUE_DECLARE_METHOD);
    peer_check(side, method->queue.len == strlen(queue), queue);
    amqp_queue_declare_ok_t ok = {
        .queue = peer_text(queue), .message_count = messages, .consumer_count = 2};
    peer_send(side, channel, AMQP_QUEUE_DECLARE_OK_METHOD, &ok);
}

static void script_errors(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    static const uint16_t codes[] = {404, 406, 403, 405, 541};
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    answer_declare(side, 1, "orders", 7);
    for (int i = 0; i < 5; i++) {
        char text[64];
        (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
        (void)snprintf(text, sizeof text, "SOMETHING - number %d", i);
        peer_close_channel(side, 1, codes[i], text, AMQP_QUEUE_DECLARE_METHOD);
        /* The goodbye is answered before the number is used again. */
        (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD);
        peer_open_channel(side, 1);
    }
    answer_declare(side, 1, "orders", 8);
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_METHOD);
    amqp_channel_close_ok_t ok = {0};
    peer_send(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    peer_expect_goodbye(side);
}

START_TEST(an_error_of_the_broker_costs_one_channel_and_says_what)
{
    static const ace_code codes[] = {ACE_NOT_FOUND, ACE_DIFFERS, ACE_ACCESS_REFUSED, ACE_LOCKED,
                                     ACE_CHANNEL_CLOSED};
    static const int replies[] = {404, 406, 403, 405, 541};
    fixture f;
    ace_session *session = NULL;
    ace_reply reply;
    fixture_begin(&f, script_errors, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(declare(session, "orders", &reply, NULL), ACE_OK);
    ck_assert_uint_eq(reply.id, AMQP_QUEUE_DECLARE_OK_METHOD);
    ck_assert_uint_eq(reply.message_count, 7);
    ck_assert_uint_eq(reply.consumer_count, 2);
    ck_assert_str_eq(reply.name, "orders");
    for (int i = 0; i < 5; i++) {
        ace_error *error = NULL;
        char text[64];
        (void)snprintf(text, sizeof text, "queue.declare: %d SOMETHING - number %d", replies[i], i);
        ck_assert_int_eq(declare(session, "orders", &reply, &error), codes[i]);
        ck_assert_int_eq(ace_error_reply(error), replies[i]);
        ck_assert_msg(strstr(ace_error_message(error), text) != NULL, "%s",
                      ace_error_message(error));
        ace_error_free(error);
    }
    ck_assert_int_eq(declare(session, "orders", &reply, NULL), ACE_OK);
    ck_assert_uint_eq(reply.message_count, 8);
    ace_session_free(session);
    fixture_end(&f);
}
END_TEST

static void script_get(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    const amqp_basic_get_t *get = peer_expect(side, 1, AMQP_BASIC_GET_METHOD);
    peer_check(side, !get->no_ack, "no_ack");
    amqp_basic_get_ok_t ok = {.delivery_tag = 1, .message_count = 5};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = peer_text("m")};
    peer_send_content(side, 1, AMQP_BASIC_GET_OK_METHOD, &ok, &properties, ace_bytes_of("body"));
    if (index == 0) {
        peer_hang_up(side);
        return;
    }
    const amqp_basic_ack_t *ack = peer_expect(side, 1, AMQP_BASIC_ACK_METHOD);
    peer_check(side, ack->delivery_tag == 1 && !ack->multiple, "the ack");
    (void)peer_expect(side, 1, AMQP_BASIC_GET_METHOD);
    amqp_basic_get_empty_t empty = {.cluster_id = {0, NULL}};
    peer_send(side, 1, AMQP_BASIC_GET_EMPTY_METHOD, &empty);
    const amqp_basic_nack_t *nack = peer_expect(side, 1, AMQP_BASIC_NACK_METHOD);
    peer_check(side, nack->delivery_tag == 9 && nack->multiple && nack->requeue, "the nack");
    peer_wait_stop(side);
}

START_TEST(what_was_got_is_settled_on_its_own_channel_and_never_after_a_reconnect)
{
    fixture f;
    ace_session *session = NULL;
    ace_content *content = NULL;
    uint64_t first = 0;
    uint64_t second = 0;
    fixture_begin(&f, script_get, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(ace_session_get(session, "orders.dlq", &content, &first,
                                     ace_deadline_after(3000), NULL, NULL),
                     ACE_OK);
    ck_assert(ace_bytes_equal_text(content->body, "body"));
    ace_content_free(content);
    fixture_await_state(&f, ACE_LINK_OPEN, 2);
    ck_assert_int_eq(ace_session_ack(session, first, 1, false, NULL), ACE_STALE);
    ck_assert_int_eq(ace_session_get(session, "orders.dlq", &content, &second,
                                     ace_deadline_after(3000), NULL, NULL),
                     ACE_OK);
    ace_content_free(content);
    ck_assert_uint_ne(first, second);
    ck_assert_int_eq(ace_session_ack(session, first, 1, false, NULL), ACE_STALE);
    ck_assert_int_eq(ace_session_ack(session, second, 1, false, NULL), ACE_OK);
    ck_assert_int_eq(ace_session_get(session, "orders.dlq", &content, &second,
                                     ace_deadline_after(3000), NULL, NULL),
                     ACE_OK);
    ck_assert_ptr_null(content);
    ck_assert_int_eq(ace_session_nack(session, second, 9, true, true, NULL), ACE_OK);
    ace_session_free(session);
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_end(&f);
}
END_TEST

static void script_late(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    /* The caller gives up, and closes the channel; the answer comes all the same. */
    (void)peer_expect(side, 1, AMQP_CHANNEL_CLOSE_METHOD);
    amqp_queue_declare_ok_t late = {.queue = peer_text("slow"), .message_count = 99};
    peer_send(side, 1, AMQP_QUEUE_DECLARE_OK_METHOD, &late);
    /* The number is taken until its goodbye is answered. */
    peer_open_channel(side, 2);
    answer_declare(side, 2, "orders", 3);
    amqp_channel_close_ok_t ok = {0};
    peer_send(side, 1, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    peer_wait_stop(side);
}

START_TEST(an_answer_that_comes_too_late_is_never_taken_for_another)
{
    fixture f;
    ace_session *session = NULL;
    ace_error *error = NULL;
    ace_reply reply;
    amqp_queue_declare_t method = {.queue = peer_text("slow")};
    fixture_begin(&f, script_late, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &method, &reply,
                                      ace_deadline_after(100), NULL, &error),
                     ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "queue.declare"));
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "was sent"));
    ace_error_free(error);
    ck_assert_int_eq(declare(session, "orders", &reply, NULL), ACE_OK);
    ck_assert_uint_eq(reply.message_count, 3);
    ace_session_free(session);
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_end(&f);
}
END_TEST

static void script_down(peer_side *side, int index, void *user)
{
    (void)user;
    if (index > 0) {
        peer_wait_stop(side);
    }
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    peer_hang_up(side);
}

START_TEST(a_call_under_way_is_lost_with_the_connection_and_one_without_a_link_sends_nothing)
{
    fixture f;
    ace_session *session = NULL;
    ace_error *error = NULL;
    amqp_queue_declare_t method = {.queue = peer_text("orders")};
    fixture_begin(&f, script_down, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(declare(session, "orders", NULL, NULL), ACE_CONNECTION_LOST);
    ck_assert_int_eq(ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &method, NULL,
                                      ace_deadline_after(100), NULL, &error),
                     ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nothing was sent"));
    ace_error_free(error);
    ace_session_free(session);
    fixture_end(&f);
}
END_TEST

static void script_mute(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    peer_open_channel(side, 1);
    (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    peer_wait_stop(side);
}

typedef struct closing {
    ace_link *link;
    ace_cancel *cancel;
} closing;

static void act_soon(void *user)
{
    closing *what = user;
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    if (what->cancel != NULL) {
        ace_cancel_fire(what->cancel);
    } else {
        ace_link_close(what->link, ace_deadline_after(20));
    }
}

START_TEST(a_waiting_call_ends_when_its_token_fires_or_the_link_is_closed)
{
    fixture f;
    ace_session *session = NULL;
    ace_thread thread;
    amqp_queue_declare_t method = {.queue = peer_text("orders")};
    fixture_begin(&f, script_mute, NULL);
    fixture_must_connect(&f);
    closing what = {f.link, _i == 0 ? ace_cancel_new(NULL) : NULL};
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(ace_thread_start(&thread, "act", act_soon, &what, NULL), ACE_OK);
    ck_assert_int_eq(ace_session_call(session, AMQP_QUEUE_DECLARE_METHOD, &method, NULL, ACE_NEVER,
                                      what.cancel, NULL),
                     _i == 0 ? ACE_CANCELLED : ACE_CLOSED);
    ace_thread_join(&thread);
    if (_i == 1) {
        ck_assert_int_eq(declare(session, "orders", NULL, NULL), ACE_CLOSED);
    }
    ace_session_free(session);
    ace_cancel_release(what.cancel);
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_end(&f);
}
END_TEST

static void script_four_channels(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    const peer_tune tune = {4, 4096, 0};
    peer_handshake(side, &tune);
    for (uint16_t channel = 1; channel <= 4; channel++) {
        peer_open_channel(side, channel);
        answer_declare(side, channel, "orders", channel);
    }
    (void)peer_expect(side, 2, AMQP_CHANNEL_CLOSE_METHOD);
    amqp_channel_close_ok_t ok = {0};
    peer_send(side, 2, AMQP_CHANNEL_CLOSE_OK_METHOD, &ok);
    peer_open_channel(side, 2);
    answer_declare(side, 2, "orders", 22);
    peer_wait_stop(side);
}

START_TEST(a_broker_that_allows_four_channels_is_given_no_fifth)
{
    fixture f;
    ace_session *sessions[5];
    ace_error *error = NULL;
    ace_reply reply;
    fixture_begin(&f, script_four_channels, NULL);
    fixture_must_connect(&f);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(ace_session_new(f.link, &sessions[i], NULL), ACE_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_int_eq(declare(sessions[i], "orders", &reply, NULL), ACE_OK);
        ck_assert_uint_eq(reply.message_count, i + 1);
    }
    ck_assert_int_eq(declare(sessions[4], "orders", &reply, &error), ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "all 4 channels"));
    ace_error_free(error);
    ace_session_free(sessions[1]);
    /* The number comes free with the broker's answer. */
    ace_code code = ACE_LIMIT;
    for (int i = 0; i < 200 && code == ACE_LIMIT; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
        code = declare(sessions[4], "orders", &reply, NULL);
    }
    ck_assert_int_eq(code, ACE_OK);
    ck_assert_uint_eq(reply.message_count, 22);
    for (int i = 0; i < 5; i++) {
        if (i != 1) {
            ace_session_free(sessions[i]);
        }
    }
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_end(&f);
}
END_TEST

static void script_unasked(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    if (index > 0) {
        peer_wait_stop(side);
    }
    peer_open_channel(side, 1);
    (void)peer_expect(side, 1, AMQP_QUEUE_DECLARE_METHOD);
    amqp_queue_purge_ok_t wrong = {.message_count = 1};
    peer_send(side, 1, AMQP_QUEUE_PURGE_OK_METHOD, &wrong);
    peer_expect_end(side);
}

START_TEST(an_answer_to_another_question_ends_the_connection)
{
    fixture f;
    ace_session *session = NULL;
    ace_error *error = NULL;
    fixture_begin(&f, script_unasked, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(declare(session, "orders", NULL, &error), ACE_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "queue.purge-ok"));
    ace_error_free(error);
    ace_session_free(session);
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_end(&f);
}
END_TEST

START_TEST(a_name_that_cannot_be_encoded_costs_nothing)
{
    fixture f;
    ace_session *session = NULL;
    ace_error *error = NULL;
    char name[257];
    memset(name, 'q', 256);
    name[256] = '\0';
    fixture_begin(&f, script_errors, NULL);
    fixture_must_connect(&f);
    ck_assert_int_eq(ace_session_new(f.link, &session, NULL), ACE_OK);
    ck_assert_int_eq(declare(session, name, NULL, &error), ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "256"));
    ace_error_free(error);
    ck_assert_int_eq(declare(session, "orders", NULL, NULL), ACE_OK);
    ace_session_free(session);
    ace_link_close(f.link, ace_deadline_after(50));
    fixture_break_off(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("session");
    TCase *tcase = tcase_create("session");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, an_error_of_the_broker_costs_one_channel_and_says_what);
    tcase_add_test(tcase, what_was_got_is_settled_on_its_own_channel_and_never_after_a_reconnect);
    tcase_add_test(tcase, an_answer_that_comes_too_late_is_never_taken_for_another);
    tcase_add_test(
        tcase, a_call_under_way_is_lost_with_the_connection_and_one_without_a_link_sends_nothing);
    tcase_add_loop_test(tcase, a_waiting_call_ends_when_its_token_fires_or_the_link_is_closed, 0,
                        2);
    tcase_add_test(tcase, a_broker_that_allows_four_channels_is_given_no_fifth);
    tcase_add_test(tcase, an_answer_to_another_question_ends_the_connection);
    tcase_add_test(tcase, a_name_that_cannot_be_encoded_costs_nothing);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
