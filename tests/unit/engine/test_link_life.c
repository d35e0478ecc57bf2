#include "engine_fixture.h"

#include "wire/arguments.h"

#include <stdatomic.h>
#include <stdio.h>

static void refuse_login(peer_side *side)
{
    peer_send_start(side, "PLAIN", true);
    (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
    peer_close_connection(side, 403, "ACCESS_REFUSED - Login was refused");
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
    peer_expect_end(side);
}

static void script_come_back(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    switch (index) {
    case 0:
        peer_close_connection(side, 320, "CONNECTION_FORCED - broker forced connection closure");
        (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
        peer_expect_end(side);
        break;
    case 1:
        peer_hang_up(side);
        break;
    case 2:
        peer_send_raw(side, "\x01\x00\x00\x00\x00\x00\x05garbage!", 15);
        peer_expect_end(side);
        break;
    default:
        peer_expect_goodbye(side);
        break;
    }
}

typedef struct witness {
    ace_link_listener listener;
    ace_link_state states[64];
    ace_code codes[64];
    int replies[64];
    int64_t waits[64];
    size_t count;
} witness;

static void note(ace_link_listener *listener, const ace_link_status *status)
{
    witness *seen = ACE_RECORD(listener, witness, listener);
    if (seen->count < 64) {
        seen->states[seen->count] = status->state;
        seen->codes[seen->count] = ace_error_code(status->error);
        seen->replies[seen->count] = ace_error_reply(status->error);
        seen->waits[seen->count++] = status->wait;
    }
}

typedef struct listening {
    fixture *f;
    witness *seen;
} listening;

static void listen_now(void *user)
{
    listening *wanted = user;
    wanted->seen->listener.changed = note;
    ace_link_listen(wanted->f->link, &wanted->seen->listener);
}

static void witness_link(fixture *f, witness *seen)
{
    *seen = (witness){0};
    listening wanted = {f, seen};
    ck_assert(ace_loop_call(ace_link_loop(f->link), listen_now, &wanted));
}

START_TEST(the_link_comes_back_after_every_kind_of_loss)
{
    fixture f;
    witness seen;
    fixture_begin(&f, script_come_back, NULL);
    fixture_make_link(&f);
    witness_link(&f, &seen);
    fixture_must_connect(&f);
    fixture_await_state(&f, ACE_LINK_OPEN, 4);
    fixture_end(&f);
    const ace_link_state expected[] = {
        ACE_LINK_CONNECTING, ACE_LINK_OPEN,       ACE_LINK_WAITING,    ACE_LINK_CONNECTING,
        ACE_LINK_OPEN,       ACE_LINK_WAITING,    ACE_LINK_CONNECTING, ACE_LINK_OPEN,
        ACE_LINK_WAITING,    ACE_LINK_CONNECTING, ACE_LINK_OPEN,       ACE_LINK_CLOSING,
        ACE_LINK_CLOSED,
    };
    ck_assert_uint_eq(seen.count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < seen.count; i++) {
        ck_assert_int_eq(seen.states[i], expected[i]);
    }
    ck_assert_int_eq(seen.codes[2], ACE_CONNECTION_LOST);
    ck_assert_int_eq(seen.replies[2], 320);
    ck_assert_int_eq(seen.codes[5], ACE_CONNECTION_LOST);
    ck_assert_int_eq(seen.replies[5], 0);
    ck_assert_int_eq(seen.codes[8], ACE_PROTOCOL);
}
END_TEST

static void script_refuse_later(peer_side *side, int index, void *user)
{
    (void)user;
    if (index == 0) {
        peer_handshake(side, NULL);
        peer_hang_up(side);
    } else {
        peer_expect_header(side);
        refuse_login(side);
    }
}

START_TEST(a_login_refused_on_the_way_back_is_told_and_asked_again_slowly)
{
    fixture f;
    witness seen;
    fixture_begin(&f, script_refuse_later, NULL);
    f.settings.reconnect_jitter = 0;
    f.settings.reconnect_limit = 400;
    fixture_make_link(&f);
    witness_link(&f, &seen);
    fixture_must_connect(&f);
    for (int i = 0; i < 1000 && peer_connections(f.peer) < 3; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    fixture_break_off(&f);
    ck_assert_int_eq(seen.states[2], ACE_LINK_WAITING);
    ck_assert_int_eq(seen.waits[2], 20);
    ck_assert_int_eq(seen.states[4], ACE_LINK_WAITING);
    ck_assert_int_eq(seen.codes[4], ACE_LOGIN_REFUSED);
    ck_assert_int_eq(seen.waits[4], 400);
}
END_TEST

typedef struct refusing {
    int times; /* after the first connection, which is lost */
    bool vhost;
} refusing;

static void script_refuse_often(peer_side *side, int index, void *user)
{
    const refusing *how = user;
    if (index == 0) {
        peer_handshake(side, NULL);
        peer_hang_up(side);
    } else if (index > how->times) {
        peer_handshake(side, NULL);
        peer_expect_goodbye(side);
    } else if (!how->vhost) {
        peer_expect_header(side);
        refuse_login(side);
    } else {
        peer_expect_header(side);
        peer_send_start(side, "PLAIN", true);
        (void)peer_expect(side, 0, AMQP_CONNECTION_START_OK_METHOD);
        peer_send_tune(side, &(peer_tune){.channel_max = 2047, .frame_max = 131072});
        (void)peer_expect(side, 0, AMQP_CONNECTION_OPEN_METHOD);
        peer_close_connection(side, 530, "NOT_ALLOWED - vhost / not found");
        (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
        peer_expect_end(side);
    }
}

static void begin_refusing(fixture *f, refusing *how)
{
    fixture_begin(f, script_refuse_often, how);
    f->settings.reconnect_limit = 20;
    fixture_make_link(f);
    fixture_must_connect(f);
}

/* A broker that is restarting may refuse for a moment; a wrong password stays wrong. */
START_TEST(a_login_refused_ten_times_on_the_way_back_is_the_end_and_says_why)
{
    fixture f;
    refusing how = {.times = 1000, .vhost = _i == 1};
    ace_link_description description;
    begin_refusing(&f, &how);
    fixture_await_state(&f, ACE_LINK_CLOSED, 1);
    ace_link_describe(f.link, &description);
    ck_assert_int_eq(ace_error_code(description.error),
                     how.vhost ? ACE_VHOST_REFUSED : ACE_LOGIN_REFUSED);
    ace_error_free(description.error);
    ck_assert_int_eq(peer_connections(f.peer), 11);
    fixture_end(&f);
}
END_TEST

START_TEST(a_login_refused_nine_times_and_then_taken_is_back)
{
    fixture f;
    refusing how = {.times = 9};
    begin_refusing(&f, &how);
    fixture_await_state(&f, ACE_LINK_OPEN, 2);
    fixture_end(&f);
}
END_TEST

typedef struct log_lines {
    atomic_int count;
    atomic_int telling;
} log_lines;

static void look_for_password(ace_log_level level, const char *line, void *user)
{
    (void)level;
    log_lines *all = user;
    atomic_fetch_add(&all->count, 1);
    if (strstr(line, "hush") != NULL) {
        atomic_fetch_add(&all->telling, 1);
    }
}

static void script_every_trouble(peer_side *side, int index, void *user)
{
    if (index == 3) {
        peer_expect_header(side);
        refuse_login(side);
    } else {
        script_come_back(side, index, user);
    }
}

START_TEST(no_line_of_the_log_holds_the_password)
{
    fixture f;
    log_lines all = {0};
    char url[128];
    fixture_begin(&f, script_every_trouble, NULL);
    ace_url_free(&f.url);
    (void)snprintf(url, sizeof url, "amqp://user:hush%%2Fhush@127.0.0.1:%u/v",
                   (unsigned)peer_port(f.peer));
    ck_assert_int_eq(ace_url_parse(url, &f.url, NULL), ACE_OK);
    f.settings.log = (ace_log){look_for_password, &all, ACE_LOG_DEBUG};
    fixture_must_connect(&f);
    fixture_await_state(&f, ACE_LINK_OPEN, 4); /* lost thrice, refused once, and back */
    fixture_end(&f);
    ck_assert_int_ge(atomic_load(&all.count), 10);
    ck_assert_int_eq(atomic_load(&all.telling), 0);
}
END_TEST

/* Opened and lost at once; or taken, and lost in the login. */
static void script_short_lived(peer_side *side, int index, void *user)
{
    const bool *in_login = user;
    if (index == 0 || !*in_login) {
        peer_handshake(side, NULL);
    } else {
        peer_expect_header(side);
        peer_send_start(side, "PLAIN", true);
    }
    peer_hang_up(side);
}

START_TEST(the_back_off_grows_while_connections_do_not_last)
{
    fixture f;
    witness seen;
    bool in_login = _i == 1;
    fixture_begin(&f, script_short_lived, &in_login);
    f.settings.reconnect_jitter = 0;
    f.settings.reconnect_initial = 10;
    f.settings.reconnect_limit = 50;
    fixture_make_link(&f);
    witness_link(&f, &seen);
    fixture_must_connect(&f);
    for (int i = 0; i < 1000 && peer_connections(f.peer) < 7; i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    fixture_break_off(&f);
    const int64_t expected[] = {10, 20, 40, 50, 50};
    size_t found = 0;
    for (size_t i = 0; i < seen.count && found < 5; i++) {
        if (seen.states[i] == ACE_LINK_WAITING) {
            ck_assert_int_eq(seen.waits[i], expected[found++]);
        }
    }
    ck_assert_uint_eq(found, 5);
}
END_TEST

START_TEST(without_reconnect_a_loss_is_the_end)
{
    fixture f;
    fixture_begin(&f, script_short_lived, NULL);
    f.settings.reconnect = false;
    fixture_must_connect(&f);
    fixture_await_state(&f, ACE_LINK_CLOSED, 1);
    fixture_end(&f);
}
END_TEST

static void script_heartbeats(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    const peer_tune tune = {2047, 131072, 1};
    peer_handshake(side, &tune);
    /* Two in a row, half an interval apart, while we are alive. */
    peer_expect_heartbeat(side);
    peer_send_heartbeat(side);
    peer_expect_heartbeat(side);
    peer_send_heartbeat(side);
    /* From here on this peer is dead; the client has to notice by itself. */
    peer_expect_end(side);
}

START_TEST(heartbeats_are_sent_and_a_silent_peer_is_dead_after_two)
{
    fixture f;
    fixture_begin(&f, script_heartbeats, NULL);
    f.settings.heartbeat = 60;
    f.settings.reconnect = false;
    fixture_must_connect(&f);
    int64_t before = ace_clock_monotonic(ace_clock_system());
    fixture_await_state(&f, ACE_LINK_CLOSED, 1);
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    /* Two beats at half a second, then two seconds of silence. */
    ck_assert_int_ge(took, 2400);
    ck_assert_int_lt(took, 20000);
    ace_link_description description;
    ace_link_describe(f.link, &description);
    ck_assert_int_eq(ace_error_code(description.error), ACE_CONNECTION_LOST);
    ck_assert_ptr_nonnull(strstr(ace_error_message(description.error), "heartbeat"));
    ace_error_free(description.error);
    fixture_end(&f);
}
END_TEST

static void script_blocked(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    amqp_connection_blocked_t blocked = {.reason = peer_text("low on memory")};
    peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    peer_delay(side, 100);
    amqp_connection_unblocked_t unblocked = {0};
    peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    peer_expect_goodbye(side);
}

START_TEST(blocked_and_unblocked_are_known_with_the_reason)
{
    fixture f;
    ace_link_description description = {0};
    fixture_begin(&f, script_blocked, NULL);
    fixture_must_connect(&f);
    for (int i = 0; i < 1000 && !description.blocked; i++) {
        ace_link_describe(f.link, &description);
    }
    ck_assert(description.blocked);
    ck_assert_str_eq(description.reason, "low on memory");
    ck_assert_int_eq(description.state, ACE_LINK_OPEN);
    while (description.blocked) {
        ace_link_describe(f.link, &description);
    }
    ck_assert_str_eq(description.reason, "");
    fixture_end(&f);
}
END_TEST

static void script_no_goodbye(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    peer_handshake(side, NULL);
    (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_METHOD);
    peer_expect_end(side);
}

START_TEST(a_goodbye_that_is_not_answered_costs_the_deadline_and_no_more)
{
    fixture f;
    fixture_begin(&f, script_no_goodbye, NULL);
    fixture_must_connect(&f);
    int64_t before = ace_clock_monotonic(ace_clock_system());
    ace_link_close(f.link, ace_deadline_after(150));
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_ge(took, 150);
    ck_assert_int_lt(took, 20000);
    fixture_end(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("link");
    TCase *tcase = tcase_create("life");
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_login_refused_ten_times_on_the_way_back_is_the_end_and_says_why, 0,
                        2);
    tcase_add_test(tcase, a_login_refused_nine_times_and_then_taken_is_back);
    tcase_add_test(tcase, the_link_comes_back_after_every_kind_of_loss);
    tcase_add_test(tcase, a_login_refused_on_the_way_back_is_told_and_asked_again_slowly);
    tcase_add_test(tcase, no_line_of_the_log_holds_the_password);
    tcase_add_loop_test(tcase, the_back_off_grows_while_connections_do_not_last, 0, 2);
    tcase_add_test(tcase, without_reconnect_a_loss_is_the_end);
    tcase_add_test(tcase, heartbeats_are_sent_and_a_silent_peer_is_dead_after_two);
    tcase_add_test(tcase, blocked_and_unblocked_are_known_with_the_reason);
    tcase_add_test(tcase, a_goodbye_that_is_not_answered_costs_the_deadline_and_no_more);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
