#include "vectors.h"

#include "contract/names.h"
#include "contract/replay_stamp.h"

static const int64_t now = 1770091506789; /* 2026-02-03T04:05:06.789Z */

static void replay(const ace_table *headers, bool keeping, ace_head *head)
{
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_USER_ID_FLAG |
                  AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_REPLY_TO_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG,
        .headers = headers->table,
        .content_type = amqp_cstring_bytes("application/json"),
        .user_id = amqp_cstring_bytes("somebody"),
        .expiration = amqp_cstring_bytes("5"),
        .reply_to = amqp_cstring_bytes("r"),
        .delivery_mode = 1,
    };
    ace_replay_stamp stamp = {.properties = &properties,
                              .from = "orders.dlq",
                              .now = now,
                              .keeping_attempts = keeping,
                              .frame_max = 131072};
    SUCCEEDS(ace_replay_stamp_build(&stamp, head, &error));
}

static void text_is(const ace_head *head, const char *name, const char *wanted)
{
    const amqp_field_value_t *value = ace_table_find(&head->properties.headers, name);
    ck_assert_msg(value != NULL && value->kind == AMQP_FIELD_KIND_UTF8, "%s", name);
    is_text(ace_bytes_from_amqp(value->value.bytes), wanted);
}

static void number_is(const ace_head *head, const char *name, int32_t wanted)
{
    const amqp_field_value_t *value = ace_table_find(&head->properties.headers, name);
    ck_assert_msg(value != NULL && value->kind == AMQP_FIELD_KIND_I32, "%s", name);
    ck_assert_int_eq(value->value.i32, wanted);
}

static void stamped(const ace_head *head, int32_t count)
{
    text_is(head, ACE_HEADER_REPLAYED_FROM, "orders.dlq");
    text_is(head, ACE_HEADER_REPLAYED_AT, "2026-02-03T04:05:06Z");
    number_is(head, ACE_HEADER_REPLAY_COUNT, count);
}

START_TEST(the_attempt_starts_again_and_the_error_goes)
{
    ace_table headers = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_int64(&headers, ACE_HEADER_ATTEMPT, 5, &error));
    SUCCEEDS(ace_table_set_text(&headers, ACE_HEADER_ERROR, "exhausted", &error));
    SUCCEEDS(ace_table_set_text(&headers, ACE_HEADER_ID, "i", &error));
    SUCCEEDS(ace_table_set_text(&headers, ACE_HEADER_TYPE, "order.placed", &error));
    SUCCEEDS(ace_table_set_int16(&headers, "x-tenant", 9, &error));
    SUCCEEDS(ace_table_set_void(&headers, "x-death", &error));
    SUCCEEDS(ace_table_set_text(&headers, "x-first-death-reason", "expired", &error));
    SUCCEEDS(ace_table_set_void(&headers, "CC", &error));
    ace_head head = ACE_HEAD_INIT;
    replay(&headers, false, &head);
    stamped(&head, 1);
    number_is(&head, ACE_HEADER_ATTEMPT, 1);
    ck_assert_ptr_null(ace_table_find(&head.headers.table, ACE_HEADER_ERROR));
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "x-death"));
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "x-first-death-reason"));
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "CC"));
    text_is(&head, ACE_HEADER_ID, "i");
    text_is(&head, ACE_HEADER_TYPE, "order.placed");
    ck_assert_int_eq(ace_table_find(&head.headers.table, "x-tenant")->kind, AMQP_FIELD_KIND_I16);
    ck_assert_int_eq(head.headers.table.num_entries, 7);
    ace_head_release(&head);
    ace_table_release(&headers);
}
END_TEST

START_TEST(keeping_attempts_puts_back_what_was_there)
{
    ace_table headers = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_int64(&headers, ACE_HEADER_ATTEMPT, 5, &error));
    SUCCEEDS(ace_table_set_text(&headers, ACE_HEADER_ERROR, "exhausted", &error));
    ace_head head = ACE_HEAD_INIT;
    replay(&headers, true, &head);
    stamped(&head, 1);
    const amqp_field_value_t *attempt = ace_table_find(&head.headers.table, ACE_HEADER_ATTEMPT);
    ck_assert_int_eq(attempt->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(attempt->value.i64, 5);
    text_is(&head, ACE_HEADER_ERROR, "exhausted");
    ace_head_release(&head);
    ace_table_release(&headers);
}
END_TEST

START_TEST(a_foreign_message_does_not_gain_an_identity)
{
    ace_table headers = ACE_TABLE_INIT;
    ace_head head = ACE_HEAD_INIT;
    replay(&headers, false, &head);
    stamped(&head, 1);
    number_is(&head, ACE_HEADER_ATTEMPT, 1);
    ck_assert_int_eq(head.headers.table.num_entries, 4);
    const amqp_basic_properties_t *properties = &head.properties;
    ck_assert_uint_eq(properties->_flags, AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_CONTENT_TYPE_FLAG |
                                              AMQP_BASIC_REPLY_TO_FLAG |
                                              AMQP_BASIC_DELIVERY_MODE_FLAG);
    ck_assert_int_eq(properties->delivery_mode, 2);
    ace_head_release(&head);
    replay(&headers, true, &head);
    stamped(&head, 1);
    ck_assert_int_eq(head.headers.table.num_entries, 3);
    ace_head_release(&head);
    ace_table_release(&headers);
}
END_TEST

START_TEST(the_count_goes_on_from_the_new_name_or_the_old)
{
    ace_table headers = ACE_TABLE_INIT;
    ace_head head = ACE_HEAD_INIT;
    SUCCEEDS(ace_table_set_text(&headers, "x-acemq-replay-count", "4", &error));
    SUCCEEDS(ace_table_set_text(&headers, "x-acemq-replayed-from", "x", &error));
    SUCCEEDS(ace_table_set_int64(&headers, "x-acemq-replayed-at", 1, &error));
    replay(&headers, false, &head);
    stamped(&head, 5);
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "x-acemq-replay-count"));
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "x-acemq-replayed-from"));
    ck_assert_ptr_null(ace_table_find(&head.headers.table, "x-acemq-replayed-at"));
    ace_head_release(&head);

    SUCCEEDS(ace_table_set_int8(&headers, ACE_HEADER_REPLAY_COUNT, 7, &error));
    replay(&headers, false, &head);
    stamped(&head, 8);
    ace_head_release(&head);

    SUCCEEDS(ace_table_set_int32(&headers, ACE_HEADER_REPLAY_COUNT, 0, &error));
    ck_assert_int_eq(ace_replay_count(&headers.table),
                     0); /* it reads, so the old name is not asked */
    SUCCEEDS(ace_table_set_text(&headers, ACE_HEADER_REPLAY_COUNT, "many", &error));
    ck_assert_int_eq(ace_replay_count(&headers.table), 4);
    SUCCEEDS(ace_table_set_int32(&headers, ACE_HEADER_REPLAY_COUNT, -1, &error));
    ck_assert_int_eq(ace_replay_count(&headers.table), 4);
    ace_table_remove(&headers, "x-acemq-replay-count");
    ck_assert_int_eq(ace_replay_count(&headers.table), 0);
    SUCCEEDS(ace_table_set_int32(&headers, ACE_HEADER_REPLAY_COUNT, INT32_MAX, &error));
    replay(&headers, false, &head);
    stamped(&head, INT32_MAX);
    ace_head_release(&head);
    ck_assert_int_eq(ace_replay_count(NULL), 0);
    ace_table_release(&headers);
}
END_TEST

START_TEST(a_replay_that_does_not_fit_a_frame_is_refused)
{
    static char filler[5000];
    memset(filler, 'x', sizeof filler - 1);
    ace_table headers = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_text(&headers, "x-filler", filler, &error));
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = headers.table};
    ace_replay_stamp stamp = {
        .properties = &properties, .from = "orders.dlq", .now = now, .frame_max = 4096};
    ace_head head = ACE_HEAD_INIT;
    FAILS_WITH(ace_replay_stamp_build(&stamp, &head, &error), ACE_LIMIT, "one frame holds 4076");
    ck_assert_int_eq(head.headers.table.num_entries, 0);
    ace_table_release(&headers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay stamp");
    TCase *tests = case_of(suite, "replay stamp");
    tcase_add_test(tests, the_attempt_starts_again_and_the_error_goes);
    tcase_add_test(tests, keeping_attempts_puts_back_what_was_there);
    tcase_add_test(tests, a_foreign_message_does_not_gain_an_identity);
    tcase_add_test(tests, the_count_goes_on_from_the_new_name_or_the_old);
    tcase_add_test(tests, a_replay_that_does_not_fit_a_frame_is_refused);
    return run_suite(suite);
}
