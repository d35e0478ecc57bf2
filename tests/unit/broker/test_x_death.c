/* The record of deaths by itself: order, counts, cycles. */
#include "broker/x_death.h"

#include <check.h>
#include <stdlib.h>

static ace_table headers;

static void start(void)
{
    headers = (ace_table)ACE_TABLE_INIT;
}

static void stop(void)
{
    ace_table_release(&headers);
}

static void die(const char *queue, const char *reason)
{
    ace_bytes key = ace_bytes_of("key");
    ace_broker_death death = {.reason = reason,
                              .queue = ace_bytes_of(queue),
                              .exchange = ace_bytes_of("exchange"),
                              .keys = &key,
                              .key_count = 1,
                              .seconds = 1700000000};

    ck_assert_int_eq(ace_broker_x_death_record(&headers, &death, NULL), ACE_OK);
}

static const amqp_table_t *death_at(int index)
{
    const amqp_field_value_t *deaths = ace_table_find(&headers.table, "x-death");

    ck_assert_ptr_nonnull(deaths);
    ck_assert_int_eq(deaths->kind, AMQP_FIELD_KIND_ARRAY);
    ck_assert_int_lt(index, deaths->value.array.num_entries);
    ck_assert_int_eq(deaths->value.array.entries[index].kind, AMQP_FIELD_KIND_TABLE);
    return &deaths->value.array.entries[index].value.table;
}

static void expect_death(int index, const char *queue, const char *reason, int64_t count)
{
    const amqp_table_t *death = death_at(index);
    const amqp_field_value_t *counted = ace_table_find(death, "count");

    ck_assert(ace_bytes_equal_text(ace_bytes_from_amqp(ace_table_find(death, "queue")->value.bytes),
                                   queue));
    ck_assert(ace_bytes_equal_text(
        ace_bytes_from_amqp(ace_table_find(death, "reason")->value.bytes), reason));
    ck_assert_int_eq(counted->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(counted->value.i64, count);
}

static int deaths(void)
{
    return ace_table_find(&headers.table, "x-death")->value.array.num_entries;
}

static void expect_names(const amqp_table_t *table, const char *const *names, int count)
{
    ck_assert_int_eq(table->num_entries, count);
    for (int i = 0; i < count; i++)
        ck_assert(ace_bytes_equal_text(ace_bytes_from_amqp(table->entries[i].key), names[i]));
}

START_TEST(the_first_death_is_written_in_its_own_order_and_marked)
{
    static const char *const fields[] = {
        "count", "reason", "queue", "time", "exchange", "routing-keys", "original-expiration"};
    static const char *const names[] = {"a", "x-death", "x-first-death-exchange",
                                        "x-first-death-queue", "x-first-death-reason"};
    ace_bytes key = ace_bytes_of("key");
    ace_broker_death death = {.reason = "expired",
                              .queue = ace_bytes_of("q"),
                              .exchange = ace_bytes_of("x"),
                              .keys = &key,
                              .key_count = 1,
                              .seconds = 1700000000,
                              .original_expiration = ace_bytes_of("5000")};
    const amqp_field_value_t *time;

    ck_assert_int_eq(ace_table_set_int32(&headers, "a", 1, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_x_death_record(&headers, &death, NULL), ACE_OK);
    expect_names(&headers.table, names, 5);
    expect_names(death_at(0), fields, 7);
    expect_death(0, "q", "expired", 1);
    time = ace_table_find(death_at(0), "time");
    ck_assert_int_eq(time->kind, AMQP_FIELD_KIND_TIMESTAMP);
    ck_assert_uint_eq(time->value.u64, 1700000000);
}
END_TEST

START_TEST(the_same_death_again_is_counted_and_comes_to_the_front)
{
    static const char *const sorted[] = {"count",  "exchange",     "queue",
                                         "reason", "routing-keys", "time"};

    die("rung", "expired");
    die("source", "rejected");
    expect_death(0, "source", "rejected", 1);
    expect_death(1, "rung", "expired", 1);
    die("rung", "expired");
    ck_assert_int_eq(deaths(), 2);
    expect_death(0, "rung", "expired", 2);
    expect_death(1, "source", "rejected", 1);
    expect_names(death_at(0), sorted, 6);
    ck_assert(ace_bytes_equal_text(
        ace_bytes_from_amqp(ace_table_find(&headers.table, "x-first-death-queue")->value.bytes),
        "rung"));
}
END_TEST

START_TEST(another_reason_in_the_same_queue_is_another_death)
{
    die("q", "expired");
    die("q", "rejected");
    ck_assert_int_eq(deaths(), 2);
    expect_death(0, "q", "rejected", 1);
    expect_death(1, "q", "expired", 1);
}
END_TEST

/* Seen on RabbitMQ 3.10: see foreign_client_pika.py, which holds it to the same. */
START_TEST(earlier_deaths_turn_round_with_every_new_one)
{
    die("1", "rejected");
    die("2", "rejected");
    die("3", "rejected");
    expect_death(0, "3", "rejected", 1);
    expect_death(1, "1", "rejected", 1);
    expect_death(2, "2", "rejected", 1);
    die("4", "rejected");
    expect_death(0, "4", "rejected", 1);
    expect_death(1, "2", "rejected", 1);
    expect_death(2, "1", "rejected", 1);
    expect_death(3, "3", "rejected", 1);
}
END_TEST

START_TEST(what_is_no_array_is_replaced)
{
    ck_assert_int_eq(ace_table_set_text(&headers, "x-death", "gone through a proxy", NULL), ACE_OK);
    die("q", "expired");
    ck_assert_int_eq(deaths(), 1);
    expect_death(0, "q", "expired", 1);
    ck_assert_ptr_null(ace_table_find(&headers.table, "x-first-death-queue"));
}
END_TEST

START_TEST(a_count_of_another_width_goes_on)
{
    amqp_table_entry_t fields[3] = {
        {amqp_cstring_bytes("count"), {.kind = AMQP_FIELD_KIND_I32, .value.i32 = 41}},
        {amqp_cstring_bytes("queue"),
         {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("q")}},
        {amqp_cstring_bytes("reason"),
         {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("expired")}}};
    amqp_field_value_t death = {.kind = AMQP_FIELD_KIND_TABLE, .value.table = {3, fields}};
    amqp_array_t array = {1, &death};

    ck_assert_int_eq(ace_table_set_array(&headers, "x-death", &array, NULL), ACE_OK);
    die("q", "expired");
    expect_death(0, "q", "expired", 42);
}
END_TEST

START_TEST(a_way_without_rejection_back_to_a_queue_is_a_cycle)
{
    ck_assert(!ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("source")));
    die("source", "expired");
    ck_assert(ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("source")));
    ck_assert(!ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("rung")));
    die("rung", "expired");
    ck_assert(ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("source")));
    ck_assert(ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("rung")));
}
END_TEST

START_TEST(a_rejection_on_the_way_breaks_a_cycle)
{
    die("source", "rejected");
    die("rung", "expired");
    ck_assert(!ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("source")));
    ck_assert(ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("rung")));
}
END_TEST

START_TEST(what_a_client_wrote_there_was_not_automatic)
{
    amqp_field_value_t text = {.kind = AMQP_FIELD_KIND_UTF8,
                               .value.bytes = amqp_cstring_bytes("odd")};
    amqp_array_t array = {1, &text};

    ck_assert_int_eq(ace_table_set_array(&headers, "x-death", &array, NULL), ACE_OK);
    ck_assert(!ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("q")));
    die("q", "expired");
    ck_assert(ace_broker_x_death_is_cycle(&headers.table, ace_bytes_of("q")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("x-death");
    TCase *tcase = tcase_create("x-death");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, the_first_death_is_written_in_its_own_order_and_marked);
    tcase_add_test(tcase, the_same_death_again_is_counted_and_comes_to_the_front);
    tcase_add_test(tcase, another_reason_in_the_same_queue_is_another_death);
    tcase_add_test(tcase, earlier_deaths_turn_round_with_every_new_one);
    tcase_add_test(tcase, what_is_no_array_is_replaced);
    tcase_add_test(tcase, a_count_of_another_width_goes_on);
    tcase_add_test(tcase, a_way_without_rejection_back_to_a_queue_is_a_cycle);
    tcase_add_test(tcase, a_rejection_on_the_way_breaks_a_cycle);
    tcase_add_test(tcase, what_a_client_wrote_there_was_not_automatic);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
