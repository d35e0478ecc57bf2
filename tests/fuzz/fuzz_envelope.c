/* The envelope of any headers: reading never fails, writing keeps what was read, and hops and
 * replays carry it through a frame and back. */
#include "base/utf8.h"
#include "contract/envelope.h"
#include "contract/hop.h"
#include "contract/replay_stamp.h"
#include "fuzz/frames.h"
#include "fuzz/fuzz.h"
#include "wire/content.h"

#include <stdlib.h>
#include <string.h>

#define NOW         INT64_C(1770091506000)
#define FALLBACK_ID "00000000-0000-4000-8000-000000000000"

typedef struct arrived {
    amqp_pool_t pool;
    amqp_basic_properties_t *properties;
    ace_arena arena;
    ace_envelope envelope;
    ace_bytes routing_key;
} arrived;

static void read_envelope(arrived *message)
{
    const amqp_basic_properties_t *properties = message->properties;
    ace_arrival arrival = {
        .headers =
            (properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0 ? &properties->headers : NULL,
        .routing_key = message->routing_key,
        .message_id = ace_bytes_from_amqp(properties->message_id),
        .reply_to = ace_bytes_from_amqp(properties->reply_to),
        .fallback_id = ace_bytes_of(FALLBACK_ID),
    };
    FUZZ_DEMAND(ace_envelope_read(&arrival, &message->arena, &message->envelope, NULL) == ACE_OK);
}

static bool is_text(ace_bytes text)
{
    return ace_utf8_is_valid((const char *)text.data, text.length);
}

static void check_envelope(const ace_envelope *envelope)
{
    FUZZ_DEMAND(envelope->id.length > 0 && is_text(envelope->id));
    FUZZ_DEMAND(envelope->type.length > 0 && is_text(envelope->type));
    FUZZ_DEMAND(envelope->correlation.length > 0 && is_text(envelope->correlation));
    FUZZ_DEMAND(is_text(envelope->causation) && is_text(envelope->origin));
    FUZZ_DEMAND(is_text(envelope->error) && is_text(envelope->claim));
    FUZZ_DEMAND(is_text(envelope->replayed_from) && is_text(envelope->reply_to));
    FUZZ_DEMAND(envelope->version >= 1 && envelope->attempt >= 1 && envelope->first_seen >= 0);
    FUZZ_DEMAND(envelope->replay_count >= 0 && envelope->route_position >= 0);
    for (size_t i = 0; i < envelope->route_length; i++) {
        ace_bytes name = envelope->route[i];
        FUZZ_DEMAND(name.length > 0 && is_text(name) && name.data[0] != ' ');
        FUZZ_DEMAND(memchr(name.data, ',', name.length) == NULL);
    }
}

static bool same_identity(const ace_envelope *a, const ace_envelope *b)
{
    return ace_bytes_equal(a->id, b->id) && ace_bytes_equal(a->type, b->type) &&
           ace_bytes_equal(a->correlation, b->correlation) &&
           ace_bytes_equal(a->causation, b->causation) && ace_bytes_equal(a->origin, b->origin) &&
           ace_bytes_equal(a->claim, b->claim) && a->version == b->version &&
           a->route_length == b->route_length && a->route_position == b->route_position &&
           ace_bytes_equal(a->route_id, b->route_id);
}

static void check_writing(const arrived *message)
{
    arrived again = {.routing_key = message->routing_key};
    amqp_basic_properties_t properties = {0};
    ace_table table = ACE_TABLE_INIT;
    if ((message->properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
        FUZZ_DEMAND(ace_table_copy_arrived(&table, &message->properties->headers, NULL) == ACE_OK);
    }
    FUZZ_DEMAND(ace_envelope_write(&message->envelope, NOW, &table, NULL) == ACE_OK);
    properties._flags = AMQP_BASIC_HEADERS_FLAG;
    properties.headers = table.table;
    again.properties = &properties;
    read_envelope(&again);
    FUZZ_DEMAND(same_identity(&message->envelope, &again.envelope));
    FUZZ_DEMAND(again.envelope.attempt == message->envelope.attempt);
    FUZZ_DEMAND(ace_bytes_equal(again.envelope.error, message->envelope.error));
    FUZZ_DEMAND(again.envelope.first_seen ==
                (message->envelope.first_seen > 0 ? message->envelope.first_seen : NOW));
    ace_arena_free(&again.arena);
    ace_table_release(&table);
}

/* Through a header frame, as the broker would bring it. */
static void send_and_receive(const ace_head *head, size_t frame_max, arrived *received)
{
    ace_buffer wire = ACE_BUFFER_INIT;
    size_t size = 0;
    uint64_t body_size = 0;
    FUZZ_DEMAND(ace_content_measure(&head->properties, (uint32_t)frame_max, &size, NULL) == ACE_OK);
    FUZZ_DEMAND(size == 12 + ace_properties_encoded_size(&head->properties));
    FUZZ_DEMAND(ace_content_write_header(&wire, 1, &head->properties, 7, (uint32_t)frame_max,
                                         NULL) == ACE_OK);
    FUZZ_DEMAND(wire.length == size + ACE_FRAME_OVERHEAD);
    init_amqp_pool(&received->pool, 4096);
    ace_bytes payload = {wire.data + 7, size};
    FUZZ_DEMAND(ace_content_decode_header(payload, &received->pool, &body_size,
                                          &received->properties, NULL) == ACE_OK);
    FUZZ_DEMAND(body_size == 7);
    read_envelope(received);
    check_envelope(&received->envelope);
    ace_buffer_free(&wire);
}

static void release(arrived *message)
{
    empty_amqp_pool(&message->pool);
    ace_arena_free(&message->arena);
}

static int32_t count_of_application_headers(const amqp_table_t *headers)
{
    int32_t count = 0;
    int position = 0;
    while (ace_application_header_next(headers, &position) != NULL) {
        count++;
    }
    return count;
}

static void check_hop(const arrived *message, ace_hop_kind kind, ace_bytes reason, size_t frame_max)
{
    ace_head head = ACE_HEAD_INIT;
    ace_error *error = NULL;
    arrived received = {.routing_key = message->routing_key};
    ace_hop hop = {.kind = kind,
                   .properties = message->properties,
                   .envelope = &message->envelope,
                   .attempt = 7,
                   .error = reason,
                   .now = NOW,
                   .frame_max = frame_max};
    ace_code code = ace_hop_build(&hop, &head, &error);
    if (code != ACE_OK) {
        FUZZ_DEMAND(code == ACE_LIMIT || code == ACE_INVALID_ARGUMENT);
        FUZZ_DEMAND(head.headers.table.num_entries == 0);
        fuzz_check_error(code, error);
        return;
    }
    send_and_receive(&head, frame_max, &received);
    FUZZ_DEMAND(same_identity(&message->envelope, &received.envelope));
    FUZZ_DEMAND(received.envelope.attempt == 7);
    FUZZ_DEMAND(received.properties->delivery_mode == 2);
    FUZZ_DEMAND(count_of_application_headers(&received.properties->headers) <=
                count_of_application_headers(&message->properties->headers));
    release(&received);
    ace_head_release(&head);
}

static void check_replay(const arrived *message, bool keeping, size_t frame_max)
{
    ace_head head = ACE_HEAD_INIT;
    ace_error *error = NULL;
    arrived received = {.routing_key = message->routing_key};
    ace_replay_stamp stamp = {.properties = message->properties,
                              .from = "orders.dlq",
                              .now = NOW,
                              .keeping_attempts = keeping,
                              .frame_max = frame_max};
    ace_code code = ace_replay_stamp_build(&stamp, &head, &error);
    if (code != ACE_OK) {
        FUZZ_DEMAND(code == ACE_LIMIT || code == ACE_INVALID_ARGUMENT);
        FUZZ_DEMAND(head.headers.table.num_entries == 0);
        fuzz_check_error(code, error);
        return;
    }
    send_and_receive(&head, frame_max, &received);
    FUZZ_DEMAND(same_identity(&message->envelope, &received.envelope));
    FUZZ_DEMAND(received.envelope.attempt == (keeping ? message->envelope.attempt : 1));
    FUZZ_DEMAND(keeping || received.envelope.error.length == 0);
    FUZZ_DEMAND(received.envelope.replayed_at_known && received.envelope.replayed_at == NOW);
    FUZZ_DEMAND(ace_bytes_equal_text(received.envelope.replayed_from, "orders.dlq"));
    FUZZ_DEMAND(received.envelope.replay_count >= 1);
    release(&received);
    ace_head_release(&head);
}

static void use(arrived *message, ace_bytes reason, size_t frame_max)
{
    read_envelope(message);
    check_envelope(&message->envelope);
    check_writing(message);
    for (int kind = ACE_HOP_RUNG; kind <= ACE_HOP_PARK; kind++) {
        check_hop(message, (ace_hop_kind)kind, reason, frame_max);
    }
    check_replay(message, false, frame_max);
    check_replay(message, true, frame_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t head[12] = {0, 60};
    fuzz_input input = {data, size};
    arrived message = {0};
    uint8_t first = fuzz_take_byte(&input);
    ace_bytes reason = fuzz_take_counted(&input);
    ace_buffer payload = ACE_BUFFER_INIT;
    uint64_t body_size = 0;
    ace_error *error = NULL;
    /* The engine hands in UTF-8 alone. */
    reason.length = ace_utf8_valid_prefix((const char *)reason.data, reason.length);
    message.routing_key = fuzz_take_counted(&input);
    FUZZ_DEMAND(ace_buffer_append(&payload, head, sizeof head));
    if ((first & 1) != 0) {
        ace_bytes list = fuzz_take_rest(&input);
        FUZZ_DEMAND(list.length == 0 || ace_buffer_append(&payload, list.data, list.length));
    } else {
        fuzz_append_properties(&input, &payload);
    }
    init_amqp_pool(&message.pool, 4096);
    ace_code code =
        ace_content_decode_header((ace_bytes){payload.data, payload.length}, &message.pool,
                                  &body_size, &message.properties, &error);
    if (code == ACE_OK) {
        use(&message, reason, (first & 2) != 0 ? 4096 : 131072);
    } else {
        FUZZ_DEMAND(code == ACE_PROTOCOL || code == ACE_LIMIT);
        fuzz_check_error(code, error);
    }
    release(&message);
    ace_buffer_free(&payload);
    return 0;
}
