/*
 * AMQP 0-9-1 frames: cutting received bytes into them, and writing them. Both sides of a connection
 * use this: the engine, the memory broker and the tests' scripted peer. No I/O, no thread: a reader
 * belongs to one loop.
 *
 * Limits count whole frames, as connection.tune does: a frame of frame_max bytes carries a payload
 * of frame_max - 8.
 */
#ifndef ACE_WIRE_FRAME_H
#define ACE_WIRE_FRAME_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACE_FRAME_OVERHEAD    8u      /* type, channel, size, end octet */
#define ACE_FRAME_MAX_LEAST   4096u   /* what every peer must accept */
#define ACE_FRAME_MAX_DEFAULT 131072u /* asked for, and accepted before tune */
#define ACE_FRAME_END         0xCEu

typedef enum ace_frame_type {
    ACE_FRAME_NONE = 0, /* the frame is not complete yet */
    ACE_FRAME_METHOD = 1,
    ACE_FRAME_HEADER = 2,
    ACE_FRAME_BODY = 3,
    ACE_FRAME_HEARTBEAT = 8,
    /* Not a frame: the eight bytes with which a client opens the connection. Only a server's reader
     * yields it, once, before all frames. */
    ACE_FRAME_PROTOCOL_HEADER = 'A',
} ace_frame_type;

typedef struct ace_frame {
    ace_frame_type type;
    uint16_t channel;
    ace_bytes payload; /* borrowed until bytes are added to the reader */
} ace_frame;

typedef enum ace_frame_side {
    ACE_FRAME_CLIENT, /* reads what a server sends */
    ACE_FRAME_SERVER, /* reads what a client sends; the protocol header comes first */
} ace_frame_side;

typedef struct ace_frame_reader {
    ace_buffer bytes;
    size_t start; /* of the first byte that was not yielded yet */
    uint32_t frame_max;
    ace_frame_side side;
    bool opened;        /* the protocol header, or the first frame, was seen */
    ace_error *failure; /* what every further call answers */
} ace_frame_reader;

void ace_frame_reader_init(ace_frame_reader *reader, ace_frame_side side);
void ace_frame_reader_free(ace_frame_reader *reader);

/* What tune negotiated; 0 (no limit) and what is out of range is brought to the nearest of
 * ACE_FRAME_MAX_LEAST and INT32_MAX. Larger frames are refused from now on. */
void ace_frame_reader_set_max(ace_frame_reader *reader, uint32_t frame_max);

/* Room for at least `least` bytes (at least 1) to receive into, and how many fit. The room is
 * followed by ace_frame_reader_received(). NULL: no memory. Frames yielded before are gone
 * afterwards. */
uint8_t *ace_frame_reader_room(ace_frame_reader *reader, size_t least, size_t *size);
void ace_frame_reader_received(ace_frame_reader *reader, size_t length);
/* The same by copying. ACE_OUT_OF_MEMORY; the reader is then unchanged. */
ace_code ace_frame_reader_append(ace_frame_reader *reader, const void *data, size_t length,
                                 ace_error **error);

/* The next frame; its type is ACE_FRAME_NONE when more bytes are needed. Linear in the bytes
 * however many frames they hold. ACE_PROTOCOL with what was wrong: an unknown type, a size over the
 * limit, a wrong end octet, a heartbeat that is not empty or not on channel 0, a method or content
 * on the wrong channel; on the client's side also a protocol header in place of the first frame,
 * which is how a broker refuses the version; on the server's side one that is not AMQP 0-9-1. After
 * an error the reader stays failed: every call answers the same until it is freed. */
ace_code ace_frame_next(ace_frame_reader *reader, ace_frame *frame, ace_error **error);

/* Bytes received and not yielded yet. */
size_t ace_frame_reader_pending(const ace_frame_reader *reader);

/* The writers append to `buffer`, which is unchanged on an error. `frame_max` 0 stands for no
 * limit. */
ace_code ace_frame_write_protocol_header(ace_buffer *buffer, ace_error **error);
ace_code ace_frame_write_heartbeat(ace_buffer *buffer, ace_error **error);
/* One frame. ACE_LIMIT when the payload passes frame_max - 8. */
ace_code ace_frame_write(ace_buffer *buffer, ace_frame_type type, uint16_t channel,
                         ace_bytes payload, uint32_t frame_max, ace_error **error);
/* A body in as few frames as it takes; none for an empty one. */
ace_code ace_frame_write_body(ace_buffer *buffer, uint16_t channel, ace_bytes body,
                              uint32_t frame_max, ace_error **error);

/* The frame around a payload of `length` bytes that the caller fills in: where it goes, valid until
 * the buffer is used again. `length` must be within the limit. NULL: no memory, the buffer is
 * unchanged. */
uint8_t *ace_frame_begin(ace_buffer *buffer, ace_frame_type type, uint16_t channel, size_t length);

/* How many bytes the body takes in frames. */
uint64_t ace_frame_body_size(uint64_t body, uint32_t frame_max);
/* The payload one frame holds: frame_max - 8, INT32_MAX - 8 where there is no limit. */
size_t ace_frame_payload_max(uint32_t frame_max);

#endif
