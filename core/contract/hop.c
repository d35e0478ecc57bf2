#include "contract/hop.h"

#include "base/utf8.h"

#include <string.h>

#define CUT_MARK "..."

/* What a long string header takes besides its name and value: two lengths and a kind. */
#define LONG_STRING_OVERHEAD 6

static bool starts_with(ace_bytes name, const char *prefix)
{
    size_t width = strlen(prefix);
    return name.length >= width && memcmp(name.data, prefix, width) == 0;
}

static bool is_the_brokers(ace_bytes name, bool deaths)
{
    if (ace_bytes_equal_text(name, "CC") || ace_bytes_equal_text(name, "BCC") ||
        ace_bytes_equal_text(name, "x-delivery-count")) {
        return true;
    }
    return deaths && (ace_bytes_equal_text(name, "x-death") ||
                      starts_with(name, "x-first-death-") || starts_with(name, "x-last-death-"));
}

void ace_head_drop_broker_headers(ace_head *head, bool deaths)
{
    amqp_table_t *table = &head->headers.table;
    int kept = 0;
    for (int i = 0; i < table->num_entries; i++) {
        amqp_table_entry_t entry = table->entries[i];
        if (!is_the_brokers(ace_bytes_from_amqp(entry.key), deaths)) {
            table->entries[kept++] = entry;
        }
    }
    table->num_entries = kept;
}

void ace_head_drop_broker_properties(ace_head *head)
{
    amqp_basic_properties_t *properties = &head->properties;
    properties->_flags &= ~(amqp_flags_t)(AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_USER_ID_FLAG |
                                          AMQP_BASIC_CLUSTER_ID_FLAG);
    properties->expiration = (amqp_bytes_t){0, NULL};
    properties->user_id = (amqp_bytes_t){0, NULL};
    properties->cluster_id = (amqp_bytes_t){0, NULL};
    properties->_flags |= AMQP_BASIC_DELIVERY_MODE_FLAG;
    properties->delivery_mode = 2;
}

/* An id that is too long for a short string travels in its header alone. */
static ace_code give_message_id(ace_head *head, ace_bytes id, ace_error **error)
{
    amqp_basic_properties_t *properties = &head->properties;
    bool has_one =
        (properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0 && properties->message_id.len > 0;
    if (has_one || id.length == 0 || id.length > ACE_NAME_MAX) {
        return ACE_OK;
    }
    void *copy = ace_arena_copy(&head->headers.arena, id.data, id.length);
    if (copy == NULL) {
        return ace_fail_memory(error);
    }
    properties->message_id = (amqp_bytes_t){id.length, copy};
    properties->_flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
    return ACE_OK;
}

static ace_code write_cut(ace_head *head, ace_bytes text, size_t room, ace_error **error)
{
    const size_t mark = sizeof CUT_MARK - 1;
    size_t kept =
        room <= mark ? 0 : ace_utf8_cut((const char *)text.data, text.length, room - mark);
    if (kept == 0) {
        return ACE_OK; /* nothing of it would be left to read */
    }
    ace_buffer cut = ACE_BUFFER_INIT;
    ace_code code = ACE_OK;
    if (ace_buffer_append(&cut, text.data, kept) && ace_buffer_append_text(&cut, CUT_MARK)) {
        code = ace_table_set_longstr(&head->headers, ACE_HEADER_ERROR,
                                     (ace_bytes){cut.data, cut.length}, error);
    } else {
        code = ace_fail_memory(error);
    }
    ace_buffer_free(&cut);
    return code;
}

/* The head is complete but for the error's text, which gets what room is left in the frame. */
static ace_code write_error(ace_head *head, ace_bytes text, size_t frame_max, ace_error **error)
{
    if (text.length == 0) {
        return ACE_OK;
    }
    size_t taken = ace_properties_encoded_size(&head->properties) + LONG_STRING_OVERHEAD +
                   strlen(ACE_HEADER_ERROR);
    size_t room = ace_content_header_room(frame_max);
    room = room > taken ? room - taken : 0;
    if (text.length <= room) {
        return ace_table_set_longstr(&head->headers, ACE_HEADER_ERROR, text, error);
    }
    return write_cut(head, text, room, error);
}

static ace_code build(const ace_hop *hop, ace_head *head, ace_error **error)
{
    ace_code code = ace_head_copy(head, hop->properties, error);
    if (code != ACE_OK) {
        return code;
    }
    ace_head_drop_broker_headers(head, hop->kind == ACE_HOP_RUNG);
    ace_head_drop_broker_properties(head);
    code = give_message_id(head, hop->envelope->id, error);
    ace_envelope written = *hop->envelope;
    ace_bytes text = hop->error.length > 0 ? hop->error : written.error;
    written.attempt = hop->attempt;
    written.error = (ace_bytes){NULL, 0};
    if (code == ACE_OK) {
        code = ace_envelope_write(&written, hop->now, &head->headers, error);
    }
    if (code == ACE_OK) {
        ace_head_seal(head);
        code = write_error(head, text, hop->frame_max, error);
    }
    if (code == ACE_OK) {
        ace_head_seal(head);
        code = ace_properties_sendable(&head->properties, hop->frame_max, error);
    }
    return code;
}

ace_code ace_hop_build(const ace_hop *hop, ace_head *head, ace_error **error)
{
    ace_code code = build(hop, head, error);
    if (code != ACE_OK) {
        ace_head_release(head);
    }
    return code;
}
