/* The claim check, and around and inside encryption. */
#include "claim_folder.h"

#include "codec/encrypted.h"
#include "contract/framing.h"

static void opens_to(const ace_codec *codec, ace_bytes body, ace_bytes expected)
{
    ace_buffer room = ACE_BUFFER_INIT;
    ace_bytes payload;
    ace_error *error = NULL;
    ace_code code = ace_codec_open(codec, ace_bytes_of(ace_codec_content_type(codec)), body, &room,
                                   &payload, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "" : ace_error_message(error));
    ck_assert(ace_bytes_equal(payload, expected));
    ace_buffer_free(&room);
}

START_TEST(at_65535_bytes_a_body_travels_and_at_65536_it_is_stored)
{
    ace_codec *codec = claim_check(ace_codec_find("bytes"), ACE_CLAIM_THRESHOLD);
    ace_buffer small = ACE_BUFFER_INIT;
    ace_buffer large = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(codec, filled(65535), &small, NULL), ACE_OK);
    ck_assert_int_eq(list(NULL), 0);
    ck_assert_uint_eq(small.length, 65538);
    ck_assert_mem_eq(small.data, "\xac\x01\x00xxx", 6);
    ck_assert_int_eq(ace_codec_encode(codec, filled(65536), &large, NULL), ACE_OK);
    ck_assert_int_eq(list(NULL), 1);
    ck_assert_uint_eq(large.length, 3 + 36);
    ck_assert_mem_eq(large.data, "\xac\x01\x01", 3);
    ace_bytes key;
    ck_assert_int_eq(ace_claim_frame_read(view(&large), &key), ACE_CLAIM_STORED);
    opens_to(codec, view(&small), filled(65535));
    opens_to(codec, view(&large), filled(65536));
    ace_buffer_free(&small);
    ace_buffer_free(&large);
    ace_codec_release(codec);
}
END_TEST

START_TEST(an_empty_body_goes_through_inline_and_stored)
{
    for (uint64_t threshold = 0; threshold < 2; threshold++) {
        ace_codec *codec = claim_check(ace_codec_find("bytes"), threshold);
        ace_buffer body = ACE_BUFFER_INIT;
        ck_assert_int_eq(ace_codec_encode(codec, filled(0), &body, NULL), ACE_OK);
        ck_assert_int_eq(list(NULL), 1);
        opens_to(codec, view(&body), filled(0));
        ace_buffer_free(&body);
        ace_codec_release(codec);
    }
}
END_TEST

START_TEST(the_content_type_is_the_delegates)
{
    ace_codec *codec = claim_check(ace_codec_find("json"), ACE_CLAIM_THRESHOLD);
    ck_assert_str_eq(ace_codec_content_type(codec), "application/json");
    ck_assert(ace_codec_reads(codec, ace_bytes_of("text/json")));
    ck_assert(ace_codec_reads(codec, ace_bytes_of("")));
    ck_assert(!ace_codec_reads(codec, ace_bytes_of("text/plain")));
    ace_codec_release(codec);
}
END_TEST

START_TEST(what_is_not_framed_is_the_delegates)
{
    ace_codec *bytes = claim_check(ace_codec_find("bytes"), ACE_CLAIM_THRESHOLD);
    ace_codec *json = claim_check(ace_codec_find("json"), ACE_CLAIM_THRESHOLD);
    opens_to(json, ace_bytes_of("{\"a\":1}"), ace_bytes_of("{\"a\":1}"));
    static const char *const unframed[] = {"", "\xac", "\xac\x01", "\xac\x01\x02zzz",
                                           "\xac\x02\x01key"};
    for (size_t i = 0; i < sizeof unframed / sizeof *unframed; i++) {
        opens_to(bytes, ace_bytes_of(unframed[i]), ace_bytes_of(unframed[i]));
        ck_assert_int_eq(check(json, ace_bytes_of(unframed[i]), NULL), ACE_DECODE);
    }
    ace_codec_release(bytes);
    ace_codec_release(json);
}
END_TEST

START_TEST(a_malformed_key_and_a_missing_object_do_not_decode)
{
    ace_codec *codec = claim_check(ace_codec_find("bytes"), ACE_CLAIM_THRESHOLD);
    static const char *const bodies[] = {"\xac\x01\x01", "\xac\x01\x01../etc/passwd",
                                         "\xac\x01\x01.hidden", "\xac\x01\x01nothing-here"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        ace_error *error = NULL;
        ck_assert_int_eq(check(codec, ace_bytes_of(bodies[i]), &error), ACE_DECODE);
        ck_assert_ptr_null(strstr(ace_error_message(error), "passwd"));
        ace_error_free(error);
    }
    ace_codec_release(codec);
}
END_TEST

START_TEST(an_object_that_the_delegate_cannot_read_does_not_decode)
{
    ace_codec *bytes = claim_check(ace_codec_find("bytes"), 0);
    ace_codec *json = claim_check(ace_codec_find("json"), 0);
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(bytes, ace_bytes_of("{no"), &body, NULL), ACE_OK);
    ck_assert_int_eq(check(json, view(&body), NULL), ACE_DECODE);
    ace_buffer_free(&body);
    ace_codec_release(bytes);
    ace_codec_release(json);
}
END_TEST

static ace_codec *encrypting(const ace_codec *inner)
{
    static const uint8_t key[32] = {7};
    ace_keyring *ring = ace_keyring_new();
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of("k"), (ace_bytes){key, 32}, NULL), ACE_OK);
    ck_assert_int_eq(ace_codec_encrypted(ring, inner, NULL, NULL, &codec, NULL), ACE_OK);
    ace_keyring_free(ring);
    return codec;
}

static bool stored_in_the_clear;

static void look_for_plain_text(const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    char start[5] = "";
    ck_assert_uint_eq(fread(start, 1, 4, file), 4);
    fclose(file);
    stored_in_the_clear = strcmp(start, "xxxx") == 0;
}

START_TEST(either_order_of_encryption_and_claim_check_comes_back)
{
    ace_codec *encrypted = encrypting(ace_codec_find("bytes"));
    ace_codec *outside = claim_check(encrypted, ACE_CLAIM_THRESHOLD);
    ace_codec *plain = claim_check(ace_codec_find("bytes"), ACE_CLAIM_THRESHOLD);
    ace_codec *inside = encrypting(plain);
    ace_codec_release(encrypted);
    ace_codec_release(plain);
    ck_assert_str_eq(ace_codec_content_type(outside), "application/vnd.acemq.encrypted");
    ck_assert_str_eq(ace_codec_content_type(inside), "application/vnd.acemq.encrypted");
    ace_codec *codecs[] = {outside, inside};
    for (size_t i = 0; i < 2; i++) {
        ace_buffer large = ACE_BUFFER_INIT;
        ace_buffer small = ACE_BUFFER_INIT;
        ck_assert_int_eq(ace_codec_encode(codecs[i], filled(70000), &large, NULL), ACE_OK);
        ck_assert_uint_lt(large.length, 200);
        ck_assert_int_eq(list(look_for_plain_text), 1);
        ck_assert_int_eq(stored_in_the_clear, i == 1);
        ck_assert_int_eq(ace_codec_encode(codecs[i], filled(10), &small, NULL), ACE_OK);
        opens_to(codecs[i], view(&large), filled(70000));
        opens_to(codecs[i], view(&small), filled(10));
        (void)list(delete_file);
        ck_assert_int_eq(check(codecs[i], view(&large), NULL), ACE_DECODE);
        ace_buffer_free(&large);
        ace_buffer_free(&small);
        ace_codec_release(codecs[i]);
    }
}
END_TEST

/* The threshold looks at what is stored: 65,504 bytes and the frame of encryption are 65,536. */
START_TEST(the_threshold_counts_encoded_bytes)
{
    ace_codec *encrypted = encrypting(ace_codec_find("bytes"));
    ace_codec *codec = claim_check(encrypted, ACE_CLAIM_THRESHOLD);
    ace_codec_release(encrypted);
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(codec, filled(65503), &body, NULL), ACE_OK);
    ck_assert_int_eq(list(NULL), 0);
    ck_assert_int_eq(ace_codec_encode(codec, filled(65504), &body, NULL), ACE_OK);
    ck_assert_int_eq(list(NULL), 1);
    ace_buffer_free(&body);
    ace_codec_release(codec);
}
END_TEST

typedef struct custom_store {
    ace_code put, get;
    int freed;
} custom_store;

static ace_code custom_put(const char *key, ace_bytes object, void *user, ace_error **error)
{
    (void)key;
    (void)object;
    (void)error;
    return ((custom_store *)user)->put;
}

static ace_code custom_get(const char *key, ace_buffer *object, void *user, ace_error **error)
{
    (void)key;
    (void)error;
    ck_assert(ace_buffer_append(object, "half", 4));
    return ((custom_store *)user)->get;
}

static ace_code custom_remove(const char *key, void *user, ace_error **error)
{
    (void)key;
    (void)user;
    (void)error;
    return ACE_OK;
}

static void custom_free(void *user)
{
    ((custom_store *)user)->freed++;
}

START_TEST(a_store_that_fails_is_a_failure_and_never_says_that_a_body_does_not_decode)
{
    custom_store custom = {ACE_TIMEOUT, ACE_TIMEOUT, 0};
    ace_claim_store_calls calls = {custom_put, custom_get, custom_remove, &custom, custom_free};
    ace_claim_store *own = NULL;
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_claim_store_new(&calls, &own, NULL), ACE_OK);
    ck_assert_int_eq(ace_codec_claim_check(ace_codec_find("bytes"), own, 0, NULL, &codec, NULL),
                     ACE_OK);
    ace_claim_store_release(own);
    ace_buffer body = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ck_assert_int_eq(ace_codec_encode(codec, filled(5), &body, &error), ACE_TIMEOUT);
    ck_assert_str_eq(ace_error_message(error), "the claim store's put gave no reason");
    ace_error_free(error);
    ace_bytes stored = ace_bytes_of("\xac\x01\x01key");
    ck_assert_int_eq(check(codec, stored, NULL), ACE_TIMEOUT);
    custom.get = ACE_DECODE;
    ck_assert_int_eq(check(codec, stored, NULL), ACE_SYSTEM);
    custom.get = ACE_NOT_FOUND;
    ck_assert_int_eq(check(codec, stored, NULL), ACE_DECODE);
    custom.get = ACE_OK;
    opens_to(codec, stored, ace_bytes_of("half"));
    ck_assert_int_eq(custom.freed, 0);
    ace_codec_release(codec);
    ck_assert_int_eq(custom.freed, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("claim check");
    TCase *tcase = tcase_create("claim check");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, at_65535_bytes_a_body_travels_and_at_65536_it_is_stored);
    tcase_add_test(tcase, an_empty_body_goes_through_inline_and_stored);
    tcase_add_test(tcase, the_content_type_is_the_delegates);
    tcase_add_test(tcase, what_is_not_framed_is_the_delegates);
    tcase_add_test(tcase, a_malformed_key_and_a_missing_object_do_not_decode);
    tcase_add_test(tcase, an_object_that_the_delegate_cannot_read_does_not_decode);
    tcase_add_test(tcase, either_order_of_encryption_and_claim_check_comes_back);
    tcase_add_test(tcase, the_threshold_counts_encoded_bytes);
    tcase_add_test(tcase,
                   a_store_that_fails_is_a_failure_and_never_says_that_a_body_does_not_decode);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
