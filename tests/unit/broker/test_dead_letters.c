/* Dead letters through a broker, on a clock that stands still between steps. */
#include "support/wire_client.h"

#include "contract/table.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL INT64_C(1700000000000)

static ace_clock *manual;
static ace_broker *broker;
static ace_wire_client *client;

static void start(void)
{
    ace_broker_options options;

    manual = ace_clock_manual(1000000, WALL);
    ck_assert_ptr_nonnull(manual);
    ace_broker_options_init(&options);
    options.clock = manual;
    ck_assert_int_eq(ace_broker_start(&options, &broker, NULL), ACE_OK);
    client = ace_wire_client_login(broker);
}

static void stop(void)
{
    ace_wire_client_free(client);
    ace_broker_release(broker);
    ace_clock_free(manual);
}

static void declare_to(const char *queue, const char *exchange, const char *key, int64_t ttl)
{
    amqp_table_t arguments =
        ace_wire_table(client, "x-dead-letter-exchange", 's', exchange, "x-dead-letter-routing-key",
                       's', key, ttl < 0 ? NULL : "x-message-ttl", 'i', ttl, NULL);

    ace_wire_declare(client, queue, &arguments);
}

static const amqp_table_t *death_at(int index)
{
    const amqp_field_value_t *deaths = ace_wire_header(client, "x-death");

    ck_assert_ptr_nonnull(deaths);
    ck_assert_int_lt(index, deaths->value.array.num_entries);
    return &deaths->value.array.entries[index].value.table;
}

static void expect_text(const amqp_table_t *table, const char *name, const char *text)
{
    ck_assert_str_eq(ace_wire_text(client, ace_table_find(table, name)), text);
}

START_TEST(an_expired_message_has_the_brokers_time_and_no_expiration)
{
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("q")};
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                  AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_TIMESTAMP_FLAG,
        .expiration = amqp_cstring_bytes("2500"),
        .message_id = amqp_cstring_bytes("id"),
        .delivery_mode = 2,
        .timestamp = 12345};

    ace_wire_declare(client, "dlq", NULL);
    declare_to("q", "", "dlq", -1);
    ace_wire_publish(client, 1, &publish, &properties, ace_bytes_of("x"));
    ace_wire_wait_count(client, "q", 1);
    ace_clock_advance(manual, 2500);
    ace_wire_wait_get(client, "dlq", "x");
    ck_assert(!(client->content->properties->_flags & AMQP_BASIC_EXPIRATION_FLAG));
    ck_assert_uint_eq(client->content->properties->_flags & (amqp_flags_t)~AMQP_BASIC_HEADERS_FLAG,
                      properties._flags & (amqp_flags_t)~AMQP_BASIC_EXPIRATION_FLAG);
    expect_text(death_at(0), "reason", "expired");
    expect_text(death_at(0), "original-expiration", "2500");
    ck_assert_uint_eq(ace_table_find(death_at(0), "time")->value.u64, (WALL + 2500) / 1000);
}
END_TEST

START_TEST(unsigned_integers_come_back_signed_and_the_rest_as_it_was)
{
    amqp_table_entry_t fields[] = {
        {amqp_cstring_bytes("big"), {.kind = AMQP_FIELD_KIND_U64, .value.u64 = 5}},
        {amqp_cstring_bytes("float"), {.kind = AMQP_FIELD_KIND_F32, .value.f32 = 1.5F}},
        {amqp_cstring_bytes("small"), {.kind = AMQP_FIELD_KIND_U8, .value.u8 = 200}}};
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("q")};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {3, fields}};
    uint64_t tag;

    ace_wire_declare(client, "dlq", NULL);
    declare_to("q", "", "dlq", -1);
    ace_wire_publish(client, 1, &publish, &properties, ace_bytes_of("x"));
    tag = ace_wire_wait_get(client, "q", "x");
    ace_wire_nack(client, tag, false, false);
    ace_wire_wait_get(client, "dlq", "x");
    ck_assert_int_eq(ace_wire_header(client, "big")->kind, AMQP_FIELD_KIND_I64);
    ck_assert_int_eq(ace_wire_header(client, "big")->value.i64, 5);
    ck_assert_int_eq(ace_wire_header(client, "float")->kind, AMQP_FIELD_KIND_F32);
    ck_assert_int_eq(ace_wire_header(client, "small")->kind, AMQP_FIELD_KIND_U8);
    ck_assert_uint_eq(ace_wire_header(client, "small")->value.u8, 200);
}
END_TEST

START_TEST(a_rung_brings_the_message_back_and_counts_both_deaths)
{
    ace_wire_declare(client, "dlq", NULL);
    declare_to("rung", "", "source", 1000);
    declare_to("source", "", "rung", -1);
    ace_wire_publish_text(client, "source", "x");
    for (int i = 0; i < 3; i++) {
        ace_wire_nack(client, ace_wire_wait_get(client, "source", "x"), false, false);
        ace_wire_wait_count(client, "rung", 1);
        ace_clock_advance(manual, 1000);
    }
    ace_wire_wait_get(client, "source", "x");
    ck_assert_int_eq(ace_wire_header(client, "x-death")->value.array.num_entries, 2);
    expect_text(death_at(0), "queue", "rung");
    ck_assert_int_eq(ace_table_find(death_at(0), "count")->value.i64, 3);
    expect_text(death_at(1), "queue", "source");
    ck_assert_int_eq(ace_table_find(death_at(1), "count")->value.i64, 3);
}
END_TEST

START_TEST(
    a_message_that_expired_in_its_source_is_dropped_at_the_rungs_end_unless_its_deaths_are_taken_off)
{
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("rung")};

    ace_wire_declare(client, "source.dlq", NULL);
    declare_to("source", "", "source.dlq", 500);
    declare_to("rung", "", "source", 10);
    ace_wire_publish_text(client, "source", "x");
    ace_wire_wait_count(client, "source", 1);
    ace_clock_advance(manual, 500);
    ace_wire_wait_get(client, "source.dlq", "x");
    ace_wire_publish(client, 1, &publish, client->content->properties, ace_bytes_of("with"));
    ace_wire_publish_text(client, "rung", "without");
    ace_wire_wait_count(client, "rung", 2);
    ace_clock_advance(manual, 10);
    ace_wire_wait_get(client, "source", "without");
    ck_assert_uint_eq(ace_wire_count(client, "source"), 0);
    ck_assert_uint_eq(ace_wire_count(client, "rung"), 0);
}
END_TEST

START_TEST(two_ttl_queues_do_not_go_round_for_ever)
{
    declare_to("a", "", "b", 10);
    declare_to("b", "", "a", 10);
    ace_wire_publish_text(client, "a", "x");
    ace_wire_wait_count(client, "a", 1);
    ace_clock_advance(manual, 10);
    ace_wire_wait_count(client, "b", 1);
    ace_clock_advance(manual, 10);
    ace_wire_wait_count(client, "b", 0);
    ck_assert_uint_eq(ace_wire_count(client, "a"), 0);
}
END_TEST

/* Each of the queues drops into the next one: as deep as there are queues, were it done by
 * recursion. */
START_TEST(a_long_chain_of_full_queues_is_worked_off)
{
    enum { LENGTH = 150 };
    char name[16];
    char next[16];

    ace_wire_declare(client, "q150", NULL);
    for (int i = 0; i < LENGTH; i++) {
        amqp_table_t arguments;

        snprintf(name, sizeof(name), "q%d", i);
        snprintf(next, sizeof(next), "q%d", i + 1);
        arguments =
            ace_wire_table(client, "x-dead-letter-exchange", 's', "", "x-dead-letter-routing-key",
                           's', ace_arena_text(&client->arena, next, strlen(next)), "x-max-length",
                           'i', INT64_C(0), NULL);
        ace_wire_declare(client, name, &arguments);
    }
    ace_wire_publish_text(client, "q0", "x");
    ace_wire_wait_get(client, "q150", "x");
    ck_assert_int_eq(ace_wire_header(client, "x-death")->value.array.num_entries, LENGTH);
}
END_TEST

START_TEST(a_dead_letter_exchange_that_is_missing_drops_the_message)
{
    declare_to("q", "nowhere", "k", -1);
    ace_wire_publish_text(client, "q", "x");
    ace_wire_nack(client, ace_wire_wait_get(client, "q", "x"), false, false);
    ck_assert_uint_eq(ace_wire_count(client, "q"), 0);
}
END_TEST

START_TEST(a_carbon_copy_is_not_sent_again_under_a_key_of_the_queues_own)
{
    amqp_field_value_t copy = {.kind = AMQP_FIELD_KIND_UTF8,
                               .value.bytes = amqp_cstring_bytes("other")};
    amqp_table_entry_t field = {amqp_cstring_bytes("CC"),
                                {.kind = AMQP_FIELD_KIND_ARRAY, .value.array = {1, &copy}}};
    amqp_basic_publish_t publish = {.routing_key = amqp_cstring_bytes("q")};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG,
                                          .headers = {1, &field}};

    ace_wire_declare(client, "other", NULL);
    ace_wire_declare(client, "dlq", NULL);
    declare_to("q", "", "dlq", -1);
    ace_wire_publish(client, 1, &publish, &properties, ace_bytes_of("x"));
    ace_wire_wait_count(client, "other", 1);
    ace_wire_nack(client, ace_wire_wait_get(client, "q", "x"), false, false);
    ace_wire_wait_get(client, "dlq", "x");
    ck_assert_ptr_null(ace_wire_header(client, "CC"));
    ck_assert_int_eq(ace_table_find(death_at(0), "routing-keys")->value.array.num_entries, 2);
    ck_assert_uint_eq(ace_wire_count(client, "other"), 1);
}
END_TEST

START_TEST(at_least_once_waits_for_a_queue_that_takes_the_message)
{
    amqp_table_t arguments = ace_wire_table(
        client, "x-queue-type", 's', "quorum", "x-dead-letter-exchange", 's', "",
        "x-dead-letter-routing-key", 's', "later", "x-dead-letter-strategy", 's', "at-least-once",
        "x-overflow", 's', "reject-publish", "x-message-ttl", 'i', INT64_C(100), NULL);

    ace_wire_declare(client, "durable-rung", &arguments);
    ace_wire_publish_text(client, "durable-rung", "x");
    ace_wire_wait_count(client, "durable-rung", 1);
    ace_clock_advance(manual, 100);
    ace_wire_wait_count(client, "durable-rung", 0);
    ace_wire_declare(client, "later", NULL);
    /* RabbitMQ looks again after three minutes. */
    ace_clock_advance(manual, 179999);
    ck_assert_uint_eq(ace_wire_count(client, "later"), 0);
    ace_clock_advance(manual, 1);
    ace_wire_wait_get(client, "later", "x");
    expect_text(death_at(0), "reason", "expired");
}
END_TEST

START_TEST(at_most_once_does_not_wait)
{
    declare_to("rung", "", "later", 100);
    ace_wire_publish_text(client, "rung", "x");
    ace_wire_wait_count(client, "rung", 1);
    ace_clock_advance(manual, 100);
    ace_wire_wait_count(client, "rung", 0);
    ace_wire_declare(client, "later", NULL);
    ace_clock_advance(manual, 1000000);
    ck_assert_uint_eq(ace_wire_count(client, "later"), 0);
}
END_TEST

START_TEST(overflow_by_reject_publish_dlx_nacks_and_dead_letters)
{
    amqp_table_t arguments = ace_wire_table(
        client, "x-dead-letter-exchange", 's', "", "x-dead-letter-routing-key", 's', "dlq",
        "x-overflow", 's', "reject-publish-dlx", "x-max-length", 'i', INT64_C(1), NULL);

    ace_wire_declare(client, "dlq", NULL);
    ace_wire_declare(client, "q", &arguments);
    ace_wire_confirm_select(client);
    ace_wire_publish_text(client, "q", "1");
    ace_wire_expect(client, AMQP_BASIC_ACK_METHOD);
    ace_wire_publish_text(client, "q", "2");
    ace_wire_expect(client, AMQP_BASIC_NACK_METHOD);
    ace_wire_wait_get(client, "dlq", "2");
    expect_text(death_at(0), "reason", "maxlen");
    ace_wire_wait_get(client, "q", "1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dead letters");
    TCase *tcase = tcase_create("dead letters");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, an_expired_message_has_the_brokers_time_and_no_expiration);
    tcase_add_test(tcase, unsigned_integers_come_back_signed_and_the_rest_as_it_was);
    tcase_add_test(tcase, a_rung_brings_the_message_back_and_counts_both_deaths);
    tcase_add_test(
        tcase,
        a_message_that_expired_in_its_source_is_dropped_at_the_rungs_end_unless_its_deaths_are_taken_off);
    tcase_add_test(tcase, two_ttl_queues_do_not_go_round_for_ever);
    tcase_add_test(tcase, a_long_chain_of_full_queues_is_worked_off);
    tcase_add_test(tcase, a_dead_letter_exchange_that_is_missing_drops_the_message);
    tcase_add_test(tcase, a_carbon_copy_is_not_sent_again_under_a_key_of_the_queues_own);
    tcase_add_test(tcase, at_least_once_waits_for_a_queue_that_takes_the_message);
    tcase_add_test(tcase, at_most_once_does_not_wait);
    tcase_add_test(tcase, overflow_by_reject_publish_dlx_nacks_and_dead_letters);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
