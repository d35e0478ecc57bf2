/*
 * Putting the frames of one channel together again: a method that announces a content, its header
 * frame and its body frames become one ace_content, which owns all its bytes.
 */
#ifndef ACE_WIRE_ASSEMBLY_H
#define ACE_WIRE_ASSEMBLY_H

#include "base/blocks.h"
#include "base/buffer.h"
#include "base/error.h"
#include "wire/frame.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

#define ACE_BODY_MAX_DEFAULT (UINT64_C(512) * 1024 * 1024)

/*
 * One block of memory holds the record, the method, the properties as received and as decoded, and
 * a small body; a larger body is a second one. A content may be handed from thread to thread, one
 * at a time. Everything here lives until ace_content_free().
 */
typedef struct ace_content {
    uint16_t channel;
    amqp_method_t method; /* basic.deliver, get-ok, return or publish */
    /* Never NULL. Without headers, or without anything, when `fault` says so. */
    amqp_basic_properties_t *properties;
    ace_bytes properties_raw; /* flags and list, as received (but see ace_table_check() on 'U') */
    ace_bytes body;
    uint64_t skipped; /* the bytes of a body over the limit of what is kept; `body` is empty then */
    /* NULL, or why the properties could not be read as they are: a header table nested deeper than
     * ACE_TABLE_DEPTH_MAX, an unknown kind, lengths that do not add up. The content is whole
     * otherwise: a message some other program has published must not cost the connection. */
    ace_error *fault;
} ace_content;

void ace_content_free(ace_content *content); /* NULL is fine */
/* The memory it holds, the body included: what a limit by bytes counts. */
size_t ace_content_memory(const ace_content *content);

/* The room that its assembly left in the block for whoever owns the content, aligned for any type
 * and not cleared: what ace_assembly_leave_room() said, and the length of the method. It goes with
 * the content. NULL: none. */
void *ace_content_room(ace_content *content);

/* Whether its body is there. ACE_LIMIT "body has 300 bytes, the limit is 200", where it was passed
 * over for that limit. */
ace_code ace_content_whole(const ace_content *content, uint64_t limit, ace_error **error);

typedef struct ace_assembly { /* one for each channel; a part of its owner's record */
    ace_content *open;        /* has its header and waits for the rest of the body */
    uint64_t body_max;
    uint64_t body_kept;     /* the largest that is */
    uint64_t body_size;     /* as the header frame claims */
    uint64_t body_received; /* of them */
    size_t body_capacity;
    ace_buffer heads; /* the method's payload, while the header frame is awaited */
    size_t decoded;   /* what it takes then */
    size_t room;
    ace_blocks spare;
} ace_assembly;

/* `body_max` is in bytes: ACE_BODY_MAX_DEFAULT, or less. */
void ace_assembly_init(ace_assembly *assembly, uint64_t body_max);
/* From the next content on, bodies over this size are read and not kept; at first none are. */
void ace_assembly_keep(ace_assembly *assembly, uint64_t largest);
/* The room of every content from the next one on; at first there is none. */
void ace_assembly_leave_room(ace_assembly *assembly, size_t room);
/* In the place of ace_content_free(), on the thread of the assembly, whichever made it: its memory
 * is used again. */
void ace_assembly_give_back(ace_assembly *assembly, ace_content *content);
/* Drops what is unfinished; ready for the next content. Also the way to free. */
void ace_assembly_reset(ace_assembly *assembly);
bool ace_assembly_is_empty(const ace_assembly *assembly); /* no content is under way */

/* Takes the next method, header or body frame of the channel. *done receives the content that this
 * frame completes, owned by the caller; NULL otherwise. A method without content passes untouched
 * (the caller handles it), but is an error in the middle of a content.
 *
 * ACE_PROTOCOL: a header or body frame that nothing announced, a method inside a content, more body
 * than the header said, a class other than basic, a method that does not decode.
 * ACE_LIMIT: the header claims a body over the limit; nothing was allocated for it.
 * ACE_OUT_OF_MEMORY. After any error the unfinished content is dropped, as by ace_assembly_reset().
 * Memory for the body grows with the bytes that arrive, whatever the header claims. */
ace_code ace_assembly_take(ace_assembly *assembly, const ace_frame *frame, ace_content **done,
                           ace_error **error);

#endif
