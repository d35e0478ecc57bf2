#include "vectors.h"

#include "contract/ladder.h"

#include <math.h>

static int64_t or_max(long double value)
{
    return value >= 0x1p63L ? INT64_MAX : (int64_t)value;
}

/* Section 5 once more, in another way: powers in long double instead of steps in double. */
static int64_t wait_by_power(const ace_policy *policy, int32_t attempt)
{
    long double wait =
        (long double)policy->initial * powl((long double)policy->multiplier, attempt - 1);
    int64_t capped = or_max(wait);
    return policy->max_delay > 0 && capped > policy->max_delay ? policy->max_delay : capped;
}

START_TEST(schedules_are_those_of_the_peers)
{
    json_t *vectors = vectors_read("retry.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "policies"), i, row)
    {
        ace_policy policy = policy_of(text_of(row, "policy"));
        const json_t *waits = member(row, "waits");
        ck_assert_int_eq(policy.max_attempts, number_of(row, "attempts"));
        ck_assert_int_eq(policy.max_age, number_of(row, "maxAge"));
        ck_assert_int_eq(policy.threshold, number_of(row, "threshold"));
        ck_assert_double_eq(policy.jitter, json_number_value(member(row, "jitter")));
        ck_assert_uint_eq(json_array_size(waits), (size_t)policy.max_attempts - 1);
        for (size_t n = 0; n < json_array_size(waits); n++) {
            int32_t attempt = (int32_t)n + 1;
            ck_assert_int_eq(ace_policy_wait(&policy, attempt), number_at(waits, n));
            ck_assert_int_eq(wait_by_power(&policy, attempt), number_at(waits, n));
        }
    }
    json_decref(vectors);
}
END_TEST

START_TEST(rungs_are_the_distinct_waits_from_the_threshold_on)
{
    json_t *vectors = vectors_read("retry.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "policies"), i, row)
    {
        ace_policy policy = policy_of(text_of(row, "policy"));
        const json_t *wanted = member(row, "rungs");
        ace_ladder ladder = ACE_LADDER_INIT;
        SUCCEEDS(ace_ladder_build("orders", &policy, &ladder, &error));
        ck_assert_uint_eq(ladder.count, json_array_size(wanted));
        for (size_t n = 0; n < ladder.count; n++) {
            ck_assert_int_eq(ladder.rungs[n].wait, number_at(wanted, n));
        }
        ace_ladder_release(&ladder);
    }
    json_decref(vectors);
}
END_TEST

static ace_verdict verdict_of(const char *name)
{
    if (strcmp(name, "retry") == 0) {
        return ACE_RETRY;
    }
    ck_assert(strcmp(name, "attempts") == 0 || strcmp(name, "age") == 0);
    return strcmp(name, "age") == 0 ? ACE_GIVE_UP_AGE : ACE_GIVE_UP_ATTEMPTS;
}

static int64_t age_at(const json_t *array, size_t index)
{
    return json_is_null(json_array_get(array, index)) ? ACE_AGE_UNKNOWN : number_at(array, index);
}

START_TEST(verdicts_at_every_limit)
{
    json_t *vectors = vectors_read("retry.json");
    json_t *row;
    json_t *one;
    size_t i;
    size_t n;
    size_t seen = 0;
    json_array_foreach(list(vectors, "policies"), i, row)
    {
        ace_policy policy = policy_of(text_of(row, "policy"));
        json_array_foreach(member(row, "verdicts"), n, one)
        {
            ck_assert_int_eq(
                ace_policy_verdict(&policy, (int32_t)number_at(one, 0), age_at(one, 1)),
                verdict_of(text_at(one, 2)));
            seen++;
        }
    }
    ck_assert_uint_ge(seen, 30);
    json_array_foreach(list(vectors, "ages"), i, one)
    {
        ace_policy policy = ace_policy_exponential(5, 1000, 0);
        policy.max_age = number_at(one, 0);
        bool retries = json_is_true(json_array_get(one, 2));
        ck_assert_int_eq(ace_policy_verdict(&policy, 1, age_at(one, 1)),
                         retries ? ACE_RETRY : ACE_GIVE_UP_AGE);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(the_threshold_decides_where_a_wait_happens)
{
    json_t *vectors = vectors_read("retry.json");
    ck_assert_int_eq(ACE_THRESHOLD_DEFAULT, number_of(vectors, "defaultThreshold"));
    ck_assert_int_eq(ace_policy_none().threshold, number_of(vectors, "defaultThreshold"));
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "thresholds"), i, row)
    {
        ace_policy policy = ace_policy_fixed(2, 1);
        policy.threshold = number_at(row, 0);
        ck_assert_int_eq(ace_policy_waits_in_broker(&policy, number_at(row, 1)),
                         json_is_true(json_array_get(row, 2)));
    }
    json_decref(vectors);
}
END_TEST

START_TEST(jitter_stays_within_its_factor_in_both_directions)
{
    json_t *vectors = vectors_read("retry.json");
    const json_t *row = member(vectors, "jitter");
    ace_policy policy = policy_of(text_of(row, "policy"));
    double least = json_number_value(member(row, "least"));
    double most = json_number_value(member(row, "most"));
    uint64_t state = 1;
    bool below = false;
    bool above = false;
    for (int i = 0; i < 20000; i++) {
        int64_t delay = (int64_t)(next_random(&state) % 100000);
        double unit = (double)(next_random(&state) >> 11) * 0x1p-53;
        int64_t wait = ace_policy_jittered(&policy, delay, unit);
        ck_assert_int_ge(wait, number_of(row, "floor"));
        ck_assert(wait == 1 || (double)wait >= trunc((double)delay * least - 1e-6));
        ck_assert(wait == 1 || (double)wait <= (double)delay * most);
        below = below || wait < delay;
        above = above || wait > delay;
    }
    ck_assert(below && above);
    ck_assert_int_eq(ace_policy_jittered(&policy, 1000, 0), 800);
    ck_assert_int_eq(ace_policy_jittered(&policy, 1000, 0.5), 1000);
    ck_assert_int_eq(ace_policy_jittered(&policy, 60000, 0.9999999999), 71999);
    ck_assert_int_eq(ace_policy_jittered(&policy, INT64_MAX, 0.99), INT64_MAX);
    ace_policy fixed = ace_policy_fixed(3, 1000);
    ck_assert_int_eq(ace_policy_jittered(&fixed, 1000, 0), 1000);
    ck_assert_int_eq(ace_policy_jittered(&fixed, 0, 0), 1);
    json_decref(vectors);
}
END_TEST

START_TEST(a_capped_wait_never_overflows_nor_decreases)
{
    static const int32_t attempts[] = {13, 31, 32, 33, 63, 64, 65, 1000, INT32_MAX};
    ace_policy policy = ace_policy_exponential(INT32_MAX, 1000, 3600000);
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        ck_assert_int_eq(ace_policy_wait(&policy, attempts[i]), 3600000);
    }
    ace_policy uncapped = ace_policy_exponential(INT32_MAX, 1000, 0);
    int64_t before = 0;
    for (int32_t n = 1; n < 2000; n++) {
        int64_t wait = ace_policy_wait(&uncapped, n);
        ck_assert_int_ge(wait, before);
        before = wait;
    }
    ck_assert_int_eq(before, INT64_MAX);
    ck_assert_int_eq(ace_policy_wait(&uncapped, INT32_MAX), INT64_MAX);
    ck_assert_int_eq(ace_policy_wait(&uncapped, 0), 1000);
    ck_assert_int_eq(ace_policy_wait(&uncapped, INT32_MIN), 1000);
}
END_TEST

START_TEST(a_factor_next_to_one_neither_decreases_nor_takes_long)
{
    ace_policy policy = ace_policy_exponential(INT32_MAX, 30000, 0);
    policy.multiplier = 1.000000001;
    int64_t before = 0;
    for (int32_t n = 16300; n < 16500; n++) {
        int64_t wait = ace_policy_wait(&policy, n);
        ck_assert_int_ge(wait, before);
        before = wait;
    }
    for (int bit = 15; bit < 31; bit++) {
        int64_t wait = ace_policy_wait(&policy, (int32_t)(1u << bit));
        ck_assert_int_ge(wait, before);
        before = wait;
    }
    long double exact = 30000.0L * powl((long double)policy.multiplier, 1 << 30);
    ck_assert(fabsl((long double)ace_policy_wait(&policy, (1 << 30) + 1) - exact) <= 1);
}
END_TEST

START_TEST(a_truncated_wait_is_not_fed_on)
{
    ace_policy policy = ace_policy_exponential(4, 1001, 0);
    policy.multiplier = 1.5;
    ck_assert_int_eq(ace_policy_wait(&policy, 1), 1001);
    ck_assert_int_eq(ace_policy_wait(&policy, 2), 1501);
    ck_assert_int_eq(ace_policy_wait(&policy, 3), 2252);
}
END_TEST

START_TEST(a_first_seen_of_zero_is_unknown_and_one_in_the_future_is_age_zero)
{
    ck_assert_int_eq(ace_message_age(0, 1767323045678), ACE_AGE_UNKNOWN);
    ck_assert_int_eq(ace_message_age(-1, 1767323045678), ACE_AGE_UNKNOWN);
    ck_assert_int_eq(ace_message_age(2000, 1000), 0);
    ck_assert_int_eq(ace_message_age(INT64_MAX, 1000), 0);
    ck_assert_int_eq(ace_message_age(1, INT64_MAX), INT64_MAX - 1);
    ck_assert_int_eq(ace_message_age(1000, 1000), 0);
    ck_assert_int_eq(ace_message_age(1000, -5), 0);
}
END_TEST

START_TEST(each_field_out_of_its_range_is_named)
{
    static const struct {
        ace_policy policy;
        const char *part;
    } rows[] = {
        {{.max_attempts = 0, .multiplier = 1}, "max attempts is 0, the least is 1"},
        {{.max_attempts = 2, .multiplier = 1}, "initial wait is 0, the least is 1"},
        {{.max_attempts = 1, .initial = -1, .multiplier = 1}, "initial wait is -1"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 0.5}, "multiplier is 0.5"},
        {{.max_attempts = 2, .initial = 1, .multiplier = NAN}, "multiplier is nan"},
        {{.max_attempts = 2, .initial = 1, .multiplier = INFINITY}, "multiplier is inf"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 1, .jitter = 1.1}, "jitter is 1.1"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 1, .jitter = NAN}, "jitter is nan"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 1, .max_delay = -1}, "max delay is -1"},
        {{.max_attempts = 1, .multiplier = 1, .max_delay = 1}, "initial wait is 0"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 1, .max_age = -1}, "max message age"},
        {{.max_attempts = 2, .initial = 1, .multiplier = 1, .threshold = -1}, "threshold is -1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        FAILS_WITH(ace_policy_check(&rows[i].policy, &error), ACE_LIMIT, rows[i].part);
    }
    ace_policy good = ace_policy_fixed(1, 0);
    SUCCEEDS(ace_policy_check(&good, &error));
}
END_TEST

START_TEST(a_wait_the_broker_would_refuse_is_refused)
{
    ace_policy policy = ace_policy_fixed(2, ACE_BROKER_WAIT_MAX);
    SUCCEEDS(ace_policy_broker_check(&policy, &error));
    policy.initial++;
    FAILS_WITH(ace_policy_broker_check(&policy, &error), ACE_LIMIT, "315360000001");
    policy.max_attempts = 1; /* nothing ever waits */
    SUCCEEDS(ace_policy_broker_check(&policy, &error));
    policy.max_attempts = 2;
    policy.threshold = 0; /* it waits here */
    SUCCEEDS(ace_policy_broker_check(&policy, &error));
}
END_TEST

START_TEST(the_longest_wait_here_is_found_without_laying_waits_out)
{
    static const struct {
        const char *policy;
        int64_t longest;
    } rows[] = {
        {"none", 0},
        {"fixed(4, 29s)", 29000},
        {"fixed(4, 30s)", 0},
        {"fixed(2147483647, 1h).threshold(0)", 3600000},
        {"exponential(5, 10s, 5m)", 20000},
        {"exponential(3, 10s, 5m)", 20000},
        {"exponential(2, 10s, 5m)", 10000},
        {"exponential(2147483647, 1s, 1h)", 16000},
        {"exponential(2147483647, 1s, 1h).threshold(2h)", 3600000},
        {"exponential(2147483647, 1s, 0).threshold(0)", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ace_policy policy = policy_of(rows[i].policy);
        ck_assert_int_eq(ace_policy_longest_wait_here(&policy), rows[i].longest);
    }
}
END_TEST

START_TEST(first_above_agrees_with_a_walk_over_all_waits)
{
    uint64_t state = 7;
    for (int i = 0; i < 3000; i++) {
        ace_policy policy = ace_policy_exponential((int32_t)(1 + next_random(&state) % 40),
                                                   (int64_t)(1 + next_random(&state) % 5000),
                                                   (int64_t)(next_random(&state) % 100000));
        policy.multiplier = 1 + (double)(next_random(&state) % 200) / 100;
        int64_t wait = (int64_t)(next_random(&state) % 200000);
        int32_t wanted = 0;
        for (int32_t n = 1; wanted == 0 && n < policy.max_attempts; n++) {
            wanted = ace_policy_wait(&policy, n) > wait ? n : 0;
        }
        ck_assert_int_eq(ace_policy_first_above(&policy, wait), wanted);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tests = case_of(suite, "policy");
    tcase_add_test(tests, schedules_are_those_of_the_peers);
    tcase_add_test(tests, rungs_are_the_distinct_waits_from_the_threshold_on);
    tcase_add_test(tests, verdicts_at_every_limit);
    tcase_add_test(tests, the_threshold_decides_where_a_wait_happens);
    tcase_add_test(tests, jitter_stays_within_its_factor_in_both_directions);
    tcase_add_test(tests, a_capped_wait_never_overflows_nor_decreases);
    tcase_add_test(tests, a_factor_next_to_one_neither_decreases_nor_takes_long);
    tcase_add_test(tests, a_truncated_wait_is_not_fed_on);
    tcase_add_test(tests, a_first_seen_of_zero_is_unknown_and_one_in_the_future_is_age_zero);
    tcase_add_test(tests, each_field_out_of_its_range_is_named);
    tcase_add_test(tests, a_wait_the_broker_would_refuse_is_refused);
    tcase_add_test(tests, the_longest_wait_here_is_found_without_laying_waits_out);
    tcase_add_test(tests, first_above_agrees_with_a_walk_over_all_waits);
    return run_suite(suite);
}
