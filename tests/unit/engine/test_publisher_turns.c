/* What the broker does while the thread that waits for its publish has the connection's turns. */
#include "publisher_fixture.h"

#include "engine/connection.h"
#include "engine/events.h"

#include <sys/wait.h>
#include <unistd.h>

#define WARM 20 /* publishes one after the other, after which the turns are lent */

static void confirm(peer_side *side, uint64_t from, uint64_t to)
{
    for (uint64_t tag = from; tag <= to; tag++) {
        expect_publish(side, APPLICATION, "warm");
        peer_ack(side, APPLICATION, tag, false);
    }
}

static void warm_up(publishing *p)
{
    for (int i = 0; i < WARM; i++) {
        ck_assert_int_eq(send_one(p, "warm", 5000, NULL), ACE_OK);
    }
}

static void script_heartbeats(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    const peer_tune tune = {2047, 131072, 2};
    peer_handshake(side, &tune);
    open_lanes(side);
    confirm(side, 1, WARM);
    expect_publish(side, APPLICATION, "slow");
    peer_expect_heartbeat(side);
    peer_ack(side, APPLICATION, WARM + 1, false);
    peer_wait_stop(side);
}

START_TEST(heartbeats_leave_while_a_publish_waits_for_its_confirm)
{
    publishing p;
    begin(&p, script_heartbeats, NULL);
    p.f.settings.heartbeat = 60; /* the peer's two seconds count */
    connect_publisher(&p);
    warm_up(&p);
    ck_assert_int_eq(send_one(&p, "slow", 30000, NULL), ACE_OK);
    end(&p);
}
END_TEST

typedef struct noted {
    pthread_t publisher;
    atomic_int there; /* lines that were written on it */
} noted;

static void note_line(ace_log_level level, const char *line, void *user)
{
    (void)level;
    noted *lines = user;
    if (strstr(line, "publishing") != NULL && pthread_equal(pthread_self(), lines->publisher)) {
        atomic_fetch_add(&lines->there, 1);
    }
}

static void script_lost(peer_side *side, int index, void *user)
{
    (void)user;
    start(side);
    if (index == 0) {
        confirm(side, 1, WARM);
        expect_publish(side, APPLICATION, "lost");
        peer_hang_up(side);
        return;
    }
    expect_publish(side, APPLICATION, "next");
    peer_ack(side, APPLICATION, 1, false);
    peer_wait_stop(side);
}

/* Whether the turn was lent: on a busy machine the loop's thread may have come back for it. */
static bool lose_one(void)
{
    publishing p;
    noted lines = {.publisher = pthread_self()};
    begin(&p, script_lost, NULL);
    p.f.settings.log = (ace_log){note_line, &lines, ACE_LOG_DEBUG};
    connect_publisher(&p);
    atomic_store(&lines.there, 0);
    warm_up(&p);
    ck_assert_int_eq(send_one(&p, "lost", 30000, NULL), ACE_UNKNOWN_OUTCOME);
    ck_assert_int_eq(send_one(&p, "next", 30000, NULL), ACE_OK);
    end(&p);
    return atomic_load(&lines.there) > 0;
}

START_TEST(a_connection_lost_under_a_publish_is_unknown_and_the_next_one_waits_for_its_return)
{
    bool lent = false;
    for (int i = 0; i < 50 && !lent; i++) {
        lent = lose_one();
    }
    ck_assert(lent);
}
END_TEST

static void script_blocked_first(peer_side *side, int index, void *user)
{
    (void)index;
    atomic_bool *over = user;
    start(side);
    confirm(side, 1, WARM);
    amqp_connection_blocked_t blocked = {.reason = peer_text("low on disk")};
    peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    while (!atomic_load(over)) {
        peer_expect_silence(side, 20);
    }
    amqp_connection_unblocked_t unblocked = {0};
    peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    expect_publish(side, APPLICATION, "second");
    peer_ack(side, APPLICATION, WARM + 1, false);
    peer_wait_stop(side);
}

/* Until the loop's thread is back and has read it. */
static void await_blocked(const publishing *p)
{
    ace_link_description description = {0};
    for (int i = 0; i < 5000 && !description.blocked; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        ace_link_describe(p->f.link, &description);
        ace_error_free(description.error);
    }
    ck_assert(description.blocked);
}

START_TEST(a_broker_that_blocked_between_two_publishes_holds_up_the_next_one)
{
    publishing p;
    ace_error *error = NULL;
    atomic_bool over;
    atomic_init(&over, false);
    begin(&p, script_blocked_first, &over);
    connect_publisher(&p);
    warm_up(&p);
    await_blocked(&p);
    for (int i = 0; i < WARM; i++) { /* the turns are lent again */
        ck_assert_int_eq(send_one(&p, "first", 10, &error), ACE_REFUSED);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "blocked: low on disk"));
        ace_error_free(error);
        error = NULL;
    }
    atomic_store(&over, true);
    ck_assert_int_eq(send_one(&p, "second", 30000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_blocked_under_it(peer_side *side, int index, void *user)
{
    (void)index;
    (void)user;
    start(side);
    confirm(side, 1, WARM);
    expect_publish(side, APPLICATION, "first");
    amqp_connection_blocked_t blocked = {.reason = peer_text("low on memory")};
    peer_send(side, 0, AMQP_CONNECTION_BLOCKED_METHOD, &blocked);
    peer_expect_silence(side, 50);
    peer_ack(side, APPLICATION, WARM + 1, false);
    peer_expect_silence(side, 50);
    amqp_connection_unblocked_t unblocked = {0};
    peer_send(side, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, &unblocked);
    expect_publish(side, APPLICATION, "second");
    peer_ack(side, APPLICATION, WARM + 2, false);
    peer_wait_stop(side);
}

START_TEST(a_broker_that_blocks_under_a_publish_confirms_it_and_holds_up_the_next_one)
{
    publishing p;
    begin(&p, script_blocked_under_it, NULL);
    connect_publisher(&p);
    warm_up(&p);
    ck_assert_int_eq(send_one(&p, "first", 30000, NULL), ACE_OK);
    ck_assert_int_eq(send_one(&p, "second", 30000, NULL), ACE_OK);
    end(&p);
}
END_TEST

static void script_silent(peer_side *side, int index, void *user)
{
    (void)index;
    atomic_bool *over = user;
    start(side);
    confirm(side, 1, WARM);
    expect_publish(side, APPLICATION, "late");
    while (!atomic_load(over)) {
        peer_delay(side, 5);
    }
    peer_ack(side, APPLICATION, WARM + 1, false);
    expect_publish(side, APPLICATION, "next");
    peer_ack(side, APPLICATION, WARM + 2, false);
    peer_wait_stop(side);
}

START_TEST(a_publish_whose_time_is_over_has_an_unknown_outcome_and_the_next_one_goes_on)
{
    publishing p;
    ace_error *error = NULL;
    atomic_bool over;
    atomic_init(&over, false);
    begin(&p, script_silent, &over);
    connect_publisher(&p);
    warm_up(&p);
    ck_assert_int_eq(send_one(&p, "late", 300, &error), ACE_UNKNOWN_OUTCOME);
    ace_error_free(error);
    atomic_store(&over, true);
    ck_assert_int_eq(send_one(&p, "next", 30000, NULL), ACE_OK);
    end(&p);
}
END_TEST

/* --- a fork beside it ------------------------------------------------------------------------ */

typedef struct forked {
    atomic_bool sent;
    atomic_bool answered;
    ace_connection *connection;
    ace_thread thread;
    ace_code code;
} forked;

static void script_waits_for_fork(peer_side *side, int index, void *user)
{
    forked *mine = user;
    if (index != 0) { /* the one that consumes */
        peer_handshake(side, NULL);
        peer_wait_stop(side);
        return;
    }
    start(side);
    confirm(side, 1, WARM);
    expect_publish(side, APPLICATION, "warm");
    atomic_store(&mine->sent, true);
    while (!atomic_load(&mine->answered)) {
        peer_expect_silence(side, 10);
    }
    peer_ack(side, APPLICATION, WARM + 1, false);
    peer_wait_stop(side);
}

static void await_flag(atomic_bool *flag)
{
    for (int i = 0; i < 5000 && !atomic_load(flag); i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    ck_assert(atomic_load(flag));
}

static ace_code send_on(ace_connection *connection)
{
    ace_publish publish = {0};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = peer_text("id")};
    ck_assert_int_eq(ace_publish_encode(&publish, "", "warm", true, &properties,
                                        ace_bytes_of("body"),
                                        ace_link_frame_max(connection->publishing), 1000, NULL),
                     ACE_OK);
    publish.deadline = ace_publisher_deadline(connection->publisher, 30000);
    ace_code code =
        ace_publisher_send(connection->publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, NULL);
    ace_publish_clear(&publish);
    return code;
}

static void send_warm_and_one(void *user)
{
    forked *mine = user;
    for (int i = 0; i < WARM + 1; i++) {
        mine->code = send_on(mine->connection);
        if (mine->code != ACE_OK) {
            return;
        }
    }
}

START_TEST(a_child_of_fork_lets_go_while_a_thread_of_the_parent_has_the_turn)
{
    forked mine = {.code = ACE_OK};
    int status = 0;
    scripted_peer *peer = peer_start(script_waits_for_fork, &mine);
    ck_assert_int_eq(ace_connection_open(peer_url(peer), NULL, NULL, &mine.connection, NULL),
                     ACE_OK);
    ck_assert_int_eq(ace_thread_start(&mine.thread, "send", send_warm_and_one, &mine, NULL),
                     ACE_OK);
    await_flag(&mine.sent);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ace_code code = ace_connection_close(mine.connection, 0, NULL);
        ace_connection_release(mine.connection);
        _exit(code == ACE_FORKED ? 0 : 2);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&mine.answered, true);
    ace_thread_join(&mine.thread);
    ck_assert_int_eq(mine.code, ACE_OK);
    (void)ace_connection_close(mine.connection, 0, NULL);
    ace_connection_release(mine.connection);
    free(peer_stop(peer));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher_turns");
    TCase *tcase = tcase_create("publisher_turns");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, heartbeats_leave_while_a_publish_waits_for_its_confirm);
    tcase_add_test(
        tcase, a_connection_lost_under_a_publish_is_unknown_and_the_next_one_waits_for_its_return);
    tcase_add_test(tcase, a_broker_that_blocked_between_two_publishes_holds_up_the_next_one);
    tcase_add_test(tcase,
                   a_broker_that_blocks_under_a_publish_confirms_it_and_holds_up_the_next_one);
    tcase_add_test(tcase,
                   a_publish_whose_time_is_over_has_an_unknown_outcome_and_the_next_one_goes_on);
    tcase_add_test(tcase, a_child_of_fork_lets_go_while_a_thread_of_the_parent_has_the_turn);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
