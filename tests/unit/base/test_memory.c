/* Buffers, arenas and lists. */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/list.h"

#include <check.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* A request for half the address space is answered with NULL here, not with the sanitizer's abort.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

START_TEST(a_buffer_grows_and_is_consumed_from_the_front)
{
    ace_buffer buffer = ACE_BUFFER_INIT;
    for (int i = 0; i < 5000; i++) {
        ck_assert(ace_buffer_format(&buffer, "%04d", i));
    }
    ck_assert_uint_eq(buffer.length, 20000);
    ck_assert_mem_eq(buffer.data + 4 * 1234, "1234", 4);
    ace_buffer_consume(&buffer, 4 * 4999);
    ck_assert_uint_eq(buffer.length, 4);
    ck_assert_mem_eq(buffer.data, "4999", 4);
    ace_buffer_consume(&buffer, 0);
    ck_assert_uint_eq(buffer.length, 4);
    ace_buffer_consume(&buffer, 100);
    ck_assert_uint_eq(buffer.length, 0);
    ck_assert(ace_buffer_append_text(&buffer, "left"));
    ck_assert(ace_buffer_append(&buffer, NULL, 0));
    char *text = ace_buffer_take_text(&buffer);
    ck_assert_str_eq(text, "left");
    ck_assert_ptr_null(buffer.data);
    free(text);
    text = ace_buffer_take_text(&buffer);
    ck_assert_str_eq(text, "");
    free(text);
    ace_buffer_free(&buffer);
}
END_TEST

START_TEST(a_buffer_that_cannot_grow_is_unchanged)
{
    ace_buffer buffer = ACE_BUFFER_INIT;
    ck_assert(ace_buffer_append_text(&buffer, "kept"));
    const uint8_t *data = buffer.data;
    ck_assert(!ace_buffer_reserve(&buffer, SIZE_MAX));
    ck_assert(!ace_buffer_reserve(&buffer, SIZE_MAX - 4));
    ck_assert(!ace_buffer_reserve(&buffer, SIZE_MAX / 2));
    ck_assert_ptr_null(ace_buffer_extend(&buffer, SIZE_MAX - 3));
    ck_assert_ptr_eq(buffer.data, data);
    ck_assert_uint_eq(buffer.length, 4);
    ck_assert_mem_eq(buffer.data, "kept", 4);
    ace_buffer_free(&buffer);
}
END_TEST

START_TEST(extending_by_nothing_is_not_a_failure)
{
    ace_buffer buffer = ACE_BUFFER_INIT;
    ck_assert_ptr_nonnull(ace_buffer_extend(&buffer, 0));
    ck_assert_uint_eq(buffer.length, 0);
    uint8_t *added = ace_buffer_extend(&buffer, 3);
    memcpy(added, "abc", 3);
    ck_assert_uint_eq(buffer.length, 3);
    ace_buffer_clear(&buffer);
    ck_assert_uint_eq(buffer.length, 0);
    ck_assert_uint_ge(buffer.capacity, 3);
    ace_buffer_free(&buffer);
    ck_assert_uint_eq(buffer.capacity, 0);
}
END_TEST

START_TEST(bytes_compare_by_length_and_content)
{
    ace_bytes none = {NULL, 0};
    ck_assert(ace_bytes_equal(none, ace_bytes_of("")));
    ck_assert(ace_bytes_equal(none, ace_bytes_of(NULL)));
    ck_assert(ace_bytes_equal_text(ace_bytes_of("json"), "json"));
    ck_assert(!ace_bytes_equal_text(ace_bytes_of("json"), "jso"));
    ck_assert(!ace_bytes_equal_text(ace_bytes_of("json"), "jsOn"));
    ace_bytes with_nul = {(const uint8_t *)"a\0b", 3};
    ck_assert(!ace_bytes_equal_text(with_nul, "a"));
    char *text = ace_bytes_to_text(with_nul);
    ck_assert_mem_eq(text, "a\0b\0", 4);
    free(text);
    text = ace_bytes_to_text(none);
    ck_assert_str_eq(text, "");
    free(text);
}
END_TEST

START_TEST(an_arena_gives_zeroed_aligned_memory_that_does_not_overlap)
{
    ace_arena arena = ACE_ARENA_INIT;
    for (int round = 0; round < 3; round++) {
        unsigned char *taken[400];
        for (size_t i = 0; i < 400; i++) {
            size_t size = (i * 37) % 300 + (i == 200 ? 100000 : 0);
            taken[i] = ace_arena_take(&arena, size);
            ck_assert_ptr_nonnull(taken[i]);
            ck_assert_uint_eq((uintptr_t)taken[i] % alignof(max_align_t), 0);
            for (size_t at = 0; at < size; at++) {
                ck_assert_uint_eq(taken[i][at], 0);
            }
            memset(taken[i], (int)(i % 255) + 1, size);
        }
        for (size_t i = 0; i < 400; i++) {
            size_t size = (i * 37) % 300 + (i == 200 ? 100000 : 0);
            for (size_t at = 0; at < size; at++) {
                ck_assert_uint_eq(taken[i][at], i % 255 + 1);
            }
        }
        ace_arena_clear(&arena);
    }
    ck_assert_str_eq(ace_arena_text(&arena, "orders.placed", 6), "orders");
    ck_assert_str_eq(ace_arena_text(&arena, NULL, 0), "");
    ck_assert_mem_eq(ace_arena_copy(&arena, "\0\1\2", 3), "\0\1\2", 3);
    ck_assert_ptr_nonnull(ace_arena_take(&arena, 0));
    ck_assert_ptr_ne(ace_arena_take(&arena, 0), ace_arena_take(&arena, 0));
    ck_assert_ptr_null(ace_arena_take(&arena, SIZE_MAX));
    ck_assert_ptr_null(ace_arena_take(&arena, SIZE_MAX / 2));
    ck_assert_ptr_null(ace_arena_text(&arena, "", SIZE_MAX));
    ace_arena_free(&arena);
    ck_assert_ptr_null(arena.blocks);
    ace_arena_clear(&arena);
    ace_arena_free(&arena);
}
END_TEST

typedef struct record {
    int number;
    ace_link_node node;
} record;

/* The numbers on the list, forwards, and the links backwards checked on the way. */
static void expect_numbers(const ace_list *list, const int *numbers, size_t count)
{
    ck_assert_uint_eq(list->count, count);
    ck_assert_int_eq(ace_list_empty(list), count == 0);
    const ace_link_node *previous = &list->head;
    const ace_link_node *node = ace_list_first(list);
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(node);
        ck_assert_ptr_eq(node->previous, previous);
        ck_assert_int_eq(ACE_RECORD(node, record, node)->number, numbers[i]);
        ck_assert(ace_list_contains_node(node));
        previous = node;
        node = ace_list_next(list, node);
    }
    ck_assert_ptr_null(node);
    ck_assert_ptr_eq(list->head.previous, previous);
}

START_TEST(a_list_keeps_its_order)
{
    record records[6] = {0};
    ace_list list;
    ace_list other;
    ace_list_init(&list);
    ace_list_init(&other);
    expect_numbers(&list, NULL, 0);
    ck_assert_ptr_null(ace_list_take_first(&list));
    for (int i = 0; i < 6; i++) {
        records[i].number = i;
        ck_assert(!ace_list_contains_node(&records[i].node));
    }
    ace_list_append(&list, &records[1].node);
    ace_list_append(&list, &records[3].node);
    ace_list_prepend(&list, &records[0].node);
    ace_list_insert_after(&list, &records[1].node, &records[2].node);
    expect_numbers(&list, (const int[]){0, 1, 2, 3}, 4);
    ace_list_remove(&list, &records[1].node);
    ck_assert(!ace_list_contains_node(&records[1].node));
    expect_numbers(&list, (const int[]){0, 2, 3}, 3);

    ace_list_splice(&list, &other);
    expect_numbers(&list, (const int[]){0, 2, 3}, 3);
    ace_list_append(&other, &records[4].node);
    ace_list_append(&other, &records[5].node);
    ace_list_splice(&list, &other);
    expect_numbers(&list, (const int[]){0, 2, 3, 4, 5}, 5);
    expect_numbers(&other, NULL, 0);
    ace_list_splice(&other, &list);
    expect_numbers(&other, (const int[]){0, 2, 3, 4, 5}, 5);
    ck_assert_ptr_eq(ace_list_take_first(&other), &records[0].node);
    ck_assert(!ace_list_contains_node(&records[0].node));
    expect_numbers(&other, (const int[]){2, 3, 4, 5}, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base memory");
    TCase *tests = tcase_create("memory");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_buffer_grows_and_is_consumed_from_the_front);
    tcase_add_test(tests, a_buffer_that_cannot_grow_is_unchanged);
    tcase_add_test(tests, extending_by_nothing_is_not_a_failure);
    tcase_add_test(tests, bytes_compare_by_length_and_content);
    tcase_add_test(tests, an_arena_gives_zeroed_aligned_memory_that_does_not_overlap);
    tcase_add_test(tests, a_list_keeps_its_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
