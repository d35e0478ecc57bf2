/* The shared vectors about bodies and topologies, through the ABI. */
#include "vectors.h"

#include <stdlib.h>

static size_t decode_hex(const char *text, unsigned char *out, size_t size)
{
    size_t length = strlen(text) / 2;
    ck_assert_uint_le(length, size);
    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        ck_assert_int_eq(sscanf(text + 2 * i, "%2x", &byte), 1);
        out[i] = (unsigned char)byte;
    }
    return length;
}

static void same_bytes(acemq_bytes bytes, const char *hex)
{
    unsigned char expected[600];
    size_t length = decode_hex(hex, expected, sizeof expected);
    ck_assert_uint_eq(bytes.length, length);
    if (length > 0) {
        ck_assert_mem_eq(bytes.data, expected, length);
    }
}

static void check_claim(const json_t *row)
{
    unsigned char body[600];
    size_t length = decode_hex(text_at(row, 0), body, sizeof body);
    const char *kind = text_at(row, 1);
    acemq_claim_frame frame;
    acemq_bytes rest;
    acemq_error *error = NULL;
    acemq_status status =
        acemq_claim_frame_read((acemq_bytes){body, length}, &frame, &rest, &error);
    if (strcmp(kind, "badKey") == 0) {
        ck_assert_int_eq(status, ACEMQ_E_DECODE);
        acemq_error_free(error);
        return;
    }
    ck_assert_int_eq(status, ACEMQ_OK);
    ck_assert_int_eq(frame, strcmp(kind, "inline") == 0   ? ACEMQ_CLAIM_INLINE
                            : strcmp(kind, "stored") == 0 ? ACEMQ_CLAIM_STORED
                                                          : ACEMQ_CLAIM_NONE);
    same_bytes(rest, text_at(row, 2));
    void *framed = NULL;
    size_t framed_length = 0;
    ck_assert_int_eq(acemq_claim_frame_write(frame, rest, &framed, &framed_length, NULL), ACEMQ_OK);
    ck_assert_uint_eq(framed_length, length);
    if (length > 0) {
        ck_assert_mem_eq(framed, body, length);
    }
    acemq_free(framed);
}

START_TEST(claim_check_frames)
{
    json_t *vectors = load_vectors("bodies.json");
    size_t i;
    json_t *row;
    ck_assert_uint_gt(json_array_size(member(vectors, "claims")), 0);
    json_array_foreach(member(vectors, "claims"), i, row)
    {
        check_claim(row);
    }
    json_array_foreach(member(vectors, "keys"), i, row)
    {
        acemq_bytes key = {text_at(row, 0), strlen(text_at(row, 0))};
        void *framed = NULL;
        size_t length = 0;
        acemq_status status =
            acemq_claim_frame_write(ACEMQ_CLAIM_STORED, key, &framed, &length, NULL);
        ck_assert_int_eq(status, json_is_true(json_array_get(row, 1)) ? ACEMQ_OK
                                                                      : ACEMQ_E_INVALID_ARGUMENT);
        acemq_free(framed);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(encrypted_frames)
{
    json_t *vectors = load_vectors("bodies.json");
    const json_t *whole = member(vectors, "encrypted");
    unsigned char body[600];
    size_t length = decode_hex(json_string_value(member(whole, "body")), body, sizeof body);
    acemq_encrypted_frame frame;
    ck_assert_int_eq(acemq_encrypted_frame_read((acemq_bytes){body, length}, &frame, NULL),
                     ACEMQ_OK);
    const char *key_id = json_string_value(member(whole, "keyId"));
    ck_assert_uint_eq(frame.key_id.length, strlen(key_id));
    ck_assert_mem_eq(frame.key_id.data, key_id, strlen(key_id));
    same_bytes(frame.authenticated, json_string_value(member(whole, "associated")));
    same_bytes(frame.nonce, json_string_value(member(whole, "nonce")));
    same_bytes(frame.ciphertext, json_string_value(member(whole, "ciphertext")));
    same_bytes(frame.tag, json_string_value(member(whole, "tag")));
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "notEncrypted"), i, row)
    {
        length = decode_hex(json_string_value(row), body, sizeof body);
        ck_assert_int_eq(acemq_encrypted_frame_read((acemq_bytes){body, length}, &frame, NULL),
                         ACEMQ_E_DECODE);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(content_types_choose_their_codec)
{
    static const char *const codecs[] = {"json", "text", "msgpack"};
    json_t *vectors = load_vectors("bodies.json");
    size_t i;
    json_t *row;
    ck_assert_uint_ge(json_array_size(member(vectors, "mediaTypes")), 10);
    json_array_foreach(member(vectors, "mediaTypes"), i, row)
    {
        for (size_t k = 0; k < sizeof codecs / sizeof codecs[0]; k++) {
            int expected = strstr(text_at(row, 1), codecs[k]) != NULL;
            ck_assert_msg(acemq_codec_reads(codecs[k], text_at(row, 0)) == expected, "%s and '%s'",
                          codecs[k], text_at(row, 0));
        }
        ck_assert_int_eq(acemq_codec_reads("bytes", text_at(row, 0)), 1);
    }
    json_decref(vectors);
}
END_TEST

/* --- topologies --- */

/* Where a plan has this declaration of the vectors; -1. */
static int find(const acemq_plan *plan, const json_t *row)
{
    const char *exchange = json_string_value(json_object_get(row, "exchange"));
    const char *queue = json_string_value(json_object_get(row, "queue"));
    const char *bound = json_string_value(json_object_get(row, "bind"));
    for (size_t i = 0; i < acemq_plan_count(plan); i++) {
        acemq_plan_kind kind = acemq_plan_get_kind(plan, i);
        const char *name = acemq_plan_name(plan, i);
        if ((exchange != NULL && kind == ACEMQ_PLAN_EXCHANGE && strcmp(name, exchange) == 0) ||
            (queue != NULL && kind == ACEMQ_PLAN_QUEUE && strcmp(name, queue) == 0)) {
            return (int)i;
        }
        if (bound != NULL && kind == ACEMQ_PLAN_BINDING && strcmp(name, bound) == 0 &&
            strcmp(acemq_plan_exchange(plan, i), json_string_value(member(row, "to"))) == 0 &&
            strcmp(acemq_plan_routing_key(plan, i), json_string_value(member(row, "on"))) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void check_arguments(const acemq_table *arguments, const json_t *expected)
{
    const char *name;
    json_t *value;
    ck_assert_uint_eq(acemq_table_count(arguments), json_object_size(expected));
    json_object_foreach((json_t *)(uintptr_t)expected, name, value)
    {
        const acemq_value *found = acemq_table_get(arguments, name);
        acemq_bytes text;
        int64_t number;
        ck_assert_msg(found != NULL, "no argument %s", name);
        if (json_is_string(value)) {
            ck_assert_int_eq(acemq_value_bytes(found, &text), 1);
            ck_assert_uint_eq(text.length, json_string_length(value));
            ck_assert_mem_eq(text.data, json_string_value(value), text.length);
        } else {
            ck_assert_int_eq(acemq_value_kind(found), ACEMQ_KIND_INT64);
            ck_assert_int_eq(acemq_value_integer(found, &number), 1);
            ck_assert_int_eq(number, json_integer_value(member(value, "value")));
        }
    }
}

/* The plan holds the declarations that are made by `who`, or by both, and no other. */
static void check_plan(const acemq_plan *plan, const json_t *declarations, const char *who)
{
    size_t i;
    size_t expected = 0;
    json_t *row;
    json_array_foreach(declarations, i, row)
    {
        const char *by = json_string_value(member(row, "by"));
        if (strcmp(who, "all") != 0 && strcmp(by, "both") != 0 && strcmp(by, who) != 0) {
            continue;
        }
        expected++;
        int at = find(plan, row);
        ck_assert_msg(at >= 0, "%s does not declare number %zu", who, i);
        if (json_object_get(row, "type") != NULL) {
            ck_assert_str_eq(acemq_plan_type(plan, (size_t)at),
                             json_string_value(member(row, "type")));
        }
        if (json_object_get(row, "arguments") != NULL) {
            check_arguments(acemq_plan_arguments(plan, (size_t)at), member(row, "arguments"));
        }
        ck_assert_int_eq(acemq_plan_get_state(plan, (size_t)at), ACEMQ_PLAN_UNKNOWN);
    }
    ck_assert_uint_eq(acemq_plan_count(plan), expected);
}

static acemq_topology *parse_file(const json_t *file)
{
    acemq_topology *topology = NULL;
    acemq_error *error = NULL;
    char *text = json_dumps(file, 0);
    acemq_status status = acemq_topology_parse(text, strlen(text), &topology, &error);
    ck_assert_msg(status == ACEMQ_OK, "%s: %s", text, acemq_error_message(error));
    free(text);
    return topology;
}

START_TEST(declarations_of_topology_and_consumer)
{
    json_t *vectors = load_vectors("topology.json");
    const json_t *declarations = member(vectors, "declarations");
    acemq_plan *plan = NULL;
    acemq_policy *policy = NULL;
    ck_assert_int_eq(acemq_policy_parse(json_string_value(member(vectors, "retry")), &policy, NULL),
                     ACEMQ_OK);
    acemq_topology *topology = parse_file(member(vectors, "file"));
    ck_assert_int_eq(acemq_topology_validate(topology, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_topology_plan(topology, &plan, NULL), ACEMQ_OK);
    check_plan(plan, declarations, "topology");
    acemq_plan_free(plan);
    /* Both together: what both need stands once. */
    const char *source = json_string_value(member(vectors, "source"));
    acemq_topology_consumer(topology, source, policy);
    ck_assert_int_eq(acemq_topology_plan(topology, &plan, NULL), ACEMQ_OK);
    check_plan(plan, declarations, "all");
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_consumer(topology, source, policy);
    ck_assert_int_eq(acemq_topology_plan(topology, &plan, NULL), ACEMQ_OK);
    check_plan(plan, declarations, "consumer");
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    acemq_policy_free(policy);
    json_decref(vectors);
}
END_TEST

START_TEST(queue_types)
{
    json_t *vectors = load_vectors("topology.json");
    size_t i;
    json_t *row;
    ck_assert_uint_ge(json_array_size(member(vectors, "types")), 8);
    json_array_foreach(member(vectors, "types"), i, row)
    {
        acemq_plan *plan = NULL;
        acemq_topology *topology = parse_file(member(row, "file"));
        ck_assert_int_eq(acemq_topology_plan(topology, &plan, NULL), ACEMQ_OK);
        json_t *wanted = json_pack("{s:s}", "queue", json_string_value(member(row, "queue")));
        int at = find(plan, wanted);
        ck_assert_int_ge(at, 0);
        ck_assert_str_eq(acemq_plan_type(plan, (size_t)at), json_string_value(member(row, "type")));
        json_decref(wanted);
        acemq_plan_free(plan);
        acemq_topology_free(topology);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(topology_files_that_are_refused)
{
    json_t *vectors = load_vectors("topology.json");
    size_t i;
    json_t *row;
    ck_assert_uint_ge(json_array_size(member(vectors, "refused")), 10);
    json_array_foreach(member(vectors, "refused"), i, row)
    {
        acemq_topology *topology = NULL;
        acemq_error *error = NULL;
        const char *file = text_at(row, 0);
        ck_assert_int_ne(acemq_topology_parse(file, strlen(file), &topology, &error), ACEMQ_OK);
        ck_assert_ptr_null(topology);
        ck_assert_msg(strstr(acemq_error_message(error), text_at(row, 1)) != NULL,
                      "%s: \"%s\" does not hold \"%s\"", file, acemq_error_message(error),
                      text_at(row, 1));
        acemq_error_free(error);
    }
    json_decref(vectors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi vectors: bodies and topologies");
    TCase *tests = tcase_create("vectors");
    tcase_add_test(tests, claim_check_frames);
    tcase_add_test(tests, encrypted_frames);
    tcase_add_test(tests, content_types_choose_their_codec);
    tcase_add_test(tests, declarations_of_topology_and_consumer);
    tcase_add_test(tests, queue_types);
    tcase_add_test(tests, topology_files_that_are_refused);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
