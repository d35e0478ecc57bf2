/* The properties of a message being built. */
#include "arguments.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>

#define LONGEST_EXPIRATION INT64_C(4294967295) /* the most the broker takes */

void acemq_message_set_content_type(acemq_message *message, const char *content_type)
{
    if (message != NULL) {
        ace_message_set_text(message, ACE_TEXT_CONTENT_TYPE, "content type", content_type);
    }
}

void acemq_message_set_reply_to(acemq_message *message, const char *reply_to)
{
    if (message != NULL) {
        ace_message_set_text(message, ACE_TEXT_REPLY_TO, "reply to", reply_to);
    }
}

static bool in_range(acemq_message *message, int64_t value, int64_t most, const char *field)
{
    ace_error *error = NULL;
    if (ace_argument_range(value, 0, most, field, &error) != ACE_OK) {
        ace_message_keep(message, error);
        return false;
    }
    return true;
}

void acemq_message_set_priority(acemq_message *message, int priority)
{
    if (message != NULL && in_range(message, priority, UINT8_MAX, "priority")) {
        message->priority = priority;
    }
}

void acemq_message_set_expiration(acemq_message *message, int64_t milliseconds)
{
    if (message == NULL || !in_range(message, milliseconds, LONGEST_EXPIRATION, "expiration")) {
        return;
    }
    message->expiration = milliseconds;
    if (message->verbatim) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, milliseconds);
        ace_message_set_text(message, ACE_TEXT_EXPIRATION, "expiration", text);
    }
}

void acemq_message_set_transient(acemq_message *message)
{
    if (message != NULL) {
        message->transient = true;
    }
}

static bool is_verbatim(acemq_message *message)
{
    if (message == NULL) {
        return false;
    }
    if (!message->verbatim) {
        ace_message_fail(message, ACE_STATE, "property", "can be set on a verbatim message only");
        return false;
    }
    return true;
}

void acemq_message_set_property(acemq_message *message, acemq_property property, const char *text)
{
    static const struct {
        ace_message_text text;
        const char *field;
    } places[] = {
        [ACEMQ_PROPERTY_CONTENT_TYPE] = {ACE_TEXT_CONTENT_TYPE, "content type"},
        [ACEMQ_PROPERTY_CONTENT_ENCODING] = {ACE_TEXT_CONTENT_ENCODING, "content encoding"},
        [ACEMQ_PROPERTY_CORRELATION_ID] = {ACE_TEXT_CORRELATION_ID, "correlation id"},
        [ACEMQ_PROPERTY_REPLY_TO] = {ACE_TEXT_REPLY_TO, "reply to"},
        [ACEMQ_PROPERTY_EXPIRATION] = {ACE_TEXT_EXPIRATION, "expiration"},
        [ACEMQ_PROPERTY_MESSAGE_ID] = {ACE_TEXT_MESSAGE_ID, "message id"},
        [ACEMQ_PROPERTY_TYPE] = {ACE_TEXT_TYPE_PROPERTY, "type"},
        [ACEMQ_PROPERTY_USER_ID] = {ACE_TEXT_USER_ID, "user id"},
        [ACEMQ_PROPERTY_APP_ID] = {ACE_TEXT_APP_ID, "app id"},
    };
    if (!is_verbatim(message)) {
        return;
    }
    if ((size_t)property >= sizeof places / sizeof places[0] || places[property].field == NULL) {
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "property", "is none that holds a text");
        return;
    }
    ace_message_set_text(message, places[property].text, places[property].field, text);
}

void acemq_message_set_property_number(acemq_message *message, acemq_property property,
                                       int64_t number)
{
    if (!is_verbatim(message)) {
        return;
    }
    switch (property) {
    case ACEMQ_PROPERTY_DELIVERY_MODE:
        if (number == 1 || number == 2) {
            message->transient = number == 1;
        } else {
            ace_message_fail(message, ACE_INVALID_ARGUMENT, "delivery mode", "is neither 1 nor 2");
        }
        break;
    case ACEMQ_PROPERTY_PRIORITY:
        if (in_range(message, number, UINT8_MAX, "priority")) {
            message->priority = (int)number;
        }
        break;
    case ACEMQ_PROPERTY_TIMESTAMP:
        if (in_range(message, number, INT64_MAX, "timestamp")) {
            message->timestamp = number;
        }
        break;
    default:
        ace_message_fail(message, ACE_INVALID_ARGUMENT, "property", "is none that holds a number");
    }
}
