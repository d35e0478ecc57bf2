/* Publishing through the ABI: the results told apart, message by message, in every way to wait. */
#include "client.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static acemq_connection *mq;

static void begin(void)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = 1u << ACEMQ_EVENT_CONFIRM;
    mq = connect_with("memory://publishing", &options);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
}

static void end(void)
{
    acemq_connection_free(mq);
}

static acemq_publisher *publisher_to(const char *exchange, const char *routing_key)
{
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.exchange = exchange;
    options.routing_key = routing_key;
    MUST(acemq_publisher_new(mq, &options, &publisher, &error));
    return publisher;
}

static void declare_exchange_with_gaps(void)
{
    acemq_plan *plan = NULL;
    acemq_topology *topology = acemq_topology_new();
    acemq_topology_exchange(topology, "gaps", "topic");
    acemq_topology_bind(topology, "gaps", "q", "there");
    MUST(acemq_topology_apply(mq, topology, 5000, &plan, &error));
    acemq_plan_free(plan);
    acemq_topology_free(topology);
}

START_TEST(of_200_messages_exactly_every_seventh_is_unroutable)
{
    acemq_receipt *receipts[200];
    declare_exchange_with_gaps();
    acemq_publisher *publisher = publisher_to("gaps", NULL);
    acemq_message *message = acemq_message_text("x");
    for (int i = 0; i < 200; i++) {
        MUST(acemq_publisher_begin(publisher, i % 7 == 6 ? "missing" : "there", message, 5000,
                                   &receipts[i], &error));
    }
    for (int i = 0; i < 200; i++) {
        acemq_error *error = NULL;
        acemq_status status = acemq_receipt_wait(receipts[i], 5000, &error);
        ck_assert_int_eq(status, i % 7 == 6 ? ACEMQ_E_UNROUTABLE : ACEMQ_OK);
        ck_assert_int_eq(acemq_error_reply_code(error), i % 7 == 6 ? 312 : 0);
        acemq_error_free(error);
        acemq_receipt_free(receipts[i]);
    }
    ck_assert_uint_eq(count_ready(mq, "q"), 172);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

/* One key a batch: every seventh message is one that cannot be sent at all, and one batch has no
 * queue behind its key. */
START_TEST(a_batch_has_one_result_a_message_in_its_order)
{
    enum { COUNT = 200 };
    acemq_message *messages[COUNT];
    acemq_status statuses[COUNT];
    acemq_error *errors[COUNT];
    acemq_error *error = NULL;
    acemq_publisher *publisher = publisher_to(NULL, "q");
    for (int i = 0; i < COUNT; i++) {
        messages[i] = acemq_message_new(&i, sizeof i);
        if (i % 7 == 6) {
            acemq_message_set_header(messages[i], "x-acemq-id", "mine");
        }
    }
    acemq_status status =
        acemq_publisher_send_batch(publisher, NULL, (const acemq_message *const *)messages, COUNT,
                                   5000, statuses, errors, &error);
    ck_assert_int_eq(status, ACEMQ_E_RESERVED_HEADER);
    ck_assert_ptr_nonnull(strstr(acemq_error_message(error), "x-acemq-id"));
    acemq_error_free(error);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(statuses[i], i % 7 == 6 ? ACEMQ_E_RESERVED_HEADER : ACEMQ_OK);
        ck_assert_int_eq(acemq_error_code(errors[i]), statuses[i]);
        acemq_error_free(errors[i]);
    }
    ck_assert_uint_eq(count_ready(mq, "q"), 172);
    status =
        acemq_publisher_send_batch(publisher, "nowhere", (const acemq_message *const *)messages, 6,
                                   5000, statuses, NULL, NULL);
    ck_assert_int_eq(status, ACEMQ_E_UNROUTABLE);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(statuses[i], ACEMQ_E_UNROUTABLE);
    }
    for (int i = 0; i < COUNT; i++) {
        acemq_message_free(messages[i]);
    }
    acemq_publisher_free(publisher);
}
END_TEST

START_TEST(a_batch_arrives_in_its_order_past_the_window)
{
    enum { COUNT = 3000 };
    acemq_message **messages = calloc(COUNT, sizeof *messages);
    acemq_publisher *publisher = publisher_to(NULL, "q");
    for (int i = 0; i < COUNT; i++) {
        messages[i] = acemq_message_new(&i, sizeof i);
    }
    MUST(acemq_publisher_send_batch(publisher, NULL, (const acemq_message *const *)messages, COUNT,
                                    20000, NULL, NULL, &error));
    acemq_consumer *consumer = NULL;
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    for (int i = 0; i < COUNT; i++) {
        acemq_delivery *delivery = NULL;
        int number;
        MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
        ck_assert_uint_eq(acemq_delivery_body(delivery).length, sizeof number);
        memcpy(&number, acemq_delivery_body(delivery).data, sizeof number);
        ck_assert_int_eq(number, i);
        MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
        acemq_delivery_free(delivery);
        acemq_message_free(messages[i]);
    }
    acemq_consumer_free(consumer);
    acemq_publisher_free(publisher);
    free(messages);
}
END_TEST

START_TEST(of_two_messages_with_the_same_id_the_right_one_fails)
{
    acemq_receipt *routable = NULL;
    acemq_receipt *lost = NULL;
    acemq_publisher *publisher = publisher_to(NULL, NULL);
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_id(message, "the same");
    for (int lost_first = 0; lost_first < 2; lost_first++) {
        MUST(acemq_publisher_begin(publisher, lost_first ? "nowhere" : "q", message, 5000,
                                   lost_first ? &lost : &routable, &error));
        MUST(acemq_publisher_begin(publisher, lost_first ? "q" : "nowhere", message, 5000,
                                   lost_first ? &routable : &lost, &error));
        MUST(acemq_receipt_wait(routable, 5000, &error));
        MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_receipt_wait(lost, 5000, &error));
        acemq_receipt_free(routable);
        acemq_receipt_free(lost);
    }
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

/* --- from many threads --- */

typedef struct crowd {
    acemq_publisher *publisher;
    atomic_int confirmed;
} crowd;

static void *publish_many(void *user)
{
    crowd *all = user;
    acemq_message *message = acemq_message_text("x");
    for (int i = 0; i < 100; i++) {
        acemq_receipt *receipt = NULL;
        if (i % 2 == 0) {
            if (acemq_publisher_send(all->publisher, NULL, message, 20000, NULL) == ACEMQ_OK) {
                atomic_fetch_add(&all->confirmed, 1);
            }
        } else if (acemq_publisher_begin(all->publisher, NULL, message, 20000, &receipt, NULL) ==
                   ACEMQ_OK) {
            if (acemq_receipt_wait(receipt, 20000, NULL) == ACEMQ_OK) {
                atomic_fetch_add(&all->confirmed, 1);
            }
            acemq_receipt_free(receipt);
        }
    }
    acemq_message_free(message);
    return NULL;
}

START_TEST(threads_share_a_publisher_while_messages_are_pulled)
{
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    acemq_consumer *consumer = NULL;
    crowd all = {.publisher = publisher_to(NULL, "q")};
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, publish_many, &all), 0);
    }
    for (int i = 0; i < THREADS * 100; i++) {
        acemq_delivery *delivery = NULL;
        MUST(acemq_consumer_next(consumer, 20000, &delivery, &error));
        MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
        acemq_delivery_free(delivery);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(atomic_load(&all.confirmed), THREADS * 100);
    acemq_consumer_free(consumer);
    acemq_publisher_free(all.publisher);
}
END_TEST

/* --- by callback --- */

typedef struct outcome {
    atomic_int calls;
    atomic_int status;
    atomic_int reply;
    acemq_publisher *again; /* publishes once more from inside; NULL: not */
    const acemq_message *message;
} outcome;

static void note(acemq_status status, const acemq_error *error, void *user)
{
    outcome *noted = user;
    atomic_store(&noted->status, status);
    atomic_store(&noted->reply, acemq_error_reply_code(error));
    if (noted->again != NULL) {
        acemq_publisher *publisher = noted->again;
        noted->again = NULL;
        /* What waits is refused at once, what does not is fine. */
        ck_assert_int_eq(acemq_publisher_send(publisher, "q", noted->message, 1000, NULL),
                         ACEMQ_E_FROM_HANDLER);
        ck_assert_int_eq(acemq_queue_count(mq, "q", 1000, NULL, NULL, NULL), ACEMQ_E_FROM_HANDLER);
        ck_assert_int_eq(
            acemq_publisher_send_async(publisher, "q", noted->message, 1000, note, noted, NULL),
            ACEMQ_OK);
    }
    atomic_fetch_add(&noted->calls, 1);
}

static void await_calls(outcome *noted, int calls)
{
    for (int i = 0; i < 1000 && atomic_load(&noted->calls) < calls; i++) {
        sleep_ms(5);
    }
    ck_assert_int_eq(atomic_load(&noted->calls), calls);
}

START_TEST(a_callback_is_called_once_with_the_result)
{
    acemq_publisher *publisher = publisher_to(NULL, NULL);
    acemq_message *message = acemq_message_text("x");
    outcome good = {.again = NULL};
    outcome bad = {.again = NULL};
    MUST(acemq_publisher_send_async(publisher, "q", message, 5000, note, &good, &error));
    MUST(acemq_publisher_send_async(publisher, "nowhere", message, 5000, note, &bad, &error));
    acemq_message_free(message); /* the publishes have what they need of it */
    await_calls(&good, 1);
    await_calls(&bad, 1);
    ck_assert_int_eq(atomic_load(&good.status), ACEMQ_OK);
    ck_assert_int_eq(atomic_load(&bad.status), ACEMQ_E_UNROUTABLE);
    ck_assert_int_eq(atomic_load(&bad.reply), 312);
    acemq_publisher_free(publisher);
}
END_TEST

START_TEST(a_callback_may_publish_but_not_wait)
{
    acemq_publisher *publisher = publisher_to(NULL, NULL);
    acemq_message *message = acemq_message_text("x");
    outcome noted = {.again = publisher, .message = message};
    MUST(acemq_publisher_send_async(publisher, "q", message, 5000, note, &noted, &error));
    await_calls(&noted, 2);
    ck_assert_uint_eq(count_ready(mq, "q"), 2);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

START_TEST(a_refused_message_never_reaches_its_callback)
{
    acemq_publisher *publisher = publisher_to(NULL, "q");
    acemq_message *message = acemq_message_text("x");
    char id[300];
    memset(id, 'i', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    acemq_message_set_id(message, id);
    outcome noted = {.again = NULL};
    MUST_FAIL(ACEMQ_E_LIMIT,
              acemq_publisher_send_async(publisher, NULL, message, 1000, note, &noted, &error));
    sleep_ms(50);
    ck_assert_int_eq(atomic_load(&noted.calls), 0);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

START_TEST(what_is_under_way_when_the_client_closes_still_ends)
{
    acemq_publisher *publisher = publisher_to(NULL, "q");
    acemq_message *message = acemq_message_text("x");
    outcome noted = {.again = NULL};
    MUST(acemq_connection_pause_publishing(mq, &error));
    for (int i = 0; i < 10; i++) {
        MUST(acemq_publisher_send_async(publisher, NULL, message, 60000, note, &noted, &error));
    }
    acemq_status status = acemq_connection_close(mq, 100, NULL);
    ck_assert(status == ACEMQ_OK || status == ACEMQ_E_TIMEOUT);
    ck_assert_int_eq(atomic_load(&noted.calls), 10); /* none of them is called later */
    ck_assert_int_eq(atomic_load(&noted.status), ACEMQ_E_CLOSED);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

/* --- by event --- */

START_TEST(a_submitted_publish_ends_in_an_event_with_its_token)
{
    acemq_publisher *publisher = publisher_to(NULL, NULL);
    acemq_message *message = acemq_message_text("x");
    int seen[20] = {0};
    for (int i = 0; i < 20; i++) {
        MUST(acemq_publisher_submit(publisher, i % 2 == 0 ? "q" : "nowhere", message, 5000, i,
                                    &error));
    }
    struct pollfd readable = {acemq_connection_event_fd(mq), POLLIN, 0};
    for (int i = 0; i < 20; i++) {
        acemq_event *event = NULL;
        ck_assert_int_eq(poll(&readable, 1, 5000), 1);
        MUST(acemq_connection_next_event(mq, 0, &event, &error));
        ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_CONFIRM);
        int64_t token = acemq_event_number(event);
        ck_assert(token >= 0 && token < 20);
        seen[token]++;
        ck_assert_int_eq(acemq_error_code(acemq_event_error(event)),
                         token % 2 == 0 ? ACEMQ_OK : ACEMQ_E_UNROUTABLE);
        acemq_event_free(event);
    }
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(seen[i], 1);
    }
    acemq_event *event = NULL;
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_connection_next_event(mq, 0, &event, &error));
    ck_assert_int_eq(poll(&readable, 1, 0), 0);
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

/* --- promises --- */

START_TEST(an_optional_message_may_get_lost)
{
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_message *message = acemq_message_text("x");
    options.optional = 1;
    MUST(acemq_publisher_new(mq, &options, &publisher, &error));
    MUST(acemq_publisher_send(publisher, "nowhere", message, 5000, &error));
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(unconfirmed_messages_arrive_and_are_not_waited_for)
{
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_message *message = acemq_message_text("x");
    const acemq_message *batch[] = {message, message, message};
    options.unconfirmed = 1;
    options.routing_key = "q";
    MUST(acemq_publisher_new(mq, &options, &publisher, &error));
    for (int i = 0; i < 100; i++) {
        MUST(acemq_publisher_send(publisher, NULL, message, 5000, &error));
    }
    MUST(acemq_publisher_send_batch(publisher, NULL, batch, 3, 5000, NULL, NULL, &error));
    /* Nobody hears of a message that is returned. */
    MUST(acemq_publisher_send(publisher, "nowhere", message, 5000, &error));
    await_ready(mq, "q", 103);
    MUST(acemq_connection_pause_publishing(mq, &error));
    MUST_FAIL(ACEMQ_E_REFUSED, acemq_publisher_send(publisher, NULL, message, 50, &error));
    MUST(acemq_connection_resume_publishing(mq, &error));
    MUST(acemq_publisher_send(publisher, NULL, message, 5000, &error));
    await_ready(mq, "q", 104);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

static void *fire_later(void *cancel)
{
    sleep_ms(100);
    acemq_cancel_fire(cancel);
    return NULL;
}

START_TEST(a_cancel_token_ends_a_publish_that_waits)
{
    acemq_cancel *cancel = NULL;
    acemq_publisher *publisher = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    acemq_message *message = acemq_message_text("x");
    pthread_t thread;
    MUST(acemq_cancel_new(&cancel, &error));
    options.cancel = cancel;
    MUST(acemq_publisher_new(mq, &options, &publisher, &error));
    MUST(acemq_connection_pause_publishing(mq, &error));
    ck_assert_int_eq(pthread_create(&thread, NULL, fire_later, cancel), 0);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_publisher_send(publisher, "q", message, 60000, &error));
    pthread_join(thread, NULL);
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_publisher_send(publisher, "q", message, 60000, &error));
    MUST(acemq_connection_resume_publishing(mq, &error));
    MUST_FAIL(ACEMQ_E_CANCELLED, acemq_publisher_send(publisher, "q", message, 60000, &error));
    acemq_cancel_reset(cancel);
    MUST(acemq_publisher_send(publisher, "q", message, 5000, &error));
    acemq_cancel_free(cancel); /* the publisher holds it */
    MUST(acemq_publisher_send(publisher, "q", message, 5000, &error));
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_receipt_says_that_it_is_still_under_way)
{
    acemq_receipt *receipt = NULL;
    acemq_publisher *publisher = publisher_to(NULL, "q");
    acemq_message *message = acemq_message_text("x");
    MUST(acemq_connection_pause_publishing(mq, &error));
    MUST(acemq_publisher_begin(publisher, NULL, message, 60000, &receipt, &error));
    MUST_FAIL(ACEMQ_E_TIMEOUT, acemq_receipt_wait(receipt, 20, &error));
    MUST(acemq_connection_resume_publishing(mq, &error));
    MUST(acemq_receipt_wait(receipt, 5000, &error));
    MUST(acemq_receipt_wait(receipt, 0, &error)); /* and again, as often as one likes */
    acemq_receipt_free(receipt);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(whether_a_publish_would_wait_is_known_before)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_receipt *receipts[2];
    acemq_message *message = acemq_message_text("x");
    options.outstanding = 2;
    options.max_queued = 100000;
    acemq_connection_free(mq);
    mq = connect_with("memory://publishing", &options);
    declare_queue(mq, "q", ACEMQ_QUEUE_CLASSIC, 0);
    acemq_publisher *publisher = publisher_to(NULL, "q");
    ck_assert_int_eq(acemq_publisher_has_room(publisher, 1000000), 1); /* alone it always goes */
    MUST(acemq_connection_pause_publishing(mq, &error));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(acemq_publisher_has_room(publisher, 1), 1);
        MUST(acemq_publisher_begin(publisher, NULL, message, 60000, &receipts[i], &error));
        ck_assert_int_eq(acemq_publisher_has_room(publisher, 1000000), 0);
    }
    ck_assert_int_eq(acemq_publisher_has_room(publisher, 1), 0);
    MUST(acemq_connection_resume_publishing(mq, &error));
    for (int i = 0; i < 2; i++) {
        MUST(acemq_receipt_wait(receipts[i], 5000, &error));
        acemq_receipt_free(receipts[i]);
    }
    MUST(acemq_connection_close(mq, 5000, &error));
    ck_assert_int_eq(acemq_publisher_has_room(publisher, 1), 1); /* it fails at once */
    ck_assert_int_eq(acemq_publisher_has_room(NULL, 1), 1);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi publishing");
    TCase *tests = tcase_create("publishing");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, of_200_messages_exactly_every_seventh_is_unroutable);
    tcase_add_test(tests, a_batch_has_one_result_a_message_in_its_order);
    tcase_add_test(tests, a_batch_arrives_in_its_order_past_the_window);
    tcase_add_test(tests, of_two_messages_with_the_same_id_the_right_one_fails);
    tcase_add_test(tests, threads_share_a_publisher_while_messages_are_pulled);
    tcase_add_test(tests, a_callback_is_called_once_with_the_result);
    tcase_add_test(tests, a_callback_may_publish_but_not_wait);
    tcase_add_test(tests, a_refused_message_never_reaches_its_callback);
    tcase_add_test(tests, what_is_under_way_when_the_client_closes_still_ends);
    tcase_add_test(tests, a_submitted_publish_ends_in_an_event_with_its_token);
    tcase_add_test(tests, an_optional_message_may_get_lost);
    tcase_add_test(tests, unconfirmed_messages_arrive_and_are_not_waited_for);
    tcase_add_test(tests, a_cancel_token_ends_a_publish_that_waits);
    tcase_add_test(tests, a_receipt_says_that_it_is_still_under_way);
    tcase_add_test(tests, whether_a_publish_would_wait_is_known_before);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
