/*
 * Publishing: three orders to a queue, each confirmed by the broker, and one to a queue that does
 * not exist, which is told apart.
 *
 *   example-publish [URL]     without a URL: a broker inside this program
 */
#include <acemq/acemq.h>

#include <stdio.h>

/* One line, fit to print, says what and where. */
static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return 1;
}

/* A durable queue, with the place where its dead letters will lie. Declaring again is fine. */
static acemq_status declare_orders(acemq_connection *mq, acemq_error **error)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_queue(topology, "example.orders", ACEMQ_QUEUE_QUORUM, 1, NULL, NULL);
    acemq_status status = acemq_topology_apply(mq, topology, 5 * ACEMQ_SECOND, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    return status;
}

static acemq_status publish_order(acemq_connection *mq, const char *queue, int number,
                                  acemq_error **error)
{
    char json[32];
    snprintf(json, sizeof json, "{\"id\":%d}", number);
    acemq_message *order = acemq_message_json(json); /* its first error is reported by publish */
    acemq_message_set_type(order, "order.placed");
    acemq_message_set_header(order, "shop", "north");
    acemq_status status = acemq_publish(mq, queue, order, 5 * ACEMQ_SECOND, error);
    acemq_message_free(order);
    return status;
}

int main(int argc, char **argv)
{
    acemq_error *error = NULL;
    acemq_connection *mq = NULL;
    if (acemq_connect(argc > 1 ? argv[1] : "memory://example", NULL, &mq, &error) != ACEMQ_OK) {
        return fail(error);
    }
    if (declare_orders(mq, &error) != ACEMQ_OK) {
        acemq_connection_free(mq);
        return fail(error);
    }
    for (int number = 1; number <= 3; number++) {
        if (publish_order(mq, "example.orders", number, &error) != ACEMQ_OK) {
            acemq_connection_free(mq);
            return fail(error);
        }
        printf("order %d is in its queue, confirmed\n", number);
    }
    if (publish_order(mq, "example.nowhere", 4, &error) == ACEMQ_E_UNROUTABLE) {
        printf("order 4 came back: %s\n", acemq_error_message(error));
        acemq_error_free(error);
        error = NULL;
    }
    if (acemq_connection_close(mq, 5 * ACEMQ_SECOND, &error) != ACEMQ_OK) {
        acemq_connection_free(mq);
        return fail(error);
    }
    acemq_connection_free(mq);
    return 0;
}
