#include "wire/method.h"

#include "wire/big_endian.h"
#include "wire/frame.h"
#include "wire/method_fields.h"
#include "wire/pool.h"
#include "wire/table_measure.h"

#include <string.h>

typedef struct measure {
    const ace_method_layout *layout;
    const uint8_t *decoded;
    size_t size;
    int bits;
} measure;

amqp_method_number_t ace_method_id(ace_bytes payload)
{
    return payload.length < 4 ? 0 : ace_read_u32(payload.data);
}

bool ace_method_has_content(amqp_method_number_t id)
{
    return id == AMQP_BASIC_PUBLISH_METHOD || id == AMQP_BASIC_RETURN_METHOD ||
           id == AMQP_BASIC_DELIVER_METHOD || id == AMQP_BASIC_GET_OK_METHOD;
}

const char *ace_method_name(amqp_method_number_t id)
{
    const ace_method_layout *layout = ace_method_layout_of(id);
    return layout == NULL ? "unknown method" : layout->name;
}

const char *ace_method_name_of(uint16_t class_id, uint16_t method_id)
{
    return ace_method_name(((amqp_method_number_t)class_id << 16) | method_id);
}

ace_code ace_method_decode(ace_bytes payload, amqp_pool_t *pool, amqp_method_t *method,
                           ace_error **error)
{
    uint8_t *copy = amqp_pool_alloc(pool, payload.length + 1);
    if (copy == NULL) {
        ace_pool_drop_lost_page(pool);
        return ace_fail_memory(error);
    }
    if (payload.length > 0) {
        memcpy(copy, payload.data, payload.length);
    }
    size_t decoded;
    ace_code code = ace_method_check(copy, payload.length, &decoded, error);
    if (code == ACE_OK) {
        code = ace_method_decode_checked(copy, payload.length, pool, method, error);
    }
    if (code == ACE_OUT_OF_MEMORY) {
        ace_pool_drop_lost_page(pool);
    }
    return code;
}

static ace_code measure_text(measure *to, const ace_method_field *field, ace_error **error)
{
    amqp_bytes_t text;
    memcpy(&text, to->decoded + field->offset, sizeof text);
    if (text.bytes == NULL && text.len > 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s claims %zu bytes and points to none",
                        field->label, text.len);
    }
    bool is_short = field->kind == ACE_FIELD_SHORT_TEXT;
    size_t limit = is_short ? ACE_NAME_MAX : INT32_MAX;
    if (text.len > limit) {
        ace_fail(error, ACE_LIMIT, "%s has %zu bytes, the limit is %zu", field->label, text.len,
                 limit);
        ace_error_field(error, field->label, (long long)limit);
        return ACE_LIMIT;
    }
    to->size += (is_short ? 1 : 4) + text.len;
    return ACE_OK;
}

static ace_code measure_table(measure *to, const ace_method_field *field, ace_error **error)
{
    amqp_table_t table;
    memcpy(&table, to->decoded + field->offset, sizeof table);
    size_t size = 0;
    ace_code code = ace_table_measure(&table, field->label, &size, error);
    if (code == ACE_OK) {
        to->size += size;
    }
    return code;
}

static ace_code measure_field(measure *to, const ace_method_field *field, ace_error **error)
{
    static const uint8_t sizes[] = {
        [ACE_FIELD_OCTET] = 1,
        [ACE_FIELD_SHORT] = 2,
        [ACE_FIELD_LONG] = 4,
        [ACE_FIELD_LONG_LONG] = 8,
    };
    switch (field->kind) {
    case ACE_FIELD_BIT:
        to->size += to->bits++ % 8 == 0;
        return ACE_OK;
    case ACE_FIELD_SHORT_TEXT:
    case ACE_FIELD_LONG_TEXT:
        return measure_text(to, field, error);
    case ACE_FIELD_TABLE:
        return measure_table(to, field, error);
    default:
        to->size += sizes[field->kind];
        return ACE_OK;
    }
}

static ace_code measure_fields(measure *to, ace_error **error)
{
    ace_code code = ACE_OK;
    for (int i = 0; code == ACE_OK && i < to->layout->count; i++) {
        const ace_method_field *field = &to->layout->fields[i];
        if (field->kind != ACE_FIELD_BIT) {
            to->bits = 0;
        }
        code = measure_field(to, field, error);
    }
    return code;
}

ace_code ace_method_measure(amqp_method_number_t id, const void *decoded, uint32_t frame_max,
                            size_t *size, ace_error **error)
{
    measure to = {ace_method_layout_of(id), decoded, 4, 0};
    if (to.layout == NULL) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "unknown method %u of class %u", id & 0xFFFF,
                        id >> 16);
    }
    if (decoded == NULL && to.layout->count > 0) {
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s needs its fields", to.layout->name);
    }
    ace_code code = measure_fields(&to, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t largest = ace_frame_payload_max(frame_max);
    if (to.size > largest) {
        ace_fail(error, ACE_LIMIT, "%s takes %zu bytes, one frame holds %zu", to.layout->name,
                 to.size, largest);
        ace_error_field(error, to.layout->name, (long long)largest);
        return ACE_LIMIT;
    }
    *size = to.size;
    return ACE_OK;
}

ace_code ace_method_write(ace_buffer *buffer, uint16_t channel, amqp_method_number_t id,
                          const void *decoded, uint32_t frame_max, ace_error **error)
{
    size_t size = 0;
    ace_code code = ace_method_measure(id, decoded, frame_max, &size, error);
    if (code != ACE_OK) {
        return code;
    }
    size_t before = buffer->length;
    uint8_t *to = ace_frame_begin(buffer, ACE_FRAME_METHOD, channel, size);
    if (to == NULL) {
        return ace_fail_memory(error);
    }
    ace_write_u32(to, id);
    amqp_bytes_t fields = {size - 4, to + 4};
    int written = amqp_encode_method(id, (void *)(uintptr_t)decoded, fields);
    if (written < 0 || (size_t)written != size - 4) {
        buffer->length = before;
        return ace_fail(error, ACE_INVALID_ARGUMENT, "%s does not encode", ace_method_name(id));
    }
    return ACE_OK;
}
