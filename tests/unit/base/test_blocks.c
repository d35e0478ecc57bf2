/* Blocks that are used again. */
#include "base/blocks.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *take(ace_blocks *blocks, size_t size, size_t *capacity)
{
    void *block = ace_blocks_take(blocks, size, capacity);
    ck_assert_ptr_nonnull(block);
    ck_assert_uint_ge(*capacity, size);
    ck_assert_uint_eq((uintptr_t)block % 16, 0);
    memset(block, 0xA5, *capacity);
    return block;
}

START_TEST(a_block_of_any_size_is_all_there)
{
    static const size_t sizes[] = {1, 255, 256, 257, 2000, 8192, 8193, 1000000};
    ace_blocks blocks = {NULL, 0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t capacity;
        void *block = take(&blocks, sizes[i], &capacity);
        ace_blocks_give(&blocks, block, capacity);
    }
    ace_blocks_free(&blocks);
    ck_assert_ptr_null(blocks.last);
    ck_assert_uint_eq(blocks.bytes, 0);
}
END_TEST

START_TEST(a_spare_one_that_is_too_small_is_replaced)
{
    ace_blocks blocks = {NULL, 0};
    size_t small;
    size_t large;
    void *block = take(&blocks, 300, &small);
    ace_blocks_give(&blocks, block, small);
    block = take(&blocks, 5000, &large);
    ck_assert_uint_eq(blocks.bytes, 0);
    ace_blocks_give(&blocks, block, large);
    block = take(&blocks, 300, &small);
    ck_assert_uint_eq(blocks.bytes, 0);
    free(block); /* by its own end, which may be anywhere */
    ace_blocks_free(&blocks);
}
END_TEST

/* As many as a flood leaves, and none that only one large message needed. */
START_TEST(what_is_kept_has_a_limit)
{
    enum { MANY = 2000 };
    static void *taken[MANY];
    static size_t capacities[MANY];
    ace_blocks blocks = {NULL, 0};
    for (int i = 0; i < MANY; i++) {
        taken[i] = take(&blocks, 1900, &capacities[i]);
    }
    for (int i = 0; i < MANY; i++) {
        ace_blocks_give(&blocks, taken[i], capacities[i]);
    }
    ck_assert_uint_le(blocks.bytes, 512 * 1024);
    size_t before = blocks.bytes;
    size_t capacity;
    void *large = take(&blocks, 100000, &capacity);
    ace_blocks_give(&blocks, large, capacity);
    ck_assert_uint_eq(blocks.bytes, before);
    ace_blocks_free(&blocks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocks");
    TCase *tests = tcase_create("blocks");
    tcase_add_test(tests, a_block_of_any_size_is_all_there);
    tcase_add_test(tests, a_spare_one_that_is_too_small_is_replaced);
    tcase_add_test(tests, what_is_kept_has_a_limit);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
