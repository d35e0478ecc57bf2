/* Stored records of claims: what a damaged disk, or another version, may hand us. */
#include "fuzz/fuzz.h"
#include "store/claim_record.h"

#include <string.h>

static void check_read(ace_bytes record)
{
    ace_claim_entry entry;
    uint8_t again[ACE_CLAIM_RECORD_MAX];
    if (!ace_claim_record_read(record, &entry)) {
        return;
    }
    FUZZ_DEMAND(entry.state == ACE_ENTRY_CLAIMED || entry.state == ACE_ENTRY_CONFIRMED);
    FUZZ_DEMAND(strlen(entry.token) <= ACE_CLAIM_TOKEN_MAX);
    FUZZ_DEMAND(entry.recorded_at >= 0 && entry.expires_at >= 0);
    size_t length = ace_claim_record_write(&entry, again);
    FUZZ_DEMAND(ace_bytes_equal(record, (ace_bytes){again, length}));
}

static void check_written(fuzz_input input)
{
    ace_claim_entry entry = {.state = fuzz_take_byte(&input) % 2 == 0 ? ACE_ENTRY_CLAIMED
                                                                      : ACE_ENTRY_CONFIRMED};
    entry.recorded_at = (int64_t)(fuzz_take_long(&input) >> 1);
    entry.expires_at = (int64_t)(fuzz_take_long(&input) >> 1);
    ace_bytes token = fuzz_take_counted(&input);
    if (token.length > ACE_CLAIM_TOKEN_MAX ||
        (token.length > 0 && memchr(token.data, 0, token.length) != NULL)) {
        return;
    }
    if (token.length > 0) {
        memcpy(entry.token, token.data, token.length);
    }
    uint8_t record[ACE_CLAIM_RECORD_MAX];
    ace_claim_entry read;
    size_t length = ace_claim_record_write(&entry, record);
    FUZZ_DEMAND(ace_claim_record_read((ace_bytes){record, length}, &read));
    FUZZ_DEMAND(read.state == entry.state && read.recorded_at == entry.recorded_at &&
                read.expires_at == entry.expires_at && strcmp(read.token, entry.token) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_read((ace_bytes){data, size});
    check_written((fuzz_input){data, size});
    return 0;
}
