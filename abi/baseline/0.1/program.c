/*
 * A program of the first 0.1 release: tests/check/abi builds it against the headers beside it and
 * runs it with the library of today. It is never changed.
 */
#include <acemq/acemq.h>

#include <stdio.h>
#include <string.h>

static const char *step = "";

static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", step, error != NULL ? acemq_error_message(error) : "unexpected");
    acemq_error_free(error);
    return 1;
}

static int publish(acemq_connection *mq)
{
    acemq_error *error = NULL;
    acemq_publisher *publisher;
    acemq_publisher_options options = ACEMQ_PUBLISHER_OPTIONS_INIT;
    step = "publishing";
    if (acemq_publisher_new(mq, &options, &publisher, &error) != ACEMQ_OK)
        return fail(error);
    acemq_message *order = acemq_message_json("{\"id\":7}");
    acemq_message_set_type(order, "order.placed");
    acemq_status status = acemq_publisher_send(publisher, "old", order, 20 * ACEMQ_SECOND, &error);
    acemq_message_free(order);
    acemq_publisher_free(publisher);
    return status == ACEMQ_OK ? 0 : fail(error);
}

static int handle(acemq_delivery *delivery)
{
    acemq_error *error = NULL;
    const acemq_envelope *envelope = acemq_delivery_envelope(delivery);
    step = "reading";
    if (strcmp(acemq_envelope_type(envelope), "order.placed") != 0)
        return fail(NULL);
    step = "settling";
    if (acemq_delivery_settle(delivery, ACEMQ_ACCEPTED, NULL, &error) != ACEMQ_OK)
        return fail(error);
    return 0;
}

static int count(acemq_consumer *consumer)
{
    acemq_error *error = NULL;
    acemq_consumer_counters counters;
    int finished = 0;
    step = "counting";
    memset(&counters, 0xa5, sizeof counters);
    counters.size = sizeof counters;
    if (acemq_consumer_drain(consumer, 20 * ACEMQ_SECOND, &finished, &error) != ACEMQ_OK)
        return fail(error);
    if (acemq_consumer_get_counters(consumer, &counters, &error) != ACEMQ_OK)
        return fail(error);
    return finished && counters.acknowledged == 1 && counters.unconfirmed == 0 ? 0 : fail(NULL);
}

static int converse(acemq_connection *mq)
{
    acemq_error *error = NULL;
    acemq_consumer_options options;
    acemq_consumer *consumer;
    acemq_delivery *delivery;
    step = "consuming";
    if (acemq_consumer_options_init(&options, sizeof options) != ACEMQ_OK)
        return fail(NULL);
    options.prefetch = 3;
    options.renew = 0; /* the last field of that release */
    if (acemq_consumer_open(mq, "old", &options, &consumer, &error) != ACEMQ_OK)
        return fail(error);
    int failed = publish(mq);
    if (!failed && acemq_consumer_next(consumer, 20 * ACEMQ_SECOND, &delivery, &error) != ACEMQ_OK)
        failed = fail(error);
    else if (!failed) {
        failed = handle(delivery);
        acemq_delivery_free(delivery);
    }
    failed = failed || count(consumer);
    acemq_consumer_free(consumer);
    return failed;
}

int main(void)
{
    acemq_error *error = NULL;
    acemq_connection *mq;
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    options.name = "of the first release";
    step = "connecting";
    if (acemq_connect("memory://old", &options, &mq, &error) != ACEMQ_OK)
        return fail(error);
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    step = "declaring";
    acemq_topology_queue(topology, "old", ACEMQ_QUEUE_CLASSIC, 1, NULL, NULL);
    acemq_status status = acemq_topology_apply(mq, topology, 20 * ACEMQ_SECOND, &plan, &error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    int failed = status == ACEMQ_OK ? converse(mq) : fail(error);
    acemq_connection_free(mq);
    if (!failed)
        puts("the first release's program runs");
    return failed;
}
