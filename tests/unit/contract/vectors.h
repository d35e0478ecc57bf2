/* Reading conformance/vectors from a test, and small conveniences of the tests of the contract. A
 * missing or malformed file fails the test. */
#ifndef ACE_TESTS_CONTRACT_VECTORS_H
#define ACE_TESTS_CONTRACT_VECTORS_H

#include "contract/policy_text.h"
#include "contract/value_json.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

static UNUSED json_t *vectors_read(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/conformance/vectors/%s", ACEMQ_SOURCE_DIR, file);
    FILE *stream = fopen(path, "rb");
    ck_assert_msg(stream != NULL, "%s does not open", path);
    static char text[1 << 20];
    size_t length = fread(text, 1, sizeof text, stream);
    fclose(stream);
    json_t *json = NULL;
    ace_error *error = NULL;
    ace_code code = ace_json_read(text, length, &json, &error);
    ck_assert_msg(code == ACE_OK, "%s: %s", path, error == NULL ? "" : ace_error_message(error));
    return json;
}

static UNUSED json_t *member(const json_t *object, const char *name)
{
    json_t *found = json_object_get(object, name);
    ck_assert_msg(found != NULL, "the vectors have no member %s", name);
    return found;
}

/* A list that must not be empty: a loop over nothing proves nothing. */
static UNUSED json_t *list(const json_t *object, const char *name)
{
    json_t *found = member(object, name);
    ck_assert_msg(json_array_size(found) > 0, "the vectors' list %s is empty", name);
    return found;
}

static UNUSED const char *text_at(const json_t *array, size_t index)
{
    const char *text = json_string_value(json_array_get(array, index));
    ck_assert_ptr_nonnull(text);
    return text;
}

static UNUSED int64_t number_at(const json_t *array, size_t index)
{
    const json_t *number = json_array_get(array, index);
    ck_assert(json_is_integer(number));
    return json_integer_value(number);
}

static UNUSED const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(member(object, name));
    ck_assert_msg(text != NULL, "the vectors' member %s is no string", name);
    return text;
}

static UNUSED int64_t number_of(const json_t *object, const char *name)
{
    const json_t *number = member(object, name);
    ck_assert_msg(json_is_integer(number), "the vectors' member %s is no integer", name);
    return json_integer_value(number);
}

static UNUSED ace_policy policy_of(const char *text)
{
    ace_policy policy;
    ace_error *error = NULL;
    ace_code code = ace_policy_parse(text, strlen(text), &policy, &error);
    ck_assert_msg(code == ACE_OK, "%s: %s", text, error == NULL ? "" : ace_error_message(error));
    return policy;
}

/* Takes the error and frees it. */
static UNUSED void fails_with(ace_code got, ace_error *error, ace_code code, const char *part)
{
    ck_assert_msg(got == code, "%s where %s was expected: %s", ace_code_name(got),
                  ace_code_name(code), error == NULL ? "no error" : ace_error_message(error));
    ck_assert_ptr_nonnull(error);
    ck_assert_int_eq(ace_error_code(error), code);
    ck_assert_msg(strstr(ace_error_message(error), part) != NULL, "\"%s\" lacks \"%s\"",
                  ace_error_message(error), part);
    ace_error_free(error);
}

static UNUSED void succeeds(ace_code got, ace_error *error)
{
    ck_assert_msg(got == ACE_OK, "%s: %s", ace_code_name(got),
                  error == NULL ? "no error" : ace_error_message(error));
    ck_assert_ptr_null(error);
}

/* succeeds(call(..., &error), error) would read the error before the call. */
#define SUCCEEDS(call)                                                                             \
    do {                                                                                           \
        ace_error *error = NULL;                                                                   \
        ace_code succeeds_code = (call);                                                           \
        succeeds(succeeds_code, error);                                                            \
    } while (0)

#define FAILS_WITH(call, code, part)                                                               \
    do {                                                                                           \
        ace_error *error = NULL;                                                                   \
        ace_code fails_code = (call);                                                              \
        fails_with(fails_code, error, code, part);                                                 \
    } while (0)

static UNUSED void is_text(ace_bytes got, const char *text)
{
    ck_assert_msg(ace_bytes_equal_text(got, text), "\"%.*s\" is not \"%s\"", (int)got.length,
                  (const char *)got.data, text);
}

static UNUSED void table_of(const json_t *json, ace_table *table)
{
    SUCCEEDS(ace_table_from_json_arrived(json, "table", table, &error));
}

static UNUSED void same_tables(const amqp_table_t *got, const amqp_table_t *wanted)
{
    if (ace_table_equal(got, wanted)) {
        return;
    }
    json_t *left = ace_table_to_json(got, true);
    json_t *right = ace_table_to_json(wanted, true);
    char *left_text = json_dumps(left, JSON_SORT_KEYS);
    char *right_text = json_dumps(right, JSON_SORT_KEYS);
    ck_abort_msg("the tables differ:\n got    %s\n wanted %s", left_text, right_text);
}

/* A repeatable generator for properties: xorshift64*. */
static UNUSED uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static UNUSED int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static UNUSED TCase *case_of(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return tests;
}

#endif
