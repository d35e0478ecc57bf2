/* The small tables that go with methods. */
#include "samples.h"
#include "wire/arguments.h"
#include "wire/table_measure.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static ace_arena arena;

static void setup(void)
{
    arena = (ace_arena)ACE_ARENA_INIT;
}

static void teardown(void)
{
    ace_arena_free(&arena);
}

START_TEST(arguments_are_copied_and_found_by_name)
{
    ace_arguments arguments;
    ace_arguments_init(&arguments, &arena);
    char name[16] = "x-queue-type";
    char text[16] = "quorum";
    ace_arguments_add_text(&arguments, name, text);
    memset(name, '?', sizeof name);
    memset(text, '?', sizeof text);
    ace_arguments_add_int64(&arguments, "x-message-ttl", INT64_C(315360000000));
    ace_arguments_add_int32(&arguments, "x-priority", -5);
    ace_arguments_add_bool(&arguments, "x-single-active-consumer", true);
    ace_arguments_add_text(&arguments, "empty", "");
    for (int i = 0; i < 100; i++) {
        char many[24];
        snprintf(many, sizeof many, "many-%d", i);
        ace_arguments_add_int32(&arguments, many, i);
    }
    amqp_table_t table;
    ck_assert_int_eq(ace_arguments_table(&arguments, &table, NULL), ACE_OK);
    ck_assert_int_eq(table.num_entries, 105);
    ck_assert(ace_bytes_equal_text(ace_arguments_text(&table, "x-queue-type"), "quorum"));
    const amqp_field_value_t *ttl = ace_arguments_find(&table, "x-message-ttl");
    ck_assert_int_eq(ttl->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(ttl->value.i64, INT64_C(315360000000));
    ck_assert_int_eq(ace_arguments_find(&table, "x-priority")->value.i32, -5);
    ck_assert_int_eq(ace_arguments_find(&table, "many-99")->value.i32, 99);
    ck_assert_int_eq(ace_arguments_find(&table, "empty")->kind, AMQP_FIELD_KIND_UTF8);
    ck_assert_ptr_null(ace_arguments_find(&table, "x-queue"));
    ck_assert_ptr_null(ace_arguments_text(&table, "x-priority").data);
    ck_assert_ptr_null(ace_arguments_text(&table, "missing").data);
    size_t size;
    ck_assert_int_eq(ace_table_measure(&table, "arguments", &size, NULL), ACE_OK);
}
END_TEST

START_TEST(a_client_announces_what_brokers_otherwise_keep_to_themselves)
{
    amqp_table_t properties;
    ck_assert_int_eq(
        ace_client_properties(&arena, "libacemq", "1.2.3", "billing", &properties, NULL), ACE_OK);
    ck_assert(ace_properties_have_capability(&properties, "publisher_confirms"));
    ck_assert(ace_properties_have_capability(&properties, "consumer_cancel_notify"));
    ck_assert(ace_properties_have_capability(&properties, "connection.blocked"));
    ck_assert(ace_properties_have_capability(&properties, "basic.nack"));
    ck_assert(!ace_properties_have_capability(&properties, "time_travel"));
    ck_assert(ace_bytes_equal_text(ace_arguments_text(&properties, "connection_name"), "billing"));
    ck_assert(ace_bytes_equal_text(ace_arguments_text(&properties, "version"), "1.2.3"));
    ck_assert_int_eq(ace_client_properties(&arena, "p", "v", NULL, &properties, NULL), ACE_OK);
    ck_assert_ptr_null(ace_arguments_find(&properties, "connection_name"));
    amqp_table_t none = {0, NULL};
    ck_assert(!ace_properties_have_capability(&none, "basic.nack"));
}
END_TEST

static Suite *arguments_suite(void)
{
    Suite *suite = suite_create("arguments");
    TCase *tables = tcase_create("arguments");
    tcase_set_timeout(tables, 60);
    tcase_add_checked_fixture(tables, setup, teardown);
    tcase_add_test(tables, arguments_are_copied_and_found_by_name);
    tcase_add_test(tables, a_client_announces_what_brokers_otherwise_keep_to_themselves);
    suite_add_tcase(suite, tables);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(arguments_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
