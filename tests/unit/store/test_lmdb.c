#include "store/lmdb_environment.h"
#include "store/lmdb_writer.h"

#include "base/clock.h"
#include "base/thread.h"
#include "support/folder.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct put {
    ace_lmdb_operation operation;
    MDB_dbi database;
    char key[32];
    size_t size;
    int runs;
} put;

static int run_put(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    put *self = ACE_RECORD(operation, put, operation);
    self->runs++;
    MDB_val key = {strlen(self->key), self->key};
    MDB_val value = {self->size, NULL};
    int result = mdb_put(transaction, self->database, &key, &value, MDB_RESERVE);
    if (result == 0) {
        memset(value.mv_data, 'x', self->size);
    }
    return result;
}

static int run_late(ace_lmdb_operation *operation, MDB_txn *transaction)
{
    put *self = ACE_RECORD(operation, put, operation);
    MDB_val key = {strlen(self->key), self->key};
    int result = mdb_del(transaction, self->database, &key, NULL);
    return result == MDB_NOTFOUND ? 0 : result;
}

static void destroy_put(ace_lmdb_operation *operation)
{
    free(ACE_RECORD(operation, put, operation));
}

static int64_t after(int64_t milliseconds)
{
    return ace_clock_monotonic(ace_clock_system()) + milliseconds;
}

static put *new_put(MDB_dbi database, const char *key, size_t size)
{
    put *made = calloc(1, sizeof *made);
    ck_assert_ptr_nonnull(made);
    made->operation.run = run_put;
    made->operation.destroy = destroy_put;
    made->database = database;
    strcpy(made->key, key);
    made->size = size;
    return made;
}

static ace_code write_key(ace_lmdb_environment *environment, MDB_dbi database, const char *key,
                          size_t size, int64_t timeout, ace_error **error)
{
    put *made = new_put(database, key, size);
    made->operation.late = run_late;
    ace_code code = ace_lmdb_write(environment, &made->operation, after(timeout), error);
    ace_lmdb_operation_release(environment, &made->operation);
    return code;
}

static ace_lmdb_environment *open_at(const char *path, uint64_t limit)
{
    ace_lmdb_options options = {.path = path, .map_limit = limit};
    ace_lmdb_environment *environment = NULL;
    ace_error *error = NULL;
    ck_assert_msg(ace_lmdb_environment_open(&options, &environment, &error) == ACE_OK, "%s",
                  ace_error_message(error));
    return environment;
}

static MDB_dbi database_of(ace_lmdb_environment *environment)
{
    MDB_dbi database;
    ck_assert_int_eq(ace_lmdb_environment_database(environment, "things", MDB_CREATE, after(10000),
                                                   &database, NULL),
                     ACE_OK);
    return database;
}

static bool has_key(ace_lmdb_environment *environment, MDB_dbi database, const char *key)
{
    MDB_txn *transaction;
    ck_assert_int_eq(ace_lmdb_read_begin(environment, &transaction, NULL), ACE_OK);
    MDB_val name = {strlen(key), (void *)(uintptr_t)key};
    MDB_val value;
    int result = mdb_get(transaction, database, &name, &value);
    ace_lmdb_read_end(environment, transaction);
    ck_assert(result == 0 || result == MDB_NOTFOUND);
    return result == 0;
}

static size_t map_size(ace_lmdb_environment *environment)
{
    MDB_envinfo info;
    ck_assert_int_eq(mdb_env_info(ace_lmdb_environment_handle(environment), &info), 0);
    return info.me_mapsize;
}

START_TEST(a_folder_is_one_environment_in_a_process)
{
    const char *folder = folder_make();
    ace_lmdb_environment *first = open_at(folder_path(folder, "one"), 0);
    ace_lmdb_environment *second = open_at(folder_path(folder, "./one"), 0);
    ck_assert_ptr_eq(first, second);
    ace_lmdb_options other = {.path = folder_path(folder, "one"), .durability = ACE_LMDB_NOSYNC};
    ace_error *error = NULL;
    ck_assert_int_eq(ace_lmdb_environment_open(&other, &second, &error), ACE_DIFFERS);
    ace_error_free(error);
    MDB_dbi database = database_of(first);
    ace_lmdb_environment_release(second);
    ck_assert_int_eq(write_key(first, database, "a", 1, 10000, NULL), ACE_OK);
    ace_lmdb_environment_release(first);
    first = open_at(folder_path(folder, "one"), 0);
    ck_assert(has_key(first, database_of(first), "a"));
    ace_lmdb_environment_release(first);
}
END_TEST

START_TEST(what_cannot_be_opened_says_where)
{
    const char *folder = folder_make();
    ace_lmdb_environment *environment = NULL;
    ace_error *error = NULL;
    ace_lmdb_options options = {.path = folder_path(folder, "no/such")};
    ck_assert_int_eq(ace_lmdb_environment_open(&options, &environment, &error), ACE_SYSTEM);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "no/such"));
    ace_error_free(error);
    options.path = "";
    ck_assert_int_eq(ace_lmdb_environment_open(&options, &environment, NULL), ACE_INVALID_ARGUMENT);
    const char *damaged = folder_path(folder, "damaged");
    ace_lmdb_environment_release(open_at(damaged, 0));
    FILE *file = fopen(folder_path(damaged, "data.mdb"), "r+");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 8192; i++) {
        ck_assert_int_ne(fputc('?', file), EOF);
    }
    ck_assert_int_eq(fclose(file), 0);
    options.path = damaged;
    error = NULL;
    ck_assert_int_eq(ace_lmdb_environment_open(&options, &environment, &error), ACE_STORE);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "damaged"));
    ace_error_free(error);
}
END_TEST

START_TEST(a_full_map_grows_and_the_whole_transaction_is_repeated)
{
    ace_lmdb_environment *environment = open_at(folder_make(), 0);
    MDB_dbi database = database_of(environment);
    size_t before = map_size(environment);
    put *large = new_put(database, "large", before + 1000);
    ck_assert_int_eq(ace_lmdb_write(environment, &large->operation, after(20000), NULL), ACE_OK);
    ck_assert_int_ge(large->runs, 2);
    ace_lmdb_operation_release(environment, &large->operation);
    ck_assert_uint_gt(map_size(environment), before);
    ck_assert(has_key(environment, database, "large"));
    ace_lmdb_environment_release(environment);
}
END_TEST

START_TEST(a_map_at_its_limit_is_an_error_and_small_writes_go_on)
{
    ace_lmdb_environment *environment = open_at(folder_make(), 256 * 1024);
    MDB_dbi database = database_of(environment);
    ace_error *error = NULL;
    ck_assert_int_eq(write_key(environment, database, "large", 300 * 1024, 10000, &error),
                     ACE_STORE_FULL);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "262144 bytes, which is the limit"));
    ace_error_free(error);
    ck_assert(!has_key(environment, database, "large"));
    ck_assert_int_eq(write_key(environment, database, "small", 10, 10000, NULL), ACE_OK);
    ck_assert(has_key(environment, database, "small"));
    ace_lmdb_environment_release(environment);
}
END_TEST

START_TEST(a_writer_held_up_leaves_nothing_behind)
{
    ace_lmdb_environment *environment = open_at(folder_make(), 0);
    MDB_dbi database = database_of(environment);
    MDB_txn *own;
    ck_assert_int_eq(mdb_txn_begin(ace_lmdb_environment_handle(environment), NULL, 0, &own), 0);
    ck_assert_int_eq(write_key(environment, database, "late", 1, 100, NULL), ACE_TIMEOUT);
    mdb_txn_abort(own);
    ck_assert_int_eq(write_key(environment, database, "next", 1, 10000, NULL), ACE_OK);
    ck_assert(!has_key(environment, database, "late"));
    ck_assert(has_key(environment, database, "next"));
    ace_lmdb_environment_release(environment);
}
END_TEST

START_TEST(a_thread_with_a_write_transaction_of_its_own_is_told)
{
    ace_lmdb_environment *environment = open_at(folder_make(), 0);
    MDB_dbi database = database_of(environment);
    MDB_txn *own;
    ck_assert_int_eq(mdb_txn_begin(ace_lmdb_environment_handle(environment), NULL, 0, &own), 0);
    ace_lmdb_note_transaction(own);
    ck_assert_int_eq(write_key(environment, database, "a", 1, 60000, NULL), ACE_STATE);
    mdb_txn_abort(own);
    ck_assert_int_eq(write_key(environment, database, "a", 1, 60000, NULL), ACE_OK);
    ck_assert(!ace_lmdb_thread_writes(environment));
    ace_lmdb_environment_release(environment);
}
END_TEST

static void expect_success(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

START_TEST(a_map_that_another_process_made_larger_is_followed)
{
    const char *folder = folder_make();
    int go[2];
    ck_assert_int_eq(pipe(go), 0);
    pid_t child = fork(); /* before there are threads */
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char byte;
        bool good = read(go[0], &byte, 1) == 1;
        ace_lmdb_environment *own = open_at(folder, 0);
        good = good && write_key(own, database_of(own), "large", map_size(own) + 1000, 20000,
                                 NULL) == ACE_OK;
        ace_lmdb_environment_release(own);
        _exit(good ? 0 : 1);
    }
    ace_lmdb_environment *environment = open_at(folder, 0);
    MDB_dbi database = database_of(environment);
    size_t before = map_size(environment);
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    expect_success(child);
    ck_assert(has_key(environment, database, "large"));
    ck_assert_uint_gt(map_size(environment), before);
    ck_assert_int_eq(write_key(environment, database, "b", 1, 10000, NULL), ACE_OK);
    ace_lmdb_environment_release(environment);
    (void)close(go[0]);
    (void)close(go[1]);
}
END_TEST

START_TEST(a_child_opens_the_folder_anew_and_leaves_its_parent_s_alone)
{
    const char *folder = folder_make();
    ace_lmdb_environment *environment = open_at(folder, 0);
    MDB_dbi database = database_of(environment);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        MDB_txn *none;
        bool good = ace_lmdb_environment_is_foreign(environment) &&
                    write_key(environment, database, "a", 1, 1000, NULL) == ACE_FORKED &&
                    ace_lmdb_read_begin(environment, &none, NULL) == ACE_FORKED;
        ace_lmdb_environment_release(environment);
        ace_lmdb_environment *own = open_at(folder, 0);
        good = good && own != environment && ace_lmdb_read_begin(own, &none, NULL) == ACE_OK;
        _exit(good ? 0 : 1);
    }
    expect_success(child);
    ck_assert_int_eq(write_key(environment, database, "b", 1, 10000, NULL), ACE_OK);
    ace_lmdb_environment_release(environment);
}
END_TEST

START_TEST(the_slot_of_a_killed_reader_is_cleared_on_opening)
{
    const char *folder = folder_make();
    ace_lmdb_environment_release(open_at(folder, 0));
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ace_lmdb_environment *own = open_at(folder, 0);
        MDB_txn *transaction;
        (void)ace_lmdb_read_begin(own, &transaction, NULL);
        (void)kill(getpid(), SIGKILL);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ace_lmdb_environment *environment = open_at(folder, 0);
    int dead = -1;
    ck_assert_int_eq(mdb_reader_check(ace_lmdb_environment_handle(environment), &dead), 0);
    ck_assert_int_eq(dead, 0);
    ace_lmdb_environment_release(environment);
}
END_TEST

#define WRITERS 16
#define WRITES  100

typedef struct writing {
    ace_thread thread;
    ace_lmdb_environment *environment;
    MDB_dbi database;
    int number;
    int failures;
} writing;

static void write_many(void *user)
{
    writing *self = user;
    for (int i = 0; i < WRITES; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "%d-%d", self->number, i);
        self->failures +=
            write_key(self->environment, self->database, key, 10, 60000, NULL) != ACE_OK;
    }
}

START_TEST(many_writers_share_a_commit_while_the_map_grows)
{
    ace_lmdb_environment *environment = open_at(folder_make(), 0);
    MDB_dbi database = database_of(environment);
    writing writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writing){.environment = environment, .database = database, .number = i};
        ck_assert_int_eq(
            ace_thread_start(&writers[i].thread, "writer", write_many, &writers[i], NULL), ACE_OK);
    }
    ck_assert_int_eq(write_key(environment, database, "large", 40 << 20, 60000, NULL), ACE_OK);
    for (int i = 0; i < WRITERS; i++) {
        ace_thread_join(&writers[i].thread);
        ck_assert_int_eq(writers[i].failures, 0);
    }
    uint64_t commits;
    uint64_t operations;
    ace_lmdb_writer_count(environment, &commits, &operations);
    ck_assert_uint_eq(operations, WRITERS * WRITES + 2);
    ck_assert_uint_lt(commits, operations);
    MDB_txn *transaction;
    MDB_stat stat;
    ck_assert_int_eq(ace_lmdb_read_begin(environment, &transaction, NULL), ACE_OK);
    ck_assert_int_eq(mdb_stat(transaction, database, &stat), 0);
    ace_lmdb_read_end(environment, transaction);
    ck_assert_uint_eq(stat.ms_entries, WRITERS * WRITES + 1);
    ace_lmdb_environment_release(environment);
}
END_TEST

START_TEST(the_caller_s_own_environment_is_used_and_left_alone)
{
    const char *folder = folder_make();
    MDB_env *env;
    ck_assert_int_eq(mdb_env_create(&env), 0);
    ace_lmdb_environment *adopted;
    ck_assert_int_eq(ace_lmdb_environment_adopt(env, &adopted, NULL), ACE_INVALID_ARGUMENT);
    ck_assert_int_eq(mdb_env_set_maxdbs(env, 4), 0);
    ck_assert_int_eq(mdb_env_set_mapsize(env, 256 * 1024), 0);
    ck_assert_int_eq(mdb_env_open(env, folder, MDB_NOTLS, 0600), 0);
    ck_assert_int_eq(ace_lmdb_environment_adopt(env, &adopted, NULL), ACE_OK);
    ace_lmdb_environment *again;
    ck_assert_int_eq(ace_lmdb_environment_adopt(env, &again, NULL), ACE_OK);
    ck_assert_ptr_eq(adopted, again);
    ace_lmdb_environment_release(again);
    MDB_dbi database = database_of(adopted);
    ace_error *error = NULL;
    ck_assert_int_eq(write_key(adopted, database, "large", 300 * 1024, 10000, &error),
                     ACE_STORE_FULL);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "whoever opened it"));
    ace_error_free(error);
    ck_assert_int_eq(write_key(adopted, database, "a", 10, 10000, NULL), ACE_OK);
    ck_assert(has_key(adopted, database, "a"));
    ace_lmdb_environment_release(adopted);
    mdb_env_close(env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("LMDB environments");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, a_folder_is_one_environment_in_a_process);
    tcase_add_test(all, what_cannot_be_opened_says_where);
    tcase_add_test(all, a_full_map_grows_and_the_whole_transaction_is_repeated);
    tcase_add_test(all, a_map_at_its_limit_is_an_error_and_small_writes_go_on);
    tcase_add_test(all, a_writer_held_up_leaves_nothing_behind);
    tcase_add_test(all, a_thread_with_a_write_transaction_of_its_own_is_told);
    tcase_add_test(all, a_map_that_another_process_made_larger_is_followed);
    tcase_add_test(all, a_child_opens_the_folder_anew_and_leaves_its_parent_s_alone);
    tcase_add_test(all, the_slot_of_a_killed_reader_is_cleared_on_opening);
    tcase_add_test(all, many_writers_share_a_commit_while_the_map_grows);
    tcase_add_test(all, the_caller_s_own_environment_is_used_and_left_alone);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
