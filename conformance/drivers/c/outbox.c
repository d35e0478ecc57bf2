/* Messages written to a store first. */
#include "protocol.h"

static json_t *enqueue_verb(driver_request *request)
{
    acemq_outbox *outbox = NULL;
    acemq_error *error = NULL;
    char id[ACEMQ_OUTBOX_ID_SIZE] = "";
    acemq_message *message = message_of(request);
    if (!message) {
        return NULL;
    }
    const char *queue = text_of(request, "queue"), *exchange = text_of(request, "exchange");
    acemq_status status = acemq_outbox_open(text_of(request, "store"), NULL, &outbox, &error);
    if (status == ACEMQ_OK) {
        status = acemq_outbox_enqueue(outbox, queue || !exchange ? "" : exchange,
                                      queue ? queue : text_of(request, "routingKey"), message,
                                      10 * ACEMQ_SECOND, id, &error);
    }
    acemq_message_free(message);
    acemq_outbox_free(outbox);
    return status == ACEMQ_OK ? json_pack("{s:s}", "id", id) : failed(request, error);
}

static json_t *relay_verb(driver_request *request)
{
    acemq_outbox *outbox = NULL;
    acemq_relay *relay = NULL;
    acemq_relay_counters counters = {.size = sizeof counters};
    acemq_error *error = NULL;
    if (!client(request)) {
        return NULL;
    }
    acemq_status status = acemq_outbox_open(text_of(request, "store"), NULL, &outbox, &error);
    if (status == ACEMQ_OK) {
        status = acemq_relay_start(client(request), outbox, NULL, &relay, &error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_relay_drain(relay, 10 * ACEMQ_SECOND, &error);
    }
    if (status == ACEMQ_OK) {
        status = acemq_relay_count(relay, &counters, &error);
    }
    acemq_relay_free(relay);
    acemq_outbox_free(outbox);
    return status == ACEMQ_OK ? json_pack("{s:I}", "published", (json_int_t)counters.published)
                              : failed(request, error);
}

const driver_verb outbox_verbs[] = {
    {"outbox.enqueue", enqueue_verb, " store queue exchange routingKey message "},
    {"outbox.relay", relay_verb, " store "},
    {0},
};
