#include "vectors.h"

#include "contract/settlement.h"

struct named {
    const char *name;
    unsigned value;
};

static const struct named happenings[] = {
    {"accepted", ACE_HAPPENED_ACCEPTED},
    {"failed", ACE_HAPPENED_FAILED},
    {"fatal", ACE_HAPPENED_FATAL},
    {"parked", ACE_HAPPENED_PARKED},
    {"undecodable", ACE_HAPPENED_UNDECODABLE},
    {"duplicate", ACE_HAPPENED_DUPLICATE},
    {"in progress", ACE_HAPPENED_IN_PROGRESS},
    {"store failed", ACE_HAPPENED_STORE_FAILED},
    {"put back", ACE_HAPPENED_PUT_BACK},
    {NULL, 0},
};

static const struct named actions[] = {
    {"ack", ACE_SETTLE_ACK},
    {"rung", ACE_SETTLE_RUNG},
    {"wait here", ACE_SETTLE_WAIT_HERE},
    {"dead letter", ACE_SETTLE_DEAD_LETTER},
    {"park", ACE_SETTLE_PARK},
    {"requeue", ACE_SETTLE_REQUEUE},
    {NULL, 0},
};

static const struct named counters[] = {
    {"acknowledged", ACE_COUNT_ACKNOWLEDGED},
    {"rejected", ACE_COUNT_REJECTED},
    {"retried", ACE_COUNT_RETRIED},
    {"dead lettered", ACE_COUNT_DEAD_LETTERED},
    {"parked", ACE_COUNT_PARKED},
    {"duplicates", ACE_COUNT_DUPLICATES},
    {NULL, 0},
};

static unsigned value_of(const struct named *names, const char *name)
{
    for (; names->name != NULL; names++) {
        if (strcmp(names->name, name) == 0) {
            return names->value;
        }
    }
    ck_abort_msg("the vectors say %s", name);
    return 0;
}

static unsigned counters_of(const json_t *row)
{
    unsigned sum = 0;
    json_t *name;
    size_t i;
    json_array_foreach(member(row, "counters"), i, name)
    {
        sum |= value_of(counters, json_string_value(name));
    }
    return sum;
}

static int64_t number_or(const json_t *row, const char *name, int64_t otherwise)
{
    return json_object_get(row, name) == NULL ? otherwise : number_of(row, name);
}

static void same_optional(const char *row, const char *what, const char *got, const json_t *wanted)
{
    const char *text = json_string_value(wanted);
    if (got == NULL || text == NULL) {
        ck_assert_msg(got == text, "%s: %s is %s", row, what, got == NULL ? "missing" : got);
    } else {
        ck_assert_msg(strcmp(got, text) == 0, "%s: %s is \"%s\"", row, what, got);
    }
}

static void check_row(const json_t *vectors, const json_t *row)
{
    const char *name = text_of(row, "name");
    const json_t *retry = json_object_get(row, "retry");
    ace_policy policy = policy_of(retry == NULL ? "none" : json_string_value(retry));
    ace_ladder ladder = ACE_LADDER_INIT;
    SUCCEEDS(ace_ladder_build(text_of(vectors, "queue"), &policy, &ladder, &error));
    ace_settlement_case happened = {
        .what = (ace_happening)value_of(happenings, text_of(row, "what")),
        .policy = retry == NULL ? NULL : &policy,
        .ladder = &ladder,
        .requeue_on_failure = json_is_true(json_object_get(row, "requeue")),
        .attempt = (int32_t)number_of(row, "attempt"),
        .age = number_or(row, "age", ACE_AGE_UNKNOWN),
        .repeats = (uint32_t)number_or(row, "repeats", 0),
        .unit = 0.5,
    };
    if (json_object_get(row, "reason") != NULL) {
        happened.reason = ace_bytes_of(text_of(row, "reason"));
    }
    ace_settlement settlement;
    SUCCEEDS(ace_settlement_decide(&happened, &settlement, &error));
    ck_assert_msg(settlement.action == value_of(actions, text_of(row, "action")), "%s: action %d",
                  name, (int)settlement.action);
    ck_assert_str_eq(settlement.outcome, text_of(row, "outcome"));
    ck_assert_msg(settlement.counters == counters_of(row), "%s: counters", name);
    ck_assert_int_eq(settlement.attempt, number_of(row, "next"));
    ck_assert_int_eq(settlement.delay, number_or(row, "delay", 0));
    same_optional(name, "error", settlement.error, json_object_get(row, "error"));
    same_optional(name, "where", settlement.where, json_object_get(row, "where"));
    same_optional(name, "rung", settlement.rung == NULL ? NULL : settlement.rung->queue.text,
                  json_object_get(row, "rung"));
    ace_settlement_release(&settlement);
    ace_ladder_release(&ladder);
}

START_TEST(every_row_of_the_table)
{
    json_t *vectors = vectors_read("settlement.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "rows"), i, row)
    {
        check_row(vectors, row);
    }
    ck_assert_uint_ge(i, 25);
    json_decref(vectors);
}
END_TEST

START_TEST(three_attempts_are_three_and_then_the_dead_letters)
{
    ace_policy policy = ace_policy_fixed(3, 1000);
    int32_t attempt = 1;
    int handled = 0;
    ace_settlement settlement;
    do {
        handled++;
        ck_assert_int_eq(attempt, handled);
        ace_settlement_case happened = {.what = ACE_HAPPENED_FAILED,
                                        .policy = &policy,
                                        .attempt = attempt,
                                        .age = ACE_AGE_UNKNOWN,
                                        .unit = 0.5};
        SUCCEEDS(ace_settlement_decide(&happened, &settlement, &error));
        attempt = settlement.attempt;
        ace_settlement_release(&settlement);
    } while (settlement.action == ACE_SETTLE_WAIT_HERE && handled < 10);
    ck_assert_int_eq(handled, 3);
    ck_assert_int_eq(settlement.action, ACE_SETTLE_DEAD_LETTER);
    ck_assert_int_eq(attempt, 3);
}
END_TEST

START_TEST(a_wait_here_is_jittered_and_one_in_the_broker_is_not)
{
    ace_policy policy = policy_of("exponential(5, 10s, 5m)");
    ace_ladder ladder = ACE_LADDER_INIT;
    SUCCEEDS(ace_ladder_build("q", &policy, &ladder, &error));
    for (int32_t attempt = 1; attempt < 5; attempt++) {
        ace_settlement_case happened = {.what = ACE_HAPPENED_FAILED,
                                        .policy = &policy,
                                        .ladder = &ladder,
                                        .attempt = attempt,
                                        .age = ACE_AGE_UNKNOWN,
                                        .unit = 0};
        ace_settlement settlement;
        SUCCEEDS(ace_settlement_decide(&happened, &settlement, &error));
        int64_t wait = ace_policy_wait(&policy, attempt);
        bool broker = wait >= 30000;
        ck_assert_int_eq(settlement.action, broker ? ACE_SETTLE_RUNG : ACE_SETTLE_WAIT_HERE);
        ck_assert_int_eq(settlement.delay, broker ? wait : wait * 8 / 10);
        ace_settlement_release(&settlement);
    }
    ace_ladder_release(&ladder);
}
END_TEST

static ace_settlement settlement_of(const ace_policy *policy, int32_t attempt, double unit)
{
    ace_ladder ladder = ACE_LADDER_INIT;
    ace_settlement settlement;
    SUCCEEDS(ace_ladder_build("q", policy, &ladder, &error));
    ace_settlement_case happened = {.what = ACE_HAPPENED_FAILED,
                                    .policy = policy,
                                    .ladder = &ladder,
                                    .attempt = attempt,
                                    .age = ACE_AGE_UNKNOWN,
                                    .unit = unit};
    SUCCEEDS(ace_settlement_decide(&happened, &settlement, &error));
    ace_settlement_release(&settlement);
    settlement.rung = NULL; /* it goes with the ladder */
    ace_ladder_release(&ladder);
    return settlement;
}

START_TEST(where_a_wait_happens_is_decided_before_the_jitter)
{
    ace_policy below = policy_of("exponential(3, 29s, 29s)");
    ace_policy at = policy_of("exponential(3, 30s, 30s)");
    static const double units[] = {0, 0.25, 0.5, 0.75, 0.999999};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        ace_settlement here = settlement_of(&below, 1, units[i]);
        ck_assert_int_eq(here.action, ACE_SETTLE_WAIT_HERE); /* though it may take over 30 s */
        ck_assert_int_eq(here.delay, ace_policy_jittered(&below, 29000, units[i]));
        ace_settlement there = settlement_of(&at, 1, units[i]);
        ck_assert_int_eq(there.action, ACE_SETTLE_RUNG);
        ck_assert_int_eq(there.delay, 30000);
    }
    ck_assert_int_gt(ace_policy_jittered(&below, 29000, 0.999999), 30000);
}
END_TEST

START_TEST(the_last_attempts_that_a_header_can_count)
{
    ace_policy policy = policy_of("exponential(2147483647, 1s, 1h)");
    ace_settlement last = settlement_of(&policy, INT32_MAX - 1, 0.5);
    ck_assert_int_eq(last.action, ACE_SETTLE_RUNG);
    ck_assert_int_eq(last.attempt, INT32_MAX);
    ck_assert_int_eq(last.delay, 3600000);
    ace_settlement over = settlement_of(&policy, INT32_MAX, 0.5);
    ck_assert_int_eq(over.action, ACE_SETTLE_DEAD_LETTER);
    ck_assert_int_eq(over.attempt, INT32_MAX);
}
END_TEST

START_TEST(a_reason_of_any_bytes_becomes_text)
{
    ace_settlement_case happened = {
        .what = ACE_HAPPENED_FATAL,
        .attempt = 1,
        .reason = {(const uint8_t *)"a\xff"
                                    "b\0c\xc3\xa9\xed\xa0\x80\xc3",
                   11},
    };
    ace_settlement settlement;
    SUCCEEDS(ace_settlement_decide(&happened, &settlement, &error));
    ck_assert_str_eq(settlement.error,
                     "the handler reported an unprocessable message: a?b?c\xc3\xa9"
                     "????");
    ace_settlement_release(&settlement);
}
END_TEST

START_TEST(back_off_doubles_to_its_limit)
{
    static const int64_t wanted[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    for (uint32_t i = 0; i < 7; i++) {
        ck_assert_int_eq(ace_back_off(i, ACE_BACK_OFF_FIRST, ACE_BACK_OFF_MAX), wanted[i]);
    }
    ck_assert_int_eq(ace_back_off(UINT32_MAX, 1, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(ace_back_off(0, 50, 30), 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settlement");
    TCase *tests = case_of(suite, "settlement");
    tcase_add_test(tests, every_row_of_the_table);
    tcase_add_test(tests, three_attempts_are_three_and_then_the_dead_letters);
    tcase_add_test(tests, a_wait_here_is_jittered_and_one_in_the_broker_is_not);
    tcase_add_test(tests, where_a_wait_happens_is_decided_before_the_jitter);
    tcase_add_test(tests, the_last_attempts_that_a_header_can_count);
    tcase_add_test(tests, a_reason_of_any_bytes_becomes_text);
    tcase_add_test(tests, back_off_doubles_to_its_limit);
    return run_suite(suite);
}
