#include "random_table.h"
#include "vectors.h"

#include "contract/hop.h"
#include "contract/table_rules.h"
#include "wire/content.h"

static const int64_t now = 1800000000000;

/* One arrival, and the hop that is made of it. */
typedef struct arrived {
    ace_table headers;
    amqp_basic_properties_t properties;
    ace_envelope envelope;
    ace_arena arena;
    ace_hop hop;
    ace_head head;
} arrived;

static void arrive(arrived *message)
{
    ace_arrival arrival = {.headers = &message->headers.table,
                           .routing_key = ace_bytes_of("order.placed.eu"),
                           .message_id = ace_bytes_from_amqp(message->properties.message_id),
                           .fallback_id = ace_bytes_of("a-new-id")};
    message->properties.headers = message->headers.table;
    message->properties._flags |= AMQP_BASIC_HEADERS_FLAG;
    SUCCEEDS(ace_envelope_read(&arrival, &message->arena, &message->envelope, &error));
    message->hop = (ace_hop){.kind = ACE_HOP_RUNG,
                             .properties = &message->properties,
                             .envelope = &message->envelope,
                             .attempt = message->envelope.attempt + 1,
                             .now = now,
                             .frame_max = 131072};
}

static void leave(arrived *message)
{
    ace_head_release(&message->head);
    ace_table_release(&message->headers);
    ace_arena_free(&message->arena);
}

static const amqp_field_value_t *header(const arrived *message, const char *name)
{
    return ace_table_find(&message->head.properties.headers, name);
}

static void header_is(const arrived *message, const char *name, const char *wanted)
{
    const amqp_field_value_t *value = header(message, name);
    ck_assert_msg(value != NULL, "%s is missing", name);
    ck_assert_int_eq(value->kind, AMQP_FIELD_KIND_UTF8);
    is_text(ace_bytes_from_amqp(value->value.bytes), wanted);
}

static void set_text(arrived *message, const char *name, const char *value)
{
    SUCCEEDS(ace_table_set_text(&message->headers, name, value, &error));
}

START_TEST(a_foreign_message_gains_a_full_envelope_at_its_first_hop)
{
    arrived message = {0};
    set_text(&message, "x-tenant", "acme");
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    header_is(&message, ACE_HEADER_ID, "a-new-id");
    header_is(&message, ACE_HEADER_CORRELATION, "a-new-id");
    header_is(&message, ACE_HEADER_TYPE, "order.placed.eu");
    header_is(&message, "x-tenant", "acme");
    ck_assert_int_eq(header(&message, ACE_HEADER_ATTEMPT)->value.i32, 2);
    ck_assert_int_eq(header(&message, ACE_HEADER_FIRST_SEEN)->value.i64, now);
    ck_assert_ptr_null(header(&message, ACE_HEADER_ORIGIN));
    ck_assert_ptr_null(header(&message, ACE_HEADER_ERROR));
    is_text(ace_bytes_from_amqp(message.head.properties.message_id), "a-new-id");
    ck_assert_int_eq(message.head.properties.delivery_mode, 2);
    leave(&message);
}
END_TEST

START_TEST(every_other_header_keeps_its_type_and_value)
{
    uint64_t state = 11;
    arrived message = {0};
    random_entries(&state, 1, &message.headers, 60);
    set_text(&message, "x-acemq-of-tomorrow", "kept");
    set_text(&message, ACE_HEADER_REPLAYED_FROM, "orders.dlq");
    SUCCEEDS(ace_table_set_int32(&message.headers, ACE_HEADER_REPLAY_COUNT, 3, &error));
    SUCCEEDS(ace_table_set_int64(&message.headers, ACE_HEADER_REPLAYED_AT, 5, &error));
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    for (int i = 0; i < message.headers.table.num_entries; i++) {
        const amqp_table_entry_t *entry = &message.headers.table.entries[i];
        amqp_table_t one = {1, (amqp_table_entry_t *)(uintptr_t)entry};
        ace_table wanted = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_copy_arrived(&wanted, &one, &error)); /* uint64 as int64 */
        const amqp_field_value_t *got =
            ace_table_find_bytes(&message.head.properties.headers, ace_bytes_from_amqp(entry->key));
        ck_assert_ptr_nonnull(got);
        ck_assert(ace_value_equal(got, &wanted.table.entries[0].value));
        ace_table_release(&wanted);
    }
    leave(&message);
}
END_TEST

START_TEST(known_fields_are_rewritten_in_their_types)
{
    arrived message = {0};
    SUCCEEDS(ace_table_set_int8(&message.headers, ACE_HEADER_ATTEMPT, 3, &error));
    set_text(&message, ACE_HEADER_VERSION, " 7 ");
    SUCCEEDS(ace_table_set_double(&message.headers, ACE_HEADER_FIRST_SEEN, 1767323045678, &error));
    SUCCEEDS(ace_table_set_bytes(&message.headers, ACE_HEADER_ID, ace_bytes_of("id-7"), &error));
    SUCCEEDS(ace_table_set_void(&message.headers, ACE_HEADER_ERROR, &error));
    set_text(&message, ACE_HEADER_CAUSATION, "");
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    header_is(&message, ACE_HEADER_ID, "id-7");
    ck_assert_int_eq(header(&message, ACE_HEADER_ATTEMPT)->kind, AMQP_FIELD_KIND_I32);
    ck_assert_int_eq(header(&message, ACE_HEADER_ATTEMPT)->value.i32, 4);
    ck_assert_int_eq(header(&message, ACE_HEADER_VERSION)->kind, AMQP_FIELD_KIND_I32);
    ck_assert_int_eq(header(&message, ACE_HEADER_VERSION)->value.i32, 7);
    ck_assert_int_eq(header(&message, ACE_HEADER_FIRST_SEEN)->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(header(&message, ACE_HEADER_FIRST_SEEN)->value.i64, 1767323045678);
    ck_assert_ptr_null(header(&message, ACE_HEADER_ERROR));
    ck_assert_ptr_null(header(&message, ACE_HEADER_CAUSATION));
    leave(&message);
}
END_TEST

static void add_broker_headers(arrived *message)
{
    amqp_field_value_t other = {.kind = AMQP_FIELD_KIND_UTF8,
                                .value = {.bytes = amqp_cstring_bytes("other")}};
    amqp_array_t queues = {1, &other};
    SUCCEEDS(ace_table_set_array(&message->headers, "CC", &queues, &error));
    SUCCEEDS(ace_table_set_array(&message->headers, "BCC", &queues, &error));
    SUCCEEDS(ace_table_set_int64(&message->headers, "x-delivery-count", 2, &error));
    SUCCEEDS(ace_table_set_array(&message->headers, "x-death", &queues, &error));
    set_text(message, "x-first-death-queue", "q");
    set_text(message, "x-first-death-reason", "expired");
    set_text(message, "x-last-death-exchange", "");
    set_text(message, "cc", "lower case is the application's");
}

START_TEST(no_hop_carries_cc_and_only_a_rung_loses_x_death)
{
    for (int kind = ACE_HOP_RUNG; kind <= ACE_HOP_PARK; kind++) {
        arrived message = {0};
        add_broker_headers(&message);
        arrive(&message);
        message.hop.kind = (ace_hop_kind)kind;
        SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
        ck_assert_ptr_null(header(&message, "CC"));
        ck_assert_ptr_null(header(&message, "BCC"));
        ck_assert_ptr_null(header(&message, "x-delivery-count"));
        ck_assert_ptr_nonnull(header(&message, "cc"));
        bool kept = kind != ACE_HOP_RUNG;
        ck_assert_int_eq(header(&message, "x-death") != NULL, kept);
        ck_assert_int_eq(header(&message, "x-first-death-queue") != NULL, kept);
        ck_assert_int_eq(header(&message, "x-first-death-reason") != NULL, kept);
        ck_assert_int_eq(header(&message, "x-last-death-exchange") != NULL, kept);
        leave(&message);
    }
}
END_TEST

START_TEST(a_foreign_user_id_is_dropped_and_a_content_encoding_is_kept)
{
    arrived message = {0};
    message.properties = (amqp_basic_properties_t){
        ._flags = 0xfffc & ~(amqp_flags_t)AMQP_BASIC_HEADERS_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .content_encoding = amqp_cstring_bytes("gzip"),
        .delivery_mode = 1,
        .priority = 4,
        .correlation_id = amqp_cstring_bytes("c"),
        .reply_to = amqp_cstring_bytes("r"),
        .expiration = amqp_cstring_bytes("60000"),
        .message_id = amqp_cstring_bytes("m"),
        .timestamp = 1767323045678, /* milliseconds, where seconds are meant */
        .type = amqp_cstring_bytes("t"),
        .user_id = amqp_cstring_bytes("somebody"),
        .app_id = amqp_cstring_bytes("app"),
        .cluster_id = amqp_cstring_bytes("cl"),
    };
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    const amqp_basic_properties_t *kept = &message.head.properties;
    ck_assert_uint_eq(kept->_flags, 0xfffc & ~(amqp_flags_t)(AMQP_BASIC_EXPIRATION_FLAG |
                                                             AMQP_BASIC_USER_ID_FLAG |
                                                             AMQP_BASIC_CLUSTER_ID_FLAG));
    is_text(ace_bytes_from_amqp(kept->content_type), "application/json");
    is_text(ace_bytes_from_amqp(kept->content_encoding), "gzip");
    is_text(ace_bytes_from_amqp(kept->correlation_id), "c");
    is_text(ace_bytes_from_amqp(kept->reply_to), "r");
    is_text(ace_bytes_from_amqp(kept->message_id), "m");
    is_text(ace_bytes_from_amqp(kept->type), "t");
    is_text(ace_bytes_from_amqp(kept->app_id), "app");
    ck_assert_uint_eq(kept->timestamp, 1767323045678);
    ck_assert_int_eq(kept->priority, 4);
    ck_assert_int_eq(kept->delivery_mode, 2);
    leave(&message);
}
END_TEST

START_TEST(a_hop_of_a_hop_changes_nothing)
{
    uint64_t state = 17;
    for (int i = 0; i < 500; i++) {
        arrived first = {0};
        random_entries(&state, 1, &first.headers, 5);
        if (i % 3 == 0) {
            set_any(&state, 1, &first.headers, ACE_HEADER_ERROR);
            set_any(&state, 1, &first.headers, ACE_HEADER_ATTEMPT);
            set_any(&state, 1, &first.headers, ACE_HEADER_ID);
        }
        arrive(&first);
        first.hop.attempt = first.envelope.attempt;
        SUCCEEDS(ace_hop_build(&first.hop, &first.head, &error));
        arrived second = {.properties = first.head.properties};
        SUCCEEDS(ace_table_copy_arrived(&second.headers, &first.head.headers.table, &error));
        arrive(&second);
        second.hop.attempt = second.envelope.attempt;
        second.hop.now = now + 1;
        SUCCEEDS(ace_hop_build(&second.hop, &second.head, &error));
        same_tables(&second.head.properties.headers, &first.head.properties.headers);
        ck_assert_uint_eq(second.head.properties._flags, first.head.properties._flags);
        leave(&second);
        leave(&first);
    }
}
END_TEST

static void add_odd(arrived *message, const char *name, size_t length, int32_t number)
{
    amqp_field_value_t value = {.kind = AMQP_FIELD_KIND_I32, .value = {.i32 = number}};
    SUCCEEDS(ace_table_append_unchecked(
        &message->headers, (ace_bytes){(const uint8_t *)name, length}, &value, &error));
}

static int count_of(const amqp_table_t *table, const char *name)
{
    int count = 0;
    for (int i = 0; i < table->num_entries; i++) {
        count += ace_bytes_equal_text(ace_bytes_from_amqp(table->entries[i].key), name);
    }
    return count;
}

/* What our setters refuse, and a broker passes on all the same. */
START_TEST(names_that_only_others_write_do_not_stop_a_hop)
{
    static char longest[255];
    memset(longest, 'n', sizeof longest);
    arrived message = {0};
    add_odd(&message, "", 0, 1);
    add_odd(&message, longest, sizeof longest, 2);
    add_odd(&message, "a\0b\xff", 4, 3);
    add_odd(&message, "twice", 5, 4);
    add_odd(&message, "twice", 5, 5);
    add_odd(&message, "CC", 2, 6);
    add_odd(&message, "CC", 2, 7);
    add_odd(&message, ACE_HEADER_ATTEMPT, strlen(ACE_HEADER_ATTEMPT), 2);
    add_odd(&message, ACE_HEADER_ATTEMPT, strlen(ACE_HEADER_ATTEMPT), 9);
    arrive(&message);
    ck_assert_int_eq(message.envelope.attempt, 2);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    const amqp_table_t *table = &message.head.properties.headers;
    ck_assert_int_eq(count_of(table, ""), 1);
    ck_assert_int_eq(count_of(table, "twice"), 2);
    ck_assert_int_eq(count_of(table, "CC"), 0);
    ck_assert_int_eq(count_of(table, ACE_HEADER_ATTEMPT), 1);
    ck_assert_int_eq(header(&message, ACE_HEADER_ATTEMPT)->value.i32, 3);
    size_t size = 0;
    SUCCEEDS(ace_content_measure(&message.head.properties, 131072, &size, &error));
    leave(&message);
}
END_TEST

START_TEST(an_error_is_written_or_left_as_it_was)
{
    arrived message = {0};
    set_text(&message, ACE_HEADER_ERROR, "before");
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    header_is(&message, ACE_HEADER_ERROR, "before");
    message.hop.error = ace_bytes_of("exhausted 3 attempts: why");
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    header_is(&message, ACE_HEADER_ERROR, "exhausted 3 attempts: why");
    leave(&message);
}
END_TEST

START_TEST(an_error_that_does_not_fit_the_frame_is_cut_between_characters)
{
    static char text[8001];
    for (int i = 0; i < 4000; i++) {
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    }
    for (size_t frame_max = 4096; frame_max < 4100; frame_max++) {
        arrived message = {0};
        arrive(&message);
        message.hop.error = ace_bytes_of(text);
        message.hop.frame_max = frame_max;
        SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
        size_t size = ace_properties_encoded_size(&message.head.properties) + 20;
        ck_assert_uint_le(size, frame_max);
        ck_assert_uint_ge(size, frame_max - 1); /* half a character may be left */
        amqp_bytes_t cut = header(&message, ACE_HEADER_ERROR)->value.bytes;
        ck_assert_uint_eq((cut.len - 3) % 2, 0);
        ck_assert(memcmp(cut.bytes, text, cut.len - 3) == 0);
        ck_assert(memcmp((char *)cut.bytes + cut.len - 3, "...", 3) == 0);
        leave(&message);
    }
}
END_TEST

START_TEST(with_no_room_the_error_is_left_out_and_then_the_hop_is_refused)
{
    static char filler[4000];
    memset(filler, 'x', sizeof filler);
    bool left_out = false;
    bool refused = false;
    bool written = false;
    for (size_t length = 3400; length < 4000; length++) {
        arrived message = {0};
        SUCCEEDS(ace_table_set_longstr(&message.headers, "x-filler",
                                       (ace_bytes){(uint8_t *)filler, length}, &error));
        arrive(&message);
        message.hop.error = ace_bytes_of("exhausted 3 attempts: no reason given");
        message.hop.frame_max = 4096;
        ace_error *error = NULL;
        ace_code code = ace_hop_build(&message.hop, &message.head, &error);
        if (code != ACE_OK) {
            fails_with(code, error, ACE_LIMIT, "headers and properties take");
            ck_assert_int_eq(message.head.headers.table.num_entries, 0);
            refused = true;
        } else {
            ck_assert(!refused);
            left_out = left_out || header(&message, ACE_HEADER_ERROR) == NULL;
            written = written || header(&message, ACE_HEADER_ERROR) != NULL;
            ck_assert_uint_le(ace_properties_encoded_size(&message.head.properties), 4096 - 20);
        }
        leave(&message);
    }
    ck_assert(written && left_out && refused);
}
END_TEST

START_TEST(an_id_too_long_for_the_property_travels_in_its_header)
{
    static char id[301];
    memset(id, 'i', 300);
    arrived message = {0};
    set_text(&message, ACE_HEADER_ID, id);
    arrive(&message);
    SUCCEEDS(ace_hop_build(&message.hop, &message.head, &error));
    header_is(&message, ACE_HEADER_ID, id);
    ck_assert_uint_eq(message.head.properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG, 0);
    leave(&message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hop");
    TCase *tests = case_of(suite, "hop");
    tcase_add_test(tests, a_foreign_message_gains_a_full_envelope_at_its_first_hop);
    tcase_add_test(tests, every_other_header_keeps_its_type_and_value);
    tcase_add_test(tests, known_fields_are_rewritten_in_their_types);
    tcase_add_test(tests, no_hop_carries_cc_and_only_a_rung_loses_x_death);
    tcase_add_test(tests, a_foreign_user_id_is_dropped_and_a_content_encoding_is_kept);
    tcase_add_test(tests, a_hop_of_a_hop_changes_nothing);
    tcase_add_test(tests, names_that_only_others_write_do_not_stop_a_hop);
    tcase_add_test(tests, an_error_is_written_or_left_as_it_was);
    tcase_add_test(tests, an_error_that_does_not_fit_the_frame_is_cut_between_characters);
    tcase_add_test(tests, with_no_room_the_error_is_left_out_and_then_the_hop_is_refused);
    tcase_add_test(tests, an_id_too_long_for_the_property_travels_in_its_header);
    return run_suite(suite);
}
