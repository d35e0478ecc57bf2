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

static acemq_status next(acemq_py_turn *turn, void *source, int kind, int64_t timeout)
{
    turn->delivery = NULL;
    turn->error = NULL;
    acemq_status status = take(source, kind, timeout, &turn->delivery, &turn->error);
    if (status == ACEMQ_OK) {
        acemq_bytes body = acemq_delivery_body(turn->delivery);
        turn->body = body.data;
        turn->length = body.length;
    }
    return status;
}

acemq_status acemq_py_next(acemq_py_turn *turn, void *source, int kind, int64_t timeout)
{
    turn->settled = ACEMQ_OK;
    return next(turn, source, kind, timeout);
}

acemq_status acemq_py_accept_and_next(acemq_py_turn *turn, void *source, int kind, int64_t timeout)
{
    turn->settle_error = NULL;
    turn->settled =
        acemq_delivery_settle(turn->delivery, ACEMQ_ACCEPTED, NULL, &turn->settle_error);
    acemq_status status = next(turn, source, kind, timeout);
    return status == ACEMQ_OK ? turn->settled : status;
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
                                  const char *type, int64_t timeout, acemq_receipt **receipt,
                                  acemq_error **error)
{
    acemq_message *message = acemq_message_new(body, length);
    if (message != NULL) {
        acemq_message_set_content_type(message, content_type);
    }
    if (message != NULL && type != NULL) {
        acemq_message_set_type(message, type);
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

/* As coarse as the kernel's tick: what is waited for is milliseconds, and this is asked for each
 * receipt. */
static int64_t now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* A thread that should not be there is told so, instead of taking what another one holds. */
static int enter(acemq_py_window *window)
{
    return __atomic_exchange_n(&window->busy, 1, __ATOMIC_ACQUIRE) == 0;
}

static void leave(acemq_py_window *window)
{
    __atomic_store_n(&window->busy, 0, __ATOMIC_RELEASE);
}

static void push(acemq_py_window *window, acemq_receipt *receipt)
{
    window->receipts[(window->first + window->count) % window->size] = receipt;
    window->count++;
}

static acemq_receipt *pop(acemq_py_window *window)
{
    acemq_receipt *receipt = window->receipts[window->first];
    window->first = (window->first + 1) % window->size;
    window->count--;
    window->ended++;
    return receipt;
}

static acemq_status begin_in(acemq_py_window *window, const char *routing_key, const void *body,
                             size_t length, const char *content_type, const char *type)
{
    if (window->count >= window->size) {
        return ACEMQ_PY_FULL;
    }
    if (!acemq_publisher_has_room(window->publisher, length)) {
        return ACEMQ_PY_NO_ROOM;
    }
    acemq_receipt *receipt = NULL;
    acemq_status status = acemq_py_begin_plain(window->publisher, routing_key, body, length,
                                               content_type, type, 0, &receipt, &window->error);
    if (status == ACEMQ_OK) {
        push(window, receipt);
    }
    return status;
}

acemq_status acemq_py_window_begin(acemq_py_window *window, const char *routing_key,
                                   const void *body, size_t length, const char *content_type,
                                   const char *type)
{
    if (!enter(window)) {
        return ACEMQ_PY_BUSY;
    }
    acemq_status status = begin_in(window, routing_key, body, length, content_type, type);
    leave(window);
    return status;
}

acemq_status acemq_py_window_add(acemq_py_window *window, acemq_receipt *receipt)
{
    if (!enter(window)) {
        return ACEMQ_PY_BUSY;
    }
    acemq_status status = ACEMQ_PY_FULL;
    if (window->count < window->size) {
        push(window, receipt);
        status = ACEMQ_OK;
    }
    leave(window);
    return status;
}

static acemq_status collect(acemq_py_window *window, size_t count, int64_t timeout)
{
    int64_t began = now();
    while (count > 0 && window->count > 0) {
        int64_t spent = now() - began;
        acemq_status status = acemq_receipt_wait(
            window->receipts[window->first], spent < timeout ? timeout - spent : 0, &window->error);
        if (status != ACEMQ_OK) {
            return status;
        }
        acemq_receipt_free(pop(window));
        count--;
    }
    return ACEMQ_OK;
}

acemq_status acemq_py_window_collect(acemq_py_window *window, size_t count, int64_t timeout)
{
    if (!enter(window)) {
        return ACEMQ_PY_BUSY;
    }
    acemq_status status = collect(window, count, timeout);
    leave(window);
    return status;
}

acemq_receipt *acemq_py_window_take(acemq_py_window *window)
{
    if (!enter(window)) {
        return NULL;
    }
    acemq_receipt *receipt = window->count > 0 ? pop(window) : NULL;
    leave(window);
    return receipt;
}
