/**
 * @file outbox.h
 * Messages that exist exactly when the caller's own transaction commits (section 10): written
 * there, and published afterwards by a relay.
 *
 * Threads: a function that takes no handle may be called by any thread.
 * Ownership: what is read from a statement or a list is borrowed until it is freed.
 * Errors: a function that lists none answers those that common.h lists for all.
 */
#ifndef ACEMQ_OUTBOX_H
#define ACEMQ_OUTBOX_H

#include "connection.h"
#include "message.h"

ACEMQ_BEGIN

/* Of LMDB and libpq, whose headers are not needed here: MDB_env, MDB_txn and PGconn. */
struct MDB_env;
struct MDB_txn;
struct pg_conn;

/** An outbox. Any thread. Owned, freed with acemq_outbox_free(). */
typedef struct acemq_outbox acemq_outbox;

/** Options of acemq_outbox_open(). */
typedef struct acemq_outbox_options {
    size_t size;
    /** of the table, or the databases: `[A-Za-z_][A-Za-z0-9_]{0,62}`; copied. NULL: `acemq_outbox`
     */
    const char *name;
    /** ms that opening may take; default 30 s */
    int64_t timeout;
    /** after so many failures of its own a message is retired; from 1, default 10 */
    int32_t attempts;
    /** 0 */
    int32_t reserved;
} acemq_outbox_options;

#define ACEMQ_OUTBOX_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(acemq_outbox_options), 0, 30000, 10, 0                                              \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_outbox_options_init(acemq_outbox_options *options, size_t size);

/**
 * Opens an outbox.
 * @param store   `memory:` (this handle alone, for tests), `lmdb:PATH` (a folder, made when it is
 *                missing; one machine), or a `postgresql://` URL (the table exists; `acemq schema
 *                postgres` prints the statements that make it)
 * @param options NULL: defaults
 * @param outbox  owned
 * Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_NOT_FOUND (no such table), ACEMQ_E_DIFFERS (the table's
 * first difference), ACEMQ_E_UNSUPPORTED (no libpq here), ACEMQ_E_UNREACHABLE,
 * ACEMQ_E_LOGIN_REFUSED, ACEMQ_E_SYSTEM, ACEMQ_E_STORE, ACEMQ_E_STORE_FULL, ACEMQ_E_TIMEOUT. No
 * message has the password.
 */
ACEMQ_API acemq_status acemq_outbox_open(const char *store, const acemq_outbox_options *options,
                                         acemq_outbox **outbox, acemq_error **error);
/**
 * The same in the caller's LMDB environment, which must outlive the outbox, have room for three
 * more databases (mdb_env_set_maxdbs()), and a map large enough: a caller's map is not grown. Call
 * it while this thread has no transaction open there.
 * @param env borrowed
 */
ACEMQ_API acemq_status acemq_outbox_open_lmdb(struct MDB_env *env,
                                              const acemq_outbox_options *options,
                                              acemq_outbox **outbox, acemq_error **error);
/** Ends the caller's hold; a relay keeps it alive. NULL is fine. */
ACEMQ_API void acemq_outbox_free(acemq_outbox *outbox);

/** Room for the id of an enqueued message and its NUL. */
#define ACEMQ_OUTBOX_ID_SIZE 257

/**
 * Writes a message in a transaction of its own, committed when this returns.
 *
 * These hold for the other ways of enqueuing too. The message has the whole envelope of a publish;
 * first-seen is now. Its id (64 characters at most) is what the relay publishes it with, however
 * often. Refused, naming the field: headers that plain JSON cannot give back (bytes, tables,
 * timestamps, decimals), names over 255 bytes, and what the outbox has no place for: priority,
 * expiration, reply-to, transient and verbatim messages.
 * @param exchange "" for the queue that `routing_key` names
 * @param timeout  ms
 * @param id       room for the id; may be NULL
 * Errors: ACEMQ_E_INVALID_ARGUMENT (also an id that is there already), ACEMQ_E_LIMIT, the message's
 * own, and those of the store: ACEMQ_E_STORE, ACEMQ_E_STORE_FULL, ACEMQ_E_TIMEOUT,
 * ACEMQ_E_UNREACHABLE, ACEMQ_E_CONNECTION_LOST (it may or may not have been written),
 * ACEMQ_E_SYSTEM, ACEMQ_E_FORKED.
 */
ACEMQ_API acemq_status acemq_outbox_enqueue(acemq_outbox *outbox, const char *exchange,
                                            const char *routing_key, const acemq_message *message,
                                            int64_t timeout, char id[ACEMQ_OUTBOX_ID_SIZE],
                                            acemq_error **error);
/**
 * In the caller's write transaction, of the environment that the outbox is in; the caller commits
 * or aborts it. Errors as above; ACEMQ_E_STATE for another kind of outbox. After
 * ACEMQ_E_STORE_FULL
 * it can only be aborted.
 * @param id room for the id; may be NULL
 */
ACEMQ_API acemq_status acemq_outbox_enqueue_lmdb(acemq_outbox *outbox, struct MDB_txn *transaction,
                                                 const char *exchange, const char *routing_key,
                                                 const acemq_message *message,
                                                 char id[ACEMQ_OUTBOX_ID_SIZE],
                                                 acemq_error **error);
/**
 * On the caller's connection to the database that has the table, in whatever transaction is open
 * there; blocks as the connection does. Its client_encoding must be UTF8. Errors as above;
 * ACEMQ_E_STATE for another kind of outbox.
 * @param id room for the id; may be NULL
 */
ACEMQ_API acemq_status acemq_outbox_enqueue_postgres(
    acemq_outbox *outbox, struct pg_conn *connection, const char *exchange, const char *routing_key,
    const acemq_message *message, char id[ACEMQ_OUTBOX_ID_SIZE], acemq_error **error);

/** How a driver wants its parameters. */
typedef enum acemq_placeholder {
    ACEMQ_PLACEHOLDER_DOLLAR = 0,   /**< `$1`, `$2`: libpq, node, Go */
    ACEMQ_PLACEHOLDER_QUESTION = 1, /**< `?`: JDBC, ODBC, DBI */
    ACEMQ_PLACEHOLDER_PERCENT = 2   /**< `%s`: psycopg */
} acemq_placeholder;

/** One INSERT and its parameters, to be run by any driver on a connection of its own. Immutable,
 * any thread. Owned, freed with acemq_outbox_statement_free(). */
typedef struct acemq_outbox_statement acemq_outbox_statement;

/**
 * Makes one for a message.
 * @param table       NULL: `acemq_outbox`
 * @param placeholder acemq_placeholder
 * @param statement   owned
 * Errors: those of enqueuing that are the message's.
 */
ACEMQ_API acemq_status acemq_outbox_statement_new(const char *table, acemq_placeholder placeholder,
                                                  const char *exchange, const char *routing_key,
                                                  const acemq_message *message,
                                                  acemq_outbox_statement **statement,
                                                  acemq_error **error);
/** Its SQL; borrowed until the statement is freed, like what follows. */
ACEMQ_API const char *acemq_outbox_statement_text(const acemq_outbox_statement *statement);
/** How many parameters; each is a text without NUL. */
ACEMQ_API size_t acemq_outbox_statement_count(const acemq_outbox_statement *statement);
/** The parameter at `index`, from 0; NULL past the last. */
ACEMQ_API const char *acemq_outbox_statement_value(const acemq_outbox_statement *statement,
                                                   size_t index);
/** The id of the message. */
ACEMQ_API const char *acemq_outbox_statement_id(const acemq_outbox_statement *statement);
/** Frees it, with its texts. NULL is fine. */
ACEMQ_API void acemq_outbox_statement_free(acemq_outbox_statement *statement);

/** Rows of an outbox as they were when asked. Immutable, any thread. Owned, freed with
 * acemq_outbox_list_free(). */
typedef struct acemq_outbox_list acemq_outbox_list;

/** Set size to sizeof(acemq_outbox_row). Borrowed until the list is freed. Times are epoch ms. */
typedef struct acemq_outbox_row {
    size_t size;
    /** what it is published with */
    const char *id;
    /** "" for the queue that routing_key names */
    const char *exchange;
    /** as it was enqueued */
    const char *routing_key;
    /** of the body */
    const char *content_type;
    /** a JSON object */
    const char *headers;
    /** "" for none */
    const char *last_error;
    /** as it was encoded */
    acemq_bytes body;
    /** epoch ms */
    int64_t created_at;
    /** until when a relay has it; 0: none */
    int64_t leased_until;
    /** that failed so far */
    int32_t attempts;
    int32_t reserved;
} acemq_outbox_row;

/** What is not published yet, leased or not, in order. @param max from 1. @param list owned.
 * Errors: those of the store. */
ACEMQ_API acemq_status acemq_outbox_pending(acemq_outbox *outbox, int64_t max, int64_t timeout,
                                            acemq_outbox_list **list, acemq_error **error);
/**
 * What has used its attempts: kept until it is released. Otherwise as acemq_outbox_pending().
 * @param max from 1. Errors: those of the store.
 */
ACEMQ_API acemq_status acemq_outbox_retired(acemq_outbox *outbox, int64_t max, int64_t timeout,
                                            acemq_outbox_list **list, acemq_error **error);
/** How many rows there are; 0 for NULL. */
ACEMQ_API size_t acemq_outbox_list_count(const acemq_outbox_list *list);
/** The row at `index`, from 0. Errors: ACEMQ_E_INVALID_ARGUMENT past the last. */
ACEMQ_API acemq_status acemq_outbox_list_row(const acemq_outbox_list *list, size_t index,
                                             acemq_outbox_row *row, acemq_error **error);
/** Frees the list, with its rows. NULL is fine. */
ACEMQ_API void acemq_outbox_list_free(acemq_outbox_list *list);

/** What an outbox holds. Set size to sizeof(acemq_outbox_counts). */
typedef struct acemq_outbox_counts {
    size_t size;
    /** not published yet */
    uint64_t pending;
    /** that used their attempts */
    uint64_t retired;
    /** published, and not purged */
    uint64_t published;
    /** ms that the oldest pending message has waited; 0: none is */
    int64_t oldest_age;
    uint64_t reserved;
} acemq_outbox_counts;

/** Counts what is there now. Errors: those of the store. */
ACEMQ_API acemq_status acemq_outbox_count(acemq_outbox *outbox, int64_t timeout,
                                          acemq_outbox_counts *counts, acemq_error **error);
/** A retired message is pending again, with all its attempts. @param id NULL: all
 * @param released how many; may be NULL. Errors: those of the store. */
ACEMQ_API acemq_status acemq_outbox_release(acemq_outbox *outbox, const char *id, int64_t timeout,
                                            uint64_t *released, acemq_error **error);
/** Deletes what was published at least `age` ms ago, 0 to 2^53. Nothing else deletes. @param purged
 * how many; may be NULL. Errors: those of the store. */
ACEMQ_API acemq_status acemq_outbox_purge_published(acemq_outbox *outbox, int64_t age,
                                                    int64_t timeout, uint64_t *purged,
                                                    acemq_error **error);

/**
 * A relay: a thread that publishes what the outbox holds, in order, mandatory and confirmed, and
 * marks it afterwards. A crash in between repeats the same id and body. Any number may share an
 * outbox: no two publish one message inside a lease. Any thread. Owned, freed with
 * acemq_relay_free().
 *
 * A message fails, uses an attempt, and is at last retired, only by its own fault: unroutable,
 * nacked, impossible to encode. When the broker is blocked, away, or does not answer, or the client
 * paused, the relay gives the leases back and tries again after 1 s, doubling to 30 s.
 */
typedef struct acemq_relay acemq_relay;

/** Options of acemq_relay_start(). */
typedef struct acemq_relay_options {
    size_t size;
    /** ms between two looks at an outbox that was empty; default 1 s */
    int64_t every;
    /** ms, 1 s to a day; default 60 s */
    int64_t lease;
    /** messages a pass, 1 to 1000; default 100 */
    int32_t batch;
    /** 0 */
    int32_t reserved;
} acemq_relay_options;

#define ACEMQ_RELAY_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(acemq_relay_options), 1000, 60000, 100, 0                                           \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_relay_options_init(acemq_relay_options *options, size_t size);

/** Starts one; it keeps client and outbox alive, and ends when the client is closed. @param options
 * NULL: defaults. @param relay owned. Errors: ACEMQ_E_INVALID_ARGUMENT, ACEMQ_E_CLOSED,
 * ACEMQ_E_SYSTEM. */
ACEMQ_API acemq_status acemq_relay_start(acemq_connection *connection, acemq_outbox *outbox,
                                         const acemq_relay_options *options, acemq_relay **relay,
                                         acemq_error **error);
/** Looks at the outbox at once: after a commit, where a second is long. acemq_outbox_enqueue() does
 * so by itself. */
ACEMQ_API void acemq_relay_wake(acemq_relay *relay);
/** Waits until nothing is pending, messages that another relay leases included. Errors:
 * ACEMQ_E_TIMEOUT, ACEMQ_E_CLOSED (it was stopped), ACEMQ_E_CANCELLED, those of the store. */
ACEMQ_API acemq_status acemq_relay_drain(acemq_relay *relay, int64_t timeout, acemq_error **error);
/** Takes nothing more and waits until what is under way is published and marked; what is not within
 * `timeout` is cut off, and published again after its lease. Again is fine. Errors: ACEMQ_E_TIMEOUT
 * when something was cut off. */
ACEMQ_API acemq_status acemq_relay_stop(acemq_relay *relay, int64_t timeout, acemq_error **error);
/** Stops first, within 20 s. */
ACEMQ_API void acemq_relay_free(acemq_relay *relay);

/** Since it started. Set size to sizeof(acemq_relay_counters). */
typedef struct acemq_relay_counters {
    size_t size;
    /** confirmed, and marked so */
    uint64_t published;
    /** failed attempts */
    uint64_t failed;
    /** messages that were retired */
    uint64_t retired;
    /** looks at the outbox */
    uint64_t passes;
    uint64_t reserved;
} acemq_relay_counters;

/** What it has done so far; also after it was stopped. */
ACEMQ_API acemq_status acemq_relay_count(acemq_relay *relay, acemq_relay_counters *counters,
                                         acemq_error **error);

ACEMQ_END

#endif
