/* Blocking publishes that run the connection's turns, beside whatever else it does. */
#include "engine_fixture.h"

#include "engine/connection.h"
#include "engine/session.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define SENDS 3000

static ace_connection *open_memory(void)
{
    ace_connection *connection = NULL;
    ck_assert_int_eq(ace_connection_open("memory://lending", NULL, NULL, &connection, NULL),
                     ACE_OK);
    amqp_queue_declare_t method = {.queue = peer_text("orders"), .durable = true};
    ck_assert_int_eq(ace_link_rpc(connection->consuming, AMQP_QUEUE_DECLARE_METHOD, &method, NULL,
                                  ace_deadline_after(5000), NULL, NULL),
                     ACE_OK);
    return connection;
}

static void encode(ace_connection *connection, ace_publish *publish)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                          .message_id = peer_text("id")};
    ck_assert_int_eq(ace_publish_encode(publish, "", "orders", true, &properties,
                                        ace_bytes_of("body"),
                                        ace_link_frame_max(connection->publishing), 1000, NULL),
                     ACE_OK);
    publish->deadline = ace_publisher_deadline(connection->publisher, 60000);
}

static ace_code send_one(ace_connection *connection, ace_cancel *cancel)
{
    ace_publish publish = {0};
    encode(connection, &publish);
    ace_code code =
        ace_publisher_send(connection->publisher, ACE_PUBLISH_APPLICATION, &publish, cancel, NULL);
    ace_publish_clear(&publish);
    return code;
}

static void close_now(ace_connection *connection)
{
    (void)ace_connection_close(connection, 1000, NULL);
    ace_connection_release(connection);
}

typedef struct beside {
    ace_thread thread;
    ace_connection *connection;
    pthread_t sender;
    atomic_int sent;
    atomic_int ended;
    atomic_bool over;
    ace_cancel *cancel;
    bool closed;
} beside;

static void ended(ace_publish *publish)
{
    beside *mine = publish->user;
    ck_assert_int_eq(publish->code, ACE_OK);
    ck_assert(ace_loop_is_any_current());
    ck_assert(pthread_equal(mine->sender, pthread_self()) == 0);
    ace_publish_clear(publish);
    free(publish);
    atomic_fetch_add(&mine->ended, 1);
}

static void submit_now_and_then(void *user)
{
    beside *mine = user;
    for (int i = 0; !atomic_load(&mine->over); i++) {
        ace_publish *publish = calloc(1, sizeof *publish);
        ck_assert_ptr_nonnull(publish);
        encode(mine->connection, publish);
        publish->done = ended;
        publish->user = mine;
        ck_assert_int_eq(ace_publisher_submit(mine->connection->publisher, ACE_PUBLISH_APPLICATION,
                                              publish, NULL),
                         ACE_OK);
        atomic_fetch_add(&mine->sent, 1);
        struct timespec pause = {.tv_nsec = (i % 4) * 500000};
        nanosleep(&pause, NULL);
    }
}

START_TEST(the_result_of_another_threads_publish_never_calls_back_on_a_thread_that_waits)
{
    beside mine = {.connection = open_memory(), .sender = pthread_self()};
    ck_assert_int_eq(ace_thread_start(&mine.thread, "submit", submit_now_and_then, &mine, NULL),
                     ACE_OK);
    for (int i = 0; i < SENDS; i++) {
        ck_assert_int_eq(send_one(mine.connection, NULL), ACE_OK);
    }
    atomic_store(&mine.over, true);
    ace_thread_join(&mine.thread);
    ck_assert_int_eq(
        ace_publisher_flush(mine.connection->publisher, ace_deadline_after(20000), NULL, NULL),
        ACE_OK);
    ck_assert_int_eq(atomic_load(&mine.ended), atomic_load(&mine.sent));
    close_now(mine.connection);
}
END_TEST

static void fire_often(void *user)
{
    beside *mine = user;
    while (!atomic_load(&mine->over)) {
        struct timespec pause = {.tv_nsec = 300000};
        nanosleep(&pause, NULL);
        ace_cancel_fire(mine->cancel);
        ace_cancel_reset(mine->cancel);
    }
}

START_TEST(a_publish_is_cancelled_or_confirmed_whenever_the_token_fires)
{
    beside mine = {.connection = open_memory(), .cancel = ace_cancel_new(NULL)};
    ck_assert_ptr_nonnull(mine.cancel);
    ck_assert_int_eq(ace_thread_start(&mine.thread, "fire", fire_often, &mine, NULL), ACE_OK);
    int confirmed = 0;
    for (int i = 0; i < SENDS; i++) {
        ace_code code = send_one(mine.connection, mine.cancel);
        ck_assert(code == ACE_OK || code == ACE_CANCELLED);
        confirmed += code == ACE_OK ? 1 : 0;
    }
    ck_assert_int_gt(confirmed, 0);
    atomic_store(&mine.over, true);
    ace_thread_join(&mine.thread);
    ace_cancel_release(mine.cancel);
    close_now(mine.connection);
}
END_TEST

static void send_until_closed(void *user)
{
    beside *mine = user;
    ace_code code = ACE_OK;
    while (code == ACE_OK) {
        code = send_one(mine->connection, NULL);
        atomic_fetch_add(&mine->sent, 1);
    }
    mine->closed = code == ACE_CLOSED || code == ACE_UNKNOWN_OUTCOME;
    ace_connection_release(mine->connection);
}

START_TEST(a_connection_is_closed_under_a_thread_that_publishes_one_after_the_other)
{
    for (int i = 0; i < 30; i++) {
        beside mine = {.connection = open_memory()};
        ace_connection_keep(mine.connection);
        ck_assert_int_eq(ace_thread_start(&mine.thread, "send", send_until_closed, &mine, NULL),
                         ACE_OK);
        while (atomic_load(&mine.sent) < 20 + i) {
            sched_yield();
        }
        close_now(mine.connection);
        ace_thread_join(&mine.thread);
        ck_assert(mine.closed);
    }
}
END_TEST

START_TEST(several_threads_publish_one_after_the_other)
{
    ace_connection *connection = open_memory();
    beside senders[4];
    for (int i = 0; i < 4; i++) {
        senders[i] = (beside){.connection = connection};
        ace_connection_keep(connection);
        ck_assert_int_eq(
            ace_thread_start(&senders[i].thread, "send", send_until_closed, &senders[i], NULL),
            ACE_OK);
    }
    for (int i = 0; i < 4; i++) {
        while (atomic_load(&senders[i].sent) < 500) {
            sched_yield();
        }
    }
    close_now(connection);
    for (int i = 0; i < 4; i++) {
        ace_thread_join(&senders[i].thread);
        ck_assert(senders[i].closed);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("publisher_lending");
    TCase *tcase = tcase_create("publisher_lending");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase,
                   the_result_of_another_threads_publish_never_calls_back_on_a_thread_that_waits);
    tcase_add_test(tcase, a_publish_is_cancelled_or_confirmed_whenever_the_token_fires);
    tcase_add_test(tcase, a_connection_is_closed_under_a_thread_that_publishes_one_after_the_other);
    tcase_add_test(tcase, several_threads_publish_one_after_the_other);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
