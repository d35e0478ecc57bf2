/* The shared vectors about envelopes, through the ABI. */
#include "vectors.h"

#include <stdbool.h>
#include <stdlib.h>

/* --- values of any AMQP kind, from the form that `acemq envelope` takes --- */

static size_t decode_base64(const char *text, unsigned char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    unsigned value = 0;
    int bits = 0;
    for (; *text != '\0' && *text != '='; text++) {
        value = value << 6 | (unsigned)(strchr(digits, *text) - digits);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[length++] = (unsigned char)(value >> bits);
        }
    }
    return length;
}

static acemq_kind integer_kind(const char *type)
{
    static const struct {
        const char *type;
        acemq_kind kind;
    } kinds[] = {{"int8", ACEMQ_KIND_INT8},   {"uint8", ACEMQ_KIND_UINT8},
                 {"int16", ACEMQ_KIND_INT16}, {"uint16", ACEMQ_KIND_UINT16},
                 {"int32", ACEMQ_KIND_INT32}, {"uint32", ACEMQ_KIND_UINT32},
                 {"int64", ACEMQ_KIND_INT64}, {"uint64", ACEMQ_KIND_UINT64}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].kind;
        }
    }
    return ACEMQ_KIND_VOID;
}

static acemq_status set_string(acemq_table *table, const char *name, const json_t *typed)
{
    unsigned char bytes[64];
    const json_t *encoded = json_object_get(typed, "base64");
    if (encoded == NULL) {
        return acemq_table_set_string(table, name, json_string_value(member(typed, "value")), NULL);
    }
    size_t length = decode_base64(json_string_value(encoded), bytes);
    return acemq_table_set_string_bytes(table, name, (acemq_bytes){bytes, length}, NULL);
}

static acemq_status set_collection(acemq_table *table, const char *name, const char *type)
{
    acemq_status status;
    if (strcmp(type, "table") == 0) {
        acemq_table *inner = acemq_table_new();
        status = acemq_table_set_table(table, name, inner, NULL);
        acemq_table_free(inner);
    } else {
        acemq_array *inner = acemq_array_new();
        status = acemq_table_set_array(table, name, inner, NULL);
        acemq_array_free(inner);
    }
    return status;
}

/* What a table or an array holds does not matter to how a header reads. */
static acemq_status set_typed(acemq_table *table, const char *name, const json_t *typed)
{
    const char *type = json_string_value(member(typed, "type"));
    const json_t *value = json_object_get(typed, "value");
    unsigned char bytes[64];
    if (strcmp(type, "longstr") == 0) {
        return set_string(table, name, typed);
    }
    if (strcmp(type, "bytes") == 0) {
        size_t length = decode_base64(json_string_value(value), bytes);
        return acemq_table_set_bytes(table, name, (acemq_bytes){bytes, length}, NULL);
    }
    if (integer_kind(type) != ACEMQ_KIND_VOID) {
        return acemq_table_set_integer(table, name, integer_kind(type), json_integer_value(value),
                                       NULL);
    }
    if (strcmp(type, "float") == 0) {
        return acemq_table_set_float(table, name, (float)json_number_value(value), NULL);
    }
    if (strcmp(type, "double") == 0) {
        return acemq_table_set_double(table, name, json_number_value(value), NULL);
    }
    if (strcmp(type, "decimal") == 0) {
        return acemq_table_set_decimal(table, name, 0, 3, NULL);
    }
    if (strcmp(type, "timestamp") == 0) {
        return acemq_table_set_timestamp(table, name, json_integer_value(value), NULL);
    }
    if (strcmp(type, "bool") == 0) {
        return acemq_table_set_bool(table, name, json_is_true(value), NULL);
    }
    if (strcmp(type, "void") == 0) {
        return acemq_table_set_void(table, name, NULL);
    }
    return set_collection(table, name, type);
}

/* Past what the setters take, but not past what may arrive. */
static bool is_past_int64(const json_t *value)
{
    return json_is_object(value) &&
           strcmp(json_string_value(member(value, "type")), "uint64") == 0 &&
           json_is_real(member(value, "value"));
}

static void set_header(acemq_table *table, const char *name, const json_t *value)
{
    acemq_status status = ACEMQ_OK;
    if (json_is_string(value)) {
        status = acemq_table_set_string(table, name, json_string_value(value), NULL);
    } else if (json_is_integer(value)) {
        status = acemq_table_set_int64(table, name, json_integer_value(value), NULL);
    } else {
        status = set_typed(table, name, value);
    }
    ck_assert_int_eq(status, ACEMQ_OK);
}

static acemq_envelope *read_one(const char *header, const json_t *value)
{
    acemq_table *headers = NULL;
    acemq_envelope *envelope = NULL;
    if (is_past_int64(value)) {
        char json[128];
        snprintf(json, sizeof json, "{\"%s\": {\"type\": \"uint64\", \"value\": %.0f}}", header,
                 json_real_value(member(value, "value")));
        ck_assert_int_eq(acemq_table_parse_json(json, strlen(json), &headers, NULL), ACEMQ_OK);
    } else {
        headers = acemq_table_new();
        set_header(headers, header, value);
    }
    ck_assert_int_eq(acemq_envelope_read(headers, "the.key", "the-id", &envelope, NULL), ACEMQ_OK);
    acemq_table_free(headers);
    return envelope;
}

/* --- envelopes --- */

static void same_text(const char *read, const json_t *expected)
{
    if (json_is_null(expected)) {
        ck_assert_ptr_null(read);
    } else {
        ck_assert_ptr_nonnull(read);
        ck_assert_str_eq(read, json_string_value(expected));
    }
}

static void check_envelope(const acemq_envelope *envelope, const json_t *expected)
{
    int64_t at;
    same_text(acemq_envelope_id(envelope), member(expected, "id"));
    same_text(acemq_envelope_type(envelope), member(expected, "type"));
    same_text(acemq_envelope_correlation(envelope), member(expected, "correlation"));
    same_text(acemq_envelope_causation(envelope), member(expected, "causation"));
    same_text(acemq_envelope_origin(envelope), member(expected, "origin"));
    same_text(acemq_envelope_error(envelope), member(expected, "error"));
    same_text(acemq_envelope_claim(envelope), member(expected, "claim"));
    same_text(acemq_envelope_replayed_from(envelope), member(expected, "replayedFrom"));
    ck_assert_int_eq(acemq_envelope_version(envelope),
                     json_integer_value(member(expected, "version")));
    ck_assert_int_eq(acemq_envelope_attempt(envelope),
                     json_integer_value(member(expected, "attempt")));
    ck_assert_int_eq(acemq_envelope_first_seen(envelope),
                     json_integer_value(member(expected, "firstSeen")));
    ck_assert_int_eq(acemq_envelope_replay_count(envelope),
                     json_integer_value(member(expected, "replayCount")));
    const json_t *replayed_at = member(expected, "replayedAt");
    ck_assert_int_eq(acemq_envelope_replayed_at(envelope, &at), !json_is_null(replayed_at));
    if (!json_is_null(replayed_at)) {
        ck_assert_int_eq(at, json_integer_value(replayed_at));
    }
    ck_assert_int_eq(acemq_envelope_id_is_made_up(envelope), 0);
}

static void same_value(const acemq_value *a, const acemq_value *b)
{
    int64_t number[2];
    acemq_bytes bytes[2];
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(acemq_value_kind(a), acemq_value_kind(b));
    if (acemq_value_bytes(a, &bytes[0])) {
        ck_assert_int_eq(acemq_value_bytes(b, &bytes[1]), 1);
        ck_assert_uint_eq(bytes[0].length, bytes[1].length);
        ck_assert_mem_eq(bytes[0].data, bytes[1].data, bytes[0].length);
    } else {
        ck_assert_int_eq(acemq_value_integer(a, &number[0]), 1);
        ck_assert_int_eq(acemq_value_integer(b, &number[1]), 1);
        ck_assert_int_eq(number[0], number[1]);
    }
}

static void same_table(const acemq_table *a, const acemq_table *b)
{
    ck_assert_uint_eq(acemq_table_count(a), acemq_table_count(b));
    for (size_t i = 0; i < acemq_table_count(a); i++) {
        same_value(acemq_table_at(a, i), acemq_table_get(b, acemq_table_name(a, i)));
    }
}

/* Headers, envelope, headers: nothing is gained and nothing lost, kinds included. */
START_TEST(messages_of_a_peer_survive_unchanged)
{
    json_t *vectors = load_vectors("envelopes.json");
    size_t i;
    json_t *row;
    ck_assert_uint_ge(json_array_size(member(vectors, "messages")), 3);
    json_array_foreach(member(vectors, "messages"), i, row)
    {
        acemq_table *headers = acemq_table_new();
        acemq_table *application = NULL;
        acemq_envelope *envelope = NULL;
        const char *name;
        json_t *value;
        size_t k;
        json_object_foreach((json_t *)(uintptr_t)member(row, "headers"), name, value)
        {
            set_header(headers, name, value);
        }
        ck_assert_int_eq(acemq_envelope_read(headers, json_string_value(member(row, "routingKey")),
                                             json_string_value(member(row, "messageId")), &envelope,
                                             NULL),
                         ACEMQ_OK);
        check_envelope(envelope, member(row, "envelope"));
        ck_assert_int_eq(acemq_envelope_application_headers(headers, &application, NULL), ACEMQ_OK);
        ck_assert_uint_eq(acemq_table_count(application),
                          json_array_size(member(row, "application")));
        json_array_foreach(member(row, "application"), k, value)
        {
            ck_assert_ptr_nonnull(acemq_table_get(application, json_string_value(value)));
        }
        acemq_table *written = NULL;
        ck_assert_int_eq(acemq_table_copy(application, &written, NULL), ACEMQ_OK);
        ck_assert_int_eq(acemq_envelope_write(envelope, written, NULL), ACEMQ_OK);
        same_table(headers, written);
        acemq_table_free(written);
        acemq_table_free(application);
        acemq_envelope_free(envelope);
        acemq_table_free(headers);
    }
    json_decref(vectors);
}
END_TEST

static void check_attempts(const json_t *cases)
{
    size_t i;
    json_t *value;
    const char *header = json_string_value(member(cases, "header"));
    ck_assert_uint_ge(json_array_size(member(cases, "values")), 10);
    json_array_foreach(member(cases, "values"), i, value)
    {
        acemq_envelope *envelope = read_one(header, value);
        ck_assert_msg(acemq_envelope_attempt(envelope) ==
                          json_integer_value(member(cases, "reads")),
                      "value %zu read as %d", i, acemq_envelope_attempt(envelope));
        acemq_envelope_free(envelope);
    }
}

START_TEST(an_attempt_reads_in_any_width_and_falls_back_from_anything_else)
{
    json_t *vectors = load_vectors("envelopes.json");
    check_attempts(member(vectors, "integersThatRead"));
    check_attempts(member(vectors, "integersThatDoNot"));
    json_decref(vectors);
}
END_TEST

START_TEST(a_first_seen_reads_or_is_unknown)
{
    json_t *vectors = load_vectors("envelopes.json");
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "firstSeenThatIsUnknown"), i, row)
    {
        acemq_envelope *envelope = read_one("x-acemq-first-seen", row);
        ck_assert_int_eq(acemq_envelope_first_seen(envelope), 0);
        acemq_envelope_free(envelope);
    }
    json_array_foreach(member(vectors, "firstSeenThatReads"), i, row)
    {
        acemq_envelope *envelope = read_one("x-acemq-first-seen", json_array_get(row, 0));
        ck_assert_int_eq(acemq_envelope_first_seen(envelope), number_at(row, 1));
        acemq_envelope_free(envelope);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(a_text_reads_or_is_absent)
{
    json_t *vectors = load_vectors("envelopes.json");
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "textsThatRead"), i, row)
    {
        acemq_envelope *envelope = read_one("x-acemq-causation", json_array_get(row, 0));
        ck_assert_str_eq(acemq_envelope_causation(envelope), text_at(row, 1));
        acemq_envelope_free(envelope);
        envelope = read_one("x-acemq-id", json_array_get(row, 0));
        ck_assert_str_eq(acemq_envelope_id(envelope), text_at(row, 1));
        acemq_envelope_free(envelope);
    }
    json_array_foreach(member(vectors, "textsThatDoNot"), i, row)
    {
        acemq_envelope *envelope = read_one("x-acemq-causation", row);
        ck_assert_ptr_null(acemq_envelope_causation(envelope));
        acemq_envelope_free(envelope);
        envelope = read_one("x-acemq-id", row);
        ck_assert_str_eq(acemq_envelope_id(envelope), "the-id");
        acemq_envelope_free(envelope);
        envelope = read_one("x-acemq-type", row);
        ck_assert_str_eq(acemq_envelope_type(envelope), "the.key");
        acemq_envelope_free(envelope);
    }
    json_decref(vectors);
}
END_TEST

START_TEST(a_replayed_at_reads_in_every_form_or_is_absent)
{
    json_t *vectors = load_vectors("envelopes.json");
    size_t i;
    json_t *row;
    json_array_foreach(member(vectors, "replayedAt"), i, row)
    {
        const json_t *expected = json_array_get(row, 1);
        acemq_envelope *envelope = read_one("acemq-replayed-at", json_array_get(row, 0));
        int64_t at = 0;
        ck_assert_int_eq(acemq_envelope_replayed_at(envelope, &at), !json_is_null(expected));
        ck_assert_int_eq(at, json_integer_value(expected));
        acemq_envelope_free(envelope);
    }
    json_decref(vectors);
}
END_TEST

static void check_route(const json_t *row)
{
    acemq_table *headers = acemq_table_new();
    acemq_envelope *envelope = NULL;
    const json_t *position = json_array_get(row, 1);
    const json_t *steps = json_array_get(row, 2);
    set_header(headers, "x-acemq-route", json_array_get(row, 0));
    if (!json_is_null(position)) {
        set_header(headers, "x-acemq-route-position", position);
    }
    ck_assert_int_eq(acemq_envelope_read(headers, "k", "m", &envelope, NULL), ACEMQ_OK);
    ck_assert_uint_eq(acemq_envelope_route_count(envelope), json_array_size(steps));
    for (size_t i = 0; i < json_array_size(steps); i++) {
        ck_assert_str_eq(acemq_envelope_route_step(envelope, i), text_at(steps, i));
    }
    ck_assert_int_eq(acemq_envelope_route_position(envelope), number_at(row, 3));
    acemq_envelope_free(envelope);
    acemq_table_free(headers);
}

START_TEST(routes)
{
    json_t *vectors = load_vectors("envelopes.json");
    size_t i;
    json_t *row;
    ck_assert_uint_gt(json_array_size(member(vectors, "routes")), 0);
    json_array_foreach(member(vectors, "routes"), i, row)
    {
        check_route(row);
    }
    json_decref(vectors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi vectors: messages");
    TCase *tests = tcase_create("vectors");
    tcase_add_test(tests, messages_of_a_peer_survive_unchanged);
    tcase_add_test(tests, an_attempt_reads_in_any_width_and_falls_back_from_anything_else);
    tcase_add_test(tests, a_first_seen_reads_or_is_unknown);
    tcase_add_test(tests, a_text_reads_or_is_absent);
    tcase_add_test(tests, a_replayed_at_reads_in_every_form_or_is_absent);
    tcase_add_test(tests, routes);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
