/* Frames from a broker, up to the contents that deliveries are made of: any bytes in any pieces. */
#include "codec/msgpack.h"
#include "engine/delivery.h"
#include "fuzz/frames.h"
#include "fuzz/fuzz.h"
#include "wire/assembly.h"
#include "wire/method.h"

#include <string.h>

#define CHANNELS 4
#define BODY_MAX (1024 * 1024)

typedef struct receiver {
    ace_frame_reader reader;
    ace_assembly assemblies[CHANNELS];
    amqp_pool_t pool;
} receiver;

static void look_at_delivery(ace_content *content)
{
    ace_delivery *delivery = NULL;
    ace_error *error = NULL;
    ace_bytes map;
    FUZZ_DEMAND(ace_delivery_of_content(content, "orders", &delivery, NULL) == ACE_OK);
    const ace_envelope *envelope = ace_delivery_envelope(delivery);
    FUZZ_DEMAND(envelope->id.length > 0 && envelope->attempt >= 1 && envelope->version >= 1);
    FUZZ_DEMAND(ace_delivery_all_headers(delivery) != NULL);
    FUZZ_DEMAND(ace_delivery_headers(delivery) != NULL);
    for (int each = ACE_PROPERTY_CONTENT_TYPE; each <= ACE_PROPERTY_APP_ID; each++) {
        const char *text = ace_delivery_property(delivery, (ace_property)each);
        int64_t number;
        FUZZ_DEMAND(text == NULL || strlen(text) <= 255);
        (void)ace_delivery_property_number(delivery, (ace_property)each, &number);
    }
    ace_code code = ace_delivery_pack(delivery, &map, &error);
    if (code == ACE_OK) {
        FUZZ_DEMAND(ace_msgpack_check(map, NULL) == ACE_OK);
    } else {
        fuzz_check_error(code, error);
    }
    ace_delivery_free(delivery);
}

static void take_content(ace_content *content)
{
    FUZZ_DEMAND(content->properties != NULL);
    FUZZ_DEMAND(content->body.length <= BODY_MAX);
    if (content->method.id == AMQP_BASIC_DELIVER_METHOD ||
        content->method.id == AMQP_BASIC_GET_OK_METHOD) {
        look_at_delivery(content);
    } else {
        ace_content_free(content);
    }
}

static void take_frame(receiver *receiver, const ace_frame *frame)
{
    ace_content *content = NULL;
    ace_error *error = NULL;
    ace_assembly *assembly = &receiver->assemblies[frame->channel % CHANNELS];
    ace_code code = ace_assembly_take(assembly, frame, &content, &error);
    if (code != ACE_OK) {
        FUZZ_DEMAND(ace_assembly_is_empty(assembly));
        fuzz_check_error(code, error);
        return;
    }
    if (content != NULL) {
        take_content(content);
    } else if (frame->type == ACE_FRAME_METHOD &&
               !ace_method_has_content(ace_method_id(frame->payload))) {
        amqp_method_t method;
        code = ace_method_decode(frame->payload, &receiver->pool, &method, &error);
        if (code != ACE_OK) {
            fuzz_check_error(code, error);
        }
        recycle_amqp_pool(&receiver->pool);
    }
}

/* False once the reader has failed, which it does for good. */
static bool take_frames(receiver *receiver)
{
    for (;;) {
        ace_frame frame;
        ace_error *error = NULL;
        ace_code code = ace_frame_next(&receiver->reader, &frame, &error);
        if (code != ACE_OK) {
            fuzz_check_error(code, error);
            FUZZ_DEMAND(ace_frame_next(&receiver->reader, &frame, NULL) == code);
            return false;
        }
        if (frame.type == ACE_FRAME_NONE) {
            return true;
        }
        take_frame(receiver, &frame);
    }
}

static void receive(receiver *receiver, ace_bytes wire, size_t piece)
{
    while (wire.length > 0) {
        size_t length = wire.length < piece ? wire.length : piece;
        FUZZ_DEMAND(ace_frame_reader_append(&receiver->reader, wire.data, length, NULL) == ACE_OK);
        wire.data += length;
        wire.length -= length;
        if (!take_frames(receiver)) {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = {data, size};
    receiver receiver;
    ace_buffer wire = ACE_BUFFER_INIT;
    uint8_t first = fuzz_take_byte(&input);
    ace_frame_reader_init(&receiver.reader, ACE_FRAME_CLIENT);
    ace_frame_reader_set_max(&receiver.reader, (first & 1) != 0 ? 4096 : 131072);
    init_amqp_pool(&receiver.pool, 4096);
    for (int i = 0; i < CHANNELS; i++) {
        ace_assembly_init(&receiver.assemblies[i], BODY_MAX);
    }
    if ((first & 2) != 0) {
        receive(&receiver, fuzz_take_rest(&input), (size_t)(first >> 2) + 1);
    }
    while (input.left > 0) {
        fuzz_append_frames(&input, &wire);
    }
    receive(&receiver, (ace_bytes){wire.data, wire.length},
            (first & 4) != 0 ? (size_t)(first >> 3) + 1 : SIZE_MAX);
    for (int i = 0; i < CHANNELS; i++) {
        ace_assembly_reset(&receiver.assemblies[i]);
    }
    ace_buffer_free(&wire);
    empty_amqp_pool(&receiver.pool);
    ace_frame_reader_free(&receiver.reader);
    return 0;
}
