#include "vectors.h"

#include "contract/framing.h"
#include "contract/media_type.h"
#include "contract/partition.h"

static int nibble(char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* Exact, so that a sanitizer sees a step too far. */
static ace_bytes from_hex(const char *hex)
{
    size_t length = strlen(hex) / 2;
    uint8_t *bytes = malloc(length > 0 ? length : 1);
    for (size_t i = 0; i < length; i++) {
        bytes[i] = (uint8_t)(nibble(hex[2 * i]) * 16 + nibble(hex[2 * i + 1]));
    }
    return (ace_bytes){bytes, length};
}

static void drop(ace_bytes bytes)
{
    free((void *)(uintptr_t)bytes.data);
}

static void is_hex(ace_bytes got, const char *hex)
{
    ace_bytes wanted = from_hex(hex);
    ck_assert_msg(ace_bytes_equal(got, wanted), "not %s", hex);
    drop(wanted);
}

static ace_claim_kind kind_of(const char *name)
{
    static const char *const names[] = {"unframed", "inline", "stored", "badKey"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (ace_claim_kind)i;
        }
    }
    ck_abort_msg("unknown kind %s", name);
    return ACE_CLAIM_UNFRAMED;
}

START_TEST(claim_frames_read_and_write)
{
    json_t *vectors = vectors_read("bodies.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "claims"), i, row)
    {
        ace_bytes body = from_hex(text_at(row, 0));
        ace_bytes content;
        ace_claim_kind kind = ace_claim_frame_read(body, &content);
        ck_assert_int_eq(kind, kind_of(text_at(row, 1)));
        is_hex(content, text_at(row, 2));
        ace_buffer again = ACE_BUFFER_INIT;
        if (kind == ACE_CLAIM_INLINE) {
            ck_assert(ace_claim_frame_inline(&again, content));
            is_hex((ace_bytes){again.data, again.length}, text_at(row, 0));
        } else if (kind == ACE_CLAIM_STORED) {
            ck_assert(ace_claim_frame_stored(&again, content));
            is_hex((ace_bytes){again.data, again.length}, text_at(row, 0));
        }
        ace_buffer_free(&again);
        drop(body);
    }
    json_array_foreach(list(vectors, "keys"), i, row)
    {
        ck_assert_int_eq(ace_claim_key_valid(ace_bytes_of(text_at(row, 0))),
                         json_is_true(json_array_get(row, 1)));
    }
    json_decref(vectors);
}
END_TEST

START_TEST(an_encrypted_body_is_taken_apart)
{
    json_t *vectors = vectors_read("bodies.json");
    const json_t *row = member(vectors, "encrypted");
    ace_bytes body = from_hex(text_of(row, "body"));
    ace_seal seal;
    SUCCEEDS(ace_seal_read(body, &seal, &error));
    is_text(seal.key_id, text_of(row, "keyId"));
    is_hex(seal.associated, text_of(row, "associated"));
    is_hex(seal.nonce, text_of(row, "nonce"));
    is_hex(seal.ciphertext, text_of(row, "ciphertext"));
    is_hex(seal.tag, text_of(row, "tag"));
    ace_buffer header = ACE_BUFFER_INIT;
    SUCCEEDS(ace_seal_header(seal.key_id, &header, &error));
    is_hex((ace_bytes){header.data, header.length}, text_of(row, "associated"));
    ace_buffer_free(&header);
    drop(body);
    json_decref(vectors);
}
END_TEST

START_TEST(what_is_not_framed_as_encrypted_does_not_decode)
{
    json_t *vectors = vectors_read("bodies.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "notEncrypted"), i, row)
    {
        ace_bytes body = from_hex(json_string_value(row));
        ace_seal seal;
        FAILS_WITH(ace_seal_read(body, &seal, &error), ACE_DECODE, "body");
        drop(body);
    }
    char key[257];
    memset(key, 'k', sizeof key);
    ace_buffer out = ACE_BUFFER_INIT;
    FAILS_WITH(ace_seal_header((ace_bytes){(uint8_t *)key, 256}, &out, &error), ACE_LIMIT,
               "key id has 256 bytes, the limits are 1 and 255");
    FAILS_WITH(ace_seal_header((ace_bytes){NULL, 0}, &out, &error), ACE_LIMIT, "0 bytes");
    SUCCEEDS(ace_seal_header((ace_bytes){(uint8_t *)key, 255}, &out, &error));
    ck_assert_uint_eq(out.length, 258);
    ace_buffer_free(&out);
    json_decref(vectors);
}
END_TEST

START_TEST(media_types_compare_in_lower_case_without_parameters)
{
    json_t *vectors = vectors_read("bodies.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "mediaTypes"), i, row)
    {
        ace_bytes type = ace_bytes_of(text_at(row, 0));
        const char *families = text_at(row, 1);
        bool json = strncmp(families, "json", 4) == 0;
        ck_assert_msg(ace_media_type_is_json(type) == json, "%s", text_at(row, 0));
        ck_assert_msg(ace_media_type_is_text(type) == (strstr(families, "text") != NULL), "%s",
                      text_at(row, 0));
        ck_assert_msg(ace_media_type_is_msgpack(type) == (strcmp(families, "msgpack") == 0), "%s",
                      text_at(row, 0));
        ck_assert_msg(ace_media_type_is_encrypted(type) == (strcmp(families, "encrypted") == 0),
                      "%s", text_at(row, 0));
        ck_assert(ace_media_type_matches(type, "*"));
    }
    ck_assert(ace_media_type_matches(ace_bytes_of(""), ""));
    ck_assert(!ace_media_type_matches(ace_bytes_of("a/b"), ""));
    json_decref(vectors);
}
END_TEST

static ace_partition_rule rule_of(const char *name)
{
    ace_partition_rule rule;
    ck_assert_msg(ace_partition_rule_parse(name, &rule), "%s", name);
    ck_assert_str_eq(ace_partition_rule_name(rule), name);
    return rule;
}

START_TEST(partitions_by_the_three_rules)
{
    json_t *vectors = vectors_read("partitions.json");
    json_t *row;
    size_t i;
    json_array_foreach(list(vectors, "hashes"), i, row)
    {
        ck_assert_int_eq(ace_fnv1a_32(ace_bytes_of(text_at(row, 0))), number_at(row, 1));
    }
    json_array_foreach(list(vectors, "cases"), i, row)
    {
        ck_assert_int_eq(ace_partition_of(ace_bytes_of(text_at(row, 0)),
                                          (uint32_t)number_at(row, 1), rule_of(text_at(row, 2))),
                         number_at(row, 3));
    }
    ace_partition_rule rule;
    ck_assert(!ace_partition_rule_parse("ruby", &rule));
    json_decref(vectors);
}
END_TEST

START_TEST(all_rules_agree_on_powers_of_two_and_stay_in_range)
{
    for (int i = 0; i < 20000; i++) {
        char text[32];
        snprintf(text, sizeof text, "customer-%d", i);
        ace_bytes key = ace_bytes_of(text);
        uint32_t power = 1u << (i % 11);
        uint32_t ours = ace_partition_of(key, power, ACE_PARTITION_UNSIGNED);
        ck_assert_uint_eq(ace_partition_of(key, power, ACE_PARTITION_FLOOR), ours);
        ck_assert_uint_eq(ace_partition_of(key, power, ACE_PARTITION_MASKED), ours);
        uint32_t any = (uint32_t)(i % 1023) + 1;
        ck_assert_uint_lt(ace_partition_of(key, any, ACE_PARTITION_UNSIGNED), any);
        ck_assert_uint_lt(ace_partition_of(key, any, ACE_PARTITION_FLOOR), any);
        ck_assert_uint_lt(ace_partition_of(key, any, ACE_PARTITION_MASKED), any);
    }
    ck_assert_uint_eq(ace_partition_of(ace_bytes_of("a"), 0, ACE_PARTITION_FLOOR), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bodies and partitions");
    TCase *tests = case_of(suite, "bodies and partitions");
    tcase_add_test(tests, claim_frames_read_and_write);
    tcase_add_test(tests, an_encrypted_body_is_taken_apart);
    tcase_add_test(tests, what_is_not_framed_as_encrypted_does_not_decode);
    tcase_add_test(tests, media_types_compare_in_lower_case_without_parameters);
    tcase_add_test(tests, partitions_by_the_three_rules);
    tcase_add_test(tests, all_rules_agree_on_powers_of_two_and_stay_in_range);
    return run_suite(suite);
}
