/* One end of a byte stream whose other end is the fuzz target: no socket, no system call. */
#ifndef ACE_TESTS_FUZZ_MEMORY_STREAM_H
#define ACE_TESTS_FUZZ_MEMORY_STREAM_H

#include "base/buffer.h"
#include "transport/stream.h"

#include <stdbool.h>

typedef struct memory_stream {
    ace_stream stream; /* what the library holds; it closes it, and the target frees it */
    ace_buffer to_library;
    size_t read; /* of `to_library` */
    ace_buffer from_library;
    size_t room;   /* bytes of `from_library` that fit before writing is blocked */
    bool ended;    /* the target sends no more */
    bool broken;   /* reading and writing fail */
    bool finished; /* the library sends no more */
    bool closed;
} memory_stream;

memory_stream *memory_stream_new(void);
void memory_stream_free(memory_stream *stream);

/* What poll(2) would answer to `events`. */
short memory_stream_ready(const memory_stream *stream, short events);
void memory_stream_feed(memory_stream *stream, ace_bytes bytes);
/* The one with this descriptor among those there are; NULL. */
memory_stream *memory_stream_of_descriptor(int descriptor);

#endif
