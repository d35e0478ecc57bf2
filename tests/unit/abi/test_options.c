/* Option structs: the exported defaults equal the macros byte for byte, nothing is padded, and a
 * size that is not ours is either harmless or refused. */
#include <acemq/acemq.h>
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where every member begins where the one before ends, memcmp() sees nothing but members. */
#define FOLLOWS(type, before, member)                                                              \
    _Static_assert(offsetof(type, member) == offsetof(type, before) + sizeof((type *)0)->before,   \
                   #type "." #member " follows padding")
#define ENDS(type, last)                                                                           \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof((type *)0)->last,                 \
                   #type " ends in padding")

#define CONNECT(before, member) FOLLOWS(acemq_connect_options, before, member)
CONNECT(size, name);
CONNECT(name, timeout);
CONNECT(timeout, call_timeout);
CONNECT(call_timeout, heartbeat);
CONNECT(heartbeat, reconnect_initial);
CONNECT(reconnect_initial, reconnect_max);
CONNECT(reconnect_max, outstanding);
CONNECT(outstanding, publish_timeout);
CONNECT(publish_timeout, max_body);
CONNECT(max_body, frame_max);
CONNECT(frame_max, channel_max);
CONNECT(channel_max, credentials);
CONNECT(credentials, log_level);
CONNECT(log_level, credentials_file);
CONNECT(credentials_file, user_variable);
CONNECT(user_variable, password_variable);
CONNECT(password_variable, credentials_callback);
CONNECT(credentials_callback, credentials_user);
CONNECT(credentials_user, log_callback);
CONNECT(log_callback, log_user);
CONNECT(log_user, cancel);
CONNECT(cancel, events);
CONNECT(events, max_queued);
CONNECT(max_queued, max_output);
CONNECT(max_output, max_headers);
CONNECT(max_headers, max_header_entries);
CONNECT(max_header_entries, max_nesting);
CONNECT(max_nesting, ca_file);
CONNECT(ca_file, ca_folder);
CONNECT(ca_folder, certificate_file);
CONNECT(certificate_file, key_file);
CONNECT(key_file, key_password);
CONNECT(key_password, server_name);
CONNECT(server_name, verify);
CONNECT(verify, keepalive_count);
CONNECT(keepalive_count, keepalive);
CONNECT(keepalive, keepalive_interval);
CONNECT(keepalive_interval, tcp_user_timeout);
ENDS(acemq_connect_options, tcp_user_timeout);

#define CONSUMER(before, member) FOLLOWS(acemq_consumer_options, before, member)
CONSUMER(size, retry);
CONSUMER(retry, codec);
CONSUMER(codec, arguments);
CONSUMER(arguments, tag);
CONSUMER(tag, cancel);
CONSUMER(cancel, timeout);
CONSUMER(timeout, prefetch_bytes);
CONSUMER(prefetch_bytes, acknowledgement_limit);
CONSUMER(acknowledgement_limit, prefetch);
CONSUMER(prefetch, declare);
CONSUMER(declare, requeue_on_failure);
CONSUMER(requeue_on_failure, exclusive);
CONSUMER(exclusive, idempotency);
CONSUMER(idempotency, lease);
CONSUMER(lease, put_back_wait);
CONSUMER(put_back_wait, claim_key);
CONSUMER(claim_key, claim_key_user);
CONSUMER(claim_key_user, renew);
CONSUMER(renew, reserved_claims);
ENDS(acemq_consumer_options, reserved_claims);

#define IDEMPOTENCY(before, member) FOLLOWS(acemq_idempotency_options, before, member)
IDEMPOTENCY(size, name);
IDEMPOTENCY(name, retention);
IDEMPOTENCY(retention, timeout);
IDEMPOTENCY(timeout, entries);
IDEMPOTENCY(entries, map_limit);
IDEMPOTENCY(map_limit, statement_timeout);
IDEMPOTENCY(statement_timeout, connections);
IDEMPOTENCY(connections, durability);
ENDS(acemq_idempotency_options, durability);

#define PUBLISHER(before, member) FOLLOWS(acemq_publisher_options, before, member)
PUBLISHER(size, exchange);
PUBLISHER(exchange, routing_key);
PUBLISHER(routing_key, cancel);
PUBLISHER(cancel, timeout);
PUBLISHER(timeout, unconfirmed);
PUBLISHER(unconfirmed, optional);
ENDS(acemq_publisher_options, optional);

#define REPLAY(before, member) FOLLOWS(acemq_replay_options, before, member)
REPLAY(size, id);
REPLAY(id, filter);
REPLAY(filter, filter_user);
REPLAY(filter_user, progress);
REPLAY(progress, progress_user);
REPLAY(progress_user, cancel);
REPLAY(cancel, max);
REPLAY(max, timeout);
REPLAY(timeout, acknowledgement_limit);
REPLAY(acknowledgement_limit, source);
REPLAY(source, keep_attempts);
REPLAY(keep_attempts, dry_run);
REPLAY(dry_run, reserved);
ENDS(acemq_replay_options, reserved);

#define BROWSER(before, member) FOLLOWS(acemq_browser_options, before, member)
BROWSER(size, cancel);
BROWSER(cancel, max);
BROWSER(max, timeout);
BROWSER(timeout, force);
BROWSER(force, reserved);
ENDS(acemq_browser_options, reserved);

#define PUBLISH_HOOKS(before, member) FOLLOWS(acemq_publish_interceptor, before, member)
PUBLISH_HOOKS(size, name);
PUBLISH_HOOKS(name, order);
PUBLISH_HOOKS(order, before);
PUBLISH_HOOKS(before, confirmed);
PUBLISH_HOOKS(confirmed, failed);
PUBLISH_HOOKS(failed, user);
PUBLISH_HOOKS(user, destructor);
ENDS(acemq_publish_interceptor, destructor);

#define CONSUME_HOOKS(before, member) FOLLOWS(acemq_consume_interceptor, before, member)
CONSUME_HOOKS(size, name);
CONSUME_HOOKS(name, order);
CONSUME_HOOKS(order, before);
CONSUME_HOOKS(before, after);
CONSUME_HOOKS(after, failed);
CONSUME_HOOKS(failed, user);
CONSUME_HOOKS(user, destructor);
ENDS(acemq_consume_interceptor, destructor);

#define METRICS(before, member) FOLLOWS(acemq_metrics_options, before, member)
METRICS(size, series_limit);
METRICS(series_limit, observer);
METRICS(observer, user);
METRICS(user, destructor);
ENDS(acemq_metrics_options, destructor);

_Static_assert(sizeof(acemq_consumer_counters) == sizeof(size_t) + 15 * sizeof(uint64_t),
               "acemq_consumer_counters has padding");
_Static_assert(sizeof(acemq_replay_result) == sizeof(size_t) + 4 * sizeof(uint64_t),
               "acemq_replay_result has padding");

static acemq_status connect_init(void *options, size_t size)
{
    return acemq_connect_options_init(options, size);
}

static acemq_status consumer_init(void *options, size_t size)
{
    return acemq_consumer_options_init(options, size);
}

static acemq_status publisher_init(void *options, size_t size)
{
    return acemq_publisher_options_init(options, size);
}

static acemq_status replay_init(void *options, size_t size)
{
    return acemq_replay_options_init(options, size);
}

static acemq_status browser_init(void *options, size_t size)
{
    return acemq_browser_options_init(options, size);
}

static acemq_status publish_hooks_init(void *options, size_t size)
{
    return acemq_publish_interceptor_init(options, size);
}

static acemq_status consume_hooks_init(void *options, size_t size)
{
    return acemq_consume_interceptor_init(options, size);
}

static acemq_status metrics_init(void *options, size_t size)
{
    return acemq_metrics_options_init(options, size);
}

static const acemq_publish_interceptor publish_hooks_macro = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
static const acemq_consume_interceptor consume_hooks_macro = ACEMQ_CONSUME_INTERCEPTOR_INIT;
static const acemq_metrics_options metrics_macro = ACEMQ_METRICS_OPTIONS_INIT;
static const acemq_connect_options connect_macro = ACEMQ_CONNECT_OPTIONS_INIT;
static const acemq_consumer_options consumer_macro = ACEMQ_CONSUMER_OPTIONS_INIT;
static const acemq_publisher_options publisher_macro = ACEMQ_PUBLISHER_OPTIONS_INIT;
static const acemq_replay_options replay_macro = ACEMQ_REPLAY_OPTIONS_INIT;
static const acemq_browser_options browser_macro = ACEMQ_BROWSER_OPTIONS_INIT;

static const struct {
    acemq_status (*init)(void *options, size_t size);
    const void *macro;
    size_t size;
} kinds[] = {
    {connect_init, &connect_macro, sizeof connect_macro},
    {consumer_init, &consumer_macro, sizeof consumer_macro},
    {publisher_init, &publisher_macro, sizeof publisher_macro},
    {replay_init, &replay_macro, sizeof replay_macro},
    {browser_init, &browser_macro, sizeof browser_macro},
    {metrics_init, &metrics_macro, sizeof metrics_macro},
    /* These are never NULL, and are looked at with the interceptors. */
    {publish_hooks_init, &publish_hooks_macro, sizeof publish_hooks_macro},
    {consume_hooks_init, &consume_hooks_macro, sizeof consume_hooks_macro},
};

#define KINDS    (int)(sizeof kinds / sizeof kinds[0])
#define OPTIONAL (KINDS - 2)

START_TEST(defaults_equal_the_macro_byte_for_byte)
{
    unsigned char filled[512];
    memset(filled, 0xa5, sizeof filled);
    ck_assert_int_eq(kinds[_i].init(filled, kinds[_i].size), ACEMQ_OK);
    ck_assert_mem_eq(filled, kinds[_i].macro, kinds[_i].size);
    ck_assert_int_eq(filled[kinds[_i].size], 0xa5);
}
END_TEST

/* A program built against a later library: what it knows more is off. */
START_TEST(defaults_of_a_larger_struct_end_in_zeros)
{
    unsigned char filled[512];
    size_t larger = kinds[_i].size + 24;
    memset(filled, 0xa5, sizeof filled);
    ck_assert_int_eq(kinds[_i].init(filled, larger), ACEMQ_OK);
    size_t told;
    memcpy(&told, filled, sizeof told);
    ck_assert_uint_eq(told, larger);
    ck_assert_mem_eq(filled + sizeof told, (const unsigned char *)kinds[_i].macro + sizeof told,
                     kinds[_i].size - sizeof told);
    for (size_t i = kinds[_i].size; i < larger; i++) {
        ck_assert_int_eq(filled[i], 0);
    }
    ck_assert_int_eq(filled[larger], 0xa5);
}
END_TEST

START_TEST(defaults_of_a_smaller_struct_are_refused)
{
    unsigned char filled[512];
    ck_assert_int_eq(kinds[_i].init(filled, kinds[_i].size - 1), ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_int_eq(kinds[_i].init(filled, 0), ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_int_eq(kinds[_i].init(filled, SIZE_MAX), ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_int_eq(kinds[_i].init(NULL, kinds[_i].size), ACEMQ_E_INVALID_ARGUMENT);
}
END_TEST

static acemq_connection *mq;
static const char *target;

static void connect_to_memory(void)
{
    acemq_plan *plan = NULL;
    ck_assert_int_eq(acemq_connect("memory://options", NULL, &mq, NULL), ACEMQ_OK);
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_queue(topology, "q", ACEMQ_QUEUE_CLASSIC, 0, NULL, NULL);
    ck_assert_int_eq(acemq_topology_apply(mq, topology, 5000, &plan, NULL), ACEMQ_OK);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    target = "q";
}

static void disconnect(void)
{
    acemq_connection_free(mq);
}

/* Opens something with these options and closes it again. */
static acemq_status use(int kind, const void *options, acemq_error **error)
{
    acemq_connection *connection = NULL;
    acemq_consumer *consumer = NULL;
    acemq_publisher *publisher = NULL;
    acemq_browser *browser = NULL;
    acemq_metrics *metrics = NULL;
    acemq_status status = ACEMQ_OK;
    switch (kind) {
    case 0:
        status = acemq_connect("memory://options", options, &connection, error);
        acemq_connection_free(connection);
        break;
    case 1:
        status = acemq_consumer_open(mq, target, options, &consumer, error);
        acemq_consumer_free(consumer);
        break;
    case 2:
        status = acemq_publisher_new(mq, options, &publisher, error);
        acemq_publisher_free(publisher);
        break;
    case 3:
        status = acemq_replay(mq, target, options, NULL, error);
        break;
    case 4:
        status = acemq_browser_open(mq, target, options, &browser, error);
        acemq_browser_free(browser);
        break;
    default:
        status = acemq_metrics_new(options, &metrics, error);
        acemq_metrics_free(metrics);
        break;
    }
    return status;
}

static void set_size(void *options, size_t size)
{
    memcpy(options, &size, sizeof size);
}

START_TEST(sizes_of_given_options_are_checked)
{
    acemq_error *error = NULL;
    size_t known = kinds[_i].size;
    unsigned char *given = calloc(1, known + 16);
    memcpy(given, kinds[_i].macro, known);
    ck_assert_int_eq(use(_i, given, &error), ACEMQ_OK);
    ck_assert_int_eq(use(_i, NULL, &error), ACEMQ_OK);
    set_size(given, known + 16);
    ck_assert_msg(use(_i, given, &error) == ACEMQ_OK, "zeros past the known fields were refused");
    given[known + 15] = 1;
    ck_assert_int_eq(use(_i, given, &error), ACEMQ_E_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "options"));
    acemq_error_free(error);
    error = NULL;
    given[known + 15] = 0;
    set_size(given, known - 1);
    ck_assert_int_eq(use(_i, given, &error), ACEMQ_E_INVALID_ARGUMENT);
    acemq_error_free(error);
    error = NULL;
    set_size(given, 0); /* a struct that was never initialised */
    ck_assert_int_eq(use(_i, given, &error), ACEMQ_E_INVALID_ARGUMENT);
    acemq_error_free(error);
    free(given);
}
END_TEST

static void refuses(int kind, const void *options, acemq_status expected, const char *field)
{
    acemq_error *error = NULL;
    ck_assert_int_eq(use(kind, options, &error), expected);
    ck_assert_msg(strstr(acemq_error_message(error), field) != NULL, "\"%s\" does not name %s",
                  acemq_error_message(error), field);
    acemq_error_free(error);
}

#define REFUSES_VALUE(kind, type, macro, member, value, expected, field)                           \
    do {                                                                                           \
        type options = macro;                                                                      \
        options.member = (value);                                                                  \
        refuses((kind), &options, (expected), (field));                                            \
    } while (0)
#define CONNECT_REFUSES(member, value)                                                             \
    REFUSES_VALUE(0, acemq_connect_options, ACEMQ_CONNECT_OPTIONS_INIT, member, value,             \
                  ACEMQ_E_INVALID_ARGUMENT, #member)
#define CONSUMER_REFUSES(member, value, expected)                                                  \
    REFUSES_VALUE(1, acemq_consumer_options, ACEMQ_CONSUMER_OPTIONS_INIT, member, value, expected, \
                  #member)
#define PUBLISHER_REFUSES(member, value, expected, field)                                          \
    REFUSES_VALUE(2, acemq_publisher_options, ACEMQ_PUBLISHER_OPTIONS_INIT, member, value,         \
                  expected, field)
#define REPLAY_REFUSES(member, value)                                                              \
    REFUSES_VALUE(3, acemq_replay_options, ACEMQ_REPLAY_OPTIONS_INIT, member, value,               \
                  ACEMQ_E_INVALID_ARGUMENT, #member)
#define BROWSER_REFUSES(member, value)                                                             \
    REFUSES_VALUE(4, acemq_browser_options, ACEMQ_BROWSER_OPTIONS_INIT, member, value,             \
                  ACEMQ_E_INVALID_ARGUMENT, #member)

START_TEST(values_out_of_range_name_their_field)
{
    char long_name[300];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    CONNECT_REFUSES(timeout, 0);
    CONNECT_REFUSES(timeout, ACEMQ_DAY + 1);
    CONNECT_REFUSES(call_timeout, -1);
    CONNECT_REFUSES(heartbeat, -2);
    CONNECT_REFUSES(reconnect_initial, -1);
    CONNECT_REFUSES(reconnect_max, -1);
    CONNECT_REFUSES(outstanding, 0);
    CONNECT_REFUSES(outstanding, 65536);
    CONNECT_REFUSES(publish_timeout, 0);
    CONNECT_REFUSES(max_body, 0);
    CONNECT_REFUSES(frame_max, -1);
    CONNECT_REFUSES(channel_max, 65536);
    CONNECT_REFUSES(max_queued, 0);
    CONNECT_REFUSES(max_output, 4095);
    CONNECT_REFUSES(max_headers, -1);
    CONNECT_REFUSES(max_header_entries, 65001);
    CONNECT_REFUSES(max_nesting, 0);
    CONNECT_REFUSES(max_nesting, 33);
    CONNECT_REFUSES(credentials, 5);
    CONNECT_REFUSES(verify, 2);
    CONNECT_REFUSES(verify, -1);
    CONNECT_REFUSES(keepalive_count, 0);
    CONNECT_REFUSES(keepalive_count, 128);
    CONNECT_REFUSES(keepalive, -1);
    CONNECT_REFUSES(keepalive, 32767001);
    CONNECT_REFUSES(keepalive_interval, 0);
    CONNECT_REFUSES(tcp_user_timeout, -1);
    CONNECT_REFUSES(tcp_user_timeout, ACEMQ_DAY + 1);
    CONNECT_REFUSES(log_level, 5);
    CONNECT_REFUSES(events, UINT64_C(1) << 20);
    CONNECT_REFUSES(name, "\xff");
    CONSUMER_REFUSES(prefetch, 0, ACEMQ_E_LIMIT);
    CONSUMER_REFUSES(prefetch, 65536, ACEMQ_E_LIMIT);
    CONSUMER_REFUSES(prefetch_bytes, -1, ACEMQ_E_INVALID_ARGUMENT);
    CONSUMER_REFUSES(timeout, -1, ACEMQ_E_INVALID_ARGUMENT);
    CONSUMER_REFUSES(acknowledgement_limit, -1, ACEMQ_E_INVALID_ARGUMENT);
    CONSUMER_REFUSES(declare, 2, ACEMQ_E_INVALID_ARGUMENT);
    CONSUMER_REFUSES(requeue_on_failure, 2, ACEMQ_E_INVALID_ARGUMENT);
    CONSUMER_REFUSES(exclusive, -1, ACEMQ_E_INVALID_ARGUMENT);
    PUBLISHER_REFUSES(exchange, long_name, ACEMQ_E_LIMIT, "exchange");
    PUBLISHER_REFUSES(routing_key, long_name, ACEMQ_E_LIMIT, "routing key");
    PUBLISHER_REFUSES(timeout, -1, ACEMQ_E_INVALID_ARGUMENT, "timeout");
    PUBLISHER_REFUSES(unconfirmed, 2, ACEMQ_E_INVALID_ARGUMENT, "unconfirmed");
    PUBLISHER_REFUSES(optional, 2, ACEMQ_E_INVALID_ARGUMENT, "optional");
    REPLAY_REFUSES(max, -2);
    REPLAY_REFUSES(timeout, -1);
    REPLAY_REFUSES(acknowledgement_limit, -1);
    REPLAY_REFUSES(source, 2);
    REPLAY_REFUSES(keep_attempts, 2);
    REPLAY_REFUSES(dry_run, 2);
    REPLAY_REFUSES(reserved, 1);
    BROWSER_REFUSES(max, 0);
    BROWSER_REFUSES(timeout, -1);
    BROWSER_REFUSES(force, 2);
    BROWSER_REFUSES(reserved, 1);
}
END_TEST

START_TEST(credentials_options_that_lack_a_part_are_refused)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.credentials = ACEMQ_CREDENTIALS_CALLBACK;
    refuses(0, &options, ACEMQ_E_INVALID_ARGUMENT, "credentials_callback");
    options.credentials = ACEMQ_CREDENTIALS_EVENT;
    refuses(0, &options, ACEMQ_E_INVALID_ARGUMENT, "events");
    options.credentials = ACEMQ_CREDENTIALS_FILE;
    refuses(0, &options, ACEMQ_E_INVALID_ARGUMENT, "file");
    options.credentials_file = "/nonexistent/credentials";
    refuses(0, &options, ACEMQ_E_LOGIN_REFUSED, "/nonexistent/credentials");
}
END_TEST

/* Counters and results are filled as far as the caller knows them. */
START_TEST(a_result_without_its_size_is_refused)
{
    acemq_consumer *consumer = NULL;
    acemq_consumer_counters counters = {.size = 0};
    acemq_replay_result result = {.size = 0};
    ck_assert_int_eq(acemq_consumer_open(mq, target, NULL, &consumer, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_consumer_get_counters(consumer, &counters, NULL),
                     ACEMQ_E_INVALID_ARGUMENT);
    counters.size = sizeof counters;
    ck_assert_int_eq(acemq_consumer_get_counters(consumer, &counters, NULL), ACEMQ_OK);
    ck_assert_int_eq(acemq_replay(mq, target, NULL, &result, NULL), ACEMQ_E_INVALID_ARGUMENT);
    acemq_consumer_free(consumer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi options");
    TCase *pure = tcase_create("defaults");
    tcase_set_timeout(pure, 60);
    tcase_add_loop_test(pure, defaults_equal_the_macro_byte_for_byte, 0, KINDS);
    tcase_add_loop_test(pure, defaults_of_a_larger_struct_end_in_zeros, 0, KINDS);
    tcase_add_loop_test(pure, defaults_of_a_smaller_struct_are_refused, 0, KINDS);
    suite_add_tcase(suite, pure);
    TCase *given = tcase_create("given");
    tcase_add_checked_fixture(given, connect_to_memory, disconnect);
    tcase_add_loop_test(given, sizes_of_given_options_are_checked, 0, OPTIONAL);
    tcase_add_test(given, values_out_of_range_name_their_field);
    tcase_add_test(given, credentials_options_that_lack_a_part_are_refused);
    tcase_add_test(given, a_result_without_its_size_is_refused);
    tcase_set_timeout(given, 60);
    suite_add_tcase(suite, given);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
