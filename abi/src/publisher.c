#include "publisher.h"

#include "arguments.h"
#include "engine/waiter.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC         ACE_MAGIC('P', 'U', 'B', 'L')
#define FIRST_RELEASE ACE_SIZE_UP_TO(acemq_publisher_options, optional)
#define SMALL_BODY    512

static const acemq_publisher_options defaults = ACEMQ_PUBLISHER_OPTIONS_INIT;

acemq_status acemq_publisher_options_init(acemq_publisher_options *options, size_t size)
{
    return (acemq_status)ace_options_fill(options, size, &defaults, sizeof defaults, FIRST_RELEASE,
                                          "options", NULL);
}

static ace_code set_timeout(ace_target *target, int64_t timeout)
{
    int64_t wait = timeout > 0 ? timeout : ace_client_of(target->connection)->publish_timeout;
    target->wait = wait;
    return ACE_OK;
}

static ace_publish_lane lane_of(const ace_target *target)
{
    return target->confirmed ? ACE_PUBLISH_APPLICATION : ACE_PUBLISH_UNCONFIRMED;
}

static ace_code encode(const ace_target *target, const acemq_message *message, ace_publish *publish,
                       ace_error **error)
{
    ace_code code = ace_cancel_check(target->cancel, error);
    if (code == ACE_OK) {
        code = ace_message_encode(message, target->connection, target->exchange,
                                  target->routing_key, target->mandatory, publish, error);
    }
    publish->deadline = 0; /* from the submission on */
    publish->wait = target->wait;
    return code;
}

/* What ends before it is on its way counts too. */
static void measure_unsent(const ace_target *target, ace_code code)
{
    if (code != ACE_OK) {
        ace_publisher_measure_unsent(target->connection->publisher, target->exchange,
                                     target->routing_key, code);
    }
}

/* The interceptors first, then the message as they leave it. */
static ace_code prepare(const ace_target *target, const acemq_message *message,
                        ace_publish *publish, ace_outgoing **outgoing, ace_error **error)
{
    ace_code code = ace_outgoing_begin(target->connection, target->exchange, target->routing_key,
                                       message, outgoing, error);
    if (code == ACE_OK) {
        code = encode(target, *outgoing == NULL ? message : (*outgoing)->message, publish, error);
    }
    measure_unsent(target, code);
    return code;
}

static ace_code send_one(const ace_target *target, const acemq_message *message,
                         ace_outgoing **outgoing, ace_error **error)
{
    ace_publish publish = {.deadline = 0};
    ace_code code = prepare(target, message, &publish, outgoing, error);
    if (code == ACE_OK) {
        code = ace_publisher_send(target->connection->publisher, lane_of(target), &publish,
                                  target->cancel, error);
    }
    ace_publish_clear(&publish);
    return code;
}

ace_code ace_target_send(const ace_target *target, const acemq_message *message, ace_error **error)
{
    ace_outgoing *outgoing = NULL;
    ace_error *failure = NULL;
    ace_code code = send_one(target, message, &outgoing, &failure);
    ace_outgoing_end(outgoing, code, failure);
    return code == ACE_OK ? ACE_OK : ace_error_move(error, failure);
}

/* A small body is copied for less than what it costs to share one between threads. */
static void keep_body(ace_dispatch *dispatch, const acemq_message *message)
{
    if (message->body->length > SMALL_BODY || !ace_publish_keep_body(&dispatch->publish)) {
        dispatch->body = ace_body_keep(message->body);
    }
}

/* What waits for room has that less time for its confirm. */
static ace_code await_room(ace_publisher *publisher, const ace_target *target, ace_publish *publish,
                           ace_error **error)
{
    size_t bytes = ace_publish_bytes(publish);
    if (ace_publisher_has_room(publisher, bytes)) {
        return ACE_OK;
    }
    publish->deadline = ace_publisher_deadline(publisher, target->wait);
    return ace_publisher_await_room(publisher, bytes, ace_deadline_after(target->wait),
                                    target->cancel, error);
}

ace_code ace_dispatch_begin(ace_dispatch *dispatch, const ace_target *target,
                            const acemq_message *message, ace_error **error)
{
    ace_publisher *publisher = target->connection->publisher;
    ace_error *failure = NULL;
    ace_code code = prepare(target, message, &dispatch->publish, &dispatch->outgoing, &failure);
    if (code == ACE_OK) {
        keep_body(dispatch, message);
        code = await_room(publisher, target, &dispatch->publish, &failure);
        measure_unsent(target, code);
    }
    if (code == ACE_OK) {
        code = ace_publisher_submit_soon(publisher, lane_of(target), &dispatch->publish, &failure);
    }
    if (code == ACE_OK) {
        return ACE_OK;
    }
    ace_outgoing_end(dispatch->outgoing, code, failure);
    dispatch->outgoing = NULL;
    ace_dispatch_clear(dispatch);
    return ace_error_move(error, failure);
}

void ace_dispatch_clear(ace_dispatch *dispatch)
{
    ace_outgoing_end(dispatch->outgoing, dispatch->publish.code, dispatch->publish.error);
    dispatch->outgoing = NULL;
    ace_publish_clear(&dispatch->publish);
    ace_body_release(dispatch->body);
    dispatch->body = NULL;
}

static ace_code check_direct(const acemq_connection *connection, const acemq_message *message,
                             int64_t timeout, ace_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    if (code == ACE_OK) {
        code = ace_argument_present(message, "message", error);
    }
    if (code == ACE_OK) {
        code = ace_outgoing_check(error);
    }
    return code == ACE_OK ? ace_argument_timeout(timeout, error) : code;
}

static ace_code send_direct(acemq_connection *connection, const char *exchange,
                            const char *routing_key, const acemq_message *message, int64_t timeout,
                            ace_error **error)
{
    ace_target target = {.connection = connection,
                         .cancel = ace_client_cancel(connection, NULL),
                         .exchange = exchange,
                         .routing_key = routing_key,
                         .mandatory = true,
                         .confirmed = true};
    set_timeout(&target, timeout);
    return ace_target_send(&target, message, error);
}

acemq_status acemq_publish(acemq_connection *connection, const char *queue,
                           const acemq_message *message, int64_t timeout, acemq_error **error)
{
    ace_code code = check_direct(connection, message, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_text(queue, "queue", error);
    }
    if (code == ACE_OK && *queue == '\0') {
        code = ace_fail(error, ACE_INVALID_ARGUMENT, "queue is empty");
        ace_error_field(error, "queue", 0);
    }
    if (code == ACE_OK) {
        code = send_direct(connection, "", queue, message, timeout, error);
    }
    return (acemq_status)code;
}

acemq_status acemq_publish_to(acemq_connection *connection, const char *exchange,
                              const char *routing_key, const acemq_message *message,
                              int64_t timeout, acemq_error **error)
{
    ace_code code = check_direct(connection, message, timeout, error);
    if (code == ACE_OK) {
        code = ace_argument_text(exchange, "exchange", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_text(routing_key, "routing_key", error);
    }
    if (code == ACE_OK) {
        code = send_direct(connection, exchange, routing_key, message, timeout, error);
    }
    return (acemq_status)code;
}

static ace_code read_options(const acemq_publisher_options *given, acemq_publisher_options *options,
                             ace_error **error)
{
    *options = defaults;
    ace_code code = ACE_OK;
    if (given != NULL) {
        code = ace_options_read(given, sizeof defaults, FIRST_RELEASE, options, "options", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(options->exchange, "exchange", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(options->routing_key, "routing_key", error);
    }
    if (code == ACE_OK && options->exchange != NULL) {
        code = ace_name_check("exchange", ace_bytes_of(options->exchange), error);
    }
    if (code == ACE_OK && options->routing_key != NULL) {
        code = ace_name_check("routing key", ace_bytes_of(options->routing_key), error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(options->timeout, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->unconfirmed, 0, 1, "unconfirmed", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(options->optional, 0, 1, "optional", error);
    }
    return code;
}

static void free_publisher(acemq_publisher *publisher)
{
    free(publisher->exchange);
    free(publisher->routing_key);
    ace_cancel_release(publisher->cancel);
    free(publisher);
}

static acemq_publisher *make_publisher(const acemq_publisher_options *options)
{
    acemq_publisher *publisher = calloc(1, sizeof *publisher);
    if (publisher == NULL) {
        return NULL;
    }
    publisher->exchange = strdup(options->exchange == NULL ? "" : options->exchange);
    if (options->routing_key != NULL) {
        publisher->routing_key = strdup(options->routing_key);
    }
    publisher->cancel = options->cancel == NULL ? NULL : ace_cancel_keep(options->cancel);
    publisher->timeout = options->timeout;
    publisher->confirmed = options->unconfirmed == 0;
    publisher->mandatory = options->optional == 0;
    if (publisher->exchange == NULL ||
        (options->routing_key != NULL && publisher->routing_key == NULL)) {
        free_publisher(publisher);
        return NULL;
    }
    return publisher;
}

acemq_status acemq_publisher_new(acemq_connection *connection,
                                 const acemq_publisher_options *options,
                                 acemq_publisher **publisher, acemq_error **error)
{
    ace_code code = ace_connection_check(connection, error);
    acemq_publisher_options read;
    if (code == ACE_OK) {
        code = read_options(options, &read, error);
    }
    if (code == ACE_OK) {
        code = ace_argument_present(publisher, "publisher", error);
    }
    if (code != ACE_OK) {
        return (acemq_status)code;
    }
    acemq_publisher *made = make_publisher(&read);
    if (made == NULL) {
        return (acemq_status)ace_fail_memory(error);
    }
    made->connection = ace_connection_keep(connection);
    ace_handle_init(&made->handle, MAGIC);
    *publisher = made;
    return ACEMQ_OK;
}

void acemq_publisher_free(acemq_publisher *publisher)
{
    if (publisher != NULL && ace_handle_release(&publisher->handle)) {
        ace_connection_release(publisher->connection);
        free_publisher(publisher);
    }
}

int acemq_publisher_has_room(const acemq_publisher *publisher, size_t bytes)
{
    if (ace_handle_check(publisher == NULL ? NULL : &publisher->handle, MAGIC, "publisher", NULL) !=
            ACE_OK ||
        ace_connection_check(publisher->connection, NULL) != ACE_OK) {
        return 1; /* it fails at once */
    }
    return ace_publisher_has_room(publisher->connection->publisher, bytes);
}

ace_code ace_target_of_publisher(const acemq_publisher *publisher, const char *routing_key,
                                 int64_t timeout, ace_target *target, ace_error **error)
{
    ace_code code =
        ace_handle_check(publisher == NULL ? NULL : &publisher->handle, MAGIC, "publisher", error);
    if (code == ACE_OK) {
        code = ace_connection_check(publisher->connection, error);
    }
    if (code == ACE_OK) {
        code = ace_outgoing_check(error);
    }
    if (code == ACE_OK) {
        code = ace_argument_optional_text(routing_key, "routing_key", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_timeout(timeout, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    const char *key = routing_key != NULL ? routing_key : publisher->routing_key;
    if (key == NULL) {
        ace_fail(error, ACE_INVALID_ARGUMENT, "routing_key is NULL, and the publisher has none");
        ace_error_field(error, "routing_key", 0);
        return ACE_INVALID_ARGUMENT;
    }
    *target = (ace_target){.connection = publisher->connection,
                           .cancel = ace_client_cancel(publisher->connection, publisher->cancel),
                           .exchange = publisher->exchange,
                           .routing_key = key,
                           .mandatory = publisher->mandatory,
                           .confirmed = publisher->confirmed};
    return set_timeout(target, timeout > 0 ? timeout : publisher->timeout);
}

acemq_status acemq_publisher_send(acemq_publisher *publisher, const char *routing_key,
                                  const acemq_message *message, int64_t timeout,
                                  acemq_error **error)
{
    ace_target target;
    ace_code code = ace_target_of_publisher(publisher, routing_key, timeout, &target, error);
    if (code == ACE_OK) {
        code = ace_argument_present(message, "message", error);
    }
    return (acemq_status)(code == ACE_OK ? ace_target_send(&target, message, error) : code);
}

/* What send_all() is given, and where each of its records came from. */
typedef struct publish_batch {
    ace_publish *records;
    ace_publish **sendable;
    ace_outgoing **outgoing; /* one for each record; NULL: nobody intercepts it */
    size_t sendable_count;
} publish_batch;

static ace_code make_batch(publish_batch *batch, size_t count, ace_error **error)
{
    batch->records = calloc(count, sizeof *batch->records);
    batch->sendable = malloc(count * sizeof(ace_publish *));
    batch->outgoing = calloc(count, sizeof(ace_outgoing *));
    return batch->records == NULL || batch->sendable == NULL || batch->outgoing == NULL
               ? ace_fail_memory(error)
               : ACE_OK;
}

static void free_batch(publish_batch *batch, size_t count)
{
    for (size_t i = 0; batch->records != NULL && i < count; i++) {
        ace_publish_clear(&batch->records[i]);
    }
    free(batch->records);
    free(batch->sendable);
    free((void *)batch->outgoing);
}

/* One that cannot be encoded has its result already; the others go out all the same. */
static void encode_batch(publish_batch *batch, const ace_target *target,
                         const acemq_message *const *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ace_publish *record = &batch->records[i];
        ace_error *error = NULL;
        ace_code code = ace_argument_present(messages[i], "message", &error);
        if (code == ACE_OK) {
            code = prepare(target, messages[i], record, &batch->outgoing[i], &error);
        }
        if (code == ACE_OK) {
            batch->sendable[batch->sendable_count++] = record;
        } else {
            record->code = code;
            record->error = error;
        }
    }
}

static void send_batch(publish_batch *batch, const ace_target *target)
{
    ace_error *error = NULL;
    ace_code code =
        ace_publisher_send_all(target->connection->publisher, lane_of(target), batch->sendable,
                               batch->sendable_count, target->cancel, &error);
    bool told = code == ACE_OK;
    for (size_t i = 0; i < batch->sendable_count && !told; i++) {
        told = batch->sendable[i]->code != ACE_OK;
    }
    /* It could not even begin: from a thread that may not wait, or without memory. */
    for (size_t i = 0; i < batch->sendable_count && !told; i++) {
        batch->sendable[i]->code = code;
        batch->sendable[i]->error = ace_error_copy(error);
    }
    ace_error_free(error);
}

static ace_code report_batch(publish_batch *batch, size_t count, acemq_status *statuses,
                             acemq_error **errors, ace_error **error)
{
    ace_code first = ACE_OK;
    for (size_t i = 0; i < count; i++) {
        ace_publish *record = &batch->records[i];
        ace_outgoing_end(batch->outgoing[i], record->code, record->error);
        if (record->code != ACE_OK && first == ACE_OK) {
            first = ace_error_move(error, ace_error_copy(record->error));
        }
        if (statuses != NULL) {
            statuses[i] = (acemq_status)record->code;
        }
        if (errors != NULL) {
            errors[i] = record->error;
            record->error = NULL;
        }
    }
    return first;
}

acemq_status acemq_publisher_send_batch(acemq_publisher *publisher, const char *routing_key,
                                        const acemq_message *const *messages, size_t count,
                                        int64_t timeout, acemq_status *statuses,
                                        acemq_error **errors, acemq_error **error)
{
    ace_target target;
    ace_code code = ace_target_of_publisher(publisher, routing_key, timeout, &target, error);
    if (code == ACE_OK) {
        code = ace_argument_present(messages, "messages", error);
    }
    if (code == ACE_OK) {
        code = ace_argument_range(count > INT64_MAX ? INT64_MAX : (int64_t)count, 1, 1000000,
                                  "count", error);
    }
    publish_batch batch = {.records = NULL};
    if (code == ACE_OK) {
        code = make_batch(&batch, count, error);
    }
    if (code == ACE_OK) {
        encode_batch(&batch, &target, messages, count);
        send_batch(&batch, &target);
        code = report_batch(&batch, count, statuses, errors, error);
    }
    free_batch(&batch, count);
    return (acemq_status)code;
}
