/*
 * AMQP frames out of a fuzz input. A mutator seldom hits upon a frame's size and end octet, so the
 * input says what is inside, and the bytes around it are written here; raw bytes are among it too.
 */
#ifndef ACE_TESTS_FUZZ_FRAMES_H
#define ACE_TESTS_FUZZ_FRAMES_H

#include "base/buffer.h"
#include "fuzz/fuzz.h"
#include "wire/frame.h"

#include <amqp.h>
#include <amqp_framing.h>

typedef enum fuzz_frame_kind {
    FUZZ_RAW,          /* a counted piece of bytes, as they are */
    FUZZ_METHOD,       /* a known method whose fields the input fills in */
    FUZZ_METHOD_BYTES, /* a known method with any bytes behind its number */
    FUZZ_HEADER,       /* a content header */
    FUZZ_HEADER_BYTES, /* the same with any bytes as flags and list */
    FUZZ_BODY,         /* a piece of body */
    FUZZ_HEARTBEAT,    /* with any payload */
    FUZZ_CONTENT,      /* deliver, return, get-ok or publish with its header and body */
    FUZZ_KINDS,
} fuzz_frame_kind;

/* Appends what the next bytes of the input describe: at least one byte is used. */
void fuzz_append_frames(fuzz_input *input, ace_buffer *wire);

/* The same for one method, and for property flags and list. */
void fuzz_append_method(fuzz_input *input, uint16_t channel, amqp_method_number_t id,
                        ace_buffer *wire);
void fuzz_append_properties(fuzz_input *input, ace_buffer *list);

/* A table or another piece: length and bytes, the length as the wire has it. */
void fuzz_append_counted(ace_bytes bytes, ace_buffer *out);

/* Every frame of what a side of ours has written must be one; returns how many there are. */
size_t fuzz_check_output(ace_bytes wire, ace_frame_side side, uint32_t frame_max);

#endif
