/* The connection, publishing, and what lies in queues. */
#include "protocol.h"

#include <string.h>

static acemq_connection *connection;

acemq_connection *client(driver_request *request)
{
    if (!connection) {
        refuse(request, "state", "connect first");
    }
    return connection;
}

void client_end(void)
{
    if (connection) {
        acemq_connection_close(connection, 5 * ACEMQ_SECOND, NULL);
    }
    acemq_connection_free(connection);
    connection = NULL;
    claims_end();
}

static json_t *connect_verb(driver_request *request)
{
    acemq_connect_options options = ACEMQ_CONNECT_OPTIONS_INIT;
    acemq_error *error = NULL;
    client_end();
    options.timeout = number_of(request, "timeout", 10 * ACEMQ_SECOND);
    return acemq_connect(text_of(request, "url"), &options, &connection, &error) == ACEMQ_OK
               ? json_object()
               : failed(request, error);
}

static json_t *close_verb(driver_request *request)
{
    (void)request;
    client_end();
    return json_object();
}

static json_t *publish_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    acemq_message *message = mq ? message_of(request) : NULL;
    if (!message) {
        return NULL;
    }
    const char *queue = text_of(request, "queue"), *exchange = text_of(request, "exchange");
    int64_t timeout = number_of(request, "timeout", 10 * ACEMQ_SECOND);
    acemq_error *error = NULL;
    acemq_status status =
        queue ? acemq_publish(mq, queue, message, timeout, &error)
              : acemq_publish_to(mq, exchange ? exchange : "", text_of(request, "routingKey"),
                                 message, timeout, &error);
    json_t *result = status == ACEMQ_OK ? json_pack("{s:s?}", "id", acemq_message_id(message))
                                        : failed(request, error);
    acemq_message_free(message);
    return result;
}

static json_t *pending_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    uint64_t pending = 0;
    acemq_error *error = NULL;
    if (!mq) {
        return NULL;
    }
    acemq_status status =
        acemq_replay_pending(mq, text_of(request, "queue"),
                             flag_of(request, "parked") ? ACEMQ_PARKED_LETTERS : ACEMQ_DEAD_LETTERS,
                             10 * ACEMQ_SECOND, &pending, &error);
    return status == ACEMQ_OK ? json_pack("{s:I}", "pending", (json_int_t)pending)
                              : failed(request, error);
}

static json_t *peek_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    acemq_browser_options options = ACEMQ_BROWSER_OPTIONS_INIT;
    acemq_browser *browser = NULL;
    acemq_error *error = NULL;
    if (!mq) {
        return NULL;
    }
    options.force = 1;
    json_t *messages = json_array();
    size_t most = (size_t)number_of(request, "max", 10);
    acemq_status status =
        acemq_browser_open(mq, text_of(request, "queue"), &options, &browser, &error);
    while (status == ACEMQ_OK && json_array_size(messages) < most) {
        const acemq_delivery *delivery = NULL;
        status = acemq_browser_next(browser, &delivery, &error);
        if (status != ACEMQ_OK || !delivery) {
            break;
        }
        json_array_append_new(messages, delivery_json(delivery));
    }
    acemq_browser_free(browser);
    if (status != ACEMQ_OK) {
        json_decref(messages);
        return failed(request, error);
    }
    return json_pack("{s:o}", "messages", messages);
}

/* Takes the messages whose text headers are those of the request. */
static int has_headers(const acemq_delivery *delivery, void *user)
{
    const acemq_table *headers = acemq_delivery_headers(delivery);
    const char *name;
    json_t *wanted;
    json_object_foreach((json_t *)user, name, wanted)
    {
        acemq_bytes text = {0};
        const acemq_value *value = acemq_table_get(headers, name);
        if (!value || !acemq_value_bytes(value, &text) ||
            text.length != json_string_length(wanted) ||
            memcmp(text.data, json_string_value(wanted), text.length) != 0) {
            return 0;
        }
    }
    return 1;
}

static json_t *replay_verb(driver_request *request)
{
    acemq_connection *mq = client(request);
    acemq_replay_options options = ACEMQ_REPLAY_OPTIONS_INIT;
    acemq_replay_result result = {.size = sizeof result};
    acemq_error *error = NULL;
    if (!mq) {
        return NULL;
    }
    options.id = text_of(request, "id");
    options.max = number_of(request, "max", -1);
    options.source = flag_of(request, "parked") ? ACEMQ_PARKED_LETTERS : ACEMQ_DEAD_LETTERS;
    options.keep_attempts = flag_of(request, "keepAttempts");
    options.dry_run = flag_of(request, "dryRun");
    if (member_of(request, "headers")) {
        options.filter = has_headers;
        options.filter_user = (void *)member_of(request, "headers");
    }
    return acemq_replay(mq, text_of(request, "queue"), &options, &result, &error) == ACEMQ_OK
               ? json_pack("{s:I,s:I,s:I}", "replayed", (json_int_t)result.replayed, "declined",
                           (json_int_t)result.declined, "left", (json_int_t)result.left)
               : failed(request, error);
}

const driver_verb client_verbs[] = {
    {"connect", connect_verb, " url timeout "},
    {"close", close_verb, " "},
    {"publish", publish_verb, " queue exchange routingKey message timeout "},
    {"pending", pending_verb, " queue parked "},
    {"peek", peek_verb, " queue max "},
    {"replay", replay_verb, " queue parked max keepAttempts id headers dryRun "},
    {0},
};
