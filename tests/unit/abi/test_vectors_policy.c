/* Every number of the shared vectors about policies, durations, names and partitions, computed by
 * the library through its ABI. */
#include "vectors.h"

#include <math.h>
#include <stdlib.h>

static acemq_policy *parse(const char *text)
{
    acemq_policy *policy = NULL;
    acemq_error *error = NULL;
    acemq_status status = acemq_policy_parse(text, &policy, &error);
    ck_assert_msg(status == ACEMQ_OK, "%s: %s", text, acemq_error_message(error));
    return policy;
}

static void check_waits(const acemq_policy *policy, const json_t *waits, int64_t attempts)
{
    ck_assert_int_eq((int64_t)json_array_size(waits), attempts - 1);
    for (size_t i = 0; i < json_array_size(waits); i++) {
        ck_assert_int_eq(acemq_policy_wait(policy, (int64_t)i + 1), number_at(waits, i));
    }
    ck_assert_int_eq(acemq_policy_wait(policy, attempts), 0);
    ck_assert_int_eq(acemq_policy_wait(policy, 0), 0);
}

static void check_rungs(const acemq_policy *policy, const json_t *rungs)
{
    ck_assert_uint_eq(acemq_policy_rung_count(policy), json_array_size(rungs));
    for (size_t i = 0; i < json_array_size(rungs); i++) {
        ck_assert_int_eq(acemq_policy_rung_delay(policy, i), number_at(rungs, i));
        ck_assert_int_eq(acemq_policy_choose_rung(policy, number_at(rungs, i)),
                         number_at(rungs, i));
    }
    ck_assert_int_eq(acemq_policy_rung_delay(policy, json_array_size(rungs)), 0);
}

static void check_verdicts(const acemq_policy *policy, const json_t *verdicts)
{
    size_t i;
    json_t *row;
    json_array_foreach(verdicts, i, row)
    {
        const json_t *age = json_array_get(row, 1);
        int expected = strcmp(text_at(row, 2), "retry") == 0;
        ck_assert_int_eq(acemq_policy_retries(policy, number_at(row, 0),
                                              json_is_null(age) ? -1 : json_integer_value(age)),
                         expected);
    }
}

START_TEST(retry_schedules_and_decisions)
{
    json_t *vectors = load_vectors("retry.json");
    size_t i;
    json_t *row;
    size_t verdicts = 0;
    ck_assert_uint_ge(json_array_size(member(vectors, "policies")), 5);
    json_array_foreach(member(vectors, "policies"), i, row)
    {
        acemq_policy *policy = parse(json_string_value(member(row, "policy")));
        int64_t attempts = json_integer_value(member(row, "attempts"));
        ck_assert_int_eq(acemq_policy_max_attempts(policy), attempts);
        ck_assert_int_eq(acemq_policy_max_age(policy), json_integer_value(member(row, "maxAge")));
        ck_assert_double_eq(acemq_policy_jitter_factor(policy),
                            json_number_value(member(row, "jitter")));
        ck_assert_int_eq(acemq_policy_broker_threshold(policy),
                         json_integer_value(member(row, "threshold")));
        check_waits(policy, member(row, "waits"), attempts);
        check_rungs(policy, member(row, "rungs"));
        check_verdicts(policy, member(row, "verdicts"));
        verdicts += json_array_size(member(row, "verdicts"));
        acemq_policy_free(policy);
    }
    ck_assert_uint_ge(verdicts, 30);
    json_decref(vectors);
}
END_TEST

START_TEST(ages_and_thresholds)
{
    json_t *vectors = load_vectors("retry.json");
    size_t i;
    json_t *row;
    ck_assert_uint_ge(json_array_size(member(vectors, "ages")), 10);
    json_array_foreach(member(vectors, "ages"), i, row)
    {
        acemq_policy *policy = acemq_policy_fixed(5, 1000);
        const json_t *age = json_array_get(row, 1);
        acemq_policy_give_up_after(policy, number_at(row, 0));
        ck_assert_int_eq(
            acemq_policy_retries(policy, 1, json_is_null(age) ? -1 : json_integer_value(age)),
            json_is_true(json_array_get(row, 2)));
        acemq_policy_free(policy);
    }
    ck_assert_uint_ge(json_array_size(member(vectors, "thresholds")), 30);
    json_array_foreach(member(vectors, "thresholds"), i, row)
    {
        acemq_policy *policy = acemq_policy_fixed(2, 1000);
        acemq_policy_threshold(policy, number_at(row, 0));
        ck_assert_int_eq(acemq_policy_waits_in_broker(policy, number_at(row, 1)),
                         json_is_true(json_array_get(row, 2)));
        acemq_policy_free(policy);
    }
    acemq_policy *none = acemq_policy_none();
    ck_assert_int_eq(acemq_policy_broker_threshold(none),
                     json_integer_value(member(vectors, "defaultThreshold")));
    acemq_policy_free(none);
    json_decref(vectors);
}
END_TEST

/* The bounds, and that the whole range between them is reached. */
START_TEST(jitter_stays_within_its_bounds)
{
    json_t *vectors = load_vectors("retry.json");
    const json_t *jitter = member(vectors, "jitter");
    acemq_policy *policy = parse(json_string_value(member(jitter, "policy")));
    double least = json_number_value(member(jitter, "least"));
    double most = json_number_value(member(jitter, "most"));
    ck_assert_double_eq(acemq_policy_jitter_factor(policy),
                        json_number_value(member(jitter, "factor")));
    for (int64_t attempt = 1; attempt < acemq_policy_max_attempts(policy); attempt++) {
        int64_t wait = acemq_policy_wait(policy, attempt);
        ck_assert_int_eq(acemq_policy_jittered(policy, wait, -1.0),
                         (int64_t)((double)wait * least));
        ck_assert_int_eq(acemq_policy_jittered(policy, wait, 0.0), wait);
        for (double unit = -1.0; unit < 1.0; unit += 0.0625) {
            double moved = (double)acemq_policy_jittered(policy, wait, unit);
            ck_assert_double_ge(moved, floor((double)wait * least));
            ck_assert_double_le(moved, (double)wait * most);
        }
    }
    ck_assert_int_eq(acemq_policy_jittered(policy, 1, -1.0),
                     json_integer_value(member(jitter, "floor")));
    acemq_policy_free(policy);
    json_decref(vectors);
}
END_TEST

START_TEST(choosing_a_rung)
{
    json_t *vectors = load_vectors("retry.json");
    const json_t *choosing = member(vectors, "choosing");
    acemq_policy *policy = parse(json_string_value(member(choosing, "policy")));
    size_t i;
    json_t *row;
    ck_assert_uint_gt(json_array_size(member(choosing, "cases")), 0);
    json_array_foreach(member(choosing, "cases"), i, row)
    {
        char text[24];
        int64_t rung = acemq_policy_choose_rung(policy, number_at(row, 0));
        ck_assert_int_eq(acemq_duration_format(rung, text, NULL), ACEMQ_OK);
        ck_assert_str_eq(text, text_at(row, 1));
    }
    acemq_policy_free(policy);
    json_decref(vectors);
}
END_TEST

static void formats_as(const char *given, const char *expected)
{
    acemq_policy *policy = parse(given);
    char *text = NULL;
    ck_assert_int_eq(acemq_policy_format(policy, &text, NULL), ACEMQ_OK);
    ck_assert_str_eq(text, expected);
    acemq_free(text);
    acemq_policy_free(policy);
}

START_TEST(policy_texts)
{
    json_t *vectors = load_vectors("policy-text.json");
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "same"), i, row)
    {
        formats_as(json_string_value(row), json_string_value(row));
    }
    json_array_foreach(member(vectors, "canonical"), i, row)
    {
        formats_as(text_at(row, 0), text_at(row, 1));
        formats_as(text_at(row, 1), text_at(row, 1));
    }
    ck_assert_uint_ge(json_array_size(member(vectors, "refused")), 20);
    json_array_foreach(member(vectors, "refused"), i, row)
    {
        acemq_policy *policy = NULL;
        acemq_error *error = NULL;
        char position[40];
        acemq_status status = acemq_policy_parse(text_at(row, 0), &policy, &error);
        ck_assert_msg(status == ACEMQ_E_PARSE || status == ACEMQ_E_LIMIT, "\"%s\" was read",
                      text_at(row, 0));
        ck_assert_ptr_null(policy);
        snprintf(position, sizeof position, "position %lld:", (long long)number_at(row, 1));
        ck_assert_msg(strstr(acemq_error_message(error), position) != NULL, "\"%s\": %s, not at %s",
                      text_at(row, 0), acemq_error_message(error), position);
        acemq_error_free(error);
    }
    json_decref(vectors);
}
END_TEST

/* The factories say what the texts say. */
START_TEST(factories_equal_their_texts)
{
    struct {
        acemq_policy *policy;
        const char *text;
    } made[] = {{acemq_policy_none(), "none"},
                {acemq_policy_fixed(4, 30000), "fixed(4, 30s)"},
                {acemq_policy_exponential(5, 10000, 300000), "exponential(5, 10s, 5m)"},
                {acemq_policy_exponential(5, 10000, 0), "exponential(5, 10s, 0)"}};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char *text = NULL;
        ck_assert_int_eq(acemq_policy_format(made[i].policy, &text, NULL), ACEMQ_OK);
        ck_assert_str_eq(text, made[i].text);
        acemq_free(text);
        acemq_policy_free(made[i].policy);
    }
}
END_TEST

START_TEST(a_policy_keeps_its_first_error)
{
    static const int64_t attempts[] = {0, -1, INT64_C(1) << 31, INT64_MAX};
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        acemq_error *error = NULL;
        acemq_policy *policy = acemq_policy_fixed(attempts[i], 1000);
        acemq_policy_jitter(policy, 7.0);
        ck_assert_int_eq(acemq_policy_check(policy, &error), ACEMQ_E_LIMIT);
        ck_assert_str_eq(acemq_error_field(error), "max attempts");
        ck_assert_int_ge(acemq_error_limit(error), 1);
        acemq_error_free(error);
        acemq_policy_free(policy);
    }
    acemq_error *error = NULL;
    acemq_policy *policy = acemq_policy_exponential(3, 1000, 0);
    acemq_policy_multiplier(policy, 0.5);
    ck_assert_int_ne(acemq_policy_check(policy, &error), ACEMQ_OK);
    ck_assert_str_eq(acemq_error_field(error), "multiplier");
    acemq_error_free(error);
    acemq_policy_free(policy);
}
END_TEST

START_TEST(durations)
{
    json_t *vectors = load_vectors("durations.json");
    size_t i;
    json_t *row;
    int64_t read;
    char text[24];
    json_array_foreach(member(vectors, "reads"), i, row)
    {
        ck_assert_int_eq(acemq_duration_parse(text_at(row, 0), &read, NULL), ACEMQ_OK);
        ck_assert_int_eq(read, number_at(row, 1));
    }
    json_array_foreach(member(vectors, "refused"), i, row)
    {
        acemq_status status = acemq_duration_parse(json_string_value(row), &read, NULL);
        ck_assert_msg(status == ACEMQ_E_PARSE || status == ACEMQ_E_LIMIT, "\"%s\" was read",
                      json_string_value(row));
    }
    json_array_foreach(member(vectors, "formats"), i, row)
    {
        acemq_status status = acemq_duration_format(number_at(row, 0), text, NULL);
        if (number_at(row, 0) < 0) { /* the door is stricter: there is no negative duration */
            ck_assert_int_eq(status, ACEMQ_E_INVALID_ARGUMENT);
        } else {
            ck_assert_int_eq(status, ACEMQ_OK);
            ck_assert_str_eq(text, text_at(row, 1));
        }
    }
    json_decref(vectors);
}
END_TEST

static void check_arguments(const acemq_table *arguments, const json_t *expected)
{
    const char *name;
    json_t *value;
    ck_assert_uint_eq(acemq_table_count(arguments), json_object_size(expected));
    json_object_foreach((json_t *)(uintptr_t)expected, name, value)
    {
        const acemq_value *found = acemq_table_get(arguments, name);
        ck_assert_msg(found != NULL, "no argument %s", name);
        if (json_is_string(value)) {
            acemq_bytes text;
            ck_assert_int_eq(acemq_value_kind(found), ACEMQ_KIND_STRING);
            ck_assert_int_eq(acemq_value_bytes(found, &text), 1);
            ck_assert_uint_eq(text.length, json_string_length(value));
            ck_assert_mem_eq(text.data, json_string_value(value), text.length);
        } else {
            int64_t number;
            ck_assert_str_eq(json_string_value(member(value, "type")), "int64");
            ck_assert_int_eq(acemq_value_kind(found), ACEMQ_KIND_INT64);
            ck_assert_int_eq(acemq_value_integer(found, &number), 1);
            ck_assert_int_eq(number, json_integer_value(member(value, "value")));
        }
    }
}

static void check_rung(const acemq_policy *policy, const char *queue, const json_t *row)
{
    char name[ACEMQ_NAME_SIZE];
    acemq_table *arguments = NULL;
    int64_t wait = json_integer_value(member(row, "wait"));
    ck_assert_int_eq(acemq_policy_rung_name(policy, queue, wait, name, NULL), ACEMQ_OK);
    ck_assert_str_eq(name, json_string_value(member(row, "queue")));
    ck_assert_int_eq(acemq_policy_rung_arguments(policy, queue, wait, &arguments, NULL), ACEMQ_OK);
    check_arguments(arguments, member(row, "arguments"));
    acemq_table_free(arguments);
}

/* Each of these delays as a rung of the queue, named by this policy. */
static void check_rung_names(const acemq_policy *policy, const char *queue, const json_t *delays)
{
    size_t i;
    json_t *row;
    ck_assert_uint_gt(json_array_size(delays), 0);
    json_array_foreach(delays, i, row)
    {
        char name[ACEMQ_NAME_SIZE];
        char expected[ACEMQ_NAME_SIZE];
        snprintf(expected, sizeof expected, "%s.retry.%s", queue, text_at(row, 1));
        ck_assert_int_eq(acemq_policy_rung_name(policy, queue, number_at(row, 0), name, NULL),
                         ACEMQ_OK);
        ck_assert_str_eq(name, expected);
    }
}

START_TEST(names_and_rung_arguments)
{
    json_t *vectors = load_vectors("names.json");
    const char *queue = json_string_value(member(vectors, "queue"));
    char name[ACEMQ_NAME_SIZE];
    ck_assert_int_eq(acemq_dead_letter_queue(queue, name, NULL), ACEMQ_OK);
    ck_assert_str_eq(name, json_string_value(member(vectors, "deadLetter")));
    ck_assert_int_eq(acemq_parked_queue(queue, name, NULL), ACEMQ_OK);
    ck_assert_str_eq(name, json_string_value(member(vectors, "parked")));
    const json_t *exchanges = member(vectors, "exchanges");
    ck_assert_str_eq(ACEMQ_RETRY_EXCHANGE, json_string_value(member(exchanges, "retry")));
    ck_assert_str_eq(ACEMQ_DEAD_LETTER_EXCHANGE,
                     json_string_value(member(exchanges, "deadLetter")));
    acemq_policy *policy = acemq_policy_fixed(2, 500);
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "rungs"), i, row)
    {
        ck_assert_int_eq(acemq_policy_rung_name(policy, queue, number_at(row, 0), name, NULL),
                         ACEMQ_OK);
        ck_assert_str_eq(name, text_at(row, 1));
    }
    json_array_foreach(member(vectors, "rungArguments"), i, row)
    {
        check_rung(policy, queue, row);
    }
    check_rung_names(policy, queue, member(vectors, "delays"));
    acemq_policy_durable_rungs(policy);
    check_rung(policy, queue, member(vectors, "durableRung"));
    acemq_policy_free(policy);
    policy = acemq_policy_fixed(2, 500);
    acemq_policy_whole_second_names(policy);
    check_rung_names(policy, queue, member(vectors, "wholeSeconds"));
    acemq_policy_free(policy);
    json_decref(vectors);
}
END_TEST

static acemq_partition_rule rule_named(const char *name)
{
    if (strcmp(name, "java") == 0) {
        return ACEMQ_PARTITION_FLOOR_MOD;
    }
    return strcmp(name, "dotnet") == 0 ? ACEMQ_PARTITION_MASKED : ACEMQ_PARTITION_UNSIGNED;
}

START_TEST(partitions)
{
    json_t *vectors = load_vectors("partitions.json");
    size_t i;
    json_t *row;
    ck_assert_uint_gt(json_array_size(member(vectors, "cases")), 0);
    json_array_foreach(member(vectors, "cases"), i, row)
    {
        acemq_bytes key = {text_at(row, 0), strlen(text_at(row, 0))};
        ck_assert_int_eq(acemq_partition(key, number_at(row, 1), rule_named(text_at(row, 2))),
                         number_at(row, 3));
    }
    /* The hash itself shows through the largest number of partitions there is: mod 2^31 - 1. */
    json_array_foreach(member(vectors, "hashes"), i, row)
    {
        acemq_bytes key = {text_at(row, 0), strlen(text_at(row, 0))};
        ck_assert_int_eq(acemq_partition(key, INT32_MAX, ACEMQ_PARTITION_UNSIGNED),
                         number_at(row, 1) % INT32_MAX);
    }
    json_decref(vectors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi vectors: policies and names");
    TCase *tests = tcase_create("vectors");
    tcase_add_test(tests, retry_schedules_and_decisions);
    tcase_add_test(tests, ages_and_thresholds);
    tcase_add_test(tests, jitter_stays_within_its_bounds);
    tcase_add_test(tests, choosing_a_rung);
    tcase_add_test(tests, policy_texts);
    tcase_add_test(tests, factories_equal_their_texts);
    tcase_add_test(tests, a_policy_keeps_its_first_error);
    tcase_add_test(tests, durations);
    tcase_add_test(tests, names_and_rung_arguments);
    tcase_add_test(tests, partitions);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
