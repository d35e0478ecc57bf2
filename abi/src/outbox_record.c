#include "outbox_record.h"

#include "arguments.h"

#include <stdlib.h>

static ace_code check_text(const acemq_message *message, ace_error **error)
{
    const struct {
        bool is_there;
        const char *field;
    } without_a_place[] = {
        {message->verbatim, "verbatim"},
        {message->transient, "transient"},
        {message->priority >= 0, "priority"},
        {message->expiration >= 0, "expiration"},
        {message->texts[ACE_TEXT_REPLY_TO] != NULL, "reply_to"},
    };
    for (size_t i = 0; i < sizeof without_a_place / sizeof *without_a_place; i++) {
        if (without_a_place[i].is_there) {
            ace_fail(error, ACE_INVALID_ARGUMENT, "%s: an outbox has no place for it",
                     without_a_place[i].field);
            ace_error_field(error, without_a_place[i].field, 0);
            return ACE_INVALID_ARGUMENT;
        }
    }
    return ACE_OK;
}

static ace_code check_arguments(const acemq_message *message, const char *exchange,
                                const char *routing_key, ace_error **error)
{
    ace_code code = ace_argument_text(exchange, "exchange", error);
    if (code == ACE_OK) {
        code = ace_argument_text(routing_key, "routing_key", error);
    }
    if (code == ACE_OK) {
        code = (ace_code)acemq_message_check(message, error);
    }
    return code == ACE_OK ? check_text(message, error) : code;
}

ace_code ace_message_record_make(const acemq_message *message, const char *exchange,
                                 const char *routing_key, int64_t created, ace_message_record *made,
                                 ace_error **error)
{
    *made = (ace_message_record){.headers = NULL};
    ace_code code = check_arguments(message, exchange, routing_key, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_envelope envelope;
    ace_message_envelope(message, routing_key, ace_random_system(), created / 1000, made->new_id,
                         &envelope);
    code = ace_envelope_check(&envelope, error);
    if (code == ACE_OK) {
        code = ace_outbox_headers_write(&envelope, &message->headers.table, created / 1000,
                                        &made->headers, error);
    }
    if (code == ACE_OK) {
        made->record =
            (ace_outbox_record){.id = envelope.id,
                                .exchange = ace_bytes_of(exchange),
                                .routing_key = ace_bytes_of(routing_key),
                                .content_type = ace_bytes_of(acemq_message_content_type(message)),
                                .headers = ace_bytes_of(made->headers),
                                .body = {message->body->data, message->body->length},
                                .created = created};
        code = ace_outbox_record_check(&made->record, error);
    }
    if (code != ACE_OK) {
        ace_message_record_clear(made);
    }
    return code;
}

void ace_message_record_clear(ace_message_record *made)
{
    free(made->headers);
    made->headers = NULL;
}
