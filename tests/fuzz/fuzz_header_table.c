/* Header tables as bytes: what the check passes rabbitmq-c decodes, within what the check said it
 * would take, and every way out of our table and back into one keeps it. */
#include "codec/message_pack.h"
#include "codec/msgpack.h"
#include "contract/table.h"
#include "contract/value_json.h"
#include "fuzz/fuzz.h"
#include "wire/property_write.h"
#include "wire/table_check.h"
#include "wire/table_measure.h"

#include <stdlib.h>
#include <string.h>

/* Ours writes what rabbitmq-c writes. */
static void check_writing(const amqp_table_t *table, const uint8_t *expected, size_t size)
{
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG, .headers = *table};
    uint8_t *written = malloc(size + 2);
    FUZZ_DEMAND(written != NULL);
    FUZZ_DEMAND(ace_properties_write(written, &properties) == written + size + 2);
    FUZZ_DEMAND(memcmp(written + 2, expected, size) == 0);
    free(written);
}

static void check_encoding(const amqp_table_t *table)
{
    size_t size = 0;
    ace_error *error = NULL;
    ace_code code = ace_table_measure(table, "headers", &size, &error);
    ace_code sendable = ace_table_sendable("headers", table, NULL);
    FUZZ_DEMAND(code == sendable);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
        return;
    }
    FUZZ_DEMAND(size == ace_table_encoded_size(table));
    uint8_t *bytes = malloc(size);
    FUZZ_DEMAND(bytes != NULL);
    size_t offset = 0;
    amqp_table_t copy = *table;
    FUZZ_DEMAND(amqp_encode_table((amqp_bytes_t){size, bytes}, &copy, &offset) == AMQP_STATUS_OK);
    FUZZ_DEMAND(offset == size);
    check_writing(table, bytes, size);
    ace_table_shape shape;
    FUZZ_DEMAND(ace_table_check(bytes, size, "headers", &shape, NULL) == ACE_OK);
    FUZZ_DEMAND(shape.bytes == size);
    free(bytes);
}

static void check_message_pack(const amqp_table_t *table)
{
    ace_buffer map = ACE_BUFFER_INIT;
    ace_error *error = NULL;
    ace_code code = ace_message_pack_table(&map, table, 0, &error);
    if (code == ACE_OK) {
        FUZZ_DEMAND(ace_msgpack_check((ace_bytes){map.data, map.length}, NULL) == ACE_OK);
    } else {
        FUZZ_DEMAND(map.length == 0);
        fuzz_check_error(code, error);
    }
    ace_buffer_free(&map);
}

static void check_json(const amqp_table_t *table)
{
    json_t *json = ace_table_to_json(table, true);
    FUZZ_DEMAND(json != NULL);
    char *text = ace_json_write(json);
    json_t *again = NULL;
    ace_table back = ACE_TABLE_INIT;
    FUZZ_DEMAND(text != NULL);
    FUZZ_DEMAND(ace_json_read(text, strlen(text), &again, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_table_from_json_arrived(again, "headers", &back, NULL) == ACE_OK);
    FUZZ_DEMAND(back.table.num_entries <= table->num_entries);
    ace_table_release(&back);
    json_decref(again);
    json_decref(json);
    free(text);
}

static void check_copy(const amqp_table_t *table)
{
    ace_table copy = ACE_TABLE_INIT;
    ace_table set = ACE_TABLE_INIT;
    ace_error *error = NULL;
    FUZZ_DEMAND(ace_table_copy_arrived(&copy, table, NULL) == ACE_OK);
    FUZZ_DEMAND(ace_table_equal(&copy.table, table));
    ace_code code = ace_table_set_all(&set, table, &error);
    if (code != ACE_OK) {
        fuzz_check_error(code, error);
    }
    for (int i = 0; i < set.table.num_entries; i++) {
        FUZZ_DEMAND(ace_table_find_bytes(table, ace_bytes_from_amqp(set.table.entries[i].key)) !=
                    NULL);
    }
    ace_table_release(&copy);
    ace_table_release(&set);
}

static void use(uint8_t *bytes, const ace_table_shape *shape)
{
    amqp_pool_t pool;
    amqp_table_t table;
    size_t offset = 0;
    init_amqp_pool(&pool, shape->decoded > 0 ? shape->decoded : 1);
    amqp_bytes_t encoded = {shape->bytes, bytes};
    FUZZ_DEMAND(amqp_decode_table(encoded, &pool, &table, &offset) == AMQP_STATUS_OK);
    FUZZ_DEMAND(offset == shape->bytes);
    FUZZ_DEMAND(shape->depth >= 1 && shape->depth <= ACE_TABLE_DEPTH_MAX);
    /* The contents of a delivery are decoded into a block of exactly that size. */
    FUZZ_DEMAND(pool.pages.num_blocks <= 1 && pool.large_blocks.num_blocks == 0);
    check_encoding(&table);
    check_message_pack(&table);
    check_json(&table);
    check_copy(&table);
    empty_amqp_pool(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ace_table_shape shape;
    ace_error *error = NULL;
    uint8_t *bytes = malloc(size + 1);
    FUZZ_DEMAND(bytes != NULL);
    memcpy(bytes, data, size);
    ace_code code = ace_table_check(bytes, size, "headers", &shape, &error);
    FUZZ_DEMAND(shape.bytes <= size);
    if (code == ACE_OK) {
        use(bytes, &shape);
    } else {
        fuzz_check_error(code, error);
    }
    free(bytes);
    return 0;
}
