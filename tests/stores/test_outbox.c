/* The outbox: one suite, and the same expectations of memory, LMDB and PostgreSQL. */
#include "outbox_fixture.h"

START_TEST(a_record_comes_back_whole)
{
    fixture f;
    open_outbox(&f, _i);
    static const uint8_t bytes[] = {0, 255, 1, 0, 'x', 0xc3};
    const ace_outbox_record record = {.id = ace_bytes_of("m-1"),
                                      .exchange = ace_bytes_of("orders\"'\\"),
                                      .routing_key = ace_bytes_of("k\xc3\xa9y"),
                                      .content_type = ace_bytes_of("application/x"),
                                      .headers = ace_bytes_of("{\"a\":\"\\u0000\"}"),
                                      .body = {bytes, sizeof bytes},
                                      .created = INT64_C(1770091506123456)};
    ck_assert_int_eq(ace_outbox_add(f.outbox, &record, NULL, after(PATIENCE), NULL), ACE_OK);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_uint_eq(rows.count, 1);
    const ace_outbox_record *found = &rows.rows[0].record;
    ck_assert(ace_bytes_equal(found->id, record.id));
    ck_assert(ace_bytes_equal(found->exchange, record.exchange));
    ck_assert(ace_bytes_equal(found->routing_key, record.routing_key));
    ck_assert(ace_bytes_equal(found->content_type, record.content_type));
    ck_assert(ace_bytes_equal(found->headers, record.headers));
    ck_assert(ace_bytes_equal(found->body, record.body));
    ck_assert_int_eq(found->created, record.created);
    ck_assert_int_eq(rows.rows[0].attempts, 0);
    ck_assert(ace_bytes_equal_text(rows.rows[0].locked_by, "me"));
    ck_assert_int_gt(rows.rows[0].locked_until, 0);
    ace_outbox_rows_free(&rows);
    close_outbox(&f);
}
END_TEST

START_TEST(an_empty_body_and_a_large_one_come_back)
{
    fixture f;
    open_outbox(&f, _i);
    enum { LARGE = 3 << 20 };
    uint8_t *large = malloc(LARGE);
    ck_assert_ptr_nonnull(large);
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = (uint8_t)(i * 7 + i / 251);
    }
    ace_outbox_record empty = record_of("a", 1);
    ace_outbox_record full = record_of("b", 2);
    empty.body = (ace_bytes){NULL, 0};
    full.body = (ace_bytes){large, LARGE};
    ck_assert_int_eq(ace_outbox_add(f.outbox, &empty, NULL, after(PATIENCE), NULL), ACE_OK);
    ck_assert_int_eq(ace_outbox_add(f.outbox, &full, NULL, after(PATIENCE), NULL), ACE_OK);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_uint_eq(rows.count, 2);
    ck_assert_uint_eq(rows.rows[0].record.body.length, 0);
    ck_assert(ace_bytes_equal(rows.rows[1].record.body, full.body));
    ace_outbox_rows_free(&rows);
    free(large);
    close_outbox(&f);
}
END_TEST

START_TEST(the_order_is_the_time_and_then_the_id)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "b", 2000);
    add(&f, "z", 1000);
    add(&f, "B", 2000);
    add(&f, "a", 2000);
    add(&f, "a-", 2000);
    add(&f, "y", 3000);
    lists(&f, ACE_OUTBOX_PENDING, "z,B,a,a-,b,y");
    ace_outbox_rows rows = lease(&f, "me", 60000, 3);
    ck_assert_str_eq(ids_of(&rows), "z,B,a");
    ace_outbox_rows_free(&rows);
    leases(&f, "you", "a-,b,y");
    close_outbox(&f);
}
END_TEST

START_TEST(an_id_is_taken_once)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    ace_outbox_record again = record_of("a", 2);
    ace_error *error = NULL;
    ck_assert_int_eq(ace_outbox_add(f.outbox, &again, NULL, after(PATIENCE), &error),
                     ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "id a is in the outbox already");
    ace_error_free(error);
    lease_and_settle(&f, ACE_OUTBOX_PUBLISHED);
    ck_assert_int_eq(ace_outbox_add(f.outbox, &again, NULL, after(PATIENCE), NULL),
                     ACE_INVALID_ARGUMENT);
    close_outbox(&f);
}
END_TEST

START_TEST(what_is_leased_is_nobody_elses_until_the_lease_ends)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    ace_outbox_rows rows = lease(&f, "me", 200, 10);
    ck_assert_str_eq(ids_of(&rows), "a");
    ace_outbox_rows_free(&rows);
    int64_t leased = after(0);
    rows = lease(&f, "you", 60000, 10);
    if (rows.count > 0) { /* a machine that slept through the lease */
        ck_assert_int_ge(after(0) - leased, 150);
    }
    lists(&f, ACE_OUTBOX_PENDING, "a");
    int64_t end = after(PATIENCE);
    while (rows.count == 0 && after(0) < end) {
        ace_outbox_rows_free(&rows);
        usleep(20000);
        rows = lease(&f, "you", 60000, 10);
    }
    ck_assert_str_eq(ids_of(&rows), "a");
    ace_outbox_rows_free(&rows);
    leases(&f, "me", "");
    close_outbox(&f);
}
END_TEST

START_TEST(the_owner_of_a_lease_gets_the_rows_again)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    leases(&f, "me", "a");
    leases(&f, "me", "a");
    leases(&f, "you", "");
    close_outbox(&f);
}
END_TEST

START_TEST(what_is_published_is_marked_and_purged_by_age)
{
    fixture f;
    open_outbox(&f, _i);
    uint64_t purged = 7;
    add(&f, "a", 1);
    add(&f, "b", 2);
    ace_outbox_rows rows = lease(&f, "me", 60000, 1);
    settle(&f, "me", &rows, ACE_OUTBOX_PUBLISHED);
    settle(&f, "me", &rows, ACE_OUTBOX_PUBLISHED); /* again is fine */
    ace_outbox_rows_free(&rows);
    lists(&f, ACE_OUTBOX_PENDING, "b");
    ck_assert_uint_eq(count(&f).published, 1);
    ck_assert_int_eq(ace_outbox_purge(f.outbox, 3600000, after(PATIENCE), &purged, NULL), ACE_OK);
    ck_assert_uint_eq(purged, 0);
    ck_assert_int_eq(ace_outbox_purge(f.outbox, 0, after(PATIENCE), &purged, NULL), ACE_OK);
    ck_assert_uint_eq(purged, 1);
    ck_assert_uint_eq(count(&f).published, 0);
    ck_assert_uint_eq(count(&f).pending, 1);
    add(&f, "a", 3); /* forgotten */
    leases(&f, "me", "b,a");
    close_outbox(&f);
}
END_TEST

START_TEST(a_row_that_failed_its_attempts_is_retired_listed_and_releasable)
{
    fixture f;
    open_outbox(&f, _i);
    uint64_t released = 0;
    add(&f, "a", 1);
    for (int attempt = 1; attempt <= 3; attempt++) {
        lists(&f, ACE_OUTBOX_RETIRED, "");
        lease_and_settle(&f, ACE_OUTBOX_FAILED);
    }
    leases(&f, "me", "");
    lists(&f, ACE_OUTBOX_PENDING, "");
    ace_outbox_rows rows = ACE_OUTBOX_ROWS_INIT;
    ck_assert_int_eq(
        ace_outbox_list_rows(f.outbox, ACE_OUTBOX_RETIRED, 10, after(PATIENCE), &rows, NULL),
        ACE_OK);
    ck_assert_str_eq(ids_of(&rows), "a");
    ck_assert_int_eq(rows.rows[0].attempts, 3);
    ck_assert(ace_bytes_equal_text(rows.rows[0].last_error, "no queue took it"));
    ace_outbox_rows_free(&rows);
    ck_assert_uint_eq(count(&f).retired, 1);
    ck_assert_int_eq(ace_outbox_release(f.outbox, "b", after(PATIENCE), &released, NULL), ACE_OK);
    ck_assert_uint_eq(released, 0);
    ck_assert_int_eq(ace_outbox_release(f.outbox, "a", after(PATIENCE), &released, NULL), ACE_OK);
    ck_assert_uint_eq(released, 1);
    leases(&f, "me", "a");
    ck_assert_int_eq(ace_outbox_release(f.outbox, NULL, after(PATIENCE), &released, NULL), ACE_OK);
    ck_assert_uint_eq(released, 0);
    close_outbox(&f);
}
END_TEST

START_TEST(a_row_that_failed_may_rest_and_is_nobody_s_until_then)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    add(&f, "b", 2);
    ace_outbox_rows rows = lease(&f, "me", 60000, 1);
    const ace_outbox_verdict failed = {&rows.rows[0], ACE_OUTBOX_FAILED, "no queue took it", 1500};
    ck_assert_int_eq(ace_outbox_settle(f.outbox, "me", &failed, 1, after(PATIENCE), NULL), ACE_OK);
    ace_outbox_rows_free(&rows);
    leases(&f, "me", "b");
    lists(&f, ACE_OUTBOX_PENDING, "a,b");
    ck_assert_uint_eq(count(&f).pending, 2);
    usleep(1600000);
    rows = lease(&f, "you", 60000, 10);
    ck_assert_str_eq(ids_of(&rows), "a");
    ck_assert_int_eq(rows.rows[0].attempts, 1);
    ace_outbox_rows_free(&rows);
    close_outbox(&f);
}
END_TEST

START_TEST(what_is_given_back_used_no_attempt)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    for (int i = 0; i < 5; i++) {
        lease_and_settle(&f, ACE_OUTBOX_GIVEN_BACK);
    }
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_uint_eq(rows.count, 1);
    ck_assert_int_eq(rows.rows[0].attempts, 0);
    ace_outbox_rows_free(&rows);
    close_outbox(&f);
}
END_TEST

START_TEST(a_late_owner_changes_nothing_but_what_it_published)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a", 1);
    ace_outbox_rows late = lease(&f, "late", 1, 10);
    usleep(50000);
    leases(&f, "me", "a");
    settle(&f, "late", &late, ACE_OUTBOX_FAILED);
    settle(&f, "late", &late, ACE_OUTBOX_GIVEN_BACK);
    leases(&f, "you", "");
    settle(&f, "late", &late, ACE_OUTBOX_PUBLISHED);
    lists(&f, ACE_OUTBOX_PENDING, "");
    ck_assert_uint_eq(count(&f).published, 1);
    ace_outbox_rows_free(&late);
    close_outbox(&f);
}
END_TEST

START_TEST(verdicts_of_one_batch_are_told_apart)
{
    fixture f;
    open_outbox(&f, _i);
    add(&f, "a\"", 1);
    add(&f, "b\\", 2);
    add(&f, "c,{}", 3);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    ck_assert_uint_eq(rows.count, 3);
    char reason[2000];
    memset(reason, 'x', sizeof reason - 1);
    memcpy(reason + ACE_OUTBOX_ERROR - 1, "\xc3\xa9", 2); /* a character over the limit */
    reason[sizeof reason - 1] = '\0';
    const ace_outbox_verdict verdicts[] = {{&rows.rows[0], ACE_OUTBOX_PUBLISHED, NULL, 0},
                                           {&rows.rows[1], ACE_OUTBOX_FAILED, reason, 0},
                                           {&rows.rows[2], ACE_OUTBOX_GIVEN_BACK, NULL, 0}};
    ck_assert_int_eq(ace_outbox_settle(f.outbox, "me", verdicts, 3, after(PATIENCE), NULL), ACE_OK);
    ace_outbox_rows_free(&rows);
    rows = lease(&f, "me", 60000, 10);
    ck_assert_str_eq(ids_of(&rows), "b\\,c,{}");
    ck_assert_int_eq(rows.rows[0].attempts, 1);
    ck_assert_uint_eq(rows.rows[0].last_error.length, ACE_OUTBOX_ERROR - 1);
    ck_assert_int_eq(rows.rows[1].attempts, 0);
    ace_outbox_rows_free(&rows);
    close_outbox(&f);
}
END_TEST

START_TEST(a_batch_is_settled_as_a_whole_or_not_at_all)
{
    fixture f;
    open_outbox(&f, POSTGRES);
    add(&f, "a", 1);
    add(&f, "b", 2);
    char statement[200];
    snprintf(statement, sizeof statement,
             "ALTER TABLE %s ADD CONSTRAINT no_failures CHECK (attempts = 0)", f.table);
    postgres_must(statement);
    ace_outbox_rows rows = lease(&f, "me", 60000, 10);
    const ace_outbox_verdict verdicts[] = {{&rows.rows[0], ACE_OUTBOX_PUBLISHED, NULL, 0},
                                           {&rows.rows[1], ACE_OUTBOX_FAILED, "why", 0}};
    ck_assert_int_eq(ace_outbox_settle(f.outbox, "me", verdicts, 2, after(PATIENCE), NULL),
                     ACE_STORE);
    ck_assert_uint_eq(count(&f).pending, 2);
    snprintf(statement, sizeof statement, "ALTER TABLE %s DROP CONSTRAINT no_failures", f.table);
    postgres_must(statement);
    ck_assert_int_eq(ace_outbox_settle(f.outbox, "me", verdicts, 2, after(PATIENCE), NULL), ACE_OK);
    ck_assert_uint_eq(count(&f).published, 1);
    ck_assert_uint_eq(count(&f).pending, 1);
    ace_outbox_rows_free(&rows);
    close_outbox(&f);
}
END_TEST

START_TEST(counts_tell_how_long_the_oldest_has_waited)
{
    fixture f;
    open_outbox(&f, _i);
    ck_assert_uint_eq(count(&f).pending, 0);
    ck_assert_int_eq(count(&f).oldest_age, 0);
    int64_t now = ace_clock_wall(ace_clock_system());
    add(&f, "a", (now - 3600000) * 1000);
    add(&f, "b", now * 1000);
    ace_outbox_counts counts = count(&f);
    ck_assert_uint_eq(counts.pending, 2);
    ck_assert_int_ge(counts.oldest_age, 3590000);
    ck_assert_int_lt(counts.oldest_age, 7200000);
    close_outbox(&f);
}
END_TEST

START_TEST(stamps_never_stand_still)
{
    fixture f;
    open_outbox(&f, _i);
    int64_t last = ace_outbox_stamp(f.outbox);
    for (int i = 0; i < 5000; i++) {
        int64_t next = ace_outbox_stamp(f.outbox);
        ck_assert_int_gt(next, last);
        last = next;
    }
    close_outbox(&f);
}
END_TEST

static void note(void *user)
{
    (*(int *)user)++;
}

START_TEST(whoever_watches_hears_of_what_is_added)
{
    fixture f;
    open_outbox(&f, _i);
    int heard = 0;
    ace_outbox_watcher watcher = {.added = note, .user = &heard};
    ace_outbox_watch(f.outbox, &watcher);
    add(&f, "a", 1);
    ck_assert_int_eq(heard, 1);
    ace_outbox_unwatch(f.outbox, &watcher);
    add(&f, "b", 1);
    ck_assert_int_eq(heard, 1);
    close_outbox(&f);
}
END_TEST

START_TEST(a_store_of_no_kind_is_refused_without_repeating_it)
{
    static const char *const bad[] = {"", "lmdb:", "redis://u:secret@h", "mysql", "memory:x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ace_outbox *outbox = NULL;
        ace_error *error = NULL;
        ace_outbox_options options = {.attempts = 0};
        ck_assert_int_eq(ace_outbox_open(bad[i], &options, after(PATIENCE), &outbox, &error),
                         ACE_INVALID_ARGUMENT);
        ck_assert_ptr_null(strstr(ace_error_message(error), "secret"));
        ace_error_free(error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox");
    TCase *all = tcase_create("all stores");
    tcase_set_timeout(all, 240);
    tcase_add_loop_test(all, a_record_comes_back_whole, 0, KINDS);
    tcase_add_loop_test(all, an_empty_body_and_a_large_one_come_back, 0, KINDS);
    tcase_add_loop_test(all, the_order_is_the_time_and_then_the_id, 0, KINDS);
    tcase_add_loop_test(all, an_id_is_taken_once, 0, KINDS);
    tcase_add_loop_test(all, what_is_leased_is_nobody_elses_until_the_lease_ends, 0, KINDS);
    tcase_add_loop_test(all, the_owner_of_a_lease_gets_the_rows_again, 0, KINDS);
    tcase_add_loop_test(all, what_is_published_is_marked_and_purged_by_age, 0, KINDS);
    tcase_add_loop_test(all, a_row_that_failed_its_attempts_is_retired_listed_and_releasable, 0,
                        KINDS);
    tcase_add_loop_test(all, a_row_that_failed_may_rest_and_is_nobody_s_until_then, 0, KINDS);
    tcase_add_loop_test(all, what_is_given_back_used_no_attempt, 0, KINDS);
    tcase_add_loop_test(all, a_late_owner_changes_nothing_but_what_it_published, 0, KINDS);
    tcase_add_loop_test(all, verdicts_of_one_batch_are_told_apart, 0, KINDS);
    tcase_add_test(all, a_batch_is_settled_as_a_whole_or_not_at_all);
    tcase_add_loop_test(all, counts_tell_how_long_the_oldest_has_waited, 0, KINDS);
    tcase_add_loop_test(all, stamps_never_stand_still, 0, KINDS);
    tcase_add_loop_test(all, whoever_watches_hears_of_what_is_added, 0, KINDS);
    tcase_add_test(all, a_store_of_no_kind_is_refused_without_repeating_it);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
