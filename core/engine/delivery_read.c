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

bool ace_delivery_property_text(const ace_delivery *delivery, ace_property property,
                                ace_bytes *text)
{
    const amqp_basic_properties_t *properties = delivery->content->properties;
    const struct {
        ace_property property;
        amqp_flags_t flag;
        const amqp_bytes_t *value;
    } texts[] = {
        {ACE_PROPERTY_CONTENT_TYPE, AMQP_BASIC_CONTENT_TYPE_FLAG, &properties->content_type},
        {ACE_PROPERTY_CONTENT_ENCODING, AMQP_BASIC_CONTENT_ENCODING_FLAG,
         &properties->content_encoding},
        {ACE_PROPERTY_CORRELATION_ID, AMQP_BASIC_CORRELATION_ID_FLAG, &properties->correlation_id},
        {ACE_PROPERTY_REPLY_TO, AMQP_BASIC_REPLY_TO_FLAG, &properties->reply_to},
        {ACE_PROPERTY_EXPIRATION, AMQP_BASIC_EXPIRATION_FLAG, &properties->expiration},
        {ACE_PROPERTY_MESSAGE_ID, AMQP_BASIC_MESSAGE_ID_FLAG, &properties->message_id},
        {ACE_PROPERTY_TYPE, AMQP_BASIC_TYPE_FLAG, &properties->type},
        {ACE_PROPERTY_USER_ID, AMQP_BASIC_USER_ID_FLAG, &properties->user_id},
        {ACE_PROPERTY_APP_ID, AMQP_BASIC_APP_ID_FLAG, &properties->app_id},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i].property == property && (properties->_flags & texts[i].flag) != 0) {
            *text = ace_bytes_from_amqp(*texts[i].value);
            return true;
        }
    }
    return false;
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

static ace_table *copy_headers(const ace_delivery *delivery)
{
    ace_table *table = ace_table_new();
    const amqp_table_t *headers = headers_of(delivery);
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
        views->all_headers = copy_headers(delivery);
    }
    return views == NULL ? NULL : views->all_headers;
}

const ace_table *ace_delivery_headers(const ace_delivery *delivery)
{
    ace_delivery_views *views = ace_delivery_views_of(delivery);
    if (views == NULL || views->headers != NULL) {
        return views == NULL ? NULL : views->headers;
    }
    ace_table *table = copy_headers(delivery);
    int position = 0;
    while (table != NULL && position < table->table.num_entries) {
        ace_bytes name = ace_bytes_from_amqp(table->table.entries[position].key);
        if (ace_header_is_reserved(name)) {
            ace_table_remove_bytes(table, name);
        } else {
            position++;
        }
    }
    views->headers = table;
    return table;
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
