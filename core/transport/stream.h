/*
 * A byte stream between two parties: TCP, an in-process pair, TLS over one of them. Non-blocking
 * throughout; the owner polls. A stream belongs to one thread at a time. Every descriptor is
 * close-on-exec and no operation raises SIGPIPE.
 */
#ifndef ACE_TRANSPORT_STREAM_H
#define ACE_TRANSPORT_STREAM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

typedef enum ace_stream_state {
    ACE_STREAM_READY,   /* done; for read and write: at least one byte was moved */
    ACE_STREAM_BLOCKED, /* nothing moved: poll for ace_stream_events() and call again */
    ACE_STREAM_END,     /* read only: the peer sends no more */
    ACE_STREAM_FAILED,  /* *error says why; the stream is good for nothing but closing */
} ace_stream_state;

typedef struct ace_stream ace_stream;

/* What a kind of stream has to provide. The functions below are the way to call them. */
typedef struct ace_stream_operations {
    ace_stream_state (*establish)(ace_stream *stream, ace_error **error);
    ace_stream_state (*read)(ace_stream *stream, void *data, size_t size, size_t *moved,
                             ace_error **error);
    ace_stream_state (*write)(ace_stream *stream, const struct iovec *parts, int count,
                              size_t *moved, ace_error **error);
    void (*finish)(ace_stream *stream);
    void (*close)(ace_stream *stream);
    void (*abandon)(ace_stream *stream);
    int (*descriptor)(const ace_stream *stream);
    short (*events)(const ace_stream *stream, bool reading, bool writing);
    const char *(*peer)(const ace_stream *stream);
} ace_stream_operations;

struct ace_stream { /* the first member of every kind */
    const ace_stream_operations *operations;
};

/* Goes on with what comes before the first byte (a TCP connect under way, a TLS handshake). READY
 * when the stream can be read and written, and again on later calls. FAILED: ACE_UNREACHABLE with
 * host, port and address; with TLS also ACE_TLS and its kinds. Reading and writing before READY is
 * BLOCKED. */
ace_stream_state ace_stream_establish(ace_stream *stream, ace_error **error);

/* FAILED: ACE_CONNECTION_LOST with the peer and errno's text; with TLS also
 * ACE_TLS_CLIENT_CERTIFICATE, before the first byte. *moved is 0 unless READY. With room for
 * ACE_STREAM_ROOM bytes, all that came is handed over: nothing is held back that poll(2) would not
 * tell of. */
#define ACE_STREAM_ROOM 16384
ace_stream_state ace_stream_read(ace_stream *stream, void *data, size_t size, size_t *moved,
                                 ace_error **error);
/* Writes as much as goes in one call; more than IOV_MAX parts are cut there. Nothing to write is
 * READY. After BLOCKED the next write begins with the same bytes, and has no fewer of them. */
ace_stream_state ace_stream_write(ace_stream *stream, const struct iovec *parts, int count,
                                  size_t *moved, ace_error **error);

void ace_stream_finish(ace_stream *stream); /* sends no more; reading goes on */
void ace_stream_close(ace_stream *stream);  /* frees; NULL is fine */
/* Frees in a forked child: closes this process's descriptor and tells the peer nothing. */
void ace_stream_abandon(ace_stream *stream); /* NULL is fine */

int ace_stream_descriptor(const ace_stream *stream);
/* The poll(2) events to wait for when the owner wants to read, to write, or both. */
short ace_stream_events(const ace_stream *stream, bool reading, bool writing);
/* The peer as an error or a log line names it: "broker.example:5672 (192.0.2.7)",
 * "memory://orders". Lives as long as the stream. */
const char *ace_stream_peer(const ace_stream *stream);

#endif
