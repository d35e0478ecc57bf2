#include "vectors.h"

#include "contract/publish.h"

static const int64_t now = 1800000000000;

static ace_envelope envelope_of_now(void)
{
    ace_envelope envelope;
    ace_envelope_init(&envelope);
    ace_envelope_complete(&envelope, ace_bytes_of("orders"), ace_bytes_of("new-id"),
                          ace_bytes_of("acemq@host-7"), now);
    return envelope;
}

static ace_publication publication_of(const ace_envelope *envelope)
{
    return (ace_publication){.envelope = envelope,
                             .exchange = "",
                             .routing_key = "orders",
                             .content_type = ace_bytes_of("application/json"),
                             .priority = -1,
                             .expiration = -1,
                             .now = now,
                             .frame_max = 131072};
}

START_TEST(a_publish_writes_the_whole_envelope_and_no_more)
{
    ace_envelope envelope = envelope_of_now();
    ace_publication publication = publication_of(&envelope);
    ace_table application = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_int64(&application, "x-tenant", 7, &error));
    publication.headers = &application.table;
    ace_head head = ACE_HEAD_INIT;
    SUCCEEDS(ace_publication_build(&publication, &head, &error));
    json_t *wanted_json = json_pack(
        "{s:i, s:s, s:s, s:{s:s, s:i}, s:s, s:{s:s, s:i}, s:I, s:s}", "x-tenant", 7, ACE_HEADER_ID,
        "new-id", ACE_HEADER_TYPE, "orders", ACE_HEADER_VERSION, "type", "int32", "value", 1,
        ACE_HEADER_CORRELATION, "new-id", ACE_HEADER_ATTEMPT, "type", "int32", "value", 1,
        ACE_HEADER_FIRST_SEEN, (json_int_t)now, ACE_HEADER_ORIGIN, "acemq@host-7");
    ck_assert_ptr_nonnull(wanted_json);
    ace_table wanted = ACE_TABLE_INIT;
    table_of(wanted_json, &wanted);
    json_decref(wanted_json);
    same_tables(&head.properties.headers, &wanted.table);
    ck_assert_uint_eq(head.properties._flags, AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                                                  AMQP_BASIC_CONTENT_TYPE_FLAG |
                                                  AMQP_BASIC_DELIVERY_MODE_FLAG);
    is_text(ace_bytes_from_amqp(head.properties.message_id), "new-id");
    ck_assert_int_eq(head.properties.delivery_mode, 2);
    ace_table_release(&wanted);
    ace_table_release(&application);
    ace_head_release(&head);
}
END_TEST

START_TEST(what_was_asked_for_is_written_too)
{
    static const ace_bytes steps[] = {{(const uint8_t *)"validate", 8},
                                      {(const uint8_t *)"ship", 4}};
    ace_envelope envelope = envelope_of_now();
    envelope.route = steps;
    envelope.route_length = 2;
    envelope.route_id = ace_bytes_of("run-1");
    ace_publication publication = publication_of(&envelope);
    publication.transient = true;
    publication.priority = 9;
    publication.expiration = 60000;
    publication.reply_to = ace_bytes_of("acemq.reply.1");
    ace_head head = ACE_HEAD_INIT;
    SUCCEEDS(ace_publication_build(&publication, &head, &error));
    ck_assert_int_eq(head.properties.delivery_mode, 1);
    ck_assert_int_eq(head.properties.priority, 9);
    is_text(ace_bytes_from_amqp(head.properties.expiration), "60000");
    is_text(ace_bytes_from_amqp(head.properties.reply_to), "acemq.reply.1");
    is_text(ace_bytes_from_amqp(ace_table_find(&head.headers.table, ACE_HEADER_ROUTE)->value.bytes),
            "validate,ship");
    ck_assert_int_eq(ace_table_find(&head.headers.table, ACE_HEADER_ROUTE_POSITION)->value.i32, 0);
    ace_head_release(&head);
}
END_TEST

static void refused(const ace_publication *publication, ace_code code, const char *part)
{
    ace_head head = ACE_HEAD_INIT;
    FAILS_WITH(ace_publication_build(publication, &head, &error), code, part);
    ck_assert_int_eq(head.headers.table.num_entries, 0);
    ck_assert_ptr_null(head.headers.table.entries);
}

START_TEST(a_name_over_255_bytes_is_refused_before_anything)
{
    static char long_name[257];
    memset(long_name, 'n', 256);
    static char accents[257];
    for (int i = 0; i < 128; i++) {
        memcpy(accents + 2 * i, "\xc3\xa9", 2);
    }
    ace_envelope envelope = envelope_of_now();
    ace_publication publication = publication_of(&envelope);
    publication.routing_key = long_name;
    refused(&publication, ACE_LIMIT, "routing key has 256 bytes, the limit is 255");
    publication.routing_key = accents;
    refused(&publication, ACE_LIMIT, "routing key has 256 bytes, the limit is 255");
    publication.routing_key = long_name + 1;
    ace_head head = ACE_HEAD_INIT;
    SUCCEEDS(ace_publication_build(&publication, &head, &error));
    ace_head_release(&head);
    publication.exchange = long_name;
    refused(&publication, ACE_LIMIT, "exchange name has 256 bytes");
    publication.exchange = "";
    publication.content_type = ace_bytes_of(long_name);
    refused(&publication, ACE_LIMIT, "content type has 256 bytes");
    publication.content_type = (ace_bytes){NULL, 0};
    publication.reply_to = ace_bytes_of(long_name);
    refused(&publication, ACE_LIMIT, "reply to has 256 bytes");
    publication.reply_to = (ace_bytes){NULL, 0};
    envelope.id = ace_bytes_of(long_name);
    refused(&publication, ACE_LIMIT, "message id has 256 bytes, the limit is 255");
    envelope.id = ace_bytes_of("i");
    publication.priority = 256;
    refused(&publication, ACE_LIMIT, "priority is 256, the limit is 255");
}
END_TEST

START_TEST(a_reserved_header_is_refused_by_name)
{
    ace_envelope envelope = envelope_of_now();
    ace_publication publication = publication_of(&envelope);
    ace_table application = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_bool(&application, "x-acemq-mine", true, &error));
    publication.headers = &application.table;
    refused(&publication, ACE_RESERVED_HEADER, "x-acemq-mine");
    ace_table_release(&application);
}
END_TEST

START_TEST(headers_that_no_frame_holds_are_refused)
{
    static char filler[5000];
    memset(filler, 'x', sizeof filler - 1);
    ace_envelope envelope = envelope_of_now();
    ace_publication publication = publication_of(&envelope);
    ace_table application = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_text(&application, "x-filler", filler, &error));
    publication.headers = &application.table;
    publication.frame_max = 4096;
    refused(&publication, ACE_LIMIT, "one frame holds 4076");
    publication.frame_max = 8192;
    ace_head head = ACE_HEAD_INIT;
    SUCCEEDS(ace_publication_build(&publication, &head, &error));
    ace_head_release(&head);
    ace_table_release(&application);
}
END_TEST

START_TEST(an_envelope_out_of_range_is_refused_by_field)
{
    static const ace_bytes comma = {(const uint8_t *)"a,b", 3};
    static const ace_bytes spaced[] = {{(const uint8_t *)" a", 2}, {(const uint8_t *)"a ", 2}};
    static const ace_bytes blank = {(const uint8_t *)"", 0};
    ace_envelope envelope = envelope_of_now();
    envelope.attempt = 0;
    FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_LIMIT, "attempt is below 1");
    envelope = envelope_of_now();
    envelope.version = -1;
    FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_LIMIT, "version is below 1");
    envelope = envelope_of_now();
    envelope.type = ace_bytes_of("\xff");
    FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_INVALID_ARGUMENT, "type is not UTF-8");
    envelope = envelope_of_now();
    envelope.route_length = 1;
    envelope.route = &comma;
    FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_INVALID_ARGUMENT, "comma");
    for (int i = 0; i < 2; i++) {
        envelope.route = &spaced[i];
        FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_INVALID_ARGUMENT, "spaces");
    }
    envelope.route = &blank;
    FAILS_WITH(ace_envelope_check(&envelope, &error), ACE_INVALID_ARGUMENT, "blank");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publish");
    TCase *tests = case_of(suite, "publish");
    tcase_add_test(tests, a_publish_writes_the_whole_envelope_and_no_more);
    tcase_add_test(tests, what_was_asked_for_is_written_too);
    tcase_add_test(tests, a_name_over_255_bytes_is_refused_before_anything);
    tcase_add_test(tests, a_reserved_header_is_refused_by_name);
    tcase_add_test(tests, headers_that_no_frame_holds_are_refused);
    tcase_add_test(tests, an_envelope_out_of_range_is_refused_by_field);
    return run_suite(suite);
}
