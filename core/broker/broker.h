/*
 * The memory broker: an AMQP 0-9-1 server over any byte stream, for tests, demos and `memory://`
 * URLs. Nothing is kept when it ends. It is no kinder than RabbitMQ 3.10: what that refuses is
 * refused here, with its code and its words.
 *
 * One thread a broker serves every connection. The functions below may be called from any thread
 * but the broker's own; a broker handle is held by references, and the last release ends it.
 *
 * Fork: a broker belongs to the process that started it. In a child every function answers
 * ACE_FORKED, and the last ace_broker_release() closes the child's copies of the descriptors. Its
 * memory is left: the thread, which the child has not got, may have been in the middle of a change.
 */
#ifndef ACE_BROKER_BROKER_H
#define ACE_BROKER_BROKER_H

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/stream.h"

#include <stddef.h>
#include <stdint.h>

typedef struct ace_broker ace_broker;

typedef struct ace_broker_user {
    const char *name;
    const char *password;
} ace_broker_user;

typedef struct ace_broker_limits {
    size_t connections;   /* open at once, 1 to 65536; a further one is closed at once */
    size_t channels;      /* a connection, 1 to 65535 */
    size_t queues;        /* a further declaration is refused with 406 */
    size_t exchanges;     /* likewise, the predeclared ones not counted */
    size_t bindings;      /* likewise */
    size_t message_bytes; /* one body: 406 above it */
    size_t stored_bytes;  /* bodies and headers of all messages: publishes above it end in 506 */
    size_t frame_bytes;   /* frame-max offered, 4096 to 2^31 - 1 */
    size_t
        outgoing_bytes; /* waiting to be written to one connection before deliveries to it pause */
    uint16_t heartbeat; /* offered, in seconds; 0: none */
    int64_t handshake_wait; /* milliseconds until a connection that has not opened is closed */
    /* Milliseconds a delivery may stay unacknowledged before its channel is closed with 406, on the
     * injected clock; 0: for ever. */
    int64_t acknowledgement_wait;
} ace_broker_limits;

typedef struct ace_broker_options {
    ace_clock *clock;             /* queue TTLs and expirations run on it; NULL: the system's */
    const ace_log *log;           /* copied; NULL: silent */
    const ace_broker_user *users; /* copied; NULL: guest with password guest alone */
    size_t user_count;
    const char *const *vhosts; /* copied; NULL: "/" alone */
    size_t vhost_count;
    ace_broker_limits limits;
} ace_broker_options;

/* The system clock, silent, guest/guest, "/", and RabbitMQ's limits where it has some (channel-max
 * 2047, frame-max 131072, heartbeat 60 s, handshake 10 s, acknowledgement 30 min, body 128 MiB). */
void ace_broker_options_init(ace_broker_options *options);

/* Starts the thread. `options` may be NULL for the defaults. On success *broker is one reference,
 * which the caller releases. ACE_INVALID_ARGUMENT (a limit out of range), ACE_OUT_OF_MEMORY,
 * ACE_SYSTEM. */
ace_code ace_broker_start(const ace_broker_options *options, ace_broker **broker,
                          ace_error **error);

/* One more reference to the same broker. */
ace_broker *ace_broker_keep(ace_broker *broker);

/* Makes a pair of streams, serves one end and hands out the other, which the caller owns. Returns
 * before the handshake. The client's end outlives the broker: it then reads as closed by the peer.
 * ACE_CLOSED when the broker is ending, ACE_SYSTEM, ACE_OUT_OF_MEMORY, ACE_FORKED. */
ace_code ace_broker_attach(ace_broker *broker, ace_stream **client_end, ace_error **error);

/* Listens on a TCP address: a numeric host, or "localhost". Port 0 takes a free one; *bound_port
 * (may be NULL) is the port in use. May be called several times. ACE_INVALID_ARGUMENT, ACE_SYSTEM
 * (the address is taken), ACE_FORKED. */
ace_code ace_broker_listen(ace_broker *broker, const char *host, uint16_t port,
                           uint16_t *bound_port, ace_error **error);

/* The broker of `memory://name`: started with the defaults when nobody holds it, else one more
 * reference. The name has 1 to 255 bytes. It lives until the last reference is released; a later
 * opening of the name starts an empty one. */
ace_code ace_broker_open_named(const char *name, ace_broker **broker, ace_error **error);

/* Gives a reference back. The last one ends the broker: every connection is closed without a
 * goodbye, the thread is joined and all memory freed. NULL is fine. Never from the broker's own
 * thread. */
void ace_broker_release(ace_broker *broker);

#endif
