/* Every allocation in connect, publish, consume, retry and replay fails once: the call says so, or
 * goes on without it; nothing crashes, hangs, leaks or is lost, and the client works afterwards. */
#include "unit/allocation/allocation_fixture.h"

#define WAITS_HERE          "fixed(2, 20ms).threshold(0)"
#define WAITS_IN_THE_BROKER "fixed(2, 20ms).threshold(1ms)"

/* --- connecting ----------------------------------------------------------------------------- */

static void nothing(scene *at)
{
    (void)at;
}

static acemq_status run_connect(scene *at, acemq_error **error)
{
    return connect_once(&at->mq, error);
}

static void check_connect(scene *at, acemq_status status)
{
    ck_assert((status == ACEMQ_OK) == (at->mq != NULL));
    if (at->mq != NULL) {
        declare_queues(at->mq);
    }
}

static void prepare_queue(scene *at)
{
    connect_scene(at);
    declare_queues(at->mq);
}

static acemq_status run_close(scene *at, acemq_error **error)
{
    acemq_status status = acemq_connection_close(at->mq, CALL_MS, error);
    acemq_connection_free(at->mq);
    at->mq = NULL;
    return status;
}

/* --- publishing ----------------------------------------------------------------------------- */

static acemq_message *build_message(void)
{
    acemq_message *message = acemq_message_json("{\"id\": 7}");
    acemq_message_set_type(message, "order.placed");
    acemq_message_set_header(message, "tenant", "acme");
    acemq_message_set_header_int64(message, "number", INT64_C(1) << 40);
    acemq_message_set_route(message, "a,b", 0, "r-1");
    return message;
}

static acemq_status run_publish(scene *at, acemq_error **error)
{
    acemq_message *message = build_message();
    acemq_status status = acemq_publish(at->mq, "q", message, CALL_MS, error);
    at->promised += status == ACEMQ_OK ? 1 : 0;
    acemq_message_free(message);
    return status;
}

static acemq_status run_batch(scene *at, acemq_error **error)
{
    enum { COUNT = 3 };
    acemq_message *message = build_message();
    const acemq_message *messages[COUNT] = {message, message, message};
    acemq_status statuses[COUNT] = {0};
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.routing_key = "q";
    acemq_status status = acemq_publisher_new(at->mq, &options, &at->publisher, error);
    if (status == ACEMQ_OK) {
        status = acemq_publisher_send_batch(at->publisher, NULL, messages, COUNT, CALL_MS, statuses,
                                            NULL, error);
        for (int i = 0; i < COUNT; i++) {
            if (status == ACEMQ_OK && statuses[i] != ACEMQ_OK) {
                at->fault = "a batch succeeded and one of it did not";
            }
            at->promised += status == ACEMQ_OK ? 1 : 0;
        }
    }
    acemq_message_free(message);
    return status;
}

static acemq_status run_receipt(scene *at, acemq_error **error)
{
    acemq_message *message = build_message();
    acemq_receipt *receipt = NULL;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    options.routing_key = "q";
    acemq_status status = acemq_publisher_new(at->mq, &options, &at->publisher, error);
    if (status == ACEMQ_OK) {
        status = acemq_publisher_begin(at->publisher, NULL, message, CALL_MS, &receipt, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_receipt_wait(receipt, 2 * CALL_MS, error);
        at->promised += status == ACEMQ_OK ? 1 : 0;
    }
    acemq_receipt_free(receipt);
    acemq_message_free(message);
    return status;
}

/* --- consuming ------------------------------------------------------------------------------ */

static void prepare_message(scene *at)
{
    prepare_queue(at);
    publish_some(at->mq, "q", 1);
    at->promised = 1;
}

static acemq_status open_consumer(scene *at, const char *retry, acemq_error **error)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    acemq_policy *policy = NULL;
    acemq_status status = acemq_policy_parse(retry, &policy, error);
    options.retry = policy;
    options.timeout = CALL_MS;
    if (status == ACEMQ_OK) {
        status = acemq_consumer_open(at->mq, "q", &options, &at->consumer, error);
    }
    acemq_policy_free(policy);
    return status;
}

/* The next message, looked at and settled. An error of settling leaves it to be put back. */
static acemq_status settle_next(scene *at, acemq_outcome outcome, acemq_error **error)
{
    acemq_delivery *delivery = NULL;
    acemq_bytes map;
    acemq_status status = acemq_consumer_next(at->consumer, CALL_MS, &delivery, error);
    if (status == ACEMQ_OK) {
        status = acemq_delivery_headers(delivery) == NULL
                     ? ACEMQ_E_OUT_OF_MEMORY
                     : acemq_delivery_pack(delivery, &map, error);
        if (status != ACEMQ_OK && *error == NULL) {
            (void)acemq_delivery_pack(NULL, &map, error); /* any error will do */
            status = acemq_error_code(*error);
        }
    }
    if (status == ACEMQ_OK) {
        status = acemq_delivery_settle(delivery, outcome, "because", error);
    }
    acemq_delivery_free(delivery);
    return status;
}

/* What is settled is carried out behind the caller's back; the drain waits for that. */
static acemq_status drain(scene *at, acemq_status status, acemq_error **error)
{
    int finished = 0;
    return status == ACEMQ_OK ? acemq_consumer_drain(at->consumer, CALL_MS, &finished, error)
                              : status;
}

static acemq_status settle_once(scene *at, acemq_outcome outcome, acemq_error **error)
{
    acemq_status status = open_consumer(at, WAITS_HERE, error);
    if (status == ACEMQ_OK) {
        status = settle_next(at, outcome, error);
    }
    return drain(at, status, error);
}

static acemq_status run_accept(scene *at, acemq_error **error)
{
    acemq_status status = open_consumer(at, WAITS_HERE, error);
    if (status == ACEMQ_OK) {
        status = settle_next(at, ACEMQ_ACCEPTED, error);
        if (status == ACEMQ_OK) {
            at->promised = 0; /* whether it is acknowledged before a later error is not known */
        }
    }
    return drain(at, status, error);
}

static acemq_status run_reject(scene *at, acemq_error **error)
{
    return settle_once(at, ACEMQ_REJECTED, error);
}

static acemq_status run_park(scene *at, acemq_error **error)
{
    return settle_once(at, ACEMQ_PARKED, error);
}

static acemq_status retry(scene *at, const char *policy, acemq_error **error)
{
    acemq_status status = open_consumer(at, policy, error);
    if (status == ACEMQ_OK) {
        status = settle_next(at, ACEMQ_FAILED, error);
    }
    if (status == ACEMQ_OK) {
        status = settle_next(at, ACEMQ_FAILED, error); /* the second and last attempt */
    }
    return drain(at, status, error);
}

static acemq_status run_retry_here(scene *at, acemq_error **error)
{
    return retry(at, WAITS_HERE, error);
}

static acemq_status run_retry_in_the_broker(scene *at, acemq_error **error)
{
    return retry(at, WAITS_IN_THE_BROKER, error);
}

#define SMALL_LIMIT 100

/* A message whose body this client does not read. */
static void prepare_large(scene *at)
{
    static const char large[2 * SMALL_LIMIT] = "large";
    prepare_queue(at);
    acemq_message *message = acemq_message_new(large, sizeof large);
    MUST(acemq_publish(at->mq, "q", message, CALL_MS, &error));
    acemq_message_free(message);
    acemq_connection_free(at->mq);
    at->mq = NULL;
    max_body = SMALL_LIMIT;
    connect_scene(at);
    max_body = 0;
    at->promised = 1;
}

static acemq_status run_leave_unread(scene *at, acemq_error **error)
{
    acemq_status status = open_consumer(at, WAITS_HERE, error);
    if (status == ACEMQ_OK) {
        acemq_delivery *delivery = NULL;
        status = acemq_consumer_next(at->consumer, 50, &delivery, error);
        if (status == ACEMQ_OK) {
            at->fault = "a body over the limit was handed out";
            acemq_delivery_free(delivery);
        } else if (status == ACEMQ_E_TIMEOUT) {
            acemq_error_free(*error);
            *error = NULL;
            status = ACEMQ_OK;
        }
    }
    return drain(at, status, error);
}

static acemq_status run_change_prefetch(scene *at, acemq_error **error)
{
    acemq_status status = open_consumer(at, WAITS_HERE, error);
    if (status == ACEMQ_OK) {
        status = acemq_consumer_set_prefetch(at->consumer, 3, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_consumer_pause(at->consumer, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_consumer_resume(at->consumer, error);
    }
    if (status == ACEMQ_OK) {
        status = settle_next(at, ACEMQ_REJECTED, error);
    }
    return drain(at, status, error);
}

static atomic_int handled;

static acemq_outcome handle(acemq_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    atomic_fetch_add(&handled, 1);
    return ACEMQ_REJECTED;
}

static acemq_status run_push(scene *at, acemq_error **error)
{
    atomic_store(&handled, 0);
    acemq_status status =
        acemq_consume(at->mq, "q", NULL, handle, NULL, NULL, &at->consumer, error);
    for (int tries = 0; status == ACEMQ_OK && atomic_load(&handled) == 0; tries++) {
        if (tries == 1000) {
            at->fault = "the message does not come";
            break;
        }
        usleep(10000);
    }
    return drain(at, status, error);
}

/* --- replay, and the rest ------------------------------------------------------------------- */

static void prepare_dead_letters(scene *at)
{
    prepare_queue(at);
    publish_some(at->mq, "q.dlq", 3);
    at->promised = 3;
}

static acemq_status run_replay(scene *at, acemq_error **error)
{
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    options.timeout = CALL_MS;
    return acemq_replay(at->mq, "q", &options, &result, error);
}

static acemq_status run_browse(scene *at, acemq_error **error)
{
    acemq_browser *browser = NULL;
    const acemq_delivery *delivery = NULL;
    acemq_status status = acemq_browser_open(at->mq, "q.dlq", NULL, &browser, error);
    do {
        if (status == ACEMQ_OK) {
            status = acemq_browser_next(browser, &delivery, error);
        }
    } while (status == ACEMQ_OK && delivery != NULL);
    acemq_browser_free(browser);
    return status;
}

static acemq_status run_topology(scene *at, acemq_error **error)
{
    static const char text[] =
        "{\"exchanges\": [{\"name\": \"e\", \"type\": \"topic\", \"durable\": true}],"
        " \"queues\": [{\"name\": \"q2\", \"deadLetter\": true, \"retry\": \"fixed(3, 40s)\","
        " \"arguments\": {\"x-max-length\": 10}}],"
        " \"bindings\": [{\"exchange\": \"e\", \"queue\": \"q2\", \"key\": \"a.*\"}]}";
    acemq_topology *topology = NULL;
    acemq_plan *plan = NULL;
    acemq_status status = acemq_topology_parse(text, sizeof text - 1, &topology, error);
    if (status == ACEMQ_OK) {
        status = acemq_topology_apply(at->mq, topology, CALL_MS, &plan, error);
    }
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status;
}

/* --- the tests ------------------------------------------------------------------------------ */

static const act acts[] = {
    {"connect", nothing, run_connect, check_connect, false},
    {"close", prepare_queue, run_close, NULL, false},
    {"publish", prepare_queue, run_publish, NULL, false},
    {"publish a batch", prepare_queue, run_batch, NULL, false},
    {"publish with a receipt", prepare_queue, run_receipt, NULL, false},
    {"consume and accept", prepare_message, run_accept, NULL, false},
    {"consume and reject", prepare_message, run_reject, NULL, false},
    {"consume and park", prepare_message, run_park, NULL, false},
    {"retry here", prepare_message, run_retry_here, NULL, false},
    {"retry in the broker", prepare_message, run_retry_in_the_broker, NULL, false},
    {"consume what is too large", prepare_large, run_leave_unread, NULL, true},
    {"pause and change the prefetch", prepare_message, run_change_prefetch, NULL, false},
    {"consume with a handler", prepare_message, run_push, NULL, false},
    {"replay", prepare_dead_letters, run_replay, NULL, false},
    {"browse", prepare_dead_letters, run_browse, NULL, true},
    {"topology", prepare_queue, run_topology, NULL, false},
};

START_TEST(an_allocation_that_fails)
{
    count_through(&acts[_i], 1);
}
END_TEST

START_TEST(several_allocations_in_a_row_that_fail)
{
    count_through(&acts[_i], 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failing allocations");
    TCase *tests = tcase_create("acts");
    SRunner *runner = srunner_create(suite);
    const int count = (int)(sizeof acts / sizeof acts[0]);
    int failed;
    tcase_set_timeout(tests, getenv("ACEMQ_TEST_LONG") == NULL ? 60 : 1800);
    tcase_add_loop_test(tests, an_allocation_that_fails, 0, count);
    tcase_add_loop_test(tests, several_allocations_in_a_row_that_fail, 0, count);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
