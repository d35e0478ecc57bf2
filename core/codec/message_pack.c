#include "codec/message_pack.h"

#include "base/utf8.h"
#include "codec/msgpack.h"

#include <msgpack.h>

typedef struct writer {
    msgpack_packer packer;
    ace_buffer *buffer;
    ace_error **error;
} writer;

static int append(void *data, const char *bytes, size_t length)
{
    return ace_buffer_append(data, bytes, length) ? 0 : -1;
}

static msgpack_packer packer_of(ace_buffer *buffer)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, buffer, append);
    return packer;
}

/* msgpack-c writes a head and a body in two steps, of which the second may fail. */
static bool keep_if(ace_buffer *buffer, size_t before, int result)
{
    if (result == 0) {
        return true;
    }
    buffer->length = before;
    return false;
}

bool ace_message_pack_map(ace_buffer *buffer, uint32_t pairs)
{
    msgpack_packer packer = packer_of(buffer);
    return msgpack_pack_map(&packer, pairs) == 0;
}

bool ace_message_pack_array(ace_buffer *buffer, uint32_t count)
{
    msgpack_packer packer = packer_of(buffer);
    return msgpack_pack_array(&packer, count) == 0;
}

bool ace_message_pack_nil(ace_buffer *buffer)
{
    msgpack_packer packer = packer_of(buffer);
    return msgpack_pack_nil(&packer) == 0;
}

bool ace_message_pack_boolean(ace_buffer *buffer, bool value)
{
    msgpack_packer packer = packer_of(buffer);
    return (value ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer)) == 0;
}

bool ace_message_pack_integer(ace_buffer *buffer, int64_t value)
{
    msgpack_packer packer = packer_of(buffer);
    return msgpack_pack_int64(&packer, value) == 0;
}

bool ace_message_pack_binary(ace_buffer *buffer, ace_bytes value)
{
    /* A longer one has no MessagePack form; its length would wrap. */
    if (value.length > UINT32_MAX) {
        return false;
    }
    msgpack_packer packer = packer_of(buffer);
    size_t before = buffer->length;
    return keep_if(buffer, before, msgpack_pack_bin_with_body(&packer, value.data, value.length));
}

bool ace_message_pack_text(ace_buffer *buffer, ace_bytes value)
{
    if (value.length > UINT32_MAX || !ace_utf8_is_valid((const char *)value.data, value.length)) {
        return ace_message_pack_binary(buffer, value);
    }
    msgpack_packer packer = packer_of(buffer);
    size_t before = buffer->length;
    return keep_if(buffer, before, msgpack_pack_str_with_body(&packer, value.data, value.length));
}

static ace_bytes view_of(amqp_bytes_t bytes)
{
    ace_bytes view = {bytes.bytes, bytes.len};
    return view;
}

static void put_big_endian(uint8_t *out, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        out[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
    }
}

static int write_timestamp(msgpack_packer *packer, uint64_t seconds)
{
    uint8_t bytes[8];
    put_big_endian(bytes, seconds, sizeof bytes);
    return msgpack_pack_ext_with_body(packer, bytes, sizeof bytes, ACE_MESSAGE_PACK_TIMESTAMP);
}

static int write_decimal(msgpack_packer *packer, amqp_decimal_t decimal)
{
    uint8_t bytes[5] = {decimal.decimals};
    put_big_endian(bytes + 1, decimal.value, 4);
    return msgpack_pack_ext_with_body(packer, bytes, sizeof bytes, ACE_MESSAGE_PACK_DECIMAL);
}

static ace_code write_table(writer *to, const amqp_table_t *table, int level);
static ace_code write_array(writer *to, const amqp_array_t *array, int level);

static ace_code to_code(writer *to, int result)
{
    return result == 0 ? ACE_OK : ace_fail_memory(to->error);
}

static ace_code write_number(writer *to, const amqp_field_value_t *field)
{
    msgpack_packer *packer = &to->packer;
    switch (field->kind) {
    case AMQP_FIELD_KIND_I8:
        return to_code(to, msgpack_pack_fix_int8(packer, field->value.i8));
    case AMQP_FIELD_KIND_U8:
        return to_code(to, msgpack_pack_fix_uint8(packer, field->value.u8));
    case AMQP_FIELD_KIND_I16:
        return to_code(to, msgpack_pack_fix_int16(packer, field->value.i16));
    case AMQP_FIELD_KIND_U16:
        return to_code(to, msgpack_pack_fix_uint16(packer, field->value.u16));
    case AMQP_FIELD_KIND_I32:
        return to_code(to, msgpack_pack_fix_int32(packer, field->value.i32));
    case AMQP_FIELD_KIND_U32:
        return to_code(to, msgpack_pack_fix_uint32(packer, field->value.u32));
    case AMQP_FIELD_KIND_I64:
        return to_code(to, msgpack_pack_fix_int64(packer, field->value.i64));
    case AMQP_FIELD_KIND_U64:
        return to_code(to, msgpack_pack_fix_uint64(packer, field->value.u64));
    case AMQP_FIELD_KIND_F32:
        return to_code(to, msgpack_pack_float(packer, field->value.f32));
    case AMQP_FIELD_KIND_F64:
        return to_code(to, msgpack_pack_double(packer, field->value.f64));
    default:
        return ace_fail(to->error, ACE_INVALID_ARGUMENT, "header field of the unknown kind 0x%02x",
                        (unsigned)field->kind);
    }
}

static ace_code write_field(writer *to, const amqp_field_value_t *field, int level)
{
    switch (field->kind) {
    case AMQP_FIELD_KIND_VOID:
        return to_code(to, msgpack_pack_nil(&to->packer));
    case AMQP_FIELD_KIND_BOOLEAN:
        return to_code(to, ace_message_pack_boolean(to->buffer, field->value.boolean) ? 0 : -1);
    case AMQP_FIELD_KIND_UTF8:
        return to_code(to, ace_message_pack_text(to->buffer, view_of(field->value.bytes)) ? 0 : -1);
    case AMQP_FIELD_KIND_BYTES:
        return to_code(to,
                       ace_message_pack_binary(to->buffer, view_of(field->value.bytes)) ? 0 : -1);
    case AMQP_FIELD_KIND_TIMESTAMP:
        return to_code(to, write_timestamp(&to->packer, field->value.u64));
    case AMQP_FIELD_KIND_DECIMAL:
        return to_code(to, write_decimal(&to->packer, field->value.decimal));
    case AMQP_FIELD_KIND_TABLE:
        return write_table(to, &field->value.table, level + 1);
    case AMQP_FIELD_KIND_ARRAY:
        return write_array(to, &field->value.array, level + 1);
    default:
        return write_number(to, field);
    }
}

static ace_code check_level(const writer *to, int level)
{
    if (level <= ACE_MSGPACK_DEPTH) {
        return ACE_OK;
    }
    return ace_fail(to->error, ACE_LIMIT, "headers are nested deeper than the limit of %d levels",
                    ACE_MSGPACK_DEPTH);
}

static ace_code write_array(writer *to, const amqp_array_t *array, int level)
{
    ace_code code = check_level(to, level);
    if (code == ACE_OK) {
        size_t count = array->num_entries > 0 ? (size_t)array->num_entries : 0;
        code = to_code(to, msgpack_pack_array(&to->packer, count));
    }
    for (int i = 0; code == ACE_OK && i < array->num_entries; i++) {
        code = write_field(to, &array->entries[i], level);
    }
    return code;
}

static ace_code write_table(writer *to, const amqp_table_t *table, int level)
{
    ace_code code = check_level(to, level);
    if (code == ACE_OK) {
        size_t count = table->num_entries > 0 ? (size_t)table->num_entries : 0;
        code = to_code(to, msgpack_pack_map(&to->packer, count));
    }
    for (int i = 0; code == ACE_OK && i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        code = to_code(to, ace_message_pack_text(to->buffer, view_of(entry->key)) ? 0 : -1);
        if (code == ACE_OK) {
            code = write_field(to, &entry->value, level);
        }
    }
    return code;
}

ace_code ace_message_pack_table(ace_buffer *buffer, const amqp_table_t *table, int levels_above,
                                ace_error **error)
{
    writer to = {.packer = packer_of(buffer), .buffer = buffer, .error = error};
    size_t before = buffer->length;
    ace_code code = write_table(&to, table, levels_above + 1);
    if (code != ACE_OK) {
        buffer->length = before;
    }
    return code;
}
