/*
 * Headers as other programs write them, through a real hop: read with every tolerance, written back
 * in the contract's types, and everything else left as it came.
 */
#include "support/trial_foreign.h"
#include "support/trial_recorder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE (20 * ACEMQ_SECOND)

/* A table set up in one go; freed by the caller. */
static acemq_table *headers_with_id(const char *id)
{
    acemq_table *headers = acemq_table_new();
    ck_assert_ptr_nonnull(headers);
    trial_must(acemq_table_set_string(headers, "x-acemq-id", id, trial_error()));
    return headers;
}

static void send_verbatim(const trial *self, const char *queue, const acemq_table *headers)
{
    acemq_message *message = acemq_message_verbatim("body", 4, headers);
    trial_must(acemq_publish(self->mq, queue, message, PATIENCE, trial_error()));
    acemq_message_free(message);
}

static void expect_integer(const acemq_table *headers, const char *name, acemq_kind kind,
                           int64_t number)
{
    const acemq_value *value = acemq_table_get(headers, name);
    int64_t found = 0;
    ck_assert_msg(value != NULL, "there is no header %s", name);
    ck_assert_msg(acemq_value_kind(value) == kind, "%s is of kind %d, expected %d", name,
                  (int)acemq_value_kind(value), (int)kind);
    ck_assert_int_eq(acemq_value_integer(value, &found), 1);
    ck_assert_msg(found == number, "%s is %ld, expected %ld", name, (long)found, (long)number);
}

/* --- x-acemq-attempt in every type there is --- */

typedef enum spelling {
    INTEGER,
    TEXT,
    DOUBLE,
    FLOAT,
    BOOLEAN,
    NOTHING,
    TABLE,
    ARRAY,
    ABSENT
} spelling;

typedef struct attempt_case {
    const char *id;
    spelling spelling;
    acemq_kind kind;
    int64_t number;
    const char *text;
    double fraction;
    int32_t read; /* what it must read as */
} attempt_case;

static const attempt_case attempts[] = {
    {"int8", INTEGER, ACEMQ_KIND_INT8, 3, NULL, 0, 3},
    {"uint8", INTEGER, ACEMQ_KIND_UINT8, 3, NULL, 0, 3},
    {"int16", INTEGER, ACEMQ_KIND_INT16, 3, NULL, 0, 3},
    {"uint16", INTEGER, ACEMQ_KIND_UINT16, 3, NULL, 0, 3},
    {"int32", INTEGER, ACEMQ_KIND_INT32, 3, NULL, 0, 3},
    {"uint32", INTEGER, ACEMQ_KIND_UINT32, 3, NULL, 0, 3},
    {"int64", INTEGER, ACEMQ_KIND_INT64, 3, NULL, 0, 3},
    {"uint64", INTEGER, ACEMQ_KIND_UINT64, 3, NULL, 0, 3},
    {"text", TEXT, 0, 0, "3", 0, 3},
    {"spaced text", TEXT, 0, 0, "  3 ", 0, 3},
    {"whole double", DOUBLE, 0, 0, NULL, 3.0, 3},
    {"whole float", FLOAT, 0, 0, NULL, 3.0, 3},
    {"negative", INTEGER, ACEMQ_KIND_INT32, -1, NULL, 0, 1},
    {"zero", INTEGER, ACEMQ_KIND_INT32, 0, NULL, 0, 1},
    {"over int32", INTEGER, ACEMQ_KIND_INT64, INT64_C(1) << 31, NULL, 0, 1},
    {"2^63 as text", TEXT, 0, 0, "9223372036854775808", 0, 1},
    {"fraction", DOUBLE, 0, 0, NULL, 3.5, 1},
    {"fraction as text", TEXT, 0, 0, "3.5", 0, 1},
    {"word", TEXT, 0, 0, "three", 0, 1},
    {"empty text", TEXT, 0, 0, "", 0, 1},
    {"table", TABLE, 0, 0, NULL, 0, 1},
    {"array", ARRAY, 0, 0, NULL, 0, 1},
    {"void", NOTHING, 0, 0, NULL, 0, 1},
    {"true", BOOLEAN, 0, 0, NULL, 0, 1},
    {"absent", ABSENT, 0, 0, NULL, 0, 1},
};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static void spell(acemq_table *headers, const char *name, const attempt_case *one)
{
    acemq_table *inner = acemq_table_new();
    acemq_array *array = acemq_array_new();
    acemq_status status = ACEMQ_OK;
    switch (one->spelling) {
    case INTEGER:
        status = acemq_table_set_integer(headers, name, one->kind, one->number, trial_error());
        break;
    case TEXT:
        status = acemq_table_set_string(headers, name, one->text, trial_error());
        break;
    case DOUBLE:
        status = acemq_table_set_double(headers, name, one->fraction, trial_error());
        break;
    case FLOAT:
        status = acemq_table_set_float(headers, name, (float)one->fraction, trial_error());
        break;
    case BOOLEAN:
        status = acemq_table_set_bool(headers, name, 1, trial_error());
        break;
    case NOTHING:
        status = acemq_table_set_void(headers, name, trial_error());
        break;
    case TABLE:
        status = acemq_table_set_table(headers, name, inner, trial_error());
        break;
    case ARRAY:
        status = acemq_table_set_array(headers, name, array, trial_error());
        break;
    case ABSENT:
        break;
    }
    trial_must(status);
    acemq_array_free(array);
    acemq_table_free(inner);
}

static const attempt_case *case_of(const trial_sight *sight)
{
    for (size_t i = 0; i < ATTEMPTS; i++) {
        if (strcmp(attempts[i].id, acemq_envelope_id(sight->envelope)) == 0) {
            return &attempts[i];
        }
    }
    ck_abort_msg("an unknown message %s", acemq_envelope_id(sight->envelope));
}

static acemq_outcome fail_as_sent(const trial_sight *sight, void *user)
{
    (void)user;
    const attempt_case *one = case_of(sight);
    return acemq_envelope_attempt(sight->envelope) == one->read ? ACEMQ_FAILED : ACEMQ_ACCEPTED;
}

START_TEST(an_attempt_of_any_type_is_read_and_hops_as_int32)
{
    trial self;
    trial_recorder seen;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(10, 200ms).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, fail_as_sent, NULL);
    for (size_t i = 0; i < ATTEMPTS; i++) {
        acemq_table *headers = headers_with_id(attempts[i].id);
        spell(headers, "x-acemq-attempt", &attempts[i]);
        send_verbatim(&self, queue, headers);
        acemq_table_free(headers);
    }
    trial_wait_seen(&seen, (size_t)2 * ATTEMPTS, PATIENCE);
    for (size_t i = 0; i < ATTEMPTS; i++) {
        const trial_sight *first = trial_sight_for(&seen, attempts[i].id, 0);
        const trial_sight *second = trial_sight_for(&seen, attempts[i].id, 1);
        ck_assert_msg(second != NULL, "%s did not hop", attempts[i].id);
        ck_assert_msg(acemq_envelope_attempt(first->envelope) == attempts[i].read, "%s read as %d",
                      attempts[i].id, acemq_envelope_attempt(first->envelope));
        expect_integer(second->headers, "x-acemq-attempt", ACEMQ_KIND_INT32, attempts[i].read + 1);
        expect_integer(second->headers, "x-acemq-version", ACEMQ_KIND_INT32, 1);
    }
    ck_assert_uint_eq(trial_ready(&self, trial_derived(&self, queue, ".dlq")), 0);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

/* Our door refuses to send it, other programs do; RabbitMQ hands it on as a negative int64. */
START_TEST(a_uint64_of_2_to_63_from_another_program_is_the_default)
{
    trial self;
    trial_recorder seen;
    int failures = 1;
    trial_begin_listening(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(10, 200ms).threshold(200ms)");
    amqp_table_entry_t entries[2] = {
        {.key = amqp_cstring_bytes("x-acemq-attempt"),
         .value = {.kind = AMQP_FIELD_KIND_U64, .value = {.u64 = UINT64_C(1) << 63}}},
        {.key = amqp_cstring_bytes("application"),
         .value = {.kind = AMQP_FIELD_KIND_U64, .value = {.u64 = UINT64_C(1) << 63}}},
    };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG,
        .headers = {2, entries},
        .message_id = amqp_cstring_bytes("from-afar"),
    };
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    trial_foreign_publish(trial_port(&self), "guest", trial_password(trial_port(&self)), queue,
                          &properties, "hello");
    trial_wait_seen(&seen, 2, PATIENCE);
    const trial_sight *first = trial_sight_at(&seen, 0);
    const trial_sight *second = trial_sight_at(&seen, 1);
    ck_assert_int_eq(acemq_envelope_attempt(first->envelope), 1);
    ck_assert_str_eq(acemq_envelope_id(first->envelope), "from-afar");
    expect_integer(second->headers, "x-acemq-attempt", ACEMQ_KIND_INT32, 2);
    expect_integer(second->headers, "application", ACEMQ_KIND_INT64, INT64_MIN);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

/* --- the application's headers --- */

/* One of each kind, nested ones included. */
static acemq_table *one_of_each(const char *id)
{
    acemq_table *all = headers_with_id(id);
    acemq_table *inner = acemq_table_new();
    acemq_array *array = acemq_array_new();
    acemq_bytes blob = {"\x00\xff\x80", 3};
    const acemq_kind kinds[] = {ACEMQ_KIND_INT8,   ACEMQ_KIND_UINT8, ACEMQ_KIND_INT16,
                                ACEMQ_KIND_UINT16, ACEMQ_KIND_INT32, ACEMQ_KIND_UINT32,
                                ACEMQ_KIND_INT64,  ACEMQ_KIND_UINT64};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[16];
        snprintf(name, sizeof name, "integer-%zu", i);
        trial_must(acemq_table_set_integer(all, name, kinds[i], 100 + (int64_t)i, trial_error()));
    }
    trial_must(acemq_table_set_int64(all, "lowest", INT64_MIN, trial_error()));
    trial_must(acemq_table_set_int64(all, "odd", (INT64_C(1) << 53) + 1, trial_error()));
    trial_must(acemq_table_set_bool(all, "bool", 0, trial_error()));
    trial_must(acemq_table_set_void(all, "void", trial_error()));
    trial_must(acemq_table_set_float(all, "float", 1.5f, trial_error()));
    trial_must(acemq_table_set_double(all, "double", 0.1, trial_error()));
    trial_must(acemq_table_set_decimal(all, "decimal", 2, 12345, trial_error()));
    trial_must(acemq_table_set_timestamp(all, "time", 1700000000, trial_error()));
    trial_must(acemq_table_set_string(all, "text", "gr\xc3\xbc\xc3\x9f dich", trial_error()));
    trial_must(acemq_table_set_string_bytes(all, "latin", blob, trial_error()));
    trial_must(acemq_table_set_bytes(all, "bytes", blob, trial_error()));
    trial_must(acemq_array_append(array, acemq_table_get(all, "float"), trial_error()));
    trial_must(acemq_array_append(array, acemq_table_get(all, "void"), trial_error()));
    trial_must(acemq_table_set_array(all, "array", array, trial_error()));
    trial_must(acemq_table_set_value(inner, "deep", acemq_table_get(all, "array"), trial_error()));
    trial_must(acemq_table_set_table(all, "table", inner, trial_error()));
    trial_must(acemq_table_set_string(all, "acemq-tenant", "acme", trial_error()));
    trial_must(acemq_table_set_string(all, "traceparent", "00-abc-def-01", trial_error()));
    acemq_array_free(array);
    acemq_table_free(inner);
    return all;
}

static void expect_same(const char *name, const acemq_value *found, const acemq_value *sent);

static void expect_same_scalar(const char *name, const acemq_value *found, const acemq_value *sent)
{
    int64_t number[2] = {0, 0};
    double fraction[2] = {0, 0};
    acemq_bytes bytes[2] = {{NULL, 0}, {NULL, 0}};
    uint8_t decimals[2] = {0, 0};
    uint32_t unscaled[2] = {0, 0};
    ck_assert_int_eq(acemq_value_integer(found, &number[0]), acemq_value_integer(sent, &number[1]));
    ck_assert_msg(number[0] == number[1], "%s is %ld, was %ld", name, (long)number[0],
                  (long)number[1]);
    ck_assert_int_eq(acemq_value_double(found, &fraction[0]),
                     acemq_value_double(sent, &fraction[1]));
    ck_assert_double_eq(fraction[0], fraction[1]);
    ck_assert_int_eq(acemq_value_decimal(found, &decimals[0], &unscaled[0]),
                     acemq_value_decimal(sent, &decimals[1], &unscaled[1]));
    ck_assert_uint_eq(decimals[0], decimals[1]);
    ck_assert_uint_eq(unscaled[0], unscaled[1]);
    ck_assert_int_eq(acemq_value_bytes(found, &bytes[0]), acemq_value_bytes(sent, &bytes[1]));
    ck_assert_uint_eq(bytes[0].length, bytes[1].length);
    if (bytes[0].length > 0) {
        ck_assert_mem_eq(bytes[0].data, bytes[1].data, bytes[0].length);
    }
}

static void expect_same(const char *name, const acemq_value *found, const acemq_value *sent)
{
    char member[256];
    ck_assert_msg(found != NULL, "%s is gone", name);
    acemq_kind kind = acemq_value_kind(sent);
    kind = kind == ACEMQ_KIND_UINT64 ? ACEMQ_KIND_INT64 : kind;
    ck_assert_msg(acemq_value_kind(found) == kind, "%s is of kind %d, was %d", name,
                  (int)acemq_value_kind(found), (int)kind);
    expect_same_scalar(name, found, sent);
    ck_assert_uint_eq(acemq_value_count(found), acemq_value_count(sent));
    for (size_t i = 0; i < acemq_value_count(sent); i++) {
        const acemq_value *inner = acemq_value_at(sent, i, member);
        expect_same(member, acemq_value_at(found, i, NULL), inner);
    }
}

static void expect_all(const acemq_table *found, const acemq_table *sent)
{
    for (size_t i = 0; i < acemq_table_count(sent); i++) {
        const char *name = acemq_table_name(sent, i);
        expect_same(name, acemq_table_get(found, name), acemq_table_at(sent, i));
    }
}

/* To a rung and back, to the dead letters, and home by a replay. */
START_TEST(every_kind_of_header_travels_unchanged)
{
    trial self;
    trial_recorder seen;
    int failures = 2;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_QUORUM);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    acemq_table *sent = one_of_each("all-kinds");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    send_verbatim(&self, queue, sent);
    trial_wait_ready(&self, trial_derived(&self, queue, ".dlq"), 1, PATIENCE);
    trial_must(acemq_replay(self.mq, queue, NULL, NULL, trial_error()));
    trial_wait_seen(&seen, 3, PATIENCE);
    for (size_t i = 0; i < 3; i++) {
        expect_all(trial_sight_at(&seen, i)->headers, sent);
    }
    trial_record_end(&seen);
    acemq_table_free(sent);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

START_TEST(an_unknown_reserved_header_travels_unseen)
{
    trial self;
    trial_recorder seen;
    int failures = 1;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(2, 200ms).threshold(200ms)");
    acemq_table *headers = headers_with_id("reserved");
    trial_must(
        acemq_table_set_integer(headers, "x-acemq-tomorrow", ACEMQ_KIND_UINT16, 9, trial_error()));
    trial_must(acemq_table_set_string(headers, "X-Acemq-Case", "an ordinary one", trial_error()));
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    send_verbatim(&self, queue, headers);
    trial_wait_seen(&seen, 2, PATIENCE);
    for (size_t i = 0; i < 2; i++) {
        const trial_sight *sight = trial_sight_at(&seen, i);
        expect_integer(sight->headers, "x-acemq-tomorrow", ACEMQ_KIND_UINT16, 9);
        ck_assert_ptr_null(acemq_table_get(sight->application, "x-acemq-tomorrow"));
        ck_assert_ptr_null(acemq_table_get(sight->application, "x-acemq-id"));
        ck_assert_ptr_nonnull(acemq_table_get(sight->application, "X-Acemq-Case"));
    }
    trial_record_end(&seen);
    acemq_table_free(headers);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

/* --- times --- */

static int64_t wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* With an age limit, a message of this first-seen is tried again; what it then says of its age. */
static int64_t retried_with_first_seen(int broker, acemq_table *headers, int64_t *sent_at)
{
    trial self;
    trial_recorder seen;
    int failures = 1;
    trial_begin(&self, broker);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    acemq_policy *policy = trial_policy("fixed(3, 200ms).giveUpAfter(1m).threshold(200ms)");
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail_at_first, &failures);
    *sent_at = wall_clock();
    send_verbatim(&self, queue, headers);
    trial_wait_seen(&seen, 2, PATIENCE);
    const trial_sight *second = trial_sight_at(&seen, 1);
    ck_assert_int_eq(acemq_envelope_attempt(second->envelope), 2);
    const acemq_value *value = acemq_table_get(second->headers, "x-acemq-first-seen");
    ck_assert_int_eq(acemq_value_kind(value), ACEMQ_KIND_INT64);
    int64_t first_seen = acemq_envelope_first_seen(second->envelope);
    ck_assert_uint_eq(trial_ready(&self, trial_derived(&self, queue, ".dlq")), 0);
    trial_record_end(&seen);
    acemq_policy_free(policy);
    acemq_table_free(headers);
    trial_end(&self);
    return first_seen;
}

START_TEST(a_first_seen_in_the_future_is_age_0_and_stays)
{
    acemq_table *headers = headers_with_id("future");
    int64_t sent_at = 0, future = wall_clock() + 100 * ACEMQ_DAY;
    trial_must(acemq_table_set_int64(headers, "x-acemq-first-seen", future, trial_error()));
    ck_assert_int_eq(retried_with_first_seen(_i, headers, &sent_at), future);
}
END_TEST

START_TEST(a_first_seen_of_0_is_not_56_years_old)
{
    acemq_table *headers = headers_with_id("epoch");
    int64_t sent_at = 0;
    trial_must(acemq_table_set_int64(headers, "x-acemq-first-seen", 0, trial_error()));
    int64_t first_seen = retried_with_first_seen(_i, headers, &sent_at);
    ck_assert_int_ge(first_seen, sent_at - 1000);
    ck_assert_int_le(first_seen, sent_at + 10000);
}
END_TEST

START_TEST(a_first_seen_as_a_timestamp_is_unknown)
{
    acemq_table *headers = headers_with_id("timestamp");
    int64_t sent_at = 0;
    trial_must(acemq_table_set_timestamp(headers, "x-acemq-first-seen", 1000, trial_error()));
    int64_t first_seen = retried_with_first_seen(_i, headers, &sent_at);
    ck_assert_int_ge(first_seen, sent_at - 1000);
    ck_assert_int_le(first_seen, sent_at + 10000);
}
END_TEST

START_TEST(a_first_seen_of_two_minutes_ago_is_too_old)
{
    trial self;
    trial_recorder seen;
    trial_sight letter;
    trial_begin(&self, _i);
    const char *queue = trial_queue(&self, "orders", ACEMQ_QUEUE_CLASSIC);
    const char *dead = trial_derived(&self, queue, ".dlq");
    acemq_policy *policy = trial_policy("fixed(3, 200ms).giveUpAfter(1m).threshold(200ms)");
    acemq_table *headers = headers_with_id("old");
    trial_must(
        acemq_table_set_int64(headers, "x-acemq-first-seen", wall_clock() - 120000, trial_error()));
    trial_record(&seen, self.mq, queue, policy, NULL, trial_fail, NULL);
    send_verbatim(&self, queue, headers);
    trial_wait_ready(&self, dead, 1, PATIENCE);
    trial_only(&self, dead, &letter);
    ck_assert_str_eq(acemq_envelope_error(letter.envelope),
                     "exceeded the maximum message age of 1m: no reason given");
    ck_assert_int_eq(acemq_envelope_attempt(letter.envelope), 1);
    trial_sight_free(&letter);
    trial_record_end(&seen);
    acemq_table_free(headers);
    acemq_policy_free(policy);
    trial_end(&self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("foreign headers");
    TCase *cases = tcase_create("headers");
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, an_attempt_of_any_type_is_read_and_hops_as_int32, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, a_uint64_of_2_to_63_from_another_program_is_the_default, 0,
                        TRIAL_BROKERS);
    tcase_add_loop_test(cases, every_kind_of_header_travels_unchanged, 0, TRIAL_BROKERS);
    tcase_add_loop_test(cases, an_unknown_reserved_header_travels_unseen, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, cases);
    TCase *times = tcase_create("times");
    tcase_set_timeout(times, 240);
    tcase_add_loop_test(times, a_first_seen_in_the_future_is_age_0_and_stays, 0, TRIAL_BROKERS);
    tcase_add_loop_test(times, a_first_seen_of_0_is_not_56_years_old, 0, TRIAL_BROKERS);
    tcase_add_loop_test(times, a_first_seen_as_a_timestamp_is_unknown, 0, TRIAL_BROKERS);
    tcase_add_loop_test(times, a_first_seen_of_two_minutes_ago_is_too_old, 0, TRIAL_BROKERS);
    suite_add_tcase(suite, times);
    return trial_run(suite);
}
