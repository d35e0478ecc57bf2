/* A delivery as one MessagePack map. */
#include "codec/message_pack.h"
#include "engine/delivery_state.h"

#include <string.h>

#define SHORT_TEXT  0xa0u /* MessagePack's head of a text under 32 bytes, with its length */
#define USUAL_BYTES 768   /* beside what the message has itself */

typedef struct packer {
    ace_buffer *buffer;
    bool failed; /* memory is gone; what follows does nothing */
} packer;

/* Ours are ASCII and short: one byte says both, and nothing has to be looked at. */
static inline void key(packer *pack, const char *name)
{
    size_t length = strlen(name);
    uint8_t *to = pack->failed ? NULL : ace_buffer_extend(pack->buffer, 1 + length);
    if (to == NULL) {
        pack->failed = true;
        return;
    }
    to[0] = (uint8_t)(SHORT_TEXT | length);
    memcpy(to + 1, name, length);
}

static void text(packer *pack, const char *name, ace_bytes value)
{
    key(pack, name);
    pack->failed = pack->failed || !ace_message_pack_text(pack->buffer, value);
}

static void nil(packer *pack, const char *name)
{
    key(pack, name);
    pack->failed = pack->failed || !ace_message_pack_nil(pack->buffer);
}

static void text_or_nil(packer *pack, const char *name, ace_bytes value)
{
    if (value.length == 0) {
        nil(pack, name);
    } else {
        text(pack, name, value);
    }
}

static void integer(packer *pack, const char *name, int64_t value)
{
    key(pack, name);
    pack->failed = pack->failed || !ace_message_pack_integer(pack->buffer, value);
}

static void integer_or_nil(packer *pack, const char *name, bool present, int64_t value)
{
    if (present) {
        integer(pack, name, value);
    } else {
        nil(pack, name);
    }
}

static void map(packer *pack, uint32_t pairs)
{
    pack->failed = pack->failed || !ace_message_pack_map(pack->buffer, pairs);
}

static void route(packer *pack, const ace_envelope *envelope)
{
    if (envelope->route == NULL) {
        nil(pack, "route");
        nil(pack, "routePosition");
        return;
    }
    key(pack, "route");
    pack->failed =
        pack->failed || !ace_message_pack_array(pack->buffer, (uint32_t)envelope->route_length);
    for (size_t i = 0; i < envelope->route_length && !pack->failed; i++) {
        pack->failed = !ace_message_pack_text(pack->buffer, envelope->route[i]);
    }
    integer(pack, "routePosition", envelope->route_position);
}

/* The members of `acemq envelope`, in its order. */
static void pack_envelope(packer *pack, const ace_envelope *envelope)
{
    key(pack, "envelope");
    map(pack, 17);
    text(pack, "id", envelope->id);
    text(pack, "type", envelope->type);
    integer(pack, "version", envelope->version);
    text(pack, "correlation", envelope->correlation);
    text_or_nil(pack, "causation", envelope->causation);
    integer(pack, "attempt", envelope->attempt);
    integer_or_nil(pack, "firstSeen", envelope->first_seen > 0, envelope->first_seen);
    text_or_nil(pack, "origin", envelope->origin);
    text_or_nil(pack, "error", envelope->error);
    text_or_nil(pack, "claim", envelope->claim);
    route(pack, envelope);
    text_or_nil(pack, "routeId", envelope->route_id);
    text_or_nil(pack, "replayedFrom", envelope->replayed_from);
    integer_or_nil(pack, "replayedAt", envelope->replayed_at_known, envelope->replayed_at);
    integer(pack, "replayCount", envelope->replay_count);
    text_or_nil(pack, "replyTo", envelope->reply_to);
}

static const struct {
    ace_property property;
    const char *name;
} properties[] = {
    {ACE_PROPERTY_MESSAGE_ID, "messageId"},
    {ACE_PROPERTY_CONTENT_TYPE, "contentType"},
    {ACE_PROPERTY_CONTENT_ENCODING, "contentEncoding"},
    {ACE_PROPERTY_DELIVERY_MODE, "deliveryMode"},
    {ACE_PROPERTY_PRIORITY, "priority"},
    {ACE_PROPERTY_REPLY_TO, "replyTo"},
    {ACE_PROPERTY_CORRELATION_ID, "correlationId"},
    {ACE_PROPERTY_TYPE, "type"},
    {ACE_PROPERTY_TIMESTAMP, "timestamp"},
    {ACE_PROPERTY_APP_ID, "appId"},
    {ACE_PROPERTY_EXPIRATION, "expiration"},
    {ACE_PROPERTY_USER_ID, "userId"},
};

static void pack_properties(packer *pack, const ace_delivery *delivery)
{
    const size_t count = sizeof properties / sizeof *properties;
    key(pack, "properties");
    map(pack, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        ace_bytes value;
        int64_t number;
        if (ace_delivery_property_text(delivery, properties[i].property, &value)) {
            text(pack, properties[i].name, value);
        } else if (ace_delivery_property_number(delivery, properties[i].property, &number)) {
            integer(pack, properties[i].name, number);
        } else {
            nil(pack, properties[i].name);
        }
    }
}

static ace_code pack_delivery(packer *pack, ace_delivery *delivery, ace_error **error)
{
    const ace_table *headers = ace_delivery_headers(delivery);
    if (headers == NULL) {
        return ace_fail_memory(error);
    }
    map(pack, 7);
    pack_envelope(pack, &delivery->envelope);
    key(pack, "headers");
    if (pack->failed) {
        return ace_fail_memory(error);
    }
    ace_code code = ace_message_pack_table(pack->buffer, &headers->table, 1, error);
    if (code != ACE_OK) {
        return code;
    }
    pack_properties(pack, delivery);
    text(pack, "queue", ace_bytes_of(delivery->queue_name));
    text(pack, "exchange", ace_bytes_of(delivery->exchange));
    text(pack, "routingKey", ace_bytes_of(delivery->routing_key));
    key(pack, "redelivered");
    pack->failed = pack->failed || !ace_message_pack_boolean(pack->buffer, delivery->redelivered);
    return pack->failed ? ace_fail_memory(error) : ACE_OK;
}

ace_code ace_delivery_pack(ace_delivery *delivery, ace_bytes *packed, ace_error **error)
{
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views == NULL) {
        return ace_fail_memory(error);
    }
    if (views->packed.length == 0) {
        packer pack = {.buffer = &views->packed};
        size_t room = USUAL_BYTES + 2 * delivery->content->properties_raw.length;
        ace_code code = ace_buffer_reserve(&views->packed, room)
                            ? pack_delivery(&pack, delivery, error)
                            : ace_fail_memory(error);
        if (code != ACE_OK) {
            ace_buffer_free(&views->packed);
            return code;
        }
    }
    *packed = (ace_bytes){views->packed.data, views->packed.length};
    return ACE_OK;
}
