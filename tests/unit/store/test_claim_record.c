#include "store/claim_record.h"

#include "base/clock.h"
#include "store/lmdb_writer.h"
#include "support/folder.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(text) ((ace_bytes){(const uint8_t *)(text), sizeof(text) - 1})

START_TEST(a_record_is_these_bytes)
{
    ace_claim_entry entry = {.state = ACE_ENTRY_CONFIRMED,
                             .token = "token",
                             .recorded_at = 0x0102030405060708,
                             .expires_at = 0x1122334455667788};
    uint8_t out[ACE_CLAIM_RECORD_MAX];
    size_t length = ace_claim_record_write(&entry, out);
    ck_assert(ace_bytes_equal(
        (ace_bytes){out, length},
        BYTES(
            "\x01\x02\x01\x02\x03\x04\x05\x06\x07\x08\x11\x22\x33\x44\x55\x66\x77\x88\x05token")));
    ace_claim_entry read;
    ck_assert(ace_claim_record_read((ace_bytes){out, length}, &read));
    ck_assert_str_eq(read.token, "token");
    ck_assert_int_eq(read.expires_at, entry.expires_at);
}
END_TEST

START_TEST(what_is_no_record_is_refused)
{
    const ace_bytes rows[] = {
        BYTES(""),
        BYTES("\x01"),
        BYTES("\x02\x01\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),      /* a later version */
        BYTES("\x01\x03\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),      /* no such state */
        BYTES("\x01\x01\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\x01"),    /* a byte is missing */
        BYTES("\x01\x01\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0x"),     /* one too many */
        BYTES("\x01\x01\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\x02\0x"), /* NUL in the token */
        BYTES("\x01\x01\xff\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"),    /* before 1970 */
    };
    ace_claim_entry entry;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(!ace_claim_record_read(rows[i], &entry), "row %zu", i);
    }
    ck_assert(ace_claim_record_read(BYTES("\x01\x01\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0"), &entry));
}
END_TEST

typedef struct damage {
    ace_lmdb_operation operation;
    MDB_dbi database;
} damage;

static int run_damage(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    MDB_val key = {1, (void *)(uintptr_t) "a"};
    MDB_val value = {7, (void *)(uintptr_t) "garbage"};
    return mdb_put(transaction, ACE_RECORD(operation, damage, operation)->database, &key, &value,
                   0);
}

static void destroy_damage(ace_lmdb_operation *operation)
{
    free(ACE_RECORD(operation, damage, operation));
}

static int64_t soon(void)
{
    return ace_clock_monotonic(ace_clock_system()) + 20000;
}

START_TEST(a_damaged_entry_is_an_error_and_no_answer)
{
    ace_lmdb_options options = {.path = folder_make()};
    ace_lmdb_environment *environment = NULL;
    ace_idempotency *store = NULL;
    ck_assert_int_eq(ace_lmdb_environment_open(&options, &environment, NULL), ACE_OK);
    ck_assert_int_eq(ace_idempotency_open_in(environment, NULL, soon(), &store, NULL), ACE_OK);
    damage *made = calloc(1, sizeof *made);
    made->operation.run = run_damage;
    made->operation.destroy = destroy_damage;
    ck_assert_int_eq(ace_lmdb_environment_database(environment, "acemq_idempotency", 0, soon(),
                                                   &made->database, NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_lmdb_write(environment, &made->operation, soon(), NULL), ACE_OK);
    ace_lmdb_operation_release(environment, &made->operation);
    ace_claim_answer answer = (ace_claim_answer)0;
    char token[ACE_CLAIM_TOKEN_MAX + 1];
    uint64_t purged = 7;
    ck_assert_int_eq(
        ace_idempotency_claim(store, ace_bytes_of("a"), 1000, soon(), token, &answer, NULL),
        ACE_STORE);
    ck_assert_int_eq((int)answer, 0);
    ck_assert_int_eq(ace_idempotency_confirm(store, ace_bytes_of("a"), "x", soon(), NULL),
                     ACE_STORE);
    ck_assert_int_eq(ace_idempotency_unclaim(store, ace_bytes_of("a"), "x", soon(), NULL),
                     ACE_STORE);
    ck_assert_int_eq(ace_idempotency_purge(store, soon(), &purged, NULL), ACE_OK);
    ck_assert_uint_eq(purged, 0);
    ck_assert_int_eq(
        ace_idempotency_claim(store, ace_bytes_of("b"), 1000, soon(), token, &answer, NULL),
        ACE_OK);
    ace_idempotency_release(store);
    ace_lmdb_environment_release(environment);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stored claims");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, a_record_is_these_bytes);
    tcase_add_test(all, what_is_no_record_is_refused);
    tcase_add_test(all, a_damaged_entry_is_an_error_and_no_answer);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
