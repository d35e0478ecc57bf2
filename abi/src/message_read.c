/* Reading a message that is being built, and copying it. */
#include "message.h"

#include "arguments.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const acemq_message *message, ace_message_text which)
{
    return message == NULL ? NULL : message->texts[which];
}

const char *acemq_message_id(const acemq_message *message)
{
    return text_of(message, ACE_TEXT_ID);
}

const char *acemq_message_type(const acemq_message *message)
{
    return text_of(message, ACE_TEXT_TYPE);
}

int32_t acemq_message_version(const acemq_message *message)
{
    return message == NULL ? 1 : message->version;
}

const char *acemq_message_correlation(const acemq_message *message)
{
    return text_of(message, ACE_TEXT_CORRELATION);
}

const char *acemq_message_causation(const acemq_message *message)
{
    return text_of(message, ACE_TEXT_CAUSATION);
}

const char *acemq_message_origin(const acemq_message *message)
{
    return text_of(message, ACE_TEXT_ORIGIN);
}

const char *acemq_message_content_type(const acemq_message *message)
{
    const char *text = text_of(message, ACE_TEXT_CONTENT_TYPE);
    return message == NULL || text != NULL ? text : message->usual_type;
}

const acemq_table *acemq_message_headers(const acemq_message *message)
{
    return message == NULL ? NULL : &message->headers;
}

acemq_bytes acemq_message_body(const acemq_message *message)
{
    return message == NULL ? (acemq_bytes){NULL, 0}
                           : (acemq_bytes){message->body->data, message->body->length};
}

static bool copy_texts(acemq_message *to, const acemq_message *from)
{
    for (size_t i = 0; i < ACE_TEXT_COUNT; i++) {
        if (from->texts[i] != NULL && (to->texts[i] = strdup(from->texts[i])) == NULL) {
            return false;
        }
    }
    return true;
}

/* The steps are views into the route's text. */
static bool copy_route(acemq_message *to, const acemq_message *from)
{
    if (from->route == NULL) {
        return true;
    }
    to->route = malloc(from->route_length * sizeof *to->route);
    if (to->route == NULL) {
        return false;
    }
    const char *base = from->texts[ACE_TEXT_ROUTE];
    for (size_t i = 0; i < from->route_length; i++) {
        size_t offset = (size_t)((const char *)from->route[i].data - base);
        to->route[i] =
            (ace_bytes){(const uint8_t *)to->texts[ACE_TEXT_ROUTE] + offset, from->route[i].length};
    }
    return true;
}

acemq_message *ace_message_copy(const acemq_message *message)
{
    acemq_message *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    *copy = (acemq_message){.body = ace_body_keep(message->body),
                            .owns_texts = true,
                            .usual_type = message->usual_type,
                            .verbatim = message->verbatim,
                            .route_length = message->route_length,
                            .route_position = message->route_position,
                            .version = message->version,
                            .priority = message->priority,
                            .expiration = message->expiration,
                            .transient = message->transient,
                            .timestamp = message->timestamp};
    copy->headers.refuses_reserved = message->headers.refuses_reserved;
    if (!copy_texts(copy, message) || !copy_route(copy, message) ||
        ace_table_set_all(&copy->headers, &message->headers.table, NULL) != ACE_OK) {
        acemq_message_free(copy);
        return NULL;
    }
    return copy;
}
