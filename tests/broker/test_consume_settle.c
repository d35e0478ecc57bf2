/* Where messages go after their handler, and what their copies carry. */
#include "broker/consuming.h"

static void open_with_queue(consume_bench *bench, const char *name)
{
    bench_open(bench, name);
    declare_queue(bench, bench->queue, "quorum", 0);
}

static ace_delivery *dead_letter_of(consume_bench *bench, recorder *record,
                                    const ace_policy *policy, const ace_head *head)
{
    ace_consumer *consumer = consume(bench, record, policy);
    put_raw(bench, bench->queue, "body", 4, head);
    ace_delivery *dead = take_from(bench, dlq(bench));
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    return dead;
}

/* --- the rows of the table --- */

START_TEST(without_a_policy_one_failure_dead_letters)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    open_with_queue(&bench, "none");
    ace_delivery *dead = dead_letter_of(&bench, &record, NULL, NULL);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    assert_text(ace_delivery_envelope(dead)->error, "exhausted 1 attempts: no reason given");
    ck_assert_int_eq(ace_delivery_envelope(dead)->attempt, 1);
    ace_delivery_free(dead);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_rejected_message_dead_letters_at_once_whatever_the_policy)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_REJECTED, .reason = "not ours"};
    ace_policy policy = ace_policy_fixed(5, 10);
    open_with_queue(&bench, "rejected");
    ace_delivery *dead = dead_letter_of(&bench, &record, &policy, NULL);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    assert_text(ace_delivery_envelope(dead)->error,
                "the handler reported an unprocessable message: not ours");
    ace_delivery_free(dead);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_parked_message_goes_to_the_parking_lot)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_PARKED, .reason = "later"};
    open_with_queue(&bench, "parked");
    ace_consumer *consumer = consume(&bench, &record, NULL);
    put_text(&bench, "x");
    ace_delivery *parked = take_from(&bench, named(&bench, ".parked"));
    assert_text(ace_delivery_envelope(parked)->error, "the handler parked it: later");
    AWAIT(counted(consumer).in_flight == 0);
    AWAIT(counted(consumer).parked == 1);
    AWAIT(counted(consumer).rejected == 1);
    ace_delivery_free(parked);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(what_does_not_decode_is_parked_and_meets_no_handler)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED};
    open_with_queue(&bench, "undecodable");
    ace_consumer_options options = options_of(&bench, &record, NULL);
    options.codec = ace_codec_find("json");
    ace_consumer *consumer = consume_with(&bench, &options);
    put_text(&bench, "{\"broken\":");
    put_text(&bench, "{\"whole\":1}");
    ace_delivery *parked = take_from(&bench, named(&bench, ".parked"));
    assert_text(ace_delivery_body(parked), "{\"broken\":");
    ck_assert_int_eq(strncmp((const char *)ace_delivery_envelope(parked)->error.data,
                             "could not be decoded: ", 22),
                     0);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    ck_assert_str_eq(record.bodies[0], "{\"whole\":1}");
    ace_delivery_free(parked);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(pulling_parks_what_no_codec_takes_and_goes_on)
{
    consume_bench bench;
    ace_head head = ACE_HEAD_INIT;
    open_with_queue(&bench, "foreign_type");
    ace_consumer_options options = options_of(&bench, NULL, NULL);
    options.codec = ace_codec_find("json");
    ace_consumer *consumer = consume_with(&bench, &options);
    head.properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG;
    head.properties.content_type = amqp_cstring_bytes("image/png");
    put_raw(&bench, bench.queue, "1", 1, &head);
    put_text(&bench, "2");
    ace_delivery *delivery = NULL;
    MUST(ace_consumer_next(consumer, soon(), NULL, &delivery, &error));
    assert_text(ace_delivery_body(delivery), "2");
    MUST(ace_delivery_settle(delivery, ACE_ACCEPTED, NULL, &error));
    ace_delivery_free(delivery);
    ace_delivery *parked = take_from(&bench, named(&bench, ".parked"));
    assert_text(ace_delivery_body(parked), "1");
    ck_assert_str_eq(ace_delivery_property(parked, ACE_PROPERTY_CONTENT_TYPE), "image/png");
    ace_delivery_free(parked);
    AWAIT(counted(consumer).in_flight == 0);
    AWAIT(counted(consumer).delivered == 1);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_message_past_its_age_dead_letters_and_one_without_an_age_does_not)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED, .reason = "why"};
    ace_policy policy = ace_policy_fixed(2, 10);
    policy.max_age = 60000;
    open_with_queue(&bench, "age");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    ace_head head;
    head_with_id(&head, "old");
    MUST(ace_table_set_int64(&head.headers, ACE_HEADER_FIRST_SEEN,
                             ace_clock_wall(ace_clock_system()) - 120000, &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "x", 1, &head);
    ace_delivery *dead = take_from(&bench, dlq(&bench));
    ck_assert_int_eq(atomic_load(&record.calls), 1);
    assert_text(ace_delivery_envelope(dead)->error, "exceeded the maximum message age of 1m: why");
    ace_delivery_free(dead);
    /* 0 is no time, and not 1970. */
    MUST(ace_table_set_int64(&head.headers, ACE_HEADER_FIRST_SEEN, 0, &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "x", 1, &head);
    dead = take_from(&bench, dlq(&bench));
    ck_assert_int_eq(atomic_load(&record.calls), 3);
    assert_text(ace_delivery_envelope(dead)->error, "exhausted 2 attempts: why");
    ck_assert_int_gt(ace_delivery_envelope(dead)->first_seen, 0);
    ace_delivery_free(dead);
    ace_head_release(&head);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(requeue_on_failure_goes_straight_back_after_a_second_and_only_for_failures)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_REJECTED, .fail_first = 1};
    open_with_queue(&bench, "requeue");
    ace_consumer_options options = options_of(&bench, &record, NULL);
    options.requeue_on_failure = true;
    ace_consumer *consumer = consume_with(&bench, &options);
    put_with_id(&bench, "r", "x");
    ace_delivery *dead = take_from(&bench, dlq(&bench));
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ck_assert_int_eq(record.attempts[1], 1);
    ck_assert_int_ge(record.times[1] - record.times[0], 990);
    AWAIT(counted(consumer).in_flight == 0);
    ck_assert_uint_eq(counted(consumer).retried, 0);
    AWAIT(counted(consumer).rejected == 2);
    AWAIT(counted(consumer).dead_lettered == 1);
    ace_delivery_free(dead);
    ace_consumer_release(consumer);
    bench_close(&bench, NULL);
}
END_TEST

/* --- the ladder --- */

START_TEST(a_policy_of_seconds_waits_here_then_in_rungs_then_dead_letters)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED, .reason = "no"};
    ace_policy policy = ace_policy_exponential(4, 500, 0); /* 500 ms here, 1 s and 2 s there */
    policy.threshold = 1000;
    open_with_queue(&bench, "ladder");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    ck_assert_int_eq(count_of(&bench, named(&bench, ".retry.1s")), 0);
    ck_assert_int_eq(count_of(&bench, named(&bench, ".retry.2s")), 0);
    ck_assert_int_eq(count_of(&bench, named(&bench, ".retry.500ms")), -1);
    ace_head head;
    head_with_id(&head, "climber");
    MUST(ace_table_set_uint8(&head.headers, "tiny", 7, &error));
    MUST(ace_table_set_text(&head.headers, "x-acemq-unknown", "kept", &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "b\0dy", 4, &head);
    ace_head_release(&head);
    ace_delivery *dead = take_from(&bench, dlq(&bench));
    ck_assert_int_eq(atomic_load(&record.calls), 4);
    const int64_t least[] = {390, 990, 1990};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_ge(record.times[i + 1] - record.times[i], least[i]);
        ck_assert_int_eq(record.attempts[i], i + 1);
    }
    ck_assert_int_eq(record.attempts[3], 4);
    ck_assert_uint_eq(ace_delivery_body(dead).length, 4);
    ck_assert_mem_eq(ace_delivery_body(dead).data, "b\0dy", 4);
    assert_text(ace_delivery_envelope(dead)->id, "climber");
    ck_assert_int_eq(ace_delivery_envelope(dead)->attempt, 4);
    ck_assert_int_eq(header_of(dead, "tiny")->kind, AMQP_FIELD_KIND_U8);
    ck_assert_ptr_nonnull(header_of(dead, "x-acemq-unknown"));
    ck_assert_ptr_null(header_of(dead, "x-delivery-count"));
    ck_assert_ptr_null(ace_table_find(&ace_delivery_headers(dead)->table, "x-acemq-unknown"));
    ace_delivery_free(dead);
    AWAIT(counted(consumer).in_flight == 0);
    AWAIT(counted(consumer).retried == 3);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.1s", ".retry.2s", NULL});
}
END_TEST

START_TEST(a_short_wait_behind_a_long_one_returns_first)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 2};
    ace_policy policy = ace_policy_exponential(3, 1000, 0);
    policy.multiplier = 4;
    policy.threshold = 1000;
    open_with_queue(&bench, "short");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    ace_head head;
    head_with_id(&head, "long"); /* its next wait is the second, of 4 s */
    MUST(ace_table_set_int32(&head.headers, ACE_HEADER_ATTEMPT, 2, &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "long", 4, &head);
    ace_head_release(&head);
    AWAIT(atomic_load(&record.calls) == 1);
    put_with_id(&bench, "short", "short");
    AWAIT(atomic_load(&record.calls) == 4);
    ck_assert_str_eq(record.bodies[2], "short");
    ck_assert_str_eq(record.bodies[3], "long");
    ck_assert_int_lt(record.times[2] - record.times[1], 3000);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.1s", ".retry.4s", NULL});
}
END_TEST

START_TEST(what_waits_in_a_rung_comes_back_to_a_source_that_was_made_again)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 4000);
    policy.threshold = 1000;
    open_with_queue(&bench, "made_again");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    put_with_id(&bench, "traveller", "x");
    AWAIT(count_of(&bench, named(&bench, ".retry.4s")) == 1);
    AWAIT(counted(consumer).in_flight == 0);
    delete_queue(&bench, bench.queue);
    AWAIT(!ace_consumer_is_subscribed(consumer));
    declare_queue(&bench, bench.queue, "quorum", 0);
    AWAIT(ace_consumer_is_subscribed(consumer));
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(record.attempts[1], 2);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.4s", NULL});
}
END_TEST

/* --- what a copy carries --- */

static void set_array_of(ace_head *head, const char *name, const char *text)
{
    amqp_field_value_t entry = {.kind = AMQP_FIELD_KIND_UTF8};
    entry.value.bytes = amqp_cstring_bytes(text);
    amqp_array_t array = {.num_entries = 1, .entries = &entry};
    MUST(ace_table_set_array(&head->headers, name, &array, &error));
    ace_head_seal(head);
}

START_TEST(a_message_with_cc_dead_letters_in_one_copy_and_is_not_taken_for_routed)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    open_with_queue(&bench, "cc");
    const char *other = named(&bench, ".other");
    declare_queue(&bench, other, "classic", 0);
    ace_consumer *consumer = consume(&bench, &record, NULL);
    ace_head head;
    for (int round = 0; round < 2; round++) {
        if (round == 1) { /* gone, so that a copy to the other alone would look routed */
            delete_queue(&bench, dlq(&bench));
        }
        head_with_id(&head, "copied");
        set_array_of(&head, "CC", other);
        put_raw(&bench, bench.queue, "x", 1, &head);
        ace_head_release(&head);
        ace_delivery_free(take_from(&bench, other)); /* the publisher's own copy */
        ace_delivery *dead = take_from(&bench, dlq(&bench));
        ck_assert_ptr_null(header_of(dead, "CC"));
        ace_delivery_free(dead);
        AWAIT(counted(consumer).in_flight == 0);
        ck_assert_int_eq(count_of(&bench, other), 0);
        ck_assert_int_eq(count_of(&bench, dlq(&bench)), 0);
    }
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ace_consumer_release(consumer);
    delete_queue(&bench, other);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(a_message_that_had_died_before_comes_back_from_its_rung)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_ACCEPTED, .fail_first = 1};
    ace_policy policy = ace_policy_fixed(2, 1000);
    policy.threshold = 1000;
    open_with_queue(&bench, "died");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    /* As the broker would have written it when the message expired in its source. */
    ace_head head;
    ace_table death = ACE_TABLE_INIT;
    head_with_id(&head, "undead");
    MUST(ace_table_set_text(&death, "queue", bench.queue, &error));
    MUST(ace_table_set_text(&death, "reason", "expired", &error));
    MUST(ace_table_set_text(&death, "exchange", "", &error));
    MUST(ace_table_set_int64(&death, "count", 1, &error));
    amqp_field_value_t entry = {.kind = AMQP_FIELD_KIND_TABLE, .value = {.table = death.table}};
    amqp_array_t deaths = {.num_entries = 1, .entries = &entry};
    MUST(ace_table_set_array(&head.headers, "x-death", &deaths, &error));
    MUST(ace_table_set_text(&head.headers, "x-first-death-queue", bench.queue, &error));
    ace_head_seal(&head);
    put_raw(&bench, bench.queue, "x", 1, &head);
    AWAIT(counted(consumer).acknowledged == 1);
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ck_assert_int_eq(record.attempts[1], 2);
    ace_table_release(&death);
    ace_head_release(&head);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.1s", NULL});
}
END_TEST

START_TEST(a_foreign_user_and_a_gzip_encoding_travel_as_they_may)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 10);
    open_with_queue(&bench, "gzip");
    ace_head head;
    head_with_id(&head, "zipped");
    head.properties._flags |= AMQP_BASIC_CONTENT_ENCODING_FLAG | AMQP_BASIC_USER_ID_FLAG |
                              AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_TIMESTAMP_FLAG;
    head.properties.content_encoding = amqp_cstring_bytes("gzip");
    head.properties.user_id = amqp_cstring_bytes("guest");
    head.properties.priority = 4;
    head.properties.timestamp = UINT64_C(1700000000000); /* milliseconds where seconds belong */
    ace_delivery *dead = dead_letter_of(&bench, &record, &policy, &head);
    ck_assert_int_eq(atomic_load(&record.calls), 2);
    ck_assert_str_eq(ace_delivery_property(dead, ACE_PROPERTY_CONTENT_ENCODING), "gzip");
    ck_assert_ptr_null(ace_delivery_property(dead, ACE_PROPERTY_USER_ID));
    ck_assert_str_eq(ace_delivery_property(dead, ACE_PROPERTY_MESSAGE_ID), "zipped");
    int64_t number = 0;
    ck_assert(ace_delivery_property_number(dead, ACE_PROPERTY_DELIVERY_MODE, &number));
    ck_assert_int_eq(number, 2);
    ck_assert(ace_delivery_property_number(dead, ACE_PROPERTY_PRIORITY, &number));
    ck_assert_int_eq(number, 4);
    ck_assert(ace_delivery_property_number(dead, ACE_PROPERTY_TIMESTAMP, &number));
    ck_assert_int_eq(number, INT64_C(1700000000000));
    ace_delivery_free(dead);
    ace_head_release(&head);
    bench_close(&bench, NULL);
}
END_TEST

START_TEST(bodies_at_the_edges_of_frames_and_of_eight_megabytes_survive_a_rung)
{
    consume_bench bench;
    recorder record = {.outcome = ACE_FAILED};
    ace_policy policy = ace_policy_fixed(2, 1000);
    policy.threshold = 1000;
    open_with_queue(&bench, "frames");
    ace_consumer *consumer = consume(&bench, &record, &policy);
    size_t room = ace_link_frame_max(bench.connection->publishing) - 8;
    const size_t sizes[] = {room - 1, room, room + 1, 2 * room, (size_t)8 << 20};
    const size_t count = sizeof sizes / sizeof *sizes;
    uint8_t *body = malloc(sizes[count - 1]);
    ck_assert_ptr_nonnull(body);
    for (size_t i = 0; i < sizes[count - 1]; i++) {
        body[i] = (uint8_t)(i * 31 + i / 251);
    }
    for (size_t i = 0; i < count; i++) {
        put_raw(&bench, bench.queue, body, sizes[i], NULL);
    }
    for (size_t i = 0; i < count; i++) {
        ace_delivery *dead = take_from(&bench, dlq(&bench));
        ck_assert_uint_eq(ace_delivery_body(dead).length, sizes[i]);
        ck_assert_mem_eq(ace_delivery_body(dead).data, body, sizes[i]);
        ace_delivery_free(dead);
    }
    free(body);
    AWAIT(counted(consumer).in_flight == 0);
    ace_consumer_release(consumer);
    bench_close(&bench, (const char *const[]){".retry.1s", NULL});
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, without_a_policy_one_failure_dead_letters);
    tcase_add_test(tcase, a_rejected_message_dead_letters_at_once_whatever_the_policy);
    tcase_add_test(tcase, a_parked_message_goes_to_the_parking_lot);
    tcase_add_test(tcase, what_does_not_decode_is_parked_and_meets_no_handler);
    tcase_add_test(tcase, pulling_parks_what_no_codec_takes_and_goes_on);
    tcase_add_test(tcase, a_message_past_its_age_dead_letters_and_one_without_an_age_does_not);
    tcase_add_test(tcase,
                   requeue_on_failure_goes_straight_back_after_a_second_and_only_for_failures);
    tcase_add_test(tcase, a_policy_of_seconds_waits_here_then_in_rungs_then_dead_letters);
    tcase_add_test(tcase, a_short_wait_behind_a_long_one_returns_first);
    tcase_add_test(tcase, what_waits_in_a_rung_comes_back_to_a_source_that_was_made_again);
    tcase_add_test(tcase, a_message_with_cc_dead_letters_in_one_copy_and_is_not_taken_for_routed);
    tcase_add_test(tcase, a_message_that_had_died_before_comes_back_from_its_rung);
    tcase_add_test(tcase, a_foreign_user_and_a_gzip_encoding_travel_as_they_may);
    tcase_add_test(tcase, bodies_at_the_edges_of_frames_and_of_eight_megabytes_survive_a_rung);
}

int main(void)
{
    return run_suite(suite_on_both("consume_settle", 60, add_tests));
}
