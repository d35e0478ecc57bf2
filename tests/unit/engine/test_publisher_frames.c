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

START_TEST(what_cannot_be_encoded_is_refused_with_the_field_and_the_channel_stays_usable)
{
    publishing p;
    ace_publish publish = {0};
    ace_error *error = NULL;
    char name[257];
    amqp_basic_properties_t properties = {._flags = 0};
    memset(name, 'a', 256);
    name[256] = '\0';
    begin(&p, script_ack_one, NULL);
    connect_publisher(&p);
    uint32_t frame_max = ace_link_frame_max(p.f.link);
    ck_assert_int_eq(ace_publish_encode(&publish, "", name, true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "routing key has 256 bytes"));
    ace_error_free(error);
    error = NULL;
    properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = peer_text(name);
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "256"));
    ace_error_free(error);
    error = NULL;
    /* Headers larger than a frame. */
    size_t large = frame_max;
    char *text = calloc(1, large);
    amqp_table_entry_t entry = {
        .key = peer_text("k"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {large, text}}};
    properties =
        (amqp_basic_properties_t){._flags = AMQP_BASIC_HEADERS_FLAG, .headers = {1, &entry}};
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties, ace_bytes_of("b"),
                                        frame_max, 1000, &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "headers"));
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(ace_publish_encode(&publish, "", "key", true, &properties,
                                        (ace_bytes){(uint8_t *)text, 1001}, frame_max, 1000,
                                        &error),
                     ACE_LIMIT);
    ck_assert_ptr_nonnull(
        strstr(ace_error_message(error), "body has 1001 bytes, the limit is 1000"));
    ck_assert_str_eq(ace_error_field_name(error), "body");
    ck_assert_int_eq(ace_error_limit(error), 1000);
    ace_error_free(error);
    free(text);
    ace_publish_clear(&publish);
    ck_assert_int_eq(send_one(&p, "orders", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

typedef struct bodies {
    size_t lengths[16];
    int count;
} bodies;

static void script_bodies(peer_side *side, int index, void *user)
{
    (void)index;
    const bodies *wanted = user;
    const peer_tune tune = {2047, 4096, 0};
    peer_handshake(side, &tune);
    open_lanes(side);
    for (int i = 0; i < wanted->count; i++) {
        ace_content *content = peer_expect_content(side, APPLICATION, AMQP_BASIC_PUBLISH_METHOD);
        bool whole = content->body.length == wanted->lengths[i];
        for (size_t at = 0; at < content->body.length && whole; at++) {
            whole = content->body.data[at] == (uint8_t)(at * 31);
        }
        ace_content_free(content);
        peer_check(side, whole, "the body is another one");
        peer_ack(side, APPLICATION, (uint64_t)i + 1, false);
    }
    peer_wait_stop(side);
}

START_TEST(bodies_around_multiples_of_the_frame_leave_whole)
{
    static const size_t payload = 4096 - 8;
    publishing p;
    bodies wanted = {.count = 0};
    for (size_t n = 1; n <= 3; n++) {
        for (size_t off = 0; off < 3; off++) {
            wanted.lengths[wanted.count++] = n * payload + off - 1;
        }
    }
    wanted.lengths[wanted.count++] = 0;
    wanted.lengths[wanted.count++] = 8 * 1024 * 1024;
    begin(&p, script_bodies, &wanted);
    connect_publisher(&p);
    uint8_t *bytes = malloc(8 * 1024 * 1024);
    ck_assert_ptr_nonnull(bytes);
    for (size_t at = 0; at < 8 * 1024 * 1024; at++) {
        bytes[at] = (uint8_t)(at * 31);
    }
    for (int i = 0; i < wanted.count; i++) {
        ace_publish publish = {0};
        amqp_basic_properties_t properties = {._flags = 0};
        ck_assert_int_eq(ace_publish_encode(&publish, "", "orders", true, &properties,
                                            (ace_bytes){bytes, wanted.lengths[i]},
                                            ace_link_frame_max(p.f.link), 1 << 30, NULL),
                         ACE_OK);
        publish.deadline = ace_publisher_deadline(p.publisher, 5000);
        ck_assert_int_eq(
            ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, NULL), ACE_OK);
        ace_publish_clear(&publish);
    }
    free(bytes);
    end(&p);
}
END_TEST

static void script_shrink(peer_side *side, int index, void *user)
{
    (void)user;
    const peer_tune tune = {2047, index == 0 ? 131072 : 4096, 0};
    peer_handshake(side, &tune);
    open_lanes(side);
    if (index == 0) {
        peer_hang_up(side);
        return;
    }
    expect_publish(side, APPLICATION, "small");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

START_TEST(headers_too_large_for_a_connection_that_came_back_smaller_are_refused_alone)
{
    publishing p;
    ace_publish publish = {0};
    ace_error *error = NULL;
    char text[6000] = {0};
    begin(&p, script_shrink, NULL);
    connect_publisher(&p);
    fixture_await_state(&p.f, ACE_LINK_OPEN, 2);
    amqp_table_entry_t entry = {
        .key = peer_text("k"),
        .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = {sizeof text, text}}};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {1, &entry}};
    /* Measured against the frames of the first connection, sent on the second. */
    ck_assert_int_eq(ace_publish_encode(&publish, "", "large", true, &properties, ace_bytes_of("b"),
                                        131072, 1000, NULL),
                     ACE_OK);
    publish.deadline = ace_publisher_deadline(p.publisher, 3000);
    ck_assert_int_eq(
        ace_publisher_send(p.publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, &error),
        ACE_LIMIT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "4096"));
    ace_error_free(error);
    ace_publish_clear(&publish);
    ck_assert_int_eq(send_one(&p, "small", 3000, NULL), ACE_OK);
    end(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher");
    TCase *tcase = tcase_create("frames");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase,
                   what_cannot_be_encoded_is_refused_with_the_field_and_the_channel_stays_usable);
    tcase_add_test(tcase, bodies_around_multiples_of_the_frame_leave_whole);
    tcase_add_test(tcase,
                   headers_too_large_for_a_connection_that_came_back_smaller_are_refused_alone);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
