#include "support/scripted_peer_side.h"

#include "base/clock.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void peer_side_init(peer_side *side, scripted_peer *peer, ace_stream *stream)
{
    side->peer = peer;
    side->stream = stream;
    side->frame_max = ACE_FRAME_MAX_DEFAULT;
    side->patience = 20000;
    ace_frame_reader_init(&side->reader, ACE_FRAME_SERVER);
    init_amqp_pool(&side->pool, 4096);
    for (int i = 0; i < PEER_CHANNELS; i++) {
        ace_assembly_init(&side->assemblies[i], ACE_BODY_MAX_DEFAULT);
    }
}

void peer_side_free(peer_side *side)
{
    for (int i = 0; i < PEER_CHANNELS; i++) {
        ace_assembly_reset(&side->assemblies[i]);
    }
    ace_stream_close(side->stream);
    ace_frame_reader_free(&side->reader);
    ace_buffer_free(&side->output);
    empty_amqp_pool(&side->pool);
    free(side);
}

void peer_set_patience(peer_side *side, int milliseconds)
{
    side->patience = milliseconds;
}

void peer_set_pieces(peer_side *side, peer_pieces pieces)
{
    side->pieces = pieces;
}

void peer_fail(peer_side *side, const char *format, ...)
{
    char text[512];
    int length = snprintf(text, sizeof text, "connection %d: ", side->index);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
    va_end(arguments);
    peer_record_failure(side->peer, text);
    longjmp(side->end, 1);
}

void peer_check(peer_side *side, bool holds, const char *what)
{
    if (!holds) {
        peer_fail(side, "%s", what);
    }
}

/* False when the time is over. A stopped peer ends the script without a failure. */
static bool wait_for(peer_side *side, short events, int64_t deadline)
{
    int64_t left = deadline - ace_clock_monotonic(ace_clock_system());
    struct pollfd polled[2] = {
        {.fd = peer_stop_descriptor(side->peer), .events = POLLIN},
        {.fd = side->stream == NULL || events == 0 ? -1 : ace_stream_descriptor(side->stream),
         .events = events},
    };
    int ready = poll(polled, 2, left < 0 ? 0 : (int)left);
    if (ready > 0 && polled[0].revents != 0) {
        longjmp(side->end, 1);
    }
    return ready > 0 || left > 0;
}

static bool read_more(peer_side *side, int64_t deadline, bool *in_time)
{
    size_t size = 0;
    size_t moved = 0;
    uint8_t *room = ace_frame_reader_room(&side->reader, 65536, &size);
    if (room == NULL) {
        peer_fail(side, "no memory");
    }
    switch (ace_stream_read(side->stream, room, size, &moved, NULL)) {
    case ACE_STREAM_READY:
        ace_frame_reader_received(&side->reader, moved);
        return true;
    case ACE_STREAM_BLOCKED:
        *in_time = wait_for(side, POLLIN, deadline);
        return true;
    case ACE_STREAM_END:
    case ACE_STREAM_FAILED:
        return false;
    }
    return false;
}

bool peer_next_frame(peer_side *side, ace_frame *frame, int wait)
{
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + (wait < 0 ? side->patience : wait);
    bool in_time = true;
    for (;;) {
        ace_error *error = NULL;
        if (side->stream == NULL) {
            return false;
        }
        if (ace_frame_next(&side->reader, frame, &error) != ACE_OK) {
            char text[300];
            (void)snprintf(text, sizeof text, "%s", ace_error_message(error));
            ace_error_free(error);
            peer_fail(side, "the client sent: %s", text);
        }
        if (frame->type != ACE_FRAME_NONE) {
            return true;
        }
        if (!in_time && wait >= 0) {
            return true;
        }
        if (!in_time) {
            peer_fail(side, "the client sent nothing within %d ms", side->patience);
        }
        if (!read_more(side, deadline, &in_time)) {
            return false;
        }
    }
}

static void write_some(peer_side *side, size_t *start, size_t most)
{
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + side->patience;
    size_t end = *start + most;
    while (*start < end) {
        struct iovec part = {side->output.data + *start, end - *start};
        size_t moved = 0;
        switch (ace_stream_write(side->stream, &part, 1, &moved, NULL)) {
        case ACE_STREAM_READY:
            *start += moved;
            break;
        case ACE_STREAM_BLOCKED:
            if (!wait_for(side, POLLOUT, deadline)) {
                peer_fail(side, "the client reads nothing");
            }
            break;
        case ACE_STREAM_END:
        case ACE_STREAM_FAILED:
            longjmp(side->end, 1); /* the client is gone; whether it may is for others to say */
        }
    }
}

void peer_flush(peer_side *side)
{
    size_t start = 0;
    if (side->stream == NULL) {
        return;
    }
    while (start < side->output.length) {
        size_t most = side->pieces == PEER_BYTE_BY_BYTE ? 1 : side->output.length - start;
        write_some(side, &start, most);
        if (side->pieces == PEER_BYTE_BY_BYTE) {
            peer_delay(side, 1);
        }
    }
    ace_buffer_clear(&side->output);
}

void peer_delay(peer_side *side, int milliseconds)
{
    int64_t deadline = ace_clock_monotonic(ace_clock_system()) + milliseconds;
    while (wait_for(side, 0, deadline)) {
        if (ace_clock_monotonic(ace_clock_system()) >= deadline) {
            break;
        }
    }
}

void peer_hang_up(peer_side *side)
{
    ace_stream_close(side->stream);
    side->stream = NULL;
}

void peer_wait_stop(peer_side *side)
{
    struct pollfd polled = {.fd = peer_stop_descriptor(side->peer), .events = POLLIN};
    (void)poll(&polled, 1, -1);
    longjmp(side->end, 1);
}
