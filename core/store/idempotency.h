/*
 * Who handles a message, and whether somebody did (section 9 of the contract). A store keeps one
 * entry a key: a claim, which is a lease of its owner's, or a confirmation. Whoever owns a claim
 * has its token; confirming, renewing and releasing act only while that token stands in the entry.
 *
 * An entry that expired can be claimed by anyone. Nothing but ace_idempotency_purge() takes entries
 * away, the store in memory when it is full excepted.
 *
 * The functions are thread-safe and block until `deadline` at most (monotonic, the system's clock);
 * never call them on a loop's thread. None answers "duplicate" or ACE_OK when it failed:
 * ACE_TIMEOUT, ACE_STORE_FULL, ACE_STORE, ACE_SYSTEM, ACE_UNREACHABLE, ACE_CONNECTION_LOST,
 * ACE_ACCESS_REFUSED, ACE_NOT_FOUND (the table), ACE_STATE (the thread has a write transaction of
 * its own open in that environment), ACE_FORKED, ACE_OUT_OF_MEMORY, and ACE_LIMIT or
 * ACE_INVALID_ARGUMENT for the key.
 */
#ifndef ACE_STORE_IDEMPOTENCY_H
#define ACE_STORE_IDEMPOTENCY_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/random.h"
#include "base/thread.h"
#include "store/lmdb_environment.h"

#include <stdbool.h>
#include <stdint.h>

#define ACE_IDEMPOTENCY_MAGIC     ACE_MAGIC('I', 'D', 'E', 'M')
#define ACE_CLAIM_KEY_MAX         255 /* bytes, at least 1, UTF-8 */
#define ACE_CLAIM_TOKEN_MAX       64
#define ACE_CLAIM_RETENTION       INT64_C(86400000)
#define ACE_CLAIM_LEASE_MAX       INT64_C(315360000000) /* ms; of a retention as well */
#define ACE_CLAIM_MEMORY_ENTRIES  100000
#define ACE_CLAIM_TIMEOUT_DEFAULT INT64_C(10000)

typedef struct acemq_idempotency ace_idempotency;

/* The numbers are those of the public acemq_claim_answer. */
typedef enum ace_claim_answer {
    ACE_CLAIMED = 1,
    ACE_CLAIM_DUPLICATE = 2,   /* confirmed, and the confirmation is kept still */
    ACE_CLAIM_IN_PROGRESS = 3, /* somebody has a live claim */
} ace_claim_answer;

typedef enum ace_claim_state {
    ACE_ENTRY_CLAIMED = 1,
    ACE_ENTRY_CONFIRMED = 2,
} ace_claim_state;

/* An entry. Times are wall milliseconds. */
typedef struct ace_claim_entry {
    ace_bytes key;
    ace_claim_state state;
    char token[ACE_CLAIM_TOKEN_MAX + 1]; /* "": released */
    int64_t recorded_at;
    int64_t expires_at;
} ace_claim_entry;

/* False ends the listing. */
typedef bool ace_claim_visitor(const ace_claim_entry *entry, void *user);

typedef struct ace_claim_call {
    ace_bytes key;
    const char *token;
    int64_t lease; /* or the retention, of a confirmation */
    int64_t deadline;
} ace_claim_call;

/* What a store does. The key was checked. */
typedef struct ace_idempotency_methods {
    ace_code (*claim)(ace_idempotency *store, const ace_claim_call *call, ace_claim_answer *answer,
                      ace_error **error);
    ace_code (*confirm)(ace_idempotency *store, const ace_claim_call *call, ace_error **error);
    ace_code (*release)(ace_idempotency *store, const ace_claim_call *call, ace_error **error);
    ace_code (*renew)(ace_idempotency *store, const ace_claim_call *call, ace_error **error);
    ace_code (*purge)(ace_idempotency *store, int64_t deadline, uint64_t *purged,
                      ace_error **error);
    ace_code (*size)(ace_idempotency *store, int64_t deadline, uint64_t *size, ace_error **error);
    /* In the order of their keys' bytes, those after `after` (empty: from the first). The entry is
     * the visitor's for the call. */
    ace_code (*list)(ace_idempotency *store, ace_bytes after, int64_t deadline,
                     ace_claim_visitor *visitor, void *user, ace_error **error);
    void (*destroy)(ace_idempotency *store); /* not in a child: there the store stays as it is */
} ace_idempotency_methods;

/* The start of every store. */
struct acemq_idempotency {
    ace_handle handle;
    const ace_idempotency_methods *methods;
    ace_clock *clock;   /* of the leases, where the store has no time of its own */
    ace_random *random; /* of the tokens */
    int64_t retention;
    int64_t timeout; /* ms a call of the engine's may take */
    ace_mutex mutex;
    char *queue; /* that it serves; NULL: none yet */
};

typedef struct ace_idempotency_options {
    const char *name;               /* of the table or the database; NULL: acemq_idempotency */
    int64_t retention;              /* of confirmations; 0: a day */
    int64_t timeout;                /* 0: 10 s */
    uint64_t entries;               /* of the store in memory; 0: 100 000 */
    uint64_t map_limit;             /* of LMDB; 0: ACE_LMDB_MAP_LIMIT */
    ace_lmdb_durability durability; /* of LMDB */
    unsigned connections;           /* to PostgreSQL; 0: 4 */
    int64_t statement_timeout;      /* of PostgreSQL; 0: 10 s */
    ace_clock *clock;               /* NULL: the system's; must outlive the store */
    ace_random *random;             /* NULL: the system's; likewise */
} ace_idempotency_options;

/* `where` is `memory:`, `lmdb:PATH` or a postgresql:// URL. A table that is missing or has other
 * columns is refused (ACE_NOT_FOUND, ACE_DIFFERS). ACE_INVALID_ARGUMENT, and what opening such a
 * store answers. One reference. */
ace_code ace_idempotency_open(const char *where, const ace_idempotency_options *options,
                              int64_t deadline, ace_idempotency **store, ace_error **error);
/* In the environment that is the caller's own (lmdb_environment.h). */
ace_code ace_idempotency_open_in(ace_lmdb_environment *environment,
                                 const ace_idempotency_options *options, int64_t deadline,
                                 ace_idempotency **store, ace_error **error);
ace_idempotency *ace_idempotency_keep(ace_idempotency *store);
void ace_idempotency_release(ace_idempotency *store); /* NULL is fine */

/* The store serves that queue from here on, unless it serves another: ACE_STATE. */
ace_code ace_idempotency_attach(ace_idempotency *store, const char *queue, ace_error **error);

/* What every store asks of a key. ACE_LIMIT, ACE_INVALID_ARGUMENT. */
ace_code ace_claim_key_check(ace_bytes key, ace_error **error);

/* `token` is written when the answer is ACE_CLAIMED. `lease` is 1 to ACE_CLAIM_LEASE_MAX. */
ace_code ace_idempotency_claim(ace_idempotency *store, ace_bytes key, int64_t lease,
                               int64_t deadline, char token[ACE_CLAIM_TOKEN_MAX + 1],
                               ace_claim_answer *answer, ace_error **error);
/* ACE_FENCED: the claim is not this token's any more. Confirming again is fine. */
ace_code ace_idempotency_confirm(ace_idempotency *store, ace_bytes key, const char *token,
                                 int64_t deadline, ace_error **error);
ace_code ace_idempotency_unclaim(ace_idempotency *store, ace_bytes key, const char *token,
                                 int64_t deadline, ace_error **error);
ace_code ace_idempotency_renew(ace_idempotency *store, ace_bytes key, const char *token,
                               int64_t lease, int64_t deadline, ace_error **error);
ace_code ace_idempotency_purge(ace_idempotency *store, int64_t deadline, uint64_t *purged,
                               ace_error **error);
ace_code ace_idempotency_size(ace_idempotency *store, int64_t deadline, uint64_t *size,
                              ace_error **error); /* entries, those that expired included */
ace_code ace_idempotency_list(ace_idempotency *store, ace_bytes after, int64_t deadline,
                              ace_claim_visitor *visitor, void *user, ace_error **error);

/* --- for the stores --- */

/* Sets up the start of a store, from options that were checked. */
ace_code ace_idempotency_init(ace_idempotency *store, const ace_idempotency_methods *methods,
                              const ace_idempotency_options *options, ace_error **error);
void ace_idempotency_uninit(ace_idempotency *store);
int64_t ace_idempotency_now(const ace_idempotency *store); /* wall */
/* `now` and a lease, which never passes INT64_MAX. */
int64_t ace_claim_expiry(int64_t now, int64_t lease);
ace_code ace_claim_fenced(ace_error **error);

ace_code ace_claims_open_memory(const ace_idempotency_options *options, ace_idempotency **store,
                                ace_error **error);
ace_code ace_claims_open_lmdb(ace_lmdb_environment *environment,
                              const ace_idempotency_options *options, int64_t deadline,
                              ace_idempotency **store, ace_error **error);
ace_code ace_claims_open_postgres(const char *url, const ace_idempotency_options *options,
                                  int64_t deadline, ace_idempotency **store, ace_error **error);

#endif
