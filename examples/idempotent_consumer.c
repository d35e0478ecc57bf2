/*
 * Handling once: order 1 is published twice, as by a sender that never heard of its confirm, and is
 * charged once.
 *
 *   example-idempotent-consumer [URL [STORE]]     without a URL: a broker inside this program
 *                                                 STORE of the claims: lmdb:PATH or postgresql://…;
 *                                                 memory: when not given
 */
#include <acemq/acemq.h>

#include <stdio.h>

static const char queue[] = "example.once";

static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return 1;
}

/* What tells two messages apart is their id; whoever sends again sends the same one. */
static acemq_status publish(acemq_connection *mq, const char *id, acemq_error **error)
{
    acemq_message *order = acemq_message_text("one kilo of nails");
    acemq_message_set_id(order, id);
    acemq_status status = acemq_publish(mq, queue, order, 5 * ACEMQ_SECOND, error);
    acemq_message_free(order);
    if (status == ACEMQ_OK) {
        printf("%s is in its queue\n", id);
    }
    return status;
}

static acemq_status publish_orders(acemq_connection *mq, acemq_error **error)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    acemq_status status = acemq_topology_apply(mq, topology, 5 * ACEMQ_SECOND, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    if (status == ACEMQ_OK && (status = publish(mq, "order-1", error)) == ACEMQ_OK &&
        (status = publish(mq, "order-1", error)) == ACEMQ_OK) {
        status = publish(mq, "order-2", error);
    }
    return status;
}

/* Before an order is seen here its id is claimed; what was handled already is only acknowledged. */
static acemq_status charge(acemq_consumer *consumer, acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (int i = 0; status == ACEMQ_OK && i < 2; i++) {
        acemq_delivery *order = NULL;
        status = acemq_consumer_next(consumer, 5 * ACEMQ_SECOND, &order, error);
        if (status == ACEMQ_OK) {
            printf("%s: charged\n", acemq_envelope_id(acemq_delivery_envelope(order)));
            status = acemq_delivery_settle(order, ACEMQ_ACCEPTED, NULL, error);
        }
        acemq_delivery_free(order);
    }
    return status == ACEMQ_OK ? acemq_consumer_drain(consumer, 5 * ACEMQ_SECOND, NULL, error)
                              : status;
}

static acemq_status consume(acemq_connection *mq, acemq_idempotency *claims, acemq_error **error)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.idempotency = claims;
    options.prefetch = 1; /* one after the other, so that the story is the same each time */
    acemq_consumer *consumer = NULL;
    acemq_status status = acemq_consumer_open(mq, queue, &options, &consumer, error);
    if (status == ACEMQ_OK) {
        status = charge(consumer, error);
    }
    acemq_consumer_counters counters = {.size = sizeof counters};
    if (status == ACEMQ_OK &&
        (status = acemq_consumer_get_counters(consumer, &counters, error)) == ACEMQ_OK) {
        printf("%d were charged, %d had been before\n", (int)counters.acknowledged,
               (int)counters.duplicates);
    }
    acemq_consumer_free(consumer);
    return status;
}

int main(int argc, char **argv)
{
    acemq_error *error = NULL;
    acemq_connection *mq = NULL;
    acemq_idempotency *claims = NULL;
    acemq_status status =
        acemq_idempotency_open(argc > 2 ? argv[2] : "memory:", NULL, &claims, &error);
    if (status == ACEMQ_OK) {
        status = acemq_connect(argc > 1 ? argv[1] : "memory://example", NULL, &mq, &error);
    }
    if (status == ACEMQ_OK) {
        status = publish_orders(mq, &error);
    }
    if (status == ACEMQ_OK) {
        status = consume(mq, claims, &error);
    }
    acemq_connection_free(mq);
    acemq_idempotency_free(claims);
    return status == ACEMQ_OK ? 0 : fail(error);
}
