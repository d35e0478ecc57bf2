#include "random_table.h"
#include "vectors.h"

#include "contract/limits.h"
#include "contract/properties.h"

#include <math.h>

/* What rabbitmq-c makes of it, to hold the measure against. */
static size_t encoded_by_rabbitmq_c(const amqp_table_t *table)
{
    static uint8_t space[1 << 20];
    size_t offset = 0;
    amqp_table_t copy = *table;
    ck_assert_int_eq(amqp_encode_table((amqp_bytes_t){sizeof space, space}, &copy, &offset), 0);
    return offset;
}

START_TEST(the_measure_is_what_the_codec_writes)
{
    uint64_t state = 99;
    for (int i = 0; i < 500; i++) {
        ace_table table = ACE_TABLE_INIT;
        random_entries(&state, 1, &table, i % 30);
        SUCCEEDS(ace_table_sendable("headers", &table.table, &error));
        ck_assert_uint_eq(ace_table_encoded_size(&table.table),
                          encoded_by_rabbitmq_c(&table.table));
        ace_table_release(&table);
    }
}
END_TEST

START_TEST(properties_measure_as_the_codec_writes_them)
{
    static uint8_t space[4096];
    ace_table table = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_text(&table, "a", "b", &error));
    amqp_basic_properties_t all = {
        .content_type = amqp_cstring_bytes("a/b"),
        .content_encoding = amqp_cstring_bytes("gzip"),
        .headers = table.table,
        .delivery_mode = 2,
        .priority = 3,
        .correlation_id = amqp_cstring_bytes("c"),
        .reply_to = amqp_cstring_bytes("reply"),
        .expiration = amqp_cstring_bytes("60000"),
        .message_id = amqp_cstring_bytes("message"),
        .timestamp = 7,
        .type = amqp_cstring_bytes("t"),
        .user_id = amqp_cstring_bytes("guest"),
        .app_id = amqp_cstring_bytes(""),
        .cluster_id = amqp_cstring_bytes("cluster"),
    };
    for (uint32_t flags = 0; flags < 1u << 14; flags++) {
        all._flags = flags << 2;
        int size =
            amqp_encode_properties(AMQP_BASIC_CLASS, &all, (amqp_bytes_t){sizeof space, space});
        ck_assert_int_ge(size, 2);
        ck_assert_uint_eq(ace_properties_encoded_size(&all), (size_t)size);
    }
    ace_table_release(&table);
}
END_TEST

START_TEST(setters_replace_find_and_remove)
{
    ace_table *table = ace_table_new();
    SUCCEEDS(ace_table_set_int32(table, "a", 1, &error));
    SUCCEEDS(ace_table_set_text(table, "b", "two", &error));
    SUCCEEDS(ace_table_set_void(table, "c", &error));
    SUCCEEDS(ace_table_set_text(table, "a", "one", &error));
    ck_assert_int_eq(table->table.num_entries, 3);
    ck_assert_int_eq(ace_table_find(&table->table, "a")->kind, AMQP_FIELD_KIND_UTF8);
    is_text(ace_bytes_from_amqp(table->table.entries[0].key), "a");
    ck_assert_ptr_null(ace_table_find(&table->table, "A"));
    ck_assert_ptr_null(ace_table_find(NULL, "a"));
    ck_assert(ace_table_remove(table, "b"));
    ck_assert(!ace_table_remove(table, "b"));
    ck_assert_int_eq(table->table.num_entries, 2);
    is_text(ace_bytes_from_amqp(table->table.entries[1].key), "c");
    ace_table_clear(table);
    ck_assert_int_eq(table->table.num_entries, 0);
    ace_table_delete(table);
    ace_table_delete(NULL);
}
END_TEST

START_TEST(a_header_name_of_256_bytes_is_refused)
{
    char name[257];
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    ace_table table = ACE_TABLE_INIT;
    FAILS_WITH(ace_table_set_bool(&table, name, true, &error), ACE_LIMIT,
               "header name has 256 bytes, the limit is 255");
    name[255] = '\0';
    SUCCEEDS(ace_table_set_bool(&table, name, true, &error));
    FAILS_WITH(ace_table_set_bool(&table, "", true, &error), ACE_LIMIT, "header name is empty");
    /* and inside another table, where no setter sees it */
    amqp_table_entry_t entry = {.key = {256, name}, .value = {.kind = AMQP_FIELD_KIND_VOID}};
    amqp_table_t inner = {1, &entry};
    FAILS_WITH(ace_table_set_table(&table, "t", &inner, &error), ACE_LIMIT,
               "name 1 has 256 bytes, the limit is 255");
    ck_assert_int_eq(table.table.num_entries, 1);
    ace_table_release(&table);
}
END_TEST

START_TEST(what_the_broker_closes_the_connection_over_is_refused_by_name)
{
    ace_table table = ACE_TABLE_INIT;
    FAILS_WITH(ace_table_set_double(&table, "x-rate", NAN, &error), ACE_INVALID_ARGUMENT,
               "x-rate is not a finite number");
    FAILS_WITH(ace_table_set_double(&table, "x-rate", -INFINITY, &error), ACE_INVALID_ARGUMENT,
               "x-rate");
    FAILS_WITH(ace_table_set_float(&table, "x-rate", INFINITY, &error), ACE_INVALID_ARGUMENT,
               "x-rate");
    amqp_field_value_t unknown = {.kind = 'q'};
    FAILS_WITH(ace_table_set(&table, ace_bytes_of("x-odd"), &unknown, &error), ACE_INVALID_ARGUMENT,
               "x-odd has a kind");
    amqp_array_t array = {1, &unknown};
    FAILS_WITH(ace_table_set_array(&table, "x-list", &array, &error), ACE_INVALID_ARGUMENT,
               "x-list has a kind");
    FAILS_WITH(ace_table_set_uint64(&table, "x-big", (uint64_t)INT64_MAX + 1, &error), ACE_LIMIT,
               "x-big is over 9223372036854775807");
    SUCCEEDS(ace_table_set_uint64(&table, "x-big", INT64_MAX, &error));
    SUCCEEDS(ace_table_set_timestamp(&table, "x-when", UINT64_MAX, &error));
    ck_assert_int_eq(table.table.num_entries, 2);
    ace_table_release(&table);
}
END_TEST

START_TEST(nesting_is_bounded)
{
    ace_table table = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_set_void(&table, "leaf", &error));
    for (int depth = 2; depth <= ACE_TABLE_DEPTH_MAX; depth++) {
        ace_table outer = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_set_table(&outer, "t", &table.table, &error));
        ace_table_release(&table);
        table = outer;
    }
    SUCCEEDS(ace_table_sendable("headers", &table.table, &error));
    ace_table copy = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_copy_arrived(&copy, &table.table, &error));
    same_tables(&copy.table, &table.table);
    FAILS_WITH(ace_table_set_table(&copy, "t", &table.table, &error), ACE_LIMIT,
               "nested deeper than 32 levels");
    ace_table_release(&copy);
    ace_table_release(&table);
}
END_TEST

START_TEST(reserved_names_are_refused_where_the_table_says_so)
{
    ace_table table = ACE_TABLE_INIT;
    table.refuses_reserved = true;
    FAILS_WITH(ace_table_set_bool(&table, "x-acemq-id", true, &error), ACE_RESERVED_HEADER,
               "x-acemq-id");
    FAILS_WITH(ace_table_set_bool(&table, "x-acemq-", true, &error), ACE_RESERVED_HEADER,
               "x-acemq-");
    SUCCEEDS(ace_table_set_bool(&table, "X-AceMQ-id", true, &error));
    SUCCEEDS(ace_table_set_bool(&table, "x-acemq", true, &error));
    SUCCEEDS(ace_table_set_bool(&table, "acemq-reply-to", true, &error));
    ace_table_release(&table);
}
END_TEST

START_TEST(a_copy_of_what_arrived_keeps_all_but_uint64)
{
    amqp_field_value_t inner[2] = {{.kind = AMQP_FIELD_KIND_U64, .value = {.u64 = UINT64_MAX}},
                                   {.kind = AMQP_FIELD_KIND_U32, .value = {.u32 = 7}}};
    amqp_table_entry_t entries[3] = {
        {.key = amqp_cstring_bytes("a"),
         .value = {.kind = AMQP_FIELD_KIND_U64, .value = {.u64 = 5}}},
        {.key = amqp_cstring_bytes("a"), .value = {.kind = AMQP_FIELD_KIND_VOID}},
        {.key = amqp_cstring_bytes(""),
         .value = {.kind = AMQP_FIELD_KIND_ARRAY, .value = {.array = {2, inner}}}},
    };
    amqp_table_t arrived = {3, entries};
    ace_table copy = ACE_TABLE_INIT;
    SUCCEEDS(ace_table_copy_arrived(&copy, &arrived, &error));
    ck_assert_int_eq(copy.table.num_entries, 3);
    ck_assert_int_eq(copy.table.entries[0].value.kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(copy.table.entries[0].value.value.i64, 5);
    const amqp_field_value_t *values = copy.table.entries[2].value.value.array.entries;
    ck_assert_int_eq(values[0].kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(values[0].value.i64, -1);
    ck_assert_int_eq(values[1].kind, AMQP_FIELD_KIND_U32);
    ck_assert_int_eq(inner[0].kind, AMQP_FIELD_KIND_U64);
    SUCCEEDS(ace_table_set_bool(&copy, "a", true, &error)); /* the double goes */
    ck_assert_int_eq(copy.table.num_entries, 2);
    ace_table_release(&copy);
}
END_TEST

START_TEST(equality_is_of_names_kinds_and_bits_in_any_order)
{
    uint64_t state = 5;
    ace_table a = ACE_TABLE_INIT;
    ace_table b = ACE_TABLE_INIT;
    random_entries(&state, 1, &a, 40);
    for (int i = a.table.num_entries - 1; i >= 0; i--) {
        SUCCEEDS(ace_table_set(&b, ace_bytes_from_amqp(a.table.entries[i].key),
                               &a.table.entries[i].value, &error));
    }
    ck_assert(ace_table_equal(&a.table, &b.table));
    for (int i = 0; i < 40; i++) {
        char name[64];
        amqp_bytes_t key = a.table.entries[i].key;
        snprintf(name, sizeof name, "%.*s", (int)key.len, (const char *)key.bytes);
        ace_table changed = ACE_TABLE_INIT;
        SUCCEEDS(ace_table_copy_arrived(&changed, &a.table, &error));
        SUCCEEDS(ace_table_set_text(&changed, name, "another value", &error));
        ck_assert(!ace_table_equal(&changed.table, &b.table));
        ace_table_release(&changed);
    }
    ace_table_release(&a);
    ace_table_release(&b);
}
END_TEST

START_TEST(headers_larger_than_a_frame_are_measured_before)
{
    ace_table table = ACE_TABLE_INIT;
    static char text[5000];
    memset(text, 'x', sizeof text - 1);
    SUCCEEDS(ace_table_set_text(&table, "a", text, &error));
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = table.table};
    size_t size = ace_properties_encoded_size(&properties);
    SUCCEEDS(ace_properties_sendable(&properties, size + 20, &error));
    SUCCEEDS(ace_properties_sendable(&properties, 0, &error));
    FAILS_WITH(ace_properties_sendable(&properties, size + 19, &error), ACE_LIMIT,
               "headers and properties take");
    FAILS_WITH(ace_properties_sendable(&properties, 4096, &error), ACE_LIMIT,
               "one frame holds 4076");
    FAILS_WITH(ace_properties_sendable(&properties, 3, &error), ACE_LIMIT, "one frame holds 0");
    ace_table_release(&table);
}
END_TEST

START_TEST(a_short_property_of_256_bytes_is_refused_by_name)
{
    static char text[257];
    memset(text, 'x', 256);
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = {256, text}};
    FAILS_WITH(ace_properties_sendable(&properties, 131072, &error), ACE_LIMIT,
               "message id has 256 bytes, the limit is 255");
    properties.message_id.len = 255;
    SUCCEEDS(ace_properties_sendable(&properties, 131072, &error));
    properties = (amqp_basic_properties_t){._flags = AMQP_BASIC_CONTENT_TYPE_FLAG,
                                           .content_type = {256, text}};
    FAILS_WITH(ace_properties_sendable(&properties, 131072, &error), ACE_LIMIT, "content type");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table");
    TCase *tests = case_of(suite, "table");
    tcase_add_test(tests, the_measure_is_what_the_codec_writes);
    tcase_add_test(tests, properties_measure_as_the_codec_writes_them);
    tcase_add_test(tests, setters_replace_find_and_remove);
    tcase_add_test(tests, a_header_name_of_256_bytes_is_refused);
    tcase_add_test(tests, what_the_broker_closes_the_connection_over_is_refused_by_name);
    tcase_add_test(tests, nesting_is_bounded);
    tcase_add_test(tests, reserved_names_are_refused_where_the_table_says_so);
    tcase_add_test(tests, a_copy_of_what_arrived_keeps_all_but_uint64);
    tcase_add_test(tests, equality_is_of_names_kinds_and_bits_in_any_order);
    tcase_add_test(tests, headers_larger_than_a_frame_are_measured_before);
    tcase_add_test(tests, a_short_property_of_256_bytes_is_refused_by_name);
    return run_suite(suite);
}
