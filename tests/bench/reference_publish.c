#include "reference.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEADERS 7

static amqp_bytes_t text(const char *bytes)
{
    return amqp_cstring_bytes(bytes);
}

static amqp_table_entry_t text_header(const char *name, amqp_bytes_t value)
{
    amqp_table_entry_t entry = {.key = text(name), .value.kind = AMQP_FIELD_KIND_UTF8};
    entry.value.value.bytes = value;
    return entry;
}

static amqp_table_entry_t small_header(const char *name, int32_t value)
{
    amqp_table_entry_t entry = {.key = text(name), .value.kind = AMQP_FIELD_KIND_I32};
    entry.value.value.i32 = value;
    return entry;
}

static amqp_table_entry_t large_header(const char *name, int64_t value)
{
    amqp_table_entry_t entry = {.key = text(name), .value.kind = AMQP_FIELD_KIND_I64};
    entry.value.value.i64 = value;
    return entry;
}

/* The cheapest id that is one: a number in the length of a UUID. */
static void next_id(char id[37])
{
    static uint64_t last;
    (void)snprintf(id, 37, "00000000-0000-4000-8000-%012" PRIx64, ++last);
}

void reference_send(amqp_connection_state_t connection, const bench_options *options,
                    const unsigned char *body)
{
    char id[37];
    next_id(id);
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    amqp_table_entry_t headers[HEADERS] = {
        text_header("x-acemq-id", text(id)),
        text_header("x-acemq-type", text("bench.message")),
        text_header("x-acemq-correlation", text(id)),
        text_header("x-acemq-origin", text("acemq@reference")),
        small_header("x-acemq-version", 1),
        small_header("x-acemq-attempt", 1),
        large_header("x-acemq-first-seen", now.tv_sec * 1000 + now.tv_nsec / 1000000),
    };
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
                  AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_HEADERS_FLAG,
        .content_type = text("application/octet-stream"),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .message_id = text(id),
        .headers = {HEADERS, headers},
    };
    amqp_bytes_t bytes = {(size_t)options->size, (void *)(uintptr_t)body};
    reference_check(amqp_basic_publish(connection, REFERENCE_CHANNEL, amqp_empty_bytes,
                                       text(options->queue), 1, 0, &properties, bytes),
                    "basic.publish");
}

void reference_select_confirms(amqp_connection_state_t connection)
{
    (void)amqp_confirm_select(connection, REFERENCE_CHANNEL);
    reference_check_reply(connection, "confirm.select");
}

/* Publishes that wait for their confirm, which may come out of order. */
typedef struct window {
    uint64_t first; /* the oldest not confirmed */
    uint64_t next;
    uint64_t outstanding;
    bool *confirmed; /* by number, modulo the size */
    uint64_t size;   /* a power of two, so that the oldest may stay behind */
} window;

static void settle(window *open, uint64_t number)
{
    bool *confirmed = &open->confirmed[number % open->size];
    if (!*confirmed) {
        *confirmed = true;
        open->outstanding--;
    }
}

amqp_basic_ack_t reference_take_confirm(amqp_connection_state_t connection)
{
    amqp_frame_t frame;
    reference_check(amqp_simple_wait_frame(connection, &frame), "waiting for a confirm");
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD) {
        bench_fail("something other than a confirm came");
    }
    return *(const amqp_basic_ack_t *)frame.payload.method.decoded;
}

static void take_confirm(amqp_connection_state_t connection, window *open)
{
    amqp_basic_ack_t ack = reference_take_confirm(connection);
    uint64_t from = ack.multiple ? open->first : ack.delivery_tag;
    for (uint64_t number = from; number <= ack.delivery_tag; number++) {
        settle(open, number);
    }
    while (open->first < open->next && open->confirmed[open->first % open->size]) {
        open->confirmed[open->first++ % open->size] = false;
    }
    amqp_maybe_release_buffers_on_channel(connection, REFERENCE_CHANNEL);
}

static void send_windowed(amqp_connection_state_t connection, const bench_options *options,
                          const unsigned char *body, window *open, long count)
{
    for (long i = 0; i < count; i++) {
        reference_send(connection, options, body);
        open->next++;
        open->outstanding++;
        while (open->outstanding >= (uint64_t)options->window ||
               open->next - open->first == open->size) {
            take_confirm(connection, open);
        }
    }
    while (open->outstanding > 0) {
        take_confirm(connection, open);
    }
}

void reference_publish(const bench_options *options)
{
    window open = {.first = 1, .next = 1, .size = 1 << 20};
    open.confirmed = calloc(open.size, sizeof *open.confirmed);
    if (open.confirmed == NULL) {
        bench_fail("no memory for the window");
    }
    amqp_connection_state_t connection = reference_connect(options);
    reference_select_confirms(connection);
    unsigned char *body = bench_body((size_t)options->size);
    send_windowed(connection, options, body, &open, BENCH_WARM_UP);
    bench_span span = bench_begin();
    send_windowed(connection, options, body, &open, options->count);
    bench_report_span(&span, options->count);
    free(body);
    free(open.confirmed);
    reference_disconnect(connection);
}
