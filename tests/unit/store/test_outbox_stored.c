#include "store/outbox_stored.h"

#include <check.h>
#include <stdlib.h>

static bool lies_within(ace_bytes part, ace_bytes stored)
{
    return part.length == 0 || (part.data >= stored.data && part.length <= stored.length &&
                                (size_t)(part.data - stored.data) <= stored.length - part.length);
}

/* What is cut off stays readable, so that a part which reaches there is seen and does not crash. */
START_TEST(a_record_cut_at_any_length_is_refused_and_no_part_reaches_behind_the_cut)
{
    const ace_outbox_record written = {.exchange = ace_bytes_of("exchange"),
                                       .routing_key = ace_bytes_of("routing.key"),
                                       .content_type = ace_bytes_of("text/plain"),
                                       .headers = ace_bytes_of("headers"),
                                       .body = ace_bytes_of("body"),
                                       .created = 1770091506123456};
    ace_buffer whole = ACE_BUFFER_INIT;
    ace_outbox_record read = {.created = 0};
    ck_assert(ace_outbox_stored_write(&written, &whole));
    for (size_t length = 0; length < whole.length; length++) {
        ace_bytes stored = {whole.data, length};
        read = (ace_outbox_record){.created = 0};
        ck_assert_msg(!ace_outbox_stored_read(stored, &read), "cut to %zu bytes", length);
        const ace_bytes parts[] = {read.exchange, read.routing_key, read.content_type, read.headers,
                                   read.body};
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            ck_assert_msg(lies_within(parts[i], stored), "part %zu of %zu bytes", i, length);
        }
    }
    ck_assert(ace_outbox_stored_read((ace_bytes){whole.data, whole.length}, &read));
    ck_assert(ace_bytes_equal(read.exchange, written.exchange));
    ck_assert(ace_bytes_equal(read.routing_key, written.routing_key));
    ck_assert(ace_bytes_equal(read.content_type, written.content_type));
    ck_assert(ace_bytes_equal(read.headers, written.headers));
    ck_assert(ace_bytes_equal(read.body, written.body));
    ck_assert_int_eq(read.created, written.created);
    ace_buffer_free(&whole);
}
END_TEST

START_TEST(a_state_cut_at_any_length_is_refused_and_no_part_reaches_behind_the_cut)
{
    const ace_outbox_row written = {.attempts = 3,
                                    .locked_until = 1770091506123,
                                    .locked_by = ace_bytes_of("owner"),
                                    .last_error = ace_bytes_of("no route")};
    ace_buffer whole = ACE_BUFFER_INIT;
    ace_outbox_row read = {.attempts = 0};
    ck_assert(ace_outbox_state_write(&written, &whole));
    for (size_t length = 0; length < whole.length; length++) {
        ace_bytes stored = {whole.data, length};
        read = (ace_outbox_row){.attempts = 0};
        ck_assert_msg(!ace_outbox_state_read(stored, &read), "cut to %zu bytes", length);
        ck_assert_msg(lies_within(read.locked_by, stored), "owner of %zu bytes", length);
        ck_assert_msg(lies_within(read.last_error, stored), "error of %zu bytes", length);
    }
    ck_assert(ace_outbox_state_read((ace_bytes){whole.data, whole.length}, &read));
    ck_assert_int_eq(read.attempts, written.attempts);
    ck_assert_int_eq(read.locked_until, written.locked_until);
    ck_assert(ace_bytes_equal(read.locked_by, written.locked_by));
    ck_assert(ace_bytes_equal(read.last_error, written.last_error));
    ace_buffer_free(&whole);
}
END_TEST

START_TEST(a_byte_too_many_is_refused)
{
    const ace_outbox_record record = {.exchange = ace_bytes_of("e")};
    const ace_outbox_row row = {.locked_by = ace_bytes_of("o")};
    ace_outbox_record read_record;
    ace_outbox_row read_row;
    ace_buffer bytes = ACE_BUFFER_INIT;
    ck_assert(ace_outbox_stored_write(&record, &bytes));
    ck_assert(ace_buffer_append(&bytes, "", 1));
    ck_assert(!ace_outbox_stored_read((ace_bytes){bytes.data, bytes.length}, &read_record));
    ace_buffer_clear(&bytes);
    ck_assert(ace_outbox_state_write(&row, &bytes));
    ck_assert(ace_buffer_append(&bytes, "", 1));
    ck_assert(!ace_outbox_state_read((ace_bytes){bytes.data, bytes.length}, &read_row));
    ace_buffer_free(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outbox stored");
    TCase *tcase = tcase_create("cut");
    tcase_add_test(tcase, a_record_cut_at_any_length_is_refused_and_no_part_reaches_behind_the_cut);
    tcase_add_test(tcase, a_state_cut_at_any_length_is_refused_and_no_part_reaches_behind_the_cut);
    tcase_add_test(tcase, a_byte_too_many_is_refused);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
