#include "engine/link_record.h"

#include "wire/method.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define READ_ROOM      65536
#define READS_A_TURN   8
#define CONGESTED_FROM (1024 * 1024)
#define ROOM_FROM      (256 * 1024)

static size_t waiting(const ace_link *link)
{
    return link->output.length - link->output_start;
}

bool ace_link_is_congested(const ace_link *link)
{
    return link->congested;
}

static void set_events(ace_link *link)
{
    link->watch.events = ace_stream_events(link->stream, true, waiting(link) > 0);
}

void ace_link_flush_soon(ace_link *link)
{
    ace_loop_defer(link->loop, &link->flush);
}

static void added(ace_link *link, size_t length_before)
{
    link->queued += link->output.length - length_before;
    if (waiting(link) > CONGESTED_FROM) {
        link->congested = true;
    }
    ace_link_flush_soon(link);
}

void ace_link_added(ace_link *link, size_t length_before)
{
    added(link, length_before);
    uint64_t written = link->queued - waiting(link);
    uint64_t owed = link->queued - (link->paid > written ? link->paid : written);
    if (owed <= link->settings->output_limit || link->failure != NULL) {
        return;
    }
    ace_error *error = NULL;
    ace_fail(&error, ACE_CONNECTION_LOST,
             "%s does not read: %" PRIu64 " bytes of answers wait for it, the limit is %" PRIu64,
             link->place, owed, link->settings->output_limit);
    ace_error_field(&error, "output", (long long)link->settings->output_limit);
    ace_link_fail(link, error);
}

void ace_link_added_content(ace_link *link, size_t length_before)
{
    added(link, length_before);
    link->paid = link->queued;
}

static void drop_written(ace_link *link)
{
    if (link->output_start == link->output.length) {
        ace_buffer_clear(&link->output);
        link->output_start = 0;
    } else if (link->output_start > link->output.length / 2) {
        ace_buffer_consume(&link->output, link->output_start);
        link->output_start = 0;
    }
}

static void take_method(ace_link *link, const ace_frame *frame)
{
    amqp_method_t method;
    ace_error *error = NULL;
    if (ace_method_decode(frame->payload, &link->pool, &method, &error) != ACE_OK) {
        ace_link_fail(link, error);
    } else {
        ace_login_method(link, &method);
    }
    recycle_amqp_pool(&link->pool);
}

static void take_frame(ace_link *link, const ace_frame *frame)
{
    if (frame->type == ACE_FRAME_HEARTBEAT) {
        return;
    }
    if (frame->channel != 0) {
        ace_channels_take(link, frame);
        return;
    }
    if (frame->type == ACE_FRAME_METHOD) {
        take_method(link, frame);
    }
}

static void take_frames(ace_link *link)
{
    while (link->failure == NULL && link->stream != NULL) {
        ace_frame frame;
        ace_error *error = NULL;
        if (ace_frame_next(&link->reader, &frame, &error) != ACE_OK) {
            ace_error_prefix(&error, "%s", link->place);
            ace_link_fail(link, error);
            return;
        }
        if (frame.type == ACE_FRAME_NONE) {
            return;
        }
        take_frame(link, &frame);
    }
}

static void hang_up(ace_link *link)
{
    ace_error *error = NULL;
    ace_fail(&error, ACE_CONNECTION_LOST, "%s closed the connection",
             ace_stream_peer(link->stream));
    ace_link_fail(link, error);
}

/* False: there is nothing more to read at present. */
static bool read_once(ace_link *link)
{
    size_t size = 0;
    ace_error *error = NULL;
    uint8_t *room = ace_frame_reader_room(&link->reader, READ_ROOM, &size);
    if (room == NULL) {
        ace_fail_memory(&error);
        ace_link_fail(link, error);
        return false;
    }
    size_t moved = 0;
    switch (ace_stream_read(link->stream, room, size, &moved, &error)) {
    case ACE_STREAM_READY:
        break;
    case ACE_STREAM_BLOCKED:
        return false;
    case ACE_STREAM_END:
        hang_up(link);
        return false;
    case ACE_STREAM_FAILED:
        ace_link_fail(link, error);
        return false;
    }
    ace_frame_reader_received(&link->reader, moved);
    link->last_received = ace_loop_now(link->loop);
    take_frames(link);
    return moved == size;
}

/* A peer that hung up may have said why, and what it confirmed before counts. */
static void fail_after_reading(ace_link *link, ace_error *error)
{
    if (link->draining) {
        ace_error_free(error);
        return;
    }
    link->draining = true;
    while (link->failure == NULL && link->stream != NULL && read_once(link)) {
    }
    link->draining = false;
    /* That the peer has closed is known; the reason it gave, if any, took the place. */
    ace_link_fail(link, error);
}

void ace_link_write_now(ace_link *link)
{
    uint64_t before = link->queued - waiting(link);
    ace_error *error = NULL;
    ace_stream_state state = ACE_STREAM_READY;
    while (waiting(link) > 0 && state == ACE_STREAM_READY) {
        struct iovec part = {link->output.data + link->output_start, waiting(link)};
        size_t moved = 0;
        state = ace_stream_write(link->stream, &part, 1, &moved, &error);
        link->output_start += moved;
    }
    uint64_t mark = link->queued - waiting(link);
    drop_written(link);
    if (state == ACE_STREAM_FAILED) {
        fail_after_reading(link, error);
        return;
    }
    if (mark > before) {
        link->last_sent = ace_loop_now(link->loop);
        ace_channels_written(link, mark);
    }
    set_events(link);
    if (link->congested && waiting(link) < ROOM_FROM) {
        link->congested = false;
        ace_channels_have_room(link);
    }
}

void ace_link_flush(ace_link *link)
{
    if (link->stream != NULL && link->failure == NULL) {
        ace_link_write_now(link);
    }
}

static void flush_output(ace_deferral *deferral)
{
    ace_link_flush(ACE_RECORD(deferral, ace_link, flush));
}

static void stream_ready(ace_watch *watch, short events)
{
    ace_link *link = ACE_RECORD(watch, ace_link, watch);
    /* With TLS a read may be what waits for room to write. */
    if ((events & ~POLLOUT) != 0 || (ace_stream_events(link->stream, true, false) & POLLOUT) != 0) {
        /* A bounded share of the turn, so that a flood of deliveries does not starve the rest. */
        int left = READS_A_TURN;
        while (left-- > 0 && link->failure == NULL && link->stream != NULL && read_once(link)) {
        }
    }
    if (link->failure == NULL && link->stream != NULL) {
        ace_link_flush_soon(link);
    }
}

static int64_t half_a_beat(const ace_link *link)
{
    return (int64_t)link->limits.heartbeat * 500;
}

static int64_t next_heartbeat(const ace_link *link)
{
    int64_t send = link->last_sent + half_a_beat(link);
    int64_t lose = link->last_received + half_a_beat(link) * 4;
    return send < lose ? send : lose;
}

static void beat(ace_timer *timer)
{
    ace_link *link = ACE_RECORD(timer, ace_link, heartbeat);
    int64_t now = ace_loop_now(link->loop);
    ace_error *error = NULL;
    if (now >= link->last_received + half_a_beat(link) * 4) {
        ace_fail(&error, ACE_CONNECTION_LOST, "%s: nothing was heard for %u s, two heartbeats",
                 ace_stream_peer(link->stream), 2u * link->limits.heartbeat);
        ace_link_fail(link, error);
        return;
    }
    if (now >= link->last_sent + half_a_beat(link)) {
        /* What waits already will do as a sign of life, once it can go out. */
        if (waiting(link) == 0) {
            if (ace_frame_write_heartbeat(&link->output, &error) != ACE_OK) {
                ace_link_fail(link, error);
                return;
            }
            ace_link_added(link, 0);
        }
        link->last_sent = now;
    }
    if (!ace_loop_timer_set(link->loop, timer, next_heartbeat(link))) {
        ace_fail_memory(&error);
        ace_link_fail(link, error);
    }
}

void ace_link_start_heartbeats(ace_link *link)
{
    if (link->limits.heartbeat == 0) {
        return;
    }
    link->heartbeat.fire = beat;
    if (!ace_loop_timer_set(link->loop, &link->heartbeat, next_heartbeat(link))) {
        ace_error *error = NULL;
        ace_fail_memory(&error);
        ace_link_fail(link, error);
    }
}

void ace_link_stream_init(ace_link *link)
{
    link->flush.run = flush_output;
    ace_frame_reader_init(&link->reader, ACE_FRAME_CLIENT);
    init_amqp_pool(&link->pool, 4096);
}

ace_code ace_link_attach(ace_link *link, ace_stream *stream, ace_error **error)
{
    link->stream = stream;
    link->watch = (ace_watch){.descriptor = ace_stream_descriptor(stream), .ready = stream_ready};
    link->last_received = ace_loop_now(link->loop);
    link->last_sent = link->last_received;
    link->queued = 0;
    link->paid = 0;
    set_events(link);
    if (!ace_loop_watch(link->loop, &link->watch)) {
        link->stream = NULL;
        ace_stream_close(stream);
        return ace_fail_memory(error);
    }
    return ACE_OK;
}

void ace_link_detach(ace_link *link)
{
    ace_loop_timer_cancel(link->loop, &link->heartbeat);
    ace_loop_undefer(link->loop, &link->flush);
    if (link->stream != NULL) {
        ace_stream *stream = link->stream;
        ace_loop_unwatch(link->loop, &link->watch);
        /* First, for a child that is forked in between: it may lose a descriptor, and not close one
         * that is somebody else's by then. */
        link->stream = NULL;
        ace_stream_close(stream);
    }
    ace_frame_reader_free(&link->reader);
    ace_frame_reader_init(&link->reader, ACE_FRAME_CLIENT);
    ace_buffer_free(&link->output);
    link->output_start = 0;
    link->congested = false;
}
