#include "engine/publisher.h"
#include "wire/method.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 131072u

static void compare(const char *exchange, const char *key, bool mandatory)
{
    static const amqp_basic_properties_t none = {0};
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes(exchange),
                                   .routing_key = amqp_cstring_bytes(key),
                                   .mandatory = mandatory};
    ace_buffer expected = ACE_BUFFER_INIT;
    ace_publish publish = {0};
    ck_assert_int_eq(
        ace_method_write(&expected, 0, AMQP_BASIC_PUBLISH_METHOD, &method, FRAME_MAX, NULL),
        ACE_OK);
    ck_assert_int_eq(ace_publish_encode(&publish, exchange, key, mandatory, &none,
                                        (ace_bytes){NULL, 0}, FRAME_MAX, 0, NULL),
                     ACE_OK);
    ck_assert_uint_eq(publish.header, expected.length);
    ck_assert_mem_eq(publish.frames.data, expected.data, expected.length);
    ck_assert(ace_bytes_equal_text(publish.outstanding.exchange, exchange));
    ck_assert(ace_bytes_equal_text(publish.outstanding.routing_key, key));
    ace_publish_clear(&publish);
    ace_buffer_free(&expected);
}

/* rabbitmq-c's own bytes are the measure. */
START_TEST(a_publish_is_written_as_rabbitmq_c_writes_it)
{
    char name[256];
    char key[256];
    for (size_t length = 0; length <= 255; length++) {
        memset(name, 'x', sizeof name);
        memset(key, 'k', sizeof key);
        name[length] = '\0';
        key[255 - length] = '\0';
        compare(name, key, length % 2 == 0);
    }
}
END_TEST

START_TEST(a_name_of_256_bytes_is_refused_and_named)
{
    static const amqp_basic_properties_t none = {0};
    char longest[257];
    memset(longest, 'x', 256);
    longest[256] = '\0';
    for (int i = 0; i < 2; i++) {
        ace_publish publish = {0};
        ace_error *error = NULL;
        ck_assert_int_eq(ace_publish_encode(&publish, i == 0 ? longest : "", i == 0 ? "" : longest,
                                            true, &none, (ace_bytes){NULL, 0}, FRAME_MAX, 0,
                                            &error),
                         ACE_LIMIT);
        ck_assert_str_eq(ace_error_message(error),
                         i == 0 ? "exchange has 256 bytes, the limit is 255"
                                : "routing key has 256 bytes, the limit is 255");
        ace_error_free(error);
        ace_publish_clear(&publish);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publish encode");
    TCase *tests = tcase_create("encode");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_publish_is_written_as_rabbitmq_c_writes_it);
    tcase_add_test(tests, a_name_of_256_bytes_is_refused_and_named);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
