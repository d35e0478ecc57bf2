#include "base/error.h"

#include "base/utf8.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const ace_code every_code[] = {
    ACE_OK,
    ACE_INVALID_ARGUMENT,
    ACE_LIMIT,
    ACE_PARSE,
    ACE_RESERVED_HEADER,
    ACE_STATE,
    ACE_CLOSED,
    ACE_FORKED,
    ACE_FROM_HANDLER,
    ACE_WRONG_THREAD,
    ACE_SETTLED,
    ACE_STALE,
    ACE_UNSUPPORTED,
    ACE_OUT_OF_MEMORY,
    ACE_SYSTEM,
    ACE_TIMEOUT,
    ACE_CANCELLED,
    ACE_UNREACHABLE,
    ACE_LOGIN_REFUSED,
    ACE_VHOST_REFUSED,
    ACE_CONNECTION_LOST,
    ACE_PROTOCOL,
    ACE_ACCESS_REFUSED,
    ACE_NOT_FOUND,
    ACE_LOCKED,
    ACE_DIFFERS,
    ACE_CHANNEL_CLOSED,
    ACE_UNROUTABLE,
    ACE_NACKED,
    ACE_REFUSED,
    ACE_UNKNOWN_OUTCOME,
    ACE_DECODE,
    ACE_STORE,
    ACE_STORE_FULL,
    ACE_FENCED,
    ACE_TLS,
    ACE_TLS_NAME,
    ACE_TLS_UNTRUSTED,
    ACE_TLS_EXPIRED,
    ACE_TLS_PLAIN_SERVER,
    ACE_TLS_WANTED,
    ACE_TLS_CLIENT_CERTIFICATE,
    ACE_TLS_VERSION,
};
#define CODES (sizeof every_code / sizeof every_code[0])

/* A code that is added to the enum and not to the list above makes the compiler complain here. */
static bool is_listed(ace_code code)
{
    switch (code) {
    case ACE_OK:
    case ACE_INVALID_ARGUMENT:
    case ACE_LIMIT:
    case ACE_PARSE:
    case ACE_RESERVED_HEADER:
    case ACE_STATE:
    case ACE_CLOSED:
    case ACE_FORKED:
    case ACE_FROM_HANDLER:
    case ACE_WRONG_THREAD:
    case ACE_SETTLED:
    case ACE_STALE:
    case ACE_UNSUPPORTED:
    case ACE_OUT_OF_MEMORY:
    case ACE_SYSTEM:
    case ACE_TIMEOUT:
    case ACE_CANCELLED:
    case ACE_UNREACHABLE:
    case ACE_LOGIN_REFUSED:
    case ACE_VHOST_REFUSED:
    case ACE_CONNECTION_LOST:
    case ACE_PROTOCOL:
    case ACE_ACCESS_REFUSED:
    case ACE_NOT_FOUND:
    case ACE_LOCKED:
    case ACE_DIFFERS:
    case ACE_CHANNEL_CLOSED:
    case ACE_UNROUTABLE:
    case ACE_NACKED:
    case ACE_REFUSED:
    case ACE_UNKNOWN_OUTCOME:
    case ACE_DECODE:
    case ACE_STORE:
    case ACE_STORE_FULL:
    case ACE_FENCED:
    case ACE_TLS:
    case ACE_TLS_NAME:
    case ACE_TLS_UNTRUSTED:
    case ACE_TLS_EXPIRED:
    case ACE_TLS_PLAIN_SERVER:
    case ACE_TLS_WANTED:
    case ACE_TLS_CLIENT_CERTIFICATE:
    case ACE_TLS_VERSION:
        return true;
    }
    return false;
}

START_TEST(every_code_has_a_name_of_its_own)
{
    for (size_t i = 0; i < CODES; i++) {
        const char *name = ace_code_name(every_code[i]);
        ck_assert_str_ne(name, "unknown");
        ck_assert_uint_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
        for (size_t j = 0; j < i; j++) {
            ck_assert_str_ne(name, ace_code_name(every_code[j]));
        }
    }
    size_t listed = 0;
    for (int number = 0; number < 200; number++) {
        bool is_code = is_listed((ace_code)number);
        listed += is_code ? 1 : 0;
        ck_assert_int_eq(is_code, strcmp(ace_code_name((ace_code)number), "unknown") != 0);
    }
    ck_assert_uint_eq(listed, CODES);
    ck_assert_str_eq(ace_code_name(ACE_OK), "ok");
    ck_assert_str_eq(ace_code_name(ACE_LOGIN_REFUSED), "login_refused");
}
END_TEST

START_TEST(only_what_may_pass_by_itself_is_retriable)
{
    ck_assert(!ace_code_retriable(ACE_OK));
    ck_assert(!ace_code_retriable(ACE_INVALID_ARGUMENT));
    ck_assert(!ace_code_retriable(ACE_LOGIN_REFUSED));
    ck_assert(!ace_code_retriable(ACE_UNROUTABLE));
    ck_assert(!ace_code_retriable(ACE_DECODE));
    ck_assert(ace_code_retriable(ACE_TIMEOUT));
    ck_assert(ace_code_retriable(ACE_UNREACHABLE));
    ck_assert(ace_code_retriable(ACE_CONNECTION_LOST));
    ck_assert(ace_code_retriable(ACE_REFUSED));
    ck_assert(ace_code_retriable(ACE_NACKED));
    ck_assert(!ace_code_retriable((ace_code)9999));
}
END_TEST

START_TEST(a_failure_fills_the_error_and_returns_its_code)
{
    ace_error *error = NULL;
    ace_code code =
        ace_fail(&error, ACE_LIMIT, "routing key has %d bytes, the limit is %d", 300, 255);
    ck_assert_int_eq(code, ACE_LIMIT);
    ck_assert_int_eq(ace_error_code(error), ACE_LIMIT);
    ck_assert_str_eq(ace_error_name(error), "limit");
    ck_assert_str_eq(ace_error_message(error), "routing key has 300 bytes, the limit is 255");
    ck_assert_str_eq(ace_error_field_name(error), "");
    ck_assert_int_eq(ace_error_limit(error), 0);
    ck_assert_int_eq(ace_error_reply(error), 0);

    ace_error_field(&error, "routing key", 255);
    ace_error_set_reply(&error, 406);
    ck_assert_str_eq(ace_error_field_name(error), "routing key");
    ck_assert_int_eq(ace_error_limit(error), 255);
    ck_assert_int_eq(ace_error_reply(error), 406);
    ace_error_free(error);
}
END_TEST

START_TEST(a_null_error_is_accepted_everywhere)
{
    ck_assert_int_eq(ace_fail(NULL, ACE_STATE, "x"), ACE_STATE);
    ck_assert_int_eq(ace_fail_system(NULL, EPIPE, "write"), ACE_SYSTEM);
    ck_assert_int_eq(ace_fail_memory(NULL), ACE_OUT_OF_MEMORY);
    ace_error *none = NULL;
    ace_error_field(NULL, "x", 1);
    ace_error_field(&none, "x", 1);
    ace_error_set_reply(NULL, 1);
    ace_error_set_reply(&none, 1);
    ace_error_prefix(NULL, "x");
    ace_error_prefix(&none, "x");
    ck_assert_ptr_null(none);
    ck_assert_ptr_null(ace_error_copy(NULL));
    ace_error_free(NULL);
    ck_assert_int_eq(ace_error_code(NULL), ACE_OK);
    ck_assert_str_eq(ace_error_message(NULL), "");
    ck_assert_str_eq(ace_error_name(NULL), "ok");
    ck_assert_str_eq(ace_error_field_name(NULL), "");
}
END_TEST

START_TEST(a_system_error_has_the_call_and_the_reason)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_fail_system(&error, ECONNREFUSED, "connect"), ACE_SYSTEM);
    ck_assert_str_eq(ace_error_message(error), "connect: Connection refused");
    ace_error_free(error);
    error = NULL;
    ck_assert_int_eq(ace_fail_system(&error, ENOMEM, "mmap"), ACE_OUT_OF_MEMORY);
    ck_assert_int_eq(ace_error_code(error), ACE_OUT_OF_MEMORY);
    ace_error_free(error);
}
END_TEST

START_TEST(the_error_of_no_memory_takes_every_call)
{
    ace_error *error = NULL;
    ck_assert_int_eq(ace_fail_memory(&error), ACE_OUT_OF_MEMORY);
    ace_error_field(&error, "body", 7);
    ace_error_set_reply(&error, 500);
    ace_error_prefix(&error, "publishing");
    ck_assert_str_eq(ace_error_message(error), "out of memory");
    ck_assert_str_eq(ace_error_field_name(error), "");
    ace_error *copy = ace_error_copy(error);
    ck_assert_ptr_nonnull(copy);
    ck_assert_str_eq(ace_error_message(copy), "out of memory");
    ace_error_free(copy);
    ace_error_free(error);
    ace_error_free(error);
}
END_TEST

START_TEST(the_message_is_one_line_of_valid_utf8)
{
    ace_error *error = NULL;
    ace_fail(&error, ACE_PROTOCOL, "%s",
             "a\r\nb\tc\x1b[31md\x7f\xc2\x9b"
             "e\xff\xc3\xa9\xc3");
    ck_assert_str_eq(ace_error_message(error), "a  b c [31md   e?\xc3\xa9?");
    ace_error_free(error);
}
END_TEST

/* Each way a code point of 2, 3 or 4 bytes can lie across the limit. */
START_TEST(a_long_message_is_cut_between_code_points)
{
    static const char *const points[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x87"};
    for (size_t kind = 0; kind < 3; kind++) {
        size_t width = strlen(points[kind]);
        for (size_t start = 1015; start <= 1026; start++) {
            char text[1100];
            memset(text, 'a', sizeof text);
            memcpy(text + start, points[kind], width);
            text[start + width] = '\0';
            ace_error *error = NULL;
            ace_fail(&error, ACE_PROTOCOL, "%s", text);
            size_t length = strlen(ace_error_message(error));
            size_t whole = start + width;
            size_t cut = start < 1023 ? start : 1023;
            ck_assert_uint_eq(length, whole <= 1023 ? whole : cut);
            ck_assert(ace_utf8_is_valid(ace_error_message(error), length));
            ck_assert_ptr_null(strchr(ace_error_message(error), '?'));
            ace_error_free(error);
        }
    }
}
END_TEST

START_TEST(a_prefix_goes_before_the_message_within_the_limit)
{
    ace_error *error = NULL;
    ace_fail(&error, ACE_NOT_FOUND, "no queue %s", "orders");
    ace_error_field(&error, "queue", 0);
    ace_error_prefix(&error, "consumer %s\n", "billing");
    ck_assert_str_eq(ace_error_message(error), "consumer billing : no queue orders");
    ck_assert_str_eq(ace_error_field_name(error), "queue");
    for (int i = 0; i < 200; i++) {
        ace_error_prefix(&error, "%s", "zw\xc3\xb6lf");
        ck_assert_uint_le(strlen(ace_error_message(error)), 1023);
        ck_assert_ptr_null(strchr(ace_error_message(error), '?'));
    }
    ck_assert_uint_ge(strlen(ace_error_message(error)), 1021);
    ace_error_free(error);

    char huge[3000];
    memset(huge, 'p', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    error = NULL;
    ace_fail(&error, ACE_NOT_FOUND, "x");
    ace_error_prefix(&error, "%s", huge);
    ck_assert_uint_eq(strlen(ace_error_message(error)), 1023);
    ace_error_free(error);
}
END_TEST

START_TEST(a_copy_is_equal_and_apart)
{
    ace_error *error = NULL;
    ace_fail(&error, ACE_DIFFERS, "queue differs");
    ace_error_field(&error, "x-queue-type", 3);
    ace_error_set_reply(&error, 406);
    ace_error *copy = ace_error_copy(error);
    ck_assert_ptr_ne(copy, error);
    ace_error_free(error);
    ck_assert_int_eq(ace_error_code(copy), ACE_DIFFERS);
    ck_assert_str_eq(ace_error_message(copy), "queue differs");
    ck_assert_str_eq(ace_error_field_name(copy), "x-queue-type");
    ck_assert_int_eq(ace_error_limit(copy), 3);
    ck_assert_int_eq(ace_error_reply(copy), 406);

    ace_error *moved = NULL;
    ck_assert_int_eq(ace_error_move(&moved, copy), ACE_DIFFERS);
    ck_assert_ptr_eq(moved, copy);
    ck_assert_int_eq(ace_error_move(NULL, moved), ACE_DIFFERS);
    ace_error *untouched = NULL;
    ck_assert_int_eq(ace_error_move(&untouched, NULL), ACE_OK);
    ck_assert_ptr_null(untouched);
}
END_TEST

START_TEST(a_long_field_name_is_cut)
{
    char name[300];
    memset(name, 'f', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ace_error *error = NULL;
    ace_fail(&error, ACE_LIMIT, "x");
    ace_error_field(&error, name, 1);
    ck_assert_uint_eq(strlen(ace_error_field_name(error)), 63);
    ace_error_free(error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base error");
    TCase *tests = tcase_create("error");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_code_has_a_name_of_its_own);
    tcase_add_test(tests, only_what_may_pass_by_itself_is_retriable);
    tcase_add_test(tests, a_failure_fills_the_error_and_returns_its_code);
    tcase_add_test(tests, a_null_error_is_accepted_everywhere);
    tcase_add_test(tests, a_system_error_has_the_call_and_the_reason);
    tcase_add_test(tests, the_error_of_no_memory_takes_every_call);
    tcase_add_test(tests, the_message_is_one_line_of_valid_utf8);
    tcase_add_test(tests, a_long_message_is_cut_between_code_points);
    tcase_add_test(tests, a_prefix_goes_before_the_message_within_the_limit);
    tcase_add_test(tests, a_copy_is_equal_and_apart);
    tcase_add_test(tests, a_long_field_name_is_cut);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
