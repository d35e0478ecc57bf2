#include "wire/method_fields.h"

#include "wire/big_endian.h"
#include "wire/table_check.h"

#include <stdbool.h>
#include <string.h>

#define DELIVERY_LEAST (4 + 1 + 8 + 1 + 1 + 1) /* bytes, with all three texts empty */

typedef struct walk {
    const ace_method_layout *layout;
    uint8_t *payload;
    size_t length;
    size_t offset;
    size_t decoded;
    int bits; /* taken from the octet before `offset`; 0: none is open */
} walk;

static ace_code cut_off(const walk *at, const ace_method_field *field, ace_error **error)
{
    return ace_fail(error, ACE_PROTOCOL, "%s: the payload of %zu bytes ends inside %s",
                    at->layout->name, at->length, field->label);
}

static ace_code skip(walk *at, const ace_method_field *field, size_t size, ace_error **error)
{
    if (size > at->length - at->offset) {
        return cut_off(at, field, error);
    }
    at->offset += size;
    return ACE_OK;
}

static ace_code skip_bit(walk *at, const ace_method_field *field, ace_error **error)
{
    bool opens = at->bits % 8 == 0;
    at->bits++;
    return opens ? skip(at, field, 1, error) : ACE_OK;
}

static ace_code skip_text(walk *at, const ace_method_field *field, size_t prefix, ace_error **error)
{
    const uint8_t *from = at->payload + at->offset;
    ace_code code = skip(at, field, prefix, error);
    if (code != ACE_OK) {
        return code;
    }
    return skip(at, field, prefix == 1 ? from[0] : ace_read_u32(from), error);
}

static ace_code skip_table(walk *at, const ace_method_field *field, ace_error **error)
{
    ace_table_shape shape;
    ace_code code = ace_table_check(at->payload + at->offset, at->length - at->offset, field->label,
                                    &shape, error);
    if (code != ACE_OK) {
        ace_error_prefix(error, "%s", at->layout->name);
        return code;
    }
    at->offset += shape.bytes;
    at->decoded += shape.decoded;
    return ACE_OK;
}

static ace_code skip_field(walk *at, const ace_method_field *field, ace_error **error)
{
    switch (field->kind) {
    case ACE_FIELD_OCTET:
        return skip(at, field, 1, error);
    case ACE_FIELD_SHORT:
        return skip(at, field, 2, error);
    case ACE_FIELD_LONG:
        return skip(at, field, 4, error);
    case ACE_FIELD_LONG_LONG:
        return skip(at, field, 8, error);
    case ACE_FIELD_BIT:
        return skip_bit(at, field, error);
    case ACE_FIELD_SHORT_TEXT:
        return skip_text(at, field, 1, error);
    case ACE_FIELD_LONG_TEXT:
        return skip_text(at, field, 4, error);
    case ACE_FIELD_TABLE:
        return skip_table(at, field, error);
    }
    return ACE_PROTOCOL;
}

static ace_code begin(walk *at, ace_error **error)
{
    if (at->length < 4) {
        ace_fail(error, ACE_PROTOCOL, "a method of %zu bytes, at least 4 are needed", at->length);
        return ACE_PROTOCOL;
    }
    amqp_method_number_t id = ace_read_u32(at->payload);
    at->layout = ace_method_layout_of(id);
    if (at->layout == NULL) {
        ace_fail(error, ACE_PROTOCOL, "unknown method %u of class %u", id & 0xFFFF, id >> 16);
        return ACE_PROTOCOL;
    }
    at->offset = 4;
    at->decoded = (at->layout->size + 7) & ~(size_t)7;
    return ACE_OK;
}

/* Of nearly all that comes: a basic.deliver, the fields of which fill it exactly. */
static bool is_sound_delivery(const uint8_t *payload, size_t length)
{
    if (length < DELIVERY_LEAST || ace_read_u32(payload) != AMQP_BASIC_DELIVER_METHOD) {
        return false;
    }
    size_t at = 4 + 1 + payload[4] + 8 + 1; /* past the consumer tag, the delivery tag and a bit */
    for (int name = 0; name < 2; name++) {
        if (at >= length) {
            return false;
        }
        at += 1 + payload[at];
    }
    return at == length;
}

ace_code ace_method_check(uint8_t *payload, size_t length, size_t *decoded, ace_error **error)
{
    if (is_sound_delivery(payload, length)) {
        *decoded = (sizeof(amqp_basic_deliver_t) + 7) & ~(size_t)7;
        return ACE_OK;
    }
    walk at = {.payload = payload, .length = length};
    ace_code code = begin(&at, error);
    for (int i = 0; code == ACE_OK && i < at.layout->count; i++) {
        const ace_method_field *field = &at.layout->fields[i];
        if (field->kind != ACE_FIELD_BIT) {
            at.bits = 0;
        }
        code = skip_field(&at, field, error);
    }
    if (code == ACE_OK && at.offset != length) {
        code = ace_fail(error, ACE_PROTOCOL, "%s: %zu bytes are left after its fields",
                        at.layout->name, length - at.offset);
    }
    if (code == ACE_OK) {
        *decoded = at.decoded;
    }
    return code;
}

ace_code ace_method_decode_checked(uint8_t *payload, size_t length, amqp_pool_t *pool,
                                   amqp_method_t *method, ace_error **error)
{
    amqp_method_number_t id = ace_read_u32(payload);
    amqp_bytes_t fields = {length - 4, payload + 4};
    void *decoded = NULL;
    int status = amqp_decode_method(id, pool, fields, &decoded);
    if (status == AMQP_STATUS_NO_MEMORY) {
        return ace_fail_memory(error);
    }
    if (status < 0) {
        return ace_fail(error, ACE_PROTOCOL, "a method of class %u does not decode: %s", id >> 16,
                        amqp_error_string2(status));
    }
    method->id = id;
    method->decoded = decoded;
    return ACE_OK;
}

static uint8_t *read_text(uint8_t *from, size_t prefix, void *member)
{
    amqp_bytes_t text = {prefix == 1 ? from[0] : ace_read_u32(from), from + prefix};
    memcpy(member, &text, sizeof text);
    return from + prefix + text.len;
}

static uint8_t *read_number(uint8_t *from, ace_method_field_kind kind, void *member)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (kind) {
    case ACE_FIELD_SHORT:
        two = ace_read_u16(from);
        memcpy(member, &two, sizeof two);
        return from + sizeof two;
    case ACE_FIELD_LONG:
        four = ace_read_u32(from);
        memcpy(member, &four, sizeof four);
        return from + sizeof four;
    case ACE_FIELD_LONG_LONG:
        eight = ace_read_u64(from);
        memcpy(member, &eight, sizeof eight);
        return from + sizeof eight;
    default:
        memcpy(member, from, 1);
        return from + 1;
    }
}

static void read_delivery(uint8_t *from, amqp_basic_deliver_t *to)
{
    from = read_text(from, 1, &to->consumer_tag);
    to->delivery_tag = ace_read_u64(from);
    to->redelivered = from[8] & 1;
    from = read_text(from + 9, 1, &to->exchange);
    (void)read_text(from, 1, &to->routing_key);
}

static void read_fields(uint8_t *from, const ace_method_layout *layout, void *to)
{
    int bits = 0; /* taken from the octet before `from` */
    for (int i = 0; i < layout->count; i++) {
        const ace_method_field *field = &layout->fields[i];
        uint8_t *member = (uint8_t *)to + field->offset;
        if (field->kind == ACE_FIELD_BIT) {
            from += bits % 8 == 0;
            amqp_boolean_t bit = (from[-1] >> (bits++ % 8)) & 1;
            memcpy(member, &bit, sizeof bit);
            continue;
        }
        bits = 0;
        if (field->kind == ACE_FIELD_SHORT_TEXT || field->kind == ACE_FIELD_LONG_TEXT) {
            from = read_text(from, field->kind == ACE_FIELD_SHORT_TEXT ? 1 : 4, member);
        } else {
            from = read_number(from, field->kind, member);
        }
    }
}

void ace_method_read(uint8_t *payload, void *room, amqp_method_t *method)
{
    amqp_method_number_t id = ace_read_u32(payload);
    if (id == AMQP_BASIC_DELIVER_METHOD) {
        read_delivery(payload + 4, room);
    } else {
        read_fields(payload + 4, ace_method_layout_of(id), room);
    }
    *method = (amqp_method_t){id, room};
}
