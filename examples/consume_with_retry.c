/*
 * Consuming with retries: order 1 succeeds, order 2 fails twice before it does, order 3 never does
 * and ends among the dead letters, and order 4 is no JSON and is parked without being seen.
 *
 *   example-consume-with-retry [URL]     without a URL: a broker inside this program
 */
#include <acemq/acemq.h>

#include <stdio.h>
#include <string.h>

static const char queue[] = "example.retried";

static int fail(acemq_error *error)
{
    fprintf(stderr, "%s: %s\n", acemq_error_name(error), acemq_error_message(error));
    acemq_error_free(error);
    return 1;
}

static acemq_status publish(acemq_connection *mq, const char *id, const char *json,
                            acemq_error **error)
{
    acemq_message *order = acemq_message_new(json, strlen(json));
    acemq_message_set_id(order, id);
    acemq_message_set_content_type(order, "application/json");
    acemq_status status = acemq_publish(mq, queue, order, 5 * ACEMQ_SECOND, error);
    acemq_message_free(order);
    return status;
}

static acemq_status prepare(acemq_connection *mq, const acemq_policy *policy, acemq_error **error)
{
    acemq_topology *topology = acemq_topology_new();
    acemq_plan *plan = NULL;
    acemq_topology_queue(topology, queue, ACEMQ_QUEUE_QUORUM, 1, policy, NULL);
    acemq_status status = acemq_topology_apply(mq, topology, 5 * ACEMQ_SECOND, &plan, error);
    acemq_plan_free(plan);
    acemq_topology_free(topology);
    if (status == ACEMQ_OK && (status = publish(mq, "order-1", "{\"id\":1}", error)) == ACEMQ_OK &&
        (status = publish(mq, "order-2", "{\"id\":2}", error)) == ACEMQ_OK &&
        (status = publish(mq, "order-3", "{\"id\":3}", error)) == ACEMQ_OK) {
        status = publish(mq, "order-4", "{\"id\":", error);
    }
    return status;
}

/* What is said of an order is carried out: acknowledged, or tried again as the policy has it. */
static acemq_status handle(acemq_delivery *order, acemq_error **error)
{
    const acemq_envelope *envelope = acemq_delivery_envelope(order);
    const char *id = acemq_envelope_id(envelope);
    int attempt = acemq_envelope_attempt(envelope);
    int fails = strcmp(id, "order-3") == 0 || (strcmp(id, "order-2") == 0 && attempt < 3);
    printf("%s, attempt %d: %s\n", id, attempt, fails ? "no stock" : "charged");
    return fails ? acemq_delivery_settle(order, ACEMQ_FAILED, "no stock", error)
                 : acemq_delivery_settle(order, ACEMQ_ACCEPTED, NULL, error);
}

static acemq_status consume(acemq_connection *mq, const acemq_policy *policy, acemq_error **error)
{
    acemq_consumer_options options = ACEMQ_CONSUMER_OPTIONS_INIT;
    options.retry = policy;
    options.codec = acemq_codec_builtin("json");
    options.prefetch = 1; /* one after the other, so that the story is the same each time */
    acemq_consumer *consumer = NULL;
    acemq_status status = acemq_consumer_open(mq, queue, &options, &consumer, error);
    acemq_delivery *order = NULL;
    while (status == ACEMQ_OK &&
           acemq_consumer_next(consumer, 2 * ACEMQ_SECOND, &order, NULL) == ACEMQ_OK) {
        status = handle(order, error);
        acemq_delivery_free(order);
    }
    acemq_consumer_counters counters = {.size = sizeof counters};
    if (status == ACEMQ_OK &&
        (status = acemq_consumer_get_counters(consumer, &counters, error)) == ACEMQ_OK) {
        printf("%d succeeded after %d retries, %d among the dead letters, %d parked\n",
               (int)counters.acknowledged, (int)counters.retried, (int)counters.dead_lettered,
               (int)counters.parked);
    }
    acemq_consumer_free(consumer);
    return status;
}

int main(int argc, char **argv)
{
    acemq_error *error = NULL;
    acemq_connection *mq = NULL;
    if (acemq_connect(argc > 1 ? argv[1] : "memory://example", NULL, &mq, &error) != ACEMQ_OK) {
        return fail(error);
    }
    acemq_policy *policy = acemq_policy_exponential(3, 100, ACEMQ_SECOND); /* 100 ms, 200 ms */
    acemq_status status = prepare(mq, policy, &error);
    if (status == ACEMQ_OK) {
        status = consume(mq, policy, &error);
    }
    acemq_policy_free(policy);
    acemq_connection_free(mq);
    return status == ACEMQ_OK ? 0 : fail(error);
}
