/**
 * @file connection.h
 * The client: two connections to one broker, one that publishes and one that consumes, kept alive.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_CONNECTION_H
#define ACEMQ_CONNECTION_H

#include "cancel.h"
#include "event.h"
#include "work.h"

ACEMQ_BEGIN

/** A client. Thread-safe. Owned, freed with acemq_connection_free(), which closes it when that was
 * not done. Children (publishers, consumers) hold a reference: free in any order; using a child
 * after the client was closed is ACEMQ_E_CLOSED. */
typedef struct acemq_connection acemq_connection;

/** Where user and password come from, each time a connection is made. */
typedef enum acemq_credentials_source {
    /** the URL's; guest and guest where it has none */
    ACEMQ_CREDENTIALS_URL = 0,
    /** a file of two lines, user and password */
    ACEMQ_CREDENTIALS_FILE = 1,
    /** two environment variables */
    ACEMQ_CREDENTIALS_ENVIRONMENT = 2,
    /** a function of the caller's */
    ACEMQ_CREDENTIALS_CALLBACK = 3,
    /** the URL's for acemq_connect() itself, which nobody could answer meanwhile; after a loss
     * ACEMQ_EVENT_CREDENTIALS_WANTED, answered by acemq_connection_give_credentials() */
    ACEMQ_CREDENTIALS_EVENT = 4
} acemq_credentials_source;

/**
 * Hands over user and password, copied into the two buffers of `size` bytes with their NUL.
 * Called from a thread of the library, at each connect; must not call the library with this
 * connection.
 * @return 0, or anything else when there are none: the connect fails with ACEMQ_E_LOGIN_REFUSED.
 */
typedef int (*acemq_credentials_callback)(char *name, char *password, size_t size, void *user);

/** How much of the log is wanted. */
typedef enum acemq_log_level {
    ACEMQ_LOG_NONE = 0,
    ACEMQ_LOG_ERROR = 1,
    ACEMQ_LOG_WARNING = 2,
    ACEMQ_LOG_INFO = 3,
    ACEMQ_LOG_DEBUG = 4
} acemq_log_level;

/** A line of the log. Any thread; must not call the library. */
typedef void (*acemq_log_callback)(acemq_log_level level, const char *line, void *user);

/** Options of acemq_connect(). Start from ACEMQ_CONNECT_OPTIONS_INIT or
 * acemq_connect_options_init(). Texts are copied. */
typedef struct acemq_connect_options {
    size_t size;
    /** shown by the broker; NULL: the program's name and process id */
    const char *name;
    /** of acemq_connect() as a whole; default 10 s, 1 ms to a day */
    int64_t timeout;
    /** of one exchange with the broker (declare, …); default 30 s */
    int64_t call_timeout;
    /** How often each side shows life, in ms, rounded up to whole seconds; a peer silent for two of
     * them is dead. 0: off. -1: what the broker suggests (default). The lower of both sides'
     * counts. */
    int64_t heartbeat;
    /** the first wait after a loss; default 500 ms, doubling; 0: never reconnect */
    int64_t reconnect_initial;
    /** the longest of these waits; default 30 s; 0: as long as the first. Below reconnect_initial
     * it is refused, unless one of the two has its default: that one gives way. */
    int64_t reconnect_max;
    /** publishes under way at once; default 1000, 1 to 65535 */
    int64_t outstanding;
    /** where a publish has no timeout of its own; default 30 s */
    int64_t publish_timeout;
    /** largest body sent or received, in bytes; default 128 MiB. What arrives with a larger one is
     * not read: see consumer.h and replay.h. */
    int64_t max_body;
    /** largest frame, in bytes; 0: what the broker suggests, up to 1 MiB; else 4096 and more */
    int32_t frame_max;
    /** 0: what the broker suggests */
    int32_t channel_max;
    /** acemq_credentials_source; default ACEMQ_CREDENTIALS_URL */
    int32_t credentials;
    /** acemq_log_level of the callback and of the events; default warning */
    int32_t log_level;
    /** of ACEMQ_CREDENTIALS_FILE */
    const char *credentials_file;
    /** names of environment variables */
    const char *user_variable;
    /** likewise */
    const char *password_variable;
    /** of ACEMQ_CREDENTIALS_CALLBACK */
    acemq_credentials_callback credentials_callback;
    void *credentials_user;
    /** NULL: none */
    acemq_log_callback log_callback;
    void *log_user;
    /** watched by acemq_connect() and by every blocking call through this client that was given
     * none; NULL: none */
    acemq_cancel *cancel;
    /** the kinds wanted, 1 << acemq_event_kind each; 0: none are kept */
    uint64_t events;
    /** bytes of the publishes that are under way at once; a larger one goes when nothing else is;
     * default 256 MiB */
    int64_t max_queued;
    /** bytes of acknowledgements and answers that wait for a broker that does not read, before the
     * connection is dropped; default 16 MiB, 4096 and more */
    int64_t max_output;
    /** bytes of the headers that an application gives one message; default 128 KiB. All headers and
     * properties of a message have to fit a frame besides. */
    int64_t max_headers;
    /** how many these are, those of nested tables and arrays included; default 4096, up to 65000 */
    int32_t max_header_entries;
    /** how deep they are nested, the headers themselves counted as 1; default 32, 1 to 32 */
    int32_t max_nesting;

    /* TLS, of `amqps://`. The files are PEM and are read at each connect. What the URL says goes
     * over this. With `amqp://` the texts are refused, since nothing would be encrypted. */

    /** CAs that are trusted; NULL, like the next: those of the system */
    const char *ca_file;
    /** a folder of them by hash, as `openssl rehash` makes it */
    const char *ca_folder;
    /** the client's certificate, with what is between it and its CA; NULL: none */
    const char *certificate_file;
    /** its key; NULL: in certificate_file */
    const char *key_file;
    /** of an encrypted key; NULL: none. In no message, ever. */
    const char *key_password;
    /** the name that is asked for and that the broker's certificate must hold; NULL: the host's */
    const char *server_name;
    /** 1: the broker's certificate is verified (default). 0: it is not, which is logged as a
     * warning at each connect. */
    int32_t verify;

    /* How TCP notices a peer that vanished, beside heartbeats. */

    /** probes without an answer, from which on it is dead; default 6, 1 to 127 */
    int32_t keepalive_count;
    /** silence before the first probe, in ms, rounded up to whole seconds; 0: off; default 60 s */
    int64_t keepalive;
    /** between two probes, likewise; default 10 s, at least 1 ms */
    int64_t keepalive_interval;
    /** how long what was sent may wait for its receipt, in ms; default 2 minutes; 0: as long as the
     * kernel likes. While the broker takes no publishes it does not count. */
    int64_t tcp_user_timeout;
} acemq_connect_options;

#define ACEMQ_CONNECT_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(acemq_connect_options), 0, 10000, 30000, -1, 500, 30000, 1000, 30000, 134217728, 0, \
            0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 268435456, 16777216, 131072, 4096, 32, 0, 0, 0, 0, \
            0, 0, 1, 6, 60000, 10000, 120000                                                       \
    }

/** Fills *options with the defaults. @param size sizeof(acemq_connect_options) as the caller knows
 * it. Errors: ACEMQ_E_INVALID_ARGUMENT. */
ACEMQ_API acemq_status acemq_connect_options_init(acemq_connect_options *options, size_t size);

/**
 * Connects and logs in.
 *
 * URLs: `amqp://user:password@host:port/vhost?heartbeat=10`, percent-encoded; `amqp://host` and
 * `amqp://host/` are the vhost `/`. `amqps://` is the same with TLS, with port 5671 where none is
 * given. Hosts may be several, `a,b,c:5673`: they are tried in turn from a random one, here and
 * after a loss, and the error names what each said. `memory://name` is a broker inside this
 * process, which lives while a connection to it is open.
 * @param options NULL: defaults
 * @param connection owned, freed with acemq_connection_free()
 * @param url     as above; its password is in no message
 * Errors: ACEMQ_E_PARSE (the URL), ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_UNREACHABLE,
 * ACEMQ_E_LOGIN_REFUSED, ACEMQ_E_VHOST_REFUSED, ACEMQ_E_TIMEOUT, ACEMQ_E_CANCELLED,
 * ACEMQ_E_PROTOCOL, ACEMQ_E_UNSUPPORTED, ACEMQ_E_SYSTEM, ACEMQ_E_OUT_OF_MEMORY, and with TLS
 * ACEMQ_E_TLS and its kinds; ACEMQ_E_TLS_WANTED without.
 */
ACEMQ_API acemq_status acemq_connect(const char *url, const acemq_connect_options *options,
                                     acemq_connection **connection, acemq_error **error);

/**
 * Closes the client: groups are drained and publishes under way awaited until `timeout`, one
 * deadline for all; consumers are cancelled without being waited for; what is unsettled goes back.
 * Not from a handler of this client: ACEMQ_E_FROM_HANDLER. A second close is ACEMQ_E_CLOSED.
 * Errors: ACEMQ_E_TIMEOUT (it is closed all the same), whose message names what was left.
 */
ACEMQ_API acemq_status acemq_connection_close(acemq_connection *connection, int64_t timeout,
                                              acemq_error **error);
/**
 * The same, and names what was left: what handlers and pulling threads had in hand at the end,
 * which the broker delivers again.
 * @param left owned, freed with acemq_work_free(); NULL when there is none; may be NULL. Set before
 *             ACEMQ_E_TIMEOUT is answered, too
 */
ACEMQ_API acemq_status acemq_connection_close_naming(acemq_connection *connection, int64_t timeout,
                                                     acemq_work **left, acemq_error **error);
/** Ends the caller's hold; closes first, with a timeout of 1 s, when that was not done. */
ACEMQ_API void acemq_connection_free(acemq_connection *connection);

/** Where a client is. */
typedef enum acemq_connection_state {
    ACEMQ_CONNECTION_OPEN = 1,
    ACEMQ_CONNECTION_BLOCKED = 2,      /**< the broker takes no publishes; consuming goes on */
    ACEMQ_CONNECTION_RECONNECTING = 3, /**< lost, and on its way back */
    ACEMQ_CONNECTION_FAILED = 4,       /**< lost for good: no reconnecting was asked for, or the
                                      broker refused the login ten times in a row */
    ACEMQ_CONNECTION_CLOSED = 5
} acemq_connection_state;

/** Answers at once. `reason`, when not NULL, receives an owned error that says why it is not open,
 * or NULL. */
ACEMQ_API acemq_connection_state acemq_connection_get_state(const acemq_connection *connection,
                                                            acemq_error **reason);

/** Pauses publishing: publishes through this client are refused after their timeout. Hops are not
 * touched (section 6). */
ACEMQ_API acemq_status acemq_connection_pause_publishing(acemq_connection *connection,
                                                         acemq_error **error);
/** Publishing goes on. Again is fine. */
ACEMQ_API acemq_status acemq_connection_resume_publishing(acemq_connection *connection,
                                                          acemq_error **error);
/** 1 while publishing is paused. */
ACEMQ_API int acemq_connection_publishing_paused(const acemq_connection *connection);

/**
 * The next event of the kinds asked for in the options; owned, freed with acemq_event_free().
 * Errors: ACEMQ_E_TIMEOUT, ACEMQ_E_CANCELLED, ACEMQ_E_CLOSED when it was closed and no event is
 * left, ACEMQ_E_STATE when no kinds were asked for, ACEMQ_E_FROM_HANDLER in a callback of
 * publishing.
 */
ACEMQ_API acemq_status acemq_connection_next_event(acemq_connection *connection, int64_t timeout,
                                                   acemq_event **event, acemq_error **error);
/** Readable while there is an event; the library's, never to be read or closed. -1 when no kinds
 * were asked for. */
ACEMQ_API int acemq_connection_event_fd(const acemq_connection *connection);
/**
 * Answers ACEMQ_EVENT_CREDENTIALS_WANTED within the connect's timeout; copied, and used for both
 * connections. Errors: ACEMQ_E_STATE when nothing waits for them.
 * @param name     of the user
 * @param password in no message, ever
 */
ACEMQ_API acemq_status acemq_connection_give_credentials(acemq_connection *connection,
                                                         const char *name, const char *password,
                                                         acemq_error **error);

ACEMQ_END

#endif
