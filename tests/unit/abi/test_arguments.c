/* A NULL where none may be is an error that names the parameter, and where a function has no error
 * to give it does nothing: no exported function crashes over one. */
#include <acemq/acemq.h>
#include <check.h>
#include <string.h>

static acemq_connection *mq;
static acemq_error *error;

static void connect_to_memory(void)
{
    ck_assert_int_eq(acemq_connect("memory://arguments", NULL, &mq, &error), ACEMQ_OK);
}

static void disconnect(void)
{
    acemq_connection_free(mq);
    mq = NULL;
}

/* The parameter may be named by its handle's kind. */
static void judge(acemq_status status, const char *parameter, int line)
{
    ck_assert_msg(status == ACEMQ_E_INVALID_ARGUMENT, "line %d: status %s", line,
                  acemq_status_name(status));
    ck_assert_msg(error != NULL, "line %d: no error object", line);
    ck_assert_msg(strstr(acemq_error_message(error), parameter) != NULL,
                  "line %d: \"%s\" does not name %s", line, acemq_error_message(error), parameter);
    acemq_error_free(error);
    error = NULL;
}

#define REFUSES(parameter, call) judge((call), (parameter), __LINE__)

static const acemq_bytes some = {"x", 1};
static const acemq_bytes torn = {NULL, 1};

START_TEST(time_and_names)
{
    int64_t number;
    int32_t nanoseconds;
    char name[256];
    acemq_claim_frame frame;
    acemq_bytes rest;
    acemq_encrypted_frame encrypted;
    void *framed;
    size_t length;
    REFUSES("text", acemq_time_parse(NULL, &number, &nanoseconds, &error));
    REFUSES("seconds", acemq_time_parse("x", NULL, &nanoseconds, &error));
    REFUSES("nanoseconds", acemq_time_parse("x", &number, NULL, &error));
    REFUSES("out", acemq_time_format(0, NULL, &error));
    REFUSES("queue", acemq_dead_letter_queue(NULL, name, &error));
    REFUSES("name", acemq_dead_letter_queue("q", NULL, &error));
    REFUSES("queue", acemq_dead_letter_queue("", name, &error));
    REFUSES("queue", acemq_parked_queue(NULL, name, &error));
    REFUSES("name", acemq_parked_queue("q", NULL, &error));
    REFUSES("text", acemq_duration_parse(NULL, &number, &error));
    REFUSES("milliseconds", acemq_duration_parse("1s", NULL, &error));
    REFUSES("text", acemq_duration_format(1, NULL, &error));
    REFUSES("milliseconds", acemq_duration_format(-1, name, &error));
    REFUSES("body", acemq_claim_frame_read(torn, &frame, &rest, &error));
    REFUSES("frame", acemq_claim_frame_read(some, NULL, &rest, &error));
    REFUSES("rest", acemq_claim_frame_read(some, &frame, NULL, &error));
    REFUSES("rest", acemq_claim_frame_write(ACEMQ_CLAIM_NONE, torn, &framed, &length, &error));
    REFUSES("framed", acemq_claim_frame_write(ACEMQ_CLAIM_NONE, some, NULL, &length, &error));
    REFUSES("length", acemq_claim_frame_write(ACEMQ_CLAIM_NONE, some, &framed, NULL, &error));
    REFUSES("frame", acemq_claim_frame_write((acemq_claim_frame)9, some, &framed, &length, &error));
    REFUSES("body", acemq_encrypted_frame_read(torn, &encrypted, &error));
    REFUSES("frame", acemq_encrypted_frame_read(some, NULL, &error));
    acemq_new_id(NULL);
    acemq_free(NULL);
    ck_assert_int_eq(acemq_partition(torn, 8, ACEMQ_PARTITION_UNSIGNED), -1);
    ck_assert_int_eq(acemq_partition(some, 0, ACEMQ_PARTITION_UNSIGNED), -1);
    ck_assert_int_eq(acemq_partition(some, INT64_C(1) << 31, ACEMQ_PARTITION_UNSIGNED), -1);
    ck_assert_int_eq(acemq_partition(some, 8, (acemq_partition_rule)3), -1);
    ck_assert_int_eq(acemq_codec_reads(NULL, "text/plain"), 0);
    ck_assert_int_eq(acemq_codec_reads("nothing", NULL), 0);
    ck_assert_int_eq(acemq_codec_reads("json", NULL), 1);
    ck_assert_ptr_null(acemq_dependency_version(NULL));
    ck_assert_int_eq(acemq_has(NULL), 0);
}
END_TEST

START_TEST(tables)
{
    acemq_table *table = acemq_table_new();
    acemq_table *copy = NULL;
    acemq_array *array = acemq_array_new();
    char *json = NULL;
    ck_assert_int_eq(acemq_table_set_int64(table, "n", 1, NULL), ACEMQ_OK);
    const acemq_value *value = acemq_table_get(table, "n");
    REFUSES("table", acemq_table_copy(NULL, &copy, &error));
    REFUSES("copy", acemq_table_copy(table, NULL, &error));
    REFUSES("table", acemq_table_set_string(NULL, "n", "v", &error));
    REFUSES("name", acemq_table_set_string(table, NULL, "v", &error));
    REFUSES("text", acemq_table_set_string(table, "n", NULL, &error));
    REFUSES("table", acemq_table_set_string_bytes(NULL, "n", some, &error));
    REFUSES("name", acemq_table_set_string_bytes(table, NULL, some, &error));
    REFUSES("text", acemq_table_set_string_bytes(table, "n", torn, &error));
    REFUSES("table", acemq_table_set_bytes(NULL, "n", some, &error));
    REFUSES("name", acemq_table_set_bytes(table, NULL, some, &error));
    REFUSES("bytes", acemq_table_set_bytes(table, "n", torn, &error));
    REFUSES("table", acemq_table_set_integer(NULL, "n", ACEMQ_KIND_INT8, 1, &error));
    REFUSES("name", acemq_table_set_integer(table, NULL, ACEMQ_KIND_INT8, 1, &error));
    REFUSES("kind", acemq_table_set_integer(table, "n", ACEMQ_KIND_FLOAT, 1, &error));
    REFUSES("number", acemq_table_set_integer(table, "n", ACEMQ_KIND_INT8, 128, &error));
    REFUSES("number", acemq_table_set_integer(table, "n", ACEMQ_KIND_UINT64, -1, &error));
    REFUSES("table", acemq_table_set_int64(NULL, "n", 1, &error));
    REFUSES("name", acemq_table_set_int64(table, NULL, 1, &error));
    REFUSES("table", acemq_table_set_bool(NULL, "n", 1, &error));
    REFUSES("name", acemq_table_set_bool(table, NULL, 1, &error));
    REFUSES("table", acemq_table_set_double(NULL, "n", 1, &error));
    REFUSES("name", acemq_table_set_double(table, NULL, 1, &error));
    REFUSES("table", acemq_table_set_float(NULL, "n", 1, &error));
    REFUSES("name", acemq_table_set_float(table, NULL, 1, &error));
    REFUSES("table", acemq_table_set_decimal(NULL, "n", 1, 1, &error));
    REFUSES("name", acemq_table_set_decimal(table, NULL, 1, 1, &error));
    REFUSES("table", acemq_table_set_timestamp(NULL, "n", 1, &error));
    REFUSES("name", acemq_table_set_timestamp(table, NULL, 1, &error));
    REFUSES("seconds", acemq_table_set_timestamp(table, "n", -1, &error));
    REFUSES("table", acemq_table_set_void(NULL, "n", &error));
    REFUSES("name", acemq_table_set_void(table, NULL, &error));
    REFUSES("table", acemq_table_set_table(NULL, "n", table, &error));
    REFUSES("name", acemq_table_set_table(table, NULL, table, &error));
    REFUSES("inner", acemq_table_set_table(table, "n", NULL, &error));
    REFUSES("table", acemq_table_set_array(NULL, "n", array, &error));
    REFUSES("name", acemq_table_set_array(table, NULL, array, &error));
    REFUSES("inner", acemq_table_set_array(table, "n", NULL, &error));
    REFUSES("table", acemq_table_set_value(NULL, "n", value, &error));
    REFUSES("name", acemq_table_set_value(table, NULL, value, &error));
    REFUSES("value", acemq_table_set_value(table, "n", NULL, &error));
    REFUSES("array", acemq_array_append(NULL, value, &error));
    REFUSES("value", acemq_array_append(array, NULL, &error));
    REFUSES("json", acemq_table_parse_json(NULL, 0, &copy, &error));
    REFUSES("table", acemq_table_parse_json("{}", 2, NULL, &error));
    REFUSES("table", acemq_table_format_json(NULL, 0, &json, &error));
    REFUSES("json", acemq_table_format_json(table, 0, NULL, &error));
    acemq_table_remove(NULL, "n");
    acemq_table_remove(table, NULL);
    ck_assert_uint_eq(acemq_table_count(table), 1);
    acemq_array_free(array);
    acemq_table_free(table);
}
END_TEST

START_TEST(reading_values)
{
    int64_t integer;
    uint64_t positive;
    double number;
    uint8_t decimals;
    uint32_t unscaled;
    acemq_bytes bytes;
    acemq_table_free(NULL);
    acemq_array_free(NULL);
    ck_assert_uint_eq(acemq_table_count(NULL), 0);
    ck_assert_ptr_null(acemq_table_name(NULL, 0));
    ck_assert_ptr_null(acemq_table_at(NULL, 0));
    ck_assert_ptr_null(acemq_table_get(NULL, "n"));
    ck_assert_int_eq(acemq_value_kind(NULL), ACEMQ_KIND_VOID);
    ck_assert_int_eq(acemq_value_integer(NULL, &integer), 0);
    ck_assert_int_eq(acemq_value_unsigned(NULL, &positive), 0);
    ck_assert_int_eq(acemq_value_double(NULL, &number), 0);
    ck_assert_int_eq(acemq_value_decimal(NULL, &decimals, &unscaled), 0);
    ck_assert_int_eq(acemq_value_bytes(NULL, &bytes), 0);
    ck_assert_uint_eq(acemq_value_count(NULL), 0);
    ck_assert_ptr_null(acemq_value_at(NULL, 0, NULL));
    acemq_table *table = acemq_table_new();
    ck_assert_int_eq(acemq_table_set_int64(table, "n", 1, NULL), ACEMQ_OK);
    const acemq_value *value = acemq_table_get(table, "n");
    ck_assert_ptr_null(acemq_table_get(table, NULL));
    ck_assert_ptr_null(acemq_table_at(table, 1));
    ck_assert_int_eq(acemq_value_integer(value, NULL), 0);
    ck_assert_int_eq(acemq_value_unsigned(value, NULL), 0);
    ck_assert_int_eq(acemq_value_double(value, NULL), 0);
    ck_assert_int_eq(acemq_value_decimal(value, NULL, NULL), 0);
    ck_assert_int_eq(acemq_value_bytes(value, NULL), 0);
    acemq_table_free(table);
}
END_TEST

START_TEST(envelopes)
{
    acemq_envelope *envelope = NULL;
    acemq_table *headers = acemq_table_new();
    int64_t at;
    REFUSES("envelope", acemq_envelope_read(headers, "k", "m", NULL, &error));
    ck_assert_int_eq(acemq_envelope_read(NULL, NULL, NULL, &envelope, &error), ACEMQ_OK);
    ck_assert_str_eq(acemq_envelope_type(envelope), "message");
    ck_assert_int_eq(acemq_envelope_id_is_made_up(envelope), 1);
    ck_assert_int_eq(acemq_envelope_replayed_at(envelope, NULL), 0);
    REFUSES("envelope", acemq_envelope_write(NULL, headers, &error));
    REFUSES("headers", acemq_envelope_write(envelope, NULL, &error));
    REFUSES("application", acemq_envelope_application_headers(headers, NULL, &error));
    ck_assert_ptr_null(acemq_envelope_id(NULL));
    ck_assert_ptr_null(acemq_envelope_type(NULL));
    ck_assert_ptr_null(acemq_envelope_correlation(NULL));
    ck_assert_ptr_null(acemq_envelope_causation(NULL));
    ck_assert_ptr_null(acemq_envelope_origin(NULL));
    ck_assert_ptr_null(acemq_envelope_error(NULL));
    ck_assert_ptr_null(acemq_envelope_claim(NULL));
    ck_assert_ptr_null(acemq_envelope_replayed_from(NULL));
    ck_assert_ptr_null(acemq_envelope_reply_to(NULL));
    ck_assert_ptr_null(acemq_envelope_route_id(NULL));
    ck_assert_ptr_null(acemq_envelope_route_step(NULL, 0));
    ck_assert_ptr_null(acemq_envelope_route_step(envelope, 0));
    ck_assert_uint_eq(acemq_envelope_route_count(NULL), 0);
    ck_assert_int_eq(acemq_envelope_version(NULL), 1);
    ck_assert_int_eq(acemq_envelope_attempt(NULL), 1);
    ck_assert_int_eq(acemq_envelope_replay_count(NULL), 0);
    ck_assert_int_eq(acemq_envelope_first_seen(NULL), 0);
    ck_assert_int_eq(acemq_envelope_route_position(NULL), 0);
    ck_assert_int_eq(acemq_envelope_replayed_at(NULL, &at), 0);
    ck_assert_int_eq(acemq_envelope_id_is_made_up(NULL), 0);
    acemq_envelope_free(NULL);
    acemq_envelope_free(envelope);
    acemq_table_free(headers);
}
END_TEST

START_TEST(policies)
{
    acemq_policy *policy = NULL;
    acemq_policy *broken = acemq_policy_fixed(0, 1000);
    char *text = NULL;
    char name[256];
    acemq_table *arguments = NULL;
    REFUSES("text", acemq_policy_parse(NULL, &policy, &error));
    REFUSES("policy", acemq_policy_parse("none", NULL, &error));
    policy = acemq_policy_fixed(3, 40000);
    REFUSES("policy", acemq_policy_check(NULL, &error));
    REFUSES("policy", acemq_policy_format(NULL, &text, &error));
    REFUSES("text", acemq_policy_format(policy, NULL, &error));
    REFUSES("policy", acemq_policy_rung_name(NULL, "q", 1, name, &error));
    REFUSES("queue", acemq_policy_rung_name(policy, NULL, 1, name, &error));
    REFUSES("name", acemq_policy_rung_name(policy, "q", 1, NULL, &error));
    REFUSES("delay", acemq_policy_rung_name(policy, "q", 0, name, &error));
    REFUSES("policy", acemq_policy_rung_arguments(NULL, "q", 1, &arguments, &error));
    REFUSES("queue", acemq_policy_rung_arguments(policy, NULL, 1, &arguments, &error));
    REFUSES("arguments", acemq_policy_rung_arguments(policy, "q", 1, NULL, &error));
    acemq_policy_give_up_after(NULL, 1);
    acemq_policy_threshold(NULL, 1);
    acemq_policy_jitter(NULL, 0.1);
    acemq_policy_multiplier(NULL, 2);
    acemq_policy_whole_second_names(NULL);
    acemq_policy_durable_rungs(NULL);
    acemq_policy_free(NULL);
    for (int i = 0; i < 2; i++) { /* neither NULL nor a broken policy has waits */
        const acemq_policy *without = i == 0 ? NULL : broken;
        ck_assert_int_eq(acemq_policy_wait(without, 1), 0);
        ck_assert_int_eq(acemq_policy_waits_in_broker(without, 40000), 0);
        ck_assert_int_eq(acemq_policy_jittered(without, 1000, 0), 0);
        ck_assert_int_eq(acemq_policy_retries(without, 1, 0), 0);
        ck_assert_uint_eq(acemq_policy_rung_count(without), 0);
        ck_assert_int_eq(acemq_policy_rung_delay(without, 0), 0);
        ck_assert_int_eq(acemq_policy_choose_rung(without, 1000), 0);
    }
    ck_assert_int_eq(acemq_policy_max_attempts(NULL), 0);
    ck_assert_int_eq(acemq_policy_max_age(NULL), 0);
    ck_assert_double_eq(acemq_policy_jitter_factor(NULL), 0);
    ck_assert_int_eq(acemq_policy_broker_threshold(NULL), 0);
    acemq_policy_free(policy);
    acemq_policy_free(broken);
}
END_TEST

static int reads_all(acemq_bytes body, const char *type, char *reason, size_t size, void *user)
{
    (void)body;
    (void)type;
    (void)reason;
    (void)size;
    (void)user;
    return 0;
}

START_TEST(codecs_tokens_and_brokers)
{
    acemq_codec *codec = NULL;
    acemq_cancel *cancel = NULL;
    acemq_broker *broker = NULL;
    char *json = NULL;
    int port;
    ck_assert_ptr_null(acemq_codec_builtin(NULL));
    REFUSES("name", acemq_codec_new(NULL, reads_all, NULL, NULL, &codec, &error));
    REFUSES("decode", acemq_codec_new("mine", NULL, NULL, NULL, &codec, &error));
    REFUSES("codec", acemq_codec_new("mine", reads_all, NULL, NULL, NULL, &error));
    REFUSES("codec", acemq_codec_check(NULL, some, NULL, &error));
    REFUSES("body", acemq_codec_check(acemq_codec_builtin("json"), torn, NULL, &error));
    REFUSES("body", acemq_msgpack_to_json(torn, &json, &error));
    REFUSES("json", acemq_msgpack_to_json(some, NULL, &error));
    acemq_codec_free(NULL);
    REFUSES("cancel", acemq_cancel_new(NULL, &error));
    acemq_cancel_fire(NULL);
    acemq_cancel_reset(NULL);
    ck_assert_int_eq(acemq_cancel_fired(NULL), 0);
    acemq_cancel_free(NULL);
    ck_assert_int_eq(acemq_cancel_new(&cancel, &error), ACEMQ_OK);
    acemq_cancel_free(cancel);
    REFUSES("broker", acemq_broker_start(NULL, &error));
    REFUSES("broker", acemq_broker_listen(NULL, "127.0.0.1", 0, &port, &error));
    ck_assert_int_eq(acemq_broker_start(&broker, &error), ACEMQ_OK);
    REFUSES("host", acemq_broker_listen(broker, NULL, 0, &port, &error));
    REFUSES("port", acemq_broker_listen(broker, "127.0.0.1", -1, &port, &error));
    REFUSES("port", acemq_broker_listen(broker, "127.0.0.1", 65536, &port, &error));
    ck_assert_int_eq(acemq_broker_listen(broker, "127.0.0.1", 0, NULL, &error), ACEMQ_OK);
    acemq_broker_free(broker);
    acemq_broker_free(NULL);
}
END_TEST

/* The message keeps the error, and the publish reports it. */
static void message_refuses(acemq_message *message, const char *parameter, int line)
{
    ck_assert_ptr_nonnull(message);
    judge(acemq_message_check(message, &error), parameter, line);
    judge(acemq_publish(mq, "q", message, 0, &error), parameter, line);
    acemq_message_free(message);
}

START_TEST(messages)
{
    acemq_message *message = NULL;
    REFUSES("message", acemq_message_check(NULL, &error));
    message_refuses(acemq_message_new(NULL, 1), "body", __LINE__);
    message_refuses(acemq_message_json(NULL), "body", __LINE__);
    message_refuses(acemq_message_text(NULL), "body", __LINE__);
    message_refuses(acemq_message_msgpack(NULL, 0), "body", __LINE__);
    message_refuses(acemq_message_verbatim(NULL, 1, NULL), "body", __LINE__);
    message = acemq_message_text("x");
    acemq_message_caused_by(message, NULL);
    message_refuses(message, "parent", __LINE__);
    message = acemq_message_text("x");
    acemq_message_set_header(message, NULL, "v");
    message_refuses(message, "header name", __LINE__);
    message = acemq_message_text("x");
    acemq_message_set_header(message, "n", NULL);
    message_refuses(message, "header value", __LINE__);
    message = acemq_message_text("x");
    acemq_message_set_header_value(message, "n", NULL);
    message_refuses(message, "header value", __LINE__);
    message = acemq_message_text("x");
    acemq_message_set_header_int64(message, NULL, 1);
    acemq_message_set_header_double(message, NULL, 1);
    acemq_message_set_header_bool(message, NULL, 1);
    message_refuses(message, "header name", __LINE__);
    acemq_message_set_id(NULL, "i");
    acemq_message_set_type(NULL, "t");
    acemq_message_set_version(NULL, 1);
    acemq_message_set_correlation(NULL, "c");
    acemq_message_set_causation(NULL, "c");
    acemq_message_set_origin(NULL, "o");
    acemq_message_caused_by(NULL, NULL);
    acemq_message_set_route(NULL, "a", 0, NULL);
    acemq_message_set_header(NULL, "n", "v");
    acemq_message_set_header_int64(NULL, "n", 1);
    acemq_message_set_header_double(NULL, "n", 1);
    acemq_message_set_header_bool(NULL, "n", 1);
    acemq_message_set_header_value(NULL, "n", NULL);
    acemq_message_set_headers(NULL, NULL);
    acemq_message_set_content_type(NULL, "t");
    acemq_message_set_reply_to(NULL, "r");
    acemq_message_set_priority(NULL, 1);
    acemq_message_set_expiration(NULL, 1);
    acemq_message_set_transient(NULL);
    acemq_message_set_property(NULL, ACEMQ_PROPERTY_APP_ID, "a");
    acemq_message_set_property_number(NULL, ACEMQ_PROPERTY_PRIORITY, 1);
    acemq_message_free(NULL);
    message = acemq_message_text("x"); /* a NULL text unsets, and no headers are no error */
    acemq_message_set_id(message, NULL);
    acemq_message_set_headers(message, NULL);
    acemq_message_set_route(message, NULL, 0, NULL);
    ck_assert_int_eq(acemq_message_check(message, NULL), ACEMQ_OK);
    acemq_message_free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi arguments");
    TCase *pure = tcase_create("pure");
    tcase_add_test(pure, time_and_names);
    tcase_add_test(pure, tables);
    tcase_add_test(pure, reading_values);
    tcase_add_test(pure, envelopes);
    tcase_add_test(pure, policies);
    tcase_add_test(pure, codecs_tokens_and_brokers);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    TCase *connected = tcase_create("connected");
    tcase_add_checked_fixture(connected, connect_to_memory, disconnect);
    tcase_add_test(connected, messages);
    tcase_set_timeout(connected, 60);
    suite_add_tcase(suite, connected);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
