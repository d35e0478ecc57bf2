/* The window against a plain array, and the name map likewise, by random steps. */
#include "base/random.h"
#include "broker/delivery_window.h"
#include "broker/name_map.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define TAGS  5000
#define NAMES 300

START_TEST(the_window_agrees_with_an_array)
{
    static ace_broker_entry entries[TAGS + 1];
    static bool out[TAGS + 1];
    ace_broker_delivery_window window = {0};
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);
    uint64_t next = 1;
    size_t outstanding = 0;

    ck_assert_ptr_nonnull(random);
    while (next <= TAGS) {
        uint64_t dice = ace_random_next(random) % 10;
        uint64_t tag = 1 + ace_random_next(random) % next;

        if (dice < 5) {
            ck_assert(ace_broker_delivery_window_add(&window, next, &entries[next]));
            out[next++] = true;
            outstanding++;
        } else if (dice == 5) {
            next++; /* delivered without acknowledgement */
        } else if (dice < 9) {
            ck_assert_int_eq(ace_broker_delivery_window_has(&window, tag), out[tag]);
            ck_assert_ptr_eq(ace_broker_delivery_window_take(&window, tag),
                             out[tag] ? &entries[tag] : NULL);
            outstanding -= out[tag];
            out[tag] = false;
        } else if (ace_random_next(random) % 50 == 0) {
            for (uint64_t at = 1; at <= tag; at++) {
                if (!out[at])
                    continue;
                ck_assert_ptr_eq(ace_broker_delivery_window_take_oldest(&window, tag),
                                 &entries[at]);
                out[at] = false;
                outstanding--;
            }
            ck_assert_ptr_null(ace_broker_delivery_window_take_oldest(&window, tag));
        }
        ck_assert_uint_eq(window.outstanding, outstanding);
        ck_assert_uint_le(window.capacity, 4 * TAGS);
    }
    ace_broker_delivery_window_free(&window);
    ace_random_free(random);
}
END_TEST

/* One message that is never settled does not make the window remember all that were. */
START_TEST(the_window_stays_as_small_as_what_is_outstanding)
{
    ace_broker_entry entry;
    ace_broker_delivery_window window = {0};

    ck_assert(ace_broker_delivery_window_add(&window, 1, &entry));
    for (uint64_t tag = 2; tag < 100000; tag++) {
        ck_assert(ace_broker_delivery_window_add(&window, tag, &entry));
        ck_assert(ace_broker_delivery_window_add(&window, ++tag, &entry));
        ck_assert_ptr_eq(ace_broker_delivery_window_take(&window, tag - 1), &entry);
        ck_assert_ptr_eq(ace_broker_delivery_window_take(&window, tag), &entry);
    }
    ck_assert_uint_le(window.capacity, 64);
    ace_broker_delivery_window_free(&window);
}
END_TEST

START_TEST(the_name_map_agrees_with_an_array)
{
    static char names[NAMES][8];
    static bool in[NAMES];
    ace_broker_name_map map = ACE_BROKER_NAME_MAP_INIT;
    ace_random *random = ace_random_seeded((uint64_t)_i + 1);
    size_t count = 0;
    size_t cursor = 0;
    size_t seen = 0;

    ck_assert_ptr_nonnull(random);
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof(names[i]), "n%d", i);
    for (int step = 0; step < 20000; step++) {
        size_t which = ace_random_next(random) % NAMES;
        ace_bytes key = ace_bytes_of(names[which]);

        ck_assert_ptr_eq(ace_broker_name_map_find(&map, key), in[which] ? names[which] : NULL);
        if (in[which])
            ace_broker_name_map_remove(&map, key);
        else
            ck_assert(ace_broker_name_map_add(&map, key, names[which]));
        in[which] = !in[which];
        count += in[which] ? 1 : (size_t)-1;
        ck_assert_uint_eq(map.count, count);
    }
    while (ace_broker_name_map_next(&map, &cursor))
        seen++;
    ck_assert_uint_eq(seen, count);
    ace_broker_name_map_free(&map);
    ace_random_free(random);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("delivery window");
    TCase *tcase = tcase_create("delivery window");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_window_agrees_with_an_array, 0, 20);
    tcase_add_test(tcase, the_window_stays_as_small_as_what_is_outstanding);
    tcase_add_loop_test(tcase, the_name_map_agrees_with_an_array, 0, 10);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
