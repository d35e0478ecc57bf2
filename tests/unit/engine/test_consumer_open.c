#include "consumer_peer.h"
#include "contract/policy_text.h"

/* --- a connection that closes while a consumer of it is being opened --- */

typedef struct closing {
    ace_connection *connection;
    atomic_bool begun;
    atomic_bool gone; /* the last reference to the connection went */
    pthread_t closer;
} closing;

static void *close_it(void *user)
{
    closing *c = user;
    atomic_store(&c->begun, true);
    (void)ace_connection_close(c->connection, 600, NULL);
    return NULL;
}

/* Opening is held up between the connection's knowing the consumer and its first step, until the
 * connection has told all its members to stop, and waits for one of them. */
static void close_meanwhile(ace_log_level level, const char *line, void *user)
{
    closing *c = user;
    (void)level;
    if (strstr(line, "is held here") != NULL && !atomic_load(&c->begun)) {
        pthread_create(&c->closer, NULL, close_it, c);
        nap(300);
    }
}

static void note_gone(void *user)
{
    atomic_store(&((closing *)user)->gone, true);
}

START_TEST(a_consumer_opened_while_its_connection_closes_is_refused_and_keeps_nothing)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder first = {.outcome = ACE_REJECTED};
    recorder second = {.outcome = ACE_ACCEPTED};
    ace_policy waits;
    ace_consumer *late = NULL;
    peer_begin(p);
    PEER_SET(hops, IGNORE_HOPS);
    closing c = {.connection = p->connection};
    p->connection->attachment = &c;
    p->connection->attachment_release = note_gone;
    ace_consumer_options options = peer_options(&first, NULL);
    ace_consumer *early = peer_consume(p, &options);
    PEER_SET(to_deliver, 1);
    AWAIT(PEER(p->hop_count) == 1); /* and no answer to it: closing waits */
    p->connection->settings.log = (ace_log){close_meanwhile, &c, ACE_LOG_WARNING};
    MUST(ace_policy_parse("fixed(2, 20s)", strlen("fixed(2, 20s)"), &waits, &error));
    options = peer_options(&second, &waits);
    options.acknowledgement_limit = 10000;
    int64_t began = now_ms();
    ck_assert_int_eq(ace_consumer_open(p->connection, &options, soon(), NULL, &late, NULL),
                     ACE_CLOSED);
    ck_assert_int_lt(now_ms() - began, 8000);
    ck_assert(atomic_load(&c.begun));
    pthread_join(c.closer, NULL);
    ck_assert_int_eq(atomic_load(&second.destroyed), 0);
    ace_consumer_release(early);
    ace_connection_release(p->connection);
    AWAIT(atomic_load(&c.gone));
    free(peer_stop(p->peer));
    ace_clock_free(p->clock);
    pthread_mutex_destroy(&p->lock);
}
END_TEST

/* --- messages that come before the answer to basic.consume --- */

START_TEST(what_is_delivered_before_consume_ok_is_handled_after_it)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED};
    peer_begin(p);
    PEER_SET(hasty, true);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    AWAIT(atomic_load(&record.calls) == 1);
    AWAIT(counted(consumer).acknowledged == 1);
    ace_consumer_release(consumer);
    peer_end(p);
    AWAIT(atomic_load(&record.destroyed) == 1); /* its thread may still be on its way out */
}
END_TEST

START_TEST(where_opening_fails_no_handler_was_called_and_no_destructor)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_ACCEPTED};
    ace_consumer *consumer = NULL;
    peer_begin(p);
    PEER_SET(hasty, true);
    PEER_SET(forgets_consume, true);
    ace_consumer_options options = peer_options(&record, NULL);
    ck_assert_int_eq(
        ace_consumer_open(p->connection, &options, ace_deadline_after(300), NULL, &consumer, NULL),
        ACE_TIMEOUT);
    ck_assert_int_eq(atomic_load(&record.calls), 0);
    AWAIT(PEER(p->settled_count) == 1);
    ck_assert_int_eq(PEER(p->settled[0].how), 'n');
    peer_end(p);
    ck_assert_int_eq(atomic_load(&record.calls), 0);
    ck_assert_int_eq(atomic_load(&record.destroyed), 0);
}
END_TEST

/* --- a broker that opens no channel any more --- */

START_TEST(declaring_again_gives_up_for_now_where_no_channel_opens)
{
    consumer_peer peer;
    consumer_peer *p = &peer;
    recorder record = {.outcome = ACE_REJECTED};
    peer_begin(p);
    ace_consumer_options options = peer_options(&record, NULL);
    ace_consumer *consumer = peer_consume(p, &options);
    PEER_SET(hops, RETURN_HOPS);
    PEER_SET(refused_name, "q.dlq");
    PEER_SET(refused_code, 403);
    PEER_SET(shuts_channels, true);
    PEER_SET(to_deliver, 1);
    AWAIT(PEER(p->channels_refused) > 0);
    settle_down();
    ck_assert_int_eq(PEER(p->channels_refused), 1);
    PEER_SET(shuts_channels, false);
    PEER_SET(refuses_channels, false);
    PEER_SET(refused_name, NULL);
    PEER_SET(hops, CONFIRM_HOPS);
    pass(p, ACE_BACK_OFF_FIRST);
    AWAIT(counted(consumer).dead_lettered == 1);
    ace_consumer_release(consumer);
    peer_end(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("consumer_open");
    TCase *tcase = tcase_create("opening");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase,
                   a_consumer_opened_while_its_connection_closes_is_refused_and_keeps_nothing);
    tcase_add_test(tcase, what_is_delivered_before_consume_ok_is_handled_after_it);
    tcase_add_test(tcase, where_opening_fails_no_handler_was_called_and_no_destructor);
    tcase_add_test(tcase, declaring_again_gives_up_for_now_where_no_channel_opens);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
