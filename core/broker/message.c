#include "broker/message.h"

#include "base/clock.h"
#include "broker/arguments.h"
#include "wire/big_endian.h"
#include "wire/content.h"
#include "wire/frame.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_START    12 /* class, weight and body size, before the properties */
#define RECORD_OVERHEAD 256
#define POOL_PAGE       4096

/* One block: the record, the keys, and the bytes of header, exchange and keys. */
static ace_broker_message *allocate(size_t header_length, ace_bytes exchange, const ace_bytes *keys,
                                    size_t key_count)
{
    size_t size = sizeof(ace_broker_message) + key_count * sizeof(ace_bytes) + header_length +
                  exchange.length;

    for (size_t i = 0; i < key_count; i++)
        size += keys[i].length;

    ace_broker_message *message = calloc(1, size);

    if (!message)
        return NULL;
    message->references = 1;
    message->expiration = ACE_UNSET;
    message->keys = (ace_bytes *)(message + 1);
    message->key_count = key_count;

    uint8_t *at = (uint8_t *)(message->keys + key_count);

    message->header = (ace_bytes){at, header_length};
    at += header_length;
    message->exchange = (ace_bytes){at, exchange.length};
    if (exchange.length > 0)
        memcpy(at, exchange.data, exchange.length);
    at += exchange.length;
    for (size_t i = 0; i < key_count; i++) {
        message->keys[i] = (ace_bytes){at, keys[i].length};
        if (keys[i].length > 0)
            memcpy(at, keys[i].data, keys[i].length);
        at += keys[i].length;
    }
    return message;
}

static void fill_header(ace_broker_message *message, const void *data)
{
    memcpy((uint8_t *)(uintptr_t)message->header.data, data, message->header.length);
}

static void count_bytes(ace_broker_message *message, size_t *stored, size_t bytes)
{
    message->stored = stored;
    message->bytes = bytes + message->header.length + RECORD_OVERHEAD;
    *stored += message->bytes;
}

ace_broker_message *ace_broker_message_keep(ace_broker_message *message)
{
    message->references++;
    return message;
}

void ace_broker_message_release(ace_broker_message *message)
{
    if (!message || --message->references > 0)
        return;
    *message->stored -= message->bytes;
    ace_content_free(message->content);
    if (message->body_of)
        ace_broker_message_release(message->body_of);
    free(message);
}

bool ace_broker_headers_routes(const amqp_table_t *headers, const char *name, ace_bytes *routes,
                               size_t limit, size_t *count, ace_broker_fault *fault)
{
    const amqp_field_value_t *value = ace_table_find(headers, name);

    *count = 0;
    if (!value)
        return true;
    if (value->kind != AMQP_FIELD_KIND_ARRAY)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "invalid message: {unacceptable_type_in_header,\"%s\",%s}", name,
                                 ace_broker_field_kind_name(value->kind));
    for (int i = 0; i < value->value.array.num_entries && *count < limit; i++) {
        const amqp_field_value_t *route = &value->value.array.entries[i];

        if (route->kind == AMQP_FIELD_KIND_UTF8)
            routes[(*count)++] = ace_bytes_from_amqp(route->value.bytes);
    }
    return true;
}

static size_t routes_at_most(const amqp_table_t *headers, const char *name)
{
    const amqp_field_value_t *value = ace_table_find(headers, name);

    return value && value->kind == AMQP_FIELD_KIND_ARRAY ? (size_t)value->value.array.num_entries
                                                         : 0;
}

static const amqp_table_t *headers_of(const amqp_basic_properties_t *properties)
{
    static const amqp_table_t none = {0, NULL};

    return properties->_flags & AMQP_BASIC_HEADERS_FLAG ? &properties->headers : &none;
}

static bool check_properties(const ace_content *content, int64_t *expiration,
                             ace_broker_fault *fault)
{
    const amqp_basic_properties_t *properties = content->properties;

    if (content->fault)
        return ace_broker_refuse_internal(fault);
    *expiration = ACE_UNSET;
    if (properties->_flags & AMQP_BASIC_EXPIRATION_FLAG &&
        !ace_broker_expiration_read(ace_bytes_from_amqp(properties->expiration), expiration, fault))
        return false;
    if (properties->_flags & AMQP_BASIC_DELIVERY_MODE_FLAG && properties->delivery_mode != 1 &&
        properties->delivery_mode != 2)
        return ace_broker_refuse(fault, AMQP_PRECONDITION_FAILED,
                                 "invalid message: {delivery_mode_unknown,%d}",
                                 properties->delivery_mode);
    return true;
}

static bool encode_header(const amqp_basic_properties_t *properties, uint64_t body_size,
                          ace_buffer *payload)
{
    if (ace_content_write_header(payload, 1, properties, body_size, 0, NULL) != ACE_OK)
        return false;
    /* What came is the frame around the payload, too. */
    payload->length--;
    ace_buffer_consume(payload, ACE_FRAME_OVERHEAD - 1);
    return true;
}

/* The properties without BCC, which must not be seen by anyone. */
static bool encode_without(const amqp_basic_properties_t *properties, const char *name,
                           uint64_t body_size, ace_buffer *payload)
{
    ace_table headers = ACE_TABLE_INIT;
    amqp_basic_properties_t changed = *properties;
    bool done = ace_table_copy_arrived(&headers, &properties->headers, NULL) == ACE_OK;

    if (done) {
        ace_table_remove(&headers, name);
        changed.headers = headers.table;
        done = encode_header(&changed, body_size, payload);
    }
    ace_table_release(&headers);
    return done;
}

static ace_broker_message *make(const ace_content *content, ace_bytes exchange, ace_bytes *keys,
                                size_t key_count)
{
    const amqp_basic_properties_t *properties = content->properties;

    if (ace_table_find(headers_of(properties), "BCC")) {
        ace_buffer payload = ACE_BUFFER_INIT;
        ace_broker_message *message = NULL;

        if (encode_without(properties, "BCC", content->body.length, &payload))
            message = allocate(payload.length, exchange, keys, key_count);
        if (message)
            fill_header(message, payload.data);
        ace_buffer_free(&payload);
        return message;
    }

    ace_broker_message *message =
        allocate(HEADER_START + content->properties_raw.length, exchange, keys, key_count);

    if (message) {
        uint8_t *header = (uint8_t *)(uintptr_t)message->header.data;

        ace_write_u16(header, AMQP_BASIC_CLASS);
        ace_write_u16(header + 2, 0);
        ace_write_u64(header + 4, content->body.length);
        memcpy(header + HEADER_START, content->properties_raw.data, content->properties_raw.length);
    }
    return message;
}

/* The keys live in the content; the array is the caller's to free. NULL: refused. */
static ace_bytes *collect_keys(const ace_content *content, ace_bytes routing_key, size_t *count,
                               ace_broker_fault *fault)
{
    const amqp_table_t *headers = headers_of(content->properties);
    size_t carbon = routes_at_most(headers, "CC");
    size_t blind = routes_at_most(headers, "BCC");
    ace_bytes *keys = calloc(1 + carbon + blind, sizeof(*keys));
    size_t found = 0;

    if (!keys) {
        ace_broker_refuse_memory(fault);
        return NULL;
    }
    keys[0] = routing_key;
    *count = 1;
    if (ace_broker_headers_routes(headers, "CC", keys + 1, carbon, &found, fault)) {
        *count += found;
        if (ace_broker_headers_routes(headers, "BCC", keys + *count, blind, &found, fault)) {
            *count += found;
            return keys;
        }
    }
    free(keys);
    return NULL;
}

ace_broker_message *ace_broker_message_accept(ace_content *content, ace_bytes exchange,
                                              ace_bytes routing_key, size_t *stored,
                                              ace_broker_fault *fault)
{
    int64_t expiration = 0;
    size_t key_count = 0;
    ace_bytes *keys = NULL;
    ace_broker_message *message = NULL;

    if (check_properties(content, &expiration, fault))
        keys = collect_keys(content, routing_key, &key_count, fault);
    if (keys) {
        message = make(content, exchange, keys, key_count);
        free(keys);
        if (!message)
            ace_broker_refuse_memory(fault);
    }
    if (!message) {
        ace_content_free(content);
        return NULL;
    }
    message->content = content;
    message->body = content->body;
    message->expiration = expiration;
    if (content->properties->_flags & AMQP_BASIC_PRIORITY_FLAG)
        message->priority = content->properties->priority;
    count_bytes(message, stored, ace_content_memory(content));
    return message;
}

bool ace_broker_message_decode(const ace_broker_message *message, amqp_pool_t *pool,
                               amqp_basic_properties_t **properties)
{
    uint64_t body_size;

    return ace_content_decode_header(message->header, pool, &body_size, properties, NULL) == ACE_OK;
}

ace_broker_message *ace_broker_message_rewrite(ace_broker_message *original,
                                               const amqp_basic_properties_t *properties,
                                               ace_bytes exchange, const ace_bytes *keys,
                                               size_t key_count)
{
    ace_buffer payload = ACE_BUFFER_INIT;
    ace_broker_message *message = NULL;

    if (encode_header(properties, original->body.length, &payload))
        message = allocate(payload.length, exchange, keys, key_count);
    if (message) {
        fill_header(message, payload.data);
        message->body = original->body;
        message->body_of =
            ace_broker_message_keep(original->body_of ? original->body_of : original);
        message->priority = original->priority;
        count_bytes(message, original->stored, 0);
    }
    ace_buffer_free(&payload);
    return message;
}

static int compare_names(const void *a, const void *b)
{
    const amqp_bytes_t *left = &((const amqp_table_entry_t *)a)->key;
    const amqp_bytes_t *right = &((const amqp_table_entry_t *)b)->key;
    size_t shorter = left->len < right->len ? left->len : right->len;
    int order = shorter > 0 ? memcmp(left->bytes, right->bytes, shorter) : 0;

    if (order != 0)
        return order;
    return (left->len > right->len) - (left->len < right->len);
}

ace_code ace_broker_headers_set(ace_table *headers, const char *name,
                                const amqp_field_value_t *value, ace_error **error)
{
    ace_code code = ace_table_set(headers, ace_bytes_of(name), value, error);

    if (code == ACE_OK)
        qsort(headers->table.entries, (size_t)headers->table.num_entries,
              sizeof(*headers->table.entries), compare_names);
    return code;
}

bool ace_broker_message_header_with(const ace_broker_message *message, const char *name,
                                    int64_t value, ace_buffer *payload)
{
    amqp_pool_t pool;
    amqp_basic_properties_t *properties;
    ace_table headers = ACE_TABLE_INIT;
    amqp_field_value_t field = {.kind = AMQP_FIELD_KIND_I64, .value.i64 = value};
    bool done = false;

    init_amqp_pool(&pool, POOL_PAGE);
    if (ace_broker_message_decode(message, &pool, &properties) &&
        ace_table_copy_arrived(&headers, headers_of(properties), NULL) == ACE_OK &&
        ace_broker_headers_set(&headers, name, &field, NULL) == ACE_OK) {
        properties->headers = headers.table;
        properties->_flags |= AMQP_BASIC_HEADERS_FLAG;
        done = encode_header(properties, message->body.length, payload);
    }
    ace_table_release(&headers);
    empty_amqp_pool(&pool);
    return done;
}
