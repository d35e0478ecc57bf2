/* Encrypted bodies: the contract's vector, and that nothing else opens. */
#include "codec/encrypted.h"
#include "codec/seal.h"
#include "support/rounds.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char vector_hex[] =
    "ae0107323032362d3031000102030405060708090a0b2f67ba77aa632797b83b1f88ef1394bb9ff6e85641";
#define VECTOR_LENGTH 43

static const uint8_t key_bytes[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                      22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
static const ace_bytes whole_key = {key_bytes, sizeof key_bytes};

static bool counting_nonce(uint8_t nonce[12], void *user)
{
    (void)user;
    for (uint8_t i = 0; i < 12; i++) {
        nonce[i] = i;
    }
    return true;
}

static void read_hex(const char *text, uint8_t *out)
{
    for (size_t i = 0; text[2 * i] != '\0'; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], '\0'};
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static ace_bytes view(const ace_buffer *buffer)
{
    return (ace_bytes){buffer->data, buffer->length};
}

static ace_codec *make(const char *id, ace_bytes key, const ace_codec *inner,
                       ace_nonce_source *source)
{
    ace_keyring *ring = ace_keyring_new();
    ck_assert_ptr_nonnull(ring);
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of(id), key, NULL), ACE_OK);
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_encrypted(ring, inner, source, NULL, &codec, NULL), ACE_OK);
    ace_keyring_free(ring);
    return codec;
}

static ace_code open_with(const ace_codec *codec, ace_bytes body, ace_buffer *room,
                          ace_bytes *payload, ace_error **error)
{
    return ace_codec_open(codec, ace_bytes_of("application/vnd.acemq.encrypted"), body, room,
                          payload, error);
}

START_TEST(the_vector_of_the_contract_byte_for_byte)
{
    uint8_t expected[VECTOR_LENGTH];
    read_hex(vector_hex, expected);
    ace_codec *codec = make("2026-01", whole_key, ace_codec_find("text"), counting_nonce);
    ck_assert_str_eq(ace_codec_content_type(codec), "application/vnd.acemq.encrypted");
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(codec, ace_bytes_of("hello"), &body, NULL), ACE_OK);
    ck_assert_uint_eq(body.length, VECTOR_LENGTH);
    ck_assert_mem_eq(body.data, expected, VECTOR_LENGTH);
    ace_buffer room = ACE_BUFFER_INIT;
    ace_bytes payload;
    ck_assert_int_eq(open_with(codec, view(&body), &room, &payload, NULL), ACE_OK);
    ck_assert(ace_bytes_equal_text(payload, "hello"));
    ace_buffer_free(&room);
    ace_buffer_free(&body);
    ace_codec_release(codec);
}
END_TEST

START_TEST(every_flipped_bit_and_every_cut_fails)
{
    uint8_t body[VECTOR_LENGTH];
    read_hex(vector_hex, body);
    ace_codec *codec = make("2026-01", whole_key, ace_codec_find("bytes"), NULL);
    for (size_t bit = 0; bit < sizeof body * 8; bit++) {
        body[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ace_buffer room = ACE_BUFFER_INIT;
        ace_bytes payload;
        ck_assert_int_eq(open_with(codec, (ace_bytes){body, sizeof body}, &room, &payload, NULL),
                         ACE_DECODE);
        ck_assert_uint_eq(payload.length, 0);
        ck_assert_ptr_null(room.data);
        body[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t length = 0; length < sizeof body; length++) {
        ck_assert_int_eq(ace_codec_check(codec, ace_bytes_of("application/vnd.acemq.encrypted"),
                                         (ace_bytes){body, length}, NULL),
                         ACE_DECODE);
    }
    ck_assert_int_eq(ace_codec_check(codec, ace_bytes_of("application/vnd.acemq.encrypted"),
                                     (ace_bytes){body, sizeof body}, NULL),
                     ACE_OK);
    ace_codec_release(codec);
}
END_TEST

/* 128, 192 and 256 bits; bodies of none, one, and many bytes. */
START_TEST(every_key_length_and_body_comes_back)
{
    static const size_t lengths[] = {0, 1, 15, 16, 17, 65536, 1000003};
    size_t key_length = 16 + 8 * (size_t)_i;
    ace_codec *codec = make("k", (ace_bytes){key_bytes, key_length}, ace_codec_find("bytes"), NULL);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t *plain = malloc(lengths[i] + 1);
        ck_assert_ptr_nonnull(plain);
        memset(plain, 0x5a, lengths[i] + 1);
        ace_buffer body = ACE_BUFFER_INIT;
        ck_assert_int_eq(ace_codec_encode(codec, (ace_bytes){plain, lengths[i]}, &body, NULL),
                         ACE_OK);
        ck_assert_uint_eq(body.length, lengths[i] + 4 + 12 + 16);
        ace_buffer room = ACE_BUFFER_INIT;
        ace_bytes payload;
        ck_assert_int_eq(open_with(codec, view(&body), &room, &payload, NULL), ACE_OK);
        ck_assert(ace_bytes_equal(payload, (ace_bytes){plain, lengths[i]}));
        ace_buffer_free(&room);
        ace_buffer_free(&body);
        free(plain);
    }
    ace_codec_release(codec);
}
END_TEST

START_TEST(no_nonce_comes_twice)
{
    enum { BODIES = 2000 };
    size_t bodies = (size_t)rounds(BODIES);
    ace_codec *codec = make("k", whole_key, ace_codec_find("bytes"), NULL);
    static uint8_t nonces[BODIES][12];
    for (size_t i = 0; i < bodies; i++) {
        ace_buffer body = ACE_BUFFER_INIT;
        ck_assert_int_eq(ace_codec_encode(codec, ace_bytes_of("same"), &body, NULL), ACE_OK);
        memcpy(nonces[i], body.data + 4, 12);
        ace_buffer_free(&body);
    }
    for (size_t i = 0; i < bodies; i++) {
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_ne(memcmp(nonces[i], nonces[k], 12), 0);
        }
    }
    ace_codec_release(codec);
}
END_TEST

static ace_bytes numbered_key(uint8_t number, uint8_t room[32])
{
    memset(room, number, 32);
    return (ace_bytes){room, 32};
}

START_TEST(one_key_writes_and_many_read)
{
    uint8_t room1[32];
    uint8_t room2[32];
    ace_codec *old = make("old", numbered_key(1, room1), ace_codec_find("bytes"), NULL);
    ace_keyring *ring = ace_keyring_new();
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of("old"), numbered_key(1, room1), NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of("new"), numbered_key(2, room2), NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_keyring_write_with(ring, ace_bytes_of("none"), NULL), ACE_NOT_FOUND);
    ck_assert_int_eq(ace_keyring_write_with(ring, ace_bytes_of("new"), NULL), ACE_OK);
    ace_codec *both = NULL;
    ck_assert_int_eq(ace_codec_encrypted(ring, ace_codec_find("bytes"), NULL, NULL, &both, NULL),
                     ACE_OK);
    ace_keyring_free(ring);

    ace_buffer by_old = ACE_BUFFER_INIT;
    ace_buffer by_new = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(old, ace_bytes_of("1"), &by_old, NULL), ACE_OK);
    ck_assert_int_eq(ace_codec_encode(both, ace_bytes_of("2"), &by_new, NULL), ACE_OK);
    ck_assert_mem_eq(by_new.data + 3, "new", 3);
    ace_bytes type = ace_bytes_of("application/vnd.acemq.encrypted");
    ck_assert_int_eq(ace_codec_check(both, type, view(&by_old), NULL), ACE_OK);
    ck_assert_int_eq(ace_codec_check(both, type, view(&by_new), NULL), ACE_OK);
    ace_error *error = NULL;
    ck_assert_int_eq(ace_codec_check(old, type, view(&by_new), &error), ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error), "there is no key \"new\"");
    ace_error_free(error);
    ace_buffer_free(&by_old);
    ace_buffer_free(&by_new);
    ace_codec_release(old);
    ace_codec_release(both);
}
END_TEST

START_TEST(a_wrong_key_of_the_same_id_is_named_by_its_id_alone)
{
    uint8_t room[32];
    ace_codec *writer = make("k1", numbered_key('A', room), ace_codec_find("bytes"), NULL);
    ace_codec *reader = make("k1", numbered_key('B', room), ace_codec_find("bytes"), NULL);
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(writer, ace_bytes_of("secret"), &body, NULL), ACE_OK);
    ace_buffer opened = ACE_BUFFER_INIT;
    ace_bytes payload;
    ace_error *error = NULL;
    ck_assert_int_eq(open_with(reader, view(&body), &opened, &payload, &error), ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error),
                     "key \"k1\": the encrypted body is damaged, or not of this key");
    ck_assert_ptr_null(strstr(ace_error_message(error), "BBB"));
    ace_error_free(error);
    ace_buffer_free(&body);
    ace_codec_release(writer);
    ace_codec_release(reader);
}
END_TEST

START_TEST(an_id_that_is_no_text_is_shown_in_hexadecimal)
{
    ace_codec *codec = make("k", whole_key, ace_codec_find("bytes"), NULL);
    uint8_t body[64] = {0xae, 1, 2, 0xff, '\n'};
    ace_error *error = NULL;
    ck_assert_int_eq(ace_codec_check(codec, ace_bytes_of("application/vnd.acemq.encrypted"),
                                     (ace_bytes){body, sizeof body}, &error),
                     ACE_DECODE);
    ck_assert_str_eq(ace_error_message(error), "there is no key \"0xff0a\"");
    ace_error_free(error);
    ace_codec_release(codec);
}
END_TEST

START_TEST(only_its_own_content_type_is_read)
{
    ace_codec *codec = make("k", whole_key, ace_codec_find("json"), NULL);
    ck_assert(ace_codec_reads(codec, ace_bytes_of("Application/VND.acemq.encrypted; v=1")));
    ck_assert(!ace_codec_reads(codec, ace_bytes_of("application/json")));
    ck_assert(!ace_codec_reads(codec, ace_bytes_of("")));
    ace_codec_release(codec);
}
END_TEST

/* What was encrypted is still to decode. */
START_TEST(the_codec_inside_has_its_say)
{
    ace_codec *bytes = make("k", whole_key, ace_codec_find("bytes"), NULL);
    ace_codec *json = make("k", whole_key, ace_codec_find("json"), NULL);
    ace_bytes type = ace_bytes_of("application/vnd.acemq.encrypted");
    ace_buffer body = ACE_BUFFER_INIT;
    ace_buffer nothing = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(bytes, ace_bytes_of("{no"), &body, NULL), ACE_OK);
    ck_assert_int_eq(ace_codec_check(json, type, view(&body), NULL), ACE_DECODE);
    ck_assert_int_eq(ace_codec_encode(json, ace_bytes_of("{no"), &nothing, NULL), ACE_DECODE);
    ck_assert_uint_eq(nothing.length, 0);
    ace_buffer_free(&body);
    ace_codec_release(bytes);
    ace_codec_release(json);
}
END_TEST

static bool no_nonce(uint8_t nonce[12], void *user)
{
    (void)nonce;
    (void)user;
    return false;
}

START_TEST(without_a_nonce_nothing_is_written)
{
    ace_codec *codec = make("k", whole_key, ace_codec_find("bytes"), no_nonce);
    ace_buffer body = ACE_BUFFER_INIT;
    ck_assert_int_eq(ace_codec_encode(codec, ace_bytes_of("x"), &body, NULL), ACE_SYSTEM);
    ck_assert_uint_eq(body.length, 0);
    ace_buffer_free(&body);
    ace_codec_release(codec);
}
END_TEST

START_TEST(a_ring_refuses_what_is_no_key)
{
    ace_keyring *ring = ace_keyring_new();
    ace_codec *codec = NULL;
    ck_assert_int_eq(ace_codec_encrypted(ring, ace_codec_find("json"), NULL, NULL, &codec, NULL),
                     ACE_STATE);
    char id[257];
    memset(id, 'a', sizeof id);
    ck_assert_int_eq(ace_keyring_add(ring, (ace_bytes){(uint8_t *)id, 256}, whole_key, NULL),
                     ACE_LIMIT);
    ck_assert_int_eq(ace_keyring_add(ring, (ace_bytes){NULL, 0}, whole_key, NULL), ACE_LIMIT);
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of("\xff"), whole_key, NULL),
                     ACE_INVALID_ARGUMENT);
    for (size_t length = 0; length < 32; length++) {
        ace_code expected = length == 16 || length == 24 ? ACE_OK : ACE_INVALID_ARGUMENT;
        char name[2] = {(char)('A' + length), '\0'};
        ck_assert_int_eq(
            ace_keyring_add(ring, ace_bytes_of(name), (ace_bytes){key_bytes, length}, NULL),
            expected);
    }
    ace_error *error = NULL;
    ck_assert_int_eq(ace_keyring_add(ring, ace_bytes_of("Q"), whole_key, &error),
                     ACE_INVALID_ARGUMENT);
    ck_assert_str_eq(ace_error_message(error), "key id \"Q\" is in the ring already");
    ace_error_free(error);
    ck_assert_int_eq(ace_keyring_add(ring, (ace_bytes){(uint8_t *)id, 255}, whole_key, NULL),
                     ACE_OK);
    ace_keyring_free(ring);
    ace_keyring_free(NULL);
}
END_TEST

START_TEST(a_key_is_wiped)
{
    static const uint8_t zeros[ACE_SEAL_KEY_MAX];
    ace_seal_key key;
    ck_assert_int_eq(ace_seal_key_set(&key, whole_key, NULL), ACE_OK);
    ace_seal_key_wipe(&key);
    ck_assert_mem_eq(key.data, zeros, sizeof zeros);
    ck_assert_uint_eq(key.length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encrypted");
    TCase *tcase = tcase_create("encrypted");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, the_vector_of_the_contract_byte_for_byte);
    tcase_add_test(tcase, every_flipped_bit_and_every_cut_fails);
    tcase_add_loop_test(tcase, every_key_length_and_body_comes_back, 0, 3);
    tcase_add_test(tcase, no_nonce_comes_twice);
    tcase_add_test(tcase, one_key_writes_and_many_read);
    tcase_add_test(tcase, a_wrong_key_of_the_same_id_is_named_by_its_id_alone);
    tcase_add_test(tcase, an_id_that_is_no_text_is_shown_in_hexadecimal);
    tcase_add_test(tcase, only_its_own_content_type_is_read);
    tcase_add_test(tcase, the_codec_inside_has_its_say);
    tcase_add_test(tcase, without_a_nonce_nothing_is_written);
    tcase_add_test(tcase, a_ring_refuses_what_is_no_key);
    tcase_add_test(tcase, a_key_is_wiped);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
