#include "engine_fixture.h"

#include "wire/arguments.h"

#include <stdatomic.h>
#include <stdio.h>

static void script_plain(peer_side *side, int index, void *user)
{
    (void)index;
    peer_handshake(side, user);
    peer_expect_goodbye(side);
    peer_expect_end(side);
}

static void assert_limits(const peer_tune *tune, ace_link_limits expected)
{
    fixture f;
    fixture_begin(&f, script_plain, (void *)(uintptr_t)tune);
    f.settings.heartbeat = 60;
    fixture_must_connect(&f);
    ace_link_description description;
    ace_link_describe(f.link, &description);
    ck_assert_int_eq(description.state, ACE_LINK_OPEN);
    ck_assert_uint_eq(description.epoch, 1);
    ck_assert_uint_eq(description.limits.channel_max, expected.channel_max);
    ck_assert_uint_eq(description.limits.frame_max, expected.frame_max);
    ck_assert_uint_eq(description.limits.heartbeat, expected.heartbeat);
    ck_assert_uint_eq(ace_link_frame_max(f.link), expected.frame_max);
    ck_assert_ptr_null(description.error);
    fixture_end(&f);
}

START_TEST(a_broker_that_offers_small_limits_is_obeyed)
{
    const peer_tune tune = {4, 4096, 1};
    assert_limits(&tune, (ace_link_limits){4, 4096, 1});
}
END_TEST

START_TEST(a_broker_that_offers_zero_sets_no_limit_and_wants_no_heartbeat)
{
    const peer_tune tune = {0, 0, 0};
    assert_limits(&tune, (ace_link_limits){2047, 131072, 0});
}
END_TEST

START_TEST(a_broker_that_offers_more_is_held_to_ours)
{
    const peer_tune tune = {65535, 1000000, 580};
    assert_limits(&tune, (ace_link_limits){2047, 131072, 60});
}
END_TEST

typedef struct beat {
    int32_t ours;
    peer_tune offered;
    uint16_t agreed;
} beat;

/* In tune-ok and in what the link goes by: a side that thinks otherwise is cut off by the other. */
static void script_beat(peer_side *side, int index, void *user)
{
    (void)index;
    const beat *row = user;
    peer_handshake(side, &row->offered);
    peer_check(side, peer_tuned(side)->heartbeat == row->agreed, "the heartbeat of tune-ok");
    peer_expect_goodbye(side);
    peer_expect_end(side);
}

static const beat beats[] = {
    {0, {2047, 131072, 60}, 0},
    {0, {2047, 131072, 0}, 0},
    {1, {2047, 131072, 60}, 1},
    {65535, {2047, 131072, 580}, 580},
    {ACE_HEARTBEAT_OF_BROKER, {2047, 131072, 60}, 60},
    {ACE_HEARTBEAT_OF_BROKER, {2047, 131072, 0}, 0},
};

START_TEST(heartbeats_are_off_only_where_one_side_wants_none)
{
    const beat *row = &beats[_i];
    fixture f;
    fixture_begin(&f, script_beat, (void *)(uintptr_t)row);
    f.settings.heartbeat = row->ours;
    fixture_must_connect(&f);
    ace_link_description description;
    ace_link_describe(f.link, &description);
    ck_assert_uint_eq(description.limits.heartbeat, row->agreed);
    fixture_end(&f);
}
END_TEST

START_TEST(who_says_nothing_asks_for_heartbeats)
{
    ace_settings settings;
    ace_settings_init(&settings);
    ck_assert_int_eq(settings.heartbeat, 60);
}
END_TEST

static void script_inspect_login(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    static const char *capabilities[] = {"publisher_confirms", "consumer_cancel_notify",
                                         "connection.blocked", "basic.nack",
                                         "authentication_failure_close"};
    peer_expect_header(side);
    peer_send_start(side, "AMQPLAIN PLAIN", true);
    const amqp_connection_start_ok_t *ok = peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_check(side, ok->mechanism.len == 5 && memcmp(ok->mechanism.bytes, "PLAIN", 5) == 0,
               "the mechanism is not PLAIN");
    peer_check(side, ok->response.len == 9 && memcmp(ok->response.bytes, "\0u@x\0p:/#", 9) == 0,
               "the response is not user and password");
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        peer_check(side, ace_properties_have_capability(&ok->client_properties, capabilities[i]),
                   capabilities[i]);
    }
    ace_bytes name = ace_arguments_text(&ok->client_properties, "connection_name");
    peer_check(side, ace_bytes_equal_text(name, "orders service"), "connection_name");
    peer_tune tune = {2047, 131072, 0};
    peer_send_tune(side, &tune);
    const amqp_connection_open_t *open = peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
    peer_check(side,
               open->virtual_host.len == 4 && memcmp(open->virtual_host.bytes, "/foo", 4) == 0,
               "the virtual host");
    amqp_connection_open_ok_t done = {.known_hosts = {0, NULL}};
    peer_send(side, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &done);
    peer_expect_goodbye(side);
}

START_TEST(the_login_carries_user_password_vhost_name_and_capabilities)
{
    fixture f;
    char url[128];
    fixture_begin(&f, script_inspect_login, NULL);
    ace_url_free(&f.url);
    (void)snprintf(url, sizeof url, "amqp://u%%40x:p%%3A%%2F%%23@127.0.0.1:%u/%%2Ffoo",
                   (unsigned)peer_port(f.peer));
    ck_assert_int_eq(ace_url_parse(url, &f.url, NULL), ACE_OK);
    f.settings.name = "orders service";
    fixture_must_connect(&f);
    fixture_end(&f);
}
END_TEST

typedef struct refusal {
    void (*step)(peer_side *side);
    ace_code code;
    const char *contains[3];
} refusal;

static void script_refuse(peer_side *side, int index, void *user)
{
    (void)index;
    const refusal *wanted = user;
    peer_expect_header(side);
    wanted->step(side);
}

static void refuse_login(peer_side *side)
{
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_close_connection(side, 403, "ACCESS_REFUSED - Login was refused");
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
    peer_expect_end(side);
}

static void hang_up_on_login(peer_side *side)
{
    peer_send_start(side, "PLAIN", false);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_hang_up(side);
}

static void hang_up_at_once(peer_side *side)
{
    peer_hang_up(side);
}

static void hang_up_though_capable(peer_side *side)
{
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_hang_up(side);
}

static void refuse_open(peer_side *side, uint16_t code, const char *text)
{
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_tune tune = {2047, 131072, 60};
    peer_send_tune(side, &tune);
    (void)peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
    peer_close_connection(side, code, text);
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
    peer_expect_end(side);
}

static void refuse_vhost(peer_side *side)
{
    refuse_open(side, 530, "NOT_ALLOWED - vhost x not found");
}

static void refuse_for_limit(peer_side *side)
{
    refuse_open(side, 530, "NOT_ALLOWED - connection limit (1) is reached");
}

static void offer_no_plain(peer_side *side)
{
    peer_send_start(side, "EXTERNAL PLAINER", true);
    peer_expect_end(side);
}

static void offer_tiny_frames(peer_side *side)
{
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    amqp_connection_tune_t tune = {.channel_max = 10, .frame_max = 4095, .heartbeat = 0};
    peer_send(side, 0, AMQP_CONNECTION_TUNE_METHOD, &tune);
    peer_expect_end(side);
}

static void speak_http(peer_side *side)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    peer_send_raw(side, answer, sizeof answer - 1);
    peer_expect_end(side);
}

static void want_another_version(peer_side *side)
{
    peer_send_raw(side, "AMQP\0\1\0\0", 8);
    peer_expect_end(side);
}

static void open_at_once(peer_side *side)
{
    amqp_connection_open_ok_t ok = {.known_hosts = {0, NULL}};
    peer_send(side, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &ok);
    peer_expect_end(side);
}

static const refusal refusals[] = {
    {refuse_login, ACE_LOGIN_REFUSED, {"127.0.0.1:", "guest", "403 ACCESS_REFUSED"}},
    {hang_up_on_login, ACE_LOGIN_REFUSED, {"127.0.0.1:", "guest", "hung up"}},
    {hang_up_though_capable, ACE_CONNECTION_LOST, {"127.0.0.1:", "guest", "closed"}},
    {hang_up_at_once, ACE_CONNECTION_LOST, {"127.0.0.1:", "handshake", "closed"}},
    {refuse_vhost, ACE_VHOST_REFUSED, {"127.0.0.1:", "virtual host /", "530 NOT_ALLOWED"}},
    {refuse_for_limit, ACE_UNREACHABLE, {"127.0.0.1:", "limit (1)", "530"}},
    {offer_no_plain, ACE_UNSUPPORTED, {"127.0.0.1:", "PLAIN", ""}},
    {offer_tiny_frames, ACE_PROTOCOL, {"127.0.0.1:", "4095", "4096"}},
    {speak_http, ACE_PROTOCOL, {"127.0.0.1:", "", ""}},
    {want_another_version, ACE_PROTOCOL, {"127.0.0.1:", "", ""}},
    {open_at_once, ACE_PROTOCOL, {"127.0.0.1:", "connection.open-ok", "out of place"}},
};

START_TEST(what_refuses_the_first_connect_has_its_own_error)
{
    const refusal *wanted = &refusals[_i];
    fixture f;
    ace_error *error = NULL;
    fixture_begin(&f, script_refuse, (void *)(uintptr_t)wanted);
    ck_assert_int_eq(fixture_connect(&f, &error), wanted->code);
    ck_assert_int_eq(ace_error_code(error), wanted->code);
    const char *message = ace_error_message(error);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(strstr(message, wanted->contains[i]) != NULL, "'%s' lacks '%s'", message,
                      wanted->contains[i]);
    }
    ck_assert_msg(strstr(message, "guest:guest") == NULL, "%s", message);
    ace_error_free(error);
    ace_link_description description;
    ace_link_describe(f.link, &description);
    ck_assert_int_eq(description.state, ACE_LINK_CLOSED);
    ace_error_free(description.error);
    fixture_end(&f);
}
END_TEST

START_TEST(nobody_listening_is_unreachable_with_host_and_port)
{
    ace_settings settings;
    ace_url url;
    ace_link *link = NULL;
    ace_error *error = NULL;
    ace_settings_init(&settings);
    settings.clock = ace_clock_system();
    settings.random = ace_random_system();
    /* A port outside the kernel's ephemeral range, on which nobody listens. */
    ck_assert_int_eq(ace_url_parse("amqp://secretive:hush@127.0.0.1:9", &url, NULL), ACE_OK);
    ck_assert_int_eq(ace_link_new(&settings, &url, "publishing", &link, NULL), ACE_OK);
    ck_assert_int_eq(ace_link_connect(link, ace_deadline_after(5000), NULL, &error),
                     ACE_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "127.0.0.1:9"));
    ck_assert_ptr_null(strstr(ace_error_message(error), "hush"));
    ace_error_free(error);
    ace_link_close(link, ace_deadline_after(1000));
    ace_link_free(link);
    ace_url_free(&url);
}
END_TEST

static void script_silent(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_wait_stop(side);
}

START_TEST(a_peer_that_never_answers_costs_the_deadline_and_no_more)
{
    fixture f;
    ace_error *error = NULL;
    fixture_begin(&f, script_silent, NULL);
    fixture_make_link(&f);
    int64_t before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(ace_link_connect(f.link, ace_deadline_after(200), NULL, &error), ACE_TIMEOUT);
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_ge(took, 200);
    ck_assert_int_lt(took, 8000);
    ace_error_free(error);
    fixture_end(&f);
}
END_TEST

START_TEST(the_connect_timeout_of_the_settings_bounds_the_login)
{
    fixture f;
    ace_error *error = NULL;
    fixture_begin(&f, script_silent, NULL);
    f.settings.connect_timeout = 100;
    ck_assert_int_eq(fixture_connect(&f, &error), ACE_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(ace_error_message(error), "100 ms"));
    ace_error_free(error);
    fixture_end(&f);
}
END_TEST

static void fire_soon(void *user)
{
    struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    ace_cancel_fire(user);
}

START_TEST(a_connect_is_cancelled_from_another_thread)
{
    fixture f;
    ace_error *error = NULL;
    ace_thread thread;
    fixture_begin(&f, script_silent, NULL);
    fixture_make_link(&f);
    ace_cancel *cancel = ace_cancel_new(NULL);
    ck_assert_int_eq(ace_thread_start(&thread, "fire", fire_soon, cancel, NULL), ACE_OK);
    ck_assert_int_eq(ace_link_connect(f.link, ace_deadline_after(10000), cancel, &error),
                     ACE_CANCELLED);
    ace_thread_join(&thread);
    ace_cancel_release(cancel);
    ace_error_free(error);
    fixture_end(&f);
}
END_TEST

static void script_byte_by_byte(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_set_pieces(side, PEER_BYTE_BY_BYTE);
    peer_handshake(side, NULL);
    peer_set_pieces(side, PEER_AS_IT_COMES);
    peer_expect_goodbye(side);
}

START_TEST(frames_that_come_byte_by_byte_are_put_together)
{
    fixture f;
    fixture_begin(&f, script_byte_by_byte, NULL);
    fixture_must_connect(&f);
    fixture_end(&f);
}
END_TEST

static ace_code answer_credentials(ace_credentials *credentials, void *user, ace_error **error)
{
    atomic_int *calls = user;
    if (atomic_fetch_add(calls, 1) > 0) {
        return ace_fail(error, ACE_LOGIN_REFUSED, "the vault is closed");
    }
    credentials->user = strdup("u@x");
    credentials->password = strdup("p:/#");
    return ACE_OK;
}

static void script_demand(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_expect_header(side);
    peer_send_start(side, "PLAIN", true);
    const amqp_connection_start_ok_t *ok = peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_check(side, ok->response.len == 9 && memcmp(ok->response.bytes, "\0u@x\0p:/#", 9) == 0,
               "the response is not what the callback gave");
    peer_tune tune = {2047, 131072, 0};
    peer_send_tune(side, &tune);
    (void)peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
    amqp_connection_open_ok_t done = {.known_hosts = {0, NULL}};
    peer_send(side, 0, AMQP_CONNECTION_OPEN_OK_METHOD, &done);
    peer_hang_up(side);
}

START_TEST(credentials_on_demand_are_asked_for_at_each_connect)
{
    fixture f;
    atomic_int calls;
    atomic_init(&calls, 0);
    fixture_begin(&f, script_demand, NULL);
    f.settings.credentials = ACE_CREDENTIALS_ON_DEMAND;
    f.settings.ask = answer_credentials;
    f.settings.ask_user = &calls;
    fixture_must_connect(&f);
    for (int i = 0; i < 1000 && atomic_load(&calls) < 2; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_assert_int_ge(atomic_load(&calls), 2);
    fixture_break_off(&f);
}
END_TEST

static ace_code answer_slowly(ace_credentials *credentials, void *user, ace_error **error)
{
    struct timespec pause = {.tv_nsec = 300000000};
    nanosleep(&pause, NULL);
    atomic_store((atomic_int *)user, 1);
    credentials->user = strdup("guest");
    credentials->password = strdup("guest");
    (void)error;
    return ACE_OK;
}

START_TEST(a_close_waits_for_a_credentials_callback_that_is_running)
{
    fixture f;
    ace_error *error = NULL;
    atomic_int returned;
    atomic_init(&returned, 0);
    fixture_begin(&f, script_silent, NULL);
    f.settings.credentials = ACE_CREDENTIALS_ON_DEMAND;
    f.settings.ask = answer_slowly;
    f.settings.ask_user = &returned;
    fixture_make_link(&f);
    ck_assert_int_eq(ace_link_connect(f.link, ace_deadline_after(50), NULL, &error), ACE_TIMEOUT);
    ace_error_free(error);
    ck_assert_int_eq(atomic_load(&returned), 0);
    fixture_end(&f);
    ck_assert_int_eq(atomic_load(&returned), 1);
}
END_TEST

START_TEST(a_link_that_never_connected_is_closed_without_ado)
{
    fixture f;
    fixture_begin(&f, script_silent, NULL);
    fixture_make_link(&f);
    ace_link_close(f.link, ace_deadline_after(1000));
    ace_link_close(f.link, ace_deadline_after(1000));
    ck_assert_int_eq(fixture_connect(&f, NULL), ACE_CLOSED);
    fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("login");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_broker_that_offers_small_limits_is_obeyed);
    tcase_add_test(tcase, a_broker_that_offers_zero_sets_no_limit_and_wants_no_heartbeat);
    tcase_add_test(tcase, a_broker_that_offers_more_is_held_to_ours);
    tcase_add_loop_test(tcase, heartbeats_are_off_only_where_one_side_wants_none, 0,
                        (int)(sizeof beats / sizeof beats[0]));
    tcase_add_test(tcase, who_says_nothing_asks_for_heartbeats);
    tcase_add_test(tcase, the_login_carries_user_password_vhost_name_and_capabilities);
    tcase_add_loop_test(tcase, what_refuses_the_first_connect_has_its_own_error, 0,
                        (int)(sizeof refusals / sizeof refusals[0]));
    tcase_add_test(tcase, nobody_listening_is_unreachable_with_host_and_port);
    tcase_add_test(tcase, a_peer_that_never_answers_costs_the_deadline_and_no_more);
    tcase_add_test(tcase, the_connect_timeout_of_the_settings_bounds_the_login);
    tcase_add_test(tcase, a_connect_is_cancelled_from_another_thread);
    tcase_add_test(tcase, frames_that_come_byte_by_byte_are_put_together);
    tcase_add_test(tcase, credentials_on_demand_are_asked_for_at_each_connect);
    tcase_add_test(tcase, a_close_waits_for_a_credentials_callback_that_is_running);
    tcase_add_test(tcase, a_link_that_never_connected_is_closed_without_ado);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
