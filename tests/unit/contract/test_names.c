#include "vectors.h"

#include "contract/ladder.h"
#include "contract/names.h"

START_TEST(names_are_those_of_the_peers)
{
    json_t *vectors = vectors_read("names.json");
    const char *queue = text_of(vectors, "queue");
    ace_name name;
    SUCCEEDS(ace_name_dead_letter(queue, &name, &error));
    ck_assert_str_eq(name.text, text_of(vectors, "deadLetter"));
    SUCCEEDS(ace_name_parked(queue, &name, &error));
    ck_assert_str_eq(name.text, text_of(vectors, "parked"));
    ck_assert_str_eq(ACE_EXCHANGE_RETRY, text_of(member(vectors, "exchanges"), "retry"));
    ck_assert_str_eq(ACE_EXCHANGE_DEAD_LETTER, text_of(member(vectors, "exchanges"), "deadLetter"));
    ace_policy policy = ace_policy_none();
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "rungs"), i, row)
    {
        SUCCEEDS(ace_name_rung(queue, number_at(row, 0), &policy, &name, &error));
        ck_assert_str_eq(name.text, text_at(row, 1));
    }
    json_decref(vectors);
}
END_TEST

START_TEST(delays_render_in_one_unit)
{
    json_t *vectors = vectors_read("names.json");
    char delay[ACE_DURATION_LENGTH];
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "delays"), i, row)
    {
        ace_delay_format(number_at(row, 0), false, delay);
        ck_assert_str_eq(delay, text_at(row, 1));
    }
    json_array_foreach(list(vectors, "wholeSeconds"), i, row)
    {
        ace_delay_format(number_at(row, 0), true, delay);
        ck_assert_str_eq(delay, text_at(row, 1));
    }
    json_decref(vectors);
}
END_TEST

static void has_arguments(const json_t *row, bool durable)
{
    ace_table wanted = ACE_TABLE_INIT;
    ace_table got = ACE_TABLE_INIT;
    table_of(member(row, "arguments"), &wanted);
    SUCCEEDS(ace_rung_arguments("orders.new", number_of(row, "wait"), durable, &got, &error));
    same_tables(&got.table, &wanted.table);
    ace_table_release(&got);
    ace_table_release(&wanted);
}

START_TEST(rungs_have_exactly_their_arguments)
{
    json_t *vectors = vectors_read("names.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "rungArguments"), i, row)
    {
        ck_assert_uint_eq(json_object_size(member(row, "arguments")), 3);
        has_arguments(row, false);
    }
    const json_t *durable = member(vectors, "durableRung");
    has_arguments(durable, true);
    ace_policy policy = policy_of("fixed(2, 40s).durableRungs()");
    ace_ladder ladder = ACE_LADDER_INIT;
    SUCCEEDS(ace_ladder_build("orders.new", &policy, &ladder, &error));
    ck_assert_uint_eq(ladder.count, 1);
    ck_assert_str_eq(ladder.rungs[0].queue.text, text_of(durable, "queue"));
    ace_ladder_release(&ladder);
    json_decref(vectors);
}
END_TEST

START_TEST(a_wait_goes_to_the_smallest_rung_that_is_long_enough)
{
    json_t *vectors = vectors_read("retry.json");
    const json_t *choosing = member(vectors, "choosing");
    ace_policy policy = policy_of(text_of(choosing, "policy"));
    ace_ladder ladder = ACE_LADDER_INIT;
    SUCCEEDS(ace_ladder_build("q", &policy, &ladder, &error));
    json_t *row;
    size_t i;
    json_array_foreach(list(choosing, "cases"), i, row)
    {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "q.retry.%s", text_at(row, 1));
        ck_assert_str_eq(ace_ladder_choose(&ladder, number_at(row, 0))->queue.text, wanted);
    }
    ace_ladder_release(&ladder);
    ck_assert_ptr_null(ace_ladder_choose(&ladder, 1));
    json_decref(vectors);
}
END_TEST

START_TEST(two_billion_attempts_make_a_ladder_at_once)
{
    static const struct {
        const char *policy;
        size_t rungs;
    } rows[] = {
        {"none", 0},
        {"fixed(2147483647, 30s)", 1},
        {"fixed(2147483647, 30s).threshold(0)", 0},
        {"exponential(2147483647, 1s, 1h)", 8}, /* 32 64 128 ... 2048 s, 1 h */
        {"exponential(2147483647, 1s, 29s)", 0},
        {"exponential(2147483647, 1ms, 0)", 49}, /* 2^15 ... 2^62 ms, then the end of int64 */
        {"exponential(2147483647, 30s, 31s).multiplier(1.000000001)", 1001},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ace_policy policy = policy_of(rows[i].policy);
        ace_ladder ladder = ACE_LADDER_INIT;
        SUCCEEDS(ace_ladder_build("q", &policy, &ladder, &error));
        ck_assert_msg(ladder.count == rows[i].rungs, "%s has %zu rungs", rows[i].policy,
                      ladder.count);
        ace_ladder_release(&ladder);
    }
    ace_policy policy = policy_of("exponential(2147483647, 30s, 0).multiplier(1.000001)");
    ace_ladder ladder = ACE_LADDER_INIT;
    FAILS_WITH(ace_ladder_build("q", &policy, &ladder, &error), ACE_LIMIT, "more than 1024 waits");
    ck_assert_ptr_null(ladder.rungs);
}
END_TEST

START_TEST(one_rung_a_rendered_name)
{
    ace_policy policy =
        policy_of("exponential(6, 400ms, 0).threshold(1ms).multiplier(1.5).wholeSecondNames()");
    /* 400 600 900 1350 2025: 0s, 1s, 2s; the first wait of a name is the rung's. */
    static const int64_t waits[] = {400, 1350, 2025};
    static const char *const names[] = {"q.retry.0s", "q.retry.1s", "q.retry.2s"};
    ace_ladder ladder = ACE_LADDER_INIT;
    SUCCEEDS(ace_ladder_build("q", &policy, &ladder, &error));
    ck_assert_uint_eq(ladder.count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(ladder.rungs[i].wait, waits[i]);
        ck_assert_str_eq(ladder.rungs[i].queue.text, names[i]);
    }
    ck_assert_ptr_eq(ace_ladder_choose(&ladder, 900), &ladder.rungs[1]);
    ace_ladder_release(&ladder);
}
END_TEST

static char *name_of_length(size_t length)
{
    char *name = malloc(length + 1);
    memset(name, 'a', length);
    name[length] = '\0';
    return name;
}

START_TEST(a_base_name_whose_longest_derived_name_is_too_long_is_refused_at_once)
{
    char *longest = name_of_length(ACE_NAME_MAX - strlen(".parked"));
    SUCCEEDS(ace_base_name_check(longest, NULL, &error));
    ace_policy durable = policy_of("fixed(3, 90s).durableRungs()");
    FAILS_WITH(ace_base_name_check(longest, &durable, &error), ACE_LIMIT,
               ".retry.90s.durable has 266 bytes, the limit is 255");
    ace_policy here = policy_of("fixed(3, 1s)");
    SUCCEEDS(ace_base_name_check(longest, &here, &error));
    free(longest);
    char *fits = name_of_length(ACE_NAME_MAX - strlen(".retry.90s.durable"));
    SUCCEEDS(ace_base_name_check(fits, &durable, &error));
    free(fits);
    char *over = name_of_length(ACE_NAME_MAX - strlen(".parked") + 1);
    FAILS_WITH(ace_base_name_check(over, NULL, &error), ACE_LIMIT, "256 bytes");
    free(over);
    over = name_of_length(ACE_NAME_MAX + 1);
    FAILS_WITH(ace_base_name_check(over, NULL, &error), ACE_LIMIT,
               "queue name has 256 bytes, the limit is 255");
    free(over);
    FAILS_WITH(ace_base_name_check("", NULL, &error), ACE_INVALID_ARGUMENT, "queue name is empty");
}
END_TEST

START_TEST(limits_are_bytes_not_characters)
{
    char text[2 * 128 + 1] = "";
    for (int i = 0; i < 128; i++) {
        strcat(text, "\xc3\xa9");
    }
    FAILS_WITH(ace_name_check("routing key", ace_bytes_of(text), &error), ACE_LIMIT,
               "routing key has 256 bytes, the limit is 255");
    text[254] = '\0';
    SUCCEEDS(ace_name_check("routing key", ace_bytes_of(text), &error));
    char *letters = name_of_length(255);
    SUCCEEDS(ace_name_check("routing key", ace_bytes_of(letters), &error));
    free(letters);
    text[253] = '\0';
    FAILS_WITH(ace_name_check("routing key", ace_bytes_of(text), &error), ACE_INVALID_ARGUMENT,
               "is not UTF-8");
    ace_bytes with_nul = {(const uint8_t *)"a\0b", 3};
    FAILS_WITH(ace_name_check("routing key", with_nul, &error), ACE_INVALID_ARGUMENT, "NUL");
}
END_TEST

START_TEST(prefetch_that_would_be_sent_as_unlimited_is_refused)
{
    SUCCEEDS(ace_prefetch_check(1, &error));
    SUCCEEDS(ace_prefetch_check(65535, &error));
    FAILS_WITH(ace_prefetch_check(65536, &error), ACE_LIMIT,
               "prefetch is 65536, the limits are 1 and 65535");
    FAILS_WITH(ace_prefetch_check(0, &error), ACE_LIMIT, "prefetch is 0");
    FAILS_WITH(ace_prefetch_check(-1, &error), ACE_LIMIT, "prefetch is -1");
}
END_TEST

START_TEST(failure_queues_are_known_by_their_names)
{
    ck_assert(ace_name_is_failure_queue("orders.dlq"));
    ck_assert(ace_name_is_failure_queue("orders.parked"));
    ck_assert(!ace_name_is_failure_queue("orders"));
    ck_assert(!ace_name_is_failure_queue(".dlq"));
    ck_assert(!ace_name_is_failure_queue("dlq"));
    ck_assert(!ace_name_is_failure_queue("orders.dlq.2"));
    ck_assert(!ace_name_is_failure_queue("ordersdlq"));
}
END_TEST

START_TEST(the_default_origin_names_the_host)
{
    ace_name origin;
    ace_origin_default("host-7", &origin);
    ck_assert_str_eq(origin.text, "acemq@host-7");
    ace_origin_default("", &origin);
    ck_assert_str_eq(origin.text, "acemq@unknown");
    ace_origin_default(NULL, &origin);
    ck_assert_str_eq(origin.text, "acemq@unknown");
    char *host = name_of_length(300);
    ace_origin_default(host, &origin);
    ck_assert_uint_eq(strlen(origin.text), 255);
    free(host);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");
    TCase *tests = case_of(suite, "names");
    tcase_add_test(tests, names_are_those_of_the_peers);
    tcase_add_test(tests, delays_render_in_one_unit);
    tcase_add_test(tests, rungs_have_exactly_their_arguments);
    tcase_add_test(tests, a_wait_goes_to_the_smallest_rung_that_is_long_enough);
    tcase_add_test(tests, two_billion_attempts_make_a_ladder_at_once);
    tcase_add_test(tests, one_rung_a_rendered_name);
    tcase_add_test(tests, a_base_name_whose_longest_derived_name_is_too_long_is_refused_at_once);
    tcase_add_test(tests, limits_are_bytes_not_characters);
    tcase_add_test(tests, prefetch_that_would_be_sent_as_unlimited_is_refused);
    tcase_add_test(tests, failure_queues_are_known_by_their_names);
    tcase_add_test(tests, the_default_origin_names_the_host);
    return run_suite(suite);
}
