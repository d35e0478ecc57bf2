#include <acemq/acemq.h>

#include <time.h>

#include "glue.h"

static acemq_status take(void *source, int kind, int64_t timeout, acemq_delivery **delivery,
                         acemq_error **error)
{
    switch (kind) {
    case ACEMQ_PY_GROUP:
        return acemq_group_next(source, timeout, delivery, error);
    case ACEMQ_PY_ORDERED:
        return acemq_ordered_next(source, timeout, delivery, error);
    default:
        return acemq_consumer_next(source, timeout, delivery, error);
    }
}

acemq_status acemq_py_next(acemq_py_turn *turn, void *source, int kind, acemq_delivery *settled,
                           int outcome, int64_t timeout)
{
    turn->delivery = NULL;
    turn->error = NULL;
    turn->settle_error = NULL;
    if (settled != NULL) {
        (void)acemq_delivery_settle(settled, (acemq_outcome)outcome, NULL, &turn->settle_error);
    }
    acemq_status status = take(source, kind, timeout, &turn->delivery, &turn->error);
    if (status == ACEMQ_OK) {
        acemq_bytes body = acemq_delivery_body(turn->delivery);
        turn->body = body.data;
        turn->length = body.length;
    }
    return status;
}

static void set_properties(acemq_message *message, const acemq_py_fields *fields)
{
    if (fields->content_type != NULL) {
        acemq_message_set_content_type(message, fields->content_type);
    }
    if (fields->reply_to != NULL) {
        acemq_message_set_reply_to(message, fields->reply_to);
    }
    if (fields->priority >= 0) {
        acemq_message_set_priority(message, fields->priority);
    }
    if (fields->expiration >= 0) {
        acemq_message_set_expiration(message, fields->expiration);
    }
    if (fields->transient > 0) {
        acemq_message_set_transient(message);
    }
}

/* What is set by name goes over what comes from the parent. */
static void set_envelope(acemq_message *message, const acemq_py_fields *fields)
{
    if (fields->parent != NULL) {
        acemq_message_caused_by(message, fields->parent);
    }
    if (fields->id != NULL) {
        acemq_message_set_id(message, fields->id);
    }
    if (fields->type != NULL) {
        acemq_message_set_type(message, fields->type);
    }
    if (fields->correlation != NULL) {
        acemq_message_set_correlation(message, fields->correlation);
    }
    if (fields->causation != NULL) {
        acemq_message_set_causation(message, fields->causation);
    }
    if (fields->origin != NULL) {
        acemq_message_set_origin(message, fields->origin);
    }
    if (fields->version >= 0) {
        acemq_message_set_version(message, fields->version);
    }
}

acemq_message *acemq_py_message(const void *body, size_t length, const acemq_py_fields *fields)
{
    acemq_message *message = fields->codec == NULL
                                 ? acemq_message_new(body, length)
                                 : acemq_message_encoded(fields->codec, body, length);
    if (message == NULL) {
        return NULL;
    }
    if (fields->headers != NULL) {
        acemq_message_set_headers(message, fields->headers);
    }
    set_envelope(message, fields);
    set_properties(message, fields);
    return message;
}

static acemq_status begin(acemq_publisher *publisher, const char *routing_key,
                          acemq_message *message, int64_t timeout, acemq_receipt **receipt,
                          acemq_error **error)
{
    acemq_status status =
        acemq_publisher_begin(publisher, routing_key, message, timeout, receipt, error);
    acemq_message_free(message);
    return status;
}

acemq_status acemq_py_begin(acemq_publisher *publisher, const char *routing_key, const void *body,
                            size_t length, const acemq_py_fields *fields, int64_t timeout,
                            acemq_receipt **receipt, acemq_error **error)
{
    return begin(publisher, routing_key, acemq_py_message(body, length, fields), timeout, receipt,
                 error);
}

acemq_status acemq_py_begin_plain(acemq_publisher *publisher, const char *routing_key,
                                  const void *body, size_t length, const char *content_type,
                                  const char *type, const char *id, int64_t timeout,
                                  acemq_receipt **receipt, acemq_error **error)
{
    acemq_message *message = acemq_message_new(body, length);
    if (message != NULL) {
        acemq_message_set_content_type(message, content_type);
        acemq_message_set_type(message, type);
        acemq_message_set_id(message, id);
    }
    return begin(publisher, routing_key, message, timeout, receipt, error);
}

acemq_status acemq_py_submit(acemq_publisher *publisher, const char *routing_key, const void *body,
                             size_t length, const acemq_py_fields *fields, int64_t timeout,
                             int64_t token, acemq_error **error)
{
    acemq_message *message = acemq_py_message(body, length, fields);
    acemq_status status =
        acemq_publisher_submit(publisher, routing_key, message, timeout, token, error);
    acemq_message_free(message);
    return status;
}

static int64_t now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

size_t acemq_py_collect(acemq_receipt **receipts, size_t count, int64_t timeout,
                        acemq_status *status, acemq_error **error)
{
    int64_t began = now();
    *status = ACEMQ_OK;
    for (size_t ended = 0; ended < count; ended++) {
        int64_t spent = now() - began;
        *status = acemq_receipt_wait(receipts[ended], spent < timeout ? timeout - spent : 0, error);
        if (*status != ACEMQ_OK) {
            return ended;
        }
        acemq_receipt_free(receipts[ended]);
        receipts[ended] = NULL;
    }
    return count;
}
