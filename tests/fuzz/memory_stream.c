#include "fuzz/memory_stream.h"

#include "fuzz/fuzz.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define MOST             64
#define FIRST_DESCRIPTOR 1000000 /* no real one is that high */

static memory_stream *known[MOST];

static ace_stream_state establish(ace_stream *stream, ace_error **error)
{
    (void)stream;
    (void)error;
    return ACE_STREAM_READY;
}

static ace_stream_state lost(ace_error **error)
{
    ace_fail(error, ACE_CONNECTION_LOST, "fuzz: connection reset by peer");
    return ACE_STREAM_FAILED;
}

static ace_stream_state read_bytes(ace_stream *stream, void *data, size_t size, size_t *moved,
                                   ace_error **error)
{
    memory_stream *memory = (memory_stream *)(void *)stream;
    size_t waiting = memory->to_library.length - memory->read;
    FUZZ_DEMAND(!memory->closed && size > 0);
    if (memory->broken) {
        return lost(error);
    }
    if (waiting == 0) {
        return memory->ended ? ACE_STREAM_END : ACE_STREAM_BLOCKED;
    }
    *moved = waiting < size ? waiting : size;
    memcpy(data, memory->to_library.data + memory->read, *moved);
    memory->read += *moved;
    if (memory->read == memory->to_library.length) {
        ace_buffer_clear(&memory->to_library);
        memory->read = 0;
    }
    return ACE_STREAM_READY;
}

static ace_stream_state write_bytes(ace_stream *stream, const struct iovec *parts, int count,
                                    size_t *moved, ace_error **error)
{
    memory_stream *memory = (memory_stream *)(void *)stream;
    FUZZ_DEMAND(!memory->closed && !memory->finished);
    if (memory->broken) {
        return lost(error);
    }
    for (int i = 0; i < count; i++) {
        size_t length = parts[i].iov_len < memory->room ? parts[i].iov_len : memory->room;
        FUZZ_DEMAND(length == 0 ||
                    ace_buffer_append(&memory->from_library, parts[i].iov_base, length));
        memory->room -= length;
        *moved += length;
    }
    return *moved > 0 ? ACE_STREAM_READY : ACE_STREAM_BLOCKED;
}

static void finish(ace_stream *stream)
{
    ((memory_stream *)(void *)stream)->finished = true;
}

static void close_stream(ace_stream *stream)
{
    memory_stream *memory = (memory_stream *)(void *)stream;
    FUZZ_DEMAND(!memory->closed);
    memory->closed = true;
}

static int descriptor(const ace_stream *stream)
{
    for (int i = 0; i < MOST; i++) {
        if (known[i] == (const memory_stream *)(const void *)stream) {
            return FIRST_DESCRIPTOR + i;
        }
    }
    FUZZ_DEMAND(false);
    return -1;
}

static short events(const ace_stream *stream, bool reading, bool writing)
{
    (void)stream;
    return (short)((reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
}

static const char *peer(const ace_stream *stream)
{
    (void)stream;
    return "fuzz";
}

static const ace_stream_operations operations = {
    .establish = establish,
    .read = read_bytes,
    .write = write_bytes,
    .finish = finish,
    .close = close_stream,
    .abandon = close_stream,
    .descriptor = descriptor,
    .events = events,
    .peer = peer,
};

memory_stream *memory_stream_new(void)
{
    memory_stream *stream = calloc(1, sizeof *stream);
    FUZZ_DEMAND(stream != NULL);
    stream->stream.operations = &operations;
    stream->room = SIZE_MAX;
    for (int i = 0; i < MOST; i++) {
        if (known[i] == NULL) {
            known[i] = stream;
            return stream;
        }
    }
    FUZZ_DEMAND(false);
    return NULL;
}

void memory_stream_free(memory_stream *stream)
{
    FUZZ_DEMAND(stream->closed);
    known[descriptor(&stream->stream) - FIRST_DESCRIPTOR] = NULL;
    ace_buffer_free(&stream->to_library);
    ace_buffer_free(&stream->from_library);
    free(stream);
}

memory_stream *memory_stream_of_descriptor(int wanted)
{
    int index = wanted - FIRST_DESCRIPTOR;
    return index >= 0 && index < MOST ? known[index] : NULL;
}

short memory_stream_ready(const memory_stream *stream, short wanted)
{
    bool readable = stream->read < stream->to_library.length || stream->ended || stream->broken;
    int ready = (readable ? POLLIN : 0) | (stream->room > 0 || stream->broken ? POLLOUT : 0);
    return (short)((ready & wanted) | (stream->broken ? POLLHUP : 0));
}

void memory_stream_feed(memory_stream *stream, ace_bytes bytes)
{
    if (!stream->ended && bytes.length > 0) {
        FUZZ_DEMAND(ace_buffer_append(&stream->to_library, bytes.data, bytes.length));
    }
}
