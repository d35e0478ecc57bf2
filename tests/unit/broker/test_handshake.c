/* From the greeting to the goodbye, and everything a client may get wrong there. */
#include "support/wire_client.h"
#include "wire/arguments.h"

#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static ace_broker *broker;

static void start(void)
{
    ck_assert_int_eq(ace_broker_start(NULL, &broker, NULL), ACE_OK);
}

static void stop(void)
{
    ace_broker_release(broker);
}

static ace_wire_client *attach(void)
{
    ace_stream *stream = NULL;

    ck_assert_int_eq(ace_broker_attach(broker, &stream, NULL), ACE_OK);
    return ace_wire_client_open(stream);
}

static ace_wire_client *greet(void)
{
    ace_wire_client *client = attach();

    ace_wire_send_header(client);
    ace_wire_expect(client, AMQP_CONNECTION_START_METHOD);
    return client;
}

static void send_start_ok(ace_wire_client *client, const char *mechanism, const char *response,
                          size_t length, bool capable)
{
    amqp_connection_start_ok_t ok = {.mechanism = amqp_cstring_bytes(mechanism),
                                     .response = {length, (void *)(uintptr_t)response},
                                     .locale = amqp_cstring_bytes("en_US")};

    if (capable)
        ck_assert_int_eq(
            ace_client_properties(&client->arena, "test", "1", NULL, &ok.client_properties, NULL),
            ACE_OK);
    ace_wire_send(client, 0, AMQP_CONNECTION_START_OK_METHOD, &ok);
}

static ace_wire_client *log_in(void)
{
    ace_wire_client *client = greet();

    send_start_ok(client, "PLAIN", "\0guest\0guest", 12, true);
    ace_wire_expect(client, AMQP_CONNECTION_TUNE_METHOD);
    return client;
}

static void tune(ace_wire_client *client, int channel_max, int frame_max, int heartbeat)
{
    amqp_connection_tune_ok_t ok = {.channel_max = (uint16_t)channel_max,
                                    .frame_max = (uint32_t)frame_max,
                                    .heartbeat = (uint16_t)heartbeat};

    ace_wire_send(client, 0, AMQP_CONNECTION_TUNE_OK_METHOD, &ok);
}

static void open_vhost(ace_wire_client *client, const char *vhost)
{
    amqp_connection_open_t open = {.virtual_host = amqp_cstring_bytes(vhost)};

    ace_wire_send(client, 0, AMQP_CONNECTION_OPEN_METHOD, &open);
}

START_TEST(a_foreign_header_is_answered_with_ours)
{
    static const char *const headers[] = {"GET / HTTP/1.1\r\n\r\n", "AMQP\0\1\0\0",
                                          "AMQP\1\1\0\11"};
    uint8_t answer[9] = {0};
    size_t total = 0;
    ace_wire_client *client = attach();

    ace_wire_send_bytes(client, headers[_i], _i == 0 ? 18 : 8);
    while (total < 8) {
        struct pollfd polled = {.fd = ace_stream_descriptor(client->stream), .events = POLLIN};
        size_t moved = 0;

        ck_assert_int_eq(poll(&polled, 1, ace_wire_patience()), 1);
        ck_assert_int_eq(
            ace_stream_read(client->stream, answer + total, sizeof(answer) - total, &moved, NULL),
            ACE_STREAM_READY);
        total += moved;
    }
    ck_assert_mem_eq(answer, "AMQP\0\0\x09\x01", 8);
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(start_offers_what_rabbitmq_offers)
{
    static const char *const able[] = {"publisher_confirms", "exchange_exchange_bindings",
                                       "basic.nack",         "consumer_cancel_notify",
                                       "connection.blocked", "authentication_failure_close",
                                       "per_consumer_qos"};
    ace_wire_client *client = attach();
    const amqp_connection_start_t *offer;

    ace_wire_send_header(client);
    offer = ace_wire_expect(client, AMQP_CONNECTION_START_METHOD);
    ck_assert_uint_eq(offer->version_major, 0);
    ck_assert_uint_eq(offer->version_minor, 9);
    for (size_t i = 0; i < sizeof(able) / sizeof(able[0]); i++)
        ck_assert(ace_properties_have_capability(&offer->server_properties, able[i]));
    ck_assert(ace_arguments_text(&offer->server_properties, "product").length > 0);
    ck_assert(ace_arguments_text(&offer->server_properties, "version").length > 0);
    ck_assert_mem_eq(offer->mechanisms.bytes, "PLAIN AMQPLAIN", 14);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(tune_offers_rabbitmqs_limits)
{
    ace_wire_client *client = greet();
    const amqp_connection_tune_t *offer;

    send_start_ok(client, "PLAIN", "\0guest\0guest", 12, true);
    offer = ace_wire_expect(client, AMQP_CONNECTION_TUNE_METHOD);
    ck_assert_uint_eq(offer->channel_max, 2047);
    ck_assert_uint_eq(offer->frame_max, 131072);
    ck_assert_uint_eq(offer->heartbeat, 60);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(amqplain_logs_in)
{
    static const char response[] = "\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x05guest";
    ace_wire_client *client = greet();

    send_start_ok(client, "AMQPLAIN", response, sizeof(response) - 1, true);
    ace_wire_expect(client, AMQP_CONNECTION_TUNE_METHOD);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(a_wrong_password_is_403_for_those_who_asked)
{
    const char *text =
        "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For "
        "details see the broker logfile.";
    ace_wire_client *client = greet();

    send_start_ok(client, "PLAIN", "\0guest\0wrong", 12, true);
    ace_wire_expect_connection_close(client, 403, text);
    ace_wire_client_free(client);
    client = greet();
    send_start_ok(client, "PLAIN", "\0guest\0wrong", 12, false);
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(malformed_logins_end_the_connection)
{
    static const struct {
        const char *mechanism;
        const char *response;
        size_t length;
    } cases[] = {{"PLAIN", "", 0},
                 {"PLAIN", "guest\0guest", 11},
                 {"PLAIN", "\0guest", 6},
                 {"PLAIN", "x\0guest\0guest", 13},
                 {"AMQPLAIN", "\x05LOGINS\0\0\0\xff", 11},
                 {"AMQPLAIN", "", 0},
                 {"EXTERNAL", "", 0}};
    ace_wire_client *client = greet();

    send_start_ok(client, cases[_i].mechanism, cases[_i].response, cases[_i].length, true);
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(a_missing_vhost_is_530)
{
    ace_wire_client *client = log_in();

    tune(client, 2047, 131072, 0);
    open_vhost(client, "nowhere");
    ace_wire_expect_connection_close(client, 530, "NOT_ALLOWED - vhost nowhere not found");
    ace_wire_client_free(client);
}
END_TEST

START_TEST(tune_above_the_offer_is_530)
{
    static const struct {
        int channel_max;
        int frame_max;
        const char *text;
    } cases[] = {{2048, 131072,
                  "NOT_ALLOWED - negotiated channel_max = 2048 is higher than the maximum allowed "
                  "value (2047)"},
                 {0, 131072,
                  "NOT_ALLOWED - negotiated channel_max = 0 (no limit) is higher than the maximum "
                  "allowed value "
                  "(2047)"},
                 {2047, 4095,
                  "NOT_ALLOWED - negotiated frame_max = 4095 is lower than the minimum allowed "
                  "value (4096)"},
                 {2047, 0,
                  "NOT_ALLOWED - negotiated frame_max = 0 is higher than the maximum allowed value "
                  "(131072)"}};
    ace_wire_client *client = log_in();

    tune(client, cases[_i].channel_max, cases[_i].frame_max, 0);
    ace_wire_expect_connection_close(client, 530, cases[_i].text);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(a_smaller_tune_is_obeyed)
{
    char body[20000];
    ace_wire_client *client = log_in();
    amqp_channel_open_t open = {0};
    size_t frames = 0;
    ace_wire_client *other = ace_wire_client_login(broker);

    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    tune(client, 4, 4096, 0);
    open_vhost(client, "/");
    ace_wire_expect(client, AMQP_CONNECTION_OPEN_OK_METHOD);
    client->frame_max = 4096;
    ace_frame_reader_set_max(&client->reader, 4096);
    ace_wire_open_channel(client, 1);
    ace_wire_declare(client, "small", NULL);
    ace_wire_publish_text(other, "small", body);
    ace_wire_wait_count(client, "small", 1);
    ace_wire_get(client, "small");
    /* The reader refuses a frame that is larger, so that its coming whole is the proof. */
    ace_wire_expect_delivery(client, body, false);
    frames++;
    ck_assert_uint_eq(frames, 1);
    ace_wire_open_channel(client, 4);
    ace_wire_send(client, 5, AMQP_CHANNEL_OPEN_METHOD, &open);
    ace_wire_expect_connection_close(
        client, 530, "NOT_ALLOWED - channel number 5 is above the negotiated channel_max (4)");
    ace_wire_client_free(client);
    ace_wire_client_free(other);
}
END_TEST

START_TEST(heartbeats_come_and_their_lack_ends_the_connection)
{
    ace_wire_client *client = log_in();
    ace_frame frame;
    size_t size;
    size_t moved;

    tune(client, 2047, 131072, 1);
    open_vhost(client, "/");
    ace_wire_expect(client, AMQP_CONNECTION_OPEN_OK_METHOD);
    for (;;) {
        struct pollfd polled = {.fd = ace_stream_descriptor(client->stream), .events = POLLIN};

        ck_assert_int_eq(poll(&polled, 1, ace_wire_patience()), 1);
        ck_assert_int_eq(ace_stream_read(client->stream,
                                         ace_frame_reader_room(&client->reader, 100, &size), 100,
                                         &moved, NULL),
                         ACE_STREAM_READY);
        ace_frame_reader_received(&client->reader, moved);
        ck_assert_int_eq(ace_frame_next(&client->reader, &frame, NULL), ACE_OK);
        if (frame.type != ACE_FRAME_NONE)
            break;
    }
    ck_assert_int_eq(frame.type, ACE_FRAME_HEARTBEAT);
    /* We send none: two intervals of silence are too many. */
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(a_silent_client_is_cut_off_after_the_handshake_wait)
{
    ace_broker_options options;
    ace_broker *impatient;
    ace_stream *stream = NULL;
    ace_wire_client *client;

    ace_broker_options_init(&options);
    options.limits.handshake_wait = 50;
    ck_assert_int_eq(ace_broker_start(&options, &impatient, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_attach(impatient, &stream, NULL), ACE_OK);
    client = ace_wire_client_open(stream);
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
    ace_broker_release(impatient);
}
END_TEST

START_TEST(a_connection_over_the_limit_is_closed)
{
    ace_broker_options options;
    ace_broker *small;
    ace_stream *stream = NULL;
    ace_wire_client *first;
    ace_wire_client *second;

    ace_broker_options_init(&options);
    options.limits.connections = 1;
    ck_assert_int_eq(ace_broker_start(&options, &small, NULL), ACE_OK);
    first = ace_wire_client_login(small);
    ck_assert_int_eq(ace_broker_attach(small, &stream, NULL), ACE_OK);
    second = ace_wire_client_open(stream);
    ace_wire_send_header(second);
    ace_wire_expect_end(second);
    ck_assert_uint_eq(ace_wire_declare(first, "still-here", NULL), 0);
    ace_wire_client_free(first);
    ace_wire_client_free(second);
    ace_broker_release(small);
}
END_TEST

START_TEST(other_users_and_vhosts_can_be_configured)
{
    static const ace_broker_user users[] = {{"alice", "secret"}, {"bob", ""}};
    static const char *const vhosts[] = {"first", "second"};
    ace_broker_options options;
    ace_broker *own;
    ace_stream *stream = NULL;
    ace_wire_client *client;

    ace_broker_options_init(&options);
    options.users = users;
    options.user_count = 2;
    options.vhosts = vhosts;
    options.vhost_count = 2;
    ck_assert_int_eq(ace_broker_start(&options, &own, NULL), ACE_OK);
    ck_assert_int_eq(ace_broker_attach(own, &stream, NULL), ACE_OK);
    client = ace_wire_client_open(stream);
    ace_wire_send_header(client);
    ace_wire_expect(client, AMQP_CONNECTION_START_METHOD);
    send_start_ok(client, "PLAIN", "\0alice\0secret", 13, true);
    ace_wire_expect(client, AMQP_CONNECTION_TUNE_METHOD);
    tune(client, 2047, 131072, 0);
    open_vhost(client, "second");
    ace_wire_expect(client, AMQP_CONNECTION_OPEN_OK_METHOD);
    ace_wire_client_free(client);
    ace_broker_release(own);
}
END_TEST

START_TEST(close_is_answered_and_ends_the_stream)
{
    ace_wire_client *client = ace_wire_client_login(broker);
    amqp_connection_close_t close = {.reply_code = 200};

    ace_wire_send(client, 0, AMQP_CONNECTION_CLOSE_METHOD, &close);
    ace_wire_expect(client, AMQP_CONNECTION_CLOSE_OK_METHOD);
    ace_wire_expect_end(client);
    ace_wire_client_free(client);
}
END_TEST

START_TEST(methods_out_of_place_are_504)
{
    amqp_channel_open_t open = {0};
    amqp_basic_qos_t qos = {0};
    amqp_connection_open_t again = {.virtual_host = amqp_cstring_bytes("/")};
    ace_wire_client *client = ace_wire_client_login(broker);

    ace_wire_send(client, 1, AMQP_CHANNEL_OPEN_METHOD, &open);
    ace_wire_expect_connection_close(client, 504, "CHANNEL_ERROR - second 'channel.open' seen");
    ace_wire_client_free(client);
    client = ace_wire_client_login(broker);
    ace_wire_send(client, 2, AMQP_BASIC_QOS_METHOD, &qos);
    ace_wire_expect_connection_close(client, 504, "CHANNEL_ERROR - expected 'channel.open'");
    ace_wire_client_free(client);
    client = ace_wire_client_login(broker);
    ace_wire_send(client, 0, AMQP_CONNECTION_OPEN_METHOD, &again);
    ace_wire_expect_connection_close(
        client, 504, "CHANNEL_ERROR - unexpected method in connection state running");
    ace_wire_client_free(client);
}
END_TEST

static ace_wire_client *after_bytes(const char *bytes, size_t length)
{
    ace_wire_client *client = ace_wire_client_login(broker);

    ace_wire_send_bytes(client, bytes, length);
    return client;
}

START_TEST(frame_errors_have_their_codes)
{
    static const struct {
        const char *bytes;
        size_t length;
        int code;
    } cases[] = {
        {"\x07\0\0\0\0\0\0\xce", 8, 501},                  /* an unknown type */
        {"\x01\0\x01\0\0\0\4\0\x14\0\x0a\xcd", 12, 501},   /* a wrong end */
        {"\x01\0\x01\x7f\xff\xff\xff", 7, 501},            /* too large */
        {"\x01\0\x01\0\0\0\4\0\x14\0\x63\xce", 12, 503},   /* an unknown method */
        {"\x01\0\x01\0\0\0\5\0\x32\0\x0a\0\xce", 13, 501}, /* a method cut short */
        {"\x03\0\x01\0\0\0\1x\xce", 9, 505},               /* a body that nothing announced */
        {"\x02\0\x01\0\0\0\x0e\0\x3c\0\0\0\0\0\0\0\0\0\0\0\0\xce", 22, 505}, /* likewise a header */
        {"\x03\0\x09\0\0\0\1x\xce", 9, 505},             /* on a channel that is not open */
        {"\x01\0\x01\0\0\0\4\0\x5a\0\x0a\xce", 12, 540}, /* tx.select */
    };
    const amqp_connection_close_t *close;
    ace_wire_client *client = after_bytes(cases[_i].bytes, cases[_i].length);

    close = ace_wire_expect(client, AMQP_CONNECTION_CLOSE_METHOD);
    ck_assert_int_eq(close->reply_code, cases[_i].code);
    ace_wire_client_free(client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake");
    TCase *tcase = tcase_create("handshake");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_loop_test(tcase, a_foreign_header_is_answered_with_ours, 0, 3);
    tcase_add_test(tcase, start_offers_what_rabbitmq_offers);
    tcase_add_test(tcase, tune_offers_rabbitmqs_limits);
    tcase_add_test(tcase, amqplain_logs_in);
    tcase_add_test(tcase, a_wrong_password_is_403_for_those_who_asked);
    tcase_add_loop_test(tcase, malformed_logins_end_the_connection, 0, 7);
    tcase_add_test(tcase, a_missing_vhost_is_530);
    tcase_add_loop_test(tcase, tune_above_the_offer_is_530, 0, 4);
    tcase_add_test(tcase, a_smaller_tune_is_obeyed);
    tcase_add_test(tcase, heartbeats_come_and_their_lack_ends_the_connection);
    tcase_add_test(tcase, a_silent_client_is_cut_off_after_the_handshake_wait);
    tcase_add_test(tcase, a_connection_over_the_limit_is_closed);
    tcase_add_test(tcase, other_users_and_vhosts_can_be_configured);
    tcase_add_test(tcase, close_is_answered_and_ends_the_stream);
    tcase_add_test(tcase, methods_out_of_place_are_504);
    tcase_add_loop_test(tcase, frame_errors_have_their_codes, 0, 9);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
