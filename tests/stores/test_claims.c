#include "store/idempotency.h"

#include "base/thread.h"
#include "support/postgres.h"
#include "support/store_trial.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEASE INT64_C(10000)

static store_trial trial;

static ace_claim_answer claim(const char *key, char token[ACE_CLAIM_TOKEN_MAX + 1])
{
    ace_claim_answer answer;
    ace_error *error = NULL;
    ace_code code = ace_idempotency_claim(trial.store, ace_bytes_of(key), LEASE, store_deadline(),
                                          token, &answer, &error);
    ck_assert_msg(code == ACE_OK, "%s", ace_error_message(error));
    return answer;
}

static ace_code confirm(const char *key, const char *token)
{
    return ace_idempotency_confirm(trial.store, ace_bytes_of(key), token, store_deadline(), NULL);
}

static ace_code unclaim(const char *key, const char *token)
{
    return ace_idempotency_unclaim(trial.store, ace_bytes_of(key), token, store_deadline(), NULL);
}

static ace_code renew(const char *key, const char *token)
{
    return ace_idempotency_renew(trial.store, ace_bytes_of(key), token, LEASE, store_deadline(),
                                 NULL);
}

static uint64_t size(void)
{
    uint64_t count = 0;
    ck_assert_int_eq(ace_idempotency_size(trial.store, store_deadline(), &count, NULL), ACE_OK);
    return count;
}

static uint64_t purge(void)
{
    uint64_t count = 0;
    ck_assert_int_eq(ace_idempotency_purge(trial.store, store_deadline(), &count, NULL), ACE_OK);
    return count;
}

static char token[ACE_CLAIM_TOKEN_MAX + 1];
static char other[ACE_CLAIM_TOKEN_MAX + 1];

START_TEST(a_claim_a_confirmation_and_a_duplicate)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    ck_assert_uint_eq(strlen(token), ACE_UUID_LENGTH);
    ck_assert_int_eq(claim("a", other), ACE_CLAIM_IN_PROGRESS);
    ck_assert_int_eq(claim("b", other), ACE_CLAIMED);
    ck_assert_str_ne(token, other);
    ck_assert_int_eq(confirm("a", token), ACE_OK);
    ck_assert_int_eq(claim("a", other), ACE_CLAIM_DUPLICATE);
    ck_assert_int_eq(confirm("a", token), ACE_OK); /* again */
    ck_assert_int_eq(unclaim("a", token), ACE_FENCED);
    ck_assert_int_eq(renew("a", token), ACE_FENCED);
    ck_assert_int_eq(claim("a", other), ACE_CLAIM_DUPLICATE);
    ck_assert_uint_eq(size(), 2);
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_released_claim_is_anybody_s_and_its_token_is_worth_nothing)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    ck_assert_int_eq(unclaim("a", token), ACE_OK);
    ck_assert_int_eq(confirm("a", token), ACE_FENCED);
    ck_assert_int_eq(renew("a", token), ACE_FENCED);
    ck_assert_int_eq(unclaim("a", token), ACE_FENCED);
    ck_assert_int_eq(claim("a", other), ACE_CLAIMED);
    ck_assert_int_eq(confirm("a", token), ACE_FENCED);
    ck_assert_int_eq(confirm("a", other), ACE_OK);
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_late_owner_is_refused_after_the_take_over)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    store_trial_pass(&trial, LEASE - 2000);
    ck_assert_int_eq(claim("a", other), ACE_CLAIM_IN_PROGRESS);
    store_trial_pass(&trial, 2000);
    ck_assert_int_eq(claim("a", other), ACE_CLAIMED);
    ck_assert_int_eq(confirm("a", token), ACE_FENCED);
    ck_assert_int_eq(renew("a", token), ACE_FENCED);
    ck_assert_int_eq(unclaim("a", token), ACE_FENCED);
    ck_assert_int_eq(claim("a", token), ACE_CLAIM_IN_PROGRESS);
    ck_assert_int_eq(confirm("a", other), ACE_OK);
    ck_assert_int_eq(claim("a", token), ACE_CLAIM_DUPLICATE);
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_late_owner_whom_nobody_followed_may_still_confirm)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    store_trial_pass(&trial, 5 * LEASE);
    ck_assert_int_eq(confirm("a", token), ACE_OK);
    ck_assert_int_eq(claim("a", other), ACE_CLAIM_DUPLICATE);
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_renewed_claim_lives_on)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    for (int i = 0; i < 4; i++) {
        store_trial_pass(&trial, LEASE * 2 / 3);
        ck_assert_int_eq(renew("a", token), ACE_OK);
        ck_assert_int_eq(claim("a", other), ACE_CLAIM_IN_PROGRESS);
    }
    store_trial_pass(&trial, LEASE);
    ck_assert_int_eq(claim("a", other), ACE_CLAIMED);
    store_trial_end(&trial);
}
END_TEST

START_TEST(only_a_purge_takes_entries_away_and_only_expired_ones)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("claimed", token), ACE_CLAIMED);
    ck_assert_int_eq(claim("confirmed", token), ACE_CLAIMED);
    ck_assert_int_eq(confirm("confirmed", token), ACE_OK);
    ck_assert_int_eq(claim("released", token), ACE_CLAIMED);
    ck_assert_int_eq(unclaim("released", token), ACE_OK);
    ck_assert_uint_eq(size(), 3);
    ck_assert_uint_eq(purge(), 1);
    store_trial_pass(&trial, LEASE);
    ck_assert_uint_eq(size(), 2);
    ck_assert_uint_eq(purge(), 1);
    ck_assert_int_eq(claim("confirmed", token), ACE_CLAIM_DUPLICATE);
    store_trial_pass(&trial, ACE_CLAIM_RETENTION - LEASE - 2000);
    ck_assert_uint_eq(purge(), 0);
    ck_assert_int_eq(claim("confirmed", token), ACE_CLAIM_DUPLICATE);
    store_trial_pass(&trial, 2000);
    /* Its retention is over: it can be claimed, though nobody purged it. */
    ck_assert_int_eq(claim("confirmed", token), ACE_CLAIMED);
    store_trial_pass(&trial, LEASE);
    ck_assert_uint_eq(purge(), 1);
    ck_assert_uint_eq(size(), 0);
    store_trial_end(&trial);
}
END_TEST

static ace_code claim_code(const char *key, size_t length, int64_t lease)
{
    ace_claim_answer answer;
    return ace_idempotency_claim(trial.store, (ace_bytes){(const uint8_t *)key, length}, lease,
                                 store_deadline(), other, &answer, NULL);
}

START_TEST(a_key_is_255_bytes_at_most_and_never_cut)
{
    store_trial_begin(&trial, _i);
    char longest[301];
    memset(longest, 'k', sizeof longest);
    ck_assert_int_eq(claim_code(longest, 255, LEASE), ACE_OK);
    ck_assert_int_eq(claim_code(longest, 256, LEASE), ACE_LIMIT);
    ck_assert_int_eq(claim_code(longest, 300, LEASE), ACE_LIMIT);
    ck_assert_int_eq(claim_code("", 0, LEASE), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("a\0b", 3, LEASE), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("\xff", 1, LEASE), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("\xc3\xa4' ; --", 8, LEASE), ACE_OK);
    char umlauts[256]; /* 128 of two bytes */
    for (size_t i = 0; i < sizeof umlauts; i += 2) {
        memcpy(umlauts + i, "\xc3\xa4", 2);
    }
    ck_assert_int_eq(claim_code(umlauts, 254, LEASE), ACE_OK);
    ck_assert_int_eq(claim_code(umlauts, 256, LEASE), ACE_LIMIT);
    ck_assert_int_eq(claim_code("a", 1, 0), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("a", 1, -1), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("a", 1, INT64_MAX), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(claim_code("a", 1, ACE_CLAIM_LEASE_MAX), ACE_OK);
    ck_assert_int_eq(confirm("a", "no such token"), ACE_FENCED);
    ck_assert_int_eq(confirm("nobody's", "no such token"), ACE_FENCED);
    ck_assert_int_eq(confirm("a", ""), ACE_INVALID_ARGUMENT);
    ck_assert_uint_eq(size(), 4);
    store_trial_end(&trial);
}
END_TEST

typedef struct listing {
    char keys[4096];
    int count;
    int most;
} listing;

static bool note(const ace_claim_entry *entry, void *user)
{
    listing *self = user;
    size_t length = strlen(self->keys);
    (void)snprintf(self->keys + length, sizeof self->keys - length, "%.*s%s ",
                   (int)entry->key.length, (const char *)entry->key.data,
                   entry->state == ACE_ENTRY_CONFIRMED ? "!" : "");
    ck_assert_int_gt(entry->recorded_at, 0);
    ck_assert_int_ge(entry->expires_at, entry->recorded_at);
    return ++self->count < self->most;
}

static void expect_list(const char *after, int most, const char *keys)
{
    listing seen = {.most = most};
    ck_assert_int_eq(
        ace_idempotency_list(trial.store, ace_bytes_of(after), store_deadline(), note, &seen, NULL),
        ACE_OK);
    ck_assert_str_eq(seen.keys, keys);
}

START_TEST(entries_are_listed_by_the_bytes_of_their_keys)
{
    store_trial_begin(&trial, _i);
    const char *keys[] = {"b", "B", "a", "aa", "\xc3\xa4", "a-b", "_"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        ck_assert_int_eq(claim(keys[i], token), ACE_CLAIMED);
    }
    ck_assert_int_eq(confirm("\xc3\xa4", token), ACE_FENCED);
    ck_assert_int_eq(confirm("_", token), ACE_OK);
    expect_list("", 100, "B _! a a-b aa b \xc3\xa4 ");
    expect_list("a", 100, "a-b aa b \xc3\xa4 ");
    expect_list("a0", 2, "aa b ");
    expect_list("\xc3\xa4", 100, "");
    for (int i = 0; i < 700; i++) { /* more than one reading takes */
        char key[16];
        (void)snprintf(key, sizeof key, "x%04d", i);
        ck_assert_int_eq(claim(key, token), ACE_CLAIMED);
    }
    listing seen = {.most = 10000, .count = 0};
    ck_assert_int_eq(
        ace_idempotency_list(trial.store, ace_bytes_of("x"), store_deadline(), note, &seen, NULL),
        ACE_OK);
    ck_assert_int_eq(seen.count, 701); /* the last is the umlaut */
    store_trial_pass(&trial, LEASE);
    ck_assert_uint_eq(purge(), 706);
    expect_list("", 100, "_! ");
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_store_serves_one_queue)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(ace_idempotency_attach(trial.store, "orders", NULL), ACE_OK);
    ck_assert_int_eq(ace_idempotency_attach(trial.store, "orders", NULL), ACE_OK);
    ace_error *error = NULL;
    ck_assert_int_eq(ace_idempotency_attach(trial.store, "bills", &error), ACE_STATE);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "orders"));
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "bills"));
    ace_error_free(error);
    store_trial_end(&trial);
}
END_TEST

START_TEST(a_child_cannot_use_its_parent_s_store)
{
    store_trial_begin(&trial, _i);
    ck_assert_int_eq(claim("a", token), ACE_CLAIMED);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        uint64_t count;
        bool good =
            ace_idempotency_size(trial.store, store_deadline(), &count, NULL) == ACE_FORKED &&
            confirm("a", token) == ACE_FORKED;
        ace_idempotency_release(trial.store);
        _exit(good ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(confirm("a", token), ACE_OK);
    store_trial_end(&trial);
}
END_TEST

/* --- who comes first --- */

#define RACERS 8

static int ids(void)
{
    const char *asked = getenv("ACEMQ_TEST_LONG");
    bool all = asked != NULL && asked[0] != '\0';
    return all ? 10000 : 600;
}

/* Claims every id in the order that all have, so that they meet at each of them, and writes the
 * numbers of those it got. */
static int race(ace_idempotency *store, int count, int out)
{
    static int got[10000];
    int won = 0;
    for (int id = 0; id < count; id++) {
        char key[32];
        char own[ACE_CLAIM_TOKEN_MAX + 1];
        (void)snprintf(key, sizeof key, "id-%d", id);
        ace_claim_answer answer;
        if (ace_idempotency_claim(store, ace_bytes_of(key), 600000, store_deadline(), own, &answer,
                                  NULL) != ACE_OK) {
            return 1;
        }
        if (answer == ACE_CLAIMED) {
            got[won++] = id;
        }
    }
    size_t bytes = (size_t)won * sizeof got[0];
    return write(out, got, bytes) == (ssize_t)bytes ? 0 : 1;
}

static void count_once(int in, int count)
{
    static int seen[10000];
    memset(seen, 0, sizeof seen);
    int id;
    int total = 0;
    while (read(in, &id, sizeof id) == (ssize_t)sizeof id) {
        ck_assert_int_lt(id, count);
        ck_assert_msg(seen[id] == 0, "id %d was claimed twice", id);
        seen[id] = 1;
        total++;
    }
    ck_assert_int_eq(total, count);
}

START_TEST(eight_processes_claim_each_id_exactly_once)
{
    int results[2];
    int start[2];
    ck_assert_int_eq(pipe(results), 0);
    ck_assert_int_eq(pipe(start), 0);
    /* Made before there is a thread; they learn where the store is from the parent's pages. */
    store_trial_begin_shared(&trial, _i);
    ace_idempotency_release(trial.store);
    trial.store = NULL;
    int count = ids();
    pid_t children[RACERS];
    for (int i = 0; i < RACERS; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            char go;
            (void)close(results[0]);
            (void)close(start[1]);
            ace_idempotency *store = store_trial_open(&trial);
            ssize_t came = read(start[0], &go, 1); /* nothing does: it ends when all are there */
            _exit(came == 0 ? race(store, count, results[1]) : 1);
        }
    }
    (void)close(results[1]);
    (void)close(start[1]);
    count_once(results[0], count);
    (void)close(results[0]);
    for (int i = 0; i < RACERS; i++) {
        int status;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    (void)close(start[0]);
    trial.store = store_trial_open(&trial);
    ck_assert_uint_eq(size(), (uint64_t)count);
    store_trial_end(&trial);
}
END_TEST

typedef struct racer {
    ace_thread thread;
    int number;
    int count;
    int out;
    int status;
} racer;

static void race_in_thread(void *user)
{
    racer *self = user;
    for (int i = 0; i < self->count && self->status == 0; i++) {
        char key[32];
        char own[ACE_CLAIM_TOKEN_MAX + 1];
        (void)snprintf(key, sizeof key, "id-%d", i);
        ace_claim_answer answer;
        self->status = ace_idempotency_claim(trial.store, ace_bytes_of(key), 600000,
                                             store_deadline(), own, &answer, NULL) != ACE_OK;
        if (self->status == 0 && answer == ACE_CLAIMED) {
            self->status = write(self->out, &i, sizeof i) != (ssize_t)sizeof i;
        }
    }
}

START_TEST(eight_threads_claim_each_id_exactly_once)
{
    store_trial_begin(&trial, _i);
    int results[2];
    ck_assert_int_eq(pipe(results), 0);
    racer racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){.number = i, .count = 100, .out = results[1]};
        ck_assert_int_eq(
            ace_thread_start(&racers[i].thread, "racer", race_in_thread, &racers[i], NULL), ACE_OK);
    }
    for (int i = 0; i < RACERS; i++) {
        ace_thread_join(&racers[i].thread);
        ck_assert_int_eq(racers[i].status, 0);
    }
    (void)close(results[1]);
    count_once(results[0], 100);
    (void)close(results[0]);
    store_trial_end(&trial);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stores of claims");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 240);
    tcase_add_loop_test(all, a_claim_a_confirmation_and_a_duplicate, 0, STORES);
    tcase_add_loop_test(all, a_released_claim_is_anybody_s_and_its_token_is_worth_nothing, 0,
                        STORES);
    tcase_add_loop_test(all, a_late_owner_is_refused_after_the_take_over, 0, STORES);
    tcase_add_loop_test(all, a_late_owner_whom_nobody_followed_may_still_confirm, 0, STORES);
    tcase_add_loop_test(all, a_renewed_claim_lives_on, 0, STORES);
    tcase_add_loop_test(all, only_a_purge_takes_entries_away_and_only_expired_ones, 0, STORES);
    tcase_add_loop_test(all, a_key_is_255_bytes_at_most_and_never_cut, 0, STORES);
    tcase_add_loop_test(all, entries_are_listed_by_the_bytes_of_their_keys, 0, STORES);
    tcase_add_loop_test(all, a_store_serves_one_queue, 0, STORES);
    tcase_add_loop_test(all, a_child_cannot_use_its_parent_s_store, 0, STORES);
    tcase_add_loop_test(all, eight_processes_claim_each_id_exactly_once, STORE_LMDB, STORES);
    tcase_add_loop_test(all, eight_threads_claim_each_id_exactly_once, 0, STORES);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
