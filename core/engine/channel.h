/*
 * A channel that survives reconnects. All of it belongs to the loop's thread of its link.
 *
 * It opens when the link does. After a connection was lost it opens again by itself with the next
 * epoch; after the broker has closed the channel, or did not answer in time, only when its user
 * says so. Its number may differ from one opening to the next.
 */
#ifndef ACE_ENGINE_CHANNEL_H
#define ACE_ENGINE_CHANNEL_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/list.h"
#include "engine/link.h"
#include "wire/assembly.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ace_channel ace_channel;

/* What a channel tells its user. Each may be NULL. Inside any of them everything below may be
 * called, ace_channel_close() included. */
typedef struct ace_channel_handler {
    /* Open-ok came: declare, confirm.select, qos and consume from here. */
    void (*opened)(ace_channel *channel, void *user);
    /* It was open, or could not be opened. `comes_back`: by itself, with the next epoch; else
     * ace_channel_reopen() is needed. The calls under way were answered before. The error's code is
     * that of the broker's 403, 404, 405 or 406, ACE_CHANNEL_CLOSED for other replies,
     * ACE_CONNECTION_LOST, ACE_TIMEOUT, ACE_LIMIT (no channel number left), ACE_CLOSED (the link
     * was closed). */
    void (*lost)(ace_channel *channel, const ace_error *error, bool comes_back, void *user);
    /* basic.deliver or basic.return; the content is the handler's from here. NULL: it is freed. */
    void (*content)(ace_channel *channel, ace_content *content, void *user);
    /* What comes unasked: basic.ack, basic.nack, basic.cancel (already answered where an answer is
     * asked for). Borrowed for the call. channel.flow is answered here and not passed on. */
    void (*method)(ace_channel *channel, const amqp_method_t *method, void *user);
    /* The link is not congested any longer. */
    void (*room)(ace_channel *channel, void *user);
    /* Output went to the socket: all that was queued before ace_channel_queued() answered `mark`.
     */
    void (*written)(ace_channel *channel, uint64_t mark, void *user);
} ace_channel_handler;

/* `handler` is copied. Where the link is open already it opens at once; `opened` is never called
 * from in here. NULL: ACE_OUT_OF_MEMORY, ACE_LIMIT (no channel number
 * left), ACE_CLOSED (the link was). */
ace_channel *ace_channel_new(ace_link *link, const ace_channel_handler *handler, void *user,
                             ace_error **error);
/* Closes it (channel.close goes out where it is open) and frees it; calls under way are answered
 * with ACE_CLOSED, and no handler is called from here on. NULL is fine. */
void ace_channel_close(ace_channel *channel);
void ace_channel_reopen(ace_channel *channel); /* does nothing when it is open or opening */

/* Of contents that arrive from here on, bodies of more bytes are passed over (`skipped`); at first
 * those over the settings' body limit. */
void ace_channel_keep_bodies(ace_channel *channel, uint64_t largest);
/* They have so much room for their owner (ace_content_room()); at first none. */
void ace_channel_leave_room(ace_channel *channel, size_t room);
/* In the place of ace_content_free(), for its memory to be used again. */
void ace_channel_give_back(ace_channel *channel, ace_content *content);

ace_link *ace_channel_link(const ace_channel *channel);
bool ace_channel_is_open(const ace_channel *channel);
uint16_t ace_channel_number(const ace_channel *channel); /* 0 when it has none */
/* Counts every opening of this channel, from 1: a delivery tag belongs to one of them. */
uint64_t ace_channel_opening(const ace_channel *channel);

/* Counts the bytes queued on the link since it opened. */
uint64_t ace_channel_queued(const ace_channel *channel);

/* One synchronous method under way. Embedded in the caller's record, which must live until `done`.
 */
typedef struct ace_call ace_call;
struct ace_call {
    ace_link_node node; /* this and the next three are the channel's own */
    amqp_method_number_t request;
    int64_t deadline;
    ace_channel *channel;
    /* Once, with either a reply or an error (both borrowed for the call). For basic.get-ok
     * `content` is set and becomes the callee's. `wait` below bounds the time. */
    void (*done)(ace_call *call, const amqp_method_t *reply, ace_content *content,
                 const ace_error *error);
    int64_t wait; /* milliseconds for the answer; 0: the settings' rpc timeout */
};

/* Sends a synchronous method. Several may be under way; the broker answers in order. `method` is
 * the struct of `id` and is encoded here. A channel.close answers the oldest call with its code and
 * text, and the others with ACE_CHANNEL_CLOSED. No answer in time: the channel is closed and lost,
 * ACE_TIMEOUT. On failure nothing was sent and `done` is not called: ACE_STATE (not open), and what
 * ace_method_write() refuses. `call->done` and `call->wait` are set by the caller. */
ace_code ace_channel_call(ace_channel *channel, ace_call *call, amqp_method_number_t id,
                          const void *method, ace_error **error);
/* Sends a method that has no answer: basic.ack, nack, reject, anything with nowait. ACE_STATE and
 * what ace_method_write() refuses; nothing was sent then. */
ace_code ace_channel_send(ace_channel *channel, amqp_method_number_t id, const void *method,
                          ace_error **error);

/* Sends a content whose method and header frames are encoded already, with channel number 0, one
 * after the other in `frames`; `header` is the offset of the second. The number is filled in and
 * the body cut into frames on the way; the bytes are copied. All of it goes into the output, or
 * nothing: ACE_STATE, ACE_LIMIT (a frame larger than what this connection negotiated),
 * ACE_OUT_OF_MEMORY. */
ace_code ace_channel_publish(ace_channel *channel, ace_bytes frames, size_t header, ace_bytes body,
                             ace_error **error);

#endif
