#include "outgoing.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static ace_passenger passenger_of(const ace_outgoing *outgoing)
{
    return (ace_passenger){.side = ACE_SIDE_PUBLISHING,
                           .subject = outgoing->message,
                           .exchange = outgoing->exchange,
                           .routing_key = outgoing->routing_key};
}

static void free_outgoing(ace_outgoing *outgoing)
{
    acemq_message_free(outgoing->message);
    free(outgoing->exchange);
    free(outgoing->routing_key);
    ace_error_free(outgoing->error);
    free(outgoing);
}

/* Whoever looks at it wants to know which message it is. */
static bool give_id(acemq_message *message, const ace_connection *connection)
{
    char id[ACE_UUID_LENGTH + 1];
    if (message->texts[ACE_TEXT_ID] != NULL) {
        return true;
    }
    ace_uuid_v4(connection->settings.random, id);
    message->owns_texts = true;
    message->texts[ACE_TEXT_ID] = strdup(id);
    return message->texts[ACE_TEXT_ID] != NULL;
}

static ace_outgoing *make_outgoing(const ace_connection *connection, const char *exchange,
                                   const char *routing_key, const acemq_message *message)
{
    ace_outgoing *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->message = ace_message_copy(message);
    made->exchange = strdup(exchange);
    made->routing_key = strdup(routing_key);
    if (made->message == NULL || made->exchange == NULL || made->routing_key == NULL ||
        !give_id(made->message, connection)) {
        free_outgoing(made);
        return NULL;
    }
    return made;
}

static ace_code enter(ace_outgoing *outgoing, ace_connection *connection, ace_error **error)
{
    ace_passenger passenger = passenger_of(outgoing);
    char *reason;
    int answer =
        ace_passage_enter(&outgoing->passage, &connection->interceptors, &passenger, &reason);
    ace_code code = ACE_OK;
    if (answer != 0) {
        code = outgoing->passage.chain == NULL
                   ? ace_fail_memory(error)
                   : ace_fail(error, ACE_REFUSED, "nothing was sent: %s",
                              reason == NULL ? "an interceptor refused it" : reason);
    }
    free(reason);
    return code;
}

ace_code ace_outgoing_begin(ace_connection *connection, const char *exchange,
                            const char *routing_key, const acemq_message *message,
                            ace_outgoing **outgoing, ace_error **error)
{
    *outgoing = NULL;
    if (!ace_interceptors_any(&connection->interceptors, ACE_SIDE_PUBLISHING) ||
        message->verbatim || message->error != NULL) {
        return ACE_OK;
    }
    ace_outgoing *made = make_outgoing(connection, exchange, routing_key, message);
    if (made == NULL) {
        return ace_fail_memory(error);
    }
    ace_error *failure = NULL;
    ace_code code = enter(made, connection, &failure);
    if (code != ACE_OK) {
        ace_outgoing_end(made, code, failure);
        return ace_error_move(error, failure);
    }
    *outgoing = made;
    return ACE_OK;
}

void ace_outgoing_ended(ace_outgoing *outgoing, ace_code code, const ace_error *error)
{
    if (outgoing != NULL) {
        outgoing->code = code;
        outgoing->error = ace_error_copy(error);
    }
}

void ace_outgoing_tell(void *ended)
{
    ace_outgoing *outgoing = ended;
    if (outgoing == NULL) {
        return;
    }
    ace_passenger passenger = passenger_of(outgoing);
    ace_passage_end end = {.failed = outgoing->code != ACE_OK,
                           .after = outgoing->code == ACE_OK,
                           .error = outgoing->error};
    ace_passage_leave(&outgoing->passage, &passenger, &end);
    free_outgoing(outgoing);
}

void ace_outgoing_end(ace_outgoing *outgoing, ace_code code, const ace_error *error)
{
    ace_outgoing_ended(outgoing, code, error);
    ace_outgoing_tell(outgoing);
}

ace_code ace_outgoing_check(ace_error **error)
{
    return ace_interceptor_is_inside(ACE_SIDE_PUBLISHING)
               ? ace_fail(error, ACE_FROM_HANDLER,
                          "a publish from inside an interceptor of publishing would meet itself")
               : ACE_OK;
}
