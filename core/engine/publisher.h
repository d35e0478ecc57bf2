/*
 * The publishing side of a client. Any thread submits records; they leave in the order of
 * submission and in as few writes as possible, and each ends exactly once with one of the five
 * results that section 11 of the contract tells apart.
 *
 * There are three lanes, each with a channel of its own (the third opens when it is first used).
 * The application's may be paused, may have confirms switched off, and has a limit of publishes
 * outstanding. The lane of hops (retries, dead letters, put-backs) always has confirms and knows
 * neither pause nor limit.
 *
 * Deadlines are monotonic milliseconds of the settings' clock (ace_publisher_deadline()).
 */
#ifndef ACE_ENGINE_PUBLISHER_H
#define ACE_ENGINE_PUBLISHER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/list.h"
#include "base/timer.h"
#include "contract/publish.h"
#include "engine/cancel.h"
#include "engine/confirms.h"
#include "engine/link.h"
#include "engine/loop.h"
#include "engine/metrics.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ace_publisher ace_publisher;

typedef enum ace_publish_lane {
    ACE_PUBLISH_APPLICATION = 0,
    ACE_PUBLISH_HOP = 1,
    ACE_PUBLISH_UNCONFIRMED = 2, /* the application's too; a record ends when it was written */
} ace_publish_lane;

typedef struct ace_publish ace_publish;

/* One message on its way. Zeroed by its owner at first, encoded by ace_publish_encode(), then
 * submitted; the publisher's from there until `done` is called, its body included. */
struct ace_publish {
    /* Set by ace_publish_encode(). */
    ace_buffer frames; /* owned: the method frame and the header frame, channel number 0 */
    size_t header;     /* where the second starts */
    size_t heads;      /* bytes of both */
    ace_bytes body;    /* borrowed until `done`, or behind the frames */

    /* Set by the owner before submitting. */
    int64_t deadline; /* 0: `wait` from the submission on */
    int64_t wait;     /* ms; 0: the settings' confirm timeout */
    /* On the publishing loop's thread, once, where it may submit and may free the record, and may
     * not block. */
    void (*done)(ace_publish *publish);
    void *user;

    /* The result, from `done` on. ACE_OK: confirmed (with confirms off: written to the broker's
     * socket). ACE_UNROUTABLE (text, and the reply code as ace_error_reply()), ACE_NACKED,
     * ACE_REFUSED (blocked, paused, not connected, or over the limit until the deadline: nothing
     * was sent), ACE_UNKNOWN_OUTCOME (the connection was lost, or no confirm until the deadline).
     * Besides: ACE_LIMIT (headers larger than a frame of a connection that came back with smaller
     * ones), ACE_ACCESS_REFUSED, ACE_NOT_FOUND (the broker closed the channel over this publish: no
     * permission, no such exchange), ACE_CLOSED (nothing was sent), ACE_CANCELLED. */
    ace_code code;
    ace_error *error; /* owned by the record; NULL when code is ACE_OK */

    /* The publisher's own. */
    ace_task task;
    ace_link_node node;
    ace_outstanding outstanding;
    ace_publisher *publisher;
    ace_publish_lane lane;
    int stage;
    int64_t submitted; /* microseconds; 0: nobody measures */
    uint64_t written;  /* with confirms off: where its last byte stands in the link's output */
};

/* Encodes and measures, on the caller's thread, without a byte sent. `properties` are copied into
 * the frames, `body` is borrowed. `frame_max` is ace_link_frame_max(). ACE_LIMIT, naming the field
 * and the limit: exchange, routing key, a header name, headers that do not fit a frame, a body over
 * `body_limit`; ACE_INVALID_ARGUMENT: a value AMQP or RabbitMQ does not take. The record is
 * reusable after a failure. */
ace_code ace_publish_encode(ace_publish *publish, const char *exchange, const char *routing_key,
                            bool mandatory, const amqp_basic_properties_t *properties,
                            ace_bytes body, uint32_t frame_max, uint64_t body_limit,
                            ace_error **error);
/* The same of a publication, which is checked first: also what ace_publication_build() refuses. Its
 * own `frame_max` is 0. */
ace_code ace_publish_encode_publication(ace_publish *publish, const ace_publication *publication,
                                        bool mandatory, ace_bytes body, uint32_t frame_max,
                                        uint64_t body_limit, ace_error **error);
/* After encoding: the record takes a copy of the body. False: no memory, and nothing changed. */
bool ace_publish_keep_body(ace_publish *publish);
/* Of an encoded record, its body included: what counts against the queued limit. */
size_t ace_publish_bytes(const ace_publish *publish);
void ace_publish_clear(ace_publish *publish); /* frees what it owns and zeroes it */

/* Makes the channels of both lanes on the link, which must outlive it. `changed` of its own
 * listener keeps it informed. ACE_OUT_OF_MEMORY, ACE_CLOSED. */
ace_code ace_publisher_new(ace_link *link, ace_publisher **publisher, ace_error **error);
void ace_publisher_free(
    ace_publisher *publisher); /* after its link was closed, or in a child of fork */

/* Any thread, never blocks. ACE_CLOSED: the record stays the caller's and `done` is not called. */
ace_code ace_publisher_submit(ace_publisher *publisher, ace_publish_lane lane, ace_publish *publish,
                              ace_error **error);

/* The same where nobody waits for this one's result at present: it may leave up to ACE_LOOP_DOZE
 * later, in one write with others, while many are in hand or many have just ended. */
ace_code ace_publisher_submit_soon(ace_publisher *publisher, ace_publish_lane lane,
                                   ace_publish *publish, ace_error **error);
/* Any thread: what was submitted so leaves now. Before waiting for a result. */
void ace_publisher_hurry(ace_publisher *publisher);

/* The same as a submission and waits for the result, which it returns; the record is the caller's
 * again afterwards, whatever happened. `publish->done` is not used. ACE_FROM_HANDLER on a loop's
 * thread. ACE_CANCELLED: the text says whether it was sent. */
ace_code ace_publisher_send(ace_publisher *publisher, ace_publish_lane lane, ace_publish *publish,
                            ace_cancel *cancel, ace_error **error);

/* Submits all, in order, and waits for the results, which are in the records. Returns the first
 * that is not ACE_OK, in the order of the records; *error is a copy of that record's. */
ace_code ace_publisher_send_all(ace_publisher *publisher, ace_publish_lane lane,
                                ace_publish **publishes, size_t count, ace_cancel *cancel,
                                ace_error **error);

/* Whether the next call would return at once with ACE_OK. Any thread. */
bool ace_publisher_has_room(ace_publisher *publisher, size_t bytes);
/* Before an asynchronous submission, so that what waits here stays bounded: waits until fewer than
 * the outstanding limit of the application's records are in hand, and one of `bytes` fits their
 * queued limit beside them, or nothing else is in hand. At once on the loop's thread.
 * `deadline` is monotonic of the system's clock. ACE_REFUSED when it passes, ACE_CANCELLED,
 * ACE_CLOSED. */
ace_code ace_publisher_await_room(ace_publisher *publisher, size_t bytes, int64_t deadline,
                                  ace_cancel *cancel, ace_error **error);

/* Called on the loop's thread for a message that came back and belongs to no publish that is still
 * waited for (with confirms off: any). Set before the first submission. The error is borrowed. */
void ace_publisher_watch_returns(ace_publisher *publisher,
                                 void (*returned)(const ace_error *error, void *user), void *user);

/* A deadline on the settings' clock. */
int64_t ace_publisher_deadline(const ace_publisher *publisher, int64_t timeout);

/* While paused, records of the application's lane wait for the resumption until their deadline, and
 * are then refused. Any thread. */
void ace_publisher_pause(ace_publisher *publisher);
void ace_publisher_resume(ace_publisher *publisher);
bool ace_publisher_is_paused(const ace_publisher *publisher);

/* Waits until nothing is in hand on either lane. ACE_TIMEOUT, ACE_CANCELLED. `deadline` is of the
 * system's clock. */
ace_code ace_publisher_flush(ace_publisher *publisher, int64_t deadline, ace_cancel *cancel,
                             ace_error **error);

/* Takes nothing more. What was not sent ends with ACE_CLOSED, what was sent and not confirmed with
 * ACE_UNKNOWN_OUTCOME; every `done` was called when this returns. Not from a loop's thread. Again
 * is fine. */
void ace_publisher_close(ace_publisher *publisher);

/* Counts and times the application's publishes there from now on; it outlives the publisher. */
void ace_publisher_measure(ace_publisher *publisher, ace_metrics *metrics);
/* One that ended before it was submitted. */
void ace_publisher_measure_unsent(ace_publisher *publisher, const char *exchange,
                                  const char *routing_key, ace_code code);

typedef struct ace_publisher_counts {
    uint64_t confirmed;
    uint64_t unroutable;
    uint64_t nacked;
    uint64_t refused;
    uint64_t unknown;      /* outcomes */
    uint64_t unknown_tags; /* confirms for numbers nobody waits for */
    uint64_t unmatched;    /* returns that fit no publish */
    uint64_t outstanding;  /* sent, not confirmed, both lanes */
    uint64_t waiting;      /* not sent yet, both lanes */
} ace_publisher_counts;

void ace_publisher_count(ace_publisher *publisher, ace_publisher_counts *counts);

#endif
