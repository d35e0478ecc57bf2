#include "store/outbox_stored.h"

#include <string.h>

#define VERSION 1

typedef struct reader {
    const uint8_t *at;
    size_t left;
    bool good;
} reader;

static uint64_t big_endian(const uint8_t *bytes, size_t length)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static void put_number(uint8_t *out, uint64_t value, size_t length)
{
    for (size_t i = length; i > 0; i--) {
        out[i - 1] = (uint8_t)value;
        value >>= 8;
    }
}

static bool append_number(ace_buffer *out, uint64_t value, size_t length)
{
    uint8_t bytes[8];
    put_number(bytes, value, length);
    return ace_buffer_append(out, bytes, length);
}

static bool append_bytes(ace_buffer *out, ace_bytes bytes)
{
    return bytes.length <= UINT32_MAX && append_number(out, bytes.length, 4) &&
           ace_buffer_append(out, bytes.data, bytes.length);
}

static uint64_t take_number(reader *from, size_t length)
{
    if (!from->good || from->left < length) {
        from->good = false;
        return 0;
    }
    uint64_t value = big_endian(from->at, length);
    from->at += length;
    from->left -= length;
    return value;
}

static ace_bytes take_bytes(reader *from)
{
    size_t length = (size_t)take_number(from, 4);
    if (!from->good || length > from->left) {
        from->good = false;
        return (ace_bytes){NULL, 0};
    }
    ace_bytes bytes = {from->at, length};
    from->at += length;
    from->left -= length;
    return bytes;
}

static bool ended_well(const reader *from)
{
    return from->good && from->left == 0;
}

bool ace_outbox_stored_write(const ace_outbox_record *record, ace_buffer *out)
{
    return append_number(out, VERSION, 1) && append_number(out, (uint64_t)record->created, 8) &&
           append_bytes(out, record->exchange) && append_bytes(out, record->routing_key) &&
           append_bytes(out, record->content_type) && append_bytes(out, record->headers) &&
           append_bytes(out, record->body);
}

bool ace_outbox_stored_read(ace_bytes stored, ace_outbox_record *record)
{
    reader from = {stored.data, stored.length, true};
    if (take_number(&from, 1) != VERSION) {
        return false;
    }
    record->created = (int64_t)take_number(&from, 8);
    record->exchange = take_bytes(&from);
    record->routing_key = take_bytes(&from);
    record->content_type = take_bytes(&from);
    record->headers = take_bytes(&from);
    record->body = take_bytes(&from);
    return ended_well(&from);
}

bool ace_outbox_state_write(const ace_outbox_row *row, ace_buffer *out)
{
    return append_number(out, VERSION, 1) && append_number(out, (uint32_t)row->attempts, 4) &&
           append_number(out, (uint64_t)row->locked_until, 8) &&
           append_bytes(out, row->locked_by) && append_bytes(out, row->last_error);
}

bool ace_outbox_state_read(ace_bytes stored, ace_outbox_row *row)
{
    reader from = {stored.data, stored.length, true};
    if (take_number(&from, 1) != VERSION) {
        return false;
    }
    row->attempts = (int32_t)(uint32_t)take_number(&from, 4);
    row->locked_until = (int64_t)take_number(&from, 8);
    row->locked_by = take_bytes(&from);
    row->last_error = take_bytes(&from);
    return ended_well(&from) && row->attempts >= 0;
}

size_t ace_outbox_key_write(int64_t time, ace_bytes id, uint8_t key[ACE_OUTBOX_KEY_MAX])
{
    put_number(key, (uint64_t)time, 8);
    memcpy(key + 8, id.data, id.length);
    return 8 + id.length;
}

bool ace_outbox_key_read(ace_bytes key, int64_t *time, ace_bytes *id)
{
    if (key.length <= 8 || key.length > ACE_OUTBOX_KEY_MAX) {
        return false;
    }
    *time = (int64_t)big_endian(key.data, 8);
    *id = (ace_bytes){key.data + 8, key.length - 8};
    return true;
}
