#include "engine_fixture.h"

#include "engine/connection.h"
#include "engine/session.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static ace_connection *open_memory(const char *url)
{
    ace_connection *connection = NULL;
    ace_error *error = NULL;
    ace_code code = ace_connection_open(url, NULL, NULL, &connection, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "?" : ace_error_message(error));
    return connection;
}

static void declare(ace_connection *connection, const char *queue)
{
    ace_error *error = NULL;
    amqp_queue_declare_t method = {.queue = peer_text(queue), .durable = true};
    ace_code code = ace_link_rpc(connection->consuming, AMQP_QUEUE_DECLARE_METHOD, &method, NULL,
                                 ace_deadline_after(5000), NULL, &error);
    ck_assert_msg(code == ACE_OK, "%s", error == NULL ? "?" : ace_error_message(error));
}

static uint32_t count_messages(ace_connection *connection, const char *queue)
{
    ace_reply reply = {0};
    amqp_queue_declare_t method = {.queue = peer_text(queue), .passive = true};
    ck_assert_int_eq(ace_link_rpc(connection->consuming, AMQP_QUEUE_DECLARE_METHOD, &method, &reply,
                                  ace_deadline_after(5000), NULL, NULL),
                     ACE_OK);
    return reply.message_count;
}

static void encode(ace_connection *connection, ace_publish *publish, const char *exchange,
                   const char *key)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG |
                                                    AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .delivery_mode = 2,
                                          .message_id = peer_text("the same id")};
    *publish = (ace_publish){0};
    ck_assert_int_eq(ace_publish_encode(publish, exchange, key, true, &properties,
                                        ace_bytes_of("body"),
                                        ace_link_frame_max(connection->publishing), 1000, NULL),
                     ACE_OK);
    publish->deadline = ace_publisher_deadline(connection->publisher, 10000);
}

static ace_code publish_one(ace_connection *connection, const char *exchange, const char *key,
                            ace_error **error)
{
    ace_publish publish;
    encode(connection, &publish, exchange, key);
    ace_code code =
        ace_publisher_send(connection->publisher, ACE_PUBLISH_APPLICATION, &publish, NULL, error);
    ace_publish_clear(&publish);
    return code;
}

START_TEST(a_memory_broker_takes_a_message_and_gives_it_back)
{
    ace_connection *connection = open_memory("memory://connection-test");
    ace_connection_status status;
    ace_connection_describe(connection, &status);
    ck_assert(status.open);
    ck_assert(!status.blocked);
    ck_assert_str_eq(status.publishing.place, "memory://connection-test");
    declare(connection, "orders");
    ck_assert_int_eq(publish_one(connection, "", "orders", NULL), ACE_OK);
    ck_assert_uint_eq(count_messages(connection, "orders"), 1);
    ace_session *session = NULL;
    ace_content *content = NULL;
    uint64_t opening = 0;
    ck_assert_int_eq(ace_session_new(connection->consuming, &session, NULL), ACE_OK);
    ck_assert_int_eq(ace_session_get(session, "orders", &content, &opening,
                                     ace_deadline_after(5000), NULL, NULL),
                     ACE_OK);
    ck_assert_ptr_nonnull(content);
    ck_assert(ace_bytes_equal_text(content->body, "body"));
    const amqp_basic_get_ok_t *ok = content->method.decoded;
    ck_assert_int_eq(ace_session_ack(session, opening, ok->delivery_tag, false, NULL), ACE_OK);
    ace_content_free(content);
    ace_session_free(session);
    ck_assert_uint_eq(count_messages(connection, "orders"), 0);
    ck_assert_int_eq(ace_connection_close(connection, 5000, NULL), ACE_OK);
    ck_assert_int_eq(ace_connection_close(connection, 5000, NULL), ACE_CLOSED);
    ck_assert_int_eq(publish_one(connection, "", "orders", NULL), ACE_CLOSED);
    ace_connection_release(connection);
}
END_TEST

#define MANY 200

START_TEST(on_the_memory_broker_exactly_every_seventh_is_unroutable)
{
    ace_connection *connection = open_memory("memory://sevenths");
    ace_publish publishes[MANY];
    ace_publish *list[MANY];
    declare(connection, "orders");
    for (int i = 0; i < MANY; i++) {
        encode(connection, &publishes[i], "", i % 7 == 0 ? "missing" : "orders");
        list[i] = &publishes[i];
    }
    ck_assert_int_eq(ace_publisher_send_all(connection->publisher, ACE_PUBLISH_APPLICATION, list,
                                            MANY, NULL, NULL),
                     ACE_UNROUTABLE);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(publishes[i].code, i % 7 == 0 ? ACE_UNROUTABLE : ACE_OK);
        ace_publish_clear(&publishes[i]);
    }
    ck_assert_uint_eq(count_messages(connection, "orders"), MANY - (MANY + 6) / 7);
    ck_assert_int_eq(ace_connection_close(connection, 5000, NULL), ACE_OK);
    ace_connection_release(connection);
}
END_TEST

START_TEST(a_missing_exchange_is_not_found_and_the_next_publish_works)
{
    ace_connection *connection = open_memory("memory://no-exchange");
    ace_error *error = NULL;
    declare(connection, "orders");
    for (int i = 0; i < 5; i++) {
        error = NULL;
        ck_assert_int_eq(publish_one(connection, "nowhere", "orders", &error), ACE_NOT_FOUND);
        ck_assert_int_eq(ace_error_reply(error), 404);
        ck_assert_ptr_nonnull(strstr(ace_error_message(error), "nowhere"));
        ace_error_free(error);
        ck_assert_int_eq(publish_one(connection, "", "orders", NULL), ACE_OK);
    }
    ck_assert_uint_eq(count_messages(connection, "orders"), 5);
    ace_connection_release(connection); /* closes what was left open */
}
END_TEST

START_TEST(what_is_wrong_is_told_before_or_at_the_first_connect)
{
    static const struct {
        const char *url;
        ace_code code;
        const char *says;
    } cases[] = {
        {"amqp://h/%zz", ACE_PARSE, "position"},
        {"amqp://h?heartbeat=99999", ACE_INVALID_ARGUMENT, "heartbeat"},
        {"amqp://guest:hush@127.0.0.1:9", ACE_UNREACHABLE, "127.0.0.1:9"},
        {"memory://guest:hush@refusing", ACE_LOGIN_REFUSED, "user guest"},
        {"memory://refusing/nowhere", ACE_VHOST_REFUSED, "virtual host nowhere"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ace_connection *connection = NULL;
        ace_error *error = NULL;
        ck_assert_int_eq(ace_connection_open(cases[i].url, NULL, NULL, &connection, &error),
                         cases[i].code);
        ck_assert_ptr_null(connection);
        ck_assert_msg(strstr(ace_error_message(error), cases[i].says) != NULL, "%s",
                      ace_error_message(error));
        ck_assert_ptr_null(strstr(ace_error_message(error), "hush"));
        ace_error_free(error);
    }
    ck_assert_int_eq(ace_connection_close(NULL, 0, NULL), ACE_INVALID_ARGUMENT);
    ace_connection_release(NULL);
}
END_TEST

typedef struct part {
    ace_member member;
    ace_connection *connection;
    int stopped;
    int drained;
    int closed;
    bool slow;
    bool inside;
} part;

static void stop(ace_member *member)
{
    part *mine = ACE_RECORD(member, part, member);
    mine->stopped++;
}

static bool drain(ace_member *member, int64_t deadline)
{
    part *mine = ACE_RECORD(member, part, member);
    ck_assert_int_eq(mine->stopped, 1);
    mine->drained++;
    if (mine->slow) {
        ace_waiter waiter;
        ck_assert_int_eq(ace_waiter_init(&waiter, NULL), ACE_OK);
        ck_assert_int_eq(ace_waiter_wait(&waiter, deadline, NULL), ACE_TIMEOUT);
        ace_waiter_destroy(&waiter);
    }
    return !mine->slow;
}

static void close_part(ace_member *member)
{
    part *mine = ACE_RECORD(member, part, member);
    ck_assert_int_eq(mine->drained, 1);
    mine->closed++;
    ace_connection_remove(mine->connection, member); /* from its own hook */
}

static bool is_current(ace_member *member)
{
    return ACE_RECORD(member, part, member)->inside;
}

static void join(ace_connection *connection, part *mine)
{
    *mine = (part){
        .connection = connection,
        .member = {.stop = stop, .drain = drain, .close = close_part, .is_current = is_current}};
    ck_assert_int_eq(ace_connection_add(connection, &mine->member, NULL), ACE_OK);
}

START_TEST(members_stop_drain_and_close_in_one_budget)
{
    ace_connection *connection = open_memory("memory://members");
    part quick;
    part slow;
    part left;
    ace_error *error = NULL;
    join(connection, &quick);
    join(connection, &slow);
    join(connection, &left);
    slow.slow = true;
    ace_connection_remove(connection, &left.member);
    quick.inside = true;
    ck_assert_int_eq(ace_connection_close(connection, 200, NULL), ACE_FROM_HANDLER);
    quick.inside = false;
    int64_t before = ace_clock_monotonic(ace_clock_system());
    ck_assert_int_eq(ace_connection_close(connection, 200, &error), ACE_TIMEOUT);
    int64_t took = ace_clock_monotonic(ace_clock_system()) - before;
    ck_assert_int_ge(took, 200);
    ck_assert_int_lt(took, 20000);
    ace_error_free(error);
    ck_assert_int_eq(quick.closed, 1);
    ck_assert_int_eq(slow.closed, 1);
    ck_assert_int_eq(left.stopped, 0);
    ck_assert_int_eq(ace_connection_add(connection, &left.member, NULL), ACE_CLOSED);
    ace_connection_release(connection);
}
END_TEST

static void child_of_fork(ace_connection *connection)
{
    ace_error *error = NULL;
    if (ace_connection_close(connection, 0, &error) != ACE_FORKED) {
        _exit(2);
    }
    ace_error_free(error);
    ace_connection_release(connection);
    _exit(0);
}

START_TEST(a_child_of_fork_may_only_let_go_and_the_parent_goes_on)
{
    ace_connection *connection = open_memory("memory://fork");
    int status = 0;
    declare(connection, "orders");
    ck_assert_int_eq(publish_one(connection, "", "orders", NULL), ACE_OK);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        child_of_fork(connection);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(publish_one(connection, "", "orders", NULL), ACE_OK);
    ck_assert_uint_eq(count_messages(connection, "orders"), 2);
    ck_assert_int_eq(ace_connection_close(connection, 5000, NULL), ACE_OK);
    ace_connection_release(connection);
}
END_TEST

/* The first connection in publishes, the second consumes. */
static void script_lost_twice(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    if (index == 1) {
        peer_delay(side, 50);
        peer_close_connection(side, 320, "CONNECTION_FORCED - bye");
        (void)peer_expect(side, 0, AMQP_CONNECTION_CLOSE_OK_METHOD);
        return;
    }
    peer_wait_stop(side);
}

static ace_event *await_event(ace_connection *connection, ace_event_kind kind, int state)
{
    ace_event *event = NULL;
    while (ace_events_next(connection->events, ace_deadline_after(5000), NULL, &event, NULL) ==
           ACE_OK) {
        if (event->kind == kind && event->state == state &&
            strcmp(event->source, "consuming") == 0) {
            return event;
        }
        ace_event_free(event);
    }
    ck_abort_msg("no such event came");
    return NULL;
}

START_TEST(a_loss_and_a_return_of_one_link_are_events)
{
    ace_connection *connection = NULL;
    ace_settings settings;
    scripted_peer *peer = peer_start(script_lost_twice, NULL);
    ace_settings_init(&settings);
    settings.reconnect_initial = 20;
    ck_assert_int_eq(ace_connection_open(peer_url(peer), &settings, NULL, &connection, NULL),
                     ACE_OK);
    ace_event *event = await_event(connection, ACE_EVENT_STATE, ACE_LINK_OPEN);
    ck_assert_uint_eq(event->number, 1);
    ace_event_free(event);
    event = await_event(connection, ACE_EVENT_STATE, ACE_LINK_WAITING);
    ck_assert_int_eq(ace_error_reply(event->error), 320);
    ck_assert_int_ge(event->wait, 10);
    ace_event_free(event);
    event = await_event(connection, ACE_EVENT_STATE, ACE_LINK_OPEN);
    ck_assert_uint_eq(event->number, 2);
    ace_event_free(event);
    (void)ace_connection_close(connection, 0, NULL);
    ace_connection_release(connection);
    free(peer_stop(peer));
}
END_TEST

static void script_slow_confirm(peer_side *side, int index, void *user)
{
    (void)user;
    peer_handshake(side, NULL);
    if (index == 0) {
        (void)peer_expect(side, 1, AMQP_CHANNEL_OPEN_METHOD);
        peer_open_confirm_channel(side, 2);
        amqp_channel_open_ok_t ok = {.channel_id = {0, NULL}};
        peer_send(side, 1, AMQP_CHANNEL_OPEN_OK_METHOD, &ok);
        (void)peer_expect(side, 1, AMQP_CONFIRM_SELECT_METHOD);
        amqp_confirm_select_ok_t selected = {0};
        peer_send(side, 1, AMQP_CONFIRM_SELECT_OK_METHOD, &selected);
        ace_content_free(peer_expect_content(side, 1, AMQP_BASIC_PUBLISH_METHOD));
        peer_delay(side, 150);
        peer_ack(side, 1, 1, false);
        for (uint16_t channel = 1; channel <= 2; channel++) {
            (void)peer_expect(side, channel, AMQP_CHANNEL_CLOSE_METHOD);
            amqp_channel_close_ok_t closed = {0};
            peer_send(side, channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &closed);
        }
    }
    peer_expect_goodbye(side);
}

static void keep_result(ace_publish *publish)
{
    atomic_store((atomic_int *)publish->user, (int)publish->code);
}

START_TEST(closing_waits_for_the_confirms_within_its_budget)
{
    ace_connection *connection = NULL;
    ace_publish publish;
    atomic_int result;
    atomic_init(&result, -1);
    scripted_peer *peer = peer_start(script_slow_confirm, NULL);
    ck_assert_int_eq(ace_connection_open(peer_url(peer), NULL, NULL, &connection, NULL), ACE_OK);
    encode(connection, &publish, "", "orders");
    publish.done = keep_result;
    publish.user = &result;
    ck_assert_int_eq(
        ace_publisher_submit(connection->publisher, ACE_PUBLISH_APPLICATION, &publish, NULL),
        ACE_OK);
    bool enough = _i == 0;
    ck_assert_int_eq(ace_connection_close(connection, enough ? 5000 : 30, NULL),
                     enough ? ACE_OK : ACE_TIMEOUT);
    ck_assert_int_eq(atomic_load(&result), enough ? ACE_OK : ACE_UNKNOWN_OUTCOME);
    ace_publish_clear(&publish);
    ace_connection_release(connection);
    char *failure = peer_stop(peer);
    ck_assert_msg(!enough || failure == NULL, "%s", failure == NULL ? "" : failure);
    free(failure);
}
END_TEST

static void note_release(void *user)
{
    atomic_store((atomic_bool *)user, true);
}

static void let_go(void *user)
{
    ace_connection_release(user);
}

START_TEST(the_last_reference_may_go_from_a_callback_on_a_loop)
{
    ace_connection *connection = open_memory("memory://let-go");
    atomic_bool released = false;
    connection->attachment = &released;
    connection->attachment_release = note_release;
    ck_assert(ace_loop_call(ace_link_loop(connection->publishing), let_go, connection));
    for (int i = 0; i < 1000 && !atomic_load(&released); i++) {
        struct timespec pause = {.tv_nsec = 5000000};
        nanosleep(&pause, NULL);
    }
    ck_assert(atomic_load(&released));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connection");
    TCase *memory = tcase_create("memory broker");
    tcase_set_timeout(memory, 60);
    tcase_add_test(memory, a_memory_broker_takes_a_message_and_gives_it_back);
    tcase_add_test(memory, on_the_memory_broker_exactly_every_seventh_is_unroutable);
    tcase_add_test(memory, a_missing_exchange_is_not_found_and_the_next_publish_works);
    tcase_add_test(memory, what_is_wrong_is_told_before_or_at_the_first_connect);
    tcase_add_test(memory, members_stop_drain_and_close_in_one_budget);
    tcase_add_test(memory, the_last_reference_may_go_from_a_callback_on_a_loop);
    tcase_add_test(memory, a_child_of_fork_may_only_let_go_and_the_parent_goes_on);
    suite_add_tcase(suite, memory);
    TCase *scripted = tcase_create("scripted peer");
    tcase_set_timeout(scripted, 60);
    tcase_add_test(scripted, a_loss_and_a_return_of_one_link_are_events);
    tcase_add_loop_test(scripted, closing_waits_for_the_confirms_within_its_budget, 0, 2);
    suite_add_tcase(suite, scripted);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
