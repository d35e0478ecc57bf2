#include "base/random.h"

#include "base/process.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 1000 /* more than a thread draws ahead */

static void expect_uuid(const char *uuid)
{
    ck_assert_uint_eq(strlen(uuid), ACE_UUID_LENGTH);
    for (size_t i = 0; i < ACE_UUID_LENGTH; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            ck_assert_int_eq(uuid[i], '-');
        } else {
            ck_assert_ptr_nonnull(strchr("0123456789abcdef", uuid[i]));
        }
    }
    ck_assert_int_eq(uuid[14], '4');
    ck_assert_ptr_nonnull(strchr("89ab", uuid[19]));
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

START_TEST(ids_have_the_shape_of_version_4_and_none_comes_twice)
{
    enum { IDS = 20000 };
    static char ids[IDS][ACE_UUID_LENGTH + 1];
    for (int i = 0; i < IDS; i++) {
        ace_uuid_v4(ace_random_system(), ids[i]);
        expect_uuid(ids[i]);
    }
    qsort(ids, IDS, sizeof ids[0], compare);
    for (int i = 1; i < IDS; i++) {
        ck_assert_str_ne(ids[i - 1], ids[i]);
    }
}
END_TEST

/* Every digit but the version and the variant takes every value. */
START_TEST(all_the_other_digits_of_an_id_are_random)
{
    bool seen[ACE_UUID_LENGTH][128] = {{false}};
    ace_random *random = ace_random_seeded(7);
    for (int i = 0; i < 2000; i++) {
        char id[ACE_UUID_LENGTH + 1];
        ace_uuid_v4(random, id);
        for (size_t at = 0; at < ACE_UUID_LENGTH; at++) {
            seen[at][(unsigned char)id[at]] = true;
        }
    }
    for (size_t at = 0; at < ACE_UUID_LENGTH; at++) {
        size_t values = 0;
        for (size_t c = 0; c < 128; c++) {
            values += seen[at][c] ? 1 : 0;
        }
        bool is_fixed = at == 8 || at == 13 || at == 18 || at == 23 || at == 14;
        ck_assert_uint_eq(values, is_fixed ? 1 : at == 19 ? 4 : 16);
    }
    ace_random_free(random);
}
END_TEST

START_TEST(a_seed_gives_the_same_numbers_again)
{
    ace_random *first = ace_random_seeded(42);
    ace_random *second = ace_random_seeded(42);
    ace_random *other = ace_random_seeded(43);
    size_t equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t value = ace_random_next(first);
        ck_assert_uint_eq(value, ace_random_next(second));
        equal += value == ace_random_next(other) ? 1 : 0;
    }
    ck_assert_uint_eq(equal, 0);
    ace_random_free(first);
    ace_random_free(second);
    ace_random_free(other);
    ace_random_free(NULL);
    ace_random_free(ace_random_system());
}
END_TEST

START_TEST(a_unit_is_in_0_to_1_and_even)
{
    ace_random *random = ace_random_seeded((uint64_t)_i);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        double unit = ace_random_unit(random);
        ck_assert_double_ge(unit, 0.0);
        ck_assert_double_lt(unit, 1.0);
        sum += unit;
    }
    ck_assert_double_eq_tol(sum / 100000, 0.5, 0.01);
    ace_random_free(random);
    double unit = ace_random_unit(ace_random_system());
    ck_assert(unit >= 0 && unit < 1);
}
END_TEST

/* What a thread has drawn ahead is not drawn again in a child, nor in the child's child; also where
 * it has drawn so again and again. */
START_TEST(a_child_of_fork_draws_other_numbers_than_its_parent)
{
    uint64_t drawn[3] = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    for (int i = 0; i < (_i == 0 ? 1 : MANY); i++) {
        (void)ace_random_next(ace_random_system());
    }
    for (int depth = 0; depth < 3; depth++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child != 0) {
            drawn[depth] = ace_random_next(ace_random_system());
            int wrote = (int)write(ends[1], &drawn[depth], sizeof drawn[depth]);
            int status = 0;
            waitpid(child, &status, 0);
            if (depth > 0) {
                _exit(wrote == (int)sizeof drawn[depth] ? 0 : 1);
            }
            break;
        }
        if (depth == 2) {
            _exit(0);
        }
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(read(ends[0], &drawn[i], sizeof drawn[i]), sizeof drawn[i]);
    }
    ck_assert_uint_ne(drawn[0], drawn[1]);
    ck_assert_uint_ne(drawn[1], drawn[2]);
    ck_assert_uint_ne(drawn[0], drawn[2]);
}
END_TEST

START_TEST(a_process_has_one_epoch_and_its_child_another)
{
    uint64_t mine = ace_process_epoch();
    ck_assert_uint_ne(mine, 0);
    ck_assert_uint_eq(mine, ace_process_epoch());
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        uint64_t its = ace_process_epoch();
        _exit(its != 0 && its != mine && its == ace_process_epoch() ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base random");
    TCase *tests = tcase_create("random");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, ids_have_the_shape_of_version_4_and_none_comes_twice);
    tcase_add_test(tests, all_the_other_digits_of_an_id_are_random);
    tcase_add_test(tests, a_seed_gives_the_same_numbers_again);
    tcase_add_loop_test(tests, a_child_of_fork_draws_other_numbers_than_its_parent, 0, 2);
    tcase_add_test(tests, a_process_has_one_epoch_and_its_child_another);
    tcase_add_loop_test(tests, a_unit_is_in_0_to_1_and_even, 0, 3);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
