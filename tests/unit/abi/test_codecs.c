/* The codecs that wrap another: what their functions refuse, and what they hand out. */
#include <acemq/acemq.h>

#include <check.h>
#include <string.h>

static const char key[] = "0123456789abcdef";

static void fails(acemq_status status, acemq_status expected, acemq_error **error, const char *says)
{
    ck_assert_int_eq(status, expected);
    ck_assert_ptr_nonnull(*error);
    ck_assert_msg(strstr(acemq_error_message(*error), says) != NULL, "%s",
                  acemq_error_message(*error));
    acemq_error_free(*error);
    *error = NULL;
}

START_TEST(encoding_and_decoding_hand_out_bytes_that_end_in_nul)
{
    const acemq_codec *text = acemq_codec_builtin("text");
    void *out = NULL;
    size_t length = 99;
    ck_assert_str_eq(acemq_codec_content_type(text), "text/plain; charset=utf-8");
    ck_assert_ptr_null(acemq_codec_content_type(NULL));
    ck_assert_int_eq(acemq_codec_encode(text, (acemq_bytes){"abc", 3}, &out, &length, NULL),
                     ACEMQ_OK);
    ck_assert_str_eq(out, "abc");
    ck_assert_uint_eq(length, 3);
    acemq_free(out);
    ck_assert_int_eq(
        acemq_codec_decode(text, (acemq_bytes){NULL, 0}, "text/csv", &out, &length, NULL),
        ACEMQ_OK);
    ck_assert_str_eq(out, "");
    ck_assert_uint_eq(length, 0);
    acemq_free(out);
}
END_TEST

START_TEST(what_is_missing_is_named)
{
    acemq_error *error = NULL;
    const acemq_codec *json = acemq_codec_builtin("json");
    acemq_keyring *ring = NULL;
    acemq_codec *codec = NULL;
    acemq_claim_store *store = NULL;
    void *out = NULL;
    size_t length;
    acemq_bytes some = {"1", 1};
    fails(acemq_codec_encode(NULL, some, &out, &length, &error), 1, &error, "codec");
    fails(acemq_codec_encode(json, some, NULL, &length, &error), 1, &error, "body");
    fails(acemq_codec_encode(json, some, &out, NULL, &error), 1, &error, "length");
    fails(acemq_codec_encode(json, (acemq_bytes){"{", 1}, &out, &length, &error), ACEMQ_E_DECODE,
          &error, "");
    fails(acemq_codec_decode(json, some, "text/plain", &out, &length, &error), ACEMQ_E_DECODE,
          &error, "text/plain");
    fails(acemq_keyring_new(NULL, &error), 1, &error, "keyring");
    ck_assert_int_eq(acemq_keyring_new(&ring, NULL), ACEMQ_OK);
    fails(acemq_keyring_add(ring, NULL, some, &error), 1, &error, "id");
    fails(acemq_keyring_add(ring, "k", some, &error), 1, &error, "key has 1 bytes");
    fails(acemq_keyring_write_with(ring, "k", &error), ACEMQ_E_NOT_FOUND, &error, "no key");
    fails(acemq_codec_encrypted(ring, json, &codec, &error), ACEMQ_E_STATE, &error, "no key");
    ck_assert_int_eq(acemq_keyring_add(ring, "k", (acemq_bytes){key, 16}, NULL), ACEMQ_OK);
    fails(acemq_codec_encrypted(ring, NULL, &codec, &error), 1, &error, "inner");
    fails(acemq_codec_encrypted(ring, json, NULL, &error), 1, &error, "codec");
    acemq_keyring_free(ring);
    fails(acemq_claim_store_directory(NULL, NULL, &store, &error), 1, &error, "path");
    fails(acemq_claim_store_directory("/nowhere", NULL, &store, &error), ACEMQ_E_SYSTEM, &error,
          "/nowhere");
    fails(acemq_claim_store_new(NULL, &store, &error), 1, &error, "callbacks");
    fails(acemq_codec_claim_check(json, NULL, 1, &codec, &error), 1, &error, "store");
    fails(acemq_claim_store_remove(NULL, "k", &error), 1, &error, "store");
    acemq_claim_store_free(NULL);
    acemq_keyring_free(NULL);
}
END_TEST

START_TEST(directory_options_have_their_limits)
{
    acemq_error *error = NULL;
    acemq_claim_store *store = NULL;
    acemq_claim_directory_options options = ACEMQ_CLAIM_DIRECTORY_OPTIONS_INIT;
    acemq_claim_directory_options filled;
    memset(&filled, 0xff, sizeof filled);
    ck_assert_int_eq(acemq_claim_directory_options_init(&filled, sizeof filled), ACEMQ_OK);
    ck_assert_mem_eq(&filled, &options, sizeof options);
    options.mode = 01777;
    fails(acemq_claim_store_directory("/tmp", &options, &store, &error), 1, &error, "mode");
    options.mode = 0600;
    options.largest = 0;
    fails(acemq_claim_store_directory("/tmp", &options, &store, &error), 1, &error, "largest");
    options.largest = 1;
    options.reserved = 1;
    fails(acemq_claim_store_directory("/tmp", &options, &store, &error), 1, &error, "reserved");
    options.reserved = 0;
    ck_assert_int_eq(acemq_claim_store_directory("/tmp", &options, &store, NULL), ACEMQ_OK);
    acemq_codec *codec = NULL;
    fails(acemq_codec_claim_check(acemq_codec_builtin("json"), store, -1, &codec, &error), 1,
          &error, "threshold");
    fails(acemq_claim_store_remove(store, "../x", &error), 1, &error, "key");
    acemq_claim_store_free(store);
}
END_TEST

START_TEST(a_message_keeps_the_error_of_its_codec)
{
    acemq_error *error = NULL;
    acemq_message *message = acemq_message_encoded(NULL, "x", 1);
    fails(acemq_message_check(message, &error), 1, &error, "codec");
    acemq_message_free(message);
    message = acemq_message_encoded(acemq_codec_builtin("json"), "{", 1);
    fails(acemq_message_check(message, &error), ACEMQ_E_DECODE, &error, "");
    acemq_message_free(message);
    message = acemq_message_encoded(acemq_codec_builtin("json"), "{}", 2);
    ck_assert_int_eq(acemq_message_check(message, NULL), ACEMQ_OK);
    ck_assert_str_eq(acemq_message_content_type(message), "application/json");
    acemq_message_free(message);
    message = acemq_message_text("x");
    ck_assert_str_eq(acemq_message_content_type(message), "text/plain; charset=utf-8");
    acemq_message_free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("codecs");
    TCase *tcase = tcase_create("codecs");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, encoding_and_decoding_hand_out_bytes_that_end_in_nul);
    tcase_add_test(tcase, what_is_missing_is_named);
    tcase_add_test(tcase, directory_options_have_their_limits);
    tcase_add_test(tcase, a_message_keeps_the_error_of_its_codec);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
