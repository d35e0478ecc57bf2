#include <acemq/acemq.h>
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASE   ACEMQ_MINUTE
#define TIMEOUT (10 * ACEMQ_SECOND)

static acemq_idempotency *store;
static char token[ACEMQ_TOKEN_SIZE];
static acemq_claim_answer answer;

static void open_store(void)
{
    ck_assert_int_eq(acemq_idempotency_open("memory:", NULL, &store, NULL), ACEMQ_OK);
}

static void free_store(void)
{
    acemq_idempotency_free(store);
}

static void expect_error(acemq_status status, acemq_status expected, acemq_error *error,
                         const char *says)
{
    ck_assert_int_eq(status, expected);
    ck_assert_msg(strstr(acemq_error_message(error), says) != NULL, "\"%s\" does not say \"%s\"",
                  acemq_error_message(error), says);
    acemq_error_free(error);
}

#define REFUSES(status, says, call)                                                                \
    do {                                                                                           \
        acemq_error *error = NULL;                                                                 \
        acemq_status refused = (call);                                                             \
        expect_error(refused, status, error, says);                                                \
    } while (0)

START_TEST(a_claim_goes_its_way)
{
    ck_assert_int_eq(acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, token, &answer, NULL),
                     ACEMQ_OK);
    ck_assert_int_eq(answer, ACEMQ_CLAIMED);
    char other[ACEMQ_TOKEN_SIZE] = "untouched";
    ck_assert_int_eq(acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, other, &answer, NULL),
                     ACEMQ_OK);
    ck_assert_int_eq(answer, ACEMQ_CLAIM_IN_PROGRESS);
    ck_assert_str_eq(other, "untouched");
    ck_assert_int_eq(acemq_idempotency_renew(store, "a", token, LEASE, TIMEOUT, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_idempotency_release(store, "a", token, TIMEOUT, NULL), ACEMQ_OK);
    REFUSES(ACEMQ_E_FENCED, "token", acemq_idempotency_confirm(store, "a", token, TIMEOUT, &error));
    ck_assert_int_eq(acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, token, &answer, NULL),
                     ACEMQ_OK);
    ck_assert_int_eq(acemq_idempotency_confirm(store, "a", token, TIMEOUT, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, token, &answer, NULL),
                     ACEMQ_OK);
    ck_assert_int_eq(answer, ACEMQ_CLAIM_DUPLICATE);
    uint64_t count = 7;
    ck_assert_int_eq(acemq_idempotency_size(store, TIMEOUT, &count, NULL), ACEMQ_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(acemq_idempotency_purge_expired(store, TIMEOUT, &count, NULL), ACEMQ_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(acemq_idempotency_purge_expired(store, TIMEOUT, NULL, NULL), ACEMQ_OK);
}
END_TEST

START_TEST(a_fenced_call_is_fatal_and_a_full_store_retriable)
{
    acemq_error *error = NULL;
    (void)acemq_idempotency_confirm(store, "nobody's", "x", TIMEOUT, &error);
    ck_assert_str_eq(acemq_error_name(error), "fenced");
    ck_assert(acemq_error_is_fatal(error) && !acemq_error_is_retriable(error));
    acemq_error_free(error);
    acemq_idempotency_options options = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;
    options.entries = 1;
    acemq_idempotency *small = NULL;
    ck_assert_int_eq(acemq_idempotency_open("memory:", &options, &small, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_idempotency_claim(small, "a", LEASE, TIMEOUT, token, &answer, NULL),
                     ACEMQ_OK);
    error = NULL;
    ck_assert_int_eq(acemq_idempotency_claim(small, "b", LEASE, TIMEOUT, token, &answer, &error),
                     ACEMQ_E_STORE_FULL);
    ck_assert(acemq_error_is_retriable(error) && !acemq_error_is_fatal(error));
    ck_assert_int_eq(acemq_error_limit(error), 1);
    acemq_error_free(error);
    acemq_idempotency_free(small);
}
END_TEST

START_TEST(entries_are_listed_in_pages)
{
    acemq_claims *list = NULL;
    acemq_claim_view entry;
    for (int i = 0; i < 5; i++) {
        char key[8];
        (void)snprintf(key, sizeof key, "k%d", i);
        ck_assert_int_eq(acemq_idempotency_claim(store, key, LEASE, TIMEOUT, token, &answer, NULL),
                         ACEMQ_OK);
    }
    ck_assert_int_eq(acemq_idempotency_confirm(store, "k4", token, TIMEOUT, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_idempotency_list(store, NULL, 3, TIMEOUT, &list, NULL), ACEMQ_OK);
    ck_assert_uint_eq(acemq_claims_count(list), 3);
    ck_assert_int_eq(acemq_claims_get(list, 2, &entry, NULL), ACEMQ_OK);
    ck_assert_str_eq(entry.key, "k2");
    ck_assert_int_eq(entry.confirmed, 0);
    ck_assert_int_eq(entry.expires_at - entry.recorded_at, LEASE);
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "index is 3", acemq_claims_get(list, 3, &entry, &error));
    acemq_claims *rest = NULL;
    ck_assert_int_eq(acemq_idempotency_list(store, "k2", 100, TIMEOUT, &rest, NULL), ACEMQ_OK);
    acemq_claims_free(list);
    ck_assert_uint_eq(acemq_claims_count(rest), 2);
    ck_assert_int_eq(acemq_claims_get(rest, 1, &entry, NULL), ACEMQ_OK);
    ck_assert_str_eq(entry.key, "k4");
    ck_assert_str_eq(entry.token, token);
    ck_assert_int_eq(entry.confirmed, 1);
    acemq_claims_free(rest);
    acemq_claims_free(NULL);
    ck_assert_uint_eq(acemq_claims_count(NULL), 0);
}
END_TEST

START_TEST(what_is_no_store_is_refused_and_its_text_not_shown)
{
    acemq_idempotency *none = NULL;
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "lmdb:PATH",
            acemq_idempotency_open("redis://u:secret@h", NULL, &none, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "where", acemq_idempotency_open(NULL, NULL, &none, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "store",
            acemq_idempotency_open("memory:", NULL, NULL, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "empty",
            acemq_idempotency_open("lmdb:", NULL, &none, &error));
    REFUSES(ACEMQ_E_SYSTEM, "/no/such",
            acemq_idempotency_open("lmdb:/no/such/folder", NULL, &none, &error));
    acemq_error *error = NULL;
    (void)acemq_idempotency_open("postgres:u:secret@h", NULL, &none, &error);
    ck_assert_ptr_null(strstr(acemq_error_message(error), "secret"));
    acemq_error_free(error);
    ck_assert_ptr_null(none);
}
END_TEST

#define REFUSES_OPTION(member, value)                                                              \
    do {                                                                                           \
        acemq_idempotency_options options = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;                        \
        acemq_idempotency *none = NULL;                                                            \
        options.member = (value);                                                                  \
        REFUSES(ACEMQ_E_INVALID_ARGUMENT, #member,                                                 \
                acemq_idempotency_open("memory:", &options, &none, &error));                       \
    } while (0)

START_TEST(options_out_of_range_name_their_field)
{
    REFUSES_OPTION(retention, 0);
    REFUSES_OPTION(timeout, 0);
    REFUSES_OPTION(entries, 0);
    REFUSES_OPTION(map_limit, 65535);
    REFUSES_OPTION(statement_timeout, 0);
    REFUSES_OPTION(connections, 0);
    REFUSES_OPTION(connections, 65);
    REFUSES_OPTION(durability, 2);
    REFUSES_OPTION(name, "a b");
    acemq_idempotency_options options;
    memset(&options, 0xa5, sizeof options);
    ck_assert_int_eq(acemq_idempotency_options_init(&options, sizeof options), ACEMQ_OK);
    acemq_idempotency_options macro = ACEMQ_IDEMPOTENCY_OPTIONS_INIT;
    ck_assert_mem_eq(&options, &macro, sizeof options);
}
END_TEST

START_TEST(arguments_are_checked)
{
    uint64_t count;
    acemq_claims *list = NULL;
    char long_key[257];
    memset(long_key, 'k', 256);
    long_key[256] = '\0';
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "store",
            acemq_idempotency_claim(NULL, "a", LEASE, TIMEOUT, token, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "key",
            acemq_idempotency_claim(store, NULL, LEASE, TIMEOUT, token, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "empty",
            acemq_idempotency_claim(store, "", LEASE, TIMEOUT, token, &answer, &error));
    REFUSES(ACEMQ_E_LIMIT, "256 bytes, the limit is 255",
            acemq_idempotency_claim(store, long_key, LEASE, TIMEOUT, token, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "lease",
            acemq_idempotency_claim(store, "a", 0, TIMEOUT, token, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "timeout",
            acemq_idempotency_claim(store, "a", LEASE, -1, token, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "token",
            acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, NULL, &answer, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "answer",
            acemq_idempotency_claim(store, "a", LEASE, TIMEOUT, token, NULL, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "token",
            acemq_idempotency_confirm(store, "a", NULL, TIMEOUT, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "token",
            acemq_idempotency_release(store, "a", "", TIMEOUT, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "lease",
            acemq_idempotency_renew(store, "a", "x", -1, TIMEOUT, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "size", acemq_idempotency_size(store, TIMEOUT, NULL, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "most",
            acemq_idempotency_list(store, NULL, 0, TIMEOUT, &list, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "list",
            acemq_idempotency_list(store, NULL, 1, TIMEOUT, NULL, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "store",
            acemq_idempotency_purge_expired((acemq_idempotency *)(void *)&count, TIMEOUT, NULL,
                                            &error));
    acemq_idempotency_free(NULL);
}
END_TEST

START_TEST(a_child_is_told_that_the_store_is_its_parent_s)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        uint64_t count;
        bool good = acemq_idempotency_size(store, TIMEOUT, &count, NULL) == ACEMQ_E_FORKED;
        acemq_idempotency_free(store);
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(the_schema_is_text_and_nothing_else)
{
    char *text = NULL;
    ck_assert_int_eq(acemq_schema_postgres("mine", NULL, &text, NULL), ACEMQ_OK);
    ck_assert_ptr_nonnull(strstr(text, "CREATE TABLE IF NOT EXISTS mine (\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "CREATE INDEX IF NOT EXISTS mine_expiry ON mine (expires_at);\n"));
    ck_assert_ptr_nonnull(strstr(text, "CREATE INDEX IF NOT EXISTS acemq_outbox_pending ON "
                                       "acemq_outbox (published_at, created_at);\n"));
    acemq_free(text);
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "A-Z",
            acemq_schema_postgres("a; DROP TABLE b", NULL, &text, &error));
    REFUSES(ACEMQ_E_INVALID_ARGUMENT, "text", acemq_schema_postgres(NULL, NULL, NULL, &error));
}
END_TEST

START_TEST(features_and_versions_tell_of_the_stores)
{
    ck_assert_int_eq(acemq_has("lmdb"), 1);
    ck_assert_int_eq(strncmp(acemq_dependency_version("lmdb"), "0.9.", 4), 0);
    ck_assert(acemq_has("postgres") == 0 || acemq_has("postgres") == 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi idempotency");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, open_store, free_store);
    tcase_add_test(all, a_claim_goes_its_way);
    tcase_add_test(all, a_fenced_call_is_fatal_and_a_full_store_retriable);
    tcase_add_test(all, entries_are_listed_in_pages);
    tcase_add_test(all, what_is_no_store_is_refused_and_its_text_not_shown);
    tcase_add_test(all, options_out_of_range_name_their_field);
    tcase_add_test(all, arguments_are_checked);
    tcase_add_test(all, a_child_is_told_that_the_store_is_its_parent_s);
    tcase_add_test(all, the_schema_is_text_and_nothing_else);
    tcase_add_test(all, features_and_versions_tell_of_the_stores);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
