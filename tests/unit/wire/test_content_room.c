/* The room in a content's block that is its owner's, and blocks that are used for another. */
#include "samples.h"
#include "wire/assembly.h"
#include "wire/content.h"
#include "wire/method.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 700

static amqp_pool_t pool;
static ace_assembly assembly;

static void setup(void)
{
    init_amqp_pool(&pool, 4096);
    ace_assembly_init(&assembly, ACE_BODY_MAX_DEFAULT);
}

static void teardown(void)
{
    ace_assembly_reset(&assembly);
    empty_amqp_pool(&pool);
}

static void feed(const ace_buffer *bytes, ace_content **content)
{
    ace_frame_reader reader;
    ace_error *error = NULL;
    ace_frame frame;
    ace_frame_reader_init(&reader, ACE_FRAME_CLIENT);
    check_ok(ace_frame_reader_append(&reader, bytes->data, bytes->length, &error), error);
    check_ok(ace_frame_next(&reader, &frame, &error), error);
    while (frame.type != ACE_FRAME_NONE) {
        check_ok(ace_assembly_take(&assembly, &frame, content, &error), error);
        check_ok(ace_frame_next(&reader, &frame, &error), error);
    }
    ace_frame_reader_free(&reader);
}

static size_t assemble(const amqp_basic_properties_t *properties, ace_bytes body,
                       ace_content **content)
{
    amqp_basic_deliver_t deliver = {.consumer_tag = amqp_cstring_bytes("tag"),
                                    .delivery_tag = 5,
                                    .exchange = amqp_cstring_bytes("exchange"),
                                    .routing_key = amqp_cstring_bytes("key")};
    ace_buffer bytes = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    size_t method = 0;
    check_ok(ace_method_measure(AMQP_BASIC_DELIVER_METHOD, &deliver, 0, &method, &error), error);
    check_ok(ace_content_write(&bytes, 1, AMQP_BASIC_DELIVER_METHOD, &deliver, properties, body,
                               131072, &error),
             error);
    *content = NULL;
    feed(&bytes, content);
    ck_assert_ptr_nonnull(*content);
    ace_buffer_free(&bytes);
    return method;
}

static void check_content(const ace_content *content, const amqp_basic_properties_t *properties,
                          ace_bytes body)
{
    const amqp_basic_deliver_t *deliver = content->method.decoded;
    ck_assert_uint_eq(deliver->delivery_tag, 5);
    ck_assert(sample_same_bytes(deliver->routing_key, amqp_cstring_bytes("key")));
    ck_assert(ace_bytes_equal(content->body, body));
    ck_assert(sample_same_properties(content->properties, properties));
}

/* Filled to the last byte, with what was in another before. */
START_TEST(the_room_is_the_owners_and_nothing_else_lies_in_it)
{
    static uint8_t body[9000];
    uint64_t state = 11;
    ace_content *content;
    ace_assembly_leave_room(&assembly, ROOM);
    for (int round = 0; round < 500; round++) {
        amqp_basic_properties_t properties;
        sample_properties(&state, &pool, &properties);
        ace_bytes sent = {body, sample_below(&state, sizeof body)};
        memset(body, round, sizeof body);
        size_t method = assemble(&properties, sent, &content);
        uint8_t *room = ace_content_room(content);
        ck_assert_ptr_nonnull(room);
        ck_assert_uint_eq((uintptr_t)room % 16, 0);
        memset(room, 0xEE, ROOM + method);
        check_content(content, &properties, sent);
        if (round % 3 == 0) {
            ace_content_free(content);
        } else {
            ace_assembly_give_back(&assembly, content);
        }
        recycle_amqp_pool(&pool);
    }
}
END_TEST

START_TEST(nobody_has_room_who_did_not_ask)
{
    amqp_basic_properties_t properties = {._flags = 0};
    ace_content *content;
    (void)assemble(&properties, (ace_bytes){NULL, 0}, &content);
    ck_assert_ptr_null(ace_content_room(content));
    size_t before = ace_content_memory(content);
    ace_content_free(content);
    ace_assembly_leave_room(&assembly, ROOM);
    ace_assembly_reset(&assembly); /* which is not forgotten by it */
    (void)assemble(&properties, (ace_bytes){NULL, 0}, &content);
    ck_assert_ptr_nonnull(ace_content_room(content));
    ck_assert_uint_eq(ace_content_memory(content), before); /* its owner's memory is not its own */
    ace_content_free(content);
}
END_TEST

/* Several at a time, given back in any order and partly after a reset. */
START_TEST(contents_given_back_do_not_touch_those_that_are_not)
{
    enum { MANY = 40 };
    static uint8_t bodies[MANY][300];
    ace_content *contents[MANY] = {NULL};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_TYPE_FLAG,
                                          .type = amqp_cstring_bytes("a.type")};
    uint64_t state = 12;
    ace_assembly_leave_room(&assembly, ROOM);
    for (int round = 0; round < 4000; round++) {
        uint32_t at = sample_below(&state, MANY);
        ace_bytes body = {bodies[at], sizeof bodies[at]};
        if (contents[at] != NULL) {
            check_content(contents[at], &properties, body);
            ace_assembly_give_back(&assembly, contents[at]);
            contents[at] = NULL;
        } else {
            memset(bodies[at], round, sizeof bodies[at]);
            (void)assemble(&properties, body, &contents[at]);
        }
        if (round == 2000) {
            ace_assembly_reset(&assembly);
        }
    }
    for (int at = 0; at < MANY; at++) {
        ace_content_free(contents[at]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("content room");
    TCase *tests = tcase_create("room");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_room_is_the_owners_and_nothing_else_lies_in_it);
    tcase_add_test(tests, nobody_has_room_who_did_not_ask);
    tcase_add_test(tests, contents_given_back_do_not_touch_those_that_are_not);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
