#include "engine/confirms.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4096

typedef struct outcome {
    bool acknowledged;
    const ace_outstanding *which;
} outcome;

typedef struct outcomes {
    outcome list[MOST];
    size_t count;
} outcomes;

static void collect(ace_outstanding *outstanding, bool acknowledged, void *user)
{
    outcomes *all = user;
    ck_assert_uint_eq(outstanding->sequence, 0); /* taken out before */
    all->list[all->count++] = (outcome){.acknowledged = acknowledged, .which = outstanding};
}

static void add(ace_confirms *confirms, ace_outstanding *outstanding)
{
    ck_assert(ace_confirms_reserve(confirms));
    ace_confirms_add(confirms, outstanding);
}

START_TEST(acks_and_nacks_in_any_order_settle_each_once)
{
    ace_confirms confirms;
    ace_outstanding records[10] = {0};
    outcomes all = {.count = 0};
    ace_confirms_init(&confirms);
    for (int i = 0; i < 10; i++) {
        add(&confirms, &records[i]);
        ck_assert_uint_eq(records[i].sequence, (uint64_t)i + 1);
    }
    ace_confirms_settle(&confirms, 3, true, true, collect, &all);
    ace_confirms_settle(&confirms, 5, false, false, collect, &all);
    ace_confirms_settle(&confirms, 4, false, true, collect, &all);
    ace_confirms_settle(&confirms, 10, true, true, collect, &all);
    const int order[] = {0, 1, 2, 4, 3, 5, 6, 7, 8, 9};
    ck_assert_uint_eq(all.count, 10);
    for (int i = 0; i < 10; i++) {
        ck_assert_ptr_eq(all.list[i].which, &records[order[i]]);
        ck_assert_int_eq(all.list[i].acknowledged, order[i] != 4);
    }
    ck_assert_uint_eq(confirms.count, 0);
    ck_assert_uint_eq(confirms.unknown, 0);
    ace_confirms_free(&confirms);
}
END_TEST

START_TEST(confirms_for_unknown_tags_are_counted_and_change_nothing)
{
    ace_confirms confirms;
    ace_outstanding record = {0};
    outcomes all = {.count = 0};
    ace_confirms_init(&confirms);
    ace_confirms_settle(&confirms, 1, false, true, collect, &all); /* nothing was published yet */
    ace_confirms_settle(&confirms, 0, true, true, collect, &all);
    add(&confirms, &record);
    ace_confirms_settle(&confirms, 0, false, true, collect, &all);
    ace_confirms_settle(&confirms, 2, false, true, collect, &all);
    ace_confirms_settle(&confirms, 2, true, true, collect, &all); /* beyond what was published */
    ace_confirms_settle(&confirms, UINT64_MAX, false, false, collect, &all);
    ck_assert_uint_eq(all.count, 0);
    ck_assert_uint_eq(confirms.unknown, 6);
    ace_confirms_settle(&confirms, 1, false, true, collect, &all);
    ace_confirms_settle(&confirms, 1, false, true, collect, &all);
    ace_confirms_settle(&confirms, 1, true, true, collect, &all);
    ck_assert_uint_eq(all.count, 1);
    ck_assert_uint_eq(confirms.unknown, 8);
    ace_confirms_free(&confirms);
}
END_TEST

START_TEST(a_tag_of_zero_with_multiple_means_everything)
{
    ace_confirms confirms;
    ace_outstanding records[3] = {0};
    outcomes all = {.count = 0};
    ace_confirms_init(&confirms);
    for (int i = 0; i < 3; i++) {
        add(&confirms, &records[i]);
    }
    ace_confirms_settle(&confirms, 0, true, false, collect, &all);
    ck_assert_uint_eq(all.count, 3);
    ck_assert(!all.list[2].acknowledged);
    ace_confirms_free(&confirms);
}
END_TEST

START_TEST(one_confirm_that_never_comes_holds_the_ring_only_until_it_is_forgotten)
{
    ace_confirms confirms;
    ace_outstanding stuck = {0};
    ace_outstanding others[8] = {0};
    outcomes all = {.count = 0};
    ace_confirms_init(&confirms);
    add(&confirms, &stuck);
    for (int round = 0; round < 1000; round++) {
        all.count = 0;
        add(&confirms, &others[round % 8]);
        ace_confirms_settle(&confirms, confirms.next - 1, false, true, collect, &all);
        ck_assert_uint_eq(all.count, 1);
    }
    ck_assert_uint_eq(confirms.first, 1);
    ck_assert_uint_ge(confirms.capacity, 1000);
    ace_confirms_forget(&confirms, &stuck);
    ace_confirms_forget(&confirms, &stuck);
    ck_assert_uint_eq(confirms.first, confirms.next);
    ck_assert_uint_eq(confirms.count, 0);
    ace_confirms_settle(&confirms, 1, false, true, collect, &all);
    ck_assert_uint_eq(confirms.unknown, 1);
    ace_confirms_free(&confirms);
}
END_TEST

/* A model without cleverness: an array by sequence number. */
typedef struct model {
    int state[MOST]; /* 0 never, 1 outstanding, 2 acked, 3 nacked */
    uint64_t next;
} model;

static void model_settle(model *m, uint64_t tag, bool multiple, bool acknowledged)
{
    uint64_t from = multiple ? 1 : tag;
    uint64_t to = multiple && tag == 0 ? m->next - 1 : tag;
    if (to >= m->next) {
        return;
    }
    for (uint64_t i = from; i >= 1 && i <= to; i++) {
        if (m->state[i] == 1) {
            m->state[i] = acknowledged ? 2 : 3;
        }
    }
}

typedef struct tracked {
    ace_outstanding outstanding;
    int result;
} tracked;

static void note_result(ace_outstanding *outstanding, bool acknowledged, void *user)
{
    tracked *record = (tracked *)(void *)outstanding;
    (void)user;
    ck_assert_int_eq(record->result, 1);
    record->result = acknowledged ? 2 : 3;
}

START_TEST(random_confirms_agree_with_a_naive_model)
{
    static tracked records[MOST];
    static model m;
    ace_confirms confirms;
    unsigned seed = (unsigned)_i + 1;
    ace_confirms_init(&confirms);
    memset(records, 0, sizeof records);
    memset(&m, 0, sizeof m);
    m.next = 1;
    while (m.next < MOST) {
        int choice = rand_r(&seed) % 10;
        if (choice < 6) {
            tracked *record = &records[m.next];
            record->result = 1;
            m.state[m.next++] = 1;
            add(&confirms, &record->outstanding);
            continue;
        }
        /* Around what is outstanding, sometimes far off. */
        uint64_t span = m.next + 3;
        uint64_t tag = choice == 9 ? (uint64_t)rand_r(&seed) % span
                                   : confirms.first + (uint64_t)(rand_r(&seed) % 8);
        bool multiple = rand_r(&seed) % 3 == 0;
        bool acknowledged = rand_r(&seed) % 4 != 0;
        model_settle(&m, tag, multiple, acknowledged);
        ace_confirms_settle(&confirms, tag, multiple, acknowledged, note_result, NULL);
    }
    size_t outstanding = 0;
    for (uint64_t i = 1; i < m.next; i++) {
        ck_assert_int_eq(records[i].result, m.state[i]);
        outstanding += m.state[i] == 1;
    }
    ck_assert_uint_eq(confirms.count, outstanding);
    uint64_t last = 0;
    ace_outstanding *left;
    while ((left = ace_confirms_take(&confirms)) != NULL) {
        uint64_t index = (uint64_t)((tracked *)(void *)left - records);
        ck_assert_uint_gt(index, last);
        last = index;
        outstanding--;
    }
    ck_assert_uint_eq(outstanding, 0);
    ace_confirms_restart(&confirms);
    tracked again = {0};
    add(&confirms, &again.outstanding);
    ck_assert_uint_eq(again.outstanding.sequence, 1);
    ace_confirms_free(&confirms);
}
END_TEST

static ace_outstanding message(const char *key, const char *id, const char *properties)
{
    return (ace_outstanding){.mandatory = true,
                             .exchange = ace_bytes_of("orders"),
                             .routing_key = ace_bytes_of(key),
                             .message_id = ace_bytes_of(id),
                             .properties = ace_bytes_of(properties),
                             .body_size = 4};
}

static ace_returned came_back(const char *key, const char *id, const char *properties)
{
    return (ace_returned){.exchange = ace_bytes_of("orders"),
                          .routing_key = ace_bytes_of(key),
                          .message_id = ace_bytes_of(id),
                          .properties = ace_bytes_of(properties),
                          .body_size = 4};
}

START_TEST(a_return_finds_its_publish_among_twins)
{
    ace_confirms confirms;
    ace_outstanding routable = message("a", "twin", "p");
    ace_outstanding missing = message("b", "twin", "p");
    ace_outstanding optional = message("b", "twin", "p");
    ace_outstanding second = message("b", "twin", "p");
    optional.mandatory = false;
    ace_confirms_init(&confirms);
    add(&confirms, &routable);
    add(&confirms, &optional);
    add(&confirms, &missing);
    add(&confirms, &second);
    ace_returned returned = came_back("b", "twin", "p");
    ck_assert_ptr_eq(ace_confirms_match(&confirms, &returned), &missing);
    ck_assert_ptr_eq(ace_confirms_match(&confirms, &returned), &second);
    ck_assert_ptr_null(ace_confirms_match(&confirms, &returned));
    ck_assert_uint_eq(confirms.unmatched, 1);
    ck_assert(missing.returned && second.returned && !routable.returned && !optional.returned);
    ace_confirms_free(&confirms);
}
END_TEST

START_TEST(a_return_prefers_equal_properties_then_the_id_then_the_address)
{
    ace_confirms confirms;
    ace_outstanding first = message("k", "1", "headers one");
    ace_outstanding second = message("k", "2", "headers two");
    ace_outstanding third = message("k", "2", "headers three");
    ace_outstanding fourth = message("k", "4", "headers four");
    fourth.body_size = 5;
    ace_confirms_init(&confirms);
    add(&confirms, &first);
    add(&confirms, &second);
    add(&confirms, &third);
    add(&confirms, &fourth);
    ace_returned exact = came_back("k", "2", "headers three");
    ck_assert_ptr_eq(ace_confirms_match(&confirms, &exact), &third);
    /* A broker that wrote the properties anew. */
    ace_returned by_id = came_back("k", "2", "headers rewritten");
    ck_assert_ptr_eq(ace_confirms_match(&confirms, &by_id), &second);
    /* The return of one that nobody waits for any more, to the same address. */
    ace_returned forgotten = came_back("k", "other", "rewritten");
    ck_assert_ptr_null(ace_confirms_match(&confirms, &forgotten));
    ck_assert(!first.returned);
    ace_returned by_address = came_back("k", "", "rewritten");
    ck_assert_ptr_eq(ace_confirms_match(&confirms, &by_address), &first);
    /* What is left has another body. */
    ck_assert_ptr_null(ace_confirms_match(&confirms, &by_address));
    ace_confirms_free(&confirms);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("confirms");
    TCase *tcase = tcase_create("map");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, acks_and_nacks_in_any_order_settle_each_once);
    tcase_add_test(tcase, confirms_for_unknown_tags_are_counted_and_change_nothing);
    tcase_add_test(tcase, a_tag_of_zero_with_multiple_means_everything);
    tcase_add_test(tcase, one_confirm_that_never_comes_holds_the_ring_only_until_it_is_forgotten);
    tcase_add_loop_test(tcase, random_confirms_agree_with_a_naive_model, 0, 50);
    tcase_add_test(tcase, a_return_finds_its_publish_among_twins);
    tcase_add_test(tcase, a_return_prefers_equal_properties_then_the_id_then_the_address);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
