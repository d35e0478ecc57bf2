/* Interceptors of publishing: their order, what they may change and refuse, on which thread they
 * run, and that nothing they get wrong is lost. */
#include "interceptors.h"

START_TEST(lower_order_first_ties_as_registered_and_back_in_reverse)
{
    spy late = {.name = "late"};
    spy first = {.name = "first"};
    spy second = {.name = "second"};
    acemq_publisher *publisher = NULL;
    MUST(acemq_publisher_new(mq, NULL, &publisher, &error)); /* made before they are registered */
    acemq_interceptor *all[] = {publishing(&late, 7), publishing(&first, -1),
                                publishing(&second, -1)};
    acemq_message *message = acemq_message_text("x");
    forget_calls();
    MUST(acemq_publisher_send(publisher, "q", message, 5000, &error));
    ck_assert_str_eq(calls, "first:before second:before late:before late:confirmed "
                            "second:confirmed first:confirmed");
    ck_assert_int_ne(pthread_equal(first.later_thread, pthread_self()), 0);
    take_off(all[0], &late);
    take_off(all[1], &first);
    take_off(all[2], &second);
    forget_calls();
    MUST(acemq_publisher_send(publisher, "q", message, 5000, &error));
    ck_assert_str_eq(calls, "");
    acemq_message_free(message);
    acemq_publisher_free(publisher);
}
END_TEST

START_TEST(one_that_refuses_sends_nothing_and_those_before_it_hear_of_it)
{
    spy outer = {.name = "outer"};
    spy guard = {.name = "guard", .answer = 1, .reason = "no tenant"};
    spy inner = {.name = "inner"};
    acemq_interceptor *all[] = {publishing(&outer, 1), publishing(&guard, 2),
                                publishing(&inner, 3)};
    acemq_message *message = acemq_message_text("x");
    acemq_error *error = NULL;
    forget_calls();
    ck_assert_int_eq(acemq_publish(mq, "q", message, 5000, &error), ACEMQ_E_REFUSED);
    ck_assert_str_eq(acemq_error_message(error), "nothing was sent: interceptor guard: no tenant");
    acemq_error_free(error);
    ck_assert_str_eq(calls, "outer:before guard:before outer:refused");
    ck_assert_uint_eq(count_ready(mq, "q"), 0);
    take_off(all[0], &outer);
    take_off(all[1], &guard);
    take_off(all[2], &inner);
    acemq_message_free(message);
}
END_TEST

START_TEST(what_fails_at_the_broker_is_told_too)
{
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = publishing(&self, 0);
    acemq_message *message = acemq_message_text("x");
    forget_calls();
    MUST_FAIL(ACEMQ_E_UNROUTABLE, acemq_publish(mq, "nowhere", message, 5000, &error));
    ck_assert_str_eq(calls, "a:before a:unroutable");
    take_off(interceptor, &self);
    acemq_message_free(message);
}
END_TEST

static int change_message(acemq_interception *call, acemq_message *message, void *user)
{
    (void)user;
    ck_assert_str_eq(acemq_interception_exchange(call), "");
    ck_assert_str_eq(acemq_interception_routing_key(call), "q");
    acemq_message_set_type(message, "changed.type");
    acemq_message_set_header(message, "x-tenant", "acme");
    return 0;
}

START_TEST(what_goes_out_is_as_they_leave_it_and_the_callers_message_stays)
{
    acemq_publish_interceptor hooks = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
    acemq_interceptor *interceptor = NULL;
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    hooks.before = change_message;
    MUST(acemq_intercept_publishing(mq, &hooks, &interceptor, &error));
    acemq_message *message = acemq_message_text("x");
    acemq_message_set_route(message, "first,second", 1, "r");
    MUST(acemq_publish(mq, "q", message, 5000, &error));
    ck_assert_ptr_null(acemq_message_type(message));
    ck_assert_ptr_null(acemq_message_id(message));
    ck_assert_uint_eq(acemq_table_count(acemq_message_headers(message)), 0);
    MUST(acemq_consumer_open(mq, "q", NULL, &consumer, &error));
    MUST(acemq_consumer_next(consumer, 5000, &delivery, &error));
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    ck_assert_str_eq(acemq_envelope_type(envelope), "changed.type");
    ck_assert_str_eq(acemq_envelope_route_step(envelope, 1), "second");
    ck_assert_ptr_nonnull(acemq_table_get(acemq_delivery_headers(delivery), "x-tenant"));
    MUST(acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error));
    acemq_delivery_free(delivery);
    acemq_consumer_free(consumer);
    acemq_interceptor_remove(interceptor);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_submitted_one_is_told_on_the_thread_that_takes_its_event)
{
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = publishing(&self, 0);
    acemq_publisher *publisher = NULL;
    acemq_event *event = NULL;
    MUST(acemq_publisher_new(mq, NULL, &publisher, &error));
    acemq_message *message = acemq_message_text("x");
    forget_calls();
    MUST(acemq_publisher_submit(publisher, "q", message, 5000, 9, &error));
    await_ready(mq, "q", 1);
    ck_assert_str_eq(calls, "a:before");
    MUST(acemq_connection_next_event(mq, 5000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_CONFIRM);
    ck_assert_str_eq(calls, "a:before a:confirmed");
    ck_assert_int_ne(pthread_equal(self.later_thread, pthread_self()), 0);
    acemq_event_free(event);
    take_off(interceptor, &self);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(a_receipt_tells_on_the_thread_that_waits_and_a_freed_one_all_the_same)
{
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = publishing(&self, 0);
    acemq_publisher *publisher = NULL;
    acemq_receipt *receipt = NULL;
    MUST(acemq_publisher_new(mq, NULL, &publisher, &error));
    acemq_message *message = acemq_message_text("x");
    forget_calls();
    MUST(acemq_publisher_begin(publisher, "q", message, 5000, &receipt, &error));
    MUST(acemq_receipt_wait(receipt, 5000, &error));
    ck_assert_str_eq(calls, "a:before a:confirmed");
    ck_assert_int_ne(pthread_equal(self.later_thread, pthread_self()), 0);
    MUST(acemq_receipt_wait(receipt, 5000, &error));
    ck_assert_str_eq(calls, "a:before a:confirmed");
    acemq_receipt_free(receipt);
    forget_calls();
    MUST(acemq_publisher_begin(publisher, "q", message, 5000, &receipt, &error));
    acemq_receipt_free(receipt);
    await_calls("a:before a:confirmed");
    take_off(interceptor, &self);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(each_of_a_batch_meets_them)
{
    spy self = {.name = "a"};
    acemq_interceptor *interceptor = publishing(&self, 0);
    acemq_publisher *publisher = NULL;
    acemq_message *message = acemq_message_text("x");
    const acemq_message *batch[] = {message, message};
    MUST(acemq_publisher_new(mq, NULL, &publisher, &error));
    forget_calls();
    MUST(acemq_publisher_send_batch(publisher, "q", batch, 2, 5000, NULL, NULL, &error));
    ck_assert_str_eq(calls, "a:before a:before a:confirmed a:confirmed");
    take_off(interceptor, &self);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

static int publish_again(acemq_interception *call, acemq_message *message, void *user)
{
    acemq_status *status = user;
    (void)call;
    *status = acemq_publish(mq, "q", message, 5000, NULL);
    return 0;
}

START_TEST(publishing_from_inside_one_is_refused_instead_of_going_round)
{
    acemq_publish_interceptor hooks = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
    acemq_interceptor *interceptor = NULL;
    acemq_status status = ACEMQ_OK;
    hooks.before = publish_again;
    hooks.user = &status;
    MUST(acemq_intercept_publishing(mq, &hooks, &interceptor, &error));
    publish_text(mq, "q", "one", "x");
    ck_assert_int_eq(status, ACEMQ_E_FROM_HANDLER);
    ck_assert_uint_eq(count_ready(mq, "q"), 1);
    acemq_interceptor_remove(interceptor);
}
END_TEST

START_TEST(an_error_after_the_confirm_is_logged_and_an_event)
{
    spy self = {.name = "audit", .later = 1};
    acemq_interceptor *interceptor = publishing(&self, 0);
    acemq_event *event = NULL;
    publish_text(mq, "q", "one", "x");
    MUST(acemq_connection_next_event(mq, 5000, &event, &error));
    ck_assert_int_eq(acemq_event_get_kind(event), ACEMQ_EVENT_INTERCEPTOR_FAILED);
    const char *text = "interceptor audit: its confirmed hook failed: no room in the audit";
    ck_assert_str_eq(acemq_event_text(event), text);
    ck_assert_str_eq(log_line, text);
    acemq_event_free(event);
    take_off(interceptor, &self);
}
END_TEST

START_TEST(the_client_ends_those_that_were_left)
{
    spy self = {.name = "a"};
    acemq_publish_interceptor hooks = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
    acemq_connection *other = connect_with("memory://interceptors", NULL);
    hooks.user = &self;
    hooks.destructor = count_destroyed;
    MUST(acemq_intercept_publishing(other, &hooks, NULL, &error));
    ck_assert_int_eq(self.destroyed, 0);
    acemq_connection_free(other);
    ck_assert_int_eq(self.destroyed, 1);
}
END_TEST

START_TEST(arguments_are_checked)
{
    acemq_publish_interceptor publish = ACEMQ_PUBLISH_INTERCEPTOR_INIT;
    acemq_consume_interceptor consume_hooks = ACEMQ_CONSUME_INTERCEPTOR_INIT;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_intercept_publishing(NULL, &publish, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_intercept_publishing(mq, NULL, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT,
              acemq_intercept_consuming(NULL, &consume_hooks, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_intercept_consuming(mq, NULL, NULL, &error));
    publish.name = "\xff";
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_intercept_publishing(mq, &publish, NULL, &error));
    publish.name = NULL;
    publish.size = 3;
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_intercept_publishing(mq, &publish, NULL, &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_delivery_change_type(NULL, "t", &error));
    MUST_FAIL(ACEMQ_E_INVALID_ARGUMENT, acemq_delivery_change_version(NULL, 1, &error));
    acemq_interceptor_remove(NULL);
    acemq_interception_fail(NULL, "x");
    acemq_interception_keep(NULL, NULL);
    ck_assert_ptr_null(acemq_interception_kept(NULL));
    ck_assert_str_eq(acemq_interception_exchange(NULL), "");
    ck_assert_str_eq(acemq_interception_routing_key(NULL), "");
    ck_assert_ptr_null(acemq_message_id(NULL));
    ck_assert_ptr_null(acemq_message_headers(NULL));
    ck_assert_ptr_null(acemq_message_body(NULL).data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi intercepting publishes");
    TCase *test = tcase_create("interceptors");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, lower_order_first_ties_as_registered_and_back_in_reverse);
    tcase_add_test(test, one_that_refuses_sends_nothing_and_those_before_it_hear_of_it);
    tcase_add_test(test, what_fails_at_the_broker_is_told_too);
    tcase_add_test(test, what_goes_out_is_as_they_leave_it_and_the_callers_message_stays);
    tcase_add_test(test, a_submitted_one_is_told_on_the_thread_that_takes_its_event);
    tcase_add_test(test, a_receipt_tells_on_the_thread_that_waits_and_a_freed_one_all_the_same);
    tcase_add_test(test, each_of_a_batch_meets_them);
    tcase_add_test(test, publishing_from_inside_one_is_refused_instead_of_going_round);
    tcase_add_test(test, an_error_after_the_confirm_is_logged_and_an_event);
    tcase_add_test(test, the_client_ends_those_that_were_left);
    tcase_add_test(test, arguments_are_checked);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
