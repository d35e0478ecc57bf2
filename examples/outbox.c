/*
 * The outbox: orders that exist exactly when a transaction commits, and a relay that publishes
 * them.
 *
 *   example-outbox [URL [STORE]]     without a URL: a broker inside this program
 *                                    STORE: lmdb:PATH or postgresql://…; memory: when not given
 */
#include <acemq/acemq.h>

#include <inttypes.h>
#include <stdio.h>

/* One line, fit to print, says what and where. */
static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return 1;
}

static acemq_status declare_orders(acemq_connection *mq, acemq_error **error)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_queue(topology, "example.outbox", ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    acemq_status status = acemq_topology_apply(mq, topology, 5 * ACEMQ_SECOND, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status;
}

/* Here in a transaction of its own; acemq_outbox_enqueue_lmdb() and acemq_outbox_enqueue_postgres()
 * write in yours. No broker is needed for it. */
static acemq_status write_orders(acemq_outbox *outbox, acemq_error **error)
{
    acemq_status status = ACEMQ_OK;
    for (int number = 1; number <= 3 && status == ACEMQ_OK; number++) {
        char json[32];
        snprintf(json, sizeof json, "{\"id\":%d}", number);
        acemq_message *order = acemq_message_json(json);
        acemq_message_set_type(order, "order.placed");
        status = acemq_outbox_enqueue(outbox, "", "example.outbox", order, 5 * ACEMQ_SECOND, NULL,
                                      error);
        acemq_message_free(order);
    }
    return status;
}

static acemq_status relay_orders(acemq_connection *mq, acemq_outbox *outbox, acemq_error **error)
{
    acemq_relay *relay = NULL;
    acemq_status status = acemq_relay_start(mq, outbox, NULL, &relay, error);
    if (status == ACEMQ_OK) {
        status = acemq_relay_drain(relay, 10 * ACEMQ_SECOND, error);
    }
    if (status == ACEMQ_OK) {
        acemq_relay_counters counters = {sizeof counters, 0, 0, 0, 0, 0};
        status = acemq_relay_count(relay, &counters, error);
        printf("the relay published %" PRIu64 " orders\n", counters.published);
    }
    acemq_relay_free(relay);
    return status;
}

static acemq_status tell_the_story(acemq_connection *mq, acemq_outbox *outbox, acemq_error **error)
{
    acemq_outbox_counts counts = {sizeof counts, 0, 0, 0, 0, 0};
    acemq_status status = declare_orders(mq, error);
    if (status == ACEMQ_OK) {
        status = write_orders(outbox, error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_outbox_count(outbox, 5 * ACEMQ_SECOND, &counts, error);
        printf("%" PRIu64 " orders are written, and not published yet\n", counts.pending);
    }
    return status == ACEMQ_OK ? relay_orders(mq, outbox, error) : status;
}

int main(int argc, char **argv)
{
    acemq_error *error = NULL;
    acemq_connection *mq = NULL;
    acemq_outbox *outbox = NULL;
    acemq_status status = acemq_outbox_open(argc > 2 ? argv[2] : "memory:", NULL, &outbox, &error);
    if (status == ACEMQ_OK) {
        status = acemq_connect(argc > 1 ? argv[1] : "memory://example", NULL, &mq, &error);
    }
    if (status == ACEMQ_OK) {
        status = tell_the_story(mq, outbox, &error);
    }
    acemq_connection_free(mq);
    acemq_outbox_free(outbox);
    return status == ACEMQ_OK ? 0 : fail(error);
}
