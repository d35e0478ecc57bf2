#include "vectors.h"

#include "contract/duration.h"

#include <locale.h>

static void formats_as(const ace_policy *policy, const char *wanted)
{
    ace_buffer text = ACE_BUFFER_INIT;
    SUCCEEDS(ace_policy_format(policy, &text, &error));
    is_text((ace_bytes){text.data, text.length}, wanted);
    ace_buffer_free(&text);
}

START_TEST(canonical_texts_come_back_unchanged)
{
    json_t *vectors = vectors_read("policy-text.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "same"), i, row)
    {
        ace_policy policy = policy_of(json_string_value(row));
        formats_as(&policy, json_string_value(row));
    }
    json_array_foreach(list(vectors, "canonical"), i, row)
    {
        ace_policy policy = policy_of(text_at(row, 0));
        formats_as(&policy, text_at(row, 1));
        ace_policy again = policy_of(text_at(row, 1));
        ck_assert(ace_policy_equal(&policy, &again));
    }
    json_decref(vectors);
}
END_TEST

START_TEST(anything_else_is_refused_with_its_position)
{
    json_t *vectors = vectors_read("policy-text.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "refused"), i, row)
    {
        const char *text = text_at(row, 0);
        char part[64];
        snprintf(part, sizeof part, "policy text: position %d:", (int)number_at(row, 1));
        ace_policy policy = ace_policy_fixed(77, 77);
        ace_error *error = NULL;
        ace_code code = ace_policy_parse(text, strlen(text), &policy, &error);
        ck_assert_msg(code != ACE_OK, "\"%s\" was taken", text);
        ck_assert_msg(strstr(ace_error_message(error), part) != NULL, "\"%s\": %s lacks %s", text,
                      ace_error_message(error), part);
        ck_assert_int_eq(policy.max_attempts, 77);
        ace_error_free(error);
    }
    json_decref(vectors);
}
END_TEST

static double random_factor(uint64_t *state, double least)
{
    uint64_t draw = next_random(state);
    switch (draw % 4) {
    case 0:
        return least;
    case 1:
        return least + (double)(draw >> 40) / (double)(1 << 24);
    case 2:
        return least + (double)(draw >> 33) * 1e-9 / 3;
    default:
        return least > 0 ? least + (double)(draw >> 11) * 1e10 : (double)(draw >> 11) * 1e-300;
    }
}

static int64_t random_duration(uint64_t *state)
{
    static const int64_t units[] = {1, 1000, 60000, 3600000, 86400000};
    uint64_t draw = next_random(state);
    if (draw % 7 == 0) {
        return 0;
    }
    return (int64_t)(draw >> (1 + draw % 48)) / 86400000 * units[draw % 5];
}

START_TEST(any_policy_comes_back_from_its_text)
{
    uint64_t state = 42;
    for (int i = 0; i < 20000; i++) {
        ace_policy policy = {
            .max_attempts = (int32_t)(1 + next_random(&state) % INT32_MAX),
            .initial = random_duration(&state),
            .multiplier = random_factor(&state, 1),
            .max_delay = random_duration(&state),
            .jitter = random_factor(&state, 0),
            .max_age = random_duration(&state),
            .threshold = random_duration(&state),
            .whole_second_names = next_random(&state) % 2 == 0,
            .durable_rungs = next_random(&state) % 2 == 0,
        };
        policy.jitter = policy.jitter > 1 ? 1 : policy.jitter;
        if (policy.initial == 0) {
            policy.max_attempts = 1;
            policy.max_delay = 0;
        }
        SUCCEEDS(ace_policy_check(&policy, &error));
        ace_buffer text = ACE_BUFFER_INIT;
        SUCCEEDS(ace_policy_format(&policy, &text, &error));
        ace_policy read;
        SUCCEEDS(ace_policy_parse((const char *)text.data, text.length, &read, &error));
        ck_assert_msg(ace_policy_equal(&policy, &read), "%.*s", (int)text.length,
                      (const char *)text.data);
        ace_buffer_free(&text);
    }
}
END_TEST

START_TEST(every_cut_and_every_changed_byte_is_taken_or_refused_without_harm)
{
    const char *whole = "exponential(5, 10s, 5m).giveUpAfter(2m).jitter(0.25).durableRungs()";
    size_t length = strlen(whole);
    for (size_t cut = 0; cut <= length; cut++) {
        char *copy = malloc(cut + 1); /* exact, so that a sanitizer sees a step too far */
        memcpy(copy, whole, cut);
        ace_policy policy;
        ace_policy_parse(copy, cut, &policy, NULL);
        for (size_t i = 0; i < cut; i++) {
            copy[i] = (char)(copy[i] + 1);
            ace_policy_parse(copy, cut, &policy, NULL);
            copy[i] = (char)(copy[i] - 1);
        }
        free(copy);
    }
}
END_TEST

START_TEST(a_program_that_writes_its_numbers_with_commas_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
    bool with_commas = false;
    for (size_t i = 0; !with_commas && i < sizeof names / sizeof names[0]; i++) {
        with_commas = setlocale(LC_ALL, names[i]) != NULL;
    }
    ace_policy policy = policy_of("exponential(5, 1s, 0).jitter(0.25).multiplier(1.5)");
    ck_assert_double_eq(policy.jitter, 0.25);
    formats_as(&policy, "exponential(5, 1s, 0).jitter(0.25).multiplier(1.5)");
}
END_TEST

START_TEST(durations_read_and_format)
{
    json_t *vectors = vectors_read("durations.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "reads"), i, row)
    {
        int64_t got = -1;
        const char *text = text_at(row, 0);
        SUCCEEDS(ace_duration_parse(text, strlen(text), &got, &error));
        ck_assert_int_eq(got, number_at(row, 1));
        char formatted[ACE_DURATION_LENGTH];
        ace_duration_format(got, formatted);
        int64_t again = -1;
        SUCCEEDS(ace_duration_parse(formatted, strlen(formatted), &again, &error));
        ck_assert_int_eq(again, got);
    }
    json_array_foreach(list(vectors, "refused"), i, row)
    {
        int64_t got = -1;
        const char *text = json_string_value(row);
        ace_error *error = NULL;
        ck_assert_msg(ace_duration_parse(text, strlen(text), &got, &error) != ACE_OK, "%s", text);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "duration: position "));
        ck_assert_int_eq(got, -1);
        ace_error_free(error);
    }
    json_array_foreach(list(vectors, "formats"), i, row)
    {
        char formatted[ACE_DURATION_LENGTH];
        ace_duration_format(number_at(row, 0), formatted);
        ck_assert_str_eq(formatted, text_at(row, 1));
    }
    json_decref(vectors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy text");
    TCase *tests = case_of(suite, "policy text");
    tcase_add_test(tests, canonical_texts_come_back_unchanged);
    tcase_add_test(tests, anything_else_is_refused_with_its_position);
    tcase_add_test(tests, any_policy_comes_back_from_its_text);
    tcase_add_test(tests, every_cut_and_every_changed_byte_is_taken_or_refused_without_harm);
    tcase_add_test(tests, a_program_that_writes_its_numbers_with_commas_changes_nothing);
    tcase_add_test(tests, durations_read_and_format);
    return run_suite(suite);
}
