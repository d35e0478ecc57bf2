/**
 * @file idempotency.h
 * Handling a message once: stores of claims (section 9), for a consumer's option
 * acemq_consumer_options.idempotency, and for callers of their own.
 *
 * Threads: a function that takes no handle may be called by any thread.
 */
#ifndef ACEMQ_IDEMPOTENCY_H
#define ACEMQ_IDEMPOTENCY_H

#include "common.h"
#include "error.h"

ACEMQ_BEGIN

/**
 * A store of claims. Thread-safe. Owned, freed with acemq_idempotency_free(); a consumer keeps a
 * reference of its own. Every call blocks until it is answered, or its timeout is over: never call
 * one from a callback of publishing.
 *
 * What every call can answer besides its own errors: ACEMQ_E_TIMEOUT (nothing was done, or it is
 * being undone), ACEMQ_E_STORE_FULL, ACEMQ_E_STORE, ACEMQ_E_SYSTEM, ACEMQ_E_UNREACHABLE,
 * ACEMQ_E_CONNECTION_LOST, ACEMQ_E_ACCESS_REFUSED, ACEMQ_E_NOT_FOUND (the table is gone),
 * ACEMQ_E_STATE (LMDB: this thread has a write transaction of its own open), ACEMQ_E_FORKED,
 * ACEMQ_E_OUT_OF_MEMORY, ACEMQ_E_INVALID_ARGUMENT. A store that failed never says "duplicate".
 *
 * A key has 1 to 255 bytes (ACEMQ_E_LIMIT) of UTF-8 without NUL (ACEMQ_E_INVALID_ARGUMENT).
 */
typedef struct acemq_idempotency acemq_idempotency;

/** What a claim answers. */
typedef enum acemq_claim_answer {
    /** the caller has it, until the lease is over */
    ACEMQ_CLAIMED = 1,
    /** it was handled: a confirmation is kept */
    ACEMQ_CLAIM_DUPLICATE = 2,
    /** somebody else has a live claim */
    ACEMQ_CLAIM_IN_PROGRESS = 3
} acemq_claim_answer;

/** What a commit of LMDB has reached when its call returns. */
typedef enum acemq_durability {
    /** the disk: survives a crash of the machine */
    ACEMQ_DURABLE = 0,
    /** the kernel: survives a crash of the process, not of the machine; after that, the last claims
     * may be missing, and the file may be damaged and have to be deleted */
    ACEMQ_NOSYNC = 1
} acemq_durability;

/** Options of acemq_idempotency_open(). */
typedef struct acemq_idempotency_options {
    size_t size;
    /** of the table (PostgreSQL) or the database (LMDB), `[A-Za-z_][A-Za-z0-9_]{0,62}`; NULL:
     * `acemq_idempotency`. Copied */
    const char *name;
    /** ms that a confirmation is kept; default 24 h */
    int64_t retention;
    /** ms that opening, and each call of a consumer, may take; default 10 s */
    int64_t timeout;
    /** entries of the store in memory; default 100 000 */
    int64_t entries;
    /** bytes that LMDB's map may grow to, at least 64 KiB; default 16 GiB */
    int64_t map_limit;
    /** ms after which PostgreSQL ends a statement by itself; default 10 s */
    int64_t statement_timeout;
    /** to PostgreSQL at once, 1 to 64; default 4 */
    int32_t connections;
    /** acemq_durability, of LMDB; default ACEMQ_DURABLE */
    int32_t durability;
} acemq_idempotency_options;

#define ACEMQ_IDEMPOTENCY_OPTIONS_INIT                                                             \
    {                                                                                              \
        sizeof(acemq_idempotency_options), 0, 86400000, 10000, 100000, 17179869184, 10000, 4, 0    \
    }

/**
 * Fills *options with the defaults. Errors: ACEMQ_E_INVALID_ARGUMENT for a `size` below that of the
 * first release.
 */
ACEMQ_API acemq_status acemq_idempotency_options_init(acemq_idempotency_options *options,
                                                      size_t size);

/**
 * Opens a store.
 * @param where   `memory:` (this handle's own, gone with it), `lmdb:PATH` (a folder, made when it
 * is missing; all handles of a process share its environment) or a `postgresql://` URL. It is never
 * shown in an error.
 * @param options NULL: defaults
 * @param store   owned
 * Errors: ACEMQ_E_SYSTEM (the folder), ACEMQ_E_DIFFERS (the table has other columns: the first
 * difference; or the folder is open with another durability), ACEMQ_E_NOT_FOUND (no such table, see
 * acemq_schema_postgres(), or database), ACEMQ_E_LOGIN_REFUSED, ACEMQ_E_UNSUPPORTED (libpq is not
 * installed).
 */
ACEMQ_API acemq_status acemq_idempotency_open(const char *where,
                                              const acemq_idempotency_options *options,
                                              acemq_idempotency **store, acemq_error **error);
/** A child after a fork frees its copy without a word to the store. NULL is fine. */
ACEMQ_API void acemq_idempotency_free(acemq_idempotency *store);

#define ACEMQ_TOKEN_SIZE 65 /**< bytes of a token with its NUL */

/**
 * Claims `key` for `lease` ms (1 or more), unless it is confirmed or somebody's.
 * @param token  written when it was claimed: what confirm, renew and release ask for
 * @param answer one of acemq_claim_answer
 * Errors: ACEMQ_E_LIMIT for the key, ACEMQ_E_TIMEOUT, ACEMQ_E_CLOSED, and those of the store:
 * ACEMQ_E_STORE, ACEMQ_E_STORE_FULL, ACEMQ_E_UNREACHABLE, ACEMQ_E_CONNECTION_LOST.
 */
ACEMQ_API acemq_status acemq_idempotency_claim(acemq_idempotency *store, const char *key,
                                               int64_t lease, int64_t timeout,
                                               char token[ACEMQ_TOKEN_SIZE],
                                               acemq_claim_answer *answer, acemq_error **error);
/**
 * It was handled: kept for the retention. Again is fine. ACEMQ_E_FENCED: the claim ran out and was
 * taken over, or was released.
 * The store's own errors are those of claiming.
 * @param key as claimed
 * @param token as claiming wrote it
 */
ACEMQ_API acemq_status acemq_idempotency_confirm(acemq_idempotency *store, const char *key,
                                                 const char *token, int64_t timeout,
                                                 acemq_error **error);
/**
 * It was not handled: anybody may claim it at once. ACEMQ_E_FENCED, as above, and when it was
 * confirmed.
 * @param key as claimed
 * @param token as claiming wrote it
 */
ACEMQ_API acemq_status acemq_idempotency_release(acemq_idempotency *store, const char *key,
                                                 const char *token, int64_t timeout,
                                                 acemq_error **error);
/**
 * The lease ends `lease` ms from now, 1 or more. ACEMQ_E_FENCED, as above.
 * @param key as claimed
 * @param token as claiming wrote it
 */
ACEMQ_API acemq_status acemq_idempotency_renew(acemq_idempotency *store, const char *key,
                                               const char *token, int64_t lease, int64_t timeout,
                                               acemq_error **error);

/**
 * Takes away all entries whose time is over; nothing else ever does. @param purged how many; may
 * be NULL
 * Errors: those of the store, as of claiming.
 */
ACEMQ_API acemq_status acemq_idempotency_purge_expired(acemq_idempotency *store, int64_t timeout,
                                                       uint64_t *purged, acemq_error **error);
/**
 * How many entries there are, those whose time is over included.
 * @param size receives it. Errors: those of the store, as of claiming.
 */
ACEMQ_API acemq_status acemq_idempotency_size(acemq_idempotency *store, int64_t timeout,
                                              uint64_t *size, acemq_error **error);

/** Entries that were read. Owned, freed with acemq_claims_free(). Any thread. */
typedef struct acemq_claims acemq_claims;

/** One entry; its texts are borrowed until the list is freed. Frozen. */
typedef struct acemq_claim_view {
    /** as it was claimed */
    const char *key;
    /** who claimed it; "" when it was released */
    const char *token;
    /** epoch ms: when it was claimed, or confirmed */
    int64_t recorded_at;
    /** epoch ms: from then on anybody may claim it */
    int64_t expires_at;
    int32_t confirmed; /**< 1, or 0 for a claim */
    int32_t reserved;  /**< 0 */
} acemq_claim_view;

/**
 * Reads entries in the order of their keys.
 * @param after only those whose key is greater; NULL or "": from the first
 * @param most  1 or more
 * @param list  owned, freed with acemq_claims_free()
 * Errors: those of the store, as of claiming.
 */
ACEMQ_API acemq_status acemq_idempotency_list(acemq_idempotency *store, const char *after,
                                              int64_t most, int64_t timeout, acemq_claims **list,
                                              acemq_error **error);
ACEMQ_API size_t acemq_claims_count(const acemq_claims *list); /**< 0 for NULL */
/** The entry at `index`. ACEMQ_E_INVALID_ARGUMENT past the end. */
ACEMQ_API acemq_status acemq_claims_get(const acemq_claims *list, size_t index,
                                        acemq_claim_view *entry, acemq_error **error);
/** Frees the list and its entries. NULL is fine. */
ACEMQ_API void acemq_claims_free(acemq_claims *list);

/**
 * The statements that make the tables of the PostgreSQL stores (sections 9 and 10), each ended by a
 * semicolon; the library itself never makes one.
 * @param idempotency name of that table; NULL: `acemq_idempotency`
 * @param outbox      name of that table; NULL: `acemq_outbox`
 * @param text        owned, freed with acemq_free()
 * Errors: ACEMQ_E_INVALID_ARGUMENT (a name), ACEMQ_E_OUT_OF_MEMORY.
 */
ACEMQ_API acemq_status acemq_schema_postgres(const char *idempotency, const char *outbox,
                                             char **text, acemq_error **error);

ACEMQ_END

#endif
