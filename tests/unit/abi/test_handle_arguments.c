/* The same for what hangs on a connection: NULL handles, NULL parameters, negative timeouts. */
#include <acemq/acemq.h>
#include <check.h>
#include <string.h>

static acemq_connection *mq;
static acemq_error *error;

static void connect_to_memory(void)
{
    ck_assert_int_eq(acemq_connect("memory://handle-arguments", NULL, &mq, &error), ACEMQ_OK);
}

static void disconnect(void)
{
    acemq_connection_free(mq);
    mq = NULL;
}

static void judge(acemq_status status, const char *parameter, int line)
{
    ck_assert_msg(status == ACEMQ_E_INVALID_ARGUMENT, "line %d: status %s: %s", line,
                  acemq_status_name(status), acemq_error_message(error));
    ck_assert_msg(error != NULL, "line %d: no error object", line);
    ck_assert_msg(strstr(acemq_error_message(error), parameter) != NULL,
                  "line %d: \"%s\" does not name %s", line, acemq_error_message(error), parameter);
    acemq_error_free(error);
    error = NULL;
}

#define REFUSES(parameter, call) judge((call), (parameter), __LINE__)

START_TEST(connections)
{
    acemq_connection *other = NULL;
    acemq_event *event = NULL;
    REFUSES("url", acemq_connect(NULL, NULL, &other, &error));
    REFUSES("connection", acemq_connect("memory://x", NULL, NULL, &error));
    REFUSES("connection", acemq_connection_close(NULL, 0, &error));
    REFUSES("timeout", acemq_connection_close(mq, -1, &error));
    REFUSES("connection", acemq_connection_pause_publishing(NULL, &error));
    REFUSES("connection", acemq_connection_resume_publishing(NULL, &error));
    REFUSES("connection", acemq_connection_next_event(NULL, 0, &event, &error));
    REFUSES("timeout", acemq_connection_next_event(mq, -1, &event, &error));
    REFUSES("event", acemq_connection_next_event(mq, 0, NULL, &error));
    REFUSES("connection", acemq_connection_give_credentials(NULL, "n", "p", &error));
    REFUSES("name", acemq_connection_give_credentials(mq, NULL, "p", &error));
    REFUSES("password", acemq_connection_give_credentials(mq, "n", NULL, &error));
    ck_assert_int_eq(acemq_connection_event_fd(NULL), -1);
    ck_assert_int_eq(acemq_connection_get_state(NULL, &error), ACEMQ_CONNECTION_CLOSED);
    ck_assert_int_eq(acemq_error_code(error), ACEMQ_E_INVALID_ARGUMENT);
    acemq_error_free(error);
    error = NULL;
    ck_assert_int_eq(acemq_connection_get_state(NULL, NULL), ACEMQ_CONNECTION_CLOSED);
    ck_assert_int_eq(acemq_connection_get_state(mq, &error), ACEMQ_CONNECTION_OPEN);
    ck_assert_ptr_null(error);
    acemq_connection_free(NULL);
    ck_assert_int_eq(acemq_event_get_kind(NULL), 0);
    ck_assert_int_eq(acemq_event_number(NULL), 0);
    ck_assert_str_eq(acemq_event_text(NULL), "");
    ck_assert_ptr_null(acemq_event_error(NULL));
    ck_assert_int_eq(acemq_event_next_try(NULL), -1);
    acemq_event_free(NULL);
}
END_TEST

static void ended(acemq_status status, const acemq_error *why, void *user)
{
    (void)status;
    (void)why;
    (void)user;
}

START_TEST(publishers)
{
    acemq_publisher *publisher = NULL;
    acemq_receipt *receipt = NULL;
    acemq_message *message = acemq_message_text("x");
    const acemq_message *batch[] = {message, NULL};
    acemq_status statuses[2];
    REFUSES("connection", acemq_publish(NULL, "q", message, 0, &error));
    REFUSES("queue", acemq_publish(mq, NULL, message, 0, &error));
    REFUSES("queue", acemq_publish(mq, "", message, 0, &error));
    REFUSES("message", acemq_publish(mq, "q", NULL, 0, &error));
    REFUSES("timeout", acemq_publish(mq, "q", message, -1, &error));
    REFUSES("connection", acemq_publish_to(NULL, "", "q", message, 0, &error));
    REFUSES("exchange", acemq_publish_to(mq, NULL, "q", message, 0, &error));
    REFUSES("routing_key", acemq_publish_to(mq, "", NULL, message, 0, &error));
    REFUSES("message", acemq_publish_to(mq, "", "q", NULL, 0, &error));
    REFUSES("connection", acemq_publisher_new(NULL, NULL, &publisher, &error));
    REFUSES("publisher", acemq_publisher_new(mq, NULL, NULL, &error));
    ck_assert_int_eq(acemq_publisher_new(mq, NULL, &publisher, &error), ACEMQ_OK);
    REFUSES("publisher", acemq_publisher_send(NULL, "q", message, 0, &error));
    REFUSES("routing_key", acemq_publisher_send(publisher, NULL, message, 0, &error));
    REFUSES("message", acemq_publisher_send(publisher, "q", NULL, 0, &error));
    REFUSES("timeout", acemq_publisher_send(publisher, "q", message, -1, &error));
    REFUSES("publisher", acemq_publisher_send_async(NULL, "q", message, 0, ended, NULL, &error));
    REFUSES("message", acemq_publisher_send_async(publisher, "q", NULL, 0, ended, NULL, &error));
    REFUSES("callback", acemq_publisher_send_async(publisher, "q", message, 0, NULL, NULL, &error));
    REFUSES("publisher", acemq_publisher_submit(NULL, "q", message, 0, 1, &error));
    REFUSES("message", acemq_publisher_submit(publisher, "q", NULL, 0, 1, &error));
    ck_assert_int_eq(acemq_publisher_submit(publisher, "q", message, 0, 1, NULL), ACEMQ_E_STATE);
    REFUSES("publisher", acemq_publisher_begin(NULL, "q", message, 0, &receipt, &error));
    REFUSES("message", acemq_publisher_begin(publisher, "q", NULL, 0, &receipt, &error));
    REFUSES("receipt", acemq_publisher_begin(publisher, "q", message, 0, NULL, &error));
    REFUSES("receipt", acemq_receipt_wait(NULL, 0, &error));
    REFUSES("publisher", acemq_publisher_send_batch(NULL, "q", batch, 1, 0, NULL, NULL, &error));
    REFUSES("messages", acemq_publisher_send_batch(publisher, "q", NULL, 1, 0, NULL, NULL, &error));
    REFUSES("count", acemq_publisher_send_batch(publisher, "q", batch, 0, 0, NULL, NULL, &error));
    REFUSES("count",
            acemq_publisher_send_batch(publisher, "q", batch, 1000001, 0, NULL, NULL, &error));
    ck_assert_int_eq(
        acemq_publisher_send_batch(publisher, "q", batch, 2, 5000, statuses, NULL, NULL),
        ACEMQ_E_UNROUTABLE);
    ck_assert_int_eq(statuses[1], ACEMQ_E_INVALID_ARGUMENT);
    acemq_receipt_free(NULL);
    acemq_publisher_free(NULL);
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

START_TEST(topologies)
{
    acemq_topology *topology = NULL;
    acemq_plan *plan = NULL;
    REFUSES("json", acemq_topology_parse(NULL, 0, &topology, &error));
    REFUSES("topology", acemq_topology_parse("{}", 2, NULL, &error));
    acemq_topology_exchange(NULL, "e", "direct");
    acemq_topology_queue(NULL, "q", ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    acemq_topology_bind(NULL, "e", "q", "k");
    acemq_topology_partitioned(NULL, "p", 2);
    acemq_topology_consumer(NULL, "q", NULL);
    acemq_topology_free(NULL);
    REFUSES("topology", acemq_topology_validate(NULL, &error));
    REFUSES("topology", acemq_topology_plan(NULL, &plan, &error));
    topology = acemq_topology_new();
    REFUSES("plan", acemq_topology_plan(topology, NULL, &error));
    REFUSES("connection", acemq_topology_dry_run(NULL, topology, 0, &plan, &error));
    REFUSES("topology", acemq_topology_dry_run(mq, NULL, 0, &plan, &error));
    REFUSES("timeout", acemq_topology_dry_run(mq, topology, -1, &plan, &error));
    REFUSES("plan", acemq_topology_dry_run(mq, topology, 0, NULL, &error));
    REFUSES("connection", acemq_topology_apply(NULL, topology, 0, &plan, &error));
    REFUSES("topology", acemq_topology_apply(mq, NULL, 0, &plan, &error));
    REFUSES("plan", acemq_topology_apply(mq, topology, 0, NULL, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_exchange(topology, NULL, "direct");
    REFUSES("name", acemq_topology_validate(topology, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_queue(topology, NULL, ACEMQ_QUEUE_QUORUM, 0, NULL, NULL);
    REFUSES("name", acemq_topology_plan(topology, &plan, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_bind(topology, "e", "q", NULL);
    REFUSES("routing_key", acemq_topology_plan(topology, &plan, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_partitioned(topology, "p", 0);
    REFUSES("partitions", acemq_topology_plan(topology, &plan, &error));
    acemq_topology_free(topology);
    topology = acemq_topology_new();
    acemq_topology_consumer(topology, NULL, NULL);
    REFUSES("queue", acemq_topology_plan(topology, &plan, &error));
    acemq_topology_free(topology);
    ck_assert_uint_eq(acemq_plan_count(NULL), 0);
    ck_assert_int_eq(acemq_plan_has_drift(NULL), 0);
    ck_assert_int_eq(acemq_plan_get_kind(NULL, 0), 0);
    ck_assert_int_eq(acemq_plan_get_state(NULL, 0), ACEMQ_PLAN_UNKNOWN);
    ck_assert_ptr_null(acemq_plan_name(NULL, 0));
    ck_assert_ptr_null(acemq_plan_type(NULL, 0));
    ck_assert_ptr_null(acemq_plan_exchange(NULL, 0));
    ck_assert_ptr_null(acemq_plan_routing_key(NULL, 0));
    ck_assert_ptr_null(acemq_plan_arguments(NULL, 0));
    ck_assert_ptr_null(acemq_plan_differing(NULL, 0));
    ck_assert_ptr_null(acemq_plan_ours(NULL, 0));
    ck_assert_ptr_null(acemq_plan_theirs(NULL, 0));
    acemq_plan_free(NULL);
}
END_TEST

static acemq_outcome accept_all(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return ACEMQ_ACCEPTED;
}

START_TEST(consumers_and_deliveries)
{
    acemq_consumer *consumer = NULL;
    acemq_delivery *delivery = NULL;
    acemq_consumer_counters counters = {.size = sizeof counters};
    acemq_bytes map;
    int64_t number;
    REFUSES("connection",
            acemq_consume(NULL, "q", NULL, accept_all, NULL, NULL, &consumer, &error));
    REFUSES("queue", acemq_consume(mq, NULL, NULL, accept_all, NULL, NULL, &consumer, &error));
    REFUSES("handler", acemq_consume(mq, "q", NULL, NULL, NULL, NULL, &consumer, &error));
    REFUSES("consumer", acemq_consume(mq, "q", NULL, accept_all, NULL, NULL, NULL, &error));
    REFUSES("connection", acemq_consumer_open(NULL, "q", NULL, &consumer, &error));
    REFUSES("queue", acemq_consumer_open(mq, NULL, NULL, &consumer, &error));
    REFUSES("consumer", acemq_consumer_open(mq, "q", NULL, NULL, &error));
    REFUSES("consumer", acemq_consumer_next(NULL, 0, &delivery, &error));
    REFUSES("consumer", acemq_consumer_drain(NULL, 0, NULL, &error));
    REFUSES("consumer", acemq_consumer_close(NULL, &error));
    REFUSES("consumer", acemq_consumer_get_counters(NULL, &counters, &error));
    acemq_consumer_wake(NULL);
    ck_assert_int_eq(acemq_consumer_fd(NULL), -1);
    ck_assert_int_eq(acemq_consumer_subscribed(NULL), 0);
    acemq_consumer_free(NULL);
    ck_assert_ptr_null(acemq_delivery_envelope(NULL));
    ck_assert_uint_eq(acemq_delivery_body(NULL).length, 0);
    ck_assert_ptr_null(acemq_delivery_headers(NULL));
    ck_assert_ptr_null(acemq_delivery_all_headers(NULL));
    ck_assert_str_eq(acemq_delivery_queue(NULL), "");
    ck_assert_str_eq(acemq_delivery_exchange(NULL), "");
    ck_assert_str_eq(acemq_delivery_routing_key(NULL), "");
    ck_assert_int_eq(acemq_delivery_redelivered(NULL), 0);
    ck_assert_ptr_null(acemq_delivery_property(NULL, ACEMQ_PROPERTY_APP_ID));
    ck_assert_int_eq(acemq_delivery_property_number(NULL, ACEMQ_PROPERTY_PRIORITY, &number), 0);
    REFUSES("delivery", acemq_delivery_pack(NULL, &map, &error));
    acemq_delivery_set_reason(NULL, "r");
    REFUSES("delivery", acemq_delivery_settle(NULL, ACEMQ_ACCEPTED, NULL, &error));
    REFUSES("delivery", acemq_delivery_put_back(NULL, &error));
    acemq_delivery_free(NULL);
}
END_TEST

START_TEST(queues_and_replays)
{
    uint64_t count;
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    acemq_replay_result result = {.size = sizeof result};
    REFUSES("connection", acemq_queue_count(NULL, "q", 0, &count, &count, &error));
    REFUSES("queue", acemq_queue_count(mq, NULL, 0, &count, &count, &error));
    REFUSES("queue", acemq_queue_count(mq, "", 0, &count, &count, &error));
    REFUSES("timeout", acemq_queue_count(mq, "q", -1, &count, &count, &error));
    REFUSES("connection", acemq_queue_purge(NULL, "q", 0, &count, &error));
    REFUSES("queue", acemq_queue_purge(mq, NULL, 0, &count, &error));
    REFUSES("connection", acemq_queue_delete(NULL, "q", 0, &count, &error));
    REFUSES("queue", acemq_queue_delete(mq, NULL, 0, &count, &error));
    REFUSES("connection", acemq_browser_open(NULL, "q", NULL, &browser, &error));
    REFUSES("queue", acemq_browser_open(mq, NULL, NULL, &browser, &error));
    REFUSES("browser", acemq_browser_open(mq, "q", NULL, NULL, &error));
    REFUSES("browser", acemq_browser_next(NULL, &delivery, &error));
    REFUSES("browser", acemq_browser_remove(NULL, &error));
    acemq_browser_free(NULL);
    REFUSES("connection", acemq_replay_pending(NULL, "q", ACEMQ_DEAD_LETTERS, 0, &count, &error));
    REFUSES("queue", acemq_replay_pending(mq, NULL, ACEMQ_DEAD_LETTERS, 0, &count, &error));
    REFUSES("pending", acemq_replay_pending(mq, "q", ACEMQ_DEAD_LETTERS, 0, NULL, &error));
    REFUSES("source", acemq_replay_pending(mq, "q", (acemq_failure_queue)2, 0, &count, &error));
    REFUSES("timeout", acemq_replay_pending(mq, "q", ACEMQ_DEAD_LETTERS, -1, &count, &error));
    REFUSES("connection", acemq_replay(NULL, "q", NULL, &result, &error));
    REFUSES("queue", acemq_replay(mq, NULL, NULL, &result, &error));
}
END_TEST

/* A pointer to something else than the handle, or to one that was freed, is told as well as that
 * can be told. */
START_TEST(a_handle_of_another_kind_is_refused)
{
    acemq_publisher *publisher = NULL;
    acemq_message *message = acemq_message_text("x");
    ck_assert_int_eq(acemq_publisher_new(mq, NULL, &publisher, &error), ACEMQ_OK);
    REFUSES("connection",
            acemq_publish((acemq_connection *)(void *)publisher, "q", message, 0, &error));
    REFUSES("publisher",
            acemq_publisher_send((acemq_publisher *)(void *)mq, "q", message, 0, &error));
    acemq_publisher_free(publisher);
    acemq_message_free(message);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("abi handle arguments");
    TCase *tests = tcase_create("connected");
    tcase_add_checked_fixture(tests, connect_to_memory, disconnect);
    tcase_add_test(tests, connections);
    tcase_add_test(tests, publishers);
    tcase_add_test(tests, topologies);
    tcase_add_test(tests, consumers_and_deliveries);
    tcase_add_test(tests, queues_and_replays);
    tcase_add_test(tests, a_handle_of_another_kind_is_refused);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
