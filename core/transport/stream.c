#include "transport/stream.h"

ace_stream_state ace_stream_establish(ace_stream *stream, ace_error **error)
{
    return stream->operations->establish(stream, error);
}

ace_stream_state ace_stream_read(ace_stream *stream, void *data, size_t size, size_t *moved,
                                 ace_error **error)
{
    *moved = 0;
    return stream->operations->read(stream, data, size, moved, error);
}

ace_stream_state ace_stream_write(ace_stream *stream, const struct iovec *parts, int count,
                                  size_t *moved, ace_error **error)
{
    *moved = 0;
    return stream->operations->write(stream, parts, count, moved, error);
}

void ace_stream_finish(ace_stream *stream)
{
    stream->operations->finish(stream);
}

void ace_stream_close(ace_stream *stream)
{
    if (stream != NULL) {
        stream->operations->close(stream);
    }
}

void ace_stream_abandon(ace_stream *stream)
{
    if (stream != NULL) {
        stream->operations->abandon(stream);
    }
}

int ace_stream_descriptor(const ace_stream *stream)
{
    return stream->operations->descriptor(stream);
}

short ace_stream_events(const ace_stream *stream, bool reading, bool writing)
{
    return stream->operations->events(stream, reading, writing);
}

const char *ace_stream_peer(const ace_stream *stream)
{
    return stream->operations->peer(stream);
}
