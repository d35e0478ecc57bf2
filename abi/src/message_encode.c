#include "arguments.h"
#include "base/random.h"
#include "contract/publish.h"
#include "message.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

static ace_name default_origin;
static ace_bytes origin_bytes;
static pthread_once_t origin_once = PTHREAD_ONCE_INIT;

static void find_origin(void)
{
    char host[HOST_NAME_MAX + 1];
    if (gethostname(host, sizeof host) != 0) {
        host[0] = '\0';
    }
    host[sizeof host - 1] = '\0';
    ace_origin_default(host, &default_origin);
    origin_bytes = ace_bytes_of(default_origin.text);
}

static ace_bytes text_of(const acemq_message *message, ace_message_text which)
{
    if (which == ACE_TEXT_CONTENT_TYPE && message->texts[which] == NULL) {
        return ace_bytes_of(message->usual_type);
    }
    return ace_bytes_of(message->texts[which]);
}

static ace_bytes body_of(const acemq_message *message)
{
    return (ace_bytes){message->body->data, message->body->length};
}

static void fill_envelope(const acemq_message *message, ace_envelope *envelope)
{
    ace_envelope_init(envelope);
    envelope->id = text_of(message, ACE_TEXT_ID);
    envelope->type = text_of(message, ACE_TEXT_TYPE);
    envelope->correlation = text_of(message, ACE_TEXT_CORRELATION);
    envelope->causation = text_of(message, ACE_TEXT_CAUSATION);
    envelope->origin = text_of(message, ACE_TEXT_ORIGIN);
    envelope->version = message->version;
    envelope->route = message->route;
    envelope->route_length = message->route_length;
    envelope->route_position = message->route_position;
    envelope->route_id = text_of(message, ACE_TEXT_ROUTE_ID);
}

void ace_message_envelope(const acemq_message *message, const char *routing_key, ace_random *random,
                          int64_t now, char new_id[ACE_UUID_LENGTH + 1], ace_envelope *envelope)
{
    fill_envelope(message, envelope);
    ace_bytes drawn = {NULL, 0};
    if (envelope->id.length == 0) {
        ace_uuid_v4(random, new_id);
        drawn = (ace_bytes){(const uint8_t *)new_id, ACE_UUID_LENGTH};
    }
    (void)pthread_once(&origin_once, find_origin);
    ace_envelope_complete(envelope, ace_bytes_of(routing_key), drawn, origin_bytes, now);
}

static ace_code encode_envelope(const acemq_message *message, const ace_connection *connection,
                                const char *exchange, const char *routing_key, bool mandatory,
                                ace_publish *publish, ace_error **error)
{
    int64_t now = ace_clock_wall(connection->settings.clock);
    char new_id[ACE_UUID_LENGTH + 1];
    ace_envelope envelope;
    ace_message_envelope(message, routing_key, connection->settings.random, now, new_id, &envelope);
    envelope.texts_are_known = true; /* since they were set; the routing key is checked as a name */
    ace_publication publication = {.envelope = &envelope,
                                   .headers = &message->headers.table,
                                   .exchange = exchange,
                                   .routing_key = routing_key,
                                   .content_type = text_of(message, ACE_TEXT_CONTENT_TYPE),
                                   .transient = message->transient,
                                   .priority = message->priority,
                                   .expiration = message->expiration,
                                   .reply_to = text_of(message, ACE_TEXT_REPLY_TO),
                                   .now = now};
    return ace_publish_encode_publication(publish, &publication, mandatory, body_of(message),
                                          ace_link_frame_max(connection->publishing),
                                          connection->settings.body_limit, error);
}

static void set_property(const acemq_message *message, ace_message_text which, amqp_flags_t flag,
                         amqp_basic_properties_t *properties, amqp_bytes_t *property)
{
    if (message->texts[which] != NULL) {
        *property = ace_bytes_to_amqp(text_of(message, which));
        properties->_flags |= flag;
    }
}

static void fill_verbatim(const acemq_message *message, amqp_basic_properties_t *properties)
{
    *properties =
        (amqp_basic_properties_t){._flags = AMQP_BASIC_DELIVERY_MODE_FLAG,
                                  .delivery_mode = message->transient ? AMQP_DELIVERY_NONPERSISTENT
                                                                      : AMQP_DELIVERY_PERSISTENT};
    if (message->headers.table.num_entries > 0) {
        properties->headers = message->headers.table;
        properties->_flags |= AMQP_BASIC_HEADERS_FLAG;
    }
    if (message->priority >= 0) {
        properties->priority = (uint8_t)message->priority;
        properties->_flags |= AMQP_BASIC_PRIORITY_FLAG;
    }
    if (message->timestamp >= 0) {
        properties->timestamp = (uint64_t)message->timestamp;
        properties->_flags |= AMQP_BASIC_TIMESTAMP_FLAG;
    }
    set_property(message, ACE_TEXT_CONTENT_TYPE, AMQP_BASIC_CONTENT_TYPE_FLAG, properties,
                 &properties->content_type);
    set_property(message, ACE_TEXT_CONTENT_ENCODING, AMQP_BASIC_CONTENT_ENCODING_FLAG, properties,
                 &properties->content_encoding);
    set_property(message, ACE_TEXT_CORRELATION_ID, AMQP_BASIC_CORRELATION_ID_FLAG, properties,
                 &properties->correlation_id);
    set_property(message, ACE_TEXT_REPLY_TO, AMQP_BASIC_REPLY_TO_FLAG, properties,
                 &properties->reply_to);
    set_property(message, ACE_TEXT_EXPIRATION, AMQP_BASIC_EXPIRATION_FLAG, properties,
                 &properties->expiration);
    set_property(message, ACE_TEXT_MESSAGE_ID, AMQP_BASIC_MESSAGE_ID_FLAG, properties,
                 &properties->message_id);
    set_property(message, ACE_TEXT_TYPE_PROPERTY, AMQP_BASIC_TYPE_FLAG, properties,
                 &properties->type);
    set_property(message, ACE_TEXT_USER_ID, AMQP_BASIC_USER_ID_FLAG, properties,
                 &properties->user_id);
    set_property(message, ACE_TEXT_APP_ID, AMQP_BASIC_APP_ID_FLAG, properties, &properties->app_id);
}

static ace_code encode_verbatim(const acemq_message *message, const ace_connection *connection,
                                const char *exchange, const char *routing_key, bool mandatory,
                                ace_publish *publish, ace_error **error)
{
    uint32_t frame_max = ace_link_frame_max(connection->publishing);
    amqp_basic_properties_t properties;
    fill_verbatim(message, &properties);
    ace_code code = ace_properties_sendable(&properties, frame_max, error);
    if (code == ACE_OK) {
        code =
            ace_publish_encode(publish, exchange, routing_key, mandatory, &properties,
                               body_of(message), frame_max, connection->settings.body_limit, error);
    }
    return code;
}

ace_code ace_message_encode(const acemq_message *message, const ace_connection *connection,
                            const char *exchange, const char *routing_key, bool mandatory,
                            ace_publish *publish, ace_error **error)
{
    ace_code code = (ace_code)acemq_message_check(message, error);
    if (code == ACE_OK) {
        code = ace_headers_check(&message->headers.table, &connection->settings.headers, error);
    }
    if (code != ACE_OK) {
        return code;
    }
    return message->verbatim ? encode_verbatim(message, connection, exchange, routing_key,
                                               mandatory, publish, error)
                             : encode_envelope(message, connection, exchange, routing_key,
                                               mandatory, publish, error);
}
