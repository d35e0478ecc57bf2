#include "client.h"

#include <stdatomic.h>
#include <stdbool.h>

/* What a callback of publishing tried; it runs on the thread that carries the confirms. */
typedef struct attempt {
    acemq_connection *mq;
    acemq_consumer *consumer;
    acemq_publisher *publisher;
    acemq_message *message;
    acemq_receipt *receipt;
    acemq_status published;
    acemq_status pulled;
    acemq_status looked; /* without waiting */
    acemq_status drained;
    acemq_status event;
    acemq_status closed;
    acemq_status opened;
    acemq_status begun;
    acemq_status waited;
    atomic_bool done;
} attempt;

static void try_to_wait(acemq_status status, const acemq_error *error, void *user)
{
    attempt *a = user;
    acemq_delivery *delivery = NULL;
    acemq_event *event = NULL;
    acemq_consumer *another = NULL;
    int finished = 0;
    (void)status;
    (void)error;
    a->published = acemq_publisher_send(a->publisher, "callbacks", a->message, ACEMQ_FOREVER, NULL);
    a->pulled = acemq_consumer_next(a->consumer, ACEMQ_FOREVER, &delivery, NULL);
    a->looked = acemq_consumer_next(a->consumer, 0, &delivery, NULL);
    a->drained = acemq_consumer_drain(a->consumer, ACEMQ_FOREVER, &finished, NULL);
    a->event = acemq_connection_next_event(a->mq, ACEMQ_FOREVER, &event, NULL);
    a->closed = acemq_connection_close(a->mq, ACEMQ_FOREVER, NULL);
    a->opened = acemq_consumer_open(a->mq, "callbacks", NULL, &another, NULL);
    a->begun =
        acemq_publisher_begin(a->publisher, "elsewhere", a->message, 5000, &a->receipt, NULL);
    a->waited = acemq_receipt_wait(a->receipt, ACEMQ_FOREVER, NULL);
    acemq_delivery_free(delivery);
    atomic_store(&a->done, true);
}

START_TEST(nothing_in_a_callback_of_publishing_waits_for_what_only_its_thread_can_bring)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.events = UINT64_C(1) << ACEMQ_EVENT_LOG;
    attempt a = {.mq = connect_with("memory://callbacks", &options)};
    declare_queue(a.mq, "callbacks", ACEMQ_QUEUE_CLASSIC, 0);
    declare_queue(a.mq, "elsewhere", ACEMQ_QUEUE_CLASSIC, 0);
    MUST(acemq_consumer_open(a.mq, "callbacks", NULL, &a.consumer, &error));
    MUST(acemq_publisher_new(a.mq, NULL, &a.publisher, &error));
    a.message = acemq_message_text("x");
    MUST(acemq_publisher_send_async(a.publisher, "elsewhere", a.message, 5000, try_to_wait, &a,
                                    &error));
    for (int i = 0; i < 1000 && !atomic_load(&a.done); i++) {
        sleep_ms(5);
    }
    ck_assert(atomic_load(&a.done));
    ck_assert_int_eq(a.published, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.pulled, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.looked, ACEMQ_E_TIMEOUT);
    ck_assert_int_eq(a.drained, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.event, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.closed, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.opened, ACEMQ_E_FROM_HANDLER);
    ck_assert_int_eq(a.begun, ACEMQ_OK);
    ck_assert_int_eq(a.waited, ACEMQ_E_FROM_HANDLER);
    /* All of it is as it was. */
    MUST(acemq_receipt_wait(a.receipt, 5000, &error));
    acemq_receipt_free(a.receipt);
    publish_text(a.mq, "callbacks", "1", "still there");
    acemq_delivery *delivery = NULL;
    MUST(acemq_consumer_next(a.consumer, 5000, &delivery, &error));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    acemq_message_free(a.message);
    acemq_consumer_free(a.consumer);
    acemq_publisher_free(a.publisher);
    acemq_connection_free(a.mq);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *tcase = tcase_create("callbacks");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase,
                   nothing_in_a_callback_of_publishing_waits_for_what_only_its_thread_can_bring);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
