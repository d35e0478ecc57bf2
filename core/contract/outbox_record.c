#include "contract/outbox_record.h"

#include "base/utf8.h"
#include "contract/publish.h"
#include "contract/value_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain_text(ace_bytes text)
{
    return text.length == 0 || (ace_utf8_is_valid((const char *)text.data, text.length) &&
                                memchr(text.data, '\0', text.length) == NULL);
}

/* --- to JSON --- */

static json_t *value_to_json(const amqp_field_value_t *value);

static json_t *array_to_json(const amqp_array_t *array)
{
    json_t *json = json_array();
    for (int i = 0; json != NULL && i < array->num_entries; i++) {
        json_t *entry = value_to_json(&array->entries[i]);
        if (entry == NULL || json_array_append_new(json, entry) != 0) {
            json_decref(json);
            json = NULL;
        }
    }
    return json;
}

/* NULL: plain JSON has no such value (or memory is gone, which is told no better). */
static json_t *value_to_json(const amqp_field_value_t *value)
{
    switch (value->kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
        return json_boolean(value->value.boolean);
    case AMQP_FIELD_KIND_I8:
        return json_integer(value->value.i8);
    case AMQP_FIELD_KIND_U8:
        return json_integer(value->value.u8);
    case AMQP_FIELD_KIND_I16:
        return json_integer(value->value.i16);
    case AMQP_FIELD_KIND_U16:
        return json_integer(value->value.u16);
    case AMQP_FIELD_KIND_I32:
        return json_integer(value->value.i32);
    case AMQP_FIELD_KIND_U32:
        return json_integer(value->value.u32);
    case AMQP_FIELD_KIND_I64:
        return json_integer(value->value.i64);
    case AMQP_FIELD_KIND_U64:
        return value->value.u64 > INT64_MAX ? NULL : json_integer((json_int_t)value->value.u64);
    case AMQP_FIELD_KIND_F32:
        return json_real((double)value->value.f32);
    case AMQP_FIELD_KIND_F64:
        return json_real(value->value.f64);
    case AMQP_FIELD_KIND_VOID:
        return json_null();
    case AMQP_FIELD_KIND_UTF8: {
        ace_bytes text = ace_bytes_from_amqp(value->value.bytes);
        const char *data = text.length == 0 ? "" : (const char *)text.data;
        return is_plain_text(text) ? json_stringn_nocheck(data, text.length) : NULL;
    }
    case AMQP_FIELD_KIND_ARRAY:
        return array_to_json(&value->value.array);
    default:
        return NULL;
    }
}

static ace_code refuse(const amqp_table_entry_t *entry, ace_error **error)
{
    const char *kind = ace_kind_name(entry->value.kind);
    char *name = ace_bytes_to_text(ace_bytes_from_amqp(entry->key));
    ace_fail(error, ACE_INVALID_ARGUMENT,
             "header %s is a %s that plain JSON cannot give back: an outbox does not take it",
             name == NULL ? "?" : name, kind == NULL ? "value" : kind);
    ace_error_field(error, name == NULL ? "headers" : name, 0);
    free(name);
    return ACE_INVALID_ARGUMENT;
}

static ace_code add_entries(const amqp_table_t *table, json_t *object, ace_error **error)
{
    for (int i = 0; table != NULL && i < table->num_entries; i++) {
        const amqp_table_entry_t *entry = &table->entries[i];
        ace_bytes key = ace_bytes_from_amqp(entry->key);
        json_t *value = is_plain_text(key) ? value_to_json(&entry->value) : NULL;
        char *name = value == NULL ? NULL : ace_bytes_to_text(key);
        if (value == NULL) {
            return refuse(entry, error);
        }
        int set = name == NULL ? -1 : json_object_set_nocheck(object, name, value);
        json_decref(value);
        free(name);
        if (set != 0) {
            return ace_fail_memory(error);
        }
    }
    return ACE_OK;
}

ace_code ace_outbox_headers_write(const ace_envelope *envelope, const amqp_table_t *headers,
                                  int64_t now, char **json, ace_error **error)
{
    ace_table table = ACE_TABLE_INIT;
    json_t *object = json_object();
    ace_code code = object == NULL ? ace_fail_memory(error) : ACE_OK;
    if (code == ACE_OK) {
        code = ace_envelope_append(envelope, now, &table, error);
    }
    if (code == ACE_OK) {
        code = add_entries(&table.table, object, error);
    }
    if (code == ACE_OK) {
        code = add_entries(headers, object, error);
    }
    if (code == ACE_OK) {
        *json = json_dumps(object, JSON_COMPACT);
        code = *json == NULL ? ace_fail_memory(error) : ACE_OK;
    }
    json_decref(object);
    ace_table_release(&table);
    return code;
}

/* --- checks --- */

static ace_code check_id(ace_bytes id, ace_error **error)
{
    size_t characters = 0;
    for (size_t i = 0; i < id.length; i++) {
        characters += (id.data[i] & 0xc0) != 0x80;
    }
    if (characters == 0 || characters > ACE_OUTBOX_ID_MAX) {
        ace_fail(error, ACE_LIMIT, "id has %zu characters, an outbox takes 1 to %d", characters,
                 ACE_OUTBOX_ID_MAX);
        ace_error_field(error, "id", ACE_OUTBOX_ID_MAX);
        return ACE_LIMIT;
    }
    return ace_name_check("id", id, error);
}

ace_code ace_outbox_record_check(const ace_outbox_record *record, ace_error **error)
{
    ace_code code = check_id(record->id, error);
    if (code == ACE_OK) {
        code = ace_name_check("exchange name", record->exchange, error);
    }
    if (code == ACE_OK) {
        code = ace_name_check("routing key", record->routing_key, error);
    }
    return code == ACE_OK ? ace_name_check("content type", record->content_type, error) : code;
}

bool ace_outbox_body_is_text(ace_bytes body)
{
    return is_plain_text(body);
}

/* --- from JSON --- */

static ace_code read_headers(const ace_outbox_record *record, ace_table *table, ace_error **error)
{
    json_t *json = NULL;
    ace_code code =
        ace_json_read((const char *)record->headers.data, record->headers.length, &json, error);
    if (code == ACE_OK && !json_is_object(json)) {
        code = ace_fail(error, ACE_PARSE, "is not a JSON object");
    }
    if (code == ACE_OK) {
        code = ace_table_from_json_arrived(json, "headers", table, error);
    }
    if (code != ACE_OK) {
        ace_error_prefix(error, "headers of the outbox record");
    }
    json_decref(json);
    return code;
}

static ace_code copy_name(const char *field, ace_bytes name, char out[ACE_NAME_MAX + 1],
                          ace_error **error)
{
    ace_code code = ace_name_check(field, name, error);
    if (code == ACE_OK) {
        if (name.length > 0) {
            memcpy(out, name.data, name.length);
        }
        out[name.length] = '\0';
    }
    return code;
}

static ace_code build(const ace_outbox_record *record, ace_outbox_restored *restored,
                      ace_error **error)
{
    ace_arrival arrival = {.headers = &restored->arrived.table,
                           .routing_key = record->routing_key,
                           .message_id = record->id,
                           .fallback_id = record->id};
    ace_code code = ace_envelope_read(&arrival, &restored->arena, &restored->envelope, error);
    if (code != ACE_OK) {
        return code;
    }
    if (restored->envelope.first_seen == 0) {
        restored->envelope.first_seen = record->created / 1000;
    }
    int position = 0;
    while (position < restored->arrived.table.num_entries) {
        ace_bytes name = ace_bytes_from_amqp(restored->arrived.table.entries[position].key);
        if (ace_header_is_reserved(name)) {
            ace_table_remove_bytes(&restored->arrived, name);
        } else {
            position++;
        }
    }
    ace_publication publication = {.envelope = &restored->envelope,
                                   .headers = &restored->arrived.table,
                                   .exchange = restored->exchange,
                                   .routing_key = restored->routing_key,
                                   .content_type = record->content_type,
                                   .priority = -1,
                                   .expiration = -1,
                                   .now = record->created / 1000};
    return ace_publication_build(&publication, &restored->head, error);
}

ace_code ace_outbox_restore(const ace_outbox_record *record, ace_outbox_restored *restored,
                            ace_error **error)
{
    *restored = (ace_outbox_restored){
        .arena = ACE_ARENA_INIT, .arrived = ACE_TABLE_INIT, .head = ACE_HEAD_INIT};
    ace_code code = copy_name("exchange name", record->exchange, restored->exchange, error);
    if (code == ACE_OK) {
        code = copy_name("routing key", record->routing_key, restored->routing_key, error);
    }
    if (code == ACE_OK) {
        code = read_headers(record, &restored->arrived, error);
    }
    return code == ACE_OK ? build(record, restored, error) : code;
}

void ace_outbox_restored_release(ace_outbox_restored *restored)
{
    ace_head_release(&restored->head);
    ace_table_release(&restored->arrived);
    ace_arena_free(&restored->arena);
}
