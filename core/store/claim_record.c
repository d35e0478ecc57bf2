#include "store/claim_record.h"

#include <string.h>

#define VERSION 1
#define FIXED   (2 + 8 + 8 + 1)

static void write_number(uint8_t *out, int64_t number)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)((uint64_t)number >> (56 - 8 * i));
    }
}

static int64_t read_number(const uint8_t *in)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++) {
        number = number << 8 | in[i];
    }
    return (int64_t)number;
}

size_t ace_claim_record_write(const ace_claim_entry *entry, uint8_t out[ACE_CLAIM_RECORD_MAX])
{
    size_t length = strlen(entry->token);
    out[0] = VERSION;
    out[1] = (uint8_t)entry->state;
    write_number(out + 2, entry->recorded_at);
    write_number(out + 10, entry->expires_at);
    out[18] = (uint8_t)length;
    memcpy(out + FIXED, entry->token, length);
    return FIXED + length;
}

bool ace_claim_record_read(ace_bytes record, ace_claim_entry *entry)
{
    const uint8_t *data = record.data;
    if (record.length < FIXED || data[0] != VERSION ||
        (data[1] != ACE_ENTRY_CLAIMED && data[1] != ACE_ENTRY_CONFIRMED)) {
        return false;
    }
    size_t length = data[18];
    if (length > ACE_CLAIM_TOKEN_MAX || record.length != FIXED + length ||
        (length > 0 && memchr(data + FIXED, 0, length) != NULL)) {
        return false;
    }
    entry->state = (ace_claim_state)data[1];
    entry->recorded_at = read_number(data + 2);
    entry->expires_at = read_number(data + 10);
    memcpy(entry->token, data + FIXED, length);
    entry->token[length] = '\0';
    return entry->recorded_at >= 0 && entry->expires_at >= 0;
}
