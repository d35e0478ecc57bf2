/* What an LMDB outbox keeps, and the headers of a record: any bytes, from a damaged file or from
 * another program. */
#include "fuzz/fuzz.h"
#include "store/outbox_stored.h"

static void check_stored(ace_bytes bytes)
{
    ace_outbox_record record = {.created = 0};
    ace_buffer again = ACE_BUFFER_INIT;
    if (ace_outbox_stored_read(bytes, &record)) {
        FUZZ_DEMAND(ace_outbox_stored_write(&record, &again));
        FUZZ_DEMAND(ace_bytes_equal(bytes, (ace_bytes){again.data, again.length}));
    }
    ace_buffer_free(&again);
}

static void check_state(ace_bytes bytes)
{
    ace_outbox_row row = {.attempts = 0};
    ace_buffer again = ACE_BUFFER_INIT;
    if (ace_outbox_state_read(bytes, &row)) {
        FUZZ_DEMAND(row.attempts >= 0);
        FUZZ_DEMAND(ace_outbox_state_write(&row, &again));
        FUZZ_DEMAND(ace_bytes_equal(bytes, (ace_bytes){again.data, again.length}));
    }
    ace_buffer_free(&again);
}

static void check_key(ace_bytes bytes)
{
    int64_t time;
    ace_bytes id;
    uint8_t key[ACE_OUTBOX_KEY_MAX];
    if (ace_outbox_key_read(bytes, &time, &id)) {
        size_t length = ace_outbox_key_write(time, id, key);
        FUZZ_DEMAND(ace_bytes_equal(bytes, (ace_bytes){key, length}));
    }
}

static void check_headers(ace_bytes bytes)
{
    const ace_outbox_record record = {.id = ace_bytes_of("id"),
                                      .exchange = ace_bytes_of("e"),
                                      .routing_key = ace_bytes_of("k"),
                                      .headers = bytes,
                                      .created = 1770091506123456};
    ace_outbox_restored restored;
    ace_error *error = NULL;
    ace_code code = ace_outbox_restore(&record, &restored, &error);
    if (code == ACE_OK) {
        FUZZ_DEMAND(restored.envelope.id.length > 0 && restored.envelope.version >= 1);
        FUZZ_DEMAND((restored.head.properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0);
    } else {
        fuzz_check_error(code, error);
    }
    ace_outbox_restored_release(&restored);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_bytes bytes = {data, size};
    check_stored(bytes);
    check_state(bytes);
    check_key(bytes);
    check_headers(bytes);
    return 0;
}
