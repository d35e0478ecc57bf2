/*
 * Replay: orders that ended among the dead letters go home after the fix, all but those that the
 * filter leaves where they are.
 *
 *   example-replay [URL]     without a URL: a broker inside this program
 */
#include <acemq/acemq.h>

#include <stdio.h>
#include <string.h>

static const char queue[] = "example.replayed";

static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return 1;
}

/* Takes `count` orders and says what happened to each of them. */
static acemq_status work(acemq_connection *mq, int count, acemq_outcome outcome,
                         acemq_error **error)
{
    acemq_consumer *consumer = NULL;
    acemq_status status = acemq_consumer_open(mq, queue, NULL, &consumer, error);
    for (int i = 0; status == ACEMQ_OK && i < count; i++) {
        acemq_delivery *order = NULL;
        status = acemq_consumer_next(consumer, 5 * ACEMQ_SECOND, &order, error);
        if (status == ACEMQ_OK) {
            printf("  %s: %s\n", acemq_envelope_id(acemq_delivery_envelope(order)),
                   outcome == ACEMQ_ACCEPTED ? "charged" : "the price list is missing");
            status = acemq_delivery_settle(order, outcome, "the price list is missing", error);
        }
        acemq_delivery_free(order);
    }
    if (status == ACEMQ_OK) {
        status = acemq_consumer_drain(consumer, 5 * ACEMQ_SECOND, NULL, error);
    }
    acemq_consumer_free(consumer);
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
    for (int number = 1; status == ACEMQ_OK && number <= 3; number++) {
        char id[16];
        snprintf(id, sizeof id, "order-%d", number);
        acemq_message *order = acemq_message_text("one kilo of nails");
        acemq_message_set_id(order, id);
        acemq_message_set_header(order, "shop", number == 2 ? "south" : "north");
        status = acemq_publish(mq, queue, order, 5 * ACEMQ_SECOND, error);
        acemq_message_free(order);
    }
    return status;
}

static int is_of_the_north(const acemq_delivery *order, void *user)
{
    acemq_bytes shop = {"", 0};
    (void)user;
    acemq_value_bytes(acemq_table_get(acemq_delivery_headers(order), "shop"), &shop);
    return shop.length == 5 && memcmp(shop.data, "north", 5) == 0;
}

static acemq_status run(acemq_connection *mq, acemq_error **error)
{
    acemq_status status = publish_orders(mq, error);
    if (status == ACEMQ_OK) {
        printf("a bad day:\n");
        status = work(mq, 3, ACEMQ_REJECTED, error);
    }
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    options.filter = is_of_the_north;
    if (status == ACEMQ_OK && (status = acemq_replay(mq, queue, &options, &result, error)) == 0) {
        printf("after the fix: %d went home, %d stayed\n", (int)result.replayed, (int)result.left);
        status = work(mq, (int)result.replayed, ACEMQ_ACCEPTED, error);
    }
    return status;
}

int main(int argc, char **argv)
{
    acemq_error *error = NULL;
    acemq_connection *mq = NULL;
    if (acemq_connect(argc > 1 ? argv[1] : "memory://example", NULL, &mq, &error) != ACEMQ_OK) {
        return fail(error);
    }
    acemq_status status = run(mq, &error);
    acemq_connection_free(mq);
    return status == ACEMQ_OK ? 0 : fail(error);
}
