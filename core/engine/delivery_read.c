/* What a delivery tells its receiver. */
#include "engine/delivery_state.h"

#include <string.h>

const ace_envelope *ace_delivery_envelope(const ace_delivery *delivery)
{
    return &delivery->envelope;
}

ace_bytes ace_delivery_body(const ace_delivery *delivery)
{
    return delivery->body;
}

const char *ace_delivery_queue(const ace_delivery *delivery)
{
    return delivery->queue_name;
}

const char *ace_delivery_exchange(const ace_delivery *delivery)
{
    return delivery->exchange;
}

const char *ace_delivery_routing_key(const ace_delivery *delivery)
{
    return delivery->routing_key;
}

bool ace_delivery_redelivered(const ace_delivery *delivery)
{
    return delivery->redelivered;
}

const ace_content *ace_delivery_content(const ace_delivery *delivery)
{
    return delivery->content;
}

const amqp_basic_properties_t *ace_delivery_properties(const ace_delivery *delivery)
{
    return delivery->content->properties;
}

static amqp_flags_t text_property(const amqp_basic_properties_t *properties, ace_property property,
                                  amqp_bytes_t *value)
{
    switch (property) {
    case ACE_PROPERTY_CONTENT_TYPE:
        *value = properties->content_type;
        return AMQP_BASIC_CONTENT_TYPE_FLAG;
    case ACE_PROPERTY_CONTENT_ENCODING:
        *value = properties->content_encoding;
        return AMQP_BASIC_CONTENT_ENCODING_FLAG;
    case ACE_PROPERTY_CORRELATION_ID:
        *value = properties->correlation_id;
        return AMQP_BASIC_CORRELATION_ID_FLAG;
    case ACE_PROPERTY_REPLY_TO:
        *value = properties->reply_to;
        return AMQP_BASIC_REPLY_TO_FLAG;
    case ACE_PROPERTY_EXPIRATION:
        *value = properties->expiration;
        return AMQP_BASIC_EXPIRATION_FLAG;
    case ACE_PROPERTY_MESSAGE_ID:
        *value = properties->message_id;
        return AMQP_BASIC_MESSAGE_ID_FLAG;
    case ACE_PROPERTY_TYPE:
        *value = properties->type;
        return AMQP_BASIC_TYPE_FLAG;
    case ACE_PROPERTY_USER_ID:
        *value = properties->user_id;
        return AMQP_BASIC_USER_ID_FLAG;
    case ACE_PROPERTY_APP_ID:
        *value = properties->app_id;
        return AMQP_BASIC_APP_ID_FLAG;
    default:
        return 0;
    }
}

bool ace_delivery_property_text(const ace_delivery *delivery, ace_property property,
                                ace_bytes *text)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    amqp_bytes_t value;
    if ((properties->_flags & text_property(properties, property, &value)) == 0) {
        return false;
    }
    *text = ace_bytes_from_amqp(value);
    return true;
}

const char *ace_delivery_property(const ace_delivery *delivery, ace_property property)
{
    ace_bytes text;
    if (!ace_delivery_property_text(delivery, property, &text)) {
        return NULL;
    }
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views == NULL) {
        return NULL;
    }
    if (views->property_texts == NULL) {
        views->property_texts =
            ace_arena_take(&views->copies, (ACE_PROPERTY_APP_ID + 1) * sizeof(const char *));
    }
    if (views->property_texts == NULL) {
        return NULL;
    }
    const char **copy = &views->property_texts[property];
    if (*copy == NULL) {
        *copy = ace_arena_text(&views->copies, (const char *)text.data, text.length);
    }
    return *copy;
}

bool ace_delivery_property_number(const ace_delivery *delivery, ace_property property,
                                  int64_t *number)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    amqp_flags_t flags = properties->_flags;
    if (property == ACE_PROPERTY_DELIVERY_MODE && (flags & AMQP_BASIC_DELIVERY_MODE_FLAG) != 0) {
        *number = properties->delivery_mode;
        return true;
    }
    if (property == ACE_PROPERTY_PRIORITY && (flags & AMQP_BASIC_PRIORITY_FLAG) != 0) {
        *number = properties->priority;
        return true;
    }
    if (property == ACE_PROPERTY_TIMESTAMP && (flags & AMQP_BASIC_TIMESTAMP_FLAG) != 0) {
        uint64_t seconds = properties->timestamp;
        *number = seconds > INT64_MAX ? INT64_MAX : (int64_t)seconds;
        return true;
    }
    return false;
}

static const amqp_table_t *headers_of(const ace_delivery *delivery)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    return (properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0 ? &properties->headers : NULL;
}

static ace_table *copy_of(const amqp_table_t *headers)
{
    ace_table *table = ace_table_new();
    if (table != NULL && headers != NULL &&
        ace_table_copy_arrived(table, headers, NULL) != ACE_OK) {
        ace_table_delete(table);
        table = NULL;
    }
    return table;
}

const ace_table *ace_delivery_all_headers(const ace_delivery *delivery)
{
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views != NULL && views->all_headers == NULL) {
        views->all_headers = copy_of(headers_of(delivery));
    }
    return views == NULL ? NULL : views->all_headers;
}

/* Without those that are the library's own, mostly all of them. */
static ace_table *copy_application_headers(ace_delivery_views *views, const amqp_table_t *headers)
{
    int reserved = 0;
    for (int i = 0; headers != NULL && i < headers->num_entries; i++) {
        reserved += ace_header_is_reserved(ace_bytes_from_amqp(headers->entries[i].key));
    }
    if (headers == NULL || reserved == headers->num_entries) {
        return ace_table_new();
    }
    size_t count = (size_t)(headers->num_entries - reserved);
    amqp_table_t kept = {0, ace_arena_take(&views->copies, count * sizeof *kept.entries)};
    if (kept.entries == NULL) {
        return NULL;
    }
    int position = 0;
    const amqp_table_entry_t *entry;
    while ((entry = ace_application_header_next(headers, &position)) != NULL) {
        kept.entries[kept.num_entries++] = *entry;
    }
    return copy_of(&kept);
}

const ace_table *ace_delivery_headers(const ace_delivery *delivery)
{
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views != NULL && views->headers == NULL) {
        views->headers = copy_application_headers(views, headers_of(delivery));
    }
    return views == NULL ? NULL : views->headers;
}

void *ace_delivery_attachment(const ace_delivery *delivery)
{
    return delivery->views == NULL ? NULL : delivery->views->attachment;
}

void ace_delivery_attach(ace_delivery *delivery, void *attachment,
                         void (*release)(void *attachment))
{
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views == NULL || views->attachment != NULL) {
        release(attachment);
        return;
    }
    views->attachment = attachment;
    views->release_attachment = release;
}
